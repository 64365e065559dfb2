/* Slots of streams and graphs are used again, launches are lost, contexts end: no launch is taken
 * for another's by that. */
#include "preload/analysis/known_work.h"
#include "preload/launch/launch.h"
#include "preload/launch/object_lifetime.h"
#include "preload/runtime/clock.h"
#include "preload/join/join.h"
#include "preload/worker/launches.h"
#include "preload/live/aggregate.h"
#include "preload/live/log.h"
#include "preload/runtime/options.h"
#include "preload/worker/profile.h"
#include "preload/worker/drain.h"
#include "preload/worker/host_time.h"
#include "preload/worker/registry.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

#include <time.h>

static struct gw_record_launch launches[16];
static uint32_t launch_count;
static struct gw_thread *thread;

/* In place of the log. */
void gw_log_write(enum gw_record_kind kind, void *head, size_t size, const void *tail,
		  size_t tail_size)
{
	(void)tail;
	(void)tail_size;
	if (kind == GW_RECORD_LAUNCH)
		memcpy(&launches[launch_count++ % COUNT(launches)], head, size);
}

bool gw_log_sums(void)
{
	return false;
}

void gw_device_profile_use(uint32_t id, const char *name)
{
	(void)id;
	(void)name;
}

void gw_device_profile_start(struct gw_predictor_set *predictors)
{
	(void)predictors;
}

static int start(void **state)
{
	fixture_start();
	gw_options.log_max = 1u << 30;
	launch_count = 0;
	assert_true(gw_registry_start() && gw_launches_start());
	gw_work_start();
	gw_hot.shared->kernels[1] =
		(struct gw_kernel_slot){.name = "kernel", .hash = 5, .registers = 24};
	thread = fixture_thread(8);
	return 0;
}

static int stop(void **state)
{
	gw_predictor_set_free(gw_launches_predictors());
	return 0;
}

static uint16_t graph_of_three(void)
{
	enum { SLOT = 5, NODES = 3 };
	struct gw_graph_slot *g = &gw_hot.shared->graph_slots[SLOT];

	g->exec = 1;
	g->count = NODES;
	g->nodes = calloc(NODES, sizeof(*g->nodes));
	for (uint32_t i = 0; i < NODES; i++) {
		g->nodes[i].kernel = 1;
		g->nodes[i].enabled = true;
		g->nodes[i].config = (struct gw_config){{i + 1, 1, 1}, {32, 1, 1}, {1, 1, 1}, 0, 0};
	}
	return SLOT;
}

/* Ticks of so many seconds, of a clock that is known. */
static uint64_t seconds(uint64_t n)
{
	uint64_t ticks, realtime, monotonic;

	if (!gw_clock_khz())
		gw_clock_start(&ticks, &realtime, &monotonic);
	while (!gw_clock_khz())
		gw_clock_update();
	return gw_clock_khz() * 1000 * n;
}

static struct gw_slots *streams(void)
{
	return &gw_hot.shared->streams_free;
}

TEST_WITH(a_launch_seen_after_its_stream_has_ended_is_the_streams, start, stop)
{
	struct gw_event e = fixture_launch(1);

	e.ticks = gw_ticks();
	e.stream = (uint16_t)gw_slot_take(streams());
	gw_hot.shared->stream_slots[e.stream].generation = 1;
	gw_slot_retire(streams(), e.stream);
	gw_launch_event(thread, &e);
	assert_int_equal(launches[0].stream, 1);
	assert_int_equal(gw_counters[GW_COUNTER_slots_late], 0);
}

/* It was in the driver while its stream ended and the slot went to another. */
TEST_WITH(a_launch_never_counts_for_the_next_stream_of_its_slot, start, stop)
{
	struct gw_event e = fixture_launch(1), next = fixture_launch(1);

	e.ticks = gw_ticks();
	e.stream = (uint16_t)gw_slot_take(streams());
	gw_slot_retire(streams(), e.stream);
	gw_recycle(gw_ticks() + seconds(1));
	assert_int_equal(gw_slot_take(streams()), e.stream);
	gw_hot.shared->stream_slots[e.stream].generation = 1;
	gw_launch_event(thread, &e);
	assert_int_equal(launches[0].stream, 0);
	assert_int_equal(gw_counters[GW_COUNTER_slots_late], 1);
	assert_int_equal(gw_counters[GW_COUNTER_table_full], 0);
	next.stream = e.stream;
	next.ticks = gw_ticks() + seconds(1);
	gw_launch_event(thread, &next);
	assert_int_equal(launches[1].stream, 1);
	assert_int_equal(gw_counters[GW_COUNTER_slots_late], 1);
}

