/* SPDX-License-Identifier: Apache-2.0 */
/* Attribution of counter samples on windows whose truth is known. */
#include "predictor/counters/attribute.h"
#include "tests/test.h"

/* cmocka wants these before it. */

enum { SAMPLES = 200, RUNS = 4096, STEP = 20000 };

/* A window under construction: what ran, and what that counts. */
static struct {
	struct gw_interval run[RUNS];
	size_t runs;
	struct gw_sample sample[SAMPLES];
	uint64_t begin, at; /* ns */
} w;

/* What a launch of a configuration counts: two metrics. */
static double truth(uint32_t config, unsigned metric)
{
	return config * (metric ? 1e6 : 300.0);
}

static void window_begin(uint64_t begin)
{
	memset(&w, 0, sizeof(w));
	w.begin = w.at = begin;
	for (unsigned i = 0; i < SAMPLES; i++) {
		w.sample[i].begin = begin + i * STEP;
		w.sample[i].end = begin + (i + 1) * STEP;
	}
}

/* Count into the samples what an even rate from @p start to @p end comes to. */
static void count(uint32_t config, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < SAMPLES; i++) {
		uint64_t from = start > w.sample[i].begin ? start : w.sample[i].begin;
		uint64_t to = end < w.sample[i].end ? end : w.sample[i].end;

		for (unsigned m = 0; m < 2 && to > from; m++)
			w.sample[i].value[m] +=
			        truth(config, m) * (double)(to - from) / (double)(end - start);
	}
}

static void ran(uint32_t config, uint64_t start, uint64_t end)
{
	assert_in_range(w.runs, 0, RUNS - 1);
	w.run[w.runs++] = (struct gw_interval){start, end, config};
	count(config, start, end);
}

/* The next kernel, @p gap after the last. */
static void next(uint32_t config, uint64_t length, uint64_t gap)
{
	w.at += gap;
	ran(config, w.at, w.at + length);
	w.at += length;
}

static bool room(void)
{
	return w.at < w.begin + (uint64_t)(SAMPLES - 20) * STEP;
}

static enum gw_window_fate take(struct gw_attribution *a)
{
	return gw_attribution_window(a, w.sample, SAMPLES, w.run, w.runs);
}

static struct gw_counted counted(const struct gw_attribution *a, uint32_t config)
{
	struct gw_counted c;
	uint32_t found;

	for (unsigned i = 0; (found = gw_attribution_get(a, i, &c)) != 0; i++)
		if (found == config)
			return c;
	return (struct gw_counted){.value = {NAN, NAN}, .error = {NAN, NAN}};
}

static void assert_reported(const struct gw_attribution *a, uint32_t config, double tolerance)
{
	struct gw_counted c = counted(a, config);

	for (unsigned m = 0; m < 2; m++) {
		assert_true(fabs(c.value[m] - truth(config, m)) <= tolerance * truth(config, m));
		assert_true(c.error[m] < 0.25);
	}
}

static bool is_reported(const struct gw_attribution *a, uint32_t config)
{
	return counted(a, config).error[0] < 0.25;
}

static struct gw_attribution *fresh(void)
{
	struct gw_attribution *a = gw_attribution_new(2, 1);

	assert_non_null(a);
	return a;
}

TEST(lone_long_kernels_are_reported_exactly)
{
	struct gw_attribution *a = fresh();

	window_begin(1000000);
	/* Uneven within the kernel: all of it at its beginning. */
	w.run[w.runs++] = (struct gw_interval){1501000, 1801000, 7};
	count(7, 1501000, 1531000);
	assert_int_equal(take(a), GW_WINDOW_USED);
	gw_attribution_solve(a);
	assert_reported(a, 7, 1e-6);
	assert_true(fabs(counted(a, 7).launches - 1) < 1e-9);
	gw_attribution_free(a);
}

