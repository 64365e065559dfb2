/*
 * Cross-validation over a log: each launch is predicted by a predictor that never saw a time of its
 * kernel, or of its configuration, but the times of the others and the work of all. The log is gone
 * through once for each fold; what a fold hides is shown to the predictor at its end.
 */
#include "cli/replay/replay.h"

#include "cli/common/memory.h"

#include <math.h>
#include <stdlib.h>

enum {
	/*
	 * Most folds that kernels, or the configurations of a kernel, are dealt to: with more of
	 * them each fold hides several, which then do not teach each other either.
	 */
	FOLDS = 64,
	/*
	 * Times learnt of a configuration in a fold. What it has in common with others is in the
	 * first few; the rest are its own history, which is not asked for here.
	 */
	TIMES = 8
};

/* What a fold does with a configuration. */
enum role { TEACHES, IS_HIDDEN, STAYS_OUT };

struct fold {
	const struct trace *trace;
	const struct replay_options *options;
	uint32_t number;          /* of the fold */
	uint32_t kernel, ordinal; /* of a single configuration, where that is what it hides */
	struct gw_predictor_set *fleet;
	uint8_t *taught;          /* times learnt, by configuration */
	struct gw_clocks *clocks; /* by GPU */
	uint64_t known;           /* observations at the last advance */
};

static uint32_t family(const struct fold *f, uint32_t kernel)
{
	return f->options->family ? f->options->family[kernel] : kernel;
}

static enum role role_of(const struct fold *f, uint32_t config)
{
	const struct log_config *c = &f->trace->log.configs[config];

	if (f->options->hide == REPLAY_KERNEL)
		return family(f, c->kernel) % FOLDS == f->number ? IS_HIDDEN : TEACHES;
	if (!f->options->family)
		return c->ordinal % FOLDS == f->number ? IS_HIDDEN : TEACHES;
	if (c->kernel == f->kernel)
		return c->ordinal == f->ordinal ? IS_HIDDEN : TEACHES;
	return family(f, c->kernel) == family(f, f->kernel) ? STAYS_OUT : TEACHES;
}

/* What was known of a configuration's work before anything was counted there. */
static void uncounted(const struct trace *trace, uint32_t last, struct gw_work *work)
{
	struct gw_work earlier;

	trace_work_of(trace, last - 1, work);
	for (uint32_t at = trace->works[last - 1].before; at; at = trace->works[at - 1].before) {
		trace_work_of(trace, at - 1, &earlier);
		for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
			if (work->q[i].source == GW_SOURCE_COUNTED)
				work->q[i] = earlier.q[i];
	}
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		if (work->q[i].source == GW_SOURCE_COUNTED)
			work->q[i] = (struct gw_quantity){.value = NAN};
}

/* Configurations, hidden ones or the others, and their work at the end of the log. */
static void introduce(struct fold *f, bool hidden)
{
	const struct trace *t = f->trace;
	struct gw_work work;

	for (uint32_t i = 0; i < t->log.config_count; i++) {
		const struct trace_config *c = &t->configs[i];

		if ((role_of(f, i) == IS_HIDDEN) != hidden)
			continue;
		replay_configure(f->fleet, t, i);
		if (!c->last_work)
			continue;
		/* Static work is used beside counted work, as in the library. */
		uncounted(t, c->last_work, &work);
		gw_predictor_set_work(f->fleet, i + 1, &work);
		if (f->options->hide_work)
			continue;
		trace_work_of(t, c->last_work - 1, &work);
		gw_predictor_set_work(f->fleet, i + 1, &work);
	}
}

static void teach(struct fold *f, const struct trace_launch *l)
{
	struct trace_launch said = *l;
	struct gw_prediction p;
	struct gw_observation o;
	struct gw_work work;

	if (!(l->flags & GW_LAUNCH_LEARNT) || f->taught[l->config] == TIMES ||
	    role_of(f, l->config) != TEACHES)
		return;
	f->taught[l->config]++;
	gw_predictor_set_predict(f->fleet, l->config + 1, f->known, &p);
	replay_put(&said, &p);
	o = replay_observation(l, &said, f->clocks);
	gw_predictor_set_observe(f->fleet, l->config + 1, &o);
	/* Where counted work is withheld, it comes after the first time, as it does in life. */
	if (f->options->hide_work && f->taught[l->config] == 1 &&
	    f->trace->configs[l->config].last_work) {
		trace_work_of(f->trace, f->trace->configs[l->config].last_work - 1, &work);
		gw_predictor_set_work(f->fleet, l->config + 1, &work);
	}
}

