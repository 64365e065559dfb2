/* Ids in the log: each thing is written once, before it is first named. */
#include "preload/live/log.h"
#include "preload/maps/memory.h"
#include "preload/runtime/options.h"
#include "preload/worker/profile.h"
#include "preload/worker/registry.h"
#include "preload/launch/modules.h"
#include "preload/runtime/degrade.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

static uint32_t written[32]; /* by kind */
static union {
	struct gw_record_kernel kernel;
	struct gw_record_config config;
	struct gw_record_stream stream;
	struct gw_record_device device;
	char bytes[256];
} last[32];
static char text[32][300], profile_wanted[64];
static unsigned driver_calls;
static const char *device_name;

static bool ring;
static uint32_t losses;

/* In place of the log. */
bool gw_log_ring(void)
{
	return ring;
}

uint32_t gw_log_losses(void)
{
	return losses;
}

void gw_log_write(enum gw_record_kind kind, void *head, size_t size, const void *tail,
		  size_t tail_size)
{
	written[kind]++;
	memcpy(&last[kind], head, size < sizeof(*last) ? size : sizeof(*last));
	memset(text[kind], 0, sizeof(*text));
	memcpy(text[kind], tail ? tail : "", tail ? tail_size : 0);
}

void gw_device_profile_use(uint32_t id, const char *name)
{
	(void)id;
	snprintf(profile_wanted, sizeof(profile_wanted), "%s", name);
}

static CUresult name_of(char *name, int size, CUdevice device)
{
	(void)device;
	driver_calls++;
	snprintf(name, (size_t)size, "%s", device_name);
	return CUDA_SUCCESS;
}

