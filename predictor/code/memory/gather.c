#include "predictor/code/memory/gather.h"

#include "predictor/code/eval/warp_equivalence.h"
#include "predictor/code/memory/extract.h"
#include "predictor/code/memory/shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCKS = 16,
	EXTRA = 8, /* more blocks, for instructions that run in none of those chosen */
	STEPS = 2000000,
	COPY_STEPS = 1000000, /* for copies by tiles */
	WHOLE_STEPS = 100000, /* warp instructions for the accesses of all warps ... */
	WHOLE_WARPS = 2048,   /* ... and warps that are run for them */
	OUTER = 256,          /* iterations of outer loops whose footprint is followed */
	SECTORS_A_STEP = 8,   /* that are entered in the time of a step */
	GLANCE = 8,           /* of a warp too long to be followed, what is looked at */
};

static const double DIFFERS = 1e-6; /* relative: sums are rounded */

/** What the sink needs. */
struct sink {
	struct gw_gather *gather;
	struct gw_access_box box;
	uint32_t *slot; /* per instruction: 1 + its place in gather->access[]; 0: none */
	struct gw_access_shape *shape; /* of each of gather->access[]: that of its last request */
	double followed; /* executions looked at one by one, in steps that take as long */

	/* While all warps of the grid are run or stood for. */
	struct gw_gather_access *run;  /* of each access: sums of the run under way ... */
	struct gw_gather_access *sums; /* ... and of all, as often as each run stands for */
	uint32_t *touched, touches;    /* places in run[] with sums */
	struct gw_dim3 *where;         /* of each access: the block of the first run with it */
};

double gw_gather_mean(const struct gw_eval_count *count)
{
	return isfinite(count->most) ? (count->least + count->most) / 2 : NAN;
}

double gw_gather_lanes(const struct gw_gather_access *a)
{
	double seen = a->requests + a->uncounted;

	return seen > 0 ? a->lanes / seen : GW_REQUEST_LANES;
}

/* Loops that an access stands for, as its footprint sees them. */
struct nest {
	uint32_t inner; /* level with the smallest step, followed by the footprint; repeats: none */
	double outer;   /* iterations of the other levels with a step, followed one by one */
	double rounds;  /* of the levels that go over the same addresses again */
	bool known;     /* every step is */
};

static struct nest nest_of(const struct gw_eval_access *access)
{
	struct nest n = {.inner = access->repeats, .outer = 1, .rounds = 1, .known = true};

	for (uint32_t i = 0; i < access->repeats; i++) {
		const struct gw_eval_repeat *r = &access->repeat[i];

		n.known &= r->linear || r->count == 1;
		if (r->step == 0 || r->count == 1) {
			n.rounds *= (double)r->count;
			continue;
		}
		n.outer *= (double)r->count;
		if (n.inner == access->repeats ||
		    llabs(r->step) < llabs(access->repeat[n.inner].step))
			n.inner = i;
	}
	if (n.inner < access->repeats)
		n.outer /= (double)access->repeat[n.inner].count;
	n.known &= n.outer <= OUTER;
	return n;
}

/* How far the addresses have moved in combination @p index of the outer levels' iterations. */
static uint64_t outer_offset(const struct gw_eval_access *access, const struct nest *n,
			     uint64_t index)
{
	uint64_t offset = 0;

	for (uint32_t i = 0; i < access->repeats; i++) {
		const struct gw_eval_repeat *r = &access->repeat[i];

		if (i == n->inner || r->step == 0 || r->count == 1)
			continue;
		offset += index % r->count * (uint64_t)r->step;
		index /= r->count;
	}
	return offset;
}

