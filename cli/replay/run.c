/* A replay in the learner's order. */
#include "cli/replay/replay.h"

#include "cli/common/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Two kinds of predictions. One that was published stood from then on for every launch called
 * later; it is kept with its number. One of a configuration that had not been timed may also have
 * been made for the launch itself, when the library got to it: from the state that was published
 * at its call and the work known at that moment, which the log does not name. So for such a launch
 * each prediction is kept that was possible in that state; the log shows which one was made. It may
 * be made publications later, when the kernel's other configurations have newer predictions, or
 * others have taken their places: each publication of one changes what is possible.
 */

/* What was predicted, one after the other. */
struct predicted {
	struct gw_prediction *made;
	size_t count, room;
};

/* Launches of a configuration called before it was timed, with the same `known`. */
struct early {
	uint32_t config;
	uint32_t next_same_known, next_same_kernel; /* 1 + position; 0: the last */
	uint32_t next_old; /* the same in the list of those called before the last publication */
	uint32_t seen;     /* publications of its kernel when it was last looked at */
	uint64_t known;
	size_t left; /* of these launches, those whose records are yet to come */
	struct predicted could;
};

struct run {
	const struct trace *trace;
	const struct replay_options *options;
	struct gw_predictor_set *fleet;
	struct gw_clocks *clocks;    /* by GPU */
	struct predicted *published; /* by configuration; by rising `known` */
	bool *configured;            /* by configuration */
	struct early *earlies;
	size_t early_count, early_room;
	struct gw_index early_index, known_index; /* known_index: to the first of a number */
	uint32_t *kernel_first;                   /* by kernel: 1 + position in earlies */
	uint32_t *kernel_published; /* by kernel: predictions published of its configurations */
	uint32_t old_first;         /* 1 + position in earlies; 0: none */
	uint64_t now, before;       /* numbers of the last two publications */
	struct replay_result *result;
};

/* Ids of the predictor: dense from 1, in the order of the log, as the library counts them. */
static uint32_t id_of(uint32_t config)
{
	return config + 1;
}

struct gw_predictor_set *replay_predictors(const struct trace *trace, const struct gw_model *model)
{
	struct gw_predictor_set *p = gw_predictor_set_new((uint32_t)trace->log.config_count + 1);

	if (!p)
		p = gw_alloc(SIZE_MAX); /* ends with the message for want of memory */
	gw_predictor_set_model(p, model);
	return p;
}

void replay_configure(struct gw_predictor_set *predictors, const struct trace *trace,
		      uint32_t config)
{
	const struct log_config *c = &trace->log.configs[config];
	const struct gw_launch launch = gw_log_launch(&trace->log, config);

	gw_predictor_set_configure(predictors, id_of(config), c->device, c->kernel + 1, &launch);
}

static void keep(struct predicted *c, const struct gw_prediction *prediction)
{
	GW_GROW(c->made, &c->room, c->count + 1);
	c->made[c->count++] = *prediction;
}

static void changed(void *arg, uint32_t id, const struct gw_prediction *prediction)
{
	struct run *run = arg;

	if (!id || id > run->trace->log.config_count)
		return;
	keep(&run->published[id - 1], prediction);
	run->kernel_published[run->trace->log.configs[id - 1].kernel]++;
}

static uint64_t early_key(uint32_t config, uint64_t known)
{
	const uint64_t parts[] = {config, known};

	return gw_hash(0, parts, sizeof(parts));
}

static bool same_early(const void *arg, uint32_t position)
{
	const void *const *pair = arg;
	const struct run *run = pair[0];
	const struct trace_launch *l = pair[1];

	return run->earlies[position].config == l->config &&
	       run->earlies[position].known == l->known;
}

static uint32_t find_early(const struct run *run, const struct trace_launch *l)
{
	const void *pair[] = {run, l};

	return gw_index_find(&run->early_index, early_key(l->config, l->known), same_early, pair);
}

