#include "predictor/code/sass/work.h"

#include "predictor/code/sass/tensor.h"

#include <math.h>
#include <string.h>

/* How far rows may be trusted, beside exact counts. */
static const float waits_once = 0.9f; /* rounds of waits are not known */
static const float lanes_on = 0.9f;   /* guards may turn lanes off */
static const float lanes_diverge = 0.65f;
static const float lsu_others = 0.8f; /* fences and the like may be counted otherwise */
static const float halves = 0.1f;     /* packed halves are counted as tensor operations, some */

/* Sums over the grid. */
struct sums {
	double insns; /* warp instructions */
	double cls[GW_SASS_CLASSES], pipe[GW_SASS_PIPES], flops[GW_SASS_TENSORS];
	double fma32, fma64, ldst, barriers, shared_atomics;
	double chain;                /* instructions that wait for each other, of the schedule */
	double tensor, tensor_first; /* operations of any type, of all blocks and of the first */
};

uint32_t gw_sass_head(const struct gw_cfg *cfg, uint32_t block)
{
	const struct gw_cfg_block *b = &cfg->blocks[block];
	struct gw_sass_insn insn;

	/* Its code is 0x141: other instructions need not be decoded. */
	for (uint32_t i = 0; i < b->count; i++)
		if (cfg->code.data[(size_t)(b->first + i) * GW_SASS_BYTES] == 0x41 &&
		    gw_cfg_insn(cfg, b->first + i, &insn) && insn.op == GW_SASS_OP_BSYNC)
			return i + 1;
	return 0;
}

/* The branches whose lanes meet there, as often as they part. */
struct gw_eval_count gw_sass_parts(const struct gw_ir_program *p,
				   const struct gw_eval_report *report, uint32_t at)
{
	struct gw_eval_count more = {0, 0, 0};

	for (uint32_t b = 0; b < p->block_count; b++)
		if (p->blocks[b].ipdom == at) {
			more.least += report->blocks[b].divergent.least;
			more.most += report->blocks[b].divergent.most;
			more.likely += report->blocks[b].divergent.likely;
		}
	return more;
}

/* Block @p at of the program, which stands for one of the graph. */
static void add_block(const struct gw_sass_launch *l, uint32_t at, struct sums *s)
{
	uint32_t block = l->lowered->program.blocks[at].tag;
	const struct gw_cfg_block *b = &l->cfg->blocks[block];
	uint32_t head = gw_sass_head(l->cfg, block);
	double once = l->report->blocks[at].runs.least;
	double first = l->report->first[at].runs.least;
	double more = head ? gw_sass_parts(&l->lowered->program, l->report, at).least : 0;
	struct gw_sass_insn insn;

	for (uint32_t i = b->first; i < b->first + b->count; i++) {
		double runs = i - b->first < head ? once + more : once;

		gw_cfg_insn(l->cfg, i, &insn);
		s->insns += runs;
		s->cls[insn.cls] += runs;
		s->pipe[insn.pipe] += runs;
		s->flops[insn.tensor] += runs * gw_sass_warp_flops(&insn);
		s->tensor += once * gw_sass_warp_flops(&insn);
		s->tensor_first += first * gw_sass_warp_flops(&insn);
		s->fma32 += insn.fma && insn.cls == GW_SASS_FP32 ? runs : 0;
		s->fma64 += insn.fma && insn.cls == GW_SASS_FP64 ? runs : 0;
		s->barriers += insn.op == GW_SASS_OP_BAR ? runs : 0;
		if (insn.cls == GW_SASS_ATOMIC && insn.space == GW_SASS_SPACE_SHARED)
			s->shared_atomics += runs;
		if (insn.cls == GW_SASS_STORE || insn.op == GW_SASS_OP_LDC ||
		    (insn.cls == GW_SASS_LOAD && insn.space != GW_SASS_SPACE_CONSTANT))
			s->ldst += runs;
	}
	if (l->schedule)
		s->chain += once * l->schedule->blocks[block].chain;
}

