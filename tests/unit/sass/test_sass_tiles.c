/* tiles.cu of compiled.tar.xz: what copies through tensor maps, and bulk copies, move. */
#include "predictor/code/digest.h"
#include "predictor/code/static_code.h"
#include "predictor/models/inputs.h"
#include "predictor/profile/profile.h"
#include "tests/test.h"
#include "tests/unit/sass/sass_fixture.h"

enum {
	FIRST = 0x70, /* of the parameters that follow 128-byte ones: maps lie at 64-byte lines */
	ARGUMENTS = 512,
	TILE = 64,
	HALF = 2,
	SECTOR = 32,
	ENOUGH = 16 << 20,
};
static const uint64_t IN = UINT64_C(0x7f0000000000), OUT = UINT64_C(0x7f1000000000);

static struct gw_profile profile;
static size_t room = ENOUGH; /* bytes that an analysis may take */

static int read_profile(void **state)
{
	struct gw_profile_error error;

	return gw_profile_read(GW_PROFILES "/nvidia-h200.json", &profile, &error) ? -1 : 0;
}

/* A map as the driver encodes it, of halves (test_tensor_map). */
static void encode(uint8_t *to, uint64_t address, unsigned rank, const uint32_t *dim,
		   const uint32_t *box)
{
	uint32_t word[32] = {(uint32_t)address, (uint32_t)(address >> 32),
			     (rank - 1) << 4 | 6 << 7};
	uint64_t stride = HALF;

	word[16] = HALF;
	for (unsigned i = 0; i < rank; i++) {
		stride = (stride * dim[i] + 15) / 16 * 16;
		if (i + 1 < rank)
			word[3 + i] = (uint32_t)(stride / 16);
		word[8 + i] = dim[i] - 1;
		word[13 + (i > 0)] |= (box[i] - 1) << (i ? 8 * (i - 1) : 24);
		word[16] *= box[i];
	}
	memcpy(to, word, sizeof(word));
}

/* What the code and the arguments say of a launch of so many warps a block. */
static struct gw_work work_in_clusters(const char *name, struct gw_dim3 grid, uint32_t warps,
				       const uint8_t *arguments, struct gw_dim3 cluster)
{
	static const struct gw_kernel kernel = {"", 32, 0, 0, 0, 1024, 90};
	const struct gw_launch launch = {.kernel = &kernel,
					 .config = {grid, {32 * warps, 1, 1}, cluster, 0, 0}};
	struct gw_eval_launch at = {.config = launch.config, .arguments = {arguments, ARGUMENTS}};
	struct gw_sass_lowered lowered;
	struct gw_static_code code;
	struct gw_arena arena;
	struct built_file b;
	struct gw_work work;
	const char *open, *why;

	built_file_begin(&b, GW_SASS, "tiles", name, 90);
	assert_null(gw_sass_lower(&lowered, &b.cfg, &b.kernel, &b.arena));
	code = (struct gw_static_code){.program = &lowered.program,
				       .cfg = &b.cfg,
				       .device = &profile.device,
				       .launch = &launch,
				       .at = &at};
	gw_arena_init(&arena, room);
	why = gw_static_code_work(&code, &arena, &work, &open);
	assert_true(!why || room < ENOUGH);
	gw_arena_free(&arena);
	built_file_end(&b);
	return work;
}

static struct gw_work work_of(const char *name, struct gw_dim3 grid, const uint8_t *arguments)
{
	return work_in_clusters(name, grid, 1, arguments, (struct gw_dim3){1, 1, 1});
}

