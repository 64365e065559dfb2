/* Blocks of a log, their checksums, and the histograms in its records. */
#include "cli/log/reader.h"
#include "predictor/log/block.h"
#include "predictor/log/histogram.h"
#include "predictor/log/record.h"
#include "tests/test.h"

/* Blocks of a log: what is packed comes back to the byte, and damage stays within its block. */

enum { RAW_MOST = 256 << 10, FILE_MOST = 64 << 10, BLOCK_RAW = 32 << 10, BLOCKS_MOST = 64 };

static unsigned char raw[RAW_MOST], back[RAW_MOST], packed[RAW_MOST + 64];
static uint32_t length;
static struct gw_block_model *model;
static unsigned blocks_compared;

static void compare(void)
{
	size_t size = gw_block_pack(model, raw, length, packed, sizeof(packed));

	assert_true(size > 0);
	assert_true(gw_block_unpack(model, packed, size, back, length));
	assert_memory_equal(raw, back, length);
	assert_int_equal(gw_block_pack(model, raw, length, packed, size - 1), 0);
	blocks_compared++;
	length = 0;
}

static bool gather(void *arg, const struct gw_log_record *record)
{
	(void)arg;
	if (length + record->head->length > sizeof(raw))
		compare();
	memcpy(raw + length, record->head, record->head->length);
	length += record->head->length;
	return true;
}

TEST(recorded_logs_come_back_to_the_byte)
{
	static const char *const names[] = {"development.gwl", "graphs.gwl", "train.gwl",
					    "workloads.gwl"};

	for (size_t i = 0; i < COUNT(names); i++) {
		struct gw_log_status status;
		char path[300];

		snprintf(path, sizeof(path), GW_LOGS "/%s", names[i]);
		if (!gw_log_read(path, gather, NULL, &status))
			fail_msg("%s: %s", path, status.error);
		compare();
	}
	assert_true(blocks_compared > 10);
}

/* What a version before packed is read: the header's block is still packed so. */
TEST(records_are_packed_by_row_and_by_text_but_with_the_header_as_ever)
{
	static const char text[] = "one text, and one text, and one text, and one text";
	struct gw_record_kernel k = {.head = {GW_RECORD_KERNEL, sizeof(k) + 56}};
	size_t size[2];

	for (unsigned with = 0; with < 2; with++) {
		struct gw_record_header h = {.head = {GW_RECORD_HEADER, sizeof(h)}};
		const unsigned char *bits = packed + 1; /* behind the coder's first byte */

		if (with) {
			memcpy(raw, &h, sizeof(h));
			length = sizeof(h);
		}
		memset(raw + length, 0, k.head.length);
		memcpy(raw + length, &k, sizeof(k));
		memcpy(raw + length + sizeof(k), text, sizeof(text));
		length += k.head.length;
		size[with] = gw_block_pack(model, raw, length, packed, sizeof(packed));
		assert_int_equal(bits[0] << 8 | bits[1], with);
		compare();
	}
	assert_true(size[0] + 10 < size[1]);
}

static uint64_t noise(void)
{
	static uint64_t x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	return x ^= x << 17;
}

/* Any bytes in the fields, in any order of records. */
TEST(so_do_records_of_noise)
{
	for (unsigned round = 0; round < 50; round++) {
		uint64_t mask = round % 3 ? noise() & noise() & noise() : ~UINT64_C(0);

		length = 0;
		while (length < 20000) {
			struct gw_record head = {(uint16_t)(noise() % 40),
						 (uint16_t)(8 + 8 * (noise() % 30))};

			if (noise() % 2)
				head = (struct gw_record){GW_RECORD_LAUNCH,
							  sizeof(struct gw_record_launch)};
			for (uint32_t i = 0; i < head.length; i += 8) {
				uint64_t word = noise() & mask;

				memcpy(raw + length + i, &word, 8);
			}
			memcpy(raw + length, &head, sizeof(head));
			length += head.length;
		}
		compare();
	}
}

TEST(nonsense_is_refused_within_bounds)
{
	for (unsigned round = 0; round < 2000; round++) {
		size_t size = noise() % 400;

		for (size_t i = 0; i < size; i++)
			packed[i] = (unsigned char)noise();
		memset(back, 0xaa, sizeof(back));
		gw_block_unpack(model, packed, size, back, 4096);
		assert_int_equal(back[4096], 0xaa);
	}
}

/* ---- a damaged file ---- */

static unsigned char file[FILE_MOST + RAW_MOST];
static struct {
	size_t begin, end;
	unsigned launches;
} block[BLOCKS_MOST];
static unsigned block_count;
static size_t file_length;

static void close_block(unsigned launches)
{
	struct gw_packed_block head = {.magic = GW_PACKED_MAGIC,
				       .sequence = block_count,
				       .raw = length,
				       .flags = GW_BLOCK_PACKED};

	head.length = (uint32_t)gw_block_pack(model, raw, length, packed, sizeof(packed));
	head.crc = gw_block_checksum(&head, packed);
	block[block_count].begin = file_length;
	memcpy(file + file_length, &head, sizeof(head));
	memcpy(file + file_length + sizeof(head), packed, head.length);
	file_length += sizeof(head) + head.length;
	block[block_count].end = file_length;
	block[block_count++].launches = launches;
	length = 0;
}

static void build_file(void)
{
	unsigned launches = 0;

	file_length = block_count = length = 0;
	while (file_length < FILE_MOST) {
		struct gw_record_launch l = {.head = {GW_RECORD_LAUNCH, sizeof(l)},
					     .config = (uint32_t)(noise() % 20),
					     .call_ns = noise() >> 20,
					     .start_ns = noise() >> 20,
					     .duration_ns = noise() % 100000};

		memcpy(raw + length, &l, sizeof(l));
		length += sizeof(l);
		launches++;
		if (length >= BLOCK_RAW) {
			close_block(launches);
			launches = 0;
		}
	}
}

