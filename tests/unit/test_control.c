/* Requests of gpuwatch ctl as the worker finds them: obeyed, refused, answered, taken back. */
#include "preload/control/control.h"
#include "preload/cupti/activity.h"
#include "preload/cupti/attach.h"
#include "preload/cupti/other_profiler.h"
#include "preload/cupti/windows.h"

#include "preload/live/live.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/hot.h"
#include "preload/runtime/options.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

bool __wrap_gw_live_asked(struct gw_live_control *out);
bool __wrap_gw_live_there(void);
void __wrap_gw_live_answer(const struct gw_live_answer *a);
void __wrap_gw_windows_mode(void);
void __wrap_gw_analysis_mode(void);
void __wrap_gw_log_write(enum gw_record_kind kind, void *head, size_t size, const void *tail,
			 size_t tail_size);
void __wrap_gw_log_flush(void);
bool __wrap_gw_log_make_ring(void);

static const uint64_t S = 1000 * GW_MS;
static struct gw_live_control request;
static bool asked;
static struct gw_live_answer answer;
static struct gw_record_mode logged;
static unsigned answers, records, windows, analyses, rings;

bool __wrap_gw_live_asked(struct gw_live_control *out)
{
	const bool now = asked;

	*out = request;
	asked = false;
	return now;
}

bool __wrap_gw_live_there(void)
{
	return true;
}

void __wrap_gw_live_answer(const struct gw_live_answer *a)
{
	answer = *a;
	answers++;
}

void __wrap_gw_windows_mode(void)
{
	windows++;
}

void __wrap_gw_analysis_mode(void)
{
	analyses++;
}

void __wrap_gw_log_write(enum gw_record_kind kind, void *head, size_t size, const void *tail,
			 size_t tail_size)
{
	(void)size, (void)tail, (void)tail_size;
	assert_int_equal(kind, GW_RECORD_MODE);
	logged = *(const struct gw_record_mode *)head;
	records++;
}

void __wrap_gw_log_flush(void)
{
}

bool __wrap_gw_log_make_ring(void)
{
	rings++;
	return true;
}

static int start_as(bool forbidden)
{
	fixture_start();
	answers = records = windows = analyses = rings = 0;
	asked = false;
	gw_options.mode = GW_MODE_WATCH;
	gw_options.budget = 1;
	gw_options.log_launches = false;
	gw_control_start(forbidden);
	gw_control_logged();
	gw_control_tick(0);
	return 0;
}

static int start(void **state)
{
	return start_as(false);
}

static void ask(uint64_t now_ns, uint32_t mode, uint32_t budget, uint32_t seconds)
{
	request = (struct gw_live_control){.sequence = request.sequence + 1,
					   .mode = mode,
					   .budget = budget,
					   .seconds = seconds};
	asked = true;
	gw_control_tick(now_ns);
}

TEST_WITH(the_segment_has_the_mode_from_the_start, start, NULL)
{
	assert_int_equal(answers, 1);
	assert_int_equal(answer.mode, GW_MODE_WATCH);
	assert_int_equal(answer.request, 0);
	assert_int_equal(records, 0);
	gw_control_tick(S);
	assert_int_equal(answers, 1);
}

TEST_WITH(a_mode_is_switched_answered_and_logged, start, NULL)
{
	ask(S, GW_MODE_AUDIT, GW_LIVE_AS_IT_IS, 0);
	assert_int_equal(gw_options.mode, GW_MODE_AUDIT);
	assert_int_equal(gw_options.budget, 1);
	assert_int_equal(windows, 1);
	assert_int_equal(analyses, 1);
	assert_int_equal(answer.request, request.sequence);
	assert_int_equal(answer.refused, 0);
	assert_int_equal(answer.mode, GW_MODE_AUDIT);
	assert_int_equal(answer.until_ns, 0);
	assert_int_equal(records, 1);
	assert_int_equal(logged.mode, GW_MODE_AUDIT);
	assert_int_equal(logged.before, GW_MODE_WATCH);
	assert_int_equal(logged.cause, 0);
}

