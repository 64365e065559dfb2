/* The live segment as the worker writes it and the command reads it, in one process. */
#include "cli/live/tables.h"
#include "cli/log/reader.h"
#include "preload/live/graph_sums.h"
#include "preload/live/live.h"
#include "preload/live/log.h"
#include "preload/maps/memory.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SEGMENT = 8 << 20, SLOTS = 16 };

static struct gw_live_file file;
static struct gw_thread *thread;
static const struct gw_config shape = {{7, 2, 1}, {128, 1, 1}, {1, 1, 1}, 1024, 99};

static bool full;
static unsigned populated;

/* In place of the file system. */
int madvise(void *at, size_t size, int advice)
{
	populated += advice == MADV_POPULATE_WRITE;
	errno = ENOMEM;
	return full && advice == MADV_POPULATE_WRITE ? -1
						     : (int)syscall(SYS_madvise, at, size, advice);
}

/* A thread whose ring is in the segment, as launch/threads.c makes it. */
static struct gw_thread *thread_in_segment(void)
{
	const size_t words = (sizeof(struct gw_thread) + 4095) & ~(size_t)4095;
	char *room = gw_live_room(words + SLOTS * sizeof(struct gw_event));
	struct gw_thread *t = (struct gw_thread *)(void *)room;

	assert_non_null(room);
	t->ring = (struct gw_event *)(void *)(room + words);
	t->mask = SLOTS - 1;
	t->tid = 77;
	gw_live_ring(t);
	return t;
}

static int start(void **state)
{
	char why[256];

	fixture_start();
	gw_degraded_reset();
	gw_memory_start();
	gw_options.memory_max = 1 << 28;
	gw_options.segment = SEGMENT;
	snprintf(gw_options.run_mode, sizeof(gw_options.run_mode), "%s",
		 *state ? (const char *)*state : "0600");
	snprintf(gw_options.run_dir, sizeof(gw_options.run_dir), "/dev/shm/gw-test-tables-%d",
		 (int)getpid());
	gw_live_abandon();
	gw_live_start();
	assert_true(gw_live_map(&file, gw_live_path(), why, sizeof(why)));
	gw_hot.shared->kernels[1] = (struct gw_kernel_slot){.name = "add", .hash = 5};
	gw_live_kernel(1);
	thread = thread_in_segment();
	gw_live_log("a.gwl");
	return 0;
}

static int stop(void **state)
{
	gw_live_unmap(&file);
	gw_live_end();
	gw_live_abandon();
	return rmdir(gw_options.run_dir);
}

static void publish(uint32_t id, double seconds)
{
	const struct gw_prediction p = {.seconds = seconds,
					.low = seconds / 2,
					.high = seconds * 2,
					.tier = GW_TIER_WARM,
					.work = GW_SOURCE_COUNTED,
					.bound = GW_BOUND_MEMORY,
					.known = 12};

	gw_live_published(id, &p);
}

