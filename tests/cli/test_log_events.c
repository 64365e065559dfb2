/* A log as events: what ids stand for, and what is left where parts of it are lost. */
#include "cli/log/events.h"
#include "cli/log/gaps.h"
#include "cli/spent/ranges.h"
#include "predictor/core/index.h"
#include "predictor/core/types.h"
#include "tests/cli/log_builder.h"
#include "tests/test.h"

enum { EVENTS = 32 };

static struct log_event seen[EVENTS];
static size_t count;

static void keep(void *arg, const struct log_event *event)
{
	(void)arg;
	assert_true(count < EVENTS);
	seen[count] = *event;
	seen[count++].record = NULL; /* it does not outlive the call */
}

/* Read what @p b has, and free it. */
static struct gw_log read_all(struct lb *b)
{
	struct gw_log log;

	count = 0;
	lb_end(b);
	lb_block(b);
	assert_true(gw_log_events(&log, "test", b->data, b->length, keep, NULL));
	lb_free(b);
	return log;
}

/* The @p n-th event of a kind, from 0. */
static const struct log_event *event_of(enum gw_record_kind kind, unsigned n)
{
	for (size_t i = 0; i < count; i++)
		if (seen[i].kind == kind && !n--)
			return &seen[i];
	return NULL;
}

TEST(ids_become_positions)
{
	struct lb b = {0};
	struct gw_log log;

	lb_header(&b, 1, 0, "x");
	lb_device(&b, 7, "A", "a1");
	lb_device(&b, 9, "B", "b1");
	lb_stream(&b, 4, 9);
	lb_kernel(&b, 70, "first");
	lb_kernel(&b, 90, "second");
	lb_config_on(&b, 5, 90, 64, 7, false);
	lb_config_on(&b, 6, 90, 65, 7, false);
	lb_add_launch(&b, lb_launch(6, 1000, 500, NAN, 0)); /* of stream 1, which is lost */
	log = read_all(&b);
	assert_string_equal(log.text[GW_TEXT_command], "x");
	assert_string_equal(log.names[log.configs[1].kernel].mangled, "second");
	assert_int_equal(log.configs[1].ordinal, 1);
	assert_int_equal(event_of(GW_RECORD_CONFIG, 1)->config, 1);
	assert_int_equal(event_of(GW_RECORD_STREAM, 0)->gpu, 1);
	assert_int_equal(event_of(GW_RECORD_LAUNCH, 0)->config, 1);
	assert_int_equal(event_of(GW_RECORD_LAUNCH, 0)->stream_gpu, GW_INDEX_NONE);
	assert_int_equal(event_of(GW_RECORD_LAUNCH, 0)->gpu, 0);
	gw_log_free(&log);
}

/* Those of writers are 1, 2, 3; a file that lost some has others. */
TEST(ids_may_have_gaps)
{
	static const uint32_t ids[] = {1, 2, 90, 91, UINT32_MAX};
	enum { COUNT = sizeof(ids) / sizeof(*ids) };
	struct lb b = {0};
	struct gw_log log;

	lb_header(&b, 1, 0, "x");
	lb_kernel(&b, 1, "k");
	for (uint32_t i = 0; i < COUNT; i++)
		lb_config(&b, ids[i], 1, 64 + i, 128);
	for (uint32_t i = 0; i < COUNT; i++)
		lb_add_launch(&b, lb_launch(ids[i], 1000 * i, 500, NAN, 0));
	lb_add_launch(&b, lb_launch(0, 9000, 500, NAN, 0));
	lb_add_launch(&b, lb_launch(3, 9500, 500, NAN, 0));
	log = read_all(&b);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(event_of(GW_RECORD_LAUNCH, i)->config, i);
	assert_int_equal(event_of(GW_RECORD_LAUNCH, COUNT)->config, GW_INDEX_NONE);
	assert_int_equal(event_of(GW_RECORD_LAUNCH, COUNT + 1)->config, GW_INDEX_NONE);
	gw_log_free(&log);
}