TEST_WITH(a_budget_alone_leaves_the_mode, start, NULL)
{
	ask(S, GW_LIVE_AS_IT_IS, 20, 0);
	assert_int_equal(gw_options.mode, GW_MODE_WATCH);
	assert_int_equal(gw_options.budget, 20);
	assert_int_equal(logged.budget, 20);
}

TEST_WITH(what_is_so_already_is_answered_and_not_logged, start, NULL)
{
	ask(S, GW_MODE_WATCH, 1, 0);
	assert_int_equal(answer.request, request.sequence);
	assert_int_equal(records, 0);
	assert_int_equal(windows, 0);
}

TEST_WITH(idle_stops_launches_and_others_let_them_in, start, NULL)
{
	ask(S, GW_MODE_IDLE, GW_LIVE_AS_IT_IS, 0);
	assert_int_equal(atomic_load(&gw_hot.active), GW_HOT_IDLE);
	ask(2 * S, GW_MODE_COUNT, GW_LIVE_AS_IT_IS, 0);
	assert_int_equal(atomic_load(&gw_hot.active), GW_HOT_ON);
	assert_int_equal(atomic_load(&gw_hot.untimed), GW_UNTIMED);
}

TEST_WITH(mode_watch_makes_the_log_a_ring, start, NULL)
{
	ask(S, GW_MODE_COUNT, GW_LIVE_AS_IT_IS, 0);
	assert_int_equal(rings, 0);
	ask(2 * S, GW_MODE_WATCH, GW_LIVE_AS_IT_IS, 0);
	assert_int_equal(rings, 1);
}

TEST_WITH(after_its_time_it_goes_back, start, NULL)
{
	ask(10 * S, GW_MODE_AUDIT, 50, 30);
	assert_int_equal(answer.then, GW_MODE_WATCH);
	assert_true(answer.until_ns > 0);
	gw_control_tick(40 * S - 1);
	assert_int_equal(gw_options.mode, GW_MODE_AUDIT);
	gw_control_tick(40 * S);
	assert_int_equal(gw_options.mode, GW_MODE_WATCH);
	assert_int_equal(gw_options.budget, 1);
	assert_int_equal(logged.cause, 1);
	assert_int_equal(answer.mode, GW_MODE_WATCH);
	assert_int_equal(answer.until_ns, 0);
	gw_control_tick(100 * S);
	assert_int_equal(records, 2);
}

/* Where it goes back to is what was there before the first of them. */
TEST_WITH(a_second_time_prolongs_the_first, start, NULL)
{
	ask(10 * S, GW_MODE_AUDIT, GW_LIVE_AS_IT_IS, 30);
	ask(20 * S, GW_MODE_COUNT, GW_LIVE_AS_IT_IS, 60);
	gw_control_tick(50 * S);
	assert_int_equal(gw_options.mode, GW_MODE_COUNT);
	gw_control_tick(80 * S);
	assert_int_equal(gw_options.mode, GW_MODE_WATCH);
}

TEST_WITH(a_switch_without_a_time_stays, start, NULL)
{
	ask(10 * S, GW_MODE_AUDIT, GW_LIVE_AS_IT_IS, 30);
	ask(20 * S, GW_MODE_COUNT, GW_LIVE_AS_IT_IS, 0);
	gw_control_tick(100 * S);
	assert_int_equal(gw_options.mode, GW_MODE_COUNT);
}

static void refused(uint32_t mode, uint32_t budget, uint32_t seconds, const char *why)
{
	ask(S, mode, budget, seconds);
	assert_int_equal(answer.refused, 1);
	assert_int_equal(answer.request, request.sequence);
	assert_non_null(strstr(answer.text, why));
	assert_int_equal(gw_options.mode, GW_MODE_WATCH);
	assert_int_equal(gw_options.budget, 1);
	assert_int_equal(records, 0);
}

/* Whoever writes into the segment chooses a documented value, or nothing. */
TEST_WITH(what_is_no_documented_value_changes_nothing, start, NULL)
{
	refused(GW_MODES, 1, 0, "none of audit, watch, count and idle");
	refused(77777, 1, 0, "none of audit, watch, count and idle");
	refused(GW_MODE_OFF, 1, 0, "none of audit, watch, count and idle");
	refused(GW_MODE_AUDIT, 101, 0, "more than 100");
	refused(GW_MODE_AUDIT, 1, GW_LIVE_SECONDS_MOST + 1, "more than 31 days");
}

