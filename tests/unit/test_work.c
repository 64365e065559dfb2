/* What is known of a configuration's work: who is believed, and what log and predictor get. */
#include "preload/analysis/known_work.h"

#include "preload/worker/launches.h"
#include "preload/live/log.h"
#include "preload/maps/memory.h"
#include "preload/runtime/options.h"
#include "preload/worker/registry.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

enum { CONFIGS = 100 };

static struct {
	struct gw_record_work head;
	struct gw_record_quantity part[GW_WORK_FIELDS];
} written, first; /* the last one, and that before */
static struct gw_work reported,
	before; /* last reported to the predictor, and the time before that */
static uint32_t records, last_reported;

/* What the work stands on. */
static bool ring;
static struct gw_config_entry entries[CONFIGS + 1];

bool gw_log_ring(void)
{
	return ring;
}

struct gw_config_entry *gw_config_entry(uint32_t id)
{
	return &entries[id];
}

uint32_t gw_config_count(void)
{
	return CONFIGS;
}

static struct gw_predictor_set *predictors(void)
{
	return NULL;
}

uint64_t gw_predictor_set_observations(const struct gw_predictor_set *p)
{
	(void)p;
	return 77;
}

void gw_predictor_set_work(struct gw_predictor_set *p, uint32_t config, const struct gw_work *work)
{
	(void)p;
	last_reported = config;
	before = reported;
	reported = *work;
}

void gw_log_write(enum gw_record_kind kind, void *head, size_t size, const void *tail,
		  size_t tail_size)
{
	assert_int_equal(kind, GW_RECORD_WORK);
	assert_int_equal(size, sizeof(written.head));
	assert_true(tail_size <= sizeof(written.part));
	first = written;
	memcpy(&written.head, head, size);
	memcpy(written.part, tail, tail_size);
	assert_int_equal(tail_size, written.head.count * sizeof(*written.part));
	records++;
}

static int start(void **state)
{
	fixture_start();
	gw_work_start();
	memset(&written, 0, sizeof(written));
	records = last_reported = 0;
	ring = false;
	memset(entries, 0, sizeof(entries));
	return 0;
}

static void offer(uint32_t config, enum gw_work_field field, double value, enum gw_source source)
{
	struct gw_work w;

	gw_work_clear(&w);
	w.q[field] = (struct gw_quantity){value, source, 0.7f};
	gw_work_offer(config, &w);
}

static double value_of(uint32_t config, enum gw_work_field field)
{
	return gw_work_row(config, field).value;
}

TEST_WITH(nothing_is_known_before_an_offer, start, NULL)
{
	assert_int_equal(gw_work_row(0, GW_WORK_pipe_fma).source, GW_SOURCE_NONE);
	assert_true(isnan(value_of(3, GW_WORK_pipe_fma)));
	assert_true(isnan(value_of(UINT32_MAX, GW_WORK_pipe_fma)));
	gw_work_publish(predictors());
	assert_int_equal(records, 0);
}

TEST_WITH(the_surer_source_wins_field_by_field, start, NULL)
{
	offer(3, GW_WORK_inst_executed, 100, GW_SOURCE_COUNTED);
	offer(3, GW_WORK_inst_executed, 50, GW_SOURCE_STATIC);
	offer(3, GW_WORK_pipe_fma, 20, GW_SOURCE_STATIC);
	assert_true(value_of(3, GW_WORK_inst_executed) == 100);
	assert_true(value_of(3, GW_WORK_pipe_fma) == 20);
	offer(3, GW_WORK_pipe_fma, 30, GW_SOURCE_COUNTED);
	assert_true(value_of(3, GW_WORK_pipe_fma) == 30);
	assert_int_equal(gw_work_row(3, GW_WORK_pipe_fma).source, GW_SOURCE_COUNTED);
}

TEST_WITH(a_newer_count_replaces_the_older_one, start, NULL)
{
	offer(3, GW_WORK_dram_read_bytes, 100, GW_SOURCE_COUNTED);
	offer(3, GW_WORK_dram_read_bytes, 90, GW_SOURCE_COUNTED);
	assert_true(value_of(3, GW_WORK_dram_read_bytes) == 90);
}

