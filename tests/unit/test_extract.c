/* Syntax trees out of the intermediate form, built here by hand. */
#include "predictor/code/memory/extract.h"

#include "ir_kernel.h"
#include "tests/test.h"

/* A kernel and its trees. */
struct kernel {
	struct ir_kernel k;
	struct gw_extract extract;
};

/* The expression of the only access. */
static void check(struct kernel *t, const char *ptx, const char *expected)
{
	char text[GW_ACCESS_TEXT_MAX];

	assert_null(gw_ir_finish(&t->k.b));
	assert_null(gw_extract(&t->k.b.program,
			       (struct gw_bytes){(const uint8_t *)ptx, ptx ? strlen(ptx) : 0},
			       &t->k.arena, &t->extract));
	assert_int_equal(t->extract.count, 1);
	assert_string_equal(gw_access_expression(&t->extract.access[0], text, sizeof(text)),
			    expected);
}

static const char fig_3_1[] = "ld.param.u64 	%rd7, [param_5];\n"
			      "	mov.u32 	%r1, %tid.x;\n"
			      "	cvta.to.global.u64 	%rd3, %rd7;\n"
			      "	add.s32 	%r14, %r1, 1;\n"
			      "	mul.wide.s32 	%rd16, %r14, 4;\n"
			      "	add.s64 	%rd17, %rd3, %rd16;\n"
			      "	ld.global.f32 	%f11, [%rd17];\n";

/* The access of Kim's fig. 3.1. */
static void build_fig_3_1(struct kernel *t)
{
	gw_ir_operand rd7, r1, rd3, r14, rd16;

	ir_begin(&t->k);
	t->k.b.source = 1;
	rd7 = ir_param(&t->k, 5);
	t->k.b.source = 2;
	r1 = ir_special(&t->k, IR_SREG_TID_X);
	t->k.b.source = 3;
	rd3 = gw_ir_reg(&t->k.b, 64);
	gw_ir_append(&t->k.b,
		     (struct gw_ir_insn){.op = IR_FROMGEN, .bits = 64, .space = IR_SPACE_GLOBAL},
		     &rd3, 1, &rd7, 1);
	t->k.b.source = 4;
	r14 = ir_op(&t->k, IR_ADD, 32, 32, r1, ir_number(&t->k, 1));
	t->k.b.source = 5;
	rd16 = ir_op(&t->k, IR_MULWS, 32, 64, r14, ir_number(&t->k, 4));
	t->k.b.source = 6;
	rd16 = ir_op(&t->k, IR_ADD, 64, 64, rd3, rd16);
	t->k.b.source = 7;
	ir_load(&t->k, IR_SPACE_GLOBAL, rd16, 0);
	gw_ir_end_exit(&t->k.b);
}

TEST(fig_3_1_gives_the_nodes_of_fig_3_3)
{
	/* Entries 0, 1, 2, 6 and 9 are printed there; the others follow from their parents. */
	static const struct {
		const char *reg, *opcode;
		int parent;
	} nodes[] = {
		{"%rd17", "add.s64", -1},
		{"%rd3", "cvta.to.global.u64", 0},
		{"%rd16", "mul.wide.s32", 0},
		{"%rd7", "ld.param.u64", 1},
		{"%r14", "add.s32", 2},
		{"4", "", 2},
		{"[param_5]", "", 3},
		{"%r1", "mov.u32", 4},
		{"1", "", 4},
		{"%tid.x", "", 7},
	};
	struct kernel t;

	build_fig_3_1(&t);
	check(&t, fig_3_1, "add(mul(add(tid.x, 1), 4), param5)");
	assert_string_equal(t.extract.access[0].text, "ld.global.f32 %f11, [%rd17];");
	assert_int_equal(t.extract.access[0].count, 10);
	for (unsigned i = 0; i < 10; i++) {
		const struct gw_access_node *n = &t.extract.access[0].nodes[i];

		assert_string_equal(n->reg, nodes[i].reg);
		assert_string_equal(n->opcode, nodes[i].opcode);
		assert_int_equal(n->parent, nodes[i].parent);
	}
	gw_arena_free(&t.k.arena);
}