TEST_WITH(a_configuration_shows_its_prediction_and_what_was_measured, start, stop)
{
	static struct gw_live_names names;
	struct gw_live_config c;
	struct gw_live_totals t;

	assert_false(gw_live_config_at(&file, 0, &c));
	gw_live_config(1, 1, 3, &shape);
	assert_true(gw_live_config_at(&file, 0, &c));
	assert_true(isnan(c.predicted));
	publish(1, 2e-6);
	gw_live_launched(1, 1);
	gw_live_launched(1, 1);
	gw_live_measured(1, 4000, 2000);
	gw_live_measured(1, 4000, NAN);
	assert_true(gw_live_config_at(&file, 0, &c));
	assert_string_equal(gw_live_kernel_in(&file, c.kernel)->name, "add");
	gw_live_names_of(&file, &names);
	assert_string_equal(gw_live_name(&file, &names, c.kernel), "add");
	assert_null(gw_live_name(&file, &names, c.kernel + 1));
	assert_int_equal(c.device, 3);
	assert_int_equal(c.grid[0], 7);
	assert_int_equal(c.block[0], 128);
	assert_int_equal(c.shared, 1024);
	assert_int_equal(c.digest, 99);
	assert_int_equal(c.tier, GW_TIER_WARM);
	assert_int_equal(c.work, GW_SOURCE_COUNTED);
	assert_int_equal(c.known, 12);
	assert_true(fabs(c.predicted - 2000) < 1e-9 && fabs(c.low - 1000) < 1e-9);
	assert_int_equal(c.launches, 2);
	assert_int_equal(c.time.count, 2);
	assert_true(c.time.sum == 8000 && gw_sketch_quantile(&c.time, 0.5) == 4000);
	assert_int_equal(c.ratio.count, 1);
	assert_true(c.ratio.sum == 2);
	gw_live_totals((const uint64_t[GW_COUNTERS]){[GW_COUNTER_launches] = 5});
	assert_true(gw_live_totals_of(&file, &t));
	assert_int_equal(t.bound_ns[GW_BOUND_MEMORY], 8000);
	assert_int_equal(t.bound_kernels[GW_BOUND_MEMORY], 2);
	assert_int_equal(t.counter[GW_COUNTER_launches], 5);
}

TEST_WITH(a_full_table_is_said_once_and_counted, start, stop)
{
	const uint32_t most = file.head->configs.count;
	struct gw_live_config c;
	struct gw_live_totals t;
	struct gw_reason why;

	for (uint32_t id = 1; id <= most + 3; id++)
		gw_live_config(id, 1, 1, &shape);
	gw_live_measured(most + 1, 10, 10);
	assert_true(gw_live_config_at(&file, most - 1, &c));
	assert_false(gw_live_config_at(&file, most, &c));
	assert_true(gw_degraded_get(0, &why) && why.code == GW_DEGRADED_SEGMENT);
	assert_false(gw_degraded_get(1, &why));
	gw_live_totals((const uint64_t[GW_COUNTERS]){0});
	assert_true(gw_live_totals_of(&file, &t));
	assert_int_equal(t.configs_refused, 3);
}

TEST_WITH(a_full_file_system_is_not_asked_for_each_launch, start, stop)
{
	const struct gw_record_launch r = {.config = 1};

	full = true;
	populated = 0;
	for (int i = 0; i < 1000; i++)
		gw_live_summed(1, &r);
	assert_in_range(populated, 1, 10);
	full = false;
	gw_live_stream(1, &(struct gw_record_stream){.id = 1}); /* there may be room for less */
	assert_in_range(populated, 2, 11);
}

TEST_WITH(room_that_was_refused_is_to_be_had_later, start, stop)
{
	full = true;
	for (int i = 0; i < 100; i++)
		assert_null(gw_live_room(SEGMENT / 32));
	full = false;
	assert_non_null(gw_live_room(SEGMENT / 32 - 4096)); /* as large: not asked for yet */
}

TEST_WITH(rings_and_kernels_beyond_those_with_a_place_are_said, start, stop)
{
	struct gw_thread *t = gw_live_room(sizeof(*t));
	struct gw_reason why;
	static char name[1 << 12];

	for (uint32_t n = 1; n < GW_LIVE_RINGS; n++) /* one is there */
		gw_live_ring(t);
	assert_false(gw_degraded_get(0, &why));
	t->live = 0;
	gw_live_ring(t);
	assert_int_equal(t->live, 0);
	assert_true(gw_degraded_get(0, &why) && why.code == GW_DEGRADED_SEGMENT);
	gw_degraded_reset();
	memset(name, 'k', sizeof(name) - 1);
	gw_hot.shared->kernels[1].name = name;
	for (uint32_t n = 0; n < GW_LIVE_KERNELS / sizeof(name) - 5; n++)
		gw_live_kernel(1);
	assert_false(gw_degraded_get(0, &why));
	for (uint32_t n = 0; n < 10; n++)
		gw_live_kernel(1);
	assert_true(gw_degraded_get(0, &why) && why.code == GW_DEGRADED_SEGMENT);
}

