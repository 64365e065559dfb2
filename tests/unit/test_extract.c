/* SPDX-License-Identifier: Apache-2.0 */
/* Syntax trees out of the intermediate form, built here by hand. */
#include "predictor/code/extract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct kernel {
	struct gw_arena arena;
	struct gw_ir_builder b;
	struct gw_extract extract;
};

static void begin(struct kernel *k)
{
	gw_arena_init(&k->arena, 8 << 20);
	assert_true(gw_ir_builder_init(&k->b, &k->arena));
	for (uint32_t i = 0; i < 6; i++)
		gw_ir_add_param(&k->b,
		                &(struct gw_ir_param){.offset = 8 * i, .size = 8, .align = 8});
	gw_ir_block_open(&k->b);
}

static gw_ir_operand param(struct kernel *k, unsigned index)
{
	gw_ir_operand def = gw_ir_reg(&k->b, 64);
	gw_ir_operand use[2] = {gw_ir_const(&k->b, 8 * index), gw_ir_const(&k->b, 0)};

	gw_ir_append(&k->b,
	             (struct gw_ir_insn){.op = IR_LD,
	                                 .bits = 64,
	                                 .space = IR_SPACE_PARAM,
	                                 .width = 8,
	                                 .elements = 1},
	             &def, 1, use, 2);
	return def;
}

static gw_ir_operand op(struct kernel *k, enum gw_ir_op op, unsigned bits, unsigned to,
                        gw_ir_operand a, gw_ir_operand b)
{
	return gw_ir_emit(&k->b, op, bits, 0, gw_ir_reg(&k->b, to), 2, a, b);
}

static gw_ir_operand special(struct kernel *k, enum gw_ir_sreg sreg)
{
	return gw_ir_emit(&k->b, IR_SREG, 32, sreg, gw_ir_reg(&k->b, 32), 0);
}

static gw_ir_operand number(struct kernel *k, uint64_t value)
{
	return gw_ir_const(&k->b, value);
}

static void load(struct kernel *k, gw_ir_operand base, uint64_t offset)
{
	gw_ir_operand def = gw_ir_reg(&k->b, 32), use[2] = {base, gw_ir_const(&k->b, offset)};

	gw_ir_append(&k->b,
	             (struct gw_ir_insn){.op = IR_LD,
	                                 .bits = 32,
	                                 .space = IR_SPACE_GLOBAL,
	                                 .width = 4,
	                                 .elements = 1},
	             &def, 1, use, 2);
}

/* The expression of the only access. */
static void check(struct kernel *k, const char *ptx, const char *expected)
{
	char text[GW_ACCESS_TEXT_MAX];

	assert_null(gw_ir_finish(&k->b));
	assert_null(gw_extract(&k->b.program,
	                       (struct gw_bytes){(const uint8_t *)ptx, ptx ? strlen(ptx) : 0},
	                       &k->arena, &k->extract));
	assert_int_equal(k->extract.count, 1);
	assert_string_equal(gw_access_expression(&k->extract.access[0], text, sizeof(text)),
	                    expected);
}

static const char fig_3_1[] = "ld.param.u64 	%rd7, [param_5];\n"
                              "	mov.u32 	%r1, %tid.x;\n"
                              "	cvta.to.global.u64 	%rd3, %rd7;\n"
                              "	add.s32 	%r14, %r1, 1;\n"
                              "	mul.wide.s32 	%rd16, %r14, 4;\n"
                              "	add.s64 	%rd17, %rd3, %rd16;\n"
                              "	ld.global.f32 	%f11, [%rd17];\n";

