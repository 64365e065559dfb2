/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/health/detect.h"

#include "cli/common/memory.h"
#include "predictor/core/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	KEYS = 4096,  /* configurations that are remembered; the one unused longest makes room */
	PROBE = 16,   /* places where a key may be */
	WARM = 8,     /* intervals that make a reference */
	FIRM = 120,   /* intervals over which it is refined while nothing is suspected */
	PRIOR = 4,    /* intervals that count as if they had spread by SPREAD_PRIOR */
	LONG = 64,    /* intervals over which its spread is averaged */
	SETTLED = 12, /* intervals of a resource before it can be slow */
	CONFIGS_LEAST = 2, /* that a verdict rests on: the data of one may change at any time */
	SHORTEST = 3,      /* intervals in a row that a change needs */
	NAME = 160
};

static const uint64_t INTERVAL = UINT64_C(5000000000);
static const double SHIFT = 0.03;         /* logarithm of the change that is looked for */
static const double ALARM = 30;           /* score at which a resource is slow */
static const double STEP_MOST = 6;        /* score that one interval may add */
static const double SPREAD_LEAST = 0.004; /* of an interval's mean: less is luck */
static const double SPREAD_PRIOR = 0.02;
static const double DOUBT = 2;           /* standard errors of the references that say nothing */
static const double SPREAD_USABLE = 0.2; /* a configuration that varies more says nothing */
static const double CALM = 0.015;        /* changes below it belong to the drift */
static const double DRIFT = 1 / 360.0;   /* of the drift, an interval: half an hour */
static const double FASTER = 0.1;        /* share by which a reference follows a faster time */
static const double ALIKE = 0.7;       /* of two intervals' GPU time that is of the same kernels */
static const double STALE = 0.02;      /* what the drift may have done in a long pause */
static const double STALE_MIX = 0.6;   /* the share of it after a change of kernels */
static const double STALE_AFTER = 720; /* intervals of a pause that is long */
static const double CATCH_UP = 0.05;   /* of the drift, an interval after such a pause */
static const double PER_DAY = 17280;   /* intervals of a day */

/* A configuration: what it took, and what came since the last tick. */
struct key {
	uint64_t key;
	uint64_t used; /* number of the last tick with a sample; 0: the place is free */
	char kernel[NAME];
	enum health_resource resource;
	bool other_clock; /* the reference has no clock */
	uint32_t intervals;
	double level, spread2,
	        clock; /* of log(ns) at `clock`, log(kHz); variance of an interval's mean */
	double launches_usual;
	/* between two ticks */
	double launches, sum, clock_sum, clock_weight;
	double share;    /* of the GPU time in the last interval with a sample */
	uint64_t shared; /* number of that tick */
	/* since the change that is suspected */
	double slow_launches, slow_sum, slow_expected, slow_weight;
};

struct course {
	uint32_t intervals;
	double drift, spread2, shift; /* usual mean and variance of the deviation; the last one */
	double score, end_score;
	uint64_t seen; /* number of the last tick with samples */
	double stale;  /* how little is known of the drift, 0 to 1 */
	uint32_t run;  /* intervals since the score left 0 */
	bool slow;
	uint64_t since;
	double sum, weight; /* of the deviation since then */
	size_t configs;
};

struct health {
	uint64_t ticks, last_ns;
	uint64_t mixed; /* number of the last tick with samples */
	struct course course[HEALTH_RESOURCES];
	uint32_t came[KEYS]; /* places with a sample since the last tick */
	uint32_t comers;
	struct key key[KEYS];
};

static const char *const names[] = {
#define RESOURCE(NAME, name, meaning) name,
#include "cli/health/resource.def"
#undef RESOURCE
};

const char *health_resource_name(enum health_resource r)
{
	return names[r];
}

const char *health_state_name(enum health_state state)
{
	return state == HEALTH_SLOW ? "slow" : state == HEALTH_GOOD ? "healthy" : "unknown";
}

uint64_t health_interval_ns(void)
{
	return INTERVAL;
}

struct health *health_new(void)
{
	struct health *h = gw_alloc(sizeof(*h));

	h->ticks = 1;
	return h;
}

