#include "predictor/code/static_code.h"

#include "predictor/code/sass/work.h"
#include "predictor/models/bounds.h"
#include "predictor/models/inputs.h"

#include <math.h>

/* Where all that data leave open is less than this factor of time, the middle is near enough. */
static const double OPEN_MOST = 2;
/* Where what is likely may be off by no more than this in all, it is a prediction, of which the
 * interval holds as much. */
static const double LIKELY_MOST = 10;
/* Sectors of memory elsewhere that take less than what a launch itself takes: one for each lane of
 * a warp. */
static const double FEW_SECTORS = GW_REQUEST_LANES;
static const double INSTANT = 1e-9; /* s: a limit that is not known, and not zero */

/* Rows of @p from where they are more sure than what @p to has. */
static void merge(struct gw_work *to, const struct gw_work *from)
{
	for (unsigned f = 0; f < GW_WORK_FIELDS; f++)
		gw_static_set(to, f, from->q[f].value, from->q[f].confidence);
}

/* Beside accesses to memory the load/store unit has shuffles, special registers and the like, a
 * wavefront each. (Counters put these among the wavefronts of shared memory.) */
static void add_wavefronts(const struct gw_gather *g, struct gw_work *work)
{
	struct gw_quantity *q = &work->q[GW_WORK_lsu_wavefronts];
	double others = gw_work_value(work, GW_WORK_pipe_lsu);

	for (uint32_t i = 0; i < g->count; i++)
		others -= g->access[i].space == IR_SPACE_CONST ? 0
							       : gw_gather_mean(&g->access[i].runs);
	if (q->source == GW_SOURCE_STATIC && others > 0)
		q->value += others;
}

/** The analysis of a launch, from its gathered accesses on. */
struct analysis {
	const struct gw_static_code *in;
	struct gw_static_in parts;          /**< as gathered */
	const struct gw_schedule *schedule; /**< of machine code, once built */
	const struct gw_timing *timing;     /**< of PTX, once made */
	struct gw_arena *arena;
};

static const struct gw_schedule *schedule_of(struct analysis *a, const struct gw_work *work)
{
	const struct gw_device *d = a->in->device;
	struct gw_schedule *built;
	struct gw_waits waits;

	if (a->schedule)
		return a->schedule;
	gw_waits_from_device(&waits, d, gw_static_load_latency(d, work));
	built = gw_arena_array(a->arena, 1, sizeof(*built));
	if (built && gw_schedule_build(built, a->in->cfg, &waits, a->arena))
		a->schedule = built;
	return a->schedule;
}

/* Rows of machine code; the latency of loads comes from those of memory. NULL, or why its counts
 * are not settled. */
static const char *machine_rows(struct analysis *a, const struct gw_static_in *parts,
				struct gw_work *work)
{
	const struct gw_static_code *in = a->in;
	struct gw_sass_lowered lowered = {.program = *in->program, .calls = in->calls};
	struct gw_sass_launch launch = {.cfg = in->cfg,
					.lowered = &lowered,
					.report = &parts->gather->report,
					.config = in->launch->config};
	struct gw_work rows;
	const char *open;

	launch.schedule = schedule_of(a, work);
	gw_work_clear(&rows);
	open = gw_sass_work(&launch, a->arena, &rows);
	/* A called function's instructions, and those after a limit, are in no range. */
	if (open && !in->calls && launch.report->complete &&
	    !gw_static_machine(parts, in->cfg, launch.schedule, a->arena, &rows))
		return "there is no memory for it";
	if (launch.schedule && isnan(rows.q[GW_WORK_warp_fixed_cycles].value) &&
	    !gw_static_nominal(parts, in->cfg, launch.schedule, a->arena, &rows))
		return "there is no memory for it";
	merge(work, &rows);
	gw_static_set(work, GW_WORK_loads_apart,
		      gw_replay_apart(&parts->gather->replay,
				      gw_work_value(work, GW_WORK_warp_loads_in_flight)),
		      (double)work->q[GW_WORK_l1_hit_rate].confidence);
	return open;
}

/* The same of PTX. NULL, or why there is none. */
static const char *take_time(struct analysis *a)
{
	struct gw_timing *timing;
	const char *why;

	if (a->timing)
		return NULL;
	timing = gw_arena_array(a->arena, 1, sizeof(*timing));
	if (!timing)
		return "there is no memory for it";
	why = gw_timing_of(a->in->program, a->arena, timing);
	if (!why)
		a->timing = timing;
	return why;
}

/* All rows of @p parts. NULL, or why there are none; *@p open: why counts are not settled. */
static const char *all_rows(struct analysis *a, struct gw_static_in *parts, enum gw_static_end end,
			    struct gw_work *work, const char **open)
{
	const char *why;