/* Its log is to stay small for months. */
TEST_WITH(in_mode_watch_a_count_that_hardly_moves_is_no_news, start, NULL)
{
	gw_options.mode = GW_MODE_WATCH;
	offer(3, GW_WORK_dram_read_bytes, 1000, GW_SOURCE_COUNTED);
	gw_work_publish(predictors());
	offer(3, GW_WORK_dram_read_bytes, 1010, GW_SOURCE_COUNTED);
	offer(3, GW_WORK_dram_read_bytes, 990, GW_SOURCE_COUNTED);
	gw_work_publish(predictors());
	assert_int_equal(records, 1);
	offer(3, GW_WORK_dram_read_bytes, 1021, GW_SOURCE_COUNTED);
	gw_work_publish(predictors());
	assert_int_equal(records, 2);
	assert_true(value_of(3, GW_WORK_dram_read_bytes) == 1021);
	gw_options.mode = GW_MODE_AUDIT;
	offer(3, GW_WORK_dram_read_bytes, 1022, GW_SOURCE_COUNTED);
	assert_true(value_of(3, GW_WORK_dram_read_bytes) == 1022);
}

TEST_WITH(what_is_no_number_or_of_no_configuration_changes_nothing, start, NULL)
{
	offer(3, GW_WORK_inst_executed, 100, GW_SOURCE_STATIC);
	offer(3, GW_WORK_inst_executed, NAN, GW_SOURCE_COUNTED);
	offer(3, GW_WORK_inst_executed, INFINITY, GW_SOURCE_COUNTED);
	offer(3, GW_WORK_inst_executed, 5, GW_SOURCE_NONE);
	assert_true(value_of(3, GW_WORK_inst_executed) == 100);
	offer(0, GW_WORK_inst_executed, 100, GW_SOURCE_STATIC);
	offer(CONFIGS + 1, GW_WORK_inst_executed, 100, GW_SOURCE_STATIC);
	assert_true(isnan(value_of(CONFIGS + 1, GW_WORK_inst_executed)));
	gw_work_publish(predictors());
	assert_int_equal(records, 1);
}

TEST_WITH(news_are_published_once_with_all_that_is_known, start, NULL)
{
	offer(3, GW_WORK_inst_executed, 100, GW_SOURCE_COUNTED);
	offer(3, GW_WORK_pipe_fma, 20, GW_SOURCE_STATIC);
	gw_work_publish(predictors());
	assert_int_equal(records, 1);
	assert_int_equal(written.head.config, 3);
	assert_int_equal(written.head.count, 2);
	assert_int_equal(written.head.known, 77);
	assert_int_equal(written.part[0].field, GW_WORK_inst_executed);
	assert_int_equal(written.part[0].source, GW_SOURCE_COUNTED);
	assert_true(written.part[0].value == 100 && written.part[0].confidence == 0.7f);
	assert_int_equal(written.part[1].field, GW_WORK_pipe_fma);
	assert_int_equal(last_reported, 3);
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		assert_int_equal(reported.q[i].source, gw_work_row(3, i).source);
	assert_true(reported.q[GW_WORK_pipe_fma].value == 20);
	gw_work_publish(predictors());
	offer(3, GW_WORK_inst_executed, 100, GW_SOURCE_COUNTED); /* the same again is no news */
	gw_work_publish(predictors());
	assert_int_equal(records, 1);
	offer(3, GW_WORK_inst_executed, 101, GW_SOURCE_COUNTED);
	gw_work_publish(predictors());
	assert_int_equal(records, 2);
	/* Into the log only what changed, to the predictor all of it. */
	assert_int_equal(written.head.count, 1);
	assert_int_equal(written.part[0].field, GW_WORK_inst_executed);
	assert_true(written.part[0].value == 101);
	assert_true(reported.q[GW_WORK_pipe_fma].value == 20);
}

