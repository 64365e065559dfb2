/*
 * fork and its family: every process behaves as without us, and has a log of its own. One that
 * enters a sandbox lives on.
 */
#include "tests/preload/harness.h"
#include "tests/test.h"

#include <sys/wait.h>

/*
 * Run a scenario without us and in every way of being watched: each process behaves the same, and
 * each that ran kernels has a true log, `logs` in all.
 */
static void scenario(const char *name, unsigned logs)
{
	static const char *const env[] = {NULL, "GPUWATCH_MODE=count", "GPUWATCH_CUPTI=none", NULL};

	for (int way = 0; way < 4; way++) {
		struct run r = RUN("processes", name);
		struct outcome *o;

		r.env[0] = env[way];
		r.inject = way == 3;
		r.warnings = 3; /* there are three processes at most */
		o = run_both(&r);
		if (o->logs != logs)
			print_error("way %d: %u logs\n", way, o->logs);
		assert_int_equal(o->logs, logs);
		assert_logs_are_the_truth(o);
		outcome_free(o);
	}
}

#define SCENARIO(name, logs) \
	TEST(test_##name) \
	{ \
		scenario(#name, logs); \
	}

SCENARIO(in_child, 1)
SCENARIO(child_then_parent, 2)
SCENARIO(after_compute, 1)
SCENARIO(after__exit, 1)
SCENARIO(after_exit, 1)
SCENARIO(after_exec, 2)
SCENARIO(after_launch, 1)
SCENARIO(vfork, 2)
SCENARIO(spawn, 2)
SCENARIO(system, 1)
SCENARIO(popen, 1)
SCENARIO(daemon_first, 1)
SCENARIO(raw_clone, 1)
SCENARIO(raw_clone_exit, 1)
SCENARIO(grandchildren, 3)

TEST(the_end_of_a_raw_clones_thread_is_not_its_parents)
{
	struct run r = RUN("processes", "raw_clone_thread");
	struct outcome *o = run_both(&r);
	const uint64_t *launches = only_log(o)->of_thread;

	assert_logs_are_the_truth(o);
	assert_int_equal(launches[0], 0);
	assert_int_equal(launches[1], 4);
	assert_int_equal(launches[2], 4 + 3000);
	assert_int_equal(launches[3], 3000);
	outcome_free(o);
}

TEST(daemon_after_use_loses_its_gpu_as_without_us)
{
	struct run r = RUN("processes", "daemon_after");
	struct outcome *o = run_both(&r);

	/* The parent ended by _exit(): its log need not be closed, but it is its own. */
	assert_in_range(o->logs, 0, 1);
	outcome_free(o);
}

TEST(children_of_a_launching_process_do_not_hang)
{
	struct run r = RUN("processes", "among_threads");
	struct outcome *o = run_both(&r);

	assert_logs_are_the_truth(o);
	assert_int_equal(o->logs, 1 + 20);
	outcome_free(o);
}

/* A program that enters a sandbox lives on, whatever its filter does to calls it has no need of. */
static const char *const modes[] = {"GPUWATCH_MODE=audit", "GPUWATCH_MODE=watch",
				    "GPUWATCH_MODE=count"};

/* The program is the same without us, in each mode. */
static void lives_on(const char *way, const char *end, const char *log)
{
	for (unsigned i = 0; i < 3; i++) {
		struct run r = RUN("sandbox", way, end);
		struct outcome *o;

		r.env[0] = modes[i];
		r.env[1] = "STANDIN_COUNT="; /* it is written as the process ends */
		r.env[2] = log;
		o = run_both(&r);
		if (strstr(o->out, "no sandbox")) {
			outcome_free(o);
			skip();
		}
		assert_string_equal(o->out, "alive\n");
		assert_int_equal(WEXITSTATUS(o->status), strcmp(end, "_exit") == 0 ? 3 : 4);
		/* What is launched in the sandbox is in the log, to the end where there is one. */
		if (!log && strcmp(end, "return") == 0) {
			assert_true(only_log(o)->ended);
			assert_true(only_log(o)->total > 2501);
		}
		outcome_free(o);
	}
}

#define LIVES_ON(title, ...) \
	TEST(title) \
	{ \
		lives_on(__VA_ARGS__); \
	}

LIVES_ON(by_seccomp_without_privileges, "seccomp", "_exit", NULL)
LIVES_ON(by_seccomp_with_privileges, "privileged", "_exit", NULL)
LIVES_ON(by_prctl, "prctl", "_exit", NULL)
LIVES_ON(by_a_call_that_is_not_seen_after_no_new_privs, "unseen", "_exit", NULL)
LIVES_ON(before_cuda_is_used, "unused", "_exit", NULL)
LIVES_ON(to_an_end_by_return, "seccomp", "return", NULL)
/* A message is due there, and must not be said. */
LIVES_ON(without_a_log, "seccomp", "_exit", "GPUWATCH_OUT=/no/such/place/log.gwl")

int main(void)
{
	return tests_run(NULL, NULL);
}
