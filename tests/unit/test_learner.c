/* Kernels whose times follow known laws: what each tier makes of what it knows. */
#include "tests/test.h"
#include "tests/unit/learner_fixture.h"

/* ---- cold ---- */

TEST_WITH(the_first_launch_of_all_is_predicted_by_the_model_and_doubted, start, stop)
{
	uint32_t c = configure(1, 5000, 256);
	struct gw_prediction made;

	made = predict(c);
	assert_true(isnan(made.seconds));
	assert_non_null(strstr(made.reason, "work"));
	tell(c, GW_SOURCE_COUNTED, 1);
	made = predict(c);
	assert_true(off(made, model()) < 1e-9);
	assert_true(made.high > 2 * made.seconds && made.low < made.seconds / 2);
	assert_int_equal(made.tier, GW_TIER_COLD);
	assert_int_equal(made.work, GW_SOURCE_COUNTED);
	assert_int_equal(made.bound, bound);
	assert_int_equal(made.known, 0);
}

/* The model is 1.6 times too fast for every kernel: after some, the next is foreseen. */
TEST_WITH(what_the_model_lacks_for_all_kernels_is_learnt_by_source, start, stop)
{
	double first = 0;
	uint32_t c;

	for (uint32_t kernel = 1; kernel <= 40; kernel++) {
		struct gw_prediction made;

		c = configure(kernel, 1000 * kernel, 256);
		tell(c, GW_SOURCE_COUNTED, 1);
		made = measure(c, 1.6 * model() * exp(0.1 * normal()));
		if (kernel == 1)
			first = log(made.high / made.low);
	}
	c = configure(100, 7777, 128);
	tell(c, GW_SOURCE_COUNTED, 1);
	assert_int_equal(predict(c).tier, GW_TIER_COLD);
	assert_true(off(predict(c), 1.6 * model()) < 0.1);
	assert_true(log(predict(c).high / predict(c).low) < first / 2);
	/* Nothing was seen of how far code can be trusted. */
	tell(c, GW_SOURCE_STATIC, 1);
	assert_true(off(predict(c), model()) < 1e-9);
	assert_true(log(predict(c).high / predict(c).low) > first * 0.9);
}

/* Most kernels are as the model says, a third four times slower: no reason to slow down all. */
TEST_WITH(a_few_slow_kernels_do_not_move_the_rest, start, stop)
{
	uint32_t c;

	for (uint32_t kernel = 1; kernel <= 45; kernel++) {
		c = configure(kernel, 1000 * kernel, 256);
		tell(c, GW_SOURCE_COUNTED, 1);
		measure(c, (kernel % 3 ? 1 : 4) * model() * exp(0.05 * normal()));
	}
	c = configure(100, 7777, 128);
	tell(c, GW_SOURCE_COUNTED, 1);
	assert_true(off(predict(c), model()) < 0.1);
}

/* Programs of four kernels whose errors are as large as assumed: what three show of them holds
 * the fourth nine times in ten. */
TEST_WITH(few_kernels_tell_no_narrower_interval_than_holds_the_next, start, stop)
{
	enum { PROGRAMS = 500, KERNELS = 4 };
	const double SIZE = 0.7;
	unsigned held = 0;

	for (unsigned i = 0; i < PROGRAMS; i++) {
		gw_predictor_free(p);
		assert_int_equal(start(NULL), 0);
		seed = 1000 + i;
		for (uint32_t kernel = 1; kernel <= KERNELS; kernel++) {
			uint32_t c = configure(kernel, 2000 * kernel, 256);
			double seconds = model() * exp(SIZE * normal());

			tell(c, GW_SOURCE_COUNTED, 1);
			held += kernel == KERNELS && holds(predict(c), seconds);
			measure(c, seconds);
		}
	}
	assert_true(held > 0.86 * PROGRAMS && held < 0.94 * PROGRAMS);
}

TEST_WITH(one_far_off_kernel_of_few_widens_the_next_little, start, stop)
{
	double width[6];

	for (uint32_t kernel = 1; kernel <= 5; kernel++) {
		uint32_t c = configure(kernel, 2000 * kernel, 256);
		struct gw_prediction made;

		tell(c, GW_SOURCE_COUNTED, 1);
		made = measure(c, model() * (kernel == 4 ? 6 : 1));
		width[kernel] = log(made.high / made.low);
	}
	assert_true(width[5] < 1.4 * width[4]);
}

