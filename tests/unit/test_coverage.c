/* Widths find the one that one in ten times lies outside of, and don't swing on the way. */
#include "predictor/learner/coverage.h"
#include "tests/random.h"
#include "tests/test.h"

enum { KIND = GW_WIDTH_SIZES - 1, LAG_MOST = 16 };

static uint64_t seed;

/* Share of @p rounds of @p together predictions each, judged @p lag rounds later, that miss. */
static double missed(struct gw_coverage *c, int rounds, int together, int lag, double scale,
		     double *least, double *most)
{
	float then[LAG_MOST];
	double outside = 0;

	*least = HUGE_VAL;
	*most = 0;
	for (int i = 0; i < rounds; i++) {
		double width;

		then[i % LAG_MOST] = c->width[KIND];
		width = (double)then[(i >= lag ? i - lag : 0) % LAG_MOST];
		for (int k = 0; k < together; k++) {
			bool out = fabs(scale * next_normal(&seed)) > width;

			gw_coverage_judge(c, KIND, out);
			outside += i >= rounds / 2 && out;
		}
		gw_coverage_adapt(c);
		if (i >= rounds / 2) {
			*least = fmin(*least, (double)c->width[KIND]);
			*most = fmax(*most, (double)c->width[KIND]);
		}
	}
	return outside / (rounds - rounds / 2) / together;
}

TEST(one_in_ten_lies_outside_in_the_end)
{
	static const double scales[] = {0.5, 1, 3};
	struct gw_coverage c;
	double least, most, m;

	for (int i = 0; i < 3; i++) {
		seed = 9;
		gw_coverage_start(&c);
		m = missed(&c, 4000, 1, 0, scales[i], &least, &most);
		assert_true(m > 0.085 && m < 0.115);
		assert_true(least > 1.2 * scales[i] && most < 2.4 * scales[i]);
	}
}

/* A hundred predictions at once, each judged ten rounds later: still no swing. */
TEST(a_late_verdict_on_many_makes_no_swing)
{
	struct gw_coverage c;
	double least, most, m;

	seed = 9;
	gw_coverage_start(&c);
	m = missed(&c, 400, 100, 10, 1, &least, &most);
	assert_true(m > 0.08 && m < 0.12);
	assert_true(least > 1.2 && most < 2.2);
}

TEST(a_width_stays_within_bounds)
{
	struct gw_coverage c;
	float first;

	gw_coverage_start(&c);
	first = c.width[KIND];
	for (int i = 0; i < 10000; i++) {
		gw_coverage_judge(&c, KIND, 1);
		gw_coverage_adapt(&c);
	}
	assert_true(c.width[KIND] > 4 * first && c.width[KIND] < 10 * first);
	for (int i = 0; i < 100000; i++) {
		gw_coverage_judge(&c, KIND, 0);
		gw_coverage_adapt(&c);
	}
	assert_true(c.width[KIND] > 0.1f * first && c.width[KIND] < first);
}

TEST(kinds_do_not_mix)
{
	bool seen[GW_WIDTHS] = {false};
	struct gw_coverage c, before;

	gw_coverage_start(&c);
	/* Counted work says how configurations differ. */
	assert_true(c.width[gw_width_of_work(GW_TIER_WARM, GW_SOURCE_COUNTED)] <
		    c.width[gw_width_of_work(GW_TIER_WARM, GW_SOURCE_STATIC)]);
	before = c;
	gw_coverage_judge(&c, gw_width_of_work(GW_TIER_COLD, GW_SOURCE_STATIC), 1);
	gw_coverage_adapt(&c);
	for (unsigned i = 0; i < GW_WIDTHS; i++)
		assert_int_equal(c.width[i] > before.width[i],
				 i == gw_width_of_work(GW_TIER_COLD, GW_SOURCE_STATIC));
	for (uint32_t size = 1; size <= 32; size++)
		seen[gw_width_of_size(size)] = true;
	seen[GW_WIDTH_LEAST] = true;
	for (unsigned source = GW_SOURCE_NONE; source <= GW_SOURCE_COUNTED; source++) {
		seen[gw_width_of_work(GW_TIER_COLD, (enum gw_source)source)] = true;
		seen[gw_width_of_work(GW_TIER_WARM, (enum gw_source)source)] = true;
	}
	for (unsigned i = 0; i < GW_WIDTHS; i++)
		assert_true(seen[i]);
}

TEST(a_configuration_that_misses_gets_a_width_of_its_own)
{
	float own = 0, calm = 0;

	for (int i = 0; i < 30; i++) {
		own = gw_coverage_own(own, 1, 2);
		calm = gw_coverage_own(calm, 0, 2);
	}
	assert_true(own > 1 && calm < -0.1f);
	for (int i = 0; i < 1000; i++)
		own = gw_coverage_own(own, 1, 1000000);
	assert_true(own <= 2);
}

/* A width that crept back would be too narrow, or too wide, for good: it stays while one in ten
 * misses. */
TEST(a_width_that_misses_one_in_ten_stays)
{
	float wide = 1, narrow = -1;

	for (int i = 0; i < 1000; i++) {
		wide = gw_coverage_own(wide, GW_MISS, 4);
		narrow = gw_coverage_own(narrow, GW_MISS, 4);
	}
	assert_true(wide > 0.99f && narrow < -0.99f);
}

/* Nine errors in ten are within reach, and that is hardly farther than it must be. */
TEST(errors_are_within_reach_nine_times_in_ten)
{
	enum { ERRORS = 40, TRIES = 2000 };
	struct gw_errors all, own;
	double reach, within = 0;

	gw_errors_start(&all);
	own = (struct gw_errors){{0}};
	for (int i = 0; i < ERRORS; i++)
		gw_errors_add(&own, 0.02 * fabs(next_normal(&seed)));
	reach = gw_errors_reach(&own, &all, 4);
	for (int i = 0; i < TRIES; i++)
		within += 0.02 * fabs(next_normal(&seed)) <= reach;
	within /= TRIES;
	assert_true(within >= 0.86 && reach < 0.08);
}

TEST(few_errors_reach_as_far_as_those_of_others)
{
	struct gw_errors all = {{0}}, own = {{0}};
	double none, some;

	for (int i = 0; i < 10; i++)
		gw_errors_add(&all, 0.3);
	none = gw_errors_reach(&own, &all, 4);
	assert_true(none >= 0.3 && none < 0.5);
	gw_errors_add(&own, 0.01);
	assert_true(gw_errors_reach(&own, &all, 4) == none);
	for (int i = 0; i < 40; i++)
		gw_errors_add(&own, 0.01);
	some = gw_errors_reach(&own, &all, 4);
	assert_true(some >= 0.01 && some < 0.02);
}

/* The latest decide, however many came before; any error counts, of none and infinite ones too. */
TEST(old_errors_fade)
{
	struct gw_errors all, own = {{0}};

	gw_errors_start(&all);
	for (int i = 0; i < 1000; i++)
		gw_errors_add(&own, 5);
	for (int i = 0; i < 1000; i++)
		gw_errors_add(&own, 0);
	assert_true(gw_errors_reach(&own, &all, 4) < 0.01);
	for (int i = 0; i < 1000; i++)
		gw_errors_add(&own, HUGE_VAL);
	assert_true(gw_errors_reach(&own, &all, 4) > 2);
}

TESTS_MAIN()
