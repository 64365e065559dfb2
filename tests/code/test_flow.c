/* Ways through a kernel: divergence and meeting, loops walked and stood for, branches not known. */
#include "ptx_snippet.h"
#include "tests/test.h"

static const struct gw_ptx_report *r; /* of the test's snippet */

static void assert_count(struct gw_eval_count c, double least, double most)
{
	if (c.least != least || c.most != most)
		fail_msg("%g to %g, expected %g to %g", c.least, c.most, least, most);
}

static void assert_stores(double least, double most)
{
	assert_count(snippet_stores(r), least, most);
}

TEST(lanes_that_part_meet_again)
{
	r = snippet("setp.lt.u32 %p1, %r3, 10;\n"
		    "@%p1 bra A;\n"
		    "st.global.u32 [%rd1], %r3; bra B;\n"
		    "A: st.global.u32 [%rd1], %r3;\n"
		    "B: st.global.u32 [%rd1], %r3; ret;",
		    3, 64, 0, 0);

	/* Each block's first warp takes both sides, its second one; all meet for the last store. */
	assert_true(r->exact);
	assert_stores(3 * 3 + 3 * 2, 3 * 3 + 3 * 2);
	assert_count(r->eval.branches, 6, 6);
	assert_count(r->eval.divergent, 3, 3);
}

/* Whatever an assert() depends on, a launch that ends well went on there: one branch each warp, and
 * none that diverges. */
TEST(a_failed_assert_is_no_way_on)
{
	r = snippet("ld.global.u32 %r10, [%rd1];\n"
		    "setp.lt.u32 %p1, %r10, 10;\n"
		    "@%p1 bra A;\n"
		    "{ .param .b64 q; st.param.b64 [q], %rd1;\n"
		    "call.uni __assertfail, (q); }\n"
		    "st.global.u32 [%rd1], %r3;\n"
		    "A: st.global.u32 [%rd1], %r3; ret;",
		    3, 64, 0, 0);

	assert_true(r->exact);
	assert_stores(3 * 2, 3 * 2);
	assert_count(r->eval.branches, 6, 6);
	assert_count(r->eval.divergent, 0, 0);
}

/* One that always fails is left as it stands. */
TEST(a_kernel_that_only_fails_is_read_to_there)
{
	r = snippet("st.global.u32 [%rd1], %r3;\n"
		    "{ .param .b64 q; st.param.b64 [q], %rd1;\n"
		    "call.uni __assertfail, (q); }\n"
		    "st.global.u32 [%rd1], %r3; ret;",
		    3, 64, 0, 0);

	assert_stores(3 * 2, 3 * 2);
}

TEST(a_guard_that_no_lane_passes_is_no_access)
{
	r = snippet("setp.ge.u32 %p1, %r3, 32;\n"
		    "@%p1 st.global.u32 [%rd1], %r3;\n"
		    "@!%p1 st.global.u32 [%rd1], %r3;\n"
		    "setp.eq.u32 %p2, %r3, 40;\n"
		    "@%p2 st.global.u32 [%rd1], %r3; ret;",
		    1, 64, 0, 0);

	assert_true(r->exact);
	assert_stores(3, 3);
}

TEST(a_loop_runs_as_long_as_its_last_lane)
{
	r = snippet("mov.u32 %r10, 0;\n"
		    "L: st.global.u32 [%rd1], %r3;\n"
		    "add.u32 %r10, %r10, 1;\n"
		    "setp.le.u32 %p1, %r10, %r3;\n"
		    "@%p1 bra L; ret;",
		    1, 96, 0, 0);

	assert_true(r->exact);
	assert_stores(32 + 64 + 96, 32 + 64 + 96);
	assert_true(r->eval.trips[0].least == 32 && r->eval.trips[0].most == 96);
	assert_true(r->eval.trips[0].entries == 3);
	assert_int_equal(r->eval.longest_warp, 2);
	/* Within each warp the first 31 lanes leave one by one. */
	assert_count(r->eval.divergent, 3 * 31, 3 * 31);
}

