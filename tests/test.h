/* A program of cmocka tests. TEST() defines a test and enters it in the program's list, whose tests
 * run in the order of the file; TESTS_MAIN() is its main(). */
#ifndef GW_TESTS_TEST_H
#define GW_TESTS_TEST_H

/* What nearly every test needs; programs do not include it again. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* cmocka gives every test and fixture a state, which few use. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static struct CMUnitTest tests_list[128];
static size_t tests_count;

__attribute__((unused)) static void tests_enter(const char *name, CMUnitTestFunction test,
						CMFixtureFunction setup, CMFixtureFunction teardown)
{
	if (tests_count == sizeof tests_list / sizeof *tests_list)
		abort();
	tests_list[tests_count++] = (struct CMUnitTest){
		.name = name, .test_func = test, .setup_func = setup, .teardown_func = teardown};
}

static inline void assert_close(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
		fail_msg("%.12g is not %.12g", value, expected);
}

static inline void assert_unknown(double value)
{
	if (!isnan(value))
		fail_msg("%g is known", value);
}

/* TEST(what_it_shows) { ... } */
#define TEST(name) TEST_WITH(name, NULL, NULL)

/* A test between two fixtures; NULL for none. Constructors run by priority, so the counter keeps
 * the order of the file. */
#define TEST_WITH(name, setup, teardown) \
	static void name(void **state); \
	__attribute__((constructor(1000 + __COUNTER__))) static void tests_enter_##name(void) \
	{ \
		tests_enter(#name, name, setup, teardown); \
	} \
	static void name(void **state)

/* Runs the program's tests between two fixtures of the whole; returns how many failed. */
__attribute__((unused)) static int tests_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
	return _cmocka_run_group_tests("tests", tests_list, tests_count, setup, teardown);
}

/* TESTS_MAIN(), or with the fixtures of the whole: TESTS_MAIN(setup, teardown) */
#define TESTS_MAIN(...) \
	int main(void) \
	{ \
		const CMFixtureFunction fixtures[2] = {__VA_ARGS__}; \
		return tests_run(fixtures[0], fixtures[1]); \
	}

/* Elements of an array. */
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* qemu-user ignores MADV_DONTFORK and makes up /proc/PID/stat. Set by tests/aarch64. */
#define NOT_UNDER_QEMU() (getenv("QEMU_LD_PREFIX") ? skip() : (void)0)

#endif
