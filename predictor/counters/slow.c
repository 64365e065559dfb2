/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/counters/slow.h"

#include <math.h>
#include <stdlib.h>

enum {
	CHUNK = 256,      /* configurations that share an allocation */
	ESTABLISHED = 32, /* launches before one can count as slow */
	MEMORY = 64,      /* launches over which mean and spread are averaged */
};

static const double WORTH = 1.05;         /* times the prediction; less is not worth reporting */
static const double UP = 1.0986122887;    /* ln(0.9 / 0.3): of a slow launch */
static const double DOWN = 1.9459101491;  /* ln(0.7 / 0.1): of any other */
static const double ALARM = 16.118095651; /* ln(10^7) */
static const double AGAIN = 2.3025850930; /* ln(10), for each earlier alarm */
static const double GAIN =
        1 / 64.0;               /* weight of a launch in the running means of the usual state */
static const double MISS = 0.1; /* share of times above `top` */
static const double TOP = 1.6;  /* where that share starts, in mean deviations of a normal */
static const double STEP = 0.1; /* step of `top`, in mean deviations */
static const double CLOCK_DROP = 1.02;  /* a smaller drop of the clock explains nothing */
static const double OTHERS_ROSE = 0.05; /* additional share of the GPU that other processes took */
static const double BYTES_ROSE = 1.2;

/* Running mean of a quantity that may be unknown now and then. */
struct mean {
	double sum;
	uint64_t count;
};

/* Quantities observed beside the time. */
struct circumstances {
	struct mean sm, memory, others, bytes;
	uint64_t overlapped, reasons;
};

struct watch {
	uint32_t alarms;
	uint32_t times; /* up to MEMORY */
	/*
	 * Of the logarithm of its times: running mean, mean deviation, and the 90th percentile, by
	 * stochastic approximation. An interval may come from the last few dozen times and hold for
	 * thousands: by itself it may miss more often than that for long.
	 */
	double level, spread, top, top_before;
	double sm, memory, others, bytes; /* usual value; NaN until known */
	double score;                     /* score of the suspicion; once open, of its end */
	bool open;
	double predicted, low, high; /* of the first slow launch: the reference for the others */
	uint64_t since_ns, calm_ns;  /* calm_ns: first launch of the present calm */
	uint64_t launches, slow, launches_before_calm;
	double log_ratio; /* sum over the slow ones */
	struct circumstances during;
};

struct gw_slow {
	uint32_t max_configs;
	struct watch **chunks;
};

size_t gw_slow_config_bytes(void)
{
	return sizeof(struct watch);
}

struct gw_slow *gw_slow_new(uint32_t max_configs)
{
	struct gw_slow *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->max_configs = max_configs;
	s->chunks = calloc(max_configs / CHUNK + 1, sizeof(struct watch *));
	if (!s->chunks) {
		free(s);
		return NULL;
	}
	return s;
}

void gw_slow_free(struct gw_slow *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i <= s->max_configs / CHUNK; i++)
		free(s->chunks[i]);
	free((void *)s->chunks);
	free(s);
}

static struct watch *chunk_new(void)
{
	struct watch *w = calloc(CHUNK, sizeof(*w));

	for (int i = 0; w && i < CHUNK; i++)
		w[i].sm = w[i].memory = w[i].others = w[i].bytes = NAN;
	return w;
}

static struct watch *watch_of(struct gw_slow *s, uint32_t config)
{
	struct watch **chunk;

	if (!config || config > s->max_configs)
		return NULL;
	chunk = &s->chunks[config / CHUNK];
	if (!*chunk)
		*chunk = chunk_new();
	return *chunk ? &(*chunk)[config % CHUNK] : NULL;
}

static void add(struct mean *m, double value)
{
	if (isnan(value))
		return;
	m->sum += value;
	m->count++;
}

static double mean_of(const struct mean *m)
{
	return m->count ? m->sum / (double)m->count : NAN;
}