TEST_WITH(a_slot_that_was_retired_just_now_is_not_recycled, start, stop)
{
	uint32_t at = gw_slot_take(streams());

	seconds(1);
	gw_slot_retire(streams(), at);
	gw_recycle(gw_ticks());
	assert_int_not_equal(gw_slot_take(streams()), at);
}

TEST_WITH(a_launch_never_runs_the_next_graph_of_its_slot, start, stop)
{
	struct gw_slots *graphs = &gw_hot.shared->graphs_free;
	struct gw_event e = {.kind = GW_EVENT_GRAPH, .kernel = graph_of_three()};

	e.ticks = gw_ticks();
	while (gw_slot_take(graphs) != e.kernel)
		;
	gw_slot_retire(graphs, e.kernel);
	gw_recycle(gw_ticks() + seconds(1));
	assert_null(gw_hot.shared->graph_slots[e.kernel].nodes);
	assert_int_equal(gw_slot_take(graphs), e.kernel);
	graph_of_three();
	gw_launch_event(thread, &e);
	assert_int_equal(launch_count, 0);
	assert_int_equal(atomic_load(&thread->counts.graph_unknown), 1);
	assert_int_equal(gw_counters[GW_COUNTER_slots_late], 1);
	free(gw_hot.shared->graph_slots[e.kernel].nodes);
}

TEST_WITH(a_launch_that_lacks_both_stream_and_configuration_is_counted_once, start, stop)
{
	struct gw_event e = fixture_launch(9);

	gw_launch_event(thread, &e);
	assert_int_equal(launch_count, 1);
	assert_int_equal(gw_counters[GW_COUNTER_table_full], 1);
}

/* Its record fits none of those that wait, so it would be written beside it. */
TEST_WITH(a_launch_without_a_configuration_is_not_written_a_second_time, start, stop)
{
	struct gw_event e = fixture_launch(9);
	struct gw_activity a = fixture_record(7);

	fixture_activity(true);
	e.stream = 3;
	gw_hot.shared->stream_slots[3] =
		(struct gw_stream_slot){.generation = 1, .cupti_context = 1, .cupti_stream = 2};
	gw_launch_event(thread, &e);
	assert_int_equal(launch_count, 1);
	a.context = 1;
	a.stream = 2;
	gw_join_record(&a);
	gw_launches_measured(true);
	assert_int_equal(launch_count, 1);
	assert_int_equal(gw_counters[GW_COUNTER_table_full], 1);
	assert_int_equal(gw_counters[GW_COUNTER_launches_unmatched], 0);
}

/* The GPU of a launch that found no slot for its stream is not known; its record says it. */
TEST_WITH(a_launch_without_a_stream_is_not_written_a_second_time, start, stop)
{
	struct gw_event first = fixture_launch(1), e = fixture_launch(1);
	struct gw_activity a = fixture_record(7);

	fixture_activity(true);
	first.stream = 3;
	gw_hot.shared->stream_slots[3] = (struct gw_stream_slot){
		.generation = 1, .device = 0, .cupti_context = 1, .cupti_stream = 2};
	gw_launch_event(thread, &first); /* of this configuration on that GPU: it waits */
	gw_launch_event(thread, &e);
	assert_int_equal(launch_count, 1);
	a.context = 1;
	a.stream = 9;
	gw_join_record(&a);
	for (int i = 0; i < 10; i++)
		gw_launches_measured(false);
	assert_int_equal(launch_count, 1);
}

TEST_WITH(as_many_slots_as_there_are_can_be_used_at_a_time, start, stop)
{
	static bool taken[GW_SLOTS_MAX];
	uint32_t at;

	memset(taken, 0, sizeof(taken));
	for (uint32_t i = 1; i < GW_SLOTS_MAX; i++) {
		at = gw_slot_take(streams());
		assert_true(at && at < GW_SLOTS_MAX && !taken[at]);
		taken[at] = true;
	}
	assert_int_equal(gw_slot_take(streams()), 0);
	gw_slot_free(streams(), 77);
	assert_int_equal(gw_slot_take(streams()), 77);
	assert_int_equal(gw_slot_take(streams()), 0);
}

