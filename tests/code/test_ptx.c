/* PTX as text: what is taken, what is refused and where, and what names stand for. */
#include "ptx_snippet.h"
#include "tests/test.h"

static bool parse(const char *text, struct gw_ptx *ptx, struct gw_ptx_fault *fault)
{
	return gw_ptx_parse((struct gw_bytes){(const uint8_t *)text, strlen(text)}, snippet_arena(),
			    ptx, fault);
}

static void refused_at(const char *text, uint32_t line, uint32_t column, const char *what)
{
	struct gw_ptx_fault fault;
	struct gw_ptx ptx;

	if (parse(text, &ptx, &fault))
		fail_msg("taken: %s", text);
	if (fault.line != line || fault.column != column || !strstr(fault.what, what))
		fail_msg("%u:%u: %s, expected %u:%u: %s", fault.line, fault.column, fault.what,
			 line, column, what);
}

TEST(text_that_is_no_ptx_is_refused_with_its_place)
{
	refused_at("", 1, 1, "empty");
	refused_at("hello", 1, 1, "no PTX");
	refused_at(".version 8.0\n.target sm_90\n.entry k(\n", 4, 1, "parameter");
	refused_at(".entry k()\n{\n  add.u32 %r1, %r2", 3, 19, "';'");
	refused_at(".entry k()\n{\n ret;\n", 4, 1, "'}'");
	refused_at(".entry k()\n{\n .reg .foo %r1;\n}", 3, 12, "type");
	refused_at(".entry k()\n{\n @%p1 bra X;\n}", 3, 7, "guard");
	refused_at(".entry k()\n{\n mov.u32 %r1, [1;\n}", 3, 17, "']'");
	refused_at(".entry k(.param .b8 a[99999999])\n{}", 2, 1, "parameters");
}

TEST(a_jump_to_nowhere_is_refused_with_its_place)
{
	const struct gw_ptx_fault *f = snippet_refused("mov.u32 %r1, 1;\nbra NOWHERE;\n");

	assert_int_equal(f->line, 13);
	assert_int_equal(f->column, 1);
	assert_non_null(strstr(f->what, "label"));
	assert_string_equal(f->near, "bra");
}

TEST(a_kernel_tells_its_bounds_and_parameters)
{
	struct gw_ptx_fault fault;
	struct gw_ptx ptx;

	assert_true(parse(".version 8.7\n.target sm_90a, debug\n.address_size 64\n"
			  ".visible .entry first(.param .u8 a, .param .align 8 .b8 b[12],\n"
			  " .param .u64 .ptr .global .align 16 c, .param .f32 d)\n"
			  ".maxntid 128, 2\n.minnctapersm 3\n.maxnreg 64\n{ ret; }\n"
			  ".extern .func other;\n.visible .entry second()\n.reqntid 64\n"
			  ".explicitcluster\n.reqnctapercluster 2, 1, 1\n{ ret; }\n",
			  &ptx, &fault));
	assert_int_equal(ptx.version, 87);
	assert_string_equal(ptx.target, "sm_90a");
	assert_int_equal(ptx.kernel_count, 2);
	assert_int_equal(ptx.kernels[0].param_count, 4);
	assert_int_equal(ptx.kernels[0].params[1].offset, 8);
	assert_int_equal(ptx.kernels[0].params[1].size, 12);
	assert_int_equal(ptx.kernels[0].params[2].offset, 24);
	assert_int_equal(ptx.kernels[0].params[3].offset, 32);
	assert_int_equal(ptx.kernels[0].param_bytes, 36);
	assert_int_equal(ptx.kernels[0].max_threads.x, 128);
	assert_int_equal(ptx.kernels[0].max_threads.y, 2);
	assert_int_equal(ptx.kernels[0].max_threads.z, 1);
	assert_int_equal(ptx.kernels[0].min_blocks, 3);
	assert_int_equal(ptx.kernels[0].max_registers, 64);
	assert_int_equal(ptx.kernels[0].threads.x, 0);
	assert_int_equal(ptx.kernels[1].threads.x, 64);
	assert_int_equal(ptx.kernels[1].cluster.x, 2);
	assert_int_equal(gw_ptx_find(&ptx, "second"), 1);
	assert_int_equal(gw_ptx_find(&ptx, "third"), UINT32_MAX);
}

