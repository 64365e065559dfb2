/* Lowering comparisons, selections, moves and conversions. */
#include "predictor/code/ptx/lower.h"

#include <string.h>

/* The comparison among the opcode's suffixes; false: none that is followed. */
static bool condition(const struct gw_ptx_lower *l, enum gw_ir_cond *cond)
{
	static const struct {
		char name[4]; /* in place: a table of pointers is relocated in every process */
		enum gw_ir_cond signed_one, unsigned_one, float_one;
	} all[] = {
		{"eq", IR_COND_EQ, IR_COND_EQ, IR_COND_EQ},
		{"ne", IR_COND_NE, IR_COND_NE, IR_COND_NE},
		{"lt", IR_COND_LTS, IR_COND_LTU, IR_COND_LTS},
		{"le", IR_COND_LES, IR_COND_LEU, IR_COND_LES},
		{"gt", IR_COND_GTS, IR_COND_GTU, IR_COND_GTS},
		{"ge", IR_COND_GES, IR_COND_GEU, IR_COND_GES},
		{"lo", IR_COND_LTU, IR_COND_LTU, GW_IR_CONDS},
		{"ls", IR_COND_LEU, IR_COND_LEU, GW_IR_CONDS},
		{"hi", IR_COND_GTU, IR_COND_GTU, GW_IR_CONDS},
		{"hs", IR_COND_GEU, IR_COND_GEU, GW_IR_CONDS},
		{"equ", GW_IR_CONDS, GW_IR_CONDS, IR_COND_EQU},
		{"neu", GW_IR_CONDS, GW_IR_CONDS, IR_COND_NEU},
		{"ltu", GW_IR_CONDS, GW_IR_CONDS, IR_COND_LTU},
		{"leu", GW_IR_CONDS, GW_IR_CONDS, IR_COND_LEU},
		{"gtu", GW_IR_CONDS, GW_IR_CONDS, IR_COND_GTU},
		{"geu", GW_IR_CONDS, GW_IR_CONDS, IR_COND_GEU},
		{"num", GW_IR_CONDS, GW_IR_CONDS, IR_COND_NUM},
		{"nan", GW_IR_CONDS, GW_IR_CONDS, IR_COND_NAN},
	};

	for (size_t n = 0; l->i.parts > 1 && n < sizeof(all) / sizeof(*all); n++)
		if (!strcmp(l->i.part[1], all[n].name)) {
			*cond = l->i.type == 'f'   ? all[n].float_one
				: l->i.type == 's' ? all[n].signed_one
						   : all[n].unsigned_one;
			return *cond != GW_IR_CONDS;
		}
	return false;
}

static bool is_comparable(const struct gw_ptx_lower *l)
{
	if (l->i.type == 'f')
		return (l->i.bits == 32 || l->i.bits == 64) && !gw_ptx_has(l, "ftz");
	return l->i.type == 's' || l->i.type == 'u' || l->i.type == 'b';
}

/* Combine a comparison with a predicate: setp.lt.and.s32 p, a, b, c. */
static gw_ir_operand combine(struct gw_ptx_lower *l, gw_ir_operand p, uint32_t n)
{
	enum gw_ir_op op;

	if (gw_ptx_has(l, "and"))
		op = IR_AND;
	else if (gw_ptx_has(l, "or"))
		op = IR_OR;
	else if (gw_ptx_has(l, "xor"))
		op = IR_XOR;
	else
		return p;
	return gw_ir_emit(&l->b, op, 1, 0, gw_ir_reg(&l->b, 1), 2, p,
			  gw_ptx_use(l, gw_ptx_operand(l, n), 1));
}

/* The comparison of operands 1 and 2. */
static gw_ir_operand compare(struct gw_ptx_lower *l, enum gw_ir_cond cond)
{
	gw_ir_operand a = gw_ptx_use(l, gw_ptx_operand(l, 1), l->i.bits);
	gw_ir_operand b = gw_ptx_use(l, gw_ptx_operand(l, 2), l->i.bits);

	return gw_ir_emit(&l->b, l->i.type == 'f' ? IR_FCMP : IR_CMP, l->i.bits, cond,
			  gw_ir_reg(&l->b, 1), 2, a, b);
}

