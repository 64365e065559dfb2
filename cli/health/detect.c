#include "cli/health/detect.h"

#include "cli/common/memory.h"
#include "predictor/counters/glr.h"
#include "predictor/core/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	KEYS = 4096, /* configurations that are remembered; the one unused longest makes room */
	PROBE = 16,  /* places where a key may be */
	WARM = 7,    /* intervals that make a reference */
	FIRM = 60,   /* intervals that it follows what its data do */
	PRIOR = 4,   /* intervals that count as if they had spread by SPREAD_PRIOR */
	UNLIKE_LEAST = 6,    /* intervals in a row of another mix: processes that start are none */
	CLOCK_SETTLING = 18, /* intervals in which a GPU becomes warm */
	MIXED_MOST = 60,     /* intervals that a mix of kernels is the mean of */
	APART = 2,           /* intervals without a configuration that are no change of kernels */
	STALE = 60,          /* the same that end a reference in the making */
	AGAIN = 6,           /* intervals in which a program that came back is looked at closely */
	VOTERS_LEAST = 4,  /* configurations that a verdict rests on: the data of one may change */
	VOTERS_MOST = 256, /* that are heard in an interval, of each resource */
	NAME = 160
};
static const uint64_t INTERVAL = UINT64_C(10000000000);
static const double SPREAD_LEAST = 0.004; /* of an interval's mean: less is luck */
static const double SPREAD_PRIOR = 0.02;
static const double SPREAD_USABLE = 0.03; /* a configuration that varies more says nothing */
static const double SPREAD_MOST = 0.3;    /* of one interval that is learned */
static const double WEIGHT_MOST = 0.25;   /* share of one configuration in the verdict */
static const double LEAST = 0.0175;       /* a smaller shift is none */
static const double CLOCK_LEAST = 0.02;   /* the same of the clock, which has no others to agree */
/* Score soon after programs came back, of which a day has a sixtieth: ln 60 less. */
static const double ALARM_AGAIN = 10;
static const double MAINLY = 0.5;   /* share by weight of what is known of before */
static const double EACH = 0.01;    /* slowness of one that agrees with a verdict */
static const double DISAGREE = 0.3; /* share that may disagree */
static const double OFFSET = 0.004; /* between two processes that run the same configuration */
static const double FAR = 2, FAR_MOST = 0.015; /* spreads that one may be from the middle */
static const double APART_MOST = 0.06;         /* the same, where it says how far they agree */
static const double FULL = 0.045;    /* slowness beyond which sizes differ as kernels do */
static const double LEFT = 30;       /* intervals over which one's way of its own is averaged */
static const double LASTING = 360;   /* over which what its data do is averaged: an hour */
static const double OFF = 4;         /* the same, of how far references disagree */
static const double LEFT_BY = 0.015; /* when its reference is made anew */
static const double ELASTIC = 0.2;   /* of what the clock explains, the part that is not certain */
static const double ALIKE = 0.9;     /* of an interval's GPU time that is of kernels as before */
static const double READING = 0.001; /* error of a clock's mean */

/* A configuration: what it took, and what came since the last tick. */
struct key {
	uint64_t key;
	uint64_t used; /* number of the last tick with a sample; 0: the place is free */
	char kernel[NAME];
	enum health_resource resource;
	bool other_clock, listed; /* the reference has no clock; among those that came */
	uint32_t intervals;
	float first[WARM];            /* logarithms, until there is a reference */
	double level, spread2, clock; /* log(ns) at log(kHz) `clock`; an interval's variance */
	double alone, off;    /* usual deviation from the others; from their middle, lately */
	double last, lasting; /* `alone` of the last interval; covariance of two: by its data */
	double launches, sum, clock_sum, clock_weight; /* since the last tick */
	double share;          /* of the GPU time, summed over the first intervals of this mix */
	uint32_t mix;          /* its number */
	uint64_t judged;       /* number of the last tick that judged it */
	double astray;         /* variance of the drift when its reference was learned */
	uint64_t then_at;      /* number of the tick that `then` is of */
	struct glr_drift then; /* of its resource, as it is known best; variance 0: unknown */
	/* since the change that is suspected, in the episode of this number */
	uint32_t episode;
	double slow_launches, slow_sum, slow_expected, slow_weight;
};

