/* Graphs that change, and whatever a program may put into the parameters of their nodes. */
#include "tests/preload/harness.h"
#include "tests/test.h"

TEST(what_the_driver_does_not_look_at_is_not_looked_at)
{
	assert_on_gpus("graphs", "rubbish", 16, 0);
}

TEST(a_node_stays_on_its_gpu_whichever_call_changes_it)
{
	assert_on_gpus("graphs", "other_gpu", 0, 12);
}

TEST(a_child_graph_that_is_replaced_keeps_its_place)
{
	assert_on_gpus("graphs", "child", 4 * 4 + 2 * 3 + 3 * 3, 0);
}

/* Which bodies ran is not known, be a child graph replaced or not. */
TEST(what_is_unknown_stays_so_when_a_child_graph_is_replaced)
{
	struct run r = RUN("graphs", "child_beside_conditional");
	struct outcome *o;

	r.env[0] = "GPUWATCH_MODE=count";
	o = run_both(&r);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_graph_unknown], 5);
	outcome_free(o);
}

/* Which of the nodes are its own is not known: their kernels are counted by their records. */
TEST(a_child_graph_of_a_child_graph_may_be_replaced)
{
	struct run r = RUN("graphs", "child_of_child");
	struct outcome *o = run_both(&r);

	assert_int_equal(only_log(o)->total, o->truth[0].total);
	assert_int_equal(only_log(o)->no_call, 5);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_graph_unknown], 5);
	assert_int_equal(only_log(o)->degraded >> GW_DEGRADED_GRAPH & 1, 1);
	outcome_free(o);
}

/* Which library's it is, the driver is asked in the midst of the launch: the callbacks for what we
 * ask are not the program's. */
TEST(the_function_that_a_node_tells_can_be_launched)
{
	assert_on_gpus("graphs", "node_function", 6, 0);
}

TEST(handles_that_come_again_are_other_kernels)
{
	assert_on_gpus("graphs", "reused", 8, 0);
}

TEST(what_the_driver_refuses_changes_nothing)
{
	assert_on_gpus("graphs", "mistakes", 3, 0);
}

/* What the driver answers with an error a program may have it log. */
TEST(the_driver_is_asked_at_most_once_about_a_function_that_is_no_kernel)
{
	struct run r = RUN("graphs", "captured_often");
	char line[512], path[128];
	struct outcome *o;
	unsigned asked = 0;
	FILE *trace;

	r.env[0] = "STANDIN_TRACE=trace";
	o = run_both(&r);
	assert_logs_are_the_truth(o);
	snprintf(path, sizeof(path), "%s/trace", o->dir);
	trace = fopen(path, "r");
	assert_non_null(trace);
	while (fgets(line, sizeof(line), trace))
		asked += strstr(line, "cuKernelGetLibrary") != NULL;
	fclose(trace);
	assert_true(asked <= 1);
	outcome_free(o);
}

/* It may begin while a launch is being timed by events, which are asked for their times. */
TEST(a_capture_that_begins_beside_a_timed_launch_is_not_spoilt)
{
	struct run r = RUN("graphs", "captures_beside");
	struct outcome *o;

	r.env[0] = "GPUWATCH_CUPTI=none";
	r.env[1] = "GPUWATCH_EVENT_RATE=1";
	r.env[2] = "STANDIN_SLOW=cuEventQuery:20";
	o = run_both(&r);
	assert_logs_are_the_truth(o);
	assert_true(only_log(o)->by_events > 0);
	outcome_free(o);
}

TESTS_MAIN()