TEST(a_billion_iterations_are_stood_for)
{
	r = snippet("mov.u32 %r10, 0;\n"
		    "L: st.global.u32 [%rd1], %r3;\n"
		    "add.u32 %r10, %r10, 3;\n"
		    "setp.lt.u32 %p1, %r10, %r1;\n"
		    "@%p1 bra L; ret;",
		    100, 64, 1000000000, 0);

	assert_true(r->exact);
	assert_stores(200 * 333333334.0, 200 * 333333334.0);
	assert_true(r->eval.trips[0].extrapolated);
	assert_true(r->eval.steps < 1000);
}

/* Each block by itself, as which of them it is is no sum of its index; the iterations all the same.
 */
TEST(a_bound_that_only_some_blocks_have_is_stood_for)
{
	r = snippet("mov.u32 %r4, %ctaid.x;\n"
		    "and.b32 %r4, %r4, 3;\n"
		    "setp.eq.u32 %p2, %r4, 3;\n"
		    "selp.u32 %r5, %r1, 10, %p2;\n"
		    "mov.u32 %r10, 0;\n"
		    "L: st.global.u32 [%rd1], %r3;\n"
		    "add.u32 %r10, %r10, 1;\n"
		    "setp.lt.u32 %p1, %r10, %r5;\n"
		    "@%p1 bra L; ret;",
		    8, 32, 1000000000, 0);

	assert_true(r->exact);
	assert_stores(6 * 10 + 2 * 1000000000.0, 6 * 10 + 2 * 1000000000.0);
	assert_true(r->eval.trips[0].extrapolated);
}

TEST(iterations_whose_decisions_change_are_not_stood_for)
{
	/* Every fourth iteration stores once more; then one far away does. */
	static const char body[] = "mov.u32 %r10, 0;\n"
				   "L: and.b32 %r11, %r10, 3; setp.ne.u32 %p2, %r11, 0;\n"
				   "@%p2 bra M; st.global.u32 [%rd1], %r3;\n"
				   "M: setp.ne.u32 %p3, %r10, 777;\n"
				   "@%p3 bra N; st.global.u32 [%rd1], %r3;\n"
				   "N: add.u32 %r10, %r10, 1;\n"
				   "setp.lt.u32 %p1, %r10, %r1;\n"
				   "@%p1 bra L; ret;";
	r = snippet(body, 1, 32, 1000, 0);

	assert_true(r->exact);
	assert_stores(251, 251);
}

TEST(a_change_far_away_bounds_what_is_stood_for)
{
	static const char body[] = "mov.u32 %r10, 0;\n"
				   "L: setp.ne.u32 %p3, %r10, 500000;\n"
				   "@%p3 bra N; st.global.u32 [%rd1], %r3;\n"
				   "N: add.u32 %r10, %r10, 1;\n"
				   "setp.lt.u32 %p1, %r10, %r1;\n"
				   "@%p1 bra L; ret;";
	r = snippet(body, 1, 32, 1000000, 0);

	assert_true(r->exact);
	assert_stores(1, 1);
	assert_true(r->eval.trips[0].total == 1000000);
	assert_true(r->eval.steps < 1000);
}

TEST(a_number_that_wraps_ends_what_is_stood_for)
{
	/* i != n, counting up through 2^32: n - i is reached from the other side. */
	r = snippet("mov.u32 %r10, 0xfffffff0;\n"
		    "L: st.global.u32 [%rd1], %r3;\n"
		    "add.u32 %r10, %r10, 1;\n"
		    "setp.ne.u32 %p1, %r10, %r1;\n"
		    "@%p1 bra L; ret;",
		    1, 32, 100000, 0);

	assert_true(r->exact);
	assert_stores(100016, 100016);
}

