/* The log's writer against the command's reader, and against hostile surroundings. */
#include "cli/log/reader.h"
#include "preload/runtime/degrade.h"
#include "preload/live/log.h"
#include "preload/live/log_file.h"
#include "preload/live/log_name.h"
#include "preload/runtime/options.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/gw_test_log.XXXXXX";
static int quiet_stderr = -1;

static int start(void **state)
{
	fixture_start();
	gw_degraded_reset();
	snprintf(gw_options.out, sizeof(gw_options.out), "log");
	snprintf(gw_options.log_mode, sizeof(gw_options.log_mode), "0600");
	gw_options.log_group[0] = 0;
	gw_options.log_max = 1 << 30;
	return 0;
}

/* Begin a log, and wait for the file. */
static bool opened(void)
{
	if (!gw_log_open())
		return false;
	gw_log_settle();
	return gw_log_is_open();
}

static int clean(void **state)
{
	gw_log_close();
	return system("rm -rf ./* ./.[!.]*");
}

static struct gw_log_status status;
static unsigned kinds[64];
static struct gw_record_launch launches[4];
static char texts[64][64]; /* by kind: the record's first string */

static bool take(void *arg, const struct gw_log_record *r)
{
	(void)arg;
	if (r->head->kind < 64) {
		if (r->head->kind == GW_RECORD_LAUNCH)
			memcpy(&launches[kinds[r->head->kind] % 4], r->head, sizeof(*launches));
		kinds[r->head->kind]++;
		snprintf(texts[r->head->kind], sizeof(*texts), "%s", gw_log_text(r, 0));
	}
	return true;
}

static void read_back(const char *path)
{
	memset(kinds, 0, sizeof(kinds));
	memset(texts, 0, sizeof(texts));
	if (!gw_log_read(path, take, NULL, &status))
		fail_msg("%s", status.error);
}

static uint64_t counted(enum gw_counter c)
{
	return atomic_load(&gw_counters[c]);
}

static void header(void)
{
	struct gw_record_header r = {.version = GW_LOG_VERSION, .pid = 42};
	static const char text[] = "host=here\0mode=audit";

	gw_log_write(GW_RECORD_HEADER, &r, sizeof(r), text, sizeof(text));
}

static void launch(uint32_t config, uint64_t ns)
{
	struct gw_record_launch r = {.config = config, .duration_ns = ns, .call_ns = 5, .known = 6};

	gw_log_write(GW_RECORD_LAUNCH, &r, sizeof(r), NULL, 0);
}

static void end(void)
{
	struct gw_record_end r = {.ns = 9, .records = counted(GW_COUNTER_log_records) + 1};

	gw_log_write(GW_RECORD_END, &r, sizeof(r), NULL, 0);
	gw_log_close();
}