/* Returns how many executions were followed. */
static double add_footprint(struct gw_locality *l, const struct gw_gather_access *a,
			    const struct gw_eval_access *access, const struct gw_request *r)
{
	struct nest n = nest_of(access);
	bool inner = n.inner < access->repeats;

	if (!n.known) {
		gw_locality_uncounted(l, a->insn, a->store, n.outer * n.rounds);
		return 1;
	}
	for (uint64_t i = 0; i < (uint64_t)n.outer; i++) {
		struct gw_request moved = *r;
		uint64_t offset = outer_offset(access, &n, i);

		for (unsigned lane = 0; lane < GW_REQUEST_LANES; lane++)
			moved.address[lane] += offset;
		gw_locality_add(l, access->block, a->insn, a->store, &moved,
				inner ? (double)access->repeat[n.inner].count : 1,
				inner ? access->repeat[n.inner].step : 0, n.rounds);
	}
	return n.outer *
	       (inner ? fmin((double)access->repeat[n.inner].count, GW_LOCALITY_REPEATS) : 1);
}

static bool is_middle(struct gw_dim3 grid, struct gw_dim3 block)
{
	struct gw_dim3 middle = gw_locality_middle(grid);

	return block.x == middle.x && block.y == middle.y && block.z == middle.z;
}

/* One access of a warp of a block that is looked at. */
static void see(void *arg, const struct gw_eval_access *access)
{
	struct sink *sink = arg;
	uint32_t slot = sink->slot[access->insn];
	struct gw_gather *g = sink->gather;
	struct gw_gather_access *a = slot ? &g->access[slot - 1] : NULL;
	double uncounted;
	bool shaped;
	struct gw_request r;

	gw_tma_see(&g->copies, access);
	if (!a || !access->active)
		return;
	uncounted = a->uncounted;
	shaped = gw_access_shape_add(&sink->shape[slot - 1], NULL, a, access, &r);
	if (access->space != IR_SPACE_GLOBAL)
		return;
	if (!shaped) {
		gw_locality_uncounted(g->locality, a->insn, a->store, a->uncounted - uncounted);
		return;
	}
	sink->followed += add_footprint(g->locality, a, access, &r) *
			  (1 + sink->shape[slot - 1].coalescing.most_sectors / SECTORS_A_STEP);
	if (!a->store && is_middle(sink->box.grid, access->block))
		gw_replay_add(&g->replay, access, &r);
}

/* One access of a run that answers for a box of warps. */
static void see_box(void *arg, const struct gw_eval_access *access)
{
	struct sink *sink = arg;
	uint32_t slot = sink->slot[access->insn];
	struct gw_gather_access *a = slot ? &sink->run[slot - 1] : NULL;
	struct gw_request r;

	if (!a || !access->active)
		return;
	if (!(a->requests + a->uncounted > 0)) {
		sink->touched[sink->touches++] = slot - 1;
		if (!(sink->sums[slot - 1].requests + sink->sums[slot - 1].uncounted > 0))
			sink->where[slot - 1] = access->block;
	}
	gw_access_shape_add(&sink->shape[slot - 1], &sink->box, a, access, &r);
}

/* Add the sums @p from of a run that stands for @p times. */
static void add_run(struct gw_gather_access *to, const struct gw_gather_access *from, double times)
{
	to->space = from->space;
	gw_coalescing_merge(&to->coalescing, &from->coalescing, times);
	to->wavefronts += from->wavefronts * times;
	to->conflicts += from->conflicts * times;
	to->sectors += from->sectors * times;
	to->low = from->low < to->low ? from->low : to->low;
	to->high = from->high > to->high ? from->high : to->high;
	to->requests += from->requests * times;
	to->lanes += from->lanes * times;
	to->uncounted += from->uncounted * times;
	to->assumed += from->assumed * times;
	to->maybe += from->maybe * times;
}

static struct gw_gather_access without_sums(const struct gw_gather_access *a)
{
	return (struct gw_gather_access){.insn = a->insn,
					 .space = a->space,
					 .store = a->store,
					 .atomic = a->atomic,
					 .low = UINT64_MAX,
					 .runs = a->runs};
}