static bool count(void *arg, const struct gw_log_record *record)
{
	*(unsigned *)arg += record->head->kind == GW_RECORD_LAUNCH;
	return true;
}

static unsigned launches_in(size_t size)
{
	struct gw_log_status status;
	unsigned n = 0;

	gw_log_read_memory(file, size, count, &n, &status);
	return n;
}

/* Launches of all blocks but those that the bytes from @p from to before @p to are in. */
static unsigned whole_without(size_t from, size_t to)
{
	unsigned n = 0;

	for (unsigned i = 0; i < block_count; i++)
		if (block[i].end <= from || block[i].begin >= to)
			n += block[i].launches;
	return n;
}

TEST(every_truncation_leaves_whole_blocks)
{
	build_file();
	assert_true(block_count >= 4);
	for (size_t size = 0; size < file_length; size += size % 16384 < 40 ? 1 : 251)
		assert_int_equal(launches_in(size), whole_without(size, SIZE_MAX));
	for (unsigned i = 0; i < block_count; i++)
		for (size_t size = block[i].begin; size < block[i].begin + 64; size++)
			assert_int_equal(launches_in(size), whole_without(size, SIZE_MAX));
}

TEST(a_flipped_bit_costs_its_block_alone)
{
	build_file();
	for (size_t bit = 0; bit < 8 * file_length; bit += bit % 65521 < 40 ? 1 : 4001) {
		file[bit / 8] ^= (unsigned char)(1u << bit % 8);
		assert_int_equal(launches_in(file_length), whole_without(bit / 8, bit / 8 + 1));
		file[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	for (unsigned i = 0; i < block_count; i++) /* every bit of each header */
		for (size_t bit = 8 * block[i].begin;
		     bit < 8 * (block[i].begin + sizeof(struct gw_packed_block)); bit++) {
			file[bit / 8] ^= (unsigned char)(1u << bit % 8);
			assert_int_equal(launches_in(file_length),
					 whole_without(bit / 8, bit / 8 + 1));
			file[bit / 8] ^= (unsigned char)(1u << bit % 8);
		}
}

/* The check value of CRC-32C in the catalogues (iSCSI, RFC 3720: 32 zero bytes). */
TEST(the_published_check_values_come_out)
{
	static const unsigned char zeros[32];

	assert_int_equal(gw_crc32(0, "123456789", 9), 0xe3069283);
	assert_int_equal(gw_crc32_by_table(0, "123456789", 9), 0xe3069283);
	assert_int_equal(gw_crc32(0, zeros, sizeof(zeros)), 0x8a9136aa);
}

TEST(both_ways_agree_at_every_length)
{
	unsigned char data[257];

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 131 + 7);
	for (size_t n = 0; n <= sizeof(data); n++)
		assert_int_equal(gw_crc32(0, data, n), gw_crc32_by_table(0, data, n));
}

TEST(parts_continue_each_other)
{
	assert_int_equal(gw_crc32(gw_crc32(0, "12345", 5), "6789", 4), 0xe3069283);
}

/* Histograms as an AGGREGATE has them. */

static unsigned char bytes[GW_HISTOGRAM_MOST];

TEST(what_is_read_is_what_was_written)
{
	struct gw_sketch in = {0}, out;
	size_t size;

	for (int i = 1; i < 5000; i++)
		gw_sketch_add(&in, i * 1.7, (uint64_t)(i * i));
	size = gw_histogram_pack(&in, bytes);
	assert_int_equal(gw_histogram_unpack(bytes, size, &out), size);
	assert_int_equal(out.count, in.count);
	assert_int_equal(out.schema, in.schema);
	for (int32_t i = 0; i < GW_SKETCH_BUCKETS; i++)
		if (in.bucket[i]) {
			assert_in_range(in.first + i - out.first, 0, GW_SKETCH_BUCKETS - 1);
			assert_int_equal(out.bucket[in.first + i - out.first], in.bucket[i]);
		}
}

TEST(an_empty_one_takes_four_bytes)
{
	const struct gw_sketch none = {0};
	struct gw_sketch out;

	assert_int_equal(gw_histogram_pack(&none, bytes), 4);
	assert_int_equal(gw_histogram_unpack(bytes, 4, &out), 4);
	assert_int_equal(out.count, 0);
}

TEST(one_that_is_cut_off_is_none)
{
	struct gw_sketch in = {0}, out;
	size_t size;

	for (int i = 1; i < 100; i++)
		gw_sketch_add(&in, i, 1000);
	size = gw_histogram_pack(&in, bytes);
	for (size_t n = 0; n < size; n++) {
		assert_int_equal(gw_histogram_unpack(bytes, n, &out), 0);
		assert_int_equal(out.count, 0);
	}
}

TEST(nonsense_is_refused)
{
	static const unsigned char bad[][16] = {
		{0, 0, 3, 65},                                                  /* buckets */
		{0, 0, 4, 1, 1},                                                /* schema */
		{0, 0, 0xfe, 1, 1},                                             /* schema */
		{0xff, 0x7f, 3, 1, 1},                                          /* index */
		{0, 0, 3, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2},   /* bits */
		{0, 0, 3, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, /* no end */
	};
	struct gw_sketch out;

	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(gw_histogram_unpack(bad[i], sizeof(bad[i]), &out), 0);
}

int main(void)
{
	int failed;

	model = malloc(gw_block_model_size());
	failed = model ? tests_run(NULL, NULL) : 1;
	free(model);
	return failed;
}
