/* The statistics of gpuwatch diff. */
#include "cli/diff/shift.h"
#include "predictor/core/hash.h"
#include "tests/test.h"

static uint64_t drawn;

static double uniform(void)
{
	return ((double)(gw_hash_mix(++drawn) >> 11) + 0.5) / 0x1p53;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* Times around @p ns: a spread of 1%, outliers, the timer's ticks of 32 ns. */
static void draw(float *out, size_t count, double ns)
{
	for (size_t i = 0; i < count; i++) {
		double t = ns * exp(0.01 * normal()) * (uniform() < 0.02 ? 1 + uniform() : 1);

		out[i] = (float)(floor(t / 32) * 32);
	}
}

static void near(double is, double wanted, double off)
{
	if (!(fabs(is - wanted) <= off))
		fail_msg("%g is not %g +- %g", is, wanted, off);
}

/* Of 4 and 4 values the most extreme of 70 orders has a two-sided probability of 2/70; of 5 and 5
 * values 2/252; next to it 4/252 (Mann & Whitney 1947, table 1). */
TEST(small_series_have_exact_probabilities)
{
	const float low[] = {1, 2, 3, 4}, high[] = {10, 13, 11, 12};
	const float five[] = {3, 1, 2, 5, 4}, above[] = {12, 10, 14, 11, 13};
	const float crossed[] = {3, 1, 2, 10.5F, 4};

	near(shift_between(low, 4, high, 4).p, 2.0 / 70, 1e-12);
	near(shift_between(five, 5, above, 5).p, 2.0 / 252, 1e-12);
	near(shift_between(crossed, 5, above, 5).p, 4.0 / 252, 1e-12);
}

TEST(too_few_times_have_no_interval)
{
	const float three[] = {1, 2, 3}, four[] = {4, 5, 6, 7};
	struct shift s = shift_between(three, 3, four, 4);

	assert_true(isnan(s.low) && isnan(s.high) && isnan(s.p));
	near(s.ratio, 2.75, 0.3);
	assert_true(isnan(shift_between(three, 0, four, 4).ratio));
}

TEST(one_value_everywhere_is_no_shift)
{
	float same[100];
	struct shift s;

	for (size_t i = 0; i < 100; i++)
		same[i] = 640;
	s = shift_between(same, 100, same, 100);
	near(s.ratio, 1, 0);
	near(s.low, 1, 0);
	near(s.high, 1, 0);
	near(s.p, 1, 0);
}

/* An exchange of the runs turns the ratio over. */
TEST(the_order_of_runs_is_a_sign)
{
	float a[90], b[70];
	struct shift one, other;

	draw(a, 90, 9000);
	draw(b, 70, 9300);
	one = shift_between(a, 90, b, 70);
	other = shift_between(b, 70, a, 90);
	near(one.ratio * other.ratio, 1, 1e-9);
	near(one.low * other.high, 1, 1e-9);
	near(one.p, other.p, 1e-9);
}

/* Each within what chance allows of 400 draws (3 standard errors: 3.3 points of 5%). */
TEST(intervals_hold_and_no_change_is_rarely_found)
{
	static const size_t counts[] = {6, 20, 50, 200, 1500};
	static float a[1500], b[1500];

	for (size_t k = 0; k < COUNT(counts); k++) {
		unsigned held = 0, falsely = 0;

		for (unsigned i = 0; i < 400; i++) {
			struct shift s;

			draw(a, counts[k], 20000);
			draw(b, counts[k], 20000 * 1.05);
			s = shift_between(a, counts[k], b, counts[k]);
			held += s.low <= 1.05 && s.high >= 1.05;
			draw(b, counts[k], 20000);
			falsely += shift_between(a, counts[k], b, counts[k]).p <= 0.05;
		}
		if (held < 367 || falsely > 33)
			fail_msg("%zu times: %u of 400 intervals hold, %u of 400 found falsely",
				 counts[k], held, falsely);
	}
}

/* Times that follow their neighbours for 30 launches: a thousand are some thirty. */
TEST(neighbours_that_depend_on_each_other_widen_the_interval)
{
	static float a[1000], b[1000];
	float *series[] = {a, b};
	unsigned falsely = 0;

	for (unsigned i = 0; i < 400; i++) {
		for (unsigned run = 0; run < 2; run++) {
			double drift = normal();

			for (size_t n = 0; n < 1000; n++) {
				drift = 0.967 * drift + sqrt(1 - 0.967 * 0.967) * normal();
				series[run][n] = (float)(20000 * exp(0.01 * drift));
			}
		}
		falsely += shift_between(a, 1000, b, 1000).p <= 0.05;
	}
	/* As if they were independent, two thirds of them would be found. */
	if (falsely > 40)
		fail_msg("%u of 400 found falsely", falsely);
}

/* Benjamini & Hochberg (1995), their example of 15 p-values: 4 at a rate of 5%. */
TEST(discoveries_are_those_of_benjamini_and_hochberg)
{
	static const double p[] = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
				   0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000, NAN};
	bool found[16];

	shift_discoveries(p, 16, 0.05, found);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(found[i], i < 4);
}

TESTS_MAIN()