TEST_WITH(graphs_beyond_those_with_a_place_are_said_once, start, stop)
{
	const uint32_t most = file.head->graph_times.count;
	struct gw_live_graph_time *t =
		(struct gw_live_graph_time *)(void *)(file.data + file.head->graph_times.offset);
	struct gw_reason why;

	for (uint32_t graph = 1; graph <= most; graph++)
		gw_live_graph_launched(&(struct gw_graph_run){.graph = graph});
	assert_false(gw_degraded_get(0, &why));
	for (uint32_t i = 0; i < 3; i++)
		gw_live_graph_launched(&(struct gw_graph_run){.graph = most + 1 + i});
	gw_live_graph_launched(&(struct gw_graph_run){.graph = most});
	assert_int_equal(t[most - 1].graph, most);
	assert_int_equal(t[most - 1].launches, 2);
	assert_true(gw_degraded_get(0, &why) && why.code == GW_DEGRADED_SEGMENT);
	assert_false(gw_degraded_get(1, &why));
}

TEST_WITH(an_entry_that_was_being_written_is_left_out, start, stop)
{
	struct gw_live_config *torn =
		(struct gw_live_config *)(void *)(file.data + file.head->configs.offset);
	struct gw_live_config c;

	gw_live_config(1, 1, 1, &shape);
	/* The file is mapped for reading alone. */
	assert_int_equal(torn->sequence, 2);
	{
		int fd = open(gw_live_path(), O_RDWR);
		const uint32_t odd = 3;

		assert_int_equal(pwrite(fd, &odd, sizeof(odd), (off_t)file.head->configs.offset),
				 sizeof(odd));
		close(fd);
	}
	assert_false(gw_live_config_at(&file, 0, &c));
	assert_true(gw_live_config_shape(&file, 0, &c)); /* which was there before */
	assert_int_equal(c.grid[0], 7);
	assert_false(gw_live_config_shape(&file, 1, &c));
}

static _Atomic bool over;

/* 0 writes, the others read. */
static void write_or_read(unsigned number)
{
	struct gw_live_config c;

	for (int i = 0; number ? !atomic_load(&over) : i < 100000; i++) {
		if (!number)
			gw_live_measured(1, 1000, 500);
		else if (gw_live_config_at(&file, 0, &c) &&
			 (c.time.sum != 1000.0 * (double)c.time.count ||
			  c.ratio.count != c.time.count))
			abort();
	}
	if (!number)
		atomic_store(&over, true);
}

/* The sanitizer does not know sequence numbers: what is copied meanwhile is thrown away. */
TEST_WITH(readers_see_whole_entries, start, stop)
{
	struct gw_live_config c;

#ifdef __SANITIZE_THREAD__
	skip();
#endif
	gw_live_config(1, 1, 1, &shape);
	atomic_store(&over, false);
	fixture_threads(3, write_or_read);
	assert_true(gw_live_config_at(&file, 0, &c));
	assert_int_equal(c.time.count, 100000);
}

TEST_WITH(a_gpu_shows_which_one_it_is, start, stop)
{
	const struct gw_record_device as = {.ordinal = 1, .sm_clock_khz = 1980000};
	const unsigned char uuid[16] = {0xab, [15] = 0xcd};
	const uint32_t pci[3] = {0, 0x3b, UINT32_MAX};
	const char *name = "A GPU with a name of more than the sixty-three letters of its room";
	struct gw_live_device d;

	gw_live_ran(1, 1000, 2000);
	assert_true(gw_live_device_at(&file, 1, &d));
	assert_int_equal(d.identity, 0);
	gw_live_identity(&as, name, uuid, pci);
	assert_true(gw_live_device_at(&file, 1, &d));
	assert_int_equal(d.identity, 1);
	assert_memory_equal(d.uuid, uuid, 16);
	assert_memory_equal(d.pci, pci, sizeof(pci));
	assert_int_equal(d.full_sm_khz, 1980000);
	assert_int_equal(strlen(d.name), 63);
}

