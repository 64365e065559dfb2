/* Footprints, the locality graph, hits and device traffic against counts over every address. */
#include "predictor/code/memory/locality.h"
#include "tests/test.h"

/* Equal within @p room, on either side. */
static void assert_near(double value, double expected, double room)
{
	assert_true(fabs(value - expected) <= room);
}

TEST(few_numbers_are_counted_exactly)
{
	struct gw_arena arena;
	struct gw_distinct set;

	gw_arena_init(&arena, 1 << 20);
	gw_distinct_init(&set, &arena, 1000);
	for (uint64_t i = 0; i < 3000; i++)
		gw_distinct_add(&set, i % 1000 * 7919);
	assert_near(gw_distinct_count(&set), 1000, 0);
	assert_near(gw_distinct_error(&set), 0, 0);
	gw_arena_free(&arena);
}

TEST(many_numbers_are_estimated_within_their_error)
{
	struct gw_arena arena;
	struct gw_distinct a, b;

	gw_arena_init(&arena, 4 << 20);
	gw_distinct_init(&a, &arena, 4096);
	gw_distinct_init(&b, &arena, 4096);
	for (uint64_t i = 0; i < 1000000; i++)
		gw_distinct_add(&a, i);
	for (uint64_t i = 500000; i < 900000; i++)
		gw_distinct_add(&b, i);
	assert_true(a.count <= 4096);
	assert_true(fabs(gw_distinct_count(&a) / 1e6 - 1) < 3 * gw_distinct_error(&a));
	assert_true(fabs(gw_distinct_common(&a, &b) / 4e5 - 1) < 6 * gw_distinct_error(&a));
	gw_distinct_merge(&b, &a);
	assert_true(fabs(gw_distinct_count(&b) / 1e6 - 1) < 3 * gw_distinct_error(&b));
	gw_arena_free(&arena);
}

TEST(a_set_without_memory_says_nothing)
{
	struct gw_arena arena;
	struct gw_distinct set;

	gw_arena_init(&arena, 2048);
	gw_distinct_init(&set, &arena, 4096);
	for (uint64_t i = 0; i < 4096; i++)
		gw_distinct_add(&set, i);
	assert_true(isnan(gw_distinct_count(&set)));
	gw_arena_free(&arena);
}

/* What a block's warps ask for, as a function of thread and block: a kernel of one instruction
 * after another, 4 bytes each. */
typedef uint64_t address_of(struct gw_dim3 block, uint32_t x, uint32_t y, unsigned insn);

struct kernel {
	struct gw_dim3 grid;
	uint32_t width, height; /* of a block */
	unsigned loads, stores;
	address_of *address;
};

static void run_block(struct gw_locality *l, const struct kernel *k, struct gw_dim3 block)
{
	for (unsigned insn = 0; insn < k->loads + k->stores; insn++)
		for (uint32_t first = 0; first < k->width * k->height; first += 32) {
			struct gw_request r = {.bytes = 4, .active = UINT32_MAX};

			for (uint32_t lane = 0; lane < 32; lane++)
				r.address[lane] = k->address(block, (first + lane) % k->width,
							     (first + lane) / k->width, insn);
			gw_locality_add(l, block, insn, insn >= k->loads, &r, 1, 0, 1);
		}
}

static struct gw_locality *run_some(struct gw_arena *arena, const struct kernel *k, unsigned most)
{
	struct gw_dim3 block[GW_LOCALITY_BLOCKS];
	struct gw_locality *l;
	unsigned count = gw_locality_choose(k->grid, most, block);

	gw_arena_init(arena, 64 << 20);
	l = gw_locality_new(arena, k->grid);
	assert_non_null(l);
	for (unsigned b = 0; b < count; b++)
		run_block(l, k, block[b]);
	return l;
}

/* Distinct sectors of the whole grid, by a map of all memory below 64 MiB. */
static double sectors_by_map(const struct kernel *k)
{
	static uint8_t touched[(64 << 20) / 32];
	double count = 0;

	memset(touched, 0, sizeof(touched));
	for (uint32_t b = 0; b < k->grid.x * k->grid.y; b++)
		for (uint32_t t = 0; t < k->width * k->height; t++)
			for (unsigned i = 0; i < k->loads + k->stores; i++) {
				struct gw_dim3 block = {b % k->grid.x, b / k->grid.x, 0};
				uint64_t at = k->address(block, t % k->width, t / k->width, i);

				count += !touched[at / 32];
				touched[at / 32] = 1;
			}
	return count;
}

