#include "predictor/learner/learner.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum {
	HEAP = 16,     /* bytes the heap takes beside an allocation */
	NEW_MOST = 16, /* never-timed configurations that one advance recomputes */
	FAMILIES_FIRST = 64,
};

static const double WIDEST = 20;          /* of any interval, in log time: keeps the ends finite */
static const double COMMON_CHANGE = 0.05; /* change of a width or bias, in its logarithm */
static const double STEP = 32e-9;         /* GPU time stamps step by 32 ns on the H200 */

size_t gw_predictor_config_bytes(void)
{
	return sizeof(struct gw_entry) + sizeof(struct gw_entry *) + HEAP;
}

size_t gw_predictor_kernel_bytes(void)
{
	return sizeof(struct gw_kernel_stats) + 2 * sizeof(struct gw_kernel_stats *) + HEAP;
}

struct gw_predictor *gw_predictor_new(uint32_t max_configs)
{
	struct gw_predictor *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->max_configs = max_configs;
	p->reference_hz = NAN;
	p->state.sm_hz = NAN;
	gw_coverage_start(&p->state.coverage);
	gw_residual_start(&p->state);
	gw_errors_start(&p->repeats);
	p->now = p->before = p->noted = p->state;
	p->entries = calloc((size_t)max_configs + 1, sizeof(struct gw_entry *));
	if (!p->entries) {
		free(p);
		return NULL;
	}
	return p;
}

void gw_predictor_free(struct gw_predictor *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i <= p->max_configs; i++) {
		if (p->entries[i])
			free(p->entries[i]->parts);
		free(p->entries[i]);
	}
	for (uint32_t i = 0; i < p->family_count; i++)
		free(p->families[i]);
	free((void *)p->families);
	gw_index_free(&p->family_of);
	free((void *)p->entries);
	free(p);
}

struct gw_entry *gw_learner_entry(const struct gw_predictor *p, uint32_t config)
{
	return config <= p->max_configs ? p->entries[config] : NULL;
}

static struct gw_entry *entry_make(struct gw_predictor *p, uint32_t config)
{
	if (!config || config > p->max_configs)
		return NULL;
	if (!p->entries[config])
		p->entries[config] = calloc(1, sizeof(struct gw_entry));
	return p->entries[config];
}

/* ---- what configurations are ---- */

void gw_predictor_device(struct gw_predictor *p, const struct gw_device *profile)
{
	double hz = profile ? gw_param(profile, GW_PARAM_sm_clock) : NAN;
	double floor = profile ? gw_param(profile, GW_PARAM_launch_floor) : NAN;

	p->device = profile;
	p->floor = floor > 0 ? floor : 0;
	if (hz > 0)
		p->reference_hz = hz;
	for (uint32_t config = 1; config <= p->max_configs; config++) {
		struct gw_entry *e = gw_learner_entry(p, config);

		if (!e || !e->family)
			continue;
		gw_scale_place(p, e);
		e->work_version++;
	}
}

void gw_predictor_model(struct gw_predictor *p, const struct gw_model *model)
{
	p->model = model;
}

static bool families_grow(struct gw_predictor *p)
{
	uint32_t room = p->family_room ? p->family_room * 2 : FAMILIES_FIRST;
	void *grown = realloc((void *)p->families, room * sizeof(*p->families));

	if (!grown)
		return false;
	p->families = grown;
	p->family_room = room;
	return true;
}

/* The kernel @p id, created when missing; NULL without memory. */
static struct gw_kernel_stats *family_of(struct gw_predictor *p, uint32_t id,
					 const struct gw_kernel *kernel)
{
	uint32_t at = gw_index_find(&p->family_of, id, NULL, NULL);
	struct gw_kernel_stats *family;

	if (at != GW_INDEX_NONE)
		return p->families[at];
	if (p->family_count == p->family_room && !families_grow(p))
		return NULL;
	family = calloc(1, sizeof(*family));
	if (!family || !gw_index_try_add(&p->family_of, id, p->family_count)) {
		free(family);
		return NULL;
	}
	family->id = id;
	family->kernel = *kernel;
	family->kernel.name = "";
	p->families[p->family_count++] = family;
	return family;
}

static void append_new(struct gw_predictor *p, uint32_t config, struct gw_entry *e)
{
	e->next_new = 0;
	if (p->new_last)
		gw_learner_entry(p, p->new_last)->next_new = config;
	else
		p->new_first = config;
	p->new_last = config;
}

