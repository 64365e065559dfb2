/* Where a GPU's time went, as the report shows it, and rows by NVTX range. */
#include "tests/cli/log_builder.h"
#include "tests/cli/shell.h"
#include "tests/test.h"

#define REPORT "$PREFIX/bin/gpuwatch report "

enum { US = 1000 };
static const uint64_t BEGIN = 1000000000000;

static void launch(struct lb *b, uint64_t call, uint64_t start, uint64_t duration)
{
	struct gw_record_launch l = lb_launch(1, BEGIN + start * US, duration * US, NAN, 0);

	l.start_ns = BEGIN + start * US;
	l.call_ns = BEGIN + call * US;
	l.thread = 1;
	lb_add_launch(b, l);
}

/* 1 ms: 400 us of kernels, 100 of a copy, a wait of 200, 290 after it, 10 of latency; of those
 * after the wait, children worked @p input us. */
static int write_log(const char *path, uint32_t flags, uint64_t input)
{
	struct gw_record_thread thread = {.id = 1, .tid = 77};
	struct gw_record_range_name name = {.id = 1};
	struct gw_record_range in = {.thread = 1, .name = 1, .depth = 1, .ns = BEGIN + 900 * US};
	struct gw_record_copy copy = {.device = 1,
				      .direction = GW_DIRECTION_TO_HOST,
				      .bytes = 4096,
				      .start_ns = BEGIN + 300 * US,
				      .duration_ns = 100 * US};
	struct gw_record_wait wait = {.thread = 1,
				      .call = GW_WAIT_STREAM,
				      .start_ns = BEGIN + 50 * US,
				      .duration_ns = 550 * US};
	struct gw_record_children children = {
		.start_ns = BEGIN + 700 * US, .duration_ns = input * US, .children_ns = input * US};
	struct lb b = {0};
	bool good;

	lb_header(&b, 4711, flags, "a");
	lb_device(&b, 1, "Test GPU", "00112233445566778899aabbccddeeff");
	lb_stream(&b, 1, 1);
	lb_kernel(&b, 1, "plain");
	lb_config(&b, 1, 1, 8, 256);
	lb_record(&b, GW_RECORD_THREAD, &thread, sizeof(thread), NULL, 0);
	lb_record(&b, GW_RECORD_RANGE_NAME, &name, sizeof(name), "step (two)", 11);
	if (flags & GW_HEADER_COPIES)
		lb_record(&b, GW_RECORD_COPY, &copy, sizeof(copy), NULL, 0);
	lb_record(&b, GW_RECORD_WAIT, &wait, sizeof(wait), NULL, 0);
	if (input)
		lb_record(&b, GW_RECORD_CHILDREN, &children, sizeof(children), NULL, 0);
	lb_record(&b, GW_RECORD_RANGE, &in, sizeof(in), NULL, 0);
	launch(&b, 10, 0 + 20, 280);
	launch(&b, 890, 900, 120);
	launch(&b, 905, 1020, 0 + 30);
	lb_end(&b);
	good = lb_write(&b, path);
	lb_free(&b);
	return good ? 0 : -1;
}

static int setup(void **state)
{
	if (shell_setup(state) || write_log("whole.gwl", GW_HEADER_COPIES | GW_HEADER_WAITS, 0) ||
	    write_log("input.gwl", GW_HEADER_COPIES | GW_HEADER_WAITS, 103) ||
	    write_log("bare.gwl", GW_HEADER_WAITS, 0))
		return -1;
	return 0;
}

TEST(the_header_names_what_the_gpu_did_instead)
{
	shell_runs(REPORT "whole.gwl");
	/* Of 1,030 us 430 are kernels. */
	shell_says("GPU idle   48.5% of 1.03 ms", "host work after a wait 28.2%",
		   "host in a wait 19.4%", "copies to the host 9.7%");
	shell_lacks("starved 4");
}

TEST(details_and_json_have_every_row_and_add_up)
{
	shell_runs(REPORT "--verbose whole.gwl");
	shell_says("kernels 41.7% (430 \xc2\xb5s)", "1 gap in cuStreamSynchronize");
	shell_gives("1030000 1.0 True\n",
		    REPORT "--json whole.gwl | python3 -c '"
			   "import json,sys; s=json.load(sys.stdin)[\"devices\"][0][\"spent\"]; "
			   "print(s[\"wall_ns\"], round(sum(r[\"share\"] for r in s[\"rows\"]),9), "
			   "s[\"copies_recorded\"])'");
}

TEST(copies_that_are_not_recorded_are_named)
{
	shell_runs(REPORT "--wide --verbose bare.gwl");
	shell_says("copies are not recorded (GPUWATCH_COUNTERS=off)");
}

TEST(waiting_for_input_is_named_and_to_be_fixed)
{
	shell_runs(REPORT "--wide input.gwl");
	shell_says("input 10.0%", "GPU waits for input 10.0% of the time (103 \xc2\xb5s)");
}

TEST(rows_by_range_have_its_name_as_it_is)
{
	shell_gives("1\n", REPORT "--by=range --csv whole.gwl | cut -d, -f3,4 --complement | "
				  "grep -c 'step (two)'");
	shell_runs(REPORT "--by=range whole.gwl");
	shell_says("step (two)", "[no range]");
}

TEST(the_page_shows_the_rows)
{
	shell_runs(REPORT "--html=page.html whole.gwl && grep -c 'host work after a wait' "
			  "page.html");
}

TEST(the_page_shows_time_by_range)
{
	shell_runs(REPORT "--html=page.html whole.gwl && grep -o "
			  "'\"ranges\":{\"rows\":[^}]*' page.html");
	/* Of three launches of 430 us the first was called before the range began. */
	shell_says("[\"[no range]\",2,400000]", "[\"step (two)\",1,30000]");
}

TESTS_MAIN(setup, shell_teardown)
