/* Sets of metrics: whose turn it is, and what does not fit; turns of processes with the sampler. */
#include "preload/counters/counter_attribution.h"
#include "preload/counters/gpu_turn.h"
#include "preload/counters/pm.h"
#include "preload/counters/pm_answers.h"
#include "preload/counters/pm_sets.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/counters.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/driver.h"
#include "tests/test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURNS = 64, NONE = UINT32_MAX };

/* In place of libcupti: what a set may hold at most, and the metric that none may hold. */
static size_t room;
static const char *refused;

CUptiResult __wrap_gw_cupti_set_make(struct gw_cupti_set *set, const char *chip,
				     const uint8_t *availability, const char *const *metrics,
				     size_t count);
void __wrap_gw_cupti_set_free(struct gw_cupti_set *set);

CUptiResult __wrap_gw_cupti_set_make(struct gw_cupti_set *set, const char *chip,
				     const uint8_t *availability, const char *const *metrics,
				     size_t count)
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
	room = GW_PM_ROWS;
	refused = NULL;
	gw_pm_sets_start();
	return 0;
}

/* Traffic and instructions are in it. */
TEST_WITH(every_second_turn_is_the_first_sets, start, NULL)
{
	unsigned others[TURNS] = {0};

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

TEST_WITH(what_does_not_fit_has_turns_of_its_own, start, NULL)
{
	room = 2;
#define METRIC(set, name, field, factor, idle) assert_true(has_its_turn(name));
#define CLOCK(set, name)                       assert_true(has_its_turn(name));
#include "preload/counters/pm_metric.def"
#undef METRIC
#undef CLOCK
}

TEST_WITH(without_one_metric_all_others_have_their_turn, start, NULL)
{
	refused = "dram__bytes_read.sum"; /* the first of the first set */
#define METRIC(set, name, field, factor, idle) \
	assert_int_equal(has_its_turn(name), strcmp(name, refused) != 0);
#define CLOCK(set, name) assert_true(has_its_turn(name));
#include "preload/counters/pm_metric.def"
#undef METRIC
#undef CLOCK
}

TEST_WITH(where_nothing_can_be_collected_there_is_no_set, start, NULL)
{
	room = 0;
	assert_int_equal(next(), NONE);
	assert_int_equal(next(), NONE);
}

/* ---- answers first ----
 */

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

	if (!gw_pm_answers_wanted() || !gw_pm_sets_best("chip", NULL, gw_pm_answers_worth, &number))
		return NONE;
	gw_pm_answers_took(number, cpu, true, true);
	return number;
}

/* Results come behind: until then each set has its turn, the first one first. */
TEST_WITH(each_set_is_sampled_before_any_is_again, start_answers, NULL)
{
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(session(1), i);
	assert_int_equal(session(1), 0);
}

