/* Sums of a full log. */
#include "preload/live/aggregate.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/degrade.h"
#include "preload/live/live.h"
#include "preload/live/log.h"
#include "preload/runtime/options.h"
#include "preload/maps/own_use.h"
#include "predictor/log/histogram.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

static struct gw_record_aggregate written[8];
static unsigned char tails[2 * GW_HISTOGRAM_MOST];
static uint32_t count;
static uint64_t all_launches; /* in all that was written */
static const uint64_t SECOND = 1000000000, BEGIN = 1000 * UINT64_C(1000000000);

/* In place of the log. */
void gw_log_write(enum gw_record_kind kind, void *head, size_t size, const void *tail,
		  size_t tail_size)
{
	assert_int_equal(kind, GW_RECORD_AGGREGATE);
	assert_int_equal(size, sizeof(*written));
	assert_true(!tail == !tail_size && tail_size <= sizeof(tails));
	if (tail_size)
		memcpy(tails, tail, tail_size);
	memcpy(&written[count++ % COUNT(written)], head, size);
	all_launches += ((const struct gw_record_aggregate *)head)->launches;
}

/* In place of the live segment: what it was given of the first sum. */
static uint32_t summed, logged_in, placeless;

void gw_live_sum(uint32_t slot, uint32_t config, uint64_t start_ns)
{
	(void)slot;
	(void)config;
	(void)start_ns;
}

/* Launches of a graph are counted in one place, and its configurations in others. */
static uint32_t counters, parts, each[8], part_of[8];

void gw_live_sum_counter(uint32_t slot, uint64_t start_ns)
{
	(void)slot;
	(void)start_ns;
	counters++;
}

void gw_live_sum_part(uint32_t slot, uint32_t config, uint64_t start_ns, uint32_t n,
		      uint32_t counter)
{
	(void)slot;
	(void)start_ns;
	(void)counter;
	part_of[parts % COUNT(part_of)] = config;
	each[parts++ % COUNT(each)] = n;
}

void gw_live_summed(uint32_t slot, const struct gw_record_launch *r)
{
	(void)r;
	placeless += slot == UINT32_MAX;
	summed++;
}

void gw_live_sum_logged(uint32_t slot, uint32_t block)
{
	(void)slot;
	logged_in = block;
}

uint32_t gw_log_block(void)
{
	return 1;
}

static bool ring;

bool gw_log_ring(void)
{
	return ring;
}

static bool news;

bool gw_log_urgent(void)
{
	return news;
}

static int64_t stepped; /* by which the wall clock was set */
static uint64_t wall;

/* In place of the clock. */
uint64_t gw_wall_ns(void)
{
	return wall;
}

static void tick(uint64_t now, bool last)
{
	wall = now + (uint64_t)stepped;
	gw_aggregate_tick(now, last);
}

static bool fits = true;
static bool in_copy;
static unsigned copies;

bool gw_log_sums_fit(size_t size)
{
	(void)size;
	return fits;
}

bool gw_log_names(uint32_t config)
{
	return config < 100;
}

bool gw_log_copy_begin(size_t *room)
{
	*room = 20 * sizeof(*written);
	in_copy = true;
	copies++;
	return true;
}

void gw_log_copy_end(void)
{
	in_copy = false;
}

static int start(void **state)
{
	fixture_start();
	gw_degraded_reset();
	stepped = 0;
	gw_aggregate_start();
	tick(BEGIN, false);
	count = copies = 0;
	fits = true;
	ring = false;
	summed = logged_in = placeless = counters = parts = 0;
	return 0;
}

static void add(uint32_t config, uint32_t flags, uint64_t duration, float predicted)
{
	struct gw_record_launch r = {.config = config,
				     .flags = flags,
				     .duration_ns = duration,
				     .predicted = predicted,
				     .low = predicted * 0.9f,
				     .high = predicted * 1.1f};

	gw_aggregate_add(&r);
}

TEST_WITH(sums_are_those_of_the_launches, start, NULL)
{
	const struct gw_record_aggregate *s = written;

	add(1, GW_LAUNCH_MEASURED, 100, 100);
	add(1, GW_LAUNCH_MEASURED, 200, 100);
	add(1, GW_LAUNCH_MEASURED, 50, NAN);
	add(1, 0, 0, NAN);
	tick(BEGIN, true);
	assert_int_equal(count, 1);
	assert_int_equal(s->config, 1);
	assert_int_equal(s->launches, 4);
	assert_int_equal(s->measured, 3);
	assert_int_equal(s->total_ns, 350);
	assert_int_equal(s->min_ns, 50);
	assert_int_equal(s->max_ns, 200);
	assert_int_equal(s->scored, 2);
	assert_int_equal(s->covered, 1);
	assert_true(fabsf(s->error_sum - 0.5f) < 1e-6f);
	assert_int_equal(s->start_ns, BEGIN);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_aggregated]), 4);
}

