/* Syntax trees of accesses: what PTX texts mean, lane by lane. */
#include "predictor/code/memory/access.h"
#include "tests/test.h"

static const uint64_t arguments[] = {0x7f0000000000, 0xfffffffe00000005};
static const struct gw_ir_param params[] = {{.offset = 0, .size = 8},
					    {.offset = 8, .size = 4},
					    {.offset = 12, .size = 4},
					    {.offset = 16, .size = 8}};
static const struct gw_access_launch launch = {
	.config = {.grid = {7, 5, 3}, .block = {8, 4, 2}},
	.params = params,
	.param_count = 4,
	.arguments = {(const uint8_t *)arguments, sizeof(arguments)}};
static const struct gw_access_point point = {.block = {4, 3, 2}, .warp = 1, .iteration = {10, 100}};

enum { NODES = 8 };
struct row {
	const char *reg, *opcode;
	int parent;
};

static const char *build(const struct row *rows, struct gw_access *access,
			 struct gw_access_node nodes[NODES])
{
	uint32_t at;

	*access = (struct gw_access){.text = "ld.global.u8", .bytes = 1, .nodes = nodes};
	for (; access->count < NODES && rows[access->count].reg; access->count++) {
		const struct row *row = &rows[access->count];

		nodes[access->count] = (struct gw_access_node){
			.reg = row->reg, .opcode = row->opcode, .parent = row->parent};
		gw_access_decode(&nodes[access->count]);
	}
	return gw_access_link(access, &at);
}

/* Value of the tree for lane 9 of warp 1: thread 41 of the block, (1, 1, 1). */
static uint64_t value_of(const struct row *rows)
{
	struct gw_access_node nodes[NODES];
	struct gw_access access;
	struct gw_request r;

	assert_null(build(rows, &access, nodes));
	assert_true(gw_access_request(&access, &launch, &point, &r, NULL));
	return r.address[9];
}

static uint64_t operation(const char *opcode, const char *a, const char *b)
{
	const struct row rows[NODES] = {{"%r", opcode, -1}, {a, "", 0}, {b, "", 0}};

	return value_of(rows);
}

TEST(leaves_are_the_lane_s_own)
{
	static const struct {
		const char *reg;
		uint64_t value;
	} leaves[] = {
		{"%tid.x", 1},    {"%tid.y", 1},          {"%tid.z", 1},
		{"%ntid.x", 8},   {"%ntid.y", 4},         {"%ntid.z", 2},
		{"%ctaid.x", 4},  {"%ctaid.y", 3},        {"%ctaid.z", 2},
		{"%nctaid.x", 7}, {"%nctaid.y", 5},       {"%nctaid.z", 3},
		{"%laneid", 9},   {"%warpid", 1},         {"17", 17},
		{"0x1F", 31},     {"-1", UINT64_MAX - 0}, {"4294967295U", 0xffffffff},
	};

	for (size_t i = 0; i < COUNT(leaves); i++) {
		const struct row rows[NODES] = {
			{"%r", "and.b64", -1}, {leaves[i].reg, "", 0}, {"0xffffffffff", "", 0}};

		assert_int_equal(value_of(rows), leaves[i].value & 0xffffffffff);
	}
}