TEST(kernels_shorter_than_a_sample_come_out_of_many)
{
	struct gw_attribution *a = fresh();

	for (unsigned k = 0; k < 8; k++) {
		window_begin(1000000 + k * 777);
		for (unsigned i = 0; room(); i++) {
			next(1, 5000, 130);
			next(2, 7300, 200);
			if (i % 3 == k % 3)
				next(3, 1400, 90);
		}
		assert_int_equal(take(a), GW_WINDOW_USED);
	}
	gw_attribution_solve(a);
	assert_reported(a, 1, 0.02);
	assert_reported(a, 2, 0.02);
	assert_reported(a, 3, 0.02);
	gw_attribution_free(a);
}

/* The first quarter of a kernel's time counts all it does: no share of time is right for a sample
 * that cuts it. */
static void next_uneven(uint32_t config, uint64_t length, uint64_t gap)
{
	w.at += gap;
	w.run[w.runs++] = (struct gw_interval){w.at, w.at + length, config};
	count(config, w.at, w.at + length / 4);
	w.at += length;
}

TEST(kernels_that_count_unevenly_are_reported_from_those_that_no_sample_cuts)
{
	struct gw_attribution *a = fresh();

	for (unsigned k = 0; k < 8; k++) {
		window_begin(1000000 + k * 777);
		for (unsigned i = 0; room(); i++) {
			next_uneven(1, 25000, 1300 + i * 7 % 900);
			next_uneven(2, 37000, 900 + i * 13 % 1100);
			if (i % 3 == k % 3)
				next_uneven(3, 14000, 1700);
		}
		assert_int_equal(take(a), GW_WINDOW_USED);
	}
	gw_attribution_solve(a);
	assert_reported(a, 1, 0.005);
	assert_reported(a, 2, 0.005);
	assert_reported(a, 3, 0.005);
	gw_attribution_free(a);
}

/* A kernel that counts from 0.5 us after its record's begin on, until 2.25 us before its end. */
static void next_lagging(uint32_t config, uint64_t length)
{
	w.run[w.runs++] = (struct gw_interval){w.at, w.at + length, config};
	count(config, w.at + 500, w.at + length - 2250);
	w.at += length;
}

/*
 * As a decode loop in a graph: the same few microseconds again and again, nothing between, few of
 * them in windows. What is counted of a kernel is not spread over the time of its record.
 */
TEST(kernels_whose_records_hold_more_than_their_counting_are_reported)
{
	struct gw_attribution *a = fresh();

	for (unsigned k = 0; k < 6; k++) {
		window_begin(1000000 + k * 3777);
		for (unsigned token = 0; token < 2; token++) {
			w.at += 170000 + k * 1300;
			for (unsigned layer = 0; layer < 8; layer++) {
				next_lagging(1, 3300);
				next_lagging(40, 5100);
				next_lagging(8, 6200);
				next_lagging(1, 3300);
				next_lagging(60, 5300);
			}
		}
		assert_int_equal(take(a), GW_WINDOW_USED);
	}
	gw_attribution_solve(a);
	assert_reported(a, 40, 0.1);
	assert_reported(a, 60, 0.1);
	assert_reported(a, 8, 0.3);
	gw_attribution_free(a);
}

/* What one lag says and another denies, of samples that hardly tell them apart, is not sure. */
TEST(too_few_samples_to_tell_neighbours_apart_are_not_believed)
{
	struct gw_attribution *a = fresh();
	struct gw_counted one, forty;

	window_begin(1000000);
	w.at += 170000;
	for (unsigned layer = 0; layer < 4; layer++) {
		next_lagging(1, 3300);
		next_lagging(40, 5100);
	}
	assert_int_equal(take(a), GW_WINDOW_USED);
	gw_attribution_solve(a);
	one = counted(a, 1);
	forty = counted(a, 40);
	for (unsigned m = 0; m < 2; m++) {
		assert_false(fabs(one.value[m] - truth(1, m)) > 3 * one.error[m] * one.value[m] &&
		             one.error[m] < 0.25);
		assert_false(fabs(forty.value[m] - truth(40, m)) >
		                     3 * forty.error[m] * forty.value[m] &&
		             forty.error[m] < 0.25);
	}
	gw_attribution_free(a);
}

