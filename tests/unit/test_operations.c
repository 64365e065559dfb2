/* Operands and results of timed operations, what records of warps add up to, and permutations. */
#include "calib/groups/operation.h"
#include "kernels/permutation.h"
#include "kernels/shape.h"
#include "tests/test.h"

static const char *const operations[] = {
#define OPERATION(name, class, meaning) #name,
#include "predictor/core/operation.def"
#undef OPERATION
};
enum { OPERATIONS = COUNT(operations) };

TEST(every_operation_of_the_list_has_kernels_and_a_reference)
{
	unsigned count = 0;

	while (gw_operations[count].name)
		count++;
	assert_int_equal(count, OPERATIONS);
	for (unsigned i = 0; i < OPERATIONS; i++) {
		bool found = false;

		for (unsigned k = 0; k < count; k++)
			found |= !strcmp(gw_operations[k].name, operations[i]);
		if (!found || !gw_reference_of(operations[i]))
			fail_msg("%s has no row in code.def, wgmma.def or reference.def",
				 operations[i]);
	}
	assert_null(gw_reference_of("add_f128"));
}

TEST(rounding_is_to_the_nearest_and_to_even)
{
	assert_true(gw_reference_rounded(1 + 0x1p-11, 11) == 1);
	assert_true(gw_reference_rounded(1 + 0x3p-11, 11) == 1 + 0x1p-9);
	assert_true(gw_reference_rounded(1 + 0x1.8p-11, 11) == 1 + 0x1p-10);
	assert_true(gw_reference_rounded(-5.5, 3) == -6);
	assert_true(gw_reference_rounded(0, 11) == 0);
	assert_true(gw_reference_rounded(0.1, 53) == 0.1);
}

