/* The worker publishes predictions, launches read them; nothing torn, nothing of another. */
#include "preload/launch/launch.h"
#include "preload/runtime/clock.h"
#include "preload/worker/launches.h"
#include "preload/live/log.h"
#include "preload/worker/registry.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

#include <sched.h>

enum { CONFIGS = 200, ROUNDS = 2000, ROUNDS_MAX = 1000000, HITS = 1000 };

static struct gw_config_entry configs[CONFIGS + 1];
static uint64_t observations, changes;
static uint32_t from, to; /* configurations that the next advance reports; 0, 0: it makes none */
static struct gw_record_published published; /* the last one written */
static _Atomic unsigned torn, hits;
static _Atomic int over;

/* What the cells stand on: a predictor that says of configuration c after n observations
 * 1000 (n mod 1000) + c ns, from 1 ns less to 1 ns more. */
struct gw_config_entry *gw_config_entry(uint32_t id)
{
	return &configs[id];
}

struct gw_predictor_set *gw_launches_predictors(void)
{
	return NULL;
}

uint64_t gw_predictor_set_observations(const struct gw_predictor_set *p)
{
	(void)p;
	return observations;
}

uint64_t gw_predictor_set_changes(const struct gw_predictor_set *f)
{
	(void)f;
	return changes;
}

bool gw_predictor_set_advance(struct gw_predictor_set *p,
			      void (*changed)(void *, uint32_t, const struct gw_prediction *),
			      void *arg)
{
	(void)p;
	changes += from > 0;
	for (uint32_t c = from; c && c <= to; c++) {
		double ns = 1000 * (double)(observations % 1000) + c; /* exact in a float */
		struct gw_prediction made = {.seconds = ns * 1e-9,
					     .low = (ns - 1) * 1e-9,
					     .high = (ns + 1) * 1e-9,
					     .known = observations,
					     .tier = GW_TIER_STEADY,
					     .work = GW_SOURCE_COUNTED,
					     .multimodal = observations % 2};

		changed(arg, c, &made);
	}
	return from > 0;
}

void gw_log_write(enum gw_record_kind kind, void *head, size_t size, const void *tail,
		  size_t tail_size)
{
	assert_int_equal(kind, GW_RECORD_PUBLISHED);
	assert_int_equal(size, sizeof(published));
	assert_true(!tail && !tail_size);
	memcpy(&published, head, size);
}

static int start(void **state)
{
	fixture_start();
	for (uint32_t c = 1; c <= CONFIGS; c++)
		configs[c] = (struct gw_config_entry){
			.kernel = 1, .slot = 1, .config = {{c, 1, 1}, {64, 1, 1}, {1, 1, 1}, 0, 0}};
	observations = 0;
	atomic_store(&torn, 0);
	atomic_store(&hits, 0);
	atomic_store(&over, 0);
	return 0;
}

static void publish(uint32_t first, uint32_t last)
{
	observations++;
	from = first;
	to = last;
	gw_publish_predictions();
}

static void read_as(struct gw_event *e, uint32_t device)
{
	uint32_t at;

	e->known = INT32_MAX; /* of whatever was published */
	at = gw_cell_read(gw_hot.shared, device, e);
	assert_int_equal(at != 0, !isnan(e->predicted));
}

static struct gw_event read_cell(uint32_t slot, uint32_t grid)
{
	struct gw_event e = {.kernel = (uint16_t)slot,
			     .grid = {grid, 1, 1},
			     .block_x = 64,
			     .block_y = 1,
			     .block_z = 1,
			     .predicted = NAN};

	read_as(&e, 0);
	return e;
}

TEST_WITH(a_launch_reads_what_was_published_for_it, start, NULL)
{
	struct gw_event e;

	publish(3, 5);
	e = read_cell(1, 4);
	assert_int_equal(gw_cell_id(e.config), 4);
	assert_int_equal(gw_cell_tier(e.config), GW_TIER_STEADY);
	assert_int_equal(gw_cell_work(e.config), GW_SOURCE_COUNTED);
	assert_true(e.predicted == 1004 && e.low == 1003 && e.high == 1005);
	assert_int_equal(e.known, 1);
	assert_int_equal(e.flags, GW_EVENT_MULTIMODAL);
	assert_int_equal(atomic_load(&gw_hot.known), 1);
	publish(4, 4);
	e = read_cell(1, 4);
	assert_true(e.predicted == 2004);
	assert_int_equal(e.flags, 0);
	assert_int_equal(e.known, 2);
}

