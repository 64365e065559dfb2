/*
 * Which words of the parameters tell launches apart: read off PTX and machine code of the same
 * kernels as the evaluator is checked on, and off programs written by hand.
 */
#include "predictor/code/sass/cfg.h"
#include "predictor/code/digest.h"
#include "predictor/code/eval/eval.h"
#include "predictor/code/ptx/ptx.h"
#include "predictor/code/sass/lower.h"
#include "tests/test.h"
#include "tests/unit/ir_kernel.h"
#include "tests/unit/sass/sass_fixture.h"

static char text[256];

/* "offset+size …" of a plan, in a buffer that the next call takes again. */
static const char *plan_text(const struct gw_digest_plan *plan)
{
	size_t n = 0;

	text[0] = 0;
	for (uint32_t i = 0; i < plan->count; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u+%u", i ? " " : "",
				      plan->word[i].offset, plan->word[i].size);
	return text;
}

/* ---- machine code ---- */

/* The parameters of address.cu of tests/compiled.tar.xz, and what decides there. */
static const struct {
	const char *name, *plan;
	uint32_t sizes[5];
} machine[] = {
	{"saxpy", "20+4", {8, 8, 4, 4}},          {"strided", "16+4 20+4", {8, 8, 4, 4}},
	{"rectangle", "16+4 20+4", {8, 8, 4, 4}}, {"triangle", "16+4", {8, 8, 4}},
	{"halving", "16+8", {8, 8, 8}},           {"wide_index", "24+4 16+8", {8, 8, 8, 4}},
	{"clamped", "16+4", {8, 8, 4, 4, 4}},
};

static uint32_t layout(const uint32_t sizes[5], struct gw_code_param out[5])
{
	uint32_t at = 0, n = 0;

	for (; n < 5 && sizes[n]; n++) {
		at = (at + sizes[n] - 1) / sizes[n] * sizes[n];
		out[n] = (struct gw_code_param){at, sizes[n]};
		at += sizes[n];
	}
	return n;
}

static void check_machine(const struct listing *listing, unsigned k, unsigned sm)
{
	struct gw_code_param param[5];
	uint32_t count = layout(machine[k].sizes, param);
	struct gw_sass_kernel kernel = {.name = machine[k].name,
					.param_base = built_param_base(sm),
					.param_bytes =
						param[count - 1].offset + param[count - 1].size};
	struct gw_sass_lowered lowered;
	struct gw_digest_plan plan;
	struct built b;
	char name[64];

	snprintf(name, sizeof(name), "%s.%u", machine[k].name, sm);
	built_begin(&b, built_kernel(listing, name), sm);
	assert_null(gw_sass_lower(&lowered, &b.cfg, &kernel, &b.arena));
	assert_null(gw_digest_plan_make(&lowered.program, param, count, &b.arena, &plan));
	assert_string_equal(plan_text(&plan), machine[k].plan);
	for (uint32_t i = 0; i < plan.count; i++)
		assert_int_equal(plan.word[i].at, 0);
	built_end(&b);
}

TEST(machine_code_tells_what_its_control_depends_on)
{
	static const unsigned sms[] = {70, 75, 80, 90, 100, 120};
	struct listing listing;

	listing_read(&listing, GW_SASS "/address.lst");
	for (unsigned k = 0; k < COUNT(machine); k++)
		for (unsigned s = 0; s < COUNT(sms); s++)
			check_machine(&listing, k, sms[s]);
	listing_free(&listing);
}

/* ---- PTX ---- */

/* The same of tests/code/evaluate.cu. */
static const struct {
	const char *name, *plan;
} virtual[] = {
	{"saxpy", "0+4"},    {"grid_stride", "0+8"}, {"transpose", "0+8"}, {"stencil", "0+8"},
	{"triangle", "0+4"}, {"row_sum", "16+4"},    {"gather", "0+4"},    {"search", "0+4"},
	{"odd_even", "0+4"}, {"doubling", "0+4"},    {"rows", "0+4"},
};