TEST(nested_loops_multiply)
{
	r = snippet("mov.u32 %r10, 0;\n"
		    "L: mov.u32 %r11, 0;\n"
		    "M: st.global.u32 [%rd1], %r3;\n"
		    "add.u32 %r11, %r11, 1;\n"
		    "setp.lt.u32 %p1, %r11, %r2;\n"
		    "@%p1 bra M;\n"
		    "add.u32 %r10, %r10, 1;\n"
		    "setp.lt.u32 %p2, %r10, %r1;\n"
		    "@%p2 bra L; ret;",
		    4, 32, 100000, 7000);

	assert_true(r->exact);
	assert_stores(4 * 7e8, 4 * 7e8);
	assert_true(r->eval.steps < 2000);
}

TEST(a_triangle_of_iterations_is_summed)
{
	r = snippet("mov.u32 %r10, 1;\n"
		    "L: mov.u32 %r11, 0;\n"
		    "M: st.global.u32 [%rd1], %r3;\n"
		    "add.u32 %r11, %r11, 1;\n"
		    "setp.lt.u32 %p1, %r11, %r10;\n"
		    "@%p1 bra M;\n"
		    "add.u32 %r10, %r10, 1;\n"
		    "setp.le.u32 %p2, %r10, %r1;\n"
		    "@%p2 bra L; ret;",
		    1, 32, 2000, 0);

	assert_true(r->exact);
	assert_stores(2000 * 2001 / 2, 2000 * 2001 / 2);
}

TEST(a_branch_on_memory_may_go_either_way)
{
	r = snippet("ld.global.u32 %r10, [%rd1];\n"
		    "mov.u32 %r11, 1;\n"
		    "setp.lt.u32 %p1, %r10, 10;\n"
		    "@%p1 bra A;\n"
		    "st.global.u32 [%rd1], %r3; mov.u32 %r11, 2;\n"
		    "A: st.global.u32 [%rd1], %r3;\n"
		    "setp.eq.u32 %p2, %r11, 1;\n"
		    "@%p2 st.global.u32 [%rd1], %r3; ret;",
		    2, 64, 0, 0);

	assert_false(r->exact);
	assert_false(r->eval.control_known);
	/* Surely the middle one; perhaps the first; perhaps the last, whose guard was written
	 * there. */
	assert_stores(4, 12);
	assert_int_equal(r->eval.reasons[0].why, GW_WHY_MEMORY);
	assert_int_equal(r->eval.reasons[1].why, GW_WHY_BRANCH);
}

TEST(a_loop_that_memory_ends_has_no_most)
{
	r = snippet("mov.u32 %r10, 0; mov.u32 %r12, 5;\n"
		    "L: st.global.u32 [%rd1], %r3;\n"
		    "ld.global.u32 %r11, [%rd1];\n"
		    "add.u32 %r10, %r10, 1;\n"
		    "setp.lt.u32 %p1, %r11, 10;\n"
		    "@%p1 bra L;\n"
		    "setp.eq.u32 %p2, %r12, 5;\n"
		    "@%p2 bra.uni A;\n"
		    "red.global.add.u32 [%rd1], 1;\n"
		    "A: setp.eq.u32 %p3, %r10, 1;\n"
		    "@%p3 red.global.add.u32 [%rd1], 1; ret;",
		    1, 64, 0, 0);

	assert_stores(2, INFINITY);
	assert_true(r->eval.trips[0].unknown);
	assert_true(isinf(r->eval.trips[0].most));
	assert_true(r->eval.trips[0].least == 1);
	/* What the loop leaves alone is known after it; what it counts isn't. */
	assert_count(r->counts.by[IR_SPACE_GLOBAL][GW_ACCESS_REDUCE], 0, 2);
}

/* Where something known ends a loop, too, that bounds it, and whoever may have left may be there.
 */
