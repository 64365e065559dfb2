/* Snapshots of executable graphs and captures under way, by a driver of the test's own. */
#include "preload/hook/handlers.h"
#include "preload/launch/object_lifetime.h"
#include "preload/maps/memory.h"
#include "preload/runtime/options.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

#include <errno.h>
#include <time.h>

/* A graph is a list of nodes; a node is a kernel of some grid, or a child graph. */
struct CUgraphNode_st {
	CUgraphNodeType type;
	unsigned grid;
	struct CUgraph_st *child;
};
struct CUgraph_st {
	size_t count;
	struct CUgraphNode_st node[4];
};
static struct CUgraphNode_st many[30000]; /* those of a graph that has more */

#define KERNEL(grid) \
	{ \
		CU_GRAPH_NODE_TYPE_KERNEL, grid, NULL \
	}
#define CHILD(graph) \
	{ \
		CU_GRAPH_NODE_TYPE_GRAPH, 0, graph \
	}

static const CUgraphExec exec = (CUgraphExec)0x100, exec2 = (CUgraphExec)0x200;

static CUresult get_nodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	errno = ENOENT; /* a driver may leave it changed */
	for (size_t i = 0; nodes && i < *count && i < graph->count; i++)
		nodes[i] = graph->count > 4 ? &many[i] : &graph->node[i];
	*count = graph->count;
	return CUDA_SUCCESS;
}

static CUresult get_type(CUgraphNode node, CUgraphNodeType *type)
{
	*type = node->type;
	return CUDA_SUCCESS;
}

