/* One lane's arithmetic at its edges, as PTX defines it. */
#include "predictor/code/eval/state.h"
#include "tests/random.h"
#include "tests/test.h"

struct row {
	enum gw_ir_op op;
	unsigned bits, aux, to;
	uint64_t in[4], out;
};

#define M32              UINT64_C(0xffffffff)
#define MIN32            UINT64_C(0x80000000)
#define M64              UINT64_MAX
#define MIN64            (UINT64_C(1) << 63)
#define NONE             UINT64_C(0xdeadbeefdeadbeef) /* the result is not defined */
#define ROUND(how, bits) ((unsigned)(how) << 8 | (bits))

static uint64_t f32(float f)
{
	uint32_t v;

	memcpy(&v, &f, sizeof(v));
	return v;
}

static uint64_t f64(double d)
{
	uint64_t v;

	memcpy(&v, &d, sizeof(v));
	return v;
}

static void check(const struct row *rows, size_t count)
{
	for (size_t n = 0; n < count; n++) {
		const struct row *r = &rows[n];
		uint64_t out = NONE;
		bool defined = gw_scalar(r->op, r->bits, r->aux, r->to, r->in, &out);

		if (defined != (r->out != NONE) || (defined && out != r->out))
			fail_msg("row %zu, %s.%u: %#llx, expected %#llx", n, gw_ir_op_name(r->op),
				 r->bits, (unsigned long long)out, (unsigned long long)r->out);
	}
}

#define CHECK(...) \
	do { \
		const struct row rows[] = {__VA_ARGS__}; \
		check(rows, sizeof(rows) / sizeof(*rows)); \
	} while (0)

TEST(sums_wrap_and_carry)
{
	CHECK({IR_ADD, 32, 0, 32, {M32, 2}, 1}, {IR_SUB, 32, 0, 32, {0, 1}, M32},
	      {IR_ADD, 64, 0, 64, {M64, 2}, 1}, {IR_ADD, 16, 0, 16, {0xffff, 1}, 0},
	      {IR_CARRY, 32, 0, 1, {M32, 1, 0}, 1}, {IR_CARRY, 32, 0, 1, {M32, 0, 0}, 0},
	      {IR_CARRY, 32, 0, 1, {M32, 0, 1}, 1}, {IR_CARRY, 64, 0, 1, {M64, M64, 1}, 1},
	      {IR_BORROW, 32, 0, 1, {0, 1, 0}, 1}, {IR_BORROW, 32, 0, 1, {1, 1, 0}, 0},
	      {IR_BORROW, 32, 0, 1, {1, 1, 1}, 1}, {IR_BORROW, 64, 0, 1, {0, M64, 1}, 1},
	      {IR_ABS, 32, 0, 32, {M32}, 1}, {IR_ABS, 32, 0, 32, {MIN32}, MIN32});
}

TEST(products_keep_the_half_asked_for)
{
	CHECK({IR_MUL, 32, 0, 32, {0x10001, 0x10001}, 0x20001},
	      {IR_MULHS, 32, 0, 32, {M32, M32}, 0}, {IR_MULHU, 32, 0, 32, {M32, M32}, 0xfffffffe},
	      {IR_MULHS, 32, 0, 32, {MIN32, 2}, M32}, {IR_MULHU, 64, 0, 64, {M64, M64}, M64 - 1},
	      {IR_MULHS, 64, 0, 64, {M64, 5}, M64}, {IR_MULWS, 32, 0, 64, {M32, 4}, M64 - 3},
	      {IR_MULWU, 32, 0, 64, {M32, 4}, 4 * M32},
	      {IR_MULWS, 16, 0, 32, {0x8000, 0x8000}, 0x40000000},
	      {IR_MULWS, 16, 0, 32, {0xffff, 1}, M32});
}