TEST_WITH(cold_intervals_come_to_hold_nine_in_ten, start, stop)
{
	int scored = 0, held = 0;
	double width = 0;

	for (uint32_t kernel = 1; kernel <= 1500; kernel++) {
		uint32_t c = configure(kernel, 500 + kernel * 37 % 50000, 256);
		struct gw_prediction made;
		double seconds;

		tell(c, GW_SOURCE_COUNTED, 1);
		seconds = 0.8 * model() * exp(0.3 * normal());
		made = measure(c, seconds);
		assert_int_equal(made.tier, GW_TIER_COLD);
		if (kernel > 100) {
			scored++;
			held += holds(made, seconds);
			width += log(made.high / made.low) / 2;
		}
	}
	assert_true(held > 0.87 * scored && held < 0.93 * scored);
	width /= scored; /* of a normal of 0.3: 0.49 */
	assert_true(width > 0.43 && width < 0.60);
}

/* ---- warm ---- */

/* This kernel takes 2.5 times what the model says, and no other does. */
TEST_WITH(a_kernels_own_error_is_learnt_from_its_other_configurations, start, stop)
{
	struct gw_prediction made;
	double wide, seconds;
	uint32_t c;

	for (uint32_t kernel = 1; kernel <= 20; kernel++) {
		c = configure(kernel, 900 * kernel, 256);
		tell(c, GW_SOURCE_COUNTED, 1);
		measure(c, model() * exp(0.05 * normal()));
	}
	c = configure(50, 2000, 256);
	tell(c, GW_SOURCE_COUNTED, 1);
	measure(c, 2.5 * model());
	c = configure(50, 9000, 256);
	tell(c, GW_SOURCE_COUNTED, 1);
	seconds = 2.5 * model();
	made = measure(c, seconds);
	assert_int_equal(made.tier, GW_TIER_WARM);
	assert_true(off(made, seconds) < 0.15 && holds(made, seconds));
	wide = log(made.high / made.low);
	for (uint32_t i = 0; i < 6; i++) {
		c = configure(50, 3000 + 1500 * i, 128);
		tell(c, GW_SOURCE_COUNTED, 1);
		seconds = 2.5 * model();
		made = measure(c, seconds);
	}
	assert_true(off(made, seconds) < 0.03);
	assert_true(log(made.high / made.low) < wide);
}

/* Its error grows with its size: between what was seen, the error in between is foreseen. */
TEST_WITH(an_error_that_changes_with_size_is_followed, start, stop)
{
	double seconds;
	uint32_t c;

	for (uint32_t i = 0; i < 8; i++) {
		c = configure(1, 1000u << i, 256);
		tell(c, GW_SOURCE_COUNTED, 1);
		measure(c, model() * (1 + 0.2 * i));
	}
	c = configure(1, 11314, 256); /* half way from the fourth to the fifth */
	tell(c, GW_SOURCE_COUNTED, 1);
	seconds = model() * 1.7;
	assert_true(off(predict(c), seconds) < 0.08);
}

TEST_WITH(one_disturbed_configuration_does_not_spoil_its_relatives, start, stop)
{
	uint32_t c;

	for (uint32_t i = 0; i < 8; i++) {
		c = configure(1, 4000 + 500 * i, 256);
		tell(c, GW_SOURCE_COUNTED, 1);
		measure(c, model() * (i == 4 ? 10 : 1.3));
	}
	c = configure(1, 6200, 256);
	tell(c, GW_SOURCE_COUNTED, 1);
	assert_true(off(predict(c), 1.3 * model()) < 0.1);
}

/* Only other configurations were counted; its work is in proportion to its threads. */
TEST_WITH(work_is_scaled_per_thread, start, stop)
{
	struct gw_prediction made;
	uint32_t c;

	for (uint32_t i = 1; i <= 3; i++) {
		c = configure(1, 3000 * i, 256);
		tell(c, GW_SOURCE_COUNTED, 1);
		measure(c, 1.2 * model());
	}
	c = configure(1, 14000, 128);
	made = predict(c);
	assert_int_equal(made.tier, GW_TIER_WARM);
	assert_int_equal(made.work, GW_SOURCE_SCALED);
	assert_true(off(made, 1.2 * model()) < 0.12 && holds(made, 1.2 * model()));
	assert_int_equal(made.bound, bound);
}

