/* The reader takes what is whole and says what is missing. */
#include "tests/cli/samples.h"

#include "cli/log/reader.h"
#include "tests/test.h"

struct seen {
	uint64_t records, launches,
		order; /* order: a digest of the launches' start times in order */
	uint32_t gaps;
};

static bool count(void *arg, const struct gw_log_record *r)
{
	struct seen *s = arg;

	s->records++;
	s->gaps = r->gaps;
	assert_true(((uintptr_t)r->head & 7) == 0);
	if (r->head->kind == GW_RECORD_LAUNCH) {
		const struct gw_record_launch *l = (const void *)r->head;

		s->launches++;
		s->order = s->order * 31 + l->start_ns;
	}
	return true;
}

static bool read_it(const struct lb *b, size_t length, struct seen *seen,
		    struct gw_log_status *status)
{
	*seen = (struct seen){0};
	return gw_log_read_memory(b->data, length, count, seen, status);
}

/* Start of each block of @p b, and the end, into @p starts; how many blocks. */
static unsigned blocks(const struct lb *b, size_t *starts)
{
	unsigned n = 0;

	for (size_t at = 0; at < b->length; n++) {
		uint32_t length;

		starts[n] = at;
		memcpy(&length, b->data + at + 4, 4);
		at += 16 + length;
	}
	starts[n] = b->length;
	return n;
}

static bool complains(const struct gw_log_status *status, const char *text)
{
	char line[300];

	for (unsigned i = 0; gw_log_complaint(status, i, line, sizeof(line)); i++)
		if (strstr(line, text))
			return true;
	return false;
}

TEST(whole_log_is_read_without_complaint)
{
	struct gw_log_status status;
	struct lb b = {0};
	struct seen seen;
	char line[100];

	sample_plain(&b, 1, 0);
	assert_true(read_it(&b, b.length, &seen, &status));
	assert_int_equal(seen.launches, 60);
	assert_int_equal(seen.records, b.records);
	assert_true(gw_log_whole(&status));
	assert_false(gw_log_complaint(&status, 0, line, sizeof(line)));
	lb_free(&b);
}

TEST(truncated_anywhere_keeps_the_whole_blocks)
{
	struct gw_log_status status;
	struct lb b = {0};
	struct seen seen;
	size_t starts[16];
	unsigned n, whole = 0;

	sample_plain(&b, 1, 0);
	n = blocks(&b, starts);
	for (size_t length = 0; length < b.length; length++) {
		bool good = read_it(&b, length, &seen, &status);

		while (starts[whole + 1] <= length)
			whole++;
		assert_int_equal(good, whole > 0);
		assert_int_equal(status.blocks, whole);
		if (!good)
			continue;
		assert_false(gw_log_whole(&status));
		assert_int_equal(status.damaged_bytes, length - starts[whole]);
		assert_true(complains(&status, "killed or is still running"));
		/* How much of the cut block is there is known once its header is. */
		if (length - starts[whole] >= 16) {
			assert_int_equal(status.cut_offset, starts[whole]);
			assert_int_equal(status.cut_bytes, length - starts[whole]);
			assert_int_equal(status.cut_wanted, starts[whole + 1] - starts[whole]);
		}
	}
	assert_int_equal(whole, n - 1);
	lb_free(&b);
}

TEST(flipped_bit_loses_at_most_its_block)
{
	struct gw_log_status status;
	struct lb b = {0};
	struct seen seen;
	size_t starts[16], block = 0;

	sample_plain(&b, 1, 0);
	blocks(&b, starts);
	for (size_t at = 0; at < b.length; at++) {
		if (at >= starts[block + 1])
			block++;
		b.data[at] ^= (unsigned char)(1u << (at % 8));
		assert_true(read_it(&b, b.length, &seen, &status));
		assert_false(gw_log_whole(&status));
		assert_true(status.notes || status.cut_wanted);
		if (at - starts[block] >= 8 && at - starts[block] < 12)
			assert_int_equal(status.blocks, 5); /* its number alone is wrong */
		else
			assert_int_equal(status.blocks, 4);
		b.data[at] ^= (unsigned char)(1u << (at % 8));
	}
	lb_free(&b);
}