/* One stream at a time, ten times as many as there are slots, each a worker's round later. */
TEST_WITH(any_number_of_streams_one_after_the_other_find_a_slot, start, stop)
{
	uint64_t now;

	seconds(1);
	now = gw_ticks();
	for (uint32_t i = 0; i < 10 * GW_SLOTS_MAX; i++) {
		uint32_t at = gw_slot_take(streams());

		assert_int_not_equal(at, 0);
		gw_slot_retire(streams(), at);
		now = gw_ticks() + gw_clock_khz() * 30;
		gw_recycle(now);
	}
	assert_true(atomic_load(&streams()->taken) < 10);
}

static CUresult same_context(CUcontext *context)
{
	*context = (CUcontext)0x1000;
	return CUDA_SUCCESS;
}

/* Without a context the driver refuses the launch; with one, the handles collide. */
TEST_WITH(streams_that_find_no_place_use_up_no_slot, start, stop)
{
	static const uint32_t home_mask = GW_MAP_SIZE - 1;
	uintptr_t home = 0;
	uint32_t placed = 0;

	for (uintptr_t i = 1; i <= 2 * GW_STREAMS_MAX; i++)
		assert_int_equal(gw_stream_resolve(thread, (CUstream)(i << 4), NULL,
						   GW_STREAM_CREATED, i << 4),
				 0);
	gw_driver.cuCtxGetCurrent = same_context;
	home = gw_map_hash(16) & home_mask;
	for (uintptr_t key = 16; placed < 4 * GW_MAP_PROBE; key += 16)
		if ((gw_map_hash(key) & home_mask) == home) {
			gw_stream_resolve(thread, (CUstream)key, NULL, GW_STREAM_CREATED, key);
			placed++;
		}
	gw_driver.cuCtxGetCurrent = NULL;
	assert_in_range(atomic_load(&streams()->taken), GW_MAP_PROBE, GW_MAP_PROBE + 1);
}