bool gw_ptx_setp(struct gw_ptx_lower *l)
{
	const struct gw_ptx_operand *to = gw_ptx_operand(l, 0);
	bool two = to->kind == PTX_OPERAND_PAIR;
	gw_ir_operand c, d, p, yes, no;
	enum gw_ir_cond cond;

	if (!is_comparable(l) || !condition(l, &cond))
		return gw_ptx_opaque(l, NULL);
	yes = gw_ptx_def(l, two ? gw_ptx_item(l, to, 0) : to);
	no = two ? gw_ptx_def(l, gw_ptx_item(l, to, 1)) : GW_IR_NONE;
	p = compare(l, cond);
	/* Both are combined before either is written: an operand may be one of them. */
	c = combine(l, p, 3);
	d = gw_ir_emit(&l->b, IR_NOT, 1, 0, gw_ir_reg(&l->b, 1), 1, p);
	d = combine(l, d, 3);
	gw_ir_emit(&l->b, IR_MOV, 1, 0, yes, 1, c);
	if (no != GW_IR_NONE)
		gw_ir_emit(&l->b, IR_MOV, 1, 0, no, 1, d);
	return true;
}

/* set: all ones or zero, or 1.0 or 0.0. The first type suffix is the result's. */
bool gw_ptx_set(struct gw_ptx_lower *l)
{
	gw_ir_operand p;
	enum gw_ir_cond cond;
	unsigned to_bits = 0;
	char to = 0;

	for (uint32_t n = 1; n < l->i.parts && !to; n++)
		to = gw_ptx_type(l->i.part[n], &to_bits);
	if (!is_comparable(l) || !condition(l, &cond) || to_bits != 32 || to == 'h')
		return gw_ptx_opaque(l, NULL);
	p = compare(l, cond);
	gw_ir_emit(&l->b, IR_SEL, 32, 0, gw_ptx_def(l, gw_ptx_operand(l, 0)), 3, combine(l, p, 3),
		   gw_ptx_number(l, to == 'f' ? 0x3f800000 : 0xffffffff), gw_ptx_number(l, 0));
	return true;
}

bool gw_ptx_selp(struct gw_ptx_lower *l)
{
	gw_ir_operand a, b, p;

	if (!l->i.bits || l->i.bits > 64)
		return gw_ptx_opaque(l, NULL);
	a = gw_ptx_use(l, gw_ptx_operand(l, 1), l->i.bits);
	b = gw_ptx_use(l, gw_ptx_operand(l, 2), l->i.bits);
	p = gw_ptx_use(l, gw_ptx_operand(l, 3), 1);
	gw_ir_emit(&l->b, IR_SEL, l->i.bits, 0, gw_ptx_def(l, gw_ptx_operand(l, 0)), 3, p, a, b);
	return true;
}

/* mov.b64 {a, b}, c: parts from the lowest up. */
static bool unpack(struct gw_ptx_lower *l, const struct gw_ptx_operand *to)
{
	unsigned each = to->count ? l->i.bits / to->count : 0;
	gw_ir_operand a;

	if (!each || l->i.bits > 64)
		return gw_ptx_opaque(l, NULL);
	a = gw_ptx_use(l, gw_ptx_operand(l, 1), l->i.bits);
	for (uint32_t n = 0; n < to->count; n++) {
		gw_ir_operand def = gw_ptx_def(l, gw_ptx_item(l, to, n)), part = a;

		if (def == GW_IR_NONE)
			continue;
		if (n)
			part = gw_ir_emit(&l->b, IR_SHRU, l->i.bits, 0,
					  gw_ir_reg(&l->b, l->i.bits > 32 ? 64 : 32), 2, a,
					  gw_ptx_number(l, (uint64_t)n * each));
		gw_ir_emit(&l->b, IR_ZEXT, each, 0, def, 1, part);
	}
	return true;
}