TEST_WITH(configurations_are_summed_apart, start, NULL)
{
	add(1, GW_LAUNCH_MEASURED, 100, NAN);
	add(2, GW_LAUNCH_MEASURED, 300, NAN);
	add(1, GW_LAUNCH_MEASURED, 100, NAN);
	tick(BEGIN, true);
	assert_int_equal(count, 2);
	assert_int_equal(written[0].total_ns, 200);
	assert_int_equal(written[1].total_ns, 300);
}

static uint64_t whole[8]; /* launches that were added whole, by configuration */

static void note_whole(uint32_t config, uint64_t launches)
{
	whole[config % COUNT(whole)] += launches;
}

/* A graph of @p n kernels, of configurations first, first + 1, …, each of @p kinds. */
static void graph_in(uint32_t slot, uint32_t n, uint32_t first, uint32_t kinds)
{
	static struct gw_graph_node nodes[2][1000];
	struct gw_graph_slot *g = &gw_hot.shared->graph_slots[slot];

	g->nodes = nodes[slot & 1];
	g->count = n;
	for (uint32_t i = 0; i < n; i++)
		g->nodes[i] =
			(struct gw_graph_node){.enabled = true, .config_id = first + i % kinds};
}

static void add_whole(uint32_t slot, unsigned times)
{
	const struct gw_record_launch r = {.flags = GW_LAUNCH_GRAPH};

	for (unsigned i = 0; i < times; i++) {
		assert_true(gw_aggregate_graph_room(slot));
		gw_aggregate_graph(slot, &r);
	}
}

TEST_WITH(launches_of_a_graph_are_summed_by_its_configurations, start, NULL)
{
	memset(whole, 0, sizeof(whole));
	graph_in(2, 4, 1, 2);
	gw_hot.shared->graph_slots[2].nodes[3].enabled = false;
	add(1, GW_LAUNCH_MEASURED, 100, NAN);
	add_whole(2, 3);
	assert_int_equal(counters, 1);
	assert_int_equal(parts, 2);
	assert_int_equal(part_of[0], 1);
	assert_int_equal(each[0], 2);
	assert_int_equal(each[1], 1);
	assert_int_equal(summed, 4); /* one for each launch, not for each kernel */
	gw_aggregate_graphs(note_whole);
	gw_aggregate_graphs(note_whole);
	assert_int_equal(whole[1], 6);
	assert_int_equal(whole[2], 3);
	tick(BEGIN, true);
	assert_int_equal(count, 2);
	assert_int_equal(written[0].config, 1);
	assert_int_equal(written[0].launches, 7);
	assert_int_equal(written[0].measured, 1);
	assert_int_equal(written[1].config, 2);
	assert_int_equal(written[1].launches, 3);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_aggregated]), 10);
	add_whole(2, 1); /* in the next span */
	tick(BEGIN + 20 * SECOND, true);
	assert_int_equal(count, 4);
	assert_int_equal(written[2].launches, 2);
}

TEST_WITH(a_slot_that_another_graph_has_is_looked_at_again, start, NULL)
{
	graph_in(2, 2, 1, 1);
	add_whole(2, 1);
	gw_aggregate_graph_gone(2);
	graph_in(2, 1, 5, 1);
	add_whole(2, 1);
	tick(BEGIN, true);
	assert_int_equal(count, 2);
	assert_int_equal(written[0].launches, 2);
	assert_int_equal(written[1].config, 5);
	assert_int_equal(written[1].launches, 1);
}

/* Or a kernel without a configuration. */
TEST_WITH(a_graph_of_too_many_configurations_is_not_added_whole, start, NULL)
{
	graph_in(2, 1000, 1, 1000);
	assert_false(gw_aggregate_graph_room(2));
	assert_int_equal(parts, 0);
	graph_in(3, 1, 0, 1);
	assert_false(gw_aggregate_graph_room(3));
	graph_in(5, 700, 1, 700); /* there is all the room that they did not get */
	assert_true(gw_aggregate_graph_room(5));
	assert_int_equal(parts, 700);
	tick(BEGIN, true);
	assert_int_equal(count, 0);
}

TEST_WITH(they_are_written_every_ten_seconds, start, NULL)
{
	add(1, GW_LAUNCH_MEASURED, 100, NAN);
	tick(BEGIN + 9 * SECOND, false);
	assert_int_equal(count, 0);
	tick(BEGIN + 10 * SECOND, false);
	assert_int_equal(count, 1);
	add(1, GW_LAUNCH_MEASURED, 7, NAN);
	tick(BEGIN + 20 * SECOND, false);
	assert_int_equal(count, 2);
	assert_int_equal(written[1].total_ns, 7);
	assert_int_equal(written[1].start_ns, BEGIN + 10 * SECOND);
}

