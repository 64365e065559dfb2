/* The agent's series of graphs that are timed whole, on made-up snapshots. */
#include "cli/agent/node.h"
#include "cli/agent/text.h"
#include "cli/top/graphs.h"
#include "tests/cli/snapshots.h"

static int begin_test(void **state)
{
	m = top_model_new();
	return 0;
}

/* The value of an agent's series of a graph; NaN: there is none. */
static double value_of(struct agent_node *node, const char *name, const char *graph)
{
	static const struct agent_self self = {.version = "1", .host_label = "h", .host = "h"};
	size_t size;
	char series[64], *text = agent_text(node, &self, TEXT_PROMETHEUS, &size), *at = text;
	double value = NAN;

	snprintf(series, sizeof(series), "graph=\"%s\"} ", graph);
	while (isnan(value) && (at = strstr(at + 1, name)))
		if (at[-1] == '\n' && memmem(at, strcspn(at, "\n"), series, strlen(series)))
			value = strtod(strchr(at, '}') + 1, NULL);
	free(text);
	return value;
}

/* Graph @p number, with so many launches of 2 ms, half of them timed. */
static void graph_ran(struct agent_node *node, uint32_t number, uint64_t launches)
{
	const struct gw_live_graph_time g = {(uint32_t)(2 * launches),
					     number,
					     40,
					     40,
					     .device = 1,
					     .launches = launches,
					     .timed = launches / 2,
					     .scored = launches / 2,
					     .total_ns = launches * 1000000,
					     .scored_ns = launches * 1000000,
					     .predicted_ns = launches * 500000};
	const struct gw_live_device d = {.used = 1, .power_mw = UINT32_MAX};
	struct top_process *p = begin(SECOND);

	top_device_is(p, 0, &d);
	top_graph_is(p, number - 1, &g);
	top_end(m);
	agent_node_add(node, m, now);
}

TEST_WITH(graphs_in_the_agent_s_metrics_have_count_time_and_prediction, begin_test, end_test)
{
	struct agent_node *node = agent_node_new();

	graph_ran(node, 1, 10);
	graph_ran(node, 1, 30);
	assert_near(value_of(node, "gpuwatch_graph_launches_total", "1"), 30);
	assert_near(value_of(node, "gpuwatch_graph_gpu_seconds_total", "1"), 0.06);
	assert_near(value_of(node, "gpuwatch_graph_compared_seconds_total", "1"), 0.03);
	assert_near(value_of(node, "gpuwatch_graph_expected_seconds_total", "1"), 0.015);
	agent_node_free(node);
}

TEST_WITH(graphs_beyond_those_with_series_of_their_own_are_added_up, begin_test, end_test)
{
	struct agent_node *node = agent_node_new();

	for (uint32_t number = 1; number <= AGENT_GRAPHS + 3; number++)
		graph_ran(node, number, 10);
	assert_near(value_of(node, "gpuwatch_graph_launches_total", "1"), 10);
	assert_true(isnan(value_of(node, "gpuwatch_graph_launches_total", "3")));
	assert_near(value_of(node, "gpuwatch_graph_launches_total", "other"), 30);
	agent_node_free(node);
}

TESTS_MAIN()
