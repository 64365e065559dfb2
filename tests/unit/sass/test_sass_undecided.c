/*
 * undecided.cu of compiled.tar.xz: where memory contents decide how much a launch does, its work is
 * "at least" and nothing is predicted from it; where what they decide cannot matter, it is
 * predicted; where it matters but is bounded, what is likely is predicted, with what it may be off.
 */
#include "predictor/code/static_code.h"
#include "predictor/learner/predictor.h"
#include "predictor/models/bounds.h"
#include "predictor/models/inputs.h"
#include "predictor/models/verdict.h"
#include "predictor/profile/profile.h"
#include "tests/test.h"
#include "tests/unit/sass/sass_fixture.h"

enum { ARGUMENTS = 48 };
static const uint64_t FIRST = UINT64_C(0x7f0000000000); /* pointer */

/* A launch; arguments are 8-byte pointers, then numbers. */
struct launch {
	const char *kernel;
	uint32_t grid, block;
	unsigned pointers;
	int32_t numbers[3];
};

static struct gw_profile profile;
static uint64_t mapped;    /* bytes of memory of the host that the first pointer leads to */
static uint64_t allocated; /* bytes of each allocation of the GPU's memory; 0: not known */
static uint32_t constants; /* bytes of constants of the program's */

static int read_profile(void **state)
{
	struct gw_profile_error error;

	return gw_profile_read(GW_PROFILES "/nvidia-h200.json", &profile, &error) ? -1 : 0;
}

static void arguments_of(const struct launch *l, uint8_t bytes[ARGUMENTS])
{
	memset(bytes, 0, ARGUMENTS);
	for (unsigned i = 0; i < l->pointers; i++) {
		uint64_t pointer = FIRST + ((uint64_t)i << 32);

		memcpy(bytes + 8 * i, &pointer, sizeof(pointer));
	}
	memcpy(bytes + (size_t)8 * l->pointers, l->numbers, sizeof(l->numbers));
}

/* What the code and the arguments say of @p l, into @p work. */
static void analyse(const struct launch *l, const struct gw_launch *launch, struct gw_work *work)
{
	uint8_t bytes[ARGUMENTS];
	struct gw_eval_launch at = {.config = launch->config, .arguments = {bytes, ARGUMENTS}};
	struct gw_sass_lowered lowered;
	struct gw_static_code code;
	struct built_file b;
	const uint64_t second = FIRST + (UINT64_C(1) << 32), third = second + (UINT64_C(1) << 32);
	const struct gw_static_memory memory[] = {
		{FIRST, FIRST + (mapped ? mapped : allocated), mapped > 0},
		{second, second + allocated, false},
		{third, third + allocated, false},
	};
	const char *open;

	arguments_of(l, bytes);
	built_file_begin(&b, GW_SASS, "undecided", l->kernel, 90);
	assert_null(gw_sass_lower(&lowered, &b.cfg, &b.kernel, &b.arena));
	code = (struct gw_static_code){.program = &lowered.program,
				       .cfg = &b.cfg,
				       .calls = lowered.calls ? lowered.calls
							      : gw_sass_indirect(&lowered),
				       .device = &profile.device,
				       .launch = launch,
				       .memory = memory,
				       .memory_count = allocated ? 3 : mapped > 0,
				       .at = &at};
	assert_null(gw_static_code_work(&code, &b.arena, work, &open));
	if (gw_work_least(work) > 0 && mapped)
		assert_non_null(strstr(open, "memory of the host"));
	built_file_end(&b);
}

/* What is said of the first launch of @p l; @p least gets its row. */
static struct gw_prediction first_of(const struct launch *l, double *least)
{
	const struct gw_kernel kernel = {"", 32, 0, 0, constants, 1024, 90};
	const struct gw_launch launch = {
		.kernel = &kernel, .config = {{l->grid, 1, 1}, {l->block, 1, 1}, {1, 1, 1}, 0, 0}};
	struct gw_predictor *p = gw_predictor_new(4);
	struct gw_prediction made;
	struct gw_work work;

