/* SPDX-License-Identifier: Apache-2.0 */
/* The log's writer against the command's reader, and against hostile surroundings. */
#include "cli/log_reader.h"
#include "preload/degrade.h"
#include "preload/log.h"
#include "preload/quiet.h"
#include "preload/options.h"
#include "tests/unit/preload_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/gw_test_log.XXXXXX";
static int quiet_stderr = -1;

static int start(void **state)
{
	(void)state;
	fixture_start();
	gw_degraded_reset();
	snprintf(gw_options.out, sizeof(gw_options.out), "log");
	return 0;
}

static int clean(void **state)
{
	(void)state;
	gw_log_close();
	return system("rm -rf ./* ./.[!.]*");
}

static struct gw_log_status status;
static unsigned kinds[32];
static struct gw_record_launch launches[4];
static char texts[32][64]; /* by kind: the record's first string */

static bool take(void *arg, const struct gw_log_record *r)
{
	(void)arg;
	if (r->head->kind < 32) {
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

static void the_reader_takes_every_kind_of_record_as_written(void **state)
{
	struct {
		struct gw_record_counters head;
		uint64_t value[GW_COUNTERS];
	} counters = {.head = {.count = GW_COUNTERS}};

	(void)state;
	assert_true(gw_log_open());
	header();
#define RECORD(kind, NAME, name, meaning)                                                          \
	if (kind != GW_RECORD_HEADER && kind != GW_RECORD_COUNTERS && kind != GW_RECORD_END) {     \
		struct gw_record_##name r;                                                         \
		memset(&r, 0, sizeof(r));
#define FIELD(type, name, unit, meaning)
#define RECORD_END(NAME, name, tail)                                                               \
	*(uint32_t *)((char *)&r + 4) = 1;                                                         \
	gw_log_write(GW_RECORD_##NAME, &r, sizeof(r), #name, *(tail) ? sizeof(#name) : 0);         \
	}
#include "predictor/record.def"
#undef RECORD
#undef FIELD
#undef RECORD_END
	gw_log_write(GW_RECORD_COUNTERS, &counters, sizeof(counters), NULL, 0);
	end();
	read_back("log");
	assert_true(gw_log_whole(&status));
	assert_int_equal(status.records, 20);
	assert_int_equal(status.records, status.claimed);
#define RECORD(kind, NAME, name, meaning) assert_int_equal(kinds[kind], 1);
#define FIELD(type, name, unit, meaning)
#define RECORD_END(NAME, name, tail)                                                               \
	if (GW_RECORD_##NAME != GW_RECORD_HEADER && *(tail))                                       \
		assert_string_equal(texts[GW_RECORD_##NAME], #name);
#include "predictor/record.def"
#undef RECORD
#undef FIELD
#undef RECORD_END
}

static void fields_come_back_as_they_went(void **state)
{
	(void)state;
	assert_true(gw_log_open());
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

static void more_records_than_a_block_holds_go_to_several(void **state)
{
	(void)state;
	assert_true(gw_log_open());
	header();
	for (uint64_t i = 0; i < 20000; i++)
		launch(1, i);
	end();
	read_back("log");
	assert_true(gw_log_whole(&status));
	assert_true(status.blocks > 1);
	assert_int_equal(kinds[GW_RECORD_LAUNCH], 20000);
	assert_int_equal(launches[19999 % 4].duration_ns, 19999);
}

static void the_size_counts_what_is_in_memory_too(void **state)
{
	struct stat s;
	uint64_t before;

	(void)state;
	assert_true(gw_log_open());
	assert_int_equal(gw_log_bytes(), 0);
	header();
	before = gw_log_bytes();
	launch(1, 1);
	assert_int_equal(gw_log_bytes(), before + sizeof(struct gw_record_launch));
	gw_log_flush();
	assert_int_equal(stat("log", &s), 0);
	assert_int_equal((uint64_t)s.st_size, gw_log_bytes());
}

static void a_tail_too_long_is_cut_not_overrun(void **state)
{
	static char text[100000];
	struct gw_record_degraded r = {.code = 1};

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	assert_true(gw_log_open());
	header();
	gw_log_write(GW_RECORD_DEGRADED, &r, sizeof(r), text, sizeof(text));
	launch(1, 77);
	end();
	read_back("log");
	assert_int_equal(kinds[GW_RECORD_LAUNCH], 1);
	assert_int_equal(launches[0].duration_ns, 77);
}

static void what_was_flushed_is_read_without_an_end(void **state)
{
	(void)state;
	assert_true(gw_log_open());
	header();
	launch(1, 1);
	gw_log_flush();
	launch(1, 2);
	read_back("log");
	assert_int_equal(kinds[GW_RECORD_LAUNCH], 1);
	assert_false(status.ended);
}

static void opened_as(const char *pattern, const char *expected)
{
	snprintf(gw_options.out, sizeof(gw_options.out), "%s", pattern);
	assert_true(gw_log_open());
	assert_string_equal(gw_log_name(), expected);
	assert_int_equal(access(expected, R_OK | W_OK), 0);
	gw_log_close();
}

static void the_name_is_made_of_macros(void **state)
{
	char host[256] = "", pid[300];

	(void)state;
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

static void a_pattern_not_understood_writes_no_log(void **state)
{
	static char variable[300];
	const char *bad[] = {"%x", "%q", "%q{", "%q{never closed", "", "%q{GW_NONE}", variable};
	struct gw_reason reason;

	(void)state;
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

static void an_expansion_too_long_writes_no_log(void **state)
{
	static char text[4000];

	(void)state;
	memset(text, 'v', sizeof(text) - 1);
	setenv("GW_TEST_LONG", text, 1);
	snprintf(gw_options.out, sizeof(gw_options.out), "%%q{GW_TEST_LONG}%%q{GW_TEST_LONG}");
	assert_false(gw_log_open());
	assert_string_equal(gw_log_name(), "");
	unsetenv("GW_TEST_LONG");
}

static void a_taken_name_is_left_alone(void **state)
{
	FILE *f = fopen("log", "w");
	struct stat s;

	(void)state;
	fputs("theirs", f);
	fclose(f);
	opened_as("log", "log.1");
	opened_as("log", "log.2");
	assert_int_equal(stat("log", &s), 0);
	assert_int_equal(s.st_size, 6);
}

static void no_link_is_followed(void **state)
{
	(void)state;
	assert_int_equal(symlink("target", "log"), 0);
	opened_as("log", "log.1");
	assert_int_equal(access("target", F_OK), -1);
}

static void only_the_owner_may_read_it(void **state)
{
	struct stat s;
	mode_t before = umask(0);

	(void)state;
	assert_true(gw_log_open());
	umask(before);
	assert_int_equal(stat("log", &s), 0);
	assert_int_equal(s.st_mode & 0777, 0600);
}

static void a_missing_folder_is_told_with_its_remedy(void **state)
{
	struct gw_reason reason;

	(void)state;
	snprintf(gw_options.out, sizeof(gw_options.out), "missing/log");
	assert_false(gw_log_open());
	assert_true(gw_degraded_get(0, &reason));
	assert_non_null(strstr(reason.text, "missing/log"));
	assert_non_null(strstr(reason.text, "GPUWATCH_OUT"));
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
	struct rlimit limit = {40000, 40000};
	struct gw_quiet quiet;

	gw_quiet_begin(&quiet); /* as whoever writes the log does */
	setrlimit(RLIMIT_FSIZE, &limit);
	if (!gw_log_open())
		return 1;
	header();
	for (uint64_t i = 0; i < 500; i++)
		launch(1, i);
	gw_log_flush(); /* fits */
	for (uint64_t i = 0; i < 500; i++)
		launch(2, i);
	gw_log_flush(); /* does not */
	if (counted(GW_COUNTER_log_lost) != 500)
		return 2;
	launch(3, 1);
	end();
	return 0;
}

static void a_file_that_may_not_grow_loses_records_and_harms_nobody(void **state)
{
	(void)state;
	assert_int_equal(in_child(write_past_the_limit), 0);
	read_back("log");
	assert_int_equal(status.damaged_bytes, 0);
	assert_int_equal(status.missing_blocks, 0);
	/* The lost block is cut away whole; what came later found room again. */
	assert_int_equal(kinds[GW_RECORD_LAUNCH], 501);
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

static void a_warning_to_a_closed_pipe_ends_nobody(void **state)
{
	(void)state;
	assert_int_equal(in_child(say_to_nobody), 0);
}

static int closed_by_the_program(void)
{
	int theirs;

	if (!gw_log_open())
		return 1;
	header();
	gw_log_flush();
	for (int i = 3; i < 1024; i++)
		close(i);
	theirs = open("theirs", O_WRONLY | O_CREAT, 0600);
	for (int i = theirs + 1; i < 1024; i++)
		dup2(theirs, i);
	launch(1, 1);
	gw_log_flush();
	launch(1, 2);
	gw_log_close();
	return counted(GW_COUNTER_log_lost) != 0 || write(theirs, "x", 1) != 1;
}

static void a_descriptor_the_program_took_over_is_not_written_to_and_the_log_goes_on(void **state)
{
	struct stat s;

	(void)state;
	assert_int_equal(in_child(closed_by_the_program), 0);
	assert_int_equal(stat("theirs", &s), 0);
	assert_int_equal(s.st_size, 1);
	read_back("log");
	assert_int_equal(kinds[GW_RECORD_LAUNCH], 2);
}

static void an_abandoned_log_gets_nothing_more(void **state)
{
	struct stat s;

	(void)state;
	assert_true(gw_log_open());
	header();
	gw_log_abandon();
	gw_log_flush();
	assert_false(gw_log_is_open());
	assert_int_equal(stat("log", &s), 0);
	assert_int_equal(s.st_size, 0);
	memset(gw_counters, 0, sizeof(gw_counters)); /* as a forked child does */
	snprintf(gw_options.out, sizeof(gw_options.out), "child");
	assert_true(gw_log_open());
	header();
	end();
	read_back("child");
	assert_true(gw_log_whole(&status));
}

/* A name needs one, and 0 will do; a report must not show one that nobody told. */
static void a_rank_is_told_by_a_launcher_or_unknown(void **state)
{
	(void)state;
	unsetenv("SLURM_PROCID");
	assert_string_equal(gw_log_rank(), "");
	snprintf(gw_options.out, sizeof(gw_options.out), "log.%%r");
	assert_true(gw_log_open());
	gw_log_close();
	assert_int_equal(access("log.0", F_OK), 0);
	setenv("SLURM_PROCID", "7", 1);
	assert_string_equal(gw_log_rank(), "7");
	unsetenv("SLURM_PROCID");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, start, clean)
	        T(a_rank_is_told_by_a_launcher_or_unknown),
	        T(the_reader_takes_every_kind_of_record_as_written),
	        T(fields_come_back_as_they_went),
	        T(more_records_than_a_block_holds_go_to_several),
	        T(the_size_counts_what_is_in_memory_too),
	        T(a_tail_too_long_is_cut_not_overrun),
	        T(what_was_flushed_is_read_without_an_end),
	        T(the_name_is_made_of_macros),
	        T(a_pattern_not_understood_writes_no_log),
	        T(an_expansion_too_long_writes_no_log),
	        T(a_taken_name_is_left_alone),
	        T(no_link_is_followed),
	        T(only_the_owner_may_read_it),
	        T(a_missing_folder_is_told_with_its_remedy),
	        T(a_file_that_may_not_grow_loses_records_and_harms_nobody),
	        T(a_warning_to_a_closed_pipe_ends_nobody),
	        T(a_descriptor_the_program_took_over_is_not_written_to_and_the_log_goes_on),
	        T(an_abandoned_log_gets_nothing_more),
	};
	int failed;

	if (!mkdtemp(folder) || chdir(folder))
		return 1;
	quiet_stderr = open("/dev/null", O_WRONLY | O_CLOEXEC);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	return rmdir(folder) ? 1 : failed;
}
