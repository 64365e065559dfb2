/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/code/memory/gather.h"

#include "predictor/code/eval/warp_equivalence.h"
#include "predictor/code/memory/extract.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCKS = 16,
	NEIGHBOURS = 5, /* the blocks from which the grid's footprint is estimated */
	STEPS = 2000000,
	OUTER = 256,                  /* iterations of outer loops whose footprint is followed */
	SECTORS_A_STEP = 8,           /* that are entered in the time of a step */
	GLANCE = 8,                   /* of a warp too long to be followed, what is looked at */
	BASE_BITS = 44,               /* an unknown base lies in 16 TiB of its own */
	LOCAL_WORD = 4,               /* bytes of a lane that lie together in local memory */
	LOCAL_OFFSET = (1 << 24) - 1, /* of an address, what can be one of local memory */
};

/** What the sink needs. */
struct sink {
	struct gw_gather *gather;
	uint32_t *slot;      /* per instruction: 1 + its place in gather->access[]; 0: none */
	struct shape *shape; /* of each of gather->access[]: what its last request came to */
	double followed;     /* executions looked at one by one, in steps that take as long */
};

/** What the memory system makes of an access, wherever its request lies among lines. */
struct shape {
	struct gw_request request;
	uint32_t repeats;
	struct gw_eval_repeat repeat[GW_EVAL_LOOPS];
	struct gw_coalescing coalescing;
	struct gw_shared_passes passes; /* of an atomic only wavefronts */
};

double gw_gather_mean(const struct gw_eval_count *count)
{
	return isfinite(count->most) ? (count->least + count->most) / 2 : NAN;
}

/* The request that @p access makes the first time: false when a lane's address is not known.
 * Numbered unknown bases are distinguished and taken for aligned to 256 bytes, as allocations are.
 */
static bool request_of(const struct gw_eval_access *access, struct gw_request *out)
{
	uint32_t bytes = (uint32_t)access->op->width * access->op->elements;

	*out = (struct gw_request){.active = access->active, .bytes = bytes};
	for (unsigned lane = 0; lane < GW_REQUEST_LANES; lane++) {
		if (!(access->active >> lane & 1))
			continue;
		if (access->base[lane] >= UINT32_C(1) << (64 - BASE_BITS))
			return false;
		out->address[lane] =
		        access->address[lane] + ((uint64_t)access->base[lane] << BASE_BITS);
	}
	return access->active && gw_request_valid(out);
}

/* How often each offset below a line occurs among the iterations that @p access stands for: what
 * sectors and lines depend on. Steps that aren't known leave every iteration where the first is. */
static void offsets_of(const struct gw_eval_access *access, double share[GW_LINE_BYTES])
{
	for (unsigned i = 0; i < GW_LINE_BYTES; i++)
		share[i] = i == 0;
	for (uint32_t level = 0; level < access->repeats; level++) {
		const struct gw_eval_repeat *r = &access->repeat[level];
		uint64_t step = (uint64_t)r->step % GW_LINE_BYTES;
		double next[GW_LINE_BYTES] = {0};

		if (!r->linear || !step)
			continue;
		for (uint64_t k = 0; k < GW_LINE_BYTES && k < r->count; k++) {
			/* Iterations k, k + 128, k + 256, ... lie at the same offset. */
			double part =
			        (double)((r->count - k - 1) / GW_LINE_BYTES + 1) / (double)r->count;

			for (unsigned i = 0; i < GW_LINE_BYTES; i++)
				next[(i + k * step) % GW_LINE_BYTES] += share[i] * part;
		}
		for (unsigned i = 0; i < GW_LINE_BYTES; i++)
			share[i] = next[i];
	}
}

static void coalescing_of(struct gw_coalescing *out, const struct gw_eval_access *access,
                          const struct gw_request *r, double times)
{
	double share[GW_LINE_BYTES];

	*out = (struct gw_coalescing){0};

	offsets_of(access, share);
	for (unsigned offset = 0; offset < GW_LINE_BYTES; offset++) {
		struct gw_request moved = *r;

		if (!(share[offset] > 0))
			continue;
		for (unsigned lane = 0; lane < GW_REQUEST_LANES; lane++)
			moved.address[lane] += offset;
		gw_coalescing_add(out, &moved, times * share[offset]);
	}
}

