/*
 * Forward along the program's paths, until nothing changes. A register with one definition has one
 * state; one with several has one in each block.
 */
#include "predictor/code/ir/reach.h"

#include <string.h>

struct vary {
	const struct gw_reach *r;
	uint8_t *uses;   /* of each operand */
	uint8_t *single; /* of each register with one definition */
	uint8_t *ends;   /* [block * places + place]: at the end of a block */
	uint8_t *row;    /* [place]: in the block that is looked at */
	bool changed;
};

static bool varies(const struct vary *v, gw_ir_operand o)
{
	if (o == GW_IR_NONE || gw_ir_is_constant(o))
		return false;
	return v->r->place[o] == GW_IR_NONE ? v->single[o] : v->row[v->r->place[o]];
}

/* What an instruction makes differs whatever it is made of. */
static bool is_source(const struct gw_ir_insn *insn)
{
	switch (insn->op) {
	case IR_SREG:
		switch (insn->aux) {
		case IR_SREG_NTID_X:
		case IR_SREG_NTID_Y:
		case IR_SREG_NTID_Z:
		case IR_SREG_NCTAID_X:
		case IR_SREG_NCTAID_Y:
		case IR_SREG_NCTAID_Z:
		case IR_SREG_NWARPID:
		case IR_SREG_NCLUSTERID_X:
		case IR_SREG_NCLUSTERID_Y:
		case IR_SREG_NCLUSTERID_Z:
		case IR_SREG_DYNAMIC_SMEM:
			return false;
		default:
			return true;
		}
	case IR_LD:
		return insn->space != IR_SPACE_PARAM && insn->space != IR_SPACE_CONST;
	case IR_OPAQUE:
	case IR_AWAIT:
	case IR_ATOM:
	case IR_SHFL:
	case IR_ACTIVE:
	case IR_ELECT:
		return true;
	default:
		return false;
	}
}

static void define(struct vary *v, const struct gw_ir_insn *insn, gw_ir_operand o, bool differs)
{
	uint8_t *state;

	if (o == GW_IR_NONE)
		return;
	if (v->r->place[o] == GW_IR_NONE) {
		state = &v->single[o];
		v->changed |= differs && !*state;
		*state |= differs;
	} else {
		state = &v->row[v->r->place[o]];
		*state = differs || (insn->guard != GW_IR_NONE && *state);
	}
}

static void go_through(struct vary *v, uint32_t b)
{
	const struct gw_ir_program *p = v->r->p;
	const struct gw_ir_block *block = &p->blocks[b];
	uint8_t *end = v->ends + (size_t)b * v->r->places;

	memset(v->row, 0, v->r->places);
	for (uint32_t i = v->r->pred_first[b]; i < v->r->pred_first[b + 1]; i++)
		for (uint32_t n = 0; n < v->r->places; n++)
			v->row[n] |= v->ends[(size_t)v->r->preds[i] * v->r->places + n];
	for (uint32_t i = block->first; i < block->first + block->count; i++) {
		const struct gw_ir_insn *insn = &p->insns[i];
		bool differs = is_source(insn) || varies(v, insn->guard);

		for (unsigned u = 0; u < insn->uses; u++) {
			uint32_t slot = insn->first + insn->defs + u;

			v->uses[slot] = varies(v, p->operands[slot]);
			differs = differs || v->uses[slot];
		}
		for (unsigned d = 0; d < insn->defs; d++)
			define(v, insn, p->operands[insn->first + d], differs);
	}
	v->changed |= memcmp(end, v->row, v->r->places) != 0;
	memcpy(end, v->row, v->r->places);
}

const uint8_t *gw_ir_vary(const struct gw_reach *r, struct gw_arena *arena)
{
	const struct gw_ir_program *p = r->p;
	struct vary v = {.r = r};

	v.uses = gw_arena_array(arena, p->operand_count + 1u, 1);
	v.single = gw_arena_array(arena, p->reg_count + 1u, 1);
	v.ends = gw_arena_array(arena, (size_t)p->block_count * r->places + 1, 1);
	v.row = gw_arena_array(arena, r->places + 1u, 1);
	if (!v.uses || !v.single || !v.ends || !v.row)
		return NULL;
	do {
		v.changed = false;
		for (uint32_t b = 0; b < p->block_count; b++)
			if (p->blocks[b].reachable)
				go_through(&v, b);
	} while (v.changed);
	return v.uses;
}
