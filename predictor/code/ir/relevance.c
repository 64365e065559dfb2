/*
 * Which registers decide anything. A branch, and the guard of what touches memory or waits, need
 * their predicate; an access needs its address. What these are computed from is needed as much as
 * they are. Most of a kernel's arithmetic is needed by neither, and isn't computed.
 */
#include "predictor/code/ir/ir.h"

struct relevance {
	struct gw_ir_program *p;
	uint32_t *first; /* of each register: its first place in defs[]; one more at the end */
	uint32_t *defs;  /* instructions that write it */
	uint32_t *queue; /* registers whose level rose */
	uint32_t queued, room;
	uint8_t frame; /* level of what is loaded from the followed local memory */
};

static void raise(struct relevance *r, gw_ir_operand o, uint8_t level)
{
	if (o == GW_IR_NONE || gw_ir_is_constant(o) || r->p->relevant[o] >= level)
		return;
	r->p->relevant[o] = level;
	/* A register rises twice at most. */
	if (r->queued < r->room)
		r->queue[r->queued++] = o;
}

static bool list_defs(struct relevance *r, struct gw_arena *arena)
{
	const struct gw_ir_program *p = r->p;
	uint32_t total = 0;

	r->first = gw_arena_array(arena, p->reg_count + 2, sizeof(*r->first));
	if (!r->first)
		return false;
	for (uint32_t i = 0; i < p->insn_count; i++)
		for (unsigned d = 0; d < p->insns[i].defs; d++)
			if (gw_ir_defs(p, &p->insns[i])[d] != GW_IR_NONE) {
				r->first[gw_ir_defs(p, &p->insns[i])[d] + 2]++;
				total++;
			}
	r->defs = gw_arena_array(arena, total, sizeof(*r->defs));
	if (!r->defs)
		return false;
	for (uint32_t n = 1; n < p->reg_count + 2; n++)
		r->first[n] += r->first[n - 1];
	for (uint32_t i = 0; i < p->insn_count; i++)
		for (unsigned d = 0; d < p->insns[i].defs; d++)
			if (gw_ir_defs(p, &p->insns[i])[d] != GW_IR_NONE)
				r->defs[r->first[gw_ir_defs(p, &p->insns[i])[d] + 1]++] = i;
	return true;
}

bool gw_ir_is_followed(const struct gw_ir_insn *insn)
{
	return insn->space == IR_SPACE_FRAME || insn->space == IR_SPACE_LOCAL ||
	       insn->space == IR_SPACE_GENERIC;
}

/* What an instruction needs whatever its results are for. */
static void seed(struct relevance *r, const struct gw_ir_insn *insn)
{
	const gw_ir_operand *uses = gw_ir_uses(r->p, insn);

	switch (insn->op) {
	case IR_LD:
	case IR_ST:
	case IR_ATOM:
	case IR_RED:
		if (insn->space == IR_SPACE_FRAME)
			return;
		raise(r, insn->guard, IR_RELEVANT_CONTROL);
		raise(r, uses[0], IR_RELEVANT_ADDRESS);
		raise(r, uses[1], IR_RELEVANT_ADDRESS);
		for (unsigned u = 2; insn->flags & IR_MEM_BULK && u < insn->uses; u++)
			raise(r, uses[u], IR_RELEVANT_ADDRESS);
		break;
	case IR_BAR:
		raise(r, insn->guard, IR_RELEVANT_CONTROL);
		break;
	default:
		break;
	}
}

/* Stores into the followed memory matter as much as what is loaded from it. */
static void raise_stores(struct relevance *r, uint8_t level)
{
	if (r->frame >= level)
		return;
	r->frame = level;
	for (uint32_t i = 0; i < r->p->insn_count; i++) {
		const struct gw_ir_insn *insn = &r->p->insns[i];

		if (insn->op != IR_ST || !gw_ir_is_followed(insn))
			continue;
		raise(r, insn->guard, level);
		for (unsigned u = 0; u < insn->uses; u++)
			raise(r, gw_ir_uses(r->p, insn)[u], level);
	}
}

bool gw_ir_is_blind(const struct gw_ir_insn *insn)
{
	return insn->op == IR_OPAQUE || insn->op == IR_ATOM ||
	       (insn->op == IR_LD &&
		(insn->space == IR_SPACE_GLOBAL || insn->space == IR_SPACE_SHARED ||
		 insn->space == IR_SPACE_TEXTURE));
}

static void spread(struct relevance *r, uint32_t reg)
{
	uint8_t level = r->p->relevant[reg];

	for (uint32_t n = r->first[reg]; n < r->first[reg + 1]; n++) {
		const struct gw_ir_insn *insn = &r->p->insns[r->defs[n]];

		raise(r, insn->guard, level);
		if (gw_ir_is_blind(insn))
			continue;
		for (unsigned u = 0; u < insn->uses; u++)
			raise(r, gw_ir_uses(r->p, insn)[u], level);
		if (insn->op == IR_LD && gw_ir_is_followed(insn))
			raise_stores(r, level);
	}
}

bool gw_ir_find_relevance(struct gw_ir_program *p, struct gw_arena *arena)
{
	struct relevance r = {.p = p, .room = 2 * p->reg_count};

	p->relevant = gw_arena_array(arena, p->reg_count, 1);
	r.queue = gw_arena_array(arena, r.room, sizeof(*r.queue));
	if (!p->relevant || !r.queue || !list_defs(&r, arena))
		return false;
	for (uint32_t i = 0; i < p->block_count; i++)
		if (p->blocks[i].reachable && gw_ir_decides(p, &p->blocks[i]))
			raise(&r, p->blocks[i].test, IR_RELEVANT_CONTROL);
	for (uint32_t i = 0; i < p->insn_count; i++)
		seed(&r, &p->insns[i]);
	for (uint32_t n = 0; n < r.queued; n++)
		spread(&r, r.queue[n]);
	p->frame_relevant = r.frame;
	return true;
}