	gw_work_clear(work);
	gw_static_memory(parts, work);
	/* Others replace rows, which copies add to; the least is that all hits, copies too. */
	if (end != GW_STATIC_LEAST && end != GW_STATIC_MIDDLE)
		gw_static_open_traffic(&a->parts, end, work);
	gw_static_copies(parts, work);
	if (end == GW_STATIC_LEAST)
		gw_static_open_traffic(&a->parts, end, work);
	if (a->in->cfg) {
		*open = machine_rows(a, parts, work);
		add_wavefronts(parts->gather, work);
		return NULL;
	}
	why = take_time(a);
	if (why)
		return why;
	parts->timing = a->timing;
	gw_static_warp(parts, work);
	parts->timing = NULL;
	return NULL;
}

/* Requests that may be made were taken as made: footprints are no lower limit. */
static void drop_footprints(const struct gw_gather *g, struct gw_work *work)
{
	static const enum gw_work_field rows[] = {GW_WORK_dram_read_bytes, GW_WORK_dram_write_bytes,
						  GW_WORK_l2_hit_rate};
	bool ranges = false;

	for (uint32_t i = 0; i < g->count; i++)
		ranges |= g->access[i].runs.least != g->access[i].runs.most;
	for (uint32_t i = 0; i < g->copies.count; i++)
		ranges |= g->copies.copy[i].runs.least != g->copies.copy[i].runs.most;
	for (unsigned i = 0; ranges && i < sizeof(rows) / sizeof(*rows); i++)
		work->q[rows[i]] = (struct gw_quantity){.value = NAN};
}

/* Copies whose size is not known: there is no most. */
static bool has_open_copies(const struct gw_gather *g)
{
	for (uint32_t i = 0; i < g->copies.count; i++)
		if (g->copies.copy[i].unknown > 0)
			return true;
	return false;
}

/* Time by `bounds` of what the launch does at an end of what data leave open; NaN: not known. Its
 * rows go to @p work. */
static double end_time(struct analysis *a, enum gw_static_end end, struct gw_work *work)
{
	const struct gw_static_code *in = a->in;
	struct gw_static_in parts = a->parts;
	struct gw_estimate made;
	struct gw_gather gather;
	const char *open = NULL;

	if ((end != GW_STATIC_LEAST && has_open_copies(a->parts.gather)) ||
	    !gw_static_at(&a->parts, in->cfg, end, a->arena, &gather))
		return NAN;
	parts.gather = &gather;
	if (all_rows(a, &parts, end, work, &open) || (end != GW_STATIC_LEAST && open))
		return NAN;
	if (end == GW_STATIC_LEAST)
		drop_footprints(a->parts.gather, work);
	gw_model_bounds.estimate(in->device, in->launch, work, NULL, &made);
	if (end == GW_STATIC_LEAST && isnan(made.seconds))
		return gw_bounds_launching(in->device, in->launch);
	return made.seconds;
}

static bool is_elsewhere(const struct gw_static_code *in, uint64_t low, uint64_t high)
{
	for (uint32_t i = 0; i < in->memory_count; i++)
		if (in->memory[i].elsewhere && low >= in->memory[i].begin &&
		    high < in->memory[i].end)
			return true;
	return false;
}

/* Whether accesses to memory elsewhere may decide how long the launch takes. */
static bool goes_elsewhere(const struct analysis *a)
{
	const struct gw_gather *g = a->parts.gather;
	double sectors = 0;

	for (uint32_t i = 0; i < g->count; i++) {
		const struct gw_gather_access *access = &g->access[i];

		if (access->space == IR_SPACE_GLOBAL && access->requests > 0 &&
		    is_elsewhere(a->in, access->low, access->high))
			sectors += gw_gather_mean(&access->runs) *
				   gw_coalescing_sectors(&access->coalescing);
	}
	for (uint32_t i = 0; i < g->copies.count; i++) {
		const struct gw_tma_copy *copy = &g->copies.copy[i];

		if (copy->map && is_elsewhere(a->in, copy->map->address, copy->map->address))
			sectors += gw_gather_mean(&copy->runs) * copy->bytes / copy->seen /
				   GW_SECTOR_BYTES;
	}
	return !(sectors <= FEW_SECTORS); /* no upper bound: many */
}

/*
 * Where data decide little enough of the time: the rows of what is likely, with how far off that
 * may be. False: they decide too much, or it is not known how much.
 */
