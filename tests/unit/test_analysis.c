/* SPDX-License-Identifier: Apache-2.0 */
/* Launches analysed: what is reported of them, in which order, within which bounds. */
#include "preload/launch/arguments.h"
#include "preload/runtime/clock.h"
#include "preload/analysis/code.h"
#include "preload/runtime/options.h"
#include "preload/live/log.h"
#include "preload/analysis/analyze.h"
#include "preload/analysis/analysis_jobs.h"
#include "preload/runtime/spawn.h"
#include "preload/worker/registry.h"
#include "preload/analysis/known_work.h"
#include "tests/code/corpus.h"
#include "tests/unit/preload_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { SAXPY = 1, POWERS, REDUCE, BROKEN, LOST, CROOKED };

static struct gw_arena arena;
static uint32_t offered[64], offers;
static struct gw_work work;
static unsigned looks;

/* In place of what keeps the work. */
void gw_work_offer(uint32_t config, const struct gw_work *part)
{
	offered[offers++ % 64] = config;
	work = *part;
}

const struct gw_work *gw_work_of(uint32_t config)
{
	(void)config;
	return NULL;
}

void gw_work_by_code(uint32_t config, struct gw_work *out)
{
	(void)config;
	gw_work_clear(out);
}

/* In place of the log: what was last said of each configuration. */
static struct {
	uint32_t said, end, bare;
	char why[128];
} ends[64];
static bool log_full;

void __wrap_gw_log_write(enum gw_record_kind kind, void *head, size_t size, const void *tail,
                         size_t tail_size);
bool __wrap_gw_log_sums(void);

void __wrap_gw_log_write(enum gw_record_kind kind, void *head, size_t size, const void *tail,
                         size_t tail_size)
{
	const struct gw_record_analysis *r = head;

	(void)size;
	if (kind != GW_RECORD_ANALYSIS)
		return;
	ends[r->config % 64].said++;
	ends[r->config % 64].end = r->end;
	ends[r->config % 64].bare = r->bare;
	snprintf(ends[r->config % 64].why, sizeof(ends->why), "%.*s", (int)tail_size,
	         (const char *)tail);
}

/*
 * An analysis takes 1 to 17 ms here and is given up after 60: where processors are shared, CPU time
 * runs several times as fast. What it is given up for are hours.
 */
int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);

static uint64_t stopped; /* what CLOCK_MONOTONIC shows, ns; 0: it runs */

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	enum { UNHURRIED = 16 };
	int r = __real_clock_gettime(id, t);
	uint64_t ns = (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;

	if (id == CLOCK_MONOTONIC && stopped) {
		t->tv_sec = (time_t)(stopped / 1000000000u);
		t->tv_nsec = (long)(stopped % 1000000000u);
	}
	if (id != CLOCK_THREAD_CPUTIME_ID)
		return r;
	t->tv_sec = (time_t)(ns / UNHURRIED / 1000000000u);
	t->tv_nsec = (long)(ns / UNHURRIED % 1000000000u);
	return r;
}

bool __wrap_gw_log_sums(void)
{
	return log_full;
}

static void module_of(uint32_t number, const char *file, size_t most)
{
	struct gw_bytes bytes = corpus_file(&arena, file);
	struct gw_module_note *n = gw_arena_array(&arena, 1, sizeof(*n) + 1);

	n->number = number;
	n->bytes = bytes.size < most ? bytes.size : most;
	n->image = (void *)(uintptr_t)bytes.data;
	gw_code_module(n);
}

static void kernel(uint32_t slot, const char *name, uint32_t module)
{
	gw_hot.shared->kernels[slot] = (struct gw_kernel_slot){.name = name,
	                                                       .hash = slot,
	                                                       .module = module,
	                                                       .registers = 16,
	                                                       .static_shared = 0,
	                                                       .local = 0,
	                                                       .max_threads = 1024,
	                                                       .binary_version = 90};
}