TEST(operations_are_as_ptx_has_them)
{
	static const struct {
		const char *opcode, *a, *b;
		uint64_t value;
	} cases[] = {
		{"add.s32", "0xffffffff", "2", 1},
		{"add.u64", "0xffffffff", "2", 0x100000001},
		{"sub.s32", "1", "2", 0xffffffff},
		{"mul.lo.s32", "0x10000", "0x10001", 0x10000},
		{"mul.wide.s32", "0xffffffff", "4", UINT64_MAX - 3},
		{"mul.wide.u32", "0xffffffff", "4", 0x3fffffffc},
		{"mul.hi.s32", "0xffffffff", "4", 0xffffffff},
		{"mul.hi.u32", "0xffffffff", "4", 3},
		{"div.s32", "-7", "2", 0xfffffffd},
		{"div.u32", "0xfffffff9", "2", 0x7ffffffc},
		{"rem.s32", "-7", "2", 0xffffffff},
		{"rem.u32", "7", "4", 3},
		{"min.s32", "-1", "1", 0xffffffff},
		{"min.u32", "-1", "1", 1},
		{"max.s64", "-1", "1", 1},
		{"shl.b32", "0x80000001", "1", 2},
		{"shl.b32", "1", "32", 0},
		{"shr.s32", "0x80000000", "31", 0xffffffff},
		{"shr.u32", "0x80000000", "31", 1},
		{"shr.s32", "0x80000000", "99", 0xffffffff},
		{"and.b32", "12", "10", 8},
		{"or.b32", "12", "10", 14},
		{"xor.b32", "12", "10", 6},
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_true(operation(cases[i].opcode, cases[i].a, cases[i].b) == cases[i].value);
}

TEST(conversions_extend_by_the_source_s_sign)
{
	const struct row sign[NODES] = {{"%rd", "cvt.s64.s32", -1}, {"0xfffffffe", "", 0}};
	const struct row zero[NODES] = {{"%rd", "cvt.u64.u32", -1}, {"0xfffffffe", "", 0}};
	const struct row narrow[NODES] = {{"%r", "cvt.u32.u16", -1}, {"0x12345", "", 0}};

	assert_true(value_of(sign) == UINT64_MAX - 1);
	assert_true(value_of(zero) == 0xfffffffe);
	assert_true(value_of(narrow) == 0x2345);
}

TEST(a_third_operand_of_mad_is_added)
{
	const struct row rows[NODES] = {
		{"%rd", "mad.wide.s32", -1}, {"-2", "", 0}, {"3", "", 0}, {"100", "", 0}};

	assert_int_equal(value_of(rows), 94);
}

TEST(a_selection_takes_its_first_where_the_comparison_holds)
{
	struct row rows[NODES] = {{"%r", "selp.b32", -1},   {"5", "", 0},  {"6", "", 0},
				  {"%p", "setp.lt.s32", 0}, {"-1", "", 3}, {"1", "", 3}};

	assert_int_equal(value_of(rows), 5);
	rows[3].opcode = "setp.lt.u32";
	assert_int_equal(value_of(rows), 6);
}

TEST(parameters_are_read_at_their_offsets)
{
	struct row rows[NODES] = {{"%rd", "ld.param.u64", -1}, {"[_Z1kPfii_param_0]", "", 0}};

	assert_true(value_of(rows) == 0x7f0000000000);
	rows[0].opcode = "ld.param.u32", rows[1].reg = "[param_1]";
	assert_true(value_of(rows) == 5);
	rows[0].opcode = "ld.param.s32", rows[1].reg = "[param_2]";
	assert_true((uint32_t)value_of(rows) == 0xfffffffe);
	rows[0].opcode = "ld.param.u16", rows[1].reg = "[param_0+4]";
	assert_true(value_of(rows) == 0x7f00);
}

TEST(a_loop_s_operand_grows_by_its_step)
{
	struct row rows[NODES] = {{"%rd", "loop.1", -1}, {"1000", "", 0}, {"-4", "", 0}};

	assert_int_equal(value_of(rows), 600);
	rows[0].opcode = "loop.0";
	assert_int_equal(value_of(rows), 960);
}

TEST(what_is_not_known_is_named)
{
	const struct row cases[][NODES] = {
		{{"%rd", "add.s64", -1}, {"%tid.x", "", 0}, {"%rd9", "ld.global.u64", 0}},
		{{"%rd", "add.s64", -1},
		 {"%tid.x", "", 0},
		 {"%r8", "ld.param.u64", 0},
		 {"[param_3]", "", 2}},
		{{"%rd", "add.s64", -1},
		 {"%tid.x", "", 0},
		 {"%r8", "div.s64", 0},
		 {"1", "", 2},
		 {"0", "", 2}},
		{{"%rd", "add.s64", -1}, {"%tid.x", "", 0}, {"%clock", "", 0}},
		{{"%rd", "add.s64", -1}, {"%tid.x", "", 0}, {"%r", "fma.rn.f32", 0}},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct gw_access_node nodes[NODES];
		struct gw_access access;
		struct gw_request r;
		uint32_t blame = 0;

		assert_null(build(cases[i], &access, nodes));
		assert_false(gw_access_request(&access, &launch, &point, &r, &blame));
		/* The parameter that was not given, not the load of it. */
		assert_int_equal(blame, i == 1 ? 3 : 2);
	}
}

TEST(an_unknown_pointer_can_be_taken_for_memory_of_its_own)
{
	const struct row rows[NODES] = {{"%rd", "add.s64", -1},
					{"%rd1", "ld.param.u64", 0},
					{"12", "", 0},
					{"[param_3]", "", 1}};
	struct gw_access_launch assumed = launch;
	struct gw_access_node nodes[NODES];
	struct gw_access access;
	struct gw_request r;

	assumed.assume_pointers = true;
	assert_null(build(rows, &access, nodes));
	assert_true(gw_access_request(&access, &assumed, &point, &r, NULL));
	assert_int_equal(r.address[0] % 256, 12);
	assert_true(r.address[0] != arguments[0] + 12);
}

TEST(threads_beyond_the_block_take_no_part)
{
	const struct row rows[NODES] = {{"%tid.x", "", -1}};
	struct gw_access_launch odd = launch;
	struct gw_access_node nodes[NODES];
	struct gw_access access;
	struct gw_request r;

	odd.config.block = (struct gw_dim3){35, 1, 1};
	assert_null(build(rows, &access, nodes));
	assert_true(gw_access_request(&access, &odd, &point, &r, NULL));
	assert_int_equal(r.active, 7);
	assert_int_equal(r.address[2], 34);
}

TEST(a_tree_that_does_not_hang_together_is_refused)
{
	const struct row cases[][NODES] = {
		{{"%rd", "add.s64", 0}, {"1", "", 0}, {"2", "", 0}},
		{{"%rd", "add.s64", -1}, {"1", "", 0}},
		{{"%rd", "add.s64", -1}, {"1", "", 0}, {"2", "", 0}, {"3", "", 0}},
		{{"%rd", "add.s64", -1}, {"1", "", 2}, {"2", "", 0}},
		{{"%rd", "add.s64", -1}, {"1", "", -1}, {"2", "", 0}},
		{{"%tid.x", "", -1}, {"1", "", 0}},
		{{"%rd", "call", -1}, {"1", "", 0}, {"2", "", 0}, {"3", "", 0}, {"4", "", 0}},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct gw_access_node nodes[NODES];
		struct gw_access access;

		assert_non_null(build(cases[i], &access, nodes));
	}
}

TEST(widths_are_read_off_the_instruction)
{
	assert_int_equal(gw_access_width("ld.global.f32 %f1, [%rd1];"), 4);
	assert_int_equal(gw_access_width("ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];"), 16);
	assert_int_equal(gw_access_width("st.global.u8 [%rd1], %rs1;"), 1);
	assert_int_equal(gw_access_width("ld.volatile.global.v2.u64 {%rd2, %rd3}, [%rd1];"), 16);
	assert_int_equal(gw_access_width("ld.global.b128 %rq1, [%rd1];"), 16);
	assert_int_equal(gw_access_width("ld.global.v8.f32 {...}, [%rd1];"), 32);
	assert_int_equal(gw_access_width("bar.sync 0;"), 0);
	assert_int_equal(gw_access_width("ld.global.v8.f64 {...}, [%rd1];"), 0);
}

TEST(an_expression_that_is_too_long_says_so)
{
	const struct row rows[NODES] = {
		{"%rd", "add.s64", -1}, {"%ctaid.x", "", 0}, {"%tid.x", "", 0}};
	struct gw_access_node nodes[NODES];
	struct gw_access access;
	char text[12], whole[40];

	assert_null(build(rows, &access, nodes));
	assert_string_equal(gw_access_expression(&access, whole, sizeof(whole)),
			    "add(tid.x, ctaid.x)");
	assert_string_equal(gw_access_expression(&access, text, sizeof(text)), "add(tid....");
}

TESTS_MAIN()
