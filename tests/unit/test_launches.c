/* From events to records of launches, with a predictor and a log of the test's own. */
#include "preload/analysis/digests.h"
#include "preload/join/join.h"
#include "preload/join/unpaired.h"
#include "preload/launch/collectives.h"
#include "preload/runtime/degrade.h"
#include "preload/worker/launches.h"
#include "preload/worker/slow_episodes.h"
#include "preload/counters/gpu_clock.h"
#include "preload/analysis/analyze.h"
#include "preload/analysis/known_work.h"
#include "preload/live/log.h"
#include "preload/runtime/options.h"
#include "preload/runtime/clock.h"
#include "preload/worker/profile.h"
#include "preload/analysis/analyze.h"
#include "preload/worker/registry.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

static struct gw_record_launch launches[16];
static uint32_t launch_count, other_count;
static double sm_hz;
static uint32_t configured, configured_on, wanted, successor[2];
static struct gw_launch configured_as;
static struct gw_observation observed;
static uint64_t observations, asked_known;
static bool log_full;
static uint64_t answered_known; /* 0: nothing is predicted */
static bool answered_published;
static struct gw_thread *thread;

/* In place of the log, the predictor, and what reads code. */
void gw_analysis_want(uint32_t config)
{
	wanted = config;
}

void gw_analysis_launched(uint32_t config)
{
	wanted = config;
}

void gw_log_write(enum gw_record_kind kind, void *head, size_t size, const void *tail,
		  size_t tail_size)
{
	(void)tail;
	(void)tail_size;
	if (kind == GW_RECORD_LAUNCH && size == sizeof(*launches))
		memcpy(&launches[launch_count++ % COUNT(launches)], head, size);
	else
		other_count++;
}

void gw_launch_read_start(void)
{
}

void gw_launch_read(struct gw_event *e, uint32_t config)
{
	(void)config;
	(void)e;
}

bool gw_log_sums(void)
{
	return log_full;
}

struct gw_quantity gw_work_row(uint32_t config, enum gw_work_field field)
{
	(void)config;
	(void)field;
	return (struct gw_quantity){.value = NAN};
}

struct gw_predictor_set *gw_predictor_set_new(uint32_t configs)
{
	(void)configs;
	return (struct gw_predictor_set *)launches;
}

uint64_t gw_predictor_set_changes(const struct gw_predictor_set *f)
{
	(void)f;
	return observations + 100 * answered_known + 10000 * answered_published;
}

uint64_t gw_predictor_set_observations(const struct gw_predictor_set *p)
{
	(void)p;
	return observations;
}

uint64_t gw_predictor_set_observe(struct gw_predictor_set *p, uint32_t config,
				  const struct gw_observation *o)
{
	(void)p;
	(void)config;
	observed = *o;
	return ++observations;
}

void gw_predictor_set_configure(struct gw_predictor_set *p, uint32_t config, uint32_t device,
				uint32_t kernel, const struct gw_launch *launch)
{
	(void)p;
	configured_on = device;
	assert_int_equal(config, ++configured);
	assert_true(kernel > 0);
	configured_as = *launch;
}

void gw_predictor_set_successor(struct gw_predictor_set *p, uint32_t config, uint32_t of)
{
	(void)p;
	successor[0] = config;
	successor[1] = of;
}

void gw_analysis_same(uint32_t config, uint32_t as)
{
	assert_int_equal(config, successor[0]);
	assert_int_equal(as, successor[1]);
}

void gw_predictor_set_work(struct gw_predictor_set *p, uint32_t config, const struct gw_work *work)
{
	(void)p;
	(void)config;
	(void)work;
}

void gw_gpu_clock_at(int ordinal, uint64_t start_ns, uint64_t end_ns, struct gw_clock_state *out)
{
	(void)ordinal;
	assert_true(start_ns < end_ns);
	*out = (struct gw_clock_state){.sm_hz = sm_hz, .mem_hz = NAN, .others = NAN};
}

void gw_gpu_clock_used(int ordinal)
{
	(void)ordinal;
}

void gw_device_profile_use(uint32_t id, const char *name)
{
	(void)id;
	(void)name;
}

void gw_predictor_set_predict(const struct gw_predictor_set *p, uint32_t config, uint64_t known,
			      struct gw_prediction *out)
{
	(void)p;
	(void)config;
	asked_known = known;
	*out = (struct gw_prediction){.seconds = answered_known ? 5e-6 : NAN,
				      .low = answered_known ? 4e-6 : NAN,
				      .high = answered_known ? 6e-6 : NAN,
				      .tier = GW_TIER_COLD,
				      .work = GW_SOURCE_COUNTED,
				      .known = answered_known,
				      .published = answered_published};
}