static int start(void **state)
{
	(void)state;
	fixture_start();
	gw_options.analyze_code = true;
	gw_options.mode = GW_MODE_AUDIT;
	assert_true(gw_registry_start());
	gw_code_start();
	gw_analysis_start(0);
	gw_arena_init(&arena, 128 << 20);
	module_of(1, "sm_90.cubin", SIZE_MAX);
	module_of(2, "sm_90.cubin", 3000); /* cut off */
	kernel(SAXPY, "_Z5saxpyifPKfPf", 1);
	kernel(POWERS, "powers", 1);
	kernel(REDUCE, "_Z6reduce6recordhPKfPf", 1);
	kernel(BROKEN, "powers", 2);
	kernel(LOST, "powers", 0);
	offers = looks = 0;
	memset(ends, 0, sizeof(ends));
	log_full = false;
	return 0;
}

static int end(void **state)
{
	(void)state;
	gw_arena_free(&arena);
	return 0;
}

static bool look(void)
{
	looks++;
	return true;
}

static bool program_ends(void)
{
	looks++;
	return false;
}

static uint32_t config_of(uint32_t slot, uint32_t blocks, uint32_t threads)
{
	struct gw_config c = {{blocks, 1, 1}, {threads, 1, 1}, {1, 1, 1}, 0, 0};

	return gw_intern_config(slot, 0, &c);
}

/* saxpy(n, 2, x, y). */
static void arguments_of(uint32_t config, int32_t n)
{
	struct gw_arguments *a = gw_arena_array(&arena, 1, sizeof(*a));
	const uint64_t at[] = {0x700000000000, 0x710000000000};
	const float factor = 2;

	a->size = 24;
	memcpy(a->bytes, &n, 4);
	memcpy(a->bytes + 4, &factor, 4);
	memcpy(a->bytes + 8, at, 16);
	gw_config_entry(config)->arguments = a;
}

static uint64_t counted(enum gw_counter c)
{
	return atomic_load(&gw_counters[c]);
}

static double row(enum gw_work_field f)
{
	return work.q[f].value;
}

static void a_launch_is_reported_from_code_and_arguments(void **state)
{
	uint32_t config = config_of(SAXPY, 4, 128);

	(void)state;
	arguments_of(config, 512);
	gw_analysis_want(config);
	gw_analysis_run(look, false);
	assert_int_equal(offers, 1);
	assert_int_equal(offered[0], config);
	/* 16 warps, two loads and a store of four sectors each. */
	assert_true(row(GW_WORK_global_load_requests) == 32);
	assert_true(row(GW_WORK_global_load_sectors) == 128);
	assert_true(row(GW_WORK_global_store_sectors) == 64);
	assert_true(row(GW_WORK_fp32_fma) == 512);
	assert_int_equal(work.q[GW_WORK_inst_executed].source, GW_SOURCE_STATIC);
	assert_true(work.q[GW_WORK_inst_executed].confidence == 1);
	assert_int_equal(counted(GW_COUNTER_studied), 1);
	assert_int_equal(counted(GW_COUNTER_analysis_no_arguments), 0);
	assert_true(counted(GW_COUNTER_analysis_ns) > 0);
}

/* Half of the threads have nothing to do: what is reported follows the argument. */
static void other_arguments_tell_other_work(void **state)
{
	uint32_t config = config_of(SAXPY, 4, 128);

	(void)state;
	arguments_of(config, 256);
	gw_analysis_want(config);
	gw_analysis_run(look, false);
	assert_true(row(GW_WORK_global_load_requests) == 16);
}

static void a_configuration_is_analysed_once(void **state)
{
	uint32_t config = config_of(SAXPY, 4, 128);

	(void)state;
	arguments_of(config, 512);
	for (unsigned i = 0; i < 5; i++) {
		gw_analysis_want(config);
		gw_analysis_want(config);
		gw_analysis_run(look, false);
	}
	assert_int_equal(offers, 1);
}

