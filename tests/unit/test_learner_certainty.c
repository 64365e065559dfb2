/* The learner where of some kernels' work less is known than of others'. */
#include "tests/test.h"
#include "tests/unit/learner_fixture.h"

enum { KERNELS = 40 };

/* What is known of a kernel's critical path. */
enum certainty { ALL, GUESSED, LITTLE };

static void by_code(enum gw_work_field field, double value)
{
	fixture_work(&f, field, value);
	f.work.q[field].source = GW_SOURCE_STATIC;
}

/* A configuration whose work is known as far as @p certainty; returns what the model makes of that.
 */
static double tell_as(uint32_t config, enum certainty certainty)
{
	const struct gw_work whole = f.work;
	double seconds;

	by_code(GW_WORK_warp_insts, 50);
	by_code(GW_WORK_warp_fixed_cycles, 200);
	by_code(GW_WORK_warp_fixed_chain, 1);
	if (certainty == ALL)
		by_code(GW_WORK_warp_longest_fixed_cycles, 200);
	if (certainty == LITTLE) {
		fixture_work(&f, GW_WORK_inst_executed, NAN);
		fixture_work(&f, GW_WORK_inst_issued, NAN);
	}
	seconds = model();
	gw_predictor_work(p, config, &f.work);
	f.work = whole;
	return seconds;
}

/* Kernels in turn, those of each kind off by a factor of their own, @p first their first number. */
static void measure_kernels(uint32_t first, const double factor[LITTLE + 1])
{
	for (uint32_t k = 0; k < KERNELS; k++)
		for (enum certainty certainty = ALL; certainty <= LITTLE; certainty++) {
			uint32_t c = configure(first + 3 * k + certainty, 200 + 17 * k, 256);

			measure(c,
				factor[certainty] * exp(0.05 * normal()) * tell_as(c, certainty));
		}
}

/* As of a kernel whose loops data decide: all known work takes no time. */
static uint32_t tell_nothing(uint32_t kernel, uint32_t blocks)
{
	uint32_t c = configure(kernel, blocks, 256);
	const struct gw_work whole = f.work;

	gw_work_clear(&f.work);
	by_code(GW_WORK_barriers, 0);
	by_code(GW_WORK_shared_atomics, 0);
	by_code(GW_WORK_warp_insts, 50);
	by_code(GW_WORK_warp_fixed_chain, 8);
	gw_predictor_work(p, c, &f.work);
	f.work = whole;
	return c;
}

TEST_WITH(an_empty_kernels_time_is_no_first_guess, start, stop)
{
	struct gw_prediction made = predict(tell_nothing(1, 300));

	assert_int_equal(made.tier, GW_TIER_NONE);
	assert_true(isnan(made.seconds));
	assert_non_null(made.reason);
}

/* As of a kernel whose loops memory contents decide. */
static uint32_t tell_at_least(uint32_t kernel, uint32_t blocks, double seconds)
{
	uint32_t c = configure(kernel, blocks, 256);

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		if (f.work.q[i].source != GW_SOURCE_NONE)
			f.work.q[i].source = GW_SOURCE_STATIC;
	by_code(GW_WORK_least_time, seconds);
	gw_predictor_work(p, c, &f.work);
	return c;
}

TEST_WITH(a_lower_limit_is_no_prediction, start, stop)
{
	struct gw_prediction made = predict(tell_at_least(1, 300, 1e-5));

	assert_int_equal(made.tier, GW_TIER_NONE);
	assert_true(isnan(made.seconds) && isnan(made.high));
	assert_true(made.low > 0.3e-5 && made.low < 1e-5);
	assert_non_null(made.reason);
	assert_true(predict(tell_at_least(2, 300, 0)).seconds > 0);
}

/* As many atomics, counted, as the GPU does on one address in @p times the time of the rest. */
static uint32_t count_atomics(uint32_t kernel, uint32_t blocks, double times)
{
	uint32_t c = configure(kernel, blocks, 256);
	const struct gw_work whole = f.work;
	double rate = gw_param(&f.device, GW_PARAM_t_atomic_same);

	fixture_work(&f, GW_WORK_atomic_same_address, NAN);
	/* Twice, as they take time of their own. */
	fixture_work(&f, GW_WORK_atomic_requests, times * rate * model());
	fixture_work(&f, GW_WORK_atomic_requests, times * rate * model());
	gw_predictor_work(p, c, &f.work);
	f.work = whole;
	return c;
}

