/* An evaluator: what it needs of the program, its memory, and one warp after the other. */
#include "predictor/code/eval/state.h"

#include <math.h>
#include <string.h>

static const struct gw_eval_limits defaults = {
	.steps = 4000000, .warp_steps = 1000000, .warps = 16384};

static bool is_effect(const struct gw_ir_insn *insn)
{
	return insn->op == IR_LD || insn->op == IR_ST || insn->op == IR_ATOM ||
	       insn->op == IR_RED || insn->op == IR_BAR;
}

/* Registers that decide something get a place. */
static bool give_places(struct gw_eval *e)
{
	const struct gw_ir_program *p = e->p;

	e->slot = gw_arena_array(e->arena, p->reg_count, sizeof(*e->slot));
	e->register_of = gw_arena_array(e->arena, p->reg_count, sizeof(*e->register_of));
	if (!e->slot || !e->register_of)
		return false;
	for (uint32_t r = 0; r < p->reg_count; r++) {
		e->slot[r] = p->relevant[r] ? e->value_count : GW_IR_NONE;
		if (p->relevant[r])
			e->register_of[e->value_count++] = r;
	}
	e->values = gw_arena_room(e->arena, e->value_count, sizeof(*e->values));
	e->value_mark = gw_arena_array(e->arena, e->value_count, 1);
	e->value_todo = gw_arena_array(e->arena, e->value_count, sizeof(*e->value_todo));
	return e->values && e->value_mark && e->value_todo;
}

static bool is_wanted(const struct gw_eval *e, const struct gw_ir_insn *insn)
{
	for (unsigned d = 0; d < insn->defs; d++) {
		gw_ir_operand def = gw_ir_defs(e->p, insn)[d];

		if (def != GW_IR_NONE && e->slot[def] != GW_IR_NONE)
			return true;
	}
	return insn->op == IR_ST && e->frame &&
	       (insn->space == IR_SPACE_LOCAL || insn->space == IR_SPACE_FRAME ||
		insn->space == IR_SPACE_GENERIC);
}

/* Which instructions are run at all. */
static bool make_plan(struct gw_eval *e)
{
	const struct gw_ir_program *p = e->p;
	uint32_t count = 0;

	e->plan = gw_arena_array(e->arena, p->insn_count, sizeof(*e->plan));
	e->plan_first = gw_arena_array(e->arena, p->block_count + 1, sizeof(*e->plan_first));
	e->wanted = gw_arena_array(e->arena, p->insn_count, 1);
	if (!e->plan || !e->plan_first || !e->wanted)
		return false;
	for (uint32_t b = 0; b < p->block_count; b++) {
		e->plan_first[b] = count;
		for (uint32_t i = p->blocks[b].first; i < p->blocks[b].first + p->blocks[b].count;
		     i++) {
			e->wanted[i] = is_wanted(e, &p->insns[i]);
			if (e->wanted[i] ||
			    (is_effect(&p->insns[i]) && p->insns[i].space != IR_SPACE_FRAME))
				e->plan[count++] = i;
		}
	}
	e->plan_first[p->block_count] = count;
	return true;
}

static bool make_frame(struct gw_eval *e)
{
	const struct gw_ir_program *p = e->p;
	size_t cells = (size_t)p->frame_bytes * GW_LANES;

	for (uint32_t i = 0; i < p->insn_count; i++)
		if ((p->insns[i].op == IR_TOGEN && (p->insns[i].space == IR_SPACE_LOCAL ||
						    p->insns[i].space == IR_SPACE_FRAME)) ||
		    (p->from_sass && p->insns[i].space == IR_SPACE_GENERIC))
			e->local_escapes = true;
	if (!p->frame_bytes || !p->frame_relevant)
		return true;
	e->frame = gw_arena_array(e->arena, cells, sizeof(*e->frame));
	e->frame_base = gw_arena_array(e->arena, cells, sizeof(*e->frame_base));
	e->frame_place = gw_arena_array(e->arena, cells, sizeof(*e->frame_place));
	e->frame_form = gw_arena_array(e->arena, p->frame_bytes, sizeof(*e->frame_form));
	return e->frame && e->frame_base && e->frame_place && e->frame_form;
}

