/* What a learner reports over a sequence of launches: the same for the same calls; widths of
 * intervals. */
#include "predictor/learner/coverage.h"
#include "tests/test.h"
#include "tests/unit/learner_fixture.h"

static uint64_t digest;

static void add(const struct gw_prediction *made)
{
	const double values[] = {made->seconds,       made->low,          made->high,
				 (double)made->known, (double)made->tier, (double)made->work,
				 (double)made->bound};

	for (unsigned i = 0; i < COUNT(values); i++) {
		uint64_t bits;

		memcpy(&bits, &values[i], sizeof(bits));
		digest = (digest ^ bits) * UINT64_C(0x9fb21c651e98df25);
		digest ^= digest >> 31;
	}
}

static void add_changed(void *arg, uint32_t config, const struct gw_prediction *made)
{
	(void)arg;
	digest += config;
	add(made);
}

/* Asks what nobody else asks, of all that one may know: what is kept of the answers must not tell.
 */
static void ask_around(uint64_t *chance, uint64_t published)
{
	bool all = fixture_random(chance) < 0.3;

	for (uint32_t i = 1; i <= (all ? configs : configs ? 1 : 0); i++) {
		uint32_t c = all ? i : 1 + (uint32_t)(fixture_random(chance) * configs);
		struct gw_prediction made;

		gw_predict(p, c,
			   fixture_random(chance) < 0.5 ? published : gw_predictor_observations(p),
			   &made);
	}
}

static void observe(uint32_t c, double what)
{
	struct gw_prediction made = predict(c);
	struct gw_observation o = {.seconds = 1e-5 * exp(normal()),
				   .exclusive = what < 0.7,
				   .predicted = made.seconds,
				   .low = made.low,
				   .high = made.high,
				   .tier = made.tier,
				   .work = made.work,
				   .sm_hz = what < 0.5 ? NAN : 1e9 * (1 + what)};

	add(&made);
	gw_observe(p, c, &o);
}

/* One that was just distinguished from @p of, and goes on from there. */
static void tell_apart(uint32_t of, uint64_t *chance, bool ask)
{
	uint32_t c = configs;

	if (ask)
		ask_around(chance, gw_predictor_observations(p));
	if (of && of != c)
		gw_predictor_successor(p, c, of);
}

/* A sequence of everything that begins with @p from; @p ask: other predictions are asked for too.
 */
static uint64_t sequence(uint64_t from, bool ask)
{
	uint64_t chance = from ^ 4711, published = 0;

	digest = 1;
	seed = from;
	configs = 0;
	gw_predictor_free(p);
	p = gw_predictor_new(CONFIGS);
	for (int i = 0; i < 1000; i++) {
		double what = fixture_random(&seed);
		uint32_t c = configs ? 1 + (uint32_t)(fixture_random(&seed) * configs) : 0;

		if (i == 20)
			gw_predictor_device(p, &f.device);
		if (what < 0.1 || !c) {
			fixture_init(&f);
			configure(1 + (uint32_t)(fixture_random(&seed) * 20),
				  1 + (uint32_t)(fixture_random(&seed) * 30000),
				  32 + (uint32_t)(fixture_random(&seed) * 900));
			if (what < 0.03)
				tell_apart(c, &chance, ask);
		} else if (what < 0.2) {
			fixture_init(&f);
			tell(c, what < 0.15 ? GW_SOURCE_STATIC : GW_SOURCE_COUNTED,
			     fixture_random(&seed));
		} else if (what < 0.8) {
			observe(c, what);
		} else if (what < 0.9) {
			gw_predictor_advance(p, add_changed, NULL);
			published = gw_predictor_observations(p);
		}
		if (ask)
			ask_around(&chance, published);
	}
	return digest;
}

TEST_WITH(the_same_calls_give_the_same_bits, start, stop)
{
	assert_int_equal(sequence(777, false), sequence(777, false));
}

/* A replay asks at other moments than the process did. */
TEST_WITH(asking_changes_nothing, start, stop)
{
	for (uint64_t from = 1; from <= 20; from++)
		assert_int_equal(sequence(from, true), sequence(from, false));
}

/* What the code of a relative reports is in the next answer, even where nothing was measured since.
 */
TEST_WITH(an_answer_that_is_kept_knows_the_work_of_relatives, start, stop)
{
	uint32_t timed, asked;
	struct gw_prediction before, after;

	timed = configure(1, 2000, 128);
	measure(timed, 3 * model());
	asked = configure(1, 4000, 128);
	tell(asked, GW_SOURCE_STATIC, 1);
	before = predict(asked);
	fixture_grid(&f, 2000, 128);
	tell(timed, GW_SOURCE_STATIC, 1);
	after = predict(asked);
	assert_true(after.high / after.low < before.high / before.low);
}