TEST(ptx_tells_the_same)
{
	static uint8_t bytes[1 << 20];
	FILE *f = fopen(PTX "/evaluate.ptx", "rb");
	struct gw_bytes in = {bytes, 0};
	struct gw_ptx_fault fault;
	struct gw_arena parsed;
	struct gw_ptx ptx;

	assert_non_null(f);
	in.size = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	gw_arena_init(&parsed, 64 << 20);
	assert_true(gw_ptx_parse(in, &parsed, &ptx, &fault));
	for (unsigned k = 0; k < COUNT(virtual); k++) {
		uint32_t at = gw_ptx_find(&ptx, virtual[k].name);
		struct gw_code_param param[8];
		struct gw_ir_program program;
		struct gw_digest_plan plan;
		struct gw_arena arena;

		gw_arena_init(&arena, 64 << 20);
		assert_true(gw_ptx_lower(&ptx, at, &arena, &program, &fault));
		for (uint32_t i = 0; i < program.param_count; i++)
			param[i] = (struct gw_code_param){program.params[i].offset,
							  program.params[i].size};
		assert_null(
			gw_digest_plan_make(&program, param, program.param_count, &arena, &plan));
		/* Two numbers side by side are two words all the same: two parameters. */
		if (!strcmp(virtual[k].plan, "0+8") && program.params[0].size == 4)
			assert_string_equal(plan_text(&plan), "0+4 4+4");
		else
			assert_string_equal(plan_text(&plan), virtual[k].plan);
		gw_arena_free(&arena);
	}
	gw_arena_free(&parsed);
}

/* ---- by hand ---- */

static struct ir_kernel k;
static struct gw_digest_plan plan;

static int begin(void **state)
{
	ir_begin(&k);
	return 0;
}

static int end(void **state)
{
	gw_arena_free(&k.arena);
	return 0;
}

/* A loop or an if: blocks 1 and 2 behind a branch on @p test. */
static void branch(gw_ir_operand test)
{
	uint32_t yes = gw_ir_block_new(&k.b), no = gw_ir_block_new(&k.b);

	gw_ir_end_branch(&k.b, test, false, yes, no);
	gw_ir_block_start(&k.b, yes);
	gw_ir_end_jump(&k.b, no);
	gw_ir_block_start(&k.b, no);
}

static gw_ir_operand less(gw_ir_operand a, gw_ir_operand b)
{
	return gw_ir_emit(&k.b, IR_CMP, 64, IR_COND_LTU, gw_ir_reg(&k.b, 1), 2, a, b);
}

static const struct gw_code_param eights[] = {{0, 8}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 8}};

static const char *run_plan(const struct gw_eval_block *ran)
{
	return gw_digest_plan_run(&k.b.program, ran, eights, 6, &k.arena, &plan);
}

static const char *planned(const struct gw_code_param *param, uint32_t count)
{
	gw_ir_end_exit(&k.b);
	assert_null(gw_ir_finish(&k.b));
	assert_null(gw_digest_plan_make(&k.b.program, param ? param : eights, param ? count : 6,
					&k.arena, &plan));
	return plan_text(&plan);
}

TEST_WITH(what_no_branch_sees_is_not_planned, begin, end)
{
	ir_store(&k, IR_SPACE_GLOBAL, ir_param(&k, 0), ir_param(&k, 1));
	branch(less(ir_param(&k, 2), ir_special(&k, IR_SREG_TID_X)));
	assert_string_equal(planned(NULL, 0), "16+8");
}

static gw_ir_operand scaled(gw_ir_operand index, gw_ir_operand by)
{
	return ir_op(&k, IR_MUL, 64, 64, index, by);
}

/* The address of a row, which lie a parameter apart. */
TEST_WITH(what_addresses_multiply_an_index_with_is_planned, begin, end)
{
	gw_ir_operand row = scaled(ir_special(&k, IR_SREG_CTAID_X), ir_param(&k, 1));

	ir_load(&k, IR_SPACE_GLOBAL,
		ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 0), scaled(row, ir_number(&k, 4))), 0);
	assert_string_equal(planned(NULL, 0), "8+8");
}

/* (tid stride + i) % tile words of shared memory: banks go by the stride. */
TEST_WITH(a_stride_is_seen_through_what_is_no_sum, begin, end)
{
	gw_ir_operand place =
		ir_op(&k, IR_ADD, 64, 64, scaled(ir_special(&k, IR_SREG_TID_X), ir_param(&k, 2)),
		      ir_param(&k, 3));

	ir_load(&k, IR_SPACE_SHARED, ir_op(&k, IR_AND, 64, 64, place, ir_number(&k, 4095)), 0);
	assert_string_equal(planned(NULL, 0), "16+8");
}

