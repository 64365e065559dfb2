/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of metrics: whose turn it is, and what becomes of those that do not fit. */
#include "preload/counters/pm_sets.h"

#include "preload/counters/pm_answers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { TURNS = 64, NONE = UINT32_MAX };

/* In place of libcupti: what a set may hold at most, and the metric that none may hold. */
static size_t room;
static const char *refused;

CUptiResult __wrap_gw_cupti_set_make(struct gw_cupti_set *set, const char *chip, const uint8_t *availability,
                                     const char *const *metrics, size_t count);
void __wrap_gw_cupti_set_free(struct gw_cupti_set *set);

CUptiResult __wrap_gw_cupti_set_make(struct gw_cupti_set *set, const char *chip, const uint8_t *availability,
                                     const char *const *metrics, size_t count)
{
	(void)chip, (void)availability;
	memset(set, 0, sizeof(*set));
	for (size_t i = 0; refused && i < count; i++)
		if (!strcmp(metrics[i], refused))
			return CUPTI_ERROR_INVALID_METRIC_NAME;
	set->passes = count > room ? 2 : 1;
	return CUPTI_SUCCESS;
}

void __wrap_gw_cupti_set_free(struct gw_cupti_set *set)
{
	(void)set;
}

static unsigned next(void)
{
	unsigned number = NONE;

	return gw_pm_sets_next("chip", NULL, &number) ? number : (unsigned)NONE;
}

static int start(void **state)
{
	(void)state;
	room = GW_PM_ROWS;
	refused = NULL;
	gw_pm_sets_start();
	return 0;
}

/* Traffic and instructions are in it. */
static void every_second_turn_is_the_first_sets(void **state)
{
	unsigned others[TURNS] = {0};

	(void)state;
	for (unsigned i = 0; i < TURNS / 2; i++) {
		assert_int_equal(next(), 0);
		others[next()]++;
	}
	assert_int_equal(others[0], 0);
	for (unsigned i = 1; i < 4; i++)
		assert_true(others[i] >= others[i + 1] && others[i] <= others[i + 1] + 1);
}

static bool given(unsigned set, const char *metric)
{
	const struct gw_pm_set *s = gw_pm_set(set);

	for (unsigned i = 0; i < s->count; i++)
		if (!strcmp(s->name[i], metric))
			return true;
	return false;
}

/* Whether @p metric is collected within some turns. */
static bool has_its_turn(const char *metric)
{
	for (unsigned i = 0; i < TURNS; i++) {
		unsigned set = next();

		if (set != NONE && given(set, metric))
			return true;
	}
	return false;
}

static void what_does_not_fit_has_turns_of_its_own(void **state)
{
	(void)state;
	room = 2;
#define METRIC(set, name, field, factor, idle) assert_true(has_its_turn(name));
#define CLOCK(set, name)                       assert_true(has_its_turn(name));
#include "preload/counters/pm_metric.def"
#undef METRIC
#undef CLOCK
}

static void without_one_metric_all_others_have_their_turn(void **state)
{
	(void)state;
	refused = "dram__bytes_read.sum"; /* the first of the first set */
#define METRIC(set, name, field, factor, idle)                                                     \
	assert_int_equal(has_its_turn(name), strcmp(name, refused) != 0);
#define CLOCK(set, name) assert_true(has_its_turn(name));
#include "preload/counters/pm_metric.def"
#undef METRIC
#undef CLOCK
}

static void where_nothing_can_be_collected_there_is_no_set(void **state)
{
	(void)state;
	room = 0;
	assert_int_equal(next(), NONE);
	assert_int_equal(next(), NONE);
}

/* ---- answers first ---------------------------------------------------------------------------- */

static int start_answers(void **state)
{
	start(state);
	gw_pm_answers_start();
	return 0;
}

/* The set of a session that takes @p cpu ns. */
static unsigned session(uint64_t cpu)
{
	unsigned number = NONE;

	if (!gw_pm_answers_wanted() ||
	    !gw_pm_sets_best("chip", NULL, gw_pm_answers_worth, &number))
		return NONE;
	gw_pm_answers_took(number, cpu);
	return number;
}

/* Results come behind: until then each set has its turn, the first one first. */
static void each_set_is_sampled_before_any_is_again(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(session(1), i);
	assert_int_equal(session(1), 0);
}

static void sessions_go_where_time_is_without_counts(void **state)
{
	(void)state;
	for (unsigned i = 0; i < GW_PM_SETS; i++)
		gw_pm_answers_missing(i, 0.01);
	assert_false(gw_pm_answers_wanted());
	gw_pm_answers_missing(3, 0.5);
	gw_pm_answers_missing(1, 0.3);
	assert_int_equal(session(1), 3);
	gw_pm_answers_missing(3, 0);
	assert_int_equal(session(1), 1);
	gw_pm_answers_missing(1, 0);
	assert_int_equal(session(1), NONE);
}

/* Kernels that always run together cannot be separated. */
static void a_set_that_brings_nothing_more_is_left(void **state)
{
	unsigned sessions = 0;

	(void)state;
	for (unsigned i = 0; i < GW_PM_SETS; i++)
		gw_pm_answers_missing(i, 0);
	gw_pm_answers_missing(0, 0.6);
	while (session(1) == 0)
		sessions++;
	assert_int_equal(sessions, GW_PM_ANSWERS_TRIES);
	gw_pm_answers_missing(0, 0.5); /* more is known after all */
	assert_int_equal(session(1), 0);
}

static void launches_of_a_new_kind_are_sampled_again(void **state)
{
	(void)state;
	for (unsigned i = 0; i < GW_PM_SETS; i++)
		gw_pm_answers_missing(i, 0);
	assert_int_equal(session(1), NONE);
	gw_pm_answers_missing(2, 0.4);
	assert_int_equal(session(1), 2);
}

/* A program that never repeats a launch. */
static void what_answers_may_cost_has_a_bound(void **state)
{
	(void)state;
	assert_int_equal(session(UINT64_C(1000000) * GW_PM_ANSWERS_MS), 0);
	assert_int_equal(session(1), NONE);
	assert_true(gw_pm_answers_cpu() == UINT64_C(1000000) * GW_PM_ANSWERS_MS);
}

static void a_metric_that_no_chip_has_is_not_waited_for(void **state)
{
	(void)state;
	room = 0;
	assert_int_equal(session(1), NONE);
	assert_false(gw_pm_answers_wanted());
	assert_false(gw_pm_sets_any());
}

#define ANSWERS(name) cmocka_unit_test_setup(name, start_answers)

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, start)
	const struct CMUnitTest tests[] = {
	        TEST(every_second_turn_is_the_first_sets),
	        TEST(what_does_not_fit_has_turns_of_its_own),
	        TEST(without_one_metric_all_others_have_their_turn),
	        TEST(where_nothing_can_be_collected_there_is_no_set),
	        ANSWERS(each_set_is_sampled_before_any_is_again),
	        ANSWERS(sessions_go_where_time_is_without_counts),
	        ANSWERS(a_set_that_brings_nothing_more_is_left),
	        ANSWERS(launches_of_a_new_kind_are_sampled_again),
	        ANSWERS(what_answers_may_cost_has_a_bound),
	        ANSWERS(a_metric_that_no_chip_has_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