	assert_non_null(p);
	analyse(l, &launch, &work);
	*least = gw_work_value(&work, GW_WORK_least_time);
	assert_true(gw_work_least(&work) == *least);
	gw_predictor_device(p, &profile.device);
	gw_predictor_configure(p, 1, 1, &launch);
	gw_predictor_work(p, 1, &work);
	gw_predict(p, 1, 0, &made);
	gw_predictor_free(p);
	return made;
}

TEST(what_data_decide_is_not_predicted)
{
	static const struct launch launches[] = {
		{"depth_first", 4096, 256, 3, {1 << 20}},
		{"work_list", 132, 256, 4, {0}},
		{"awaits_flag", 132, 256, 2, {0}},
		{"awaits_acquire", 132, 256, 2, {0}},
		{"awaits_lock", 132, 1, 2, {0}},
		{"awaits_the_one_before", 132, 256, 3, {0}},
		{"awaits_clock", 1, 1, 0, {1 << 20}},
		{"one_block", 1, 256, 2, {0}},
		{"sparse_rows", 4096, 256, 3, {1 << 20}},
		{"recursion", 1, 32, 3, {0}},
		{"local_array", 4096, 256, 2, {1 << 20}},
		{"histogram", 4096, 256, 2, {1 << 20}},
		{"constants_of_data", 4096, 256, 2, {0}},
		{"recursion_by_number", 132, 256, 1, {12}},
		{"called_by_pointer", 132, 256, 1, {100, 0}},
	};

	for (size_t i = 0; i < COUNT(launches); i++) {
		double least;
		struct gw_prediction made = first_of(&launches[i], &least);

		if (!(least > 0) || !isnan(made.seconds) || !(made.low > 0 && made.low < least) ||
		    !isnan(made.high) || made.tier != GW_TIER_NONE || !made.reason)
			fail_msg("%s: at least %g s; predicted %g s from %g s on",
				 launches[i].kernel, least, made.seconds, made.low);
	}
}

TEST(what_is_bounded_is_predicted_as_far_as_it_is_likely)
{
	static const struct launch launches[] = {
		{"a_branch", 4096, 256, 2, {1 << 20, 10000}},
		{"gather", 65536, 256, 3, {1 << 24}},
		{"blocks_meet", 132, 256, 3, {0}},
	};

	for (size_t i = 0; i < COUNT(launches); i++) {
		double least;
		struct gw_prediction made = first_of(&launches[i], &least);

		if (least != 0 || !(made.seconds > 0) || !(made.high > 2 * made.low))
			fail_msg("%s: at least %g s; predicted %g s, %g to %g s",
				 launches[i].kernel, least, made.seconds, made.low, made.high);
	}
}

/* Where the words that are gathered lie in a small allocation, L1 holds them all. */
TEST(a_gather_takes_as_long_as_its_allocation_is_large)
{
	const struct launch l = {"gather", 65536, 256, 3, {1 << 24}};
	double least, small, large;

	allocated = 1 << 12;
	small = first_of(&l, &least).seconds;
	allocated = UINT64_C(1) << 32;
	large = first_of(&l, &least).seconds;
	allocated = 0;
	assert_true(small > 0 && large > 1.5 * small);
}

TEST(what_does_not_matter_is_predicted)
{
	static const struct launch launches[] = {
		{"a_branch", 4096, 256, 2, {1 << 20, 4}},
		{"rare_store", 4096, 256, 2, {1 << 20}},
		{"roots", 65536, 256, 2, {1 << 24}},
		{"few_gathers", 4096, 256, 3, {1 << 20, 10000}},
		{"own_copy", 65536, 256, 2, {1 << 24}},
		{"spread_atomics", 4096, 256, 1, {1 << 20, 7}},
		{"constants_of_lanes", 4096, 256, 1, {1, 64}},
		{"least_of_doubles", 16, 256, 2, {0, 0x40340000}},
		{"awaits_phase_by_the_clock", 4096, 256, 2, {0}},
		{"local_sort", 4096, 256, 1, {1 << 20}}, /* stores take longer than the sort */
	};

	for (size_t i = 0; i < COUNT(launches); i++) {
		double least;
		struct gw_prediction made = first_of(&launches[i], &least);

		if (least != 0 || !(made.seconds > 0) || made.tier != GW_TIER_COLD)
			fail_msg("%s: at least %g s; predicted %g s", launches[i].kernel, least,
				 made.seconds);
	}
}