static int start(void **state)
{
	fixture_start();
	launch_count = other_count = 0;
	configured = 0;
	observations = asked_known = answered_known = 0;
	answered_published = false;
	log_full = false;
	assert_true(gw_registry_start() && gw_launches_start());
	gw_digests_start();
	gw_hot.shared->kernels[1] =
		(struct gw_kernel_slot){.name = "kernel", .hash = 5, .registers = 24};
	thread = fixture_thread(8);
	return 0;
}

static uint16_t graph(uint32_t count)
{
	struct gw_graph_slot *g = &gw_hot.shared->graph_slots[5];

	g->exec = 1;
	g->count = count;
	g->nodes = calloc(count, sizeof(*g->nodes));
	for (uint32_t i = 0; i < count; i++) {
		g->nodes[i].kernel = 1;
		g->nodes[i].enabled = i != 1;
		g->nodes[i].config = (struct gw_config){{i + 1, 1, 1}, {32, 1, 1}, {1, 1, 1}, 0, 0};
	}
	return 5;
}

TEST_WITH(a_launch_that_read_no_prediction_is_predicted_late, start, NULL)
{
	struct gw_event e = fixture_launch(1);

	observations = 10;
	e.known = 8;
	answered_known = 7;
	gw_launch_event(thread, &e);
	assert_int_equal(launch_count, 1);
	assert_int_equal(asked_known, 8);
	assert_int_equal(launches[0].known, 7);
	assert_true(launches[0].flags & GW_LAUNCH_LATE);
	assert_true(launches[0].predicted > 4999 && launches[0].predicted < 5001);
}

TEST_WITH(what_was_known_survives_the_wrap_of_32_bits, start, NULL)
{
	static const uint64_t turn = UINT64_C(1) << 32;
	struct gw_event e = fixture_launch(1);

	observations = turn + 3;
	e.known = 1;
	gw_launch_event(thread, &e);
	assert_int_equal(asked_known, turn + 1);
	e.known = UINT32_MAX - 1;
	gw_launch_event(thread, &e);
	assert_int_equal(asked_known, turn - 2);
}

TEST_WITH(a_prediction_that_was_read_is_kept, start, NULL)
{
	struct gw_event e = fixture_launch(1);

	gw_launch_event(thread, &e); /* makes the configuration */
	e.config = gw_cell_config(launches[0].config, GW_TIER_WARM, GW_SOURCE_SCALED);
	e.predicted = 100;
	e.low = 90;
	e.high = 110;
	e.known = 4;
	e.flags = GW_EVENT_MULTIMODAL;
	gw_launch_event(thread, &e);
	assert_true(launches[1].predicted == 100 && launches[1].high == 110);
	assert_int_equal(launches[1].flags, GW_LAUNCH_MULTIMODAL);
	assert_int_equal(launches[1].known, 4);
	assert_int_equal(launches[1].tier, GW_TIER_WARM);
	assert_int_equal(launches[1].work, GW_SOURCE_SCALED);
}

/* What its code reported meanwhile counts: from what was known at the call, and no more. */
TEST_WITH(a_launch_is_predicted_when_its_code_was_read_before_its_time_came, start, NULL)
{
	struct gw_activity a = fixture_record(5);
	struct gw_event e = fixture_launch(1);

	fixture_activity(true);
	e.flags = GW_EVENT_CORRELATED;
	e.config = a.correlation;
	observations = 10;
	e.known = 8;
	gw_launch_event(thread, &e);
	assert_int_equal(wanted, 1);
	assert_int_equal(launch_count, 0);
	answered_known = 7;
	gw_join_record(&a);
	gw_launches_measured(true);
	assert_int_equal(launch_count, 1);
	assert_int_equal(asked_known, 8);
	assert_int_equal(launches[0].known, 7);
	assert_true(launches[0].flags & GW_LAUNCH_LATE);
	assert_true(observed.predicted > 4.9e-6 && observed.predicted < 5.1e-6);
}