static void assert_row(const struct gw_work *work, enum gw_work_field row, double bytes)
{
	double value = gw_work_value(work, row);

	if (isnan(bytes) ? !isnan(value) : !(fabs(value - bytes) < 0.5))
		fail_msg("row %d: %.1f, should be %.1f", row, value, bytes);
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Bytes, in whole sectors, of the tiles of a matrix of halves. */
static double sectors_of(uint32_t width, uint32_t height)
{
	double bytes = 0;

	for (uint32_t y = 0; y < height; y++)
		for (uint32_t x = 0; x < width; x += TILE)
			bytes += (least(TILE, width - x) * HALF + SECTOR - 1) / SECTOR * SECTOR;
	return bytes;
}

static void put(uint8_t *arguments, unsigned at, int32_t number)
{
	memcpy(arguments + at, &number, sizeof(number));
}

/* Sizes that tiles fill, that they don't, and of fewer tiles than there are blocks. */
TEST(tiles_of_a_grid_stride_loop_are_counted_to_the_edge)
{
	static const uint32_t size[][2] = {{4096, 2048}, {1000, 777}, {64, 64}, {200, 4000}};
	static const uint32_t box[] = {TILE, TILE};

	for (size_t i = 0; i < COUNT(size); i++) {
		uint32_t across = (size[i][0] + TILE - 1) / TILE;
		uint32_t down = (size[i][1] + TILE - 1) / TILE;
		uint8_t arguments[ARGUMENTS] = {0};
		struct gw_work work;

		encode(arguments + FIRST, IN, 2, size[i], box);
		encode(arguments + FIRST + 128, OUT, 2, size[i], box);
		put(arguments, FIRST + 256, (int32_t)(across * down));
		put(arguments, FIRST + 260, (int32_t)across);
		work = work_of("tile_copy", (struct gw_dim3){132, 1, 1}, arguments);
		assert_row(&work, GW_WORK_l2_read_bytes, sectors_of(size[i][0], size[i][1]));
		assert_row(&work, GW_WORK_l2_write_bytes, sectors_of(size[i][0], size[i][1]));
		assert_row(&work, GW_WORK_dram_read_bytes, (double)size[i][0] * size[i][1] * HALF);
		assert_row(&work, GW_WORK_dram_write_bytes, 0); /* L2 has room for all */
		/* One block gets each; its map comes before it. */
		assert_row(&work, GW_WORK_copied_bytes, sectors_of(size[i][0], size[i][1]));
		assert_row(&work, GW_WORK_warp_copy_chain, 2);
	}
}

TEST(a_loop_that_is_stood_for_ends_with_a_smaller_tile)
{
	static const uint32_t size[] = {16000, 128}, box[] = {TILE, TILE};
	uint8_t arguments[ARGUMENTS] = {0};
	struct gw_work work;

	encode(arguments + FIRST, IN, 2, size, box);
	put(arguments, FIRST + 128, 251); /* one tile more than the tensor has */
	work = work_of("tile_panel", (struct gw_dim3){2, 1, 1}, arguments);
	assert_row(&work, GW_WORK_l2_read_bytes, sectors_of(16000, 128));
}

TEST(what_lies_outside_of_the_tensor_is_not_read)
{
	static const uint32_t size[] = {64, 64, 8}, box[] = {32, 18, 4};
	uint8_t arguments[ARGUMENTS] = {0};
	double rows = 17 + 18 + 18 + 17, sectors = 2 + 2 + 2 + 1;
	struct gw_work work;

	encode(arguments + FIRST, IN, 3, size, box);
	work = work_of("tile_halo", (struct gw_dim3){4, 4, 2}, arguments);
	assert_row(&work, GW_WORK_l2_read_bytes, 8 * rows * sectors * SECTOR);
	assert_row(&work, GW_WORK_dram_read_bytes, 64 * 64 * 8 * HALF);
}

TEST(tiles_that_memory_chooses_are_taken_on_average)
{
	static const uint32_t size[] = {6400, 64}, box[] = {TILE, TILE};
	uint8_t arguments[ARGUMENTS] = {0};
	struct gw_work work;

	encode(arguments + FIRST, IN, 2, size, box);
	work = work_of("tile_listed", (struct gw_dim3){100, 1, 1}, arguments);
	assert_row(&work, GW_WORK_l2_read_bytes, sectors_of(6400, 64) + 100 * SECTOR);
}

TEST(without_its_map_a_tile_has_no_size)
{
	uint8_t arguments[ARGUMENTS] = {0};
	struct gw_work work;

	put(arguments, FIRST + 128, 10);
	work = work_of("tile_panel", (struct gw_dim3){2, 1, 1}, arguments);
	assert_row(&work, GW_WORK_l2_read_bytes, NAN);
	assert_row(&work, GW_WORK_dram_read_bytes, NAN);
}

TEST(a_reduction_writes_and_a_prefetch_stays_in_l2)
{
	static const uint32_t size[] = {640, 320}, box[] = {TILE, TILE};
	uint8_t arguments[ARGUMENTS] = {0};
	struct gw_work work;

	encode(arguments + FIRST, IN, 2, size, box);
	work = work_of("tile_add", (struct gw_dim3){10, 5, 1}, arguments);
	assert_row(&work, GW_WORK_l2_write_bytes, sectors_of(640, 320));
	work = work_of("tile_prefetch", (struct gw_dim3){10, 5, 1}, arguments);
	assert_row(&work, GW_WORK_dram_read_bytes, 640 * 320 * HALF);
	assert_true(!(gw_work_value(&work, GW_WORK_l2_read_bytes) > 0));
}

TEST(bulk_copies_have_the_bytes_of_their_size)
{
	uint8_t arguments[ARGUMENTS] = {0};
	struct gw_work work;

	memcpy(arguments, &IN, 8);
	memcpy(arguments + 8, &OUT, 8);
	put(arguments, 16, 5000);
	work = work_of("bulk_copy", (struct gw_dim3){132, 1, 1}, arguments);
	assert_row(&work, GW_WORK_l2_read_bytes, 5000.0 * 8192);
	assert_row(&work, GW_WORK_l2_write_bytes, 5000.0 * 8192);
	work = work_of("bulk_shared", (struct gw_dim3){1000, 1, 1}, arguments);
	assert_row(&work, GW_WORK_l2_read_bytes, 1000.0 * 4096);
	assert_row(&work, GW_WORK_dram_read_bytes, 4096);
}

/* Each tile is loaded once, whatever block gets it: more tiles than blocks, as many, fewer. By
 * records, two warps take turns at them, and a third one leaves them; where each lies is then not
 * known, so that those at the edge are so on average. */
TEST(blocks_that_take_the_next_tile_load_them_all)
{
	static const uint32_t size[][2] = {{6400, 5120}, {64 * 132, 64}, {640, 640}, {1000, 7777}};
	static const struct {
		const char *name;
		uint32_t warps;
	} kernels[] = {{"queue_next", 1}, {"queue_first", 1}, {"queue_records", 3}};
	static const uint32_t box[] = {TILE, TILE};

	for (size_t i = 0; i < COUNT(size) * COUNT(kernels); i++) {
		const uint32_t *of = size[i / COUNT(kernels)];
		uint32_t across = (of[0] + TILE - 1) / TILE, down = (of[1] + TILE - 1) / TILE;
		uint32_t blocks = least(132, across * down);
		uint8_t arguments[ARGUMENTS] = {0};
		struct gw_work work;

		encode(arguments + FIRST, IN, 2, of, box);
		memcpy(arguments + FIRST + 128, &OUT, sizeof(OUT));
		put(arguments, FIRST + 136, (int32_t)(across * down));
		put(arguments, FIRST + 140, (int32_t)across);
		work = work_in_clusters(
			kernels[i % COUNT(kernels)].name, (struct gw_dim3){blocks, 1, 1},
			kernels[i % COUNT(kernels)].warps, arguments, (struct gw_dim3){1, 1, 1});
		if (of[0] % TILE == 0 || kernels[i % COUNT(kernels)].warps == 1)
			assert_row(&work, GW_WORK_l2_read_bytes, sectors_of(of[0], of[1]));
		else
			assert_true(fabs(gw_work_value(&work, GW_WORK_l2_read_bytes) /
						 sectors_of(of[0], of[1]) -
					 1) < 0.02);
		assert_row(&work, GW_WORK_least_time, 0);
	}
}

/* Whatever is refused, nothing is harmed. */
TEST(with_little_memory_there_is_an_answer_or_none)
{
	static const char *const kernels[] = {"tile_copy", "queue_next", "queue_records"};
	const uint8_t arguments[ARGUMENTS] = {0};

	for (size_t i = 0; i < COUNT(kernels); i++)
		for (room = 4096; room < ENOUGH; room += room / 8)
			work_in_clusters(kernels[i], (struct gw_dim3){132, 1, 1}, 3, arguments,
					 (struct gw_dim3){1, 1, 1});
	room = ENOUGH;
}

/* No driver launches that, but a log or `inspect --launch` may say so. */
TEST(a_cluster_larger_than_the_grid_divides_nothing_by_zero)
{
	static const uint32_t size[] = {640, 640}, box[] = {TILE, TILE};
	uint8_t arguments[ARGUMENTS] = {0};
	struct gw_work work;

	encode(arguments + FIRST, IN, 2, size, box);
	memcpy(arguments + FIRST + 128, &OUT, sizeof(OUT));
	put(arguments, FIRST + 136, 100);
	put(arguments, FIRST + 140, 10);
	work = work_in_clusters("queue_next", (struct gw_dim3){1, 1, 1}, 1, arguments,
				(struct gw_dim3){256, 1, 1});
	assert_false(gw_work_value(&work, GW_WORK_l2_read_bytes) < 0);
}

/* @p expected: "offset+size ...". */
static void assert_plan(const struct gw_digest_plan *plan, const char *expected)
{
	char text[256] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < plan->count; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u+%u", i ? " " : "",
				      plan->word[i].offset, plan->word[i].size);
	assert_string_equal(text, expected);
}

