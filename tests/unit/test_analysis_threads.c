/* Launches analysed on threads: the same is reported, the threads end with the program; their
 * queue. */
#include "preload/analysis/analysis_queue.h"
#include "preload/runtime/options.h"
#include "preload/runtime/spawn.h"
#include "preload/worker/registry.h"
#include "tests/test.h"
#include "tests/unit/analysis_fixture.h"
#include "tests/unit/preload_fixture.h"

#include <unistd.h>

static int start_some(void **state, unsigned threads)
{
	analysis_start(state);
	gw_options.budget = 1;
	gw_analysis_start(threads);
	return 0;
}

static int start_threads(void **state)
{
	return start_some(state, GW_ANALYSIS_THREADS);
}

/* None of them is left when the next test starts anew. */
static int end_threads(void **state)
{
	gw_analysis_stop();
	for (int i = 0; gw_spawned() && i < 10000; i++)
		usleep(1000);
	assert_int_equal(gw_spawned(), 0);
	gw_analysis_start(0);
	return analysis_end(state);
}

static void run_until_none_waits(void)
{
	while (gw_analysis_waits()) {
		gw_analysis_run(look, false);
		usleep(1000);
	}
}

TEST_WITH(threads_report_what_the_worker_would, start_threads, end_threads)
{
	uint32_t config = config_of(SAXPY, 4, 128);

	assert_false(gw_analysis_inline());
	arguments_of(config, 512);
	gw_analysis_want(config);
	gw_analysis_run(look, false);
	assert_int_equal(gw_spawned(), 1); /* no more than there is to do */
	run_until_none_waits();
	assert_int_equal(offers, 1);
	assert_int_equal(offered[0], config);
	assert_true(row(GW_WORK_global_load_requests) == 32);
	assert_true(work.q[GW_WORK_inst_executed].confidence == 1);
	assert_int_equal(counted(GW_COUNTER_studied), 1);
	assert_true(counted(GW_COUNTER_analysis_ns) > 0);
	assert_int_equal(looks, 0); /* the worker had nothing to be kept from */
}

/* Records wait for those that have no time, also while a thread is at them. */
TEST_WITH(times_wait_for_a_thread_that_is_at_the_first_analysis, start_threads, end_threads)
{
	gw_analysis_want(config_of(SAXPY, 4, 128));
	gw_analysis_run(look, false);
	if (!offers)
		assert_true(gw_analysis_defers_join(1));
	run_until_none_waits();
	assert_false(gw_analysis_defers_join(1));
	assert_int_equal(offers, 1);
}

/* More kernels than may stay decoded, read from the same module by several threads at once. */
TEST_WITH(many_at_a_time_are_all_analysed_once, start_threads, end_threads)
{
	enum { KERNELS = 3, CONFIGS = 20 };
	static const char *const names[KERNELS] = {"_Z5saxpyifPKfPf", "powers",
						   "_Z6reduce6recordhPKfPf"};

	for (uint32_t i = 0; i < GW_ANALYSIS_KERNELS + CONFIGS; i++) {
		kernel(16 + i, names[i % KERNELS], 1);
		gw_hot.shared->kernels[16 + i].hash = 1000 + i;
		gw_analysis_want(config_of(16 + i, 1 + i % 7, 64));
	}
	run_until_none_waits();
	assert_int_equal(offers, GW_ANALYSIS_KERNELS + CONFIGS);
	assert_int_equal(counted(GW_COUNTER_analysis_no_code), 0);
	assert_true(gw_spawned() > 1);
}

/* Those of the end are finished within its time or left; a thread at one does not hold it up. */
/* So many are handed out before the first has its result; no other one needs its own. */
TEST_WITH(what_waits_takes_the_result_of_its_like, start_threads, end_threads)
{
	enum { CONFIGS = 2 * GW_ANALYSIS_JOBS };
	uint32_t config, first = 0;

	know_parameters();
	for (uint32_t i = 0; i < CONFIGS; i++) {
		gw_analysis_want(config = config_by_factor(i, 512));
		first = first ? first : config;
		gw_config_launched(config, 1);
		gw_config_launched(first, 1); /* which returns each time */
	}
	run_until_none_waits();
	assert_int_equal(offers, CONFIGS);
	assert_in_range(counted(GW_COUNTER_studied), 1, GW_ANALYSIS_JOBS);
}

TEST_WITH(threads_end_with_the_program, start_threads, end_threads)
{
	for (uint32_t i = 0; i < 40; i++)
		gw_analysis_want(config_of(REDUCE, 1000 + i, 64));
	gw_analysis_run(look, false);
	gw_analysis_run(look, true);
	gw_analysis_stop();
	assert_true(gw_analysis_inline());
}