/* Launches are counted even so; nothing else can be said of what is not there. */
TEST(only_launches_survive_what_they_are_of)
{
	const struct gw_record_quantity part = {.source = GW_SOURCE_STATIC, .value = 1};
	struct gw_record_slow slow = {.config = 5};
	struct gw_record_clock clock = {.device = 3};
	struct gw_record_analysis all = {0}, one = {.config = 5};
	struct gw_record_aggregate sum = {.config = 5, .launches = 9};
	struct lb b = {0};
	struct gw_log log;

	lb_header(&b, 1, 0, "x");
	lb_config(&b, 5, 1, 64, 128); /* of a kernel that is lost */
	lb_work(&b, 5, 0, &part, 1);
	lb_record(&b, GW_RECORD_SLOW, &slow, sizeof(slow), NULL, 0);
	lb_record(&b, GW_RECORD_CLOCK, &clock, sizeof(clock), NULL, 0);
	lb_record(&b, GW_RECORD_ANALYSIS, &one, sizeof(one), "", 1);
	lb_record(&b, GW_RECORD_ANALYSIS, &all, sizeof(all), "off", 4);
	lb_record(&b, GW_RECORD_AGGREGATE, &sum, sizeof(sum), NULL, 0);
	lb_add_launch(&b, lb_launch(5, 1000, 500, 500, 0));
	log = read_all(&b);
	assert_int_equal(log.config_count, 0);
	assert_null(event_of(GW_RECORD_CONFIG, 0));
	assert_null(event_of(GW_RECORD_WORK, 0));
	assert_null(event_of(GW_RECORD_SLOW, 0));
	assert_null(event_of(GW_RECORD_CLOCK, 0));
	assert_non_null(event_of(GW_RECORD_ANALYSIS, 0));
	assert_null(event_of(GW_RECORD_ANALYSIS, 1));
	assert_int_equal(event_of(GW_RECORD_AGGREGATE, 0)->config, GW_INDEX_NONE);
	assert_int_equal(event_of(GW_RECORD_LAUNCH, 0)->config, GW_INDEX_NONE);
	assert_int_equal(log.learnt, 1);
	gw_log_free(&log);
}

/* Its version is lost with it: what a launch says of itself is no leftover of version 1. */
TEST(a_launch_is_believed_without_a_header)
{
	struct gw_record_launch silent = lb_launch(1, 9000, 500, 500, 0);
	struct lb b = {0};
	struct gw_log log;

	silent.tier = 0;
	lb_kernel(&b, 1, "k");
	lb_config(&b, 1, 1, 64, 128);
	lb_add_launch(&b, lb_launch(1, 1000, 500, 500, 0));
	lb_add_launch(&b, silent);
	log = read_all(&b);
	assert_false(log.status.header);
	assert_int_equal(event_of(GW_RECORD_LAUNCH, 0)->tier, GW_TIER_STEADY);
	assert_int_equal(event_of(GW_RECORD_LAUNCH, 1)->tier, GW_TIER_COLD);
	gw_log_free(&log);
}

/* But the log says why it has none. */
TEST(a_profile_of_no_version_is_no_event)
{
	struct lb b = {0};
	struct gw_log log;

	lb_header(&b, 1, 0, "x");
	lb_device(&b, 1, "A", "a1");
	lb_profile(&b, 1, "{\"gpuwatch-profile\": 0}", 6);
	lb_kernel(&b, 1, "k");
	log = read_all(&b);
	assert_null(event_of(GW_RECORD_PROFILE, 0));
	assert_non_null(log.gpus[0].known.why);
	assert_null(gw_log_device(&log, 0));
	gw_log_free(&log);
}

/* Gaps between kernels of a log, and the NVTX ranges that hold launches. */
/* What passes between kernels, put down to the launch that ends it. */

/* A launch called at @p call that ran from @p start to @p end, in us. */
static struct gw_record_launch ran(uint64_t call, uint64_t start, uint64_t end)
{
	return (struct gw_record_launch){.flags = GW_LAUNCH_MEASURED,
					 .call_ns = call * 1000,
					 .start_ns = start * 1000,
					 .duration_ns = (end - start) * 1000};
}

struct timed {
	struct log_gaps gaps;
	struct log_timeline timeline;
};

static void take(struct timed *c, struct gw_record_launch launch)
{
	log_gaps_add(&c->gaps, &c->timeline, &launch, (struct log_caller){0});
}

static void assert_gap(const struct timed *c, enum gw_gap kind, unsigned gaps, double us)
{
	assert_int_equal(c->gaps.count[kind], gaps);
	assert_true(c->gaps.time[kind] == us * 1000);
}

TEST(a_gap_is_late_where_its_launch_was_called_in_it)
{
	struct timed c = {0};

	take(&c, ran(100, 110, 120));
	take(&c, ran(101, 123, 130)); /* queued behind it */
	take(&c, ran(150, 160, 170)); /* called when nothing ran */
	log_gaps_end(&c.gaps, &c.timeline);
	assert_gap(&c, GW_GAP_QUEUED, 1, 3);
	assert_gap(&c, GW_GAP_LATE, 1, 30);
	assert_gap(&c, GW_GAP_PAUSED, 0, 0);
	assert_true(c.gaps.busy == 27000);
	assert_true(log_gaps_span(&c.gaps) == 60000);
}

TEST(graphs_and_pauses_are_distinguished)
{
	struct timed c = {0};
	struct gw_record_launch node = ran(150, 160, 170);

	node.flags |= GW_LAUNCH_GRAPH;
	take(&c, ran(100, 110, 120));
	take(&c, node);
	take(&c, ran(5000, 5010, 5020));
	log_gaps_end(&c.gaps, &c.timeline);
	assert_gap(&c, GW_GAP_LATE_GRAPH, 1, 40);
	assert_gap(&c, GW_GAP_LATE, 0, 0);
	assert_gap(&c, GW_GAP_PAUSED, 1, 4840);
	assert_true(log_gaps_span(&c.gaps) == 70000);
}