static void add_early(struct run *run, const struct trace_launch *l)
{
	uint32_t kernel = run->trace->log.configs[l->config].kernel,
		 at = (uint32_t)run->early_count;
	uint32_t first = gw_index_find(&run->known_index, l->known, NULL, NULL);
	struct early *e;

	GW_GROW(run->earlies, &run->early_room, ++run->early_count);
	e = &run->earlies[at];
	e->config = l->config;
	e->known = l->known;
	e->next_same_kernel = run->kernel_first[kernel];
	run->kernel_first[kernel] = at + 1;
	gw_index_add(&run->early_index, early_key(l->config, l->known), at);
	if (first == GW_INDEX_NONE) {
		gw_index_add(&run->known_index, l->known, at);
	} else { /* behind the first, which the index goes on to name */
		e->next_same_known = run->earlies[first].next_same_known;
		run->earlies[first].next_same_known = at + 1;
	}
}

/* Launches that were called before their configuration had a time that they could know. */
static void find_earlies(struct run *run)
{
	const struct trace *t = run->trace;
	uint64_t *first = gw_alloc(t->log.config_count * sizeof(*first)), learnt = 0;

	for (size_t i = 0; i < t->launch_count; i++) {
		const struct trace_launch *l = &t->launches[i];

		learnt += (l->flags & GW_LAUNCH_LEARNT) != 0;
		if ((l->flags & GW_LAUNCH_LEARNT) && !first[l->config])
			first[l->config] = learnt;
	}
	for (size_t i = 0; i < t->launch_count; i++) {
		const struct trace_launch *l = &t->launches[i];

		if (first[l->config] && first[l->config] <= l->known)
			continue;
		if (find_early(run, l) == GW_INDEX_NONE)
			add_early(run, l);
		run->earlies[find_early(run, l)].left++;
	}
	free(first);
}

static bool same_prediction(const struct gw_prediction *a, const struct gw_prediction *b)
{
	return !memcmp(&a->seconds, &b->seconds, sizeof(a->seconds)) &&
	       !memcmp(&a->low, &b->low, sizeof(a->low)) &&
	       !memcmp(&a->high, &b->high, sizeof(a->high)) && a->tier == b->tier &&
	       a->work == b->work;
}

/* What could be predicted for @p e now, unless its state is still to come. */
static void look(struct run *run, struct early *e)
{
	struct gw_prediction p;

	if (!run->configured[e->config] || !e->left || e->known > run->now)
		return;
	gw_predictor_set_predict(run->fleet, id_of(e->config), e->known, &p);
	if (!e->could.count || !same_prediction(&p, &e->could.made[e->could.count - 1]))
		keep(&e->could, &p);
}

/* A configuration has news, which may change predictions of others of its kernel. */
static void look_at_kernel(struct run *run, uint32_t kernel)
{
	for (uint32_t at = run->kernel_first[kernel]; at;
	     at = run->earlies[at - 1].next_same_kernel)
		look(run, &run->earlies[at - 1]);
}

/* From 1; 0: there is none. */
static uint32_t first_known(const struct run *run, uint64_t known)
{
	uint32_t at = gw_index_find(&run->known_index, known, NULL, NULL);

	return at == GW_INDEX_NONE ? 0 : at + 1;
}

static void look_at_known(struct run *run, uint64_t known)
{
	for (uint32_t at = first_known(run, known); at; at = run->earlies[at - 1].next_same_known)
		look(run, &run->earlies[at - 1]);
}

/* From now on those of the state @p known are looked at with each publication of their kernel. */
static void leave_state(struct run *run, uint64_t known)
{
	for (uint32_t at = first_known(run, known); at; at = run->earlies[at - 1].next_same_known) {
		run->earlies[at - 1].next_old = run->old_first;
		run->old_first = at;
	}
}

/* Launches of which no record has come yet: whose kernel has news, or whose state @p gone is no
 * longer kept. */
static void look_at_old(struct run *run, uint64_t gone)
{
	uint32_t *link = &run->old_first;

	while (*link) {
		struct early *e = &run->earlies[*link - 1];
		uint32_t published =
			run->kernel_published[run->trace->log.configs[e->config].kernel];

		if (!e->left) {
			*link = e->next_old;
			continue;
		}
		if (e->seen != published || e->known == gone)
			look(run, e);
		e->seen = published;
		link = &e->next_old;
	}
}

static void on_config(struct run *run, uint32_t config)
{
	replay_configure(run->fleet, run->trace, config);
	run->configured[config] = true;
	look_at_kernel(run, run->trace->log.configs[config].kernel);
}