static CUresult get_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *p)
{
	*p = (CUDA_KERNEL_NODE_PARAMS){.func = (CUfunction)0x5000,
				       .gridDimX = node->grid,
				       .gridDimY = 1,
				       .gridDimZ = 1,
				       .blockDimX = 32,
				       .blockDimY = 1,
				       .blockDimZ = 1};
	return node->grid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult get_child(CUgraphNode node, CUgraph *graph)
{
	*graph = node->child;
	return CUDA_SUCCESS;
}

/*
 * A driver that reports function 0x6000 of context 0x20 only there: its module, 0x600, is the one
 * that it made of library 0x900, whose kernel 0x9000 was launched.
 */
static CUcontext current;
static unsigned pushed, asked_elsewhere;

static CUresult get_current(CUcontext *context)
{
	*context = current;
	return CUDA_SUCCESS;
}

static CUresult push(CUcontext context)
{
	pushed++;
	current = context;
	return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *context)
{
	*context = current;
	pushed--;
	current = (CUcontext)0x10;
	return CUDA_SUCCESS;
}

static CUresult name_of_function(const char **name, CUfunction f)
{
	*name = "kernel";
	return f == (CUfunction)0x6000 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult module_of_function(CUmodule *module, CUfunction f)
{
	*module = (CUmodule)0x600;
	return f == (CUfunction)0x6000 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult function_of_kernel(CUfunction *f, CUkernel kernel)
{
	asked_elsewhere += current != (CUcontext)0x20;
	*f = (CUfunction)0x6000;
	return kernel == (CUkernel)0x9000 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult library_of_kernel(CUlibrary *library, CUkernel kernel)
{
	*library = (CUlibrary)0x900;
	return kernel == (CUkernel)0x9000 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult params_of_a_library(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *p)
{
	CUresult r = get_params(node, p);

	p->func = (CUfunction)0x6000;
	p->ctx = (CUcontext)0x20;
	return r;
}

static int start(void **state)
{
	fixture_start();
	gw_driver.cuGraphGetNodes = get_nodes;
	gw_driver.cuGraphNodeGetType = get_type;
	gw_driver.cuGraphKernelNodeGetParams_v2 = get_params;
	gw_driver.cuGraphChildGraphNodeGetGraph = get_child;
	gw_map_put(&gw_hot.shared->functions, 0x5000, 1, 0, 0);
	return 0;
}

static int stop(void **state)
{
	for (uint32_t i = 0; i < GW_GRAPHS_MAX; i++)
		free(gw_hot.shared->graph_slots[i].nodes);
	return 0;
}

static uint32_t slot_of(CUgraphExec e)
{
	return gw_map_get(&gw_hot.shared->graphs, (uintptr_t)e);
}

static struct gw_graph_slot *snapshot(CUgraphExec e)
{
	uint32_t at = slot_of(e);

	assert_true(at != 0);
	return &gw_hot.shared->graph_slots[at];
}

/* Whether the slot's use ended last of all. */
static bool retired(const struct gw_graph_slot *slot)
{
	return atomic_load(&gw_hot.shared->graphs_free.retired) ==
	       (uint32_t)(slot - gw_hot.shared->graph_slots);
}

static void launched(CUgraphExec e)
{
	atomic_store(&snapshot(e)->launched, 1);
}

TEST_WITH(the_kernels_of_a_graph_and_its_children_are_listed, start, stop)
{
	struct CUgraph_st inner = {2, {KERNEL(7), KERNEL(8)}};
	struct CUgraph_st outer = {3, {KERNEL(1), CHILD(&inner), KERNEL(3)}};
	struct gw_graph_slot *s;

	errno = 5;
	gw_graph_made(exec, &outer);
	assert_int_equal(errno, 5);
	s = snapshot(exec);
	assert_int_equal(s->count, 4);
	assert_false(s->unknown);
	assert_int_equal(s->nodes[1].config.grid.x, 7);
	assert_int_equal(s->nodes[1].parent, (uintptr_t)&outer.node[1]);
	assert_int_equal(s->nodes[3].config.grid.x, 3);
	assert_int_equal(s->nodes[3].kernel, 1);
	assert_true(s->nodes[0].enabled);
}

TEST_WITH(a_function_is_asked_about_in_its_nodes_context, start, stop)
{
	struct CUgraph_st graph = {1, {KERNEL(7)}};
	struct gw_map *functions = &gw_hot.shared->functions;

	current = (CUcontext)0x10;
	pushed = asked_elsewhere = 0;
	gw_driver.cuCtxGetCurrent = get_current;
	gw_driver.cuCtxPushCurrent_v2 = push;
	gw_driver.cuCtxPopCurrent_v2 = pop;
	gw_driver.cuFuncGetName = name_of_function;
	gw_driver.cuFuncGetModule = module_of_function;
	gw_driver.cuKernelGetFunction = function_of_kernel;
	gw_driver.cuKernelGetLibrary = library_of_kernel;
	gw_driver.cuGraphKernelNodeGetParams_v2 = params_of_a_library;
	gw_hot.shared->kernels[3] = (struct gw_kernel_slot){.name = "kernel",
							    .registers = UINT32_MAX,
							    .static_shared = UINT32_MAX,
							    .local = UINT32_MAX,
							    .constant = UINT32_MAX,
							    .max_threads = UINT32_MAX,
							    .binary_version = UINT32_MAX};
	gw_map_put(functions, 0x9000, 3, 0x900, 0);
	gw_map_put(&gw_hot.shared->modules, 0x900, 5, 0, 0);
	gw_graph_made(exec, &graph);
	assert_true(snapshot(exec)->nodes[0].kernel != 0);
	assert_int_equal(gw_map_owner(functions, 0x6000), 0x900);
	assert_int_equal(gw_hot.shared->kernels[gw_map_get(functions, 0x6000)].module, 5);
	assert_int_equal(asked_elsewhere, 0);
	assert_int_equal(pushed, 0);
	assert_ptr_equal(current, (CUcontext)0x10);
	/* It dies with its own context, not with the one that was current. */
	gw_map_remove_all(functions, 0, 0x10, NULL);
	assert_true(gw_map_get(functions, 0x6000) != 0);
	gw_map_remove_all(functions, 0, 0x20, NULL);
	assert_int_equal(gw_map_get(functions, 0x6000), 0);
}

/* Else the driver would be asked at each launch, some fifty times. */
TEST_WITH(a_function_is_asked_about_once_where_the_table_is_full, start, stop)
{
	struct gw_map *functions = &gw_hot.shared->functions;
	uint32_t others = 0, left = 0;

	gw_driver.cuFuncGetName = name_of_function;
	for (uintptr_t key = 0x100000; others < GW_MAP_PROBE; key += 16)
		others += gw_map_hash(key) == gw_map_hash(0x6000) &&
			  gw_map_put(functions, key, 3, 0, 0);
	assert_true(gw_kernel_resolve((CUfunction)0x6000) != 0);
	assert_true(gw_map_get(functions, 0x6000) != 0);
	for (uintptr_t key = 0x100000; others; key += 16)
		if (gw_map_hash(key) == gw_map_hash(0x6000)) {
			others--;
			left += gw_map_get(functions, key) != 0;
		}
	assert_int_equal(left, GW_MAP_PROBE - 1);
}

/* What a refusal leaves behind: slots, bytes of names, bytes of the account. */
static void assert_refused(uint32_t slots, uint64_t names)
{
	const uint64_t before = gw_memory_now();

	for (int i = 0; i < 3; i++)
		assert_int_equal(gw_kernel_resolve((CUfunction)0x6000), GW_KERNELS_MAX - 1);
	assert_int_equal(gw_memory_now(), before);
	assert_int_equal(atomic_load(&gw_hot.shared->kernel_count), slots);
	assert_int_equal(atomic_load(&gw_hot.shared->names_used), names);
}

TEST_WITH(kernels_without_room_for_a_name_take_nothing, start, stop)
{
	const uint64_t max = gw_options.memory_max;

	gw_driver.cuFuncGetName = name_of_function;
	atomic_store(&gw_hot.shared->names_used, GW_NAMES_MAX);
	assert_refused(0, GW_NAMES_MAX);
	/* There is room for the slot, and none for its name. */
	atomic_store(&gw_hot.shared->names_used, 0);
	gw_options.memory_max = (gw_memory_now() + sizeof(struct gw_kernel_slot) + 6) / 7 * 8;
	assert_refused(0, 0);
	gw_options.memory_max = max;
}

TEST_WITH(what_cannot_be_listed_is_said, start, stop)
{
	struct CUgraph_st conditional = {2, {KERNEL(1), {CU_GRAPH_NODE_TYPE_CONDITIONAL, 0, NULL}}};
	struct CUgraph_st refused = {2, {KERNEL(0), KERNEL(2)}};

	gw_graph_made(exec, &conditional);
	assert_true(snapshot(exec)->unknown);
	assert_int_equal(snapshot(exec)->count, 1);
	gw_graph_made(exec2, &refused);
	assert_true(snapshot(exec2)->unknown);
	assert_int_equal(snapshot(exec2)->count, 1);
}

TEST_WITH(a_graph_that_holds_itself_is_given_up, start, stop)
{
	struct CUgraph_st endless = {1, {CHILD(&endless)}};

	gw_graph_made(exec, &endless);
	assert_true(snapshot(exec)->unknown);
}

TEST_WITH(a_driver_without_the_calls_leaves_it_unknown, start, stop)
{
	struct CUgraph_st graph = {1, {KERNEL(1)}};

	gw_driver.cuGraphKernelNodeGetParams_v2 = NULL;
	gw_graph_made(exec, &graph);
	assert_true(snapshot(exec)->unknown);
	assert_int_equal(snapshot(exec)->count, 0);
}

TEST_WITH(a_change_before_the_first_launch_is_made_in_place, start, stop)
{
	struct CUgraph_st graph = {2, {KERNEL(1), KERNEL(2)}};
	uint32_t before;

	gw_graph_made(exec, &graph);
	before = slot_of(exec);
	gw_graph_node_enabled(exec, &graph.node[1], false);
	assert_int_equal(slot_of(exec), before);
	assert_false(snapshot(exec)->nodes[1].enabled);
	assert_true(snapshot(exec)->nodes[0].enabled);
}

TEST_WITH(a_change_after_a_launch_leaves_the_launched_snapshot, start, stop)
{
	struct CUgraph_st graph = {2, {KERNEL(1), KERNEL(2)}};
	CUDA_KERNEL_NODE_PARAMS p;
	struct gw_graph_slot *before;

	gw_graph_made(exec, &graph);
	launched(exec);
	before = snapshot(exec);
	get_params(&(struct CUgraphNode_st)KERNEL(9), &p);
	gw_graph_node_set(exec, &graph.node[1], &p);
	assert_ptr_not_equal(snapshot(exec), before);
	assert_int_equal(before->nodes[1].config.grid.x, 2);
	assert_true(retired(before));
	assert_int_equal(snapshot(exec)->nodes[1].config.grid.x, 9);
	assert_int_equal(snapshot(exec)->exec, before->exec);
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Of a graph of 30 times as many nodes, setting all takes some 30 times as long, not 900 times. */
TEST_WITH(to_set_all_nodes_takes_time_by_their_number, start, stop)
{
	static const size_t counts[] = {COUNT(many) / 30, sizeof(many) / sizeof(*many)};
	double took[2];

	for (size_t i = 0; i < COUNT(many); i++)
		many[i] = (struct CUgraphNode_st)KERNEL(1);
	for (int k = 0; k < 2; k++) {
		struct CUgraph_st graph = {.count = counts[k]};
		CUDA_KERNEL_NODE_PARAMS p;
		double begin;

		gw_graph_made(exec, &graph);
		get_params(&(struct CUgraphNode_st)KERNEL(9), &p);
		begin = cpu_s();
		for (int turn = 0; turn < 3; turn++)
			for (size_t i = 0; i < counts[k]; i++)
				gw_graph_node_set(exec, &many[i], &p);
		took[k] = cpu_s() - begin;
		assert_int_equal(snapshot(exec)->nodes[counts[k] - 1].config.grid.x, 9);
	}
	assert_true(took[1] < 200 * took[0]);
}

TEST_WITH(an_update_keeps_names_and_what_is_disabled, start, stop)
{
	struct CUgraph_st graph = {2, {KERNEL(1), KERNEL(2)}}, next = {2, {KERNEL(5), KERNEL(6)}};

	gw_graph_made(exec, &graph);
	gw_graph_node_enabled(exec, &graph.node[0], false);
	launched(exec);
	gw_graph_updated(exec, &next);
	assert_int_equal(snapshot(exec)->nodes[1].config.grid.x, 6);
	assert_false(snapshot(exec)->nodes[0].enabled);
	assert_int_equal(snapshot(exec)->nodes[0].node, (uintptr_t)&graph.node[0]);
}

TEST_WITH(a_child_may_be_replaced_and_switched_as_a_whole, start, stop)
{
	struct CUgraph_st inner = {2, {KERNEL(7), KERNEL(8)}}, other = {2, {KERNEL(9), KERNEL(10)}};
	struct CUgraph_st outer = {3, {KERNEL(1), CHILD(&inner), KERNEL(3)}};
	struct gw_graph_slot *s;

	gw_graph_made(exec, &outer);
	gw_graph_node_enabled(exec, &outer.node[1], false);
	assert_true(snapshot(exec)->nodes[0].enabled && snapshot(exec)->nodes[3].enabled);
	assert_false(snapshot(exec)->nodes[1].enabled || snapshot(exec)->nodes[2].enabled);
	gw_graph_child_set(exec, &outer.node[1], &other);
	s = snapshot(exec);
	assert_int_equal(s->count, 4);
	assert_int_equal(s->nodes[0].config.grid.x, 1);
	assert_int_equal(s->nodes[1].config.grid.x, 9);
	assert_int_equal(s->nodes[2].config.grid.x, 10);
	assert_int_equal(s->nodes[3].config.grid.x, 3);
	assert_int_equal(s->nodes[2].node, (uintptr_t)&inner.node[1]);
	assert_false(s->nodes[1].enabled || s->nodes[2].enabled || s->unknown);
}

/* No driver takes one; it may fail while it is read. */
TEST_WITH(a_child_that_could_not_be_listed_is_unknown, start, stop)
{
	struct CUgraph_st inner = {2, {KERNEL(7), KERNEL(8)}}, other = {1, {KERNEL(9)}};
	struct CUgraph_st outer = {3, {KERNEL(1), CHILD(&inner), KERNEL(3)}};
	struct gw_graph_slot *s;

	gw_graph_made(exec, &outer);
	gw_graph_child_set(exec, &outer.node[1], &other);
	s = snapshot(exec);
	assert_true(s->unknown);
	assert_true(s->nodes[0].enabled && s->nodes[3].enabled);
	assert_false(s->nodes[1].enabled || s->nodes[2].enabled);
}

TEST_WITH(a_destroyed_graph_is_forgotten, start, stop)
{
	struct CUgraph_st graph = {1, {KERNEL(1)}};
	struct gw_graph_slot *was;

	gw_graph_made(exec, &graph);
	was = snapshot(exec);
	gw_graph_gone(exec);
	assert_int_equal(slot_of(exec), 0);
	assert_true(retired(was));
	/* Changes of a graph that is not known change nothing. */
	gw_graph_node_enabled(exec, &graph.node[0], false);
	gw_graph_updated(exec, &graph);
	assert_int_equal(slot_of(exec), 0);
}

TEST_WITH(a_handle_made_anew_is_another_graph, start, stop)
{
	struct CUgraph_st graph = {1, {KERNEL(1)}};
	uint32_t number;

	gw_graph_made(exec, &graph);
	number = snapshot(exec)->exec;
	gw_graph_made(exec, &graph);
	assert_int_not_equal(snapshot(exec)->exec, number);
}

/* How many stream captures are under way: never too few, or captured launches count as run. */
static struct gw_call call;

/* There are no records. */
void gw_activity_context_going(void)
{
}

static int start_captures(void **state)
{
	fixture_start();
	return 0;
}

static void begin(CUresult result)
{
	capture_coming(&call, 0);
	capture_begun(&call, result, 0);
}

static int under_way(void)
{
	return atomic_load(&gw_hot.captures);
}

TEST_WITH(a_capture_counts_from_its_begin_to_its_end, start_captures, NULL)
{
	begin(CUDA_SUCCESS);
	begin(CUDA_SUCCESS);
	assert_int_equal(under_way(), 2);
	capture_ended(&call, CUDA_SUCCESS, NULL, NULL);
	assert_int_equal(under_way(), 1);
	capture_ended(&call, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, NULL, NULL);
	assert_int_equal(under_way(), 0);
}

TEST_WITH(a_capture_that_could_not_begin_does_not_count, start_captures, NULL)
{
	begin(CUDA_ERROR_ILLEGAL_STATE);
	assert_int_equal(under_way(), 0);
}

TEST_WITH(a_refused_end_leaves_the_capture_under_way, start_captures, NULL)
{
	static const CUresult refusals[] = {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
					    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
					    CUDA_ERROR_ILLEGAL_STATE,
					    CUDA_ERROR_INVALID_VALUE,
					    CUDA_ERROR_INVALID_HANDLE,
					    CUDA_ERROR_INVALID_CONTEXT,
					    CUDA_ERROR_OUT_OF_MEMORY};

	begin(CUDA_SUCCESS);
	for (size_t i = 0; i < COUNT(refusals); i++) {
		capture_ended(&call, refusals[i], NULL, NULL);
		assert_int_equal(under_way(), 1);
	}
}

static CUstream stream_at(uintptr_t handle)
{
	return (CUstream)(handle << 4);
}

static CUresult context_is(CUcontext *context)
{
	*context = (CUcontext)0x7000;
	return CUDA_SUCCESS;
}

static void begin_in(CUstream stream)
{
	capture_coming(&call, stream);
	capture_begun(&call, CUDA_SUCCESS, stream);
}

static void destroy(CUstream stream, CUresult result)
{
	stream_going(&call, stream);
	stream_ended(&call, result, stream);
}

TEST_WITH(a_capture_ends_with_the_stream_that_began_it, start_captures, NULL)
{
	begin_in(stream_at(1));
	begin_in(stream_at(2));
	destroy(stream_at(3), CUDA_SUCCESS); /* it has joined one, at most */
	assert_int_equal(under_way(), 2);
	destroy(stream_at(2), CUDA_ERROR_INVALID_CONTEXT);
	assert_int_equal(under_way(), 2);
	destroy(stream_at(2), CUDA_SUCCESS);
	assert_int_equal(under_way(), 1);
	destroy(stream_at(2), CUDA_SUCCESS); /* the next of this handle */
	assert_int_equal(under_way(), 1);
	capture_ended(&call, CUDA_SUCCESS, stream_at(1), NULL);
	assert_int_equal(under_way(), 0);
	begin_in(stream_at(2));
	destroy(stream_at(1), CUDA_SUCCESS);
	assert_int_equal(under_way(), 1);
	destroy(stream_at(2), CUDA_SUCCESS);
	assert_int_equal(under_way(), 0);
}

TEST_WITH(captures_end_with_their_context, start_captures, NULL)
{
	gw_driver.cuCtxGetCurrent = context_is;
	begin_in(stream_at(1));
	begin_in(stream_at(2));
	context_going(&call, (CUcontext)0x8000);
	context_ended(&call, CUDA_SUCCESS, (CUcontext)0x8000);
	assert_int_equal(under_way(), 2);
	context_going(&call, (CUcontext)0x7000);
	assert_int_equal(under_way(), 2);
	context_ended(&call, CUDA_SUCCESS, (CUcontext)0x7000);
	assert_int_equal(under_way(), 0);
}

TEST_WITH(an_end_too_many_does_not_hide_a_later_capture, start_captures, NULL)
{
	capture_ended(&call, CUDA_SUCCESS, NULL, NULL);
	begin(CUDA_SUCCESS);
	assert_int_equal(under_way(), 1);
}

TESTS_MAIN()