TEST(division_is_towards_zero_or_not_defined)
{
	CHECK({IR_DIVS, 32, 0, 32, {0xfffffff9, 2}, 0xfffffffd},
	      {IR_REMS, 32, 0, 32, {0xfffffff9, 2}, M32}, {IR_REMS, 32, 0, 32, {7, 0xfffffffe}, 1},
	      {IR_DIVU, 32, 0, 32, {0xfffffff9, 2}, 0x7ffffffc}, {IR_DIVS, 32, 0, 32, {1, 0}, NONE},
	      {IR_DIVU, 64, 0, 64, {1, 0}, NONE}, {IR_REMS, 32, 0, 32, {1, 0}, NONE},
	      {IR_REMU, 32, 0, 32, {1, 0}, NONE}, {IR_DIVS, 32, 0, 32, {MIN32, M32}, NONE},
	      {IR_DIVS, 64, 0, 64, {MIN64, M64}, NONE}, {IR_DIVU, 32, 0, 32, {MIN32, M32}, 0});
}

TEST(shifts_clamp_their_amount)
{
	CHECK({IR_SHL, 32, 0, 32, {1, 31}, MIN32}, {IR_SHL, 32, 0, 32, {1, 32}, 0},
	      {IR_SHL, 32, 0, 32, {1, M32}, 0}, {IR_SHL, 64, 0, 64, {1, 32}, UINT64_C(1) << 32},
	      {IR_SHRU, 32, 0, 32, {MIN32, 31}, 1}, {IR_SHRU, 32, 0, 32, {MIN32, 32}, 0},
	      {IR_SHRS, 32, 0, 32, {MIN32, 31}, M32}, {IR_SHRS, 32, 0, 32, {MIN32, 1000}, M32},
	      {IR_SHRS, 32, 0, 32, {0x7fffffff, 1000}, 0}, {IR_SHRS, 64, 0, 64, {MIN64, 63}, M64},
	      {IR_SHRS, 16, 0, 16, {0x8000, 4}, 0xf800});
}

TEST(fields_are_taken_out_and_put_in)
{
	CHECK({IR_BFEU, 32, 0, 32, {0xabcd1234, 8, 8}, 0x12},
	      {IR_BFES, 32, 0, 32, {0xabcd8234, 8, 8}, 0xffffff82},
	      {IR_BFEU, 32, 0, 32, {0xabcd1234, 8, 0}, 0},
	      {IR_BFEU, 32, 0, 32, {0xabcd1234, 40, 8}, 0},
	      {IR_BFES, 32, 0, 32, {0xabcd1234, 40, 8}, M32},
	      {IR_BFES, 32, 0, 32, {0x80000000, 28, 8}, 0xfffffff8},
	      {IR_BFEU, 64, 0, 64, {M64, 60, 32}, 15},
	      {IR_BFEU, 32, 0, 32, {0xabcd1234, 0x108, 0x108}, 0x12}, /* eight bits count */
	      {IR_BFI, 32, 0, 32, {0xff, 0, 4, 4}, 0xf0},
	      {IR_BFI, 32, 0, 32, {0, M32, 8, 8}, 0xffff00ff},
	      {IR_BFI, 32, 0, 32, {0xff, 5, 32, 4}, 5}, {IR_BFI, 32, 0, 32, {0xff, 5, 0, 0}, 5},
	      {IR_BFI, 32, 0, 32, {0xff, 0, 28, 32}, 0xf0000000},
	      {IR_PACK, 32, 0, 64, {1, 2}, UINT64_C(0x200000001)},
	      {IR_PACK, 16, 0, 32, {0xffff, 1}, 0x1ffff});
}