/* Two that always run together: neither is reported, and each did no more than both. */
TEST(what_can_not_be_reported_is_limited_by_all_that_ran_beside)
{
	struct gw_attribution *a = fresh();
	double both[2] = {truth(3, 0) + truth(5, 0), truth(3, 1) + truth(5, 1)};

	for (unsigned k = 0; k < 8; k++) {
		window_begin(1000000 + k * 777);
		while (room()) {
			next(3, 500, 39000);
			next(5, 500, 0);
		}
		assert_int_equal(take(a), GW_WINDOW_USED);
	}
	gw_attribution_solve(a);
	for (unsigned config = 3; config <= 5; config += 2)
		for (unsigned m = 0; m < 2; m++) {
			struct gw_counted c = counted(a, config);

			assert_true(isnan(c.value[m]));
			assert_true(c.most[m] >= truth(config, m));
			assert_true(c.most[m] <= 1.1 * both[m]);
		}
	gw_attribution_free(a);
}

/* Each round alike, and a moment of rest only after it: what samples of parts of it say decides. */
TEST(rounds_that_are_all_alike_are_still_distinguished)
{
	struct gw_attribution *a = fresh();

	for (unsigned k = 0; k < 8; k++) {
		window_begin(1000000 + k * 1777);
		while (room()) {
			next(1, 45000, 15000);
			next(2, 33000, 0);
			next(3, 64000, 0);
		}
		assert_int_equal(take(a), GW_WINDOW_USED);
	}
	gw_attribution_solve(a);
	assert_reported(a, 1, 0.01);
	assert_reported(a, 2, 0.01);
	assert_reported(a, 3, 0.01);
	gw_attribution_free(a);
}

/* Always together, in every sample alike: no equation separates them. */
TEST(kernels_that_nothing_tells_apart_stay_unknown)
{
	struct gw_attribution *a = fresh();

	for (unsigned k = 0; k < 4; k++) {
		window_begin(1000000);
		while (room()) {
			next(1, 5000, 100);
			next(2, 5000, 100);
			next(9, 9700, 100);
		}
		for (unsigned i = 0; i < SAMPLES; i++) /* noise that no rate explains */
			w.sample[i].value[0] *= 1 + 0.2 * ((i * 7 + k) % 5 - 2.0);
		take(a);
	}
	gw_attribution_solve(a);
	assert_false(is_reported(a, 1));
	assert_false(is_reported(a, 2));
	gw_attribution_free(a);
}

TEST(kernels_that_run_at_once_are_credited_with_nothing)
{
	struct gw_attribution *a = fresh();

	window_begin(1000000);
	ran(1, 1100000, 1400000);
	ran(2, 1300000, 1600000);
	ran(3, 2100000, 2400000);
	assert_int_equal(take(a), GW_WINDOW_USED);
	gw_attribution_solve(a);
	assert_false(is_reported(a, 1));
	assert_false(is_reported(a, 2));
	assert_reported(a, 3, 1e-6);
	gw_attribution_free(a);
}

TEST(samples_that_a_copy_touches_are_left_out)
{
	struct gw_attribution *a = fresh();

	for (unsigned k = 0; k < 4; k++) {
		window_begin(1000000);
		for (unsigned i = 0; i < 6; i++)
			next(5, 200000, 50000);
		/* a copy beside the third, which counts what kernels count */
		w.run[w.runs++] = (struct gw_interval){1560000, 1620000, 0};
		count(400, 1560000, 1620000);
		assert_int_equal(take(a), GW_WINDOW_USED);
	}
	gw_attribution_solve(a);
	assert_reported(a, 5, 1e-6);
	gw_attribution_free(a);
}

