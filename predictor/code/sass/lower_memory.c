#include "predictor/code/sass/lower_parts.h"

/* ---- addresses ---- */

static int64_t sign_extended(uint64_t field, unsigned bits)
{
	int64_t sign = INT64_C(1) << (bits - 1);

	return (int64_t)(field ^ (uint64_t)sign) - sign;
}

static int64_t offset_of(const struct gw_sass_insn *insn)
{
	return sign_extended(gw_sass_bits(insn, 40, 24), 24);
}

/* Global and generic: a pair of registers. Bit 91 brings a uniform register: from sm_80 on the
 * descriptor of the memory, on sm_75 a base, which is not modelled. */
static gw_ir_operand wide_address(struct gw_lowering *l)
{
	if (!gw_sass_bits(&l->insn, 72, 1) || (gw_sass_bits(&l->insn, 91, 1) && l->insn.sm < 80))
		return gw_lower_unknown(l, 64, "an address of a uniform base");
	return gw_lower_pair(l, 24, false);
}

/*
 * A word of shared memory that all lanes find by a uniform register alone, in a kernel whose copies
 * arrive in stages: some place. Which one says nothing of its banks; it hangs on the stage, and
 * would make each round of the loop another one.
 */
static gw_ir_operand some_place(struct gw_lowering *l)
{
	const struct gw_ir_symbol place = {.name = "a place in shared memory",
					   .space = IR_SPACE_GLOBAL};

	if (!l->place_known)
		l->place_known = gw_ir_add_symbol(&l->b, &place) + 1;
	return GW_LOWER(l, ADDR, 64, l->place_known - 1, 1, gw_ir_const(&l->b, 0));
}

static bool is_plain(const struct gw_sass_insn *insn)
{
	return insn->op == GW_SASS_OP_LDS || insn->op == GW_SASS_OP_STS;
}

static bool is_of_stage(const struct gw_lowering *l)
{
	return l->pipelined && l->insn.width == 32 && gw_sass_bits(&l->insn, 24, 8) == GW_SASS_RZ &&
	       gw_sass_bits(&l->insn, 91, 1) && is_plain(&l->insn);
}

/* Shared and local: a register, perhaps scaled (LDS [R.X4], bits 78-79; LDSM.MT88 has one of them),
 * and a uniform one. */
static gw_ir_operand narrow_address(struct gw_lowering *l)
{
	unsigned scale = (unsigned)gw_sass_bits(&l->insn, 78, 2);
	bool load = l->insn.cls == GW_SASS_LOAD;
	gw_ir_operand a;

	if (is_of_stage(l))
		return some_place(l);
	a = gw_lower_reg(l, 24, false);
	if (scale && is_plain(&l->insn))
		a = GW_LOWER(l, SHL, 32, 0, 2, a, gw_ir_const(&l->b, scale + 1));
	if (gw_sass_bits(&l->insn, 91, 1))
		a = GW_LOWER(l, ADD, 32, 0, 2, a, gw_lower_reg(l, load ? 32 : 64, true));
	return a;
}

static bool space_of(const struct gw_sass_insn *insn, enum gw_ir_space *space)
{
	switch (insn->space) {
	case GW_SASS_SPACE_GLOBAL:
		*space = IR_SPACE_GLOBAL;
		return true;
	case GW_SASS_SPACE_GENERIC:
		*space = IR_SPACE_GENERIC;
		return true;
	case GW_SASS_SPACE_SHARED:
		*space = IR_SPACE_SHARED;
		return true;
	case GW_SASS_SPACE_LOCAL:
		*space = IR_SPACE_LOCAL;
		return true;
	default:
		return false;
	}
}

/* The operation itself, under the guard; what it loads is unknown but of local memory. */
static bool access(struct gw_lowering *l, enum gw_ir_op op)
{
	const struct gw_sass_insn *in = &l->insn;
	unsigned bytes = in->width / 8u, elements = bytes > 4 ? bytes / 4 : 1;
	struct gw_ir_insn insn = {.op = (uint16_t)op, .elements = (uint8_t)elements};
	gw_ir_operand uses[6], defs[4];
	enum gw_ir_space space;
	bool local;

	if (!bytes || elements > 4 || !space_of(in, &space))
		return false;
	local = space == IR_SPACE_LOCAL;
	insn.space = (uint8_t)space;
	insn.width = (uint8_t)(bytes / elements);
	uses[0] = space == IR_SPACE_GLOBAL || space == IR_SPACE_GENERIC ? wide_address(l)
									: narrow_address(l);
	uses[1] = gw_ir_const(&l->b, (uint64_t)offset_of(in));
	/* Sizes are numbered in pairs, of which the second has a sign. */
	insn.flags = local && bytes < 4 && gw_sass_bits(in, 73, 1) ? IR_MEM_SIGNED : 0;
	for (unsigned i = 0; i < elements; i++) {
		uses[2 + i] = local ? gw_lower_word(l, 32, i)
				    : gw_lower_unknown(l, 32, "a value that is stored");
		defs[i] = gw_ir_reg(&l->b, 32);
	}
	if (in->op == GW_SASS_OP_LDSM || in->op == GW_SASS_OP_STSM) {
		/* Lanes 0 to 8n - 1 give the rows of n matrices, 16 bytes each. */
		insn.flags = IR_MEM_MATRIX;
	}
	gw_lower_append(l, insn, defs, op == IR_LD || op == IR_ATOM ? elements : 0, uses,
			op == IR_ST ? 2 + elements : 2);
	if (local && op == IR_LD)
		gw_lower_set_words(l, 16, false, defs, elements);
	else
		gw_lower_opaque(l, "it was loaded from memory");
	return true;
}

