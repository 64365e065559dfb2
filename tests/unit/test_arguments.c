/* Arguments of launches: copied once per configuration, in the kernel's layout, within bounds. */
#include "preload/launch/arguments.h"
#include "preload/launch/launch.h"
#include "preload/worker/registry.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

enum { KERNEL = 1, SLOTS = 64 };

static const struct gw_code_param two[] = {{0, 4}, {8, 8}};
static struct gw_thread *thread;
static _Alignas(struct gw_arguments) unsigned char ring[GW_ARGUMENTS_RING];
static struct gw_thread_known known;
static uint32_t position; /* of the next launch in its ring */

enum { HEAD = 2 * sizeof(uint32_t) }; /* before the bytes: the launch's position, their number */

static int32_t number = 7;
static void *pointer = (void *)0x123456789a;
static void *params[] = {&number, &pointer};
static uint32_t fewer; /* parameters that the driver reports */

static void kernel_has(const struct gw_code_param *param, uint32_t count)
{
	gw_hot.shared->kernels[KERNEL].name = "kernel";
	gw_hot.shared->kernels[KERNEL].layout = gw_layout_keep(param, count);
}

/* The first arguments in the ring, and those behind them. */
static const struct gw_arguments *waiting(unsigned which)
{
	uint32_t at = 4;

	while (which--)
		at += HEAD + (((const struct gw_arguments *)(void *)(ring + at))->size + 3) / 4 * 4;
	return (const void *)(ring + at);
}

/* The driver's own word on the layout. */
static CUresult param_info(CUfunction f, size_t index, size_t *offset, size_t *size)
{
	const struct gw_layout *layout = gw_hot.shared->kernels[KERNEL].layout;

	assert_int_equal((uintptr_t)f, 0x1000);
	if (index >= layout->count - fewer)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = layout->param[index].offset;
	*size = layout->param[index].size;
	return CUDA_SUCCESS;
}

static int start(void **state)
{
	fixture_start();
	assert_true(gw_registry_start());
	gw_arguments_start();
	memset(ring, 0, sizeof(ring));
	thread = fixture_thread(SLOTS);
	thread->arguments = ring;
	thread->known = &known;
	memset(&known, 0, sizeof(known));
	gw_driver.cuFuncGetParamInfo = param_info;
	fewer = 0;
	position = 0;
	kernel_has(two, 2);
	return 0;
}

/* As the hook does it, for a launch with a grid of @p blocks; its flags afterwards. */
static uint8_t launch(uint32_t blocks, void **from_params, void **extra)
{
	struct gw_event *e = &thread->ring[0];
	struct gw_call call = {
		.event = e, .thread = thread, .at = position++, .function = (CUfunction)0x1000};

	*e = (struct gw_event){.kernel = KERNEL,
			       .grid = {blocks, 1, 1},
			       .block_x = 32,
			       .block_y = 1,
			       .block_z = 1,
			       .flags = GW_EVENT_ARGUMENTS | GW_EVENT_COOPERATIVE};
	gw_arguments_take(&call, from_params, extra);
	return e->flags;
}

static bool taken(uint8_t flags)
{
	assert_true(flags & GW_EVENT_COOPERATIVE);
	return (flags & GW_EVENT_ARGUMENTS) != 0;
}

TEST_WITH(they_lie_as_the_kernel_finds_them, start, NULL)
{
	const unsigned char expected[16] = {7, 0, 0, 0, 0, 0, 0, 0, 0x9a, 0x78, 0x56, 0x34, 0x12};

	memset(ring, 0xff, sizeof(ring));
	assert_true(taken(launch(1, params, NULL)));
	assert_int_equal(waiting(0)->size, 16);
	assert_memory_equal(waiting(0)->bytes, expected, 16);
}

TEST_WITH(a_configuration_is_copied_once, start, NULL)
{
	assert_true(taken(launch(1, params, NULL)));
	assert_false(taken(launch(1, params, NULL)));
	assert_true(taken(launch(2, params, NULL)));
	assert_int_equal(thread->arguments_head, 2 * (HEAD + 16));
}

static void expect_of_buffer(size_t size, uint32_t copied)
{
	unsigned char buffer[24] = "the program's own buffer";
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			 CU_LAUNCH_PARAM_END};

	assert_true(taken(launch(1, NULL, extra)));
	assert_int_equal(waiting(0)->size, copied);
	assert_memory_equal(waiting(0)->bytes, buffer, copied);
}

TEST_WITH(a_buffer_of_the_program_is_copied_as_it_is, start, NULL)
{
	expect_of_buffer(12, 12);
}