enum { N = 1024, FIRST = 4096, SECOND = 16 << 20 };

static uint64_t stencil(struct gw_dim3 b, uint32_t x, uint32_t y, unsigned insn)
{
	static const int dx[] = {0, -1, 1, 0, 0, 0}, dy[] = {0, 0, 0, -1, 1, 0};
	int64_t column = (int64_t)b.x * 32 + x + 1 + dx[insn],
		row = (int64_t)b.y * 8 + y + 1 + dy[insn];

	return (uint64_t)((insn == 5 ? SECOND : FIRST) + 4 * (row * (N + 32) + column));
}

/* C = A B, one step of k: row of A, column of B, C. */
static uint64_t product(struct gw_dim3 b, uint32_t x, uint32_t y, unsigned insn)
{
	uint64_t row = b.y * 8 + y, column = b.x * 32 + x;

	return insn == 0   ? FIRST + 4 * row * N
	       : insn == 1 ? SECOND + 4 * column
			   : 2 * SECOND + 4 * (row * N + column);
}

static uint64_t own_line(struct gw_dim3 b, uint32_t x, uint32_t y, unsigned insn)
{
	(void)insn;
	return FIRST + 4 * ((uint64_t)b.x * 256 + y * 32 + x);
}

static const struct kernel kernels[] = {
	{{32, 16, 1}, 32, 8, 5, 1, stencil},
	{{32, 128, 1}, 32, 8, 2, 1, product},
	{{500, 1, 1}, 32, 8, 1, 1, own_line},
};

TEST(a_grid_s_footprint_is_reported_from_a_few_blocks)
{
	for (unsigned i = 0; i < COUNT(kernels); i++) {
		struct gw_arena arena;
		struct gw_locality *l = run_some(&arena, &kernels[i], 16);
		struct gw_locality_grid grid;
		double truth = sectors_by_map(&kernels[i]);

		gw_locality_grid(l, GW_LOCALITY_ALL, &grid);
		assert_false(grid.counted);
		/* The stencil's halo is a part of the block's cross, not of a full tile. */
		assert_true(fabs(grid.footprint.sectors / truth - 1) < (i == 0 ? 0.02 : 1e-9));
		gw_arena_free(&arena);
	}
}

TEST(a_grid_looked_at_whole_is_counted)
{
	struct kernel k = {{6, 7, 1}, 32, 8, 5, 1, stencil};
	struct gw_arena arena;
	struct gw_locality *l = run_some(&arena, &k, 64);
	struct gw_locality_grid grid;

	gw_locality_grid(l, GW_LOCALITY_ALL, &grid);
	assert_true(grid.counted);
	assert_near(grid.footprint.sectors, sectors_by_map(&k), 0);
	assert_near(grid.footprint.error, 0, 0);
	gw_arena_free(&arena);
}

TEST(a_block_has_four_sectors_to_a_full_line)
{
	struct gw_arena arena;
	struct gw_locality *l = run_some(&arena, &kernels[2], 16);
	struct gw_footprint f;

	gw_locality_block(l, 0, GW_LOCALITY_LOADS, &f);
	assert_near(f.sectors, 32, 0);
	assert_near(f.lines, 8, 0);
	gw_arena_free(&arena);
}

TEST(blocks_of_their_own_share_nothing)
{
	struct gw_arena arena;
	struct gw_locality *l = run_some(&arena, &kernels[2], 16);
	struct gw_block_graph g;

	assert_true(gw_locality_graph(l, &g));
	assert_int_equal(g.blocks, 16);
	assert_near(g.sp_score, 1, 0);
	assert_near(g.degree_of_sharing, 0, 0);
	assert_near(g.shared[3 * 16 + 3], 32, 0);
	gw_arena_free(&arena);
}

