/* SPDX-License-Identifier: Apache-2.0 */
/* gpuwatch export: every format says what the report says, whatever kernels are called. */
#include "cli/export/sqlite_rows.h"
#include "tests/cli/log_builder.h"
#include "tests/cli/shell.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#ifdef GW_HAVE_SQLITE
#include <sqlite3.h>
#endif

#define GPUWATCH "$PREFIX/bin/gpuwatch "
#define CHECK    "python3 " HERE "/export_check.py $PREFIX/bin/gpuwatch "

static const char *const formats[] = {
#define FORMAT(name, summary) #name,
#include "cli/export/formats.def"
#undef FORMAT
};

#define FORMATS (sizeof(formats) / sizeof(*formats))

/* What would break a format that puts a name between its own marks. */
static char long_name[20000];
static const char *const names[] = {
        "plain",
        "quo\"te",
        "line\nend\r\n,;\t",
        "back\\slash\\n",
        "broken\xff\xc3(",
        "\xed\xa0\x80",
        "ünïcødé ☃",
        "</script><b>'; DROP",
        "",
        long_name,
        "{\"a\":[1,2]}",
        "%s%n\x1b[31m",
};

enum { NAMES = sizeof(names) / sizeof(*names), EACH = 3 };

static int setup(void **state)
{
	struct lb b = {0};
	uint64_t start = 1000000000000;
	uint32_t known = 0;

	if (shell_setup(state))
		return -1;
	memset(long_name, 'n', sizeof(long_name) - 1);
	lb_header(&b, 4711, 0, "a \"command\"");
	lb_device(&b, 1, "Test \"GPU\"", "00112233445566778899aabbccddeeff");
	lb_stream(&b, 1, 1);
	for (uint32_t i = 0; i < NAMES; i++) {
		lb_kernel(&b, i + 1, names[i]);
		lb_config(&b, i + 1, i + 1, 8, 256);
		lb_block(&b);
	}
	for (uint32_t i = 0; i < NAMES * EACH; i++, start += 100000)
		lb_add_launch(&b, lb_launch(i % NAMES + 1, start, 1000 + i, i < NAMES ? NAN : 1100,
		                            known));
	lb_end(&b);
	if (!lb_write(&b, "names.gwl"))
		return -1;
	lb_free(&b);
	return 0;
}

static void each_format_has_the_reports_sums_whatever_the_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < FORMATS; i++) {
		if (shell(CHECK "%s names.gwl", formats[i]))
			fail_msg("%s: %s", formats[i], shell_output);
	}
}

static void each_format_has_the_sums_of_recorded_logs(void **state)
{
	static const char *const logs[] = {"train", "graphs", "workloads"};

	(void)state;
	if (shell(GPUWATCH "report " RECORDED "/train.gwl.zst") &&
	    strstr(shell_output, "without libzstd"))
		skip();
	for (size_t i = 0; i < FORMATS; i++)
		for (size_t k = 0; k < sizeof(logs) / sizeof(*logs); k++)
			if (shell(CHECK "%s " RECORDED "/%s.gwl.zst", formats[i], logs[k]))
				fail_msg("%s of %s: %s", formats[i], logs[k], shell_output);
}

static void csv_is_golden(void **state)
{
	(void)state;
	shell_prints("export.csv",
	             GPUWATCH "export --format=csv --kernel='^(plain|quo.te)$' -o - names.gwl");
}

static void launches_are_picked_by_time_and_name(void **state)
{
	(void)state;
	assert_int_equal(
	        shell(GPUWATCH "export --format=csv --kernel='^plain$' -o - names.gwl | wc -l"), 0);
	assert_string_equal(shell_output, "4\n");
	assert_int_equal(shell(GPUWATCH "export --format=csv --since=900000000 -o - names.gwl"), 1);
	shell_says("no launch in that span");
	/* The first launch starts 1000 s after the log, the others 0.1 ms apart. */
	assert_int_equal(shell(GPUWATCH "export --format=csv --since=1000.00015 --until=1000.00095 "
	                                "-o - names.gwl | grep -c ^17"),
	                 0);
	assert_string_equal(shell_output, "8\n");
}

