/* A hash index, and the hashes it stands on. */
#include "predictor/core/hash.h"
#include "predictor/core/index.h"
#include "tests/test.h"

static int refuse_from = -1; /* the call from which memory is refused; -1: none */

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
	if (refuse_from > 0)
		refuse_from--;
	return refuse_from ? __real_calloc(count, size) : NULL;
}

TEST(an_empty_index_finds_nothing)
{
	struct gw_index index = {0};

	assert_int_equal(gw_index_find(&index, 0, NULL, NULL), GW_INDEX_NONE);
	gw_index_free(&index);
}

/* Keys as ids are: in a row, far apart, and alike in their low bits. */
static uint64_t key_of(uint32_t i)
{
	return i % 3 == 0 ? i : i % 3 == 1 ? (uint64_t)i << 40 : UINT64_MAX - i;
}

TEST(every_key_is_found_where_it_was_put)
{
	enum { COUNT = 10000 };
	struct gw_index index = {0};

	for (uint32_t i = 0; i < COUNT; i++)
		assert_true(gw_index_try_add(&index, key_of(i), i));
	assert_int_equal(index.used, COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(gw_index_find(&index, key_of(i), NULL, NULL), i);
	for (uint32_t i = COUNT; i < 2 * COUNT; i++)
		assert_int_equal(gw_index_find(&index, key_of(i), NULL, NULL), GW_INDEX_NONE);
	gw_index_free(&index);
}

static bool is(const void *arg, uint32_t position)
{
	return position == *(const uint32_t *)arg;
}

TEST(of_one_key_the_caller_says_which)
{
	struct gw_index index = {0};

	for (uint32_t i = 0; i < 100; i++)
		assert_true(gw_index_try_add(&index, 7, i));
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(gw_index_find(&index, 7, is, &i), i);
	assert_int_equal(gw_index_find(&index, 7, is, &(uint32_t){100}), GW_INDEX_NONE);
	gw_index_free(&index);
}

TEST(without_memory_the_index_stays_as_it_was)
{
	struct gw_index index = {0};
	uint32_t count = 0;

	for (int call = 1; call <= 2; call++) { /* the keys, then the slots */
		refuse_from = call;
		while (gw_index_try_add(&index, key_of(count), count))
			count++;
		assert_int_equal(index.used, count);
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(gw_index_find(&index, key_of(i), NULL, NULL), i);
		refuse_from = -1;
		assert_true(gw_index_try_add(&index, key_of(count), count));
		count++;
	}
	assert_in_range(count, 2, 1000);
	gw_index_free(&index);
}

/* Samples of a grid depend on it: the first outputs of splitmix64 from 0. */
TEST(the_finaliser_is_that_of_splitmix64)
{
	const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);

	assert_true(gw_hash_mix(step) == UINT64_C(0xe220a8397b1dcdaf));
	assert_true(gw_hash_mix(2 * step) == UINT64_C(0x6e789e6aa1b965f4));
	assert_true(gw_hash_mix(0) == 0);
}

TEST(a_hash_goes_on_from_what_comes_before)
{
	assert_true(gw_hash(0, "ab", 2) != gw_hash(0, "ba", 2));
	assert_true(gw_hash(gw_hash(0, "a", 1), "b", 1) != gw_hash(0, "b", 1));
	assert_true(gw_hash(0, "", 0) == gw_hash(0, NULL, 0));
}

TESTS_MAIN()