TEST(damage_is_reported_by_offset_and_size)
{
	struct gw_log_status status;
	struct lb b = {0};
	struct seen seen;
	size_t starts[16];

	sample_plain(&b, 1, 0);
	blocks(&b, starts);
	b.data[starts[1] + 100] ^= 1;
	assert_true(read_it(&b, b.length, &seen, &status));
	assert_int_equal(status.note[0].offset, starts[1]);
	assert_int_equal(status.note[0].bytes, starts[2] - starts[1]);
	assert_string_equal(status.note[0].why, "the checksum does not match");
	assert_int_equal(status.missing_blocks, 1);
	assert_int_equal(seen.launches, 45);
	assert_true(seen.gaps > 0);
	assert_true(complains(&status, "15 of 70 records missing"));
	lb_free(&b);
}

TEST(missing_block_is_noticed_by_its_number)
{
	struct gw_log_status status;
	struct lb b = {0};
	struct seen seen;
	size_t starts[16];

	sample_plain(&b, 1, 0);
	blocks(&b, starts);
	memmove(b.data + starts[1], b.data + starts[3], b.length - starts[3]);
	b.length -= starts[3] - starts[1];
	assert_true(read_it(&b, b.length, &seen, &status));
	assert_int_equal(status.missing_blocks, 2);
	assert_int_equal(status.damaged_bytes, 0);
	assert_true(complains(&status, "2 blocks missing before offset"));
	lb_free(&b);
}

TEST(garbage_before_between_and_after_is_stepped_over)
{
	struct gw_log_status status;
	struct lb b = {0}, dirty = {0};
	struct seen seen, clean;
	size_t starts[16];
	unsigned n;

	sample_plain(&b, 1, 0);
	assert_true(read_it(&b, b.length, &clean, &status));
	n = blocks(&b, starts);
	dirty.data = malloc(b.length + n * 13);
	for (unsigned i = 0; i < n; i++) {
		memcpy(dirty.data + dirty.length, "GWB1 GWB GWB1", 13);
		memcpy(dirty.data + dirty.length + 13, b.data + starts[i],
		       starts[i + 1] - starts[i]);
		dirty.length += 13 + starts[i + 1] - starts[i];
	}
	assert_true(read_it(&dirty, dirty.length, &seen, &status));
	assert_int_equal(seen.order, clean.order);
	assert_int_equal(status.damaged_bytes, 13 * n);
	lb_free(&dirty);
	lb_free(&b);
}

TEST(missing_end_record_is_reported)
{
	struct gw_log_status status;
	struct lb b = {0};
	struct seen seen;

	lb_header(&b, 1, 0, "x");
	lb_block(&b);
	assert_true(read_it(&b, b.length, &seen, &status));
	assert_false(status.ended);
	assert_true(
		complains(&status, "no END record: the process was killed or is still running"));
	lb_free(&b);
}

TEST(newer_version_is_refused_with_a_remedy)
{
	struct gw_record_header r = {.version = GW_LOG_VERSION + 1};
	struct gw_log_status status;
	struct lb b = {0};
	struct seen seen;

	lb_record(&b, GW_RECORD_HEADER, &r, sizeof(r), "host=x", 7);
	lb_end(&b);
	assert_false(read_it(&b, b.length, &seen, &status));
	assert_non_null(strstr(status.error, "version 5"));
	assert_non_null(strstr(status.error, "newer one"));
	assert_int_equal(seen.records, 0);
	lb_free(&b);
}

TEST(unknown_kinds_are_skipped_and_counted)
{
	struct gw_record_end r = {0};
	struct gw_log_status status;
	struct lb b = {0};
	struct seen seen;

	lb_header(&b, 1, 0, "x");
	lb_record(&b, 250, &r, sizeof(r), NULL, 0);
	lb_record(&b, 60000, &r, sizeof(r), NULL, 0);
	lb_record(&b, 0, &r, sizeof(r), NULL, 0);
	lb_end(&b);
	assert_true(read_it(&b, b.length, &seen, &status));
	assert_int_equal(status.unknown, 3);
	assert_int_equal(seen.records, 2);
	assert_true(gw_log_whole(&status));
	lb_free(&b);
}