static void on_work(struct run *run, uint32_t index)
{
	uint32_t config = run->trace->works[index].config;
	struct gw_work work;

	trace_work_of(run->trace, index, &work);
	gw_predictor_set_work(run->fleet, id_of(config), &work);
	look_at_kernel(run, run->trace->log.configs[config].kernel);
}

/* Of which the same may be said now as of another configuration. */
static void on_successor(struct run *run, uint32_t config)
{
	gw_predictor_set_successor(run->fleet, id_of(config),
				   run->trace->configs[config].predecessor);
	look_at_kernel(run, run->trace->log.configs[config].kernel);
}

static bool same_bits(float a, float b)
{
	return (isnan(a) && isnan(b)) || !memcmp(&a, &b, sizeof(a));
}

/* Whether two records say the same was predicted, to the bit. */
static bool says_the_same(const struct trace_launch *a, const struct trace_launch *b)
{
	/* Of a launch without a prediction the log says no more than whether there was a limit. */
	if (isnan(a->predicted) && isnan(b->predicted))
		return isnan(a->low) == isnan(b->low);
	return same_bits(a->predicted, b->predicted) && same_bits(a->low, b->low) &&
	       same_bits(a->high, b->high) && a->tier == b->tier && a->work == b->work;
}

static bool is_logged(const struct trace_launch *l, const struct gw_prediction *p)
{
	struct trace_launch now;

	replay_put(&now, p);
	return says_the_same(l, &now);
}

/* Of what could be predicted: what the log says; else the last of its kind; else the last. */
static const struct gw_prediction *choose(const struct predicted *c, const struct trace_launch *l)
{
	const struct gw_prediction *kind = NULL;

	for (size_t i = 0; i < c->count; i++) {
		const struct gw_prediction *p = &c->made[i];

		if (is_logged(l, p))
			return p;
		if (isnan(p->seconds) == isnan(l->predicted) && p->work == l->work)
			kind = p;
	}
	return kind ? kind : c->count ? &c->made[c->count - 1] : NULL;
}

static void predict(const struct run *run, const struct trace_launch *l, struct gw_prediction *out)
{
	const struct predicted *c = &run->published[l->config];
	const struct gw_prediction *found = NULL;
	uint32_t at = find_early(run, l);
	size_t n = c->count;

	while (n && c->made[n - 1].known > l->known)
		n--;
	if (n)
		found = &c->made[n - 1];
	/* Published or made for the launch: where both are possible the log decides. */
	if (at != GW_INDEX_NONE && !(found && is_logged(l, found))) {
		const struct gw_prediction *made = choose(&run->earlies[at].could, l);

		if (made && (!found || is_logged(l, made)))
			found = made;
	}
	if (found)
		*out = *found;
	else
		gw_predictor_set_predict(run->fleet, id_of(l->config), l->known, out);
}

void replay_put(struct trace_launch *launch, const struct gw_prediction *p)
{
	launch->predicted = (float)(p->seconds * 1e9);
	launch->low = (float)(p->low * 1e9);
	launch->high = (float)(p->high * 1e9);
	launch->tier = isnan(p->seconds) ? (uint8_t)GW_TIER_NONE : (uint8_t)p->tier;
	launch->work = (uint8_t)p->work;
}

struct gw_observation replay_observation(const struct trace_launch *launch,
					 const struct trace_launch *said,
					 const struct gw_clocks *clocks)
{
	static const struct gw_clocks none;
	struct gw_clock_state clock;

	gw_clocks_at(launch->stream_gpu == GW_INDEX_NONE ? &none : &clocks[launch->stream_gpu],
		     launch->start, launch->start + launch->duration, &clock);
	return (struct gw_observation){
		.seconds = (double)launch->duration * 1e-9,
		.exclusive = !(launch->flags & GW_LAUNCH_OVERLAPPED),
		.predicted = (double)said->predicted * 1e-9,
		.low = (double)said->low * 1e-9,
		.high = (double)said->high * 1e-9,
		.tier = (enum gw_tier)said->tier,
		.work = (enum gw_source)said->work,
		.sm_hz = clock.sm_hz,
	};
}