/* Counters do not tell where they meet: that may make it longer than any interval should be. */
TEST_WITH(counted_atomics_that_may_all_meet_are_a_lower_limit, start, stop)
{
	struct gw_prediction made = predict(count_atomics(1, 300, 60));

	assert_true(isnan(made.seconds));
	assert_true(made.low > 0);
	assert_true(predict(count_atomics(2, 300, 3)).seconds > 0);
	/* Timed, its kernel's other configurations follow. */
	measure(count_atomics(1, 350, 60), 1e-3);
	assert_true(predict(count_atomics(1, 400, 60)).seconds > 1e-4);
}

TEST_WITH(work_of_an_older_log_without_a_count_is_a_lower_limit, start, stop)
{
	uint32_t c = configure(1, 300, 256);
	struct gw_prediction made;

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		if (f.work.q[i].source != GW_SOURCE_NONE)
			f.work.q[i].source = GW_SOURCE_STATIC;
	f.work.q[GW_WORK_warp_cycles].value = f.work.q[GW_WORK_least_time].value = NAN;
	tell_as(c, LITTLE);
	made = predict(c);
	assert_true(isnan(made.seconds) && made.low > 0);
}

/* The first times of a launch whose work data decide say less of the next than those of others. */
TEST_WITH(first_times_of_what_data_decide_leave_more_open, start, stop)
{
	struct gw_prediction data, other;
	uint32_t a = tell_at_least(1, 300, 1e-5), b = tell_at_least(2, 300, 0);

	measure(a, 1e-4);
	measure(b, 1e-4);
	data = predict(a);
	other = predict(b);
	assert_int_equal(data.tier, GW_TIER_STEADY);
	assert_true(log(data.high / data.seconds) > 2 * log(other.high / other.seconds));
	for (unsigned i = 0; i < 40; i++) {
		measure(a, 1e-4);
		measure(b, 1e-4);
	}
	data = predict(a);
	other = predict(b);
	assert_true(log(data.high / data.seconds) < 1.5 * log(other.high / other.seconds));
}

TEST_WITH(what_was_counted_or_timed_is_predicted_though_data_decide_it, start, stop)
{
	uint32_t c = tell_at_least(1, 300, 1e-5), other = tell_at_least(1, 600, 2e-5);
	double seconds;

	measure(c, 1e-3);
	assert_true(predict(c).seconds > 0.9e-3);
	assert_int_equal(predict(other).tier, GW_TIER_WARM);
	c = tell_at_least(2, 300, 1e-5);
	seconds = model();
	assert_true(gw_work_least(&f.work) == 1e-5);
	fixture_work(&f, GW_WORK_inst_executed, f.work.q[GW_WORK_inst_executed].value);
	assert_true(gw_work_least(&f.work) == 0);
	gw_predictor_work(p, c, &f.work);
	assert_true(off(predict(c), seconds) < 1);
}

TEST_WITH(it_tells_nothing_of_what_the_model_lacks, start, stop)
{
	uint32_t c = configure(1, 300, 256);
	double before, after;

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		if (f.work.q[i].source != GW_SOURCE_NONE)
			f.work.q[i].source = GW_SOURCE_STATIC;
	tell_as(c, LITTLE);
	before = predict(c).seconds;
	for (uint32_t k = 0; k < KERNELS; k++)
		measure(tell_nothing(10 + k, 300 + k), 1e-3);
	after = predict(c).seconds;
	assert_true(before > 0 && fabs(after / before - 1) < 1e-9);
}

TEST_WITH(a_kernel_of_which_nothing_is_reported_has_its_other_times, start, stop)
{
	struct gw_prediction made;

	measure(tell_nothing(1, 3000), 1e-4);
	measure(tell_nothing(1, 6000), 2e-4);
	made = predict(tell_nothing(1, 4500));
	assert_int_equal(made.tier, GW_TIER_WARM);
	assert_true(off(made, 1.5e-4) < 0.25);
}

