/* The check of machine code, on listings that are right and on listings that are not. */

#include "tests/kernels/region.h"
#include "tests/test.h"

#define CLOCK   "/*0000*/ CS2R R2, SR_CLOCKLO ;\n"
#define TIE     "/*0010*/ LOP3.LUT R4, R4, R2, R3, 0x78, !PT ;\n"
#define ADD     "/*0020*/ FADD R4, R4, R5 ;\n"
#define COMPARE "/*0030*/ ISETP.NE.U32.AND P1, PT, R4, R6, PT ;\n"
#define COUNTER "/*0040*/ IADD3 R7, R7, 0x1, RZ ;\n/*0050*/ ISETP.GE.U32.AND P0, PT, R7, R8, PT ;\n"
#define BACK    "/*0060*/ @!P0 BRA `(.L_x_1) ;\n"

static struct sass_listing read(const char *code)
{
	char text[4096];
	struct sass_listing l;
	FILE *f;

	snprintf(text, sizeof(text), ".text.k:\n%s", code);
	f = fmemopen(text, strlen(text), "r");
	assert_non_null(f);
	l = sass_read(f);
	fclose(f);
	assert_int_equal(l.count, 1);
	return l;
}

static bool timed(const char *code, const char *step, unsigned steps, char *why)
{
	struct sass_listing l = read(code);
	bool good = region_timed(sass_find(&l, "k"), 0, REGION_COMPARED,
				 (struct expected){step, steps}, why);

	sass_free(&l);
	return good;
}

static bool loop(const char *code, const char *step, unsigned steps, char *why)
{
	struct sass_listing l = read(code);
	bool good = region_loop(sass_find(&l, "k"), (struct expected){step, steps}, why);

	sass_free(&l);
	return good;
}

TEST(a_chain_of_the_right_length_is_accepted)
{
	char why[REGION_WHY];

	assert_true(timed(CLOCK TIE ADD ADD ADD COMPARE CLOCK, "FADD", 3, why));
}

TEST(one_operation_less_or_more_is_refused)
{
	char why[REGION_WHY];

	assert_false(timed(CLOCK TIE ADD ADD COMPARE CLOCK, "FADD", 3, why));
	assert_string_equal(why, "2 of FADD where 3 are claimed");
	assert_false(timed(CLOCK TIE ADD ADD ADD ADD COMPARE CLOCK, "FADD", 3, why));
	assert_non_null(strstr(why, "does not belong"));
}

TEST(an_instruction_that_was_not_claimed_is_refused)
{
	char why[REGION_WHY];

	assert_false(timed(CLOCK TIE ADD "/*0020*/ LDC R1, c[0x0][0x20] ;\n" COMPARE CLOCK, "FADD",
			   1, why));
	assert_string_equal(why,
			    "instruction 3 is LDC R1, c[0x0][0x20], which does not belong there");
}

TEST(an_operation_outside_its_frame_is_refused)
{
	char why[REGION_WHY];

	assert_false(timed(CLOCK ADD TIE ADD COMPARE CLOCK, "FADD", 2, why));
	assert_string_equal(why, "instruction 1 comes before the tie to the clock");
	assert_false(timed(CLOCK TIE ADD COMPARE ADD CLOCK, "FADD", 2, why));
	assert_string_equal(why, "instruction 4 comes after the comparison");
}

TEST(readings_that_are_not_tied_are_refused)
{
	char why[REGION_WHY];

	assert_false(timed(CLOCK ADD COMPARE CLOCK, "FADD", 1, why));
	assert_false(timed(CLOCK TIE ADD CLOCK, "FADD", 1, why));
	assert_false(timed(CLOCK TIE ADD COMPARE, "FADD", 1, why));
}

TEST(a_batch_that_waits_for_another_than_its_last_result_is_refused)
{
	static const char good[] =
		CLOCK "/*0020*/ FADD R9, R4, R5 ;\n/*0020*/ FADD R8, R4, R5 ;\n" CLOCK
		      "/*0010*/ LOP3.LUT R8, R8, R2, R3, 0x78, !PT ;\n";
	static const char bad[] =
		CLOCK "/*0020*/ FADD R8, R4, R5 ;\n/*0020*/ FADD R9, R4, R5 ;\n" CLOCK
		      "/*0010*/ LOP3.LUT R8, R8, R2, R3, 0x78, !PT ;\n";
	char why[REGION_WHY];
	struct sass_listing l = read(good);

	assert_true(region_waits_for_last(sass_find(&l, "k"), 0, why));
	sass_free(&l);
	l = read(bad);
	assert_false(region_waits_for_last(sass_find(&l, "k"), 0, why));
	assert_string_equal(why, "it waits for R8, but the last result is R9");
	sass_free(&l);
}

