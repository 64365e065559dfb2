/* Launches analysed on the worker: what is reported of them, in which order, within which bounds.
 */
#include "predictor/models/inputs.h"
#include "preload/analysis/analysis_code.h"
#include "preload/analysis/analysis_queue.h"
#include "preload/analysis/code.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/driver.h"
#include "preload/runtime/options.h"
#include "preload/maps/own_use.h"
#include "preload/worker/registry.h"
#include "tests/test.h"
#include "tests/unit/analysis_fixture.h"
#include "tests/unit/preload_fixture.h"

TEST_WITH(a_launch_is_reported_from_code_and_arguments, analysis_start, analysis_end)
{
	uint32_t config = config_of(SAXPY, 4, 128);

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
TEST_WITH(other_arguments_tell_other_work, analysis_start, analysis_end)
{
	uint32_t config = config_of(SAXPY, 4, 128);

	arguments_of(config, 256);
	gw_analysis_want(config);
	gw_analysis_run(look, false);
	assert_true(row(GW_WORK_global_load_requests) == 16);
}

TEST_WITH(a_configuration_is_analysed_once, analysis_start, analysis_end)
{
	uint32_t config = config_of(SAXPY, 4, 128);

	arguments_of(config, 512);
	for (unsigned i = 0; i < 5; i++) {
		gw_analysis_want(config);
		gw_analysis_want(config);
		gw_analysis_run(look, false);
	}
	assert_int_equal(offers, 1);
}

/* saxpy's factor decides nothing: launches that differ in it share what one analysis found. */
TEST_WITH(numbers_that_decide_nothing_need_no_analysis_of_their_own, analysis_start, analysis_end)
{
	uint32_t config[3];

	know_parameters();
	for (uint32_t i = 0; i < 3; i++)
		gw_analysis_want(config[i] = config_by_factor(i, i < 2 ? 512 : 256));
	while (offers < 3)
		gw_analysis_run(look, false);
	assert_int_equal(offered[1], config[1]);
	assert_int_equal(counted(GW_COUNTER_studied), 2); /* 512 and 256 */
}

/* From here on addresses are memory of the host. */
static const CUdeviceptr HOSTS = 0x720000000000;

static CUresult attribute_of(void *data, CUpointer_attribute which, CUdeviceptr at)
{
	if (which == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
		*(unsigned *)data = at >= HOSTS ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	else if (which == CU_POINTER_ATTRIBUTE_IS_MANAGED)
		*(unsigned *)data = 0;
	else if (which == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
		*(CUdeviceptr *)data = at;
	else
		*(size_t *)data = 1 << 20;
	return CUDA_SUCCESS;
}

/* The numbers decide nothing, but where the data lie does. */
TEST_WITH(what_passes_memory_of_the_host_shares_no_analysis_of_what_does_not, analysis_start,
	  analysis_end)
{
	uint32_t here = config_by_factor(1, 512), there = config_by_factor(2, 512);
	const CUdeviceptr y = HOSTS;
	double within;

	know_parameters();
	gw_driver.cuPointerGetAttribute = attribute_of;
	memcpy((void *)(uintptr_t)(gw_config_entry(there)->arguments->bytes + 16), &y, sizeof(y));
	gw_analysis_want(here);
	gw_analysis_run(look, false);
	within = row(GW_WORK_least_time);
	gw_analysis_want(there);
	gw_analysis_run(look, false);
	gw_driver.cuPointerGetAttribute = NULL;
	assert_int_equal(counted(GW_COUNTER_studied), 2);
	assert_true(within == 0 && row(GW_WORK_least_time) > 0);
}

TEST_WITH(arguments_that_come_later_are_worth_another_analysis, analysis_start, analysis_end)
{
	uint32_t config = config_of(SAXPY, 4, 128);

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
TEST_WITH(configurations_never_timed_come_first, analysis_start, analysis_end)
{
	uint32_t timed = config_of(SAXPY, 4, 128), fresh = config_of(SAXPY, 5, 128);

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
TEST_WITH(what_arguments_may_settle_comes_before_what_was_timed, analysis_start, analysis_end)
{
	uint32_t bare = config_of(SAXPY, 4, 128), timed = config_of(SAXPY, 5, 128);

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

/* Where time is short, one of each kernel shows more than all of a few. */
TEST_WITH(each_kernel_has_its_first_turn_before_further_configurations, analysis_start,
	  analysis_end)
{
	uint32_t one = config_of(SAXPY, 4, 128), further = config_of(SAXPY, 5, 128),
		 other = config_of(REDUCE, 7, 64);

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
TEST_WITH(a_larger_budget_pays_for_more_analyses, analysis_start, analysis_end)
{
	static const uint64_t second = 1000000000;

	gw_options.budget = 1;
	assert_int_equal(gw_analysis_allowance(0), 2 * second);
	assert_int_equal(gw_analysis_allowance(100 * second), 4 * second);
	gw_options.budget = 50;
	assert_int_equal(gw_analysis_allowance(0), 2 * second);
	assert_int_equal(gw_analysis_allowance(100 * second), 52 * second);
}

/* Two seconds in the first eighteen, and one percent. */
TEST_WITH(mode_watch_has_less_time_for_it, analysis_start, analysis_end)
{
	static const uint64_t second = 1000000000;

	gw_options.budget = 1;
	gw_options.mode = GW_MODE_WATCH;
	assert_int_equal(gw_analysis_allowance(0), second / 5);
	assert_int_equal(gw_analysis_allowance(4 * second), second / 5 + 4 * second / 100 * 11);
	assert_int_equal(gw_analysis_allowance(100 * second), 3 * second);
}

TEST_WITH(mode_watch_reads_code_too, analysis_start, analysis_end)
{
	gw_options.mode = GW_MODE_WATCH;
	gw_analysis_start(0);
	gw_analysis_want(config_of(SAXPY, 4, 128));
	gw_analysis_run(look, false);
	assert_int_equal(offers, 1);
	assert_false(gw_analysis_defers_join(1));
}

/* So that no time goes into what is launched but once, as often as that may be. */
TEST_WITH(there_a_further_shape_is_analysed_when_it_has_run_as_long, analysis_start, analysis_end)
{
	uint32_t first = config_of(SAXPY, 4, 128), further = config_of(SAXPY, 5, 128);

	gw_options.mode = GW_MODE_WATCH;
	gw_analysis_start(0);
	gw_analysis_launched(first);
	gw_analysis_run(look, false);
	/* Its analysis took longer than a launch. */
	gw_analysis_queue_took(gw_config_entry(first)->slot, 1000000, false);
	gw_config_entry(further)->launches = 1;
	gw_analysis_launched(further);
	gw_analysis_run(look, false);
	assert_int_equal(offers, 1);
	assert_false(gw_analysis_waits());
	gw_config_entry(further)->launches = 1000000;
	gw_analysis_launched(further);
	gw_analysis_run(look, false);
	assert_int_equal(offers, 2);
}

TEST_WITH(what_was_read_can_be_given_back_and_read_again, analysis_start, analysis_end)
{
	gw_options.mode = GW_MODE_WATCH;
	gw_analysis_start(0);
	gw_analysis_want(config_of(SAXPY, 4, 128));
	gw_analysis_run(look, false);
	assert_true(gw_analysis_held() > 0);
	gw_analysis_code_tidy();
	assert_int_equal(gw_analysis_held(), 0);
	gw_analysis_want(config_of(SAXPY, 5, 128));
	gw_analysis_run(look, false);
	assert_int_equal(offers, 2);
	assert_true(gw_analysis_held() > 0);
}

/* Reductions of PyTorch take 28 MiB. */
TEST_WITH(one_at_a_time_has_more_room, analysis_start, analysis_end)
{
	gw_analysis_start(0);
	assert_true(gw_analysis_code_room() >= GW_ANALYSIS_ROOM_ALONE);
	gw_analysis_start(4);
	assert_true(gw_analysis_code_room() >= GW_ANALYSIS_ROOM);
	assert_true(gw_analysis_code_room() < GW_ANALYSIS_ROOM_ALONE);
	gw_options.mode = GW_MODE_WATCH; /* where there is one, however many might be */
	assert_true(gw_analysis_code_room() >= GW_ANALYSIS_ROOM_ALONE);
	gw_analysis_start(0);
}

static unsigned asked;

static bool goes_on(void *unused)
{
	(void)unused;
	return true;
}

static bool refuse_the_first(size_t bytes)
{
	(void)bytes;
	return asked++ != 0;
}

static void took_back(size_t bytes)
{
	(void)bytes;
}

/* Its share may be too small for it: then it is done again, with all that is left. */
TEST_WITH(an_evaluation_without_room_gets_what_is_left, analysis_start, analysis_end)
{
	static struct gw_device device;
	const struct gw_analysis_launch launch = {
		.slot = SAXPY,
		.config = {{4, 1, 1}, {128, 1, 1}, {1, 1, 1}, 0, 0},
		.device = &device,
		.go_on = goes_on};
	struct gw_work rows;
	const char *why;

	gw_analysis_code_start(4);
	gw_analysis_code_decode(SAXPY);
	asked = 0;
	gw_arena_account(refuse_the_first, took_back);
	assert_int_equal(gw_analysis_code(&launch, &rows, &why, NULL, NULL), GW_ANALYSIS_DONE);
	gw_arena_account(NULL, NULL);
	assert_true(asked > 1 && gw_work_value(&rows, GW_WORK_inst_executed) > 0);
	gw_analysis_start(0);
}

/* By a clock of the test's: a second of gpuwatch's threads too much each second. */
TEST_WITH(above_its_share_of_the_processor_nothing_is_analysed, analysis_start, analysis_end)
{
	uint64_t now = 1000000000000, cpu = 0;

	gw_options.mode = GW_MODE_WATCH;
	gw_options.cpu_max = 2;
	gw_analysis_start(0);
	gw_own_use_start();
	for (unsigned i = 0; i < 5; i++)
		gw_own_use_tick(now += 1000000000, cpu += 1000000000);
	assert_true(gw_sheds(GW_SHED_ANALYSIS));
	gw_analysis_want(config_of(SAXPY, 4, 128));
	gw_analysis_run(look, false);
	assert_int_equal(offers, 0);
	assert_false(gw_analysis_waits());
	for (unsigned i = 0; gw_sheds(GW_SHED_ANALYSIS) && i < 1000; i++)
		gw_own_use_tick(now += 1000000000, cpu);
	gw_analysis_run(look, false);
	assert_int_equal(offers, 1);
}

/* Their launches are predicted before their times are looked at; but times don't wait for ever. */
TEST_WITH(times_wait_for_the_first_analysis_and_not_for_ever, analysis_start, analysis_end)
{
	uint32_t timed = config_of(SAXPY, 4, 128), fresh = config_of(SAXPY, 5, 128);

	stopped = gw_steady_ns();
	gw_config_entry(timed)->measured = 1;
	gw_analysis_want(timed);
	assert_true(gw_analysis_waits());
	assert_false(gw_analysis_defers_join(1));
	gw_analysis_want(fresh);
	/* Nor do any number of them, or many of the same. */
	assert_false(gw_analysis_defers_join(GW_ANALYSIS_HOLD + 1));
	assert_false(gw_analysis_defers_join(2 * GW_ANALYSIS_HOLD_EACH));
	assert_true(gw_analysis_defers_join(GW_ANALYSIS_HOLD_EACH));
	stopped += GW_ANALYSIS_HOLD_MS * UINT64_C(1000000) - 1;
	assert_true(gw_analysis_defers_join(GW_ANALYSIS_HOLD_EACH));
	stopped++;
	assert_false(gw_analysis_defers_join(1));
	/* They were taken, and what has none yet is waited for as before. */
	assert_true(gw_analysis_defers_join(1));
	stopped += GW_ANALYSIS_HOLD_MS * UINT64_C(1000000);
	assert_false(gw_analysis_defers_join(1));
	gw_config_entry(fresh)->measured = 1;
	assert_false(gw_analysis_defers_join(1));
	stopped = 0;
	gw_analysis_run(look, false);
	gw_analysis_run(look, false); /* each round takes one at least */
	assert_false(gw_analysis_waits());
}

/* Its times predict it; a new kernel's wait as long as if nothing had come before. */
TEST_WITH(times_of_a_kernel_analysed_for_long_do_not_wait, analysis_start, analysis_end)
{
	gw_analysis_want(config_of(SAXPY, 4, 128));
	gw_analysis_run(look, false);
	gw_analysis_queue_took(SAXPY, GW_ANALYSIS_EACH_MS * UINT64_C(1000000), true);
	stopped = gw_steady_ns();
	gw_analysis_want(config_of(SAXPY, 5, 128));
	assert_true(gw_analysis_waits());
	assert_false(gw_analysis_defers_join(1));
	stopped += GW_ANALYSIS_HOLD_MS * UINT64_C(1000000);
	gw_analysis_want(config_of(REDUCE, 7, 64));
	assert_true(gw_analysis_defers_join(1));
	stopped = 0;
}

TEST_WITH(code_that_is_not_to_be_had_is_counted, analysis_start, analysis_end)
{
	gw_analysis_want(config_of(LOST, 1, 32));
	gw_analysis_want(config_of(BROKEN, 1, 32));
	while (gw_analysis_waits()) /* a round is a time: on a busy machine it may take one alone */
		gw_analysis_run(look, false);
	assert_int_equal(counted(GW_COUNTER_analysis_no_code), 2);
	assert_int_equal(counted(GW_COUNTER_studied), 0);
	assert_int_equal(ends[1].end, GW_ANALYSIS_NO_CODE);
	assert_non_null(strstr(ends[1].why, "its module was loaded unseen"));
	assert_int_equal(ends[2].end, GW_ANALYSIS_NO_CODE);
	assert_string_equal(ends[2].why, "no image in it runs on this GPU");
}

/* A block of more threads than there can be, a range for what data decide, and what was all
 * reported.
 */
TEST_WITH(each_analysis_says_what_it_left_unknown, analysis_start, analysis_end)
{
	uint32_t all = config_of(SAXPY, 4, 128), part = config_of(SAXPY, 5, 128),
		 none = config_of(SAXPY, 1, 2048);

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

/* out[i] = in[index[i]]: counts are settled, addresses are not. */
TEST_WITH(work_whose_addresses_data_decide_is_a_lower_limit, analysis_start, analysis_end)
{
	uint32_t config = config_of(GATHER, 64, 128);
	struct gw_arguments *a = gw_arena_array(&arena, 1, sizeof(*a));
	const uint64_t at[] = {0x700000000000, 0x710000000000, 0x720000000000};
	const int32_t n = 64 * 128;

	a->size = sizeof(at) + sizeof(n);
	memcpy(a->bytes, at, sizeof(at));
	memcpy(a->bytes + sizeof(at), &n, sizeof(n));
	gw_config_entry(config)->arguments = a;
	gw_analysis_want(config);
	gw_analysis_run(look, false);
	assert_true(work.q[GW_WORK_inst_executed].confidence == 1);
	assert_true(row(GW_WORK_least_time) > 0);
	assert_int_equal(ends[config].end, GW_ANALYSIS_DONE);
	assert_string_equal(
		ends[config].why,
		"what it does, or where, depends on what is not known before the launch");
}

TEST_WITH(those_whose_turn_did_not_come_are_named_at_the_end, analysis_start, analysis_end)
{
	uint32_t waits = config_of(REDUCE, 7, 64), unseen;
	struct gw_activity a = {.name = "by_the_device",
				.grid = {1, 1, 1},
				.block = {32, 1, 1},
				.cluster = {1, 1, 1}};

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
TEST_WITH(whatever_the_launch_is_the_rings_are_looked_after, analysis_start, analysis_end)
{
	uint32_t config = gw_intern_config(
		POWERS, 0,
		&(struct gw_config){{INT32_MAX, 65535, 65535}, {1024, 1, 1}, {1, 1, 1}, 0, 0});
	struct gw_arguments *a = gw_arena_array(&arena, 1, sizeof(*a));

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

static void load_crooked(void)
{
	struct gw_module_note *n = gw_arena_array(&arena, 1, sizeof(*n) + 1);

	n->number = 3;
	n->bytes = sizeof(crooked);
	n->image = (void *)(uintptr_t)crooked;
	gw_code_module(n);
	kernel(CROOKED, "crooked", 3);
}

static uint32_t crooked_of(uint32_t blocks)
{
	uint32_t config = config_of(CROOKED, blocks, 64);

	gw_config_entry(config)->arguments = gw_arena_array(&arena, 1, sizeof(struct gw_arguments));
	return config;
}

/* Of @p others beside what takes long; its next launch asks for nothing more. */
static uint32_t crooked_beside(uint32_t others)
{
	uint32_t config;

	load_crooked();
	config = crooked_of(1 << 20);
	gw_analysis_want(config);
	for (uint32_t i = 0; i < others; i++)
		gw_analysis_want(config_of(SAXPY, 4 + i, 128));
	while (offers < 1 + others)
		gw_analysis_run(look, false);
	gw_analysis_want(config);
	while (gw_analysis_waits())
		gw_analysis_run(look, false);
	assert_int_equal(offered[0], config);
	assert_int_equal(counted(GW_COUNTER_studied), 1 + others);
	return config;
}

TEST_WITH(what_takes_long_is_reported_briefly_first, analysis_start, analysis_end)
{
	uint32_t config = crooked_beside(GW_ANALYSIS_THREADS);

	assert_int_equal(offers, GW_ANALYSIS_THREADS + 2);
	assert_int_equal(offered[offers - 1], config);
}

TEST_WITH(where_few_wait_all_is_reported_at_once, analysis_start, analysis_end)
{
	crooked_beside(GW_ANALYSIS_THREADS - 1);
	assert_int_equal(offers, GW_ANALYSIS_THREADS);
}

TEST_WITH(a_program_that_ends_is_not_kept, analysis_start, analysis_end)
{
	load_crooked();
	for (uint32_t i = 0; i < 40; i++)
		gw_analysis_want(crooked_of((1 << 20) + i));
	while (!looks && gw_analysis_waits())
		gw_analysis_run(program_ends, false);
	assert_true(looks > 0);
	assert_true(gw_analysis_waits());
}

TEST_WITH(memory_is_bounded, analysis_start, analysis_end)
{
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

TEST_WITH(none_where_it_is_not_wanted, analysis_start, analysis_end)
{
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

TESTS_MAIN()