/* The model is right where all is known, and far too short where loops are not: each is learnt. */
TEST_WITH(what_is_known_of_the_path_has_a_level_of_its_own, start, stop)
{
	static const double factor[] = {1, 1.6, 5};

	measure_kernels(1, factor);
	for (enum certainty certainty = ALL; certainty <= LITTLE; certainty++) {
		uint32_t c = configure(1000 + certainty, 555, 256);
		double seconds = factor[certainty] * tell_as(c, certainty);

		assert_true(off(predict(c), seconds) < 0.12);
		assert_true(holds(predict(c), seconds));
	}
}

/* What the model lacks where it knows little is not what it lacks where it knows all. */
TEST_WITH(a_relative_of_which_less_is_known_tells_less, start, stop)
{
	static const double factor[] = {1, 1.6, 5};
	struct gw_prediction alike, less;
	uint32_t c, kernel = 2000;
	double seconds;

	measure_kernels(1, factor);
	/* Twice as long as kernels of its kind; its relative is of the same, then of the other
	 * kind. */
	c = configure(kernel, 300, 256);
	measure(c, 2 * tell_as(c, ALL));
	c = configure(kernel, 330, 256);
	seconds = 2 * tell_as(c, ALL);
	alike = predict(c);
	assert_true(off(alike, seconds) < 0.1);
	c = configure(kernel + 1, 300, 256);
	measure(c, 2 * factor[GUESSED] * tell_as(c, GUESSED));
	c = configure(kernel + 1, 330, 256);
	tell_as(c, ALL);
	less = predict(c);
	assert_true(less.seconds < alike.seconds);
	assert_true(less.high / less.low > 1.2 * alike.high / alike.low);
}

/* All of f's amounts times @p factor, as of @p source, as sure as @p confidence; the model's time
 * for them. */
static double tell_sure(uint32_t config, enum gw_source source, double factor, float confidence)
{
	const struct gw_work whole = f.work;
	double seconds;

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++) {
		f.work.q[i].source = source;
		f.work.q[i].confidence = confidence;
		if (i < GW_WORK_l1_hit_rate)
			f.work.q[i].value *= factor;
	}
	gw_predictor_work(p, config, &f.work);
	seconds = model();
	f.work = whole;
	return seconds;
}

/* Other arguments, ten times the work: what was counted elsewhere does not say otherwise. */
TEST_WITH(what_code_settles_is_not_scaled_from_elsewhere, start, stop)
{
	uint32_t c = configure(1, 200, 256);
	double seconds;

	tell_sure(c, GW_SOURCE_COUNTED, 1, 1);
	c = configure(1, 220, 256);
	seconds = tell_sure(c, GW_SOURCE_STATIC, 10, 1);
	assert_true(off(predict(c), seconds) < 0.01);
	/* What it guesses gives way. */
	seconds = tell_sure(c, GW_SOURCE_STATIC, 1, 1);
	tell_sure(c, GW_SOURCE_STATIC, 10, 0.3F);
	assert_true(off(predict(c), seconds) < 0.2);
}

/* Counted before arguments were distinguished: of whatever ran then. */
TEST_WITH(what_was_counted_of_several_arguments_scales_none, start, stop)
{
	uint32_t c = configure(1, 200, 256);
	double seconds;

	tell_sure(c, GW_SOURCE_COUNTED, 10, 1);
	f.launch.config.digest = 77;
	c = configure(1, 220, 256);
	seconds = tell_sure(c, GW_SOURCE_STATIC, 1, 0.3F);
	assert_true(off(predict(c), seconds) < 0.01);
}

/* A count sampled of few launches may be far off; code that is settled is not. */
TEST_WITH(what_code_settles_stands_against_a_poor_sample, start, stop)
{
	uint32_t c = configure(1, 200, 256);
	double derived, counted;

	derived = tell_sure(c, GW_SOURCE_STATIC, 1, 1);
	tell_sure(c, GW_SOURCE_COUNTED, 50, 0.4F);
	assert_true(off(predict(c), derived) < 0.01);
	assert_int_equal(predict(c).work, GW_SOURCE_COUNTED);
	counted = tell_sure(c, GW_SOURCE_COUNTED, 50, 0.95F);
	assert_true(off(predict(c), counted) < 0.01);
}