TEST(constants_have_the_bits_of_their_format)
{
	static const struct {
		const char *operation;
		double value;
		uint32_t word;
	} cases[] = {
		{"fma_f32", 1.5, 0x3fc00000},        {"fma_f16x2", 1, 0x3c003c00},
		{"fma_f16x2", -2.5, 0xc100c100},     {"fma_bf16x2", 1, 0x3f803f80},
		{"fma_bf16x2", 0.03125, 0x3d003d00}, {"mma_tf32", 0.5, 0x3f000000},
		{"wgmma_e4m3", 1, 0x38383838},       {"wgmma_e4m3", 0.125, 0x20202020},
		{"mma_s8", 3, 0x03030303},           {"add_s32", 12345, 12345},
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(
			gw_reference_word(gw_reference_of(cases[i].operation), cases[i].value),
			cases[i].word);
}

TEST(operands_lie_by_lane_then_the_constants)
{
	const struct gw_reference *r = gw_reference_of("add_f32");
	float in[3 * GW_LANES];

	gw_reference_operands(r, sizeof(*in), in);
	assert_true(in[0] == 1.0f);
	assert_true(in[GW_LANES - 1] == 2.0f);
	assert_true(in[1] > in[0]);
	for (unsigned i = 0; i < GW_LANES; i++) {
		assert_true((double)in[GW_LANES + i] == r->b);
		assert_true((double)in[2 * GW_LANES + i] == r->c);
	}
}

/* The right results of 3 additions in two chains of two threads. */
static void add(float out[4], const float in[3 * GW_LANES])
{
	static const unsigned lane[4] = {0, 1, 1, 2};

	for (unsigned i = 0; i < 4; i++)
		out[i] = in[lane[i]] + in[GW_LANES] + in[GW_LANES] + in[GW_LANES];
}

TEST(right_results_agree_and_a_wrong_one_is_named)
{
	const struct gw_reference *r = gw_reference_of("add_f32");
	float in[3 * GW_LANES], out[4];
	size_t bad = 0;

	gw_reference_operands(r, sizeof(*in), in);
	add(out, in);
	assert_true(gw_reference_agrees(r, sizeof(*out), out, 4, 2, 3, &bad));
	assert_false(gw_reference_agrees(r, sizeof(*out), out, 4, 2, 2, &bad));
	assert_int_equal(bad, 0);
	out[2] *= 1.00002f;
	assert_false(gw_reference_agrees(r, sizeof(*out), out, 4, 2, 3, &bad));
	assert_int_equal(bad, 2);
	add(out, in);
	out[3] *= 1.000005f;
	assert_true(gw_reference_agrees(r, sizeof(*out), out, 4, 2, 3, &bad));
	out[1] = (float)(0.0 / 0.0);
	assert_false(gw_reference_agrees(r, sizeof(*out), out, 4, 2, 3, &bad));
	assert_int_equal(bad, 1);
}

TEST(whole_results_must_agree_in_every_bit)
{
	const struct gw_reference *r = gw_reference_of("mul_s32");
	uint32_t in[3 * GW_LANES], out;
	size_t bad;

	gw_reference_operands(r, sizeof(*in), in);
	out = in[0] * 0x10dcdu * 0x10dcdu;
	assert_true(gw_reference_agrees(r, sizeof(out), &out, 1, 1, 2, &bad));
	out ^= 1;
	assert_false(gw_reference_agrees(r, sizeof(out), &out, 1, 1, 2, &bad));
}

TEST(halves_are_rounded_after_every_step)
{
	const struct gw_reference *r = gw_reference_of("add_f16x2");
	size_t bad;
	/* 1 + 64 * 2^-6 = 2, then steps of 2^-6, which half has up to 16. */
	uint32_t out = 0x42004200; /* 3 */

	assert_true(gw_reference_agrees(r, sizeof(out), &out, 1, 1, 128, &bad));
	out++;
	assert_false(gw_reference_agrees(r, sizeof(out), &out, 1, 1, 128, &bad));
}

TEST(addresses_must_be_evenly_spaced)
{
	const struct gw_reference *r = gw_reference_of("load_shared");
	uint32_t out[4] = {64, 72, 80, 88}, same[4] = {5, 5, 5, 5};
	size_t bad;

	assert_true(gw_reference_agrees(r, 4, out, 4, 1, 100, &bad));
	assert_true(gw_reference_agrees(r, 4, same, 4, 1, 100, &bad));
	out[3] = 0;
	assert_false(gw_reference_agrees(r, 4, out, 4, 1, 100, &bad));
	assert_int_equal(bad, 3);
}

TEST(random_factors_are_finite_and_differ)
{
	uint32_t half[512], eight[512], again[512];

	gw_reference_random(gw_reference_of("mma_f16"), half, 512);
	gw_reference_random(gw_reference_of("wgmma_e4m3"), eight, 512);
	gw_reference_random(gw_reference_of("mma_f16"), again, 512);
	assert_memory_equal(half, again, sizeof(half));
	for (unsigned i = 0; i < 512; i++) {
		assert_true((half[i] & 0x7c00) != 0x7c00 && (half[i] >> 16 & 0x7c00) != 0x7c00);
		for (unsigned k = 0; k < 4; k++)
			assert_true((eight[i] >> 8 * k & 0x7f) != 0x7f);
		assert_true(!i || half[i] != half[i - 1]);
	}
}

TEST(records_are_gathered_by_sm_over_a_clock_that_wraps)
{
	uint32_t readings[3 * GW_RECORD] = {1,    0xfffffff0, 0x20, 0, 1, 0xffffffe0,
					    0x10, 0,          0,    5, 9, 0};
	struct gw_lab lab = {.readings = readings, .sms = 2};
	struct gw_lab_sm sm[2];

	assert_true(gw_lab_by_sm(&lab, 3, sm, 2));
	assert_int_equal(sm[0].warps, 1);
	assert_int_equal(sm[0].last - sm[0].first, 4);
	assert_int_equal(sm[1].warps, 2);
	assert_int_equal(sm[1].last - sm[1].first, 0x40);
	readings[0] = 2;
	assert_false(gw_lab_by_sm(&lab, 3, sm, 2));
}

/* The order of the pointer chases, compiled for the host: one cycle over all links, and random. */
enum { MOST = 70000 };

TEST(each_place_is_taken_once)
{
	static const unsigned counts[] = {1, 2, 3, 4, 5, 64, 1000, 4096, 4097, 65536, MOST};
	static unsigned char taken[MOST];

	for (size_t c = 0; c < COUNT(counts); c++) {
		memset(taken, 0, sizeof(taken));
		for (unsigned i = 0; i < counts[c]; i++) {
			unsigned place = gw_permute(i, counts[c], 7);

			assert_true(place < counts[c]);
			assert_false(taken[place]);
			taken[place] = 1;
		}
	}
}

/* Steps of a line that a prefetcher or an open row would like: about as many as chance gives. */
TEST(neighbours_do_not_follow_each_other)
{
	unsigned near = 0;

	for (unsigned i = 0; i + 1 < 65536; i++) {
		unsigned a = gw_permute(i, 65536, 1), b = gw_permute(i + 1, 65536, 1);

		near += a - b + 8 <= 16; /* 8 either way: 16 in 65536 by chance */
	}
	assert_true(near < 64);
}

TEST(another_seed_is_another_order)
{
	unsigned same = 0;

	for (unsigned i = 0; i < 4096; i++)
		same += gw_permute(i, 4096, 1) == gw_permute(i, 4096, 2);
	assert_true(same < 16);
}

TEST(large_counts_stay_inside)
{
	const unsigned count = 4294967295u;

	for (unsigned i = 0; i < 1000; i++)
		assert_true(gw_permute(count - 1 - i, count, 3) < count);
}

/* Links lie in strides of their own, at lines of them, and not always at the same. */
TEST(links_lie_on_lines_of_their_strides)
{
	static unsigned char taken[512];
	unsigned moved = 0;

	for (unsigned i = 0; i < 512; i++) {
		unsigned long long at = gw_link_offset(i, 512, 4096, 9);

		assert_int_equal(at % 128, 0);
		assert_true(at / 4096 < 512);
		assert_false(taken[at / 4096]);
		taken[at / 4096] = 1;
		moved += at % 4096 != 0;
	}
	assert_true(moved > 400);
}

TESTS_MAIN()