TEST(the_frame_s_own_opcodes_are_counted_apart_from_the_steps)
{
	char why[REGION_WHY];

	assert_true(timed(CLOCK TIE TIE TIE COMPARE CLOCK, "LOP3.LUT", 2, why));
	assert_false(timed(CLOCK TIE TIE COMPARE CLOCK, "LOP3.LUT", 2, why));
	assert_true(timed(CLOCK TIE COMPARE COMPARE CLOCK, "ISETP.NE.U32.AND", 1, why));
}

TEST(alternatives_counts_and_free_words_of_a_step_are_understood)
{
	static const char code[] =
		CLOCK TIE "/*0020*/ HFMA2 R4, R4, R5, R6 ;\n"
			  "/*0020*/ HFMA2.MMA R4, R4, R5, R6 ;\n"
			  "/*0020*/ MUFU.RCP R4, R4 ;\n"
			  "/*0020*/ BSYNC B0 ;\n/*0020*/ BSYNC B0 ;\n" COMPARE CLOCK;
	char why[REGION_WHY];

	assert_true(timed(code, "HFMA2|HFMA2.MMA*2 MUFU.RCP ~BSYNC", 1, why));
	assert_false(timed(code, "HFMA2*2 MUFU.RCP ~BSYNC", 1, why));
	assert_false(timed(code, "HFMA2|HFMA2.MMA*2 MUFU.RCP BSYNC", 1, why));
}

TEST(what_holds_the_warp_needs_no_comparison_after_it)
{
	char why[REGION_WHY];
	const char *store = "/*0020*/ STG.E desc[UR4][R2.64], R5 ;\n";
	const char *fence = "/*0030*/ MEMBAR.SC.GPU ;\n";
	char code[512];

	snprintf(code, sizeof(code), CLOCK TIE "%s" COMPARE "%s" CLOCK, store, fence);
	assert_true(timed(code, "STG.E MEMBAR.SC.GPU", 1, why));
	snprintf(code, sizeof(code), CLOCK TIE "%s" COMPARE "%s" CLOCK, store, store);
	assert_false(timed(code, "STG.E", 2, why));
	assert_non_null(strstr(why, "comes after the comparison"));
}

static bool branch(const char *code, char *why)
{
	struct sass_listing l = read(code);
	bool good = region_branch(sass_find(&l, "k"), why);

	sass_free(&l);
	return good;
}

TEST(a_branch_must_be_all_that_is_between_its_readings)
{
	char why[REGION_WHY];

	assert_true(branch(".L_x_1:\n" CLOCK ADD CLOCK BACK, why));
	assert_false(branch(".L_x_1:\n" CLOCK CLOCK ADD BACK, why));
	assert_false(branch(".L_x_1:\n" ADD CLOCK CLOCK BACK, why));
}

TEST(more_than_a_few_moves_are_refused)
{
	static const char move[] = "/*0020*/ MOV R4, R5 ;\n";
	char code[512], why[REGION_WHY];

	snprintf(code, sizeof(code), CLOCK TIE "%s%s%s%s" ADD COMPARE CLOCK, move, move, move,
		 move);
	assert_true(timed(code, "FADD", 1, why));
	snprintf(code, sizeof(code), CLOCK TIE "%s%s%s%s%s" ADD COMPARE CLOCK, move, move, move,
		 move, move);
	assert_false(timed(code, "FADD", 1, why));
}

TEST(a_loop_is_counted_from_its_label_to_its_branch)
{
	char why[REGION_WHY];

	assert_true(loop(CLOCK ADD ".L_x_1:\n" ADD ADD COUNTER BACK ADD CLOCK, "FADD", 2, why));
	assert_false(loop(CLOCK ".L_x_1:\n" ADD ADD ADD COUNTER BACK CLOCK, "FADD", 2, why));
	assert_false(loop(CLOCK ".L_x_1:\n" ADD COUNTER BACK CLOCK, "FADD", 2, why));
}

TEST(a_rate_without_its_one_counted_loop_is_refused)
{
	char why[REGION_WHY];

	assert_false(loop(CLOCK ADD ADD CLOCK, "FADD", 2, why));
	assert_false(loop(CLOCK ".L_x_1:\n" ADD ADD BACK CLOCK, "FADD", 2, why));
	assert_false(loop(CLOCK ".L_x_1:\n" ADD ADD COUNTER BACK BACK CLOCK, "FADD", 2, why));
}

TESTS_MAIN()
