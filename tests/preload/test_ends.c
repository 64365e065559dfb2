/* However a process ends, its status is its own and its log can be read. */
#include "tests/preload/harness.h"
#include "tests/test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The log is complete and true. */
static void complete(struct run *r)
{
	struct outcome *o = run_both(r);

	assert_int_equal(o->logs, 1);
	assert_logs_are_the_truth(o);
	outcome_free(o);
}

#define COMPLETE(title, ...) \
	TEST(title) \
	{ \
		struct run r = RUN("ends", __VA_ARGS__); \
\
		complete(&r); \
	}

COMPLETE(return_from_main, "return")
COMPLETE(launches_in_exit_handlers, "at_exit")
COMPLETE(launches_in_an_exit_handler_alone, "only_at_exit")
COMPLETE(context_released_before_the_end, "reset_first")
COMPLETE(work_unfinished_at_the_end, "unfinished")

TEST(launches_before_main)
{
	struct run r = RUN("ends", "nothing");

	r.env[0] = "CLIENT_CONSTRUCTOR=1";
	complete(&r);
}

TEST(launches_in_a_destructor)
{
	struct run r = RUN("ends", "return");

	r.env[0] = "CLIENT_DESTRUCTOR=1";
	complete(&r);
}

/*
 * The worker asks the driver about the GPU when the first launch is seen. Objects that libraries
 * make late are destroyed before any handler of ours runs.
 */
TEST(exit_destroys_nothing_that_the_worker_uses)
{
	static const char *const names[] = {"early", "early_by_exit"};

	for (unsigned i = 0; i < 2; i++) {
		struct run r = RUN("ends", names[i]);

		r.env[0] = "STANDIN_SLOW=cuDeviceTotalMem_v2:700";
		complete(&r);
	}
}

/* By then the driver may be gone: the last call it sees is the program's own. */
static void no_call_of_ours_after_the_last_launch(const char *name)
{
	struct run r = RUN("ends", name);
	struct outcome *o;
	char path[128], line[512], last[512] = "";
	FILE *trace;

	r.env[0] = "STANDIN_TRACE=trace";
	o = run_watched(&r);
	snprintf(path, sizeof(path), "%s/trace", o->dir);
	trace = fopen(path, "r");
	assert_non_null(trace);
	while (fgets(line, sizeof(line), trace))
		strcpy(last, line);
	fclose(trace);
	if (!strstr(last, " cuLaunchKernel("))
		print_error("last call: %s", last);
	assert_non_null(strstr(last, " cuLaunchKernel("));
	outcome_free(o);
}

TEST(destructors_call_no_driver)
{
	no_call_of_ours_after_the_last_launch("at_exit");
	no_call_of_ours_after_the_last_launch("only_at_exit");
}

TEST(no_launch_no_log)
{
	struct run r = RUN("ends", "nothing");
	struct outcome *o = run_both(&r);

	assert_int_equal(o->logs, 0);
	outcome_free(o);
}

/* No exit handler runs: what is there can be read and claims no more than what ran. */
static void cut_off(const char *name, int status)
{
	struct run r = RUN("ends", name);
	struct outcome *o = run_both(&r);

	assert_int_equal(o->status, status);
	assert_in_range(o->logs, 0, 1);
	for (unsigned i = 0; i < o->logs; i++)
		assert_in_range(o->log[i].total, 0, 3);
	outcome_free(o);
}

TEST(by__exit)
{
	cut_off("_exit", 21 << 8);
}

TEST(by_abort)
{
	cut_off("abort", SIGABRT);
}

TEST(by_signal)
{
	cut_off("signal", SIGTERM);
}

TEST(by_fault)
{
	cut_off("fault", SIGSEGV);
}

TEST(quick_exit_leaves_a_complete_log)
{
	struct run r = RUN("ends", "quick_exit");
	struct outcome *o = run_both(&r);

	assert_int_equal(o->status, 22 << 8);
	assert_true(only_log(o)->ended);
	assert_int_equal(only_log(o)->total, 3);
	outcome_free(o);
}

