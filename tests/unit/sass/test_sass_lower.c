/*
 * address.cu, calls.cu, switching.cu and checked.cu of compiled.tar.xz as machine code of several
 * architectures, lowered and evaluated on arguments: the accesses and global addresses of every
 * thread are what the same loops give in C.
 */
#include "predictor/code/eval/eval.h"
#include "predictor/code/binary/kernel.h"
#include "predictor/code/memory/gather.h"
#include "predictor/code/sass/lower.h"
#include "tests/test.h"
#include "tests/unit/sass/sass_fixture.h"

enum { X = 0x10000000, Y = 0x7f00000 }; /* the arrays */

struct launch {
	struct gw_config config;
	uint8_t arguments[40];
	uint32_t bytes;
};

struct thread {
	int64_t tx, ty, bx, by, nx, ny, gx;
};

/* ---- the kernels in C ---- */

static void saxpy(struct tally *t, const struct thread *h)
{
	int64_t i = h->bx * h->nx + h->tx;

	if (i >= 1000)
		return;
	tally_load(t, X + 4 * (uint64_t)i);
	tally_load(t, Y + 4 * (uint64_t)i);
	tally_store(t, Y + 4 * (uint64_t)i);
}

static void strided(struct tally *t, const struct thread *h)
{
	for (int64_t k = h->bx * h->nx + h->tx; k < 3000; k += 700)
		tally_load(t, X + 4 * (uint64_t)(k * 3 + 1));
	tally_store(t, Y + 4 * (uint64_t)h->tx);
}

static void rectangle(struct tally *t, const struct thread *h)
{
	int64_t c = h->bx * h->nx + h->tx, r = h->by * h->ny + h->ty;

	if (c >= 45 || r >= 21)
		return;
	tally_load(t, X + 4 * (uint64_t)(r * 45 + c));
	tally_store(t, Y + 4 * (uint64_t)(c * 21 + r));
}

static void triangle(struct tally *t, const struct thread *h)
{
	int64_t i = h->bx * h->nx + h->tx;

	for (int64_t j = 0; j <= i && j < 77; j++)
		tally_load(t, X + 8 * (uint64_t)((i >> 2) * 77 + j));
	tally_store(t, Y + 8 * (uint64_t)i);
}

static void halving(struct tally *t, const struct thread *h)
{
	for (int64_t w = 100; w > 0; w >>= 1)
		if (h->tx < w)
			tally_load(t, X + 2 * (uint64_t)(w + h->tx));
	tally_store(t, Y + 4 * (uint64_t)(h->bx * 64 + (h->tx ^ 5)));
}

static void wide_index(struct tally *t, const struct thread *h)
{
	for (int64_t k = (h->bx * h->nx + h->tx) * 5; k < 4000; k += h->gx * h->nx * 5) {
		tally_load(t, X + (uint64_t)(k - (k >> 3)));
		tally_load(t, Y + 8 * (uint64_t)(k & 1023));
		tally_store(t, Y + 8 * (uint64_t)(k & 1023));
	}
}

static void clamped(struct tally *t, const struct thread *h)
{
	int64_t i = h->bx * h->nx + h->tx, at = i - 20 < 0 ? 0 : i - 20;

	at = at > 90 ? 90 : at;
	at = at & 1 ? at * 5 : at << 3 | 2;
	if (i % 3 == 1 && i <= 150)
		return;
	tally_load(t, X + 16 * (uint64_t)at);
	tally_store(t, Y + 16 * (uint64_t)i);
}

/* ---- launches ---- */

static void argument(struct launch *l, const void *value, uint32_t size)
{
	l->bytes = (l->bytes + size - 1) / size * size;
	memcpy(l->arguments + l->bytes, value, size);
	l->bytes += size;
}

static void pointers(struct launch *l)
{
	uint64_t y = Y, x = X;

	argument(l, &y, 8);
	argument(l, &x, 8);
}

static void int_argument(struct launch *l, int32_t value)
{
	argument(l, &value, 4);
}

static void long_argument(struct launch *l, int64_t value)
{
	argument(l, &value, 8);
}

/* calls.cu */

enum { STEP_OF = 4, STEP = 3 * STEP_OF + 1 };

static void stepping(struct tally *t, const struct thread *h)
{
	for (int64_t j = 0; j < STEP; j++)
		tally_store(t, Y + 4 * (uint64_t)(h->bx * h->nx + h->tx + STEP * j));
}

