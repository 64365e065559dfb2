/*
 * What never runs in a launch that ends well: the way to __assertfail, by which assert() ends a
 * kernel with an error. Compilers load the function's address from constant bank 4, where the
 * loader puts it, and call it by a register: MOV R2, 0x18; LDC.64 R2, c[0x4][R2]; CALL.ABS R2 The
 * cubin's relocations of the bank say which function's address each word gets. A launch of which
 * there is a time went on past its asserts, whatever data they depend on.
 */
#include "predictor/code/binary/kernel.h"
#include "predictor/code/sass/lower_parts.h"

#include <string.h>

enum { ADDRESSES = 4 /* the bank */ };

/* The number that an instruction puts into a register, if that is all it does. */
static bool number_of(const struct gw_sass_insn *insn, uint32_t *value)
{
	bool of_zeros = insn->form == 2 && gw_sass_bits(insn, 24, 8) == GW_SASS_RZ &&
			gw_sass_bits(insn, 64, 8) == GW_SASS_RZ;

	*value = (uint32_t)gw_sass_bits(insn, 32, 32);
	switch (insn->op) {
	case GW_SASS_OP_MOV:
		return insn->form == 4;
	case GW_SASS_OP_IMAD:
	case GW_SASS_OP_HFMA2:
	case GW_SASS_OP_HFMA2_MMA:
		return of_zeros;
	default:
		return false;
	}
}

/* The last instruction of the block before number @p end that writes @p place; false when none
 * does, or when it may not. */
static bool writer_of(const struct gw_lowering *l, const struct gw_cfg_block *block, uint32_t *end,
		      unsigned place, struct gw_sass_insn *out)
{
	while (*end > block->first) {
		gw_cfg_insn(l->cfg, --*end, out);
		for (unsigned d = 0; d < out->def_count; d++)
			if (place - out->defs[d].first < out->defs[d].count)
				return out->guard == GW_SASS_PT && !out->guard_not;
	}
	return false;
}

/* The place in bank 4 that the register called was loaded from. */
static bool loaded_from(const struct gw_lowering *l, const struct gw_cfg_block *block,
			uint32_t *offset)
{
	uint32_t at = block->first + block->count - 1, index = 0;
	struct gw_sass_insn insn;
	unsigned reg;

	gw_cfg_insn(l->cfg, at, &insn);
	reg = (unsigned)gw_sass_bits(&insn, 24, 8);
	if (insn.op != GW_SASS_OP_CALL_ABS || insn.form == 4 || reg == GW_SASS_RZ ||
	    !writer_of(l, block, &at, reg, &insn) || insn.op != GW_SASS_OP_LDC ||
	    insn.width != 64 || gw_sass_bits(&insn, 54, 5) != ADDRESSES ||
	    gw_sass_bits(&insn, 16, 8) != reg)
		return false;
	*offset = (uint32_t)gw_sass_bits(&insn, 38, 16);
	reg = (unsigned)gw_sass_bits(&insn, 24, 8);
	if (reg != GW_SASS_RZ &&
	    (!writer_of(l, block, &at, reg, &insn) || !number_of(&insn, &index)))
		return false;
	*offset += index;
	return true;
}

const char *gw_lower_outside(const struct gw_lowering *l, const struct gw_cfg_block *block)
{
	uint32_t offset;

	if (block->call != GW_CFG_NONE || !l->kernel->outside_count ||
	    !loaded_from(l, block, &offset))
		return NULL;
	for (uint32_t i = 0; i < l->kernel->outside_count; i++)
		if (l->kernel->outside[i].offset == offset && !l->kernel->outside[i].addend)
			return l->kernel->outside[i].symbol;
	return NULL;
}

bool gw_lower_never(const struct gw_lowering *l, const struct gw_cfg_block *block)
{
	const char *name = gw_lower_outside(l, block);

	return name && strcmp(name, "__assertfail") == 0;
}