TEST_WITH(a_gpu_is_there_before_anything_is_measured, start, stop)
{
	const struct gw_record_device as = {.ordinal = 3};
	struct gw_live_device d;

	assert_false(gw_live_device_at(&file, 3, &d));
	gw_live_identity(&as, "GPU", (const unsigned char[16]){1}, (const uint32_t[3]){0});
	assert_true(gw_live_device_at(&file, 3, &d));
}

TEST_WITH(the_name_of_the_log_follows_the_log, start, stop)
{
	assert_string_equal(gw_live_log_of(&file), "a.gwl");
	gw_live_log("a.gwl.1");
	assert_string_equal(gw_live_log_of(&file), "a.gwl.1");
	gw_live_log("a.gwl.1");
	gw_live_log("a.gwl.2");
	assert_string_equal(gw_live_log_of(&file), "a.gwl.2");
}

/* A process may be killed while the worker's first round waits for the driver. */
TEST_WITH(a_new_log_is_named_before_the_worker_comes_round, start, stop)
{
	struct gw_record_header r = {.version = GW_LOG_VERSION};

	snprintf(gw_options.out, sizeof(gw_options.out), "/tmp/gw-test-live-%d.gwl", (int)getpid());
	snprintf(gw_options.log_mode, sizeof(gw_options.log_mode), "0600");
	gw_options.log_max = 1 << 30;
	assert_true(gw_log_open());
	gw_log_write(GW_RECORD_HEADER, &r, sizeof(r), "host=x", 7);
	gw_log_settle();
	assert_string_equal(gw_live_log_of(&file), gw_options.out);
	gw_log_close();
	assert_int_equal(unlink(gw_options.out), 0);
}

/* ---- launches that the log lacks ---- */

static struct gw_event event(uint16_t stream)
{
	return (struct gw_event){.ticks = gw_ticks(),
				 .kind = GW_EVENT_KERNEL,
				 .kernel = 1,
				 .stream = stream,
				 .grid = {7, 2, 1},
				 .block_x = 128,
				 .block_y = 1,
				 .block_z = 1};
}

static void commit(uint16_t stream)
{
	uint32_t at = atomic_load(&thread->head);

	thread->ring[at & thread->mask] = event(stream);
	thread->next = at + 1;
	atomic_store(&thread->head, at + 1);
}

static struct found {
	unsigned launches, streams;
	struct gw_record_launch launch;
	struct gw_record_config config;
	struct gw_record_stream stream;
} found;

static bool look(void *arg, const struct gw_log_record *r)
{
	(void)arg;
	if (r->head->kind == GW_RECORD_LAUNCH) {
		found.launches++;
		memcpy(&found.launch, r->head, sizeof(found.launch));
	} else if (r->head->kind == GW_RECORD_STREAM) {
		found.streams++;
		memcpy(&found.stream, r->head, sizeof(found.stream));
	} else if (r->head->kind == GW_RECORD_CONFIG) {
		memcpy(&found.config, r->head, sizeof(found.config));
	}
	return true;
}

/* What a reader makes of the segment as it is, with @p log (NULL: none). */
static void recovered(const void *log, size_t size)
{
	struct gw_live_rest rest;
	struct gw_log_status status;

	memset(&found, 0, sizeof(found));
	gw_live_add(&file, log, size, &rest);
	assert_true(gw_log_read_memory(rest.log, rest.size, look, NULL, &status));
	free(rest.log);
}

