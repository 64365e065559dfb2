/* A kernel's PTX, a launch and its arguments to the report of its accesses, as JSON and pictures.
 */
#include "cli/inspect/coalescing.h"

#include <unistd.h>

#include "predictor/code/ptx/ptx.h"
#include "tests/test.h"

enum { TEXT_MAX = 1 << 20 };

static char text[TEXT_MAX];
static struct gw_arena arena;
static struct gw_ir_program program;
static struct coalescing_view view;

/* View @p kernel of the coalescing test's PTX at a launch. */
static void look(const char *kernel, struct gw_dim3 grid, struct gw_dim3 block,
		 const void *arguments, size_t bytes)
{
	struct gw_eval_launch launch = {
		.config = {.grid = grid, .block = block, .cluster = {1, 1, 1}},
		.arguments = {arguments, bytes}};
	FILE *file = fopen(GW_KERNELS, "r");
	struct gw_ptx_fault fault;
	struct gw_bytes ptx;
	struct gw_ptx parsed;

	assert_non_null(file);
	ptx = (struct gw_bytes){(const uint8_t *)text, fread(text, 1, sizeof(text), file)};
	fclose(file);
	gw_arena_init(&arena, 64 << 20);
	assert_true(gw_ptx_parse(ptx, &arena, &parsed, &fault));
	assert_true(gw_ptx_lower(&parsed, gw_ptx_find(&parsed, kernel), &arena, &program, &fault));
	assert_null(coalescing_view_begin(&view, kernel, &program, &launch, ptx));
}

static void done(void)
{
	coalescing_view_end(&view);
	gw_arena_free(&arena);
}

static double number(const json_t *json, const char *key)
{
	return json_number_value(json_object_get(json, key));
}

/* Kim's stride-4, 32 blocks of 64 threads. */
static void look_at_stride_4(void)
{
	const struct {
		uint64_t in, out;
		int32_t stride;
	} arguments = {0x10000000, 0x20000000, 4};

	look("base_stride", (struct gw_dim3){32, 1, 1}, (struct gw_dim3){64, 1, 1}, &arguments, 20);
}

TEST(each_access_bears_003_s_measures)
{
	json_t *json, *access;

	look_at_stride_4();
	json = coalescing_json(&view);
	assert_int_equal(json_array_size(json_object_get(json, "accesses")), 2);
	access = json_array_get(json_object_get(json, "accesses"), 0);
	assert_string_equal(json_string_value(json_object_get(access, "access")), "load");
	assert_true(number(access, "requests") == 64);
	assert_true(number(access, "degree_of_coalescing") == 0.25);
	assert_true(number(access, "sector_accesses_per_warp") == 4);
	assert_true(number(access, "sector_expectation") == 16);
	assert_true(number(access, "sectors_per_request") == 16);
	access = json_array_get(json_object_get(json, "accesses"), 1);
	assert_string_equal(json_string_value(json_object_get(access, "access")), "store");
	assert_true(number(access, "degree_of_coalescing") == 1);
	json_decref(json);
	done();
}

TEST(the_launch_s_locality_stands_beside_them)
{
	json_t *json;

	look_at_stride_4();
	json = coalescing_json(&view);
	assert_true(number(json_object_get(json, "loads"), "sectors_per_request") == 16);
	assert_true(number(json_object_get(json, "stores"), "sectors_per_request") == 4);
	assert_true(number(json, "footprint_bytes") == 64 * (16 + 4) * 32);
	assert_true(number(json, "l1_hit_rate_of_a_block") == 0);
	assert_true(number(json, "sp_score") == 1);
	assert_true(number(json, "degree_of_sharing") == 0);
	json_decref(json);
	done();
}

TEST(the_syntax_trees_are_those_of_the_text)
{
	json_t *json, *trees, *root;
	const char *key;
	json_t *tree;
	bool load = false;

	look_at_stride_4();
	json = coalescing_json(&view);
	trees = json_object_get(json, "syntax_trees");
	json_object_foreach(trees, key, tree)
	{
		root = json_array_get(tree, 0);
		load |= strncmp(key, "ld.global.", 10) == 0;
		assert_string_equal(json_string_value(json_object_get(root, "opcode")), "add.s64");
		assert_non_null(strstr(key, json_string_value(json_object_get(root, "reg"))));
	}
	assert_true(load);
	json_decref(json);
	done();
}

TEST(both_graphs_are_drawn)
{
	char folder[] = "/tmp/gw_coalescing_XXXXXX", path[256];

	look_at_stride_4();
	assert_non_null(mkdtemp(folder));
	assert_int_equal(coalescing_plot(&view, folder), 0);
	snprintf(path, sizeof(path), "%s/coalescing-base_stride.svg", folder);
	assert_int_equal(remove(path), 0);
	snprintf(path, sizeof(path), "%s/locality-base_stride.svg", folder);
	assert_int_equal(remove(path), 0);
	assert_int_equal(rmdir(folder), 0);
	done();
}

TEST(addresses_from_memory_leave_the_footprint_null)
{
	const struct {
		uint64_t node, edge, mask, updating, visited, cost;
		int32_t nodes;
	} arguments = {1 << 20, 2 << 20, 3 << 20, 4 << 20, 5 << 20, 6 << 20, 1024};
	json_t *json;

	look("bfs_visit", (struct gw_dim3){2, 1, 1}, (struct gw_dim3){512, 1, 1}, &arguments, 52);
	json = coalescing_json(&view);
	assert_true(json_is_null(json_object_get(json, "footprint_bytes")));
	assert_true(json_is_null(json_object_get(json, "l1_hit_rate_of_a_block")));
	json_decref(json);
	done();
}

TESTS_MAIN()