TEST(a_loop_that_data_may_leave_has_a_most_where_it_is_short)
{
	static const char body[] = "mov.u32 %r10, 0;\n"
				   "L: st.global.u32 [%rd1], %r3;\n"
				   "ld.global.u32 %r11, [%rd1];\n"
				   "setp.lt.u32 %p1, %r11, 10;\n"
				   "@%p1 bra E;\n"
				   "add.u32 %r10, %r10, 1;\n"
				   "setp.lt.u32 %p2, %r10, %r1;\n"
				   "@%p2 bra L;\n"
				   "E: red.global.add.u32 [%rd1], 1;\n"
				   "setp.eq.u32 %p3, %r10, %r1;\n"
				   "@%p3 red.global.add.u32 [%rd1], 1; ret;";
	r = snippet(body, 1, 64, 30, 0);

	assert_stores(2, 60);
	assert_true(r->eval.blocks[2].runs.likely == 60);
	/* Whether the loop came to its end is not known behind it. */
	assert_count(r->counts.by[IR_SPACE_GLOBAL][GW_ACCESS_REDUCE], 2, 4);
	r = snippet(body, 1, 64, 500, 0);
	assert_stores(2, INFINITY);
	assert_true(r->eval.complete);
}

/* Data choose the half, which is one of as many whatever they choose. */
static const char SEARCH[] = "mov.u32 %r10, 0; mov.u32 %r11, %r1;\n"
			     "L: sub.u32 %r12, %r11, %r10; shr.u32 %r12, %r12, 1;\n"
			     "add.u32 %r12, %r12, %r10; mul.wide.u32 %rd2, %r12, 4;\n"
			     "add.u64 %rd2, %rd1, %rd2; ld.global.u32 %r13, [%rd2];\n"
			     "st.global.u32 [%rd2], %r13;\n"
			     "setp.lt.u32 %p1, %r13, %r6; add.u32 %r14, %r12, 1;\n"
			     "selp.u32 %r10, %r14, %r10, %p1;\n"
			     "selp.u32 %r11, %r11, %r12, %p1;\n"
			     "setp.lt.u32 %p2, %r10, %r11;\n"
			     "@%p2 bra L; ret;";

TEST(a_binary_search_takes_a_round_for_each_half)
{
	r = snippet(SEARCH, 1, 32, 65535, 0);

	assert_stores(16, 16);
	assert_true(r->eval.control_known);
	/* Of an extent that data say nothing is known. */
	r = snippet("ld.global.u32 %r1, [%rd1];\n"
		    "L: shr.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1;\n"
		    "setp.ne.u32 %p2, %r1, 0; @%p2 bra L; ret;",
		    1, 32, 65535, 0);
	assert_true(isinf(snippet_stores(r).most));
}

TEST(a_thread_that_may_have_ended_does_nothing_for_sure)
{
	r = snippet("st.global.u32 [%rd1], %r3;\n"
		    "ld.global.u32 %r10, [%rd1];\n"
		    "setp.eq.u32 %p1, %r10, 0;\n"
		    "@%p1 exit;\n"
		    "st.global.u32 [%rd1], %r3; ret;",
		    1, 32, 0, 0);

	assert_stores(1, 2);
}

TEST(a_limit_of_steps_says_so)
{
	r = snippet("mov.u32 %r10, 1;\n"
		    "L: mad.lo.u32 %r10, %r10, 1664525, 1013904223;\n"
		    "st.global.u32 [%rd1], %r3;\n"
		    "setp.ne.u32 %p1, %r10, 0;\n"
		    "@%p1 bra L; ret;",
		    1, 32, 0, 0);

	assert_false(r->exact);
	assert_false(r->eval.complete);
	assert_int_equal(r->eval.coverage, GW_COVER_NONE);
	assert_true(isinf(snippet_stores(r).most));
	assert_true(snippet_stores(r).least > 1000);
	assert_int_equal(r->eval.reasons[0].why, GW_WHY_STEPS);
}

TEST(a_switch_parts_by_its_index)
{
	r = snippet("and.b32 %r10, %r3, 3;\n"
		    "brx.idx %r10, T;\n"
		    "T: .branchtargets A, B, A, C;\n"
		    "A: st.global.u32 [%rd1], %r3; bra E;\n"
		    "B: st.global.u32 [%rd1], %r3;\n"
		    "C: st.global.u32 [%rd1], %r3;\n"
		    "E: st.global.u32 [%rd1], %r3; ret;",
		    1, 32, 0, 0);

	assert_true(r->exact);
	assert_true(r->eval.divergent.least == 1);
	/* A twice (indices 0 and 2 apart), B, C after B and by itself, E once. */
	assert_stores(6, 6);
}

