#include "cli/score/score.h"

#include "cli/common/memory.h"
#include "predictor/models/papers/models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double length_ends[SCORE_LENGTHS] = {5e-6, 50e-6, 150e-6, INFINITY};

const char *score_length_name(enum score_length length)
{
	static const char *const names[SCORE_LENGTHS + 1] = {"under 5 us", "5 to 50 us",
							     "50 to 150 us", "over 150 us", "all"};

	return names[length];
}

struct score *score_new(const struct trace *traces, bool by_config)
{
	struct score *s = gw_alloc(sizeof(*s));

	s->traces = traces;
	s->by_config = by_config;
	s->names[s->model_count++] = "gpuwatch";
	for (const struct gw_model *const *m = gw_models; *m; m++) {
		if (s->model_count == SCORE_MODELS_MAX)
			break;
		s->models[s->model_count] = *m;
		s->names[s->model_count++] = (*m)->name;
	}
	return s;
}

/* A model that was asked nothing has cells that were never touched: half a megabyte with others. */
static void free_cells(struct score *s, size_t model)
{
	struct score_cell *cells = &s->cells[model][0][0][0];

	if (!s->cells[model][SCORE_TIERS][SCORE_SOURCES][SCORE_LENGTHS].count)
		return;
	for (size_t i = 0; i < sizeof(s->cells[model]) / sizeof(*cells); i++) {
		gw_quantile_free(&cells[i].error);
		gw_quantile_free(&cells[i].width);
	}
}

void score_free(struct score *s)
{
	for (size_t m = 0; m < s->model_count; m++)
		free_cells(s, m);
	for (size_t i = 0; i < s->unit_count; i++)
		gw_quantile_free(&s->units[i].time);
	gw_index_free(&s->unit_index);
	free(s->units);
	free(s);
}

static enum score_length length_of(double seconds)
{
	unsigned length = 0;

	while (length < SCORE_LENGTHS - 1 && seconds >= length_ends[length])
		length++;
	return (enum score_length)length;
}

/* @p covered: share of its interval's launches that it held; NaN for none. */
static void add_to(struct score_cell *c, const struct score_answer *a, double covered)
{
	double log_ratio = log(a->predicted / a->measured);
	double error = fabs(a->predicted - a->measured) / a->measured;

	c->count++;
	if (!isfinite(log_ratio))
		return;
	c->answered++;
	c->within10 += error <= 0.10;
	c->within25 += error <= 0.25;
	c->within2x += fabs(log_ratio) <= log(2);
	c->error_sum += error;
	c->ratio_sum += fabs(log_ratio);
	c->bias_sum += log_ratio;
	gw_quantile_add(&c->error, error);
	if (isnan(covered))
		return;
	c->intervals++;
	c->covered += covered;
	gw_quantile_add(&c->width, (a->high - a->low) / a->predicted);
}

/* To the group itself, and to those that take it together with others. */
static void add_to_all(struct score *s, size_t model, enum gw_tier tier, enum gw_source work,
		       const struct score_answer *a, double covered)
{
	const unsigned tiers[] = {tier, SCORE_TIERS}, works[] = {work, SCORE_SOURCES};
	const unsigned lengths[] = {length_of(a->measured), SCORE_LENGTHS};

	for (unsigned i = 0; i < 8; i++)
		add_to(&s->cells[model][tiers[i & 1]][works[i >> 1 & 1]][lengths[i >> 2]], a,
		       covered);
}

struct unit_key {
	uint32_t trace, config;
	uint8_t tier, work;
};

struct unit_search {
	const struct score *score;
	const struct unit_key *key;
};

static bool same_unit(const void *arg, uint32_t position)
{
	const struct unit_search *u = arg;
	const struct score_unit *unit = &u->score->units[position];

	return unit->trace == u->key->trace && unit->config == u->key->config &&
	       unit->tier == u->key->tier && unit->work == u->key->work;
}

static struct score_unit *unit_of(struct score *s, struct unit_key key)
{
	const uint64_t parts[] = {key.trace, key.config, key.tier, key.work};
	uint64_t hash = gw_hash(0, parts, sizeof(parts));
	uint32_t at =
		gw_index_find(&s->unit_index, hash, same_unit, &(struct unit_search){s, &key});

