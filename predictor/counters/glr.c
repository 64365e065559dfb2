#include "predictor/counters/glr.h"

#include <math.h>
#include <string.h>

enum {
	BURSTS_MOST = 2,
	SHORTEST = 4, /* intervals in a row that show a change */
	EVERY = 12,   /* longer windows are looked at in such steps */
	SETTLING = 6, /* intervals of which the level is the mean */
	MEMORY = 6,   /* intervals apart that the slow part of the noise is measured at */
	LONG = 2160   /* intervals that variances are averaged over */
};

static const double SUSPECT = 4.5;       /* score at which no more noise is learned */
static const double EACH = 0.015;        /* that each of the last intervals shows at least */
static const double MOST = 0.045;        /* of a deviation that counts */
static const double CALM = 0.015;        /* deviations below it belong to the drift */
static const double DRIFT = 1 / 180.0;   /* of the drift, an interval: half an hour */
static const double DRIFT_MOST = 0.02;   /* from the first minutes: beyond it is no drift */
static const double ASTRAY = 2;          /* standard errors of what it is against, added to it */
static const double SLOW_LEAST = 0.0025; /* whatever was seen: no more is promised */
static const double FAST_LEAST = 0.002;
static const double UNSURE_MIX = 0.003;   /* of references that are learned together */
static const double UNSURE_NOISE = 0.001; /* above it a deviation is not noise */
static const double FAR = 3;              /* standard deviations that count in the noise */
static const double UNSURE_HOUR = 0.006;  /* the same by an hour's pause */
static const double UNSURE_CALM = 2.5;    /* times that is still of the drift */
static const double UNSURE_MOST = 0.015;
static const double UNCLEAR_STEP = 0.004; /* more than a clock wanders: other kernels, or a cap */
static const double BACK = 0.5;           /* share of the shift below which it is over */
static const double A_DAY = 8640;         /* intervals of a day */
static const double AN_HOUR = 360;
static const double KEPT = 2160; /* intervals for which a verdict holds that nothing confirms */

/* Of a GPU's resource, which is the mean of many kernels. */
static const struct glr_rules HEALTH = {
	.noise = 0.004, .slow = 0.0025, .prior = 240, .level = 0.003, .bursts = 2};

static const struct glr_rules *rules_of(const struct glr *c)
{
	return c->rules ? c->rules : &HEALTH;
}

static void forget_change(struct glr *c)
{
	c->suspected = c->slow = false;
	c->shift = c->counted = 0;
	c->since = 0;
}

/* The deviation @p back intervals before the last one. */
static double whole(const struct glr *c, uint32_t back)
{
	return c->past[(c->intervals - 1 - back) % GLR_WINDOW];
}

/* The same as far as it counts. */
static double past(const struct glr *c, uint32_t back)
{
	return fmax(-MOST, fmin(MOST, whole(c, back)));
}

/* Sum of deviations, and the highest of them, which a disturbance may have been. */
struct window {
	double sum, high[BURSTS_MOST]; /* falling */
	uint32_t count;
};

static void widen(struct window *w, double x)
{
	w->sum += x;
	for (uint32_t i = 0; i < BURSTS_MOST; i++)
		if (i >= w->count || x > w->high[i]) {
			const double lower = w->high[i];

			w->high[i] = x;
			x = lower;
		}
	w->count++;
}

/* How many are left of a window without the highest: half of them at least. */
static uint32_t left_of(const struct glr *c, uint32_t count)
{
	const uint32_t most = rules_of(c)->bursts;

	return count - (most < count / 2 ? most : count / 2);
}

/* Their mean. */
static double mean_of(const struct glr *c, const struct window *w)
{
	const uint32_t left = left_of(c, w->count);
	double sum = w->sum;

	for (uint32_t i = 0; i < w->count - left; i++)
		sum -= w->high[i];
	return sum / left;
}

/* Mean of the last @p n, without a disturbance. */
static double size_of(const struct glr *c, uint32_t n)
{
	struct window w = {0};

	for (uint32_t i = 0; i < n; i++)
		widen(&w, whole(c, i));
	return mean_of(c, &w);
}

/* Of the mean of n intervals under the null the variance is fast / n + slow. */
struct noise {
	double fast, slow;
};

static struct noise noise_of(const struct glr *c, double doubt)
{
	const double slow = fmax(fmin(c->slow_part, c->variance), SLOW_LEAST * SLOW_LEAST);
	const double fast = fmax(c->variance - slow, FAST_LEAST * FAST_LEAST);

	return (struct noise){fast, slow + doubt + c->unsure * c->unsure};
}

/*
 * The largest log-likelihood ratio of the windows that end now, its mean and its beginning. The
 * highest intervals of each window are left out: a disturbance of seconds is no change.
 */