TEST(blocks_that_decide_alike_are_stood_for)
{
	r = snippet("setp.lt.s32 %p1, %r6, %r1;\n"
		    "@%p1 st.global.u32 [%rd1], %r3; ret;",
		    1000000, 256, 200000001, 0);

	assert_true(r->exact);
	assert_int_equal(r->eval.warps, 8000000);
	assert_true(r->eval.warps_run < 10);
	assert_stores(6250001, 6250001);
}

TEST(blocks_that_differ_each_are_sampled_and_it_is_said)
{
	r = snippet("mul.lo.u32 %r10, %r4, %r4; and.b32 %r10, %r10, 63;\n"
		    "setp.lt.u32 %p1, %r10, 17;\n"
		    "@%p1 st.global.u32 [%rd1], %r3; ret;",
		    1000000, 32, 0, 0);
	double share = snippet_stores(r).least / 1e6;

	assert_false(r->exact);
	assert_int_equal(r->eval.coverage, GW_COVER_SAMPLED);
	assert_true(r->eval.warps_run >= 128 && r->eval.warps_run <= 16384);
	/* Squares modulo 64 are 0, 1, 4, 9, 16 (and more) often: 40 of 64. */
	assert_true(share > 0.4 && share < 0.85);
}

/* Blocks of eight warps of which one goes 32 rounds where the others go one; which one, the block's
 * number says. So do the rounds of another loop, a few more or less, lest blocks stand for each
 * other. */
TEST(one_warp_of_each_block_that_works_long_is_counted)
{
	r = snippet("shr.u32 %r10, %r3, 5; and.b32 %r11, %r4, 7; mov.u32 %r12, 1;\n"
		    "setp.eq.u32 %p1, %r10, %r11; selp.u32 %r12, 32, 1, %p1;\n"
		    "mul.lo.u32 %r14, %r4, %r4; and.b32 %r14, %r14, 1; add.u32 %r12, %r12, %r14;\n"
		    "mov.u32 %r13, 0;\n"
		    "L: st.global.u32 [%rd1], %r3; add.u32 %r13, %r13, 1;\n"
		    "setp.lt.u32 %p2, %r13, %r12; @%p2 bra L; ret;",
		    1 << 20, 256, 0, 0);
	double stores = snippet_stores(r).least / (1 << 20);

	assert_int_equal(r->eval.coverage, GW_COVER_SAMPLED);
	/* 39 and, in every second block, eight more. */
	assert_true(stores > 0.98 * 43 && stores < 1.02 * 43);
	assert_true(r->eval.sure > 0.85 && r->eval.sure < 1);
	assert_true(r->eval.longest_cost > 3 * r->eval.mean_cost);
}

/* One block of 32 goes 64 rounds: as likely missed in a few as met too often. */
TEST(a_few_blocks_that_work_long_make_it_less_sure)
{
	static const char body[] =
		"mul.lo.u32 %r14, %r4, %r4; and.b32 %r14, %r14, 1; and.b32 %r11, %r4, 31;\n"
		"setp.eq.u32 %p1, %r11, 31; selp.u32 %r12, 64, 1, %p1; add.u32 %r12, %r12, %r14;\n"
		"mov.u32 %r13, 0;\n"
		"L: st.global.u32 [%rd1], %r3; add.u32 %r13, %r13, 1;\n"
		"setp.lt.u32 %p2, %r13, %r12; @%p2 bra L; ret;";
	r = snippet(body, 1 << 20, 32, 0, 0);
	double stores = snippet_stores(r).least / (1 << 20), truth = (31 * 1 + 64) / 32.0 + 0.5;

	assert_int_equal(r->eval.coverage, GW_COVER_SAMPLED);
	assert_true(fabs(stores / truth - 1) < 0.25 || r->eval.sure < 0.7);
	assert_true(r->eval.sure < 0.9);
}