	if (at != GW_INDEX_NONE)
		return &s->units[at];
	at = (uint32_t)s->unit_count;
	GW_GROW(s->units, &s->unit_room, ++s->unit_count);
	s->units[at].trace = key.trace;
	s->units[at].config = key.config;
	s->units[at].tier = key.tier;
	s->units[at].work = key.work;
	gw_index_add(&s->unit_index, hash, at);
	return &s->units[at];
}

static void add_to_unit(struct score_unit *u, size_t model, double predicted, double measured)
{
	double ratio = log(predicted / measured);

	if (!isfinite(ratio))
		return;
	u->answers[model]++;
	u->log_sum[model] += log(predicted);
	u->ratio_sum[model] += fabs(ratio);
}

/* Whether the interval held the time; NaN without one. */
static double held(const struct score_answer *a)
{
	if (!(isfinite(a->predicted) && isfinite(a->low) && isfinite(a->high)))
		return NAN;
	return a->measured >= a->low && a->measured <= a->high;
}

void score_add(struct score *s, uint32_t trace, uint32_t config, enum gw_tier tier,
	       enum gw_source work, const struct score_answer *ours,
	       const double models[SCORE_MODELS_MAX])
{
	struct score_unit *u =
		unit_of(s, (struct unit_key){trace, config, (uint8_t)tier, (uint8_t)work});
	double covered = held(ours);

	u->count++;
	gw_quantile_add(&u->time, ours->measured);
	add_to_unit(u, SCORE_OURS, ours->predicted, ours->measured);
	if (!isnan(covered)) {
		u->intervals++;
		u->covered += covered > 0;
		/* An interval that begins at 0 has no logarithm: it counts from a picosecond on. */
		u->low_sum += log(fmax(ours->low, 1e-12));
		u->high_sum += log(fmax(ours->high, 1e-12));
	}
	for (size_t m = 1; m < s->model_count; m++)
		add_to_unit(u, m, models[m], ours->measured);
	if (s->by_config)
		return;
	add_to_all(s, SCORE_OURS, tier, work, ours, covered);
	for (size_t m = 1; m < s->model_count; m++)
		add_to_all(s, m, tier, work,
			   &(struct score_answer){models[m], NAN, NAN, ours->measured}, NAN);
}

static double mean_of(double log_sum, uint64_t count)
{
	return count ? exp(log_sum / (double)count) : NAN;
}

void score_finish(struct score *s)
{
	for (size_t i = 0; i < s->unit_count && s->by_config; i++) {
		struct score_unit *u = &s->units[i];
		double measured = gw_quantile(&u->time, 0.5);

		for (size_t m = 0; m < s->model_count; m++) {
			struct score_answer a = {mean_of(u->log_sum[m], u->answers[m]), NAN, NAN,
						 measured};
			double covered = NAN;

			if (m == SCORE_OURS && u->intervals) {
				a.low = mean_of(u->low_sum, u->intervals);
				a.high = mean_of(u->high_sum, u->intervals);
				covered = (double)u->covered / (double)u->intervals;
			}
			add_to_all(s, m, (enum gw_tier)u->tier, (enum gw_source)u->work, &a,
				   covered);
		}
	}
}

static double over(double sum, uint64_t count)
{
	return count ? sum / (double)count : NAN;
}

double score_mape(const struct score_cell *c)
{
	return over(c->error_sum, c->answered);
}

double score_ratio(const struct score_cell *c)
{
	return exp(over(c->ratio_sum, c->answered));
}

double score_bias(const struct score_cell *c)
{
	return exp(over(c->bias_sum, c->answered));
}

double score_share(const struct score_cell *c, uint64_t within)
{
	return over((double)within, c->count);
}

double score_coverage(const struct score_cell *c)
{
	return over(c->covered, c->intervals);
}

bool score_asked(const struct score *s)
{
	for (size_t m = 1; m < s->model_count; m++)
		if (s->cells[m][SCORE_TIERS][SCORE_SOURCES][SCORE_LENGTHS].answered)
			return true;
	return false;
}

