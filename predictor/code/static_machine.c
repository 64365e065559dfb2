/* Static rows from machine code: what blocks are made of, times how often they run. */
#include "predictor/code/sass/work.h"
#include "predictor/code/static_work.h"

#include <math.h>

/* See static_work.h for what these stand for. */
static const double counts_bounded = 0.4, divergence = 0.65;

/** Instructions of the grid's warps. */
struct machine {
	double insts, fp32, fma32, fp64, fma64, fp16, integer, ldst;
	double pipe[GW_SASS_PIPES];
	double flops[GW_SASS_TENSORS];
	bool bounded; /* a block's count is a range */
	bool unknown; /* a block has no count, or an opcode isn't known */
};

static void add_block(struct machine *m, const struct gw_sass_mix *mix, double runs)
{
	m->insts += runs * mix->insns;
	m->fp32 += runs * mix->cls[GW_SASS_FP32];
	m->fma32 += runs * mix->fma32;
	m->fp64 += runs * mix->cls[GW_SASS_FP64];
	m->fma64 += runs * mix->fma64;
	m->fp16 += runs * mix->cls[GW_SASS_FP16];
	m->integer += runs * (mix->cls[GW_SASS_INT] + mix->cls[GW_SASS_LOGIC]);
	m->ldst += runs * (mix->cls[GW_SASS_LOAD] + mix->cls[GW_SASS_STORE]);
	for (unsigned p = 0; p < GW_SASS_PIPES; p++)
		m->pipe[p] += runs * mix->pipe[p];
	for (unsigned t = 0; t < GW_SASS_TENSORS; t++)
		m->flops[t] += runs * mix->flops[t];
	m->unknown |= mix->unknown > 0;
}

static struct machine count(const struct gw_static_in *in, const struct gw_cfg *cfg,
			    const double *runs)
{
	const struct gw_eval_report *r = &in->gather->report;
	struct machine m = {.insts = 0};

	for (uint32_t b = 0; b < cfg->block_count; b++) {
		struct gw_sass_mix mix = {0};

		gw_cfg_mix(cfg, b, &mix);
		m.unknown |= isnan(runs[b]);
		if (runs[b] > 0)
			add_block(&m, &mix, runs[b] * (double)r->warps);
	}
	for (uint32_t b = 0; b < in->program->block_count; b++)
		m.bounded |= r->blocks[b].runs.least != r->blocks[b].runs.most;
	return m;
}

static void set_warp_rows(struct gw_work *work, const struct machine *m, double sure)
{
	gw_static_set(work, GW_WORK_inst_executed, m->insts, sure);
	for (unsigned row = 0; row < GW_WORK_FIELDS; row++) {
		gw_static_set(work, row, gw_sass_pipe_sum(row, m->pipe), sure);
		gw_static_set(work, row, gw_sass_tensor_sum(row, m->flops), sure);
	}
}

static void set_thread_rows(struct gw_work *work, const struct machine *m, double lanes,
			    double sure)
{
	gw_static_set(work, GW_WORK_fp32_inst, m->fp32 * lanes, sure);
	gw_static_set(work, GW_WORK_fp32_fma, m->fma32 * lanes, sure);
	gw_static_set(work, GW_WORK_fp64_inst, m->fp64 * lanes, sure);
	gw_static_set(work, GW_WORK_fp64_fma, m->fma64 * lanes, sure);
	gw_static_set(work, GW_WORK_fp16_inst, m->fp16 * lanes, sure);
	gw_static_set(work, GW_WORK_int_inst, m->integer * lanes, sure);
	gw_static_set(work, GW_WORK_ldst_inst, m->ldst * lanes, sure);
}

bool gw_static_machine(const struct gw_static_in *in, const struct gw_cfg *cfg,
		       const struct gw_schedule *schedule, struct gw_arena *arena,
		       struct gw_work *work)
{
	const struct gw_eval_report *r = &in->gather->report;
	double *mean = gw_arena_array(arena, cfg->block_count, sizeof(*mean));
	double *longest = gw_arena_array(arena, cfg->block_count, sizeof(*longest));
	double warps = (double)r->warps, lanes, sure;
	struct machine m;

	if (!mean || !longest)
		return false;
	if (r->coverage == GW_COVER_NONE)
		return true;
	gw_sass_runs(in->program, cfg, r->blocks, warps, mean);
	gw_sass_runs(in->program, cfg, r->longest, 1, longest);
	m = count(in, cfg, mean);
	if (m.unknown)
		return true;
	sure = m.bounded ? counts_bounded : r->sure;
	set_warp_rows(work, &m, sure);
	lanes = (double)gw_dim3_count(in->launch->config.block) *
		(double)gw_dim3_count(in->launch->config.grid) / warps;
	set_thread_rows(work, &m, lanes, r->divergent.most > 0 ? sure * divergence : sure);
	if (schedule)
		gw_sass_critical_path(cfg, schedule, mean, longest, m.insts / warps, sure, work);
	return true;
}
