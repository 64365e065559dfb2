/* Requests against a byte-by-byte count, and the loads of a block through a cache against a plain
 * list. */
#include "predictor/code/memory/replay.h"
#include "predictor/code/memory/request.h"
#include "tests/test.h"

static uint64_t state_of_random = 0x9e3779b97f4a7c15;

static uint64_t random_number(void)
{
	state_of_random ^= state_of_random << 13;
	state_of_random ^= state_of_random >> 7;
	state_of_random ^= state_of_random << 17;
	return state_of_random;
}

/* Lanes @p stride bytes apart from @p base on. */
static struct gw_request strided(uint64_t base, uint64_t stride, uint32_t bytes)
{
	struct gw_request r = {.active = UINT32_MAX, .bytes = bytes};

	for (unsigned lane = 0; lane < 32; lane++)
		r.address[lane] = base + lane * stride;
	return r;
}

/* Every byte marked, then pieces with a mark counted: addresses below 64 KiB only. */
static unsigned pieces_by_bytes(const struct gw_request *r, unsigned size)
{
	static uint8_t touched[1 << 16];
	unsigned count = 0;

	memset(touched, 0, sizeof(touched));
	for (unsigned lane = 0; lane < 32; lane++)
		for (unsigned b = 0; b < r->bytes && r->active >> lane & 1; b++)
			touched[r->address[lane] + b] = 1;
	for (unsigned p = 0; p < sizeof(touched); p += size)
		count += memchr(touched + p, 1, size) != NULL;
	return count;
}

static bool paired(const struct gw_request *r, unsigned lane, unsigned other)
{
	return !(r->active >> lane & 1) || !(r->active >> other & 1) ||
	       r->address[lane] == r->address[other];
}

/* The same for shared memory: words of one phase, bank by bank. */
static unsigned passes_by_words(const struct gw_request *r)
{
	static uint8_t touched[1 << 16];
	unsigned lanes = r->bytes <= 4 ? 32 : 128 / r->bytes, passes = 0, next = 0, second = 0;

	for (unsigned lane = 0; lane < 32; lane++) {
		next += paired(r, lane, lane ^ 1);
		second += paired(r, lane, lane ^ 2);
	}
	if (lanes < 32 && (next == 32 || second == 32))
		lanes *= 2;
	for (unsigned first = 0; first < 32; first += lanes) {
		unsigned most = 0;

		memset(touched, 0, sizeof(touched));
		for (unsigned lane = first; lane < first + lanes; lane++)
			for (unsigned b = 0; b < r->bytes && r->active >> lane & 1; b++)
				touched[r->address[lane] + b] = 1;
		for (unsigned bank = 0; bank < 32; bank++) {
			unsigned in_bank = 0;

			for (unsigned at = bank * 4; at < sizeof(touched); at += 128)
				in_bank += memchr(touched + at, 1, 4) != NULL;
			most = in_bank > most ? in_bank : most;
		}
		passes += most;
	}
	return passes;
}

static unsigned wavefronts(const struct gw_request *r)
{
	struct gw_shared_passes passes;

	gw_request_shared(r, &passes);
	return passes.wavefronts;
}

static struct gw_request any_request(void)
{
	struct gw_request r = {.active = (uint32_t)random_number(),
			       .bytes = 1U << random_number() % 5};
	uint64_t span = 16U << random_number() % 11;

	for (unsigned lane = 0; lane < 32; lane++)
		r.address[lane] = random_number() % span * r.bytes % 60000 / r.bytes * r.bytes;
	return r;
}

TEST(sectors_and_lines_are_those_that_hold_a_touched_byte)
{
	for (int i = 0; i < 300; i++) {
		struct gw_request r = any_request();

		assert_int_equal(gw_request_sectors(&r), pieces_by_bytes(&r, 32));
		assert_int_equal(gw_request_pieces(&r, 128, NULL), pieces_by_bytes(&r, 128));
	}
}

TEST(an_unaligned_lane_touches_both_its_sectors)
{
	struct gw_request r = {.active = 2, .bytes = 8, .address = {0, 28}};
	uint64_t piece[GW_REQUEST_PIECES];

	assert_int_equal(gw_request_pieces(&r, 32, piece), 2);
	assert_int_equal(piece[0], 0);
	assert_int_equal(piece[1], 1);
}

TEST(pieces_come_in_rising_order)
{
	struct gw_request r = strided(0, 32, 4);
	uint64_t piece[GW_REQUEST_PIECES];

	for (unsigned lane = 0; lane < 32; lane++)
		r.address[lane] = (31 - lane) * 32;
	assert_int_equal(gw_request_pieces(&r, 32, piece), 32);
	for (unsigned i = 0; i < 32; i++)
		assert_int_equal(piece[i], i);
}