/* One row of what f holds, as of @p source. */
static void set(enum gw_work_field field, double value, enum gw_source source, float confidence)
{
	f.work.q[field] = (struct gw_quantity){value, source, confidence};
}

/* What the code knows but for the caches is not off by factors: a sample that is, is wrong. */
TEST_WITH(a_poor_sample_factors_off_what_code_knows_is_refuted, start, stop)
{
	uint32_t c = configure(1, 200, 256);
	double derived, counted;

	derived = tell_sure(c, GW_SOURCE_STATIC, 1, 0.75F);
	tell_sure(c, GW_SOURCE_COUNTED, 50, 0.4F);
	assert_true(off(predict(c), derived) < 0.01);
	/* Closer to what it says they are believed, and where they are sure. */
	counted = tell_sure(c, GW_SOURCE_COUNTED, 1.8, 0.4F);
	assert_true(off(predict(c), counted) < 0.01);
	counted = tell_sure(c, GW_SOURCE_COUNTED, 50, 0.95F);
	assert_true(off(predict(c), counted) < 0.01);
	/* A mere guess refutes nothing. */
	c = configure(2, 200, 256);
	tell_sure(c, GW_SOURCE_STATIC, 1, 0.4F);
	counted = tell_sure(c, GW_SOURCE_COUNTED, 50, 0.4F);
	assert_true(off(predict(c), counted) < 0.01);
}

/* Caches may keep all of it. */
TEST_WITH(a_poor_sample_of_less_behind_the_caches_is_believed, start, stop)
{
	uint32_t c = configure(1, 200, 256);
	struct gw_work known;

	gw_work_clear(&f.work);
	for (double all = 1; all < 8; all += 6) {
		set(GW_WORK_l2_read_bytes, 3, GW_SOURCE_STATIC, 0.8F);
		set(GW_WORK_pipe_lsu, 3, GW_SOURCE_STATIC, 0.8F);
		gw_predictor_work(p, c, &f.work);
		set(GW_WORK_l2_read_bytes, all, GW_SOURCE_COUNTED, 0.5F);
		set(GW_WORK_pipe_lsu, all, GW_SOURCE_COUNTED, 0.5F);
		gw_predictor_work(p, c, &f.work);
		gw_predictor_known_work(p, c, &known);
		assert_true(known.q[GW_WORK_l2_read_bytes].value == fmin(all, 3));
		assert_true(known.q[GW_WORK_pipe_lsu].value == 3);
	}
}

/* The code shows what L2 is read and written for, and so their sum, which counters tell elsewhere.
 */
TEST_WITH(a_sum_whose_parts_the_code_tells_is_not_scaled_from_elsewhere, start, stop)
{
	struct gw_work known;
	uint32_t c = configure(1, 200, 256);

	gw_work_clear(&f.work);
	set(GW_WORK_l2_total_bytes, 1e9, GW_SOURCE_COUNTED, 0.5F);
	gw_predictor_work(p, c, &f.work);
	c = configure(1, 220, 256);
	gw_work_clear(&f.work);
	set(GW_WORK_l2_read_bytes, 3e6, GW_SOURCE_STATIC, 0.8F);
	set(GW_WORK_l2_write_bytes, 1e6, GW_SOURCE_STATIC, 1);
	/* Told again it is the same. */
	for (unsigned i = 0; i < 3; i++) {
		gw_predictor_work(p, c, &f.work);
		gw_predictor_known_work(p, c, &known);
		assert_int_equal(known.q[GW_WORK_l2_total_bytes].source, GW_SOURCE_STATIC);
		assert_true(known.q[GW_WORK_l2_total_bytes].value == 4e6);
		assert_true(known.q[GW_WORK_l2_total_bytes].confidence == 0.8F);
	}
	/* Counted itself, it is what was counted. */
	set(GW_WORK_l2_total_bytes, 5e6, GW_SOURCE_COUNTED, 0.95F);
	gw_predictor_work(p, c, &f.work);
	gw_predictor_known_work(p, c, &known);
	assert_true(known.q[GW_WORK_l2_total_bytes].value == 5e6);
}

/* What is scaled lies between as much as elsewhere and as much by thread of the square of the grid.
 */