static void arguments_that_come_later_are_worth_another_analysis(void **state)
{
	uint32_t config = config_of(SAXPY, 4, 128);

	(void)state;
	gw_analysis_want(config);
	gw_analysis_run(look, false);
	assert_int_equal(counted(GW_COUNTER_analysis_no_arguments), 1);
	assert_true(!(work.q[GW_WORK_inst_executed].confidence > 0.5F));
	arguments_of(config, 512);
	gw_analysis_want(config);
	gw_analysis_run(look, false);
	assert_int_equal(offers, 2);
	assert_true(work.q[GW_WORK_inst_executed].confidence == 1);
}

/* No time of it is known yet, and its launch waits for a prediction. */
static void configurations_never_timed_come_first(void **state)
{
	uint32_t timed = config_of(SAXPY, 4, 128), fresh = config_of(SAXPY, 5, 128);

	(void)state;
	gw_config_entry(timed)->measured = 1;
	gw_analysis_want(timed);
	gw_analysis_want(fresh);
	gw_analysis_run(look, true); /* the program is at its end: for these alone */
	assert_int_equal(offers, 1);
	assert_int_equal(offered[0], fresh);
	gw_analysis_run(look, false);
	assert_int_equal(offered[1], timed);
}

/* The code left something open that these arguments may settle. */
static void what_arguments_may_settle_comes_before_what_was_timed(void **state)
{
	uint32_t bare = config_of(SAXPY, 4, 128), timed = config_of(SAXPY, 5, 128);

	(void)state;
	gw_analysis_want(bare);
	while (offers < 1)
		gw_analysis_run(look, false);
	gw_config_entry(timed)->measured = 1;
	gw_config_entry(bare)->measured = 1;
	gw_analysis_want(timed);
	arguments_of(bare, 512);
	gw_analysis_want(bare);
	while (offers < 3)
		gw_analysis_run(look, false);
	assert_int_equal(offered[1], bare);
	assert_int_equal(offered[2], timed);
}

/* Where time is short, one of each kernel tells more than all of a few. */
static void each_kernel_has_its_first_turn_before_further_configurations(void **state)
{
	uint32_t one = config_of(SAXPY, 4, 128), further = config_of(SAXPY, 5, 128),
	         other = config_of(REDUCE, 7, 64);

	(void)state;
	gw_analysis_want(one);
	gw_analysis_want(further);
	gw_analysis_want(other);
	while (offers < 3)
		gw_analysis_run(look, false);
	assert_int_equal(offered[0], one);
	assert_int_equal(offered[1], other);
	assert_int_equal(offered[2], further);
}

/* Two seconds, and two percent; a larger budget grants its own share. */
static void a_larger_budget_pays_for_more_analyses(void **state)
{
	static const uint64_t second = 1000000000;

	(void)state;
	gw_options.budget = 1;
	assert_int_equal(gw_analysis_allowance(0), 2 * second);
	assert_int_equal(gw_analysis_allowance(100 * second), 4 * second);
	gw_options.budget = 50;
	assert_int_equal(gw_analysis_allowance(0), 2 * second);
	assert_int_equal(gw_analysis_allowance(100 * second), 52 * second);
}

/* Their launches are predicted before their times are looked at; but times don't wait for ever. */
static void times_wait_for_the_first_analysis_and_not_for_ever(void **state)
{
	uint32_t timed = config_of(SAXPY, 4, 128), fresh = config_of(SAXPY, 5, 128);

	(void)state;
	stopped = gw_steady_ns();
	gw_config_entry(timed)->measured = 1;
	gw_analysis_want(timed);
	assert_true(gw_analysis_waits());
	assert_false(gw_analysis_defers_join(1));
	gw_analysis_want(fresh);
	/* Nor do any number of them, or many of the same. */
	assert_false(gw_analysis_defers_join(GW_ANALYSIS_HOLD + 1));
	assert_false(gw_analysis_defers_join(2 * GW_ANALYSIS_HOLD_EACH));
	stopped += GW_ANALYSIS_HOLD_MS * UINT64_C(1000000) - 1;
	assert_true(gw_analysis_defers_join(GW_ANALYSIS_HOLD_EACH));
	stopped++;
	assert_false(gw_analysis_defers_join(1));
	stopped = 0;
	gw_analysis_run(look, false);
	gw_analysis_run(look, false); /* each round takes one at least */
	assert_false(gw_analysis_waits());
}

