/* Launches by the NVTX range that they were called in, from real processes' logs. */
#include "tests/preload/harness.h"

#include "cli/log/model.h"
#include "cli/log/reader.h"
#include "tests/test.h"

static struct gw_log_model model;
static char printed[64];
static uint64_t not_recorded; /* changes of ranges for which there was no room */

static void run_with(const char *scenario, const char *nvtx, const char *option)
{
	struct run r = RUN("ranges", scenario);
	struct outcome *o;

	r.env[0] = "GPUWATCH_STATIC=0";
	r.env[1] = nvtx;
	r.env[2] = nvtx ? option : NULL;
	o = run_both(&r);
	assert_int_equal(o->status, 0);
	assert_logs_are_the_truth(o);
	not_recorded = only_log(o)->counter[GW_COUNTER_ranges_dropped];
	snprintf(printed, sizeof(printed), "%s", o->out);
	gw_log_model_init(&model);
	model.by = GW_BY_RANGE;
	assert_true(gw_log_model_read(&model, only_log(o)->path));
	outcome_free(o);
}

static void run(const char *scenario)
{
	run_with(scenario, "NVTX_INJECTION64_PATH=" GW_LIBRARY, NULL);
}

static const struct gw_row *row(const char *range)
{
	for (size_t i = 0; i < model.row_count; i++)
		if (!strcmp(model.names[model.rows[i].name].mangled, range))
			return &model.rows[i];
	return NULL;
}

static void has(const char *range, uint64_t launches)
{
	const struct gw_row *r = row(range);

	if (!r || r->launches != launches)
		fail_msg("%s: %d launches, not %d", range, r ? (int)r->launches : 0, (int)launches);
}

TEST(launches_belong_to_the_innermost_range)
{
	run("nested");
	has("step", 8);
	has("inner", 2);
	has("[no range]", 5);
	assert_int_equal(model.row_count, 3);
	assert_true(row("inner")->measured == 2 && row("inner")->total > 0);
	gw_log_model_free(&model);
}

TEST(names_of_all_kinds_are_taken)
{
	run("kinds_of_names");
	has("plain", 1);
	has("layers: conv", 2);
	has("gr\xc3\xb6\xc3\x9f"
	    "e",
	    3);
	has("[unnamed]", 9);
	has("[no range]", 6);
	gw_log_model_free(&model);
}

static bool count_threads(void *arg, const struct gw_log_record *r)
{
	*(unsigned *)arg += r->head->kind == GW_RECORD_THREAD;
	return true;
}

/* It has no ring: that is a launching thread's. */
TEST(a_thread_that_only_names_ranges_is_no_thread_of_the_log)
{
	struct run r = RUN("ranges", "before_a_launch");
	struct gw_log_status status;
	struct outcome *o;
	unsigned threads = 0;

	r.env[0] = "NVTX_INJECTION64_PATH=" GW_LIBRARY;
	o = run_both(&r);
	assert_true(gw_log_read(only_log(o)->path, count_threads, &threads, &status));
	assert_int_equal(threads, 1);
	outcome_free(o);
}

TEST(ranges_entered_before_the_first_launch_count)
{
	run("before_a_launch");
	has("entered", 3);
	has("outer", 2);
	has("[no range]", 1);
	assert_int_equal(model.row_count, 3);
	gw_log_model_free(&model);
}

TEST(numbers_that_pytorch_appends_make_no_names)
{
	run("numbered");
	has("aten::add", 10);
	has("aten::mul", 20);
	assert_int_equal(model.row_count, 2);
	gw_log_model_free(&model);
}

TEST(ranges_of_the_process_hold_where_the_thread_is_in_none)
{
	run("of_the_process");
	has("epoch", 6);
	has("step", 3);
	has("[no range]", 6);
	gw_log_model_free(&model);
}

TEST(names_beyond_the_table_count_together)
{
	const struct gw_row *others;

	run("many");
	assert_true(model.row_count <= 4096 + 3);
	others = row("(other names)");
	assert_non_null(others);
	if (!not_recorded) {
		has("step 0", 8);
		assert_int_equal(others->launches, 20007 - (model.row_count - 1) - 7);
	}
	gw_log_model_free(&model);
}

TEST(the_program_sees_what_it_sees_without_a_tool)
{
	run("levels");
	assert_string_equal(printed, "-2 -2 -2\n"); /* NVTX_NO_PUSH_POP_TRACKING */
	has("[no range]", 1);
	gw_log_model_free(&model);
}

TEST(without_the_variable_or_switched_off_there_are_no_ranges)
{
	run_with("nested", NULL, NULL);
	has("[no range]", 15);
	gw_log_model_free(&model);
	run_with("nested", "NVTX_INJECTION64_PATH=" GW_LIBRARY, "GPUWATCH_NVTX=0");
	has("[no range]", 15);
	gw_log_model_free(&model);
}

TESTS_MAIN()