static int start_one_thread(void **state)
{
	threads_held = true;
	return start_some(state, 1);
}

/* More than there are jobs, of which a thread has one; one that was timed, too. */
TEST_WITH(a_kernel_with_many_makes_room_for_one_with_few, start_one_thread, end_threads)
{
	enum { MANY = 2 * GW_ANALYSIS_JOBS, FEW = 4 };
	uint32_t timed = config_of(POWERS, 1, 64), few[FEW];

	gw_config_entry(timed)->measured = 1;
	gw_analysis_want(timed);
	gw_analysis_want(config_of(REDUCE, 1000, 64));
	for (uint32_t i = 1; i < MANY; i++)
		gw_analysis_want(config_of(REDUCE, 1000 + i, 64));
	gw_analysis_run(look, false);
	assert_int_equal(gw_analysis_jobs_out(), GW_ANALYSIS_JOBS);
	for (uint32_t i = 0; i < FEW; i++)
		gw_analysis_want(few[i] = config_of(SAXPY, 1 + i, 64));
	gw_analysis_run(look, false);
	assert_int_equal(gw_analysis_jobs_out(), GW_ANALYSIS_JOBS);
	threads_held = false;
	run_until_none_waits();
	assert_int_equal(offers, MANY + FEW + 1);
	assert_int_equal(offered[1], few[0]);
	for (uint32_t i = 1; i < FEW; i++)
		assert_int_equal(offered[1 + 2 * i], few[i]);
	assert_int_equal(offered[offers - 1], timed);
}

/* A minute of idle processors before the budget rules, but none where no budget is given. */
TEST_WITH(answers_come_before_the_budget, start_threads, end_threads)
{
	static const uint64_t second = 1000000000;

	assert_int_equal(gw_analysis_allowance(0), 60 * second);
	assert_int_equal(gw_analysis_allowance(100 * second), 62 * second);
	gw_options.budget = 0;
	assert_int_equal(gw_analysis_allowance(0), 2 * second);
}

/* Whose turn it is to be analysed, by what analyses of their kernels took and what they may be good
 * for. */
enum { CHEAP = 1, COSTLY, OTHER };
#define MS UINT64_C(1000000)

static int start(void **state)
{
	fixture_start();
	assert_true(gw_registry_start());
	for (uint32_t slot = CHEAP; slot <= OTHER; slot++)
		gw_hot.shared->kernels[slot] =
			(struct gw_kernel_slot){.name = "kernel", .hash = slot};
	gw_analysis_queue_start();
	return 0;
}

static uint32_t config_at(uint32_t slot, uint32_t blocks)
{
	return gw_intern_config(slot, 0,
				&(struct gw_config){{blocks, 1, 1}, {32, 1, 1}, {1, 1, 1}, 0, 0});
}

/* One that waits; @p total_ns: GPU time that was measured of it when it came. */
static uint32_t waits(uint32_t slot, uint32_t blocks, uint64_t total_ns)
{
	uint32_t config = config_at(slot, blocks);

	gw_config_entry(config)->total_ns = total_ns;
	gw_config_entry(config)->measured = total_ns != 0;
	assert_true(gw_analysis_queue_put(config, false));
	return config;
}

/* One configuration of the kernel has had its turn, and took so long. */
static void analysed(uint32_t slot, uint32_t blocks, uint64_t took)
{
	uint32_t config = waits(slot, blocks, 0);

	assert_int_equal(gw_analysis_queue_next(true), config);
	gw_analysis_queue_took(slot, took, true);
}

/* The first of each kernel. */
static void met(uint32_t slot, uint64_t took)
{
	analysed(slot, 1000 + slot, took);
}

TEST_WITH(the_first_of_each_kernel_comes_first, start, NULL)
{
	uint32_t one = waits(CHEAP, 1, 0), further = waits(CHEAP, 2, 0),
		 other = waits(COSTLY, 1, 0);

	assert_int_equal(gw_analysis_queue_next(false), one);
	assert_int_equal(gw_analysis_queue_next(false), other);
	assert_int_equal(gw_analysis_queue_next(false), further);
	assert_int_equal(gw_analysis_queue_next(false), 0);
}

TEST_WITH(those_of_one_kernel_come_as_they_came, start, NULL)
{
	uint32_t one, two, three;

	met(CHEAP, 1 * MS);
	one = waits(CHEAP, 1, 0);
	two = waits(CHEAP, 2, 0);
	three = waits(CHEAP, 3, 0);
	assert_int_equal(gw_analysis_queue_next(false), one);
	assert_int_equal(gw_analysis_queue_next(false), two);
	assert_int_equal(gw_analysis_queue_next(false), three);
}

