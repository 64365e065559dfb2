/* Every way to find a function: ours is found where the driver's would be, and nothing else. */
#include "tests/preload/harness.h"
#include "tests/test.h"

#include <unistd.h>

static void same_counts(const char *name)
{
	struct run r = RUN("lookup", name);
	struct outcome *o = run_both(&r);

	assert_int_equal(o->logs, 1);
	assert_logs_are_the_truth(o);
	outcome_free(o);
}

#define SAME_COUNTS(title, name) \
	TEST(title) \
	{ \
		same_counts(name); \
	}

SAME_COUNTS(every_way_is_seen_once, "ways")
SAME_COUNTS(global_library_by_default_next_and_program, "global")
SAME_COUNTS(local_library_stays_local, "local")
SAME_COUNTS(a_library_of_the_same_names_is_left_alone, "impostor")
SAME_COUNTS(library_that_launches_closed_and_reopened, "reopened")

TEST(not_found_as_without_us)
{
	struct run r = RUN("lookup", "errors");
	struct outcome *o = run_both(&r);

	assert_int_equal(o->logs, 0);
	outcome_free(o);
}

/* Also where an option is a number that is none. */
TEST(looking_up_keeps_errno)
{
	struct run r = RUN("lookup", "errno");
	struct outcome *o;

	r.env[0] = "GPUWATCH_LOG_MAX=99999999999999999999999999";
	o = run_both(&r);
	assert_non_null(strstr(o->out, "errno 77 78\n"));
	outcome_free(o);
}

/* A library opened so binds past every preload: its launches are missed, nothing else. */
TEST(deepbind_behaves_as_without_us)
{
	struct run r = RUN("lookup", "deepbind");
	struct outcome *o = run_both(&r);

	for (unsigned i = 0; i < o->logs; i++)
		assert_true(o->log[i].total <= o->truth[0].total);
	outcome_free(o);
}

static void nothing_is_hooked(const char *option)
{
	struct run r = RUN("lookup", "whose");
	struct outcome *o;

	r.env[0] = option;
	o = run_both(&r); /* prints whose the addresses are */
	assert_int_equal(o->logs, 0);
	assert_null(strstr(o->out, "gpuwatch"));
	outcome_free(o);
}

TEST(disabled_hooks_nothing)
{
	nothing_is_hooked("GPUWATCH_DISABLE=1");
}

TEST(mode_off_hooks_nothing)
{
	nothing_is_hooked("GPUWATCH_MODE=off");
}

TEST(enabled_hands_out_wrappers)
{
	struct run r = RUN("lookup", "whose");
	struct outcome *o = run_watched(&r);

	assert_int_equal(o->status, 0);
	assert_non_null(strstr(o->out, "cuLaunchKernel by cuGetProcAddress: /libgpuwatch.so"));
	assert_non_null(strstr(o->out, "cuLaunchKernel by dlsym: /libgpuwatch.so"));
	outcome_free(o);
}

/* ---- who asks ---- */

static const char *const drivers[] = {"none", "global", "local", "plugin"};

/* Every name, in each way, by each who there is in clients/scopes.c; messages of dlerror() too. */
static void found_alike(const char *program, const char *before, const char *after)
{
	for (unsigned i = 0; i < COUNT(drivers); i++) {
		struct run r = RUN(program, "ask", drivers[i]);
		struct outcome *o;

		r.preload_before = before;
		r.preload_after = after;
		o = run_both(&r);
		assert_int_equal(o->status, 0);
		assert_int_equal(o->logs, 0);
		assert_non_null(strstr(o->out, "a dependency there, RTLD_NEXT, cuLaunchKernel: "));
		outcome_free(o);
	}
}

TEST(names_are_found_as_without_us_whoever_asks)
{
	found_alike("scopes", NULL, NULL);
}

TEST(names_are_found_as_without_us_where_the_program_is_linked_to_them)
{
	found_alike("scopes_linked", NULL, NULL);
}

TEST(names_are_found_as_without_us_by_a_preload_before_us)
{
	found_alike("scopes", built("asks_preloaded.so"), NULL);
	found_alike("scopes_linked", built("asks_preloaded.so"), NULL);
}

TEST(names_are_found_as_without_us_by_a_preload_after_us)
{
	found_alike("scopes", NULL, built("asks_preloaded.so"));
	found_alike("scopes_linked", NULL, built("asks_preloaded.so"));
}

/* Who stands behind us asks for what comes after itself, and that is not ours. */
static bool may_find_the_drivers(const char *line)
{
	static const char *const behind[] = {
		"dependency, RTLD_NEXT",     "plug-in with CUDA, RTLD_NEXT",
		"its dependency, RTLD_NEXT", "another namespace",
		"a dependency there",        "plug-in, RTLD_NEXT"};

	for (unsigned i = 0; i < COUNT(behind); i++)
		if (!strncmp(line, behind[i], strlen(behind[i])))
			return true;
	return strstr(line, "cuDeviceGetCount: ") != NULL;
}