/* Whether block @p at of the program stands for one of the graph. */
static bool stands_for(const struct gw_sass_launch *l, uint32_t at)
{
	return l->lowered->program.blocks[at].tag < l->cfg->block_count;
}

/* Whether the call that ends block @p at leads into the function. */
static bool taken_in(const struct gw_sass_launch *l, uint32_t at)
{
	const struct gw_ir_program *p = &l->lowered->program;
	const struct gw_ir_block *b = &p->blocks[at];

	return b->succ_count &&
	       p->blocks[p->succs[b->succ_first]].tag == l->cfg->blocks[b->tag].call;
}

/* Whether block @p at ends with a call of a function that the program lacks, and may run. */
static bool leaves_out(const struct gw_sass_launch *l, uint32_t at)
{
	return l->cfg->blocks[l->lowered->program.blocks[at].tag].end == GW_CFG_CALL &&
	       !taken_in(l, at) && l->report->blocks[at].runs.most > 0;
}

/* Why the counts are not settled; NULL: they are. */
static const char *unsettled(const struct gw_sass_launch *l)
{
	const struct gw_ir_program *p = &l->lowered->program;
	const struct gw_eval_report *r = l->report;

	if (r->coverage == GW_COVER_NONE || !r->warps)
		return "no warp could be followed to its end";
	if (!r->complete)
		return "a limit was reached before a warp's end";
	/* What else is unknown mostly follows from what such a function may have written. */
	for (uint32_t b = 0; l->lowered->calls && b < p->block_count; b++)
		if (stands_for(l, b) && leaves_out(l, b))
			return l->lowered->calls;
	for (uint32_t b = 0; b < p->block_count; b++) {
		if (!stands_for(l, b))
			continue;
		if (r->blocks[b].runs.most != r->blocks[b].runs.least)
			return "a branch depends on what is not known before the launch";
		if (leaves_out(l, b))
			return "a function runs that was not followed";
	}
	return NULL;
}

static void set(struct gw_work *work, enum gw_work_field row, double value, float confidence)
{
	if (!isnan(value))
		work->q[row] = (struct gw_quantity){value, GW_SOURCE_STATIC, confidence};
}

double gw_sass_pipe_sum(enum gw_work_field row, const double pipe[GW_SASS_PIPES])
{
	static const struct {
		enum gw_work_field row;
		enum gw_sass_pipe pipe;
	} rows[] = {
		{GW_WORK_pipe_fma, GW_SASS_PIPE_FMA},
		{GW_WORK_pipe_fma, GW_SASS_PIPE_FMAHEAVY},
		{GW_WORK_pipe_fma_heavy, GW_SASS_PIPE_FMAHEAVY},
		{GW_WORK_pipe_alu, GW_SASS_PIPE_ALU},
		{GW_WORK_pipe_fp64, GW_SASS_PIPE_FP64},
		{GW_WORK_pipe_fp16, GW_SASS_PIPE_FP16},
		{GW_WORK_pipe_xu, GW_SASS_PIPE_XU},
		{GW_WORK_pipe_lsu, GW_SASS_PIPE_LSU},
		{GW_WORK_pipe_tex, GW_SASS_PIPE_TEX},
		{GW_WORK_pipe_uniform, GW_SASS_PIPE_UNIFORM},
		{GW_WORK_pipe_tensor, GW_SASS_PIPE_TENSOR},
	};
	double sum = NAN;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].row == row)
			sum = isnan(sum) ? pipe[rows[i].pipe] : sum + pipe[rows[i].pipe];
	return sum;
}

