#include "predictor/counters/slow.h"

#include "predictor/counters/slow_windows.h"

#include <math.h>
#include <stdlib.h>

enum {
	CHUNK = 256,         /* configurations that share an allocation */
	ESTABLISHED = 32,    /* launches before one can count as slow */
	MEMORY = 64,         /* launches over which mean and spread are averaged */
	SHARE_MEMORY = 4096, /* the same of what interrupted ones take */
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
static const double OVERLAP_ROSE = 0.25; /* additional share of the launches */
static const double INTERRUPTED = 1.5;   /* times the prediction */
static const double ALONE_MOST = 0.01; /* share of the GPU that others have where none is at work */
static const uint64_t LATE_NS = 3000000000; /* that others are at work is known so late at most */

struct watch {
	uint32_t alarms;
	uint32_t times; /* up to MEMORY */
	/*
	 * Of the logarithm of its times: running mean, mean deviation, and the 90th percentile, by
	 * stochastic approximation. An interval may come from the last few dozen times and hold for
	 * thousands: by itself it may miss more often than that for long.
	 */
	double level, spread, top, top_before;
	struct gw_slow_usual usual;
	double score; /* score of the suspicion; once open, of its end */
	bool open;
	double predicted, low, high; /* of the first slow launch: the reference for the others */
	uint64_t since_ns, calm_ns;  /* calm_ns: first launch of the present calm */
	uint64_t launches, launches_before_calm;
	double log_ratio;             /* sum over the slow ones */
	struct gw_slow_beside during; /* beside the slow ones */
};

/* What interrupted launches took too long, by what was predicted of all launches. */
struct mean {
	float share;
	uint32_t launches; /* up to SHARE_MEMORY */
};

struct interrupted {
	struct mean alone, beside;
	/* While none seems to be at work: it is not known yet whether one has begun. */
	struct mean before, lately; /* until `since_ns`, from then on */
	uint64_t since_ns;
};

struct gw_slow {
	uint32_t max_configs;
	struct watch **chunks;
	struct interrupted **interrupted; /* as `chunks` */
	size_t interrupted_chunks;
	struct gw_slow_windows *windows;
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
	s->interrupted = calloc(max_configs / CHUNK + 1, sizeof(struct interrupted *));
	s->windows = gw_slow_windows_new(max_configs);
	if (!s->chunks || !s->interrupted || !s->windows) {
		gw_slow_free(s);
		return NULL;
	}
	return s;
}

size_t gw_slow_sampled_bytes(const struct gw_slow *s)
{
	return gw_slow_windows_bytes(s->windows) +
	       s->interrupted_chunks * CHUNK * sizeof(struct interrupted);
}

void gw_slow_free(struct gw_slow *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; s->chunks && i <= s->max_configs / CHUNK; i++)
		free(s->chunks[i]);
	for (uint32_t i = 0; s->interrupted && i <= s->max_configs / CHUNK; i++)
		free(s->interrupted[i]);
	gw_slow_windows_free(s->windows);
	free((void *)s->chunks);
	free((void *)s->interrupted);
	free(s);
}

static struct watch *chunk_new(void)
{
	struct watch *w = calloc(CHUNK, sizeof(*w));

	for (int i = 0; w && i < CHUNK; i++)
		w[i].usual = (struct gw_slow_usual){NAN, NAN, NAN, NAN, NAN, NAN};
	return w;
}

/* NULL: it has had no launch. */
static struct watch *known(const struct gw_slow *s, uint32_t config)
{
	struct watch *chunk = config && config <= s->max_configs ? s->chunks[config / CHUNK] : NULL;

