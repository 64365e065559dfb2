/* Values in exports: run-length encoding of Parquet, read by the test's own decoder, and numbers.
 */
#include "cli/export/export.h"
#include "cli/parquet/encode.h"
#include "cli/parquet/parquet.h"
#include "tests/random.h"
#include "tests/test.h"

enum { MOST = 1000 };

struct bits {
	const unsigned char *at;
	unsigned used; /* bits of *at */
};

static uint64_t take_bits(struct bits *b, unsigned width)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < width; i++) {
		value |= (uint64_t)(*b->at >> b->used & 1) << i;
		if (++b->used == 8) {
			b->at++;
			b->used = 0;
		}
	}
	return value;
}

static uint64_t take_varint(const unsigned char **at)
{
	uint64_t value = 0;
	unsigned shift = 0;

	do
		value |= (uint64_t)(**at & 0x7f) << shift;
	while (shift += 7, *(*at)++ & 0x80);
	return value;
}

static void assert_hybrid(const uint32_t *values, size_t count, unsigned width)
{
	struct pq_bytes out = {0};
	const unsigned char *at;
	size_t i = 0;

	pq_hybrid(&out, values, count, width);
	at = out.data;
	while (i < count) {
		uint64_t head = take_varint(&at);

		if (head & 1) {
			struct bits b = {.at = at};

			for (uint64_t k = 0; k < (head >> 1) * 8; k++, i++)
				assert_int_equal(take_bits(&b, width), i < count ? values[i] : 0);
			at = b.at;
		} else {
			uint32_t value = 0;

			memcpy(&value, at, (width + 7) / 8);
			at += (width + 7) / 8;
			for (uint64_t k = 0; k < head >> 1; k++)
				assert_int_equal(values[i++], value);
		}
	}
	assert_ptr_equal(at, out.data + out.length);
	free(out.data);
}

TEST(runs_and_packed_values_come_back)
{
	uint32_t values[MOST];
	uint64_t random = 1;

	for (unsigned round = 0; round < 500; round++) {
		unsigned width = 1 + (unsigned)((next_random(&random) >> 20) % 20);
		size_t count = 1 + (next_random(&random) >> 20) % MOST,
		       longest = 1 + (next_random(&random) >> 20) % 60;

		for (size_t i = 0; i < count;) {
			size_t run = 1 + (next_random(&random) >> 20) % longest;
			uint32_t value =
				(uint32_t)((next_random(&random) >> 20) & ((1u << width) - 1));

			while (run-- && i < count)
				values[i++] = value;
		}
		assert_hybrid(values, count, width);
	}
}

static void keep(void *arg, const void *data, size_t size)
{
	pq_put(arg, data, size);
}

/* Both ends of the file are marked, and the footer lies where the last eight bytes say. */
TEST(a_table_without_rows_is_a_file)
{
	static const struct parquet_column columns[] = {{"a", PARQUET_COUNT}, {"b", PARQUET_TEXT}};
	struct pq_bytes file = {0};
	uint32_t footer;

	parquet_end(parquet_begin(columns, 2, keep, &file), "test version 1");
	assert_memory_equal(file.data, "PAR1", 4);
	assert_memory_equal(file.data + file.length - 4, "PAR1", 4);
	memcpy(&footer, file.data + file.length - 8, 4);
	assert_int_equal(footer, file.length - 12);
	free(file.data);
}

/* Numbers in exports are printf's, which is too slow for them. */
static struct export_out out;

static void assert_real(double number)
{
	char want[40];
	int length = snprintf(want, sizeof(want), "%.9g", number);
	struct export_mark from;
	struct export_text have = {0};

	export_write(&out, "", 0);
	from = export_mark(&out);
	export_real(&out, number);
	export_keep(&out, from, &have);
	if (have.data && ((int)have.length != length || memcmp(have.data, want, have.length)))
		fail_msg("%.*s instead of %s", (int)have.length, have.data, want);
	free(have.data);
}

static int setup(void **state)
{
	return export_open(&out, "/dev/null") ? 0 : -1;
}

static int teardown(void **state)
{
	return export_close(&out, true) ? 0 : -1;
}

TEST_WITH(floats_are_as_printf_has_them, setup, teardown)
{
	static const float edges[] = {
		0,        1,         0.5F,      9.9999999F, 10,   99999.99F, 16777216,    16777218,
		99999992, 100000000, 999999936, 1e9F,       1.5F, 2.5F,      1.00000012F, INFINITY};
	uint64_t random = 1;

	for (size_t i = 0; i < COUNT(edges); i++)
		assert_real((double)edges[i]);
	for (unsigned i = 0; i < 300000; i++) {
		uint32_t bits;
		float number;

		next_random(&random);
		/* Exponents of 2^-3 to 2^32. */
		bits = (uint32_t)(124 + (random >> 40) % 36) << 23 |
		       (uint32_t)(random >> 20 & 0x7fffff);
		memcpy(&number, &bits, sizeof(number));
		assert_real((double)number);
	}
}

TEST_WITH(other_doubles_are_as_printf_has_them, setup, teardown)
{
	static const double numbers[] = {1.1, 123456.789, 1.0000000005, 99999999.95, -3, 1e300};

	for (size_t i = 0; i < COUNT(numbers); i++)
		assert_real(numbers[i]);
}

static uint32_t enter(struct export_ranges *r, uint32_t depth, const char *name)
{
	const uint32_t kept = export_ranges_kept(r, depth, name);

	r->depth = depth;
	return kept;
}

TEST(a_range_goes_on_after_the_one_within_it)
{
	struct export_ranges r = {0};

	assert_int_equal(enter(&r, 1, "step"), 0);
	assert_int_equal(enter(&r, 2, "inner"), 1);
	assert_int_equal(enter(&r, 1, "step"), 1);
	assert_int_equal(enter(&r, 0, NULL), 0);
	/* Changes between were lost: another range, a range again. */
	assert_int_equal(enter(&r, 3, "deep"), 0);
	assert_int_equal(enter(&r, 2, "other"), 1);
	assert_int_equal(enter(&r, 2, "other"), 1);
	assert_int_equal(enter(&r, 100, "deepest"), 2);
	assert_int_equal(enter(&r, 99, "deepest"), 98);
}

TESTS_MAIN()
