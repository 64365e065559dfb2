/* What mode watch does without when gpuwatch takes too much, and what its windows are taken to
 * cost. */
#include "preload/cupti/window_cost.h"
#include "preload/maps/own_use.h"
#include "preload/maps/state.h"
#include "preload/runtime/counters.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"
#include "tests/test.h"

static const uint64_t S = 1000 * GW_MS;
static uint64_t now_ns, cpu_ns;

static int start(void **state)
{
	gw_options.mode = GW_MODE_WATCH;
	gw_options.cpu_max = 2;
	now_ns = 1000 * S;
	cpu_ns = 0;
	gw_degraded_reset();
	memset(gw_counters, 0, sizeof(gw_counters));
	gw_own_use_start();
	gw_own_use_tick(now_ns, 0);
	return 0;
}

/* So many seconds pass, and our threads take @p permille of a processor. */
static void pass(unsigned seconds, unsigned permille)
{
	for (unsigned i = 0; i < seconds; i++) {
		now_ns += S;
		cpu_ns += permille * GW_MS;
		gw_own_use_tick(now_ns, cpu_ns);
	}
}

static unsigned level(void)
{
	unsigned n = 0;

	while (n + 1 < GW_SHEDS && gw_sheds((enum gw_shed)(n + 1)))
		n++;
	return n;
}

static uint64_t counter(enum gw_counter c)
{
	return atomic_load(&gw_counters[c]);
}

TEST_WITH(within_the_limit_nothing_is_shed, start, NULL)
{
	pass(600, 20);
	assert_int_equal(level(), GW_SHED_NOTHING);
	assert_int_equal(counter(GW_COUNTER_sheds), 0);
}

TEST_WITH(the_first_three_seconds_of_cpu_are_free, start, NULL)
{
	pass(3, 1000);
	assert_int_equal(level(), GW_SHED_NOTHING);
}

TEST_WITH(above_it_code_analysis_goes_first, start, NULL)
{
	pass(3, 1000);
	pass(8, 30);
	assert_int_equal(level(), GW_SHED_ANALYSIS);
	assert_int_equal(counter(GW_COUNTER_sheds), 1);
	assert_int_equal(counter(GW_COUNTER_shed_level), GW_SHED_ANALYSIS);
}

/* Each five seconds the next, until nothing is left. */
TEST_WITH(one_thing_after_the_other_is_shed, start, NULL)
{
	pass(4, 1000);
	for (unsigned n = GW_SHED_ANALYSIS; n < GW_SHEDS; n++) {
		assert_int_equal(level(), n);
		pass(GW_OWN_USE_STEP_MS / 1000, 500);
	}
	assert_int_equal(level(), GW_SHEDS - 1);
	assert_int_equal(counter(GW_COUNTER_sheds), GW_SHEDS - 1);
}

TEST_WITH(what_was_shed_last_has_time_to_help, start, NULL)
{
	pass(4, 1000);
	assert_int_equal(level(), GW_SHED_ANALYSIS);
	pass(60, 15); /* less than is earned: what is owed is paid back */
	assert_int_equal(level(), GW_SHED_ANALYSIS);
}

TEST_WITH(what_was_shed_comes_back_in_the_opposite_order, start, NULL)
{
	pass(4, 1000);
	pass(5, 500);
	assert_int_equal(level(), GW_SHED_COUNTERS);
	for (unsigned s = 0; level() == GW_SHED_COUNTERS && s < 1000; s++)
		pass(1, 0);
	assert_int_equal(level(), GW_SHED_ANALYSIS);
	pass(GW_OWN_USE_BACK_MS / 1000, 0);
	assert_int_equal(level(), GW_SHED_NOTHING);
	assert_int_equal(counter(GW_COUNTER_shed_level), 0);
	assert_int_equal(counter(GW_COUNTER_sheds), 2);
}

/* However long it took too much, after this time there is room again. */
TEST_WITH(what_is_owed_has_a_bound, start, NULL)
{
	const unsigned seconds = 2 * GW_OWN_USE_AHEAD_MS / 1000 * 100 / 2;

	pass(2000, 900);
	assert_int_equal(level(), GW_SHEDS - 1);
	pass(seconds, 0);
	assert_true(level() < GW_SHEDS - 1);
}

TEST_WITH(it_is_said_once, start, NULL)
{
	struct gw_reason r;

	pass(4, 1000);
	pass(100, 500);
	assert_true(gw_degraded_get(0, &r));
	assert_int_equal(r.code, GW_DEGRADED_OWN_USE);
	assert_non_null(strstr(r.text, "GPUWATCH_CPU_MAX, 2%"));
	assert_false(gw_degraded_get(1, &r));
}

