/* SPDX-License-Identifier: Apache-2.0 */
/* Every way to find a function: ours is found where the driver's would be, and nothing else. */
#include "tests/preload/harness.h"

#include <stdio.h>
#include <string.h>

static void same_counts(const char *name)
{
	struct run r = RUN("lookup", name);
	struct outcome *o = run_both(&r);

	assert_int_equal(o->logs, 1);
	assert_logs_are_the_truth(o);
	outcome_free(o);
}

#define SAME_COUNTS(title, name)                                                                   \
	static void title(void **state)                                                            \
	{                                                                                          \
		(void)state;                                                                       \
		same_counts(name);                                                                 \
	}

SAME_COUNTS(every_way_is_seen_once, "ways")
SAME_COUNTS(global_library_by_default_next_and_program, "global")
SAME_COUNTS(local_library_stays_local, "local")
SAME_COUNTS(a_library_of_the_same_names_is_left_alone, "impostor")
SAME_COUNTS(library_that_launches_closed_and_reopened, "reopened")

static void not_found_as_without_us(void **state)
{
	struct run r = RUN("lookup", "errors");
	struct outcome *o = run_both(&r);

	(void)state;
	assert_int_equal(o->logs, 0);
	outcome_free(o);
}

/* Also where an option is a number that is none. */
static void looking_up_keeps_errno(void **state)
{
	struct run r = RUN("lookup", "errno");
	struct outcome *o;

	(void)state;
	r.env[0] = "GPUWATCH_LOG_MAX=99999999999999999999999999";
	o = run_both(&r);
	assert_non_null(strstr(o->out, "errno 77 78\n"));
	outcome_free(o);
}

/* A library opened so binds past every preload: its launches are missed, nothing else. */
static void deepbind_behaves_as_without_us(void **state)
{
	struct run r = RUN("lookup", "deepbind");
	struct outcome *o = run_both(&r);

	(void)state;
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

static void disabled_hooks_nothing(void **state)
{
	(void)state;
	nothing_is_hooked("GPUWATCH_DISABLE=1");
}

static void mode_off_hooks_nothing(void **state)
{
	(void)state;
	nothing_is_hooked("GPUWATCH_MODE=off");
}

static void enabled_hands_out_wrappers(void **state)
{
	struct run r = RUN("lookup", "whose");
	struct outcome *o = run_watched(&r);

	(void)state;
	assert_int_equal(o->status, 0);
	assert_non_null(strstr(o->out, "cuLaunchKernel by cuGetProcAddress: /libgpuwatch.so"));
	assert_non_null(strstr(o->out, "cuLaunchKernel by dlsym: /libgpuwatch.so"));
	outcome_free(o);
}

/* ---- other preloads --------------------------------------------------------------------- */

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

#define WITH_OTHER(title, scenario, library)                                                       \
	static void title##_before_us(void **state)                                                \
	{                                                                                          \
		(void)state;                                                                       \
		with_other(scenario, library, true, NULL, NULL);                                   \
	}                                                                                          \
	static void title##_after_us(void **state)                                                 \
	{                                                                                          \
		(void)state;                                                                       \
		with_other(scenario, library, false, NULL, NULL);                                  \
	}

WITH_OTHER(wrapper_of_puts_and_malloc, "launches", "other_puts.so")
WITH_OTHER(wrapper_of_the_launch, "launches", "other_launch.so")
WITH_OTHER(wrapper_of_dlsym, "dlsym_kept", "other_dlsym.so")

static void signals_and_forks_while_options_are_read(void **state)
{
	(void)state;
	with_other("launches", "other_getenv.so", true, NULL, NULL);
}

/* The wrapper below ours ends the thread: the stack is unwound through our frames. */
static void unwinding_through_our_wrapper(void **state)
{
	(void)state;
	with_other("unwound", "other_launch.so", false, "OTHER_LEAVES_AT=4", NULL);
}

static void longjmp_across_our_wrapper(void **state)
{
	(void)state;
	with_other("jumped", "other_launch.so", false, "OTHER_LEAVES_AT=4", "OTHER_JUMPS=1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_way_is_seen_once),
	        cmocka_unit_test(global_library_by_default_next_and_program),
	        cmocka_unit_test(local_library_stays_local),
	        cmocka_unit_test(a_library_of_the_same_names_is_left_alone),
	        cmocka_unit_test(library_that_launches_closed_and_reopened),
	        cmocka_unit_test(not_found_as_without_us),
	        cmocka_unit_test(looking_up_keeps_errno),
	        cmocka_unit_test(deepbind_behaves_as_without_us),
	        cmocka_unit_test(disabled_hooks_nothing),
	        cmocka_unit_test(mode_off_hooks_nothing),
	        cmocka_unit_test(enabled_hands_out_wrappers),
	        cmocka_unit_test(wrapper_of_puts_and_malloc_before_us),
	        cmocka_unit_test(wrapper_of_puts_and_malloc_after_us),
	        cmocka_unit_test(wrapper_of_the_launch_before_us),
	        cmocka_unit_test(wrapper_of_the_launch_after_us),
	        cmocka_unit_test(wrapper_of_dlsym_before_us),
	        cmocka_unit_test(wrapper_of_dlsym_after_us),
	        cmocka_unit_test(signals_and_forks_while_options_are_read),
	        cmocka_unit_test(unwinding_through_our_wrapper),
	        cmocka_unit_test(longjmp_across_our_wrapper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