static bool pack(struct gw_ptx_lower *l, const struct gw_ptx_operand *from)
{
	unsigned each = from->count ? l->i.bits / from->count : 0;
	gw_ir_operand parts[4];

	if ((from->count != 2 && from->count != 4) || each < 8 || l->i.bits > 64)
		return gw_ptx_opaque(l, NULL);
	for (uint32_t n = 0; n < from->count; n++)
		parts[n] = gw_ptx_use(l, gw_ptx_item(l, from, n), each);
	for (uint32_t n = 0; from->count == 4 && n < 2; n++)
		parts[n] = gw_ir_emit(&l->b, IR_PACK, each, 0,
				      gw_ir_reg(&l->b, 2 * each > 16 ? 2 * each : 16), 2,
				      parts[2 * n], parts[2 * n + 1]);
	gw_ir_emit(&l->b, IR_PACK, l->i.bits / 2, 0, gw_ptx_def(l, gw_ptx_operand(l, 0)), 2,
		   parts[0], parts[1]);
	return true;
}

bool gw_ptx_mov(struct gw_ptx_lower *l)
{
	const struct gw_ptx_operand *to = gw_ptx_operand(l, 0), *from = gw_ptx_operand(l, 1);
	gw_ir_operand def, a;

	if (to->kind == PTX_OPERAND_LIST)
		return unpack(l, to);
	if (from->kind == PTX_OPERAND_LIST)
		return pack(l, from);
	if (!l->i.bits || l->i.bits > 64)
		return gw_ptx_opaque(l, NULL);
	def = gw_ptx_def(l, to);
	a = gw_ptx_use(l, from, l->i.bits);
	gw_ir_emit(&l->b, IR_MOV, l->i.bits, 0, def, 1, a);
	return true;
}

static unsigned rounding(const struct gw_ptx_lower *l, bool *integral)
{
	static const struct {
		char name[4];
		enum gw_ir_round round;
		bool integral;
	} all[] = {
		{"rn", IR_ROUND_NEAREST, false}, {"rz", IR_ROUND_ZERO, false},
		{"rm", IR_ROUND_DOWN, false},    {"rp", IR_ROUND_UP, false},
		{"rni", IR_ROUND_NEAREST, true}, {"rzi", IR_ROUND_ZERO, true},
		{"rmi", IR_ROUND_DOWN, true},    {"rpi", IR_ROUND_UP, true},
	};

	*integral = false;
	for (size_t n = 0; n < sizeof(all) / sizeof(*all); n++)
		if (gw_ptx_has(l, all[n].name)) {
			*integral = all[n].integral;
			return all[n].round;
		}
	return IR_ROUND_NEAREST;
}

/* An integer into another: cut or extended by the source's sign, and clamped where asked. */
static void convert_integer(struct gw_ptx_lower *l, char to, unsigned to_bits, char from,
			    unsigned from_bits)
{
	gw_ir_operand a = gw_ptx_use(l, gw_ptx_operand(l, 1), from_bits);
	gw_ir_operand def = gw_ptx_def(l, gw_ptx_operand(l, 0));
	bool from_signed = from == 's', to_signed = to == 's';

	if (gw_ptx_has(l, "sat")) {
		enum gw_ir_op op = from_signed ? (to_signed ? IR_SATS : IR_SATSU)
					       : (to_signed ? IR_SATUS : IR_SATU);

		a = gw_ir_emit(&l->b, op, to_bits, from_bits, gw_ir_reg(&l->b, 64), 1, a);
		from_bits = to_bits;
		from_signed = to_signed;
	}
	/* What is narrower than the register it goes to is extended by the destination's sign. */
	if (to_bits < from_bits) {
		from_bits = to_bits;
		from_signed = to_signed;
	}
	gw_ir_emit(&l->b, from_signed ? IR_SEXT : IR_ZEXT, from_bits, 0, def, 1, a);
}