/* Where data place loads that cannot matter, what they move cannot bound the launch either. */
TEST(traffic_that_cannot_matter_leaves_a_verdict)
{
	static const struct gw_kernel kernel = {"", 32, 0, 0, 0, 1024, 90};
	const struct launch l = {"few_gathers", 4096, 256, 3, {1 << 20, 10000}};
	const struct gw_launch launch = {
		.kernel = &kernel, .config = {{l.grid, 1, 1}, {l.block, 1, 1}, {1, 1, 1}, 0, 0}};
	struct gw_estimate made;
	struct gw_verdict verdict;
	struct gw_work work;

	analyse(&l, &launch, &work);
	gw_model_bounds.estimate(&profile.device, &launch, &work, NULL, &made);
	gw_verdict_measured(&profile.device, &launch, &work, 4 * made.seconds, &verdict);
	assert_int_equal(verdict.bound, GW_BOUND_LATENCY);
	gw_verdict_of(&profile.device, &launch, &work, &made, &verdict);
	assert_int_not_equal(verdict.bound, GW_BOUND_UNKNOWN);
}

/* Of a copy of 2^24 words at most. */
static struct gw_prediction copied(uint32_t grid, uint32_t block, uint64_t mapped_bytes)
{
	const struct launch l = {"own_copy", grid, block, 2, {1 << 24}};
	struct gw_prediction made;
	double least;

	mapped = mapped_bytes;
	made = first_of(&l, &least);
	mapped = 0;
	return made;
}

TEST(what_crosses_the_bus_is_not_predicted)
{
	struct gw_prediction here = copied(65536, 256, 0), there = copied(65536, 256, 1 << 26);

	assert_true(here.seconds > 0 && isnan(there.seconds) && isnan(there.high));
	assert_true(there.low > 0 && there.low <= here.seconds * 1.001);
}

TEST(a_few_sectors_of_the_hosts_memory_do_not_matter)
{
	assert_true(copied(1, 32, 1 << 26).seconds > 0);
	assert_true(isnan(copied(8, 64, 1 << 26).seconds));
	assert_true(copied(65536, 256, 16).seconds > 0); /* what lies there is another's */
}

/* All that share a word of the bins one after the other: as many as there are threads to a word. */
enum { ADDING = 1 << 20 }; /* threads of spread_atomics */

/* A row of ADDING threads that add to @p among words; 0: to those that memory says. */
static double adding(int32_t among, enum gw_work_field row)
{
	static const struct gw_kernel kernel = {"", 32, 0, 0, 0, 1024, 90};
	const struct launch l = {among ? "spread_atomics" : "histogram",
				 ADDING / 256,
				 256,
				 2 - !!among,
				 {ADDING, among}};
	const struct gw_launch launch = {
		.kernel = &kernel, .config = {{l.grid, 1, 1}, {l.block, 1, 1}, {1, 1, 1}, 0, 0}};
	struct gw_work work;

	analyse(&l, &launch, &work);
	return gw_work_value(&work, row);
}

TEST(atomics_meet_as_often_as_words_are_few)
{
	static const int32_t among[] = {1, 7, 256, ADDING};

	for (unsigned i = 0; i < COUNT(among); i++)
		assert_true(fabs(adding(among[i], GW_WORK_atomic_same_address) * among[i] / ADDING -
				 1) < 1e-6);
	allocated = 4; /* and as much that no argument leads to */
	assert_true(adding(0, GW_WORK_atomic_same_address) == ADDING / 2);
	allocated = 0;
}

/* The operations of lanes on one word come one after the other, those on a line's words at once. */
TEST(lanes_that_share_a_word_take_l2_a_line_s_time_each)
{
	assert_true(fabs(adding(ADDING, GW_WORK_atomic_lines) - ADDING / 32) < 1e-3);
	assert_true(adding(1, GW_WORK_atomic_lines) >= ADDING);
}