static struct gw_quantity row(const struct gw_work *work, enum gw_work_field field)
{
	return work->q[field];
}

/* The analysis comes late: what it says of a row that was counted reaches the predictor as well. */
TEST_WITH(code_read_after_a_count_is_reported_beside_it, start, NULL)
{
	offer(3, GW_WORK_inst_executed, 100, GW_SOURCE_COUNTED);
	gw_work_publish(predictors());
	assert_int_equal(records, 1);
	offer(3, GW_WORK_inst_executed, 50, GW_SOURCE_STATIC);
	gw_work_publish(predictors());
	assert_int_equal(records, 3);
	assert_int_equal(row(&before, GW_WORK_inst_executed).source, GW_SOURCE_STATIC);
	assert_true(row(&before, GW_WORK_inst_executed).value == 50);
	assert_int_equal(written.head.count, 1); /* the count stands again in that row */
	assert_true(written.part[0].value == 100);
	assert_int_equal(row(&reported, GW_WORK_inst_executed).source, GW_SOURCE_COUNTED);
	assert_true(row(&reported, GW_WORK_inst_executed).value == 100);
	assert_true(value_of(3, GW_WORK_inst_executed) == 100);
	/* Once is enough. */
	offer(3, GW_WORK_inst_executed, 50, GW_SOURCE_STATIC);
	offer(3, GW_WORK_pipe_fma, 7, GW_SOURCE_COUNTED);
	gw_work_publish(predictors());
	assert_int_equal(records, 4);
}

TEST_WITH(code_and_count_of_one_cycle_are_both_reported, start, NULL)
{
	offer(3, GW_WORK_inst_executed, 50, GW_SOURCE_STATIC);
	offer(3, GW_WORK_inst_executed, 100, GW_SOURCE_COUNTED);
	gw_work_publish(predictors());
	assert_int_equal(records, 2);
	assert_true(row(&before, GW_WORK_inst_executed).value == 50);
	assert_true(row(&reported, GW_WORK_inst_executed).value == 100);
}

TEST_WITH(a_count_after_the_code_was_published_is_one_record, start, NULL)
{
	offer(3, GW_WORK_inst_executed, 50, GW_SOURCE_STATIC);
	gw_work_publish(predictors());
	offer(3, GW_WORK_inst_executed, 100, GW_SOURCE_COUNTED);
	gw_work_publish(predictors());
	assert_int_equal(records, 2);
}

TEST_WITH(what_code_says_is_kept_whatever_was_counted, start, NULL)
{
	struct gw_work by_code;

	offer(3, GW_WORK_inst_executed, 50, GW_SOURCE_STATIC);
	offer(3, GW_WORK_inst_executed, 100, GW_SOURCE_COUNTED);
	offer(3, GW_WORK_pipe_fma, 10, GW_SOURCE_COUNTED);
	offer(3, GW_WORK_pipe_fma, 5, GW_SOURCE_STATIC);
	offer(3, GW_WORK_pipe_alu, 4, GW_SOURCE_STATIC);
	offer(3, GW_WORK_pipe_xu, 3, GW_SOURCE_COUNTED);
	gw_work_by_code(3, &by_code);
	assert_true(row(&by_code, GW_WORK_inst_executed).value == 50);
	assert_true(row(&by_code, GW_WORK_pipe_fma).value == 5);
	assert_true(row(&by_code, GW_WORK_pipe_alu).value == 4);
	assert_int_equal(row(&by_code, GW_WORK_pipe_xu).source, GW_SOURCE_NONE);
	gw_work_by_code(4, &by_code);
	assert_int_equal(row(&by_code, GW_WORK_pipe_alu).source, GW_SOURCE_NONE);
}

