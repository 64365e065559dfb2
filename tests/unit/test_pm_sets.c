/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of metrics: whose turn it is, and what becomes of those that do not fit. */
#include "preload/counters/pm_sets.h"

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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, start)
	const struct CMUnitTest tests[] = {
	        TEST(every_second_turn_is_the_first_sets),
	        TEST(what_does_not_fit_has_turns_of_its_own),
	        TEST(without_one_metric_all_others_have_their_turn),
	        TEST(where_nothing_can_be_collected_there_is_no_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