static double best_window(const struct glr *c, double doubt, double *any, double *counted,
			  uint32_t *length)
{
	const struct noise noise = noise_of(c, doubt);
	struct window w = {0};
	double best = 0;

	*any = *counted = 0;
	*length = 1;
	for (uint32_t n = 1; n <= c->filled; n++) {
		double mean, score;

		widen(&w, past(c, n - 1));
		if (n > EVERY && n % EVERY)
			continue;
		mean = mean_of(c, &w);
		if (mean <= 0)
			continue;
		score = mean * mean / (2 * (noise.fast / left_of(c, n) + noise.slow));
		*any = fmax(*any, score);
		if (n < SHORTEST || score <= best)
			continue;
		best = score;
		*counted = mean;
		*length = n;
	}
	return best;
}

/* Of an interval, where it may exceed what is calm: of one kernel, not of the mean of many. */
static double usual_noise(const struct glr *c)
{
	return rules_of(c)->noise_early ? sqrt(c->variance) : 0;
}

/* By a share of a deviation, and of what is unclear of it. */
static void move_drift(struct glr *c, double share, double d, double unclear)
{
	c->drift += share * d;
	c->unclear += share * (unclear - c->unclear);
}

static void learn(struct glr *c, double d, double doubt, double unclear, double any)
{
	const double seen = fmin(c->intervals, LONG);
	const struct noise noise = noise_of(c, doubt);
	const double unknown = c->unsure * c->unsure;
	const double gain = fmax(DRIFT, unknown / (noise.fast + noise.slow));
	const double level = rules_of(c)->level;
	const double bound =
		DRIFT_MOST + ASTRAY * sqrt(c->astray + level * level + c->unclear * c->unclear);
	const double calm = fmax(CALM, UNSURE_CALM * fmax(c->unsure, usual_noise(c)));
	double most;

	if (d < calm) {
		move_drift(c, d < -calm ? DRIFT : gain, d, unclear);
		c->unsure *= sqrt(1 - gain);
	} else if (c->unsure > UNSURE_NOISE && any < GLR_ALARM) {
		/* That it persists makes it no surer: it is followed as slowly as drift is. */
		move_drift(c, DRIFT, d, unclear);
		c->unsure *= sqrt(1 - DRIFT);
	}
	c->drift = fmax(c->level - bound, fmin(c->level + bound, c->drift));
	if (any >= SUSPECT || c->unsure > fmax(UNSURE_NOISE, usual_noise(c) / 2))
		return;
	most = FAR * sqrt(c->variance);
	d = fmax(-most, fmin(most, d));
	c->variance += (d * d - c->variance) / (seen + rules_of(c)->prior);
	if (c->filled > MEMORY) {
		const double then = fmax(-most, fmin(most, past(c, MEMORY)));

		c->slow_part += (d * then - c->slow_part) / (seen + rules_of(c)->prior);
	}
}

/* While it is slow: how slow, and whether it still is. */
static void follow(struct glr *c, double d)
{
	const uint32_t n = c->filled < MEMORY ? c->filled : MEMORY;
	double recent = 0;

	for (uint32_t i = 0; i < n; i++)
		recent += past(c, i) / n;
	c->shift += (d - c->shift) / MEMORY / 2;
	if (n == MEMORY && recent < fmin(BACK * c->shift, EACH)) {
		forget_change(c);
		c->filled = 0;
	}
}

static void settle(struct glr *c, double deviation, double unclear)
{
	const struct glr_rules *r = rules_of(c);
	const double d = deviation - c->drift;

	if (c->intervals == 1)
		c->variance = r->noise * r->noise;
	move_drift(c, 1.0 / c->intervals, d, unclear);
	c->level = c->drift;
	if (r->noise_early && c->intervals > 1)
		c->variance +=
			(d * (deviation - c->drift) - c->variance) / (c->intervals + r->prior);
	c->slow_part = r->slow * r->slow;
	/* A pause may have come before it was settled. */
	c->unsure = r->noise_early ? sqrt(r->slow * r->slow + c->variance / c->intervals)
				   : fmax(c->unsure, r->slow);
	c->last = 0;
}

bool glr_known(const struct glr *c)
{
	return c->intervals > (c->settling ? c->settling : SETTLING);
}

/* What was before a pause is of another stretch of time. */
static void resume(struct glr *c, uint64_t number)
{
	const double missed =
		c->intervals && number > c->taken + 1 ? (double)(number - c->taken - 1) : 0;

	if (missed >= MEMORY && !c->slow) {
		c->filled = 0;
		c->score = 0;
		forget_change(c);
	}
	if (missed >= KEPT && c->slow)
		*c = (struct glr){
			.rules = c->rules, .episode = c->episode, .settling = c->settling};
}

static void add_unsure(struct glr *c, double variance)
{
	c->unsure = fmin(UNSURE_MOST, sqrt(c->unsure * c->unsure + variance));
}

bool glr_other_clock(const struct glr *c, double unclear)
{
	return fabs(unclear - c->unclear) >= UNCLEAR_STEP;
}