TEST(without_the_text_the_tree_is_the_same_under_other_names)
{
	struct kernel t;

	build_fig_3_1(&t);
	check(&t, NULL, "add(mul(add(tid.x, 1), 4), param5)");
	assert_int_equal(gw_access_width(t.extract.access[0].text), 4);
	gw_arena_free(&t.k.arena);
}

TEST(an_offset_of_the_instruction_is_added)
{
	struct kernel t;

	ir_begin(&t.k);
	ir_load(&t.k, IR_SPACE_GLOBAL, ir_param(&t.k, 0), (uint64_t)-8);
	gw_ir_end_exit(&t.k.b);
	check(&t, NULL, "add(param0, -8)");
	gw_arena_free(&t.k.arena);
}

/* for (p = param0 + tid.x * 4, i = 0; i != n; i++, p += 128) load p; */
static void build_loop(struct kernel *t, bool by_move, bool guarded)
{
	gw_ir_operand p, i, next, test, tid;
	uint32_t body, end;

	ir_begin(&t->k);
	p = gw_ir_reg(&t->k.b, 64);
	i = gw_ir_reg(&t->k.b, 32);
	tid = ir_op(&t->k, IR_MULWU, 32, 64, ir_special(&t->k, IR_SREG_TID_X), ir_number(&t->k, 4));
	gw_ir_emit(&t->k.b, IR_ADD, 64, 0, p, 2, ir_param(&t->k, 0), tid);
	gw_ir_emit(&t->k.b, IR_MOV, 32, 0, i, 1, ir_number(&t->k, 0));
	body = gw_ir_block_open(&t->k.b);
	ir_load(&t->k, IR_SPACE_GLOBAL, p, 0);
	test = gw_ir_reg(&t->k.b, 1);
	if (guarded)
		t->k.b.guard = gw_ir_emit(&t->k.b, IR_CMP, 32, IR_COND_EQ, test, 2, i,
					  ir_number(&t->k, 7));
	next = by_move ? gw_ir_reg(&t->k.b, 64) : p;
	gw_ir_emit(&t->k.b, IR_ADD, 64, 0, next, 2, p, ir_number(&t->k, 128));
	t->k.b.guard = GW_IR_NONE;
	if (by_move)
		gw_ir_emit(&t->k.b, IR_MOV, 64, 0, p, 1, next);
	gw_ir_emit(&t->k.b, IR_ADD, 32, 0, i, 2, i, ir_number(&t->k, 1));
	test = gw_ir_emit(&t->k.b, IR_CMP, 32, IR_COND_NE, gw_ir_reg(&t->k.b, 1), 2, i,
			  ir_number(&t->k, 9));
	end = body + 1;
	gw_ir_end_branch(&t->k.b, test, false, body, end);
	gw_ir_block_open(&t->k.b);
	gw_ir_end_exit(&t->k.b);
}

static void check_loop(struct kernel *t)
{
	const uint64_t argument = 0x1000;
	struct gw_access_launch launch = {.config = {.grid = {1, 1, 1}, .block = {32, 1, 1}},
					  .params = t->k.b.program.params,
					  .param_count = t->k.b.program.param_count,
					  .arguments = {(const uint8_t *)&argument, 8}};
	struct gw_access_point point = {.iteration = {5}};
	struct gw_request r;

	assert_true(gw_access_request(&t->extract.access[0], &launch, &point, &r, NULL));
	assert_int_equal(r.address[3], 0x1000 + 12 + 5 * 128);
}