/* A record that breaks the format must not reach the callback. */
static void expect_invalid(struct lb *b, const char *why)
{
	struct gw_log_status status;
	struct seen seen;

	lb_end(b);
	assert_true(read_it(b, b->length, &seen, &status));
	assert_int_equal(status.invalid, 1);
	assert_true(complains(&status, why));
	lb_free(b);
}

TEST(invalid_records_are_skipped_and_reported)
{
	struct gw_record_kernel kernel = {.id = 1};
	struct gw_record_counters counters = {.count = 1000000};
	struct gw_record_launch launch = {0};
	struct gw_record_work work = {.config = 1, .count = 2};
	struct lb b = {0};

	lb_header(&b, 1, 0, "x");
	lb_record(&b, GW_RECORD_KERNEL, &kernel, sizeof(kernel), "12345678", 8);
	expect_invalid(&b, "text does not end");
	lb_header(&b, 1, 0, "x");
	lb_record(&b, GW_RECORD_KERNEL, &kernel, sizeof(kernel), NULL, 0);
	expect_invalid(&b, "text does not end");
	lb_header(&b, 1, 0, "x");
	lb_record(&b, GW_RECORD_COUNTERS, &counters, sizeof(counters), "12345678", 8);
	expect_invalid(&b, "shorter than its counters");
	lb_header(&b, 1, 0, "x");
	lb_record(&b, GW_RECORD_WORK, &work, sizeof(work), "1234567812345678", 16);
	expect_invalid(&b, "shorter than its parts");
	lb_header(&b, 1, 0, "x");
	lb_record(&b, GW_RECORD_LAUNCH, &launch, 16, NULL, 0);
	expect_invalid(&b, "shorter than its kind");
	lb_header(&b, 1, 0, "x");
	lb_kernel(&b, 7, "a");
	lb_kernel(&b, 7, "b");
	expect_invalid(&b, "given before");
	lb_header(&b, 1, 0, "x");
	lb_header(&b, 2, 0, "y");
	expect_invalid(&b, "second header");
}

/* From before it named its device, and shorter than it ever was. */
static bool see_config(void *arg, const struct gw_log_record *r)
{
	const struct gw_record_config *c = (const void *)r->head;
	uint32_t *seen = arg;

	if (r->head->kind != GW_RECORD_CONFIG)
		return true;
	assert_true(((uintptr_t)r->head & 7) == 0);
	assert_int_equal(r->tail_length, 0);
	assert_int_equal(c->grid_x, 10 * c->id);
	seen[c->id] = 100 + c->device;
	return true;
}

TEST(an_older_configuration_is_of_no_known_device)
{
	struct gw_log_status status;
	uint32_t seen[4] = {0};
	struct lb b = {0};

	lb_header(&b, 1, 0, "x");
	lb_config_on(&b, 1, 1, 10, 7, true);
	lb_config_on(&b, 2, 1, 20, 7, false);
	lb_record(&b, GW_RECORD_CONFIG, &(struct gw_record_config){.id = 3}, 48, NULL, 0);
	lb_end(&b);
	lb_block(&b);
	assert_true(gw_log_read_memory(b.data, b.length, see_config, seen, &status));
	assert_int_equal(seen[1], 100);
	assert_int_equal(seen[2], 107);
	assert_int_equal(seen[3], 0);
	assert_int_equal(status.invalid, 1);
	lb_free(&b);
}

TEST(impossible_record_length_loses_the_rest_of_its_block)
{
	static const uint16_t lengths[] = {0, 4, 7, 12, 65528, 32776};
	struct gw_log_status status;
	struct seen seen;

	for (size_t i = 0; i < COUNT(lengths); i++) {
		struct lb b = {0};

		lb_header(&b, 1, 0, "x");
		lb_block(&b);
		lb_kernel(&b, 1, "a");
		memcpy(b.block + 2, &lengths[i], 2);
		lb_kernel(&b, 2, "b");
		lb_block(&b);
		lb_kernel(&b, 3, "c");
		lb_end(&b);
		assert_true(read_it(&b, b.length, &seen, &status));
		assert_int_equal(seen.records, 3);
		assert_int_equal(status.invalid, 1);
		assert_true(complains(&status, "length is impossible"));
		lb_free(&b);
	}
}

