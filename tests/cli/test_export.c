/* gpuwatch export: every format says what the report says, whatever kernels are called. */
#include "tests/cli/log_builder.h"
#include "tests/cli/shell.h"
#include "tests/test.h"

#define GPUWATCH "$PREFIX/bin/gpuwatch "
#define CHECK    "python3 " HERE "/export_check.py $PREFIX/bin/gpuwatch "

static const char *const formats[] = {
#define FORMAT(name, summary) #name,
#include "cli/export/formats.def"
#undef FORMAT
};

#define FORMATS COUNT(formats)

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

enum { NAMES = COUNT(names), EACH = 3 };

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

TEST(graphs_timed_whole_are_in_the_totals)
{
	struct gw_record_graph graph = {.graph = 3,
					.kernels = 40,
					.known_kernels = 40,
					.launches = 1000,
					.timed = 10,
					.scored = 10,
					.start_ns = 1,
					.end_ns = 2,
					.total_ns = 20000000,
					.scored_ns = 20000000,
					.predicted_ns = 10000000,
					.expected_ns = 1000000000,
					.device = 1};
	struct lb b = {0};

	lb_header(&b, 4711, 0, "decode");
	lb_device(&b, 1, "Test", "00112233445566778899aabbccddeeff");
	lb_record(&b, GW_RECORD_GRAPH, &graph, sizeof(graph), NULL, 0);
	lb_end(&b);
	assert_true(lb_write(&b, "graph.gwl"));
	lb_free(&b);
	shell_runs(GPUWATCH "export --format=openmetrics -o - graph.gwl");
	shell_says("gpuwatch_graph_launches_total{gpu=\"0\",UUID="
		   "\"00112233445566778899aabbccddeeff\",pid=\"4711\","
		   "graph=\"3\"} 1000\n",
		   "graph=\"3\"} 2\n"); /* seconds of 1000 of 2 ms */
	shell_runs(GPUWATCH "export --format=parquet --table=graphs -o g.parquet graph.gwl");
	shell_runs(GPUWATCH "report --json graph.gwl");
	shell_says("\"gpu\": 0");
}

TEST(each_format_has_the_reports_sums_whatever_the_names)
{
	for (size_t i = 0; i < FORMATS; i++) {
		if (shell(CHECK "%s names.gwl", formats[i]))
			fail_msg("%s: %s", formats[i], shell_output);
	}
}

TEST(each_format_has_the_sums_of_recorded_logs)
{
	static const char *const logs[] = {"train", "graphs", "workloads"};

	for (size_t i = 0; i < FORMATS; i++)
		for (size_t k = 0; k < COUNT(logs); k++)
			if (shell(CHECK "%s " RECORDED "/%s.gwl", formats[i], logs[k]))
				fail_msg("%s of %s: %s", formats[i], logs[k], shell_output);
}

TEST(csv_is_golden)
{
	shell_prints("packed/export.csv",
		     GPUWATCH "export --format=csv --kernel='^(plain|quo.te)$' -o - names.gwl");
}

TEST(launches_are_picked_by_time_and_name)
{
	shell_gives("4\n",
		    GPUWATCH "export --format=csv --kernel='^plain$' -o - names.gwl | wc -l");
	shell_ends(1, GPUWATCH "export --format=csv --kernel='^none$' -o - names.gwl");
	shell_says("no kernel matches --kernel=^none$");
	shell_ends(1, GPUWATCH "export --format=csv --since=900000000 -o - names.gwl");
	shell_says("no launch in that span");
	/* The first launch starts 1000 s after the log, the others 0.1 ms apart. */
	shell_gives("8\n", GPUWATCH "export --format=csv --since=1000.00015 --until=1000.00095 "
				    "-o - names.gwl | grep -c ^17");
}

TEST(a_folder_stands_for_its_logs)
{
	shell_runs("mkdir two none && cp names.gwl two/a.gwl && cp names.gwl two/b.gwl");
	shell_gives("7\n", GPUWATCH "export --format=csv --kernel='^plain$' -o - two | wc -l");
	shell_ends(2, GPUWATCH "export --format=csv -o - none");
	shell_says("none: no log in this folder");
}