/* Streams beside each other: logged as they ended, and busy time counts once. */
TEST(overlapping_kernels_leave_no_gap_whatever_their_order)
{
	struct timed c = {0};

	take(&c, ran(100, 120, 130));
	take(&c, ran(100, 110, 140));
	take(&c, ran(100, 135, 150));
	take(&c, ran(100, 145, 148));
	log_gaps_end(&c.gaps, &c.timeline);
	for (unsigned i = 0; i < GW_GAPS; i++)
		assert_gap(&c, (enum gw_gap)i, 0, 0);
	assert_true(c.gaps.busy == 40000);
}

TEST(launches_without_a_start_say_nothing)
{
	struct timed c = {0};
	struct gw_record_launch events = ran(100, 110, 120), unmeasured = ran(100, 110, 120);

	events.start_ns = 0;
	unmeasured.flags = 0;
	take(&c, events);
	take(&c, unmeasured);
	log_gaps_end(&c.gaps, &c.timeline);
	assert_true(log_gaps_span(&c.gaps) == 0);
}

/* More than are held back to be put in order, and a second log of the same GPU. */
TEST(long_logs_add_up)
{
	struct timed c = {0};

	for (unsigned log = 0; log < 2; log++) {
		for (unsigned i = 0; i < 10000; i++)
			take(&c, ran(1, 10 + 12 * i, 20 + 12 * i));
		log_gaps_end(&c.gaps, &c.timeline);
	}
	assert_gap(&c, GW_GAP_QUEUED, 2 * 9999, 2 * 9999 * 2.0);
	assert_true(c.gaps.busy == 2 * 10000 * 10000.0);
}

/* Which NVTX range a launch was called in. */

static struct log_ranges ranges;

static void name(uint32_t id, uint32_t domain, const char *text)
{
	log_range_name(&ranges, &(struct gw_record_range_name){.id = id, .domain = domain}, text);
}

static void change(uint32_t thread, uint64_t ns, uint32_t range)
{
	log_range_change(&ranges, thread, &(struct gw_record_range){.ns = ns, .name = range});
}

TEST(the_latest_change_before_the_call_holds)
{
	name(1, 0, "outer");
	name(2, 0, "inner");
	change(0, 100, 1);
	change(0, 200, 2);
	change(0, 300, 1);
	change(0, 400, 0);
	assert_string_equal(log_range_at(&ranges, 0, 99), "[no range]");
	assert_string_equal(log_range_at(&ranges, 0, 100), "outer");
	assert_string_equal(log_range_at(&ranges, 0, 299), "inner");
	assert_string_equal(log_range_at(&ranges, 0, 300), "outer");
	assert_string_equal(log_range_at(&ranges, 0, 400), "[no range]");
	assert_string_equal(log_range_at(&ranges, 1, 250), "[no range]");
	log_ranges_free(&ranges);
}

TEST(the_process_stands_in_where_the_thread_is_in_none)
{
	name(1, 0, "epoch");
	name(2, 0, "step");
	change(GW_INDEX_NONE, 100, 1);
	change(3, 200, 2);
	change(3, 300, 0);
	assert_string_equal(log_range_at(&ranges, 3, 250), "step");
	assert_string_equal(log_range_at(&ranges, 3, 350), "epoch");
	assert_string_equal(log_range_at(&ranges, GW_INDEX_NONE, 350), "epoch");
	log_ranges_free(&ranges);
}

TEST(names_say_their_domain_and_lost_ones_are_unknown)
{
	name(1, 0, "layers");
	name(2, 1, "conv");
	name(3, 0, "");
	name(LOG_RANGE_NAMES, 0, "beyond");
	change(0, 100, 2);
	change(0, 200, 3);
	change(0, 300, 9);
	change(0, 400, LOG_RANGE_NAMES);
	assert_string_equal(log_range_at(&ranges, 0, 100), "layers: conv");
	assert_string_equal(log_range_at(&ranges, 0, 200), "[unnamed]");
	assert_string_equal(log_range_at(&ranges, 0, 300), "[unknown]");
	assert_string_equal(log_range_at(&ranges, 0, 400), "[unknown]");
	assert_string_equal(log_range_at(&ranges, 0, 0), "[unknown]"); /* a call without a time */
	log_ranges_free(&ranges);
}

TEST(of_too_many_changes_the_latest_are_kept)
{
	name(1, 0, "one");
	name(2, 0, "two");
	for (uint32_t i = 0; i <= LOG_RANGE_CHANGES; i++)
		change(0, 10 + i, 1 + i % 2);
	assert_int_equal(ranges.timelines[1].count, LOG_RANGE_CHANGES / 2 + 1);
	assert_string_equal(log_range_at(&ranges, 0, 10 + LOG_RANGE_CHANGES), "one");
	assert_string_equal(log_range_at(&ranges, 0, 9 + LOG_RANGE_CHANGES), "two");
	log_ranges_free(&ranges);
}

TESTS_MAIN()