TEST_WITH(no_more_of_a_buffer_is_copied_than_the_kernel_takes, start, NULL)
{
	expect_of_buffer(24, 16);
}

TEST_WITH(what_is_too_large_is_left, start, NULL)
{
	const struct gw_code_param large[] = {{0, GW_ARGUMENTS_MAX}, {GW_ARGUMENTS_MAX, 1}};
	size_t size = GW_ARGUMENTS_MAX + 1;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, ring, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			 CU_LAUNCH_PARAM_END};

	kernel_has(large, 2);
	assert_false(taken(launch(1, params, NULL)));
	assert_false(taken(launch(2, NULL, extra)));
	assert_int_equal(thread->arguments_head, 0);
}

TEST_WITH(nothing_is_read_by_an_unknown_layout, start, NULL)
{
	gw_hot.shared->kernels[KERNEL].layout = NULL;
	assert_false(taken(launch(1, params, NULL)));
	assert_false(taken(launch(2, NULL, NULL)));
}

/* Its handle was given to another kernel, and we have not seen it. */
TEST_WITH(nothing_is_read_by_the_layout_of_another_kernel, start, NULL)
{
	fewer = 1;
	assert_false(taken(launch(1, params, NULL)));
}

TEST_WITH(the_driver_is_asked_once_for_what_cannot_be_read, start, NULL)
{
	fewer = 1;
	assert_false(taken(launch(1, params, NULL)));
	fewer = 0;
	assert_false(taken(launch(1, params, NULL)));
	assert_true(taken(launch(2, params, NULL)));
}

TEST_WITH(configurations_in_turns_are_copied_once, start, NULL)
{
	enum { CONFIGURATIONS = 400 };
	unsigned again = 0;

	for (uint32_t i = 0; i < 2 * CONFIGURATIONS; i++)
		again += taken(launch(1 + i % CONFIGURATIONS, params, NULL)) && i >= CONFIGURATIONS;
	assert_true(again < CONFIGURATIONS / 4); /* two may have one place */
}

TEST_WITH(a_kernel_without_parameters_has_none, start, NULL)
{
	kernel_has(NULL, 0);
	assert_true(taken(launch(1, params, NULL)));
	assert_true(taken(launch(2, NULL, NULL)));
	assert_int_equal(waiting(0)->size, 0);
	assert_int_equal(waiting(1)->size, 0);
}

/* The worker has come to the launch at @p of the ring. */
static void arrived(uint32_t at, uint32_t id)
{
	atomic_store(&thread->tail, at);
	gw_arguments_arrived(thread, id);
}

static uint32_t config(uint32_t blocks)
{
	const struct gw_config c = {
		.grid = {blocks, 1, 1}, .block = {32, 1, 1}, .cluster = {1, 1, 1}};

	return gw_intern_config(KERNEL, 0, &c);
}

TEST_WITH(a_full_ring_leaves_the_next, start, NULL)
{
	uint32_t n = 0;

	while (taken(launch(n + 1, params, NULL)))
		n++;
	assert_in_range(n, 2000, GW_ARGUMENTS_RING / 20);
	for (uint32_t i = 0; !taken(launch(n + 1, params, NULL)); i++)
		arrived(i, 0);
}

/* Begun where the longest would fit, and read where they were begun. */
TEST_WITH(arguments_come_out_of_the_ring_as_they_went_in, start, NULL)
{
	const struct gw_code_param large[] = {{0, 4}, {4, GW_ARGUMENTS_MAX - 4}};
	static unsigned char rest[GW_ARGUMENTS_MAX];
	uint32_t i = 0;
	void *both[] = {&i, rest};

	kernel_has(large, 2);
	for (i = 1; i <= 3 * GW_ARGUMENTS_RING / GW_ARGUMENTS_MAX; i++) {
		uint32_t id = config(i);

		assert_true(taken(launch(i, both, NULL)));
		arrived(position - 1, id);
		assert_int_equal(gw_arguments_of(id)->size, GW_ARGUMENTS_MAX);
		assert_memory_equal(gw_arguments_of(id)->bytes, &i, 4);
	}
}

TEST_WITH(the_worker_keeps_those_of_the_first_launch, start, NULL)
{
	uint32_t id = config(1);

	assert_null(gw_arguments_of(id));
	assert_null(gw_arguments_of(0));
	launch(1, params, NULL);
	number = 8;
	memset(&known, 0, sizeof(known));
	launch(1, params, NULL);
	number = 7;
	arrived(0, id);
	arrived(1, id);
	assert_int_equal(gw_arguments_of(id)->size, 16);
	assert_int_equal(gw_arguments_of(id)->bytes[0], 7);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_arguments]), 1);
}