/* Where in an array a launch begins: it is different each time, and its work the same. */
TEST_WITH(what_is_added_alike_in_all_threads_is_not_planned, begin, end)
{
	gw_ir_operand begin_ = scaled(ir_param(&k, 1), ir_param(&k, 2));

	begin_ = ir_op(&k, IR_ADD, 64, 64, begin_, ir_special(&k, IR_SREG_TID_X));
	ir_store(&k, IR_SPACE_GLOBAL, ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 0), begin_),
		 ir_number(&k, 1));
	assert_string_equal(planned(NULL, 0), "");
}

/* A register that held a thread's index before holds a number of the launch's now. */
TEST_WITH(a_product_of_numbers_of_the_launch_is_none_of_an_index, begin, end)
{
	gw_ir_operand place = gw_ir_reg(&k.b, 64);

	gw_ir_emit(&k.b, IR_MOV, 64, 0, place, 1, ir_special(&k, IR_SREG_TID_X));
	ir_load(&k, IR_SPACE_GLOBAL, ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 0), place), 0);
	gw_ir_emit(&k.b, IR_MOV, 64, 0, place, 1, ir_param(&k, 1));
	ir_load(&k, IR_SPACE_GLOBAL,
		ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 0), scaled(place, ir_param(&k, 2))), 0);
	assert_string_equal(planned(NULL, 0), "");
}

/* The end of an array that a pointer runs up to is a sum with the array's own begin. */
TEST_WITH(a_pointer_that_is_compared_is_still_a_pointer, begin, end)
{
	gw_ir_operand begin_ = ir_param(&k, 0),
		      bytes = ir_op(&k, IR_MUL, 64, 64, ir_param(&k, 1), ir_number(&k, 4));
	gw_ir_operand end_ = ir_op(&k, IR_ADD, 64, 64, begin_, bytes);

	ir_load(&k, IR_SPACE_GLOBAL, begin_, 0);
	branch(less(begin_, end_));
	assert_string_equal(planned(NULL, 0), "8+8");
}

/* for (d = 0; d < 2 && d < dimensions; d++) place += tid * stride[d]: both strides are read before
 * the first branch, and added where they count. */
TEST_WITH(a_number_of_blocks_that_do_not_run_is_left_out, begin, end)
{
	gw_ir_operand at = gw_ir_reg(&k.b, 64), tid = ir_special(&k, IR_SREG_TID_X);
	gw_ir_operand stride[] = {ir_param(&k, 2), ir_param(&k, 3)};
	uint32_t last = gw_ir_block_new(&k.b), more;
	struct gw_eval_block ran[4] = {0};

	gw_ir_emit(&k.b, IR_MOV, 64, 0, at, 1, ir_param(&k, 0));
	for (unsigned d = 0; d < 2; d++) {
		more = gw_ir_block_new(&k.b);
		gw_ir_end_branch(&k.b, less(ir_number(&k, d), ir_param(&k, 1)), false, more, last);
		gw_ir_block_start(&k.b, more);
		gw_ir_emit(&k.b, IR_ADD, 64, 0, at, 2, at, scaled(tid, stride[d]));
	}
	gw_ir_end_jump(&k.b, last);
	gw_ir_block_start(&k.b, last);
	ir_load(&k, IR_SPACE_GLOBAL, at, 0);
	assert_string_equal(planned(NULL, 0), "8+8 16+8 24+8");
	assert_int_equal(k.b.program.block_count, 4);
	for (unsigned b = 0; b < 3; b++) /* all but the second dimension's */
		ran[b].runs.most = 1;
	assert_null(run_plan(ran));
	assert_string_equal(plan_text(&plan), "8+8 16+8");
	ran[3] = ran[2];
	assert_null(run_plan(ran));
	assert_string_equal(plan_text(&plan), "8+8 16+8 24+8");
}

/* One place holds a pointer first and a number afterwards, as machine registers do. */
TEST_WITH(a_register_that_is_used_twice_does_not_mix_them_up, begin, end)
{
	gw_ir_operand place = gw_ir_reg(&k.b, 64);

	gw_ir_emit(&k.b, IR_MOV, 64, 0, place, 1, ir_param(&k, 0));
	ir_load(&k, IR_SPACE_GLOBAL, place, 0);
	gw_ir_emit(&k.b, IR_MOV, 64, 0, place, 1, ir_param(&k, 1));
	branch(less(ir_special(&k, IR_SREG_TID_X), place));
	gw_ir_emit(&k.b, IR_MOV, 64, 0, place, 1, ir_param(&k, 2));
	ir_load(&k, IR_SPACE_GLOBAL, place, 0);
	assert_string_equal(planned(NULL, 0), "8+8");
}