TEST_WITH(a_scaled_amount_is_not_carried_off_by_the_noise_of_its_sources, start, stop)
{
	static const double counted[] = {1, 1e5, 3e8};
	struct gw_work known;
	uint32_t c;

	for (unsigned i = 0; i < 3; i++) {
		c = configure(1, 16000u << i, 256);
		gw_work_clear(&f.work);
		set(GW_WORK_dram_read_bytes, counted[i], GW_SOURCE_COUNTED, 0.5F);
		gw_predictor_work(p, c, &f.work);
	}
	c = configure(1, 64000 * 16, 256);
	gw_work_clear(&f.work);
	gw_predictor_work(p, c, &f.work);
	gw_predictor_known_work(p, c, &known);
	assert_int_equal(known.q[GW_WORK_dram_read_bytes].source, GW_SOURCE_SCALED);
	assert_true(known.q[GW_WORK_dram_read_bytes].value <= 2.001 * 3e8 * 16 * 16);
	c = configure(1, 1000, 256);
	gw_predictor_work(p, c, &f.work);
	gw_predictor_known_work(p, c, &known);
	assert_true(known.q[GW_WORK_dram_read_bytes].value >= 0.499 * 1 / 16.0 / 16);
}

/* Width of the interval of a launch of which an amount was counted elsewhere alone, at a grid so
 * far off that it may be anything. */
static double width_without(enum gw_work_field field)
{
	struct gw_prediction made;
	uint32_t c;

	fixture_init(&f);
	c = configure(1 + (uint32_t)field, 100, 256);
	tell(c, GW_SOURCE_COUNTED, 1);
	c = configure(1 + (uint32_t)field, 1000000, 256);
	f.work.q[field] = (struct gw_quantity){.value = NAN};
	gw_predictor_work(p, c, &f.work);
	made = predict(c);
	return log(made.high / made.low);
}

/* However little is known of it. */
TEST_WITH(an_amount_that_hardly_takes_time_casts_no_doubt, start, stop)
{
	assert_true(width_without(GW_WORK_pipe_alu) > 2 * width_without(GW_WORK_l2_read_bytes));
}

/* The code knows how a kernel's configurations differ; its samples, off by factors, do not. */
TEST_WITH(what_the_kernels_own_times_agree_with_is_believed, start, stop)
{
	static const double sampled[] = {4, 0.2, 3, 6, 0.25};
	double seconds;
	uint32_t c;

	for (unsigned i = 0; i < 5; i++) {
		c = configure(1, 2000 + 500 * i, 256);
		measure(c, 1.5 * tell_sure(c, GW_SOURCE_STATIC, 1 << i, 0.5F));
		tell_sure(c, GW_SOURCE_COUNTED, sampled[i] * (1 << i), 0.5F);
	}
	for (unsigned sure = 0; sure < 2; sure++) {
		c = configure(1, 4100 + sure, 256);
		seconds = tell_sure(c, GW_SOURCE_STATIC, 11, 0.5F);
		tell_sure(c, GW_SOURCE_COUNTED, 400, sure ? 1 : 0.5F);
		/* Samples that are sure are not put aside. */
		assert_int_equal(off(predict(c), 1.5 * seconds) > 0.3, sure);
	}
}

/* Kernels whose path data decide run twice as long as guessed; where device memory takes the
 * time, that does not matter, and the model is right. */
TEST_WITH(a_path_that_is_a_guess_hardly_matters_where_moving_data_takes_the_time, start, stop)
{
	for (uint32_t k = 0; k < KERNELS; k++) {
		uint32_t c = configure(1 + 2 * k, 200 + 17 * k, 256);

		/* Bound by issue, then by device memory. */
		fixture_work(&f, GW_WORK_inst_executed, 40 * f.work.q[GW_WORK_inst_executed].value);
		fixture_work(&f, GW_WORK_inst_issued, f.work.q[GW_WORK_inst_executed].value);
		measure(c, 2 * exp(0.05 * normal()) * tell_as(c, GUESSED));
		fixture_init(&f);
		c = configure(2 + 2 * k, 200 + 17 * k, 256);
		fixture_work(&f, GW_WORK_dram_read_bytes, 1e9);
		measure(c, exp(0.05 * normal()) * tell_as(c, GUESSED));
		fixture_init(&f);
	}
	for (unsigned moved = 0; moved < 2; moved++) {
		uint32_t c = configure(1000 + moved, 555, 256);
		double seconds;

		if (moved)
			fixture_work(&f, GW_WORK_dram_read_bytes, 1e9);
		else
			fixture_work(&f, GW_WORK_inst_executed,
				     40 * f.work.q[GW_WORK_inst_executed].value);
		if (!moved)
			fixture_work(&f, GW_WORK_inst_issued,
				     f.work.q[GW_WORK_inst_executed].value);
		seconds = tell_as(c, GUESSED);
		assert_true(off(predict(c), moved ? seconds : 2 * seconds) < 0.12);
		fixture_init(&f);
	}
}

