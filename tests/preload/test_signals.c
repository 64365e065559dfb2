/* The program's signals are the program's. */
#include "tests/preload/harness.h"
#include "tests/test.h"

#include <signal.h>

static struct outcome *scenario(const char *name)
{
	struct run r = RUN("signals", name);

	return run_both(&r);
}

#define SCENARIO(title, name) \
	TEST(title) \
	{ \
		struct outcome *o = scenario(name); \
\
		assert_int_equal(o->status, 0); \
		assert_int_equal(o->logs, 1); \
		assert_logs_are_the_truth(o); \
		outcome_free(o); \
	}

/* Launches at full speed may outrun a thread's ring; each is counted, and none claimed twice. */
static void at_1_khz(const char *name)
{
	struct outcome *o = scenario(name);
	const struct account *log = only_log(o);

	assert_string_equal(o->out, "ticks came: yes\n");
	assert_true(log->ended);
	assert_false(log->damaged);
	assert_int_equal(log->counter[GW_COUNTER_launches], o->truth[0].total);
	assert_in_range(log->total, o->truth[0].total - log->counter[GW_COUNTER_ring_dropped],
			o->truth[0].total);
	outcome_free(o);
}

TEST(interval_timer_at_1_khz)
{
	at_1_khz("interval_timer");
}

TEST(posix_timer_at_1_khz)
{
	at_1_khz("posix_timer");
}

SCENARIO(sleep_is_interrupted, "interrupted_sleep")
SCENARIO(child_signal_is_delivered, "child_signal")
SCENARIO(our_threads_block_all_signals, "others_block_signals")
SCENARIO(mask_and_pending_signals_stay, "masked")

TEST(unhandled_signal_ends_the_program)
{
	struct outcome *o = scenario("unhandled");

	assert_int_equal(o->status, SIGUSR2);
	outcome_free(o);
}

TESTS_MAIN()
