/* SPDX-License-Identifier: Apache-2.0 */
/* A replay in the learner's order. */
#include "cli/replay.h"

#include "cli/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What was predicted of a configuration, each time it became another prediction. */
struct course {
	struct gw_prediction *made; /* by rising `known` */
	size_t count, room;
};

struct run {
	const struct tape *tape;
	const struct replay_options *options;
	struct gw_predictor *predictor;
	struct course *courses; /* by configuration */
	struct replay_result *result;
};

/* Ids of the predictor: dense from 1, in the order of the log, as the library counts them. */
static uint32_t id_of(uint32_t config)
{
	return config + 1;
}

struct gw_predictor *replay_predictor(const struct tape *tape, const struct gw_model *model)
{
	struct gw_predictor *p = gw_predictor_new((uint32_t)tape->config_count + 1);

	(void)model;
	if (!p)
		p = gw_alloc(SIZE_MAX); /* ends with the message for want of memory */
	return p;
}

static void keep(struct run *run, uint32_t config, const struct gw_prediction *prediction)
{
	struct course *c = &run->courses[config];

	/* Of several for the same number the last counts. */
	if (c->count && c->made[c->count - 1].known == prediction->known)
		c->count--;
	c->made = gw_grow(c->made, &c->room, c->count + 1, sizeof(*c->made));
	c->made[c->count++] = *prediction;
}

static void changed(void *arg, uint32_t id, const struct gw_prediction *prediction)
{
	if (id && id <= ((struct run *)arg)->tape->config_count)
		keep(arg, id - 1, prediction);
}

/* A configuration that was never published is predicted from what is known of its work at once. */
static void first_look(struct run *run, uint32_t config)
{
	struct gw_prediction p;

	gw_predict(run->predictor, id_of(config), gw_predictor_observations(run->predictor), &p);
	if (!isnan(p.seconds)) {
		p.known = gw_predictor_observations(run->predictor);
		keep(run, config, &p);
	}
}

static bool seen(const struct run *run, uint32_t config)
{
	return run->courses[config].count > 0;
}

static void on_config(struct run *run, uint32_t config)
{
	const struct tape_config *c = &run->tape->configs[config];

	gw_predictor_configure(run->predictor, id_of(config), c->kernel + 1, &c->launch);
	first_look(run, config);
}

static void on_work(struct run *run, uint32_t index)
{
	uint32_t config = run->tape->works[index].config;
	bool published = seen(run, config);
	struct gw_work work;

	tape_work_of(run->tape, index, &work);
	gw_predictor_work(run->predictor, id_of(config), &work);
	if (!published)
		first_look(run, config);
}

static void predict(const struct run *run, const struct tape_launch *l, struct gw_prediction *out)
{
	const struct course *c = &run->courses[l->config];
	size_t n = c->count;

	while (n && c->made[n - 1].known > l->known)
		n--;
	if (n)
		*out = c->made[n - 1];
	else
		gw_predict(run->predictor, id_of(l->config), l->known, out);
}

void replay_put(struct tape_launch *launch, const struct gw_prediction *p)
{
	launch->predicted = (float)(p->seconds * 1e9);
	launch->low = (float)(p->low * 1e9);
	launch->high = (float)(p->high * 1e9);
	launch->tier = isnan(p->seconds) ? (uint8_t)GW_TIER_NONE : (uint8_t)p->tier;
	launch->work = (uint8_t)p->work;
}

struct gw_observation replay_observation(const struct tape_launch *launch,
                                         const struct tape_launch *said)
{
	return (struct gw_observation){
	        .seconds = (double)launch->duration * 1e-9,
	        .exclusive = !(launch->flags & GW_LAUNCH_OVERLAPPED),
	        .predicted = (double)said->predicted * 1e-9,
	        .low = (double)said->low * 1e-9,
	        .high = (double)said->high * 1e-9,
	        .tier = (enum gw_tier)said->tier,
	        .work = (enum gw_source)said->work,
	        .sm_hz = NAN,
	};
}

static bool same_bits(float a, float b)
{
	return (isnan(a) && isnan(b)) || !memcmp(&a, &b, sizeof(a));
}

static void compare(struct replay_result *result, const struct tape_launch *log,
                    const struct tape_launch *now)
{
	const unsigned predicted = isnan(now->predicted) ? 0u : 1u;

	result->predicted += predicted;
	if (isnan(log->predicted)) {
		result->extra += predicted;
		return;
	}
	result->logged++;
	result->equal += same_bits(log->predicted, now->predicted) &&
	                 same_bits(log->low, now->low) && same_bits(log->high, now->high) &&
	                 log->tier == now->tier && log->work == now->work;
}

static void on_launch(struct run *run, size_t index, replay_fn *each, void *arg)
{
	const struct tape_launch *l = &run->tape->launches[index];
	struct tape_launch now = *l;
	struct gw_prediction p;
	struct gw_observation o;

	predict(run, l, &p);
	replay_put(&now, &p);
	compare(run->result, l, &now);
	each(arg, index, &p);
	if (!(l->flags & GW_LAUNCH_LEARNT))
		return;
	/*
	 * The intervals learn from what had been predicted: with the same model from what the log
	 * says of that, so that one launch that can't be told again does not spoil those after it.
	 */
	o = replay_observation(l, run->options->model ? &now : l);
	gw_observe(run->predictor, id_of(l->config), &o);
}

static void on_published(struct run *run, uint64_t known)
{
	run->result->steps++;
	run->result->in_step += known == gw_predictor_observations(run->predictor);
	gw_predictor_advance(run->predictor, changed, run);
}

static void as_recorded(struct run *run, replay_fn *each, void *arg)
{
	const struct tape *t = run->tape;

	for (size_t i = 0; i < t->event_count; i++) {
		uint32_t index = t->events[i].index;

		switch ((enum tape_kind)t->events[i].kind) {
		case TAPE_PROFILE:
			gw_predictor_device(run->predictor, &t->gpus[index].known.profile->device);
			break;
		case TAPE_CONFIG:
			on_config(run, index);
			break;
		case TAPE_WORK:
			on_work(run, index);
			break;
		case TAPE_LAUNCH:
			on_launch(run, index, each, arg);
			break;
		case TAPE_PUBLISHED:
			on_published(run, t->published[index]);
			break;
		case TAPE_KINDS:
			break;
		}
	}
}

void replay(const struct tape *tape, const struct replay_options *options, replay_fn *each,
            void *arg, struct replay_result *result)
{
	struct run run = {.tape = tape, .options = options, .result = result};

	*result = (struct replay_result){0};
	if (options->hide != REPLAY_ALL) {
		replay_hidden(tape, options, each, arg, result);
		return;
	}
	run.predictor = replay_predictor(tape, options->model);
	run.courses = gw_alloc(tape->config_count * sizeof(*run.courses));
	as_recorded(&run, each, arg);
	for (size_t i = 0; i < tape->config_count; i++)
		free(run.courses[i].made);
	free(run.courses);
	gw_predictor_free(run.predictor);
}
