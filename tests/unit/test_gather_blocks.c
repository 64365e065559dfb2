/* What is gathered of launches whose blocks, or iterations, do not all do the same, and of those of
 * which data decide something. */
#include "predictor/code/memory/gather.h"
#include "predictor/code/static_work.h"

#include "ir_kernel.h"
#include "tests/test.h"

static uint64_t arguments[IR_KERNEL_PARAMS] = {0x10000000, 0x20000000};

static void run(struct ir_kernel *k, uint32_t blocks, uint32_t threads, struct gw_gather *g)
{
	const struct gw_eval_launch launch = {
		.config = {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .cluster = {1, 1, 1}},
		.arguments = {(const uint8_t *)arguments, sizeof(arguments)}};

	assert_null(gw_ir_finish(&k->b));
	assert_null(gw_gather_run(&k->b.program, &launch, NULL, &k->arena, g));
}

/* Block @p apart loads every 32nd word, each other block neighbouring ones. */
static void build_block_apart(struct ir_kernel *k, uint64_t apart)
{
	gw_ir_operand index, at, first;

	ir_begin(k);
	at = ir_thread_offset(k, &index);
	first = gw_ir_emit(&k->b, IR_CMP, 32, IR_COND_EQ, gw_ir_reg(&k->b, 1), 2,
			   ir_special(k, IR_SREG_CTAID_X), ir_number(k, apart));
	gw_ir_end_branch(&k->b, first, false, 1, 2);
	gw_ir_block_open(&k->b);
	at = ir_op(k, IR_MUL, 64, 64, at, ir_number(k, 32));
	ir_load(k, IR_SPACE_GLOBAL, ir_op(k, IR_ADD, 64, 64, ir_param(k, 0), at), 0);
	gw_ir_end_jump(&k->b, 3);
	gw_ir_block_open(&k->b);
	at = ir_thread_offset(k, &index);
	ir_load(k, IR_SPACE_GLOBAL, ir_op(k, IR_ADD, 64, 64, ir_param(k, 0), at), 0);
	gw_ir_end_jump(&k->b, 3);
	gw_ir_block_open(&k->b);
	gw_ir_end_exit(&k->b);
}

TEST(requests_weigh_as_often_as_the_grid_makes_them)
{
	struct gw_locality_hits hits;
	struct ir_kernel k;
	struct gw_gather g;

	build_block_apart(&k, 0);
	run(&k, 600, 64, &g);
	assert_true(g.whole);
	assert_true(g.access[0].coalescing.requests == 2);
	assert_true(g.access[0].coalescing.sectors == 2 * 32);
	assert_true(g.access[1].coalescing.requests == 2 * 599);
	assert_true(g.access[1].coalescing.sectors == 2 * 599 * 4);
	gw_locality_l1(g.locality, &hits);
	assert_true(fabs(hits.demanded - (2 * 32 + 599 * 8) / 600.0) < 0.01);
	gw_arena_free(&k.arena);
}

/* Where data say the address, it is still known who takes part. */
TEST(lanes_of_requests_without_an_address_are_counted)
{
	gw_ir_operand index, at, few;
	struct ir_kernel k;
	struct gw_gather g;

	ir_begin(&k);
	at = ir_thread_offset(&k, &index);
	few = gw_ir_emit(&k.b, IR_CMP, 32, IR_COND_LTU, gw_ir_reg(&k.b, 1), 2,
			 ir_special(&k, IR_SREG_TID_X), ir_number(&k, 3));
	gw_ir_end_branch(&k.b, few, false, 1, 2);
	gw_ir_block_open(&k.b);
	at = ir_load(&k, IR_SPACE_GLOBAL, ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 0), at), 0);
	at = gw_ir_emit(&k.b, IR_ZEXT, 32, 0, gw_ir_reg(&k.b, 64), 1, at);
	ir_load(&k, IR_SPACE_GLOBAL, ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 1), at), 0);
	gw_ir_end_jump(&k.b, 2);
	gw_ir_block_open(&k.b);
	gw_ir_end_exit(&k.b);
	run(&k, 4, 32, &g);
	assert_true(g.access[1].uncounted > 0 && g.access[1].requests == 0);
	assert_true(gw_gather_lanes(&g.access[0]) == 3);
	assert_true(gw_gather_lanes(&g.access[1]) == 3);
	gw_arena_free(&k.arena);
}

