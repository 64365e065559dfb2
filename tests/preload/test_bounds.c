/*
 * What gpuwatch takes does not grow with what a program ever did, and has the bounds that
 * docs/user/limits.md states ("Bounds of memory, threads and files").
 */
#include "tests/preload/harness.h"
#include "tests/test.h"

enum { MIB = 1 << 20 };

/* A number of KiB that the client printed, in bytes. */
static uint64_t printed(const struct outcome *o, const char *name)
{
	const char *at = strstr(o->out, name);
	long kib = 0;

	assert_non_null(at);
	assert_int_equal(sscanf(at + strlen(name), " %ld", &kib), 1);
	return kib > 0 ? (uint64_t)kib * 1024 : 0;
}

static void nothing_is_lost(const struct outcome *o)
{
	const struct account *log = only_log(o);

	assert_logs_are_the_truth(o);
	assert_int_equal(log->counter[GW_COUNTER_ring_dropped], 0);
	assert_int_equal(log->counter[GW_COUNTER_table_full], 0);
	assert_int_equal(log->counter[GW_COUNTER_graph_unknown], 0);
	assert_int_equal(log->counter[GW_COUNTER_launches_unmatched], 0);
	assert_int_equal(log->counter[GW_COUNTER_activity_unmatched], 0);
	assert_int_equal(degraded_otherwise(log) & 1u << GW_DEGRADED_TABLE_FULL, 0);
}

/* Whose memory is @p counter: it takes less than 16 MiB. */
static void one_at_a_time(const char *what, unsigned counter)
{
	struct run r = RUN("bounds", what);
	struct outcome *o;

	r.env[0] = "GPUWATCH_COUNTERS=off"; /* whose memory is there once they have begun */
	o = run_both(&r);
	nothing_is_lost(o);
	assert_true(only_log(o)->counter[counter] < 16 * MIB);
	assert_true(only_log(o)->counter[GW_COUNTER_memory_peak] < 64 * MIB);
	outcome_free(o);
}

TEST(streams_one_at_a_time_take_one_streams_memory)
{
	one_at_a_time("streams", GW_COUNTER_memory_streams);
}

TEST(graphs_one_at_a_time_take_one_graphs_memory)
{
	one_at_a_time("graphs", GW_COUNTER_memory_graphs);
}

/* Of 17,384 streams 16,383 have a place: two launches go into each of the others. */
TEST(launches_into_streams_without_a_place_are_seen_and_counted_once)
{
	struct run r = RUN("bounds", "streams_at_once");
	struct outcome *o = run_both(&r);
	const struct account *log = only_log(o);

	assert_int_equal(log->total, o->truth->total);
	assert_int_equal(log->counter[GW_COUNTER_table_full], 2 * (16384 + 1000 - 16383));
	assert_true(log->degraded & 1u << GW_DEGRADED_TABLE_FULL);
	outcome_free(o);
}

TEST(configurations_end_where_the_memory_does_and_nothing_grows_from_there)
{
	struct run r = RUN("bounds", "configurations");
	const struct account *log;
	struct outcome *o;

	r.env[0] = "GPUWATCH_MEMORY_MAX=64M";
	/* Where counters begin in time they take 8.6 MB of it: 9,186 fit in place of 15,088. */
	r.env[1] = "GPUWATCH_COUNTERS=off";
	o = run_watched(&r);
	log = only_log(o);
	assert_int_equal(o->status, 0);
	assert_int_equal(log->total, 2 * 60000);
	assert_true(log->config_records > 10000 && log->config_records < 60000);
	assert_int_equal(log->counter[GW_COUNTER_table_full], 2 * 60000 - log->config_records);
	assert_int_equal(log->counter[GW_COUNTER_launches_unmatched], 0);
	assert_int_equal(log->counter[GW_COUNTER_activity_unmatched], 0);
	assert_int_equal(log->counter[GW_COUNTER_memory_max], 64 * MIB);
	assert_true(log->counter[GW_COUNTER_memory_peak] <= 64 * MIB);
	assert_true(log->degraded & 1u << GW_DEGRADED_MEMORY);
	/* 1 KiB of name a launch would be 60 MB. */
	assert_true(printed(o, "grown") < 4 * MIB);
	outcome_free(o);
}

/* What the process holds more than without us is what the account says, and our code. */
TEST(the_account_is_what_the_process_holds)
{
	struct run r = RUN("bounds", "threads");
	struct outcome *bare = run_bare(&r), *o;
	const uint64_t *c;
	uint64_t more;

	r.env[0] = "GPUWATCH_MODE=count"; /* what libcupti holds is not ours */
	o = run_watched(&r);
	c = only_log(o)->counter;
	more = printed(o, "rss") - printed(bare, "rss");
	assert_true(more < c[GW_COUNTER_memory_peak] + 8 * MIB);
	assert_true(c[GW_COUNTER_memory_peak] <= c[GW_COUNTER_memory_max]);
	outcome_free(bare);
	outcome_free(o);
}

/*
 * Launches and records that wait end where the memory does: what finds no room is counted, and the
 * process holds no more however long it goes on.
 */
TEST(what_waits_for_a_late_worker_ends_where_the_memory_does)
{
	const uint64_t driver = 80 * MIB; /* its room for all records, and its code */
	struct run r = RUN("bounds", "rushes");
	const struct account *log;
	struct outcome *o;
	const uint64_t *c;

	r.env[0] = "STANDIN_QUEUE=524288";
	r.env[1] = "GPUWATCH_MEMORY_MAX=64M";
	o = run_watched(&r);
	log = only_log(o);
	c = log->counter;
	assert_int_equal(o->status, 0);
	/* A record whose launch found no room is there by itself, beside the launch. */
	assert_int_equal(log->total - log->no_call + c[GW_COUNTER_launches_by_record] +
				 c[GW_COUNTER_ring_dropped] + c[GW_COUNTER_threads_dropped],
			 o->truth->total);
	assert_true(log->degraded & 1u << GW_DEGRADED_MEMORY);
	assert_true(c[GW_COUNTER_memory_peak] <= 64 * MIB);
	assert_true(printed(o, "rss") < 64 * MIB + driver);
	outcome_free(o);
}

/* Of hundreds of threads some find no memory for a ring: how many launches these made is known. */
TEST(launches_of_threads_without_a_ring_are_counted)
{
	struct run r = RUN("bounds", "hundreds");
	const struct account *log;
	struct outcome *o;

	r.env[0] = "GPUWATCH_MEMORY_MAX=64M";
	r.env[1] = "GPUWATCH_MODE=count";
	o = run_watched(&r);
	log = only_log(o);
	assert_true(log->counter[GW_COUNTER_threads_dropped] > 0);
	assert_int_equal(log->total + log->counter[GW_COUNTER_threads_dropped] +
				 log->counter[GW_COUNTER_ring_dropped],
			 o->truth->total);
	assert_true(log->degraded & 1u << GW_DEGRADED_MEMORY);
	assert_true(log->counter[GW_COUNTER_memory_peak] <= 64 * MIB);
	outcome_free(o);
}

/* The tables are not, however large they may become; the stacks of our threads are. */
TEST(a_program_that_locks_its_memory_locks_little_of_ours)
{
	struct run r = RUN("bounds", "locked");
	struct outcome *bare = run_bare(&r), *o;

	if (strstr(bare->out, "not allowed")) {
		outcome_free(bare);
		skip();
	}
	o = run_watched(&r);
	assert_true(printed(o, "locked") < printed(bare, "locked") + 130 * MIB);
	outcome_free(bare);
	outcome_free(o);
}

TESTS_MAIN()
