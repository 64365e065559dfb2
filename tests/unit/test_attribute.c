/* Attribution of counter samples on windows whose truth is known. */
#include "tests/unit/attribution.h"

ATTRIBUTION_TEST(lone_long_kernels_are_reported_exactly)
{
	window_begin(1000000);
	/* Uneven within the kernel: all of it at its beginning. */
	w.run[w.runs++] = (struct gw_interval){1501000, 1801000, 7};
	count(7, 1501000, 1531000);
	assert_int_equal(take(a), GW_WINDOW_USED);
	gw_attribution_solve(a);
	assert_reported(a, 7, 1e-6);
	assert_true(fabs(counted(a, 7).launches - 1) < 1e-9);
}

ATTRIBUTION_TEST(kernels_shorter_than_a_sample_come_out_of_many)
{
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

ATTRIBUTION_TEST(kernels_that_count_unevenly_are_reported_from_those_that_no_sample_cuts)
{
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
ATTRIBUTION_TEST(kernels_whose_records_hold_more_than_their_counting_are_reported)
{
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
}

/* What one lag says and another denies, of samples that hardly tell them apart, is not sure. */
ATTRIBUTION_TEST(too_few_samples_to_tell_neighbours_apart_are_not_believed)
{
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
}

/* Two that always run together: neither is reported, and each did no more than both. */
ATTRIBUTION_TEST(what_can_not_be_reported_is_limited_by_all_that_ran_beside)
{
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
}

/* Each round alike, and a moment of rest only after it: what samples of parts of it say decides. */
ATTRIBUTION_TEST(rounds_that_are_all_alike_are_still_distinguished)
{
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
}

/* Always together, in every sample alike: no equation separates them. */
ATTRIBUTION_TEST(kernels_that_nothing_tells_apart_stay_unknown)
{
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
}

ATTRIBUTION_TEST(kernels_that_run_at_once_are_credited_with_nothing)
{
	window_begin(1000000);
	ran(1, 1100000, 1400000);
	ran(2, 1300000, 1600000);
	ran(3, 2100000, 2400000);
	assert_int_equal(take(a), GW_WINDOW_USED);
	gw_attribution_solve(a);
	assert_false(is_reported(a, 1));
	assert_false(is_reported(a, 2));
	assert_reported(a, 3, 1e-6);
}

ATTRIBUTION_TEST(samples_that_a_copy_touches_are_left_out)
{
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
}

ATTRIBUTION_TEST(work_without_a_kernel_sets_the_window_aside)
{
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
}

ATTRIBUTION_TEST(the_first_sample_and_lost_ones_are_not_used)
{
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
}

/*
 * Without a moment of rest every equation cuts some launch, and all of them count unevenly: those
 * that cut the one that counts a hundred times as much say little of the others.
 */
ATTRIBUTION_TEST(little_is_reported_beside_much_where_nothing_rests)
{
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
}

/* As on an H200 after a window that had more samples than were read. */
ATTRIBUTION_TEST(what_an_earlier_window_left_over_is_not_used)
{
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
}

ATTRIBUTION_TEST(a_kernel_longer_than_windows_is_reported_from_parts)
{
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
}

ATTRIBUTION_TEST(more_configurations_than_fit_take_turns_without_spoiling_others)
{
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
}

/* One configuration whose work depends on its arguments, and one that always runs beside it. */
ATTRIBUTION_TEST(work_that_varies_makes_no_false_zero_of_its_neighbour)
{
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
}

ATTRIBUTION_TEST(what_a_program_did_long_ago_is_forgotten)
{
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
}

ATTRIBUTION_TEST(a_gpu_that_idles_tells_nothing)
{
	struct gw_counted c;

	window_begin(1000000);
	assert_int_equal(take(a), GW_WINDOW_EMPTY);
	assert_int_equal(gw_attribution_window(a, w.sample, 1, w.run, 0), GW_WINDOW_EMPTY);
	gw_attribution_solve(a);
	assert_int_equal(gw_attribution_get(a, 0, &c), 0);
}

/*
 * As a training step of a convolution net: three times as many configurations as are solved for at
 * a time, in pairs that no sample separates but that are not always the same. A window has part
 * of a step.
 */
ATTRIBUTION_TEST(all_of_a_step_with_more_configurations_than_fit_are_reported)
{
	enum { STEP_OF = 288, WINDOWS = 24 };
	bool reported[STEP_OF + 1] = {0};
	uint32_t at = 0, config;
	struct gw_counted c;
	unsigned all = 0;

	for (unsigned k = 0; k < WINDOWS; k++) {
		window_begin(1000000 + k * 777);
		for (; room(); at = (at + 1) % STEP_OF) {
			next_uneven(at + 1, 4000, 20000);
			next_uneven((at * 5 + k) % STEP_OF + 1, 4000, 0);
		}
		assert_int_equal(take(a), GW_WINDOW_USED);
		gw_attribution_solve(a);
		for (unsigned i = 0; (config = gw_attribution_get(a, i, &c)) != 0; i++)
			reported[config] |=
				c.error[0] < 0.25 && fabs(c.value[0] / truth(config, 0) - 1) < 0.05;
	}
	for (unsigned i = 1; i <= STEP_OF; i++)
		all += reported[i];
	assert_in_range(all, STEP_OF * 9 / 10, STEP_OF);
}

TEST(confidence_falls_with_the_error)
{
	assert_true(gw_counted_confidence(0) == 1);
	assert_true(gw_counted_confidence(0.1) == 0.5F);
	assert_true(gw_counted_confidence(NAN) == 0);
}

TESTS_MAIN()
