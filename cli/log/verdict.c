#include "cli/log/verdict.h"

#include "cli/log/profile.h"
#include "cli/log/work.h"
#include "cli/common/memory.h"
#include "predictor/models/inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Time of a configuration in a row of the report. */
struct use {
	uint32_t config, row, gpu;
	uint64_t launches, ns;
};

struct log_judge {
	const struct gw_log *log;
	struct log_works *works;
	struct use *uses;
	struct gw_index use_index;
	size_t use_count, use_room;
	uint32_t *latest; /* by configuration: position after that of its last use; 0: none yet */
	size_t latest_room;
};

struct log_judge *log_judge_new(const struct gw_log *log)
{
	struct log_judge *j = gw_alloc(sizeof(*j));

	j->log = log;
	j->works = log_works_new();
	return j;
}

void log_judge_work(struct log_judge *j, uint32_t config, const struct gw_log_record *record)
{
	log_works_add(j->works, config, record);
}

static uint32_t use_of(struct log_judge *j, uint32_t config, uint32_t row, uint32_t gpu)
{
	uint64_t key = (uint64_t)config << 32 | row;
	uint32_t at = gw_index_find(&j->use_index, key, NULL, NULL);

	if (at != GW_INDEX_NONE)
		return at;
	at = (uint32_t)j->use_count;
	gw_index_add(&j->use_index, key, at);
	GW_GROW(j->uses, &j->use_room, ++j->use_count);
	j->uses[at] = (struct use){.config = config, .row = row, .gpu = gpu};
	return at;
}

void log_judge_time(struct log_judge *j, uint32_t config, uint32_t row, uint32_t gpu,
		    uint64_t count, uint64_t ns)
{
	struct use *use;

	if (config >= j->latest_room)
		GW_GROW(j->latest, &j->latest_room, config + (size_t)1);
	if (!j->latest[config] || j->uses[j->latest[config] - 1].row != row)
		j->latest[config] = use_of(j, config, row, gpu) + 1;
	use = &j->uses[j->latest[config] - 1];
	use->launches += count;
	use->ns += ns;
}

/* A configuration as it is judged. */
struct case_of {
	const struct gw_device *device; /* NULL: not known */
	struct gw_launch launch;
	struct log_work *known; /* of its work; NULL: nothing */
	struct gw_work work;    /* the same */
	struct gw_verdict verdict;
	struct gw_peak peaks[GW_RESOURCES_MAX];
	unsigned peak_count;
	double launches, seconds, mean; /* seconds: of all of them */
	double starting;                /* an empty kernel takes; NaN: not known */
};

static void judge(const struct log_judge *j, const struct use *use, struct case_of *c)
{
	*c = (struct case_of){
		.device = gw_log_device(j->log, use->gpu),
		.launch = gw_log_launch(j->log, use->config),
		.launches = (double)use->launches,
		.seconds = (double)use->ns * 1e-9,
		.starting = NAN,
	};
	c->mean = c->seconds / c->launches;
	c->known = log_works_of(j->works, use->config);
	log_work_of(c->known, &c->work);
	if (!c->device) {
		c->verdict.unknown = "there is no device profile in the log";
		return;
	}
	c->starting = gw_param_value(c->device, GW_PARAM_launch_floor);
	/* The grid alone may decide; else the reason is that nothing else is known. */
	gw_verdict_measured(c->device, &c->launch, &c->work, c->mean, &c->verdict);
	if (!c->known && c->verdict.unknown)
		c->verdict.unknown = "nothing is known of its work";
	c->peak_count = gw_peaks(c->device, &c->launch, &c->work, c->peaks);
	gw_peaks_measured(c->peaks, c->peak_count, c->mean);
}

static struct gw_row_peak *peak_of(struct gw_row_bound *b, const struct gw_peak *c)
{
	unsigned i = 0;

	while (i < b->peak_count && strcmp(b->peaks[i].name, c->name))
		i++;
	if (i == b->peak_count) {
		GW_GROW(b->peaks, &b->peak_room, i + 1u);
		b->peaks[b->peak_count++] =
			(struct gw_row_peak){.name = c->name, .unit = c->unit, .bound = c->bound};
	}
	return &b->peaks[i];
}

static bool is_known(const struct gw_peak *c)
{
	return !isnan(c->seconds) && !isnan(c->amount);
}

/* Most rows are of one configuration: room for what is known of it, and no more. */
static void make_room(struct gw_row_bound *b, const struct case_of *c)
{
	for (unsigned i = 0; i < c->peak_count; i++)
		b->peak_room += is_known(&c->peaks[i]);
	b->peaks = gw_alloc(b->peak_room * sizeof(*b->peaks));
}

static void add_peaks(struct gw_row_bound *b, const struct case_of *c)
{
	const struct gw_peak *first = gw_peak_first(c->peaks, c->peak_count);

	if (!b->peaks)
		make_room(b, c);
	for (unsigned i = 0; i < c->peak_count; i++) {
		struct gw_row_peak *r;

		if (!is_known(&c->peaks[i]))
			continue;
		r = peak_of(b, &c->peaks[i]);
		if (strcmp(r->unit, c->peaks[i].unit))
			continue; /* what this was counted in does not add up with that */
		r->amount += c->peaks[i].amount * c->launches;
		r->seconds += c->peaks[i].seconds * c->launches;
		r->measured += c->seconds;
	}
	if (c->verdict.bound == GW_BOUND_UNKNOWN || !first)
		return;
	b->judged += c->seconds;
	b->roof += first->seconds * c->launches;
}

