/* How far the interval of a configuration's own times reaches. */
#include "predictor/learner/learner.h"

#include <math.h>

enum {
	FEW = 16,     /* own times that may say too little of the next */
	REPEATS = 31, /* pairs of times of a kernel, at most, that are counted */
	SHARED = 8,   /* the first of them, that count for other kernels, too */
};

static const double FORECAST_WEIGHT = 0.25, CONTENTS_WEIGHT = 0.5, UNUSUAL = 4,
		    FORECAST_REACH = 1.8;
static const double POPULATION = 4;        /* weight, in pairs, of those of other kernels */
static const double NORMAL_ERROR = 1.2533; /* standard deviations in a normal's mean error */
/*
 * Where memory contents decide how much a launch does, its first times say less of the next than
 * the spread of their own: by what programs with frontiers and work lists showed in their first
 * launches.
 */
static const double DATA_DECIDE_FEW = 3, DATA_DECIDE_SOME = 1.5;
static const double LOOSE = 0.1; /* spread of times in no order, in log time */
/* Back-to-back times agree better than launches queued now will: at least this spread until one was
 * judged, in log time. */
static const double UNJUDGED = 0.01;

/*
 * How much the kernel's times differ at one configuration, by the first of each: few own times may
 * agree by chance where what the launches do differs. No kernel rules what is expected of others.
 */
void gw_own_repeat(struct gw_predictor *p, struct gw_entry *e, double seconds)
{
	struct gw_kernel_stats *f = e->family;
	uint32_t n = e->history.count;
	double off;

	if (!f || !n || n > FEW)
		return;
	off = fabs(log(seconds / (double)e->history.times[(n - 1) % GW_HISTORY_WINDOW]));
	gw_errors_add(&f->repeats, off);
	if (f->repeat_count < SHARED)
		gw_errors_add(&p->repeats, off);
	f->repeat_count += f->repeat_count < REPEATS;
}

static bool data_decide(const struct gw_entry *e)
{
	for (unsigned i = 0; i < e->part_count; i++)
		if ((e->parts[i].field == GW_WORK_least_time ||
		     e->parts[i].field == GW_WORK_open_spread) &&
		    e->parts[i].value > 0)
			return true;
	return false;
}

/*
 * How far predictions missed when their launches ran, one error per advance. The last times of a
 * configuration can lie within milliseconds and agree to a thousandth, while launches queued now
 * run much later, at another clock: only the outcome of earlier predictions shows how far times
 * drift until then. One large error counts as a few times the usual: it may be a step, and the
 * errors after it decide. Where memory contents decide how much a launch does, others may follow:
 * it counts whole, and more.
 */
void gw_own_forecast(struct gw_entry *e, double error)
{
	double usual = e->forecast > 0 ? (double)e->forecast : (double)e->now.noise / NORMAL_ERROR;
	double off = data_decide(e) ? CONTENTS_WEIGHT * (error - usual)
				    : FORECAST_WEIGHT * (fmin(error, UNUSUAL * usual) - usual);

	e->forecast = (float)(usual + off);
}

/* By how much wider its interval is than that of launches that all do the same. */
static double variety(const struct gw_entry *e, uint32_t size)
{
	if (size > FEW || !data_decide(e) || (e->family && e->family->repeat_count >= FEW / 2))
		return 1;
	return size > 4 ? DATA_DECIDE_SOME : DATA_DECIDE_FEW;
}

/* How far the next of its times lies from the last in nine of ten cases. */
static double repeats_reach(const struct gw_predictor *p, const struct gw_entry *e)
{
	static const struct gw_errors none;

	return gw_errors_reach(e->family ? &e->family->repeats : &none, &p->repeats, POPULATION);
}

double gw_own_spread(const struct gw_predictor *p, const struct gw_entry *e,
		     const struct gw_history_summary *s)
{
	if (gw_history_size(&e->history) <= 4)
		return repeats_reach(p, e) / GW_NINE_IN_TEN;
	return e->forecast > 0 ? s->sigma : fmax(s->sigma, UNJUDGED);
}

double gw_own_half(const struct gw_predictor *p, const struct gw_entry *e,
		   const struct gw_published *now, bool multimodal)
{
	double half = (double)p->state.coverage.width[now->kind] * (double)now->noise *
		      variety(e, now->size);

	/* Not times the width of the kind: that is of spreads, and these are errors themselves. */
	if (now->size > 4 && !multimodal)
		half = fmax(half, FORECAST_REACH * (double)e->forecast);
	if (now->size > 4 && now->size <= FEW && e->family && e->family->repeat_count >= FEW / 2)
		half = fmax(half, repeats_reach(p, e));
	return half * exp((double)e->own);
}

bool gw_own_range(const struct gw_entry *e, const struct gw_history_summary *s, double *least,
		  double *most)
{
	return e->own > 0 && (s->multimodal || s->sigma > LOOSE) &&
	       gw_history_range(&e->history, least, most);
}