void gw_predictor_configure(struct gw_predictor *p, uint32_t config, uint32_t kernel,
			    const struct gw_launch *launch)
{
	struct gw_entry *e = kernel ? entry_make(p, config) : NULL;

	if (!e || e->family)
		return;
	e->family = family_of(p, kernel, launch->kernel);
	if (!e->family)
		return;
	e->config = launch->config;
	e->work_version++;
	gw_scale_place(p, e);
	append_new(p, config, e);
}

void gw_predictor_successor(struct gw_predictor *p, uint32_t config, uint32_t of)
{
	struct gw_entry *e = gw_learner_entry(p, config);

	if (!e || e->history.count || of == config || !gw_learner_entry(p, of))
		return;
	e->predecessor = of;
	e->fresh_at = UINT64_MAX; /* what was made without is of no use any more */
}

void gw_predictor_work(struct gw_predictor *p, uint32_t config, const struct gw_work *work)
{
	struct gw_entry *e = entry_make(p, config);

	if (e)
		gw_scale_keep(p, config, e, work);
}

/* ---- predicting ---- */

double gw_clock_factor(const struct gw_predictor *p, double share, double sm_hz)
{
	double slower = p->reference_hz / sm_hz;

	return share > 0 && slower > 0 && slower <= DBL_MAX ? 1 - share + share * slower : 1;
}

void gw_state_at(const struct gw_predictor *p, uint64_t known, struct gw_state *out)
{
	if (p->now.known <= known) {
		*out = p->now;
		return;
	}
	if (p->before.known <= known) {
		*out = p->before;
		return;
	}
	*out = (struct gw_state){.known = known, .sm_hz = NAN};
	gw_coverage_start(&out->coverage);
	gw_residual_start(out);
}

const struct gw_published *gw_published_at(const struct gw_entry *e, uint64_t known)
{
	if (e->now.there && e->now.known <= known)
		return &e->now;
	return e->before.there && e->before.known <= known ? &e->before : NULL;
}

static void fill(const struct gw_published *from, struct gw_prediction *out)
{
	*out = (struct gw_prediction){
		.seconds = from->seconds,
		.low = from->low,
		.high = from->high,
		.tier = (enum gw_tier)from->tier,
		.work = (enum gw_source)from->work,
		.bound = (enum gw_bound)from->bound,
		.known = from->known,
		.multimodal = from->multimodal,
	};
}

/* What @p made says is as good as own times. */
static bool stands_in(const struct gw_published *made)
{
	return made && made->size && made->agrees;
}

/* Of a configuration that had not been timed. */
static void expect(const struct gw_predictor *p, struct gw_entry *e, uint64_t known,
		   struct gw_published *out)
{
	const struct gw_entry *before = gw_learner_entry(p, e->predecessor);
	const struct gw_published *made = before ? gw_published_at(before, known) : NULL;

	if (stands_in(made))
		*out = *made;
	else
		gw_residual_predict(p, e, known, out);
}

/* Its history starts with that of the plain configuration. */
static void take_over(const struct gw_predictor *p, struct gw_entry *e)
{
	const struct gw_entry *before = gw_learner_entry(p, e->predecessor);

	if (!before || !before->now.there || !stands_in(&before->now))
		return;
	e->history = before->history;
	e->alone = before->alone;
	e->overlap = before->overlap;
	e->own = before->own;
	e->forecast = before->forecast;
}

/* Computed on request and kept for the next. */
static const struct gw_published *fresh(const struct gw_predictor *p, struct gw_entry *e,
					uint64_t known)
{
	uint32_t any_work = e->family ? e->family->any_work_version : 0;

	if (e->fresh_for != known || e->fresh_at != p->published ||
	    e->fresh_own != e->work_version || e->fresh_any_work != any_work) {
		expect(p, e, known, &e->fresh);
		e->fresh_for = known;
		e->fresh_at = p->published;
		e->fresh_own = e->work_version;
		e->fresh_any_work = any_work;
	}
	return &e->fresh;
}

void gw_predict(const struct gw_predictor *p, uint32_t config, uint64_t known,
		struct gw_prediction *out)
{
	struct gw_entry *e = gw_learner_entry(p, config);
	const struct gw_published *made = e ? gw_published_at(e, known) : NULL;
	bool published = made != NULL;

	*out = (struct gw_prediction){.seconds = NAN, .low = NAN, .high = NAN, .known = known};
	if (e && !made && (!e->timed_known || e->timed_known > known))
		made = fresh(p, e, known);
	else if (e && !made)
		out->reason = "what was known at the call is no longer kept";
	if (made && made->there) {
		fill(made, out);
		out->published = published;
	} else if (made && made->least > 0) {
		out->low = made->least;
		out->reason = "what is not known before the launch decides how much it does";
	} else if (!out->reason) {
		out->reason = p->device ? "no launch of this kernel had been timed, and nothing is "
					  "known of its work"
					: "no launch of this kernel had been timed";
	}
}

