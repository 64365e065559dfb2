/* SPDX-License-Identifier: Apache-2.0 */
/* Which values may still be read where a block begins: what loops needn't compare are the others.
 */
#include "predictor/code/eval/state.h"

enum { WORD = 32, ROUNDS = 64, WORDS_MOST = 1 << 20 /* of all blocks together */ };

struct gw_live {
	uint32_t words; /* of a block */
	uint32_t *in;   /* of each block: bits of the values that are live where it begins */
};

static bool get(const uint32_t *set, uint32_t value)
{
	return set[value / WORD] >> value % WORD & 1;
}

static void put(uint32_t *set, uint32_t value)
{
	set[value / WORD] |= UINT32_C(1) << value % WORD;
}

static void read_by(const struct gw_eval *e, gw_ir_operand o, uint32_t *use, const uint32_t *def)
{
	uint32_t slot = gw_ir_is_constant(o) || o == GW_IR_NONE ? GW_IR_NONE : e->slot[o];

	if (slot != GW_IR_NONE && !get(def, slot))
		put(use, slot);
}

/* What the block reads before it has written it, and what it writes whatever happens. */
static void sum_up(const struct gw_eval *e, uint32_t block, uint32_t *use, uint32_t *def)
{
	for (uint32_t n = e->plan_first[block]; n < e->plan_first[block + 1]; n++) {
		const struct gw_ir_insn *insn = &e->p->insns[e->plan[n]];

		read_by(e, insn->guard, use, def);
		for (unsigned u = 0; u < insn->uses; u++)
			read_by(e, gw_ir_uses(e->p, insn)[u], use, def);
		for (unsigned d = 0; d < insn->defs; d++) {
			gw_ir_operand o = gw_ir_defs(e->p, insn)[d];

			/* Where a guard may not hold, the lane keeps what it had. */
			if (o != GW_IR_NONE && e->slot[o] != GW_IR_NONE &&
			    insn->guard == GW_IR_NONE)
				put(def, e->slot[o]);
		}
	}
	if (e->p->blocks[block].end == IR_END_BRANCH || e->p->blocks[block].end == IR_END_SWITCH)
		read_by(e, e->p->blocks[block].test, use, def);
}

/* Once more through all blocks, from the last: whether anything was added. */
static bool go_round(const struct gw_eval *e, struct gw_live *l, const uint32_t *def)
{
	const struct gw_ir_program *p = e->p;
	bool added = false;

	for (uint32_t b = p->block_count; b-- > 0;) {
		uint32_t *in = l->in + (size_t)b * l->words;
		const uint32_t *kept = def + (size_t)b * l->words;

		for (uint32_t s = 0; s < p->blocks[b].succ_count; s++) {
			uint32_t to = p->succs[p->blocks[b].succ_first + s];
			const uint32_t *next = l->in + (size_t)to * l->words;

			for (uint32_t w = 0; w < l->words; w++) {
				uint32_t more = next[w] & ~kept[w] & ~in[w];

				in[w] |= more;
				added |= more != 0;
			}
		}
	}
	return added;
}

static struct gw_live *find(struct gw_eval *e)
{
	uint32_t blocks = e->p->block_count, words = e->value_count / WORD + 1;
	struct gw_live *l = gw_arena_array(e->arena, 1, sizeof(*l));
	uint32_t *def, rounds = 0;

	if (!l || (uint64_t)blocks * words > WORDS_MOST)
		return l;
	l->words = words;
	l->in = gw_arena_array(e->arena, (size_t)blocks * words, sizeof(*l->in));
	def = gw_arena_array(e->arena, (size_t)blocks * words, sizeof(*def));
	if (!l->in || !def)
		return NULL;
	for (uint32_t b = 0; b < blocks; b++)
		sum_up(e, b, l->in + (size_t)b * words, def + (size_t)b * words);
	while (go_round(e, l, def))
		if (++rounds == ROUNDS) {
			l->in = NULL;
			break;
		}
	return l;
}

bool gw_eval_live(struct gw_eval *e, uint32_t block, uint32_t slot)
{
	if (!e->live_values)
		e->live_values = find(e);
	return !e->live_values || !e->live_values->in ||
	       get(e->live_values->in + (size_t)block * e->live_values->words, slot);
}
