/* Launches meet their records. */
#include "tests/test.h"
#include "tests/unit/join_fixture.h"

#include <time.h>

static void assert_met(uint32_t at, uint32_t launch_number, uint64_t duration)
{
	assert_true(at < met_count);
	assert_int_equal(met[at].launch, launch_number);
	assert_int_equal(met[at].duration, duration);
}

TEST_WITH(launches_of_a_stream_meet_records_in_order, join_start, join_stop)
{
	for (uint32_t i = 1; i <= 3; i++)
		launch(STREAM_A, 1, i);
	for (uint32_t i = 1; i <= 3; i++)
		record(STREAM_A, 1, 100 + i, i * 10);
	gw_join_batch(false);
	for (uint32_t i = 1; i <= 3; i++)
		assert_met(i - 1, i, i * 10);
	assert_int_equal(gw_join_waiting(), 0);
}

TEST_WITH(records_that_come_out_of_order_are_put_in_order, join_start, join_stop)
{
	static const uint32_t order[] = {3, 1, 4, 2};

	for (uint32_t i = 1; i <= 4; i++)
		launch(STREAM_A, 1, i);
	for (uint32_t i = 0; i < 4; i++)
		record(STREAM_A, 1, order[i], order[i] * 10);
	gw_join_batch(false);
	for (uint32_t i = 1; i <= 4; i++)
		assert_met(i - 1, i, i * 10);
}

/*
 * Two threads take turns on one stream; libcupti hands out what the second launched, thousands of
 * records, before what the first did. Each turn begins with a kernel of the thread's own.
 */
TEST_WITH(threads_whose_buffers_come_late_keep_their_launches, join_start, join_stop)
{
	enum { TURNS = 40, TURN = 200 };
	uint32_t number = 0;

	for (uint32_t turn = 0; turn < TURNS; turn++) {
		launch(STREAM_A, 2 + turn % 2, ++number);
		for (uint32_t i = 1; i < TURN; i++)
			launch(STREAM_A, 1, ++number);
	}
	wrong = 0;
	for (uint32_t half = 0; half < 2; half++) {
		for (uint32_t turn = 1 - half; turn < TURNS; turn += 2) {
			uint32_t first = turn * TURN + 1;

			record(STREAM_A, 2 + turn % 2, first, first);
			for (uint32_t i = 1; i < TURN; i++)
				record(STREAM_A, 1, first + i, first + i);
		}
		gw_join_batch(false);
	}
	assert_int_equal(met_count, TURNS * TURN);
	assert_int_equal(wrong, 0);
	assert_int_equal(orphan_count, 0);
	assert_int_equal(gw_join_waiting(), 0);
}

TEST_WITH(the_order_holds_where_correlation_ids_wrap, join_start, join_stop)
{
	for (uint32_t i = 1; i <= 4; i++)
		launch(STREAM_A, 1, i);
	for (uint32_t i = 4; i >= 1; i--)
		record(STREAM_A, 1, UINT32_MAX - 2 + i, i * 10);
	gw_join_batch(false);
	for (uint32_t i = 1; i <= 4; i++)
		assert_met(i - 1, i, i * 10);
}

TEST_WITH(streams_do_not_mix, join_start, join_stop)
{
	launch(STREAM_A, 1, 1);
	launch(STREAM_B, 1, 2);
	record(STREAM_B, 1, 5, 20);
	record(STREAM_A, 1, 6, 10);
	gw_join_batch(false);
	assert_met(0, 2, 20);
	assert_met(1, 1, 10);
}

TEST_WITH(a_record_that_is_missing_costs_its_launch_only, join_start, join_stop)
{
	launch(STREAM_A, 1, 1);
	launch(STREAM_A, 2, 2);
	launch(STREAM_A, 1, 3);
	record(STREAM_A, 1, 11, 10);
	record(STREAM_A, 1, 13, 30); /* 12 was dropped */
	gw_join_batch(false);
	assert_met(0, 1, 10);
	assert_met(1, 3, 30);
	assert_int_equal(gw_join_waiting(), 1);
}