static void nested(struct tally *t, const struct thread *h)
{
	uint64_t i = (uint64_t)(h->bx * h->nx + h->tx);

	tally_load(t, X + 4 * (i + 3 * STEP + 9));
	tally_store(t, Y + 4 * i);
}

static const struct kernel {
	const char *name;
	void (*reference)(struct tally *t, const struct thread *h);
	uint32_t grid_x, grid_y, block_x, block_y;
} kernels[] = {
	{"saxpy", saxpy, 9, 1, 128, 1},        {"strided", strided, 3, 1, 96, 1},
	{"rectangle", rectangle, 3, 3, 16, 8}, {"triangle", triangle, 4, 1, 32, 1},
	{"halving", halving, 2, 1, 64, 1},     {"wide_index", wide_index, 2, 1, 64, 1},
	{"clamped", clamped, 3, 1, 64, 1},
};

static const struct kernel calling[] = {
	{"stepping", stepping, 3, 1, 96, 1},
	{"nested", nested, 3, 1, 64, 1},
};
static const struct kernel by_register = {"by_register", NULL, 1, 1, 32, 1};
static const struct kernel recursive = {"recursive", NULL, 1, 1, 32, 1};

static void fill(struct launch *l, const struct kernel *k)
{
	memset(l, 0, sizeof(*l));
	l->config = (struct gw_config){
		{k->grid_x, k->grid_y, 1}, {k->block_x, k->block_y, 1}, {1, 1, 1}, 0, 0};
	pointers(l);
	if (!strcmp(k->name, "saxpy")) {
		int_argument(l, 0x3f800000);
		int_argument(l, 1000);
	} else if (!strcmp(k->name, "strided")) {
		int_argument(l, 3000);
		int_argument(l, 700);
	} else if (!strcmp(k->name, "rectangle")) {
		int_argument(l, 45);
		int_argument(l, 21);
	} else if (!strcmp(k->name, "triangle")) {
		int_argument(l, 77);
	} else if (!strcmp(k->name, "halving")) {
		long_argument(l, 100);
	} else if (!strcmp(k->name, "wide_index")) {
		long_argument(l, 4000);
		int_argument(l, 5);
	} else if (!strcmp(k->name, "switching")) {
		int_argument(l, 1);
		int_argument(l, 6);
	} else if (strcmp(k->name, "clamped") != 0) {
		int_argument(l, STEP_OF);
	} else {
		int_argument(l, 150);
		int_argument(l, 20);
		int_argument(l, 90);
	}
}

/* ---- evaluation ---- */

static void reference(struct tally *t, const struct kernel *k)
{
	for (uint32_t by = 0; by < k->grid_y; by++)
		for (uint32_t bx = 0; bx < k->grid_x; bx++)
			for (uint32_t ty = 0; ty < k->block_y; ty++)
				for (uint32_t tx = 0; tx < k->block_x; tx++) {
					struct thread h = {tx,         ty,         bx,       by,
							   k->block_x, k->block_y, k->grid_x};

					k->reference(t, &h);
				}
}

static struct listing listing, calls;

static const struct listing_kernel *code_of(const struct kernel *k, unsigned sm)
{
	const struct listing_kernel *kernel;
	char name[64];

	snprintf(name, sizeof(name), "%s.%u", k->name, sm);
	kernel = listing_named(&listing, name);
	return kernel ? kernel : built_kernel(&calls, name);
}

/* The code of @p k in the evaluator's form. */
static void lower(struct built *b, struct gw_sass_lowered *out, const struct kernel *k, unsigned sm,
		  uint32_t param_bytes)
{
	struct gw_sass_kernel kernel = {
		.name = "test", .param_base = built_param_base(sm), .param_bytes = param_bytes};

	built_begin(b, code_of(k, sm), sm);
	assert_null(gw_sass_lower(out, &b->cfg, &kernel, &b->arena));
}

