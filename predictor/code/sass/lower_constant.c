/* Constants: parameters, what is read of them by an index too, and extents of the launch. */
#include "predictor/code/sass/lower_source.h"

/* Where the extents of the launch lie in bank 0: from the start up to sm_90, behind the driver's
 * own from sm_100 on; block, then grid (a word is left free before the latter). */
static gw_ir_operand extent(struct gw_lowering *l, unsigned offset)
{
	static const uint16_t sregs[] = {IR_SREG_NTID_X,   IR_SREG_NTID_Y,   IR_SREG_NTID_Z,
					 IR_SREG_NCTAID_X, IR_SREG_NCTAID_Y, IR_SREG_NCTAID_Z};
	unsigned first = l->cfg->sm >= 100 ? 0x360 : 0, word = (offset - first) / 4;

	if (offset < first || offset % 4)
		return GW_IR_NONE;
	if (l->cfg->sm >= 100) {
		if (word == 3)
			return GW_IR_NONE;
		word -= word > 3;
	}
	if (word >= sizeof(sregs) / sizeof(*sregs))
		return GW_IR_NONE;
	return gw_ir_emit(&l->b, IR_SREG, 32, sregs[word], gw_ir_reg(&l->b, 32), 0);
}

/*
 * What the driver leaves of a launch's clusters on sm_90, from 0x140 on: whether there are any,
 * then by dimension their blocks, one by that (which blocks find their cluster by), the grid's
 * clusters; last their blocks in all. Blocks of a cluster of one do the same either way.
 */
static gw_ir_operand cluster(struct gw_lowering *l, unsigned offset)
{
	enum { EXPLICIT = 0, BLOCKS = 1, INVERSE = 4, CLUSTERS = 7, COUNT = 18, NONE = 64 };
	const unsigned word = l->cfg->sm == 90 && offset % 4 == 0 ? (offset - 0x140) / 4 : NONE;
	gw_ir_operand value;
	unsigned sreg;

	if (word == EXPLICIT || word == COUNT)
		sreg = IR_SREG_CLUSTER_NCTARANK;
	else if (word < CLUSTERS)
		sreg = IR_SREG_CLUSTER_NCTAID_X + (word - BLOCKS) % 3;
	else if (word < CLUSTERS + 3)
		sreg = IR_SREG_NCLUSTERID_X + word - CLUSTERS;
	else
		return GW_IR_NONE;
	value = gw_ir_emit(&l->b, IR_SREG, 32, sreg, gw_ir_reg(&l->b, 32), 0);
	if (word == EXPLICIT)
		return GW_LOWER(l, SEL, 32, 0, 3,
				GW_LOWER(l, CMP, 32, IR_COND_GTU, 2, value, number(l, 1)),
				number(l, 1), number(l, 0));
	if (word < INVERSE || word >= CLUSTERS)
		return value;
	return GW_LOWER(l, FDIV, 32, 0, 2, number(l, 0x3f800000),
			gw_ir_emit(&l->b, IR_U2F, 32, 32, gw_ir_reg(&l->b, 32), 1, value));
}

/* A word of the generic address of the parameters, or of the bank they lie in: the driver leaves
 * both before them, and compilers use the one or the other. */
static gw_ir_operand window(struct gw_lowering *l, unsigned offset)
{
	const unsigned params = 0x198, bank = 0xc0;
	uint64_t address = GW_IR_PARAM_WINDOW;

	if (l->cfg->sm != 90 || offset % 4 || (offset / 8 != params / 8 && offset / 8 != bank / 8))
		return GW_IR_NONE;
	if (offset / 8 == bank / 8)
		address -= l->kernel->param_base;
	return gw_ir_const(&l->b, offset % 8 ? address >> 32 : (uint32_t)address);
}