/* A child of a process that used the GPU. */
TEST_WITH(what_can_not_be_timed_is_counted_at_most, start, NULL)
{
	start_as(true);
	refused(GW_MODE_AUDIT, 1, 0, "forked while the GPU was in use");
	ask(2 * S, GW_MODE_COUNT, GW_LIVE_AS_IT_IS, 0);
	assert_int_equal(answer.refused, 0);
	assert_int_equal(gw_options.mode, GW_MODE_COUNT);
}

TEST_WITH(what_of_a_mode_is_lacking_is_said, start, NULL)
{
	ask(S, GW_MODE_WATCH, 0, 0);
	assert_int_equal(answer.refused, 0);
	assert_non_null(strstr(answer.text, "the budget is 0"));
}

/* ---- windows, when the mode changes ---- */

void __real_gw_windows_mode(void);

/* In place of libcupti. */
#define NOTHING(name) \
	void name(void) \
	{ \
	}
NOTHING(gw_activity_settle)
NOTHING(gw_activity_off)
NOTHING(gw_activity_end)
NOTHING(gw_activity_gone)
NOTHING(gw_attach_settle)
NOTHING(gw_attach_stop)
NOTHING(gw_attach_leave)

#define ALWAYS(name, value) \
	bool name(void) \
	{ \
		return value; \
	}
ALWAYS(gw_activity_worn, false)
ALWAYS(gw_attach_stays, false)
ALWAYS(gw_attach_met, true)
ALWAYS(gw_other_profiler_busy, false)

void gw_activity_begin(enum gw_attach_as as)
{
	(void)as;
}

void gw_activity_flush(bool all)
{
	(void)all;
}

enum gw_attached gw_attach(enum gw_attach_as as)
{
	(void)as;
	return GW_ATTACHED;
}

static uint32_t none_waits(void)
{
	return 0;
}

static enum gw_sampler no_sampler(void)
{
	return GW_SAMPLER_NONE;
}

static NOTHING(nothing) static ALWAYS(in_time, true)

	/* Mode audit for a tenth of a second of CPU, then a window of mode watch, which ends. */
	static void go_through_a_window(void)
{
	static const struct gw_windows_calls calls = {no_sampler, none_waits, nothing, nothing};
	uint64_t deadline, cpu = gw_thread_cpu_ns();

	gw_options.mode = GW_MODE_AUDIT;
	gw_windows_start(false, &calls);
	gw_windows_first(in_time);
	assert_true(gw_windows_open());
	while (gw_thread_cpu_ns() - cpu < 100 * GW_MS)
		;
	gw_options.mode = GW_MODE_WATCH;
	__real_gw_windows_mode();
	deadline = gw_deadline_in(5 * S);
	while (!gw_windows_tick(1, 0) && gw_steady_ns() < deadline)
		;
	gw_windows_close();
	assert_false(gw_windows_open());
}

/* An hour of mode audit must not keep windows of mode watch away for days. */
TEST_WITH(what_mode_audit_cost_the_budget_of_mode_watch_does_not_pay, start, NULL)
{
	go_through_a_window();
	assert_in_range(atomic_load(&gw_counters[GW_COUNTER_window_ns]), 0, 50 * GW_MS);
}

/* Neither are the 4 s before the first window waited for again, nor is a window to be had by
 * switching. */
TEST_WITH(a_switch_away_and_back_leaves_the_pause_as_it_was, start, NULL)
{
	uint64_t deadline;

	go_through_a_window();
	gw_options.mode = GW_MODE_IDLE;
	__real_gw_windows_mode();
	gw_options.mode = GW_MODE_WATCH;
	__real_gw_windows_mode();
	gw_windows_tick(1, 0);
	assert_false(gw_windows_open());
	deadline = gw_deadline_in(3 * S);
	while (!gw_windows_open() && gw_steady_ns() < deadline)
		gw_windows_tick(1, 0);
	assert_true(gw_windows_open());
}

TESTS_MAIN()
