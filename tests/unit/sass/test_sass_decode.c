#include "predictor/code/sass/sass.h"
#include "predictor/code/sass/tensor.h"
#include "tests/test.h"
#include "tests/unit/sass/sass_fixture.h"

static const unsigned architectures[] = {70, 75, 80, 86, 89, 90, 100, 120};

static struct gw_sass_insn decode(uint64_t hi, uint64_t lo, unsigned sm)
{
	struct gw_sass_insn insn;
	uint8_t bytes[16];

	for (unsigned i = 0; i < 8; i++) {
		bytes[i] = (uint8_t)(lo >> 8 * i);
		bytes[8 + i] = (uint8_t)(hi >> 8 * i);
	}
	gw_sass_decode(bytes, sm, &insn);
	return insn;
}

TEST(every_opcode_and_modifier_is_what_the_disassembler_says)
{
	for (unsigned i = 0; i < COUNT(architectures); i++) {
		struct listing listing;
		struct agreement a;
		char path[512];

		snprintf(path, sizeof(path), "%s/sm_%u.lst", GW_SASS, architectures[i]);
		listing_read(&listing, path);
		a = agree(&listing, architectures[i]);
		assert_true(a.insns > 300);
		assert_int_equal(a.known, a.insns);
		assert_int_equal(a.cls, a.insns);
		assert_int_equal(a.details, a.insns);
		assert_int_equal(a.regs, a.compute);
		listing_free(&listing);
	}
}

TEST(control_bits_lie_where_they_should)
{
	/* ISETP that waits for scoreboard 1; STG that takes 0 for reading; LDG that takes 2. */
	struct gw_sass_insn setp = decode(UINT64_C(0x002fda0003f06270), 0x000000020000720c, 90);
	struct gw_sass_insn load = decode(UINT64_C(0x000ea2000c1e1900), 0x0000000602007981, 90);

	assert_int_equal(setp.stall, 13);
	assert_int_equal(setp.wait_mask, 2);
	assert_int_equal(setp.write_barrier, GW_SASS_NO_BARRIER);
	assert_int_equal(load.write_barrier, 2);
	assert_int_equal(load.read_barrier, GW_SASS_NO_BARRIER);
	assert_int_equal(load.stall, 1);
	assert_true(gw_sass_variable(&load));
	assert_false(gw_sass_variable(&setp));
}

TEST(a_branch_backwards_is_relative_to_its_end_on_every_architecture)
{
	/* "BRA ." of sm_75 and sm_90, which count differently. */
	struct gw_sass_insn old = decode(UINT64_C(0x000fc0000383ffff), 0xfffffff000007947, 75);
	struct gw_sass_insn new = decode(UINT64_C(0x000fc0000383ffff), 0xfffffffc00fc7947, 90);

	assert_true(old.has_target);
	assert_int_equal(old.target, -16);
	assert_true(new.has_target);
	assert_int_equal(new.target, -16);
}

TEST(one_code_is_two_operations_on_two_architectures)
{
	assert_int_equal(decode(0x0, 0x7235, 80).cls, GW_SASS_FP16);
	assert_int_equal(decode(0x0, 0x7235, 120).cls, GW_SASS_INT);
	assert_int_equal(decode(0x0, 0x7236, 70).cls, GW_SASS_TENSOR);
	assert_int_equal(decode(0x0, 0x7836, 90).cls, GW_SASS_INT);
	assert_string_equal(gw_sass_op_name(decode(0x0, 0x724a, 100).op), "FMUL2");
	assert_string_equal(gw_sass_op_name(decode(0x0, 0x784a, 100).op), "UVIMNMX");
}

TEST(a_wide_access_names_all_its_registers)
{
	/* LDG.E.64 R4, [R2.64] and DFMA R4, R2, R4, R2 */
	struct gw_sass_insn load = decode(UINT64_C(0x000ea8000c1e1b00), 0x0000000602047981, 90);
	struct gw_sass_insn dfma = decode(UINT64_C(0x000fce0000000002), 0x000000040204722b, 90);

	assert_int_equal(load.width, 64);
	assert_int_equal(load.def_count, 1);
	assert_int_equal(load.defs[0].first, 4);
	assert_int_equal(load.defs[0].count, 2);
	assert_int_equal(load.uses[0].first, 2);
	assert_int_equal(load.uses[0].count, 2);
	assert_int_equal(dfma.use_count, 3);
	assert_int_equal(dfma.uses[1].first, 4);
	assert_int_equal(dfma.uses[1].count, 2);
	assert_true(dfma.fma);
}

/* QGMMA.64x128x32.F32.E4M3.E4M3, of four warps; HMMA.16816.F32, of one. */
TEST(four_warps_share_the_operations_of_a_warp_group)
{
	static const uint64_t group[] = {0x01e00000101879f3, 0x000fe20008700818},
			      warp[] = {0x000000040804723c, 0x000fe20000001804};
	struct gw_sass_insn insn;

	assert_true(gw_sass_decode((const uint8_t *)group, 90, &insn));
	assert_true(gw_sass_warp_flops(&insn) == 2.0 * 64 * 128 * 32 / 4);
	assert_true(gw_sass_decode((const uint8_t *)warp, 90, &insn));
	assert_true(gw_sass_warp_flops(&insn) == 2.0 * 16 * 8 * 16);
}

/* @UP3 UTMASTG.3D [UR32], [UR22]: no such copy has a guard of lanes. */
TEST(a_copy_of_tiles_is_guarded_by_a_uniform_predicate)
{
	static const uint64_t store[] = {UINT64_C(0x00000020160033b5),
					 UINT64_C(0x0001e20008010000)};
	struct gw_sass_insn insn;

	assert_true(gw_sass_decode((const uint8_t *)store, 90, &insn));
	assert_int_equal(insn.op, GW_SASS_OP_UTMASTG);
	assert_int_equal(insn.guard, 3);
	assert_true(insn.guard_uniform);
}

TEST(an_unlisted_opcode_or_architecture_is_reported)
{
	struct gw_sass_insn insn;
	uint8_t bytes[16] = {0xff, 0x7f};

	assert_false(gw_sass_decode(bytes, 90, &insn));
	assert_int_equal(insn.op, GW_SASS_OP_UNKNOWN);
	assert_int_equal(insn.cls, GW_SASS_OTHER);
	bytes[0] = 0x23, bytes[1] = 0x72; /* FFMA, but not of sm_35 */
	assert_true(gw_sass_decode(bytes, 90, &insn));
	assert_false(gw_sass_decode(bytes, 35, &insn));
}

TEST(names_end_with_a_question_mark)
{
	assert_string_equal(gw_sass_op_name(GW_SASS_OPS), "?");
	assert_string_equal(gw_sass_class_name(GW_SASS_CLASSES), "?");
	assert_string_equal(gw_sass_pipe_name(GW_SASS_PIPES), "?");
	assert_string_equal(gw_sass_space_name(GW_SASS_SPACES), "?");
	assert_string_equal(gw_sass_tensor_name(GW_SASS_TENSORS), "?");
	assert_string_equal(gw_sass_class_name(GW_SASS_FP32), "fp32");
	assert_string_equal(gw_sass_pipe_name(GW_SASS_PIPE_XU), "xu");
}

TESTS_MAIN()
