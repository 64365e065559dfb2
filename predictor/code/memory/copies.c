#include "predictor/code/memory/copies.h"

#include <math.h>

enum {
	PIECE = 16 * GW_LANES, /* bytes of a bulk copy that are entered as one request */
	PIECES = 128,          /* of one copy; of larger ones the footprint isn't followed */
	TILES = 1 << 22,       /* of a launch that are looked at one by one */
	FEW_BLOCKS = 8,        /* looked at for copies that were not seen */
};

static bool is_copy(const struct gw_ir_insn *insn)
{
	return insn->flags & IR_MEM_BULK && insn->space == IR_SPACE_GLOBAL &&
	       (insn->op == IR_LD || insn->op == IR_ST || insn->op == IR_RED);
}

bool gw_tma_list(struct gw_tma_copies *c, const struct gw_ir_program *program,
		 const struct gw_eval_count *runs, struct gw_dim3 grid, struct gw_arena *arena)
{
	bool bulk = false;
	uint32_t count = 0;

	*c = (struct gw_tma_copies){.lanes = !program->from_sass};
	for (uint32_t i = 0; i < program->insn_count; i++)
		count += is_copy(&program->insns[i]);
	c->copy = gw_arena_array(arena, count, sizeof(*c->copy));
	if (!c->copy)
		return false;
	for (uint32_t i = 0; i < program->insn_count; i++) {
		const struct gw_ir_insn *insn = &program->insns[i];

		if (!is_copy(insn))
			continue;
		bulk |= !(insn->flags & IR_MEM_TENSOR);
		c->copy[c->count++] = (struct gw_tma_copy){
			.insn = i,
			.store = insn->op != IR_LD,
			.prefetch = insn->flags & IR_MEM_PREFETCH,
			.tensor = insn->flags & IR_MEM_TENSOR,
			.least_bytes = INFINITY,
			.runs = runs ? runs[i] : (struct gw_eval_count){0, INFINITY, 0}};
	}
	if (bulk)
		c->bulk = gw_locality_new(arena, grid);
	return !bulk || c->bulk;
}

static struct gw_tma_copy *find(struct gw_tma_copies *c, uint32_t insn)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->copy[i].insn == insn)
			return &c->copy[i];
	return NULL;
}

static void note_size(struct gw_tma_copy *copy, double bytes)
{
	copy->least_bytes = fmin(copy->least_bytes, bytes);
	copy->most_bytes = fmax(copy->most_bytes, bytes);
}

/* Tiles of all iterations that an execution stands for, one by one: at the tensor's edge they are
 * smaller. */
static double tiles_bytes(struct gw_tma_copies *c, struct gw_tma_copy *copy,
			  const struct gw_eval_access *access, double times)
{
	const struct gw_eval_tile *t = &access->tile;
	double bytes = 0, one;

	if (times > GW_TENSOR_ITERATIONS || c->tiles >= TILES)
		return times * gw_tensor_tile_bytes(t->map, NULL);
	c->tiles += (uint32_t)times;
	for (uint64_t i = 0; i < (uint64_t)times; i++) {
		int32_t at[GW_TENSOR_RANK];
		uint64_t index = i;

		for (unsigned d = 0; d < GW_TENSOR_RANK; d++)
			at[d] = t->at[d];
		for (uint32_t l = 0; l < access->repeats; l++) {
			uint64_t nth = index % access->repeat[l].count;

			index /= access->repeat[l].count;
			for (unsigned d = 0; d < GW_TENSOR_RANK; d++)
				at[d] = (int32_t)((uint32_t)at[d] +
						  (uint32_t)nth * (uint32_t)t->step[l][d]);
		}
		one = gw_tensor_tile_bytes(t->map, at);
		note_size(copy, one);
		bytes += one;
	}
	return bytes;
}

static void see_tile(struct gw_tma_copies *c, struct gw_tma_copy *copy,
		     const struct gw_eval_access *access, double times)
{
	const struct gw_eval_tile *t = &access->tile;
	double bytes;

	if (!t->map) {
		copy->unknown += times;
		return;
	}
	copy->map = copy->seen > 0 && copy->map != t->map ? NULL : t->map;
	bytes = t->placed ? tiles_bytes(c, copy, access, times)
			  : times * gw_tensor_tile_bytes(t->map, NULL);
	copy->bytes += bytes;
	copy->received += t->receivers ? bytes * t->receivers : NAN;
	copy->assumed += t->placed ? 0 : times;
	copy->seen += times;
}

/* The sectors that a bulk copy touches, of all iterations; false: not known which. */
static bool add_footprint(struct gw_tma_copies *c, const struct gw_tma_copy *copy,
			  const struct gw_eval_access *access, unsigned lane)
{
	struct gw_request r = {.active = UINT32_MAX, .bytes = PIECE / GW_LANES};
	const struct gw_eval_repeat *inner = NULL;
	double rounds = 1;

	if (access->base[lane] || access->bytes > (uint64_t)PIECE * PIECES)
		return false;
	for (uint32_t i = 0; i < access->repeats; i++) {
		const struct gw_eval_repeat *repeat = &access->repeat[i];

		if (repeat->count == 1)
			continue;
		if (!repeat->linear || (repeat->step && inner))
			return false;
		if (repeat->step)
			inner = repeat;
		else
			rounds *= (double)repeat->count;
	}
	for (uint64_t at = 0; at < access->bytes; at += PIECE) {
		uint64_t left = access->bytes - at;

		for (unsigned i = 0; i < GW_LANES; i++)
			r.address[i] = access->address[lane] + at + 16 * i;
		r.active = left >= PIECE ? UINT32_MAX : (1u << left / 16) - 1;
		gw_locality_add(c->bulk, access->block, copy->insn, copy->store, &r,
				inner ? (double)inner->count : 1, inner ? inner->step : 0, rounds);
	}
	return true;
}

