/* SPDX-License-Identifier: Apache-2.0 */
/* What Parquet's run-length encoding holds is what it was given, read by the test's own decoder. */
#include "cli/parquet/encode.h"
#include "cli/parquet/parquet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

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

static uint64_t random_of(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 20;
}

static void runs_and_packed_values_come_back(void **state)
{
	uint32_t values[MOST];
	uint64_t random = 1;

	(void)state;
	for (unsigned round = 0; round < 500; round++) {
		unsigned width = 1 + (unsigned)(random_of(&random) % 20);
		size_t count = 1 + random_of(&random) % MOST, longest = 1 + random_of(&random) % 60;

		for (size_t i = 0; i < count;) {
			size_t run = 1 + random_of(&random) % longest;
			uint32_t value = (uint32_t)(random_of(&random) & ((1u << width) - 1));

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
static void a_table_without_rows_is_a_file(void **state)
{
	static const struct parquet_column columns[] = {{"a", PARQUET_COUNT}, {"b", PARQUET_TEXT}};
	struct pq_bytes file = {0};
	uint32_t footer;

	(void)state;
	parquet_end(parquet_begin(columns, 2, keep, &file), "test version 1");
	assert_memory_equal(file.data, "PAR1", 4);
	assert_memory_equal(file.data + file.length - 4, "PAR1", 4);
	memcpy(&footer, file.data + file.length - 8, 4);
	assert_int_equal(footer, file.length - 12);
	free(file.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(runs_and_packed_values_come_back),
	        cmocka_unit_test(a_table_without_rows_is_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