static void assert_sampled_stores(double stores)
{
	assert_int_equal(r->eval.coverage, GW_COVER_SAMPLED);
	assert_true(fabs(snippet_stores(r).least / stores - 1) < 0.05);
}

/* Eight warps compute, beside four that end at once; a block takes a good part of the steps. */
TEST(a_block_that_stands_for_others_is_run_whole)
{
	r = snippet("setp.ge.u32 %p1, %r3, 256; @%p1 bra E; mov.u32 %r14, %r4; mov.u32 %r13, 0;\n"
		    "L: mad.lo.u32 %r14, %r14, 1664525, 1013904223; setp.lt.s32 %p1, %r14, 0;\n"
		    "@%p1 bra M; st.global.u32 [%rd1], %r3; M: add.u32 %r13, %r13, 1;\n"
		    "setp.lt.u32 %p2, %r13, 90000; @%p2 bra L;\n"
		    "E: ret;",
		    132, 384, 0, 0);

	assert_sampled_stores(132.0 * 8 * 45000);
}

/* Warp 0 stores as often as eight others compute for long. */
TEST(parts_of_a_block_stand_for_as_many)
{
	r = snippet(
		"mov.u32 %r12, 3; setp.lt.u32 %p1, %r4, 84; @%p1 mov.u32 %r12, 4;\n"
		"mul.lo.u32 %r14, %r4, %r4; and.b32 %r14, %r14, 7; setp.eq.u32 %p1, %r14, 1;\n"
		"@%p1 ld.global.u32 %r10, [%rd1]; mov.u32 %r13, 0; mov.u32 %r14, %r4;\n"
		"setp.ge.u32 %p1, %r3, 128; @%p1 bra C; setp.ge.u32 %p1, %r3, 32; @%p1 exit;\n"
		"S: st.global.u32 [%rd1], %r3; add.u32 %r13, %r13, 1;\n"
		"setp.lt.u32 %p2, %r13, %r12; @%p2 bra S; exit; C: mul.lo.u32 %r12, %r12, 4000;\n"
		"L: mad.lo.u32 %r14, %r14, 1664525, 1013904223; setp.lt.s32 %p1, %r14, 0;\n"
		"@!%p1 ld.global.u32 %r10, [%rd1]; add.u32 %r13, %r13, 1;\n"
		"setp.lt.u32 %p2, %r13, %r12; @%p2 bra L; ret;",
		132, 384, 0, 0);

	assert_sampled_stores(84 * 4 + 48 * 3);
}

/* Where nothing is left to chance it is sure. */
TEST(the_last_block_s_own_work_is_counted_exactly)
{
	r = snippet("mov.u32 %r12, 1; setp.eq.u32 %p1, %r4, 99999; @%p1 mov.u32 %r12, 500;\n"
		    "mov.u32 %r13, 0;\n"
		    "L: st.global.u32 [%rd1], %r3; add.u32 %r13, %r13, 1;\n"
		    "setp.lt.u32 %p2, %r13, %r12; @%p2 bra L; ret;",
		    100000, 64, 0, 0);

	assert_true(r->exact);
	assert_true(r->eval.sure == 1);
	assert_stores(2 * (99999 + 500), 2 * (99999 + 500));
}

TEST(an_elected_lane_and_a_broadcast_warp_are_known)
{
	r = snippet("shr.u32 %r10, %r3, 5;\n"
		    "shfl.sync.idx.b32 %r11, %r10, 0, 31, -1;\n"
		    "setp.ne.u32 %p1, %r11, 2;\n"
		    "@%p1 bra A;\n"
		    "elect.sync _|%p2, -1;\n"
		    "@%p2 st.global.u32 [%rd1], %r3;\n"
		    "A: ret;",
		    5, 128, 0, 0);

	assert_true(r->exact);
	assert_stores(5, 5);
}