TEST_WITH(an_overtaken_launch_gives_up_after_two_seconds, join_start, join_stop)
{
	launch(STREAM_A, 2, 1);
	launch(STREAM_A, 1, 2);
	record(STREAM_A, 1, 12, 20);
	gw_join_batch(false);
	now += 1900000000;
	gw_join_batch(false);
	assert_int_equal(lost_count, 0);
	now += 200000000;
	gw_join_batch(false);
	assert_int_equal(lost_count, 1);
	assert_int_equal(lost[0], 1);
	assert_int_equal(gw_join_waiting(), 0);
}

TEST_WITH(a_launch_nobody_overtook_waits_on, join_start, join_stop)
{
	launch(STREAM_A, 1, 1);
	now += 3600000000000;
	gw_join_batch(false);
	assert_int_equal(lost_count, 0);
	record(STREAM_A, 1, 1, 10);
	gw_join_batch(false);
	assert_met(0, 1, 10);
}

TEST_WITH(a_record_before_its_launch_waits_for_it, join_start, join_stop)
{
	record(STREAM_A, 1, 1, 10);
	gw_join_batch(false);
	assert_int_equal(orphan_count, 0);
	launch(STREAM_A, 1, 1);
	gw_join_batch(false);
	assert_met(0, 1, 10);
	assert_int_equal(orphan_count, 0);
}

TEST_WITH(a_record_without_a_launch_is_handed_on_in_the_end, join_start, join_stop)
{
	record(STREAM_A, 1, 1, 10);
	for (int i = 0; i < 10; i++)
		gw_join_batch(false);
	assert_int_equal(orphan_count, 1);
	record(STREAM_A, 1, 2, 10);
	gw_join_batch(true);
	assert_int_equal(orphan_count, 2);
	assert_int_equal(met_count, 0);
}

TEST_WITH(a_kernel_launched_by_a_kernel_takes_no_launch, join_start, join_stop)
{
	struct gw_activity a = activity(1, 1, 99);

	a.stream = STREAM_A;
	a.device_launched = true;
	launch(STREAM_A, 1, 1);
	gw_join_record(&a);
	gw_join_batch(false);
	assert_int_equal(orphan_count, 1);
	assert_int_equal(met_count, 0);
}

TEST_WITH(another_configuration_or_name_is_no_match, join_start, join_stop)
{
	struct gw_activity a = activity(1, 1, 99);

	a.stream = STREAM_A;
	launch(STREAM_A, 1, 1);
	a.grid[1] = 2;
	gw_join_record(&a);
	a = activity(1, 2, 99);
	a.stream = STREAM_A;
	a.dynamic_shared = 16;
	gw_join_record(&a);
	a = activity(1, 3, 99);
	a.stream = STREAM_A;
	a.name = "another";
	gw_join_record(&a);
	gw_join_batch(true);
	assert_int_equal(met_count, 0);
	assert_int_equal(orphan_count, 3);
	assert_int_equal(lost_count, 1);
}

TEST_WITH(a_name_whose_memory_is_used_anew_is_read_anew, join_start, join_stop)
{
	static char name[8];
	struct gw_activity a = activity(1, 1, 10);

	a.stream = STREAM_A;
	a.name = name;
	launch(STREAM_A, 1, 1);
	launch(STREAM_A, 2, 2);
	strcpy(name, "first");
	gw_join_record(&a);
	strcpy(name, "second");
	a.grid[0] = 2;
	a.correlation = 2;
	a.end += 10;
	gw_join_record(&a);
	strcpy(name, "gone");
	gw_join_batch(false);
	assert_met(0, 1, 10);
	assert_met(1, 2, 20);
}

TEST_WITH(a_record_without_a_name_is_survived, join_start, join_stop)
{
	struct gw_activity a = activity(1, 1, 10);

	a.name = NULL;
	gw_join_record(&a);
	gw_join_batch(true);
	assert_int_equal(orphan_count, 1);
}