/* How many were answered with ours; none with the driver's or libcupti's own. */
static unsigned answered_with_ours(const char *program, const char *driver, const char *before)
{
	struct run r = RUN(program, "whose", driver);
	struct outcome *o;
	unsigned ours = 0;

	r.preload_before = before;
	o = run_watched(&r);
	assert_int_equal(o->status, 0);
	for (char *line = strtok(o->out, "\n"); line; line = strtok(NULL, "\n")) {
		ours += strstr(line, ": libgpuwatch.so") != NULL;
		if (strstr(line, ": libcu") && !may_find_the_drivers(line))
			fail_msg("%s", line);
	}
	outcome_free(o);
	return ours;
}

TEST(ours_is_found_wherever_the_drivers_own_would_be)
{
	const char *before = built("asks_preloaded.so");
	unsigned linked;

	assert_int_equal(answered_with_ours("scopes", "none", NULL), 0);
	assert_int_equal(answered_with_ours("scopes", "local", NULL), 0);
	assert_true(answered_with_ours("scopes", "global", NULL) > 500);
	assert_true(answered_with_ours("scopes", "plugin", NULL) > 150);
	linked = answered_with_ours("scopes_linked", "none", NULL);
	assert_true(linked > 500);
	assert_true(answered_with_ours("scopes_linked", "none", before) > linked);
}

/* ctypes calls by way of libffi, whose own scope is that of an extension module. */
TEST(names_are_found_as_without_us_from_python)
{
	static const char script[] =
		"import ctypes, subprocess, sys\n"
		"find = ctypes.CDLL(None).dlsym\n"
		"find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_void_p, "
		"ctypes.c_char_p]\n"
		"names = subprocess.check_output([sys.argv[1], 'names']).split()\n"
		"assert len(names) > 90\n"
		"def ask(when):\n"
		"    for name in names:\n"
		"        print(when, name, bool(find(None, name)), bool(find(-1, name)))\n"
		"ask('without')\n"
		"ctypes.CDLL('libcuda.so.1')\n"
		"ask('local')\n"
		"ctypes.CDLL('libcuda.so.1', ctypes.RTLD_GLOBAL)\n"
		"ask('global')\n";
	struct run r = RUN("/usr/bin/python3", "-c", script, built("scopes"));
	struct outcome *o;

	if (access("/usr/bin/python3", X_OK))
		skip();
	o = run_both(&r);
	assert_int_equal(o->status, 0);
	assert_non_null(strstr(o->out, "without b'cuInit' False False\n"));
	assert_non_null(strstr(o->out, "global b'cuInit' True"));
	outcome_free(o);
}

/* What the linker has bound before the program's first constructor. */
static void weak_references_alike(const char *program, const char *expected)
{
	struct run r = RUN(program, "libcuda.so.1");
	struct outcome *o = run_both(&r);

	assert_int_equal(o->status, 0);
	assert_non_null(strstr(o->out, expected));
	outcome_free(o);
}

TEST(weak_references_are_bound_as_without_us)
{
	weak_references_alike("weak", "library, code, cuInit: absent\n");
	weak_references_alike("weak_now", "program, code, cuInit: absent\n");
	weak_references_alike("weak_linked", "program, code, cuInit: there\n");
}

/* ---- other preloads ---- */

static void with_other(const char *scenario, const char *library, bool before, const char *env,
		       const char *more)
{
	struct run r = RUN("plain", scenario);
	struct outcome *o;

	r.env[0] = env;
	r.env[1] = more;
	if (before)
		r.preload_before = built(library);
	else
		r.preload_after = built(library);
	o = run_both(&r);
	assert_int_equal(o->logs, 1);
	assert_logs_are_the_truth(o);
	outcome_free(o);
}

#define WITH_OTHER(title, scenario, library) \
	TEST(title##_before_us) \
	{ \
		with_other(scenario, library, true, NULL, NULL); \
	} \
	TEST(title##_after_us) \
	{ \
		with_other(scenario, library, false, NULL, NULL); \
	}

WITH_OTHER(wrapper_of_puts_and_malloc, "launches", "other_puts.so")
WITH_OTHER(wrapper_of_the_launch, "launches", "other_launch.so")
WITH_OTHER(wrapper_of_dlsym, "dlsym_kept", "other_dlsym.so")

WITH_OTHER(wrapper_that_asks_libcuda, "launches", "other_handle.so")

/* It comes between the program and the driver where the function is looked up. */
TEST(wrapper_of_what_is_looked_up_after_us)
{
	struct run r = RUN("lookup", "ways");
	struct outcome *o;

	r.preload_after = built("other_getter.so");
	o = run_both(&r);
	assert_logs_are_the_truth(o);
	outcome_free(o);
}

TEST(signals_and_forks_while_options_are_read)
{
	with_other("launches", "other_getenv.so", true, NULL, NULL);
}

/* The wrapper below ours ends the thread: the stack is unwound through our frames. */
TEST(unwinding_through_our_wrapper)
{
	with_other("unwound", "other_launch.so", false, "OTHER_LEAVES_AT=4", NULL);
}

TEST(longjmp_across_our_wrapper)
{
	with_other("jumped", "other_launch.so", false, "OTHER_LEAVES_AT=4", "OTHER_JUMPS=1");
}

TESTS_MAIN()