TEST(directives_and_sections_go_by)
{
	struct gw_ptx_fault fault;
	struct gw_ptx ptx;

	assert_true(parse("// a comment\n.version 9.1\n.target sm_120f\n.address_size 64\n"
			  ".file 1 \"a \\\"b\\\".cu\", 123, 456\n.pragma \"nounroll\";\n"
			  ".weak .global .align 4 .u32 g = 5;\n.alias a, b;\n"
			  ".global .align 8 .b8 t[2][8] = {{1, 2}, {3}};\n"
			  ".newthing 1, 2;\n.func (.reg .b32 r) f(.reg .b32 a) .noreturn;\n"
			  ".section .debug_info { .b8 1 $L: .b32 L1+4 }\n"
			  "/* another\n one */ .entry k() .newbound 7 { .loc 1 2 3\n ret; }\n",
			  &ptx, &fault));
	assert_int_equal(ptx.kernel_count, 1);
}

TEST(an_unknown_instruction_leaves_its_results_unknown_and_nothing_else)
{
	const struct gw_ptx_report *r =
		snippet("mov.u32 %r10, 1; mov.u32 %r11, 1;\n"
			"newop.sync.v2.b32 {%r10, %r12}, [%rd1, {%r3}], 0x10;\n"
			"setp.eq.u32 %p1, %r11, 1;\n@%p1 st.global.u32 [%rd1], %r3;\n"
			"setp.eq.u32 %p2, %r10, 1;\n@%p2 st.global.u32 [%rd1], %r3; ret;",
			1, 32, 0, 0);

	assert_true(snippet_stores(r).least == 1);
	assert_true(snippet_stores(r).most == 2);
	assert_int_equal(r->eval.reasons[0].why, GW_WHY_OPAQUE);
	assert_int_equal(r->eval.reasons[0].origin, 13);
}

TEST(an_operation_without_a_width_has_no_result)
{
	const struct gw_ptx_report *r =
		snippet("mov.u32 %r10, %ctaid.x; and %r10, %r10, 0; clz.b128 %r11, %r10;\n"
			"sub %r12, %r10, %r4; cvt.u64.u32 %rd2, %r12;\n"
			"setp.eq.u32 %p1, %r10, 0;\n@%p1 st.global.u32 [%rd1], %r3; ret;",
			2, 32, 0, 0);

	assert_false(r->exact);
	assert_true(snippet_stores(r).least == 0);
}

TEST(a_name_stands_for_the_innermost_declaration)
{
	/* The inner %r10 and label are others; ranges are found from inside a scope too. */
	const struct gw_ptx_report *r =
		snippet("mov.u32 %r10, 3;\n{\n.reg .b32 %r10;\nmov.u32 %r10, 5; mov.u32 %r20, 7;\n"
			"bra L;\nL: mov.u32 %r10, 9;\n}\n{\nbra L;\nL:\n}\n"
			"setp.eq.u32 %p1, %r10, 3; setp.eq.u32 %p2, %r20, 7;\n"
			"@%p1 st.global.u32 [%rd1], %r3;\n@%p2 st.global.u32 [%rd1], %r3; ret;",
			1, 32, 0, 0);

	assert_true(r->exact);
	assert_true(snippet_stores(r).least == 2);
}