TEST_WITH(graph_launches_that_are_open_at_once_keep_their_kernels, join_start, join_stop)
{
	for (uint32_t g = 1; g <= 2; g++)
		for (uint32_t i = 1; i <= 3; i++)
			wait_in(GW_JOIN_GRAPH, GRAPH, g, i, g * 10 + i);
	/* The kernels of both come mixed, those of a launch in any order. */
	node(3, 51, 13);
	node(2, 52, 22);
	gw_join_batch(false);
	node(1, 52, 21);
	node(1, 51, 11);
	node(2, 51, 12);
	node(3, 52, 23);
	gw_join_batch(false);
	assert_int_equal(met_count, 6);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(met[i].launch, met[i].duration);
	assert_int_equal(gw_join_waiting(), 0);
}

/* What @p launches graph launches of 10 kernels cost that all wait when their records come: CPU
 * time. */
static double cost_of(uint32_t launches)
{
	enum { NODES = 10 };
	struct timespec begin, end;

	for (uint32_t g = 1; g <= launches; g++)
		for (uint32_t i = 0; i < NODES; i++)
			wait_in(GW_JOIN_GRAPH, GRAPH, g, 1, g);
	for (uint32_t g = 1; g <= launches; g++)
		for (uint32_t i = 0; i < NODES; i++)
			node(1, g, g);
	wrong = met_count = 0;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	gw_join_batch(false);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	assert_int_equal(met_count, launches * NODES);
	assert_int_equal(wrong, 0);
	return (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
}

/* Sixteen times as many take about as much longer, and not the 256 times of looking through all. */
TEST_WITH(records_of_graphs_do_not_look_through_all_that_waits, join_start, join_stop)
{
	double few = INFINITY, many = INFINITY;

	cost_of(3000); /* touches the memory */
	for (int i = 0; i < 5; i++) {
		few = fmin(few, cost_of(200));
		many = fmin(many, cost_of(3200));
	}
	assert_true(many < 64 * few);
}

TEST_WITH(kernels_whose_records_are_lost_hold_up_no_others, join_start, join_stop)
{
	for (uint32_t g = 1; g <= 3; g++)
		for (uint32_t i = 1; i <= 2; i++)
			wait_in(GW_JOIN_GRAPH, GRAPH, g, i, g * 10 + i);
	node(1, 51, 11); /* 12 was dropped */
	node(2, 52, 22);
	node(1, 52, 21);
	node(1, 53, 31);
	node(2, 53, 32);
	gw_join_batch(false);
	assert_int_equal(met_count, 5);
	assert_int_equal(wrong, 0);
	assert_int_equal(gw_join_waiting(), 1);
	now += 2100000000;
	gw_join_batch(false);
	assert_int_equal(lost_count, 1);
	assert_int_equal(lost[0], 12);
	/* A later id like an earlier one is of a later launch. */
	wait_in(GW_JOIN_GRAPH, GRAPH, 4, 1, 41);
	node(1, 51, 41);
	gw_join_batch(false);
	assert_int_equal(met_count, 6);
	assert_int_equal(wrong, 0);
}

TEST_WITH(graph_launches_that_share_an_id_have_their_kernels_in_order, join_start, join_stop)
{
	for (uint32_t g = 1; g <= 3; g++)
		for (uint32_t i = 1; i <= 2; i++)
			wait_in(GW_JOIN_GRAPH, GRAPH, g, i, i);
	for (uint32_t g = 1; g <= 3; g++)
		for (uint32_t i = 1; i <= 2; i++)
			node(i, 7, i);
	gw_join_batch(false);
	assert_int_equal(met_count, 6);
	assert_int_equal(wrong, 0);
	assert_int_equal(gw_join_waiting(), 0);
}

TEST_WITH(a_kernel_no_node_fits_opens_no_graph_launch, join_start, join_stop)
{
	struct gw_activity body = activity(2, 50, 99);

	body.graph = GRAPH;
	body.name = "body_of_a_conditional";
	wait_in(GW_JOIN_GRAPH, GRAPH, 1, 1, 11);
	gw_join_record(&body);
	node(1, 51, 11);
	gw_join_batch(true);
	assert_met(0, 11, 11);
	assert_int_equal(orphan_count, 1);
}

TEST_WITH(a_correlation_id_decides_where_it_is_known, join_start, join_stop)
{
	for (uint32_t i = 1; i <= 3; i++)
		wait_in(GW_JOIN_CORRELATION, gw_join_correlation_key(70 + i), 70 + i, 1, i);
	record(STREAM_B, 1, 73, 30);
	record(STREAM_A, 1, 71, 10);
	gw_join_batch(false);
	assert_met(0, 1, 10);
	assert_met(1, 3, 30);
	assert_int_equal(gw_join_waiting(), 1);
}

TEST_WITH(a_ticket_brings_the_time_of_its_launch, join_start, join_stop)
{
	wait_in(GW_JOIN_TICKET, 4, 1, 1, 1);
	wait_in(GW_JOIN_TICKET, 4, 2, 1, 2);
	wait_in(GW_JOIN_TICKET, 5, 1, 1, 3);
	gw_join_ticket(4, 2, 0.25);
	assert_int_equal(met_count, 1);
	assert_int_equal(met[0].launch, 2);
	assert_true(met[0].seconds == 0.25);
	gw_join_ticket(4, 99, 1);
	gw_join_ticket(6, 1, 1);
	assert_int_equal(met_count, 1);
	/* The ticket that was passed over gives up like any overtaken launch. */
	now += 3000000000;
	gw_join_batch(false);
	assert_int_equal(lost_count, 1);
	assert_int_equal(lost[0], 1);
}

/* No record of theirs will come, and a window with records does not end later for them. */
TEST_WITH(tickets_are_no_launches_that_wait_for_records, join_start, join_stop)
{
	wait_in(GW_JOIN_TICKET, 4, 1, 1, 1);
	launch(STREAM_A, 1, 2);
	assert_int_equal(gw_join_waiting(), 1);
	record(STREAM_A, 1, 2, 20);
	gw_join_batch(false);
	assert_int_equal(gw_join_waiting(), 0);
	gw_join_ticket(4, 1, 0.5);
	assert_int_equal(met_count, 2);
	assert_int_equal(gw_join_waiting(), 0);
}

TEST_WITH(launches_of_a_thread_that_ended_wait_for_no_ticket, join_start, join_stop)
{
	wait_in(GW_JOIN_TICKET, 4, 1, 1, 1);
	wait_in(GW_JOIN_TICKET, 5, 1, 1, 2);
	wait_in(GW_JOIN_TICKET, 4, 2, 1, 3);
	gw_join_thread_gone(4);
	gw_join_thread_gone(6);
	assert_int_equal(lost_count, 2);
	assert_int_equal(lost[0], 1);
	assert_int_equal(lost[1], 3);
	gw_join_ticket(5, 1, 0.5);
	assert_int_equal(met_count, 1);
}

TEST_WITH(the_end_gives_up_everything, join_start, join_stop)
{
	launch(STREAM_A, 1, 1);
	wait_in(GW_JOIN_GRAPH, GRAPH, 1, 1, 2);
	wait_in(GW_JOIN_TICKET, 4, 1, 1, 3);
	gw_join_batch(true);
	assert_int_equal(lost_count, 3);
	assert_int_equal(gw_join_waiting(), 0);
}

TEST_WITH(no_more_than_the_bound_wait_and_the_oldest_give_up, join_start, join_stop)
{
	for (uint32_t i = 0; i < MANY; i++)
		launch(STREAM_A, 1, i);
	assert_int_equal(gw_join_waiting(), MANY);
	assert_int_equal(lost_count, 0);
	launch(STREAM_A, 1, MANY);
	assert_int_equal(gw_join_waiting(), MANY);
	assert_int_equal(lost_count, 1);
	assert_int_equal(lost[0], 0);
	/* A queue of its own has no older one to give up. */
	launch(STREAM_B, 1, MANY + 1);
	assert_int_equal(lost_count, 2);
	assert_int_equal(lost[1], MANY + 1);
}

TEST_WITH(none_gives_up_whose_record_is_there, join_start, join_stop)
{
	wrong = 0;
	records_there = MANY / 2;
	for (uint32_t i = 0; i < MANY + MANY / 2; i++)
		launch(STREAM_A, 1, i);
	assert_int_equal(lost_count, 0);
	assert_int_equal(met_count, MANY / 2);
	assert_int_equal(wrong, 0);
	assert_int_equal(gw_join_waiting(), MANY);
}

TEST_WITH(the_oldest_kernels_of_a_graph_give_up_where_too_many_wait, join_start, join_stop)
{
	for (uint32_t i = 0; i < MANY; i++)
		wait_in(GW_JOIN_GRAPH, GRAPH, 1 + i / 2, 1, i);
	assert_int_equal(lost_count, 0);
	wait_in(GW_JOIN_GRAPH, GRAPH, MANY, 1, MANY);
	assert_int_equal(gw_join_waiting(), MANY);
	assert_int_equal(lost_count, 1);
	assert_int_equal(lost[0], 0);
	wait_in(GW_JOIN_GRAPH, GRAPH + 1, MANY + 1, 1, MANY + 1);
	assert_int_equal(lost_count, 2);
	assert_int_equal(lost[1], MANY + 1);
	node(1, 51, 1);
	gw_join_batch(false);
	assert_met(0, 1, 1);
}

/* ---- windows: by order on the GPU, whatever stream or graph ---- */

static int window_start(void **state)
{
	fixture_by_device(true);
	return join_start(state);
}

static int window_stop(void **state)
{
	fixture_by_device(false);
	return join_stop(state);
}

static void on_gpu(uint32_t config, uint32_t number)
{
	wait_in(GW_JOIN_STREAM, gw_join_multi_key(0), 0, config, number);
}

TEST_WITH(in_a_window_launches_of_all_streams_meet_records_in_order, window_start, window_stop)
{
	for (uint32_t i = 1; i <= 4; i++)
		on_gpu(1, i);
	for (uint32_t i = 4; i >= 1; i--)
		record(i % 2 ? STREAM_A : STREAM_B, 1, 100 + i, i);
	gw_join_batch(false);
	assert_int_equal(met_count, 4);
	assert_int_equal(wrong, 0);
	assert_int_equal(gw_join_waiting(), 0);
}

/* Branches of a graph end in any order; the next launch of it keeps its own. */
TEST_WITH(in_a_window_kernels_of_a_graph_meet_those_of_the_same_launch, window_start, window_stop)
{
	for (uint32_t i = 0; i < 2; i++) {
		on_gpu(1, 10 * i + 1);
		on_gpu(2, 10 * i + 2);
		on_gpu(3, 10 * i + 3);
	}
	for (uint32_t i = 0; i < 2; i++) {
		node(3, 50 + i, 10 * i + 3);
		node(1, 50 + i, 10 * i + 1);
		node(2, 50 + i, 10 * i + 2);
	}
	gw_join_batch(false);
	assert_int_equal(met_count, 6);
	assert_int_equal(wrong, 0);
	assert_int_equal(gw_join_waiting(), 0);
}

/* Of a launch called just before the window: none waits for it, and others keep theirs. */
TEST_WITH(in_a_window_a_record_of_a_launch_on_its_edge_is_left_over, window_start, window_stop)
{
	on_gpu(1, 1);
	record(STREAM_A, 2, 10, 5);
	record(STREAM_A, 1, 11, 1);
	gw_join_batch(true);
	assert_met(0, 1, 1);
	assert_int_equal(orphan_count, 1);
}

/* Else each launch would get the time of the one before it. */
TEST_WITH(in_a_window_a_record_meets_no_later_call, window_start, window_stop)
{
	struct gw_record_launch r = {.config = 1, .known = 1, .call_ns = now + 1};

	gw_join_wait(GW_JOIN_STREAM, gw_join_multi_key(0), 0, &r);
	record(STREAM_A, 1, 10, 5);
	gw_join_batch(false);
	assert_int_equal(met_count, 0);
	now += 10;
	record(STREAM_A, 1, 11, 1);
	gw_join_batch(true);
	assert_met(0, 1, 1);
	assert_int_equal(orphan_count, 1);
}

TESTS_MAIN()