/* The predictor has it: only the log has lost it. */
TEST_WITH(work_is_written_again_where_the_log_lost_some, start, NULL)
{
	gw_work_repeat(predictors(), 0);
	for (uint32_t i = 1; i <= 3; i++)
		offer(i, GW_WORK_inst_executed, 100 * i, GW_SOURCE_COUNTED);
	gw_work_publish(predictors());
	assert_int_equal(records, 3);
	last_reported = 0;
	gw_work_repeat(predictors(), 0);
	assert_int_equal(records, 3);
	gw_work_repeat(predictors(), 1);
	assert_int_equal(records, 6);
	assert_int_equal(written.head.config, 3);
	assert_int_equal(written.head.known, 77);
	assert_true(written.part[0].value == 300);
	assert_int_equal(last_reported, 0);
	gw_work_repeat(predictors(), 1);
	assert_int_equal(records, 6);
	offer(2, GW_WORK_pipe_fma, 5, GW_SOURCE_COUNTED);
	gw_work_repeat(predictors(), 2); /* the new one is written when it is published … */
	assert_int_equal(records, 8);
	gw_work_publish(predictors());
	assert_int_equal(records, 9);
	assert_int_equal(written.head.count, 2); /* … with what was lost */
}

/* What it was in the file before goes with it. */
TEST_WITH(work_is_written_again_with_what_its_code_says, start, NULL)
{
	offer(3, GW_WORK_inst_executed, 50, GW_SOURCE_STATIC);
	offer(3, GW_WORK_pipe_fma, 9, GW_SOURCE_STATIC);
	offer(3, GW_WORK_inst_executed, 100, GW_SOURCE_COUNTED);
	gw_work_publish(predictors());
	assert_int_equal(records, 2);
	gw_work_repeat(predictors(), 1);
	assert_int_equal(records, 4);
	assert_int_equal(first.head.count, 2);
	assert_true(first.part[0].value == 50 && first.part[1].value == 9);
	assert_int_equal(written.head.count, 1);
	assert_true(written.part[0].value == 100);
}

TEST_WITH(in_a_new_file_of_a_ring_it_is_that_of_what_goes_on, start, NULL)
{
	ring = true;
	for (uint32_t i = 1; i <= 3; i++)
		offer(i, GW_WORK_inst_executed, 100 * i, GW_SOURCE_COUNTED);
	gw_work_publish(predictors());
	gw_work_repeat(predictors(), 1);
	assert_int_equal(records, 6);
	entries[2].launches = 9;
	gw_work_repeat(predictors(), 2);
	assert_int_equal(records, 7);
	assert_int_equal(written.head.config, 2);
	/* News may be in the new file already, and then the rest is to be there, too. */
	offer(3, GW_WORK_pipe_fma, 5, GW_SOURCE_COUNTED);
	gw_work_publish(predictors());
	assert_int_equal(written.head.count, 1);
	gw_work_repeat(predictors(), 3);
	assert_int_equal(records, 9);
	assert_int_equal(written.head.config, 3);
	assert_int_equal(written.head.count, 2);
	gw_work_repeat(predictors(), 4);
	assert_int_equal(records, 9);
}

TEST_WITH(an_offer_without_memory_takes_none, start, NULL)
{
	uint64_t now, copies;

	offer(1, GW_WORK_inst_executed, 1, GW_SOURCE_STATIC);
	now = gw_memory_now();
	offer(2, GW_WORK_inst_executed, 1, GW_SOURCE_STATIC);
	copies = (gw_memory_now() - now) / 2;
	now = gw_memory_now();
	/* For each room that may be left: some of what it takes is there, or all. */
	for (uint64_t left = 0; left < 4 * copies; left++) {
		uint64_t taken = gw_memory_now(), dropped = gw_counters[GW_COUNTER_works_dropped];

		gw_options.memory_max = (taken + left) / 7 * 8;
		offer(1, (enum gw_work_field)(GW_WORK_inst_executed + 1), 1, GW_SOURCE_STATIC);
		if (gw_counters[GW_COUNTER_works_dropped] == dropped)
			break;
		assert_int_equal(gw_memory_now(), taken);
	}
	gw_options.memory_max = 0;
	assert_true(gw_counters[GW_COUNTER_works_dropped] > 0);
	assert_true(gw_memory_now() > now);
}

TESTS_MAIN()
