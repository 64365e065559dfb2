/*
 * arguments.cu of compiled.tar.xz as machine code of several architectures, evaluated on arguments:
 * accesses and addresses of every thread are what the same loops give in C, though tables of
 * arguments, quotients of 64 bits, floats and what other lanes have decide them.
 */
#include "tests/test.h"
#include "tests/unit/sass/sass_fixture.h"

enum { X = 0x10000000, Y = 0x7f00000, BLOCK = 64, GRID = 4, WARP = 32 };

/* All arguments that any of the kernels has, each at its place. */
struct arguments {
	uint64_t y, x;
	union {
		struct {
			uint8_t which[8];
			int16_t rounds[4];
			int64_t at[4];
			int32_t wide[2][4];
		} table;
		struct {
			uint64_t begin, by;
			int64_t less;
		} divided;
		uint64_t carried[3];
		struct {
			float alpha, beta;
			int32_t n;
		} factors;
		struct {
			double alpha, beta;
			int32_t n;
		} weighed;
		struct {
			int32_t least, by;
		} told;
		int32_t rounds;
	};
};

static const struct arguments tabled_on = {
	.y = Y,
	.x = X,
	.table = {.which = {2, 0, 3, 1},
		  .rounds = {3, 700, -2, 12},
		  .at = {4096, 1 << 20, -64, 77},
		  .wide = {{1, 2, 300, 4}, {5, 6, -700, 8}}},
};

static void tabled(struct tally *t, const struct arguments *a, int64_t block, int64_t thread)
{
	int which = a->table.which[block];

	for (int64_t i = 0; i < a->table.rounds[which]; i++)
		tally_store(t, Y + 4 * (uint64_t)(a->table.at[which] + a->table.wide[block & 1][2] +
						  thread + 64 * i));
}

static const struct arguments divided_on = {
	.y = Y,
	.x = X,
	.divided = {.begin = UINT64_C(0x123456789abcdef),
		    .by = UINT64_C(0x123456789ab),
		    .less = INT64_C(0x223456789abcdef)},
};

static void divided(struct tally *t, const struct arguments *a, int64_t block, int64_t thread)
{
	uint64_t i = a->divided.begin + (uint64_t)(block * BLOCK + thread);

	tally_store(t, Y + 4 * (i / a->divided.by));
	tally_store(t, Y + 4 * (i % a->divided.by));
	tally_store(t, Y + 4 * (uint64_t)(4096 + ((int64_t)i - a->divided.less) / 7919 % 1000));
}

static const struct arguments carried_on = {
	.y = Y,
	.x = X,
	.carried = {UINT64_C(0x1fffffff0), UINT64_C(0x2ffffffe0), UINT64_C(0x500000040)},
};

static void carried(struct tally *t, const struct arguments *a, int64_t block, int64_t thread)
{
	uint64_t i = (uint64_t)(block * BLOCK + thread), sum = a->carried[0] + a->carried[1] + i;

	if (sum > a->carried[2])
		tally_store(t, Y + 4 * (sum >> 32 & 1023));
	tally_store(t, Y + 4 * (2048 + ((a->carried[2] - a->carried[1] - i) >> 30 & 1023)));
}

static const struct arguments factors_on = {
	.y = Y, .x = X, .factors = {.alpha = 0.75f, .beta = 2, .n = 100}};
static const struct arguments no_factors_on = {
	.y = Y, .x = X, .factors = {.alpha = 1.3f, .beta = 0, .n = 7}};

static void factors(struct tally *t, const struct arguments *a, int64_t block, int64_t thread)
{
	int64_t i = block * BLOCK + thread;
	float alpha = a->factors.alpha, beta = a->factors.beta;
	int64_t most = (int64_t)fmaf(alpha, (float)i, 0.5f);

	if (beta < 0 || beta > 0)
		tally_load(t, X + 4 * (uint64_t)i);
	if (fabsf(alpha - 1.25f) > 0.125f && fminf(alpha, beta) <= beta)
		tally_load(t,
			   X + 4 * (uint64_t)(i + 512 + (int64_t)floorf(alpha * (float)(i - 40))));
	for (int64_t j = 0; j < most && j < a->factors.n; j++)
		tally_load(t, X + 4 * (uint64_t)(1024 + 32 * j));
	tally_store(t, Y + 4 * (uint64_t)i);
}

static const struct arguments weighed_on = {
	.y = Y, .x = X, .weighed = {.alpha = 0.1, .beta = 3.7, .n = 9}};

static void weighed(struct tally *t, const struct arguments *a, int64_t block, int64_t thread)
{
	int64_t i = block * BLOCK + thread;
	double alpha = a->weighed.alpha, beta = a->weighed.beta, w = fma(alpha, (double)i, -beta);
	int64_t most = (int64_t)ceil(fabs(w) * 0.125), round = 0;

	if (w > beta && w < fma(3, beta, 1))
		tally_load(t, X + 4 * (uint64_t)i);
	if ((float)w < 2.5F)
		tally_load(t, X + 4 * (uint64_t)(512 + (int64_t)floor(w + 1000.25)));
	for (int64_t j = 0; j < most && j < a->weighed.n; j++)
		tally_load(t, X + 4 * (uint64_t)(4096 + 32 * j));
	for (double d = -beta; d < 1 - alpha; d += alpha)
		tally_load(t, X + 4 * (uint64_t)(8192 + 64 * round++ + i));
	tally_store(t, Y + 4 * (uint64_t)(w * w));
}

static const struct arguments told_on = {.y = Y, .x = X, .told = {.least = 123, .by = 3}};

/* What the lane gets by the first exchange. */
static int64_t exchanged(int64_t thread, int64_t by)
{
	int64_t lane = thread % WARP;

	return 3 * (thread - lane + (lane ^ by));
}