TEST_WITH(a_step_of_the_wall_clock_neither_ends_nor_prolongs_ten_seconds, start, NULL)
{
	static const int64_t steps[] = {3600, -7200};

	for (uint32_t i = 0; i < COUNT(steps); i++) {
		stepped += steps[i] * (int64_t)SECOND;
		add(1, GW_LAUNCH_MEASURED, 100, NAN);
		tick(BEGIN + (10 * i + 9) * SECOND, false);
		assert_int_equal(count, i);
		tick(BEGIN + (10 * i + 10) * SECOND, false);
		assert_int_equal(count, i + 1);
	}
	assert_int_equal(written[1].start_ns, BEGIN + 10 * SECOND + 3600 * SECOND);
}

TEST_WITH(nothing_added_writes_nothing, start, NULL)
{
	tick(BEGIN + 100 * SECOND, false);
	tick(BEGIN + 200 * SECOND, true);
	assert_int_equal(count, 0);
}

TEST_WITH(one_never_measured_has_no_least_time, start, NULL)
{
	add(1, 0, 0, NAN);
	tick(BEGIN, true);
	assert_int_equal(written[0].min_ns, 0);
	assert_int_equal(written[0].measured, 0);
}

TEST_WITH(in_a_ring_they_have_histograms, start, NULL)
{
	struct gw_sketch time, ratio;
	size_t first;

	ring = true;
	add(1, GW_LAUNCH_MEASURED, 100, 100);
	add(1, GW_LAUNCH_MEASURED, 200, 100);
	add(1, GW_LAUNCH_MEASURED, 50, NAN);
	add(1, 0, 0, NAN);
	tick(BEGIN, true);
	assert_int_equal(count, 1);
	assert_int_not_equal(written[0].histograms, 0);
	first = gw_histogram_unpack(tails, written[0].histograms, &time);
	assert_int_not_equal(first, 0);
	assert_int_equal(
		first + gw_histogram_unpack(tails + first, written[0].histograms - first, &ratio),
		written[0].histograms);
	assert_int_equal(time.count, 3);
	assert_int_equal(ratio.count, 2);
	assert_true(written[0].ratio_sum == 3 && written[0].ratio_min == 1 &&
		    written[0].ratio_max == 2);
	assert_int_equal(written[0].end_ns, BEGIN);
	assert_int_equal(summed, 4);
	assert_int_equal(logged_in, 1);
}

/* The clock from @p from on for @p seconds, with a launch in each. */
static void run(uint64_t from, uint64_t seconds)
{
	for (uint64_t s = from; s < from + seconds; s++) {
		add(1, GW_LAUNCH_MEASURED, 100, NAN);
		tick(BEGIN + s * SECOND, false);
	}
}

/* Ten seconds at first, for short runs; a day has 1,440. */
TEST_WITH(in_a_ring_spans_grow_to_a_minute, start, NULL)
{
	ring = true;
	run(0, 81);
	assert_int_equal(count, 8);
	run(81, 600);
	assert_in_range(count, 22, 32);
	count = 0;
	run(681, 86400);
	assert_in_range(count, 1439, 1441);
}

TEST_WITH(in_a_ring_news_end_a_span_after_ten_seconds, start, NULL)
{
	ring = true;
	run(0, 3600);
	count = 0;
	news = true;
	run(3600, 1);
	news = false;
	run(3601, 11);
	assert_int_equal(count, 1);
	assert_in_range(written[0].end_ns - written[0].start_ns, 10 * SECOND, 60 * SECOND);
	run(3612, 40);
	assert_int_equal(count, 1);
}

/* The last step of what mode watch does without. */
TEST_WITH(above_gpuwatchs_share_of_the_processor_spans_are_a_minute, start, NULL)
{
	ring = true;
	gw_options.mode = GW_MODE_WATCH;
	gw_options.cpu_max = 2;
	gw_own_use_start();
	for (uint64_t s = 1; s <= 60; s++)
		gw_own_use_tick(s * SECOND, s * SECOND);
	assert_true(gw_sheds(GW_SHED_SUMS));
	for (uint64_t s = 0; s < 3600; s++) {
		add(1, GW_LAUNCH_MEASURED, 100, NAN);
		tick(BEGIN + s * SECOND, false);
	}
	assert_int_equal(count, 59);
	gw_own_use_start();
}

/* What has a histogram is bounded, and none of it is lost. */
TEST_WITH(in_a_ring_many_configurations_end_the_span, start, NULL)
{
	ring = true;
	for (uint32_t i = 1; i <= 5000; i++) {
		add(i, GW_LAUNCH_MEASURED, 100, NAN);
		if (i % 100 == 0)
			tick(BEGIN + SECOND, false);
	}
	assert_in_range(count, 3000, 3200);
	assert_true(placeless < 100); /* until the worker's next round */
	tick(BEGIN + SECOND, true);
	assert_int_equal(count, 5000);
}