TEST(an_instruction_of_one_block_is_looked_at_there)
{
	struct ir_kernel k;
	struct gw_gather g;
	uint32_t seen = 0;

	build_block_apart(&k, 77);
	run(&k, 600, 64, &g);
	for (uint32_t b = 0; b < g.locality->block_count; b++)
		seen += g.locality->block[b].x == 77;
	assert_int_equal(seen, 1);
	assert_true(g.access[0].coalescing.requests == 2);
	gw_arena_free(&k.arena);
}

enum { ROUNDS = 32, THREADS = 64, LANES = 32, WORDS = 4096 };
enum uneven { GROWING, TURNED, SQUARED, KINDS };

/* for (r = 1; r <= rounds; r++): a word of memory, and one of shared memory, at i * r, i ^ 5 r or
 * i + r * r, i being the thread. */
static void build_uneven(struct ir_kernel *k, enum uneven kind, uint64_t rounds)
{
	gw_ir_operand index, round, place, at, test;
	uint32_t body;

	ir_begin(k);
	ir_thread_offset(k, &index);
	round = gw_ir_reg(&k->b, 32);
	gw_ir_emit(&k->b, IR_MOV, 32, 0, round, 1, ir_number(k, 1));
	body = gw_ir_block_open(&k->b);
	if (kind == GROWING)
		place = ir_op(k, IR_MUL, 32, 32, index, round);
	else if (kind == TURNED)
		place = ir_op(k, IR_XOR, 32, 32, index,
			      ir_op(k, IR_MUL, 32, 32, round, ir_number(k, 5)));
	else
		place = ir_op(k, IR_ADD, 32, 32, index, ir_op(k, IR_MUL, 32, 32, round, round));
	at = ir_op(k, IR_MULWU, 32, 64, place, ir_number(k, 4));
	ir_load(k, IR_SPACE_GLOBAL, ir_op(k, IR_ADD, 64, 64, ir_param(k, 0), at), 0);
	place = ir_op(k, IR_AND, 32, 32, place, ir_number(k, WORDS - 1));
	ir_load(k, IR_SPACE_SHARED, ir_op(k, IR_MULWU, 32, 64, place, ir_number(k, 4)), 0);
	gw_ir_emit(&k->b, IR_ADD, 32, 0, round, 2, round, ir_number(k, 1));
	test = gw_ir_emit(&k->b, IR_CMP, 32, IR_COND_LEU, gw_ir_reg(&k->b, 1), 2, round,
			  ir_number(k, rounds));
	gw_ir_end_branch(&k->b, test, false, body, body + 1);
	gw_ir_block_open(&k->b);
	gw_ir_end_exit(&k->b);
}

static uint32_t place_of(enum uneven kind, uint32_t thread, uint32_t round)
{
	return kind == GROWING  ? thread * round
	       : kind == TURNED ? thread ^ 5 * round
				: thread + round * round;
}

/* How many different numbers of @p n there are. */
static unsigned distinct(const uint32_t *number, unsigned n)
{
	unsigned count = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned j = 0;

		while (j < i && number[j] != number[i])
			j++;
		count += i == j;
	}
	return count;
}

/* Passes of one request: the fullest bank's words. */
static unsigned passes(const uint32_t word[LANES])
{
	unsigned most = 0;

	for (uint32_t bank = 0; bank < 32; bank++) {
		uint32_t of_bank[LANES];
		unsigned n = 0, words;

		for (unsigned lane = 0; lane < LANES; lane++)
			if (word[lane] % 32 == bank)
				of_bank[n++] = word[lane];
		words = distinct(of_bank, n);
		most = words > most ? words : most;
	}
	return most;
}

