#include "predictor/counters/slow_windows.h"

#include "predictor/counters/glr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHUNK = 256,
	WATCHED_MOST = 4096, /* configurations with a test; the one unused longest makes room */
	LOOKED_AT = 64,      /* of them for each that is new */
	FIRST = 8,           /* times that make the first level */
	COUNT_LEAST = 3,     /* times of an interval that is not longer than it must be */
	COUNT_MANY = 6,      /* of a short one */
	SETTLING = 12,       /* intervals of which the level is the mean */
	DOUBLED_MOST = 8,    /* times that the threshold is doubled */
	FEW = 64,            /* configurations for which the threshold is that of one GPU */
};

static const uint64_t INTERVAL_NS = 5000000000;
static const uint64_t SHORT_NS = 3500000000;  /* one with many */
static const uint64_t LONG_NS = 10000000000;  /* an interval with fewer times */
static const uint64_t PAUSE_NS = 60000000000; /* what was before is no part of an interval */
static const uint64_t FORGIVEN_NS = 3600000000000;
static const struct glr_rules RULES = {
	.noise = 0.01, .slow = 0.0025, .prior = 8, .noise_early = true, .bursts = 1};
static const double ALARM = 14;     /* score at which an episode begins */
static const double LEAST = 0.0175; /* a smaller shift is none */
static const double NOISY = 0.03;   /* of an interval: its data decide, and no test can */
static const double CALM = 0.0075;  /* an interval that is usual */
static const double CLIP = 4, CLIP_LEAST = 0.06; /* mean deviations; logarithm of a time */
static const double SPREAD_GAIN = 1 / 256.0;
static const double USUAL_GAIN = 1 / 64.0; /* of an interval */
static const double CLOCK_DROP = 0.0198;   /* ln(1.02): a smaller change of the clock is wander */

struct shift {
	uint32_t config;
	uint32_t firsts;    /* times of `first` */
	float first[FIRST]; /* logarithms */
	double level;       /* their median: deviations are from it */
	double spread;      /* mean deviation of a time */
	struct glr test;
	uint32_t number;
	uint32_t unexplained; /* episodes without a cause */
	uint64_t forgiven_ns; /* when the last of them was left out of account */
	/* the interval under way */
	uint64_t began_ns, last_ns;
	double sum;   /* of the deviations, clipped and without wander of the clock */
	double whole; /* as they are */
	struct gw_slow_beside beside;
	/* the suspicion or episode */
	bool open;
	double predicted;
	uint64_t calm_ns; /* first interval of the present calm; 0: none */
	double log_ratio; /* sum over its launches */
	struct gw_slow_usual usual;
	struct gw_slow_beside during;
};

struct gw_slow_windows {
	uint32_t max_configs, count, hand;
	uint16_t **place; /* by configuration: in `watched`, from 1 */
	struct shift **watched;
};

struct gw_slow_windows *gw_slow_windows_new(uint32_t max_configs)
{
	struct gw_slow_windows *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->max_configs = max_configs;
	s->place = (uint16_t **)calloc(max_configs / CHUNK + 1, sizeof(*s->place));
	s->watched = (struct shift **)calloc(WATCHED_MOST, sizeof(*s->watched));
	if (!s->place || !s->watched) {
		gw_slow_windows_free(s);
		return NULL;
	}
	return s;
}

void gw_slow_windows_free(struct gw_slow_windows *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; s->place && i <= s->max_configs / CHUNK; i++)
		free(s->place[i]);
	for (uint32_t i = 0; i < s->count; i++)
		free(s->watched[i]);
	free((void *)s->place);
	free((void *)s->watched);
	free(s);
}

size_t gw_slow_windows_bytes(const struct gw_slow_windows *s)
{
	return s->count * (sizeof(struct shift) + sizeof(uint16_t));
}

static uint16_t *place_of(const struct gw_slow_windows *s, uint32_t config)
{
	uint16_t *chunk = config && config <= s->max_configs ? s->place[config / CHUNK] : NULL;

	return chunk ? &chunk[config % CHUNK] : NULL;
}

static struct shift *known(const struct gw_slow_windows *s, uint32_t config)
{
	const uint16_t *at = place_of(s, config);

	return at && *at ? s->watched[*at - 1] : NULL;
}

/* Of some, the one that was timed least recently, without an episode; NULL: each has been lately.
 */
static struct shift *unused(struct gw_slow_windows *s, uint64_t now)
{
	struct shift *oldest = NULL;

	for (uint32_t i = 0; i < LOOKED_AT; i++) {
		struct shift *w = s->watched[s->hand++ % WATCHED_MOST];

		if (!w->open && (w->last_ns + PAUSE_NS < now || now + PAUSE_NS < w->last_ns) &&
		    (!oldest || w->last_ns < oldest->last_ns))
			oldest = w;
	}
	return oldest;
}

static struct shift *begin(struct shift *w, uint32_t config)
{
	const struct gw_slow_usual nothing = {NAN, NAN, NAN, NAN, NAN, NAN};