/* Keep the configuration that says most of the row: a judged one before one that is not. */
static void add_most(struct gw_row_bound *b, const struct case_of *c)
{
	bool known = c->verdict.bound != GW_BOUND_UNKNOWN;
	bool had = b->most > 0 && b->verdict.bound != GW_BOUND_UNKNOWN;

	if (known < had || (known == had && c->seconds <= b->most))
		return;
	b->most = c->seconds;
	b->mean = c->mean;
	b->launches = (uint64_t)c->launches;
	b->verdict = c->verdict;
	b->config = c->launch.config;
	b->kernel = *c->launch.kernel;
	log_work_drop(b->work);
	b->work = log_work_hold(c->known);
	b->resident = c->device && !gw_occupancy_of(c->device, &c->launch, &b->occupancy);
}

static void add_unjudged(struct gw_row_bound *b, const struct case_of *c)
{
	unsigned i = 0;

	if (c->verdict.bound != GW_BOUND_UNKNOWN || !c->verdict.unknown)
		return;
	while (i + 1 < GW_UNJUDGED && b->unjudged[i].why &&
	       strcmp(b->unjudged[i].why, c->verdict.unknown))
		i++;
	if (!b->unjudged[i].why)
		b->unjudged[i].why = c->verdict.unknown;
	b->unjudged[i].time += c->seconds;
}

static void add(struct gw_row *row, const struct case_of *c)
{
	struct gw_row_bound *b = row->bound;

	if (!b)
		b = row->bound = gw_alloc(sizeof(*b));
	b->configs++;
	b->time[c->verdict.bound] += c->seconds;
	if (c->starting >= GW_SHORT * c->mean) {
		b->short_time += c->seconds;
		b->starting += fmin(c->starting * c->launches, c->seconds);
		b->short_launches += (uint64_t)c->launches;
	}
	add_unjudged(b, c);
	add_peaks(b, c);
	add_most(b, c);
}

void log_judge_end(struct log_judge *j, struct gw_log_model *model)
{
	struct case_of *c = gw_alloc(sizeof(*c));

	log_works_end(j->works, j->log);
	for (size_t i = 0; i < j->use_count; i++) {
		judge(j, &j->uses[i], c);
		add(&model->rows[j->uses[i].row], c);
		add(&model->all, c);
	}
	log_works_free(j->works);
	gw_index_free(&j->use_index);
	free(j->uses);
	free(j->latest);
	free(j);
	free(c);
}

void gw_bound_free(struct gw_row_bound *b)
{
	if (!b)
		return;
	log_work_drop(b->work);
	free(b->peaks);
	free(b);
}

double gw_bound_amount(const struct gw_row_bound *b, enum gw_work_field field)
{
	for (uint32_t i = 0; b->work && i < b->work->count; i++)
		if (b->work->parts[i].field == field)
			return b->work->parts[i].value;
	return NAN;
}

double gw_bound_headroom(const struct gw_row_bound *b)
{
	return b && b->judged > 0 ? fmax(0, 1 - b->roof / b->judged) : NAN;
}

double gw_peak_share(const struct gw_row_peak *c)
{
	return c && c->measured > 0 ? c->seconds / c->measured : NAN;
}

double gw_bound_gain(const struct gw_row_bound *b)
{
	double all = 0;

	for (unsigned i = 0; b && i <= GW_BOUND_LAUNCH; i++)
		all += b->time[i];
	return all > 0 ? gw_bound_headroom(b) * b->judged / all : NAN;
}

const struct gw_row_peak *gw_bound_nearest(const struct gw_row_bound *b)
{
	const struct gw_row_peak *nearest = NULL;

	for (unsigned i = 0; b && i < b->peak_count; i++)
		if (!nearest || gw_peak_share(&b->peaks[i]) > gw_peak_share(nearest))
			nearest = &b->peaks[i];
	return nearest;
}

const struct gw_row_peak *gw_bound_peak(const struct gw_row_bound *b, const char *name)
{
	for (unsigned i = 0; b && i < b->peak_count; i++)
		if (!strcmp(b->peaks[i].name, name))
			return &b->peaks[i];
	return NULL;
}

const char *gw_bound_unjudged(const struct gw_row_bound *b)
{
	const struct gw_unjudged *most = NULL;

	for (unsigned i = 0; b && i < GW_UNJUDGED; i++)
		if (b->unjudged[i].why && (!most || b->unjudged[i].time > most->time))
			most = &b->unjudged[i];
	return most ? most->why : NULL;
}

enum gw_bound gw_bound_of(const struct gw_row_bound *b)
{
	enum gw_bound most = GW_BOUND_UNKNOWN;

	for (unsigned i = 0; b && i <= GW_BOUND_LAUNCH; i++)
		if (b->time[i] > b->time[most])
			most = (enum gw_bound)i;
	return most;
}