void health_free(struct health *h)
{
	free(h);
}

/* ---- samples ------------------------------------------------------------------------------- */

static struct key *place_of(struct health *h, const struct health_sample *s)
{
	const uint64_t at = gw_hash_mix(s->key);
	struct key *oldest = NULL;

	for (uint64_t i = 0; i < PROBE; i++) {
		struct key *k = &h->key[(at + i) % KEYS];

		if (k->used && k->key == s->key && k->resource == s->resource)
			return k;
		if (!oldest || k->used < oldest->used)
			oldest = k;
	}
	*oldest = (struct key){.key = s->key, .resource = s->resource};
	strncpy(oldest->kernel, s->kernel ? s->kernel : "", sizeof(oldest->kernel) - 1);
	return oldest;
}

void health_add(struct health *h, const struct health_sample *s)
{
	struct key *k;

	if (!(s->launches > 0) || !(s->mean_ns > 0) || !isfinite(s->launches * s->mean_ns) ||
	    s->resource >= HEALTH_CLOCK)
		return;
	k = place_of(h, s);
	if (!(k->launches > 0) && h->comers < KEYS)
		h->came[h->comers++] = (uint32_t)(k - h->key);
	k->used = h->ticks;
	k->launches += s->launches;
	k->sum += s->launches * s->mean_ns;
	if (s->sm_khz > 0) {
		k->clock_sum += s->launches * log(s->sm_khz);
		k->clock_weight += s->launches;
	}
}

/* ---- an interval --------------------------------------------------------------------------- */

/* What one interval says of a resource: the weighted mean of its configurations' deviations. */
struct tally {
	double weight, sum;
	double doubt; /* variance of the references' mean, times the weight squared */
	size_t configs;
};

static double clock_of(const struct key *k)
{
	return k->clock_weight > 0 ? k->clock_sum / k->clock_weight : NAN;
}

/* A kernel bound by memory does not follow the SM clock; others do. */
static double at_clock(const struct key *k, double clock)
{
	if (k->resource == HEALTH_MEMORY || isnan(clock) || k->other_clock)
		return 0;
	return k->clock - clock;
}

/* The reference is made of the first intervals, and stays: what it drifts by all configurations
 * share. */
static void learn(struct key *k, double x, double clock)
{
	const double gain = 1.0 / (k->intervals + 1);

	if (!k->intervals)
		k->other_clock = isnan(clock);
	if (k->intervals && isnan(clock) != k->other_clock)
		return;
	if (k->intervals) {
		const double d = x - k->level;

		k->spread2 += gain * (d * d - k->spread2);
	}
	k->level += gain * (x - k->level);
	k->clock += k->other_clock ? 0 : gain * (clock - k->clock);
	k->launches_usual += gain * (k->launches - k->launches_usual);
	k->intervals++;
}

static void watch_spread(struct key *k, double d, double launches)
{
	const uint32_t n = k->intervals < LONG ? k->intervals : LONG;

	k->spread2 += (d * d - k->spread2) / n;
	if (k->intervals < FIRM)
		k->level += d / (k->intervals + 1);
	k->launches_usual += (launches - k->launches_usual) / n;
	k->intervals++;
}

static double variance_of(const struct key *k)
{
	const double n = k->intervals < LONG ? k->intervals : LONG;
	const double seen = (n * k->spread2 + PRIOR * SPREAD_PRIOR * SPREAD_PRIOR) / (n + PRIOR);
	const double least = SPREAD_LEAST * SPREAD_LEAST;
	const double fewer = k->launches_usual > k->launches ? k->launches_usual / k->launches : 1;

	return (seen > least ? seen : least) * fewer;
}