/* What a configuration says of its resource in an interval. */
struct voter {
	struct key *key;
	double deviation, weight, clock, spread;
	double unclear, doubt; /* what the clock changed by; variance of its reference */
};

struct health {
	uint64_t ticks, last_ns;
	double khz, log_khz; /* of the last sample */
	uint32_t mixes;      /* changes of the kernels that run */
	uint32_t mixed;      /* intervals of which the present mix is the mean */
	uint32_t unlike;     /* intervals in a row that are not of that mix */
	bool other;          /* the last one had other kernels, not only fewer */
	struct glr test[HEALTH_RESOURCES];
	size_t voters[HEALTH_RESOURCES];  /* in the last interval */
	double margin[HEALTH_RESOURCES];  /* the same: health_margin() */
	uint64_t again[HEALTH_RESOURCES]; /* tick at which known programs came back; 0: none did */
	struct voter voter[VOTERS_MOST];
	uint32_t came[KEYS], comers; /* places with a sample since the last tick */
	struct key key[KEYS];
};

uint64_t health_interval_ns(void)
{
	return INTERVAL;
}

struct health *health_new(void)
{
	struct health *h = gw_alloc(sizeof(*h));

	h->ticks = 1;
	h->test[HEALTH_CLOCK].settling = CLOCK_SETTLING;
	return h;
}

void health_free(struct health *h)
{
	free(h);
}

/* ---- samples ---- */

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
	*oldest = (struct key){.key = s->key, .resource = s->resource, .listed = oldest->listed};
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
	if (!k->listed)
		h->came[h->comers++] = (uint32_t)(k - h->key);
	k->listed = true;
	k->used = h->ticks;
	k->launches += s->launches;
	k->sum += s->launches * s->mean_ns;
	if (s->sm_khz > 0) {
		if (s->sm_khz != h->khz) {
			h->khz = s->sm_khz;
			h->log_khz = log(s->sm_khz);
		}
		k->clock_sum += s->launches * h->log_khz;
		k->clock_weight += s->launches;
	}
}

/* ---- an interval ---- */

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

