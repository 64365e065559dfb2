/* Memory of the preloaded library, which is accounted, and arenas. */
#include "predictor/core/arena.h"
#include "preload/cupti/cupti_host.h"
#include "preload/maps/memory.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT = 1 << 20, THREADS = 8, PIECE = 100 };

static int start(void **state)
{
	fixture_start();
	gw_degraded_reset();
	gw_memory_start();
	gw_options.memory_max = LIMIT;
	return 0;
}

TEST_WITH(what_is_taken_stands_in_the_account_of_its_use, start, NULL)
{
	uint64_t counters[GW_COUNTERS] = {0};

	assert_true(gw_memory_take(GW_MEMORY_rings, 1000));
	assert_true(gw_memory_take(GW_MEMORY_streams, 10));
	gw_memory_give(GW_MEMORY_rings, 400);
	gw_memory_counters(counters);
	assert_int_equal(counters[GW_COUNTER_memory_rings], 600);
	assert_int_equal(counters[GW_COUNTER_memory_streams], 10);
	assert_int_equal(counters[GW_COUNTER_memory], 610);
	assert_int_equal(counters[GW_COUNTER_memory_peak], 1010);
	assert_int_equal(counters[GW_COUNTER_memory_max], LIMIT);
}

TEST_WITH(the_limit_can_be_reached_but_not_passed, start, NULL)
{
	assert_true(gw_memory_take(GW_MEMORY_log, LIMIT - 1));
	assert_false(gw_memory_take(GW_MEMORY_log, 2));
	assert_false(gw_memory_take(GW_MEMORY_log, SIZE_MAX));
	assert_true(gw_memory_take(GW_MEMORY_log, 1));
	assert_int_equal(gw_memory_now(), LIMIT);
	assert_int_equal(gw_counters[GW_COUNTER_memory_refused], 2);
}

/* However many configurations there are, their launches can wait for their times. */
TEST_WITH(what_only_grows_leaves_an_eighth_to_what_comes_and_goes, start, NULL)
{
	assert_true(gw_memory_take(GW_MEMORY_configurations, LIMIT / 8 * 7));
	assert_false(gw_memory_take(GW_MEMORY_configurations, 1));
	assert_false(gw_memory_take(GW_MEMORY_rings, 1));
	assert_true(gw_memory_take(GW_MEMORY_waiting, LIMIT / 8));
	assert_false(gw_memory_take(GW_MEMORY_waiting, 1));
}

TEST_WITH(the_first_use_that_is_refused_is_named_once, start, NULL)
{
	struct gw_reason reason;

	assert_false(gw_memory_take(GW_MEMORY_graphs, LIMIT + 1));
	assert_false(gw_memory_take(GW_MEMORY_rings, LIMIT + 1));
	assert_true(gw_degraded_get(0, &reason));
	assert_int_equal(reason.code, GW_DEGRADED_MEMORY);
	assert_non_null(strstr(reason.text, "(1 MiB)"));
	assert_non_null(strstr(reason.text, "graphs"));
	assert_false(gw_degraded_get(1, &reason));
}

TEST_WITH(what_no_run_can_do_without_is_taken_beyond_the_limit, start, NULL)
{
	gw_memory_take_anyway(GW_MEMORY_tables, LIMIT + 5);
	assert_int_equal(gw_memory_now(), LIMIT + 5);
	assert_false(gw_memory_take(GW_MEMORY_tables, 1));
}

TEST_WITH(memory_that_grows_is_zeroed_and_keeps_what_it_held, start, NULL)
{
	uint32_t *at, *wider;

	at = gw_memory_new(GW_MEMORY_waiting, 4, sizeof(*at));
	assert_non_null(at);
	at[3] = 7;
	wider = gw_memory_wider(GW_MEMORY_waiting, at, 4, 4096, sizeof(*at));
	assert_non_null(wider);
	assert_int_equal(wider[3], 7);
	for (int i = 4; i < 4096; i++)
		assert_int_equal(wider[i], 0);
	assert_int_equal(gw_memory_now(), 4096 * sizeof(*at));
	assert_null(gw_memory_wider(GW_MEMORY_waiting, wider, 4096, LIMIT, sizeof(*at)));
	assert_int_equal(wider[3], 7);
	gw_memory_free(GW_MEMORY_waiting, wider, 4096, sizeof(*at));
	assert_int_equal(gw_memory_now(), 0);
}

static _Atomic uint64_t got;

static void take_and_give(unsigned number)
{
	(void)number;
	for (int i = 0; i < 20000; i++)
		if (gw_memory_take(GW_MEMORY_arguments, PIECE)) {
			if (i % 2)
				gw_memory_give(GW_MEMORY_arguments, PIECE);
			else
				atomic_fetch_add(&got, PIECE);
		}
}

TEST_WITH(the_account_is_exact_when_many_threads_take_at_once, start, NULL)
{
	fixture_threads(THREADS, take_and_give);
	assert_int_equal(gw_memory_now(), got);
	assert_true(gw_memory_peak() <= LIMIT / 8 * 7);
	assert_true(gw_memory_peak() > LIMIT / 8 * 7 - PIECE);
}

static long locked_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmLck: %ld", &kib);
	if (f)
		fclose(f);
	return kib;
}