TEST_WITH(sessions_go_where_time_is_without_counts, start_answers, NULL)
{
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
TEST_WITH(a_set_that_brings_nothing_more_is_left, start_answers, NULL)
{
	unsigned sessions = 0;

	for (unsigned i = 0; i < GW_PM_SETS; i++)
		gw_pm_answers_missing(i, 0);
	gw_pm_answers_missing(0, 0.6);
	while (session(1) == 0)
		sessions++;
	assert_int_equal(sessions, GW_PM_ANSWERS_TRIES);
	gw_pm_answers_missing(0, 0.5); /* more is known after all */
	assert_int_equal(session(1), 0);
}

/* JAX compiles for seconds: in 20 of 27 windows no kernel ran. */
TEST_WITH(sessions_without_kernels_are_no_tries_but_end, start_answers, NULL)
{
	unsigned empty = 0;

	for (unsigned i = 1; i < GW_PM_SETS; i++)
		gw_pm_answers_missing(i, 0);
	for (; empty < GW_PM_ANSWERS_TRIES; empty++)
		gw_pm_answers_took(0, 1, true, false);
	for (; session(1) == 0 && empty < TURNS; empty++)
		;
	assert_int_equal(empty, 2 * GW_PM_ANSWERS_TRIES);
	gw_pm_answers_took(0, 1, true, false);
	assert_false(gw_pm_answers_wanted());
}

/* Launches of four seconds, each of a configuration of its own: a session sees few of them. */
TEST_WITH(a_long_tail_is_sampled_until_hardly_any_time_is_missing, start_answers, NULL)
{
	enum { TAIL = 400, SEEN = 10, CPU_MS = 200 };
	bool counted[TAIL] = {false};
	unsigned known = 0, sessions = 0;
	uint64_t random = 1;

	for (unsigned i = 1; i < GW_PM_SETS; i++)
		gw_pm_answers_missing(i, 0);
	while (session(CPU_MS * UINT64_C(1000000)) == 0) {
		for (unsigned i = 0; i < SEEN; i++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
			known += !counted[(random >> 33) % TAIL];
			counted[(random >> 33) % TAIL] = true;
		}
		gw_pm_answers_missing(0, 1 - (double)known / TAIL);
		sessions++;
	}
	assert_in_range(known * 100 / TAIL, 90, 100);
	assert_in_range(sessions, 90, GW_PM_ANSWERS_MS / CPU_MS);
}

TEST_WITH(launches_of_a_new_kind_are_sampled_again, start_answers, NULL)
{
	for (unsigned i = 0; i < GW_PM_SETS; i++)
		gw_pm_answers_missing(i, 0);
	assert_int_equal(session(1), NONE);
	gw_pm_answers_missing(2, 0.4);
	assert_int_equal(session(1), 2);
}

/* A program that never repeats a launch. */
TEST_WITH(what_answers_may_cost_has_a_bound, start_answers, NULL)
{
	assert_int_equal(session(UINT64_C(1000000) * GW_PM_ANSWERS_MS), 0);
	assert_int_equal(session(1), NONE);
	assert_true(gw_pm_answers_cpu() == UINT64_C(1000000) * GW_PM_ANSWERS_MS);
}

TEST_WITH(sessions_that_overflow_spend_no_answers_but_end, start_answers, NULL)
{
	unsigned lost = 0;

	while (gw_pm_answers_wanted() && lost < TURNS) {
		gw_pm_answers_took(0, UINT64_C(1000000) * GW_PM_ANSWERS_MS, false, false);
		lost++;
	}
	assert_in_range(lost, 2, 5);
}

TEST_WITH(a_metric_that_no_chip_has_is_not_waited_for, start_answers, NULL)
{
	room = 0;
	assert_int_equal(session(1), NONE);
	assert_false(gw_pm_answers_wanted());
	assert_false(gw_pm_sets_any());
}

/* Processes that share a GPU take turns with its sampler of counters. */
static char folder[64], segment[96];

/* A GPU that is this process's alone. */
static uint8_t gpu[16] = {0xc0, 0xff, 0xee};
static char ncu[128]; /* the file for whose lock ncu waits */

static CUresult CUDAAPI uuid_of(CUuuid *uuid, CUdevice device)
{
	gpu[11] = (uint8_t)device;
	memcpy(uuid, gpu, sizeof(gpu));
	return CUDA_SUCCESS;
}

static void file_of(char *name, size_t size, const char *before, unsigned device, const char *end)
{
	snprintf(name, size, "%sc0ffee00-0000-0000-0000-%04x%02x%02x%02x%02x%s", before, device,
		 gpu[12], gpu[13], gpu[14], gpu[15], end);
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
	strcpy(folder, "/tmp/gpu_turn.XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	snprintf(segment, sizeof(segment), "%s/1-2-3.gwlive", folder);
	gw_driver.cuDeviceGetUuid = uuid_of;
	memcpy(gpu + 12, &(pid_t){getpid()}, 4);
	gw_gpu_turn_start(segment);
	return 0;
}

static int teardown(void **state)
{
	char name[128], before[80];

	gw_gpu_turn_give();
	for (unsigned i = 0; i < 2; i++) {
		snprintf(before, sizeof(before), "%s/.", folder);
		file_of(name, sizeof(name), before, i, ".sampler");
		unlink(name);
	}
	return rmdir(folder);
}

TEST_WITH(one_process_has_the_turn, setup, teardown)
{
	int hold;
	pid_t pid = other(&hold);

	assert_true(pid > 0);
	assert_false(gw_gpu_turn_take(0));
	end(pid, hold);
	assert_true(gw_gpu_turn_take(0));
}

TEST_WITH(another_gpu_is_another_turn, setup, teardown)
{
	int hold;
	pid_t pid = other(&hold);

	assert_true(pid > 0);
	assert_true(gw_gpu_turn_take(1));
	end(pid, hold);
}

TEST_WITH(who_gave_it_back_waits_for_others, setup, teardown)
{
	assert_true(gw_gpu_turn_take(0));
	gw_gpu_turn_give();
	assert_false(gw_gpu_turn_take(0));
}

TEST_WITH(without_a_folder_nobody_waits, setup, teardown)
{
	int hold;
	pid_t pid = other(&hold);

	assert_true(pid > 0);
	gw_gpu_turn_start("");
	assert_true(gw_gpu_turn_take(0));
	end(pid, hold);
}

/* However it ended: the kernel takes the lock back. */
TEST_WITH(a_killed_process_has_no_turn, setup, teardown)
{
	int hold;
	pid_t pid = other(&hold);

	assert_true(pid > 0);
	kill(pid, SIGKILL);
	end(pid, hold);
	assert_true(gw_gpu_turn_take(0));
}

TEST_WITH(a_child_does_not_keep_the_turn, setup, teardown)
{
	pid_t pid, next;
	int hold;

	NOT_UNDER_QEMU();
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
TEST_WITH(what_the_program_opened_in_its_place_stays_open, setup, teardown)
{
	enum { FIRST = 200, LAST = 210 };
	int own = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(gw_gpu_turn_take(0));
	for (int number = FIRST; number <= LAST; number++)
		assert_int_equal(dup2(own, number), number);
	gw_gpu_turn_give();
	for (int number = FIRST; number <= LAST; number++)
		assert_int_equal(close(number), 0);
	close(own);
}

/* ncu's lock file, as it leaves it; -1: in another user's folder. */
static bool made;

static int ncu_file(void)
{
	mkdir("/tmp/nvidia", 0777);
	made |= !mkdir("/tmp/nvidia/nsight_compute", 0777);
	file_of(ncu, sizeof(ncu), "/tmp/nvidia/nsight_compute/lock.", 0, "");
	return open(ncu, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
}

static int teardown_ncu(void **state)
{
	unlink(ncu);
	if (made && !rmdir("/tmp/nvidia/nsight_compute"))
		rmdir("/tmp/nvidia");
	return teardown(state);
}

TEST_WITH(ncu_waits_while_there_is_a_turn, setup, teardown_ncu)
{
	struct flock all = {.l_type = F_WRLCK};
	int file = ncu_file();

	if (file < 0)
		skip();
	assert_true(gw_gpu_turn_take(0));
	assert_int_equal(fcntl(file, F_SETLK, &all), -1);
	gw_gpu_turn_give();
	assert_int_equal(fcntl(file, F_SETLK, &all), 0);
	close(file);
}

TEST_WITH(there_is_no_turn_while_ncu_profiles, setup, teardown_ncu)
{
	struct flock all = {.l_type = F_WRLCK};
	int file = ncu_file(), hold;
	pid_t pid;

	if (file < 0)
		skip();
	assert_int_equal(fcntl(file, F_SETLK, &all), 0);
	pid = other(&hold);
	assert_int_equal(pid, -1);
	close(hold);
	assert_true(wait(NULL) > 0);
	close(file);
	assert_true(gw_gpu_turn_take(0));
}

TEST_WITH(the_lock_of_ncu_is_not_made, setup, teardown_ncu)
{
	close(ncu_file());
	unlink(ncu);
	assert_true(gw_gpu_turn_take(0));
	assert_int_equal(access(ncu, F_OK), -1);
}

TEST_WITH(a_try_in_vain_is_counted, setup, teardown)
{
	uint64_t before = atomic_load(&gw_counters[GW_COUNTER_pm_turns_waited]);
	int hold;
	pid_t pid = other(&hold);

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
TEST_WITH(eight_processes_each_have_their_turns, setup, teardown)
{
	enum { PROCESSES = 8 };
	pid_t pid[PROCESSES];
	int ends[2], status;

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

/* Of the sampler and libcupti's clock: no window is under way but those of this test. */
bool __wrap_gw_pm_sampling(void);
void __wrap_gw_pm_ran(uint32_t device, uint64_t ns);
void __wrap_gw_pm_records_ran(uint64_t ns);
void __wrap_gw_pm_stop(void);
uint64_t __wrap_gw_record_time(uint64_t time);
void __wrap_gw_record_clock_look(void);

uint64_t __wrap_gw_record_time(uint64_t time)
{
	return time;
}

void __wrap_gw_record_clock_look(void)
{
}

void __wrap_gw_pm_stop(void)
{
}

bool __wrap_gw_pm_sampling(void)
{
	return false;
}

void __wrap_gw_pm_ran(uint32_t device, uint64_t ns)
{
	(void)device, (void)ns;
}

void __wrap_gw_pm_records_ran(uint64_t ns)
{
	(void)ns;
}

/* As in a forked child, whose parent lost what ran in a window that was under way. */
TEST(a_window_after_a_new_start_is_whole)
{
	struct gw_pm_window *w = NULL;

	for (int i = 0; i < 2; i++) {
		gw_pm_windows_start();
		gw_counter_attribution_start();
		w = gw_pm_window(0);
		w->count = 1;
		w->sample[0] = (struct gw_sample){.begin = 1000, .end = 2000};
		atomic_store(&w->state, i ? GW_PM_READY : GW_PM_OPEN);
		if (!i)
			gw_counter_attribution_clock_set();
	}
	atomic_store(&gw_counters[GW_COUNTER_pm_incomplete], 0);
	gw_counter_attribution_tick(0, 0, true);
	assert_int_equal(atomic_load(&w->state), GW_PM_FREE);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_pm_incomplete]), 0);
}

TESTS_MAIN()