/* All blocks do the same, except that more blocks do ever more: the law is found from four. */
TEST_WITH(a_law_of_work_is_found_from_several, start, stop)
{
	struct gw_prediction made;
	uint32_t c;

	for (uint32_t i = 0; i < 5; i++) {
		c = configure(1, 1000u << i, 256);
		tell(c, GW_SOURCE_COUNTED, pow(2, 0.5 * i)); /* work of blocks^1.5 */
	}
	for (uint32_t i = 0; i < 8; i++) { /* the model is right for all kernels */
		c = configure(10 + i, 3000 + 500 * i, 256);
		tell(c, GW_SOURCE_COUNTED, 1);
		measure(c, model());
	}
	c = configure(1, 5657, 256);
	made = predict(c);
	assert_int_equal(made.work, GW_SOURCE_SCALED);
	for (unsigned i = 0; i < GW_WORK_l1_hit_rate; i++)
		f.work.q[i].value *= pow(2, 0.5 * 2.5);
	assert_true(off(made, model()) < 0.15);
}

/* Where the code shows both amounts, not for sure, their ratio decides, whatever the grid says. */
TEST_WITH(work_is_scaled_by_what_the_code_tells, start, stop)
{
	static const double amounts[] = {1, 7, 3};
	struct gw_prediction made;
	uint32_t c;

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		f.work.q[i].confidence = 0.5F;
	for (uint32_t i = 0; i < 3; i++) {
		c = configure(1, 4000, 256 >> i);
		tell(c, GW_SOURCE_STATIC, amounts[i]);
		tell(c, GW_SOURCE_COUNTED, 1.25 * amounts[i]);
	}
	c = configure(1, 4000, 512);
	tell(c, GW_SOURCE_STATIC, 20);
	made = predict(c);
	assert_int_equal(made.work, GW_SOURCE_SCALED);
	for (unsigned i = 0; i < GW_WORK_l1_hit_rate; i++)
		f.work.q[i].value *= 25;
	assert_true(off(made, model()) < 0.05);
}

/* A profile, but nothing known of the work: time goes with the waves, above a floor. */
TEST_WITH(without_work_times_go_with_the_grid, start, stop)
{
	static const uint32_t blocks[] = {2000, 8000, 32000};
	struct gw_prediction made;
	double seconds;
	uint32_t c;

	for (uint32_t i = 0; i < 3; i++) {
		c = configure(1, blocks[i], 256);
		measure(c, 2e-6 + blocks[i] * 5e-9);
	}
	c = configure(1, 16000, 256);
	seconds = 2e-6 + 16000 * 5e-9;
	made = predict(c);
	assert_int_equal(made.tier, GW_TIER_WARM);
	assert_int_equal(made.work, GW_SOURCE_NONE);
	assert_int_equal(made.bound, GW_BOUND_UNKNOWN);
	assert_true(off(made, seconds) < 0.15 && holds(made, seconds));
	/* Farther away it says itself that it does not know well. */
	c = configure(1, 1000000, 256);
	assert_true(predict(c).high / predict(c).low > 2 * made.high / made.low);
}

TEST_WITH(without_a_profile_relatives_still_tell, start, stop)
{
	struct gw_predictor *bare = gw_predictor_new(10);
	struct gw_observation o = {.exclusive = true, .predicted = NAN, .sm_hz = NAN};
	struct gw_prediction made;

	for (uint32_t i = 1; i <= 4; i++) {
		fixture_grid(&f, 1000u << i, 256);
		gw_predictor_configure(bare, i, 1, &f.launch);
		o.seconds = 1e-5 * (1 << i);
		if (i == 3)
			continue;
		gw_observe(bare, i, &o);
		gw_predictor_advance(bare, NULL, NULL);
	}
	gw_predict(bare, 3, UINT64_MAX, &made);
	assert_int_equal(made.tier, GW_TIER_WARM);
	assert_true(off(made, 8e-5) < 0.3 && holds(made, 8e-5));
	gw_predictor_free(bare);
}

/* ---- what was known when ---- */

TEST_WITH(work_counted_after_the_call_is_not_used_for_it, start, stop)
{
	struct gw_prediction made;
	uint32_t c, other;

	other = configure(2, 5000, 256);
	measure(other, 1e-5);
	measure(other, 1e-5);
	c = configure(1, 5000, 256);
	tell(c, GW_SOURCE_STATIC, 1);
	tell(c, GW_SOURCE_COUNTED, 3);
	gw_predict(p, c, 1, &made); /* called when one was known */
	assert_int_equal(made.work, GW_SOURCE_STATIC);
	assert_true(off(made, model()) < 1e-9);
	gw_predict(p, c, 2, &made);
	assert_int_equal(made.work, GW_SOURCE_COUNTED);
	assert_true(made.seconds > 2 * model());
}