static void told(struct tally *t, const struct arguments *a, int64_t block, int64_t thread)
{
	int64_t lane = thread % WARP, first = thread - lane, least = a->told.least, by = a->told.by;
	int64_t above = lane + 4 < WARP ? thread + 4 : thread, ones = 0, leading = 0;
	uint32_t those = 0, mirrored = 0;
	bool any = false;

	(void)block;
	for (int64_t i = 0; i < WARP; i++) {
		bool is = (first + i) * by > least;

		those |= (uint32_t)is << i;
		mirrored |= (uint32_t)is << (WARP - 1 - i);
		ones += is;
		any = any || exchanged(first + i, by) == least;
	}
	tally_store(t, Y + 4 * (uint64_t)(exchanged(thread, by) + exchanged(above, by)));
	if (any)
		tally_store(t, Y + 4 * (uint64_t)(1024 + ones + lane));
	leading = those ? __builtin_clz(those) : WARP;
	if (lane == (those ? __builtin_ctz(those) : -1))
		tally_store(t, Y + 4 * (uint64_t)(2048 + leading + thread));
	tally_store(t, Y + 4 * (uint64_t)(3072 + (mirrored >> 20)));
}

static const struct arguments rounds_on = {.y = Y, .x = X, .rounds = 37};

static void copied(struct tally *t, const struct arguments *a, int64_t block, int64_t thread)
{
	(void)block;
	for (int64_t i = 0; i < a->rounds; i++) {
		tally_load(t, X + 16 * (uint64_t)(64 * i + thread));
		tally_store(t, Y + 4 * (uint64_t)(64 * i + thread));
	}
}

static void awaited(struct tally *t, const struct arguments *a, int64_t block, int64_t thread)
{
	(void)block;
	for (int64_t i = 0; i < a->rounds; i++)
		tally_store(t, Y + 4 * (uint64_t)(64 * i + thread));
}

/* What must be known of it beside counts: that every address is known, that it waits. */
enum { COUNTS = 0, ADDRESSES = 1, WAITS = 2 };

/* Lower and evaluate the kernel, and hold it against @p reference. */
static void check(const char *name, unsigned sm, const struct arguments *on,
		  void (*reference)(struct tally *, const struct arguments *, int64_t, int64_t),
		  int known)
{
	const struct gw_config config = {{GRID, 1, 1}, {BLOCK, 1, 1}, {1, 1, 1}, 0, 0};
	struct tally ours = {.exact = true, .control = true}, theirs = {.exact = true};
	struct gw_sass_lowered lowered;
	struct built_file b;

	built_file_begin(&b, GW_SASS, "arguments", name, sm);
	assert_null(gw_sass_lower(&lowered, &b.cfg, &b.kernel, &b.arena));
	tally_launch(&ours, &lowered.program, &config, (const uint8_t *)on, sizeof(*on));
	for (int64_t block = 0; block < GRID; block++)
		for (int64_t thread = 0; thread < BLOCK; thread++)
			reference(&theirs, on, block, thread);
	if (!ours.control || ours.awaits != !!(known & WAITS) || (!ours.exact && known & ADDRESSES))
		fail_msg("%s on sm_%u: control %d, addresses %d, waits %d", name, sm, ours.control,
			 ours.exact, ours.awaits);
	if (ours.loads != theirs.loads || ours.stores != theirs.stores ||
	    (ours.exact && ours.load_sum != theirs.load_sum) ||
	    (ours.exact && ours.store_sum != theirs.store_sum))
		fail_msg("%s on sm_%u: %lu loads, %lu stores, not %lu and %lu; or other addresses",
			 name, sm, (unsigned long)ours.loads, (unsigned long)ours.stores,
			 (unsigned long)theirs.loads, (unsigned long)theirs.stores);
	built_file_end(&b);
}

/* On sm_75 what is added to a uniform base isn't known. */
static const unsigned architectures[] = {75, 80, 90, 120};
#define KNOWN(sm) ((sm) == 75 ? COUNTS : ADDRESSES)

#define EACH(a) \
	for (const unsigned *a = architectures; a < architectures + COUNT(architectures); a++)

TEST(tables_of_arguments_are_read_by_an_index)
{
	EACH(sm)
	check("tabled", *sm, &tabled_on, tabled, KNOWN(*sm));
}

TEST(quotients_of_64_bits_are_known)
{
	EACH(sm)
	check("divided", *sm, &divided_on, divided, *sm == 120 ? COUNTS : KNOWN(*sm));
}

TEST(carries_of_several_terms_are_known)
{
	EACH(sm)
	check("carried", *sm, &carried_on, carried, KNOWN(*sm));
}

TEST(floats_decide)
{
	/* Of rounds that are stood for the pointers aren't followed. */
	EACH(sm)
	check("factors", *sm, &factors_on, factors, COUNTS);
	check("factors", 80, &no_factors_on, factors, ADDRESSES);
	check("factors", 90, &no_factors_on, factors, ADDRESSES);
}

TEST(doubles_decide)
{
	EACH(sm)
	check("weighed", *sm, &weighed_on, weighed, COUNTS);
}

TEST(lanes_tell_each_other)
{
	EACH(sm)
	check("told", *sm, &told_on, told, KNOWN(*sm));
}

TEST(copies_past_registers_are_loads)
{
	check("copied", 80, &rounds_on, copied, COUNTS);
	check("copied", 90, &rounds_on, copied, COUNTS);
}

TEST(a_wait_for_an_mbarrier_ends)
{
	check("awaited", 90, &rounds_on, awaited, WAITS);
	check("awaited", 120, &rounds_on, awaited, WAITS);
}

TESTS_MAIN()