/* The access of 003's fig. 3.1. */
static void build_fig_3_1(struct kernel *k)
{
	gw_ir_operand rd7, r1, rd3, r14, rd16;

	begin(k);
	k->b.source = 1;
	rd7 = param(k, 5);
	k->b.source = 2;
	r1 = special(k, IR_SREG_TID_X);
	k->b.source = 3;
	rd3 = gw_ir_reg(&k->b, 64);
	gw_ir_append(&k->b,
	             (struct gw_ir_insn){.op = IR_FROMGEN, .bits = 64, .space = IR_SPACE_GLOBAL},
	             &rd3, 1, &rd7, 1);
	k->b.source = 4;
	r14 = op(k, IR_ADD, 32, 32, r1, number(k, 1));
	k->b.source = 5;
	rd16 = op(k, IR_MULWS, 32, 64, r14, number(k, 4));
	k->b.source = 6;
	rd16 = op(k, IR_ADD, 64, 64, rd3, rd16);
	k->b.source = 7;
	load(k, rd16, 0);
	gw_ir_end_exit(&k->b);
}

static void fig_3_1_gives_the_nodes_of_fig_3_3(void **state)
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
	struct kernel k;

	(void)state;
	build_fig_3_1(&k);
	check(&k, fig_3_1, "add(mul(add(tid.x, 1), 4), param5)");
	assert_string_equal(k.extract.access[0].text, "ld.global.f32 %f11, [%rd17];");
	assert_int_equal(k.extract.access[0].count, 10);
	for (unsigned i = 0; i < 10; i++) {
		const struct gw_access_node *n = &k.extract.access[0].nodes[i];

		assert_string_equal(n->reg, nodes[i].reg);
		assert_string_equal(n->opcode, nodes[i].opcode);
		assert_int_equal(n->parent, nodes[i].parent);
	}
	gw_arena_free(&k.arena);
}

static void without_the_text_the_tree_is_the_same_under_other_names(void **state)
{
	struct kernel k;

	(void)state;
	build_fig_3_1(&k);
	check(&k, NULL, "add(mul(add(tid.x, 1), 4), param5)");
	assert_int_equal(gw_access_width(k.extract.access[0].text), 4);
	gw_arena_free(&k.arena);
}

static void an_offset_of_the_instruction_is_added(void **state)
{
	struct kernel k;

	(void)state;
	begin(&k);
	load(&k, param(&k, 0), (uint64_t)-8);
	gw_ir_end_exit(&k.b);
	check(&k, NULL, "add(param0, -8)");
	gw_arena_free(&k.arena);
}

/* for (p = param0 + tid.x * 4, i = 0; i != n; i++, p += 128) load p; */
static void build_loop(struct kernel *k, bool by_move, bool guarded)
{
	gw_ir_operand p, i, next, test, tid;
	uint32_t body, end;

	begin(k);
	p = gw_ir_reg(&k->b, 64);
	i = gw_ir_reg(&k->b, 32);
	tid = op(k, IR_MULWU, 32, 64, special(k, IR_SREG_TID_X), number(k, 4));
	gw_ir_emit(&k->b, IR_ADD, 64, 0, p, 2, param(k, 0), tid);
	gw_ir_emit(&k->b, IR_MOV, 32, 0, i, 1, number(k, 0));
	body = gw_ir_block_open(&k->b);
	load(k, p, 0);
	test = gw_ir_reg(&k->b, 1);
	if (guarded)
		k->b.guard = gw_ir_emit(&k->b, IR_CMP, 32, IR_COND_EQ, test, 2, i, number(k, 7));
	next = by_move ? gw_ir_reg(&k->b, 64) : p;
	gw_ir_emit(&k->b, IR_ADD, 64, 0, next, 2, p, number(k, 128));
	k->b.guard = GW_IR_NONE;
	if (by_move)
		gw_ir_emit(&k->b, IR_MOV, 64, 0, p, 1, next);
	gw_ir_emit(&k->b, IR_ADD, 32, 0, i, 2, i, number(k, 1));
	test = gw_ir_emit(&k->b, IR_CMP, 32, IR_COND_NE, gw_ir_reg(&k->b, 1), 2, i, number(k, 9));
	end = body + 1;
	gw_ir_end_branch(&k->b, test, false, body, end);
	gw_ir_block_open(&k->b);
	gw_ir_end_exit(&k->b);
}

