/* The log as a ring of files, each of which can be read alone; a log that others move or delete. */
#include "cli/log/reader.h"
#include "preload/live/log.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONFIGS = 20, MOST = 65536 };

static char folder[] = "/tmp/gw_test_ring.XXXXXX";
static uint64_t launches;                  /* in the file that was read last */
static unsigned configs, kernels, streams; /* the same */
static char part[16];

static int start(void **state)
{
	fixture_start();
	gw_degraded_reset();
	snprintf(gw_options.out, sizeof(gw_options.out), "log");
	snprintf(gw_options.log_mode, sizeof(gw_options.log_mode), "0600");
	gw_options.log_max = MOST;
	gw_options.mode = GW_MODE_WATCH;
	return 0;
}

/* Each log file of the folder: how many there are and, of all, the bytes. */
static unsigned each(void (*take)(const char *name), uint64_t *bytes)
{
	DIR *d = opendir(".");
	struct dirent *e;
	unsigned count = 0;

	*bytes = 0;
	while (d && (e = readdir(d))) {
		struct stat s;

		if (strncmp(e->d_name, "log", 3) || stat(e->d_name, &s))
			continue;
		count++;
		*bytes += (uint64_t)s.st_size;
		if (take)
			take(e->d_name);
	}
	closedir(d);
	return count;
}

static void drop(const char *name)
{
	unlink(name);
}

static int clean(void **state)
{
	uint64_t bytes;

	gw_log_close();
	gw_options.mode = GW_MODE_AUDIT;
	each(drop, &bytes);
	return 0;
}

static void kernel(uint32_t id, int number)
{
	struct gw_record_kernel k = {.id = id};
	char name[64];

	snprintf(name, sizeof(name), "_Z6kernel%dPfS_i", number);
	gw_log_write(GW_RECORD_KERNEL, &k, sizeof(k), name, strlen(name) + 1);
}

static void begin(void)
{
	struct gw_record_header r = {.version = GW_LOG_VERSION, .pid = 7, .start_ns = 5};

	assert_true(gw_log_open());
	assert_true(gw_log_ring());
	gw_log_write(GW_RECORD_HEADER, &r, sizeof(r), "host=x", 7);
	for (uint32_t i = 1; i <= CONFIGS; i++) {
		struct gw_record_config c = {.id = i, .kernel = i, .grid_x = i * 977};

		kernel(i, (int)i * 7919);
		gw_log_write(GW_RECORD_CONFIG, &c, sizeof(c), NULL, 0);
	}
}

/* Random, so that little of it packs. */
static void span(void)
{
	for (uint32_t i = 1; i <= CONFIGS; i++) {
		struct gw_record_aggregate a = {.config = i,
						.launches = 1000,
						.measured = 1000,
						.total_ns =
							(uint64_t)rand() << 20 | (uint64_t)rand(),
						.min_ns = (uint64_t)rand(),
						.max_ns = (uint64_t)rand()};

		gw_log_write(GW_RECORD_AGGREGATE, &a, sizeof(a), NULL, 0);
	}
	gw_log_settle();
}

static bool take(void *arg, const struct gw_log_record *record)
{
	(void)arg;
	if (record->head->kind == GW_RECORD_AGGREGATE)
		launches +=
			((const struct gw_record_aggregate *)(const void *)record->head)->launches;
	if (record->head->kind == GW_RECORD_HEADER)
		snprintf(part, sizeof(part), "%s", gw_log_value(record, "part"));
	configs += record->head->kind == GW_RECORD_CONFIG;
	kernels += record->head->kind == GW_RECORD_KERNEL;
	streams += record->head->kind == GW_RECORD_STREAM;
	return true;
}

static void read_one(const char *name)
{
	struct gw_log_status status;

	launches = configs = kernels = streams = 0;
	part[0] = 0;
	assert_true(gw_log_read(name, take, NULL, &status));
	assert_true(status.header);
	assert_int_equal(status.damaged_bytes, 0);
	assert_int_equal(status.notes, 0);
}

static void read_alone(const char *name)
{
	struct gw_log_status status;

	read_one(name);
	assert_int_equal(configs, CONFIGS);
	assert_int_equal(kernels, CONFIGS);
	assert_true(gw_log_read(name, take, NULL, &status));
	assert_true(gw_log_whole(&status));
}

static uint64_t in_all;

static void add_up(const char *name)
{
	read_one(name);
	in_all += launches;
}

static void finish(void)
{
	struct gw_record_end r = {.ns = 9};

	gw_log_write(GW_RECORD_END, &r, sizeof(r), NULL, 0);
	gw_log_close();
}