/* Blocks that go from tile to tile are as many whatever there is to do. */
TEST_WITH(work_that_code_knows_is_believed_before_the_grid, start, stop)
{
	uint32_t c = configure(1, 264, 384);
	double seconds = model();

	tell(c, GW_SOURCE_STATIC, 1);
	measure(c, seconds);
	c = configure(1, 256, 384);
	tell(c, GW_SOURCE_STATIC, 30);
	assert_true(predict(c).seconds > 5 * seconds);
	assert_int_equal(predict(c).work, GW_SOURCE_STATIC);
}

/* Other arguments at one shape say little without the work: about as long, and no more is known. It
 * was pulled towards a second. */
TEST_WITH(other_arguments_of_one_shape_are_predicted_near_and_wide, start, stop)
{
	uint32_t first, second;
	struct gw_prediction made;

	configure(1, 100, 128);
	first = with_digest(1, 5);
	for (unsigned i = 0; i < 3; i++)
		measure(first, 20e-6);
	configure(1, 100, 128);
	second = with_digest(1, 6);
	made = predict(second);
	assert_int_equal(made.tier, GW_TIER_WARM);
	assert_true(made.seconds > 10e-6 && made.seconds < 40e-6);
	assert_true(made.high > 10 * made.seconds && made.low < made.seconds / 10);
}

/* As far as the arguments so far put its times. */
TEST_WITH(arguments_that_change_nothing_narrow_it, start, stop)
{
	double width[2];

	for (uint32_t n = 1; n <= 10; n++) {
		struct gw_prediction made;

		configure(1, 100, 128);
		made = predict(with_digest(1, n));
		if (n == 2 || n == 10)
			width[n == 10] = log(made.high / made.low);
		measure(configs, 20e-6);
	}
	assert_true(width[1] < 0.8 * width[0]);
	assert_true(width[1] > 1);
}

/* The lower limit is the same for all. */
TEST_WITH(other_arguments_of_what_data_decide_are_as_wide, start, stop)
{
	struct gw_prediction made;

	for (uint32_t digest = 1; digest <= 3; digest++) {
		tell_at_least(1, 300, 1e-5);
		gw_predictor_work(p, with_digest(1, digest), &f.work);
		made = measure(configs, 1e-4);
	}
	assert_true(made.high > 10 * made.seconds && made.low < made.seconds / 10);
}

/* They are off by different factors. */
TEST_WITH(an_empty_kernels_time_goes_with_no_work, start, stop)
{
	uint32_t empty = tell_nothing(1, 300), known = tell_at_least(1, 200, 0);

	measure(known, model());
	assert_int_equal(predict(empty).work, GW_SOURCE_NONE);
	measure(empty, 1000 * model());
	known = tell_at_least(1, 220, 0);
	assert_true(off(predict(known), model()) < 0.1);
}

/* How far the interval reaches where code analysis takes L2 to keep what is loaded, or not. */
static double reach(uint32_t kernel, double kept)
{
	struct gw_prediction made;

	tell_at_least(kernel, 320, 0);
	by_code(GW_WORK_l2_kept, kept);
	gw_predictor_work(p, configs, &f.work);
	made = predict(configs);
	return log(made.high / made.seconds);
}

/* Of a kernel never timed, the spread of the bias has it. */
TEST_WITH(whether_l2_keeps_widens_what_other_shapes_say, start, stop)
{
	measure(tell_at_least(1, 300, 0), model());
	assert_true(reach(1, 1) > 1.05 * reach(1, NAN));
	assert_true(fabs(reach(2, 1) - reach(2, NAN)) < 1e-3);
}

TESTS_MAIN()