gw_ir_operand gw_lower_constant(struct gw_lowering *l, unsigned bank, unsigned offset)
{
	const struct gw_sass_kernel *k = l->kernel;
	struct gw_ir_insn load = {.op = IR_LD, .space = IR_SPACE_PARAM, .width = 4, .elements = 1};
	gw_ir_operand def, uses[2];
	uint64_t value;

	if (bank == 0 && k->param_base != UINT32_MAX && offset >= k->param_base &&
	    offset - k->param_base + 4 <= (k->param_bytes + 3u) / 4 * 4) {
		def = gw_ir_reg(&l->b, 32);
		uses[0] = gw_ir_const(&l->b, offset - k->param_base);
		uses[1] = gw_ir_const(&l->b, 0);
		gw_ir_append(&l->b, load, &def, 1, uses, 2);
		return def;
	}
	/* Bank 2 holds what compilers put there; what a loader fills in is zero in the file. */
	if (bank == 2 && gw_bytes_get(k->tables, offset, &value, 4) && value)
		return gw_ir_const(&l->b, value);
	/* Where the stack ends: a thread's local memory is its own, wherever it lies. */
	if (bank == 0 && k->stack && offset == (l->cfg->sm >= 100 ? 0x37c : 0x28))
		return gw_ir_const(&l->b, k->stack);
	def = bank == 0 ? extent(l, offset) : GW_IR_NONE;
	if (def == GW_IR_NONE && bank == 0)
		def = cluster(l, offset);
	if (def == GW_IR_NONE && bank == 0)
		def = window(l, offset);
	return def != GW_IR_NONE ? def : gw_lower_unknown(l, 32, "a constant that the driver sets");
}

/* A load by an index that is added: of the parameters, which lie in bank 0 and under no guard
 * (what lies outside of them is unknown to the evaluator), or of the program's own constants, whose
 * values are unknown, for a program sets them as it runs, but not where they lie. */
static bool load_indexed(struct gw_lowering *l, gw_ir_operand index, unsigned bank, unsigned offset,
			 gw_ir_operand defs[4])
{
	enum { PROGRAMS_BANK = 3 };
	const uint32_t base = l->kernel->param_base;
	unsigned bytes = l->insn.width / 8u, words = bytes > 4 ? bytes / 4 : 1;
	bool parameter = bank == 0 && base != UINT32_MAX;
	struct gw_ir_insn load = {.op = IR_LD,
				  .space = parameter ? IR_SPACE_PARAM : IR_SPACE_CONST};
	gw_ir_operand uses[2];

	if (!parameter && (bank != PROGRAMS_BANK || l->insn.op != GW_SASS_OP_LDC))
		return false;
	/* Sizes are numbered in pairs, of which the second has a sign. */
	load.flags = parameter && bytes < 4 && bit(l, 73) ? IR_MEM_SIGNED : 0;
	load.width = (uint8_t)(bytes / words);
	load.elements = (uint8_t)words;
	uses[0] = gw_ir_emit(&l->b, IR_SEXT, 32, 0, gw_ir_reg(&l->b, 64), 1, index);
	uses[1] = number(l, (uint64_t)(int16_t)offset - (parameter ? base : 0));
	for (unsigned i = 0; i < words; i++)
		defs[i] = gw_ir_reg(&l->b, 32);
	gw_ir_append(&l->b, load, defs, words, uses, 2);
	return true;
}

bool gw_lower_load_constant(struct gw_lowering *l)
{
	bool loose = l->insn.op == GW_SASS_OP_LDCU;
	unsigned at = loose ? 37 : 38, words = l->insn.width > 32 ? l->insn.width / 32u : 1;
	unsigned bank = (unsigned)gw_sass_bits(&l->insn, 54, 5);
	unsigned offset = (unsigned)gw_sass_bits(&l->insn, at, 16);
	gw_ir_operand index = number(l, 0), defs[4];
	bool scaled = l->insn.op == GW_SASS_OP_LDC && gw_sass_bits(&l->insn, 78, 2);

	gw_lower_note_table(l);
	if (l->insn.op == GW_SASS_OP_ULDC_R || loose)
		index = gw_lower_reg(l, 24, true);
	else if (l->insn.op == GW_SASS_OP_LDC)
		index = gw_lower_reg(l, 24, false);
	if (scaled || words > 4)
		return false; /* .IL, .IS and .ISL: another meaning of the index */
	if (gw_ir_is_constant(index) && l->insn.width >= 32) {
		for (unsigned i = 0; i < words; i++)
			defs[i] = gw_lower_constant(l, bank, offset + 4 * i);
	} else if (!load_indexed(l, index, bank, offset, defs)) {
		return false;
	}
	gw_lower_set_words(l, 16, uniform(l), defs, words);
	return true;
}