static int by_value(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* The reference is the median of the first intervals: one that was disturbed says nothing. */
static void learn(struct key *k, double x, double clock)
{
	double spread2 = 0;

	k->other_clock |= isnan(clock);
	k->first[k->intervals++] = (float)x;
	k->clock += k->other_clock ? 0 : (clock - k->clock) / k->intervals;
	if (k->intervals < WARM)
		return;
	qsort(k->first, WARM, sizeof(*k->first), by_value);
	k->level = k->first[WARM / 2];
	for (int i = 0; i < WARM; i++)
		spread2 += (k->first[i] - k->level) * (k->first[i] - k->level) / WARM;
	k->spread2 = spread2;
}

static double variance_of(const struct key *k)
{
	const double n = k->intervals < FIRM ? k->intervals : FIRM;
	const double seen = (n * k->spread2 + PRIOR * SPREAD_PRIOR * SPREAD_PRIOR) / (n + PRIOR);

	return fmax(seen, SPREAD_LEAST * SPREAD_LEAST);
}

static void hear(struct key *k, struct voter *v)
{
	const double clock = clock_of(k), x = log(k->sum / k->launches), variance = variance_of(k);

	*v = (struct voter){
		.key = k,
		.deviation = x - k->level - at_clock(k, clock),
		.clock = clock,
		.spread = sqrt(variance),
		.weight = variance < SPREAD_USABLE * SPREAD_USABLE ? 1 / sqrt(variance) : 0,
		.unclear = isnan(clock) || k->other_clock ? 0 : clock - k->clock,
		.doubt = fmax(OFFSET * OFFSET, k->lasting) + variance / fmin(k->intervals, FIRM)};
}

static int by_deviation(const void *a, const void *b)
{
	const double x = ((const struct voter *)a)->deviation;
	const double y = ((const struct voter *)b)->deviation;

	return (x > y) - (x < y);
}

/* Weights by which none decides alone; their sum. */
static double cap_weights(struct voter *v, size_t count)
{
	const double most = fmax(WEIGHT_MOST, 1.0 / (double)count);
	double all = 0;

	for (int pass = 0; pass < 3; pass++) {
		const double cap = pass ? most * all : INFINITY;

		all = 0;
		for (size_t i = 0; i < count; i++)
			all += v[i].weight = fmin(v[i].weight, cap);
	}
	return all;
}

/* The deviation below which @p share of the weight lies, between two voters' middles. */
static double quantile(const struct voter *v, size_t count, double share)
{
	double below = 0, middle = 0;

	for (size_t i = 0; i < count; i++) {
		const double before = middle;

		middle = below + v[i].weight / 2;
		below += v[i].weight;
		if (middle >= share)
			return !i ? v[0].deviation
				  : v[i - 1].deviation + (v[i].deviation - v[i - 1].deviation) *
								 (share - before) /
								 (middle - before);
	}
	return v[count - 1].deviation;
}

static void add_to_evidence(struct key *k, const struct glr *c, const struct voter *v)
{
	if (k->episode != c->episode) {
		k->episode = c->episode;
		k->slow_launches = k->slow_sum = k->slow_expected = k->slow_weight = 0;
	}
	k->slow_launches += k->launches;
	k->slow_sum += k->sum;
	k->slow_expected += k->launches * exp(k->level + c->drift + at_clock(k, v->clock));
	k->slow_weight += v->weight;
}

/*
 * What one configuration does alone, neither as the others (which may be few that have other data
 * at once) nor as the drift, is of its data. Its reference is refined for a while; later it is made
 * anew where the configuration has left both for good. What all do is no one's.
 */
static void follow_data(const struct voter *v, double common, double drift)
{
	struct key *k = v->key;
	const double n = k->intervals < FIRM ? k->intervals : FIRM;
	const double others = v->deviation - common, before = v->deviation - drift;
	const double alone = fabs(others) < fabs(before) ? others : before;
	const double bounded = fmax(-SPREAD_MOST, fmin(SPREAD_MOST, alone));

	k->spread2 += (bounded * bounded - k->spread2) / n;
	k->lasting += (bounded * k->last - k->lasting) / fmin(k->intervals, LASTING);
	k->last = bounded;
	k->alone += (alone - k->alone) / LEFT;
	if (k->intervals++ < FIRM) {
		k->level += alone / n;
	} else if (fabs(k->alone) > LEFT_BY) {
		k->level += k->alone;
		k->alone = 0;
	}
}

/* The mean by weight, of deviations that are no further from the middle than they use to be. */
static double mean_of(const struct voter *v, size_t count, double middle, double all)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		const double most = fmin(FAR * v[i].spread, FAR_MOST);
		const double d = v[i].deviation - middle;

		sum += v[i].weight * fmax(-most, fmin(most, d));
	}
	return middle + sum / all;
}

/* Whether nearly all, by number and by weight, were slow by @p least since it is suspected. */
static bool agree(const struct voter *v, size_t count, double all, double least)
{
	double against = 0;
	size_t others = 0, voters = 0;

	for (size_t i = 0; i < count; i++) {
		const struct key *k = v[i].key;

		voters += v[i].weight > 0;
		if (!(v[i].weight > 0) || k->slow_sum > k->slow_expected * (1 + least))
			continue;
		against += v[i].weight;
		others++;
	}
	return against <= DISAGREE * all && (double)others <= DISAGREE * (double)voters;
}

/* Kept is the drift that is known best now: not one of minutes among others, at another clock. */
static void remember(const struct health *h, const struct glr *c, struct key *k)
{
	const struct glr_drift now = glr_drift(c);

	k->judged = h->ticks;
	if (glr_knows_better(&now, &k->then, h->ticks - k->then_at)) {
		k->then = now;
		k->then_at = h->ticks;
	}
}

/* Other configurations than last, or the same at another clock: what is known of the drift, now and
 * when they were here. */
static void follow_change(struct health *h, int resource, size_t count, double all, double unclear)
{
	struct glr *c = &h->test[resource];
	struct glr_mix mix = {.unclear = unclear};

	for (size_t i = 0; i < count; i++) {
		const struct key *k = h->voter[i].key;
		const double share = h->voter[i].weight / all;
		const bool came = h->ticks > k->judged + APART;

		mix.other += came ? share : 0;
		mix.astray += came ? share * k->astray : 0;
		if (came || k->then_at < k->judged)
			glr_recall(&mix, share, &k->then, h->ticks - k->then_at);
	}
	if (!(mix.other > 0 || (mix.recalled > MAINLY && glr_other_clock(c, unclear))))
		return;
	glr_mixed(c, &mix);
	if (mix.recalled > MAINLY)
		h->again[resource] = h->ticks;
}

