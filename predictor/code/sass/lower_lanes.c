/* Exchange between the lanes of a warp, counts of bits, and predicates kept in registers. */
#include "predictor/code/sass/lower_source.h"

/* The places of all lanes' predicates, as P2R and R2P number them. */
enum { PREDICATES = 7, INVERT = 63 };

/* Up, down, butterfly or by index; where lane and segment are numbers, these stand in the code. */
static bool shuffle(struct gw_lowering *l)
{
	static const uint8_t modes[4] = {3, 0, 1, 2}; /* as IR_SHFL has them */
	struct gw_ir_insn insn = {.op = IR_SHFL, .bits = 32};
	gw_ir_operand uses[3], defs[2];
	unsigned form = l->insn.form;

	if (form != 1 && form != 2 && form != 4 && form != 7)
		return false;
	insn.aux = modes[gw_sass_bits(&l->insn, 58, 2)];
	uses[0] = gw_lower_reg(l, 24, false);
	uses[1] = form == 1 || form == 2 ? gw_lower_reg(l, 32, false)
					 : number(l, gw_sass_bits(&l->insn, 53, 5));
	uses[2] = form == 1 || form == 4 ? gw_lower_reg(l, 64, false)
					 : number(l, gw_sass_bits(&l->insn, 40, 13));
	defs[0] = gw_ir_reg(&l->b, 32);
	defs[1] = gw_ir_reg(&l->b, 1);
	gw_lower_append(l, insn, defs, 2, uses, 3);
	gw_lower_set(l, 16, false, defs[0]);
	gw_lower_set_predicate(l, 81, defs[1]);
	return true;
}

/* An operation of the lanes whose guard holds, and of no others. */
static gw_ir_operand among_lanes(struct gw_lowering *l, unsigned mode, unsigned bits,
				 gw_ir_operand of)
{
	const struct gw_ir_insn insn = {
		.op = IR_VOTE, .bits = (uint8_t)bits, .aux = (uint16_t)mode};
	gw_ir_operand def = gw_ir_reg(&l->b, bits);

	gw_lower_append(l, insn, &def, 1, &of, 1);
	return def;
}

void gw_lower_to_uniform(struct gw_lowering *l)
{
	enum { BALLOT = 3, BY_INDEX = 3, WHOLE_WARP = 31 };
	gw_ir_operand from = gw_lower_reg(l, 24, false), guard = l->guard, held, lane, value, any;
	bool guard_not = l->guard_not;

	if (guard == GW_IR_NONE) {
		gw_lower_set(l, 16, true, from);
		return;
	}
	held = guard_not ? GW_LOWER(l, NOT, 1, 0, 1, guard) : guard;
	held = GW_LOWER(l, VOTE, 32, BALLOT, 1, held);
	lane = GW_LOWER(l, CLZ, 32, 0, 1, GW_LOWER(l, BREV, 32, 0, 1, held));
	value = gw_ir_reg(&l->b, 32);
	any = gw_ir_reg(&l->b, 1); /* whether the lane is one: decides nothing */
	gw_ir_append(&l->b, (struct gw_ir_insn){.op = IR_SHFL, .bits = 32, .aux = BY_INDEX},
		     (gw_ir_operand[]){value, any}, 2,
		     (gw_ir_operand[]){from, lane, number(l, WHOLE_WARP)}, 3);
	any = GW_LOWER(l, CMP, 32, IR_COND_NE, 2, held, number(l, 0));
	l->guard = GW_IR_NONE;
	gw_lower_set(l, 16, true,
		     GW_LOWER(l, SEL, 32, 0, 3, any, value, gw_lower_reg(l, 16, true)));
	l->guard = guard;
}

/* A ballot, and whether all, any or equally many of the lanes say so. */
static bool vote(struct gw_lowering *l)
{
	enum { BALLOT = 3 };
	unsigned mode = (unsigned)gw_sass_bits(&l->insn, 72, 2);
	bool to_uniform = l->insn.op == GW_SASS_OP_VOTEU;
	gw_ir_operand of = gw_lower_predicate(l, 87, 90);

	if (mode > 2)
		return false;
	gw_lower_set(l, 16, to_uniform, among_lanes(l, BALLOT, 32, of));
	if (gw_sass_bits(&l->insn, 81, 3) == GW_SASS_PT)
		return true;
	of = among_lanes(l, mode, 1, of);
	l->insn.guard_uniform = to_uniform;
	gw_lower_set_predicate(l, 81, of);
	l->insn.guard_uniform = false;
	return true;
}