TEST(bytes_and_bits_are_permuted)
{
	const uint64_t a = 0x33221100, b = 0x77665544;

	CHECK({IR_PRMT, 32, 0, 32, {a, b, 0x7531}, 0x77553311},
	      {IR_PRMT, 32, 0, 32, {0x80, 0, 0x0008}, 0x808080ff},
	      {IR_PRMT, 32, 1, 32, {a, b, 1}, 0x44332211}, /* f4e */
	      {IR_PRMT, 32, 2, 32, {a, b, 1}, 0x66770011}, /* b4e */
	      {IR_PRMT, 32, 3, 32, {a, b, 2}, 0x22222222}, /* rc8 */
	      {IR_PRMT, 32, 4, 32, {a, b, 2}, 0x33222222}, /* ecl */
	      {IR_PRMT, 32, 5, 32, {a, b, 2}, 0x22221100}, /* ecr */
	      {IR_PRMT, 32, 6, 32, {a, b, 1}, 0x33223322}, /* rc16 */
	      {IR_LOP3, 32, 0x80, 32, {12, 10, 6}, 0}, {IR_LOP3, 32, 0xC0, 32, {12, 10, 0}, 8},
	      {IR_LOP3, 32, 0x96, 32, {12, 10, 6}, 0}, {IR_LOP3, 32, 0xFE, 32, {8, 2, 1}, 11},
	      {IR_LOP3, 32, 0x01, 32, {0, 0, 0}, M32}, {IR_BREV, 32, 0, 32, {1}, MIN32},
	      {IR_BREV, 64, 0, 64, {2}, UINT64_C(1) << 62}, {IR_CLZ, 32, 0, 32, {0}, 32},
	      {IR_CLZ, 64, 0, 32, {1}, 63}, {IR_POPC, 64, 0, 32, {M64}, 64},
	      {IR_POPC, 32, 0, 32, {M64}, 32}, {IR_BFINDU, 32, 0, 32, {0}, M32},
	      {IR_BFINDU, 32, 0, 32, {0x90}, 7}, {IR_BFINDS, 32, 0, 32, {M32}, M32},
	      {IR_BFINDS, 32, 0, 32, {0xfffffff0}, 3});
}

TEST(widths_change_by_sign_and_clamp)
{
	CHECK({IR_SEXT, 8, 0, 32, {0x80}, 0xffffff80}, {IR_ZEXT, 8, 0, 32, {0x1280}, 0x80},
	      {IR_SEXT, 32, 0, 64, {MIN32}, UINT64_C(0xffffffff80000000)},
	      {IR_ZEXT, 32, 0, 32, {M64}, M32}, {IR_SATS, 8, 32, 64, {1000}, 127},
	      {IR_SATS, 8, 32, 64, {(uint64_t)-1000 & M32}, 0x80}, {IR_SATU, 8, 32, 64, {M32}, 255},
	      {IR_SATSU, 8, 32, 64, {M32}, 0}, {IR_SATSU, 16, 32, 64, {70000}, 65535},
	      {IR_SATUS, 32, 32, 64, {M32}, 0x7fffffff}, {IR_SATS, 32, 64, 64, {MIN64}, MIN32});
}

TEST(integers_compare_by_sign)
{
	CHECK({IR_CMP, 32, IR_COND_LTS, 1, {M32, 0}, 1}, {IR_CMP, 32, IR_COND_LTU, 1, {M32, 0}, 0},
	      {IR_CMP, 32, IR_COND_LES, 1, {5, 5}, 1}, {IR_CMP, 32, IR_COND_LEU, 1, {6, 5}, 0},
	      {IR_CMP, 32, IR_COND_GTS, 1, {0, M32}, 1}, {IR_CMP, 32, IR_COND_GTU, 1, {0, M32}, 0},
	      {IR_CMP, 32, IR_COND_GES, 1, {5, 6}, 0}, {IR_CMP, 32, IR_COND_GEU, 1, {M32, 6}, 1},
	      {IR_CMP, 32, IR_COND_EQ, 1, {UINT64_C(1) << 32, 0}, 1}, /* the low 32 bits */
	      {IR_CMP, 64, IR_COND_EQ, 1, {UINT64_C(1) << 32, 0}, 0},
	      {IR_CMP, 16, IR_COND_NE, 1, {0x10001, 1}, 0}, {IR_MINS, 32, 0, 32, {M32, 1}, M32},
	      {IR_MINU, 32, 0, 32, {M32, 1}, 1}, {IR_MAXS, 32, 0, 32, {M32, 1}, 1},
	      {IR_MAXU, 32, 0, 32, {M32, 1}, M32}, {IR_SEL, 32, 0, 32, {1, 7, 8}, 7},
	      {IR_SEL, 32, 0, 32, {0, 7, 8}, 8}, {IR_NOT, 1, 0, 1, {1}, 0});
}

