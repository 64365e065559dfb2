/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of ours: name, signals, priority. */
#include "preload/runtime/spawn.h"

#include "preload/runtime/deadline.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

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

static void a_thread_has_its_name_and_no_signals(void **state)
{
	(void)state;
	assert_true(gw_spawn("one of ours", look));
	wait_for_end();
	assert_string_equal(seen.name, "one of ours");
	assert_int_equal(sigismember(&seen.blocked, SIGTERM), 1);
	assert_int_equal(seen.policy, sched_getscheduler(0));
	assert_int_equal(seen.nice, getpriority(PRIO_PROCESS, 0));
}

/* The thread alone: the program's keep theirs. */
static void the_lowest_priority_is_its_own(void **state)
{
	int policy = sched_getscheduler(0), nice = getpriority(PRIO_PROCESS, 0);

	(void)state;
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
static void the_cpu_time_of_all_is_known(void **state)
{
	uint64_t before = gw_spawned_cpu_ns();

	(void)state;
	assert_true(gw_spawn("one of ours", work));
	assert_true(gw_spawn("one of ours", work));
	wait_for_end();
	assert_true(gw_spawned_cpu_ns() - before >= 40 * GW_MS);
}

static void a_forked_child_begins_with_no_cpu_time(void **state)
{
	(void)state;
	gw_spawn_forget();
	assert_int_equal(gw_spawned_cpu_ns(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_thread_has_its_name_and_no_signals),
	        cmocka_unit_test(the_lowest_priority_is_its_own),
	        cmocka_unit_test(the_cpu_time_of_all_is_known),
	        cmocka_unit_test(a_forked_child_begins_with_no_cpu_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