/* One block, every lane of every iteration put in. */
TEST(iterations_that_are_not_alike_are_counted_one_by_one)
{
	for (enum uneven kind = GROWING; kind < KINDS; kind++) {
		unsigned sectors = 0, shared = 0;
		struct ir_kernel k;
		struct gw_gather g;

		for (uint32_t warp = 0; warp < THREADS / LANES; warp++)
			for (uint32_t round = 1; round <= ROUNDS; round++) {
				uint32_t sector[LANES], word[LANES];

				for (uint32_t lane = 0; lane < LANES; lane++) {
					uint32_t at = place_of(kind, LANES * warp + lane, round);

					sector[lane] = at / 8;
					word[lane] = at % WORDS;
				}
				sectors += distinct(sector, LANES);
				shared += passes(word);
			}
		build_uneven(&k, kind, ROUNDS);
		run(&k, 1, THREADS, &g);
		assert_true(g.access[0].coalescing.sectors == sectors);
		assert_true(g.access[1].wavefronts == shared);
		assert_true(g.access[0].assumed == 0);
		gw_arena_free(&k.arena);
	}
}

/* Counts are exact, shapes those of one iteration, and said to be. */
TEST(a_long_loop_that_is_not_alike_is_stood_for)
{
	struct ir_kernel k;
	struct gw_gather g;

	build_uneven(&k, GROWING, 1000000);
	run(&k, 1, THREADS, &g);
	assert_true(g.access[0].runs.least == 2000000);
	assert_true(g.access[0].assumed > 0);
	assert_true(g.report.steps < 1000);
	gw_arena_free(&k.arena);
}

/* A kernel that takes pieces of work, with more branches and registers than its search may see. */
TEST(a_search_for_pieces_that_finds_no_room_is_left_out)
{
	enum { BRANCHES = 2000, REGISTERS = 500, ROOM = 12 << 20 };
	const struct gw_eval_launch launch = {
		.config = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .cluster = {1, 1, 1}},
		.arguments = {(const uint8_t *)arguments, sizeof(arguments)}};
	struct gw_ir_insn
		copy = {.op = IR_LD, .space = IR_SPACE_GLOBAL, .flags = IR_MEM_BULK, .elements = 1},
		add = {.op = IR_ATOM, .space = IR_SPACE_GLOBAL, .width = 4, .elements = 1};
	gw_ir_operand uses[3], test;
	struct gw_arena arena;
	struct ir_kernel k;

	ir_begin(&k);
	uses[0] = ir_param(&k, 0);
	uses[1] = ir_number(&k, 0);
	uses[2] = ir_number(&k, 16);
	gw_ir_append(&k.b, copy, NULL, 0, uses, 3);
	test = gw_ir_reg(&k.b, 32);
	gw_ir_append(&k.b, add, &test, 1, uses, 3);
	for (unsigned i = 0; i < REGISTERS; i++) {
		gw_ir_operand twice = gw_ir_reg(&k.b, 32);

		gw_ir_emit(&k.b, IR_MOV, 32, 0, twice, 1, uses[1]);
		gw_ir_emit(&k.b, IR_MOV, 32, 0, twice, 1, uses[2]);
	}
	for (unsigned i = 0; i < BRANCHES; i++) {
		uint32_t next = gw_ir_block_new(&k.b), end = gw_ir_block_new(&k.b);

		test = gw_ir_emit(&k.b, IR_CMP, 32, IR_COND_EQ, gw_ir_reg(&k.b, 1), 2,
				  ir_special(&k, IR_SREG_TID_X), ir_number(&k, i));
		gw_ir_end_branch(&k.b, test, false, end, next);
		gw_ir_block_start(&k.b, end);
		gw_ir_end_jump(&k.b, next);
		gw_ir_block_start(&k.b, next);
	}
	gw_ir_end_exit(&k.b);
	k.b.program.from_sass = true;
	assert_null(gw_ir_finish(&k.b));
	gw_arena_init(&arena, ROOM);
	assert_non_null(gw_eval_new(&k.b.program, &launch, NULL, &arena));
	assert_false(arena.refused);
	gw_arena_free(&arena);
	gw_arena_free(&k.arena);
}