/* Check one kernel's code; true when every address was known. */
static bool check(const struct kernel *k, unsigned sm)
{
	struct tally ours = {.exact = true, .control = true}, theirs = {.exact = true};
	struct gw_sass_lowered lowered;
	struct launch l;
	struct built b;

	fill(&l, k);
	lower(&b, &lowered, k, sm, l.bytes);
	tally_launch(&ours, &lowered.program, &l.config, l.arguments, l.bytes);
	reference(&theirs, k);
	built_end(&b);
	if (ours.control) {
		assert_true(ours.loads == theirs.loads);
		assert_true(ours.stores == theirs.stores);
	}
	if (ours.exact) {
		assert_true(ours.load_sum == theirs.load_sum);
		assert_true(ours.store_sum == theirs.store_sum);
	}
	return ours.exact;
}

/* Numbers of the kernels and architectures (of 42) whose addresses are all known; where the
 * evaluator stands for iterations whose pointers it can't follow, it says so. */
enum { ALL_KNOWN = 32 };

TEST(what_is_known_is_what_the_source_does)
{
	static const unsigned architectures[] = {70, 75, 80, 90, 100, 120};
	unsigned known = 0;

	for (unsigned a = 0; a < COUNT(architectures); a++)
		for (unsigned k = 0; k < COUNT(kernels); k++)
			known += check(&kernels[k], architectures[a]);
	printf("every address known: %u of 42\n", known);
	assert_true(known >= ALL_KNOWN);
}

TEST(functions_that_are_called_are_followed)
{
	static const unsigned architectures[] = {75, 80, 90, 120};

	for (unsigned a = 0; a < COUNT(architectures); a++)
		for (unsigned k = 0; k < COUNT(calling); k++)
			if (!check(&calling[k], architectures[a]))
				fail_msg("%s on sm_%u", calling[k].name, architectures[a]);
}

static void switching(struct tally *t, const struct thread *h)
{
	static const int16_t offsets[4][4] = {
		{0}, {0, 1024}, {0, 1024, 2048}, {512, 1024, 2048, 3072}};
	enum { FIRST = 1, TURNS = 6 };

	for (int turn = 0; turn < TURNS; turn++) {
		uint64_t to = Y + 4 * (uint64_t)(4096 * turn + h->bx * h->nx + h->tx);
		int way = FIRST + turn;

		for (int i = 0; way < 4 && i <= way; i++)
			tally_store(t, to + 4 * (uint64_t)offsets[way][i]);
		if (way > 3)
			tally_store(t, to + 4 * 128);
	}
}

static void check_switch(unsigned sm)
{
	static const struct kernel about = {"switching", switching, 4, 1, 64, 1};
	struct tally ours = {.exact = true, .control = true}, theirs = {.exact = true};
	struct gw_sass_lowered lowered;
	struct launch l;
	struct built_file w;

	built_file_begin(&w, GW_SASS, "switching", about.name, sm);
	fill(&l, &about);
	assert_null(gw_sass_lower(&lowered, &w.cfg, &w.kernel, &w.arena));
	assert_false(lowered.indirect);
	tally_launch(&ours, &lowered.program, &l.config, l.arguments, l.bytes);
	reference(&theirs, &about);
	assert_true(ours.exact && ours.stores == theirs.stores);
	assert_true(ours.store_sum == theirs.store_sum);
	/* Without the tables it is not known where the jump goes. */
	w.kernel.tables = (struct gw_bytes){NULL, 0};
	assert_null(gw_sass_lower(&lowered, &w.cfg, &w.kernel, &w.arena));
	assert_true(lowered.indirect);
	built_file_end(&w);
}

TEST(a_switch_goes_where_its_table_says)
{
	static const unsigned architectures[] = {75, 80, 90, 120};

	for (unsigned a = 0; a < COUNT(architectures); a++)
		check_switch(architectures[a]);
}

static void checked(struct tally *t, const struct thread *h)
{
	for (int64_t i = h->bx * h->nx + h->tx; i < STEP_OF * 100; i += h->gx * h->nx) {
		tally_load(t, X + 4 * (uint64_t)i);
		if (i & 1)
			tally_store(t, Y + 4 * (uint64_t)i);
	}
}

/* What follows an assert() is analysed whatever its condition depends on: a launch that ends well
 * went on there. Without the relocations it is not known what is called. */