/* One with new arguments at each launch keeps none from its turn. */
TEST_WITH(the_kernel_of_which_fewer_were_analysed_comes_before_a_cheaper_one, start, NULL)
{
	uint32_t often, seldom;

	met(CHEAP, 1 * MS);
	analysed(CHEAP, 1, 1 * MS);
	met(COSTLY, 20 * MS);
	often = waits(CHEAP, 2, 0);
	seldom = waits(COSTLY, 1, 0);
	assert_int_equal(gw_analysis_queue_next(false), seldom);
	assert_int_equal(gw_analysis_queue_next(false), often);
}

TEST_WITH(what_takes_little_comes_before_what_takes_more, start, NULL)
{
	uint32_t more, little, between;

	met(OTHER, 8 * MS);
	met(CHEAP, MS / 10);
	met(COSTLY, 2 * MS);
	more = waits(OTHER, 1, 0);
	between = waits(COSTLY, 1, 0);
	little = waits(CHEAP, 1, 0);
	assert_int_equal(gw_analysis_queue_next(false), little);
	assert_int_equal(gw_analysis_queue_next(false), between);
	assert_int_equal(gw_analysis_queue_next(false), more);
}

TEST_WITH(of_those_timed_it_is_gpu_time_for_time, start, NULL)
{
	uint32_t seldom, often, costly;

	met(CHEAP, 1 * MS);
	met(COSTLY, 40 * MS);
	costly = waits(COSTLY, 1, 20 * MS);
	seldom = waits(CHEAP, 1, MS / 10);
	often = waits(CHEAP, 2, 5 * MS);
	assert_int_equal(gw_analysis_queue_next(false), often);
	assert_int_equal(gw_analysis_queue_next(false), costly);
	assert_int_equal(gw_analysis_queue_next(false), seldom);
}

/* Times wait for them, and not for those that have one. */
TEST_WITH(costly_ones_not_timed_yet_come_before_those_that_were, start, NULL)
{
	uint32_t costly, timed, fresh;

	met(CHEAP, 1 * MS);
	met(COSTLY, 40 * MS);
	costly = waits(COSTLY, 1, 0);
	timed = waits(CHEAP, 1, 3 * MS);
	fresh = waits(CHEAP, 2, 0);
	assert_int_equal(gw_analysis_queue_next(false), fresh);
	assert_int_equal(gw_analysis_queue_next(false), costly);
	assert_int_equal(gw_analysis_queue_next(false), timed);
}

TEST_WITH(what_was_left_open_comes_before_what_was_timed, start, NULL)
{
	uint32_t timed, open, fresh;

	met(CHEAP, 1 * MS);
	timed = waits(CHEAP, 1, 3 * MS);
	open = config_at(CHEAP, 2);
	assert_true(gw_analysis_queue_put(open, true));
	fresh = waits(CHEAP, 3, 0);
	assert_int_equal(gw_analysis_queue_waiting(), 3);
	assert_int_equal(gw_analysis_queue_next(false), fresh);
	assert_int_equal(gw_analysis_queue_next(true), 0);
	assert_int_equal(gw_analysis_queue_next(false), open);
	assert_int_equal(gw_analysis_queue_next(false), timed);
}

TEST_WITH(at_the_end_only_those_that_were_not_timed, start, NULL)
{
	uint32_t costly;

	met(COSTLY, 40 * MS);
	waits(CHEAP, 1, 3 * MS);
	costly = waits(COSTLY, 1, 0);
	assert_int_equal(gw_analysis_queue_untimed(), 1);
	assert_int_equal(gw_analysis_queue_waiting(), 2);
	assert_int_equal(gw_analysis_queue_next(true), costly);
	assert_int_equal(gw_analysis_queue_next(true), 0);
	assert_int_equal(gw_analysis_queue_waiting(), 1);
}

/* Arguments that differ at each launch make as many configurations; what others wait for comes
 * first. A cheap kernel may have many turns until then. */
TEST_WITH(a_kernel_that_was_analysed_for_long_keeps_no_records_waiting, start, NULL)
{
	uint32_t last, before, after, other;

	for (uint32_t i = 1; i < GW_ANALYSIS_EACH_MS; i++)
		analysed(CHEAP, 100 + i, MS);
	last = waits(CHEAP, 1, 0);
	before = waits(CHEAP, 3, 0);
	assert_int_equal(gw_analysis_queue_peek(), last);
	assert_int_equal(gw_analysis_queue_untimed(), 2);
	assert_int_equal(gw_analysis_queue_next(true), last);
	gw_analysis_queue_took(CHEAP, MS, true);
	assert_int_equal(gw_analysis_queue_untimed(), 0);
	after = waits(CHEAP, 2, 0);
	other = waits(OTHER, 1, 0);
	assert_int_equal(gw_analysis_queue_untimed(), 1);
	assert_int_equal(gw_analysis_queue_next(true), other);
	assert_int_equal(gw_analysis_queue_next(true), 0);
	assert_int_equal(gw_analysis_queue_next(false), before);
	assert_int_equal(gw_analysis_queue_next(false), after);
}

