/* Tensor maps as the driver encodes them (CUDA 13.0, an H200), and the tiles they describe. */
#include "predictor/code/digest_provisional.h"
#include "predictor/code/eval/tensor_map.h"
#include "tests/test.h"

/* clang-format off */
static const struct {
	uint32_t word[GW_TENSOR_MAP_BYTES / 4];
	struct gw_tensor_map map;
} encoded[] = {
	{{0x34567000, 0x7f12, 0x6310, 0x200, 0x0, 0x0, 0x0, 0x0, 0xfff, 0x7ff, 0x0, 0x0, 0x0, 0x3f000000, 0x3f, 0x0},
	 {.address = 0x7f1234567000, .dim = {4096, 2048}, .stride = {2, 8192}, .box = {64, 64}, .every = {1, 1}, .element_bits = 16, .rank = 2}},
	{{0x34567000, 0x7f12, 0x6310, 0xffffffff, 0x0, 0x0, 0x0, 0xf, 0xfff, 0x7ff, 0x0, 0x0, 0x0, 0x3f000000, 0x3f, 0x0},
	 {.address = 0x7f1234567000, .dim = {4096, 2048}, .stride = {2, 0xfffffffff0}, .box = {64, 64}, .every = {1, 1}, .element_bits = 16, .rank = 2}},
	{{0x34567000, 0x7f12, 0x6310, 0x40000000, 0x0, 0x0, 0x0, 0x0, 0xffffffff, 0x7ff, 0x0, 0x0, 0x0, 0x3f000000, 0x3f, 0x0},
	 {.address = 0x7f1234567000, .dim = {0x100000000, 2048}, .stride = {2, 0x400000000}, .box = {64, 64}, .every = {1, 1}, .element_bits = 16, .rank = 2}},
	{{0x34567000, 0x7f12, 0x3320, 0x2000, 0x80000, 0x0, 0x0, 0x0, 0xfff, 0x7ff, 0x3f, 0x0, 0x0, 0xf000000, 0x13f, 0x0},
	 {.address = 0x7f1234567000, .dim = {4096, 2048, 64}, .stride = {2, 131072, 8388608}, .box = {16, 64, 2}, .every = {1, 1, 1}, .element_bits = 16, .rank = 3}},
	{{0x34567000, 0x7f12, 0x6310, 0x200, 0x0, 0x0, 0x0, 0x0, 0xfff, 0x7ff, 0x0, 0x0, 0x0, 0x3f000038, 0x3f, 0x0},
	 {.address = 0x7f1234567000, .dim = {4096, 2048}, .stride = {2, 8192}, .box = {64, 64}, .every = {1, 8}, .element_bits = 16, .rank = 2}},
	{{0x34567000, 0x7f12, 0xe310, 0x200, 0x0, 0x0, 0x0, 0x0, 0xfff, 0x7ff, 0x0, 0x0, 0x0, 0x3f000000, 0x3f, 0x0},
	 {.address = 0x7f1234567000, .dim = {4096, 2048}, .stride = {2, 8192}, .box = {64, 64}, .every = {1, 1}, .element_bits = 16, .rank = 2}},
	{{0x41792ce0, 0x8556, 0x6010, 0xf, 0x0, 0x0, 0x0, 0x0, 0xce, 0x3ea0, 0x0, 0x0, 0x0, 0x1f000000, 0x2b, 0x0},
	 {.address = 0x855641792ce0, .dim = {207, 16033}, .stride = {1, 240}, .box = {32, 44}, .every = {1, 1}, .element_bits = 8, .rank = 2}},
	{{0xfaa26c70, 0x80d9, 0x420a0, 0x698, 0x14b7062, 0x0, 0x0, 0x0, 0x34b9, 0x3243, 0xa, 0x0, 0x0, 0x7000000, 0x3711, 0x0},
	 {.address = 0x80d9faa26c70, .dim = {13498, 12868, 11}, .stride = {2, 27008, 347538976}, .box = {8, 18, 56}, .every = {1, 1, 1}, .element_bits = 16, .rank = 3}},
	{{0x4a6bc480, 0x82c0, 0x20130, 0x4c, 0x982, 0x93f73, 0x0, 0x0, 0x127, 0x1f, 0xf8, 0xb4, 0x0, 0x3000400, 0x30027, 0x0},
	 {.address = 0x82c04a6bc480, .dim = {296, 32, 249, 181}, .stride = {4, 1216, 38944, 9697072}, .box = {4, 40, 1, 4}, .every = {1, 1, 1, 3}, .element_bits = 32, .rank = 4}},
	{{0x74271a10, 0x85b4, 0x210, 0x1, 0x0, 0x0, 0x0, 0x0, 0x0, 0xb5, 0x0, 0x0, 0x0, 0x7000001, 0x17, 0x0},
	 {.address = 0x85b474271a10, .dim = {1, 182}, .stride = {8, 16}, .box = {8, 24}, .every = {2, 1}, .element_bits = 64, .rank = 2}},
	{{0x2d8e0b10, 0x84de, 0x422a0, 0x6b, 0x6c, 0x0, 0x0, 0x0, 0xd0, 0x0, 0xfa1, 0x0, 0x0, 0x1000000, 0x1909, 0x0},
	 {.address = 0x84de2d8e0b10, .dim = {209, 1, 4002}, .stride = {8, 1712, 1728}, .box = {2, 10, 26}, .every = {1, 1, 1}, .element_bits = 64, .rank = 3}},
	{{0xcf66ec30, 0x7f69, 0x6490, 0x54, 0x0, 0x0, 0x0, 0x0, 0xa7, 0xd3, 0x0, 0x0, 0x0, 0x7000010, 0x2a, 0x0},
	 {.address = 0x7f69cf66ec30, .dim = {168, 212}, .stride = {8, 1344}, .box = {8, 43}, .every = {1, 3}, .element_bits = 64, .rank = 2}},
	{{0x56c796f0, 0x8548, 0x42520, 0x9, 0xa0f, 0x0, 0x0, 0x0, 0x31, 0x11d, 0x15, 0x0, 0x0, 0xf000040, 0x53c, 0x0},
	 {.address = 0x854856c796f0, .dim = {50, 286, 22}, .stride = {2, 144, 41200}, .box = {16, 61, 6}, .every = {1, 1, 2}, .element_bits = 16, .rank = 3}},
	{{0xbc1168c0, 0x8508, 0x44430, 0x4a, 0x5262, 0x490ce7, 0x0, 0x0, 0x121, 0x11c, 0xe2, 0xc9, 0x0, 0xf000600, 0x282204, 0x0},
	 {.address = 0x8508bc1168c0, .dim = {290, 285, 227, 202}, .stride = {4, 1184, 337440, 76598896}, .box = {16, 5, 35, 41}, .every = {1, 1, 1, 4}, .element_bits = 32, .rank = 4}},
	{{0x78edee00, 0x8565, 0x32410, 0xa98, 0x0, 0x0, 0x0, 0x0, 0x2a5d, 0x76, 0x0, 0x0, 0x0, 0x7000001, 0x15, 0x0},
	 {.address = 0x856578edee00, .dim = {10846, 119}, .stride = {4, 43392}, .box = {8, 22}, .every = {2, 1}, .element_bits = 32, .rank = 2}},
	{{0x34567000, 0x7f12, 0x6331, 0x10, 0x380, 0xa800, 0x0, 0x0, 0x7f, 0x37, 0x2f, 0x1f, 0x0, 0x3f000000, 0x1fdfeff, 0x7f},
	 {.address = 0x7f1234567000, .dim = {128, 56, 48, 32}, .stride = {2, 256, 14336, 688128}, .box = {64, 128, 1, 1}, .every = {1, 1, 1, 1}, .element_bits = 16, .rank = 4, .im2col = true}},
	/* as cuBLASLt 13.1 makes them */
	{{0xaa000000, 0x7f83, 0x46322, 0x200, 0x0, 0x10000000, 0x0, 0x0, 0xfff, 0xfff, 0x0, 0x0, 0x0, 0x3f000000, 0x1f, 0x0},
	 {.address = 0x7f83aa000000, .dim = {4096, 4096, 1}, .stride = {2, 8192, 0}, .box = {64, 32, 1}, .every = {1, 1, 1}, .element_bits = 16, .rank = 3}},
};
/* clang-format on */
enum { ENCODED = COUNT(encoded) };