TEST(a_comparison_with_no_number_is_ordered_or_not)
{
	const uint64_t nan = 0x7fc00000, one = f32(1), two = f32(2);

	for (unsigned cond = 0; cond < GW_IR_CONDS; cond++) {
		bool unordered_holds = cond == IR_COND_LTU || cond == IR_COND_LEU ||
				       cond == IR_COND_GTU || cond == IR_COND_GEU ||
				       cond == IR_COND_EQU || cond == IR_COND_NEU ||
				       cond == IR_COND_NAN;

		CHECK({IR_FCMP, 32, cond, 1, {nan, one}, unordered_holds},
		      {IR_FCMP, 32, cond, 1, {one, nan}, unordered_holds});
	}
	CHECK({IR_FCMP, 32, IR_COND_LTS, 1, {one, two}, 1},
	      {IR_FCMP, 32, IR_COND_GTU, 1, {one, two}, 0},
	      {IR_FCMP, 32, IR_COND_EQ, 1, {0, MIN32}, 1}, /* 0 == -0 */
	      {IR_FCMP, 64, IR_COND_NE, 1, {f64(1), f64(2)}, 1},
	      {IR_FCMP, 32, IR_COND_NUM, 1, {one, two}, 1});
}

TEST(floats_round_to_nearest)
{
	CHECK({IR_FADD, 32, 0, 32, {f32(0x1p24f), f32(1)}, f32(0x1p24f)},
	      {IR_FADD, 64, 0, 64, {f64(0x1p24), f64(1)}, f64(0x1p24 + 1)},
	      {IR_FMUL, 32, 0, 32, {f32(3), f32(-0.5f)}, f32(-1.5f)},
	      {IR_FFMA,
	       32,
	       0,
	       32,
	       {f32(0x1.0008p0f), f32(0x1.0008p0f), f32(-0x1.001p0f)},
	       f32(0x1p-26f)},
	      {IR_FDIV, 32, 0, 32, {f32(1), f32(3)}, f32(1.0f / 3)},
	      {IR_FDIV, 32, 0, 32, {f32(1), 0}, 0x7f800000},
	      {IR_FDIV, 32, 0, 32, {0, 0}, 0x7fffffff},
	      {IR_FSQRT, 64, 0, 64, {f64(2)}, f64(0x1.6a09e667f3bcdp0)},
	      {IR_FMIN, 32, 0, 32, {0x7fc00000, f32(3)}, f32(3)},
	      {IR_FMAX, 32, 0, 32, {MIN32, 0}, 0}, {IR_FMIN, 32, 0, 32, {0, MIN32}, MIN32},
	      {IR_FNEG, 32, 0, 32, {f32(1)}, f32(-1)}, {IR_FABS, 64, 0, 64, {f64(-1)}, f64(1)},
	      {IR_FSAT, 32, 0, 32, {0x7fc00000}, 0}, {IR_FSAT, 32, 0, 32, {f32(7)}, f32(1)});
}