/* A loop of @p rounds, one in which all of @p count registers grow. */
static void grow(struct ir_kernel *k, gw_ir_operand *value, unsigned count, uint64_t rounds)
{
	gw_ir_operand i = gw_ir_reg(&k->b, 32), test;
	uint32_t loop = gw_ir_block_new(&k->b), next = gw_ir_block_new(&k->b);

	gw_ir_emit(&k->b, IR_MOV, 32, 0, i, 1, ir_number(k, 0));
	gw_ir_end_jump(&k->b, loop);
	gw_ir_block_start(&k->b, loop);
	for (unsigned n = 0; n < count; n++) {
		gw_ir_emit(&k->b, IR_ADD, 64, 0, value[n], 2, value[n], ir_number(k, 4));
		ir_load(k, IR_SPACE_GLOBAL, value[n], 0);
	}
	gw_ir_emit(&k->b, IR_ADD, 32, 0, i, 2, i, ir_number(k, 1));
	test = gw_ir_emit(&k->b, IR_CMP, 32, IR_COND_LTU, gw_ir_reg(&k->b, 1), 2, i,
			  ir_number(k, rounds));
	gw_ir_end_branch(&k->b, test, false, loop, next);
	gw_ir_block_start(&k->b, next);
}

/* What of two loops the first one was given stays its own where the second one's is refused. */
TEST(loops_with_little_memory_do_no_harm)
{
	enum { VALUES = 64, LEAST = 16 << 10, MOST = 512 << 10, STEP = 1 << 10 };
	const struct gw_eval_launch launch = {
		.config = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .cluster = {1, 1, 1}},
		.arguments = {(const uint8_t *)arguments, sizeof(arguments)}};
	gw_ir_operand value[VALUES], i, test;
	struct ir_kernel k;
	uint32_t outer, end;
	unsigned done = 0;

	ir_begin(&k);
	i = gw_ir_reg(&k.b, 32);
	gw_ir_emit(&k.b, IR_MOV, 32, 0, i, 1, ir_number(&k, 0));
	for (unsigned n = 0; n < VALUES; n++) {
		value[n] = gw_ir_reg(&k.b, 64);
		gw_ir_emit(&k.b, IR_MOV, 64, 0, value[n], 1, ir_param(&k, 0));
	}
	outer = gw_ir_block_new(&k.b);
	end = gw_ir_block_new(&k.b);
	gw_ir_end_jump(&k.b, outer);
	gw_ir_block_start(&k.b, outer);
	grow(&k, value, 1, 100);
	grow(&k, value, VALUES, 100);
	gw_ir_emit(&k.b, IR_ADD, 32, 0, i, 2, i, ir_number(&k, 1));
	test = gw_ir_emit(&k.b, IR_CMP, 32, IR_COND_LTU, gw_ir_reg(&k.b, 1), 2, i,
			  ir_number(&k, 4));
	gw_ir_end_branch(&k.b, test, false, outer, end);
	gw_ir_block_start(&k.b, end);
	gw_ir_end_exit(&k.b);
	assert_null(gw_ir_finish(&k.b));
	for (size_t room = LEAST; room < MOST; room += STEP) {
		struct gw_eval_warp_report report;
		struct gw_arena arena;
		struct gw_eval *eval;

		gw_arena_init(&arena, room);
		eval = gw_eval_new(&k.b.program, &launch, NULL, &arena);
		if (eval)
			assert_null(gw_eval_warp(eval, (struct gw_dim3){0, 0, 0}, 0, NULL, NULL,
						 &report));
		done += eval != NULL;
		gw_arena_free(&arena);
	}
	assert_true(done > 0);
	gw_arena_free(&k.arena);
}