	return chunk ? &chunk[config % CHUNK] : NULL;
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

static void add(struct gw_slow_mean *m, double value)
{
	if (isnan(value))
		return;
	m->sum += value;
	m->count++;
}

double gw_slow_mean_of(const struct gw_slow_mean *m)
{
	return m->count ? m->sum / (double)m->count : NAN;
}

void gw_slow_drift(double *usual, double value, double gain)
{
	if (!isnan(value))
		*usual = isnan(*usual) ? value : *usual + gain * (value - *usual);
}

void gw_slow_beside_add(struct gw_slow_beside *b, const struct gw_slow_sample *s)
{
	b->launches++;
	add(&b->sm, s->clock.sm_hz);
	add(&b->memory, s->clock.mem_hz);
	add(&b->others, s->clock.others);
	add(&b->bytes, s->dram_bytes);
	b->overlapped += s->overlapped;
	b->copies += s->copies;
	b->reasons |= s->clock.reasons;
}

static void note_usual(struct watch *w, const struct gw_slow_sample *o)
{
	/*
	 * A change starts before its launches count as slow: those of the slower half do not train
	 * the usual state.
	 */
	if (o->seconds > o->predicted)
		return;
	gw_slow_drift(&w->usual.sm, o->clock.sm_hz, GAIN);
	gw_slow_drift(&w->usual.memory, o->clock.mem_hz, GAIN);
	gw_slow_drift(&w->usual.others, o->clock.others, GAIN);
	gw_slow_drift(&w->usual.bytes, o->dram_bytes, GAIN);
	gw_slow_drift(&w->usual.overlapped, o->overlapped, GAIN);
	gw_slow_drift(&w->usual.copies, o->copies, GAIN);
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
	w->log_ratio += log(o->seconds / w->predicted);
	gw_slow_beside_add(&w->during, o);
}

/* Whether a clock that fell from @p before to @p during explains at least half of the delay. */
static bool clock_explains(double before, double during, double log_ratio)
{
	double drop = before / during;

	return drop >= CLOCK_DROP && 2 * log(drop) >= log_ratio; /* false for NaN */
}

/* Whether something ran beside @p beside of the launches, and beside more of them than usual. */
static bool beside_more(double usual, uint64_t beside, uint64_t launches)
{
	const double share = (double)beside / (double)launches;

	return share >= 0.5 && !(share < usual + OVERLAP_ROSE); /* false for NaN */
}

enum gw_slow_cause gw_slow_explain(const struct gw_slow_usual *usual,
				   const struct gw_slow_beside *during, double log_ratio)
{
	if (beside_more(usual->overlapped, during->overlapped, during->launches))
		return GW_SLOW_CONTENTION;
	if (beside_more(usual->copies, during->copies, during->launches))
		return GW_SLOW_COPIES;
	if (clock_explains(usual->sm, gw_slow_mean_of(&during->sm), log_ratio))
		return GW_SLOW_CLOCK;
	if (clock_explains(usual->memory, gw_slow_mean_of(&during->memory), log_ratio))
		return GW_SLOW_MEMORY_CLOCK;
	if (gw_slow_mean_of(&during->others) >=
	    OTHERS_ROSE + (isnan(usual->others) ? 0 : usual->others))
		return GW_SLOW_OTHER_WORK;
	if (gw_slow_mean_of(&during->bytes) >= BYTES_ROSE * usual->bytes)
		return GW_SLOW_CACHE;
	return GW_SLOW_UNKNOWN;
}

static enum gw_slow_cause cause_of(const struct watch *w)
{
	return gw_slow_explain(&w->usual, &w->during, w->log_ratio / (double)w->during.launches);
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
		.slow = w->during.launches,
		.predicted = w->predicted,
		.low = w->low,
		.high = w->high,
		.ratio = exp(w->log_ratio / (double)w->during.launches),
		.sm_before = w->usual.sm,
		.sm_during = gw_slow_mean_of(&w->during.sm),
		.reasons = w->during.reasons,
	};
}