/* In a child, whose memory is locked as a program's that asked for it: 0 = as it must be. */
static int reserve_locked(void)
{
	const struct rlimit little = {64 << 20, 64 << 20};
	long before;
	char *at;

	if (mlockall(MCL_FUTURE))
		return 77;
	before = locked_kib();
	setrlimit(RLIMIT_MEMLOCK, &little);
	if (setresuid(65534, 65534, 65534)) /* root has no limit */
		return 77;
	at = gw_memory_reserve((size_t)1 << 30);
	if (!at)
		return 1;
	at[12345678] = at[(1 << 30) - 1] = 1;
	return locked_kib() - before > 1024 ? 2 : 0;
}

TEST_WITH(what_is_reserved_is_not_locked_with_the_programs_memory, start, NULL)
{
	int status = 0;
	pid_t child = fork();

	if (!child)
		_exit(reserve_locked());
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* The memory of an analysis: bounded, zeroed, given back at once. */
TEST(pieces_are_zeroed_aligned_and_apart)
{
	struct gw_arena a;
	char *first, *second;

	gw_arena_init(&a, 1 << 20);
	first = gw_arena_array(&a, 3, 7);
	second = gw_arena_array(&a, 1, 1);
	assert_non_null(first);
	assert_non_null(second);
	assert_int_equal((uintptr_t)second % _Alignof(max_align_t), 0);
	assert_true(second >= first + 21 || first >= second + 1);
	for (int i = 0; i < 21; i++)
		assert_int_equal(first[i], 0);
	gw_arena_free(&a);
	assert_int_equal(a.used, 0);
}

TEST(it_never_holds_more_than_its_limit)
{
	struct gw_arena a;
	size_t taken = 0;

	gw_arena_init(&a, 300 << 10);
	while (gw_arena_array(&a, 1000, 1))
		taken += 1000;
	assert_true(a.refused);
	assert_true(a.used <= a.limit);
	assert_true(taken > 250 << 10);
	gw_arena_free(&a);
	assert_non_null(gw_arena_array(&a, 1000, 1));
	gw_arena_free(&a);
}

TEST(an_extent_that_overflows_is_refused)
{
	struct gw_arena a;

	gw_arena_init(&a, SIZE_MAX);
	assert_null(gw_arena_array(&a, SIZE_MAX / 2, 3));
	assert_true(a.refused);
	gw_arena_free(&a);
}

/* Large arrays have memory of their own, between which small ones go on where they were. */
TEST(room_is_bounded_and_apart_from_what_is_zeroed)
{
	struct gw_arena a;
	unsigned char *first, *large, *second, *little;

	gw_arena_init(&a, 1 << 20);
	large = gw_arena_room(&a, 100 << 10, 1);
	first = gw_arena_array(&a, 64, 1);
	memset(large, 0xff, 100 << 10);
	little = gw_arena_room(&a, 100, 1);
	memset(gw_arena_room(&a, 200 << 10, 1), 0xff, 200 << 10);
	second = gw_arena_array(&a, 64, 1);
	assert_true(second > first && second - first < 1024);
	assert_true(little > first && little < second);
	for (int i = 0; i < 64; i++)
		assert_int_equal(first[i] | second[i], 0);
	assert_true(a.used > 300 << 10);
	assert_null(gw_arena_room(&a, 1, 1 << 20));
	assert_true(a.refused && a.used <= a.limit);
	assert_null(gw_arena_room(&a, SIZE_MAX / 2, 3));
	gw_arena_free(&a);
	assert_int_equal(a.used, 0);
}

TEST(text_is_copied_and_terminated)
{
	struct gw_arena a;
	char *text;

	gw_arena_init(&a, 1 << 20);
	text = gw_arena_text(&a, "kernel_name", 6);
	assert_string_equal(text, "kernel");
	gw_arena_free(&a);
}

/* ---- libcupti's ----
 */

struct gw_cupti gw_cupti;

static CUptiResult load(CUpti_Profiler_Initialize_Params *params)
{
	(void)params;
	return dlopen(NVPERF_HOST, RTLD_NOW) ? CUPTI_ERROR_UNKNOWN : CUPTI_SUCCESS;
}

static void expect_resident(char *tables, bool zeroes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char in;

	for (size_t at = 0; at < 1 << 20; at += page) {
		assert_false(mincore(tables + at, page, &in));
		assert_int_equal(in & 1, zeroes || (at >> 16 & 1));
	}
	for (size_t at = 0; at < 1 << 20; at++)
		assert_int_equal(tables[at], at >> 16 & 1);
}

/* What was loaded before may be in use. */
TEST(pages_of_zeroes_in_tables_are_given_back_when_they_are_new)
{
	CUptiResult why;
	char *tables = NULL, at_tables[32];

	snprintf(at_tables, sizeof(at_tables), "%p", (void *)&tables);
	assert_false(setenv("TABLES", at_tables, 1));
	gw_cupti.cuptiProfilerInitialize = load;
	assert_null(gw_cupti_chip(0, &why));
	expect_resident(tables, false);
	for (size_t at = 0; at < 1 << 20; at++)
		*(volatile char *)&tables[at] = (char)(at >> 16 & 1);
	assert_null(gw_cupti_chip(0, &why));
	expect_resident(tables, true);
}

TESTS_MAIN()
