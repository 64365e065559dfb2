/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/code/static_code.h"

#include "predictor/code/sass/work.h"
#include "predictor/models/inputs.h"

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
		others -= gw_gather_mean(&g->access[i].runs);
	if (q->source == GW_SOURCE_STATIC && others > 0)
		q->value += others;
}

/* Rows of machine code; the latency of loads comes from those of memory. NULL, or why its counts
 * are not settled. */
static const char *machine_rows(const struct gw_static_code *in, const struct gw_static_in *parts,
                                struct gw_arena *arena, struct gw_work *work)
{
	struct gw_sass_lowered lowered = {.program = *in->program, .calls = in->calls};
	struct gw_sass_launch launch = {.cfg = in->cfg,
	                                .lowered = &lowered,
	                                .report = &parts->gather->report,
	                                .config = in->launch->config};
	struct gw_schedule schedule;
	struct gw_waits waits;
	struct gw_work rows;
	const char *open;

	gw_waits_from_device(&waits, in->device, gw_static_load_latency(in->device, work));
	if (gw_schedule_build(&schedule, in->cfg, &waits, arena))
		launch.schedule = &schedule;
	gw_work_clear(&rows);
	open = gw_sass_work(&launch, arena, &rows);
	/* A called function's instructions, and those after a limit, are in no range. */
	if (open && !in->calls && launch.report->complete &&
	    !gw_static_machine(parts, in->cfg, launch.schedule, arena, &rows))
		return "there is no memory for it";
	if (launch.schedule && isnan(rows.q[GW_WORK_warp_fixed_cycles].value) &&
	    !gw_static_nominal(parts, in->cfg, launch.schedule, arena, &rows))
		return "there is no memory for it";
	merge(work, &rows);
	return open;
}

const char *gw_static_code_work(const struct gw_static_code *in, struct gw_arena *arena,
                                struct gw_work *work, const char **open)
{
	struct gw_gather gather;
	struct gw_timing timing;
	struct gw_static_in parts = {.program = in->program,
	                             .gather = &gather,
	                             .device = in->device,
	                             .launch = in->launch};
	const char *why;

	*open = NULL;
	gw_work_clear(work);
	why = gw_gather_run(in->program, in->at, in->limits, arena, &gather);
	if (why)
		return why;
	if (in->limited)
		*in->limited = !gather.report.complete || gather.cut || !gather.complete ||
		               gather.report.coverage != GW_COVER_EXACT;
	gw_static_memory(&parts, work);
	if (in->cfg) {
		*open = machine_rows(in, &parts, arena, work);
		add_wavefronts(&gather, work);
		return NULL;
	}
	why = gw_timing_of(in->program, arena, &timing);
	if (!why) {
		parts.timing = &timing;
		gw_static_warp(&parts, work);
	}
	return why;
}