/* What was there before a write that may not happen can still be seen. */
TEST_WITH(a_write_under_a_guard_hides_nothing, begin, end)
{
	gw_ir_operand place = gw_ir_reg(&k.b, 64);

	gw_ir_emit(&k.b, IR_MOV, 64, 0, place, 1, ir_param(&k, 1));
	k.b.guard = less(ir_special(&k, IR_SREG_TID_X), ir_param(&k, 3));
	gw_ir_emit(&k.b, IR_MOV, 64, 0, place, 1, ir_param(&k, 2));
	k.b.guard = GW_IR_NONE;
	branch(less(ir_special(&k, IR_SREG_CTAID_X), place));
	assert_string_equal(planned(NULL, 0), "8+8 16+8 24+8");
}

/* A value that comes round a loop. */
TEST_WITH(a_value_is_followed_round_a_loop, begin, end)
{
	gw_ir_operand left = gw_ir_reg(&k.b, 64);
	uint32_t body, after;

	gw_ir_emit(&k.b, IR_MOV, 64, 0, left, 1, ir_param(&k, 4));
	body = gw_ir_block_new(&k.b);
	after = gw_ir_block_new(&k.b);
	gw_ir_end_jump(&k.b, body);
	gw_ir_block_start(&k.b, body);
	gw_ir_emit(&k.b, IR_SUB, 64, 0, left, 2, left, ir_param(&k, 5));
	gw_ir_end_branch(&k.b, less(ir_number(&k, 0), left), false, body, after);
	gw_ir_block_start(&k.b, after);
	assert_string_equal(planned(NULL, 0), "32+8 40+8");
}

TEST_WITH(the_predicate_of_an_access_counts, begin, end)
{
	k.b.guard = less(ir_special(&k, IR_SREG_TID_X), ir_param(&k, 1));
	ir_store(&k, IR_SPACE_GLOBAL, ir_param(&k, 0), ir_number(&k, 1));
	k.b.guard = GW_IR_NONE;
	assert_string_equal(planned(NULL, 0), "8+8");
}

TEST_WITH(what_memory_holds_ends_the_search, begin, end)
{
	gw_ir_operand loaded = ir_load(&k, IR_SPACE_GLOBAL, ir_param(&k, 0), 0);

	branch(less(ir_special(&k, IR_SREG_TID_X), loaded));
	assert_string_equal(planned(NULL, 0), "");
	assert_int_equal(plan.count, 0);
}

/* The driver reports one structure where the code reads parts of it. */
TEST_WITH(words_of_a_structure_are_places_in_its_parameter, begin, end)
{
	static const struct gw_code_param param[] = {{0, 8}, {8, 32}, {40, 8}};

	branch(less(ir_param(&k, 2), ir_param(&k, 4)));
	assert_string_equal(planned(param, 3), "16+8 32+8");
	assert_int_equal(plan.word[0].param, 1);
	assert_int_equal(plan.word[0].at, 8);
	assert_int_equal(plan.word[1].at, 24);
	assert_int_equal(plan.end, 40);
}

/* Padding, or what the kernel reads beyond the last parameter, is nobody's. */
TEST_WITH(nothing_is_planned_outside_of_parameters, begin, end)
{
	static const struct gw_code_param param[] = {{0, 8}, {8, 7}};

	branch(less(ir_param(&k, 1), ir_param(&k, 5)));
	assert_string_equal(planned(param, 2), "8+4 12+2 14+1");
}

TEST_WITH(more_words_than_fit_are_cut, begin, end)
{
	static struct gw_code_param param[20];

	for (uint32_t i = 0; i < 20; i++)
		param[i] = (struct gw_code_param){4 * i, 4};
	for (uint32_t i = 0; i < 10; i += 2)
		branch(less(ir_param(&k, i), ir_param(&k, i + 1)));
	assert_string_equal(planned(param, 20), "0+4 4+4 8+4 12+4 16+4 20+4 24+4 28+4 "
						"32+4 36+4 40+4 44+4 48+4 52+4 56+4 60+4");
}

/* Nine and more words decide how many tiles a matrix product has: launches that differ in the last
 * of them have hashes of their own. */
TEST_WITH(what_decides_has_more_room_than_strides, begin, end)
{
	static struct gw_code_param param[12];
	unsigned char bytes[48] = {0};
	uint32_t first;

	for (uint32_t i = 0; i < 12; i++)
		param[i] = (struct gw_code_param){4 * i, 4};
	for (uint32_t i = 0; i < 6; i += 2)
		branch(less(ir_param(&k, i), ir_param(&k, i + 1)));
	planned(param, 12);
	first = gw_digest_of_buffer(&plan, bytes, sizeof(bytes));
	bytes[44] = 1;
	assert_int_not_equal(gw_digest_of_buffer(&plan, bytes, sizeof(bytes)), first);
}

