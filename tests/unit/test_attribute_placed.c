/* Attribution where the samples say when runs were: windows of event pairs. */
#include "tests/unit/attribution.h"

/* Pairs of kernels, and idle time of @p gap behind each pair. */
static void pairs(uint64_t gap)
{
	window_begin(1000000);
	for (next(1, 70000, 150000); room(); next(1, 70000, gap))
		next(2, 43000, 1500);
}

static uint64_t shift(uint64_t most)
{
	return gw_attribution_shift(w.sample, SAMPLES, 1, w.run, w.runs, most, (int64_t)most / 2);
}

/* As event pairs tell it: how long after each other, and of the first no more than from when. */
TEST(idle_samples_tell_when_all_ran)
{
	pairs(61000);
	for (size_t i = 0; i < w.runs; i++) {
		w.run[i].start -= 13000;
		w.run[i].end -= 13000;
	}
	assert_in_range(shift(40000), 11500, 14500);
}

TEST(samples_that_are_never_idle_do_not_tell_when)
{
	pairs(0);
	assert_true(shift(40000) == UINT64_MAX);
	assert_in_range(shift(10000), 5000, 5000); /* the middle of what is known is near enough */
}

TEST(of_shifts_that_fit_alike_the_nearest_to_the_expected_is_taken)
{
	pairs(0);
	assert_int_equal(gw_attribution_shift(w.sample, SAMPLES, 1, w.run, w.runs, 10000, 3100),
			 3100);
	assert_int_equal(gw_attribution_shift(w.sample, SAMPLES, 1, w.run, w.runs, 10000, -1), 0);
	assert_int_equal(gw_attribution_shift(w.sample, SAMPLES, 1, w.run, w.runs, 10000, 99999),
			 10000);
}

/* A window in which all runs are known @p off too late. */
static void misplaced(struct gw_attribution *a, unsigned k, int off)
{
	window_begin(1000000 + k * 777);
	for (unsigned i = 0; room(); i++) {
		next(1, 80000, 61000 + i % 5 * 7000);
		next(2, 7000, 1000);
		next(3, 60000, 1000);
	}
	for (size_t i = 0; i < w.runs; i++) {
		w.run[i].start += (uint64_t)off;
		w.run[i].end += (uint64_t)off;
	}
	take(a);
}

/* Share of what is said after nine windows that is off by over three of its errors. */
static double beyond_its_error(bool placed)
{
	unsigned dice = 1, said = 0, beyond = 0;

	for (unsigned trial = 0; trial < 100; trial++) {
		struct gw_attribution *a = fresh();

		if (placed)
			gw_attribution_placed(a);
		for (unsigned k = 0; k < 9; k++) {
			dice = dice * 1664525 + 1013904223;
			misplaced(a, trial * 9 + k, (int)(dice >> 16) % 4000 - 2000);
		}
		gw_attribution_solve(a);
		for (uint32_t config = 1; config <= 3; config++) {
			struct gw_counted c = counted(a, config);
			double is = truth(config, 0);

			said += c.error[0] < 0.25;
			beyond += c.error[0] < 0.25 && fabs(c.value[0] - is) > 3 * c.error[0] * is;
		}
		gw_attribution_free(a);
	}
	print_message("placed %d: %u of %u\n", placed, beyond, said);
	assert_true(said > 200);
	return (double)beyond / said;
}

TEST(errors_of_placed_windows_hold)
{
	assert_true(beyond_its_error(true) < 0.01);
	assert_true(beyond_its_error(false) > 0.05); /* what they are for */
}

ATTRIBUTION_TEST(of_one_placed_window_nothing_is_said)
{
	gw_attribution_placed(a);
	misplaced(a, 0, 1500);
	gw_attribution_solve(a);
	for (uint32_t config = 1; config <= 3; config++) {
		assert_true(isnan(counted(a, config).value[0]));
		assert_true(isnan(counted(a, config).most[0]));
	}
}

TESTS_MAIN()