static int longest_first(const void *x, const void *y)
{
	const struct score_kernel *a = x, *b = y;

	if (a->time > b->time || a->time < b->time)
		return a->time < b->time ? 1 : -1;
	if (a->trace != b->trace)
		return a->trace < b->trace ? -1 : 1;
	return (a->kernel > b->kernel) - (a->kernel < b->kernel);
}

/* Sums of a kernel become its figures. */
static void settle(const struct score *s, struct score_kernel *k,
		   const uint64_t answers[SCORE_MODELS_MAX])
{
	for (size_t m = 0; m < s->model_count; m++) {
		k->ratio[m] = answers[m] == k->count ? mean_of(k->ratio[m], k->count) : NAN;
		if (m && !isnan(k->ratio[m]) && (!k->best || k->ratio[m] < k->ratio[k->best]))
			k->best = m;
	}
}

size_t score_kernels(struct score *s, struct score_kernel **list)
{
	struct gw_index index = {0};
	uint64_t(*answers)[SCORE_MODELS_MAX] = NULL;
	size_t count = 0, room = 0, answer_room = 0;

	*list = NULL;
	for (size_t i = 0; i < s->unit_count; i++) {
		struct score_unit *u = &s->units[i];
		uint32_t kernel = s->traces[u->trace].log.configs[u->config].kernel, at;
		uint64_t key = (uint64_t)u->trace << 32 | kernel;
		struct score_kernel *k;

		at = gw_index_find(&index, key, NULL, NULL);
		if (at == GW_INDEX_NONE) {
			at = (uint32_t)count++;
			gw_index_add(&index, key, at);
			GW_GROW(*list, &room, count);
			GW_GROW(answers, &answer_room, count);
			(*list)[at].trace = u->trace;
			(*list)[at].kernel = kernel;
		}
		k = &(*list)[at];
		k->count += u->count;
		k->configs++;
		k->time += gw_quantile(&u->time, 0.5) * (double)u->count;
		for (size_t m = 0; m < s->model_count; m++) {
			answers[at][m] += u->answers[m];
			k->ratio[m] += u->ratio_sum[m];
		}
	}
	for (size_t i = 0; i < count; i++)
		settle(s, &(*list)[i], answers[i]);
	free(answers);
	gw_index_free(&index);
	if (count)
		qsort(*list, count, sizeof(**list), longest_first);
	return count;
}

/* Answers of the models for one WORK of a configuration. */
struct answers {
	bool asked;
	double seconds[SCORE_MODELS_MAX];
};

struct score_models {
	struct score *score;
	const struct trace *trace;
	struct answers none;     /* without any work */
	struct answers *by_work; /* by position of the WORK */
};

struct score_models *score_models_new(struct score *score, const struct trace *trace)
{
	struct score_models *m = gw_alloc(sizeof(*m));

	m->score = score;
	m->trace = trace;
	m->by_work = gw_alloc(trace->work_count * sizeof(*m->by_work));
	for (size_t i = 0; i < SCORE_MODELS_MAX; i++)
		m->none.seconds[i] = NAN;
	return m;
}

void score_models_free(struct score_models *m)
{
	free(m->by_work);
	free(m);
}

static void ask(struct score_models *m, const struct trace_launch *launch, uint32_t work,
		struct answers *out)
{
	const struct gw_launch l = gw_log_launch(&m->trace->log, launch->config);
	const struct gw_device *device = gw_log_device(&m->trace->log, launch->gpu);
	struct gw_estimate e;
	struct gw_work w;

	out->asked = true;
	trace_work_of(m->trace, work, &w);
	for (size_t i = 0; i < m->score->model_count; i++) {
		out->seconds[i] = NAN;
		if (i == SCORE_OURS || !device)
			continue;
		m->score->models[i]->estimate(device, &l, &w, NULL, &e);
		out->seconds[i] = e.seconds;
		if (isnan(e.seconds))
			memcpy(m->score->reason[i], e.reason, sizeof(e.reason));
	}
}

const double *score_models_ask(struct score_models *m, const struct trace_launch *launch, bool last)
{
	uint32_t work = last ? m->trace->configs[launch->config].last_work
			     : trace_work_known(m->trace, launch->config, launch->known);
	struct answers *a;

	if (!work)
		return m->none.seconds;
	a = &m->by_work[work - 1];
	if (!a->asked)
		ask(m, launch, work - 1, a);
	return a->seconds;
}