TEST_WITH(zero_is_no_limit, start, NULL)
{
	gw_options.cpu_max = 0;
	pass(100, 900);
	assert_int_equal(level(), GW_SHED_NOTHING);
}

/* Nor is what audit took owed afterwards. */
TEST_WITH(other_modes_have_no_limit, start, NULL)
{
	gw_options.mode = GW_MODE_AUDIT;
	pass(100, 900);
	assert_int_equal(level(), GW_SHED_NOTHING);
	gw_options.mode = GW_MODE_WATCH;
	pass(10, 20);
	assert_int_equal(level(), GW_SHED_NOTHING);
}

TEST_WITH(a_thread_missing_from_a_look_does_not_count_twice, start, NULL)
{
	pass(1, 2900);
	for (unsigned i = 0; i < 10; i++) {
		gw_own_use_tick(now_ns += S, cpu_ns - S);
		gw_own_use_tick(now_ns += S, cpu_ns);
	}
	assert_int_equal(level(), GW_SHED_NOTHING);
}

/* What windows of mode watch are taken to cost, and whether libcupti may stay attached. */
#define MS UINT64_C(1000000)

/* A window after 100 ms of @p before launches a millisecond, with @p in of them. */
static void window(uint32_t before, uint32_t in)
{
	gw_window_cost_round(false, 100 * MS, 100 * before, 0);
	gw_window_cost_round(true, 5 * MS, 5 * in, 0);
	gw_window_cost_ended();
}

TEST(few_windows_show_nothing)
{
	gw_window_cost_start();
	for (int i = 0; i < 7; i++)
		window(100, 100);
	assert_true(gw_window_cost_share() == 0.5);
}

TEST(the_loss_is_the_pace_in_windows_by_the_pace_before)
{
	gw_window_cost_start();
	for (int i = 0; i < 64; i++)
		window(100, 80);
	assert_true(gw_window_cost_share() > 0.199 && gw_window_cost_share() < 0.201);
}

TEST(windows_that_cost_nothing_are_not_free)
{
	gw_window_cost_start();
	for (int i = 0; i < 64; i++)
		window(100, 101);
	assert_true(gw_window_cost_share() > 0);
}

/* 0 or 200 a millisecond, no less on the average: it may be as much as the error of the mean. */
TEST(an_uneven_pace_is_charged_for_its_error)
{
	gw_window_cost_start();
	for (int i = 0; i < 64; i++)
		window(100, i % 2 ? 200 : 0);
	assert_true(gw_window_cost_share() > 0.15 && gw_window_cost_share() < 0.35);
}

TEST(a_program_that_changes_is_seen)
{
	gw_window_cost_start();
	for (int i = 0; i < 100; i++)
		window(100, 100);
	for (int i = 0; i < 200; i++)
		window(100, 50);
	assert_true(gw_window_cost_share() > 0.4);
}

/* A second with @p times calls of graphs of @p nodes kernels; 0: of kernels. */
static void second_of(uint32_t times, uint32_t nodes)
{
	gw_window_cost_start();
	gw_window_cost_round(false, 1000 * MS, times, 0);
	for (uint32_t i = 0; i < times; i++)
		gw_window_cost_launch(nodes);
}

TEST(many_launch_calls_keep_libcupti_away)
{
	second_of(200000, 0);
	assert_false(gw_window_cost_stay(1));
	assert_true(gw_window_cost_stay(50));
}

/* libcupti could not be detached again when the program begins in earnest. */
TEST(the_first_launches_decide_nothing)
{
	gw_window_cost_start();
	gw_window_cost_round(false, 100 * MS, 1, 0);
	gw_window_cost_launch(0);
	assert_false(gw_window_cost_stay(1));
}

TEST(a_thousand_a_second_do_not)
{
	second_of(1000, 0);
	assert_true(gw_window_cost_stay(1));
}

TEST(kernels_of_graphs_count_too)
{
	second_of(500, 400);
	assert_false(gw_window_cost_stay(1));
	assert_false(gw_window_cost_stay(10));
	assert_true(gw_window_cost_stay(30));
}

/* The mean of the last ten seconds or so. */
TEST(a_program_that_launches_less_is_seen)
{
	second_of(200000, 0);
	for (int i = 0; i < 200; i++)
		gw_window_cost_round(false, 1000 * MS, 0, 0);
	assert_true(gw_window_cost_stay(1));
}

