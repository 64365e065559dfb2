/*
 * Jumps through a table, as compilers make them of a switch: LDC R, c[0x2][index]; BRX R (from
 * sm_100 on also LDCU, BRXU). The
 * table's words are offsets from where BRX's own offset leads. Bank 2 holds constants that the
 * compiler made; those that a loader fills in (addresses) are zero in the file, and a table that
 * leads anywhere but to blocks of the function is not taken for one.
 */
#include "predictor/code/sass/lower_parts.h"

enum { TABLES = 2 /* the bank */, ENTRIES_MOST = 1024 };

/* Number of the register at bits @p at, among all places. */
static unsigned place_at(const struct gw_sass_insn *insn, unsigned at, bool uniform)
{
	return (unsigned)gw_sass_bits(insn, at, 8) + (uniform ? GW_SASS_UR0 : 0);
}

/* Whether the instruction loads a word of bank 2 by an index, and from where on. */
static bool loads_entry(const struct gw_sass_insn *insn, size_t *offset)
{
	bool uniform = insn->op == GW_SASS_OP_LDCU;
	unsigned zero = uniform ? gw_sass_urz(insn->sm) : GW_SASS_RZ;

	if ((insn->op != GW_SASS_OP_LDC && !uniform) || gw_sass_bits(insn, 54, 5) != TABLES ||
	    insn->width != 32 || gw_sass_bits(insn, 24, 8) == zero)
		return false;
	*offset = (size_t)gw_sass_bits(insn, uniform ? 37 : 38, 16);
	return true;
}

void gw_lower_note_table(struct gw_lowering *l)
{
	bool uniform = l->insn.op == GW_SASS_OP_LDCU;
	size_t offset;

	if (l->insn.guard != GW_SASS_PT || !loads_entry(&l->insn, &offset))
		return;
	/* A copy: the load may write the register that holds its index. */
	l->table.index = GW_LOWER(l, MOV, 32, 0, 1, gw_lower_reg(l, 24, uniform));
	l->table.offset = (uint32_t)offset;
	l->table.at = l->b.source;
	l->table.place = place_at(&l->insn, 16, uniform);
}

/* Whether the register that BRX takes still holds what was loaded. */
static bool is_from_table(const struct gw_lowering *l)
{
	struct gw_sass_insn insn;

	bool uniform = l->insn.op == GW_SASS_OP_BRXU;

	if (l->table.index == GW_IR_NONE || (l->insn.op != GW_SASS_OP_BRX && !uniform) ||
	    !l->insn.has_target || l->insn.guard != GW_SASS_PT ||
	    place_at(&l->insn, 24, uniform) != l->table.place)
		return false;
	for (uint32_t i = l->table.at + 1; i < l->b.source; i++) {
		gw_cfg_insn(l->cfg, i, &insn);
		for (unsigned d = 0; d < insn.def_count; d++)
			if (l->table.place - insn.defs[d].first < insn.defs[d].count)
				return false;
	}
	return true;
}

/* Where the table ends: where the next one begins, or the bank does. */
static size_t table_end(const struct gw_lowering *l)
{
	size_t end = l->kernel->tables.size;
	struct gw_sass_insn insn;

	for (uint32_t i = 0; i < l->cfg->insn_count; i++) {
		size_t offset;

		gw_cfg_insn(l->cfg, i, &insn);
		if (loads_entry(&insn, &offset) && offset > l->table.offset && offset < end)
			end = offset;
	}
	return end;
}

/* The block of the function at hand that begins at byte @p address; GW_CFG_NONE: none does. */
static uint32_t block_at(const struct gw_lowering *l, int64_t address)
{
	const struct gw_lowered_function *f = &l->functions[l->function];

	for (uint32_t b = f->first; b - f->first < f->blocks; b++)
		if (b != f->entry && l->cfg->blocks[b].entry == f->entry &&
		    (int64_t)l->cfg->blocks[b].first * GW_SASS_BYTES == address)
			return b;
	return GW_CFG_NONE;
}

bool gw_lower_table_jump(struct gw_lowering *l)
{
	int64_t base = (int64_t)(l->b.source + 1) * GW_SASS_BYTES + l->insn.target;
	size_t offset = l->table.offset, count;
	uint32_t *to;

	if (!is_from_table(l) || table_end(l) < offset + 4)
		return false;
	count = (table_end(l) - offset) / 4;
	to = count <= ENTRIES_MOST ? gw_arena_array(l->b.arena, count, sizeof(*to)) : NULL;
	if (!to)
		return false;
	for (size_t i = 0; i < count; i++) {
		uint32_t word;
		uint32_t block;

		if (!gw_bytes_get(l->kernel->tables, offset + 4 * i, &word, sizeof(word)))
			return false;
		block = block_at(l, base + (int32_t)word);
		if (block == GW_CFG_NONE)
			return false;
		to[i] = gw_lower_block_of(l, block);
	}
	gw_ir_end_switch(&l->b, GW_LOWER(l, SHRU, 32, 0, 2, l->table.index, gw_ir_const(&l->b, 2)),
			 to, (uint32_t)count);
	return true;
}