static double alarm_of(const struct health *h, uint64_t again)
{
	return again && h->ticks < again + AGAIN ? ALARM_AGAIN : GLR_ALARM;
}

/* The common deviation of a resource's configurations; the drift, where too few have a say. */
static double judge(struct health *h, int resource, size_t count)
{
	struct glr *c = &h->test[resource];
	struct voter *v = h->voter;
	double all, common, margin, middle, scale, apart, doubt = 0, unclear = 0, astray = 0;

	h->voters[resource] = 0;
	for (size_t i = 0; i < count; i++)
		h->voters[resource] += v[i].weight > 0;
	if (h->voters[resource] < VOTERS_LEAST) {
		glr_pass(c, h->ticks);
		return c->drift;
	}
	all = cap_weights(v, count);
	qsort(v, count, sizeof(*v), by_deviation);
	middle = quantile(v, count, all / 2);
	scale = fmin(1, FULL / fmax(middle - c->drift, FULL));
	for (size_t i = 0; i < count; i++) {
		struct key *k = v[i].key;
		const bool came = h->ticks > k->judged + APART;

		/* The noise of one interval is in the test's variance already. */
		k->off += (v[i].deviation - middle - k->off) / (came ? 1 : OFF);
		apart = fmin(fabs(k->off) * scale, APART_MOST);
		doubt += v[i].weight * v[i].weight * fmax(v[i].doubt, apart * apart);
		unclear += v[i].weight * ELASTIC * v[i].unclear / all;
		astray += v[i].weight * k->astray / all;
	}
	common = mean_of(v, count, middle, all);
	follow_change(h, resource, count, all, unclear);
	c->astray = astray;
	glr_take(c, h->ticks, h->last_ns,
		 &(struct glr_deviation){common, doubt / (all * all), unclear});
	for (size_t i = 0; i < count; i++) {
		remember(h, c, v[i].key);
		if ((c->suspected || c->slow) && v[i].weight > 0)
			add_to_evidence(v[i].key, c, &v[i]);
	}
	margin = glr_margin(c, LEAST, alarm_of(h, h->again[resource]));
	if (margin > 0 && agree(v, count, all, EACH * fmin(margin, 1)))
		h->margin[resource] = margin;
	c->slow |= h->margin[resource] >= 1;
	return common;
}

static void judge_kernels(struct health *h, int resource)
{
	const struct glr *c = &h->test[resource];
	size_t count = 0, heard = 0;
	double common;

	for (uint32_t i = 0; i < h->comers && count < VOTERS_MOST; i++) {
		struct key *k = &h->key[h->came[i]];

		if ((int)k->resource == resource && k->intervals >= WARM)
			hear(k, &h->voter[count++]);
	}
	common = judge(h, resource, count);
	/* By how much each is slow on a GPU that is slow by much is not of its data. */
	for (; heard < count && common < c->drift + FULL; heard++)
		follow_data(&h->voter[heard], common, c->drift);
	/* What is seen first on a slow GPU is no reference, unless others say how slow it is. */
	if (c->slow ? h->voters[resource] < VOTERS_LEAST : c->suspected)
		return;
	common = c->slow ? common : c->drift;
	for (uint32_t i = 0; i < h->comers; i++) {
		struct key *k = &h->key[h->came[i]];

		if ((int)k->resource != resource || k->intervals >= WARM)
			continue;
		if (h->ticks > k->judged + STALE)
			k->intervals = 0; /* what came before a pause is of another time */
		k->judged = h->ticks;
		k->astray = fmax(k->astray, glr_astray(c));
		learn(k, log(k->sum / k->launches) - common, clock_of(k));
	}
}