/* The same request a number of lines further on, in the same loops. */
static bool same_shape(const struct shape *s, const struct gw_eval_access *access,
                       const struct gw_request *r)
{
	unsigned first = (unsigned)__builtin_ctz(r->active);
	uint64_t away = r->address[first] - s->request.address[first], apart = 0;

	if (s->request.active != r->active || s->request.bytes != r->bytes ||
	    away % GW_LINE_BYTES || s->repeats != access->repeats)
		return false;
	for (uint32_t i = 0; i < s->repeats; i++)
		if (s->repeat[i].count != access->repeat[i].count ||
		    s->repeat[i].step != access->repeat[i].step ||
		    s->repeat[i].linear != access->repeat[i].linear)
			return false;
	for (unsigned lane = 0; lane < GW_REQUEST_LANES; lane++)
		apart |= r->active >> lane & 1 ? r->address[lane] - s->request.address[lane] - away
		                               : 0;
	return !apart;
}

static const struct shape *shape_of(struct shape *s, const struct gw_gather_access *a,
                                    const struct gw_eval_access *access, const struct gw_request *r,
                                    double times)
{
	if (same_shape(s, access, r))
		return s;
	s->request = *r;
	s->repeats = access->repeats;
	memcpy(s->repeat, access->repeat, sizeof(s->repeat));
	if (access->space == IR_SPACE_GLOBAL)
		coalescing_of(&s->coalescing, access, r, times);
	if (a->atomic)
		s->passes = (struct gw_shared_passes){.wavefronts = gw_request_atomic(r)};
	else
		gw_request_shared(r, &s->passes);
	return s;
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

/* The data stage of L1 is shared memory's too, and so are its banks. */
static void add_passes(struct gw_gather_access *a, const struct gw_request *r,
                       const struct gw_shared_passes *passes, double times)
{
	for (unsigned lane = 0; lane < GW_REQUEST_LANES; lane++) {
		if (!(r->active >> lane & 1))
			continue;
		a->low = r->address[lane] < a->low ? r->address[lane] : a->low;
		a->high = r->address[lane] > a->high ? r->address[lane] : a->high;
	}
	a->wavefronts += passes->wavefronts * times;
	a->conflicts += passes->conflicts * times;
}

/* Local memory of a warp lies word by word, the lanes' side by side: lanes that agree on an
 * address share its line. */
static void add_local(struct gw_gather_access *a, const struct gw_request *r, double times)
{
	struct gw_request placed = *r;
	unsigned sectors = 0;

	placed.bytes = r->bytes < LOCAL_WORD ? r->bytes : LOCAL_WORD;
	for (uint32_t at = 0; at < r->bytes; at += placed.bytes) {
		for (unsigned lane = 0; lane < GW_REQUEST_LANES; lane++) {
			uint64_t offset = (r->address[lane] & LOCAL_OFFSET) + at;

			placed.address[lane] = offset / LOCAL_WORD * GW_LINE_BYTES +
			                       lane * LOCAL_WORD + offset % LOCAL_WORD;
		}
		sectors += gw_request_sectors(&placed);
	}
	a->sectors += sectors * times;
	a->wavefronts += (r->bytes + LOCAL_WORD - 1) / LOCAL_WORD * times;
}

static bool steps_known(const struct gw_eval_access *access)
{
	for (uint32_t i = 0; i < access->repeats; i++)
		if (!access->repeat[i].linear && access->repeat[i].count > 1)
			return false;
	return true;
}

static bool is_middle(struct gw_dim3 grid, struct gw_dim3 block)
{
	struct gw_dim3 middle = gw_locality_middle(grid);

	return block.x == middle.x && block.y == middle.y && block.z == middle.z;
}

/* One access of a warp that is looked at. */
static void see(void *arg, const struct gw_eval_access *access)
{
	struct sink *sink = arg;
	uint32_t slot = sink->slot[access->insn];
	struct gw_gather_access *a = slot ? &sink->gather->access[slot - 1] : NULL;
	double times = (double)gw_eval_times(access);
	const struct shape *shape;
	struct gw_request r;

	if (!a || !access->active)
		return;
	a->space = (uint8_t)access->space;
	a->maybe += access->certain == access->active ? 0 : times;
	if (!request_of(access, &r)) {
		a->uncounted += times;
		if (access->space == IR_SPACE_GLOBAL)
			gw_locality_uncounted(sink->gather->locality, a->insn, a->store, times);
		return;
	}
	a->requests += times;
	a->assumed += steps_known(access) ? 0 : times;
	a->lanes += times * gw_request_lanes(&r);
	if (access->space == IR_SPACE_LOCAL) {
		add_local(a, &r, times);
		return;
	}
	shape = shape_of(&sink->shape[slot - 1], a, access, &r, times);
	add_passes(a, &r, &shape->passes, times);
	for (uint32_t i = 0; i < access->repeats; i++)
		if (access->repeat[i].step && access->repeat[i].count > 1)
			a->high = UINT64_MAX;
	if (access->space == IR_SPACE_GLOBAL) {
		gw_coalescing_merge(&a->coalescing, &shape->coalescing);
		sink->followed += add_footprint(sink->gather->locality, a, access, &r) *
		                  (1 + shape->coalescing.most_sectors / SECTORS_A_STEP);
		if (!a->store && is_middle(sink->gather->locality->grid, access->block))
			gw_replay_add(&sink->gather->replay, access, &r);
	}
}

static bool is_memory(const struct gw_ir_insn *insn)
{
	return gw_extract_is_lane_access(insn) &&
	       (insn->space == IR_SPACE_GLOBAL || insn->space == IR_SPACE_GENERIC ||
	        insn->space == IR_SPACE_SHARED || insn->space == IR_SPACE_LOCAL);
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
	if (!sink->slot || !g->access || !sink->shape)
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
		                                : (struct gw_eval_count){0, INFINITY}};
	}
	return true;
}