/* The second is found by its cell, the third is a node of a graph. */
TEST_WITH(the_predictor_is_reported_of_each_configuration_once, start, NULL)
{
	struct gw_event e = fixture_launch(1), g = {.kind = GW_EVENT_GRAPH, .kernel = graph(1)};

	gw_launch_event(thread, &e);
	assert_int_equal(configured, 1);
	assert_int_equal(configured_as.config.grid.x, 2);
	assert_int_equal(configured_as.kernel->registers, 24);
	e.config = 1;
	gw_launch_event(thread, &e);
	assert_int_equal(configured, 1);
	gw_launch_event(thread, &g);
	assert_int_equal(configured, 2);
	assert_int_equal(configured_as.config.grid.x, 1);
	free(gw_hot.shared->graph_slots[5].nodes);
}

static const struct gw_digest_plan plan = {.count = 1, .end = 4, .word = {{0, 0, 0, 4}}};

/* The argument that the first launch of configuration @p id had. */
static void first_argument(uint32_t id, uint32_t n)
{
	struct gw_arguments *a = test_malloc(sizeof(*a));

	a->size = 4;
	memcpy(a->bytes, &n, 4);
	gw_config_entry(id)->arguments = a;
}

static void forget_argument(uint32_t id)
{
	test_free((void *)(uintptr_t)gw_config_entry(id)->arguments);
}

TEST_WITH(a_digest_of_the_first_arguments_goes_on_from_there, start, NULL)
{
	struct gw_event e = fixture_launch(1);
	const uint32_t n[2] = {5}, other[2] = {6};

	successor[0] = successor[1] = 0;
	atomic_store(&gw_hot.shared->kernels[1].plan, &plan);
	gw_launch_event(thread, &e);
	first_argument(1, n[0]);
	e.digest = gw_digest_of_buffer(&plan, (const unsigned char *)other, 4);
	gw_launch_event(thread, &e);
	assert_int_equal(configured, 2);
	assert_int_equal(successor[0], 0);
	e.digest = gw_digest_of_buffer(&plan, (const unsigned char *)n, 4);
	gw_launch_event(thread, &e);
	assert_int_equal(configured, 3);
	assert_int_equal(successor[0], 3);
	assert_int_equal(successor[1], 1);
	assert_int_equal(configured_as.config.digest, e.digest);
	forget_argument(1);
}

/* Of several that the code does not distinguish. */
TEST_WITH(a_digest_goes_on_from_the_provisional_one_most_often_measured, start, NULL)
{
	struct gw_event e = fixture_launch(1);
	const uint32_t n[2] = {5};

	successor[0] = 0;
	atomic_store(&gw_hot.shared->kernels[1].plan, &plan);
	for (uint32_t id = 1; id <= 4; id++) {
		e.digest = GW_DIGEST_IS_PROVISIONAL | id;
		gw_launch_event(thread, &e);
		first_argument(id, id == 4 ? 6 : n[0]);
		gw_config_entry(id)->measured = (uint64_t[]){1, 3, 2, 9}[id - 1];
	}
	assert_int_equal(successor[0], 0);
	e.digest = gw_digest_of_buffer(&plan, (const unsigned char *)n, 4);
	gw_launch_event(thread, &e);
	assert_int_equal(configured, 5);
	assert_int_equal(successor[0], 5);
	assert_int_equal(successor[1], 2);
	for (uint32_t id = 1; id <= 4; id++)
		forget_argument(id);
}

TEST_WITH(without_the_first_arguments_nothing_is_gone_on_from, start, NULL)
{
	struct gw_event e = fixture_launch(1);
	const uint32_t n[2] = {5};

	successor[0] = 0;
	atomic_store(&gw_hot.shared->kernels[1].plan, &plan);
	gw_launch_event(thread, &e);
	e.digest = gw_digest_of_buffer(&plan, (const unsigned char *)n, 4);
	gw_launch_event(thread, &e);
	assert_int_equal(configured, 2);
	assert_int_equal(successor[0], 0);
}

/* An activity record does not tell digests: the launch that was written without it has one. */
TEST_WITH(a_record_is_that_of_a_launch_with_any_digest, start, NULL)
{
	struct gw_activity a = fixture_record(5);
	struct gw_event e = fixture_launch(1);

	fixture_activity(true);
	e.digest = 77;
	gw_launch_event(thread, &e); /* in a stream whose number is not known */
	assert_int_equal(launch_count, 1);
	gw_join_record(&a);
	gw_launches_measured(true);
	assert_int_equal(launch_count, 1);
}