static bool likely_rows(struct analysis *a, const char *open, struct gw_work *work)
{
	struct gw_work likely, other;
	double low, high, middle;

	if (open && open == a->in->calls) /* what functions do that are not followed */
		return false;
	middle = end_time(a, GW_STATIC_LIKELY, &likely);
	if (!(middle > 0))
		return false;
	low = fmin(end_time(a, GW_STATIC_LOW, &other), middle);
	high = fmax(end_time(a, GW_STATIC_HIGH, &other), middle);
	if (!(high <= LIKELY_MOST * low))
		return false;
	*work = likely;
	gw_static_set(work, GW_WORK_open_spread, log(high / low) / (2 * GW_NINE_IN_TEN), 1);
	return true;
}

/* Of rows that are open what is likely, where that is near enough; beside, the time says no more.
 */
static void add_likely(struct analysis *a, struct gw_work *work)
{
	struct gw_work likely;

	if (!(end_time(a, GW_STATIC_LIKELY, &likely) > 0))
		return;
	for (unsigned f = 0; f < GW_WORK_FIELDS; f++)
		if (isnan(work->q[f].value))
			gw_static_set(work, f, likely.q[f].value, likely.q[f].confidence);
}

/* Of rows that addresses or counts leave open what they are at most: a verdict may need no more. */
static void keep_most(struct gw_work *work, const struct gw_work *most)
{
	double l2 = gw_work_value(most, GW_WORK_l2_read_bytes) +
		    gw_work_value(most, GW_WORK_l2_write_bytes);

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++) {
		enum gw_work_field at = gw_work_upper_bound((enum gw_work_field)i);

		if (at != GW_WORK_FIELDS && isnan(work->q[i].value))
			gw_static_set(work, at, most->q[i].value, 1);
	}
	gw_static_set(work, GW_WORK_most_l2_total_bytes, l2, 1);
}

/*
 * How long the launch takes at least, where what memory contents decide may matter; else 0, and the
 * rows are of what is likely. What the walk did not follow to its end has no upper limit.
 */
static double least_time(struct analysis *a, bool elsewhere, const char *open, struct gw_work *work)
{
	struct gw_work end;
	double least, most;
	bool near;

	if (gw_static_is_decided(&a->parts) && !elsewhere)
		return 0;
	least = end_time(a, GW_STATIC_LEAST, &end);
	if (elsewhere)
		return least > 0 ? least : INSTANT;
	most = end_time(a, GW_STATIC_MOST, &end);
	near = most <= OPEN_MOST * least;
	if (near)
		add_likely(a, work);
	else
		near = likely_rows(a, open, work);
	if (isfinite(most))
		keep_most(work, &end);
	if (near)
		return 0;
	return least > 0 ? least : INSTANT;
}

/* A trial answers where all there is to say is how long it takes at least. */
static const char *in_full(const struct gw_static_code *in, struct gw_arena *arena,
			   struct gw_work *work, const char **open)
{
	struct gw_gather_limits limits = *in->limits;
	struct gw_static_code all = *in;

	limits.trial = 0;
	all.limits = &limits;
	return gw_static_code_work(&all, arena, work, open);
}

const char *gw_static_code_work(const struct gw_static_code *in, struct gw_arena *arena,
				struct gw_work *work, const char **open)
{
	struct gw_static_code own = *in;
	struct gw_gather gather;
	struct gw_cfg cfg;
	struct analysis a = {.in = &own,
			     .parts = {.program = in->program,
				       .gather = &gather,
				       .device = in->device,
				       .launch = in->launch,
				       .memory = in->memory,
				       .memory_count = in->memory_count},
			     .arena = arena};
	const char *why;
	double least;
	bool elsewhere;

	*open = NULL;
	gw_work_clear(work);
	why = gw_gather_run(in->program, in->at, in->limits, arena, &gather);
	if (why)
		return why;
	if (in->cfg) {
		cfg = *in->cfg;
		gw_cfg_decode(&cfg, arena);
		own.cfg = &cfg;
	}
	if (in->limited)
		*in->limited = !gather.trial &&
			       (!gather.report.complete || gather.cut || !gather.complete ||
				gather.report.coverage != GW_COVER_EXACT);
	if (in->ran && gather.report.complete)
		*in->ran = gather.report.blocks;
	why = all_rows(&a, &a.parts, GW_STATIC_MIDDLE, work, open);
	elsewhere = goes_elsewhere(&a);
	least = why ? NAN : least_time(&a, elsewhere, *open, work);
	if (gather.trial && !(least > 0))
		return in_full(in, arena, work, open);
	gw_static_set(work, GW_WORK_least_time, least, 1);
	if (in->cfg && !gw_static_shares(&cfg, arena, work))
		return "there is no memory for it";
	if (elsewhere)
		*open = "it accesses memory of the host, or managed memory, whose rate is not "
			"known";
	return why;
}