TEST(work_without_a_kernel_sets_the_window_aside)
{
	struct gw_attribution *a = fresh();

	window_begin(1000000);
	next(5, 200000, 300000);
	count(90, 2000000, 2500000); /* nobody we know */
	assert_int_equal(take(a), GW_WINDOW_FOREIGN);
	/* and the next that has no idle time to show it */
	window_begin(9000000);
	next(5, (uint64_t)SAMPLES * STEP, 0);
	assert_int_equal(take(a), GW_WINDOW_FOREIGN);
	/* but not one that shows there is nothing */
	window_begin(19000000);
	next(5, 200000, 300000);
	assert_int_equal(take(a), GW_WINDOW_USED);
	gw_attribution_free(a);
}

TEST(the_first_sample_and_lost_ones_are_not_used)
{
	struct gw_attribution *a = fresh();

	window_begin(1000000);
	for (unsigned i = 0; i < 8; i++)
		next(5, 200000, 50000);
	w.sample[0].value[0] = w.sample[0].value[1] = 1e12;
	/* samples 30 to 39 were lost */
	memmove(&w.sample[30], &w.sample[40], (SAMPLES - 40) * sizeof(w.sample[0]));
	assert_int_equal(gw_attribution_window(a, w.sample, SAMPLES - 10, w.run, w.runs),
	                 GW_WINDOW_USED);
	gw_attribution_solve(a);
	assert_reported(a, 5, 0.01);
	gw_attribution_free(a);
}

/*
 * Without a moment of rest every equation cuts some launch, and all of them count unevenly: those
 * that cut the one that counts a hundred times as much say little of the others.
 */
TEST(little_is_reported_beside_much_where_nothing_rests)
{
	struct gw_attribution *a = fresh();

	for (unsigned k = 0; k < 16; k++) {
		window_begin(1000000);
		w.at += k * 7919;
		for (unsigned i = k; room(); i++) {
			static const uint32_t order[] = {1, 400, 2, 3, 400, 1, 3};
			uint32_t config = order[i % 7];
			uint64_t length = 150000 + config % 7 * 20000;

			w.run[w.runs++] = (struct gw_interval){w.at, w.at + length, config};
			count(config, w.at + length / 4, w.at + length); /* at first nothing */
			w.at += length;
		}
		take(a);
		gw_attribution_solve(a);
	}
	for (uint32_t config = 1; config <= 3; config++)
		assert_reported(a, config, 0.004);
	gw_attribution_free(a);
}

/* As on an H200 after a window that had more samples than were read. */
TEST(what_an_earlier_window_left_over_is_not_used)
{
	struct gw_attribution *a = fresh();

	window_begin(1000000);
	assert_int_equal(gw_samples_own(w.sample, SAMPLES), 1);
	assert_int_equal(gw_samples_own(w.sample, 0), 0);
	w.at += 20 * STEP;
	for (unsigned i = 0; i < 8; i++)
		next(5, 200000, 50000);
	for (unsigned i = 0; i < 8; i++) { /* without times … */
		w.sample[i].begin = w.sample[i].end = 3000;
		w.sample[i].value[0] = w.sample[i].value[1] = 1e12;
	}
	/* … and then the one that reaches back, to before kernels that are known */
	w.sample[8].begin = 3000;
	w.sample[8].value[0] = w.sample[8].value[1] = 1e12;
	w.run[w.runs++] = (struct gw_interval){40000, 240000, 5};
	assert_int_equal(gw_samples_own(w.sample, SAMPLES), 9);
	assert_int_equal(take(a), GW_WINDOW_USED);
	gw_attribution_solve(a);
	assert_reported(a, 5, 1e-6);
	assert_true(fabs(counted(a, 5).launches - 8) < 1e-9);
	assert_int_equal(gw_attribution_window(a, w.sample, 9, w.run, w.runs), GW_WINDOW_EMPTY);
	gw_attribution_free(a);
}

TEST(a_kernel_longer_than_windows_is_reported_from_parts)
{
	struct gw_attribution *a = fresh();

	for (unsigned k = 0; k < 8; k++) {
		window_begin(100000000 + k * 1000000);
		ran(6, 50000000, 150000000);
		assert_int_equal(take(a), GW_WINDOW_USED);
		gw_attribution_solve(a);
		assert_false(is_reported(a, 6)); /* not yet as much as a whole launch */
	}
	for (unsigned k = 0; k < 30; k++) {
		window_begin(100000000 + k * 1000000);
		ran(6, 50000000, 150000000);
		take(a);
	}
	gw_attribution_solve(a);
	assert_reported(a, 6, 0.01);
	gw_attribution_free(a);
}