/* The variance of a deviation by what is unclear now and was not while the drift was learned. */
static double doubt_of(struct glr *c, const struct glr_deviation *deviation)
{
	const double other = deviation->unclear - c->unclear;

	if (!glr_other_clock(c, deviation->unclear))
		return deviation->doubt + other * other;
	/* The drift is learned anew beside it. */
	add_unsure(c, other * other);
	c->unclear = deviation->unclear;
	return deviation->doubt;
}

void glr_take(struct glr *c, uint64_t number, uint64_t began_ns,
	      const struct glr_deviation *deviation)
{
	const double d = deviation->log - c->drift;
	double doubt, any;
	uint32_t length;

	resume(c, number);
	c->taken = number;
	c->intervals++;
	if (!glr_known(c)) {
		settle(c, deviation->log, deviation->unclear);
		return;
	}
	doubt = doubt_of(c, deviation);
	c->last = d;
	c->past[(c->intervals - 1) % GLR_WINDOW] = (float)d;
	c->at[(c->intervals - 1) % GLR_WINDOW] = began_ns;
	c->filled += c->filled < GLR_WINDOW;
	c->score = best_window(c, doubt, &any, &c->counted, &length);
	if (c->slow) {
		follow(c, d);
		return;
	}
	learn(c, d, doubt, deviation->unclear, any);
	if (any < SUSPECT) {
		forget_change(c);
		return;
	}
	c->episode += !c->suspected;
	c->suspected = true;
	c->shift = size_of(c, length);
	c->since = c->at[(c->intervals - length) % GLR_WINDOW];
}

double glr_margin(const struct glr *c, double least, double alarm)
{
	double margin;

	if (!c->suspected || c->slow)
		return 0;
	margin = fmin(c->score / alarm, c->counted / least);
	for (uint32_t i = 0; i < SHORTEST; i++)
		margin = fmin(margin, i < c->filled ? past(c, i) / EACH : 0);
	return margin;
}

void glr_pass(struct glr *c, uint64_t number)
{
	resume(c, number);
	if (c->intervals)
		add_unsure(c, UNSURE_HOUR * UNSURE_HOUR / AN_HOUR);
}

struct glr_drift glr_drift(const struct glr *c)
{
	return (struct glr_drift){c->drift, c->unsure * c->unsure + UNSURE_NOISE * UNSURE_NOISE,
				  c->unclear};
}

/*
 * The variance of a drift after a while in which it was not followed. Temperature drifts one way
 * for an hour or more, so within an hour the error grows with time, not with its root.
 */
static double aged(const struct glr_drift *then, uint64_t ago)
{
	const double most = UNSURE_MOST * UNSURE_MOST;
	const double time = (double)ago / AN_HOUR, growth = time < 1 ? time * time : time;

	return then->variance > 0 ? fmin(most, then->variance + growth * UNSURE_HOUR * UNSURE_HOUR)
				  : most;
}

bool glr_knows_better(const struct glr_drift *now, const struct glr_drift *then, uint64_t ago)
{
	return !(then->variance > 0) || now->variance + now->unclear * now->unclear <=
						aged(then, ago) + then->unclear * then->unclear;
}

void glr_recall(struct glr_mix *mix, double share, const struct glr_drift *then, uint64_t ago)
{
	if (!(then->variance > 0))
		return;
	mix->recalled += share;
	mix->then.log += share * then->log;
	mix->then.variance += share * aged(then, ago);
	mix->then.unclear += share * then->unclear;
}

void glr_mixed(struct glr *c, const struct glr_mix *mix)
{
	const double part = mix->recalled;
	double here, there, here_off, there_off, share, both;

	add_unsure(c, mix->other * c->astray + mix->astray);
	if (!(part > 0))
		return;
	here = c->unsure * c->unsure;
	there = mix->then.variance / part;
	here_off = mix->unclear - c->unclear;
	there_off = mix->unclear - mix->then.unclear / part;
	share = (here + here_off * here_off) /
		(here + here_off * here_off + there + there_off * there_off);
	both = (1 - share) * (1 - share) * here + share * share * there;
	c->drift += share * (mix->then.log - part * c->drift);
	c->unclear += share * (mix->then.unclear - part * c->unclear);
	c->unsure = sqrt((1 - part) * here + part * both);
}

double glr_astray(const struct glr *c)
{
	const double unsure = c->unsure * c->unsure,
		     settled = rules_of(c)->slow * rules_of(c)->slow;

	/* The first references are what the drift is of, unless a pause came since. */
	if (!glr_known(c))
		return c->intervals && unsure > settled ? fmin(unsure, UNSURE_MOST * UNSURE_MOST)
							: 0;
	return fmin(c->astray + unsure + c->unclear * c->unclear + UNSURE_MIX * UNSURE_MIX,
		    UNSURE_MOST * UNSURE_MOST);
}

double glr_confidence(double score)
{
	/* Of a normal deviate beyond sqrt(2 score), once an interval. */
	return fmax(0, 1 - A_DAY * 0.5 * erfc(sqrt(score)));
}
