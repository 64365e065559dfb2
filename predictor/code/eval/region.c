/* SPDX-License-Identifier: Apache-2.0 */
/* What may have been written where it isn't known who went which way. */
#include "predictor/code/eval/state.h"

#include <string.h>

bool gw_eval_in_loop(const struct gw_eval *e, uint32_t block, uint32_t loop)
{
	uint32_t at = block == GW_IR_NONE ? GW_IR_NONE : e->p->blocks[block].loop;

	while (at != GW_IR_NONE && at != loop)
		at = e->p->loops[at].parent;
	return at == loop && loop != GW_IR_NONE;
}

static bool may_store_locally(const struct gw_eval *e, const struct gw_ir_insn *insn)
{
	return insn->op == IR_ST &&
	       (insn->space == IR_SPACE_LOCAL || insn->space == IR_SPACE_FRAME ||
	        (insn->space == IR_SPACE_GENERIC && e->local_escapes));
}

/* The places in values[] that marked blocks write, into @p values; their number. */
static uint32_t walk_written(struct gw_eval *e, struct gw_region *out, uint8_t *seen,
                             uint32_t *values)
{
	uint32_t count = 0;

	for (uint32_t b = 0; b < e->p->block_count; b++) {
		if (!e->mark[b])
			continue;
		for (uint32_t n = e->plan_first[b]; n < e->plan_first[b + 1]; n++) {
			const struct gw_ir_insn *insn = &e->p->insns[e->plan[n]];

			out->stores = out->stores || may_store_locally(e, insn);
			for (unsigned d = 0; d < insn->defs; d++) {
				gw_ir_operand def = gw_ir_defs(e->p, insn)[d];
				uint32_t slot = def == GW_IR_NONE ? GW_IR_NONE : e->slot[def];

				if (slot == GW_IR_NONE || seen[slot])
					continue;
				seen[slot] = 1;
				values[count++] = slot;
			}
		}
	}
	return count;
}

bool gw_eval_written(struct gw_eval *e, struct gw_region *out)
{
	uint8_t *seen = e->value_mark;
	uint32_t *values;

	memset(seen, 0, e->value_count);
	out->value_count = walk_written(e, out, seen, e->value_todo);
	out->stores = out->stores && e->frame;
	values = gw_arena_copy(e->arena, e->value_todo, out->value_count * sizeof(*values));
	out->values = values;
	return values != NULL;
}

/* Mark what @p block's successors reach before block @p meet; is @p block among it? */
static bool mark_region(struct gw_eval *e, uint32_t block, uint32_t meet)
{
	const struct gw_ir_program *p = e->p;
	uint32_t depth = 0, at = block;

	memset(e->mark, 0, p->block_count);
	for (;;) {
		const struct gw_ir_block *b = &p->blocks[at];

		for (uint32_t s = 0; s < b->succ_count; s++) {
			uint32_t to = p->succs[b->succ_first + s];

			if (to == meet || e->mark[to])
				continue;
			e->mark[to] = 1;
			e->todo[depth++] = to;
		}
		if (!depth)
			break;
		at = e->todo[--depth];
	}
	return e->mark[block];
}

/* Whether nothing acts in the marked region, out of which block @p meet alone leads. */
static bool only_waits(const struct gw_eval *e, uint32_t meet)
{
	if (meet == GW_IR_NONE)
		return false;
	for (uint32_t b = 0; b < e->p->block_count; b++)
		if (e->mark[b] && (e->p->blocks[b].acts || e->p->blocks[b].end == IR_END_EXIT))
			return false;
	return true;
}

/* The blocks of the marked region of @p block, where each runs once at most. */
static bool list_plain(struct gw_eval *e, uint32_t block, struct gw_region *out)
{
	uint32_t *blocks = e->todo;

	out->block_count = 0;
	if (out->cyclic || !e->p->from_sass || e->p->blocks[block].ipdom == GW_IR_NONE)
		return true;
	for (uint32_t b = 0; b < e->p->block_count; b++) {
		const struct gw_ir_block *one = &e->p->blocks[b];

		if (!e->mark[b])
			continue;
		if (one->touches || one->end == IR_END_EXIT ||
		    one->loop != e->p->blocks[block].loop)
			return true;
		blocks[out->block_count++] = b;
	}
	out->plain = true;
	out->blocks = gw_arena_copy(e->arena, blocks, out->block_count * sizeof(*blocks));
	return out->blocks != NULL;
}

const struct gw_region *gw_eval_region(struct gw_eval *e, uint32_t block)
{
	struct gw_region *r;

	if (e->regions[block])
		return e->regions[block];
	r = gw_arena_array(e->arena, 1, sizeof(*r));
	if (!r)
		return NULL;
	r->cyclic = mark_region(e, block, e->p->blocks[block].ipdom);
	r->waits = only_waits(e, e->p->blocks[block].ipdom);
	if (!list_plain(e, block, r) || !gw_eval_written(e, r))
		return NULL;
	e->regions[block] = r;
	return r;
}

void gw_eval_forget(struct gw_eval *e, const struct gw_region *region, uint32_t lanes, gw_base why,
                    uint32_t block)
{
	gw_eval_spend(e, region->value_count / 2, block);
	for (uint32_t n = 0; n < region->value_count; n++) {
		struct gw_value *x = &e->values[region->values[n]];

		gw_value_spread(x);
		for (unsigned i = 0; i < GW_LANES; i++)
			if (lanes >> i & 1)
				x->base[i] = why;
	}
	if (region->stores)
		gw_eval_spend(e, e->p->frame_bytes / 2, block);
	if (region->stores)
		gw_eval_forget_frame(e, lanes, why);
}