static void forget(struct watch *w)
{
	w->score = 0;
	w->open = false;
	w->launches = 0;
	w->log_ratio = 0;
	w->during = (struct gw_slow_beside){0};
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

static bool valid(const struct gw_slow_sample *o)
{
	return o->steady && o->high > 0 && o->predicted > 0 && o->seconds > 0;
}

/* The episode of a configuration whose launches are judged otherwise from now on. */
static bool cut(struct watch *w, uint32_t config, uint64_t ns, struct gw_slow_event *out)
{
	report(w, config, ns, ns, out);
	forget(w);
	return true;
}

static bool observe_each(struct watch *w, uint32_t config, const struct gw_slow_sample *o,
			 struct gw_slow_event *out)
{
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

bool gw_slow_observe(struct gw_slow *s, uint32_t config, const struct gw_slow_sample *o,
		     struct gw_slow_event *out)
{
	struct watch *w;

	if (o->sampled) {
		w = known(s, config);
		if (w && w->open)
			return cut(w, config, o->start_ns, out);
		return o->seconds > 0 && gw_slow_windows_observe(s->windows, config, o, out);
	}
	if (gw_slow_windows_end(s->windows, config, o->start_ns, out))
		return true;
	if (!valid(o))
		return false;
	w = watch_of(s, config);
	return w && observe_each(w, config, o, out);
}

static bool open_of(const struct gw_slow *s, uint32_t config, struct gw_slow_event *out)
{
	const struct watch *w = known(s, config);

	if (!w || !w->open)
		return gw_slow_windows_open(s->windows, config, out);
	report(w, config, 0, 0, out);
	return true;
}

/* ---- launches that were interrupted ---- */

static struct interrupted *interrupted_of(struct gw_slow *s, uint32_t config)
{
	struct interrupted **chunk;

	if (!config || config > s->max_configs)
		return NULL;
	chunk = &s->interrupted[config / CHUNK];
	if (!*chunk) {
		*chunk = calloc(CHUNK, sizeof(**chunk));
		s->interrupted_chunks += *chunk != NULL;
	}
	return *chunk ? &(*chunk)[config % CHUNK] : NULL;
}

static void add_share(struct mean *m, double share, uint32_t launches)
{
	const uint32_t all = m->launches + launches;

	if (!launches)
		return;
	m->share += (float)((share - (double)m->share) * launches / all);
	m->launches = all < SHARE_MEMORY ? all : SHARE_MEMORY;
}

/* None is at work, or it is not known yet: what was seen counts once that would be known. */
static void add_alone(struct interrupted *t, double share, uint64_t ns)
{
	if (t->lately.launches && ns - t->since_ns > LATE_NS) {
		add_share(&t->alone, (double)t->before.share, t->before.launches);
		t->before = t->lately;
		t->lately = (struct mean){0};
	}
	if (!t->lately.launches)
		t->since_ns = ns;
	add_share(&t->lately, share, 1);
}

static double excess_beside(struct gw_slow *s, uint32_t config, const struct gw_slow_sample *o)
{
	const double by = o->seconds / o->predicted - 1, share = by > INTERRUPTED - 1 ? by : 0;
	struct interrupted *t;

	/* false for NaN: it is not known whether others are at work */
	if (!valid(o) || o->overlapped || o->copies || !(o->clock.others >= 0))
		return 0;
	t = interrupted_of(s, config);
	if (!t)
		return 0;
	if (o->clock.others <= ALONE_MOST) {
		add_alone(t, share, o->start_ns);
		return 0;
	}
	t->before = t->lately = (struct mean){0};
	if (o->clock.others < OTHERS_ROSE)
		return 0;
	add_share(&t->beside, share, 1);
	if (!(t->beside.share > t->alone.share))
		return 0;
	return share * o->predicted * (1 - (double)t->alone.share / (double)t->beside.share);
}

double gw_slow_excess(struct gw_slow *s, uint32_t config, const struct gw_slow_sample *o,
		      enum gw_slow_cause *cause)
{
	struct gw_slow_event e;

	*cause = GW_SLOW_UNKNOWN;
	if (open_of(s, config, &e)) {
		*cause = e.cause;
		return o->seconds > e.predicted ? o->seconds - e.predicted : 0;
	}
	*cause = GW_SLOW_OTHER_WORK;
	return excess_beside(s, config, o);
}

bool gw_slow_open(const struct gw_slow *s, uint32_t config, struct gw_slow_event *out)
{
	while (++config <= s->max_configs)
		if (open_of(s, config, out))
			return true;
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