/* Its page was given back as it was written, or a signal handler jumped out of its end. */
TEST_WITH(those_of_a_lost_launch_are_not_taken_for_the_next_ones, start, NULL)
{
	const uint32_t lost = config(1), next = config(2);

	launch(1, params, NULL);
	number = 8;
	launch(2, params, NULL);
	number = 7;
	arrived(1, next);
	assert_int_equal(gw_arguments_of(next)->bytes[0], 8);
	assert_null(gw_arguments_of(lost));
	assert_int_equal(atomic_load(&thread->arguments_tail), thread->arguments_head);
}

TEST_WITH(what_is_kept_is_bounded, start, NULL)
{
	const struct gw_code_param large[] = {{0, GW_ARGUMENTS_MAX}};
	static unsigned char bytes[GW_ARGUMENTS_MAX];
	void *one[] = {bytes};

	kernel_has(large, 1);
	for (uint32_t i = 1; i <= 10000; i++)
		if (taken(launch(i, one, NULL)))
			arrived(position - 1, config(i));
	assert_in_range(atomic_load(&gw_counters[GW_COUNTER_arguments]), 2000, 2048);
}

/* A launch whose prediction is published wants none. */
TEST_WITH(a_found_cell_ends_the_wish, start, NULL)
{
	struct gw_event e = {.kernel = KERNEL,
			     .grid = {1, 1, 1},
			     .block_x = 32,
			     .block_y = 1,
			     .block_z = 1,
			     .flags = GW_EVENT_ARGUMENTS | GW_EVENT_COOPERATIVE};
	uint64_t key = gw_cell_key(KERNEL, e.grid, 32, 1, 1, 0, 0, 0);
	struct gw_cell *cell = &gw_hot.shared->cells[key >> (64 - GW_CELLS_BITS)];

	gw_cell_read(gw_hot.shared, 0, &e);
	assert_true(taken(e.flags));
	atomic_store(&cell->flags, GW_EVENT_MULTIMODAL);
	atomic_store(&cell->key, key);
	gw_cell_read(gw_hot.shared, 0, &e);
	assert_false(taken(e.flags));
	assert_true(e.flags & GW_EVENT_MULTIMODAL);
}

/* What a graph's kernel node keeps, for a grid of @p blocks. */
static const struct gw_arguments *of_node(uint32_t blocks, void **from_params)
{
	const struct gw_config config = {{blocks, 1, 1}, {32, 1, 1}, {1, 1, 1}, 0, 0};
	const CUDA_KERNEL_NODE_PARAMS p = {.func = (CUfunction)0x1000, .kernelParams = from_params};

	return gw_arguments_of_node(KERNEL, &config, &p);
}

TEST_WITH(nodes_of_a_configuration_share_the_first_ones, start, NULL)
{
	const struct gw_config config = {{2, 1, 1}, {32, 1, 1}, {1, 1, 1}, 0, 0};
	const struct gw_arguments *first, *second;
	uint32_t id = gw_intern_config(KERNEL, 0, &config);

	atomic_store(&gw_hot.arguments, 0);
	assert_null(of_node(1000001, params)); /* none are needed */
	atomic_store(&gw_hot.arguments, GW_EVENT_ARGUMENTS);
	assert_null(of_node(1000001, NULL));
	first = of_node(1000001, params);
	assert_non_null(first);
	assert_int_equal(first->size, 16);
	assert_int_equal(first->bytes[0], 7);
	number = 8;
	assert_ptr_equal(of_node(1000001, params), first);
	second = of_node(2, params);
	number = 7;
	assert_non_null(second);
	assert_int_equal(second->bytes[0], 8);
	gw_arguments_node(id, second);
	gw_arguments_node(id, first);
	assert_ptr_equal(gw_arguments_of(id), second);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_arguments]), 1);
}

TEST_WITH(what_nodes_keep_is_bounded, start, NULL)
{
	const struct gw_code_param large[] = {{0, GW_ARGUMENTS_MAX}};
	static unsigned char bytes[GW_ARGUMENTS_MAX];
	void *one[] = {bytes};
	unsigned kept = 0;

	atomic_store(&gw_hot.arguments, GW_EVENT_ARGUMENTS);
	kernel_has(large, 1);
	for (uint32_t i = 1; i <= 2000; i++)
		kept += of_node(i + 10, one) != NULL;
	assert_in_range(kept, 1000, 1024);
}

TESTS_MAIN()