TEST_WITH(a_launch_in_a_ring_has_its_stream, start, stop)
{
	const struct gw_record_stream s = {.id = 4, .device = 1, .kind = 2, .context = 55};

	gw_live_stream(3, &s);
	commit(3);
	recovered(NULL, 0);
	assert_int_equal(found.launches, 1);
	assert_int_equal(found.launch.stream, 4);
	assert_int_equal(found.stream.id, 4);
	assert_int_equal(found.stream.kind, 2);
	assert_int_equal(found.stream.context, 55);
	assert_int_equal(found.stream.device, 0); /* the log has no such GPU */
	gw_live_stream(3, NULL);                  /* the slot is another's from here on */
	recovered(NULL, 0);
	assert_int_equal(found.launch.stream, 0);
	assert_int_equal(found.streams, 0);
}

TEST_WITH(a_launch_that_was_taken_has_its_stream, start, stop)
{
	const struct gw_record_stream s = {.id = 4, .device = 1, .kind = 2, .context = 55};
	struct gw_record_launch r = {.stream = 4};
	struct gw_event e;

	gw_live_stream(3, &s);
	commit(3);
	e = thread->ring[0];
	gw_live_taking(thread, 0);
	gw_live_enter(&r, thread, &e, 0);
	atomic_store(&thread->tail, 1);
	recovered(NULL, 0);
	assert_int_equal(found.launches, 1);
	assert_int_equal(found.launch.stream, 4);
}

/* A log of one block with number 1, in which a GPU, a stream and a configuration are. */
static size_t log_with(unsigned char *out, size_t room, bool stream)
{
	struct {
		struct gw_block head;
		struct gw_record_header header;
		char text[128];
	} b = {.head = {.magic = GW_BLOCK_MAGIC}};
	struct gw_record_device d = {.head = {GW_RECORD_DEVICE, 0}, .id = 1};
	struct gw_record_stream s = {
		.head = {GW_RECORD_STREAM, sizeof(s)}, .id = 4, .device = 1, .kind = 2};
	size_t at = sizeof(b.head);
	int n;

	assert_true(room > 1024);
	b.header = (struct gw_record_header){
		.version = GW_LOG_VERSION, .pid = (uint32_t)getpid(), .tick_khz = 1};
	n = snprintf(b.text, sizeof(b.text), "boot_id=%s", file.head->boot_id) + 1;
	b.header.head.kind = GW_RECORD_HEADER;
	b.header.head.length = (uint16_t)((sizeof(b.header) + (size_t)n + 7) & ~(size_t)7);
	memset(out, 0, room);
	memcpy(out + at, &b.header, sizeof(b.header));
	memcpy(out + at + sizeof(b.header), b.text, (size_t)n);
	at += b.header.head.length;
	d.head.length = sizeof(d) + 8;
	memcpy(out + at, &d, sizeof(d));
	memcpy(out + at + sizeof(d), "g\0uuid", 7);
	at += d.head.length;
	if (stream) {
		memcpy(out + at, &s, sizeof(s));
		at += sizeof(s);
	}
	b.head.length = (uint32_t)(at - sizeof(b.head));
	b.head.crc = gw_crc32(0, out + sizeof(b.head), b.head.length);
	memcpy(out, &b.head, sizeof(b.head));
	return at;
}

TEST_WITH(a_stream_of_the_log_is_not_written_again, start, stop)
{
	const struct gw_record_stream s = {.id = 4, .device = 1, .kind = 2, .context = 55};
	static _Alignas(8) unsigned char log[4096];
	size_t size;

	gw_live_stream(3, &s);
	commit(3);
	size = log_with(log, sizeof(log), true);
	recovered(log, size);
	assert_int_equal(found.launches, 1);
	assert_int_equal(found.launch.stream, 4);
	assert_int_equal(found.streams, 1);
	assert_int_equal(found.config.device, 1);
	/* Its block was not written: the GPU's was. */
	size = log_with(log, sizeof(log), false);
	recovered(log, size);
	assert_int_equal(found.streams, 1);
	assert_int_equal(found.stream.device, 1);
	assert_int_equal(found.config.device, 1);
}