static void compare(const struct run *run, size_t index, const struct trace_launch *now)
{
	const struct trace_launch *log = &run->trace->launches[index];
	const unsigned predicted = isnan(now->predicted) ? 0u : 1u;
	struct replay_result *result = run->result;

	result->predicted += predicted;
	if (isnan(log->predicted)) {
		result->extra += predicted;
		return;
	}
	result->logged++;
	if (says_the_same(log, now)) {
		result->equal++;
	} else if (!result->first) {
		result->first = index + 1;
		result->now = *now;
	}
}

static void on_launch(struct run *run, size_t index, replay_fn *each, void *arg)
{
	const struct trace_launch *l = &run->trace->launches[index];
	uint32_t early = find_early(run, l);
	struct trace_launch now = *l;
	struct gw_prediction p;
	struct gw_observation o;

	predict(run, l, &p);
	replay_put(&now, &p);
	compare(run, index, &now);
	if (early != GW_INDEX_NONE)
		run->earlies[early].left--;
	if (!run->options->own && isnan(l->predicted) && !isnan(p.seconds))
		p = (struct gw_prediction){.seconds = NAN, .low = NAN, .high = NAN};
	each(arg, index, &p);
	if (!(l->flags & GW_LAUNCH_LEARNT))
		return;
	o = replay_observation(l, run->options->own ? &now : l, run->clocks);
	gw_predictor_set_observe(run->fleet, id_of(l->config), &o);
}

static void on_published(struct run *run, uint64_t known)
{
	uint64_t gone = run->before;

	run->result->steps++;
	run->result->in_step += known == gw_predictor_set_observations(run->fleet);
	if (!gw_predictor_set_advance(run->fleet, changed, run))
		return;
	run->before = run->now;
	run->now = gw_predictor_set_observations(run->fleet);
	look_at_known(run, run->now);
	leave_state(run, run->before);
	look_at_old(run, gone);
}

static void as_recorded(struct run *run, replay_fn *each, void *arg)
{
	const struct trace *t = run->trace;

	for (size_t i = 0; i < t->event_count; i++) {
		uint32_t index = t->events[i].index;

		switch ((enum trace_kind)t->events[i].kind) {
		case TRACE_PROFILE:
			gw_predictor_set_device(run->fleet, t->log.gpus[index].record.id,
						&t->log.gpus[index].known.profile->device);
			break;
		case TRACE_CONFIG:
			on_config(run, index);
			break;
		case TRACE_WORK:
			on_work(run, index);
			break;
		case TRACE_LAUNCH:
			on_launch(run, index, each, arg);
			break;
		case TRACE_PUBLISHED:
			on_published(run, t->published[index]);
			break;
		case TRACE_CLOCK:
			gw_clocks_add(&run->clocks[t->clocks[index].gpu], &t->clocks[index].sample);
			break;
		case TRACE_SUCCESSOR:
			on_successor(run, index);
			break;
		case TRACE_KINDS:
			break;
		}
	}
}

void replay(const struct trace *trace, const struct replay_options *options, replay_fn *each,
	    void *arg, struct replay_result *result)
{
	struct run run = {.trace = trace, .options = options, .result = result};

	*result = (struct replay_result){0};
	if (options->hide != REPLAY_ALL) {
		replay_hidden(trace, options, each, arg, result);
		return;
	}
	run.fleet = replay_predictors(trace, options->model);
	run.published = gw_alloc(trace->log.config_count * sizeof(*run.published));
	run.configured = gw_alloc(trace->log.config_count * sizeof(*run.configured));
	run.clocks = gw_alloc(trace->log.gpu_count * sizeof(*run.clocks));
	run.kernel_first = gw_alloc(trace->log.kernel_count * sizeof(*run.kernel_first));
	run.kernel_published = gw_alloc(trace->log.kernel_count * sizeof(*run.kernel_published));
	find_earlies(&run);
	as_recorded(&run, each, arg);
	for (size_t i = 0; i < trace->log.config_count; i++)
		free(run.published[i].made);
	for (size_t i = 0; i < run.early_count; i++)
		free(run.earlies[i].could.made);
	gw_index_free(&run.early_index);
	gw_index_free(&run.known_index);
	free(run.earlies);
	free(run.kernel_first);
	free(run.kernel_published);
	free(run.clocks);
	free(run.configured);
	free(run.published);
	gw_predictor_set_free(run.fleet);
}
