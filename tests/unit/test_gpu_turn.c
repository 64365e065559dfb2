/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that share a GPU take turns with its sampler of counters. */
#include "preload/counters/gpu_turn.h"

#include "preload/runtime/clock.h"
#include "preload/runtime/counters.h"
#include "preload/runtime/deadline.h"

#include "preload/runtime/driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], segment[96];

static CUresult CUDAAPI bus_of(char *bus, int size, CUdevice device)
{
	snprintf(bus, (size_t)size, "0000:%02x:00.0", (unsigned)device);
	return CUDA_SUCCESS;
}

/* Another process that has the turn on GPU 0 until its pipe is closed. */
static pid_t other(int *hold)
{
	int ready[2], wait[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(wait), 0);
	pid = fork();
	if (!pid) {
		close(wait[1]);
		gw_gpu_turn_start(segment);
		byte = gw_gpu_turn_take(0) ? 'y' : 'n';
		if (write(ready[1], &byte, 1) == 1)
			(void)!read(wait[0], &byte, 1);
		_exit(0);
	}
	close(wait[0]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	*hold = wait[1];
	return byte == 'y' ? pid : -1;
}

static void end(pid_t pid, int hold)
{
	close(hold);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/gpu_turn.XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	snprintf(segment, sizeof(segment), "%s/1-2-3.gwlive", folder);
	gw_driver.cuDeviceGetPCIBusId = bus_of;
	gw_gpu_turn_start(segment);
	return 0;
}

static int teardown(void **state)
{
	char name[128];

	(void)state;
	gw_gpu_turn_give();
	for (unsigned i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s/.0000:%02x:00.0.sampler", folder, i);
		unlink(name);
	}
	return rmdir(folder);
}

static void one_process_has_the_turn(void **state)
{
	int hold;
	pid_t pid = other(&hold);

	(void)state;
	assert_true(pid > 0);
	assert_false(gw_gpu_turn_take(0));
	end(pid, hold);
	assert_true(gw_gpu_turn_take(0));
}

static void another_gpu_is_another_turn(void **state)
{
	int hold;
	pid_t pid = other(&hold);

	(void)state;
	assert_true(pid > 0);
	assert_true(gw_gpu_turn_take(1));
	end(pid, hold);
}

static void who_gave_it_back_waits_for_others(void **state)
{
	(void)state;
	assert_true(gw_gpu_turn_take(0));
	gw_gpu_turn_give();
	assert_false(gw_gpu_turn_take(0));
}

static void without_a_folder_nobody_waits(void **state)
{
	int hold;
	pid_t pid = other(&hold);

	(void)state;
	assert_true(pid > 0);
	gw_gpu_turn_start("");
	assert_true(gw_gpu_turn_take(0));
	end(pid, hold);
}

/* However it ended: the kernel takes the lock back. */
static void a_killed_process_has_no_turn(void **state)
{
	int hold;
	pid_t pid = other(&hold);

	(void)state;
	assert_true(pid > 0);
	kill(pid, SIGKILL);
	end(pid, hold);
	assert_true(gw_gpu_turn_take(0));
}

static void a_child_does_not_keep_the_turn(void **state)
{
	pid_t pid, next;
	int hold;

	(void)state;
	assert_true(gw_gpu_turn_take(0));
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	gw_gpu_turn_give();
	next = other(&hold);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(next > 0);
	end(next, hold);
}

/* As daemons do: what the program opens as that number is its own. */
static void what_the_program_opened_in_its_place_stays_open(void **state)
{
	enum { FIRST = 200, LAST = 210 };
	int own = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(gw_gpu_turn_take(0));
	for (int number = FIRST; number <= LAST; number++)
		assert_int_equal(dup2(own, number), number);
	gw_gpu_turn_give();
	for (int number = FIRST; number <= LAST; number++)
		assert_int_equal(close(number), 0);
	close(own);
}

static void a_try_in_vain_is_counted(void **state)
{
	uint64_t before = atomic_load(&gw_counters[GW_COUNTER_pm_turns_waited]);
	int hold;
	pid_t pid = other(&hold);

	(void)state;
	assert_true(pid > 0);
	assert_false(gw_gpu_turn_take(0));
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_pm_turns_waited]), before + 1);
	end(pid, hold);
}

/* As the sampling thread: it tries, has its turn for a moment and gives it back, twice. */
static int use_twice(int inside)
{
	for (int had = 0; had < 2;) {
		char alone = 0;

		if (!gw_gpu_turn_take(0)) {
			gw_pause(GW_GPU_TURN_TRY_MS * GW_MS / 8);
			continue;
		}
		/* A byte in the pipe stands for the one sampler there is. */
		if (read(inside, &alone, 1) != 1)
			return 1;
		gw_pause(2 * GW_MS);
		if (write(inside + 1, &alone, 1) != 1)
			return 1;
		gw_gpu_turn_give();
		had++;
	}
	return 0;
}

/* None of them finds another at it, and all have their turns. */
static void eight_processes_each_have_their_turns(void **state)
{
	enum { PROCESSES = 8 };
	pid_t pid[PROCESSES];
	int ends[2], status;

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	assert_int_equal(ends[1], ends[0] + 1);
	assert_int_equal(write(ends[1], "x", 1), 1);
	for (int i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			gw_gpu_turn_start(segment);
			_exit(use_twice(ends[0]));
		}
	}
	for (int i = 0; i < PROCESSES; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(one_process_has_the_turn),
	        TEST(another_gpu_is_another_turn),
	        TEST(who_gave_it_back_waits_for_others),
	        TEST(without_a_folder_nobody_waits),
	        TEST(a_killed_process_has_no_turn),
	        TEST(a_child_does_not_keep_the_turn),
	        TEST(what_the_program_opened_in_its_place_stays_open),
	        TEST(a_try_in_vain_is_counted),
	        TEST(eight_processes_each_have_their_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