/* One error, exit status 2, and what stood there stays. */
static void failures_leave_no_half_file(void **state)
{
	static const struct {
		const char *options, *says;
	} cases[] = {
	        {"-o out names.gwl", "missing --format"},
	        {"--format=csv names.gwl", "missing output"},
	        {"--format=csv -o out", "missing log argument"},
	        {"--format=xlsx -o out names.gwl", "--format=xlsx: must be one of"},
	        {"--format=csv --table=idle -o out names.gwl",
	         "--table=idle is of --format=parquet"},
	        {"--format=parquet --table=no -o out names.gwl", "--table=no: must be one of"},
	        {"--format=csv --since=2 --until=1 -o out names.gwl", "is not before"},
	        {"--format=csv --kernel='(' -o out names.gwl", "regular expression"},
	        {"--format=csv -o no/such/folder names.gwl", "can't be written"},
	        {"--format=csv -o . names.gwl", "can't be written"},
	        {"--format=csv -o /dev/full names.gwl", "No space left"},
	        {"--format=csv -o - names.gwl >/dev/full", "No space left"},
	        {"--format=csv -o out missing.gwl", "missing.gwl"},
	        {"--format=csv -o out -", "a pipe can't be"},
	};

	(void)state;
	assert_int_equal(shell("rm -f out.*; mkdir half && echo kept >out"), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(shell(GPUWATCH "export %s", cases[i].options), 2);
		shell_says(cases[i].says);
		assert_ptr_equal(strchr(shell_output, '\n'), strrchr(shell_output, '\n'));
	}
	assert_int_equal(shell("cat out; ls out.* 2>/dev/null"), 2);
	assert_string_equal(shell_output, "kept\n");
	for (size_t i = 0; i < FORMATS; i++) {
		assert_int_equal(shell("(ulimit -f 1; trap '' XFSZ; cd half && " GPUWATCH
		                       "export --format=%s -o out ../names.gwl)",
		                       formats[i]) &
		                         ~2,
		                 0);
		assert_int_equal(shell("ls half | grep -v '^out$'"), 1);
		shell("rm -f half/out");
	}
}

/* A copy, a wait and ranges of a thread, beside a launch. */
static void perfetto_has_copies_waits_and_ranges(void **state)
{
	struct gw_record_thread thread = {.id = 1, .tid = 77};
	struct gw_record_range_name name = {.id = 1};
	struct gw_record_range in = {.thread = 1, .name = 1, .depth = 1, .ns = 999999980000};
	struct gw_record_range out = {.thread = 1, .ns = 1000000090000};
	struct gw_record_copy copy = {.device = 1,
	                              .direction = GW_DIRECTION_TO_DEVICE,
	                              .stream = 7,
	                              .bytes = 4096,
	                              .start_ns = 1000000010000,
	                              .duration_ns = 5000};
	struct gw_record_wait wait = {.thread = 1,
	                              .call = GW_WAIT_EVENT,
	                              .start_ns = 1000000020000,
	                              .duration_ns = 30000};
	struct lb b = {0};

	(void)state;
	lb_header(&b, 4711, GW_HEADER_COPIES | GW_HEADER_WAITS, "a");
	lb_device(&b, 1, "Test GPU", "00112233445566778899aabbccddeeff");
	lb_stream(&b, 1, 1);
	lb_kernel(&b, 1, "plain");
	lb_config(&b, 1, 1, 8, 256);
	lb_record(&b, GW_RECORD_THREAD, &thread, sizeof(thread), NULL, 0);
	lb_record(&b, GW_RECORD_RANGE_NAME, &name, sizeof(name), "step", 5);
	lb_record(&b, GW_RECORD_RANGE, &in, sizeof(in), NULL, 0);
	lb_record(&b, GW_RECORD_COPY, &copy, sizeof(copy), NULL, 0);
	lb_record(&b, GW_RECORD_WAIT, &wait, sizeof(wait), NULL, 0);
	lb_record(&b, GW_RECORD_RANGE, &out, sizeof(out), NULL, 0);
	lb_add_launch(&b, lb_launch(1, 1000000000000, 1000, NAN, 0));
	lb_end(&b);
	assert_true(lb_write(&b, "where.gwl"));
	lb_free(&b);
	assert_int_equal(shell(CHECK "perfetto where.gwl"), 0);
	assert_int_equal(shell(GPUWATCH "export --format=perfetto -o where.trace where.gwl && "
	                                "python3 " HERE "/export_slices.py where.trace"),
	                 0);
	assert_string_equal(shell_output,
	                    "NVTX, thread 77 (process 4711): step 110000 ns\n"
	                    "copies, stream 7: copies to the GPU 5000 ns\n"
	                    "waits, thread 77 (process 4711): cuEventSynchronize 30000 ns\n");
}