TEST(false_blocks_do_not_cost_their_square)
{
	/* 8 MiB of headers that each promise a mebibyte: minutes if each were believed. */
	enum { SIZE = 8 << 20 };
	const uint32_t header[4] = {GW_BLOCK_MAGIC, GW_BLOCK_MAX, 0, 1};
	struct lb b = {.data = malloc(SIZE), .length = SIZE};
	struct gw_log_status status;
	struct seen seen;

	for (size_t i = 0; i < SIZE; i += sizeof(header))
		memcpy(b.data + i, header, sizeof(header));
	assert_false(read_it(&b, b.length, &seen, &status));
	assert_int_equal(status.damaged_bytes, SIZE);
	assert_non_null(strstr(status.error, "not a gpuwatch log"));
	lb_free(&b);
}

TEST(other_files_are_refused)
{
	struct gw_log_status status;
	struct seen seen = {0};

	assert_false(gw_log_read_memory("hello, world, this is text", 26, count, &seen, &status));
	assert_non_null(strstr(status.error, "not a gpuwatch log"));
	assert_false(gw_log_read_memory("", 0, count, &seen, &status));
	assert_non_null(strstr(status.error, "empty"));
	assert_false(gw_log_read("/nonexistent/x.gwl", count, &seen, &status));
	assert_non_null(strstr(status.error, "No such file"));
	assert_false(gw_log_read("/dev", count, &seen, &status));
	assert_non_null(strstr(status.error, "is a folder; name the logs in it"));
}

static bool stop_at_launch(void *arg, const struct gw_log_record *r)
{
	(*(int *)arg)++;
	return r->head->kind != GW_RECORD_LAUNCH;
}

TEST(callback_can_stop_the_reading)
{
	struct gw_log_status status;
	struct lb b = {0};
	int records = 0;

	sample_plain(&b, 1, 0);
	assert_true(gw_log_read_memory(b.data, b.length, stop_at_launch, &records, &status));
	assert_true(status.stopped);
	assert_int_equal(records, 9);
	lb_free(&b);
}

static bool check_texts(void *arg, const struct gw_log_record *r)
{
	(void)arg;
	if (r->head->kind == GW_RECORD_HEADER) {
		assert_string_equal(gw_log_value(r, "host"), "node1");
		assert_string_equal(gw_log_value(r, "command"), "./vector_add 1000000");
		assert_string_equal(gw_log_value(r, "rank"), "");
		assert_string_equal(gw_log_value(r, "hos"), "");
	}
	if (r->head->kind == GW_RECORD_DEVICE) {
		assert_string_equal(gw_log_text(r, 0), "NVIDIA H200");
		assert_string_equal(gw_log_text(r, 1), "aabbccdd00112233");
		assert_string_equal(gw_log_text(r, 99), "");
	}
	return true;
}

TEST(texts_of_a_record_are_found)
{
	struct gw_log_status status;
	struct lb b = {0};

	sample_plain(&b, 1, 0);
	assert_true(gw_log_read_memory(b.data, b.length, check_texts, NULL, &status));
	lb_free(&b);
}

TEST(blocks_up_to_the_largest_are_read)
{
	struct gw_log_status status;
	struct lb b = {0};
	struct seen seen;

	lb_header(&b, 1, 0, "x");
	lb_block(&b);
	for (int i = 0; i < 3; i++) {
		while (b.block_length + sizeof(struct gw_record_launch) <= GW_BLOCK_MAX)
			lb_add_launch(&b, lb_launch(1, 5, 5, 5, 0));
		lb_block(&b);
	}
	lb_end(&b);
	assert_true(read_it(&b, b.length, &seen, &status));
	assert_true(gw_log_whole(&status));
	assert_int_equal(seen.records, b.records);
	lb_free(&b);
}

TESTS_MAIN()
