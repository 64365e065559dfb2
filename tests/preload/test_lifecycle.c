/* What is borrowed of a process is given back, and what is its own is left alone. */
#include "tests/preload/harness.h"
#include "tests/test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *const modes[] = {"GPUWATCH_MODE=audit", "GPUWATCH_MODE=watch",
				    "GPUWATCH_MODE=count"};

/* Alike without us and in each mode; @p in_child as in struct run, @p env NULL or one more. */
static void alike(const char *scenario, const char *env, void (*in_child)(void))
{
	for (unsigned i = 0; i < 3; i++) {
		struct run r = RUN("lifecycle", scenario);

		r.env[0] = modes[i];
		r.env[1] = "STANDIN_COUNT="; /* not everywhere can it be written */
		r.env[2] = env;
		r.in_child = in_child;
		r.warnings = 2; /* processes, at most */
		outcome_free(run_both(&r));
	}
}

#define ALIKE(title, scenario) \
	TEST(title) \
	{ \
		alike(scenario, NULL, NULL); \
	}

/* ---- stderr ---- */

/* In each mode, where there is a message to be said, and a summary. */
static void own_data(const char *scenario, void (*in_child)(void))
{
	static const char *const reasons[] = {"GPUWATCH_OUT=/no/such/place/log.gwl",
					      "GPUWATCH_SUMMARY=1"};

	for (unsigned i = 0; i < 6; i++) {
		struct run r = RUN("lifecycle", scenario);
		struct outcome *o;

		r.env[0] = modes[i % 3];
		r.env[1] = reasons[i / 3];
		r.in_child = in_child;
		o = run_watched(&r);
		assert_int_equal(o->status, 0);
		assert_non_null(strstr(o->out, "head tail\n"));
		assert_null(strstr(o->out, "gpuwatch"));
		outcome_free(o);
	}
}

TEST(no_message_goes_to_a_file_that_took_the_number_of_stderr)
{
	own_data("stderr_reused", NULL);
}

TEST(no_message_goes_there_from_a_forked_child)
{
	own_data("stderr_reused_at_the_end", NULL);
}

static void close_stderr(void)
{
	close(STDERR_FILENO);
}

TEST(no_message_where_there_was_no_stderr)
{
	own_data("stderr_free", close_stderr);
}

/* A pipe that is full, with a reader that does not read: both ends are the program's. */
static void fill_stderr(void)
{
	static const char block[4096];
	int ends[2];

	if (pipe(ends) || fcntl(ends[1], F_SETFL, O_NONBLOCK))
		_exit(126);
	while (write(ends[1], block, sizeof(block)) > 0)
		;
	while (write(ends[1], block, 1) > 0)
		;
	if (fcntl(ends[1], F_SETFL, 0) || dup2(ends[1], STDERR_FILENO) < 0)
		_exit(126);
	close(ends[1]);
}

TEST(a_message_does_not_wait_for_a_reader)
{
	alike("stderr_is_full", "GPUWATCH_RING=many",
	      fill_stderr); /* said by the program's thread */
	alike("stderr_is_full", "GPUWATCH_OUT=/no/such/place/log.gwl", fill_stderr);
	alike("stderr_is_full", "GPUWATCH_SUMMARY=1", fill_stderr);
}

/* The program brings the C++ library: names could be demangled, in its memory. */
TEST(the_summary_demangles_nothing)
{
	static const char *const shown[] = {"  hostile<...>\n", "  add_kernel<...>\n",
					    "  copy\n",         "  plain_one\n",
					    "  _Z999cut\n",     "  _ZZ4mainE5local\n"};
	struct run r = RUN("lifecycle", "mangled");
	struct outcome *o;

	r.preload_after = "libstdc++.so.6";
	r.env[0] = "GPUWATCH_SUMMARY=1";
	o = run_watched(&r);
	if (strstr(o->err, "cannot be preloaded")) {
		outcome_free(o);
		skip();
	}
	assert_int_equal(o->status, 0);
	/* Each kernel's own name, as it stands in the mangled one; else that one. */
	for (size_t i = 0; i < COUNT(shown); i++)
		assert_non_null(strstr(o->err, shown[i]));
	outcome_free(o);
}

TEST(a_driver_under_another_name_is_named_as_the_reason)
{
	struct run r = RUN("other_driver");
	struct outcome *o = run_watched(&r);

	assert_int_equal(o->status, 0);
	assert_non_null(strstr(o->err, "libcuda.so.1 is not among the loaded libraries"));
	outcome_free(o);
}

/* ---- a start that does not come to its end ----
 */

/* Some call of ours at the start takes longer than the program waits; libcupti's longer than it
 * would at all. */
static void goes_on(const char *scenario)
{
	static const char *const slow[] = {"STANDIN_SLOW=cuDeviceGetName:1500",
					   "STANDIN_SLOW=cuDriverGetVersion:1500",
					   "STANDIN_SLOW=cuptiSubscribe:3000",
					   "STANDIN_SLOW=cuptiActivityEnable:1000" /* of three */};

	for (unsigned i = 0; i < 4; i++)
		alike(scenario, slow[i], NULL);
}

TEST(a_start_that_is_left_by_longjmp_costs_later_calls_nothing)
{
	goes_on("left_by_longjmp");
}

TEST(a_start_that_is_cancelled_costs_later_calls_nothing)
{
	goes_on("left_by_cancel");
}