/* Its log is whole; the caller frees the outcome. */
static struct outcome *exited_among_threads(const char *scenario)
{
	struct run r = RUN("ends", scenario);
	struct outcome *o = run_both(&r);

	assert_int_equal(o->status, 23 << 8);
	assert_true(only_log(o)->ended);
	assert_false(only_log(o)->damaged);
	assert_true(only_log(o)->total > 0);
	return o;
}

/* The other threads go on to the very end, so the last launches may come after our last word. */
TEST(exit_while_others_launch)
{
	struct outcome *o = exited_among_threads("among_threads");

	assert_true(only_log(o)->total <= o->truth[0].total);
	outcome_free(o);
}

TEST(exit_on_a_small_stack)
{
	struct outcome *o;

	NOT_UNDER_TSAN();
	o = exited_among_threads("small_stack");
	assert_true(only_log(o)->total <= o->truth[0].total);
	outcome_free(o);
}

/* They may crash the program while exit() takes the driver down: the log is whole before that
 * begins. */
TEST(exit_while_others_launch_leaves_a_log_before_any_handler_has_run)
{
	outcome_free(exited_among_threads("among_threads_cut"));
}

TEST(exit_from_a_host_function)
{
	struct run r = RUN("ends", "in_host_function");
	struct outcome *o = run_both(&r);

	assert_int_equal(o->status, 24 << 8);
	assert_int_equal(only_log(o)->total, 3);
	outcome_free(o);
}

/* ---- SIGKILL ---- */

static unsigned pause_ms;
static uint64_t done_before; /* launches done a second and more before the end */
static _Atomic uint64_t *done;

static void kill_it(pid_t pid)
{
	struct timespec t = {pause_ms / 1000, pause_ms % 1000 * 1000000};
	struct timespec second = {1, 300000000};

	done_before = 0;
	if (pause_ms > 1300) { /* what was done this long ago must be in the log */
		t.tv_sec -= 1;
		t.tv_nsec -= 300000000;
		if (t.tv_nsec < 0) {
			t.tv_sec--;
			t.tv_nsec += 1000000000;
		}
		nanosleep(&t, NULL);
		done_before = *done;
		t = second;
	}
	nanosleep(&t, NULL);
	kill(pid, SIGKILL);
}

static void killed_once(void)
{
	struct run r = RUN("ends", "forever");
	char path[] = "/tmp/gwpt.truth.XXXXXX", env[64], command[1024];
	int fd = mkstemp(path);
	struct outcome *o;

	assert_int_equal(ftruncate(fd, 4096), 0);
	done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(done, MAP_FAILED);
	snprintf(env, sizeof(env), "CLIENT_TRUTH=%s", path);
	r.env[0] = env;
	r.meanwhile = kill_it;
	o = run_watched(&r);
	assert_int_equal(o->status, SIGKILL);
	assert_in_range(o->logs, 0, 1);
	assert_int_equal(warnings(o->err), 0);
	if (o->logs) {
		int status;

		/* The one that was under way may be in the log and not yet counted. */
		assert_true(o->log[0].total <= *done + 1);
		assert_true(o->log[0].total >= done_before);
		snprintf(command, sizeof(command), "%s report %s/*.gwl >/dev/null 2>&1", GW_COMMAND,
			 o->dir);
		status = system(command);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
	} else {
		assert_int_equal(done_before, 0);
	}
	munmap((void *)done, 4096);
	close(fd);
	unlink(path);
	outcome_free(o);
}

TEST(killed_at_random)
{
	srandom(20261120);
	for (int i = 0; i < 40; i++) {
		pause_ms = (unsigned)random() % 120;
		killed_once();
	}
}

TEST(killed_late_loses_a_second_at_most)
{
	for (int i = 0; i < 3; i++) {
		pause_ms = 2600 + 370 * (unsigned)i;
		killed_once();
	}
}

TESTS_MAIN()