TEST_WITH(it_never_has_more_bytes_than_it_may, start, clean)
{
	uint64_t bytes;

	begin();
	for (unsigned i = 0; i < 400; i++) {
		span();
		each(NULL, &bytes);
		assert_true(bytes <= MOST);
	}
	assert_true(atomic_load(&gw_counters[GW_COUNTER_log_files]) > 8);
	assert_true(atomic_load(&gw_counters[GW_COUNTER_log_files_dropped]) > 0);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_log_lost]), 0);
	assert_int_not_equal(access("log", F_OK), 0);
	finish();
}

TEST_WITH(each_file_can_be_read_alone, start, clean)
{
	uint64_t bytes;

	begin();
	for (unsigned i = 0; i < 60; i++)
		span();
	finish();
	assert_in_range(each(read_alone, &bytes), 2, 9);
	read_one("log");
	assert_string_equal(part, "");
	read_one("log.1");
	assert_string_equal(part, "2");
}

TEST_WITH(while_none_is_dropped_all_of_it_is_there, start, clean)
{
	uint64_t bytes;

	begin();
	for (unsigned i = 0; i < 20; i++)
		span();
	finish();
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_log_files_dropped]), 0);
	in_all = 0;
	assert_in_range(each(add_up, &bytes), 2, 9);
	assert_int_equal(in_all, 20 * CONFIGS * 1000);
}

/* gpuwatch ctl in a program that makes streams all the time. */
TEST_WITH(later_streams_are_in_the_file_in_which_they_came_alone, start, clean)
{
	uint64_t bytes;

	begin();
	for (uint32_t i = 1; i <= 2 * GW_NAMED_FIRST; i++) {
		struct gw_record_stream s = {.id = i};

		gw_log_write(GW_RECORD_STREAM, &s, sizeof(s), NULL, 0);
	}
	for (unsigned i = 0; i < 20; i++)
		span();
	finish();
	assert_in_range(each(NULL, &bytes), 2, 9);
	read_one("log.1");
	assert_int_equal(streams, GW_NAMED_FIRST);
}

/* A program that compiles kernels all the time. */
TEST_WITH(what_files_name_takes_a_quarter_of_the_ring_at_most, start, clean)
{
	struct gw_reason why;
	uint64_t bytes;

	begin();
	for (uint32_t i = CONFIGS + 1; i <= 100 * CONFIGS; i++)
		kernel(i, rand());
	for (unsigned i = 0; i < 100; i++)
		span();
	finish();
	assert_in_range(each(read_one, &bytes), 2, 9);
	assert_true(configs == CONFIGS && kernels < 100 * CONFIGS && launches > 3 * CONFIGS * 1000);
	assert_int_equal(kernels + atomic_load(&gw_counters[GW_COUNTER_definitions_dropped]),
			 100 * CONFIGS);
	assert_true(gw_degraded_get(0, &why) && why.code == GW_DEGRADED_TABLE_FULL);
	assert_false(gw_degraded_get(1, &why));
}

/* Somebody put another file in the place of one: that stays. */
TEST_WITH(a_file_that_is_anothers_is_left_alone, start, clean)
{
	FILE *other;

	begin();
	for (unsigned i = 0; i < 20; i++)
		span();
	assert_int_equal(rename("log", "moved"), 0);
	other = fopen("log", "w");
	assert_non_null(other);
	fclose(other);
	for (unsigned i = 0; i < 200; i++)
		span();
	finish();
	assert_int_equal(access("log", F_OK), 0);
	assert_int_equal(unlink("moved"), 0);
}

/*
 * A log that others move or delete while its program writes nothing; and a disk whose owner has
 * used up his share of it, which a write() of the test's own says.
 */
static _Atomic int refuse_with; /* what write() fails with; 0: it does not */
static unsigned kinds[32];
static struct gw_log_status status;

ssize_t __real_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size);

/* A quota is met in the midst of a block: half of what is written goes there. */
ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	const int why = atomic_load(&refuse_with);

	if (!why)
		return __real_write(fd, data, size);
	if (size > 64)
		return __real_write(fd, data, size / 2);
	errno = why;
	return -1;
}

static int start_in_a(void **state)
{
	fixture_start();
	gw_degraded_reset();
	snprintf(gw_options.out, sizeof(gw_options.out), "%s/a/log", folder);
	snprintf(gw_options.log_mode, sizeof(gw_options.log_mode), "0600");
	gw_options.log_max = 1 << 30;
	atomic_store(&refuse_with, 0);
	return mkdir("a", 0700);
}