static void ran_box(void *arg, double warps)
{
	struct sink *sink = arg;

	for (uint32_t i = 0; i < sink->touches; i++) {
		uint32_t at = sink->touched[i];

		add_run(&sink->sums[at], &sink->run[at], warps);
		sink->run[at] = without_sums(&sink->gather->access[at]);
	}
	sink->touches = 0;
}

/* Lanes' own accesses, and those by matrices, of which lanes give the rows. */
static bool is_memory(const struct gw_ir_insn *insn)
{
	if (insn->space == IR_SPACE_SHARED && insn->flags & IR_MEM_MATRIX)
		return true;
	return gw_extract_is_lane_access(insn) &&
	       (insn->space == IR_SPACE_GLOBAL || insn->space == IR_SPACE_GENERIC ||
		insn->space == IR_SPACE_SHARED || insn->space == IR_SPACE_LOCAL ||
		insn->space == IR_SPACE_CONST);
}

static bool list_accesses(const struct gw_ir_program *program, struct gw_arena *arena,
			  struct sink *sink)
{
	struct gw_gather *g = sink->gather;
	uint32_t count = 0;

	for (uint32_t i = 0; i < program->insn_count; i++)
		count += is_memory(&program->insns[i]);
	sink->slot = gw_arena_array(arena, program->insn_count, sizeof(*sink->slot));
	g->access = gw_arena_array(arena, count, sizeof(*g->access));
	sink->shape = gw_arena_array(arena, count, sizeof(*sink->shape));
	sink->where = gw_arena_array(arena, count, sizeof(*sink->where));
	if (!sink->slot || !g->access || !sink->shape || !sink->where)
		return false;
	for (uint32_t i = 0; i < program->insn_count; i++) {
		const struct gw_ir_insn *insn = &program->insns[i];

		if (!is_memory(insn))
			continue;
		sink->slot[i] = g->count + 1;
		g->access[g->count++] = (struct gw_gather_access){
			.insn = i,
			.space = insn->space == IR_SPACE_GENERIC ? IR_SPACE_GLOBAL : insn->space,
			.store = insn->op != IR_LD,
			.atomic = insn->op == IR_ATOM || insn->op == IR_RED,
			.low = UINT64_MAX,
			.runs = g->report.insns ? g->report.insns[i]
						: (struct gw_eval_count){0, INFINITY, 0}};
	}
	return true;
}

/* The shapes of all warps' requests, into sink->sums, where the limits let each be run or stood
 * for. */
static void look_at_grid(struct gw_eval *eval, const struct gw_gather_limits *limits,
			 struct gw_arena *arena, struct sink *sink)
{
	struct gw_gather *g = sink->gather;
	uint64_t steps = limits->steps && limits->steps < WHOLE_STEPS ? limits->steps : WHOLE_STEPS;

	sink->run = gw_arena_array(arena, g->count, sizeof(*sink->run));
	sink->sums = gw_arena_array(arena, g->count, sizeof(*sink->sums));
	sink->touched = gw_arena_array(arena, g->count, sizeof(*sink->touched));
	if (!g->count || !sink->run || !sink->sums || !sink->touched)
		return;
	for (uint32_t i = 0; i < g->count; i++)
		sink->run[i] = sink->sums[i] = without_sums(&g->access[i]);
	g->whole = gw_eval_accesses(eval, steps, WHOLE_WARPS, see_box, ran_box, sink, arena);
}

/* How often each block that was looked at stands for others: the executions of what runs in some
 * blocks more often than in others add up to the grid's. */
static void weigh_blocks(const struct sink *sink)
{
	struct gw_locality *l = sink->gather->locality;
	double runs[GW_LOCALITY_ACCESSES];

	for (uint32_t i = 0; i < l->access_count; i++) {
		uint32_t slot = sink->slot[l->access[i].id];

		runs[i] = slot ? gw_gather_mean(&sink->gather->access[slot - 1].runs) : NAN;
	}
	gw_locality_weigh(l, runs);
}