TEST_WITH(what_decides_goes_before_strides, begin, end)
{
	static struct gw_code_param param[12];

	for (uint32_t i = 0; i < 12; i++)
		param[i] = (struct gw_code_param){4 * i, 4};
	ir_load(&k, IR_SPACE_GLOBAL, scaled(ir_special(&k, IR_SREG_TID_X), ir_param(&k, 0)), 0);
	branch(less(ir_param(&k, 2), ir_param(&k, 3)));
	branch(less(ir_param(&k, 4), ir_param(&k, 5)));
	assert_string_equal(planned(param, 12), "16+4 20+4 24+4 28+4 32+4 36+4 40+4 44+4");
}

/* A copy past registers: @p third is its size or, through a tensor map, the tile's coordinate. */
static void copy(unsigned flags, gw_ir_operand address, gw_ir_operand third)
{
	const gw_ir_operand uses[] = {address, ir_number(&k, 0), third};
	const struct gw_ir_insn insn = {.op = IR_LD,
					.space = IR_SPACE_GLOBAL,
					.flags = (uint8_t)(IR_MEM_BULK | flags),
					.elements = 1};

	gw_ir_append(&k.b, insn, NULL, 0, uses, 3);
}

static void copy_tile(gw_ir_operand address)
{
	copy(IR_MEM_TENSOR, address, ir_number(&k, 0));
}

/* Maps behind each other in a structure, as cuBLASLt passes them. */
static const struct gw_code_param maps[] = {{0, 8}, {64, 512}};

TEST_WITH(each_of_the_maps_that_are_chosen_from_is_planned, begin, end)
{
	gw_ir_operand chosen = gw_ir_reg(&k.b, 64);

	gw_ir_emit(&k.b, IR_SEL, 64, 0, chosen, 3,
		   less(ir_special(&k, IR_SREG_CTAID_X), ir_number(&k, 2)),
		   ir_number(&k, GW_IR_PARAM_WINDOW + 64), ir_number(&k, GW_IR_PARAM_WINDOW + 448));
	copy_tile(chosen);
	assert_string_equal(planned(maps, 2), "72+56 456+56");
	assert_int_equal(plan.word[1].param, 1);
	assert_int_equal(plan.word[1].at, 392);
}

TEST_WITH(each_map_of_an_array_is_planned, begin, end)
{
	gw_ir_operand index = scaled(ir_special(&k, IR_SREG_CTAID_X), ir_number(&k, 128));

	copy_tile(ir_op(&k, IR_ADD, 64, 64, index, ir_number(&k, GW_IR_PARAM_WINDOW + 192)));
	assert_string_equal(planned(maps, 2), "200+56 328+56 456+56");
}

/* A map that lies in memory, one that reaches beyond its parameter, and one beyond all. */
TEST_WITH(what_is_no_map_of_the_parameters_is_not_planned, begin, end)
{
	copy_tile(ir_param(&k, 0));
	copy_tile(ir_number(&k, GW_IR_PARAM_WINDOW + 520));
	copy_tile(ir_number(&k, GW_IR_PARAM_WINDOW + 4096));
	assert_string_equal(planned(maps, 2), "");
}

TEST_WITH(the_size_of_a_bulk_copy_is_planned, begin, end)
{
	copy(0, ir_param(&k, 0), ir_param(&k, 2));
	assert_string_equal(planned(NULL, 0), "16+8");
}

/* Launches on tensors of one shape share a configuration, those on others do not. */
TEST_WITH(tensors_differ_by_what_a_map_says_but_for_the_address, begin, end)
{
	unsigned char bytes[576] = {0};
	const void *params[] = {bytes, bytes + 64};
	uint32_t first, other;

	copy_tile(ir_number(&k, GW_IR_PARAM_WINDOW + 128));
	assert_string_equal(planned(maps, 2), "136+56");
	first = gw_digest_of_params(&plan, params);
	for (unsigned at = 128; at < 256; at++) {
		bytes[at] ^= 1;
		other = gw_digest_of_params(&plan, params);
		assert_int_equal(gw_digest_of_buffer(&plan, bytes, sizeof(bytes)), other);
		assert_int_equal(other != first, at >= 136 && at < 192);
		bytes[at] ^= 1;
	}
}