static void see_bulk(struct gw_tma_copies *c, struct gw_tma_copy *copy,
		     const struct gw_eval_access *access, double times)
{
	for (unsigned lane = 0; lane < GW_LANES; lane++) {
		if (!(access->active >> lane & 1))
			continue;
		if (!access->bytes || !add_footprint(c, copy, access, lane))
			gw_locality_uncounted(c->bulk, copy->insn, copy->store, times);
		if (access->bytes) {
			copy->seen += times;
			copy->bytes += times * (double)access->bytes;
			copy->received += times * (double)access->bytes;
		} else {
			copy->unknown += times;
		}
		if (!c->lanes)
			return;
	}
}

void gw_tma_see(struct gw_tma_copies *c, const struct gw_eval_access *access)
{
	struct gw_tma_copy *copy = find(c, access->insn);
	double times = (double)gw_eval_times(access);

	if (!copy || !access->active)
		return;
	if (copy->tensor)
		see_tile(c, copy, access,
			 c->lanes ? times * __builtin_popcount(access->active) : times);
	else if (c->bulk)
		see_bulk(c, copy, access, times);
}

/* Block @p i of those looked at: every one, or spread by the golden ratio, which no row or column
 * of the grid keeps step with. */
static struct gw_dim3 block_of(struct gw_dim3 grid, uint64_t i)
{
	const double golden = 0.6180339887498949;
	uint64_t blocks = gw_dim3_count(grid), at = i;

	if (blocks > GW_TMA_BLOCKS)
		at = (uint64_t)(fmod((double)i * golden, 1) * (double)blocks);
	return (struct gw_dim3){(uint32_t)(at % grid.x), (uint32_t)(at / grid.x % grid.y),
				(uint32_t)(at / grid.x / grid.y)};
}

static void see(void *arg, const struct gw_eval_access *access)
{
	gw_tma_see(arg, access);
}

static bool sizes_differ(const struct gw_tma_copies *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->copy[i].seen > 0 && c->copy[i].least_bytes < c->copy[i].most_bytes)
			return true;
	return false;
}

/* A copy that runs, and none was seen. */
static bool misses(const struct gw_tma_copies *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (!(c->copy[i].seen + c->copy[i].unknown > 0) && c->copy[i].runs.most > 0)
			return true;
	return false;
}

/* Run the warps of block @p block, the last first: those that copy for all are there, and @p some
 * is all that is asked for. False: the steps are spent. */
static bool look_at(struct gw_tma_copies *c, struct gw_eval *eval, struct gw_dim3 block,
		    uint64_t warps, bool some, uint64_t *steps)
{
	struct gw_eval_warp_report report;

	for (uint64_t w = warps; w-- > 0 && !(some && !misses(c));) {
		if (gw_eval_warp(eval, block, (uint32_t)w, see, c, &report) || report.halted ||
		    report.steps >= *steps)
			return false;
		*steps -= report.steps;
	}
	return true;
}

static struct gw_tma_copy unseen(const struct gw_tma_copy *c)
{
	return (struct gw_tma_copy){.insn = c->insn,
				    .store = c->store,
				    .prefetch = c->prefetch,
				    .tensor = c->tensor,
				    .least_bytes = INFINITY,
				    .runs = c->runs};
}

/* All of the blocks anew; false when @p arena has no room. */
static bool look_again(struct gw_tma_copies *c, struct gw_eval *eval,
		       const struct gw_config *config, uint64_t *steps, struct gw_arena *arena)
{
	uint64_t blocks = gw_dim3_count(config->grid);
	uint64_t warps = (gw_dim3_count(config->block) + GW_LANES - 1) / GW_LANES;
	struct gw_tma_copies more = *c;

	more.bulk = NULL;
	more.tiles = 0;
	more.copy = gw_arena_array(arena, c->count, sizeof(*more.copy));
	if (!more.copy)
		return false;
	for (uint32_t i = 0; i < c->count; i++)
		more.copy[i] = unseen(&c->copy[i]);
	for (uint64_t i = 0; i < blocks && i < GW_TMA_BLOCKS; i++)
		if (!look_at(&more, eval, block_of(config->grid, i), warps, false, steps))
			return true;
	for (uint32_t i = 0; i < c->count; i++)
		if (c->copy[i].tensor && more.copy[i].seen > 0)
			c->copy[i] = more.copy[i];
	return true;
}

bool gw_tma_look(struct gw_tma_copies *c, struct gw_eval *eval, const struct gw_config *config,
		 uint64_t steps, struct gw_arena *arena)
{
	uint64_t blocks = gw_dim3_count(config->grid);
	uint64_t warps = (gw_dim3_count(config->block) + GW_LANES - 1) / GW_LANES;

	for (uint64_t i = 0; i < blocks && i < FEW_BLOCKS && misses(c); i++)
		if (!look_at(c, eval, block_of(config->grid, i), warps, true, &steps))
			return true;
	return !sizes_differ(c) || look_again(c, eval, config, &steps, arena);
}