/* One error, exit status 2, and what stood there stays. */
TEST(failures_leave_no_half_file)
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
		{"--format=csv -o /sys/x names.gwl", "; name a place that you may write"},
		{"--format=csv -o /dev/full names.gwl", "No space left"},
		{"--format=csv -o - names.gwl >/dev/full", "No space left"},
		{"--format=csv -o out missing.gwl", "missing.gwl"},
		{"--format=csv -o out -", "a pipe can't be"},
	};

	shell_runs("rm -f out.*; mkdir half && echo kept >out");
	for (size_t i = 0; i < COUNT(cases); i++) {
		shell_ends(2, GPUWATCH "export %s", cases[i].options);
		shell_says(cases[i].says);
		assert_ptr_equal(strchr(shell_output, '\n'), strrchr(shell_output, '\n'));
	}
	shell_ends(2, "cat out; ls out.* 2>/dev/null");
	assert_string_equal(shell_output, "kept\n");
	for (size_t i = 0; i < FORMATS; i++) {
		assert_int_equal(shell("(ulimit -f 1; trap '' XFSZ; cd half && " GPUWATCH
				       "export --format=%s -o out ../names.gwl)",
				       formats[i]) &
					 ~2,
				 0);
		shell_ends(1, "ls half | grep -v '^out$'");
		shell("rm -f half/out");
	}
}

#define A_UUID "00112233445566778899aabbccddeeff"

/* A copy, a wait and ranges of a thread, beside a launch. */
static void write_beside(const char *path, const char *uuid)
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

	lb_header(&b, 4711, GW_HEADER_COPIES | GW_HEADER_WAITS, "a");
	lb_device(&b, 1, "Test GPU", uuid);
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
	assert_true(lb_write(&b, path));
	lb_free(&b);
}

TEST(perfetto_has_copies_waits_and_ranges)
{
	write_beside("where.gwl", A_UUID);
	shell_runs(CHECK "perfetto where.gwl");
	shell_gives("NVTX, thread 77 (process 4711): step 110000 ns\n"
		    "copies, stream 7 (process 4711): copies to the GPU 5000 ns\n"
		    "waits, thread 77 (process 4711): cuEventSynchronize 30000 ns\n",
		    GPUWATCH "export --format=perfetto -o where.trace where.gwl && "
			     "python3 " HERE "/export_slices.py where.trace");
}

TEST(sqlite_has_copies_waits_and_ranges_where_nsys_has_them)
{
	if (shell(GPUWATCH "export --help | grep -q sqlite"))
		skip();
	write_beside("beside.gwl", A_UUID);
	shell_gives("[CUDA memcpy Host-to-Device] 1 5000 4096\n"
		    "Event sync 1 30000\n"
		    "cudaEventSynchronize or cuEventSynchronize 1 30000 1\n"
		    "cudaLaunchKernel or alike, duration unknown 1 0 1\n"
		    "step 1 110000 77\n"
		    "beside.gwl 1 kernels and shapes, 1 launches, 1000 ns\n",
		    "python3 " HERE "/readers/nsys.py $PREFIX/bin/gpuwatch beside.gwl");
}

/* Their ranges end with them. */
TEST(several_logs_are_in_one_database)
{
	if (shell(GPUWATCH "export --help | grep -q sqlite"))
		skip();
	write_beside("one.gwl", A_UUID);
	write_beside("another.gwl", A_UUID);
	shell_gives("2 220000\n",
		    GPUWATCH "export --format=sqlite -o two.db one.gwl another.gwl && "
			     "python3 -c \"import sqlite3; print(*sqlite3.connect("
			     "'two.db').execute('SELECT count(*), sum(end - start) "
			     "FROM NVTX_EVENTS').fetchone())\"");
}

/* Each rank of a job calls its own GPU 0: nsys's queries find one name for each kernel's deviceId.
 */
TEST(gpus_of_one_number_are_two_in_a_database)
{
	if (shell(GPUWATCH "export --help | grep -q sqlite"))
		skip();
	write_beside("one.gwl", A_UUID);
	write_beside("another.gwl", "ff112233445566778899aabbccddeeff");
	shell_gives("0 " A_UUID " 0\n"
		    "1 ff112233445566778899aabbccddeeff 0\n",
		    GPUWATCH "export --format=sqlite -o gpus.db one.gwl another.gwl && python3 -c "
			     "\"import sqlite3; [print(*row) for row in sqlite3.connect('gpus.db')."
			     "execute('SELECT deviceId, uuid, cuDevice FROM "
			     "CUPTI_ACTIVITY_KIND_KERNEL JOIN TARGET_INFO_GPU g ON g.id = deviceId "
			     "ORDER BY 1')]\"");
}

/* Two configurations, one of which has a stack: export_check.py compares lines with those of CSV.
 */
TEST(perfetto_has_the_line_of_the_program)
{
	static const char texts[] = "train.py\0step";
	struct gw_record_frame frame = {.id = 1, .line = 12};
	struct gw_record_stack stack = {.config = 1, .count = 1, .python = 1};
	const uint32_t frames[] = {1};
	struct lb b = {0};

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
	shell_runs(GPUWATCH "export --format=csv -o - line.gwl");
	shell_says("train.py:12");
	shell_runs(CHECK "perfetto line.gwl");
}

TESTS_MAIN(setup, shell_teardown)