/* The places of the ring are used again and again, and closed up in the middle. */
TEST_WITH(none_is_lost_and_none_comes_twice, start, NULL)
{
	enum { ROUNDS = 5000, KEPT = 7 };
	static uint8_t seen[ROUNDS * 2 + KEPT];
	uint32_t put = 0, got = 0;

	met(CHEAP, 1 * MS);
	met(OTHER, 2 * MS);
	memset(seen, 0, sizeof(seen));
	for (unsigned i = 0; i < ROUNDS; i++) {
		waits(put % 3 ? OTHER : CHEAP, put + 1, 0);
		put++;
		if (put > KEPT) {
			uint32_t c = gw_analysis_queue_next(false), blocks;

			assert_true(c != 0);
			blocks = gw_config_entry(c)->config.grid.x;
			assert_int_equal(seen[blocks]++, 0);
			got++;
		}
	}
	while (gw_analysis_queue_next(false))
		got++;
	assert_int_equal(got, put);
}

TEST_WITH(where_there_is_no_room_none_is_taken, start, NULL)
{
	uint32_t config = config_at(CHEAP, 1);

	gw_config_entry(config)->measured = 1;
	for (unsigned i = 0; i < GW_ANALYSIS_QUEUE; i++)
		assert_true(gw_analysis_queue_put(config, false));
	assert_false(gw_analysis_queue_put(config, false));
	assert_int_equal(gw_analysis_queue_next(false), config);
	assert_true(gw_analysis_queue_put(config, false));
}

/* By the GPU time that they took; and not where only those that were never timed are asked for. */
TEST_WITH(what_was_analysed_briefly_comes_last, start, NULL)
{
	uint32_t small = config_at(CHEAP, 1), large = config_at(CHEAP, 2), late;

	met(CHEAP, MS);
	assert_int_equal(gw_analysis_queue_first(), 0); /* none waits */
	gw_config_entry(small)->total_ns = 10 * MS;
	gw_config_entry(large)->total_ns = 90 * MS;
	assert_true(gw_analysis_queue_put_brief(small));
	assert_true(gw_analysis_queue_put_brief(large));
	assert_int_equal(gw_analysis_queue_first(), 0);
	late = waits(CHEAP, 3, MS);
	assert_int_equal(gw_analysis_queue_first(), 1);
	assert_int_equal(gw_analysis_queue_waiting(), 3);
	assert_int_equal(gw_analysis_queue_untimed(), 0);
	assert_int_equal(gw_analysis_queue_next(true), 0);
	assert_int_equal(gw_analysis_queue_next(false), late);
	assert_int_equal(gw_analysis_queue_next(false), large);
	assert_int_equal(gw_analysis_queue_next(false), small);
	assert_int_equal(gw_analysis_queue_next(false), 0);
}

/* In mode watch, by launches and by the mean of the few that were timed; of longer ones, too. */
TEST_WITH(where_few_are_timed_it_is_the_gpu_time_of_all_launches, start, NULL)
{
	uint32_t once, timed, often, costly, longer = config_at(CHEAP, 3);

	gw_analysis_queue_by_time(true);
	gw_config_entry(longer)->launches = 1500;
	assert_true(gw_analysis_queue_put_brief(longer));
	met(CHEAP, 1 * MS);
	met(COSTLY, 40 * MS);
	once = waits(OTHER, 1, 0);
	gw_config_entry(once)->launches = 1;
	costly = waits(COSTLY, 1, 0);
	gw_config_entry(costly)->launches = 1000;
	often = waits(CHEAP, 1, 0);
	gw_config_entry(often)->launches = 2000;
	timed = waits(CHEAP, 2, MS);
	gw_config_entry(timed)->launches = 1000;
	assert_int_equal(gw_analysis_queue_next(false), timed);
	assert_int_equal(gw_analysis_queue_next(false), often);
	assert_int_equal(gw_analysis_queue_next(false), longer);
	assert_int_equal(gw_analysis_queue_next(false), costly);
	assert_int_equal(gw_analysis_queue_next(false), once);
	assert_int_equal(gw_analysis_queue_next(false), 0);
	gw_analysis_queue_by_time(false);
}

TESTS_MAIN()