static const char call_text[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".extern .func (.param .b32 r) outside(.param .b32 a);\n"
	".func (.param .b32 r) twice(.param .b32 a)\n"
	"{ .reg .b32 %%r<4>; ld.param.b32 %%r1, [a]; add.u32 %%r2, %%r1, %%r1;\n"
	"st.param.b32 [r], %%r2; ret; }\n"
	".func (.reg .b32 %%o) less(.reg .b32 %%a, .reg .b32 %%b)\n"
	"{ sub.u32 %%o, %%a, %%b; ret; }\n"
	".func endless(.reg .b32 %%a) { call endless, (%%a); ret; }\n"
	".entry k(.param .u64 x)\n{\n.reg .pred %%p<4>; .reg .b32 %%r<9>; .reg .b64 %%rd<4>;\n"
	"ld.param.u64 %%rd1, [x]; mov.u32 %%r1, 21;\n"
	"{ .param .b32 p0; .param .b32 q0; st.param.b32 [p0], %%r1;\n"
	"call.uni (q0), %s, (p0); ld.param.b32 %%r2, [q0]; }\n"
	"call (%%r3), less, (%%r2, 2);\n%s\n"
	"setp.eq.u32 %%p1, %%r3, 40;\n@%%p1 st.global.u32 [%%rd1], %%r1; ret; }\n";

static bool call(const char *callee, const char *more, struct gw_ptx_report *r)
{
	static char text[4096];
	static const struct gw_config config = {{1, 1, 1}, {32, 1, 1}, {1, 1, 1}, 0, 0};
	struct gw_ptx_fault fault;
	int length = snprintf(text, sizeof(text), call_text, callee, more);

	return gw_ptx_evaluate((struct gw_bytes){(const uint8_t *)text, (size_t)length}, "k",
			       &config, (struct gw_bytes){NULL, 0}, NULL, NULL, NULL,
			       snippet_arena(), r, &fault);
}

TEST(a_call_is_taken_in_with_its_arguments)
{
	struct gw_ptx_report r;

	assert_true(call("twice", "", &r));
	assert_true(r.exact);
	assert_true(snippet_stores(&r).least == 1);
}

TEST(a_call_of_what_is_not_there_leaves_its_result_unknown)
{
	struct gw_ptx_report r;

	assert_true(call("outside", "", &r));
	assert_false(r.exact);
	assert_int_equal(r.program.open_calls, 1);
	assert_true(snippet_stores(&r).least == 0);
	assert_true(snippet_stores(&r).most == 1);
}

TEST(a_recursion_is_left_open)
{
	struct gw_ptx_report r;

	assert_true(call("twice", "call endless, (%r1);", &r));
	assert_false(r.exact);
	assert_int_equal(r.program.open_calls, 1);
	assert_true(snippet_stores(&r).least == 1);
}

TEST(local_memory_remembers_what_a_lane_stored)
{
	const struct gw_ptx_report *r =
		snippet(".local .align 8 .b8 depot[64];\n"
			"mov.u64 %rd2, depot; cvta.local.u64 %rd3, %rd2;\n"
			"and.b32 %r10, %r3, 7; mul.wide.u32 %rd4, %r10, 8;\n"
			"add.s64 %rd5, %rd3, %rd4;\n"
			"st.u64 [%rd5], %rd1; st.local.u16 [depot+60], 513;\n"
			"ld.u64 %rd6, [%rd5]; ld.local.u8 %rs1, [depot+61];\n"
			"setp.eq.u64 %p1, %rd6, 0x10000; setp.eq.u16 %p2, %rs1, 2;\n"
			"@%p1 st.global.u32 [%rd1], %r3; @%p2 st.global.u32 [%rd1], %r3; ret;",
			1, 32, 0, 0);

	/* Lane 7's second store went over its first: it may compare otherwise, and does. */
	assert_true(r->exact);
	assert_true(snippet_stores(r).least == 2);
	assert_true(r->counts.by[IR_SPACE_LOCAL][GW_ACCESS_STORE].least == 2);
}

TEST(a_pointer_from_memory_compares_with_itself)
{
	const struct gw_ptx_report *r =
		snippet("ld.global.u64 %rd2, [%rd1];\nadd.s64 %rd3, %rd2, 64;\n"
			"L: st.global.u32 [%rd2], %r3;\nadd.s64 %rd2, %rd2, 4;\n"
			"setp.lt.u64 %p1, %rd2, %rd3;\n@%p1 bra L;\nret;",
			1, 32, 0, 0);

	assert_true(r->exact);
	assert_true(snippet_stores(r).least == 16);
}

/* Each register is looked for in all ranges of its scope, and there is none. */
TEST(a_text_whose_names_take_too_long_is_refused)
{
	enum { RANGES = 30000, ROOM = 2 << 20 };
	char *text = malloc(ROOM);
	struct gw_ptx_fault fault;
	struct gw_arena arena;
	struct gw_ptx ptx;
	size_t n = 0;

	assert_non_null(text);
	n += (size_t)snprintf(text, ROOM, ".version 8.0\n.target sm_90\n.entry k()\n{\n");
	for (int i = 0; i < RANGES; i++)
		n += (size_t)snprintf(text + n, ROOM - n, ".reg .b32 a%d_<2>;\n", i);
	for (int i = 0; i < RANGES; i++)
		n += (size_t)snprintf(text + n, ROOM - n, "mov.u32 z1, x%d;\n", i);
	n += (size_t)snprintf(text + n, ROOM - n, "ret;\n}\n");
	gw_arena_init(&arena, 12 << 20);
	assert_false(
		gw_ptx_parse((struct gw_bytes){(const uint8_t *)text, n}, &arena, &ptx, &fault));
	assert_string_equal(fault.what, "its names take too long to look up");
	gw_arena_free(&arena);
	free(text);
}

TESTS_MAIN(NULL, snippet_end)