TEST_WITH(larger_parameters_than_there_are_have_no_plan, begin, end)
{
	static const struct gw_code_param param[] = {{0, 8}, {8, GW_DIGEST_BYTES}};

	branch(less(ir_param(&k, 0), ir_param(&k, 1)));
	gw_ir_end_exit(&k.b);
	assert_null(gw_ir_finish(&k.b));
	assert_non_null(gw_digest_plan_make(&k.b.program, param, 2, &k.arena, &plan));
	assert_int_equal(plan.count, 0);
}

/* ---- digests ---- */

static struct gw_digest_plan words = {
	.count = 4, .end = 23, .word = {{0, 0, 0, 4}, {1, 8, 16, 4}, {2, 0, 20, 2}, {3, 0, 22, 1}}};

/* As they lie in a buffer: the second parameter is a structure of 12 bytes. */
struct arguments {
	uint32_t n, between;
	uint64_t pointer;
	uint32_t m;
	uint16_t small;
	uint8_t flag;
};

static uint32_t digest_of(struct arguments a)
{
	const unsigned char *bytes = (const void *)&a;
	const void *params[] = {bytes, bytes + 8, &a.small, &a.flag};
	uint32_t one_by_one;

	gw_digest_plan_spans(&words);
	one_by_one = gw_digest_of_params(&words, params);
	assert_int_equal(gw_digest_of_buffer(&words, bytes, 23), one_by_one);
	return one_by_one;
}

TEST(only_the_words_of_the_plan_tell_digests_apart)
{
	const struct arguments a = {1, 2, 0x700000000000, 3, 4, 5};
	struct arguments b = a;
	uint32_t was = digest_of(a);

	assert_int_not_equal(was, 0);
	b.between = 7;
	b.pointer = 0x710000000000;
	assert_int_equal(digest_of(b), was);
	b = a, b.n++;
	assert_int_not_equal(digest_of(b), was);
	b = a, b.m++;
	assert_int_not_equal(digest_of(b), was);
	b = a, b.small++;
	assert_int_not_equal(digest_of(b), was);
	b = a, b.flag++;
	assert_int_not_equal(digest_of(b), was);
	b = a, b.n = a.m, b.m = a.n;
	assert_int_not_equal(digest_of(b), was);
}

/* A gap and another size begin a new one. */
TEST(words_of_eight_bytes_that_follow_each_other_are_one_span)
{
	struct gw_digest_plan p = {.count = 5, .end = 41, .word = {{0, 0, 0, 4}, {2, 0, 40, 1}}};
	unsigned char bytes[41] = {0};
	const void *params[] = {bytes, bytes + 8, bytes + 40};

	p.word[4] = p.word[1];
	for (uint16_t i = 0; i < 3; i++)
		p.word[i + 1] =
			(struct gw_digest_word){1, (uint16_t)(8 * i), (uint16_t)(8 * i + 8), 8};
	p.word[3].at += 8, p.word[3].offset += 8;
	gw_digest_plan_spans(&p);
	assert_true(p.fours == 1 && p.spans == 3 && p.wide == 4);
	for (unsigned i = 0; i < sizeof(bytes); i++) {
		uint32_t was = gw_digest_of_params(&p, params), is;

		bytes[i] ^= 1;
		is = gw_digest_of_params(&p, params);
		assert_int_equal(is != was, i < 4 || (i >= 8 && i < 24) || i >= 32);
		assert_int_equal(gw_digest_of_buffer(&p, bytes, sizeof(bytes)), is);
	}
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* So many at most are distinguished of a kernel: 1 in 8,000 sets of them has two alike by chance.
 */
TEST(counts_in_a_row_do_not_meet)
{
	static uint32_t seen[4096];

	for (uint32_t n = 0; n < 4096; n++)
		seen[n] = digest_of((struct arguments){.n = n});
	qsort(seen, 4096, sizeof(*seen), by_value);
	for (uint32_t n = 1; n < 4096; n++)
		assert_int_not_equal(seen[n], seen[n - 1]);
}

TEST(what_is_too_short_has_no_digest)
{
	unsigned char bytes[22] = {0};
	uint32_t n = 1;
	const void *params[] = {&n, NULL, &n, &n};

	assert_int_equal(gw_digest_of_buffer(&words, bytes, sizeof(bytes)), 0);
	assert_int_equal(gw_digest_of_params(&words, params), 0);
}

TESTS_MAIN()