TEST_WITH(the_reader_takes_every_kind_of_record_as_written, start, clean)
{
	struct {
		struct gw_record_counters head;
		uint64_t value[GW_COUNTERS];
	} counters = {.head = {.count = GW_COUNTERS}};
	unsigned written = 3; /* HEADER, COUNTERS, END */

	assert_true(opened());
	header();
#define RECORD(kind, NAME, name, meaning) \
	if (kind != GW_RECORD_HEADER && kind != GW_RECORD_COUNTERS && kind != GW_RECORD_END) { \
		struct gw_record_##name r; \
		memset(&r, 0, sizeof(r));
#define FIELD(type, name, unit, meaning)
#define RECORD_END(NAME, name, tail) \
	*(uint32_t *)((char *)&r + 4) = 1; \
	gw_log_write(GW_RECORD_##NAME, &r, sizeof(r), #name, *(tail) ? sizeof(#name) : 0); \
	written++; \
	}
#include "predictor/log/record.def"
#undef RECORD
#undef FIELD
#undef RECORD_END
	gw_log_write(GW_RECORD_COUNTERS, &counters, sizeof(counters), NULL, 0);
	end();
	read_back("log");
	assert_true(gw_log_whole(&status));
	assert_int_equal(status.records, written);
	assert_int_equal(status.records, status.claimed);
#define RECORD(kind, NAME, name, meaning) assert_int_equal(kinds[kind], 1);
#define FIELD(type, name, unit, meaning)
#define RECORD_END(NAME, name, tail) \
	if (GW_RECORD_##NAME != GW_RECORD_HEADER && *(tail)) \
		assert_string_equal(texts[GW_RECORD_##NAME], #name);
#include "predictor/log/record.def"
#undef RECORD
#undef FIELD
#undef RECORD_END
}

TEST_WITH(fields_come_back_as_they_went, start, clean)
{
	assert_true(opened());
	header();
	launch(7, 1234567890123);
	end();
	read_back("log");
	assert_int_equal(launches[0].config, 7);
	assert_int_equal(launches[0].duration_ns, 1234567890123);
	assert_int_equal(launches[0].call_ns, 5);
	assert_int_equal(launches[0].known, 6);
	assert_string_equal(texts[GW_RECORD_HEADER], "host=here");
}

TEST_WITH(more_records_than_a_block_holds_go_to_several, start, clean)
{
	assert_true(opened());
	header();
	for (uint64_t i = 0; i < 20000; i++)
		launch(1, i);
	end();
	read_back("log");
	assert_int_equal(counted(GW_COUNTER_log_lost), 0);
	assert_true(gw_log_whole(&status));
	assert_true(status.blocks > 1);
	assert_int_equal(kinds[GW_RECORD_LAUNCH], 20000);
	assert_int_equal(launches[19999 % 4].duration_ns, 19999);
}

TEST_WITH(the_size_counts_what_is_in_memory_too, start, clean)
{
	struct stat s;
	uint64_t before;

	assert_true(opened());
	assert_int_equal(gw_log_bytes(), 0);
	header();
	before = gw_log_bytes();
	launch(1, 1);
	assert_int_equal(gw_log_bytes(), before + sizeof(struct gw_record_launch));
	gw_log_settle();
	assert_int_equal(stat("log", &s), 0);
	assert_int_equal((uint64_t)s.st_size, gw_log_bytes());
}

TEST_WITH(a_tail_too_long_is_cut_not_overrun, start, clean)
{
	static char text[100000];
	struct gw_record_degraded r = {.code = 1};

	memset(text, 'x', sizeof(text) - 1);
	assert_true(opened());
	header();
	gw_log_write(GW_RECORD_DEGRADED, &r, sizeof(r), text, sizeof(text));
	launch(1, 77);
	end();
	read_back("log");
	assert_int_equal(kinds[GW_RECORD_LAUNCH], 1);
	assert_int_equal(launches[0].duration_ns, 77);
}

TEST_WITH(what_was_flushed_is_read_without_an_end, start, clean)
{
	assert_true(opened());
	header();
	launch(1, 1);
	gw_log_settle();
	launch(1, 2);
	read_back("log");
	assert_int_equal(kinds[GW_RECORD_LAUNCH], 1);
	assert_false(status.ended);
}

static void opened_as(const char *pattern, const char *expected)
{
	snprintf(gw_options.out, sizeof(gw_options.out), "%s", pattern);
	assert_true(opened());
	assert_string_equal(gw_log_name(), expected);
	assert_int_equal(access(expected, R_OK | W_OK), 0);
	gw_log_close();
}

TEST_WITH(the_name_is_made_of_macros, start, clean)
{
	char host[256] = "", pid[300];

	gethostname(host, sizeof(host) - 1);
	snprintf(pid, sizeof(pid), "a.%s.%ld.b", host, (long)getpid());
	opened_as("a.%h.%p.b", pid);
	opened_as("100%%", "100%");
	opened_as("ends%", "ends%");
	setenv("GW_TEST_JOB", "job7", 1);
	opened_as("x%q{GW_TEST_JOB}y", "xjob7y");
	unsetenv("GW_TEST_JOB");
	opened_as("x%q{GW_TEST_JOB}z", "xz");
	setenv("SLURM_PROCID", "3", 1);
	opened_as("rank%r", "rank3");
	setenv("OMPI_COMM_WORLD_RANK", "5", 1);
	opened_as("rank%r", "rank5");
	unsetenv("OMPI_COMM_WORLD_RANK");
	unsetenv("SLURM_PROCID");
}

TEST_WITH(a_folder_stands_for_the_default_name_in_it, start, clean)
{
	char host[256] = "", expected[300];

	gethostname(host, sizeof(host) - 1);
	snprintf(expected, sizeof(expected), "7%%/gpuwatch.%s.%ld.gwl", host, (long)getpid());
	assert_int_equal(mkdir("7%", 0700), 0);
	opened_as("7%%", expected);
}

TEST_WITH(a_pattern_not_understood_writes_no_log, start, clean)
{
	static char variable[300];
	const char *bad[] = {"%x", "%q", "%q{", "%q{never closed", "", "%q{GW_NONE}", variable};
	struct gw_reason reason;

	memset(variable, 'V', sizeof(variable) - 1);
	memcpy(variable, "%q{", 3);
	variable[298] = '}';
	for (size_t i = 0; i < COUNT(bad); i++) {
		snprintf(gw_options.out, sizeof(gw_options.out), "%s", bad[i]);
		assert_false(gw_log_open());
		assert_false(gw_log_is_open());
		assert_string_equal(gw_log_name(), "");
	}
	assert_true(gw_degraded_get(0, &reason));
	assert_int_equal(reason.code, GW_DEGRADED_LOG);
	launch(1, 1);
	assert_int_equal(counted(GW_COUNTER_log_lost), 1);
}

TEST_WITH(an_expansion_too_long_writes_no_log, start, clean)
{
	static char text[4000];

	memset(text, 'v', sizeof(text) - 1);
	setenv("GW_TEST_LONG", text, 1);
	snprintf(gw_options.out, sizeof(gw_options.out), "%%q{GW_TEST_LONG}%%q{GW_TEST_LONG}");
	assert_false(gw_log_open());
	assert_string_equal(gw_log_name(), "");
	unsetenv("GW_TEST_LONG");
}

TEST_WITH(a_taken_name_is_left_alone, start, clean)
{
	FILE *f = fopen("log", "w");
	struct stat s;

	fputs("theirs", f);
	fclose(f);
	opened_as("log", "log.1");
	opened_as("log", "log.2");
	assert_int_equal(stat("log", &s), 0);
	assert_int_equal(s.st_size, 6);
}

TEST_WITH(no_link_is_followed, start, clean)
{
	assert_int_equal(symlink("target", "log"), 0);
	opened_as("log", "log.1");
	assert_int_equal(access("target", F_OK), -1);
}

TEST_WITH(only_the_owner_may_read_it, start, clean)
{
	struct stat s;
	mode_t before = umask(0);

	assert_true(opened());
	umask(before);
	assert_int_equal(stat("log", &s), 0);
	assert_int_equal(s.st_mode & 0777, 0600);
}

TEST_WITH(one_missing_folder_is_made, start, clean)
{
	struct stat s;

	snprintf(gw_options.out, sizeof(gw_options.out), "missing/log");
	assert_true(opened());
	assert_int_equal(stat("missing", &s), 0);
	assert_int_equal(s.st_mode & 0777, 0700);
	assert_int_equal(access("missing/log", F_OK), 0);
}

TEST_WITH(two_missing_folders_are_reported_with_the_remedy, start, clean)
{
	struct gw_reason reason;

	snprintf(gw_options.out, sizeof(gw_options.out), "not/there/log");
	opened();
	assert_true(gw_degraded_get(0, &reason));
	assert_non_null(strstr(reason.text, "not/there/log"));
	assert_non_null(strstr(reason.text, "GPUWATCH_OUT"));
	assert_int_equal(access("not", F_OK), -1);
}

TEST_WITH(mode_and_group_are_options, start, clean)
{
	struct stat s;
	mode_t before = umask(0777);

	snprintf(gw_options.log_mode, sizeof(gw_options.log_mode), "0440");
	snprintf(gw_options.log_group, sizeof(gw_options.log_group), "%ld", (long)getgid());
	assert_true(opened());
	umask(before);
	assert_int_equal(stat("log", &s), 0);
	assert_int_equal(s.st_mode & 0777, 0640);
	assert_int_equal(s.st_gid, getgid());
	assert_false(gw_degraded_get(0, &(struct gw_reason){0}));
}

TEST_WITH(a_group_is_found_by_its_name, start, clean)
{
	gid_t group = 77;

	assert_true(gw_log_group("root", &group));
	assert_int_equal(group, 0);
	assert_true(gw_log_group("12", &group));
	assert_int_equal(group, 12);
	assert_false(gw_log_group("no group has this name", &group));
}

TEST_WITH(no_log_is_made_of_dev_null, start, clean)
{
	snprintf(gw_options.out, sizeof(gw_options.out), "/dev/null");
	assert_false(opened());
	assert_false(gw_degraded_get(0, &(struct gw_reason){0}));
	assert_int_equal(access("/dev/null.1", F_OK), -1);
}

TEST_WITH(a_pipe_is_refused, start, clean)
{
	struct gw_reason reason;

	assert_int_equal(mkfifo("log", 0600), 0);
	assert_false(opened());
	assert_true(gw_degraded_get(0, &reason));
	assert_non_null(strstr(reason.text, "a pipe or a device"));
	assert_int_equal(access("log.1", F_OK), -1);
}

TEST_WITH(a_name_used_a_thousand_times_still_gets_a_log, start, clean)
{
	char path[64];

	for (int i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), i ? "log.%d" : "log", i);
		close(open(path, O_WRONLY | O_CREAT, 0600));
	}
	assert_true(opened());
	assert_int_equal(strncmp(gw_log_name(), "log.", 4), 0);
	assert_int_equal(access(gw_log_name(), F_OK), 0);
}

/* Times that do not pack. */
static uint64_t noise(void)
{
	static uint64_t x = 1;

	x = x * UINT64_C(6364136223846793005) + 1;
	return x >> 20;
}

/* In a process of its own: status of @p body's exit, -signal when a signal ended it. */
static int in_child(int (*body)(void))
{
	int answer;
	pid_t pid = fork();

	if (!pid) {
		dup2(quiet_stderr, STDERR_FILENO);
		_exit(body());
	}
	assert_int_equal(waitpid(pid, &answer, 0), pid);
	return WIFSIGNALED(answer) ? -WTERMSIG(answer) : WEXITSTATUS(answer);
}

static int write_past_the_limit(void)
{
	struct rlimit limit = {4000, 4000};

	setrlimit(RLIMIT_FSIZE, &limit);
	if (!opened())
		return 1;
	header();
	for (uint64_t i = 0; i < 100; i++)
		launch(1, noise());
	gw_log_settle(); /* fits */
	for (uint64_t i = 0; i < 1000; i++)
		launch(2, noise());
	gw_log_settle(); /* does not */
	launch(3, 1);
	end();
	return counted(GW_COUNTER_log_lost) == 1000 ? 0 : 2;
}

TEST_WITH(a_file_that_may_not_grow_loses_records_and_harms_nobody, start, clean)
{
	assert_int_equal(in_child(write_past_the_limit), 0);
	read_back("log");
	assert_int_equal(status.damaged_bytes, 0);
	assert_int_equal(status.missing_blocks, 1);
	/* The lost block is cut away whole; what came later found room again. */
	assert_int_equal(kinds[GW_RECORD_LAUNCH], 101);
	assert_int_equal(kinds[GW_RECORD_END], 1);
}

static int say_to_nobody(void)
{
	int ends[2];

	if (pipe(ends) || dup2(ends[1], STDERR_FILENO) < 0)
		return 1;
	close(ends[0]);
	gw_degrade(GW_DEGRADED_NO_CUPTI, "nobody reads this");
	return 0;
}

TEST_WITH(a_warning_to_a_closed_pipe_ends_nobody, start, clean)
{
	assert_int_equal(in_child(say_to_nobody), 0);
}

static int closed_by_the_program(void)
{
	int theirs;

	if (!opened())
		return 1;
	header();
	gw_log_settle();
	for (int i = 3; i < 1024; i++)
		close(i);
	theirs = open("theirs", O_WRONLY | O_CREAT, 0600);
	for (int i = theirs + 1; i < 1024; i++)
		dup2(theirs, i);
	launch(1, 1);
	gw_log_settle();
	launch(1, 2);
	gw_log_close();
	return counted(GW_COUNTER_log_lost) != 0 || write(theirs, "x", 1) != 1;
}

TEST_WITH(a_descriptor_the_program_took_over_is_not_written_to_and_the_log_goes_on, start, clean)
{
	struct stat s;

	assert_int_equal(in_child(closed_by_the_program), 0);
	assert_int_equal(stat("theirs", &s), 0);
	assert_int_equal(s.st_size, 1);
	read_back("log");
	assert_int_equal(kinds[GW_RECORD_LAUNCH], 2);
}

static void *open_file(void *place)
{
	*(enum gw_log_place *)place = gw_log_file_open("log");
	return NULL;
}

static void *append_to_file(void *health)
{
	*(enum gw_log_health *)health = gw_log_file_check();
	gw_log_file_append("block", 5, NULL, 0);
	return NULL;
}

/* As CRIU does, which restores all threads with the main thread's table: folder and file were 3 and
 * 4. */
static int restored_with_the_programs_files(void)
{
	enum gw_log_place place = GW_LOG_REFUSED;
	enum gw_log_health health = GW_LOG_SOUND;
	pthread_t thread;
	struct stat s;

	close_range(3, ~0u, 0);
	if (pthread_create(&thread, NULL, open_file, &place) || pthread_join(thread, NULL) ||
	    place != GW_LOG_OPEN || open("theirs", O_WRONLY | O_CREAT, 0600) != 5)
		return 1;
	if (write(5, "longer than the log", 19) != 19 || dup2(5, 3) != 3 || dup2(5, 4) != 4)
		return 2;
	if (pthread_create(&thread, NULL, append_to_file, &health) || pthread_join(thread, NULL) ||
	    health != GW_LOG_NEW)
		return 3;
	if (fstat(3, &s) || fstat(4, &s) || s.st_size != 19)
		return 4;
	return stat("log.1", &s) || s.st_size != 5 ? 5 : 0;
}

TEST_WITH(a_process_restored_with_one_table_of_files_writes_into_none_of_the_programs, start, clean)
{
	assert_int_equal(in_child(restored_with_the_programs_files), 0);
}

/* A fork's child. */
static int abandon_and_begin_anew(void)
{
	struct stat s;

	gw_log_abandon();
	gw_log_flush();
	if (gw_log_is_open() || stat("log", &s) != 0 || s.st_size != 0)
		return 1;
	memset(gw_counters, 0, sizeof(gw_counters));
	snprintf(gw_options.out, sizeof(gw_options.out), "child");
	if (!opened())
		return 2;
	header();
	end();
	return 0;
}

TEST_WITH(an_abandoned_log_gets_nothing_more, start, clean)
{
	assert_true(opened());
	header();
	assert_int_equal(in_child(abandon_and_begin_anew), 0);
	read_back("child");
	assert_true(gw_log_whole(&status));
}

/* A name needs one, and 0 will do; a report must not show one that nobody reported. */
TEST_WITH(a_rank_is_reported_by_a_launcher_or_unknown, start, clean)
{
	unsetenv("SLURM_PROCID");
	assert_string_equal(gw_log_rank(), "");
	snprintf(gw_options.out, sizeof(gw_options.out), "log.%%r");
	assert_true(opened());
	gw_log_close();
	assert_int_equal(access("log.0", F_OK), 0);
	setenv("SLURM_PROCID", "7", 1);
	assert_string_equal(gw_log_rank(), "7");
	unsetenv("SLURM_PROCID");
}

int main(void)
{
	int failed;

	if (!mkdtemp(folder) || chdir(folder))
		return 1;
	quiet_stderr = open("/dev/null", O_WRONLY | O_CLOEXEC);
	failed = tests_run(NULL, NULL);
	return rmdir(folder) ? 1 : failed;
}