static void code_that_is_not_to_be_had_is_counted(void **state)
{
	(void)state;
	gw_analysis_want(config_of(LOST, 1, 32));
	gw_analysis_want(config_of(BROKEN, 1, 32));
	while (gw_analysis_waits()) /* a round is a time: on a busy machine it may take one alone */
		gw_analysis_run(look, false);
	assert_int_equal(counted(GW_COUNTER_analysis_no_code), 2);
	assert_int_equal(counted(GW_COUNTER_studied), 0);
	assert_int_equal(ends[1].end, GW_ANALYSIS_NO_CODE);
	assert_string_equal(ends[1].why, "its module was loaded unseen");
	assert_int_equal(ends[2].end, GW_ANALYSIS_NO_CODE);
	assert_string_equal(ends[2].why, "no image in it runs on this GPU");
}

/* A block of more threads than there can be, a range for what data decide, and what was all
 * reported.
 */
static void each_analysis_says_what_it_left_unknown(void **state)
{
	uint32_t all = config_of(SAXPY, 4, 128), part = config_of(SAXPY, 5, 128),
	         none = config_of(SAXPY, 1, 2048);

	(void)state;
	arguments_of(all, 512);
	arguments_of(none, 512);
	gw_analysis_want(all);
	gw_analysis_want(part);
	gw_analysis_want(none);
	while (offers < 3)
		gw_analysis_run(look, false);
	assert_int_equal(ends[all].said, 0);
	assert_int_equal(ends[part].said, 1);
	assert_int_equal(ends[part].end, GW_ANALYSIS_DONE);
	assert_int_equal(ends[part].bare, 1);
	assert_string_equal(ends[part].why,
	                    "a branch depends on what is not known before the launch");
	assert_int_equal(ends[none].end, GW_ANALYSIS_UNSUPPORTED);
	assert_string_equal(ends[none].why, "a block has at most 1024 threads");
	/* With the arguments all is reported, and what was said before no longer holds. */
	arguments_of(part, 512);
	gw_analysis_want(part);
	gw_analysis_run(look, false);
	assert_int_equal(ends[part].said, 2);
	assert_int_equal(ends[part].end, GW_ANALYSIS_DONE);
	assert_int_equal(ends[part].bare, 0);
	assert_string_equal(ends[part].why, "");
}

static void those_whose_turn_did_not_come_are_named_at_the_end(void **state)
{
	uint32_t waits = config_of(REDUCE, 7, 64), unseen;
	struct gw_activity a = {.name = "by_the_device",
	                        .grid = {1, 1, 1},
	                        .block = {32, 1, 1},
	                        .cluster = {1, 1, 1}};

	(void)state;
	unseen = gw_intern_config_of_activity(&a);
	gw_analysis_want(waits);
	log_full = true;
	gw_analysis_finish(); /* no more than the log may hold */
	assert_int_equal(ends[waits].said, 0);
	log_full = false;
	gw_analysis_finish();
	assert_int_equal(ends[waits].end, GW_ANALYSIS_NOT_REACHED);
	assert_string_equal(ends[waits].why, "the program ended before its turn");
	assert_int_equal(ends[unseen].end, GW_ANALYSIS_NO_CODE);
	assert_string_equal(ends[unseen].why, "no launch of it was seen, only that it ran");
	gw_analysis_finish();
	assert_int_equal(ends[waits].said, 1);
}

/* The largest grid there is, of blocks that all loop as long as an argument says. */
static void whatever_the_launch_is_the_rings_are_looked_after(void **state)
{
	uint32_t config = gw_intern_config(
	        POWERS, 0,
	        &(struct gw_config){{INT32_MAX, 65535, 65535}, {1024, 1, 1}, {1, 1, 1}, 0, 0});
	struct gw_arguments *a = gw_arena_array(&arena, 1, sizeof(*a));

	(void)state;
	memset(a->bytes, 0x7f, 12);
	a->size = 12;
	gw_config_entry(config)->arguments = a;
	gw_analysis_want(config);
	gw_analysis_run(look, false);
	/* CPU time, not time: other tests run meanwhile, and other guests of the machine. */
	assert_true(counted(GW_COUNTER_analysis_ns) <
	            4 * GW_ANALYSIS_LAUNCH_MS * UINT64_C(1000000));
	if (counted(GW_COUNTER_analysis_ns) > 10 * GW_ANALYSIS_LOOK_US * UINT64_C(1000))
		assert_true(looks > 0);
}

