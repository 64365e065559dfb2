/* SPDX-License-Identifier: Apache-2.0 */
/* A log as events: what ids stand for, and what is left of events whose parts are lost. */
#include "cli/log/events.h"
#include "tests/cli/log_builder.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

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

static void ids_become_positions(void **state)
{
	struct lb b = {0};
	struct gw_log log;

	(void)state;
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
static void ids_may_have_gaps(void **state)
{
	static const uint32_t ids[] = {1, 2, 90, 91, UINT32_MAX};
	enum { COUNT = sizeof(ids) / sizeof(*ids) };
	struct lb b = {0};
	struct gw_log log;

	(void)state;
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
static void only_launches_survive_what_they_are_of(void **state)
{
	const struct gw_record_quantity part = {.source = GW_SOURCE_STATIC, .value = 1};
	struct gw_record_slow slow = {.config = 5};
	struct gw_record_clock clock = {.device = 3};
	struct gw_record_analysis all = {0}, one = {.config = 5};
	struct gw_record_aggregate sum = {.config = 5, .launches = 9};
	struct lb b = {0};
	struct gw_log log;

	(void)state;
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
static void a_launch_is_believed_without_a_header(void **state)
{
	struct gw_record_launch silent = lb_launch(1, 9000, 500, 500, 0);
	struct lb b = {0};
	struct gw_log log;

	(void)state;
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
static void a_profile_of_no_version_is_no_event(void **state)
{
	struct lb b = {0};
	struct gw_log log;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(ids_become_positions),
	        cmocka_unit_test(ids_may_have_gaps),
	        cmocka_unit_test(only_launches_survive_what_they_are_of),
	        cmocka_unit_test(a_launch_is_believed_without_a_header),
	        cmocka_unit_test(a_profile_of_no_version_is_no_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