/* The same kernel, launched into streams of two GPUs and into one whose GPU is not known. */
TEST_WITH(a_configuration_belongs_to_the_gpu_of_its_stream, start, NULL)
{
	struct gw_event e = fixture_launch(1),
			g = {.kind = GW_EVENT_GRAPH, .kernel = graph(1), .stream = 4};

	for (uint32_t slot = 3; slot <= 5; slot++)
		gw_hot.shared->stream_slots[slot].device = slot < 5 ? (int)slot - 3 : -1;
	for (uint32_t slot = 3; slot <= 5; slot++) {
		e.stream = (uint16_t)slot;
		gw_launch_event(thread, &e);
		assert_int_equal(configured, slot - 2);
		assert_int_equal(configured_on, slot < 5 ? slot - 2 : 0);
		gw_launch_event(thread, &e);
		assert_int_equal(launches[launch_count - 1].config, slot - 2);
	}
	/* A cell of the other GPU's, met by a hash that collides, is not this launch's. */
	e.stream = 3;
	e.config = gw_cell_config(2, GW_TIER_STEADY, GW_SOURCE_NONE);
	e.predicted = 100;
	gw_launch_event(thread, &e);
	assert_int_equal(launches[launch_count - 1].config, 1);
	assert_true(isnan(launches[launch_count - 1].predicted));
	gw_launch_event(thread, &g); /* its node's GPU is not known: that of the launch */
	assert_int_equal(configured_on, 2);
	gw_hot.shared->graph_slots[5].nodes[0].config_id = 0;
	gw_hot.shared->graph_slots[5].nodes[0].device = 1;
	gw_launch_event(thread, &g);
	assert_int_equal(configured_on, 1);
	free(gw_hot.shared->graph_slots[5].nodes);
}

/* What the predictor learns is in the record, so that a replay can tell it the same. */
TEST_WITH(what_is_learnt_is_what_the_record_says, start, NULL)
{
	struct gw_activity a = fixture_record(77);
	struct gw_event e = fixture_launch(1);

	fixture_activity(true);
	sm_hz = 1.5e9;
	e.flags = GW_EVENT_CORRELATED;
	e.config = 77;
	answered_known = 3;
	gw_launch_event(thread, &e);
	gw_join_record(&a);
	gw_launches_measured(true);
	assert_true(observed.seconds == 1500 * 1e-9);
	assert_true(observed.exclusive);
	assert_true(observed.predicted == 5000.f * 1e-9 && observed.sm_hz == 1.5e9);
	assert_int_equal(observed.tier, GW_TIER_COLD);
	assert_int_equal(observed.work, GW_SOURCE_COUNTED);
}

static void measured_at(uint32_t id, uint64_t start_ns)
{
	struct gw_activity a = fixture_record(id);
	struct gw_event e = fixture_launch(1);

	e.flags = GW_EVENT_CORRELATED;
	e.config = id;
	a.end += start_ns - a.start;
	a.start = start_ns;
	gw_launch_event(thread, &e);
	gw_join_record(&a);
	gw_launches_measured(false);
}

/* Else nothing would be learnt until the clock is where it was. */
TEST_WITH(kernels_of_before_a_step_back_do_not_overlap_those_after_it, start, NULL)
{
	static const uint64_t LATE = 3600000000000, EARLY = 5000000000;

	fixture_activity(true);
	measured_at(1, LATE);
	assert_true(observed.exclusive);
	measured_at(2, EARLY);
	assert_false(observed.exclusive);
	gw_launches_clock_set((int64_t)EARLY - (int64_t)LATE);
	measured_at(3, EARLY);
	assert_true(observed.exclusive);
	measured_at(4, EARLY);
	assert_false(observed.exclusive);
}

/* Its correlation id takes the place of what the cell said: that is kept beside it. */
TEST_WITH(a_correlated_launch_keeps_what_its_cell_said, start, NULL)
{
	struct gw_activity a = fixture_record(0x3000004d);
	struct gw_event e = fixture_launch(1);

	fixture_activity(true);
	e.known = 3;
	e.predicted = 1400;
	e.low = 1300;
	e.high = 1600;
	e.config = gw_cell_config(1, GW_TIER_WARM, GW_SOURCE_SCALED);
	gw_event_correlate(&e, a.correlation);
	assert_int_equal(gw_event_kind(&e), GW_EVENT_KERNEL);
	gw_launch_event(thread, &e);
	gw_join_record(&a);
	gw_launches_measured(true);
	assert_true(observed.predicted == 1400.f * 1e-9 && observed.high == 1600.f * 1e-9);
	assert_int_equal(observed.tier, GW_TIER_WARM);
	assert_int_equal(observed.work, GW_SOURCE_SCALED);
	assert_int_equal(launches[0].tier, GW_TIER_WARM);
	assert_false(launches[0].flags & GW_LAUNCH_LATE);
}

