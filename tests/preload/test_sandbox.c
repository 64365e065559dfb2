/* SPDX-License-Identifier: Apache-2.0 */
/* A program that enters a sandbox lives on, whatever its filter does to calls it has no need of. */
#include "tests/preload/harness.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

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

#define LIVES_ON(title, ...)                                                                       \
	static void title(void **state)                                                            \
	{                                                                                          \
		(void)state;                                                                       \
		lives_on(__VA_ARGS__);                                                             \
	}

LIVES_ON(by_seccomp_without_privileges, "seccomp", "_exit", NULL)
LIVES_ON(by_seccomp_with_privileges, "privileged", "_exit", NULL)
LIVES_ON(by_prctl, "prctl", "_exit", NULL)
LIVES_ON(by_a_call_that_is_not_seen_after_no_new_privs, "unseen", "_exit", NULL)
LIVES_ON(to_an_end_by_return, "seccomp", "return", NULL)
/* A message is due there, and must not be said. */
LIVES_ON(without_a_log, "seccomp", "_exit", "GPUWATCH_OUT=/no/such/place/log.gwl")

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(by_seccomp_without_privileges),
	        cmocka_unit_test(by_seccomp_with_privileges),
	        cmocka_unit_test(by_prctl),
	        cmocka_unit_test(by_a_call_that_is_not_seen_after_no_new_privs),
	        cmocka_unit_test(to_an_end_by_return),
	        cmocka_unit_test(without_a_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