TEST_WITH(the_log_says_when_predictions_were_made_anew, start, NULL)
{
	publish(3, 5);
	assert_int_equal(published.known, 1);
	publish(0, 0);
	assert_int_equal(published.known, 1);
	assert_int_equal(atomic_load(&gw_hot.known), 1);
}

TEST_WITH(another_kernel_or_configuration_reads_nothing, start, NULL)
{
	struct gw_event e;

	publish(1, CONFIGS);
	e = read_cell(2, 4);
	assert_true(isnan(e.predicted));
	assert_int_equal(e.config, 0);
	e = read_cell(1, CONFIGS + 1);
	assert_true(isnan(e.predicted));
	e = (struct gw_event){.kernel = 1,
			      .grid = {4, 1, 1},
			      .block_x = 64,
			      .block_y = 1,
			      .block_z = 1,
			      .shared = 16,
			      .predicted = NAN};
	read_as(&e, 0);
	assert_true(isnan(e.predicted));
	e.shared = 0;
	e.cluster = 2;
	read_as(&e, 0);
	assert_true(isnan(e.predicted));
}

TEST_WITH(a_cluster_and_shared_memory_are_part_of_the_key, start, NULL)
{
	struct gw_event e = {.kernel = 1,
			     .grid = {4, 1, 1},
			     .block_x = 64,
			     .block_y = 1,
			     .block_z = 1,
			     .shared = 16,
			     .cluster = 2 | 1 << 10 | 1 << 20};

	configs[4].config.cluster = (struct gw_dim3){2, 1, 1};
	configs[4].config.dynamic_shared = 16;
	publish(4, 4);
	read_as(&e, 0);
	assert_int_equal(gw_cell_id(e.config), 4);
}

TEST_WITH(the_gpu_is_part_of_the_key, start, NULL)
{
	struct gw_event e = {.kernel = 1,
			     .grid = {4, 1, 1},
			     .block_x = 64,
			     .block_y = 1,
			     .block_z = 1,
			     .predicted = NAN};

	configs[4].device = 2;
	publish(4, 4);
	read_as(&e, 1);
	assert_true(isnan(e.predicted));
	read_as(&e, 2);
	assert_int_equal(gw_cell_id(e.config), 4);
}

TEST_WITH(a_configuration_no_hook_saw_gets_no_cell, start, NULL)
{
	configs[4].slot = 0;
	publish(4, 4);
	assert_int_equal(read_cell(0, 4).config, 0);
	assert_int_equal(read_cell(1, 4).config, 0);
}

TEST_WITH(a_cell_that_is_being_written_counts_as_absent, start, NULL)
{
	publish(4, 4);
	for (uint32_t i = 0; i < GW_CELLS_MAX; i++)
		if (atomic_load(&gw_hot.shared->cells[i].key))
			atomic_fetch_add(&gw_hot.shared->cells[i].sequence, 1);
	assert_true(isnan(read_cell(1, 4).predicted));
}

/* A launch of configuration 4 that noted what was known and read no cell. */
static struct gw_event unread(void)
{
	struct gw_event e = {.kernel = 1,
			     .grid = {4, 1, 1},
			     .block_x = 64,
			     .block_y = 1,
			     .block_z = 1,
			     .known = (uint32_t)observations,
			     .flags = GW_EVENT_ARGUMENTS,
			     .predicted = NAN,
			     .ticks = gw_ticks() + 1};

	return e;
}

TEST_WITH(a_launch_that_read_nothing_gets_what_stood_published_at_its_call, start, NULL)
{
	struct gw_event e;

	publish(4, 4);
	e = unread();
	gw_launch_read(&e, 4);
	assert_int_equal(gw_cell_id(e.config), 4);
	assert_true(e.predicted == 1004 && e.known == 1);
	assert_true(e.flags & GW_EVENT_ARGUMENTS);
}