TEST(conversions_round_as_asked_and_clamp)
{
	CHECK({IR_F2S, 32, ROUND(IR_ROUND_ZERO, 32), 32, {f32(-1.9f)}, M32},
	      {IR_F2S, 32, ROUND(IR_ROUND_DOWN, 32), 32, {f32(-1.1f)}, M32 - 1},
	      {IR_F2S, 32, ROUND(IR_ROUND_UP, 32), 32, {f32(1.1f)}, 2},
	      {IR_F2S, 32, ROUND(IR_ROUND_NEAREST, 32), 32, {f32(2.5f)}, 2},
	      {IR_F2S, 32, ROUND(IR_ROUND_ZERO, 32), 32, {f32(1e20f)}, 0x7fffffff},
	      {IR_F2S, 32, ROUND(IR_ROUND_ZERO, 32), 32, {f32(-1e20f)}, MIN32},
	      {IR_F2S, 32, ROUND(IR_ROUND_ZERO, 32), 32, {0x7fc00000}, 0},
	      {IR_F2S, 64, ROUND(IR_ROUND_ZERO, 32), 64, {0x7fc00000}, MIN64},
	      {IR_F2U, 32, ROUND(IR_ROUND_ZERO, 64), 32, {f64(-3)}, 0},
	      {IR_F2U, 32, ROUND(IR_ROUND_ZERO, 64), 32, {f64(5e9)}, M32},
	      {IR_F2U, 64, ROUND(IR_ROUND_ZERO, 64), 64, {f64(0x1p63)}, MIN64},
	      {IR_S2F, 32, ROUND(IR_ROUND_NEAREST, 32), 32, {0x1000001}, f32(0x1p24f)},
	      {IR_S2F, 32, ROUND(IR_ROUND_UP, 32), 32, {0x1000001}, f32(0x1p24f + 2)},
	      {IR_S2F, 32, ROUND(IR_ROUND_UP, 32), 32, {(uint64_t)-0x1000001 & M32}, f32(-0x1p24f)},
	      {IR_S2F,
	       32,
	       ROUND(IR_ROUND_DOWN, 32),
	       32,
	       {(uint64_t)-0x1000001 & M32},
	       f32(-0x1p24f - 2)},
	      {IR_U2F, 32, ROUND(IR_ROUND_ZERO, 32), 32, {M32}, f32(0x1.fffffep31f)},
	      {IR_U2F, 32, ROUND(IR_ROUND_NEAREST, 64), 32, {M64}, f32(0x1p64f)},
	      {IR_U2F, 64, ROUND(IR_ROUND_ZERO, 64), 64, {M64}, f64(0x1.fffffffffffffp63)},
	      {IR_S2F, 64, ROUND(IR_ROUND_NEAREST, 64), 64, {MIN64}, f64(-0x1p63)},
	      {IR_F2F, 32, ROUND(IR_ROUND_ZERO, 64), 32, {f64(1.0 / 3)}, f32(0x1.555554p-2f)},
	      {IR_F2F, 32, ROUND(IR_ROUND_UP, 64), 32, {f64(1.0 / 3)}, f32(0x1.555556p-2f)},
	      {IR_F2F, 64, ROUND(IR_ROUND_NEAREST, 32), 64, {f32(1.5f)}, f64(1.5)},
	      {IR_FRINT, 32, IR_ROUND_DOWN, 32, {f32(-0.5f)}, f32(-1)},
	      {IR_FRINT, 32, IR_ROUND_NEAREST, 32, {f32(0.5f)}, 0});
}

/* Numbers of which a good part lies at an edge. */
static uint64_t number(uint64_t *seed)
{
	static const uint64_t edges[] = {0,        1,     2,   31,    32,  33,
					 M32 >> 1, MIN32, M32, MIN64, M64, M64 - 1};

	next_random(seed);
	if (*seed >> 61)
		return *seed >> 17 ^ *seed << 29;
	return edges[(*seed >> 33) % (COUNT(edges))];
}