double gw_sass_tensor_sum(enum gw_work_field row, const double flops[GW_SASS_TENSORS])
{
	switch (row) {
	case GW_WORK_tensor_fp16_flop:
		return flops[GW_SASS_TENSOR_FP16] + flops[GW_SASS_TENSOR_BF16];
	case GW_WORK_tensor_tf32_flop:
		return flops[GW_SASS_TENSOR_TF32];
	case GW_WORK_tensor_fp8_flop:
		return flops[GW_SASS_TENSOR_FP8];
	case GW_WORK_tensor_int8_flop:
		return flops[GW_SASS_TENSOR_INT8];
	case GW_WORK_tensor_fp64_flop:
		return flops[GW_SASS_TENSOR_FP64];
	default:
		return NAN;
	}
}

static void set_instructions(const struct gw_sass_launch *l, const struct sums *s, float sure,
			     struct gw_work *work)
{
	const struct gw_eval_report *r = l->report;
	uint64_t block = gw_dim3_count(l->config.block);
	/* Lanes of a warp that are there, mean over a block's warps. */
	double lanes = (double)block / (double)((block + GW_LANES - 1) / GW_LANES);
	float threads = sure * (r->divergent.most > 0 ? lanes_diverge : lanes_on);
	double int_insts = s->cls[GW_SASS_INT] + s->cls[GW_SASS_LOGIC];

	set(work, GW_WORK_inst_executed, s->insns, sure);
	set(work, GW_WORK_thread_inst, lanes * s->insns, threads);
	set(work, GW_WORK_fp32_inst, lanes * s->cls[GW_SASS_FP32], threads);
	set(work, GW_WORK_fp32_fma, lanes * s->fma32, threads);
	set(work, GW_WORK_fp64_inst, lanes * s->cls[GW_SASS_FP64], threads);
	set(work, GW_WORK_fp64_fma, lanes * s->fma64, threads);
	set(work, GW_WORK_fp16_inst, lanes * s->cls[GW_SASS_FP16], threads);
	set(work, GW_WORK_int_inst, lanes * int_insts, threads);
	set(work, GW_WORK_ldst_inst, lanes * s->ldst, threads);
	set(work, GW_WORK_shared_atomics, lanes * s->shared_atomics, threads);
	set(work, GW_WORK_barriers, s->barriers / (double)r->warps, sure);
	if (r->branches.least > 0 && r->divergent.least == r->divergent.most)
		set(work, GW_WORK_divergent_branches, r->divergent.least / r->branches.least, sure);
}

static void set_pipes(const struct sums *s, float sure, struct gw_work *work)
{
	const double *p = s->pipe;

	for (unsigned row = 0; row < GW_WORK_FIELDS; row++)
		set(work, row, gw_sass_pipe_sum(row, p), sure);
	work->q[GW_WORK_pipe_lsu].confidence = sure * lsu_others;
	if (p[GW_SASS_PIPE_FP16] > 0)
		work->q[GW_WORK_pipe_tensor].confidence = sure * halves;
	for (unsigned row = 0; row < GW_WORK_FIELDS; row++)
		set(work, row, gw_sass_tensor_sum(row, s->flops), sure);
}

/* Of the first block, where all of it was run. */
static void set_first(const struct gw_sass_launch *l, const struct sums *s, float sure,
		      struct gw_work *work)
{
	uint64_t warps = (gw_dim3_count(l->config.block) + GW_LANES - 1) / GW_LANES;

	if (l->report->first_warps == warps)
		set(work, GW_WORK_tensor_first,
		    s->tensor_first * (double)gw_dim3_count(l->config.grid) / s->tensor, sure);
}

/* Whether block @p at of the program has a tensor operation, with @p store: one that stores to
 * global memory. */
static bool has(const struct gw_sass_launch *l, uint32_t at, bool store)
{
	const struct gw_cfg_block *b = &l->cfg->blocks[l->lowered->program.blocks[at].tag];
	struct gw_sass_insn insn;

	for (uint32_t i = b->first; i < b->first + b->count; i++) {
		gw_cfg_insn(l->cfg, i, &insn);
		if (store ? insn.op == GW_SASS_OP_UTMASTG || (insn.cls == GW_SASS_STORE &&
							      insn.space == GW_SASS_SPACE_GLOBAL)
			  : insn.tensor != GW_SASS_TENSOR_NONE)
			return true;
	}
	return false;
}