TEST_WITH(what_was_published_since_the_call_is_no_prediction_of_it, start, NULL)
{
	struct gw_event e;

	publish(4, 4);
	e = unread();
	while (gw_ticks() <= e.ticks)
		;
	publish(4, 4);
	gw_launch_read(&e, 4);
	assert_int_equal(e.config, 0);
	assert_true(isnan(e.predicted));
	assert_int_equal(e.known, 1);
}

/* Its cell is not looked at again. */
TEST_WITH(what_was_read_stands_until_a_prediction_changes, start, NULL)
{
	struct gw_event e, other;

	publish(4, 4);
	e = unread();
	gw_launch_read(&e, 4);
	memset(gw_hot.shared->cells, 0, sizeof(gw_hot.shared->cells));
	e = unread();
	gw_launch_read(&e, 4);
	assert_true(e.predicted == 1004 && e.known == 1);
	other = unread();
	gw_launch_read(&other, 0);
	assert_true(isnan(other.predicted));
	publish(3, 3);
	e = unread();
	gw_launch_read(&e, 4);
	assert_true(isnan(e.predicted));
	gw_launch_read_start();
	publish(4, 4);
	e = unread();
	gw_launch_read(&e, 4);
	assert_true(e.predicted == 3004);
}

TEST_WITH(a_launch_that_read_keeps_what_it_read, start, NULL)
{
	struct gw_event e;

	publish(4, 4);
	e = unread();
	e.config = gw_cell_config(3, GW_TIER_STEADY, 0);
	gw_launch_read(&e, 4);
	assert_int_equal(gw_cell_id(e.config), 3);
}

/* What a call finds of the prediction that stands published, while launches read (@p reads). */
static float found_by_a_call(uint32_t reads, CUstream stream)
{
	static struct gw_event ring[2];
	static struct gw_thread_known known;
	struct gw_thread t = {.ring = ring, .mask = 1, .last.stream_key = 8, .known = &known};
	struct gw_call call = {0};

	*gw_known_line(&known, 16) = (struct gw_known_kernel){.function = 16, .slot = 1};
	gw_self = &t;
	atomic_store(&gw_hot.reads, reads);
	gw_kernel_event(&call, (CUfunction)16, 4, 1, 1, 64, 1, 1, 0, stream, NULL, NULL, 0, 0,
			GW_EVENT_KERNEL);
	gw_self = NULL;
	atomic_store(&gw_hot.reads, 1);
	assert_int_equal(call.event->known, 1);
	assert_int_equal(t.last.cell != 0, !isnan(call.event->predicted));
	return call.event->predicted;
}

/* The slot that a launch of a handle finds, on @p t. */
static uint32_t slot_found(uintptr_t handle, struct gw_thread *t, struct gw_call *call)
{
	gw_self = t;
	gw_kernel_event(call, (CUfunction)handle, 4, 1, 1, 64, 1, 1, 0, (CUstream)8, NULL, NULL, 0,
			0, GW_EVENT_KERNEL);
	gw_self = NULL;
	return call->event->kernel;
}

TEST_WITH(two_kernels_of_one_cache_line_are_both_known, start, NULL)
{
	static struct gw_event ring[8];
	static struct gw_thread_known known;
	struct gw_thread t = {.ring = ring, .mask = 7, .last.stream_key = 8, .known = &known};
	struct gw_map *map = &gw_hot.shared->functions;
	struct gw_call call = {0};
	uintptr_t f[2] = {16, 32};

	while (gw_known_line(&known, f[1]) != gw_known_line(&known, f[0]))
		f[1] += 16;
	for (uint32_t i = 0; i < 4; i++) { /* the second time without the map */
		if (i < 2)
			gw_map_put(map, f[i], 2 + i, 0, 0);
		assert_int_equal(slot_found(f[i % 2], &t, &call), 2 + i % 2);
		gw_event_end(&call, call.at);
		gw_map_remove(map, f[i % 2], NULL);
	}
}