	memset(w, 0, sizeof(*w));
	w->config = config;
	w->test.rules = &RULES;
	w->test.settling = SETTLING;
	w->usual = nothing;
	return w;
}

static struct shift *shift_of(struct gw_slow_windows *s, uint32_t config, uint64_t now)
{
	uint16_t **chunk, *at;
	struct shift *w;

	if (!config || config > s->max_configs)
		return NULL;
	chunk = &s->place[config / CHUNK];
	if (!*chunk && !(*chunk = calloc(CHUNK, sizeof(**chunk))))
		return NULL;
	at = &(*chunk)[config % CHUNK];
	if (*at)
		return s->watched[*at - 1];
	if (s->count == WATCHED_MOST) {
		uint16_t *from;

		w = unused(s, now);
		if (!w)
			return NULL;
		from = place_of(s, w->config);
		*at = *from;
		*from = 0;
		return begin(w, config);
	}
	w = malloc(sizeof(*w));
	if (!w)
		return NULL;
	s->watched[s->count++] = w;
	*at = (uint16_t)s->count;
	return begin(w, config);
}

static void report(const struct shift *w, uint64_t until_ns, uint64_t last_ns,
		   struct gw_slow_event *out)
{
	const double n = (double)w->during.launches;

	*out = (struct gw_slow_event){
		.config = w->config,
		.cause = gw_slow_explain(&w->usual, &w->during, w->log_ratio / n),
		.since_ns = w->test.since,
		.until_ns = until_ns,
		.last_ns = last_ns,
		.launches = w->during.launches,
		.slow = w->during.launches,
		.predicted = w->predicted,
		.low = w->predicted * exp(-2 * w->spread),
		.high = w->predicted * exp(LEAST),
		.ratio = exp(w->log_ratio / n),
		.sm_before = w->usual.sm,
		.sm_during = gw_slow_mean_of(&w->during.sm),
		.reasons = w->during.reasons,
	};
}