/* The lowest of the lanes; with a mask of lanes it may be another one. */
static bool elect(struct gw_lowering *l)
{
	struct gw_ir_insn insn = {.op = IR_ELECT, .bits = 32};
	gw_ir_operand defs[2] = {gw_ir_reg(&l->b, 32), gw_ir_reg(&l->b, 1)};

	gw_lower_append(l, insn, defs, 2, NULL, 0);
	gw_lower_set(l, 16, true, defs[0]);
	gw_lower_set_predicate(l, 81, defs[1]);
	return true;
}

static gw_ir_operand inverted(struct gw_lowering *l)
{
	gw_ir_operand value = low_source(l);

	return bit(l, INVERT) && !immediate(l) ? GW_LOWER(l, NOT, 32, 0, 1, value) : value;
}

/* The place of the first one bit, or of the first bit that is no sign; or how far from the top. */
static void find_leading(struct gw_lowering *l)
{
	gw_ir_operand of = inverted(l), at, found;

	at = bit(l, SIGNED) ? GW_LOWER(l, BFINDS, 32, 0, 1, of) : GW_LOWER(l, BFINDU, 32, 0, 1, of);
	found = GW_LOWER(l, CMP, 32, IR_COND_NE, 2, at, number(l, UINT32_MAX));
	if (bit(l, 74))
		at = GW_LOWER(l, SEL, 32, 0, 3, found,
			      GW_LOWER(l, SUB, 32, 0, 2, number(l, 31), at), number(l, UINT32_MAX));
	gw_lower_set(l, 16, uniform(l), at);
	gw_lower_set_predicate(l, 81, found);
}

/* One of its four bytes is what P2R and R2P are about. */
static unsigned byte_at(const struct gw_lowering *l)
{
	return 8 * (unsigned)gw_sass_bits(&l->insn, 76, 2);
}

static bool from_predicates(struct gw_lowering *l)
{
	uint64_t mask = gw_sass_bits(&l->insn, 32, 32);
	unsigned at = byte_at(l);
	gw_ir_operand value;

	if (l->insn.form != 4 || mask >> PREDICATES)
		return false;
	value = GW_LOWER(l, AND, 32, 0, 2, gw_lower_reg(l, 24, false),
			 number(l, ~(mask << at) & UINT32_MAX));
	for (unsigned i = 0; i < PREDICATES; i++)
		if (mask >> i & 1)
			value = GW_LOWER(l, OR, 32, 0, 2, value,
					 GW_LOWER(l, SEL, 32, 0, 3, gw_lower_predicate_number(l, i),
						  number(l, UINT64_C(1) << (i + at)),
						  number(l, 0)));
	gw_lower_set(l, 16, false, value);
	return true;
}

static bool to_predicates(struct gw_lowering *l)
{
	uint64_t mask = gw_sass_bits(&l->insn, 32, 32);
	gw_ir_operand from = gw_lower_reg(l, 24, false), is;

	if (l->insn.form != 4 || mask >> PREDICATES)
		return false;
	for (unsigned i = 0; i < PREDICATES; i++) {
		if (!(mask >> i & 1))
			continue;
		is = GW_LOWER(l, AND, 32, 0, 2, from, number(l, UINT64_C(1) << (i + byte_at(l))));
		is = GW_LOWER(l, CMP, 32, IR_COND_NE, 2, is, number(l, 0));
		gw_lower_set_predicate_number(l, i, is);
	}
	return true;
}

bool gw_lower_lanes(struct gw_lowering *l)
{
	switch (l->insn.op) {
	case GW_SASS_OP_SHFL:
		return shuffle(l);
	case GW_SASS_OP_VOTE:
	case GW_SASS_OP_VOTEU:
		return vote(l);
	case GW_SASS_OP_ELECT:
		return elect(l);
	case GW_SASS_OP_FLO:
	case GW_SASS_OP_UFLO:
		find_leading(l);
		return true;
	case GW_SASS_OP_POPC:
	case GW_SASS_OP_UPOPC:
		gw_lower_set(l, 16, uniform(l), GW_LOWER(l, POPC, 32, 0, 1, inverted(l)));
		return true;
	case GW_SASS_OP_BREV:
	case GW_SASS_OP_UBREV:
		gw_lower_set(l, 16, uniform(l), GW_LOWER(l, BREV, 32, 0, 1, low_source(l)));
		return true;
	case GW_SASS_OP_P2R:
		return from_predicates(l);
	case GW_SASS_OP_R2P:
		return to_predicates(l);
	default:
		return false;
	}
}