TEST_WITH(a_kernel_is_looked_up_anew_once_handles_may_have_ended, start, NULL)
{
	static struct gw_event ring[4];
	static struct gw_thread_known known;
	struct gw_thread t = {.ring = ring, .mask = 3, .last.stream_key = 8, .known = &known};
	struct gw_call call = {0};

	*gw_known_line(&known, 16) = (struct gw_known_kernel){.function = 16, .slot = 1};
	gw_map_put(&gw_hot.shared->functions, 16, 2, 0, 0);
	assert_int_equal(slot_found(16, &t, &call), 1);
	gw_event_end(&call, call.at);
	atomic_fetch_add(&gw_hot.function_generation, 1);
	assert_int_equal(slot_found(16, &t, &call), 2);
	assert_int_equal(gw_known_line(&known, 16)->slot, 2);
	atomic_fetch_sub(&gw_hot.function_generation, 1);
	gw_map_remove(&gw_hot.shared->functions, 16, NULL);
}

/* It may have come in the midst of the outer one's look-up. */
TEST_WITH(a_launch_within_a_launch_leaves_what_the_thread_knows, start, NULL)
{
	static struct gw_event ring[4];
	static struct gw_thread_known known;
	struct gw_thread t = {
		.ring = ring, .mask = 3, .last.stream_key = 8, .next = 1, .known = &known};
	struct gw_call call[2] = {{0}};

	t.outer = &call[1];
	gw_map_put(&gw_hot.shared->functions, 16, 2, 0, 0);
	gw_map_put(&gw_hot.shared->streams, 8, 1, 0, 0);
	assert_int_equal(slot_found(16, &t, &call[0]), 2);
	assert_int_equal(call[0].how, GW_CALL_INNER);
	assert_int_equal(gw_known_line(&known, 16)->function, 0);
	gw_map_remove(&gw_hot.shared->functions, 16, NULL);
	gw_map_remove(&gw_hot.shared->streams, 8, NULL);
}

TEST_WITH(a_call_reads_only_while_launches_are_to_read, start, NULL)
{
	publish(4, 4);
	assert_true(found_by_a_call(1, (CUstream)8) == 1004);
	assert_true(isnan(found_by_a_call(0, (CUstream)8)));
}

static CUresult publish_meanwhile(CUstream stream, CUcontext *context)
{
	(void)stream;
	*context = NULL;
	publish(4, 4);
	return CUDA_SUCCESS;
}

/* A thread may be kept for long between the time of its call and the look at the prediction: in the
 * driver, by which a stream is looked up first, or from running. */
TEST_WITH(a_call_reads_nothing_that_was_published_since, start, NULL)
{
	struct gw_event e = unread();

	publish(4, 4);
	assert_int_equal(gw_cell_read(gw_hot.shared, 0, &e), 0);
	assert_true(isnan(e.predicted) && !e.config && !e.known);
	gw_driver.cuStreamGetCtx = publish_meanwhile;
	assert_true(isnan(found_by_a_call(1, (CUstream)4096)));
	assert_int_equal(observations, 2);
}

static void publish_or_read(unsigned number)
{
	if (!number) {
		/* Long enough for the readers to have had their turn, wherever this runs. */
		for (int i = 0; i < ROUNDS || (atomic_load(&hits) < HITS && i < ROUNDS_MAX); i++) {
			publish(1, 8);
			if (i % 16 == 0)
				sched_yield();
		}
		atomic_store(&over, 1);
		return;
	}
	for (uint32_t i = 0; !atomic_load(&over); i++) {
		uint32_t c = 1 + i % 8;
		struct gw_event e = read_cell(1, c);
		float n = (float)(e.known % 1000 * 1000 + c);

		if (isnan(e.predicted))
			continue;
		atomic_fetch_add(&hits, 1);
		if (gw_cell_id(e.config) != c || e.predicted != n || e.low != n - 1 ||
		    e.high != n + 1 || !!(e.flags & GW_EVENT_MULTIMODAL) != e.known % 2)
			atomic_fetch_add(&torn, 1);
	}
}

TEST_WITH(no_reader_sees_a_torn_prediction, start, NULL)
{
	publish(1, 8);
	fixture_threads(3, publish_or_read);
	assert_int_equal(atomic_load(&torn), 0);
	assert_true(atomic_load(&hits) >= HITS);
}

TESTS_MAIN()