/* Two configurations, one of which has a stack: export_check.py compares lines with those of CSV.
 */
static void perfetto_has_the_line_of_the_program(void **state)
{
	static const char texts[] = "train.py\0step";
	struct gw_record_frame frame = {.id = 1, .line = 12};
	struct gw_record_stack stack = {.config = 1, .count = 1, .python = 1};
	const uint32_t frames[] = {1};
	struct lb b = {0};

	(void)state;
	lb_header(&b, 4711, 0, "a");
	lb_device(&b, 1, "Test GPU", "00112233445566778899aabbccddeeff");
	lb_stream(&b, 1, 1);
	lb_kernel(&b, 1, "plain");
	lb_config(&b, 1, 1, 8, 256);
	lb_config(&b, 2, 1, 9, 256);
	lb_record(&b, GW_RECORD_FRAME, &frame, sizeof(frame), texts, sizeof(texts));
	lb_record(&b, GW_RECORD_STACK, &stack, sizeof(stack), frames, sizeof(frames));
	for (unsigned i = 0; i < 8; i++)
		lb_add_launch(&b, lb_launch(1 + i % 2, 1000000000000 + i * 2000, 1000,
		                            i < 4 ? NAN : 900, 0));
	lb_end(&b);
	assert_true(lb_write(&b, "line.gwl"));
	lb_free(&b);
	assert_int_equal(shell(GPUWATCH "export --format=csv -o - line.gwl"), 0);
	assert_non_null(strstr(shell_output, "train.py:12"));
	assert_int_equal(shell(CHECK "perfetto line.gwl"), 0);
}

#ifdef GW_HAVE_SQLITE
enum { NUMBERS = 30 };

/* Number @p column of row @p row; not all are known: integers of all widths, and reals at the end.
 */
static bool number_of(unsigned row, unsigned column, uint64_t *bits)
{
	const uint64_t random = (row * UINT64_C(31) + column + 1) * UINT64_C(0x9e3779b97f4a7c15);
	const double real = column % 2 ? (double)row : -(double)row - 0.25;

	*bits = (uint64_t)((int64_t)random >> (row + column) % 64);
	if (column >= NUMBERS - 2)
		memcpy(bits, &real, sizeof(real));
	return row % 7 != column % 7;
}

static bool row_is(sqlite3_stmt *rows, unsigned row)
{
	bool same = sqlite3_column_int64(rows, NUMBERS) == (int64_t)row * 3 + 1;

	for (int i = 0; i < NUMBERS; i++) {
		uint64_t want, have = (uint64_t)sqlite3_column_int64(rows, i);
		double real = sqlite3_column_double(rows, i);
		bool known = number_of(row, (unsigned)i, &want);

		if (i >= NUMBERS - 2)
			memcpy(&have, &real, sizeof(have));
		same = same && known == (sqlite3_column_type(rows, i) != SQLITE_NULL) &&
		       (!known || want == have);
	}
	return same;
}