static void tally_key(struct health *h, struct key *k, struct tally *tally)
{
	struct course *c = &h->course[k->resource], *clocks = &h->course[HEALTH_CLOCK];
	const double clock = clock_of(k);
	const double x = log(k->sum / k->launches);
	double d, weight;

	if (!isnan(clock)) {
		tally[HEALTH_CLOCK].weight += k->sum;
		tally[HEALTH_CLOCK].sum -= k->sum * clock;
		tally[HEALTH_CLOCK].configs++;
	}
	if (k->intervals < WARM) {
		learn(k, x - c->drift, clock);
		return;
	}
	d = x - k->level - at_clock(k, clock);
	weight = 1 / variance_of(k);
	if (variance_of(k) < SPREAD_USABLE * SPREAD_USABLE) {
		tally[k->resource].weight += weight;
		tally[k->resource].sum += weight * d;
		tally[k->resource].configs++;
		tally[k->resource].doubt += weight / (k->intervals < FIRM ? k->intervals : FIRM);
		if (c->score > 0 || c->slow) {
			k->slow_launches += k->launches;
			k->slow_sum += k->sum;
			k->slow_expected +=
			        k->launches * exp(k->level + c->drift + at_clock(k, clock));
			k->slow_weight += weight;
		}
	}
	if (d - c->drift < -CALM)
		k->level += FASTER * (d - c->drift);
	else if (!c->slow && c->score <= 0 && !clocks->slow)
		watch_spread(k, d - c->drift, k->launches);
}

static void forget_change(struct health *h, int resource)
{
	struct course *c = &h->course[resource];

	c->score = c->end_score = c->sum = c->weight = 0;
	c->run = 0;
	c->since = 0;
	c->slow = false;
	for (size_t i = 0; i < KEYS; i++)
		if ((int)h->key[i].resource == resource)
			h->key[i].slow_launches = h->key[i].slow_sum = h->key[i].slow_expected =
			        h->key[i].slow_weight = 0;
}

/* Deviation @p d beyond the drift, with variance @p v: what speaks for a change of SHIFT. */
static double step(double d, double v)
{
	const double s = SHIFT * (d - SHIFT / 2) / v;

	return s > STEP_MOST ? STEP_MOST : s < -STEP_MOST ? -STEP_MOST : s;
}

static void judge(struct health *h, int resource, const struct tally *t)
{
	struct course *c = &h->course[resource];
	double d, own, v, doubt;

	c->configs = t->configs;
	if (t->configs < (resource == HEALTH_CLOCK ? 1 : CONFIGS_LEAST))
		return;
	if (c->seen)
		c->stale = fmin(1, c->stale + (double)(h->ticks - c->seen - 1) / STALE_AFTER);
	c->seen = h->ticks;
	d = t->sum / t->weight;
	own = resource == HEALTH_CLOCK ? SPREAD_LEAST * SPREAD_LEAST : 1 / t->weight;
	c->shift = d;
	d -= c->drift;
	v = fmax(own, c->spread2) + SPREAD_LEAST * SPREAD_LEAST;
	doubt = resource == HEALTH_CLOCK ? 0 : DOUBT * sqrt(t->doubt) / t->weight;
	doubt += STALE * c->stale;
	if (c->intervals < SETTLED) {
		c->intervals++;
		c->spread2 += ((c->intervals > 1 ? d * d : 0) - c->spread2) / c->intervals;
		c->drift += d / c->intervals;
		return;
	}
	c->score = fmax(0, c->score + step(d - doubt, v));
	if (c->score <= 0 && !c->slow) {
		if (c->run)
			forget_change(h, resource);
		if (fabs(d) < CALM + STALE * c->stale)
			c->drift += (DRIFT + CATCH_UP * c->stale) * d;
		c->stale *= 1 - CATCH_UP;
		c->spread2 += (fmin(d * d, CALM * CALM) - c->spread2) / LONG;
		return;
	}
	if (!c->run++)
		c->since = h->last_ns;
	c->sum += d;
	c->weight++;
	if (!c->slow && c->score >= ALARM && c->run >= SHORTEST)
		c->slow = true;
	/* The same test, turned round, ends it. */
	c->end_score = c->slow ? fmax(0, c->end_score - step(d, v)) : 0;
	if (c->slow && c->end_score >= ALARM)
		forget_change(h, resource);
}

/*
 * The clock follows the power that kernels draw, so it compares only while the same ones run. After
 * a change of these its reference is made anew.
 */