/* Launches of a configuration never timed by then are reported from relatives timed by then. */
TEST_WITH(a_prediction_knows_no_later_time_of_a_relative, start, stop)
{
	struct gw_prediction early, again;
	uint32_t a, b, c;

	a = configure(1, 4000, 256);
	tell(a, GW_SOURCE_STATIC, 1);
	b = configure(1, 5000, 256);
	tell(b, GW_SOURCE_STATIC, 1);
	c = configure(2, 5000, 256);
	measure(c, 1e-5);
	early = predict(b);
	measure(a, 9e-5);
	assert_true(predict(b).seconds > 1.5 * early.seconds);
	gw_predict(p, b, 1, &again);
	assert_true(again.seconds == early.seconds && again.low == early.low);
	assert_int_equal(again.tier, GW_TIER_COLD);
	measure(b, 9e-5); /* its own time does not change what could be known before */
	gw_predict(p, b, 1, &again);
	assert_true(again.seconds == early.seconds && again.known == 1);
}

static uint32_t reported, last_reported;

static void count(void *arg, uint32_t config, const struct gw_prediction *made)
{
	(void)arg;
	assert_true(made->seconds > 0);
	reported++;
	last_reported = config;
}

/* A kernel with a thousand configurations never timed: an advance does a bounded part. */
TEST_WITH(few_of_many_that_changed_are_published_at_a_time, start, stop)
{
	uint32_t first, seen = 0;

	first = configure(1, 100, 256);
	for (uint32_t i = 1; i < 1000; i++)
		configure(1, 100 + i, 256);
	for (uint32_t i = 0; i < 200; i++) {
		struct gw_observation o = {
			.seconds = 1e-5, .exclusive = true, .predicted = NAN, .sm_hz = NAN};

		gw_observe(p, first, &o);
		reported = 0;
		gw_predictor_advance(p, count, NULL);
		assert_true(reported <= 17);
		seen += reported;
	}
	assert_int_equal(seen, 200 + 999); /* each of the others once, as nothing changed since */
}

TEST_WITH(an_advance_without_news_changes_nothing, start, stop)
{
	uint32_t c = configure(1, 100, 256);

	reported = 0;
	tell(c, GW_SOURCE_STATIC, 1);
	assert_false(gw_predictor_advance(p, count, NULL));
	assert_int_equal(reported, 0);
	measure(c, 1e-5);
	assert_false(gw_predictor_advance(p, count, NULL));
}

/* ---- clocks ---- */

static double steady_after_clock_change(double fp32, double dram, double from, double to)
{
	struct gw_observation o = {
		.exclusive = true, .predicted = NAN, .seconds = 1e-4, .sm_hz = from};
	uint32_t c, other;

	fixture_init(&f);
	fixture_work(&f, GW_WORK_fp32_inst, fp32);
	fixture_work(&f, GW_WORK_pipe_fma, fp32 / 32);
	fixture_work(&f, GW_WORK_dram_read_bytes, dram);
	c = configure(1000 + configs, 5000, 256);
	tell(c, GW_SOURCE_COUNTED, 1);
	predict(c);
	for (int i = 0; i < 20; i++)
		gw_observe(p, c, &o);
	gw_predictor_advance(p, NULL, NULL);
	for (int i = 0; i < 20; i++)
		gw_observe(p, c, &o);
	other = configure(1000 + configs, 5000, 256);
	o.sm_hz = to;
	gw_observe(p, other, &o);
	gw_observe(p, c,
		   &(struct gw_observation){
			   .exclusive = false, .predicted = NAN, .seconds = 1e-4, .sm_hz = to});
	gw_predictor_advance(p, NULL, NULL);
	return predict(c).seconds;
}

/* Arithmetic takes twice as long at half the clock, device memory does not. */
TEST_WITH(a_time_is_carried_over_to_another_clock, start, stop)
{
	assert_true(fabs(steady_after_clock_change(1e11, 1e3, 1e9, 0.5e9) - 2e-4) < 1e-5);
	assert_true(fabs(steady_after_clock_change(1e5, 1e10, 1e9, 0.5e9) - 1e-4) < 1.2e-5);
	assert_true(fabs(steady_after_clock_change(1e11, 1e3, 1e9, NAN) - 1e-4) < 1e-7);
}