/* The sample is the grid: what the blocks showed of shapes gives way to what all warps did. */
static void take_grid(struct sink *sink)
{
	struct gw_gather *g = sink->gather;

	for (uint32_t i = 0; g->whole && i < g->count; i++) {
		struct gw_gather_access *a = &g->access[i], sample = *a;

		*a = sink->sums[i];
		/* Where operations meet is known of blocks: boxes have no first and last address.
		 */
		a->low = sample.low;
		a->high = sample.high;
	}
}

/* The blocks that are looked at, and what is left of the steps for it. */
struct look {
	struct sink *sink;
	const struct gw_eval_launch *launch;
	const struct gw_gather_limits *limits;
	struct gw_eval *eval;
	struct gw_warp_equivalence *alike;
	struct gw_dim3 block[GW_LOCALITY_BLOCKS];
	unsigned count;
	uint64_t left;
};

/* Run every warp of a block, as far as the steps go. */
static const char *look_at(struct look *l, struct gw_dim3 block)
{
	struct gw_gather *g = l->sink->gather;
	uint64_t warps =
		(gw_dim3_count(l->launch->config.block) + GW_REQUEST_LANES - 1) / GW_REQUEST_LANES;
	struct gw_warp_equivalence_report report;

	for (uint32_t w = 0; w < warps && l->left; w++) {
		double before = l->sink->followed;
		const char *why =
			gw_warp_equivalence_warp(l->alike, block, w, see, l->sink, &report);
		uint64_t spent;

		if (why)
			return why;
		g->complete &= report.complete || report.halted;
		spent = report.steps + (uint64_t)(l->sink->followed - before);
		l->left -= spent < l->left && !report.halted ? spent : l->left;
	}
	g->blocks += l->left > 0;
	return NULL;
}

static const char *look_at_blocks(struct look *l)
{
	struct gw_gather *g = l->sink->gather;
	const char *why = NULL;

	l->left = l->limits->steps ? l->limits->steps : STEPS;
	l->count = gw_locality_choose(l->sink->box.grid,
				      l->limits->blocks ? l->limits->blocks : BLOCKS, l->block);
	g->complete = true;
	/* It would meet the limit again: what its accesses look like shows long before. */
	if (g->report.coverage == GW_COVER_NONE) {
		l->left = g->report.steps / GLANCE;
		gw_eval_allow(l->eval, 0, l->left);
	}
	/* The middle one and its neighbours come first: what they show is known even
	 * where the steps end before the others. */
	for (unsigned b = 0; b < l->count && l->left && !why; b++)
		why = look_at(l, l->block[b]);
	g->cut = !l->left;
	g->complete &= g->blocks > 0;
	return why;
}

/* Whether other blocks may do what those looked at don't: an instruction runs in none of them, its
 * requests are not all alike, or it runs more often or less than they show. */
static bool blocks_differ(const struct sink *sink)
{
	const struct gw_gather *g = sink->gather;
	double times = (double)gw_dim3_count(sink->box.grid) / g->blocks;

	if (!(times > 1) || g->cut)
		return false;
	for (uint32_t i = 0; i < g->count; i++) {
		const struct gw_gather_access *a = &g->access[i];
		double seen = (a->requests + a->uncounted) * times, runs = gw_gather_mean(&a->runs);

		if (isfinite(runs) && fabs(runs - seen) > DIFFERS * runs)
			return true;
		if (a->coalescing.least_sectors != a->coalescing.most_sectors)
			return true;
	}
	return false;
}

static bool was_looked_at(const struct look *l, struct gw_dim3 block)
{
	for (unsigned i = 0; i < l->count; i++)
		if (l->block[i].x == block.x && l->block[i].y == block.y &&
		    l->block[i].z == block.z)
			return true;
	return false;
}