static void drift(double *usual, double value)
{
	if (!isnan(value))
		*usual = isnan(*usual) ? value : *usual + GAIN * (value - *usual);
}

static void note_usual(struct watch *w, const struct gw_slow_sample *o)
{
	/*
	 * A change starts before its launches count as slow: those of the slower half do not train
	 * the usual state.
	 */
	if (o->seconds > o->predicted)
		return;
	drift(&w->sm, o->clock.sm_hz);
	drift(&w->memory, o->clock.mem_hz);
	drift(&w->others, o->clock.others);
	drift(&w->bytes, o->dram_bytes);
}

static void note_time(struct watch *w, double seconds)
{
	double x = log(seconds), gain;

	w->times += w->times < MEMORY;
	gain = 1.0 / w->times;
	w->level += gain * (x - w->level);
	w->spread += gain * (fabs(x - w->level) - w->spread);
	if (w->times <= ESTABLISHED)
		w->top = w->level + TOP * w->spread;
	else
		w->top += STEP * w->spread * ((x > w->top ? 1 : 0) - MISS);
}

static void note_slow(struct watch *w, const struct gw_slow_sample *o)
{
	struct circumstances *d = &w->during;

	w->slow++;
	w->log_ratio += log(o->seconds / w->predicted);
	add(&d->sm, o->clock.sm_hz);
	add(&d->memory, o->clock.mem_hz);
	add(&d->others, o->clock.others);
	add(&d->bytes, o->dram_bytes);
	d->overlapped += o->overlapped;
	d->reasons |= o->clock.reasons;
}

/* Whether a clock that fell from @p before to @p during explains at least half of the delay. */
static bool clock_explains(double before, double during, double log_ratio)
{
	double drop = before / during;

	return drop >= CLOCK_DROP && 2 * log(drop) >= log_ratio; /* false for NaN */
}

static enum gw_slow_cause cause_of(const struct watch *w)
{
	const struct circumstances *d = &w->during;
	double log_ratio = w->log_ratio / (double)w->slow;

	if (2 * d->overlapped >= w->slow)
		return GW_SLOW_CONTENTION;
	if (clock_explains(w->sm, mean_of(&d->sm), log_ratio))
		return GW_SLOW_CLOCK;
	if (clock_explains(w->memory, mean_of(&d->memory), log_ratio))
		return GW_SLOW_MEMORY_CLOCK;
	if (mean_of(&d->others) >= OTHERS_ROSE + (isnan(w->others) ? 0 : w->others))
		return GW_SLOW_OTHER_WORK;
	if (mean_of(&d->bytes) >= BYTES_ROSE * w->bytes)
		return GW_SLOW_CACHE;
	return GW_SLOW_UNKNOWN;
}

static void report(const struct watch *w, uint32_t config, uint64_t until_ns, uint64_t last_ns,
                   struct gw_slow_event *out)
{
	*out = (struct gw_slow_event){
	        .config = config,
	        .cause = cause_of(w),
	        .since_ns = w->since_ns,
	        .until_ns = until_ns,
	        .last_ns = last_ns,
	        .launches = w->launches,
	        .slow = w->slow,
	        .predicted = w->predicted,
	        .low = w->low,
	        .high = w->high,
	        .ratio = exp(w->log_ratio / (double)w->slow),
	        .sm_before = w->sm,
	        .sm_during = mean_of(&w->during.sm),
	        .reasons = w->during.reasons,
	};
}

static void forget(struct watch *w)
{
	w->score = 0;
	w->open = false;
	w->launches = w->slow = 0;
	w->log_ratio = 0;
	w->during = (struct circumstances){0};
}

/* From the first slow launch on, its prediction is the reference. */
static void suspect(struct watch *w, const struct gw_slow_sample *o)
{
	w->since_ns = o->start_ns;
	w->predicted = o->predicted;
	w->low = o->low;
	w->high = fmax(o->high, exp(w->top));
	w->top_before = w->top;
}