/* v = in[thread]; if (v != 0) out[thread] = v */
static void build_guarded(struct ir_kernel *k)
{
	gw_ir_operand index, at, value, test;

	ir_begin(k);
	at = ir_thread_offset(k, &index);
	value = ir_load(k, IR_SPACE_GLOBAL, ir_op(k, IR_ADD, 64, 64, ir_param(k, 0), at), 0);
	test = gw_ir_emit(&k->b, IR_CMP, 32, IR_COND_NE, gw_ir_reg(&k->b, 1), 2, value,
			  ir_number(k, 0));
	gw_ir_end_branch(&k->b, test, false, 1, 2);
	gw_ir_block_open(&k->b);
	ir_store(k, IR_SPACE_GLOBAL, ir_op(k, IR_ADD, 64, 64, ir_param(k, 1), at), value);
	gw_ir_end_jump(&k->b, 2);
	gw_ir_block_open(&k->b);
	gw_ir_end_exit(&k->b);
}

TEST(what_data_guard_is_likely_in_between)
{
	struct ir_kernel k;
	struct gw_gather g;

	build_guarded(&k);
	run(&k, 4, 128, &g);
	assert_true(g.access[0].runs.least == 16 && g.access[0].runs.likely == 16);
	assert_true(g.access[1].runs.least == 0 && g.access[1].runs.most == 16);
	assert_true(g.access[1].runs.likely > 0 && g.access[1].runs.likely < 16);
	gw_arena_free(&k.arena);
}

/* Of a grid that the steps do not cover: all are spent where arguments decide, a part where data
 * do.
 */
TEST(where_data_decide_a_part_of_the_steps_is_all)
{
	enum { STEPS = 64000, TRIAL = 64 };
	const struct gw_gather_limits limits = {
		.eval = {.steps = STEPS}, .steps = STEPS, .trial = TRIAL};
	const struct gw_eval_launch launch = {
		.config = {.grid = {100000, 1, 1}, .block = {128, 1, 1}, .cluster = {1, 1, 1}},
		.arguments = {(const uint8_t *)arguments, sizeof(arguments)}};
	struct ir_kernel decided, open;
	struct gw_gather g;

	build_guarded(&open);
	assert_null(gw_ir_finish(&open.b));
	assert_null(gw_gather_run(&open.b.program, &launch, &limits, &open.arena, &g));
	assert_true(g.trial && g.report.steps <= 2 * STEPS / TRIAL);
	build_uneven(&decided, GROWING, ROUNDS);
	assert_null(gw_ir_finish(&decided.b));
	assert_null(gw_gather_run(&decided.b.program, &launch, &limits, &decided.arena, &g));
	assert_true(!g.trial && g.report.control_known);
	gw_arena_free(&open.arena);
	gw_arena_free(&decided.arena);
}

/* do v = in[thread]; while (v != 0) */
TEST(a_loop_that_data_end_has_a_likely_number_of_rounds)
{
	gw_ir_operand index, at, value, test;
	struct ir_kernel k;
	struct gw_gather g;
	uint32_t body;

	ir_begin(&k);
	at = ir_thread_offset(&k, &index);
	body = gw_ir_block_open(&k.b);
	value = ir_load(&k, IR_SPACE_GLOBAL, ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 0), at), 0);
	test = gw_ir_emit(&k.b, IR_CMP, 32, IR_COND_NE, gw_ir_reg(&k.b, 1), 2, value,
			  ir_number(&k, 0));
	gw_ir_end_branch(&k.b, test, false, body, body + 1);
	gw_ir_block_open(&k.b);
	gw_ir_end_exit(&k.b);
	run(&k, 4, 128, &g);
	assert_true(isinf(g.access[0].runs.most));
	/* The first round is sure, the others stand for what a loop goes round. */
	assert_true(g.access[0].runs.likely >= 16.0 * GW_EVAL_ROUNDS &&
		    g.access[0].runs.likely <= 16.0 * (GW_EVAL_ROUNDS + 1));
	gw_arena_free(&k.arena);
}