/* One more block for each instruction that ran in none so far. */
static const char *look_at_more(struct look *l)
{
	const struct sink *sink = l->sink;
	const char *why = NULL;
	unsigned extra = 0;

	for (uint32_t i = 0; sink->sums && i < sink->gather->count && !why; i++) {
		const struct gw_gather_access *a = &sink->gather->access[i];

		if (a->requests + a->uncounted > 0 || !(sink->sums[i].requests > 0) ||
		    was_looked_at(l, sink->where[i]) || extra == EXTRA ||
		    l->count == GW_LOCALITY_BLOCKS)
			continue;
		l->block[l->count++] = sink->where[i];
		extra++;
		why = look_at(l, sink->where[i]);
	}
	return why;
}

/* The blocks from which a grid's footprint is estimated. */
static unsigned neighbourhood(struct gw_dim3 grid)
{
	return 1u + (grid.x > 1) + (grid.y > 1) + (grid.z > 1);
}

/* The grid's counts, within @p limits, which become a part of themselves where that shows enough.
 * NULL, or why there are none. */
static const char *count_grid(struct gw_eval *eval, struct gw_gather_limits *limits,
			      struct gw_arena *arena, struct gw_gather *out)
{
	struct gw_eval_report *r = &out->report;
	const char *why;

	if (limits->trial) {
		gw_eval_allow(eval, limits->eval.steps / limits->trial, 0);
		why = gw_eval_grid_by(eval, NULL, NULL, arena, r);
		out->trial = !why && !r->control_known && r->coverage != GW_COVER_NONE;
		if (out->trial)
			limits->steps /= limits->trial;
		if (why || out->trial)
			return why;
		gw_eval_allow(eval, limits->eval.steps, 0);
	}
	why = gw_eval_grid_by(eval, NULL, NULL, arena, r);
	if (!why && r->coverage == GW_COVER_NONE && limits->long_warp) {
		gw_eval_allow(eval, 0, limits->long_warp);
		why = gw_eval_grid_by(eval, NULL, NULL, arena, r);
	}
	return why;
}

const char *gw_gather_run(const struct gw_ir_program *program, const struct gw_eval_launch *launch,
			  const struct gw_gather_limits *given, struct gw_arena *arena,
			  struct gw_gather *out)
{
	struct gw_gather_limits own = given ? *given : (struct gw_gather_limits){0}, *limits = &own;
	struct sink sink = {.gather = out, .box.grid = launch->config.grid};
	struct look look = {.sink = &sink, .launch = launch, .limits = limits};
	struct gw_eval *eval;
	const char *why;

	*out = (struct gw_gather){0};
	why = gw_eval_check(program, launch);
	if (why)
		return why;
	look.eval = eval = gw_eval_new(program, launch, &limits->eval, arena);
	if (!eval)
		return "the evaluator needs more memory than the analysis may use";
	why = count_grid(eval, limits, arena, out);
	if (why)
		return why;
	out->locality = gw_locality_new(arena, launch->config.grid);
	if (!out->locality || !gw_replay_init(&out->replay, arena) ||
	    !list_accesses(program, arena, &sink) ||
	    !gw_tma_list(&out->copies, program, out->report.insns, launch->config.grid, arena))
		return "the accesses need more memory than the analysis may use";
	sink.box.warps = gw_dim3_count(launch->config.block) / GW_REQUEST_LANES;
	look.alike = gw_warp_equivalence_new(eval, &limits->eval, arena);
	if (!look.alike)
		return "the evaluator needs more memory than the analysis may use";
	why = look_at_blocks(&look);
	if (!why && out->report.coverage == GW_COVER_EXACT && blocks_differ(&sink)) {
		look_at_grid(eval, limits, arena, &sink);
		why = look_at_more(&look);
		take_grid(&sink);
		weigh_blocks(&sink);
	}
	if (!why && !gw_tma_look(&out->copies, eval, &launch->config,
				 limits->steps ? 2 * limits->steps : COPY_STEPS, arena))
		why = "the copies need more memory than the analysis may use";
	if (!out->complete || (out->cut && out->blocks < neighbourhood(launch->config.grid)))
		out->locality->dropped = true;
	return why;
}