/* 3 blocks in a row of one tile row: each shares a row of A with both others. */
TEST(blocks_of_one_row_share_a_row_of_the_matrix)
{
	struct kernel k = {{3, 2, 1}, 32, 8, 2, 1, product};
	struct gw_arena arena;
	struct gw_locality *l = run_some(&arena, &k, 64);
	struct gw_block_graph g;
	double edges = 0;

	assert_true(gw_locality_graph(l, &g));
	for (unsigned a = 0; a < 6; a++)
		for (unsigned b = 0; b < 6; b++) {
			bool row = l->block[a].y == l->block[b].y,
			     column = l->block[a].x == l->block[b].x;
			/* 8 rows of A at the sector of their first column, 4 sectors of B, 32 of C.
			 */
			double expected = a == b ? 8 + 4 + 32 : row ? 8 : column ? 4 : 0;

			assert_near(g.shared[a * 6 + b], expected, 0);
			edges += a != b && expected > 0;
		}
	assert_near(g.sp_score, 1 - edges / 30, 1e-12);
	assert_near(g.degree_of_sharing, 1, 0);
	gw_arena_free(&arena);
}

TEST(a_sector_misses_once_where_all_of_them_fit)
{
	struct gw_arena arena;
	struct kernel k = {{4, 4, 1}, 32, 8, 2, 0, product};
	struct gw_locality *l = run_some(&arena, &k, 64);
	struct gw_locality_hits hits;

	/* 8 warps: each asks 1 sector of A, its own, and the same 4 of B: 40 asked, 12 distinct. */
	gw_locality_l1(l, &hits);
	assert_near(hits.demanded, 40, 0);
	assert_near(hits.distinct, 12, 0);
	assert_near(hits.rate, 1 - 12.0 / 40, 1e-12);
	gw_arena_free(&arena);
}

TEST(addresses_that_are_not_known_leave_the_footprint_unknown)
{
	struct gw_arena arena;
	struct gw_locality *l = run_some(&arena, &kernels[2], 16);
	struct gw_locality_grid grid;
	struct gw_locality_hits hits;

	gw_locality_uncounted(l, 99, true, 1);
	gw_locality_grid(l, GW_LOCALITY_LOADS, &grid);
	assert_true(grid.footprint.sectors > 0);
	gw_locality_grid(l, GW_LOCALITY_ALL, &grid);
	assert_true(isnan(grid.footprint.sectors));
	gw_locality_uncounted(l, 99, false, 1);
	gw_locality_l1(l, &hits);
	assert_true(isnan(hits.rate));
	gw_arena_free(&arena);
}

TEST(what_fits_l2_is_read_once_and_what_does_not_comes_again)
{
	struct gw_arena arena;
	struct gw_locality *l = run_some(&arena, &kernels[1], 16);
	struct gw_locality_dram dram;
	/* A's first column, of which each sector brings its pair; one row of B; C. */
	double loads = 2 * 1024 + 128, stores = 1024 * 128, again;

	gw_locality_dram(l, 132, 1e9, &dram);
	assert_true(dram.fits);
	assert_near(dram.read, loads * 32, 1e-6);
	assert_near(dram.write, 0, 0);
	assert_near(dram.footprint, (loads - 1024 + stores) * 32, 1e-6);
	gw_locality_dram(l, 132, 1 << 20, &dram);
	assert_false(dram.fits);
	assert_near(dram.write, stores * 32, 1e-6);
	/* A round of 132 blocks is 4.125 rows of the grid: their own rows of A, all of B again. */
	again = 4096.0 / 132 * (2 * 8 * 4.125 + 128) - loads;
	assert_near(dram.read, (loads + again * (1 - (1 << 20) / dram.footprint)) * 32, 1e-3);
	gw_arena_free(&arena);
}

TEST(a_long_loop_s_footprint_grows_on_as_it_began)
{
	struct gw_request r = {.bytes = 4, .active = UINT32_MAX};
	struct gw_dim3 block = {0, 0, 0};
	struct gw_arena arena;
	struct gw_locality *l;
	struct gw_footprint f;

	gw_arena_init(&arena, 8 << 20);
	l = gw_locality_new(&arena, (struct gw_dim3){1, 1, 1});
	for (unsigned lane = 0; lane < 32; lane++)
		r.address[lane] = FIRST + 4 * lane;
	gw_locality_add(l, block, 0, false, &r, 1e6, 128, 1);
	gw_locality_block(l, 0, GW_LOCALITY_LOADS, &f);
	assert_true(fabs(f.sectors / 4e6 - 1) < 3 * 1.2 / 64);
	gw_locality_add(l, block, 1, false, &r, 1e9, 0, 2);
	assert_near(l->cell[0][1]->demanded, 8e9, 0);
	gw_arena_free(&arena);
}

TESTS_MAIN()
