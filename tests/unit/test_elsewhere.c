#include "preload/analysis/elsewhere.h"
#include "preload/runtime/driver.h"
#include "tests/test.h"

/* A driver with three allocations of 4 KiB each. */
static const CUdeviceptr OF_GPU = 0x7f1000000000, OF_HOST = 0x7f2000000000,
			 MANAGED = 0x7f3000000000;
static unsigned asked, asked_strictly;
static uint32_t most = 3; /* that are looked for */
static CUstreamCaptureMode mode;

static CUresult exchange(CUstreamCaptureMode *other)
{
	const CUstreamCaptureMode before = mode;

	mode = *other;
	*other = before;
	return CUDA_SUCCESS;
}

static CUresult attribute(void *data, CUpointer_attribute which, CUdeviceptr at)
{
	const CUdeviceptr begin = at & ~(CUdeviceptr)4095;

	asked++;
	asked_strictly += mode != CU_STREAM_CAPTURE_MODE_RELAXED;
	if (begin != OF_GPU && begin != OF_HOST && begin != MANAGED)
		return CUDA_ERROR_INVALID_VALUE;
	switch (which) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)data = begin == OF_HOST ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned *)data = begin == MANAGED;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)data = begin;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = 4096;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

static uint32_t found_in(const uint64_t *words, uint32_t count, struct gw_static_memory *found)
{
	struct gw_arguments arguments = {.size = count * 8};

	memcpy(arguments.bytes, words, (size_t)count * 8);
	return gw_elsewhere(&arguments, found, most);
}

static int use_driver(void **state)
{
	gw_driver.cuPointerGetAttribute = attribute;
	gw_driver.cuThreadExchangeStreamCaptureMode = exchange;
	mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
	asked = asked_strictly = 0;
	return 0;
}

TEST_WITH(each_allocation_is_found_once_with_where_it_lies, use_driver, NULL)
{
	const uint64_t words[] = {OF_HOST + 64, 1024, OF_GPU + 64, OF_HOST + 128, MANAGED};
	struct gw_static_memory found[3];

	assert_int_equal(found_in(words, 5, found), 3);
	assert_true(found[0].begin == OF_HOST && found[0].end == OF_HOST + 4096);
	assert_true(found[1].begin == OF_GPU && found[1].end == OF_GPU + 4096);
	assert_true(found[2].begin == MANAGED && found[2].end == MANAGED + 4096);
	assert_true(found[0].elsewhere && !found[1].elsewhere && found[2].elsewhere);
	assert_true(gw_elsewhere_any(found, 3) && !gw_elsewhere_any(&found[1], 1));
}

/* That of another thread, in the mode that all have unless they say otherwise. */
TEST_WITH(no_question_can_spoil_a_capture, use_driver, NULL)
{
	const uint64_t words[] = {OF_GPU, OF_HOST};
	struct gw_static_memory found[3];

	assert_int_equal(found_in(words, 2, found), 2);
	assert_int_equal(asked_strictly, 0);
	assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

TEST_WITH(what_is_no_address_is_not_asked_about, use_driver, NULL)
{
	const uint64_t words[] = {0, 7, UINT64_C(0x3ff0000000000000)};
	struct gw_static_memory found[3];

	assert_int_equal(found_in(words, 3, found), 0);
	assert_int_equal(asked, 0);
}

TEST_WITH(room_and_questions_are_bounded, use_driver, NULL)
{
	uint64_t hosts[] = {OF_HOST, MANAGED, OF_GPU}, others[100];
	struct gw_static_memory found[3] = {{0}};

	most = 2;
	assert_int_equal(found_in(hosts, 3, found), 2);
	most = 3;
	assert_true(!found[2].end);
	for (unsigned i = 0; i < 100; i++)
		others[i] = UINT64_C(0x100000000) * (i + 2);
	asked = 0;
	assert_int_equal(found_in(others, 100, found), 0);
	assert_int_equal(asked, 32);
}

TEST_WITH(a_driver_that_does_not_tell_and_no_arguments_give_none, use_driver, NULL)
{
	const uint64_t words[] = {OF_HOST};
	struct gw_static_memory found[2];

	assert_int_equal(gw_elsewhere(NULL, found, 2), 0);
	gw_driver.cuPointerGetAttribute = NULL;
	assert_int_equal(found_in(words, 1, found), 0);
}

TESTS_MAIN()