static void check_assert(unsigned sm)
{
	static const struct kernel about = {"checked", checked, 2, 1, 64, 1};
	struct tally ours = {.exact = true, .control = true}, theirs = {.exact = true};
	struct gw_sass_lowered lowered;
	struct launch l;
	struct built_file w;

	built_file_begin(&w, GW_SASS, "checked", about.name, sm);
	fill(&l, &about);
	memcpy(l.arguments + 16, &(int32_t){STEP_OF * 100}, 4);
	assert_null(gw_sass_lower(&lowered, &w.cfg, &w.kernel, &w.arena));
	assert_null(lowered.calls);
	tally_launch(&ours, &lowered.program, &l.config, l.arguments, l.bytes);
	reference(&theirs, &about);
	assert_true(ours.exact && ours.stores == theirs.stores && ours.loads == theirs.loads);
	assert_true(ours.store_sum == theirs.store_sum && ours.load_sum == theirs.load_sum);
	w.kernel.outside_count = 0;
	assert_null(gw_sass_lower(&lowered, &w.cfg, &w.kernel, &w.arena));
	assert_string_equal(lowered.calls,
			    "a function is called by a register, so which one is not known");
	built_file_end(&w);
}

TEST(a_failed_assert_is_no_way_on)
{
	static const unsigned architectures[] = {75, 80, 90, 120};

	for (unsigned a = 0; a < COUNT(architectures); a++)
		check_assert(architectures[a]);
}

TEST(another_function_of_the_driver_s_is_not_followed)
{
	struct gw_sass_lowered lowered;
	struct built_file w;

	built_file_begin(&w, GW_SASS, "checked", "telling", 90);
	assert_null(gw_sass_lower(&lowered, &w.cfg, &w.kernel, &w.arena));
	assert_string_equal(lowered.calls, "a function of the driver's is called, as by printf");
	built_file_end(&w);
}

static void left_out(const struct kernel *kernel, const char *why)
{
	struct gw_sass_lowered lowered;
	struct built b;

	lower(&b, &lowered, kernel, 90, 20);
	assert_non_null(lowered.calls);
	assert_string_equal(lowered.calls, why);
	built_end(&b);
}

TEST(functions_that_are_left_out_are_said_to_be_and_why)
{
	left_out(&recursive, "a function that calls itself is not followed");
	left_out(&by_register, "a function is called by a register, so which one is not known");
}

TEST(arguments_that_are_not_given_leave_control_unknown)
{
	struct tally t = {.exact = true};
	struct gw_sass_lowered lowered;
	struct launch l;
	struct built b;

	fill(&l, &kernels[1]);
	lower(&b, &lowered, &kernels[1], 90, l.bytes);
	l.bytes = 16; /* the pointers alone */
	tally_launch(&t, &lowered.program, &l.config, l.arguments, l.bytes);
	assert_false(t.exact);
	built_end(&b);
}

static int read_listing(void **state)
{
	listing_read(&listing, GW_SASS "/address.lst");
	listing_read(&calls, GW_SASS "/calls.lst");
	return 0;
}

static int free_listing(void **state)
{
	listing_free(&listing);
	listing_free(&calls);
	return 0;
}

static void lower_code(struct gw_sass_lowered *l, const void *code, size_t size,
		       struct gw_arena *arena)
{
	const struct gw_sass_kernel kernel = {.name = ""};
	struct gw_fault fault;
	struct gw_cfg cfg;

	gw_arena_init(arena, 64 << 20);
	assert_true(gw_cfg_build(&cfg, (struct gw_bytes){code, size}, 90, arena, &fault));
	assert_null(gw_sass_lower(l, &cfg, &kernel, arena));
}

/* The one access of @p code. */
static struct gw_gather_access access_of(const uint64_t *code, size_t bytes, struct gw_dim3 grid,
					 uint32_t threads, uint32_t cluster)
{
	const struct gw_eval_launch launch = {
		.config = {.grid = grid, .block = {threads, 1, 1}, .cluster = {cluster, 1, 1}}};
	struct gw_gather_access a;
	struct gw_sass_lowered l;
	struct gw_arena arena;
	struct gw_gather g;

	lower_code(&l, code, bytes, &arena);
	assert_null(gw_gather_run(&l.program, &launch, NULL, &arena, &g));
	assert_int_equal(g.count, 1);
	a = g.access[0];
	gw_arena_free(&arena);
	return a;
}

#define LDSM_R3_EXIT 0x300783b, 0x1fe70000000000, 0x794d, 0xfea0003800000