TEST(a_lane_past_the_address_space_is_not_valid)
{
	struct gw_request r = {.active = 1, .bytes = 4, .address = {UINT64_MAX - 3}};

	assert_false(gw_request_valid(&r));
	r.address[0] = UINT64_MAX - 4;
	assert_true(gw_request_valid(&r));
	r.bytes = 33;
	assert_false(gw_request_valid(&r));
}

TEST(bank_conflicts_are_words_of_a_phase_in_one_bank)
{
	for (int i = 0; i < 300; i++) {
		struct gw_request r = any_request();

		assert_int_equal(wavefronts(&r), passes_by_words(&r));
	}
}

TEST(known_strides_conflict_as_often_as_the_stride_and_32_have_in_common)
{
	static const unsigned expected[][2] = {{1, 1},   {2, 2},   {3, 1},  {4, 4},  {8, 8},
					       {16, 16}, {32, 32}, {33, 1}, {17, 1}, {0, 1}};

	for (unsigned i = 0; i < COUNT(expected); i++) {
		struct gw_request r = strided(4096, expected[i][0] * 4, 4);

		assert_int_equal(wavefronts(&r), expected[i][1]);
	}
}

/* Counted on the H200: coalescing/counted.csv of tests/gpu/h200.tar.xz, banks_*. */
TEST(patterns_of_every_width_take_the_passes_that_the_h200_counts)
{
	static const struct {
		unsigned bytes, stride, same, wavefronts, conflicts;
	} counted[] = {
		{1, 1, 1, 1, 0},    {1, 32, 1, 8, 7},   {2, 3, 1, 2, 1},     {2, 33, 1, 1, 0},
		{4, 1, 1, 1, 0},    {4, 32, 1, 32, 31}, {4, 16, 2, 8, 7},    {4, 8, 4, 2, 1},
		{8, 1, 1, 2, 0},    {8, 2, 1, 4, 2},    {8, 0, 1, 1, 0},     {8, 1, 2, 1, 0},
		{8, 16, 2, 16, 15}, {8, 8, 4, 4, 3},    {16, 1, 1, 4, 0},    {16, 4, 1, 16, 12},
		{16, 0, 1, 2, 0},   {16, 1, 4, 2, 0},   {16, 16, 2, 16, 14}, {16, 8, 4, 8, 6},
	};

	for (unsigned i = 0; i < COUNT(counted); i++) {
		struct gw_request r = {.active = UINT32_MAX, .bytes = counted[i].bytes};
		struct gw_shared_passes passes;

		for (unsigned lane = 0; lane < 32; lane++)
			r.address[lane] = lane / counted[i].same * counted[i].stride % (32 * 33) *
					  counted[i].bytes;
		gw_request_shared(&r, &passes);
		assert_int_equal(passes.wavefronts, counted[i].wavefronts);
		assert_int_equal(passes.conflicts, counted[i].conflicts);
	}
}

/* 16 doubles that both halves of a warp load, as of a tile: twice, as an H200 counts them. */
TEST(halves_of_a_warp_share_passes_in_pairs_of_lanes_only)
{
	struct gw_request r = {.active = UINT32_MAX, .bytes = 8};

	for (unsigned lane = 0; lane < 32; lane++)
		r.address[lane] = lane % 16 * 8;
	assert_int_equal(wavefronts(&r), 2);
	r.active = 0x55555555; /* none has a partner next to it */
	assert_int_equal(wavefronts(&r), 1);
}

/* Loads of a block through a cache, against a cache that is a plain list in order of use. */
static struct gw_arena arena;
static struct gw_replay replay;
static double under_way, apart;

static void begin(void)
{
	gw_arena_init(&arena, 64 << 20);
	assert_true(gw_replay_init(&replay, &arena));
}

/* One lane of warp @p warp loads 4 bytes at @p address, in up to two loops. */
static void load(uint32_t warp, uint64_t address, uint64_t outer, int64_t outer_step,
		 uint64_t inner, int64_t inner_step)
{
	struct gw_request r = {.active = 1, .bytes = 4, .address = {address}};
	struct gw_eval_access a = {
		.warp = warp,
		.repeats = inner   ? 2
			   : outer ? 1
				   : 0,
		.repeat = {{outer, outer_step, true}, {inner, inner_step, true}}};

	gw_replay_add(&replay, &a, &r);
}

static void expect(double capacity, double hits)
{
	assert_true(fabs(gw_replay_hits(&replay, capacity, &under_way) - hits) < 1e-9);
	apart = gw_replay_apart(&replay, 2);
	gw_arena_free(&arena);
}

