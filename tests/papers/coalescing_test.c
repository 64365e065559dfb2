/* Kim's coalescing: the base workloads of fig. 4.6 and the access of figs. 3.1 to 3.3. */
#include "predictor/code/memory/access.h"
#include "predictor/code/memory/coalescing.h"
#include "tests/test.h"

/* Equal within @p room, on either side. */
static void assert_near(double value, double expected, double room)
{
	assert_true(fabs(value - expected) <= room);
}

enum { NODES = 16 };

/* A tree from its texts, as fig. 3.3 lists them; parents as there. */
struct tree {
	struct gw_access access;
	struct gw_access_node nodes[NODES];
};

static void add(struct tree *t, const char *reg, const char *opcode, int parent)
{
	struct gw_access_node *n = &t->nodes[t->access.count++];

	*n = (struct gw_access_node){.reg = reg, .opcode = opcode, .parent = parent};
	gw_access_decode(n);
}

static void link_tree(struct tree *t, const char *text)
{
	uint32_t at;

	t->access.text = text;
	t->access.bytes = gw_access_width(text);
	t->access.nodes = t->nodes;
	assert_null(gw_access_link(&t->access, &at));
}

/* Fig. 3.1, breadth first. Fig. 3.3 shows entries 0, 1, 2, 6 and 9 of this list. */
static void backprop(struct tree *t)
{
	*t = (struct tree){0};
	add(t, "%rd17", "add.s64", -1);
	add(t, "%rd3", "cvta.to.global.u64", 0);
	add(t, "%rd16", "mul.wide.s32", 0);
	add(t, "%rd7", "ld.param.u64", 1);
	add(t, "%r14", "add.s32", 2);
	add(t, "4", "", 2);
	add(t, "[param_5]", "", 3);
	add(t, "%r1", "mov.u32", 4);
	add(t, "1", "", 4);
	add(t, "%tid.x", "", 7);
	link_tree(t, "ld.global.f32 %f11, [%rd17];");
}

/* in[(ctaid.x ntid.x + tid.x) stride], one word each; stride 0 is the same location. */
static void base(struct tree *t, const char *stride)
{
	*t = (struct tree){0};
	add(t, "%rd4", "add.s64", -1);
	add(t, "%rd2", "cvta.to.global.u64", 0);
	add(t, "%rd3", "mul.wide.s32", 0);
	add(t, "%rd1", "ld.param.u64", 1);
	add(t, "%r5", "mul.lo.s32", 2);
	add(t, "4", "", 2);
	add(t, "[param_0]", "", 3);
	add(t, "%r4", "mad.lo.s32", 4);
	add(t, stride, "", 4);
	add(t, "%ctaid.x", "", 7);
	add(t, "%ntid.x", "", 7);
	add(t, "%tid.x", "", 7);
	link_tree(t, "ld.global.f32 %f1, [%rd4];");
}

static void sum_warps(const struct tree *t, struct gw_dim3 grid, struct gw_dim3 block,
		      struct gw_coalescing *sum)
{
	struct gw_access_launch launch = {.config = {.grid = grid, .block = block},
					  .assume_pointers = true};

	*sum = (struct gw_coalescing){0};
	for (uint32_t b = 0; b < grid.x; b++)
		for (uint32_t w = 0; w < (gw_dim3_count(block) + 31) / 32; w++) {
			struct gw_access_point point = {.block = {b, 0, 0}, .warp = w};
			struct gw_request r;

			assert_true(gw_access_request(&t->access, &launch, &point, &r, NULL));
			gw_coalescing_add(sum, &r, 1);
		}
}

static void check_base(const char *stride, double degree, unsigned in_range, double expectation)
{
	struct gw_coalescing c;
	struct tree t;

	base(&t, stride);
	sum_warps(&t, (struct gw_dim3){32, 1, 1}, (struct gw_dim3){64, 1, 1}, &c);
	assert_near(c.requests, 64, 0);
	assert_near(gw_coalescing_degree(&c), degree, 0);
	assert_int_equal(gw_coalescing_range_sectors(&c), in_range);
	assert_near(gw_coalescing_expectation(&c), expectation, 0);
	/* Its last column: sectors per request, as counted on the A30. */
	assert_near(gw_coalescing_sectors(&c), expectation, 0);
}

TEST(fig_4_6_stride_32_is_3_13_percent_and_32_sectors)
{
	check_base("32", 1.0 / 32, 1, 32);
}

TEST(fig_4_6_stride_4_is_25_percent_and_16_sectors)
{
	check_base("4", 0.25, 4, 16);
}

TEST(fig_4_6_same_location_is_100_percent_and_1_sector)
{
	check_base("0", 1, 1, 1);
}

TEST(fig_4_6_coalescing_is_100_percent_and_4_sectors)
{
	check_base("1", 1, 4, 4);
}

/* Fig. 4.6, backprop_adjust_weights: 100%, 3 sectors, expectation 3; blocks of 16 x 16. */
TEST(fig_3_1_is_100_percent_and_3_sectors)
{
	struct gw_coalescing c;
	struct tree t;

	backprop(&t);
	sum_warps(&t, (struct gw_dim3){1, 64, 1}, (struct gw_dim3){16, 16, 1}, &c);
	assert_near(gw_coalescing_degree(&c), 1, 0);
	assert_int_equal(gw_coalescing_range_sectors(&c), 3);
	assert_near(gw_coalescing_expectation(&c), 3, 0);
	assert_near(gw_coalescing_sectors(&c), 3, 0);
}

TEST(section_3_1_3_s_expression_is_written_as_there)
{
	char text[GW_ACCESS_TEXT_MAX];
	struct tree t;

	backprop(&t);
	assert_string_equal(gw_access_expression(&t.access, text, sizeof(text)),
			    "add(mul(add(tid.x, 1), 4), param5)");
}

TESTS_MAIN()