/* Entries in use, but for free ones. */
static unsigned entries_of(uint32_t ring)
{
	const struct gw_live_entry *e = (const void *)(file.data + file.head->entries.offset);
	unsigned n = 0;

	for (uint32_t i = 0; i < file.head->entries_used; i++)
		n += e[i].ring == ring;
	return n;
}

TEST_WITH(a_record_without_a_launch_stands_until_its_launch_is_met, start, stop)
{
	struct gw_record_launch lone = {.config = 1, .start_ns = gw_wall_ns()}, r = {.config = 1};
	const struct gw_event e = event(0);

	gw_live_enter_lone(&lone, 1);
	assert_true(gw_live_entry(&lone) != 0);
	assert_int_equal(entries_of(GW_LIVE_LONE), 1);
	gw_live_logged(gw_live_entry(&lone), 5);
	gw_live_tick(10); /* its block is in the file */
	assert_int_equal(entries_of(GW_LIVE_LONE), 1);
	commit(0);
	gw_live_taking(thread, 0);
	gw_live_enter(&r, thread, &e, 0);
	gw_live_met_lone(&r, 2, 5); /* of other launches */
	assert_int_equal(entries_of(GW_LIVE_LONE), 1);
	gw_live_enter(&r, thread, &e, 0);
	gw_live_met_lone(&r, 1, 5);
	gw_live_tick(10);
	assert_int_equal(entries_of(GW_LIVE_LONE), 0);
	assert_int_equal(entries_of(thread->live), 0);
}

TEST_WITH(records_whose_launch_never_comes_take_bounded_room, start, stop)
{
	for (int i = 0; i < 5000; i++) {
		struct gw_record_launch lone = {.config = 1, .start_ns = gw_wall_ns()};

		gw_live_enter_lone(&lone, 1);
		gw_live_logged(gw_live_entry(&lone), 1);
		gw_live_tick(2);
	}
	assert_int_equal(entries_of(GW_LIVE_LONE), 1024);
	assert_true(file.head->entries_used < 1100);
}

TEST_WITH(one_that_goes_into_sums_is_let_go, start, stop)
{
	struct gw_record_launch lone = {.config = 1, .start_ns = gw_wall_ns()}, r = {.config = 1};

	gw_live_enter_lone(&lone, 1);
	gw_live_dropped(gw_live_entry(&lone));
	gw_live_tick(1);
	assert_int_equal(entries_of(GW_LIVE_LONE), 0);
	gw_live_met_lone(&r, 1, 1);
}

static void readers_are(const char *mode, mode_t file_mode, mode_t folder_mode)
{
	struct stat st;

	stop(NULL);
	start(&(void *){(void *)(uintptr_t)mode});
	assert_int_equal(stat(gw_live_path(), &st), 0);
	assert_int_equal(st.st_mode & 07777, file_mode);
	assert_int_equal(stat(gw_options.run_dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, folder_mode);
}

/* Nobody but the owner ever writes one: the rings of a running program are in it. */
TEST_WITH(who_may_read_it_is_an_option, start, stop)
{
	struct stat st;

	readers_are("0600", 0600, 0700);
	readers_are("0666", 0644, 0755);
	readers_are("0640", 0640, 0750);
	snprintf(gw_options.run_group, sizeof(gw_options.run_group), "%u", (unsigned)getgid());
	readers_are("0640", 0640, 0750);
	assert_int_equal(stat(gw_live_path(), &st), 0);
	assert_int_equal(st.st_gid, getgid());
	snprintf(gw_options.run_group, sizeof(gw_options.run_group), "no such group");
	readers_are("0640", 0600, 0700);
	gw_options.run_group[0] = 0;
}

TESTS_MAIN()
