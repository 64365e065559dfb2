/*
 * Numbers of 64 bits in machine code: taken apart into two registers where they are made, put
 * together (IR_PACK) where they are used. Trees look through that.
 */
#include "predictor/code/memory/extract_parts.h"

/* The one instruction that gives operand @p o of @p insn its value, moves followed; GW_DEF_NONE: a
 * constant, or none or several. */
static uint32_t source_of(struct gw_slicer *s, gw_ir_operand o, uint32_t insn)
{
	struct gw_reaching r;

	o = gw_slicer_through_moves(s, o, &insn);
	if (gw_ir_is_constant(o))
		return GW_DEF_NONE;
	gw_slicer_reaching(s, o, insn, &r);
	return r.count == 1 ? r.insn[0] : GW_DEF_NONE;
}

static bool is(const struct gw_slicer *s, uint32_t insn, enum gw_ir_op op, unsigned bits)
{
	return insn != GW_DEF_NONE && s->program->insns[insn].op == op &&
	       s->program->insns[insn].bits == bits && s->program->insns[insn].guard == GW_IR_NONE;
}

static const gw_ir_operand *uses(const struct gw_slicer *s, uint32_t insn)
{
	return gw_ir_uses(s->program, &s->program->insns[insn]);
}

bool gw_slicer_is_pair(const struct gw_slicer *s, uint32_t insn)
{
	return is(s, insn, IR_PACK, 32);
}

bool gw_slicer_whole(struct gw_slicer *s, uint32_t pair, gw_ir_operand *wide, uint32_t *user)
{
	const gw_ir_operand *half = uses(s, pair);
	uint32_t low = source_of(s, half[0], pair), high = source_of(s, half[1], pair), shift;

	if (!is(s, low, IR_ZEXT, 32) || !is(s, high, IR_ZEXT, 32))
		return false;
	shift = source_of(s, uses(s, high)[0], high);
	if (!is(s, shift, IR_SHRU, 64) || !gw_ir_is_constant(uses(s, shift)[1]) ||
	    gw_ir_constant(s->program, uses(s, shift)[1]) != 32)
		return false;
	/* Both halves are of one number: of one register, by one definition. */
	if (gw_ir_is_constant(uses(s, low)[0]) || uses(s, low)[0] != uses(s, shift)[0] ||
	    source_of(s, uses(s, low)[0], low) == GW_DEF_NONE ||
	    source_of(s, uses(s, low)[0], low) != source_of(s, uses(s, shift)[0], shift))
		return false;
	*wide = uses(s, low)[0];
	*user = low;
	return true;
}

/* Place of a word that is read of the parameters. */
static bool param_word(struct gw_slicer *s, uint32_t insn, uint64_t *offset)
{
	const struct gw_ir_program *p = s->program;

	if (insn == GW_DEF_NONE || p->insns[insn].op != IR_LD || p->insns[insn].width != 4 ||
	    p->insns[insn].elements != 1 || p->insns[insn].space != IR_SPACE_PARAM ||
	    !gw_ir_is_constant(uses(s, insn)[0]) || !gw_ir_is_constant(uses(s, insn)[1]))
		return false;
	*offset = gw_ir_constant(p, uses(s, insn)[0]) + gw_ir_constant(p, uses(s, insn)[1]);
	return true;
}

bool gw_slicer_param_pair(struct gw_slicer *s, uint32_t pair, uint64_t *offset)
{
	const gw_ir_operand *half = uses(s, pair);
	uint64_t high;

	return param_word(s, source_of(s, half[0], pair), offset) &&
	       param_word(s, source_of(s, half[1], pair), &high) && high == *offset + 4;
}

bool gw_slicer_is_widened(const struct gw_slicer *s, uint32_t pair)
{
	const gw_ir_operand *half = uses(s, pair);

	return gw_ir_is_constant(half[1]) && gw_ir_constant(s->program, half[1]) == 0;
}