TEST(hits_of_warps_in_step_are_under_way)
{
	begin();
	for (uint32_t w = 0; w < 4; w++)
		load(w, 0, 8, 32, 0, 0); /* the same eight sectors */
	load(4, 0, 8, 128, 0, 0);        /* the fifth before the others */
	expect(1 << 16, 26.0 / 40);
	assert_true(fabs(under_way - 22.0 / 26) < 1e-9);
	begin();
	load(0, 0, 8, 32, 0, 0);
	load(0, 0, 8, 32, 0, 0); /* a warp's own: there by then */
	expect(1 << 16, 0.5);
	assert_true(under_way == 0);
}

TEST(loads_of_one_round_hit_and_miss_together)
{
	begin();
	for (unsigned i = 0; i < 4; i++)
		load(0, i << 20, 64, 8, 0, 0);
	expect(1 << 16, 0.75);
	/* Of 256 loads 176 have hit after another that did. */
	assert_true(fabs(apart - log(176.5 / 256) / log(0.75)) < 1e-9);
}

TEST(a_step_that_is_not_known_tells_nothing)
{
	struct gw_request r = {.active = 1, .bytes = 4};
	struct gw_eval_access a = {.repeats = 1, .repeat = {{8, 0, false}}};

	begin();
	gw_replay_add(&replay, &a, &r);
	assert_true(isnan(gw_replay_hits(&replay, 1024, &under_way)));
	gw_arena_free(&arena);
}

TEST(a_table_that_fits_hits_from_its_second_round_on)
{
	begin();
	load(0, 0, 10, 0, 64, 32);
	expect(2048, 0.9);
}

TEST(a_table_one_line_too_long_never_hits_in_order_of_use)
{
	begin();
	load(0, 0, 10, 0, 17, 128);
	expect(16 * 128, 0);
}

TEST(neighbours_in_a_line_are_sectors_of_their_own)
{
	begin();
	/* 16 words of 4 bytes in two sectors. */
	load(0, 0, 16, 4, 0, 0);
	expect(1 << 16, 14.0 / 16);
}

TEST(iterations_of_a_loop_s_loads_alternate)
{
	begin();
	/* Two streams of 100 words through a cache of two lines: each has its own line. */
	load(0, 0, 128, 4, 0, 0);
	load(0, 1 << 20, 128, 4, 0, 0);
	expect(2 * 128, 7.0 / 8);
}

TEST(warps_go_in_step)
{
	begin();
	/* Both walk the same 64 lines; alone either would throw out what the other comes for. */
	load(0, 0, 64, 128, 0, 0);
	load(1, 0, 64, 128, 0, 0);
	expect(4 * 128, 0.5);
}

enum { LOADS = 3000, LINES = 24 };

/* The cache as a list, newest first. */
static double by_list(const uint64_t *address, unsigned count)
{
	uint64_t line[LINES];
	uint32_t sectors[LINES], used = 0;
	unsigned hits = 0;

	for (unsigned i = 0; i < count; i++) {
		uint64_t number = address[i] / 128;
		uint32_t bit = 1U << address[i] / 32 % 4, have = 0, at = 0;

		while (at < used && line[at] != number)
			at++;
		if (at < used)
			have = sectors[at];
		else if (used < LINES)
			at = used++;
		else
			at = LINES - 1;
		memmove(line + 1, line, at * sizeof(*line));
		memmove(sectors + 1, sectors, at * sizeof(*sectors));
		hits += (have & bit) != 0;
		line[0] = number;
		sectors[0] = have | bit;
	}
	return (double)hits / count;
}

TEST(any_loads_hit_as_in_a_plain_list)
{
	static uint64_t address[LOADS];
	uint64_t x = 88172645463325252;

	begin();
	for (unsigned i = 0; i < LOADS; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		address[i] = x % (i % 3 ? 16 << 7 : 64 << 7) / 4 * 4;
		load(0, address[i], 0, 0, 0, 0);
	}
	expect(LINES * 128, by_list(address, LOADS));
}

TEST(a_record_that_is_not_whole_tells_nothing)
{
	begin();
	assert_true(isnan(gw_replay_hits(&replay, 1024, &under_way)));
	for (unsigned i = 0; i <= GW_REPLAY_EVENTS; i++)
		load(0, i * 4, 0, 0, 0, 0);
	assert_true(isnan(gw_replay_hits(&replay, 1024, &under_way)));
	gw_arena_free(&arena);
}

TEST(an_endless_loop_is_cut)
{
	begin();
	load(0, 0, UINT64_MAX, 0, UINT64_MAX, 128);
	assert_true(gw_replay_hits(&replay, 1024, &under_way) == 0);
	gw_arena_free(&arena);
}

TESTS_MAIN()