/* ---- learning ---- */

/*
 * How well an interval did. That of a configuration's own times is judged at the next advance,
 * all launches since the last together; another one by its configuration's first time alone, as
 * all that were launched before it was measured have the same.
 */
static void judge(struct gw_predictor *p, struct gw_entry *e, const struct gw_observation *o)
{
	bool missed = o->seconds < o->low || o->seconds > o->high;

	if (!isfinite(o->predicted)) {
		if (o->low > 0 && !e->history.count)
			gw_coverage_judge(&p->state.coverage, GW_WIDTH_LEAST, o->seconds < o->low);
		return;
	}
	/* Where they are held whole, those beside others say nothing of the width of the rest. */
	if (o->tier == GW_TIER_STEADY && !o->exclusive && e->now.covers_overlap)
		return;
	if (o->tier == GW_TIER_STEADY) {
		e->judged += e->judged < UINT32_MAX;
		e->error += (float)(fmax(o->seconds / o->predicted, o->predicted / o->seconds) - 1);
		e->missed += missed && e->missed < UINT32_MAX;
	} else if (o->tier != GW_TIER_NONE && !e->history.count) {
		gw_coverage_judge(&p->state.coverage, gw_width_of_work(o->tier, o->work), missed);
	}
}

uint64_t gw_observe(struct gw_predictor *p, uint32_t config, const struct gw_observation *o)
{
	struct gw_entry *e;
	double factor = 1, seconds;

	if (!(o->seconds >= FLT_MIN && o->seconds <= FLT_MAX)) /* a history keeps floats */
		return 0;
	e = entry_make(p, config);
	if (!e)
		return 0;
	judge(p, e, o);
	if (!e->history.count)
		take_over(p, e);
	p->observations++;
	if (o->sm_hz > 0 && o->sm_hz <= DBL_MAX) {
		if (isnan(p->reference_hz))
			p->reference_hz = o->sm_hz;
		p->state.sm_hz = o->sm_hz;
		factor = gw_clock_factor(p, (double)e->settled_share, o->sm_hz);
	}
	/* Overlapped times are used until it has run alone, and dropped then. */
	if (o->exclusive && !e->alone)
		e->history = (struct gw_history){0};
	e->alone |= o->exclusive;
	seconds = fmin(fmax(o->seconds / factor, (double)FLT_MIN), (double)FLT_MAX);
	gw_own_repeat(p, e, seconds);
	if (o->exclusive || !e->alone)
		gw_history_add(&e->history, seconds);
	gw_overlap_add(&e->overlap, o->exclusive, seconds);
	if (!e->listed) {
		e->listed = true;
		e->next = p->changed;
		p->changed = config;
	}
	return p->observations;
}

uint64_t gw_predictor_observations(const struct gw_predictor *p)
{
	return p->observations;
}

void gw_predictor_number(struct gw_predictor *p, uint64_t observations)
{
	if (observations > p->observations)
		p->observations = observations;
}

/* ---- publishing ---- */

static void judge_all(struct gw_predictor *p, struct gw_entry *e)
{
	double missed = e->judged ? (double)e->missed / e->judged : 0;

	/* Several modes are held whole: there is no width to adapt. */
	if (e->judged && e->now.size && !e->now.multimodal)
		gw_coverage_judge(&p->state.coverage, e->now.kind, missed);
	if (e->judged && e->now.size > 4) {
		e->own = gw_coverage_own(e->own, missed, e->judged);
		if (!e->now.multimodal)
			gw_own_forecast(e, log1p((double)e->error / e->judged));
	}
	e->judged = e->missed = 0;
	e->error = 0;
}

/*
 * Which version of its work its own times use. Only calls that the log records may decide when: if
 * a request for a prediction did, a replay, which requests at other times, would learn something
 * else.
 */
static void settle(struct gw_predictor *p, struct gw_entry *e)
{
	struct gw_base b;

	if (!e->family || e->settled == e->work_version)
		return;
	b = gw_scale_base(p, e, UINT64_MAX);
	e->settled_share = b.share;
	e->settled_source = b.source;
	e->settled_bound = b.bound;
	e->settled = e->work_version;
}