/* The words of @p l that come out of the program's constants, and the time of it by `bounds`. */
static double constant_words(const struct launch *l, double *seconds)
{
	static const struct gw_kernel kernel = {"", 32, 0, 0, 0, 1024, 90};
	const struct gw_launch launch = {
		.kernel = &kernel, .config = {{l->grid, 1, 1}, {l->block, 1, 1}, {1, 1, 1}, 0, 0}};
	struct gw_estimate made;
	struct gw_work work;

	analyse(l, &launch, &work);
	gw_model_bounds.estimate(&profile.device, &launch, &work, NULL, &made);
	*seconds = made.seconds;
	return gw_work_value(&work, GW_WORK_constant_words);
}

/* Lanes that load different words wait for one after the other. */
TEST(constants_that_lanes_load_apart_take_as_long_as_they_are_many)
{
	enum { GRID = 4096, WARPS = 8, ROUNDS = 64 };
	const struct launch alike = {"constants_of_lanes", GRID, WARPS * 32, 1, {0, ROUNDS}},
			    apart = {"constants_of_lanes", GRID, WARPS * 32, 1, {1, ROUNDS}};
	double together, alone;

	assert_true(constant_words(&alike, &together) == (double)GRID * WARPS * ROUNDS);
	assert_true(constant_words(&apart, &alone) == (double)GRID * WARPS * ROUNDS * 32);
	assert_true(alone > 10 * together);
}

/* What data take of 4 KiB was measured; of more, which the nearest cache does not hold, it was not.
 */
TEST(constants_of_data_are_predicted_where_they_are_few)
{
	const struct launch l = {"constants_of_data", 132, 128, 2, {0}};
	struct gw_prediction few, many;
	double least;

	constants = 4096;
	few = first_of(&l, &least);
	constants = 16384;
	many = first_of(&l, &least);
	constants = 0;
	assert_true(few.seconds > 0 && few.low < few.seconds && few.seconds < few.high);
	assert_true(isnan(many.seconds) && many.low > 0);
}

/* Lanes whose atomic operations are at places that data decide may share lines. */
TEST(a_limit_has_atomics_side_by_side)
{
	const struct launch l = {"histogram", 4096, 256, 2, {1 << 20}};
	const double lines = (1 << 20) * 64.0,
		     rate = gw_param(&profile.device, GW_PARAM_b_l2_write);
	double least;

	first_of(&l, &least);
	assert_true(least > 0 && least < lines / rate);
}

static double loads_of(const struct launch *l)
{
	static const struct gw_kernel kernel = {"", 32, 0, 0, 0, 1024, 90};
	const struct gw_launch launch = {
		.kernel = &kernel, .config = {{l->grid, 1, 1}, {l->block, 1, 1}, {1, 1, 1}, 0, 0}};
	struct gw_work work;

	analyse(l, &launch, &work);
	return gw_work_value(&work, GW_WORK_global_load_requests);
}

/* Its rounds: the lesser of the number and 40, and the greater of it and 8. */
TEST(the_lesser_of_two_doubles_is_known)
{
	enum { GRID = 16, WARPS = 8 };
	static const struct {
		int32_t high; /* word of the number, whose low one is 0 */
		int rounds;
	} cases[] = {
		{0x40340000, 20 + 20},          /* 20 */
		{0x40590000, 40 + 100},         /* 100 */
		{0x40000000, 2 + 8},            /* 2 */
		{0x40440000, 40 + 40},          /* 40: both are it */
		{0, 0 + 8},                     /* 0 */
		{INT32_MIN, 0 + 8},             /* -0 */
		{0x7ff80000, 40 + 8},           /* no number */
		{(int32_t)0xc0340000, -20 + 8}, /* -20: no round at all */
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		const struct launch l = {
			"least_of_doubles", GRID, WARPS * 32, 2, {0, cases[i].high}};

		assert_true(loads_of(&l) ==
			    (cases[i].rounds > 0 ? cases[i].rounds : 0) * (double)GRID * WARPS);
	}
}

TESTS_MAIN(read_profile, NULL)