/* Two configurations whose cells collide: the launch read the other's. */
TEST_WITH(a_prediction_of_another_configuration_is_not_used, start, NULL)
{
	struct gw_event e = fixture_launch(1);

	gw_launch_event(thread, &e);
	e.config = launches[0].config;
	e.grid[0] = 3;
	e.predicted = 100;
	gw_launch_event(thread, &e);
	assert_true(isnan(launches[1].predicted));
	assert_true(launches[1].config != launches[0].config);
	e.config = 99999; /* never handed out */
	gw_launch_event(thread, &e);
	assert_int_equal(launches[2].config, launches[1].config);
}

TEST_WITH(an_unknown_kernel_is_logged_without_a_configuration, start, NULL)
{
	struct gw_event e = fixture_launch(0);

	gw_launch_event(thread, &e);
	assert_int_equal(launch_count, 1);
	assert_int_equal(launches[0].config, 0);
}

TEST_WITH(a_graph_launch_is_its_enabled_nodes, start, NULL)
{
	struct gw_event e = {.kind = GW_EVENT_GRAPH, .kernel = graph(3)};

	gw_launch_event(thread, &e);
	assert_int_equal(launch_count, 2);
	assert_true(launches[0].node && launches[1].node && launches[0].node != launches[1].node);
	assert_int_equal(launches[0].flags, GW_LAUNCH_GRAPH);
	assert_int_equal(gw_config_entry(launches[1].config)->config.grid.x, 3);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_graph_kernels]), 2);
	free(gw_hot.shared->graph_slots[5].nodes);
}

/* What stood published at the call was made before it; what is made on request was not. */
TEST_WITH(a_node_is_predicted_before_the_launch_by_what_stood_published, start, NULL)
{
	struct gw_event e = {.kind = GW_EVENT_GRAPH, .kernel = graph(1), .known = 7};

	observations = 7;
	answered_known = 7;
	gw_launch_event(thread, &e);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_predicted]), 0);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_predicted_late]), 1);
	answered_published = true;
	gw_launch_event(thread, &e);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_predicted]), 1);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_predicted_late]), 1);
	assert_int_equal(asked_known, 7);
	assert_int_equal(launch_count, 2);
	assert_true(launches[0].flags & GW_LAUNCH_LATE);
	assert_false(launches[1].flags & GW_LAUNCH_LATE);
	free(gw_hot.shared->graph_slots[5].nodes);
}

/* Lost records of an hour, at a million launches a second, are more than there is room to count. */
TEST_WITH(launches_without_records_stay_so_beyond_31_bits, start, NULL)
{
	int32_t *unpaired = gw_config_entry(0)->unpaired;

	unpaired[0] = INT32_MAX;
	assert_true(gw_unpaired_launch(0, false));
	assert_int_equal(unpaired[0], INT32_MAX);
	assert_false(gw_unpaired_record(0, false, 1));
	unpaired[0] = 0;
}

TEST_WITH(launches_go_to_sums_once_the_log_is_full, start, NULL)
{
	struct gw_event e = fixture_launch(1);

	log_full = true;
	gw_launch_event(thread, &e);
	assert_int_equal(launch_count, 0);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_aggregated]), 1);
}

TEST_WITH(graphs_and_communicators_beyond_their_tables_are_said, start, NULL)
{
	struct gw_graph_time time = {.graph = GW_CONFIGS_MAX - 1, .seconds = 1e-3};
	struct gw_reason why;

	gw_degraded_reset();
	gw_episodes_start();
	gw_episodes_graph(&time);
	for (uint32_t i = 1; i <= GW_COMMUNICATORS; i++)
		assert_int_equal(gw_communicator_new(5, 0, 2), i);
	assert_false(gw_degraded_get(0, &why));
	time.graph++;
	gw_episodes_graph(&time);
	assert_true(gw_degraded_get(0, &why) && why.code == GW_DEGRADED_TABLE_FULL);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_table_full]), 1);
	assert_int_equal(gw_communicator_new(5, 0, 2), 0);
	assert_true(gw_degraded_get(1, &why) && why.code == GW_DEGRADED_TABLE_FULL);
}

int main(void)
{
	return tests_run(NULL, NULL);
}