/* As many rounds as its number's square says: no block stands for another. */
static const char crooked[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".visible .entry crooked()\n{\n"
                              "	.reg .pred %p<2>;\n	.reg .u32 %r<4>;\n"
                              "	mov.u32 %r0, %ctaid.x;\n	mul.lo.u32 %r1, %r0, %r0;\n"
                              "	and.b32 %r1, %r1, 1023;\n	mov.u32 %r2, 0;\nL:\n"
                              "	add.u32 %r2, %r2, 1;\n	setp.lt.u32 %p0, %r2, %r1;\n"
                              "	@%p0 bra L;\n	ret;\n}\n";

static void what_takes_long_is_reported_briefly_first(void **state)
{
	struct gw_module_note *n = gw_arena_array(&arena, 1, sizeof(*n) + 1);
	uint32_t config, other = config_of(SAXPY, 4, 128);

	(void)state;
	n->number = 3;
	n->bytes = sizeof(crooked);
	n->image = (void *)(uintptr_t)crooked;
	gw_code_module(n);
	kernel(CROOKED, "crooked", 3);
	config = config_of(CROOKED, 1 << 20, 64);
	gw_config_entry(config)->arguments = gw_arena_array(&arena, 1, sizeof(struct gw_arguments));
	arguments_of(other, 512);
	gw_analysis_want(config);
	gw_analysis_want(other);
	while (offers < 2)
		gw_analysis_run(look, false);
	gw_analysis_want(config); /* its next launch asks for nothing more */
	while (gw_analysis_waits())
		gw_analysis_run(look, false);
	assert_int_equal(offers, 3);
	assert_int_equal(offered[0], config);
	assert_int_equal(offered[1], other);
	assert_int_equal(offered[2], config);
	assert_int_equal(counted(GW_COUNTER_studied), 2);
}

static void a_program_that_ends_is_not_kept(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		gw_analysis_want(config_of(REDUCE, 1000 + i, 64));
	while (!looks)
		gw_analysis_run(program_ends, false);
	assert_true(offers < 40);
}

static void memory_is_bounded(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < (DECODED); i++) {
		char *name = gw_arena_array(&arena, 32, 1);

		/* The same kernels under many slots: each is decoded for itself. */
		strcpy(name, "_Z6reduce6recordhPKfPf");
		kernel(16 + i, name, 1);
		gw_hot.shared->kernels[16 + i].hash = 1000 + i;
		gw_analysis_want(config_of(16 + i, 1, 64));
		while (offers <= i)
			gw_analysis_run(look, false);
		assert_true(gw_analysis_code_held() <= GW_ANALYSIS_KERNELS_MEMORY);
		assert_true(gw_analysis_held() + gw_analysis_code_room() <= 64 << 20);
		assert_true(gw_analysis_code_room() >= 16 << 20);
	}
	/* On a machine that is busy with others one may be given up for its time. */
	assert_int_equal(counted(GW_COUNTER_studied) + counted(GW_COUNTER_analysis_abandoned),
	                 DECODED);
}

static void none_where_it_is_not_wanted(void **state)
{
	(void)state;
	gw_options.analyze_code = false;
	gw_analysis_start(0);
	gw_analysis_want(config_of(SAXPY, 4, 128));
	gw_analysis_run(look, false);
	gw_analysis_run(look, false);
	assert_int_equal(offers, 0);
	assert_int_equal(ends[0].said, 1);
	assert_int_equal(ends[0].end, GW_ANALYSIS_OFF);
	gw_options.analyze_code = true;
	gw_options.mode = GW_MODE_COUNT;
	gw_analysis_start(0);
	gw_analysis_want(config_of(SAXPY, 5, 128));
	gw_analysis_run(look, false);
	assert_int_equal(offers, 0);
}