/* Rounds of the loops around block @p at that have no tensor operation, which @p tensor marks. */
static double rounds_of(const struct gw_sass_launch *l, uint32_t at, const uint8_t *tensor)
{
	const struct gw_ir_program *p = &l->lowered->program;
	double rounds = 1;

	for (uint32_t i = p->blocks[at].loop; i != GW_IR_NONE && !tensor[i]; i = p->loops[i].parent)
		if (l->report->trips[i].entries > 0)
			rounds *= l->report->trips[i].total / l->report->trips[i].entries;
	return rounds;
}

/*
 * Tiles that the costliest warp makes: how often it comes to its stores, those of one tile in a
 * loop once. NaN: it stores nothing or has no tensor operation, or there is no memory.
 */
static double tiles_of(const struct gw_sass_launch *l, struct gw_arena *arena)
{
	const struct gw_ir_program *p = &l->lowered->program;
	uint8_t *tensor = gw_arena_array(arena, p->loop_count, 1);
	double tiles = NAN;
	bool any = false;

	if (!tensor)
		return NAN;
	for (uint32_t b = 0; b < p->block_count; b++) {
		if (!stands_for(l, b) || !has(l, b, false))
			continue;
		any |= l->report->longest[b].runs.least > 0;
		for (uint32_t i = p->blocks[b].loop; i != GW_IR_NONE; i = p->loops[i].parent)
			tensor[i] = 1;
	}
	for (uint32_t b = 0; any && b < p->block_count; b++) {
		double runs = l->report->longest[b].runs.least;

		if (stands_for(l, b) && runs > 0 && has(l, b, true))
			tiles = fmax(tiles, runs / rounds_of(l, b, tensor));
	}
	return tiles;
}

/* A warp's critical path; false when @p arena has no room. */
static bool set_critical_path(const struct gw_sass_launch *l, const struct sums *s, float sure,
			      struct gw_arena *arena, struct gw_work *work)
{
	const struct gw_eval_report *r = l->report;
	double *mean = gw_arena_array(arena, l->cfg->block_count, sizeof(*mean));
	double *longest = gw_arena_array(arena, l->cfg->block_count, sizeof(*longest));

	if (!mean || !longest)
		return false;
	gw_sass_runs(&l->lowered->program, l->cfg, r->blocks, (double)r->warps, mean);
	gw_sass_runs(&l->lowered->program, l->cfg, r->longest, 1, longest);
	gw_sass_critical_path(l->cfg, l->schedule, mean, longest, s->insns / (double)r->warps,
			      (double)sure, work);
	if (s->chain > 0)
		set(work, GW_WORK_warp_ilp, s->insns / s->chain, sure);
	return true;
}

const char *gw_sass_work(const struct gw_sass_launch *launch, struct gw_arena *arena,
			 struct gw_work *work)
{
	const char *why = unsettled(launch);
	float sure = (float)launch->report->sure;
	struct sums s;

	if (launch->report->awaits)
		sure *= waits_once;
	/* What data decide adds no tile to the others, and takes none. */
	set(work, GW_WORK_store_tail, 1 / tiles_of(launch, arena), sure);
	if (why)
		return why;
	memset(&s, 0, sizeof(s));
	for (uint32_t b = 0; b < launch->lowered->program.block_count; b++)
		if (stands_for(launch, b))
			add_block(launch, b, &s);
	set_instructions(launch, &s, sure, work);
	set_pipes(&s, sure, work);
	if (s.tensor > 0)
		set_first(launch, &s, sure, work);
	if (launch->schedule && !set_critical_path(launch, &s, sure, arena, work))
		return "there is no memory for it";
	return NULL;
}
