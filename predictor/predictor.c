/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/predictor.h"

#include "predictor/history.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum {
	CHUNK = 1024, /* configurations that share an allocation */
	CLASSES = 6,  /* how many times stood behind a prediction: 1, 2, 3-4, 5-8, 9-16, more */
	EXCLUSIVE_ENOUGH = 8 /* after so many undisturbed times, overlapped ones teach nothing */
};

static const double MISS = 0.10; /* share of times meant to lie outside their interval */
static const double GAIN = 0.05; /* how fast the widths adapt (adaptive conformal inference) */
static const double FIRST[CLASSES] = {0.40, 0.30, 0.20, 4, 3, 2.5}; /* widths to begin with */
static const double ROOM = 8;     /* a width stays within this factor of the first */
static const double WIDEST = 20;  /* of any interval, in log time: keeps the ends finite */
static const double STEP = 32e-9; /* GPU time stamps step by 32 ns on the H200 */

/* A prediction as published by one advance. */
struct published {
	uint64_t known;
	double seconds, low, high;
	uint32_t size; /* times behind it, 0 = none */
	bool multimodal;
	enum gw_source work;
};

struct entry {
	struct gw_history history;
	uint32_t kernel;
	uint32_t exclusive; /* undisturbed times seen */
	uint32_t next;      /* in the list of those observed since the last advance */
	bool listed;
	uint8_t work;                 /* enum gw_source: the best that is known of its work */
	struct published now, before; /* before: the one that `now` replaced */
};

struct gw_predictor {
	const struct gw_device *device;
	uint32_t max_configs;
	uint64_t observations, published; /* published: how many the last advance had */
	uint32_t changed;                 /* head of the list, 0 = empty */
	/*
	 * Half-widths of the intervals, by class: for one to four times in log time, beyond
	 * that in robust standard deviations of the configuration's own log time. They start
	 * wide and are driven by what is observed until 10% miss.
	 */
	double width[CLASSES];
	struct entry **chunks;
};

struct gw_predictor *gw_predictor_new(uint32_t max_configs)
{
	struct gw_predictor *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->max_configs = max_configs;
	p->chunks = calloc(max_configs / CHUNK + 1, sizeof(struct entry *));
	for (int i = 0; i < CLASSES; i++)
		p->width[i] = FIRST[i];
	if (!p->chunks) {
		free(p);
		return NULL;
	}
	return p;
}

void gw_predictor_free(struct gw_predictor *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i <= p->max_configs / CHUNK; i++)
		free(p->chunks[i]);
	free((void *)p->chunks);
	free(p);
}

static struct entry *entry(const struct gw_predictor *p, uint32_t config)
{
	struct entry *chunk;

	if (!config || config > p->max_configs)
		return NULL;
	chunk = p->chunks[config / CHUNK];
	return chunk ? &chunk[config % CHUNK] : NULL;
}

static struct entry *entry_make(struct gw_predictor *p, uint32_t config)
{
	if (!config || config > p->max_configs)
		return NULL;
	if (!p->chunks[config / CHUNK])
		p->chunks[config / CHUNK] = calloc(CHUNK, sizeof(struct entry));
	return entry(p, config);
}

static int class_of(uint32_t size)
{
	int c = 0;

	while (c < CLASSES - 1 && size > 1u << c)
		c++;
	return c;
}

void gw_predictor_device(struct gw_predictor *p, const struct gw_device *profile)
{
	p->device = profile;
}

void gw_predictor_configure(struct gw_predictor *p, uint32_t config, uint32_t kernel,
                            const struct gw_launch *launch)
{
	struct entry *e = entry_make(p, config);

	(void)launch;
	if (e)
		e->kernel = kernel;
}

void gw_predictor_work(struct gw_predictor *p, uint32_t config, const struct gw_work *work)
{
	struct entry *e = entry_make(p, config);

	if (!e)
		return;
	e->work = GW_SOURCE_NONE;
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		if (work->q[i].source > e->work)
			e->work = (uint8_t)work->q[i].source;
}