static void check_loop(struct kernel *k)
{
	const uint64_t argument = 0x1000;
	struct gw_access_launch launch = {.config = {.grid = {1, 1, 1}, .block = {32, 1, 1}},
	                                  .params = k->b.program.params,
	                                  .param_count = k->b.program.param_count,
	                                  .arguments = {(const uint8_t *)&argument, 8}};
	struct gw_access_point point = {.iteration = {5}};
	struct gw_request r;

	assert_true(gw_access_request(&k->extract.access[0], &launch, &point, &r, NULL));
	assert_int_equal(r.address[3], 0x1000 + 12 + 5 * 128);
}

static void a_pointer_that_a_loop_raises_is_its_first_value_and_a_step(void **state)
{
	(void)state;
	for (int by_move = 0; by_move < 2; by_move++) {
		struct kernel k;

		build_loop(&k, by_move, false);
		check(&k, NULL, "loop(add(mul(tid.x, 4), param0), 128)");
		check_loop(&k);
		gw_arena_free(&k.arena);
	}
}

static void a_pointer_that_is_raised_only_sometimes_is_unknown(void **state)
{
	struct kernel k;

	(void)state;
	build_loop(&k, false, true);
	assert_null(gw_ir_finish(&k.b));
	assert_null(gw_extract(&k.b.program, (struct gw_bytes){0}, &k.arena, &k.extract));
	assert_int_equal(k.extract.access[0].nodes[0].kind, GW_ACCESS_UNKNOWN);
	gw_arena_free(&k.arena);
}

static void a_pointer_from_memory_ends_the_tree(void **state)
{
	struct kernel k;
	gw_ir_operand def, use[2];

	(void)state;
	begin(&k);
	def = gw_ir_reg(&k.b, 64);
	use[0] = param(&k, 0), use[1] = number(&k, 0);
	gw_ir_append(&k.b,
	             (struct gw_ir_insn){.op = IR_LD,
	                                 .bits = 64,
	                                 .space = IR_SPACE_CONST,
	                                 .width = 8,
	                                 .elements = 1},
	             &def, 1, use, 2);
	load(&k, def, 0);
	gw_ir_end_exit(&k.b);
	assert_null(gw_ir_finish(&k.b));
	assert_null(gw_extract(&k.b.program, (struct gw_bytes){0}, &k.arena, &k.extract));
	assert_int_equal(k.extract.access[0].count, 1);
	assert_string_equal(k.extract.access[0].nodes[0].opcode, "ld.const.u64");
	gw_arena_free(&k.arena);
}

/* x = x1 + x0, x1 = x2 + x1 ...: a tree that doubles with each step. */
static void a_tree_without_end_is_cut_to_an_unknown_root(void **state)
{
	struct kernel k;
	gw_ir_operand x;

	(void)state;
	begin(&k);
	x = param(&k, 0);
	for (int i = 0; i < 40; i++)
		x = op(&k, IR_ADD, 64, 64, x, x);
	load(&k, x, 0);
	gw_ir_end_exit(&k.b);
	assert_null(gw_ir_finish(&k.b));
	assert_null(gw_extract(&k.b.program, (struct gw_bytes){0}, &k.arena, &k.extract));
	assert_int_equal(k.extract.access[0].count, 1);
	assert_int_equal(k.extract.access[0].nodes[0].kind, GW_ACCESS_UNKNOWN);
	gw_arena_free(&k.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(fig_3_1_gives_the_nodes_of_fig_3_3),
	        cmocka_unit_test(without_the_text_the_tree_is_the_same_under_other_names),
	        cmocka_unit_test(an_offset_of_the_instruction_is_added),
	        cmocka_unit_test(a_pointer_that_a_loop_raises_is_its_first_value_and_a_step),
	        cmocka_unit_test(a_pointer_that_is_raised_only_sometimes_is_unknown),
	        cmocka_unit_test(a_pointer_from_memory_ends_the_tree),
	        cmocka_unit_test(a_tree_without_end_is_cut_to_an_unknown_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