static const struct gw_tensor_map plain = {.address = 4096,
					   .dim = {100, 70},
					   .stride = {2, 208},
					   .box = {64, 64},
					   .every = {1, 1},
					   .element_bits = 16,
					   .rank = 2};

TEST(every_map_is_read_as_it_was_encoded)
{
	for (size_t i = 0; i < ENCODED; i++) {
		const struct gw_tensor_map *want = &encoded[i].map;
		struct gw_tensor_map m;

		assert_true(gw_tensor_map_read(&m, (const uint8_t *)encoded[i].word));
		assert_int_equal(m.rank, want->rank);
		assert_int_equal(m.address, want->address);
		assert_int_equal(m.element_bits, want->element_bits);
		assert_int_equal(m.im2col, want->im2col);
		for (unsigned d = 0; d < want->rank; d++) {
			assert_int_equal(m.dim[d], want->dim[d]);
			assert_int_equal(m.stride[d], want->stride[d]);
			assert_int_equal(m.every[d], want->every[d]);
			assert_true(m.box[d] == want->box[d] || (want->im2col && d > 1));
		}
	}
}

TEST(bytes_that_are_no_map_are_refused)
{
	uint32_t word[GW_TENSOR_MAP_BYTES / 4];
	struct gw_tensor_map m;

	memset(word, 0, sizeof(word));
	assert_false(gw_tensor_map_read(&m, (const uint8_t *)word));
	for (unsigned i = 0; i < COUNT(word); i++)
		word[i] = 0x01010101u * i;
	assert_false(gw_tensor_map_read(&m, (const uint8_t *)word));
	memcpy(word, encoded[0].word, sizeof(word));
	word[10] = 1; /* a third dimension, of a matrix */
	assert_false(gw_tensor_map_read(&m, (const uint8_t *)word));
}