/* Or a minute of graphs that come and go would take their kernels one by one. */
TEST_WITH(in_a_ring_a_graph_without_room_ends_the_span_after_ten_seconds, start, NULL)
{
	ring = true;
	run(0, 3600);
	tick(BEGIN + 3700 * SECOND, false);
	count = 0;
	graph_in(3, 1, 0, 1);
	add(1, GW_LAUNCH_MEASURED, 100, NAN);
	assert_false(gw_aggregate_graph_room(3));
	tick(BEGIN + 3709 * SECOND, false);
	assert_int_equal(count, 0);
	tick(BEGIN + 3710 * SECOND, false);
	assert_int_equal(count, 1);
}

TEST_WITH(a_forked_child_begins_with_no_sums, start, NULL)
{
	add(1, GW_LAUNCH_MEASURED, 100, NAN);
	gw_aggregate_start();
	tick(BEGIN + 5 * SECOND, false);
	add(1, GW_LAUNCH_MEASURED, 7, NAN);
	tick(BEGIN + 6 * SECOND, true);
	assert_int_equal(count, 1);
	assert_int_equal(written[0].total_ns, 7);
	assert_int_equal(written[0].start_ns, BEGIN + 5 * SECOND);
}

TEST_WITH(spans_grow_with_the_time, start, NULL)
{
	uint64_t now = BEGIN;

	for (; now < BEGIN + 30 * 86400 * SECOND; now += SECOND) {
		add(1, GW_LAUNCH_MEASURED, 100, NAN);
		tick(now, false);
	}
	assert_in_range(count, 300, 700);
}

TEST_WITH(without_room_one_sum_is_written_over_and_over, start, NULL)
{
	fits = false;
	add(1, GW_LAUNCH_MEASURED, 100, NAN);
	tick(BEGIN + 10 * SECOND, false);
	add(1, GW_LAUNCH_MEASURED, 100, NAN);
	tick(BEGIN + 20 * SECOND, false);
	assert_int_equal(copies, 2);
	assert_false(in_copy);
	assert_int_equal(count, 2);
	assert_int_equal(written[1].launches, 2);
	assert_int_equal(written[1].start_ns, BEGIN);
}

/* Room for 20 leaves 16 to the others, which may be many: the longest four are apart. */
TEST_WITH(those_without_room_or_name_are_in_one_sum, start, NULL)
{
	uint64_t launches = 0, total = 0;

	fits = false;
	for (uint32_t i = 1; i <= 30; i++)
		add(i, GW_LAUNCH_MEASURED, i, NAN);
	add(100, GW_LAUNCH_MEASURED, 1000, NAN);
	tick(BEGIN + 10 * SECOND, true);
	assert_in_range(count, 2, COUNT(written));
	assert_int_equal(written[0].config, 30);
	assert_int_equal(written[count - 1].config, 0);
	for (uint32_t i = 0; i < count; i++) {
		launches += written[i].launches;
		total += written[i].total_ns;
	}
	assert_int_equal(launches, 31);
	assert_int_equal(total, 30 * 31 / 2 + 1000);
}

/* A graph of a thousand kernels, launched for days. */
TEST_WITH(more_launches_than_a_record_can_count_are_counted, start, NULL)
{
	enum { CONFIGS = 1 << 14, TIMES = 5000000 };

	all_launches = 0;
	for (uint32_t i = 1; i <= CONFIGS; i++)
		add(i, 0, 0, NAN);
	graph_in(2, 1000, CONFIGS + 1, 1);
	add_whole(2, TIMES);
	tick(BEGIN, true);
	assert_int_equal(all_launches, CONFIGS + 1000 * (uint64_t)TIMES);
}

/* Memory that is there later is taken when the next span begins. */
TEST_WITH(without_memory_they_are_in_the_sum_of_all_others, start, NULL)
{
	const uint64_t max = gw_options.memory_max;

	gw_options.memory_max = 8;
	for (uint32_t config = 1; config < 4; config++)
		gw_aggregate_add(&(struct gw_record_launch){.config = config});
	tick(BEGIN + 11 * SECOND, false);
	assert_int_equal(count, 1);
	assert_int_equal(written[0].config, 0);
	assert_int_equal(written[0].launches, 3);
	gw_options.memory_max = max;
	gw_aggregate_add(&(struct gw_record_launch){.config = 1});
	tick(BEGIN + 22 * SECOND, false);
	assert_int_equal(written[1].config, 1);
	assert_int_equal(written[1].launches, 1);
}

TESTS_MAIN()