TEST(a_fork_during_the_start_costs_the_child_nothing)
{
	goes_on("forked_meanwhile");
}

/* The loader's lock is the constructor's until it returns: libcupti cannot be loaded. */
ALIKE(a_constructor_under_dlopen_goes_on, "under_dlopen")

/* ---- other uses of a process ----
 */

/* Its exit handlers run in the parent's memory: sampling goes on there. */
TEST(a_child_of_vfork_that_exits_changes_nothing)
{
	struct run r = RUN("lifecycle", "vfork_then_exit");
	struct outcome *o;

	r.env[0] = "GPUWATCH_BUDGET=100";
	r.env[1] = "GPUWATCH_COUNTERS=pm";
	r.env[2] = "STANDIN_CUPTI_VERSION=130001";
	o = run_watched(&r);
	assert_int_equal(o->status, 0);
	assert_true(only_log(o)->counter[GW_COUNTER_pm_windows] > 0);
	outcome_free(o);
}

ALIKE(after_closefrom, "closefrom")
ALIKE(after_closefrom_and_chdir, "closefrom_and_chdir")
ALIKE(in_a_daemon, "daemon_before")
ALIKE(in_a_daemon_that_launched_before, "daemon_after")
ALIKE(as_another_user, "other_user")
ALIKE(below_another_root, "other_root")
ALIKE(with_umask_0777, "umask_0777")
ALIKE(without_descriptors, "no_files")
ALIKE(with_small_files, "small_files")
ALIKE(without_memory, "no_memory")

/* ---- a privileged program ----
 */

/* In a mount namespace whose ld.so.preload names the library, for a caller without rights. */
TEST(a_privileged_program_is_left_alone)
{
	static const char script[] =
		"set -e; d=$(mktemp -d /tmp/gwpt.XXXXXX); chmod 711 $d; trap 'rm -rf $d' EXIT\n"
		"mkdir $d/etc $d/bin $d/open; chmod 777 $d/open\n"
		"cp %s $d/bin/plain; chmod 4755 $d/bin/plain; cp %s/libcuda.so.1 $d/bin\n"
		"cp %s $d/bin/planted.so; cp %s $d/bin/gw.so; chmod 755 $d/bin/*.so*\n"
		"for f in ld.so.cache passwd group; do cp /etc/$f $d/etc 2>/dev/null || :; done\n"
		"echo $d/bin/gw.so > $d/etc/ld.so.preload\n"
		"unshare -m sh -c \"mount --bind $d/etc /etc && mount --bind $d/bin/libcuda.so.1 "
		"$(readlink -f %s/libcuda.so.1) && cd $d/open && setpriv %s --clear-groups env "
		"GPUWATCH_OUT=$d/open/log.gwl PLANTED=$d/open/planted "
		"GPUWATCH_CUPTI=$d/bin/planted.so "
		"%s $d/bin/plain launches\" || exit 77\n"
		"test ! -e $d/open/planted || exit 2; ls $d/open | grep -q gwl && exit %d; exit %d";
	static const char *const as[] = {"--reuid 65534 --regid 65534", "--reuid 0 --regid 0"};
	char command[4096];
	int status;

	if (getuid() != 0)
		skip();
	/* Called by root it has no more rights than its caller: there the script finds a log. */
	for (int i = 1; i >= 0; i--) {
		snprintf(command, sizeof(command), script, built("plain"), GW_STANDIN,
			 built("planted.so"), GW_LIBRARY, GW_STANDIN, as[i],
			 i ? "GPUWATCH_CUPTI=none" : "", i ? 0 : 3, i ? 4 : 0);
		status = system(command);
		if (WEXITSTATUS(status) == 77) {
			print_message("no mount namespace or no set-user-ID programs here\n");
			skip();
		}
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

/* ---- a main thread that ends first ---- */

static void terminate(pid_t pid)
{
	char path[64], text[512] = "";
	const struct timespec pause = {0, 10000000};

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	for (int i = 0; i < 6000 && !strstr(text, ") Z "); i++) {
		int fd = open(path, O_RDONLY);
		ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

		text[n > 0 ? n : 0] = 0;
		if (fd >= 0)
			close(fd);
		nanosleep(&pause, NULL);
	}
	kill(pid, SIGTERM);
}

/* A thread as the driver's is left, and ours: none of them takes a signal by itself. */
TEST(sigterm_ends_a_program_whose_main_thread_has_ended)
{
	for (unsigned i = 0; i < 3; i++) {
		struct run r = RUN("lifecycle", "main_leaves_to_driver");
		struct outcome *o;

		r.env[0] = modes[i];
		r.meanwhile = terminate;
		o = run_watched(&r);
		assert_false(o->timed_out);
		assert_int_equal(o->status, SIGTERM);
		outcome_free(o);
	}
}

ALIKE(a_signal_that_a_thread_is_about_to_take_is_left_to_it, "main_leaves_to_sigwait")

/* ---- what threads of ours would inherit ---- */

ALIKE(traps_of_floating_point_are_the_programs, "floating_point_traps")
ALIKE(stacks_and_states_of_threads_are_the_programs, "threads_have_defaults")
ALIKE(threads_of_ours_do_not_run_in_real_time, "real_time")

ALIKE(a_function_that_is_called_log_is_the_programs, "own_log")
ALIKE(a_variable_with_the_name_of_a_function_of_libc_is_not_called, "own_variables")

TESTS_MAIN()