TEST(a_tile_ends_with_the_tensor)
{
	const int32_t inside[] = {0, 0}, right[] = {64, 0}, corner[] = {64, 64},
		      before[] = {-32, -60}, outside[] = {128, 0}, above[] = {0, -64};

	assert_true(gw_tensor_bytes(&plain) == 100 * 70 * 2);
	assert_true(gw_tensor_tile_bytes(&plain, inside) == 64 * 128);
	assert_true(gw_tensor_tile_bytes(&plain, right) == 64 * 96); /* 72 bytes: 3 sectors */
	assert_true(gw_tensor_tile_bytes(&plain, corner) == 6 * 96);
	assert_true(gw_tensor_tile_bytes(&plain, before) == 4 * 64);
	assert_true(gw_tensor_tile_bytes(&plain, outside) == 0);
	assert_true(gw_tensor_tile_bytes(&plain, above) == 0);
}

TEST(tiles_of_unknown_place_cover_the_tensor)
{
	/* Two by two of them: 50 elements of 35 rows each, 100 bytes in 4 sectors. */
	assert_true(gw_tensor_tile_bytes(&plain, NULL) == 35 * 128);
}

TEST(skipped_elements_are_not_moved)
{
	struct gw_tensor_map m = plain;
	const int32_t at[] = {0, 0}, before[] = {0, -3};

	m.every[1] = 2;
	assert_true(gw_tensor_tile_bytes(&m, at) == 32 * 128);
	assert_true(gw_tensor_tile_bytes(&m, before) == 30 * 128); /* rows 1, 3 to 59 */
}

/* The hash of the arguments until the code is read (digest_provisional.h). */
TEST(where_a_tensor_lies_splits_no_configurations)
{
	const struct gw_code_param param = {.offset = 0, .size = 128};
	uint32_t word[32] = {0};
	const void *params[] = {word};
	struct gw_digest_plan plan;
	uint32_t first;

	memcpy(word, encoded[0].word, GW_TENSOR_MAP_BYTES);
	gw_digest_provisional_make(&param, 1, &plan);
	first = gw_digest_provisional_params(&plan, params);
	word[0] += 4096; /* address */
	assert_int_equal(gw_digest_provisional_params(&plan, params), first);
	word[9]++; /* rows */
	assert_int_not_equal(gw_digest_provisional_params(&plan, params), first);
}

TESTS_MAIN()