static void advance(struct fold *f)
{
	if (gw_predictor_set_advance(f->fleet, NULL, NULL))
		f->known = gw_predictor_set_observations(f->fleet);
}

static void go_through(struct fold *f)
{
	const struct trace *t = f->trace;

	for (size_t i = 0; i < t->event_count; i++) {
		uint32_t index = t->events[i].index;

		if (t->events[i].kind == TRACE_LAUNCH)
			teach(f, &t->launches[index]);
		else if (t->events[i].kind == TRACE_PUBLISHED)
			advance(f);
		else if (t->events[i].kind == TRACE_CLOCK)
			gw_clocks_add(&f->clocks[t->clocks[index].gpu], &t->clocks[index].sample);
	}
	advance(f);
}

static void ask(struct fold *f, replay_fn *each, void *arg, struct replay_result *result)
{
	const struct trace *t = f->trace;
	struct gw_prediction *p = gw_alloc(t->log.config_count * sizeof(*p));
	bool *hidden = gw_alloc(t->log.config_count * sizeof(*hidden));

	for (uint32_t i = 0; i < t->log.config_count; i++) {
		hidden[i] = role_of(f, i) == IS_HIDDEN;
		if (hidden[i])
			gw_predictor_set_predict(f->fleet, i + 1, f->known, &p[i]);
	}
	for (size_t i = 0; i < t->launch_count; i++) {
		const struct trace_launch *l = &t->launches[i];

		if (!hidden[l->config] || !trace_measured(l))
			continue;
		result->predicted += isnan(p[l->config].seconds) ? 0 : 1;
		each(arg, i, &p[l->config]);
	}
	free(p);
	free(hidden);
}

static bool hides_anything(const struct fold *f)
{
	for (uint32_t i = 0; i < f->trace->log.config_count; i++)
		if (f->trace->configs[i].measured && role_of(f, i) == IS_HIDDEN)
			return true;
	return false;
}

static void one_fold(struct fold *f, replay_fn *each, void *arg, struct replay_result *result)
{
	if (!hides_anything(f))
		return;
	result->folds++;
	f->known = 0;
	f->clocks = gw_alloc(f->trace->log.gpu_count * sizeof(*f->clocks));
	f->fleet = replay_predictors(f->trace, f->options->model);
	f->taught = gw_alloc(f->trace->log.config_count);
	for (size_t i = 0; i < f->trace->log.gpu_count; i++)
		if (f->trace->log.gpus[i].known.profile)
			gw_predictor_set_device(f->fleet, f->trace->log.gpus[i].record.id,
						&f->trace->log.gpus[i].known.profile->device);
	introduce(f, false);
	go_through(f);
	introduce(f, true);
	ask(f, each, arg, result);
	free(f->taught);
	free(f->clocks);
	gw_predictor_set_free(f->fleet);
}

/* Every configuration by itself: its family must not teach it, but its own kernel may. */
static void one_by_one(struct fold *f, replay_fn *each, void *arg, struct replay_result *result)
{
	for (uint32_t i = 0; i < f->trace->log.config_count; i++) {
		f->kernel = f->trace->log.configs[i].kernel;
		f->ordinal = f->trace->log.configs[i].ordinal;
		one_fold(f, each, arg, result);
	}
}

void replay_hidden(const struct trace *trace, const struct replay_options *options, replay_fn *each,
		   void *arg, struct replay_result *result)
{
	struct fold f = {.trace = trace, .options = options};

	if (options->hide == REPLAY_CONFIGURATION && options->family) {
		one_by_one(&f, each, arg, result);
		return;
	}
	for (f.number = 0; f.number < FOLDS; f.number++)
		one_fold(&f, each, arg, result);
}