/* CPU time of as many launches into streams that have no place, ns. */
static int64_t resolving(void)
{
	struct timespec before, after;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
	for (uintptr_t i = 1; i <= 10000; i++)
		gw_stream_resolve(thread, (CUstream)(i << 4), NULL, GW_STREAM_CREATED, i << 4);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
	return (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec;
}

/* To look at each of its slots took 250 us a launch. */
TEST_WITH(a_full_table_costs_a_launch_no_more, start, stop)
{
	int64_t with_room = resolving();

	while (gw_slot_take(streams()))
		;
	assert_true(resolving() < 10 * with_room + 20000000);
}

static _Atomic uint32_t holders[GW_SLOTS_MAX], shared_by_two;

static void take_and_free(unsigned number)
{
	(void)number;
	for (int i = 0; i < 50000; i++) {
		uint32_t at = gw_slot_take(streams());

		if (!at)
			continue;
		if (atomic_fetch_add(&holders[at], 1))
			atomic_fetch_add(&shared_by_two, 1);
		atomic_fetch_sub(&holders[at], 1);
		gw_slot_free(streams(), at);
	}
}

TEST_WITH(no_slot_is_given_to_two_threads_at_once, start, stop)
{
	fixture_threads(8, take_and_free);
	assert_int_equal(shared_by_two, 0);
	assert_true(atomic_load(&streams()->taken) <= 8);
}

/* The count is too high for a moment where several threads find the table full. */
TEST_WITH(children_are_looked_for_by_as_many_threads_as_there_may_be, start, stop)
{
	gw_options.mode = GW_MODE_AUDIT;
	atomic_store(&gw_hot.shared->thread_count, GW_THREADS_MAX + 2);
	atomic_store(&gw_hot.shared->threads_freed, 1); /* with the count, no pointer */
	gw_children_tick(seconds(1));
	atomic_store(&gw_hot.shared->thread_count, 1);
}

/* ---- pairs of events around launches ---- */

/* A driver whose pairs of events are passed once the call has returned: 1 and 2, with 3 behind; 4
 * and 5. */
static uintptr_t events_made, context_now;

static CUresult context_is(CUcontext *context)
{
	*context = (CUcontext)context_now;
	return CUDA_SUCCESS;
}

static CUresult event_create(CUevent *event, unsigned flags)
{
	(void)flags;
	*event = (CUevent)++events_made;
	return CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream stream)
{
	(void)event;
	(void)stream;
	return CUDA_SUCCESS;
}

static CUresult event_query(CUevent event)
{
	return event == (CUevent)2 || event == (CUevent)5 ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

/* As many microseconds as the number of the pair's first event. */
static CUresult event_elapsed(float *ms, CUevent begin, CUevent end)
{
	assert_true(begin < end);
	*ms = (float)(uintptr_t)begin * 1e-3f;
	return CUDA_SUCCESS;
}

static void events_begin(void)
{
	events_made = 0;
	context_now = 0x1000;
	gw_options.event_rate = 1;
	gw_driver.cuCtxGetCurrent = context_is;
	gw_driver.cuEventCreate = event_create;
	gw_driver.cuEventRecord = event_record;
	gw_driver.cuEventQuery = event_query;
	gw_driver.cuEventElapsedTime = event_elapsed;
}

/* As the hook does it, with a grid of @p blocks. */
static bool launch_with_pair(uint32_t blocks)
{
	struct gw_call call = {.thread = thread};
	bool timed;

	call.event = gw_ring_slot(&call);
	*call.event = fixture_launch(1);
	call.event->ticks = blocks;
	call.event->grid[0] = blocks;
	gw_events_begin(&call, NULL, 1);
	timed = (call.event->flags & GW_EVENT_TIMED) != 0;
	gw_launch_end(&call, CUDA_SUCCESS, NULL, NULL);
	return timed;
}

/* What is left, ns, of a pair that read @p ns, around a graph or a kernel for which the GPU waited.
 */
static double left_of(float ns, float waited_ns, bool graph)
{
	const struct gw_event e = {.predicted = ns,
				   .low = 1280,
				   .high = waited_ns * (float)gw_clock_khz() * 1e-6f,
				   .block_x = graph};

	return gw_events_seconds(&e) * 1e9;
}

static int gap(void **state)
{
	static struct gw_device profile;
	const int failed = start(state);

	gw_device_clear(&profile, "");
	gw_device_set(&profile, GW_PARAM_launch_gap_stream, 780e-9, GW_METHOD_MEASURED);
	gw_device_profile_set(1, &profile);
	return failed;
}

static int no_gap(void **state)
{
	gw_devices_clear();
	return stop(state);
}

/* docs/results/watch-2026-11-26: of kernels of 7.58 us. */
TEST_WITH(a_kernel_in_the_queue_is_one_gap_more_than_events_alone, gap, no_gap)
{
	assert_float_equal(left_of(9800, 0, false), 7428, 1);
}

TEST_WITH(a_kernel_that_the_gpu_waited_for_has_the_call_in_place_of_the_gap, gap, no_gap)
{
	assert_float_equal(left_of(13180, 4300, false), 7520, 1);
	assert_float_equal(left_of(7000, 4330, false), 1310, 1);
	assert_float_equal(left_of(6900, 4330, false), 0, 1e-9); /* shorter than the events */
}

TEST_WITH(the_more_parameters_a_kernel_has_the_later_it_begins, gap, no_gap)
{
	gw_hot.shared->kernels[0].layout = &(const struct gw_layout){.bytes = 3000};
	assert_float_equal(left_of(9800, 0, false), 7248, 1);
	gw_hot.shared->kernels[0].layout = NULL;
}

TEST_WITH(a_graph_may_have_begun_at_any_time_during_its_call, gap, no_gap)
{
	assert_float_equal(left_of(40000, 6000, true), 0, 1e-9);
	assert_float_equal(left_of(60000, 6000, true), 52640, 1);
}

TEST_WITH(a_gap_that_no_profile_has_is_not_taken_off, start, stop)
{
	assert_float_equal(left_of(9800, 0, false), 8520, 1);
}

/* Its page was given back as it was written (launch/threads.c). */
TEST_WITH(times_are_those_of_their_launches_where_one_before_was_lost, start, stop)
{
	events_begin();
	gw_drain(gw_launch_event);
	launch_with_pair(1);
	launch_with_pair(2);
	memset(&thread->ring[0], 0, sizeof(*thread->ring));
	gw_drain(gw_launch_event);
	launch_with_pair(3); /* both are asked for their times */
	gw_drain(gw_launch_event);
	assert_int_equal(launch_count, 1);
	assert_int_equal(launches[0].flags & (GW_LAUNCH_MEASURED | GW_LAUNCH_EVENTS),
			 GW_LAUNCH_MEASURED | GW_LAUNCH_EVENTS);
	assert_int_equal(gw_config_entry(launches[0].config)->config.grid.x, 2);
	assert_int_equal(launches[0].duration_ns, 4000);
	free(thread->events);
}

static CUresult all_passed(CUevent event)
{
	(void)event;
	return CUDA_SUCCESS;
}

enum { EVENTS = 2 * 8 + 1 }; /* that a thread makes in a context */

/* Else a program that makes and destroys contexts leaves events without end in those that live. */
TEST_WITH(events_stay_where_other_contexts_end, start, stop)
{
	events_begin();
	gw_driver.cuEventQuery = all_passed;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_true(launch_with_pair(1));
		gw_drain(gw_launch_event);
		gw_context_gone((CUcontext)0x2000);
	}
	assert_in_range(events_made, 2, EVENTS);
	gw_context_gone((CUcontext)0x1000);
	events_made = 0;
	assert_true(launch_with_pair(1));
	assert_in_range(events_made, 2, 3);
	free(thread->events);
}

TEST_WITH(a_thread_times_launches_in_each_of_its_contexts, start, stop)
{
	events_begin();
	gw_driver.cuEventQuery = all_passed;
	for (uint32_t i = 0; i < 1000; i++) {
		context_now = 0x1000 + i % 8 * 0x340;
		assert_true(launch_with_pair(1));
		gw_drain(gw_launch_event);
	}
	assert_in_range(events_made, 8 * 2, 8 * EVENTS);
	free(thread->events);
}

/* Asked for the time since an event of a context that has ended, a driver may crash. */
TEST_WITH(no_time_counts_from_a_context_that_has_ended, start, stop)
{
	events_begin();
	atomic_store(&gw_hot.exact, 7);
	assert_true(launch_with_pair(1));
	gw_context_gone((CUcontext)0x1000);
	assert_false(launch_with_pair(1));
	atomic_store(&gw_hot.exact, 8);
	assert_true(launch_with_pair(1));
	atomic_store(&gw_hot.exact, 0);
	free(thread->events);
}

TEST_WITH(a_graph_we_do_not_know_is_counted_as_unknown, start, stop)
{
	struct gw_event e = {.kind = GW_EVENT_GRAPH};

	gw_launch_event(thread, &e);
	assert_int_equal(launch_count, 0);
	assert_int_equal(atomic_load(&thread->counts.graph_unknown), 1);
}

static uint64_t shown; /* launches that were added whole */

static void show(uint32_t config, uint64_t n)
{
	shown += gw_config_entry(config)->kernel == 1 ? n : 0;
}

static uint64_t counted(enum gw_counter c)
{
	return atomic_load(&gw_counters[c]);
}

/* The first makes the configurations; what is learnt since predicts the next. */
TEST_WITH(where_launches_are_summed_those_of_a_graph_are_added_whole, start, stop)
{
	struct gw_event e = {.kind = GW_EVENT_GRAPH, .kernel = graph_of_three()};
	struct gw_predictor_set *p = gw_launches_predictors();
	const struct gw_observation o = {.seconds = 5e-6, .exclusive = true};

	gw_options.mode = GW_MODE_WATCH;
	gw_aggregate_start();
	shown = 0;
	for (int i = 0; i < 4; i++)
		gw_launch_event(thread, &e);
	assert_int_equal(counted(GW_COUNTER_graph_kernels), 12);
	assert_int_equal(counted(GW_COUNTER_aggregated), 3); /* one by one */
	assert_int_equal(counted(GW_COUNTER_expected_kernels), 0);
	for (uint32_t id = 1; id <= 3; id++)
		assert_true(gw_predictor_set_observe(p, id, &o) > 0);
	gw_publish_predictions();
	e.known = 3;
	gw_launch_event(thread, &e);
	gw_launch_event(thread, &e);
	assert_int_equal(counted(GW_COUNTER_graph_kernels), 18);
	assert_int_equal(counted(GW_COUNTER_predicted), 6);
	assert_int_equal(counted(GW_COUNTER_predicted_late), 0);
	assert_int_equal(counted(GW_COUNTER_expected_kernels), 6);
	assert_in_range(counted(GW_COUNTER_expected_ns), 6 * 4500, 6 * 5500);
	assert_int_equal(launch_count, 0);
	gw_aggregate_graphs(show);
	assert_int_equal(shown, 15);
	gw_aggregate_tick(1, true);
	assert_int_equal(counted(GW_COUNTER_aggregated), 18);
	gw_options.mode = GW_MODE_AUDIT; /* where each has a record */
	gw_launch_event(thread, &e);
	assert_int_equal(launch_count, 3);
	free(gw_hot.shared->graph_slots[5].nodes);
	free(gw_hot.shared->graph_slots[5].as);
	gw_hot.shared->graph_slots[5].as = NULL;
}

int main(void)
{
	return tests_run(NULL, NULL);
}
