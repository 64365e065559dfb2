/* What the library asks of the system: small files, threads of its own, the worker's sleep. */
#include "preload/launch/waits.h"
#include "preload/launch/call.h"
#include "preload/runtime/bell.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/processors.h"
#include "preload/runtime/own_files.h"
#include "preload/runtime/spawn.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* Small files of the kernel's, and fields of one. */

TEST(fields_are_counted_behind_the_name)
{
	const char *stat = "12 (a (b) c) d) S 3 4 5\n";

	assert_string_equal(gw_stat_field(stat, 3), "S 3 4 5\n");
	assert_string_equal(gw_stat_field(stat, 6), "5\n");
	assert_null(gw_stat_field(stat, 7));
	assert_null(gw_stat_field("12 (a", 3));
	assert_null(gw_stat_field("", 3));
}

/* As the kernel writes cpu.max, and the two files of version 1 one behind the other. */
TEST(a_quota_is_in_processors)
{
	assert_true(gw_processors_quota_of("150000 100000\n") == 1.5);
	assert_true(gw_processors_quota_of("50000\n100000\n") == 0.5);
	assert_true(isinf(gw_processors_quota_of("max 100000\n")));
	assert_true(isinf(gw_processors_quota_of("-1\n100000\n")));
	assert_true(isinf(gw_processors_quota_of("")));
	assert_true(gw_processors_quota() > 0);
	assert_true(gw_processors() > 0);
}

TEST(this_process_is_its_own)
{
	char text[512];

	assert_true(gw_small_file("/proc/self/stat", text, sizeof(text)) > 20);
	assert_int_equal(strtol(text, NULL, 10), getpid());
	assert_int_equal(strtol(gw_stat_field(text, 4), NULL, 10), getppid());
}

TEST(no_more_is_read_than_there_is_room_for)
{
	char text[5] = "xxxx";

	assert_int_equal(gw_small_file("/proc/self/stat", text, sizeof(text)), 4);
	assert_int_equal(text[4], 0);
	assert_int_equal(gw_small_file("/no/such", text, sizeof(text)), 0);
	assert_string_equal(text, "");
	assert_int_equal(gw_small_file("/proc", text, sizeof(text)), 0);
}

/* Threads of ours: name, signals, priority. */

static struct {
	char name[16];
	sigset_t blocked;
	int policy, nice;
} seen;

static void look(void)
{
	prctl(PR_GET_NAME, seen.name);
	pthread_sigmask(SIG_SETMASK, NULL, &seen.blocked);
	seen.policy = sched_getscheduler(0);
	seen.nice = getpriority(PRIO_PROCESS, (id_t)gettid());
}

static void lower(void)
{
	gw_lower_priority();
	look();
}

static void wait_for_end(void)
{
	while (gw_spawned())
		usleep(1000);
}

TEST(a_thread_has_its_name_and_no_signals)
{
	assert_true(gw_spawn("one of ours", look));
	wait_for_end();
	assert_string_equal(seen.name, "one of ours");
	assert_int_equal(sigismember(&seen.blocked, SIGTERM), 1);
	assert_int_equal(seen.policy, sched_getscheduler(0));
	assert_int_equal(seen.nice, getpriority(PRIO_PROCESS, 0));
}

/* The thread alone: the program's keep theirs. */
TEST(the_lowest_priority_is_its_own)
{
	int policy = sched_getscheduler(0), nice = getpriority(PRIO_PROCESS, 0);

	assert_true(gw_spawn("one of ours", lower));
	wait_for_end();
	assert_true(seen.policy == SCHED_IDLE || seen.nice == 19);
	assert_int_equal(sched_getscheduler(0), policy);
	assert_int_equal(getpriority(PRIO_PROCESS, 0), nice);
}

static void work(void)
{
	while (gw_thread_cpu_ns() < 20 * GW_MS)
		;
}

/* While they run and when they have ended. */
TEST(the_cpu_time_of_all_is_known)
{
	uint64_t before = gw_spawned_cpu_ns();

	assert_true(gw_spawn("one of ours", work));
	assert_true(gw_spawn("one of ours", work));
	wait_for_end();
	assert_true(gw_spawned_cpu_ns() - before >= 40 * GW_MS);
}

TEST(a_forked_child_begins_with_no_cpu_time)
{
	gw_spawn_forget();
	assert_int_equal(gw_spawned_cpu_ns(), 0);
}

/* The worker's sleep while nothing is launched, and the launch that ends it. */

static const uint64_t HOUR = UINT64_C(3600000000000);
static bool waiting; /* there are launches to be looked at */

static bool pending(void)
{
	return waiting;
}

static int start(void **state)
{
	fixture_start();
	gw_bell_start();
	waiting = false;
	return 0;
}

static void *sleeper(void *unused)
{
	gw_bell_sleep_until_launch(gw_deadline_in(HOUR), pending);
	return unused;
}

/* Until @p wake has been called: each of these tests would take an hour. */
static void sleeps_until(void (*wake)(void))
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, sleeper, NULL), 0);
	while (!atomic_load(&gw_hot.captures))
		sched_yield();
	while (atomic_load(&gw_hot.captures)) {
		wake();
		sched_yield();
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
}

TEST_WITH(the_first_launch_wakes_the_worker, start, NULL)
{
	sleeps_until(gw_bell_launched);
}

TEST_WITH(whoever_rings_wakes_the_worker, start, NULL)
{
	sleeps_until(gw_bell_ring);
}

TEST_WITH(launches_that_wait_are_not_slept_over, start, NULL)
{
	waiting = true;
	gw_bell_sleep_until_launch(gw_deadline_in(HOUR), pending);
	assert_int_equal(atomic_load(&gw_hot.captures), 0);
}

/* The driver has nothing to be asked with here: asked, the answer would be that it is captured. */
static void capture(void)
{
	assert_false(gw_stream_capturing(NULL, 0));
}

TEST_WITH(a_launch_that_wakes_is_not_taken_for_captured, start, NULL)
{
	sleeps_until(capture);
}

TEST_WITH(captures_are_counted_on_beside_it, start, NULL)
{
	for (int n = -1; n <= 3; n++) {
		assert_int_equal(gw_captures_of(n), n);
		assert_int_equal(gw_captures_of(n + GW_HOT_ASLEEP), n);
	}
	atomic_store(&gw_hot.captures, 1);
	assert_true(gw_stream_capturing(NULL, 0));
	gw_bell_sleep_until_launch(0, pending);
	assert_int_equal(atomic_load(&gw_hot.captures), 1);
}

static bool at_work(uint64_t now)
{
	gw_copies_look(now);
	return gw_copies_go_on();
}

/* Bytes of a look's time decide, those of small copies do not count. */
TEST(copies_of_4_gb_a_second_keep_an_engine_at_work)
{
	const uint64_t ms = 1000000;
	uint64_t now = 1000 * ms;
	struct gw_call call = {0};

	assert_false(at_work(now));
	gw_host_copy_begin(&call, 401 << 20);
	assert_false(at_work(now + 50 * ms));
	assert_true(at_work(now += 100 * ms));
	gw_host_copy_begin(&call, 300 << 20);
	assert_true(at_work(now + 50 * ms));
	assert_false(at_work(now += 100 * ms));
	for (int i = 0; i < 10000; i++)
		gw_host_copy_begin(&call, GW_COPY_LITTLE);
	assert_false(at_work(now + 100 * ms));
}

int main(void)
{
	return tests_run(NULL, NULL);
}