/* R3 = tid.x; R3 = 16 R3, or 1.0f's bits times it; FCHK P0, R3, R0; LDSM R4, [R3]. */
static struct gw_gather_access matrix(uint64_t times, uint64_t check, uint64_t guard, uint64_t how)
{
	uint64_t code[] = {0x37919, 0xe240000002100, 0x3037824,   0x1fca00078e02ff,
			   check,   0xe620000000000, LDSM_R3_EXIT};

	code[2] |= times << 32;
	code[6] ^= (7 ^ guard) << 12;
	code[7] |= how;
	return access_of(code, sizeof(code), (struct gw_dim3){1, 1, 1}, 32, 1);
}

/* Rows of 16 bytes side by side; .MT88 has the bit that scales an address of LDS. */
TEST(matrices_take_a_pass_each_for_rows_that_lanes_give)
{
	enum { NOP = 0x7918, ALWAYS = 7, M88 = 0, MT88 = 0x4000, TWO = 0x100, FOUR = 0x200 };

	assert_true(matrix(16, NOP, ALWAYS, M88).wavefronts == 1);
	assert_true(matrix(16, NOP, ALWAYS, MT88 | TWO).wavefronts == 2);
	assert_true(matrix(16, NOP, ALWAYS, MT88 | FOUR).wavefronts == 4);
	assert_true(matrix(128, NOP, ALWAYS, FOUR).wavefronts == 32);
}

TEST(a_dividend_of_zero_is_not_for_the_short_way)
{
	struct gw_gather_access a = matrix(0x3f800000, 0x3007302, 0, 0x200);

	assert_true(a.requests == 1 && a.lanes == 1 && a.maybe == 0);
}

/* How many instructions @p op one of machine code becomes. */
static unsigned becomes(uint64_t low, uint64_t high, enum gw_ir_op op)
{
	const uint64_t code[] = {low, high, 0x794d, 0xfea0003800000};
	struct gw_sass_lowered l;
	struct gw_arena arena;
	unsigned found = 0;

	lower_code(&l, code, sizeof(code), &arena);
	for (uint32_t i = 0; i < l.program.insn_count; i++)
		found += l.program.insns[i].op == op;
	gw_arena_free(&arena);
	return found;
}

/* VIMNMX, the greatest of two, and with .RELU. */
TEST(what_is_zero_at_least_is_no_greatest_of_two)
{
	assert_int_equal(becomes(0x700077248, 0x4fca0007fe0100, IR_MAXS), 1);
	assert_int_equal(becomes(0x700077248, 0x4fca0007fe1100, IR_MAXS), 0);
}

/* VIMNMX3 R5, R3, R7, R4, PT */
TEST(the_least_of_three_is_that_of_two_twice)
{
	assert_int_equal(becomes(0x70305720f, 0xfe20003800104, IR_MINS), 2);
}

/* R2 = 0xc0; SGXT R4, R2, 8 (-64); LEA R3, R2, -R4, 1; LEA.HI R3, R2, R3, 0, 30; [R3]. */
TEST(a_part_of_a_word_and_shifts_with_a_negated_term_are_known)
{
	static const uint64_t code[] = {0xc000027802,    0xfe40000000f00,    0x80204781a,
					0xfc80000000200, 0x8000000402037211, 0xfc800078e08ff,
					0x2037411,       0xfe200078ff003,    LDSM_R3_EXIT};

	assert_int_equal(access_of(code, sizeof(code), (struct gw_dim3){1, 1, 1}, 1, 1).low,
			 2 * 0xc0 + 64 + (0xc0 >> 2));
}

/* As an H200's driver (580.159.04) has them; R3 = 16 times the word; [R3]. */
TEST(constants_of_clusters_are_known)
{
	static const uint32_t of[][3] = {
		{0x140, 1, 0}, {0x140, 3, 1},          {0x144, 3, 3},
		{0x148, 3, 1}, {0x150, 7, 0x3e124925}, {0x150, 3, 0x3eaaaaab},
		{0x15c, 3, 7}, {0x160, 3, 4},          {0x188, 3, 3}};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		const uint64_t code[] = {(uint64_t)of[i][0] << 38 | 0xff037b82, 0xe240000000800,
					 0x1003037824, 0x1fca00078e02ff, LDSM_R3_EXIT};

		assert_int_equal(
			access_of(code, sizeof(code), (struct gw_dim3){21, 4, 1}, 1, of[i][1]).low,
			16 * of[i][2]);
	}
}

TESTS_MAIN(read_listing, free_listing)