/* ---- arguments tell configurations apart ---- */

TEST_WITH(a_successor_goes_on_where_the_other_ends, start, stop)
{
	uint32_t plain = configure(1, 64, 128), mine;
	struct gw_prediction before, made;

	for (unsigned i = 0; i < 20; i++)
		measure(plain, 1e-5 * (1 + 0.01 * normal()));
	before = predict(plain);
	mine = with_digest(1, 7);
	gw_predictor_successor(p, mine, plain);
	made = predict(mine);
	assert_int_equal(made.tier, GW_TIER_STEADY);
	assert_true(made.seconds == before.seconds && made.low == before.low &&
		    made.high == before.high);
	measure(mine, 1e-5);
	made = predict(mine);
	assert_int_equal(made.tier, GW_TIER_STEADY);
	assert_true(off(made, 1e-5) < 0.02);
	/* By twenty-one times, and not by one. */
	assert_true(made.high / made.low < 1.2 * before.high / before.low);
}

TEST_WITH(times_of_several_arguments_are_not_taken_over, start, stop)
{
	uint32_t plain = configure(1, 64, 128), mine;
	struct gw_prediction made;

	for (unsigned i = 0; i < 20; i++)
		measure(plain, i % 2 ? 1e-5 : 4e-5);
	mine = with_digest(1, 7);
	gw_predictor_successor(p, mine, plain);
	made = predict(mine);
	assert_int_not_equal(made.tier, GW_TIER_STEADY);
	assert_true(made.high / made.low > 4);
	measure(mine, 4e-5);
	made = predict(mine);
	assert_true(off(made, 4e-5) < 1e-6);
}

TEST_WITH(a_step_among_them_is_not_taken_over_either, start, stop)
{
	uint32_t plain = configure(1, 64, 128), mine;

	for (unsigned i = 0; i < 30; i++)
		measure(plain, i < 10 ? 1e-5 : 4e-5);
	mine = with_digest(1, 7);
	gw_predictor_successor(p, mine, plain);
	assert_int_not_equal(predict(mine).tier, GW_TIER_STEADY);
}

/* What was published when it was called, and no more. */
TEST_WITH(a_successor_knows_no_later_times, start, stop)
{
	uint32_t plain = configure(1, 64, 128), mine;
	struct gw_prediction made;

	measure(plain, 1e-5);
	mine = with_digest(1, 7);
	gw_predictor_successor(p, mine, plain);
	gw_predict(p, mine, 0, &made);
	assert_int_not_equal(made.tier, GW_TIER_STEADY);
	assert_int_equal(made.known, 0);
	gw_predict(p, mine, 1, &made);
	assert_int_equal(made.tier, GW_TIER_STEADY);
	assert_int_equal(made.known, 1);
}

/* Times that may be of other arguments say as much as they agree. */
TEST_WITH(without_work_other_arguments_tell_what_they_agree_on, start, stop)
{
	uint32_t alike = configure(1, 64, 128), mixed, mine;
	struct gw_prediction sure, unsure;

	for (unsigned i = 0; i < 20; i++)
		measure(alike, 1e-5 * (1 + 0.01 * normal()));
	mine = with_digest(1, 7);
	sure = predict(mine);
	mixed = configure(2, 64, 128);
	for (unsigned i = 0; i < 20; i++)
		measure(mixed, i % 2 ? 1e-5 : 4e-5);
	mine = with_digest(2, 7);
	unsure = predict(mine);
	assert_int_equal(sure.tier, GW_TIER_WARM);
	assert_true(off(sure, 1e-5) < 0.1);
	assert_true(unsure.high / unsure.low > 2 * sure.high / sure.low);
}

/* Its own arguments' work distinguishes a configuration from one of the same grid. */
TEST_WITH(work_of_its_own_arguments_scales_the_others_time, start, stop)
{
	uint32_t first = configure(1, 64, 128), second;
	double seconds;

	seconds = 1.3 * model();
	first = with_digest(1, 5);
	tell(first, GW_SOURCE_STATIC, 1);
	for (unsigned i = 0; i < 8; i++)
		measure(first, seconds);
	second = with_digest(1, 6);
	tell(second, GW_SOURCE_STATIC, 16);
	assert_true(predict(second).seconds > 3 * seconds);
	assert_int_equal(predict(second).tier, GW_TIER_WARM);
}

TESTS_MAIN()