/* Each lane's answer of gw_eval_lanes() is that of the lane alone. */
static void compare_lanes(const struct gw_ir_insn *insn, unsigned to, uint64_t *seed)
{
	static struct gw_value source[3], out;
	const struct gw_value *in[GW_SOURCES_MAX] = {&source[0], &source[1], &source[2]};

	for (unsigned s = 0; s < 3; s++) {
		source[s].uniform = s == 1 && (*seed >> 40 & 1);
		for (unsigned i = 0; i < GW_LANES; i++)
			source[s].v[i] = gw_low_bits(number(seed), insn->bits);
	}
	if (insn->op == IR_SEL)
		for (unsigned i = 0; i < GW_LANES; i++)
			source[0].v[i] &= 1;
	if (!gw_eval_lanes(insn, to, in, GW_ALL_LANES, &out))
		fail_msg("operation %u isn't one of them", insn->op);
	for (unsigned i = 0; i < GW_LANES; i++) {
		uint64_t alone[4] = {0}, want;

		for (unsigned s = 0; s < 3; s++)
			alone[s] = source[s].v[gw_at(&source[s], i)];
		assert_true(gw_scalar((enum gw_ir_op)insn->op, insn->bits, insn->aux, to, alone,
				      &want));
		assert_int_equal(out.base[i], GW_BASE_NONE);
		if (out.v[i] != want)
			fail_msg("op %u of %u bits to %u, aux %u: %llx %llx %llx gives %llx, not "
				 "%llx",
				 insn->op, insn->bits, to, insn->aux, (unsigned long long)alone[0],
				 (unsigned long long)alone[1], (unsigned long long)alone[2],
				 (unsigned long long)out.v[i], (unsigned long long)want);
	}
}

TEST(all_lanes_at_once_answer_as_each_alone)
{
	static const struct {
		enum gw_ir_op op;
		unsigned uses, aux_first, aux_last;
	} ops[] = {{IR_MOV, 1, 0, 0},
		   {IR_ZEXT, 1, 0, 0},
		   {IR_NOT, 1, 0, 0},
		   {IR_AND, 2, 0, 0},
		   {IR_OR, 2, 0, 0},
		   {IR_XOR, 2, 0, 0},
		   {IR_ADD, 2, 0, 0},
		   {IR_SUB, 2, 0, 0},
		   {IR_SEXT, 1, 0, 0},
		   {IR_SHL, 2, 0, 0},
		   {IR_SHRU, 2, 0, 0},
		   {IR_SHRS, 2, 0, 0},
		   {IR_MUL, 2, 0, 0},
		   {IR_MULHS, 2, 0, 0},
		   {IR_MULHU, 2, 0, 0},
		   {IR_MULWS, 2, 0, 0},
		   {IR_MULWU, 2, 0, 0},
		   {IR_SEL, 3, 0, 0},
		   {IR_PACK, 2, 0, 0},
		   {IR_CARRY, 3, 0, 0},
		   {IR_BORROW, 3, 0, 0},
		   {IR_LOP3, 3, 0, 255},
		   {IR_CMP, 2, IR_COND_EQ, IR_COND_GEU}};
	static const unsigned widths[] = {8, 16, 32, 64};
	uint64_t seed = 1;

	for (unsigned o = 0; o < COUNT(ops); o++)
		for (unsigned aux = ops[o].aux_first; aux <= ops[o].aux_last; aux++)
			for (unsigned w = 0; w < 16; w++) {
				struct gw_ir_insn insn = {.op = (uint16_t)ops[o].op,
							  .bits = (uint8_t)widths[w % 4],
							  .uses = (uint8_t)ops[o].uses,
							  .aux = (uint16_t)aux};

				if (ops[o].op == IR_SEL && widths[w / 4] < insn.bits)
					continue; /* no register is narrower than its sides */
				compare_lanes(&insn, widths[w / 4], &seed);
			}
}

TEST(a_lane_without_a_number_is_left_to_each_alone)
{
	static struct gw_value source[2], out;
	const struct gw_value *in[GW_SOURCES_MAX] = {&source[0], &source[1]};
	struct gw_ir_insn insn = {.op = IR_ADD, .bits = 32, .uses = 2};

	source[0].base[7] = gw_unknown(GW_WHY_MEMORY, 1);
	assert_false(gw_eval_lanes(&insn, 32, in, GW_ALL_LANES, &out));
	assert_true(gw_eval_lanes(&insn, 32, in, ~(UINT32_C(1) << 7), &out));
	insn.op = IR_DIVU; /* may have no result */
	assert_false(gw_eval_lanes(&insn, 32, in, ~(UINT32_C(1) << 7), &out));
}

TESTS_MAIN()