static void follow_mix(struct health *h)
{
	struct course *c = &h->course[HEALTH_CLOCK];
	double all = 0, alike = 0;

	for (uint32_t i = 0; i < h->comers; i++)
		all += h->key[h->came[i]].sum;
	for (uint32_t i = 0; i < h->comers && all > 0; i++) {
		struct key *k = &h->key[h->came[i]];
		const double share = k->sum / all;

		if (k->shared == h->mixed)
			alike += fmin(share, k->share);
		k->share = share;
		k->shared = h->ticks;
	}
	if (!h->comers)
		return;
	if (alike < ALIKE) {
		forget_change(h, HEALTH_CLOCK);
		*c = (struct course){0};
		/* The drift is that of other kernels' references. */
		for (int r = 0; r < HEALTH_CLOCK; r++)
			h->course[r].stale = fmax(h->course[r].stale, STALE_MIX);
	}
	h->mixed = h->ticks;
}

void health_tick(struct health *h, uint64_t now_ns)
{
	struct tally tally[HEALTH_RESOURCES] = {{0}};

	follow_mix(h);
	for (uint32_t i = 0; i < h->comers; i++) {
		struct key *k = &h->key[h->came[i]];

		if (!(k->launches > 0))
			continue; /* another took its place, and is here, too */
		tally_key(h, k, tally);
		k->launches = k->sum = k->clock_sum = k->clock_weight = 0;
	}
	h->comers = 0;
	for (int r = 0; r < HEALTH_RESOURCES; r++)
		judge(h, r, &tally[r]);
	h->ticks++;
	h->last_ns = now_ns;
}

/* ---- verdicts ------------------------------------------------------------------------------ */

static void add_evidence(const struct key *k, double all, struct health_verdict *out)
{
	const struct health_evidence e = {k->kernel, k->slow_launches,
	                                  k->slow_expected / k->slow_launches,
	                                  k->slow_sum / k->slow_launches, k->slow_weight / all};
	size_t at = out->evidence < HEALTH_EVIDENCE ? out->evidence : HEALTH_EVIDENCE - 1;

	if (out->evidence == HEALTH_EVIDENCE && e.weight <= out->row[at].weight)
		return;
	for (; at && out->row[at - 1].weight < e.weight; at--)
		out->row[at] = out->row[at - 1];
	out->row[at] = e;
	out->evidence += out->evidence < HEALTH_EVIDENCE;
}

static void find_evidence(const struct health *h, int resource, struct health_verdict *out)
{
	double all = 0;

	for (size_t i = 0; i < KEYS; i++)
		all += (int)h->key[i].resource == resource ? h->key[i].slow_weight : 0;
	for (size_t i = 0; i < KEYS; i++)
		if ((int)h->key[i].resource == resource && h->key[i].slow_launches > 0)
			add_evidence(&h->key[i], all, out);
}

void health_of(const struct health *h, enum health_resource resource, struct health_verdict *out)
{
	const struct course *c = &h->course[resource];
	const bool suspected = c->slow || c->score > 0;

	*out = (struct health_verdict){.ratio = NAN, .configs = c->configs};
	if (c->intervals < SETTLED)
		return;
	out->state = c->slow ? HEALTH_SLOW : HEALTH_GOOD;
	out->ratio = exp(suspected && c->weight > 0 ? c->sum / c->weight : c->shift - c->drift);
	out->score = suspected ? c->score : 0;
	out->since_ns = c->slow ? c->since : 0;
	out->confidence = c->slow ? fmax(0, 1 - PER_DAY * exp(-c->score)) : 0;
	if (c->slow)
		find_evidence(h, (int)resource, out);
}

enum health_state health_state(const struct health *h, enum health_resource *worst)
{
	enum health_state state = HEALTH_UNKNOWN;
	double most = 0;

	*worst = HEALTH_MEMORY;
	for (int r = 0; r < HEALTH_RESOURCES; r++) {
		const struct course *c = &h->course[r];

		if (c->intervals >= SETTLED && state == HEALTH_UNKNOWN && r != HEALTH_CLOCK)
			state = HEALTH_GOOD;
		if (c->slow && c->sum / c->weight > most) {
			state = HEALTH_SLOW;
			*worst = (enum health_resource)r;
			most = c->sum / c->weight;
		}
	}
	return state;
}