/* Each end lies where it says, one after the other. */
TEST(ends_of_a_range_are_in_order)
{
	static const enum gw_static_end ends[] = {GW_STATIC_LEAST, GW_STATIC_LOW, GW_STATIC_LIKELY,
						  GW_STATIC_HIGH, GW_STATIC_MOST};
	struct gw_static_in in;
	struct ir_kernel k;
	struct gw_gather g, at;
	double before = 0;

	build_guarded(&k);
	run(&k, 4, 128, &g);
	in = (struct gw_static_in){.program = &k.b.program, .gather = &g};
	for (unsigned i = 0; i < 5; i++) {
		double runs;

		assert_true(gw_static_at(&in, NULL, ends[i], &k.arena, &at));
		runs = at.access[1].runs.likely;
		assert_true(at.access[1].runs.least == runs && at.access[1].runs.most == runs);
		assert_true(runs >= before && (i == 0 || i > 3 || runs > before));
		before = runs;
	}
	assert_true(before == 16);
	gw_arena_free(&k.arena);
}

/* out[in[thread]] = 0 */
TEST(addresses_that_data_decide_lead_where_no_others_do)
{
	const struct gw_static_memory memory[] = {{arguments[0], arguments[0] + 4096, false},
						  {arguments[1], arguments[1] + 512, false}};
	gw_ir_operand index, at, value;
	struct gw_static_in in;
	struct ir_kernel k;
	struct gw_gather g;

	ir_begin(&k);
	at = ir_thread_offset(&k, &index);
	value = ir_load(&k, IR_SPACE_GLOBAL, ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 0), at), 0);
	value = ir_op(&k, IR_MULWU, 32, 64, value, ir_number(&k, 4));
	ir_store(&k, IR_SPACE_GLOBAL, ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 1), value), index);
	gw_ir_end_exit(&k.b);
	run(&k, 4, 128, &g);
	in = (struct gw_static_in){
		.program = &k.b.program, .gather = &g, .memory = memory, .memory_count = 2};
	assert_true(gw_static_extent(&in, true) == 4096);
	assert_true(gw_static_extent(&in, false) == 512);
	in.memory_count = 0;
	assert_true(gw_static_extent(&in, false) == 0);
	gw_arena_free(&k.arena);
}

/* Of 1 << 20 blocks half write back what they read, and the one in the middle does nothing. */
TEST(what_a_rim_stores_beyond_l2_is_written_back)
{
	static const struct gw_kernel kernel = {.registers = 32, .max_threads = 1024};
	const struct gw_launch launch = {.kernel = &kernel,
					 .config = {{1 << 20, 1, 1}, {128, 1, 1}, {1, 1, 1}, 0, 0}};
	const struct gw_static_memory memory = {arguments[0], arguments[0] + (1 << 30), false};
	gw_ir_operand index, at, within;
	struct gw_static_in in;
	struct gw_device device;
	struct gw_work work;
	struct ir_kernel k;
	struct gw_gather g;

	gw_device_clear(&device, "");
	gw_device_set(&device, GW_PARAM_compute_capability, 90, GW_METHOD_PAPER);
	gw_device_set(&device, GW_PARAM_sm_count, 132, GW_METHOD_PAPER);
	gw_device_set(&device, GW_PARAM_l2_size, 60 << 20, GW_METHOD_PAPER);
	ir_begin(&k);
	at = ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 0), ir_thread_offset(&k, &index));
	within = ir_special(&k, IR_SREG_CTAID_X);
	within = ir_op(&k, IR_SUB, 32, 32, within, ir_number(&k, 1 << 18));
	within = gw_ir_emit(&k.b, IR_CMP, 32, IR_COND_LTU, gw_ir_reg(&k.b, 1), 2, within,
			    ir_number(&k, 1 << 19));
	gw_ir_end_branch(&k.b, within, false, 2, 1);
	gw_ir_block_open(&k.b);
	ir_store(&k, IR_SPACE_GLOBAL, at, ir_load(&k, IR_SPACE_GLOBAL, at, 0));
	gw_ir_end_jump(&k.b, 2);
	gw_ir_block_open(&k.b);
	gw_ir_end_exit(&k.b);
	run(&k, 1 << 20, 128, &g);
	in = (struct gw_static_in){&k.b.program, &g, NULL, &device, &launch, &memory, 1};
	gw_work_clear(&work);
	gw_static_memory(&in, &work);
	assert_true(work.q[GW_WORK_dram_write_bytes].value == 1 << 28);
	gw_arena_free(&k.arena);
}

TESTS_MAIN()