/* rows.db with an empty table of NUMBERS columns. */
static void make_table(void)
{
	char sql[400] = "PRAGMA page_size=4096; CREATE TABLE t (c0";
	sqlite3 *db;

	for (unsigned i = 1; i < NUMBERS; i++)
		snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql), ",c%u", i);
	snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql), ")");
	remove("rows.db");
	assert_int_equal(sqlite3_open("rows.db", &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* A database of @p count rows, written as pages from number @p next on (0: those that follow). */
static void write_rows(unsigned count, uint32_t next)
{
	enum { ROOT = 2, PAGE_COUNT = 28 };
	static const bool reals[NUMBERS] = {[NUMBERS - 2] = true, [NUMBERS - 1] = true};
	struct export_out out = {.path = "rows.db"};
	struct sqlite_pages pages = {&out, next ? next : ROOT + 1};
	struct sqlite_rows rows = {.pages = &pages, .columns = NUMBERS, .reals = reals};
	unsigned char number[4];

	make_table();
	out.file = fopen("rows.db", "r+b");
	assert_non_null(out.file);
	export_seek(&out, (uint64_t)(pages.next - 1) * SQLITE_PAGE);
	for (unsigned i = 0; i < count; i++) {
		for (unsigned j = 0; j < NUMBERS; j++)
			rows.known[j] = number_of(i, j, &rows.values[j]);
		sqlite_rows_add(&rows, i * UINT64_C(3) + 1);
	}
	sqlite_rows_end(&rows);
	export_seek(&out, (ROOT - 1) * SQLITE_PAGE);
	export_write(&out, rows.page, SQLITE_PAGE);
	for (unsigned i = 0; i < sizeof(number); i++)
		number[i] = (unsigned char)((pages.next - 1) >> 8 * (3 - i));
	export_seek(&out, PAGE_COUNT);
	export_write(&out, number, sizeof(number));
	sqlite_rows_free(&rows);
	assert_true(export_close(&out, true));
}

static void assert_rows(unsigned count, bool whole)
{
	sqlite3 *db;
	sqlite3_stmt *rows;
	unsigned row = 0;

	assert_int_equal(sqlite3_open("rows.db", &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT *, rowid FROM t", -1, &rows, NULL),
	                 SQLITE_OK);
	for (; sqlite3_step(rows) == SQLITE_ROW; row++)
		if (!row_is(rows, row))
			fail_msg("of %u rows, row %u is not as written", count, row);
	assert_int_equal(row, count);
	sqlite3_finalize(rows);
	sqlite3_prepare_v2(db, whole ? "PRAGMA integrity_check" : "SELECT 'ok'", -1, &rows, NULL);
	assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
	assert_string_equal(sqlite3_column_text(rows, 0), "ok");
	sqlite3_finalize(rows);
	sqlite3_close(db);
}

/* No row, one page, a few, and around as many as one parent has: 4 rows take a page here. */
static void sqlite_reads_rows_written_as_pages(void **state)
{
	static const unsigned counts[] = {0, 1, 20, 40, 8000};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		write_rows(counts[i], 0);
		assert_rows(counts[i], true);
	}
}

/* The file is sparse: pages before the first are not there. */
static void rows_leave_out_the_page_that_sqlite_locks(void **state)
{
	(void)state;
	write_rows(100, 0x40000000 / SQLITE_PAGE - 1);
	assert_rows(100, false);
	remove("rows.db");
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(each_format_has_the_reports_sums_whatever_the_names),
	        cmocka_unit_test(each_format_has_the_sums_of_recorded_logs),
	        cmocka_unit_test(csv_is_golden),
	        cmocka_unit_test(perfetto_has_copies_waits_and_ranges),
	        cmocka_unit_test(perfetto_has_the_line_of_the_program),
#ifdef GW_HAVE_SQLITE
	        cmocka_unit_test(sqlite_reads_rows_written_as_pages),
	        cmocka_unit_test(rows_leave_out_the_page_that_sqlite_locks),
#endif
	        cmocka_unit_test(launches_are_picked_by_time_and_name),
	        cmocka_unit_test(failures_leave_no_half_file),
	};

	return cmocka_run_group_tests(tests, setup, shell_teardown);
}