static void publish(struct gw_predictor *p, uint32_t config, struct gw_entry *e)
{
	struct gw_history_summary s;
	struct gw_published *now = &e->now;
	double half, factor, scatter, least, most;

	if (!gw_history_summary(&e->history, &s))
		return;
	gw_history_follow(&e->history, &s);
	gw_residual_timed(p, config, e, log(s.median));
	settle(p, e);
	if (!e->timed_known)
		e->timed_known = p->observations;
	e->before = e->now;
	*now = (struct gw_published){
		.known = p->observations,
		.there = true,
		.tier = GW_TIER_STEADY,
		.size = gw_history_size(&e->history),
		.work = e->settled_source,
		.bound = e->settled_bound,
		.center = (float)log(s.median),
		.multimodal = s.multimodal,
	};
	now->agrees = gw_history_agrees(&e->history, &scatter);
	now->scatter = (float)scatter;
	now->kind = (uint8_t)gw_width_of_size(now->size);
	now->noise = (float)gw_own_spread(p, e, &s);
	half = fmin(gw_own_half(p, e, now, s.multimodal), WIDEST);
	factor = gw_clock_factor(p, (double)e->settled_share, p->state.sm_hz);
	now->seconds = s.median * factor;
	now->low = fmax(0, now->seconds * exp(-half) - STEP);
	now->high = now->seconds * exp(half) + STEP;
	if (s.multimodal) {
		now->low = fmin(now->low, fmax(0, s.low * factor - STEP));
		now->high = fmax(now->high, s.high * factor + STEP);
	}
	if (gw_own_range(e, &s, &least, &most)) {
		now->low = fmin(now->low, fmax(0, least * factor - STEP));
		now->high = fmax(now->high, most * factor + STEP);
	}
	now->covers_overlap = e->alone && gw_overlap_range(&e->overlap, &least, &most);
	if (now->covers_overlap) {
		now->low = fmin(now->low, fmax(0, least * factor - STEP));
		now->high = fmax(now->high, most * factor + STEP);
	}
}

/* Whether what all configurations share is another than when it was last noted. */
static bool common_changed(const struct gw_state *now, const struct gw_state *noted)
{
	for (unsigned i = GW_WIDTH_SIZES; i < GW_WIDTHS; i++)
		if (fabs(log((double)now->coverage.width[i] / (double)noted->coverage.width[i])) >
		    COMMON_CHANGE)
			return true;
	for (unsigned c = 0; c < GW_CLASSES; c++)
		if (fabs(now->level[c].mean - noted->level[c].mean) > COMMON_CHANGE ||
		    fabs(log(now->level[c].spread / noted->level[c].spread)) > COMMON_CHANGE)
			return true;
	return false;
}

/* One that was never timed, if what it rests on has changed; true when it was published. */
static bool publish_new(struct gw_predictor *p, struct gw_entry *e)
{
	uint32_t family = e->family->version + e->family->work_version;
	struct gw_published made;

	if (e->made_own == e->work_version && e->made_family == family &&
	    e->made_common == p->common)
		return false;
	e->made_own = e->work_version;
	e->made_common = p->common;
	e->made_family = family;
	expect(p, e, p->observations, &made);
	if (!made.there)
		return false;
	e->before = e->now;
	e->now = made;
	return true;
}

static void publish_some_new(struct gw_predictor *p,
			     void (*changed)(void *arg, uint32_t config,
					     const struct gw_prediction *prediction),
			     void *arg)
{
	uint32_t last = p->new_last;

	for (unsigned i = 0; p->new_first && i < NEW_MOST; i++) {
		uint32_t config = p->new_first;
		struct gw_entry *e = gw_learner_entry(p, config);
		struct gw_prediction prediction;

		p->new_first = e->next_new;
		if (!p->new_first)
			p->new_last = 0;
		if (e->history.count)
			continue;
		if (publish_new(p, e) && changed) {
			fill(&e->now, &prediction);
			changed(arg, config, &prediction);
		}
		append_new(p, config, e);
		if (config == last)
			break;
	}
}

bool gw_predictor_advance(struct gw_predictor *p,
			  void (*changed)(void *arg, uint32_t config,
					  const struct gw_prediction *prediction),
			  void *arg)
{
	if (p->observations == p->published)
		return false;
	p->published = p->observations;
	for (uint32_t c = p->changed; c; c = gw_learner_entry(p, c)->next)
		judge_all(p, gw_learner_entry(p, c));
	gw_coverage_adapt(&p->state.coverage);
	while (p->changed) {
		uint32_t config = p->changed;
		struct gw_entry *e = gw_learner_entry(p, config);
		struct gw_prediction prediction;

		p->changed = e->next;
		e->listed = false;
		publish(p, config, e);
		fill(&e->now, &prediction);
		if (changed && e->now.there)
			changed(arg, config, &prediction);
	}
	gw_residual_levels(p);
	if (common_changed(&p->state, &p->noted)) {
		p->noted = p->state;
		p->common++;
	}
	p->state.known = p->observations;
	p->before = p->now;
	p->now = p->state;
	publish_some_new(p, changed, arg);
	return true;
}