/* Run every warp of the chosen blocks, as far as @p steps go. */
static const char *look_at_blocks(struct gw_eval *eval, const struct gw_eval_launch *launch,
                                  const struct gw_gather_limits *limits, struct gw_arena *arena,
                                  struct sink *sink)
{
	struct gw_gather *g = sink->gather;
	uint64_t left = limits->steps ? limits->steps : STEPS, spent;
	struct gw_warp_equivalence *alike = gw_warp_equivalence_new(eval, &limits->eval, arena);
	uint64_t warps =
	        (gw_dim3_count(launch->config.block) + GW_REQUEST_LANES - 1) / GW_REQUEST_LANES;
	struct gw_dim3 block[GW_LOCALITY_BLOCKS];
	unsigned blocks = gw_locality_choose(launch->config.grid,
	                                     limits->blocks ? limits->blocks : BLOCKS, block);
	struct gw_warp_equivalence_report report;

	if (!alike)
		return "the evaluator needs more memory than the analysis may use";
	g->complete = true;
	/* It would meet the limit again: what its accesses look like shows long before. */
	if (g->report.coverage == GW_COVER_NONE) {
		left = g->report.steps / GLANCE;
		gw_eval_allow(eval, left);
	}
	/* The first and the middle one with its neighbours come first: what they show is known even
	 * where the steps end before the others. */
	for (unsigned b = 0; b < blocks && left; b++) {
		for (uint32_t w = 0; w < warps && left; w++) {
			double before = sink->followed;
			const char *why =
			        gw_warp_equivalence_warp(alike, block[b], w, see, sink, &report);

			if (why)
				return why;
			g->complete &= report.complete || report.halted;
			spent = report.steps + (uint64_t)(sink->followed - before);
			left -= spent < left && !report.halted ? spent : left;
		}
		g->blocks += left > 0;
	}
	g->cut = !left;
	g->complete &= g->blocks > 0;
	return NULL;
}

const char *gw_gather_run(const struct gw_ir_program *program, const struct gw_eval_launch *launch,
                          const struct gw_gather_limits *limits, struct gw_arena *arena,
                          struct gw_gather *out)
{
	static const struct gw_gather_limits none;
	struct sink sink = {.gather = out};
	struct gw_eval *eval;
	const char *why;

	*out = (struct gw_gather){0};
	if (!limits)
		limits = &none;
	why = gw_eval_check(program, launch);
	if (why)
		return why;
	eval = gw_eval_new(program, launch, &limits->eval, arena);
	if (!eval)
		return "the evaluator needs more memory than the analysis may use";
	why = gw_eval_grid_by(eval, NULL, NULL, arena, &out->report);
	if (why)
		return why;
	out->locality = gw_locality_new(arena, launch->config.grid);
	if (!out->locality || !gw_replay_init(&out->replay, arena) ||
	    !list_accesses(program, arena, &sink))
		return "the accesses need more memory than the analysis may use";
	why = look_at_blocks(eval, launch, limits, arena, &sink);
	if (!out->complete || (out->cut && out->blocks < NEIGHBOURS))
		out->locality->dropped = true;
	return why;
}
