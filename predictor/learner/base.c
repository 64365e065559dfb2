/*
 * The time that the model (`bounds` unless another was set) gives for a launch's work, and how
 * uncertain it is because of what that work does not contain.
 */
#include "predictor/learner/learner.h"
#include "predictor/models/bounds.h"
#include "predictor/models/inputs.h"
#include "predictor/models/verdict.h"

#include <math.h>
#include <string.h>

static const double PATH_GUESSED = 0.25; /* prior, as those of scale.c */
static const double OPEN_MOST =
	2; /* factor of time that what data decide may make (static_code.c) */
/* The same where the rest was counted: an interval still says something of less. */
static const double COUNTED_OPEN_MOST = 20;

/*
 * Share of the estimate that scales with the SM clock: excludes device memory, the launch itself,
 * and of the time that warps wait what device memory takes to serve them.
 */
static float clock_share(const struct gw_estimate *e)
{
	double with = 0, memory = 0, latency = 0, floor_time = 0;

	for (unsigned i = 0; i < e->term_count; i++) {
		const struct gw_term *t = &e->terms[i];

		if (isnan(t->value))
			continue;
		if (!strcmp(t->name, "launch_floor"))
			floor_time = t->value;
		else if (t->resource && !strncmp(t->name, "dram", 4))
			memory = fmax(memory, t->value);
		else if (t->resource && !strcmp(t->name, "latency"))
			latency = t->value;
		else if (t->resource)
			with += t->value * t->value * t->value;
	}
	with += latency * latency * fmax(0, latency - memory);
	if (!(with > 0) || !(e->seconds > 0))
		return 0;
	return (float)(with / (with + memory * memory * fmax(memory, latency)) *
		       fmax(0, 1 - floor_time / e->seconds));
}

/*
 * Share of the estimate in the terms that @p names lists, one behind the other, and an empty one:
 * the cube of the largest, as the model joins them.
 */
static double part_of_terms(const struct gw_estimate *e, const char *names)
{
	double most = 0;

	for (unsigned i = 0; i < e->term_count; i++)
		for (const char *name = names; *name; name += strlen(name) + 1)
			if (e->terms[i].resource && !strcmp(e->terms[i].name, name))
				most = fmax(most, e->terms[i].value);
	return most * most * most;
}

/* Whether moving data takes most of the time: a warp's critical path then hardly matters. */
static bool moves_data(const struct gw_estimate *e)
{
	return part_of_terms(e, "lsu\0shared\0l1\0shared_atomics\0constant\0") +
		       part_of_terms(e, "l2\0") + part_of_terms(e, "dram\0") +
		       part_of_terms(e, "atomics\0") >
	       part_of_terms(e, "issue\0fma\0alu\0fp64\0fp16\0xu\0tensor\0") +
		       part_of_terms(e, "latency\0") + part_of_terms(e, "barrier\0");
}

static enum gw_certainty certainty_of(const struct gw_work *work)
{
	if (!isnan(gw_work_value(work, GW_WORK_warp_longest_fixed_cycles)))
		return GW_CERTAINTY_EXACT;
	return isnan(gw_work_value(work, GW_WORK_inst_issued)) &&
			       isnan(gw_work_value(work, GW_WORK_inst_executed))
		       ? GW_CERTAINTY_PARTIAL
		       : GW_CERTAINTY_ESTIMATED;
}

/* The time of @p seconds if all atomics with unknown addresses meet on one. */
static double with_meetings(const struct gw_predictor *p, const struct gw_work *work,
			    double seconds)
{
	double atomics = gw_work_value(work, GW_WORK_atomic_requests);

	if (!(atomics > 0) || !isnan(gw_work_value(work, GW_WORK_atomic_same_address)))
		return seconds;
	return fmax(seconds, seconds + atomics / gw_param_value(p->device, GW_PARAM_t_atomic_same));
}

/*
 * Uncertainty of an estimate due to what its work does not contain, as a standard deviation of its
 * logarithm. Atomics with unknown addresses may all collide: that time is treated as a
 * 95th-percentile case.
 */
