/* SPDX-License-Identifier: Apache-2.0 */
/* How many stream captures are under way: never too few, or captured launches count as run. */
#include "preload/hook/handlers.h"
#include "tests/unit/preload_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct gw_call call;

static int start(void **state)
{
	(void)state;
	fixture_start();
	return 0;
}

static void begin(CUresult result)
{
	capture_coming(&call, 0);
	capture_begun(&call, result, 0);
}

static int under_way(void)
{
	return atomic_load(&gw_hot.captures);
}

static void a_capture_counts_from_its_begin_to_its_end(void **state)
{
	(void)state;
	begin(CUDA_SUCCESS);
	begin(CUDA_SUCCESS);
	assert_int_equal(under_way(), 2);
	capture_ended(&call, CUDA_SUCCESS, NULL, NULL);
	assert_int_equal(under_way(), 1);
	capture_ended(&call, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, NULL, NULL);
	assert_int_equal(under_way(), 0);
}

static void a_capture_that_could_not_begin_does_not_count(void **state)
{
	(void)state;
	begin(CUDA_ERROR_ILLEGAL_STATE);
	assert_int_equal(under_way(), 0);
}

static void a_refused_end_leaves_the_capture_under_way(void **state)
{
	static const CUresult refusals[] = {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
	                                    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
	                                    CUDA_ERROR_ILLEGAL_STATE,
	                                    CUDA_ERROR_INVALID_VALUE,
	                                    CUDA_ERROR_INVALID_HANDLE,
	                                    CUDA_ERROR_INVALID_CONTEXT,
	                                    CUDA_ERROR_OUT_OF_MEMORY};

	(void)state;
	begin(CUDA_SUCCESS);
	for (size_t i = 0; i < COUNT(refusals); i++) {
		capture_ended(&call, refusals[i], NULL, NULL);
		assert_int_equal(under_way(), 1);
	}
}

static void an_end_too_many_does_not_hide_a_later_capture(void **state)
{
	(void)state;
	capture_ended(&call, CUDA_SUCCESS, NULL, NULL);
	begin(CUDA_SUCCESS);
	assert_int_equal(under_way(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, start)
	        T(a_capture_counts_from_its_begin_to_its_end),
	        T(a_capture_that_could_not_begin_does_not_count),
	        T(a_refused_end_leaves_the_capture_under_way),
	        T(an_end_too_many_does_not_hide_a_later_capture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