/* A copy from global to shared memory that goes on beside the warp: a load that no register waits
 * for, and a store. */
static bool copy(struct gw_lowering *l)
{
	unsigned bytes = l->insn.width / 8u, words = bytes / 4;
	struct gw_ir_insn load = {.op = IR_LD, .space = IR_SPACE_GLOBAL, .flags = IR_MEM_ASYNC};
	gw_ir_operand uses[6];

	if (words < 1 || words > 4 || l->insn.sm >= 100)
		return false;
	load.width = 4;
	load.elements = (uint8_t)words;
	/* A uniform register is the descriptor of the memory (bit 76), or a base. */
	uses[0] = gw_sass_bits(&l->insn, 91, 1) && !gw_sass_bits(&l->insn, 76, 1)
			  ? gw_lower_unknown(l, 64, "an address of a uniform base")
			  : gw_lower_pair(l, 24, false);
	uses[1] = gw_ir_const(&l->b, (uint64_t)sign_extended(gw_sass_bits(&l->insn, 32, 12), 12));
	gw_lower_append(l, load, NULL, 0, uses, 2);
	load.op = IR_ST;
	load.space = IR_SPACE_SHARED;
	uses[0] = gw_lower_reg(l, 16, false);
	uses[1] = gw_ir_const(&l->b, (uint64_t)sign_extended(gw_sass_bits(&l->insn, 44, 20), 20));
	for (unsigned i = 0; i < words; i++)
		uses[2 + i] = gw_lower_unknown(l, 32, "a value that is stored");
	gw_lower_append(l, load, NULL, 0, uses, 2 + words);
	return true;
}

/* Of an mbarrier, looking whether its phase is over; the other operations on it don't wait. */
static bool looks_at_phase(const struct gw_sass_insn *insn)
{
	return insn->op == GW_SASS_OP_SYNCS_WAIT &&
	       gw_sass_bits(insn, insn->sm >= 100 ? 76 : 70, 2) == 1;
}

static bool awaits(const struct gw_sass_insn *insn)
{
	return looks_at_phase(insn) || insn->op == GW_SASS_OP_USETMAXREG;
}

static void await(struct gw_lowering *l)
{
	gw_ir_operand def = gw_ir_reg(&l->b, 1);

	gw_ir_append(&l->b, (struct gw_ir_insn){.op = IR_AWAIT}, &def, 1, NULL, 0);
	gw_lower_set_predicate(l, 81, def);
}

bool gw_lower_acts(const struct gw_sass_insn *insn)
{
	switch (insn->cls) {
	case GW_SASS_INT:
	case GW_SASS_LOGIC:
	case GW_SASS_MOVE:
	case GW_SASS_PREDICATE:
	case GW_SASS_CONTROL: /* calls end blocks, and what they do is in others */
		return insn->op == GW_SASS_OP_CALL_ABS || insn->op == GW_SASS_OP_CALL_REL;
	case GW_SASS_LOAD:
		return insn->space != GW_SASS_SPACE_CONSTANT;
	default:
		return !awaits(insn) && insn->op != GW_SASS_OP_NOP;
	}
}

bool gw_lower_computes(const struct gw_sass_insn *insn)
{
	switch (insn->cls) {
	case GW_SASS_FP32:
	case GW_SASS_FP64:
	case GW_SASS_FP16:
	case GW_SASS_INT:
	case GW_SASS_LOGIC:
	case GW_SASS_SFU:
	case GW_SASS_CONVERT:
	case GW_SASS_MOVE:
	case GW_SASS_PREDICATE:
	case GW_SASS_CONTROL: /* what a called function does is in its blocks */
		return true;
	default:
		return false;
	}
}

static void barrier(struct gw_lowering *l, enum gw_ir_op op)
{
	struct gw_ir_insn insn = {.op = (uint16_t)op, .aux = IR_BARRIER_BLOCK};

	gw_lower_append(l, insn, NULL, 0, NULL, 0);
}

bool gw_lower_memory(struct gw_lowering *l)
{
	switch (l->insn.cls) {
	case GW_SASS_LOAD:
		return access(l, IR_LD);
	case GW_SASS_STORE:
		return access(l, IR_ST);
	case GW_SASS_ATOMIC:
		return access(l, IR_ATOM);
	case GW_SASS_REDUCTION:
		return access(l, IR_RED);
	default:
		break;
	}
	if (l->insn.op == GW_SASS_OP_BAR) {
		barrier(l, IR_BAR);
		return true;
	}
	if (l->insn.op == GW_SASS_OP_MEMBAR) {
		barrier(l, IR_FENCE);
		return true;
	}
	if (l->insn.op == GW_SASS_OP_LDGSTS)
		return copy(l);
	if (awaits(&l->insn)) {
		await(l);
		return true;
	}
	return gw_lower_tensor(l);
}