static int remove_all(void **state)
{
	gw_log_close();
	return system("rm -rf ./*");
}

static void open_log(void)
{
	struct gw_record_header r = {.version = GW_LOG_VERSION};

	assert_true(gw_log_open());
	gw_log_write(GW_RECORD_HEADER, &r, sizeof(r), "host=x", 7);
	gw_log_settle();
	assert_true(gw_log_is_open());
}

static void launch(uint64_t ns)
{
	struct gw_record_launch r = {.config = 1, .call_ns = ns};

	gw_log_write(GW_RECORD_LAUNCH, &r, sizeof(r), NULL, 0);
}

static bool take_kind(void *arg, const struct gw_log_record *r)
{
	(void)arg;
	kinds[r->head->kind]++;
	return true;
}

static void read_back(const char *path)
{
	memset(kinds, 0, sizeof(kinds));
	assert_true(gw_log_read(path, take_kind, NULL, &status));
	assert_int_equal(status.damaged_bytes, 0);
}

/* The writer looks each second; nothing is written meanwhile. */
static bool comes_true(bool (*is)(void))
{
	for (int i = 0; i < 3000 && !is(); i++)
		usleep(10000);
	return is();
}

static bool there_is_one(void)
{
	struct stat s;

	return stat(gw_log_name(), &s) == 0 && s.st_size > 0;
}

TEST_WITH(a_deleted_log_of_an_idle_program_is_written_anew, start_in_a, remove_all)
{
	uint32_t losses;

	open_log();
	losses = gw_log_losses();
	assert_int_equal(unlink("a/log"), 0);
	assert_true(comes_true(there_is_one));
	assert_int_not_equal(gw_log_losses(), losses);
	read_back(gw_log_name());
	assert_int_equal(kinds[GW_RECORD_HEADER], 1);
}

TEST_WITH(so_is_one_whose_folder_is_removed, start_in_a, remove_all)
{
	open_log();
	assert_int_equal(system("rm -r a"), 0);
	assert_true(comes_true(there_is_one));
	read_back("a/log");
	assert_int_equal(kinds[GW_RECORD_HEADER], 1);
}

static bool it_is_in_b(void)
{
	return strstr(gw_log_name(), "/b/log") != NULL;
}

TEST_WITH(a_renamed_folder_is_followed, start_in_a, remove_all)
{
	open_log();
	assert_int_equal(rename("a", "b"), 0);
	assert_true(comes_true(it_is_in_b));
	launch(5);
	gw_log_close();
	read_back("b/log");
	assert_int_equal(kinds[GW_RECORD_LAUNCH], 1);
}

static bool it_is_renamed(void)
{
	return strstr(gw_log_name(), "/a/log.old") != NULL;
}

TEST_WITH(so_is_a_renamed_log, start_in_a, remove_all)
{
	open_log();
	assert_int_equal(rename("a/log", "a/log.old"), 0);
	assert_true(comes_true(it_is_renamed));
	launch(5);
	gw_log_close();
	read_back("a/log.old");
	assert_int_equal(kinds[GW_RECORD_LAUNCH], 1);
}

TEST_WITH(a_quota_loses_blocks_and_the_log_goes_on_when_there_is_room, start_in_a, remove_all)
{
	static const int reasons[] = {EDQUOT, ENOSPC, EIO};

	for (size_t k = 0; k < COUNT(reasons); k++) {
		struct gw_reason reason;
		uint64_t lost;

		remove_all(state);
		assert_int_equal(start_in_a(state), 0);
		open_log();
		launch(1);
		gw_log_settle();
		atomic_store(&refuse_with, reasons[k]);
		for (uint64_t i = 0; i < 20000; i++)
			launch(i * i * UINT64_C(2654435761));
		gw_log_settle();
		assert_true(gw_degraded_get(0, &reason));
		assert_int_equal(reason.code, GW_DEGRADED_LOG);
		assert_non_null(strstr(reason.text, strerror(reasons[k])));
		atomic_store(&refuse_with, 0);
		launch(3);
		gw_log_close();
		lost = atomic_load(&gw_counters[GW_COUNTER_log_lost]);
		read_back("a/log"); /* no half block is left in it */
		assert_true(lost > 0);
		assert_int_equal(kinds[GW_RECORD_LAUNCH] + lost, 20002);
		assert_int_equal(kinds[GW_RECORD_HEADER], 1);
	}
}

int main(void)
{
	int failed;

	if (!mkdtemp(folder) || chdir(folder))
		return 1;
	failed = tests_run(NULL, NULL);
	return rmdir(folder) ? 1 : failed;
}