static int by_value(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static void take_first(struct shift *w, double x)
{
	w->first[w->firsts++] = (float)x;
	if (w->firsts < FIRST)
		return;
	qsort(w->first, FIRST, sizeof(*w->first), by_value);
	w->level = (w->first[FIRST / 2 - 1] + w->first[FIRST / 2]) / 2;
	for (int i = 0; i < FIRST; i++)
		w->spread += fabs(w->first[i] - w->level) / FIRST;
}

static void drift_usual(struct gw_slow_usual *u, const struct gw_slow_beside *b)
{
	gw_slow_drift(&u->sm, gw_slow_mean_of(&b->sm), USUAL_GAIN);
	gw_slow_drift(&u->memory, gw_slow_mean_of(&b->memory), USUAL_GAIN);
	gw_slow_drift(&u->others, gw_slow_mean_of(&b->others), USUAL_GAIN);
	gw_slow_drift(&u->bytes, gw_slow_mean_of(&b->bytes), USUAL_GAIN);
	gw_slow_drift(&u->overlapped, (double)b->overlapped / (double)b->launches, USUAL_GAIN);
	gw_slow_drift(&u->copies, (double)b->copies / (double)b->launches, USUAL_GAIN);
}

static void merge_mean(struct gw_slow_mean *into, const struct gw_slow_mean *from)
{
	into->sum += from->sum;
	into->count += from->count;
}

/* The interval is one of the suspicion or episode. */
static void merge(struct shift *w)
{
	struct gw_slow_beside *d = &w->during;
	const struct gw_slow_beside *b = &w->beside;

	merge_mean(&d->sm, &b->sm);
	merge_mean(&d->memory, &b->memory);
	merge_mean(&d->others, &b->others);
	merge_mean(&d->bytes, &b->bytes);
	d->launches += b->launches;
	d->overlapped += b->overlapped;
	d->copies += b->copies;
	d->reasons |= b->reasons;
	w->log_ratio += w->whole - (double)b->launches * w->test.drift;
}

static void forget_during(struct shift *w)
{
	memset(&w->during, 0, sizeof(w->during));
	w->log_ratio = 0;
	w->calm_ns = 0;
}

/*
 * Of that many configurations one in so many more alarms by chance. And one that has alarmed
 * without a cause varies in a way that the noise of its intervals does not show: its data have
 * phases.
 */
static double threshold(const struct gw_slow_windows *s, const struct shift *w)
{
	const double many = s->count > FEW ? log((double)s->count / FEW) : 0;

	return (ALARM + many) *
	       (1 << (w->unexplained < DOUBLED_MOST ? w->unexplained : DOUBLED_MOST));
}

static void forgive(struct shift *w)
{
	if (!w->unexplained || w->last_ns < w->forgiven_ns + FORGIVEN_NS)
		return;
	w->forgiven_ns = w->last_ns;
	w->unexplained--;
}

static bool alarmed(const struct gw_slow_windows *s, struct shift *w)
{
	struct glr *c = &w->test;

	if (glr_margin(c, LEAST, ALARM) < 1 || c->score < threshold(s, w) ||
	    c->variance > NOISY * NOISY)
		return false;
	c->slow = true;
	w->open = true;
	w->predicted = exp(w->level + c->drift);
	return true;
}

/* An interval of an episode, or the calm at its end. */
static bool goes_on(struct shift *w)
{
	if (w->test.last >= w->test.shift / 2) {
		merge(w);
		w->calm_ns = 0;
	} else if (!w->calm_ns) {
		w->calm_ns = w->began_ns;
	}
	return w->test.slow;
}

/* The episode is over, and @p out describes it. */
static void end(struct shift *w, uint64_t since, struct gw_slow_event *out)
{
	w->test.since = since;
	report(w, w->calm_ns ? w->calm_ns : w->last_ns, w->last_ns, out);
	w->test.since = 0;
	w->open = false;
	if (out->cause == GW_SLOW_UNKNOWN) {
		w->unexplained++;
		w->forgiven_ns = w->last_ns;
	}
	forget_during(w);
}

/* The interval has ended. True when an episode begins or ends with it. */
static bool close_interval(struct gw_slow_windows *s, struct shift *w, struct gw_slow_event *out)
{
	const uint64_t since = w->test.since;

	forgive(w);
	glr_take(&w->test, ++w->number, w->began_ns,
		 &(struct glr_deviation){w->sum / (double)w->beside.launches, 0, 0});
	if (w->open) {
		if (goes_on(w))
			return false;
		end(w, since, out);
		return true;
	}
	if (w->test.suspected && w->test.last >= CALM) {
		merge(w);
		if (!alarmed(s, w))
			return false;
		report(w, 0, w->last_ns, out);
		return true;
	}
	if (!w->test.suspected) {
		forget_during(w);
		if (w->test.last < CALM)
			drift_usual(&w->usual, &w->beside);
	}
	return false;
}

static void open_interval(struct shift *w, uint64_t ns)
{
	w->began_ns = ns;
	w->sum = w->whole = 0;
	memset(&w->beside, 0, sizeof(w->beside));
}

static bool interval_over(const struct shift *w, uint64_t ns)
{
	const uint64_t n = w->beside.launches;

	return ns > w->began_ns + (n < COUNT_LEAST  ? LONG_NS
				   : n < COUNT_MANY ? INTERVAL_NS
						    : SHORT_NS);
}

/* What the clock explains of a deviation, where it only wanders. */
static double wander(const struct shift *w, const struct gw_slow_sample *s)
{
	const double change = log(w->usual.sm / s->clock.sm_hz);

	return fabs(change) < CLOCK_DROP ? s->follows * change : 0; /* 0 for NaN */
}

static void add(struct shift *w, const struct gw_slow_sample *s, double x)
{
	const double middle = w->test.drift, most = fmax(CLIP * w->spread, CLIP_LEAST);
	const double d = x - w->level - wander(w, s) - middle;

	w->sum += middle + fmax(-most, fmin(most, d));
	w->whole += x - w->level;
	w->spread += SPREAD_GAIN * (fmin(fabs(d), most) - w->spread);
	gw_slow_beside_add(&w->beside, s);
}

bool gw_slow_windows_observe(struct gw_slow_windows *s, uint32_t config,
			     const struct gw_slow_sample *o, struct gw_slow_event *out)
{
	struct shift *w = shift_of(s, config, o->start_ns);
	bool event = false;

	if (!w)
		return false;
	if (w->firsts < FIRST) {
		w->last_ns = o->start_ns;
		take_first(w, log(o->seconds));
		return false;
	}
	if (o->start_ns > w->last_ns + PAUSE_NS || o->start_ns + PAUSE_NS < w->last_ns) {
		const uint64_t missed =
			o->start_ns > w->last_ns ? (o->start_ns - w->last_ns) / INTERVAL_NS : 0;

		w->number += missed < UINT32_MAX / 2 ? (uint32_t)missed : UINT32_MAX / 2;
		open_interval(w, o->start_ns);
	} else if (!w->beside.launches) {
		open_interval(w, o->start_ns);
	} else if (interval_over(w, o->start_ns)) {
		event = close_interval(s, w, out);
		open_interval(w, o->start_ns);
	}
	w->last_ns = o->start_ns;
	add(w, o, log(o->seconds));
	return event;
}

bool gw_slow_windows_end(struct gw_slow_windows *s, uint32_t config, uint64_t ns,
			 struct gw_slow_event *out)
{
	struct shift *w = known(s, config);

	if (!w || !w->open)
		return false;
	report(w, ns, ns, out);
	begin(w, config);
	return true;
}

bool gw_slow_windows_open(const struct gw_slow_windows *s, uint32_t config,
			  struct gw_slow_event *out)
{
	const struct shift *w = known(s, config);

	if (!w || !w->open)
		return false;
	report(w, 0, 0, out);
	return true;
}