/* @p high and @p predicted are those of the launch, or of the first slow one. */
static bool is_slow(const struct gw_slow_sample *o, double predicted, double high)
{
	return o->seconds > high && o->seconds > WORTH * predicted;
}

/* A launch outside an episode. True when the alarm goes off. */
static bool watch_on(struct watch *w, const struct gw_slow_sample *o)
{
	bool suspected = w->score > 0;
	bool slow = suspected ? is_slow(o, w->predicted, w->high)
	                      : is_slow(o, o->predicted, fmax(o->high, exp(w->top)));
	bool established = w->times >= ESTABLISHED;

	if (slow && !suspected && established)
		suspect(w, o);
	note_time(w, o->seconds);
	if (!slow && !suspected)
		note_usual(w, o);
	if (!established || (!slow && !suspected))
		return false;
	w->launches++;
	w->score += slow ? UP : -DOWN;
	if (slow)
		note_slow(w, o);
	else
		note_usual(w, o);
	if (w->score <= 0)
		forget(w);
	return w->score >= ALARM + AGAIN * w->alarms;
}

/* A launch during an episode. True when it is over. */
static bool watch_end(struct watch *w, const struct gw_slow_sample *o)
{
	bool slow = is_slow(o, w->predicted, w->high);

	w->launches++;
	if (slow) {
		note_slow(w, o);
		w->score = fmax(0, w->score - UP);
		return false;
	}
	if (w->score <= 0) {
		w->calm_ns = o->start_ns;
		w->launches_before_calm = w->launches - 1;
	}
	w->score += DOWN;
	return w->score >= ALARM;
}

bool gw_slow_observe(struct gw_slow *s, uint32_t config, const struct gw_slow_sample *o,
                     struct gw_slow_event *out)
{
	struct watch *w = watch_of(s, config);

	if (!w || !o->steady || !(o->high > 0) || !(o->predicted > 0) || !(o->seconds > 0))
		return false;
	if (w->open) {
		if (!watch_end(w, o))
			return false;
		w->launches = w->launches_before_calm;
		w->top = w->top_before;
		report(w, config, w->calm_ns, o->start_ns, out);
		forget(w);
		return true;
	}
	if (!watch_on(w, o))
		return false;
	w->alarms++;
	w->open = true;
	w->score = 0; /* counts towards the end from here on */
	report(w, config, 0, o->start_ns, out);
	return true;
}

double gw_slow_excess(const struct gw_slow *s, uint32_t config, double seconds,
                      enum gw_slow_cause *cause)
{
	const struct watch *chunk =
	        config && config <= s->max_configs ? s->chunks[config / CHUNK] : NULL;
	const struct watch *w = chunk ? &chunk[config % CHUNK] : NULL;

	*cause = GW_SLOW_UNKNOWN;
	if (!w || !w->open || !(seconds > w->predicted))
		return 0;
	*cause = cause_of(w);
	return seconds - w->predicted;
}

bool gw_slow_open(const struct gw_slow *s, uint32_t config, struct gw_slow_event *out)
{
	while (++config <= s->max_configs) {
		const struct watch *chunk = s->chunks[config / CHUNK];

		if (!chunk)
			config |= CHUNK - 1; /* on to the next chunk */
		else if (chunk[config % CHUNK].open) {
			report(&chunk[config % CHUNK], config, 0, 0, out);
			return true;
		}
	}
	return false;
}

static const char *const names[][2] = {
#define SLOW_CAUSE(NAME, name, meaning) {name, meaning},
#include "predictor/log/slow.def"
#undef SLOW_CAUSE
};

static const char *text_of(enum gw_slow_cause cause, int which)
{
	return (size_t)cause < sizeof(names) / sizeof(*names) ? names[cause][which]
	                                                      : names[GW_SLOW_UNKNOWN][which];
}

const char *gw_slow_cause_name(enum gw_slow_cause cause)
{
	return text_of(cause, 0);
}

const char *gw_slow_cause_meaning(enum gw_slow_cause cause)
{
	return text_of(cause, 1);
}