static void judge_clock(struct health *h)
{
	struct glr *c = &h->test[HEALTH_CLOCK];
	double sum = 0, weight = 0;

	h->voters[HEALTH_CLOCK] = 0;
	for (uint32_t i = 0; i < h->comers; i++) {
		const struct key *k = &h->key[h->came[i]];
		const double clock = clock_of(k);

		if (!(k->launches > 0) || isnan(clock))
			continue;
		sum -= k->sum * clock;
		weight += k->sum;
		h->voters[HEALTH_CLOCK]++;
	}
	if (!h->voters[HEALTH_CLOCK] || h->other) {
		glr_pass(c, h->ticks);
		return;
	}
	glr_take(c, h->ticks, h->last_ns,
		 &(struct glr_deviation){sum / weight, READING * READING, 0});
	h->margin[HEALTH_CLOCK] = h->unlike ? 0 : glr_margin(c, CLOCK_LEAST, GLR_ALARM);
	c->slow |= h->margin[HEALTH_CLOCK] >= 1;
}

/* What launches would have taken: other data are no other kernels. */
static double usual_time(const struct key *k)
{
	return k->intervals < WARM ? k->sum : k->launches * exp(k->level);
}

/*
 * The clock follows the power that kernels draw, so it compares only while nearly all GPU time is
 * of the same ones. After a change of these its reference, and what ran beside it, are made anew.
 */
static void follow_mix(struct health *h)
{
	struct glr *c = &h->test[HEALTH_CLOCK];
	double all = 0, alike = 0, present = 0, of_present = 0;

	for (uint32_t i = 0; i < h->comers; i++) {
		const struct key *k = &h->key[h->came[i]];

		all += usual_time(k);
		present += k->mix == h->mixes ? k->share : 0;
	}
	for (uint32_t i = 0; i < h->comers && present > 0; i++) {
		const struct key *k = &h->key[h->came[i]];
		const double usual = k->mix == h->mixes ? usual_time(k) / all : 0;

		alike += fmin(usual, k->share / h->mixed);
		of_present += fmin(usual, k->share / present);
	}
	if (!h->comers)
		return;
	h->unlike = alike < ALIKE && h->mixed ? h->unlike + 1 : 0;
	h->other = h->mixed && of_present < ALIKE;
	if (h->unlike >= UNLIKE_LEAST) {
		*c = (struct glr){.episode = c->episode, .settling = CLOCK_SETTLING};
		h->mixes++;
		h->mixed = h->unlike = h->other = 0;
	}
	if (h->unlike || h->mixed >= MIXED_MOST)
		return;
	for (uint32_t i = 0; i < h->comers; i++) {
		struct key *k = &h->key[h->came[i]];

		k->share = (k->mix == h->mixes ? k->share : 0) + usual_time(k) / all;
		k->mix = h->mixes;
	}
	h->mixed++;
}

void health_tick(struct health *h, uint64_t now_ns)
{
	follow_mix(h);
	memset(h->margin, 0, sizeof(h->margin));
	for (int r = 0; r < HEALTH_CLOCK; r++)
		judge_kernels(h, r);
	judge_clock(h);
	for (uint32_t i = 0; i < h->comers; i++) {
		struct key *k = &h->key[h->came[i]];

		k->launches = k->sum = k->clock_sum = k->clock_weight = 0;
		k->listed = false;
	}
	h->comers = 0;
	h->ticks++;
	h->last_ns = now_ns;
}

/* ---- verdicts ---- */

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
	const uint32_t episode = h->test[resource].episode;
	double all = 0;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < KEYS; i++) {
			const struct key *k = &h->key[i];

			if ((int)k->resource != resource || k->episode != episode ||
			    !(k->slow_launches > 0))
				continue;
			if (pass)
				add_evidence(k, all, out);
			else
				all += k->slow_weight;
		}
}

void health_of(const struct health *h, enum health_resource resource, struct health_verdict *out)
{
	const struct glr *c = &h->test[resource];

	*out = (struct health_verdict){.ratio = NAN, .configs = h->voters[resource]};
	if (!glr_known(c))
		return;
	out->state = c->slow ? HEALTH_SLOW : HEALTH_GOOD;
	out->ratio = exp(c->suspected || c->slow ? c->shift : c->last);
	out->score = c->score;
	out->margin = h->margin[resource];
	if (!c->slow)
		return;
	out->since_ns = c->since;
	out->confidence = glr_confidence(c->score);
	find_evidence(h, (int)resource, out);
}