TEST(a_window_in_which_the_worker_falls_behind_is_seen_and_rested_from)
{
	gw_window_cost_start();
	gw_window_cost_round(true, 10 * MS, 8191, 0.49);
	gw_window_cost_round(false, 10 * MS, 100000, 1);
	assert_false(gw_window_cost_behind());
	gw_window_cost_round(true, 10 * MS, 8192, 0.5);
	assert_true(gw_window_cost_behind());
	gw_window_cost_ended();
	assert_false(gw_window_cost_behind());
	assert_int_equal(gw_window_cost_rest(), 1000 * MS);
	gw_window_cost_ended();
	assert_int_equal(gw_window_cost_rest(), 0);
}

/* 64 threads that launch a little fill no ring. */
TEST(many_launches_in_many_rings_are_not_too_many)
{
	gw_window_cost_start();
	gw_window_cost_round(true, 10 * MS, 64 * 512, 512 / 16384.0);
	assert_false(gw_window_cost_behind());
}

static struct gw_shared shared;
static struct gw_thread thread;

static int with_a_thread(void **state)
{
	gw_hot.shared = &shared;
	atomic_store(&shared.threads[0], &thread);
	atomic_store(&shared.thread_count, 1);
	gw_window_cost_start();
	return 0;
}

static int without_threads(void **state)
{
	gw_hot.shared = NULL;
	return 0;
}

TEST_WITH(event_pairs_are_charged_by_their_number, with_a_thread, without_threads)
{
	uint64_t none, ten;

	none = gw_window_cost_events(0);
	atomic_fetch_add(&thread.counts.pairs, 10);
	ten = gw_window_cost_events(0);
	assert_int_equal(none, 0);
	assert_in_range(ten, MS / 10, MS);
	assert_int_equal(gw_window_cost_events(0), 0); /* once */
}

TEST_WITH(launching_in_a_window_of_event_pairs_is_charged_in_part, with_a_thread, without_threads)
{
	assert_in_range(gw_window_cost_events(100 * MS), MS, 20 * MS);
}

/* 1,000 graphs of 396 kernels a second: 198.6 ms of a second, by what CUPTI took of others. */
TEST(what_attaching_would_take_is_said)
{
	struct gw_reason why;

	gw_window_cost_start();
	gw_degraded_reset();
	gw_options.records = true;
	gw_options.budget = 1;
	gw_window_cost_launch(396);
	gw_window_cost_round(false, MS, 1, 0);
	assert_false(gw_window_cost_attach());
	assert_false(gw_degraded_get(0, &why)); /* that was too short to say */
	for (unsigned i = 0; i < 1000; i++) {
		gw_window_cost_launch(396);
		gw_window_cost_round(false, MS, 1, 0);
	}
	assert_false(gw_window_cost_attach());
	assert_true(gw_degraded_get(0, &why));
	assert_int_equal(why.code, GW_DEGRADED_NO_CUPTI);
	assert_non_null(strstr(why.text, "up to 19.9% of the program's time"));
	assert_non_null(strstr(why.text, "allows 0.5%"));
	gw_options.records = false;
}

/* Calls of 100 us: hooks take little, and one launch in few is timed. */
TEST(a_program_with_few_launches_leaves_windows_the_budget)
{
	gw_window_cost_start();
	for (unsigned i = 0; i < 1000; i++) {
		gw_window_cost_launch(0);
		gw_window_cost_round(false, MS / 10, 1, 0);
	}
	assert_in_range((uint64_t)(gw_window_cost_left(1) * 1e6), 9000, 10000);
	assert_int_equal(gw_window_cost_rate(16), 4);
	assert_int_equal(gw_window_cost_rate(2), 2);
}

/* Calls of 3 us: the hooks alone take the budget. */
TEST(what_hooks_take_windows_do_not_have)
{
	gw_window_cost_start();
	for (unsigned i = 0; i < 1000; i++) {
		gw_window_cost_launch(0);
		gw_window_cost_round(false, 3000, 1, 0);
	}
	assert_in_range((uint64_t)(gw_window_cost_left(1) * 1e6), 624, 625);
	assert_in_range((uint64_t)(gw_window_cost_left(20) * 1e6), 150000, 199000);
	assert_int_equal(gw_window_cost_rate(16), 16);
}

/* Bursts of 10 ms of calls of 10 us, each followed by 90 ms without one. */
TEST(pauses_do_not_hide_what_hooks_take_of_bursts)
{
	gw_window_cost_start();
	for (unsigned burst = 0; burst < 50; burst++) {
		for (unsigned i = 0; i < 1000; i++)
			gw_window_cost_launch(0);
		gw_window_cost_round(false, 10 * MS, 1000, 0);
		gw_window_cost_round(false, 90 * MS, 0, 0);
	}
	assert_in_range((uint64_t)(gw_window_cost_left(1) * 1e6), 2900, 3100);
}

TESTS_MAIN()
