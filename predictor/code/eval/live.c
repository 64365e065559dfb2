/* What is needed later of the values that are there where a block begins: whether any instruction
 * reads it, and whether control may depend on it. A loop needn't know how the others go on. A
 * register of machine code holds many values one after the other, so this follows values, not
 * registers: one is needed by control where it is read by what decides, or by what writes a value
 * that is. */
#include "predictor/code/eval/state.h"

#include <string.h>

enum {
	WORD = 32,
	ROUNDS = 64,
	WORDS_MOST = 1 << 20 /* of all blocks together */,
	SPENT = 8 /* instructions looked at for the time that running one takes */
};

struct gw_live {
	uint32_t words; /* of a block */
	uint32_t *in;   /* of each block: bits of the values that are needed where it begins */
	uint32_t *now;  /* the same, of the place in a block that is looked at */
	uint32_t clock, *seen,
		*changed; /* of each block: when it was looked at, when `in` changed */
	uint32_t frame; /* since when what is loaded from the followed local memory is needed; 0: it
			   is not */
	bool reads;     /* all that is read counts as needed */
};

static bool get(const uint32_t *set, uint32_t value)
{
	return set[value / WORD] >> value % WORD & 1;
}

static void put(uint32_t *set, uint32_t value)
{
	set[value / WORD] |= UINT32_C(1) << value % WORD;
}

static void drop(uint32_t *set, uint32_t value)
{
	set[value / WORD] &= ~(UINT32_C(1) << value % WORD);
}

static uint32_t slot_of(const struct gw_eval *e, gw_ir_operand o)
{
	return gw_ir_is_constant(o) || o == GW_IR_NONE ? GW_IR_NONE : e->slot[o];
}

static void need(const struct gw_eval *e, struct gw_live *l, gw_ir_operand o)
{
	uint32_t slot = slot_of(e, o);

	if (slot != GW_IR_NONE)
		put(l->now, slot);
}

static void need_uses(const struct gw_eval *e, struct gw_live *l, const struct gw_ir_insn *insn)
{
	need(e, l, insn->guard);
	for (unsigned u = 0; u < insn->uses; u++)
		need(e, l, gw_ir_uses(e->p, insn)[u]);
}

/* Whether any of its results is needed behind it; there they are no longer before it, unless a
 * guard may leave the lane what it had. */
static bool take_results(const struct gw_eval *e, struct gw_live *l, const struct gw_ir_insn *insn)
{
	bool needed = false;

	for (unsigned d = 0; d < insn->defs; d++) {
		uint32_t slot = slot_of(e, gw_ir_defs(e->p, insn)[d]);

		if (slot == GW_IR_NONE || !get(l->now, slot))
			continue;
		needed = true;
		if (insn->guard == GW_IR_NONE)
			drop(l->now, slot);
	}
	return needed;
}

/* From behind the instruction to before it. */
static void pass(const struct gw_eval *e, struct gw_live *l, const struct gw_ir_insn *insn)
{
	bool needed = take_results(e, l, insn), followed = gw_ir_is_followed(insn);

	if (l->reads)
		return need_uses(e, l, insn);
	if (insn->op == IR_BAR || insn->op == IR_LD || insn->op == IR_ST || insn->op == IR_ATOM ||
	    insn->op == IR_RED)
		need(e, l, insn->guard);
	if (insn->op == IR_ST && followed)
		needed = l->frame != 0;
	if (!needed)
		return;
	if (gw_ir_is_blind(insn))
		need(e, l, insn->guard);
	else
		need_uses(e, l, insn);
	if (insn->op == IR_LD && followed && !l->frame)
		l->frame = l->clock;
}

static void through_block(const struct gw_eval *e, struct gw_live *l, uint32_t block)
{
	const struct gw_ir_block *b = &e->p->blocks[block];

	memset(l->now, 0, l->words * sizeof(*l->now));
	for (uint32_t s = 0; s < b->succ_count; s++) {
		const uint32_t *next = l->in + (size_t)e->p->succs[b->succ_first + s] * l->words;

		for (uint32_t w = 0; w < l->words; w++)
			l->now[w] |= next[w];
	}
	if (b->end == IR_END_BRANCH || b->end == IR_END_SWITCH)
		need(e, l, b->test);
	for (uint32_t n = e->plan_first[block + 1]; n-- > e->plan_first[block];)
		pass(e, l, &e->p->insns[e->plan[n]]);
}

/* Whether what comes behind the block is what it was when it was looked at. */
static bool is_done(const struct gw_eval *e, const struct gw_live *l, uint32_t block)
{
	const struct gw_ir_block *b = &e->p->blocks[block];
	uint32_t last = l->frame;

	for (uint32_t s = 0; s < b->succ_count; s++) {
		uint32_t changed = l->changed[e->p->succs[b->succ_first + s]];

		last = changed > last ? changed : last;
	}
	return last < l->seen[block];
}

/* Once more through all blocks, from the last: whether anything was added. */
static bool go_round(const struct gw_eval *e, struct gw_live *l)
{
	const uint32_t begun = l->clock, frame = l->frame;
	bool added = false;

	for (uint32_t b = e->p->block_count; b-- > 0;) {
		uint32_t *in = l->in + (size_t)b * l->words;

		if (is_done(e, l, b))
			continue;
		l->seen[b] = ++l->clock;
		through_block(e, l, b);
		for (uint32_t w = 0; w < l->words; w++) {
			if (l->now[w] & ~in[w])
				l->changed[b] = l->clock;
			in[w] |= l->now[w];
		}
		added |= l->changed[b] > begun;
	}
	return added || l->frame != frame;
}

static struct gw_live *find(struct gw_eval *e, bool reads)
{
	uint32_t blocks = e->p->block_count, words = e->value_count / WORD + 1, rounds = 0;
	struct gw_live *l = gw_arena_array(e->arena, 1, sizeof(*l));

	if (!l || (uint64_t)blocks * words > WORDS_MOST)
		return l;
	l->reads = reads;
	l->words = words;
	l->now = gw_arena_array(e->arena, words, sizeof(*l->now));
	l->in = gw_arena_array(e->arena, (size_t)blocks * words, sizeof(*l->in));
	l->seen = gw_arena_array(e->arena, blocks, sizeof(*l->seen));
	l->changed = gw_arena_array(e->arena, blocks, sizeof(*l->changed));
	if (!l->in || !l->now || !l->seen || !l->changed)
		return NULL;
	while (go_round(e, l)) {
		gw_eval_spend(e, e->p->insn_count / SPENT, 0);
		if (++rounds == ROUNDS) {
			l->in = NULL;
			break;
		}
	}
	return l;
}

/* Where nothing was found, for lack of room, everything counts as needed. */
static bool needed(const struct gw_live *l, uint32_t block, uint32_t slot)
{
	return !l || !l->in || get(l->in + (size_t)block * l->words, slot);
}

bool gw_eval_live(struct gw_eval *e, uint32_t block, uint32_t slot)
{
	if (!e->live_values)
		e->live_values = find(e, true);
	return needed(e->live_values, block, slot);
}

bool gw_eval_decides(struct gw_eval *e, uint32_t block, uint32_t slot)
{
	if (!e->deciding_values)
		e->deciding_values = find(e, false);
	return needed(e->deciding_values, block, slot);
}