/* ---- on threads ------------------------------------------------------------------------------ */

static int start_threads(void **state)
{
	start(state);
	gw_options.budget = 1;
	gw_analysis_start(GW_ANALYSIS_THREADS);
	return 0;
}

/* None of them is left when the next test starts anew. */
static int end_threads(void **state)
{
	gw_analysis_stop();
	for (int i = 0; gw_spawned() && i < 10000; i++)
		usleep(1000);
	assert_int_equal(gw_spawned(), 0);
	gw_analysis_start(0);
	return end(state);
}

static void run_until_none_waits(void)
{
	while (gw_analysis_waits()) {
		gw_analysis_run(look, false);
		usleep(1000);
	}
}

static void threads_report_what_the_worker_would(void **state)
{
	uint32_t config = config_of(SAXPY, 4, 128);

	(void)state;
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
static void times_wait_for_a_thread_that_is_at_the_first_analysis(void **state)
{
	(void)state;
	gw_analysis_want(config_of(SAXPY, 4, 128));
	gw_analysis_run(look, false);
	if (!offers)
		assert_true(gw_analysis_defers_join(1));
	run_until_none_waits();
	assert_false(gw_analysis_defers_join(1));
	assert_int_equal(offers, 1);
}

/* More kernels than may stay decoded, read from the same module by several threads at once. */
static void many_at_a_time_are_all_analysed_once(void **state)
{
	enum { KERNELS = 3, CONFIGS = 20 };
	static const char *const names[KERNELS] = {"_Z5saxpyifPKfPf", "powers",
	                                           "_Z6reduce6recordhPKfPf"};

	(void)state;
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
static void threads_end_with_the_program(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		gw_analysis_want(config_of(REDUCE, 1000 + i, 64));
	gw_analysis_run(look, false);
	gw_analysis_run(look, true);
	gw_analysis_stop();
	assert_true(gw_analysis_inline());
}

/* A minute of idle processors before the budget rules, but none where no budget is given. */
static void answers_come_before_the_budget(void **state)
{
	static const uint64_t second = 1000000000;

	(void)state;
	assert_int_equal(gw_analysis_allowance(0), 60 * second);
	assert_int_equal(gw_analysis_allowance(100 * second), 62 * second);
	gw_options.budget = 0;
	assert_int_equal(gw_analysis_allowance(0), 2 * second);
}

#define THREADED(name) cmocka_unit_test_setup_teardown(name, start_threads, end_threads)
#define TEST(name)     cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(a_launch_is_reported_from_code_and_arguments),
	        TEST(other_arguments_tell_other_work),
	        TEST(a_configuration_is_analysed_once),
	        TEST(arguments_that_come_later_are_worth_another_analysis),
	        TEST(configurations_never_timed_come_first),
	        TEST(what_arguments_may_settle_comes_before_what_was_timed),
	        TEST(each_kernel_has_its_first_turn_before_further_configurations),
	        TEST(a_larger_budget_pays_for_more_analyses),
	        TEST(times_wait_for_the_first_analysis_and_not_for_ever),
	        TEST(code_that_is_not_to_be_had_is_counted),
	        TEST(each_analysis_says_what_it_left_unknown),
	        TEST(those_whose_turn_did_not_come_are_named_at_the_end),
	        TEST(whatever_the_launch_is_the_rings_are_looked_after),
	        TEST(what_takes_long_is_reported_briefly_first),
	        TEST(a_program_that_ends_is_not_kept),
	        TEST(memory_is_bounded),
	        TEST(none_where_it_is_not_wanted),
	        THREADED(threads_report_what_the_worker_would),
	        THREADED(times_wait_for_a_thread_that_is_at_the_first_analysis),
	        THREADED(many_at_a_time_are_all_analysed_once),
	        THREADED(threads_end_with_the_program),
	        THREADED(answers_come_before_the_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