/* How far intervals of few own times, of relatives and of lower limits reach. */
static double either(double less, double more)
{
	return fixture_random(&seed) < 0.5 ? less : more;
}

/* Data decide whether a launch ends at once. Each configuration is launched twice. */
TEST_WITH(times_that_differ_elsewhere_in_the_kernel_are_expected_of_a_new_configuration, start,
	  stop)
{
	enum { EACH = 40 };
	uint32_t held = 0, calm = 0;

	for (uint32_t i = 0; i < EACH; i++) {
		uint32_t c = configure(1, 100 + i, 128), other = configure(2, 100 + i, 128);
		double next = either(3e-6, 45e-6);

		measure(c, either(3e-6, 45e-6));
		measure(other, 20e-6);
		calm += log(predict(other).high / 20e-6) < 0.8;
		held += holds(measure(c, next), next) && i >= EACH / 4;
		measure(other, 20e-6);
	}
	assert_true(held >= 0.86 * (EACH - EACH / 4));
	assert_int_equal(calm, EACH);
}

/* Launches whose repeated times agree, of a program whose kernels all do. */
TEST_WITH(few_times_are_held_narrowly_where_repeated_times_agree, start, stop)
{
	enum { KERNELS = 60 };
	double first = 0, last = 0;
	uint32_t held = 0;

	for (uint32_t k = 1; k <= KERNELS; k++) {
		uint32_t c = configure(k, 100, 128);
		double next = 20e-6 * exp(0.02 * normal());
		struct gw_prediction made;

		measure(c, 20e-6 * exp(0.02 * normal()));
		made = measure(c, next);
		held += holds(made, next);
		last = log(made.high / made.seconds);
		first = k == 1 ? last : first;
	}
	assert_true(held >= 0.86 * KERNELS);
	assert_true(first > 0.3 && last < 0.15);
}

/* 100 SMs, which hold 6,400 warps: nothing is known of the work. */
TEST_WITH(a_grid_takes_longer_when_its_blocks_share_sms, start, stop)
{
	double apart, sharing;

	measure(configure(1, 20, 256), 10e-6);
	apart = predict(configure(1, 80, 256)).seconds;
	sharing = predict(configure(1, 400, 256)).seconds;
	assert_true(apart > 9e-6 && apart < 11e-6);
	assert_true(sharing > 15e-6 && sharing < 40e-6);
}

/* An amount is known of one configuration, and hardly any of the other: averages do not help. */
TEST_WITH(relatives_of_which_more_is_known_do_not_make_little_certain, start, stop)
{
	struct gw_prediction much, little;
	uint32_t c;

	for (uint32_t i = 0; i < 10; i++) {
		c = configure(1, 1000 + 100 * i, 128);
		tell(c, GW_SOURCE_STATIC, 1);
		measure(c, 3 * model());
	}
	c = configure(1, 3000, 128);
	tell(c, GW_SOURCE_STATIC, 1);
	much = predict(c);
	c = configure(1, 3000, 160);
	fixture_work(&f, GW_WORK_inst_executed, NAN);
	fixture_work(&f, GW_WORK_inst_issued, NAN);
	fixture_work(&f, GW_WORK_warp_longest_fixed_cycles, NAN);
	tell(c, GW_SOURCE_STATIC, 1);
	little = predict(c);
	assert_true(log(little.high / little.seconds) > 2 * log(much.high / much.seconds));
}

static struct gw_prediction limit(uint32_t kernel, double *least)
{
	uint32_t c = configure(kernel, 300, 256);

	*least = model();
	fixture_work(&f, GW_WORK_least_time, *least);
	tell(c, GW_SOURCE_STATIC, 1);
	return predict(c);
}

/* The model is not exact for what is surely done either. */
TEST_WITH(lower_limits_come_to_hold_nine_times_in_ten, start, stop)
{
	enum { KERNELS = 400 };
	double least, first = 0, held = 0;

	for (uint32_t k = 1; k <= KERNELS; k++) {
		struct gw_prediction made = limit(k, &least);
		double seconds = 0.5 * least * exp(0.3 * normal());

		assert_true(isnan(made.seconds) && made.low > 0 && made.low < least);
		if (k == 1)
			first = made.low / least;
		held += k > KERNELS / 2 && seconds >= made.low;
		measure(configs, seconds);
	}
	assert_true(limit(KERNELS + 1, &least).low < 0.8 * first * least);
	held /= KERNELS - KERNELS / 2;
	assert_true(held >= 0.86 && held <= 0.95);
}

TESTS_MAIN()
