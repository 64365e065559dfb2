/* What joining keeps does not grow with what there ever was. */
#include "preload/maps/memory.h"
#include "preload/runtime/options.h"
#include "tests/test.h"
#include "tests/unit/join_fixture.h"

static uint64_t taken(enum gw_counter which)
{
	uint64_t counters[GW_COUNTERS] = {0};

	gw_memory_counters(counters);
	return counters[which];
}

/* One stream after the other: a launch, its record, and never again. */
static void pass_streams(uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++) {
		launch(i, 1, i);
		record(i, 1, i, i);
		gw_join_batch(false);
		now += 1000000;
	}
}

TEST_WITH(streams_that_nothing_waits_in_are_forgotten, join_start, join_stop)
{
	enum { FEW = 20000, MANY_STREAMS = 200000 };
	uint64_t then;

	pass_streams(1, FEW);
	then = taken(GW_COUNTER_memory_streams);
	pass_streams(1 + FEW, MANY_STREAMS);
	assert_int_equal(met_count, FEW + MANY_STREAMS);
	assert_int_equal(taken(GW_COUNTER_memory_streams), then);
}

/* libcupti had no buffer for them. Until they expire they wait before those that have records. */
TEST_WITH(launches_without_records_are_passed_by_once, join_start, join_stop)
{
	enum { LOST = 20000, MET = 1000 };
	uint32_t number = 0;

	while (number < LOST)
		launch(STREAM_A, 1, ++number);
	launch(STREAM_A, 2, ++number);
	record(STREAM_A, 2, number, number); /* all before it were called before */
	for (uint32_t i = 0; i < MET; i++) {
		launch(STREAM_A, 1, ++number);
		record(STREAM_A, 1, number, number);
	}
	asked = 0;
	gw_join_batch(false);
	assert_int_equal(met_count, MET + 1);
	assert_int_equal(wrong, 0);
	assert_in_range(asked, MET, 4 * MET);
}

/* 200,000 launches by @p one, each with its time, take no more memory of @p counter than the first
 * @p some. */
static void all_are_forgotten(void (*one)(uint32_t i), uint32_t some, unsigned counter)
{
	uint64_t then = 0;

	for (uint32_t i = 1; i <= 200000; i++) {
		one(i);
		gw_join_batch(false);
		now += 1000000;
		if (i == some)
			then = taken(counter);
	}
	assert_int_equal(met_count, 200000);
	assert_int_equal(taken(counter), then);
}

static void in_a_stream(uint32_t i)
{
	configs[1].config.grid.x = i;
	configs[1].signature = 0;
	launch(STREAM_A, 1, i);
	record(STREAM_A, 1, i, i);
}

static void by_a_thread(uint32_t i)
{
	wait_in(GW_JOIN_TICKET, i, 1, 1, i);
	gw_join_ticket(i, 1, 1e-6);
}

static void of_a_graph(uint32_t i)
{
	struct gw_activity a = activity(1, i, i);

	wait_in(GW_JOIN_GRAPH, 100 + i, i, 1, i);
	a.graph = 100 + i;
	gw_join_record(&a);
}

/* All of one stream, each of another configuration: what waited for none is forgotten with it. */
TEST_WITH(configurations_of_a_stream_are_forgotten, join_start, join_stop)
{
	all_are_forgotten(in_a_stream, 20000, GW_COUNTER_memory_streams);
}

TEST_WITH(threads_whose_launches_have_their_times_are_forgotten, join_start, join_stop)
{
	all_are_forgotten(by_a_thread, 20000, GW_COUNTER_memory_streams);
}

TEST_WITH(graphs_that_no_kernel_of_waits_are_forgotten, join_start, join_stop)
{
	all_are_forgotten(of_a_graph, 1000, GW_COUNTER_memory_graphs);
}

/* Nothing can be forgotten while all wait: more streams than there is memory for stay unmatched. */
TEST_WITH(streams_beyond_the_memory_are_given_up_and_later_ones_match, join_start, join_stop)
{
	uint32_t waiting;

	gw_memory_start();
	gw_options.memory_max = 8 << 20;
	for (uint32_t i = 1; i <= 100000; i++)
		launch(i, 1, i);
	waiting = gw_join_waiting();
	assert_true(waiting > 1000 && waiting < 100000);
	assert_int_equal(lost_count, 100000 - waiting);
	gw_options.memory_max = 64 << 20;
	for (uint32_t i = 1; i <= waiting; i++)
		record(i, 1, i, i);
	gw_join_batch(false);
	assert_int_equal(gw_join_waiting(), 0);
	met_count = wrong = 0;
	pass_streams(200000, 20000);
	gw_options.memory_max = 0;
	assert_int_equal(met_count, 20000);
	assert_int_equal(wrong, 0);
}

TEST_WITH(a_long_name_is_kept_once_however_many_records_have_it, join_start, join_stop)
{
	enum { LONG = GW_NAME_MAX + 4000 };
	static char name[LONG + 1], cut[GW_NAME_MAX + 1];
	struct gw_activity a;
	uint64_t then = 0;

	memset(name, 'k', LONG);
	memset(cut, 'k', GW_NAME_MAX);
	configs[1].name = cut; /* as the hooks keep it */
	for (uint32_t i = 1; i <= 10000; i++) {
		launch(STREAM_A, 1, i);
		a = activity(1, i, i);
		a.name = name;
		a.stream = STREAM_A;
		gw_join_record(&a);
		gw_join_batch(false);
		then = i == 1 ? taken(GW_COUNTER_memory_records) : then;
		/* Here: each further name would be compared with all before. */
		assert_int_equal(taken(GW_COUNTER_memory_records), then);
	}
	assert_int_equal(met_count, 10000);
}

/* As many pointers as records: modules that are loaded again and again. */
TEST_WITH(a_name_is_kept_once_wherever_libcupti_has_it, join_start, join_stop)
{
	enum { PLACES = 5000, ROOM = 16 };
	static char names[PLACES][ROOM];
	struct gw_activity a;
	uint64_t then = 0;

	for (uint32_t i = 0; i < PLACES; i++) {
		strcpy(names[i], configs[1].name);
		launch(STREAM_A, 1, i + 1);
		a = activity(1, i + 1, i + 1);
		a.name = names[i];
		a.stream = STREAM_A;
		gw_join_record(&a);
		gw_join_batch(false);
		if (!i)
			then = taken(GW_COUNTER_memory_records);
	}
	assert_int_equal(met_count, PLACES);
	assert_int_equal(taken(GW_COUNTER_memory_records), then);
}

TEST_WITH(the_room_of_a_rush_of_records_goes_back, join_start, join_stop)
{
	uint64_t then;

	record(STREAM_A, 1, 1, 1);
	gw_join_batch(true);
	then = taken(GW_COUNTER_memory_records);
	for (uint32_t i = 1; i <= 200000; i++)
		record(STREAM_A, 1, i, i);
	assert_true(taken(GW_COUNTER_memory_records) > 2 * then);
	gw_join_batch(true);
	assert_true(taken(GW_COUNTER_memory_records) <= then);
}

TESTS_MAIN()
