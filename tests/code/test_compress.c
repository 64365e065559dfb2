/* Packed entries: what the vendor packed comes out as it was, and broken data are refused. */
#include "predictor/code/binary/compress.h"
#include "tests/code/corpus.h"
#include "tests/test.h"

TEST(every_packing_gives_what_was_packed)
{
	static const struct {
		const char *file;
		enum gw_compression how;
		size_t count, which[3]; /**< of the images of plain.fatbin */
	} packed[] = {{"lz4.fatbin", GW_COMPRESSION_LZ4, 2, {1, 3}},
		      {"zstd.fatbin", GW_COMPRESSION_ZSTD, 3, {0, 1, 3}}};
	struct gw_images plain = corpus_images(corpus_arena(), "plain.fatbin", 4);

	for (unsigned p = 0; p < 2; p++) {
		struct gw_images images =
			corpus_images(corpus_arena(), packed[p].file, packed[p].count);

		for (size_t i = 0; i < images.count; i++) {
			struct gw_bytes expected =
				corpus_bytes(corpus_arena(), &plain.image[packed[p].which[i]]);
			struct gw_bytes bytes = corpus_bytes(corpus_arena(), &images.image[i]);

			assert_int_equal(images.image[i].compression, packed[p].how);
			assert_int_equal(bytes.size, expected.size);
			assert_memory_equal(bytes.data, expected.data, expected.size);
		}
	}
}

static void refuses(const char *what, const char *packed, size_t length, size_t size)
{
	uint8_t out[300];
	const char *wrong =
		gw_lz4_unpack((struct gw_bytes){(const uint8_t *)packed, length}, out, size);

	assert_non_null(wrong);
	assert_non_null(strstr(wrong, what));
}

TEST(an_overlapping_match_repeats)
{
	static const char packed[] = "\x1f"
				     "a\1\0\0\x10"
				     "b";
	uint8_t out[21];

	assert_null(gw_lz4_unpack((struct gw_bytes){(const uint8_t *)packed, 7}, out, 21));
	assert_memory_equal(out, "aaaaaaaaaaaaaaaaaaaab", 21);
}

TEST(broken_lz4_is_refused)
{
	refuses("end inside their literals",
		"\x50"
		"ab",
		3, 5);
	refuses("end inside their literals", "\xf0\xff", 2, 300);
	refuses("end inside a match",
		"\x10"
		"a\1",
		3, 20);
	refuses("end inside a match",
		"\x1f"
		"a\1\0",
		4, 20);
	refuses("before their begin",
		"\x10"
		"a\2\0",
		4, 20);
	refuses("before their begin",
		"\x10"
		"a\0\0",
		4, 20);
	refuses("longer than",
		"\x1f"
		"a\1\0\0\x10"
		"b",
		7, 19);
	refuses("longer than",
		"\x50"
		"abcde",
		6, 4);
	refuses("shorter than",
		"\x50"
		"abcde",
		6, 6);
}

TEST(broken_zstd_is_refused)
{
	struct gw_images images = corpus_images(corpus_arena(), "zstd.fatbin", 3);
	struct gw_image cut = images.image[0], longer = images.image[0];
	struct gw_bytes bytes;
	struct gw_fault fault;

	cut.stored.size /= 2;
	assert_false(gw_image_bytes(&cut, corpus_arena(), &bytes, &fault));
	assert_string_equal(fault.what, "the zstd data are broken");
	assert_int_equal(fault.offset, cut.offset);
	longer.size++;
	assert_false(gw_image_bytes(&longer, corpus_arena(), &bytes, &fault));
	assert_string_equal(fault.what, "the zstd data are shorter than their header says");
}

TEST(a_claim_beyond_the_limit_is_refused)
{
	struct gw_images images = corpus_images(corpus_arena(), "lz4.fatbin", 2);
	struct gw_image image = images.image[0];
	struct gw_bytes bytes;
	struct gw_fault fault;

	image.size = UINT64_MAX;
	assert_false(gw_image_bytes(&image, corpus_arena(), &bytes, &fault));
	image.size = CORPUS_MEMORY;
	assert_false(gw_image_bytes(&image, corpus_arena(), &bytes, &fault));
	assert_string_equal(fault.what, "unpacked it is larger than the memory allowed");
}

/* Pack in pieces of @p step bytes. */
static enum gw_pack_end pack(struct gw_pack *p, struct gw_bytes in, size_t room, size_t step)
{
	uint8_t *out = gw_arena_array(corpus_arena(), room, 1);
	enum gw_pack_end end;

	assert_non_null(out);
	gw_pack_begin(p, in, out, room);
	do
		end = gw_pack_go_on(p, step);
	while (end == GW_PACK_MORE);
	return end;
}

TEST(a_packed_cubin_opens_as_what_it_was)
{
	struct gw_images plain = corpus_images(corpus_arena(), "plain.fatbin", 4), packed;
	unsigned cubins = 0;
	static struct gw_pack p;
	struct gw_fault fault;

	for (size_t i = 0; i < plain.count; i++) {
		struct gw_bytes in = corpus_bytes(corpus_arena(), &plain.image[i]), bytes;

		if (plain.image[i].kind != GW_IMAGE_CUBIN)
			continue;
		cubins++;
		assert_int_equal(pack(&p, in, in.size, i ? 1000 : SIZE_MAX), GW_PACK_DONE);
		assert_true(p.made < in.size * 2 / 3);
		assert_true(gw_images_open((struct gw_bytes){p.out, p.made}, corpus_arena(),
					   &packed, &fault));
		assert_int_equal(packed.count, 1);
		assert_int_equal(packed.image[0].kind, GW_IMAGE_CUBIN);
		assert_int_equal(packed.image[0].arch.number, plain.image[i].arch.number);
		assert_int_equal(packed.image[0].arch.suffix, plain.image[i].arch.suffix);
		bytes = corpus_bytes(corpus_arena(), &packed.image[0]);
		assert_int_equal(bytes.size, in.size);
		assert_memory_equal(bytes.data, in.data, in.size);
	}
	assert_true(cubins > 1);
}

/* Of any length and kind: no byte, fewer than a match has, runs, and what does not repeat. */
TEST(whatever_is_packed_comes_out_again)
{
	static uint8_t in[70000], out[sizeof(in)];
	static struct gw_pack p;
	uint32_t random = 1;

	for (size_t i = 0; i < sizeof(in); i++) {
		random = random * 1664525 + 1013904223;
		in[i] = i < 300 ? 0 : i % 100 < 50 ? (uint8_t)(random >> 24) : (uint8_t)(i % 7);
	}
	for (size_t size = 0; size <= sizeof(in); size = size < 70 ? size + 1 : size * 10 / 3) {
		struct gw_bytes packed = {in, size};

		assert_int_equal(pack(&p, packed, size + 1000, 1 + size / 3), GW_PACK_DONE);
		packed = (struct gw_bytes){p.out + GW_PACK_HEAD, 0};
		memcpy(&packed.size, p.out + 16 + 16, 4); /* the entry's packed_size */
		assert_null(gw_lz4_unpack(packed, out, size));
		assert_memory_equal(out, in, size);
	}
}

TEST(what_does_not_shrink_is_given_up)
{
	static uint8_t in[5000];
	static struct gw_pack p;
	uint32_t random = 1;

	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
	for (size_t room = 0; room < 5000; room += 50)
		assert_int_equal(pack(&p, (struct gw_bytes){in, sizeof(in)}, room, 100),
				 GW_PACK_NO_ROOM);
}

TESTS_MAIN(corpus_begin, corpus_end)