static bool make_reports(struct gw_eval *e)
{
	const struct gw_ir_program *p = e->p;
	struct gw_eval_warp_report *r = &e->report;

	r->blocks = gw_arena_array(e->arena, p->block_count, sizeof(*r->blocks));
	r->trips = gw_arena_array(e->arena, p->loop_count, sizeof(*r->trips));
	r->insns = gw_arena_array(e->arena, p->insn_count, sizeof(*r->insns));
	e->regions = gw_arena_array(e->arena, p->block_count, sizeof(*e->regions));
	e->visited = gw_arena_array(e->arena, p->block_count, sizeof(*e->visited));
	e->mark = gw_arena_array(e->arena, p->block_count, 1);
	e->todo = gw_arena_array(e->arena, p->block_count + 1, sizeof(*e->todo));
	e->generation = gw_arena_array(e->arena, p->insn_count, sizeof(*e->generation));
	e->spaces = gw_arena_array(e->arena, p->insn_count, sizeof(*e->spaces));
	return e->spaces && r->blocks && r->trips && r->insns && e->regions && e->visited &&
	       e->mark && e->todo && e->generation;
}

struct gw_eval *gw_eval_new(const struct gw_ir_program *program,
			    const struct gw_eval_launch *launch,
			    const struct gw_eval_limits *limits, struct gw_arena *arena)
{
	struct gw_eval *e = gw_arena_array(arena, 1, sizeof(*e));

	if (!e)
		return NULL;
	e->p = program;
	e->launch = launch;
	e->arena = arena;
	e->limits = limits ? *limits : defaults;
	e->limits.steps = e->limits.steps ? e->limits.steps : defaults.steps;
	e->limits.warp_steps = e->limits.warp_steps ? e->limits.warp_steps : defaults.warp_steps;
	e->limits.warps = e->limits.warps ? e->limits.warps : defaults.warps;
	if (!give_places(e) || !make_frame(e) || !make_plan(e) || !make_reports(e) ||
	    !gw_domain_init(&e->domain, arena) || !gw_eval_loops_init(e))
		return NULL;
	gw_eval_claims_init(e);
	gw_eval_find_steers(e);
	return e;
}

void gw_eval_allow(struct gw_eval *e, uint64_t steps, uint64_t warp_steps)
{
	e->limits.steps = steps ? steps : e->limits.steps;
	e->limits.warp_steps = warp_steps ? warp_steps : e->limits.warp_steps;
}

static void begin(struct gw_eval *e)
{
	const struct gw_ir_program *p = e->p;
	struct gw_eval_warp_report *r = &e->report;

	for (uint32_t n = 0; n < e->value_count; n++) {
		gw_value_set(&e->values[n], 0, gw_unknown(GW_WHY_UNDEFINED, UINT32_MAX));
		e->values[n].written = 0;
	}
	if (e->frame) {
		gw_eval_forget_frame(e, GW_ALL_LANES, gw_unknown(GW_WHY_UNDEFINED, UINT32_MAX));
		memset(e->frame_form, 0, p->frame_bytes * sizeof(*e->frame_form));
	}
	e->frame_dims = 0;
	gw_eval_claims_begin(e);
	memset(e->generation, 0, p->insn_count * sizeof(*e->generation));
	for (uint32_t b = 0; b < p->block_count; b++) /* what did not run has none to forget */
		if (r->blocks[b].runs.most > 0)
			memset(r->insns + p->blocks[b].first, 0,
			       p->blocks[b].count * sizeof(*r->insns));
	memset(r->blocks, 0, p->block_count * sizeof(*r->blocks));
	memset(r->trips, 0, p->loop_count * sizeof(*r->trips));
	r->control_known = true;
	r->awaits = false;
	r->reason_count = 0;
	e->steps_left = e->limits.warp_steps;
}

/* An instruction without a guard runs as often as its block; what a limit cut off may have run any
 * number of times. */