static bool convert_float(struct gw_ptx_lower *l, char to, unsigned to_bits, char from,
			  unsigned from_bits)
{
	gw_ir_operand a, def = gw_ptx_def(l, gw_ptx_operand(l, 0));
	bool integral, to_float = to == 'f';
	unsigned round = rounding(l, &integral), aux = from_bits | round << 8;

	if (gw_ptx_has(l, "ftz") || (gw_ptx_has(l, "sat") && to_float) || gw_ptx_has(l, "relu") ||
	    (to_float && to_bits < 32) || (from == 'f' && from_bits < 32))
		return gw_ptx_opaque(l, NULL);
	a = gw_ptx_use(l, gw_ptx_operand(l, 1), from_bits);
	if (from == 'f' && to_float && integral) {
		if (from_bits != to_bits)
			return gw_ptx_opaque(l, NULL);
		gw_ir_emit(&l->b, IR_FRINT, to_bits, round, def, 1, a);
	} else if (from == 'f' && to_float) {
		gw_ir_emit(&l->b, IR_F2F, to_bits, aux, def, 1, a);
	} else if (from == 'f') {
		gw_ir_emit(&l->b, to == 's' ? IR_F2S : IR_F2U, to_bits, aux, def, 1, a);
	} else {
		gw_ir_emit(&l->b, from == 's' ? IR_S2F : IR_U2F, to_bits, aux, def, 1, a);
	}
	return true;
}

bool gw_ptx_cvt(struct gw_ptx_lower *l)
{
	char types[2] = {0, 0};
	unsigned bits[2] = {0, 0}, found = 0;

	for (uint32_t n = 1; n < l->i.parts && found < 2; n++) {
		types[found] = gw_ptx_type(l->i.part[n], &bits[found]);
		found += types[found] != 0;
	}
	if (found < 2 || types[0] == 'h' || types[1] == 'h' || l->i.count != 2 ||
	    gw_ptx_has(l, "pack"))
		return gw_ptx_opaque(l, NULL);
	if (types[0] == 'f' || types[1] == 'f')
		return convert_float(l, types[0], bits[0], types[1], bits[1]);
	convert_integer(l, types[0], bits[0], types[1], bits[1]);
	return true;
}

static bool space_part(const struct gw_ptx_lower *l, enum gw_ir_space *space)
{
	static const struct {
		char name[16];
		enum gw_ir_space space;
	} all[] = {
		{"global", IR_SPACE_GLOBAL},      {"shared", IR_SPACE_SHARED},
		{"shared::cta", IR_SPACE_SHARED}, {"shared::cluster", IR_SPACE_CLUSTER},
		{"local", IR_SPACE_LOCAL},        {"const", IR_SPACE_CONST},
		{"param", IR_SPACE_PARAM},        {"param::entry", IR_SPACE_PARAM},
	};

	for (size_t n = 0; n < sizeof(all) / sizeof(*all); n++)
		if (gw_ptx_has(l, all[n].name)) {
			*space = all[n].space;
			return true;
		}
	return false;
}

bool gw_ptx_cvta(struct gw_ptx_lower *l)
{
	struct gw_ir_insn insn = {.op = gw_ptx_has(l, "to") ? IR_FROMGEN : IR_TOGEN,
				  .bits = (uint8_t)l->i.bits};
	enum gw_ir_space space;
	gw_ir_operand a, def;

	if (!space_part(l, &space))
		return gw_ptx_opaque(l, NULL);
	insn.space = (uint8_t)space;
	a = gw_ptx_use(l, gw_ptx_operand(l, 1), l->i.bits);
	def = gw_ptx_def(l, gw_ptx_operand(l, 0));
	gw_ir_append(&l->b, insn, &def, 1, &a, 1);
	return true;
}

bool gw_ptx_isspacep(struct gw_ptx_lower *l)
{
	struct gw_ir_insn insn = {.op = IR_ISSPACE, .bits = 64};
	enum gw_ir_space space;
	gw_ir_operand a, def;

	if (!space_part(l, &space))
		return gw_ptx_opaque(l, NULL);
	insn.space = (uint8_t)space;
	a = gw_ptx_use(l, gw_ptx_operand(l, 1), 64);
	def = gw_ptx_def(l, gw_ptx_operand(l, 0));
	gw_ir_append(&l->b, insn, &def, 1, &a, 1);
	return true;
}