TEST(more_configurations_than_fit_take_turns_without_spoiling_others)
{
	struct gw_attribution *a = fresh();

	for (uint32_t k = 0; k < 60; k++) {
		window_begin(1000000 + k);
		next(1, 150000, 40000);
		for (uint32_t i = 0; i < 12; i++)
			next(2 + (k * 12 + i) % 200, 90000 + i * 1000, 0);
		assert_int_equal(take(a), GW_WINDOW_USED);
	}
	gw_attribution_solve(a);
	assert_reported(a, 1, 0.02);
	assert_reported(a, 2 + (59 * 12 + 5) % 200, 0.02);
	gw_attribution_free(a);
}

/* One configuration whose work depends on its arguments, and one that always runs beside it. */
TEST(work_that_varies_makes_no_false_zero_of_its_neighbour)
{
	struct gw_attribution *a = fresh();
	struct gw_counted c;

	for (unsigned k = 0; k < 24; k++) {
		window_begin(1000000 + k * 333);
		while (room()) {
			/* ten times the work in every other window, where the other does not run */
			uint64_t at = w.at + 100;

			next(4, 6000, 100);
			for (unsigned n = 0; n < 9 && k & 1; n++)
				count(4, at, at + 6000);
			if (!(k & 1))
				next(2, 3000, 100);
		}
		assert_int_equal(take(a), GW_WINDOW_USED);
	}
	gw_attribution_solve(a);
	c = counted(a, 2);
	/* Right, or unsure, or not reported. */
	for (unsigned m = 0; m < 2; m++)
		assert_true(isnan(c.value[m]) || c.error[m] > 0.2 ||
		            fabs(c.value[m] - truth(2, m)) < 3 * c.error[m] * truth(2, m));
	gw_attribution_free(a);
}

TEST(what_a_program_did_long_ago_is_forgotten)
{
	struct gw_attribution *a = fresh();

	for (unsigned k = 0; k < 80; k++) {
		window_begin(1000000);
		for (unsigned i = 0; i < 6; i++)
			next(5, 200000, 50000);
		if (k < 40) /* it counted twice as much then */
			for (unsigned i = 0; i < SAMPLES; i++)
				for (unsigned m = 0; m < 2; m++)
					w.sample[i].value[m] *= 2;
		take(a);
	}
	gw_attribution_solve(a);
	assert_reported(a, 5, 1e-6);
	gw_attribution_free(a);
}

TEST(a_gpu_that_idles_tells_nothing)
{
	struct gw_attribution *a = fresh();
	struct gw_counted c;

	window_begin(1000000);
	assert_int_equal(take(a), GW_WINDOW_EMPTY);
	assert_int_equal(gw_attribution_window(a, w.sample, 1, w.run, 0), GW_WINDOW_EMPTY);
	gw_attribution_solve(a);
	assert_int_equal(gw_attribution_get(a, 0, &c), 0);
	gw_attribution_free(a);
}

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

TEST(of_one_placed_window_nothing_is_said)
{
	struct gw_attribution *a = fresh();

	gw_attribution_placed(a);
	misplaced(a, 0, 1500);
	gw_attribution_solve(a);
	for (uint32_t config = 1; config <= 3; config++) {
		assert_true(isnan(counted(a, config).value[0]));
		assert_true(isnan(counted(a, config).most[0]));
	}
	gw_attribution_free(a);
}

TEST(confidence_falls_with_the_error)
{
	assert_true(gw_counted_confidence(0) == 1);
	assert_true(gw_counted_confidence(0.1) == 0.5F);
	assert_true(gw_counted_confidence(NAN) == 0);
}

int main(void)
{
	return tests_run(NULL, NULL);
}
