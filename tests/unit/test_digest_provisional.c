/* The hash of a launch's arguments until the kernel's code is read. */
#include "predictor/code/digest_provisional.h"
#include "tests/test.h"

static struct gw_digest_plan made;

static uint32_t provisional_of(const void *const *params)
{
	return gw_digest_provisional_params(&made, params);
}

TEST(a_pointer_adds_nothing_to_a_provisional_hash)
{
	static const struct gw_code_param param[] = {{0, 8}, {8, 4}};
	const uint64_t here = 0x7f1200000000, there = 0x302000000, n = 4096,
		       half = 0x3fe0000000000000;
	const uint32_t count = 7;
	const void *a[] = {&here, &count}, *b[] = {&there, &count}, *c[] = {&n, &count},
		   *d[] = {&half, &count};

	gw_digest_provisional_make(param, 2, &made);
	assert_int_equal(provisional_of(a), provisional_of(b));
	assert_int_not_equal(provisional_of(a), provisional_of(c));
	assert_int_not_equal(provisional_of(a), provisional_of(d));
	assert_int_not_equal(provisional_of(c), provisional_of(d));
}

/* Two numbers side by side, of which the upper one makes 8 bytes large. */
TEST(numbers_in_a_structure_are_hashed_and_pointers_are_not)
{
	static const struct gw_code_param param[] = {{0, 24}};
	struct {
		uint32_t m, n;
		uint64_t data;
		uint32_t k, l;
	} s = {640, 480, 0x7f1200000000, 3, 0};
	const void *params[] = {&s};
	uint32_t first;

	gw_digest_provisional_make(param, 1, &made);
	first = provisional_of(params);
	s.data += 1 << 20;
	assert_int_equal(provisional_of(params), first);
	s.n++;
	assert_int_not_equal(provisional_of(params), first);
	s.n--;
	s.k++;
	assert_int_not_equal(provisional_of(params), first);
}

TEST(numbers_come_before_structures_and_no_more_than_fit)
{
	static const struct gw_code_param param[] = {{0, 4000}, {4000, 4}, {4004, 3}};

	gw_digest_provisional_make(param, 3, &made);
	assert_int_equal(made.count, GW_DIGEST_PROVISIONAL);
	assert_int_equal(made.word[0].param, 1);
	assert_int_equal(made.word[1].size, 2); /* of the three bytes */
	assert_int_equal(made.word[2].size, 1);
	assert_int_equal(made.word[3].param, 0);
	assert_int_equal(made.end, 4007);
}

TEST(a_provisional_hash_is_the_same_from_a_buffer)
{
	static const struct gw_code_param param[] = {{0, 8}, {8, 4}};
	const uint64_t bytes[] = {0x7f1200000000, 7};
	const void *params[] = {&bytes[0], &bytes[1]};
	uint32_t digest;

	gw_digest_provisional_make(param, 2, &made);
	digest = gw_digest_provisional_buffer(&made, (const void *)bytes, 12);
	assert_int_equal(digest, provisional_of(params));
	assert_true(digest & GW_DIGEST_IS_PROVISIONAL);
	assert_int_equal(gw_digest_provisional_buffer(&made, (const void *)bytes, 11), 0);
}

TESTS_MAIN()