static CUresult attribute_of(int *value, CUdevice_attribute which, CUdevice device)
{
	(void)device;
	driver_calls++;
	*value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
	return which == CU_DEVICE_ATTRIBUTE_CLOCK_RATE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult version_of(int *version)
{
	driver_calls++;
	*version = 13000;
	return CUDA_SUCCESS;
}

static int start(void **state)
{
	fixture_start();
	gw_degraded_reset();
	device_name = "GPU of the test";
	gw_driver.cuDeviceGetName = name_of;
	gw_driver.cuDeviceGetAttribute = attribute_of;
	gw_driver.cuDriverGetVersion = version_of;
	assert_true(gw_registry_start());
	memset(written, 0, sizeof(written));
	driver_calls = losses = 0;
	ring = false;
	for (uint32_t i = 1; i < 4; i++)
		gw_hot.shared->kernels[i] = (struct gw_kernel_slot){
			.name = i == 3 ? "other" : "kernel", .hash = i, .registers = 10 * i};
	return 0;
}

static const struct gw_config small = {{1, 2, 3}, {4, 5, 6}, {1, 1, 1}, 7, 0};

static struct gw_activity activity(const char *name)
{
	return (struct gw_activity){.name = name,
				    .grid = {1, 2, 3},
				    .block = {4, 5, 6},
				    .cluster = {1, 1, 1},
				    .dynamic_shared = 7,
				    .registers = 33};
}

TEST_WITH(a_configuration_is_written_once_after_its_kernel, start, NULL)
{
	uint32_t id = gw_intern_config(1, 0, &small);

	assert_int_equal(id, 1);
	assert_int_equal(gw_intern_config(1, 0, &small), id);
	assert_int_equal(written[GW_RECORD_KERNEL], 1);
	assert_int_equal(written[GW_RECORD_CONFIG], 1);
	assert_int_equal(last[GW_RECORD_CONFIG].config.kernel, last[GW_RECORD_KERNEL].kernel.id);
	assert_int_equal(last[GW_RECORD_CONFIG].config.grid_z, 3);
	assert_int_equal(last[GW_RECORD_CONFIG].config.dynamic_shared, 7);
	assert_string_equal(text[GW_RECORD_KERNEL], "kernel");
	assert_int_equal(gw_config_count(), 1);
	assert_int_equal(gw_config_entry(id)->slot, 1);
}

TEST_WITH(every_part_of_a_configuration_makes_another, start, NULL)
{
	struct gw_config c = small;

	gw_intern_config(1, 0, &small);
	c.dynamic_shared = 8;
	assert_int_equal(gw_intern_config(1, 0, &c), 2);
	c = small;
	c.cluster.x = 2;
	assert_int_equal(gw_intern_config(1, 0, &c), 3);
	c = small;
	c.block.z = 1;
	assert_int_equal(gw_intern_config(1, 0, &c), 4);
	assert_int_equal(gw_intern_config(2, 0, &small), 5); /* same name, other resources */
	assert_int_equal(written[GW_RECORD_KERNEL], 2);
	gw_device_meet(1);
	assert_int_equal(gw_intern_config(1, 2, &small), 6); /* on the second GPU */
	assert_int_equal(gw_config_entry(6)->device, 2);
	assert_int_equal(last[GW_RECORD_CONFIG].config.device, last[GW_RECORD_DEVICE].device.id);
	assert_int_equal(last[GW_RECORD_DEVICE].device.ordinal, 1);
	assert_int_equal(gw_intern_config(1, 1, &small), 7);
	assert_int_equal(written[GW_RECORD_KERNEL], 2);
}

TEST_WITH(an_unknown_kernel_has_no_configuration, start, NULL)
{
	assert_int_equal(gw_intern_config(0, 0, &small), 0);
	assert_int_equal(gw_intern_config(99, 0, &small), 0);
	assert_int_equal(written[GW_RECORD_CONFIG], 0);
}

TEST_WITH(a_record_finds_the_configuration_the_hooks_made, start, NULL)
{
	struct gw_activity a = activity("kernel");

	gw_intern_config(1, 0, &small);
	assert_int_equal(gw_intern_config_of_activity(&a), 1); /* whose GPU they did not know */
	assert_int_equal(gw_intern_config(1, 2, &small), 2);
	a.device = 1;
	assert_int_equal(gw_intern_config_of_activity(&a), 2);
	assert_int_equal(written[GW_RECORD_KERNEL], 1);
}

/* Which of two kernels of one name a record is of, its registers tell, or nothing does. */
TEST_WITH(a_record_of_one_of_two_kernels_is_not_taken_for_the_other, start, NULL)
{
	struct gw_activity a = activity("kernel");
	uint32_t one = gw_intern_config(1, 1, &small), two = gw_intern_config(2, 1, &small), third;

	assert_int_not_equal(one, two);
	a.registers = 10;
	assert_int_equal(gw_intern_config_of_activity(&a), one);
	a.registers = 20;
	assert_int_equal(gw_intern_config_of_activity(&a), two);
	gw_hot.shared->kernels[4] =
		(struct gw_kernel_slot){.name = "kernel", .hash = 4, .image = 7, .registers = 20};
	assert_int_not_equal(gw_intern_config(4, 1, &small), two);
	third = gw_intern_config_of_activity(&a);
	assert_int_equal(last[GW_RECORD_CONFIG].config.id, third); /* it is new */
	assert_int_equal(written[GW_RECORD_KERNEL], 4);
	assert_int_equal(gw_intern_config_of_activity(&a), third);
	a.registers = 10;
	assert_int_equal(gw_intern_config_of_activity(&a), one);
	/* A launch and a record that met no other are counted once, whosever they are. */
	assert_int_equal(gw_config_entry(third)->pair, one);
	assert_int_equal(gw_config_entry(two)->pair, one);
}

TEST_WITH(a_kernel_no_hook_saw_is_written_from_its_record, start, NULL)
{
	char name[] = "device_launched";
	struct gw_activity a = activity(name);
	uint32_t id = gw_intern_config_of_activity(&a);

	assert_int_equal(id, 1);
	assert_int_equal(gw_intern_config_of_activity(&a), id);
	assert_int_equal(last[GW_RECORD_KERNEL].kernel.registers, 33);
	assert_int_equal(last[GW_RECORD_KERNEL].kernel.max_threads, UINT32_MAX);
	strcpy(name, "gone");
	assert_string_equal(gw_config_entry(id)->name, "device_launched");
	assert_int_equal(gw_config_entry(id)->slot, 0);
}

TEST_WITH(a_stream_slot_used_anew_is_another_stream, start, NULL)
{
	struct gw_stream_slot *s = &gw_hot.shared->stream_slots[5];

	*s = (struct gw_stream_slot){.device = 0,
				     .generation = 1,
				     .cupti_context = 1,
				     .cupti_stream = 7,
				     .context_id = 3};
	gw_device_meet(0);
	assert_int_equal(gw_intern_stream(0), 0);
	assert_int_equal(gw_intern_stream(5), 1);
	assert_int_equal(gw_intern_stream(5), 1);
	assert_int_equal(last[GW_RECORD_STREAM].stream.cupti_id, 7);
	s->generation = 2;
	assert_int_equal(gw_intern_stream(5), 2);
	assert_int_equal(written[GW_RECORD_STREAM], 2);
	assert_int_equal(written[GW_RECORD_DEVICE], 1);
}

TEST_WITH(a_record_finds_the_stream_the_hooks_made, start, NULL)
{
	struct gw_activity a = {.context = 1, .stream = 7}, b = {.context = 2, .stream = 7};

	gw_hot.shared->stream_slots[5] = (struct gw_stream_slot){
		.device = -1, .generation = 1, .cupti_context = 1, .cupti_stream = 7};
	assert_int_equal(gw_intern_stream(5), 1);
	assert_int_equal(last[GW_RECORD_STREAM].stream.device, 0);
	assert_int_equal(gw_intern_stream_of_activity(&a), 1);
	assert_int_equal(gw_intern_stream_of_activity(&b), 2);
	assert_int_equal(gw_intern_stream_of_activity(&b), 2);
}

TEST_WITH(a_device_says_what_it_knows, start, NULL)
{
	gw_device_meet(0);
	gw_device_meet(0);
	assert_int_equal(written[GW_RECORD_DEVICE], 1);
	assert_int_equal(gw_device_id(0), 1);
	assert_int_equal(gw_device_id(1), 0);
	assert_string_equal(text[GW_RECORD_DEVICE], "GPU of the test");
	assert_string_equal(profile_wanted, "GPU of the test");
	assert_int_equal(last[GW_RECORD_DEVICE].device.compute_capability, 90);
	assert_int_equal(last[GW_RECORD_DEVICE].device.sm_clock_khz, 0);
	assert_int_equal(last[GW_RECORD_DEVICE].device.driver_version, 13000);
}

/* Launches out of exit handlers and destructors are written when the driver is gone. */
TEST_WITH(a_driver_that_is_gone_is_not_called, start, NULL)
{
	gw_registry_driver_gone();
	gw_hot.shared->stream_slots[5] = (struct gw_stream_slot){.device = 0, .generation = 1};
	gw_device_meet(0);
	assert_int_equal(gw_intern_stream(5), 1);
	assert_false(gw_device_stand_in());
	assert_int_equal(driver_calls, 0);
	assert_int_equal(written[GW_RECORD_DEVICE], 0);
	assert_int_equal(last[GW_RECORD_STREAM].stream.device, 0);
}

TEST_WITH(the_stand_in_is_known_to_the_end, start, NULL)
{
	assert_false(gw_device_stand_in());
	device_name = "gpuwatch stand-in (simulated on the CPU)";
	gw_registry_ask_driver();
	gw_registry_driver_gone();
	assert_true(gw_device_stand_in());
}

TEST_WITH(nodes_are_reported_apart_by_graph_and_number, start, NULL)
{
	uint32_t id = gw_intern_node(1, 1);

	assert_true(id && gw_intern_node(1, 1) == id);
	assert_true(gw_intern_node(1, 2) != id && gw_intern_node(2, 1) != id);
	assert_int_equal(written[GW_RECORD_NODE], 3);
}

/* Configurations of a record whose kernel no hook saw, until there is no room. */
static uint32_t fill(uint32_t most)
{
	struct gw_activity a = activity("unhooked");
	uint32_t made = 0;

	for (uint32_t i = 0; i < most; i++) {
		a.grid[0] = i + 1;
		made += gw_intern_config_of_activity(&a) != 0;
	}
	return made;
}

TEST_WITH(a_full_table_takes_no_more_memory_and_keeps_what_it_has, start, NULL)
{
	struct gw_activity known = activity("unhooked"), a = activity("unhooked");
	uint64_t then, records;
	uint32_t made;

	known.grid[0] = 1;
	gw_memory_start();
	gw_options.memory_max = 4 << 20;
	made = fill(20000);
	then = gw_memory_now();
	records = written[GW_RECORD_CONFIG];
	assert_true(made > 100 && made < 20000);
	assert_int_equal(gw_config_count(), made);
	assert_true(gw_config_full());
	for (uint32_t i = 0; i < 10000; i++) {
		a.grid[1] = 1000 + i % 100;
		assert_int_equal(gw_intern_config_of_activity(&a), 0);
	}
	assert_int_not_equal(gw_intern_config_of_activity(&known), 0);
	assert_int_equal(gw_memory_now(), then);
	assert_int_equal(written[GW_RECORD_CONFIG], records);
	assert_int_equal(gw_counters[GW_COUNTER_table_full], 0); /* launches count it */
	gw_options.memory_max = 0;
}

TEST_WITH(each_table_that_is_full_has_a_reason_of_its_own, start, NULL)
{
	struct gw_reason reason;

	for (int i = 0; i < 3; i++) {
		gw_degrade(GW_DEGRADED_TABLE_FULL, "no more than %d of these", i);
		gw_degrade(GW_DEGRADED_TABLE_FULL, "no more than %d of those", i);
	}
	assert_true(gw_degraded_get(0, &reason));
	assert_string_equal(reason.text, "no more than 0 of these");
	assert_true(gw_degraded_get(1, &reason));
	assert_string_equal(reason.text, "no more than 0 of those");
	assert_false(gw_degraded_get(2, &reason));
}

TEST_WITH(streams_that_ended_leave_no_memory_behind, start, NULL)
{
	struct gw_stream_slot *s = &gw_hot.shared->stream_slots[1];
	uint64_t counters[GW_COUNTERS], most = 0;
	struct gw_activity a = activity("kernel");

	gw_device_meet(0);
	for (uint32_t i = 1; i <= 400000; i++) {
		*s = (struct gw_stream_slot){
			.generation = i, .device = 0, .cupti_context = 1, .cupti_stream = i};
		assert_int_equal(gw_intern_stream(1), 2 * i - 1);
		a.context = 2;
		a.stream = i;
		assert_int_equal(gw_intern_stream_of_activity(&a), 2 * i);
		gw_memory_counters(counters);
		if (i <= 100000 && counters[GW_COUNTER_memory_streams] > most)
			most = counters[GW_COUNTER_memory_streams];
		assert_true(i <= 100000 || counters[GW_COUNTER_memory_streams] <= most);
	}
	assert_int_equal(gw_stream_device(2 * 400000), 0);
	assert_int_equal(gw_stream_device(1), -1);
}

TEST_WITH(reasons_are_written_once, start, NULL)
{
	gw_degrade(GW_DEGRADED_TABLE_FULL, "a table of %d is full", 7);
	gw_registry_write_news();
	gw_registry_write_news();
	assert_int_equal(written[GW_RECORD_DEGRADED], 1);
	assert_string_equal(text[GW_RECORD_DEGRADED], "a table of 7 is full");
}

/* So many uses of stream slot 5 and nodes of graph 1. */
static void come_and_go(uint32_t number)
{
	struct gw_stream_slot *s = &gw_hot.shared->stream_slots[5];

	for (uint32_t i = 0; i < number; i++) {
		*s = (struct gw_stream_slot){.device = -1, .generation = s->generation + 1};
		gw_intern_stream(5);
		gw_intern_node(1, i + 1);
	}
}

TEST_WITH(beside_sums_only_the_first_streams_and_nodes_have_records, start, NULL)
{
	struct gw_record_launch r = {.stream = GW_NAMED_FIRST};

	gw_options.mode = GW_MODE_WATCH;
	come_and_go(3 * GW_NAMED_FIRST);
	assert_int_equal(written[GW_RECORD_STREAM], GW_NAMED_FIRST);
	assert_int_equal(written[GW_RECORD_NODE], GW_NAMED_FIRST);
	gw_stream_leave_out(&r);
	assert_int_equal(r.stream, GW_NAMED_FIRST);
	r.stream++;
	gw_stream_leave_out(&r);
	assert_int_equal(r.stream, 0);
	assert_int_equal(gw_intern_node(1, GW_NAMED_FIRST), GW_NAMED_FIRST);
	assert_int_equal(gw_intern_node(1, GW_NAMED_FIRST + 1), 0);
	gw_options.mode = GW_MODE_AUDIT;
}

/* gpuwatch ctl: from then on launches have records of their own, which name their streams. */
TEST_WITH(a_stream_without_a_record_has_one_in_another_mode, start, NULL)
{
	struct gw_record_launch r = {0};
	uint32_t before;

	gw_options.mode = GW_MODE_WATCH;
	come_and_go(GW_NAMED_FIRST + 1);
	before = gw_intern_stream(5);
	gw_options.mode = GW_MODE_AUDIT;
	r.stream = gw_intern_stream(5);
	assert_int_not_equal(r.stream, before);
	assert_int_equal(last[GW_RECORD_STREAM].stream.id, r.stream);
	assert_int_equal(gw_intern_stream(5), r.stream);
	gw_stream_leave_out(&r);
	assert_int_not_equal(r.stream, 0);
}

/* The file that has its record goes. */
TEST_WITH(a_later_stream_has_another_id_in_a_new_file_of_a_ring, start, NULL)
{
	uint32_t id;

	ring = true;
	come_and_go(GW_NAMED_FIRST + 1);
	id = gw_intern_stream(5);
	assert_int_equal(id, GW_NAMED_FIRST + 1);
	losses++;
	assert_int_equal(gw_intern_stream(5), id + 1);
	assert_int_equal(last[GW_RECORD_STREAM].stream.id, id + 1);
	assert_int_equal(gw_intern_stream(5), id + 1);
}

TEST_WITH(in_other_modes_all_streams_and_nodes_have_records, start, NULL)
{
	come_and_go(3 * GW_NAMED_FIRST);
	assert_int_equal(written[GW_RECORD_STREAM], 3 * GW_NAMED_FIRST);
	assert_int_equal(written[GW_RECORD_NODE], 3 * GW_NAMED_FIRST);
}

TEST_WITH(beside_sums_a_module_is_written_with_its_kernel, start, NULL)
{
	static const unsigned char image[64] = "\177ELF";

	gw_options.mode = GW_MODE_WATCH;
	gw_module_loaded((void *)0x1000, NULL, GW_MODULE_LIBRARY, image, NULL);
	gw_module_loaded((void *)0x2000, NULL, GW_MODULE_LIBRARY, image, NULL);
	gw_registry_write_news();
	assert_int_equal(written[GW_RECORD_MODULE], 0);
	gw_hot.shared->kernels[1].module = gw_module_number(0x2000);
	gw_intern_config(1, 0, &small);
	gw_options.mode = GW_MODE_AUDIT;
	assert_int_equal(written[GW_RECORD_MODULE], 1);
	assert_int_equal(last[GW_RECORD_KERNEL].kernel.module, 1);
}

/* What little there is to be had is taken; afterwards each thing has its record once all the same,
 * or none. */
TEST_WITH(without_memory_nothing_is_written_again_and_again, start, NULL)
{
	struct gw_activity a = activity("k00000");
	uint32_t kernels, nodes;

	gw_options.memory_max = (gw_memory_now() + 40000) / 7 * 8;
	for (uint32_t i = 0; i < 5000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "k%05u", i);
		a.name = name;
		gw_intern_config_of_activity(&a);
		gw_intern_node(1, i + 1);
	}
	kernels = written[GW_RECORD_KERNEL];
	nodes = written[GW_RECORD_NODE];
	a.name = "k04999";
	for (uint32_t i = 0; i < 1000; i++) {
		gw_intern_config_of_activity(&a);
		gw_intern_node(1, 5000);
	}
	gw_options.memory_max = 0;
	assert_true(gw_counters[GW_COUNTER_memory_refused] > 0);
	assert_true(kernels < 5000);
	assert_true(written[GW_RECORD_KERNEL] <= kernels + 1);
	assert_int_equal(written[GW_RECORD_NODE], nodes);
}

TESTS_MAIN()