/* Their maps without the addresses, and what cuts tiles. */
TEST(tensor_maps_are_planned_but_for_their_address)
{
	enum { MAP = 128 };
	static const struct {
		const char *name, *plan;
		struct gw_code_param param[4];
		uint32_t count;
	} kernels[] = {
		{"tile_copy",
		 "368+4 372+4 120+56 248+56",
		 {{FIRST, MAP}, {FIRST + MAP, MAP}, {FIRST + 2 * MAP, 4}, {FIRST + 2 * MAP + 4, 4}},
		 4},
		{"tile_panel", "240+4 120+56", {{FIRST, MAP}, {FIRST + MAP, 4}}, 2},
		{"tile_listed", "120+56", {{FIRST, MAP}, {FIRST + MAP, 8}}, 2},
		{"tile_add", "120+56", {{FIRST, MAP}}, 1},
		{"tile_prefetch", "120+56", {{FIRST, MAP}}, 1},
		{"bulk_copy", "16+4", {{0, 8}, {8, 8}, {16, 4}}, 3},
	};

	for (unsigned i = 0; i < COUNT(kernels); i++) {
		struct gw_sass_lowered lowered;
		struct gw_digest_plan plan;
		struct built_file b;

		built_file_begin(&b, GW_SASS, "tiles", kernels[i].name, 90);
		assert_null(gw_sass_lower(&lowered, &b.cfg, &b.kernel, &b.arena));
		assert_null(gw_digest_plan_make(&lowered.program, kernels[i].param,
						kernels[i].count, &b.arena, &plan));
		assert_plan(&plan, kernels[i].plan);
		built_file_end(&b);
	}
}

TESTS_MAIN(read_profile, NULL)