static double unexplained(const struct gw_predictor *p, const struct gw_work *work, double seconds,
			  enum gw_certainty certainty)
{
	double doubt = log(with_meetings(p, work, seconds) / seconds) / GW_NINE_IN_TEN;

	/* A critical path without settled counts is a guess (static_nominal.c). */
	if (certainty != GW_CERTAINTY_EXACT)
		doubt = sqrt(doubt * doubt + PATH_GUESSED * PATH_GUESSED);
	return doubt;
}

static void ask_model(const struct gw_predictor *p, const struct gw_launch *launch,
		      const struct gw_work *work, struct gw_estimate *made)
{
	const struct gw_model *model = p->model ? p->model : &gw_model_bounds;

	model->estimate(p->device, launch, work, NULL, made);
}

double gw_base_seconds(const struct gw_predictor *p, const struct gw_entry *e,
		       const struct gw_work *work)
{
	const struct gw_launch launch = {.kernel = &e->family->kernel, .config = e->config};
	struct gw_estimate made;

	ask_model(p, &launch, work, &made);
	return made.seconds;
}

/* Of work that the code alone gives: not even how many instructions there are. */
static bool is_uncounted(const struct gw_work *work)
{
	return certainty_of(work) == GW_CERTAINTY_PARTIAL &&
	       isnan(gw_work_value(work, GW_WORK_warp_cycles));
}

/*
 * Where memory contents decide how much is done, and nothing was counted, how long the launch of
 * estimate @p seconds takes at least; 0: they decide nothing that matters. Logs from before the row
 * do not say it: there it is work without a number of instructions.
 */
static double least_of(const struct gw_predictor *p, const struct gw_work *work, double seconds)
{
	double least = gw_work_value(work, GW_WORK_least_time);

	if (!isnan(least))
		return least;
	return is_uncounted(work) || with_meetings(p, work, seconds) > OPEN_MOST * seconds ? seconds
											   : 0;
}

/* Counts do not tell how many atomics meet on one address. */
static double least_counted(const struct gw_predictor *p, const struct gw_work *work,
			    double seconds)
{
	return with_meetings(p, work, seconds) > COUNTED_OPEN_MOST * seconds ? seconds : 0;
}

/* That of work by the code alone, where memory contents decide some of it. */
static double with_open(const struct gw_work *work, double doubt)
{
	double open = gw_work_spread(work);

	return sqrt(doubt * doubt + open * open);
}

struct gw_base gw_base_of(const struct gw_predictor *p, const struct gw_entry *e,
			  const struct gw_work *work, struct gw_base b)
{
	const struct gw_launch launch = {.kernel = &e->family->kernel, .config = e->config};
	struct gw_estimate made;
	struct gw_verdict verdict;

	b.log_seconds = NAN;
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		if (work->q[i].source > b.source)
			b.source = (uint8_t)work->q[i].source;
	if (b.source == GW_SOURCE_NONE || !p->device)
		return b;
	ask_model(p, &launch, work, &made);
	b.bare = !(made.seconds > 0) && !p->model;
	if (b.bare)
		made.seconds = gw_bounds_launching(p->device, &launch);
	if (!(made.seconds > 0))
		return b;
	b.least = b.source == GW_SOURCE_STATIC ? least_of(p, work, made.seconds)
					       : least_counted(p, work, made.seconds);
	gw_verdict_of(p->device, &launch, work, &made, &verdict);
	b.path = (uint8_t)certainty_of(work);
	b.certainty =
		b.path == GW_CERTAINTY_ESTIMATED && moves_data(&made) ? GW_CERTAINTY_EXACT : b.path;
	b.unexplained = (float)unexplained(p, work, made.seconds, (enum gw_certainty)b.certainty);
	if (b.source == GW_SOURCE_STATIC)
		b.unexplained = (float)with_open(work, (double)b.unexplained);
	b.log_seconds = log(made.seconds);
	b.share = b.bare ? 0 : clock_share(&made);
	b.bound = (uint8_t)(b.least > 0 ? GW_BOUND_UNKNOWN : verdict.bound);
	return b;
}
