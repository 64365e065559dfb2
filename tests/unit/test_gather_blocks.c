/* SPDX-License-Identifier: Apache-2.0 */
/* What is gathered of launches whose blocks do not all do the same. */
#include "predictor/code/memory/gather.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir_kernel.h"

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

static void requests_weigh_as_often_as_the_grid_makes_them(void **state)
{
	struct gw_locality_hits hits;
	struct ir_kernel k;
	struct gw_gather g;

	(void)state;
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

static void an_instruction_of_one_block_is_looked_at_there(void **state)
{
	struct ir_kernel k;
	struct gw_gather g;
	uint32_t seen = 0;

	(void)state;
	build_block_apart(&k, 77);
	run(&k, 600, 64, &g);
	for (uint32_t b = 0; b < g.locality->block_count; b++)
		seen += g.locality->block[b].x == 77;
	assert_int_equal(seen, 1);
	assert_true(g.access[0].coalescing.requests == 2);
	gw_arena_free(&k.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(requests_weigh_as_often_as_the_grid_makes_them),
	        cmocka_unit_test(an_instruction_of_one_block_is_looked_at_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