static void finish(struct gw_eval *e)
{
	const struct gw_ir_program *p = e->p;
	struct gw_eval_warp_report *r = &e->report;

	r->steps = e->limits.warp_steps - e->steps_left;
	r->cost = 0;
	for (uint32_t b = 0; b < p->block_count; b++) {
		const struct gw_ir_block *block = &p->blocks[b];
		struct gw_eval_count *runs = &r->blocks[b].runs;

		if (!r->complete && block->reachable)
			runs->most = r->blocks[b].divergent.most = HUGE_VAL;
		r->cost += runs->least *
			   (e->launch->block_cost ? e->launch->block_cost[b] : block->sources);
		if (!(runs->most > 0)) /* nor did what is in it run */
			continue;
		for (uint32_t i = block->first; i < block->first + block->count; i++)
			if (p->insns[i].guard == GW_IR_NONE || !is_effect(&p->insns[i]))
				r->insns[i] = *runs;
			else if (!r->complete && block->reachable)
				r->insns[i].most = HUGE_VAL;
	}
	for (uint32_t l = 0; !r->complete && l < p->loop_count; l++)
		r->trips[l].most = HUGE_VAL;
}

void gw_eval_one(struct gw_eval *e, struct gw_dim3 block, uint32_t warp, const int64_t high[GW_BOX])
{
	uint64_t threads = gw_dim3_count(e->launch->config.block);
	uint64_t left = threads - (uint64_t)warp * GW_LANES;

	e->block = block;
	e->warp = warp;
	begin(e);
	gw_domain_begin(&e->domain, high);
	gw_eval_run(e, left >= GW_LANES ? GW_ALL_LANES : (UINT32_C(1) << left) - 1);
	finish(e);
}

static bool has_extent(struct gw_dim3 d)
{
	return d.x && d.y && d.z;
}

const char *gw_eval_check(const struct gw_ir_program *program, const struct gw_eval_launch *launch)
{
	const struct gw_config *c = &launch->config;

	if (!program->block_count || !program->relevant)
		return "the program isn't finished";
	if (!has_extent(c->grid) || !has_extent(c->block))
		return "grid and block must be at least 1 in each dimension";
	if (gw_dim3_count(c->block) > 1024 || c->block.x > 1024 || c->block.y > 1024)
		return "a block has at most 1024 threads";
	if (c->grid.x > INT32_MAX || c->grid.y > UINT16_MAX || c->grid.z > UINT16_MAX)
		return "a grid has at most 2147483647 x 65535 x 65535 blocks";
	return NULL;
}

static const char *run(struct gw_eval *e, struct gw_dim3 block, uint32_t warp,
		       const int64_t high[GW_BOX], struct gw_eval_warp_report *out)
{
	const struct gw_config *c = &e->launch->config;
	const char *wrong = gw_eval_check(e->p, e->launch);

	if (wrong)
		return wrong;
	if (block.x >= c->grid.x || block.y >= c->grid.y || block.z >= c->grid.z ||
	    (uint64_t)warp * GW_LANES >= gw_dim3_count(c->block))
		return "the grid has no such warp";
	gw_eval_one(e, block, warp, high);
	*out = e->report;
	return NULL;
}

const char *gw_eval_warp(struct gw_eval *e, struct gw_dim3 block, uint32_t warp, gw_eval_sink *sink,
			 void *arg, struct gw_eval_warp_report *out)
{
	static const int64_t alone[GW_BOX];

	e->sink = sink;
	e->sink_arg = arg;
	e->alike = false;
	return run(e, block, warp, alone, out);
}

const char *gw_eval_alike(struct gw_eval *e, struct gw_dim3 block, uint32_t warp,
			  gw_eval_sink *sink, void *arg, struct gw_eval_warp_report *out,
			  int64_t alike[GW_EVAL_AXES])
{
	const struct gw_dim3 grid = e->launch->config.grid;
	int64_t full = (int64_t)(gw_dim3_count(e->launch->config.block) / GW_LANES);
	/* The last warp is another one where it is not full. */
	int64_t high[GW_BOX] = {warp < full ? full - 1 - warp : 0, (int64_t)grid.x - 1 - block.x,
				(int64_t)grid.y - 1 - block.y, (int64_t)grid.z - 1 - block.z};
	const char *wrong;

	e->sink = sink;
	e->sink_arg = arg;
	e->alike = true;
	wrong = run(e, block, warp, high, out);
	memcpy(alike, e->domain.high, sizeof(e->domain.high));
	return wrong;
}