TEST(a_pointer_that_a_loop_raises_is_its_first_value_and_a_step)
{
	for (int by_move = 0; by_move < 2; by_move++) {
		struct kernel t;

		build_loop(&t, by_move, false);
		check(&t, NULL, "loop(add(mul(tid.x, 4), param0), 128)");
		check_loop(&t);
		gw_arena_free(&t.k.arena);
	}
}

TEST(a_pointer_that_is_raised_only_sometimes_is_unknown)
{
	struct kernel t;

	build_loop(&t, false, true);
	assert_null(gw_ir_finish(&t.k.b));
	assert_null(gw_extract(&t.k.b.program, (struct gw_bytes){0}, &t.k.arena, &t.extract));
	assert_int_equal(t.extract.access[0].nodes[0].kind, GW_NODE_UNKNOWN);
	gw_arena_free(&t.k.arena);
}

TEST(a_pointer_from_memory_ends_the_tree)
{
	struct kernel t;
	gw_ir_operand def, use[2];

	ir_begin(&t.k);
	def = gw_ir_reg(&t.k.b, 64);
	use[0] = ir_param(&t.k, 0), use[1] = ir_number(&t.k, 0);
	gw_ir_append(&t.k.b,
		     (struct gw_ir_insn){.op = IR_LD,
					 .bits = 64,
					 .space = IR_SPACE_CONST,
					 .width = 8,
					 .elements = 1},
		     &def, 1, use, 2);
	ir_load(&t.k, IR_SPACE_GLOBAL, def, 0);
	gw_ir_end_exit(&t.k.b);
	assert_null(gw_ir_finish(&t.k.b));
	assert_null(gw_extract(&t.k.b.program, (struct gw_bytes){0}, &t.k.arena, &t.extract));
	assert_int_equal(t.extract.access[0].count, 1);
	assert_string_equal(t.extract.access[0].nodes[0].opcode, "ld.const.u64");
	gw_arena_free(&t.k.arena);
}

/* x = x1 + x0, x1 = x2 + x1 ...: a tree that doubles with each step. */
TEST(a_tree_without_end_is_cut_to_an_unknown_root)
{
	struct kernel t;
	gw_ir_operand x;

	ir_begin(&t.k);
	x = ir_param(&t.k, 0);
	for (int i = 0; i < 40; i++)
		x = ir_op(&t.k, IR_ADD, 64, 64, x, x);
	ir_load(&t.k, IR_SPACE_GLOBAL, x, 0);
	gw_ir_end_exit(&t.k.b);
	assert_null(gw_ir_finish(&t.k.b));
	assert_null(gw_extract(&t.k.b.program, (struct gw_bytes){0}, &t.k.arena, &t.extract));
	assert_int_equal(t.extract.access[0].count, 1);
	assert_int_equal(t.extract.access[0].nodes[0].kind, GW_NODE_UNKNOWN);
	gw_arena_free(&t.k.arena);
}

static void build_plain_loop(struct kernel *t)
{
	build_loop(t, false, false);
}

/* With each size of memory: the whole tree, or a reason and no part of one. */
static void starve(void (*build)(struct kernel *t), const char *ptx)
{
	unsigned refused = 0;
	bool reported = false;

	for (size_t limit = 0; !reported; limit += 16) {
		struct gw_arena arena;
		struct gw_extract extract;
		struct kernel t;

		build(&t);
		assert_null(gw_ir_finish(&t.k.b));
		gw_arena_init(&arena, limit);
		reported = !gw_extract(&t.k.b.program,
				       (struct gw_bytes){(const uint8_t *)ptx, strlen(ptx)}, &arena,
				       &extract);
		assert_int_equal(extract.count, reported);
		assert_true(reported || arena.refused);
		refused += !reported;
		gw_arena_free(&arena);
		gw_arena_free(&t.k.arena);
	}
	assert_true(refused > 10);
}

TEST(without_the_memory_for_its_names_there_is_no_tree)
{
	starve(build_fig_3_1, fig_3_1);
	starve(build_plain_loop, "");
}

TESTS_MAIN()