TEST(waiting_for_an_mbarrier_leaves_the_rest_known)
{
	r = snippet("mov.u32 %r10, 0;\n"
		    "L: {\n.reg .pred P1;\nW: mbarrier.try_wait.parity.shared::cta.b64 P1, "
		    "[buffer], %r10;\n@P1 bra.uni D;\nbra.uni W;\nD:\n}\n"
		    "st.global.u32 [%rd1], %r3;\n"
		    "add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, %r1; @%p1 bra L; ret;",
		    1, 32, 1000, 0);

	assert_stores(1000, 1000);
	/* A round of each wait. */
	assert_count(r->counts.barriers[IR_BARRIER_MEMORY], 1000, 1000);
}

/* Each round a float of its number, which grows unevenly, decides with what was loaded: it is made
 * anew in the next one, so the rounds are alike. */
TEST(what_each_round_makes_anew_may_move_unevenly)
{
	r = snippet("mov.u32 %r10, 0;\n.reg .f32 F0, F1;\n"
		    "L: ld.global.f32 F0, [%rd1];\ncvt.rn.f32.u32 F1, %r10;\n"
		    "mul.f32 F0, F0, F1;\nsetp.gt.f32 %p1, F0, F1;\n@%p1 bra N;\n"
		    "st.global.u32 [%rd1], %r3;\n"
		    "N: add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, %r1; @%p1 bra L; ret;",
		    1, 32, 100000, 0);

	assert_stores(0, 100000);
	assert_true(r->eval.trips[0].extrapolated);
	assert_true(r->eval.steps < 2000);
}

/* A register of machine code holds what decides at one place and an address at another. */
TEST(an_address_in_a_register_that_decided_does_not_keep_a_loop)
{
	r = snippet("mov.u32 %r10, %r3; setp.ge.u32 %p1, %r10, 1000;\n"
		    "@%p1 bra E;\n"
		    "mov.u32 %r11, 0;\n"
		    "L: mad.lo.u32 %r10, %r10, 5, 1;\n"
		    "and.b32 %r12, %r10, 1020;\n"
		    "cvt.u64.u32 %rd10, %r12; add.u64 %rd11, %rd1, %rd10;\n"
		    "st.global.u32 [%rd11], %r3;\n"
		    "add.u32 %r11, %r11, 1; setp.lt.s32 %p2, %r11, 1000000000;\n"
		    "@%p2 bra L;\n"
		    "E: ret;",
		    2, 64, 0, 0);

	assert_true(r->exact);
	assert_stores(4e9, 4e9);
}

/* Two ways that end by themselves: the lanes of a branch on either meet again before its end. */
TEST(each_of_two_ends_has_meeting_points)
{
	r = snippet("ld.global.u32 %r10, [%rd1];\nsetp.lt.u32 %p1, %r3, 5; @%p1 bra B;\n"
		    "setp.gt.u32 %p1, %r10, 7; @%p1 bra A1;\nadd.u32 %r10, %r10, 1;\n"
		    "A1: st.global.u32 [%rd1], %r3; ret;\n"
		    "B: setp.gt.u32 %p1, %r10, 9; @%p1 bra B1;\nadd.u32 %r10, %r10, 2;\n"
		    "B1: st.global.u32 [%rd1], %r3; st.global.u32 [%rd1], %r10; ret;",
		    1, 32, 1000, 0);

	assert_stores(3, 3);
}

/* A wait in a region that also does something is no mere wait: it may be done any number of times.
 */
TEST(a_way_back_that_stores_is_no_wait)
{
	r = snippet("mov.u32 %r10, 0;\n"
		    "W: st.global.u32 [%rd1], %r3;\n"
		    "mbarrier.try_wait.parity.shared::cta.b64 %p1, [buffer], %r10;\n"
		    "@!%p1 bra W; ret;",
		    1, 32, 1000, 0);

	assert_true(isinf(snippet_stores(r).most));
	assert_false(r->eval.awaits);
}

TESTS_MAIN(NULL, snippet_end)
