#include "cli/log/work.h"

#include "cli/log/profile.h"
#include "cli/common/memory.h"
#include "predictor/learner/predictor.h"

#include <stdlib.h>
#include <string.h>

/* A configuration of the log. NULL: nothing. */
struct config {
	struct log_work *code; /* what the code says of rows that more is known of */
	struct log_work *last; /* by its WORKs; after log_works_end what is known in the end */
};

struct log_works {
	struct config *configs;
	size_t count, room;
};

struct log_works *log_works_new(void)
{
	return gw_alloc(sizeof(struct log_works));
}

void log_works_free(struct log_works *w)
{
	for (size_t i = 0; i < w->count; i++) {
		log_work_drop(w->configs[i].code);
		log_work_drop(w->configs[i].last);
	}
	free(w->configs);
	free(w);
}

/* Rows that say only how much something is at most. */
static const bool is_limit[GW_WORK_FIELDS] = {
#define WORK(name, unit, meaning)
#define WORK_MOST(name, unit) [GW_WORK_most_##name] = true,
#include "predictor/core/work.def"
#undef WORK
};

/* What a work holds beside limits. */
enum holds { NOTHING, CODE, COUNTED };

static enum holds holds(const struct log_work *work)
{
	enum holds most = NOTHING;

	for (uint32_t i = 0; work && i < work->count; i++) {
		if (is_limit[work->parts[i].field])
			continue;
		if (work->parts[i].source > GW_SOURCE_STATIC)
			return COUNTED;
		most = CODE;
	}
	return most;
}

static void replace(struct log_work **at, const struct gw_work *work)
{
	log_work_drop(*at);
	*at = log_work_pack(work);
}

void log_works_add(struct log_works *w, uint32_t config, const struct gw_log_record *record)
{
	const struct gw_record_work *r = (const void *)record->head;
	struct gw_work before, work, code;
	bool surer = false;
	struct config *c;

	GW_GROW(w->configs, &w->room, config + 1u);
	w->count = w->count > config ? w->count : config + 1u;
	c = &w->configs[config];
	log_work_of(c->last, &before);
	log_work_of(c->code, &code);
	work = before;
	log_work_put((const void *)record->tail, r->count, &work);
	/* What the code says helps to scale what was counted later. */
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		if (before.q[i].source == GW_SOURCE_STATIC && work.q[i].source > GW_SOURCE_STATIC) {
			code.q[i] = before.q[i];
			surer = true;
		}
	replace(&c->last, &work);
	if (surer)
		replace(&c->code, &code);
}

/* Scaled, or from the code: beside it stand the limits that its own samples set. */
static bool add_most(struct gw_work *out, const struct gw_work *most)
{
	bool any = false;

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++) {
		enum gw_work_field at = gw_work_upper_bound((enum gw_work_field)i);

		if (at == GW_WORK_FIELDS || most->q[at].source == GW_SOURCE_NONE)
			continue;
		out->q[at] = most->q[at];
		any = true;
	}
	return any;
}

static bool counts(const struct gw_work *work)
{
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		if (work->q[i].source > GW_SOURCE_STATIC)
			return true;
	return false;
}

/* Put what a predictor makes of @p c, its configuration @p id, in the place of its last WORK. */
static void settle(struct config *c, const struct gw_predictor *p, uint32_t id)
{
	struct gw_work work, last;
	bool counted;

	gw_predictor_known_work(p, id, &work);
	counted = counts(&work);
	if (holds(c->last) && !counted)
		return;
	log_work_of(c->last, &last);
	if (!add_most(&work, &last) && !counted)
		return;
	replace(&c->last, &work);
}

/* To a predictor, what @p work says of amounts. */
static void show(struct gw_predictor *p, uint32_t id, const struct log_work *work)
{
	struct gw_work amounts;

	if (!holds(work))
		return;
	log_work_of(work, &amounts);
	gw_work_drop_most(&amounts);
	gw_predictor_work(p, id, &amounts);
}

/* The configurations of one kernel, of which some were counted: @p list of @p count positions. */
static void scale(struct log_works *w, const struct gw_log *log, const uint32_t *list,
		  uint32_t count)
{
	struct gw_predictor *p = gw_predictor_new(count);

	if (!p)
		p = gw_alloc(SIZE_MAX); /* ends with the message for want of memory */
	for (uint32_t i = 0; i < count; i++) {
		const struct config *c = &w->configs[list[i]];
		const struct gw_launch launch = gw_log_launch(log, list[i]);

		gw_predictor_configure(p, i + 1, 1, &launch);
		show(p, i + 1, c->code);
		show(p, i + 1, c->last);
	}
	for (uint32_t i = 0; i < count; i++)
		settle(&w->configs[list[i]], p, i + 1);
	gw_predictor_free(p);
}

void log_works_end(struct log_works *w, const struct gw_log *log)
{
	uint32_t *first = gw_alloc((log->kernel_count + 1) * sizeof(*first));
	uint32_t *list = gw_alloc(log->config_count * sizeof(*list));
	bool *counted = gw_alloc(log->kernel_count);

	GW_GROW(w->configs, &w->room, log->config_count);
	w->count = log->config_count;
	/* Sorted by kernel: first[k] is where those of kernel k end, and then where they begin. */
	for (size_t i = 0; i < w->count; i++) {
		const uint32_t kernel = log->configs[i].kernel;

		counted[kernel] |= holds(w->configs[i].last) == COUNTED;
		first[kernel]++;
	}
	for (size_t k = 0; k < log->kernel_count; k++)
		first[k + 1] += first[k];
	for (size_t i = w->count; i--;)
		list[--first[log->configs[i].kernel]] = (uint32_t)i;
	for (size_t k = 0; k < log->kernel_count; k++)
		if (counted[k])
			scale(w, log, list + first[k], first[k + 1] - first[k]);
	free(first);
	free(list);
	free(counted);
}

struct log_work *log_works_of(const struct log_works *w, uint32_t config)
{
	struct log_work *work = w->configs[config].last;

	return work && work->count ? work : NULL;
}