static void fill(const struct published *from, struct gw_prediction *out)
{
	*out = (struct gw_prediction){
	        .seconds = from->seconds,
	        .low = from->low,
	        .high = from->high,
	        .tier = GW_TIER_STEADY,
	        .work = from->work,
	        .known = from->known,
	        .multimodal = from->multimodal,
	};
}

void gw_predict(const struct gw_predictor *p, uint32_t config, uint64_t known,
                struct gw_prediction *out)
{
	const struct entry *e = entry(p, config);

	*out = (struct gw_prediction){.seconds = NAN, .low = NAN, .high = NAN, .known = known};
	if (e && e->now.size && e->now.known <= known)
		fill(&e->now, out);
	else if (e && e->before.size && e->before.known <= known)
		fill(&e->before, out);
	else if (e && e->now.size)
		out->reason = "what was known at the call is no longer kept";
	else
		out->reason = "no launch of this configuration had been timed";
}

/*
 * Let the class's intervals widen after a miss and narrow, more slowly, after a hit. Within
 * bounds: a configuration without spread misses however wide its class becomes.
 */
static void adapt(struct gw_predictor *p, const struct published *used,
                  const struct gw_observation *o)
{
	bool missed = o->seconds < o->low || o->seconds > o->high;

	int c = class_of(used->size);

	if (isfinite(o->predicted) && used->size && !used->multimodal) {
		double width = p->width[c] * exp(GAIN * ((missed ? 1 : 0) - MISS));

		p->width[c] = fmin(fmax(width, FIRST[c] / ROOM), FIRST[c] * ROOM);
	}
}

uint64_t gw_observe(struct gw_predictor *p, uint32_t config, const struct gw_observation *o)
{
	struct entry *e;

	if (!(o->seconds >= FLT_MIN && o->seconds <= FLT_MAX)) /* a history keeps floats */
		return 0;
	e = entry_make(p, config);
	if (!e)
		return 0;
	adapt(p, &e->now, o);
	p->observations++;
	if (o->exclusive)
		e->exclusive++;
	if (o->exclusive || e->exclusive < EXCLUSIVE_ENOUGH)
		gw_history_add(&e->history, o->seconds);
	if (!e->listed) {
		e->listed = true;
		e->next = p->changed;
		p->changed = config;
	}
	return p->observations;
}

static void publish(const struct gw_predictor *p, struct entry *e)
{
	struct gw_history_summary s;
	uint32_t size = gw_history_size(&e->history);
	double half;

	if (!gw_history_summary(&e->history, &s))
		return;
	half = p->width[class_of(size)];
	if (size > 4)
		half = fmin(half * s.sigma, WIDEST);
	e->before = e->now;
	e->now = (struct published){
	        .known = p->observations,
	        .seconds = s.median,
	        .low = fmax(0, s.median * exp(-half) - STEP),
	        .high = s.median * exp(half) + STEP,
	        .size = size,
	        .work = (enum gw_source)e->work,
	        .multimodal = s.multimodal,
	};
	if (s.multimodal) {
		e->now.low = fmin(e->now.low, fmax(0, s.low - STEP));
		e->now.high = fmax(e->now.high, s.high + STEP);
	}
}

uint64_t gw_predictor_observations(const struct gw_predictor *p)
{
	return p->observations;
}

bool gw_predictor_advance(struct gw_predictor *p,
                          void (*changed)(void *arg, uint32_t config,
                                          const struct gw_prediction *prediction),
                          void *arg)
{
	if (p->observations == p->published)
		return false;
	p->published = p->observations;
	while (p->changed) {
		uint32_t config = p->changed;
		struct entry *e = entry(p, config);
		struct gw_prediction prediction;

		p->changed = e->next;
		e->listed = false;
		publish(p, e);
		fill(&e->now, &prediction);
		if (changed)
			changed(arg, config, &prediction);
	}
	return true;
}
