/* Digests in the process: whose plans are published, which configurations they make, and when a
 * plan is taken back. */
#include "preload/launch/call.h"
#include "preload/analysis/digests.h"
#include "preload/live/log.h"
#include "preload/worker/profile.h"
#include "preload/worker/registry.h"
#include "predictor/code/digest_provisional.h"
#include "predictor/code/eval/eval.h"
#include "tests/test.h"
#include "tests/unit/ir_kernel.h"
#include "tests/unit/preload_fixture.h"

enum { KERNEL = 1, OTHER = 2, BLOCKS = 4 };

static struct ir_kernel k;
static struct gw_layout *layout;

/* In place of what comes from the driver and the log. */
void gw_log_write(enum gw_record_kind kind, void *head, size_t size, const void *tail,
		  size_t tail_size)
{
	(void)kind;
	(void)head;
	(void)size;
	(void)tail;
	(void)tail_size;
}

void gw_device_profile_use(uint32_t id, const char *name)
{
	(void)id;
	(void)name;
}

/* if (tid < n) …; parameters of 8 bytes, n the second. */
static const struct gw_ir_program *program(void)
{
	uint32_t yes, no;
	gw_ir_operand test;

	ir_begin(&k);
	test = gw_ir_emit(&k.b, IR_CMP, 64, IR_COND_LTU, gw_ir_reg(&k.b, 1), 2,
			  ir_special(&k, IR_SREG_TID_X), ir_param(&k, 1));
	yes = gw_ir_block_new(&k.b);
	no = gw_ir_block_new(&k.b);
	gw_ir_end_branch(&k.b, test, false, yes, no);
	gw_ir_block_start(&k.b, yes);
	ir_store(&k, IR_SPACE_GLOBAL, ir_param(&k, 0), ir_number(&k, 1));
	gw_ir_end_jump(&k.b, no);
	gw_ir_block_start(&k.b, no);
	gw_ir_end_exit(&k.b);
	assert_null(gw_ir_finish(&k.b));
	return &k.b.program;
}

static int start(void **state)
{
	static union {
		struct gw_layout layout;
		char room[sizeof(struct gw_layout) + 2 * sizeof(struct gw_code_param)];
	} two;

	fixture_start();
	layout = &two.layout;
	layout->bytes = 16;
	layout->count = 2;
	layout->param[0] = (struct gw_code_param){0, 8};
	layout->param[1] = (struct gw_code_param){8, 8};
	for (uint32_t i = KERNEL; i <= OTHER; i++)
		gw_hot.shared->kernels[i] =
			(struct gw_kernel_slot){.name = "kernel", .hash = i, .layout = layout};
	atomic_store(&gw_hot.shared->kernel_count, OTHER);
	assert_true(gw_registry_start());
	gw_digests_start();
	gw_digests_plan(KERNEL, program());
	return 0;
}

static int end(void **state)
{
	gw_arena_free(&k.arena);
	return 0;
}

static const struct gw_digest_plan *plan_of(uint32_t slot)
{
	return atomic_load(&gw_hot.shared->kernels[slot].plan);
}

static uint32_t launch(uint32_t slot, uint32_t blocks, uint32_t digest)
{
	struct gw_config c = {{blocks, 1, 1}, {32, 1, 1}, {1, 1, 1}, 0, digest};
	uint32_t id = gw_intern_config(slot, 0, &c);

	gw_config_launched(id, 1);
	return id;
}

static bool distinguished(uint32_t slot)
{
	return plan_of(slot) != NULL;
}

/* if (tid < n) { if (tid < m) …; }: a layout of two words, at 0 and 8, and launches that have
 * these. Block 1 compares m. */
static void give_two_words(void)
{
	uint32_t more, end;

	gw_arena_free(&k.arena);
	ir_begin(&k);
	end = gw_ir_block_new(&k.b);
	for (unsigned i = 0; i < 2; i++) {
		more = gw_ir_block_new(&k.b);
		gw_ir_end_branch(&k.b,
				 gw_ir_emit(&k.b, IR_CMP, 64, IR_COND_LTU, gw_ir_reg(&k.b, 1), 2,
					    ir_special(&k, IR_SREG_TID_X), ir_param(&k, i)),
				 false, more, end);
		gw_ir_block_start(&k.b, more);
	}
	gw_ir_end_jump(&k.b, end);
	gw_ir_block_start(&k.b, end);
	gw_ir_end_exit(&k.b);
	assert_null(gw_ir_finish(&k.b));
	gw_digests_plan(OTHER, &k.b.program);
	assert_int_equal(plan_of(OTHER)->count, 2);
}

/* A launch of it was analysed, in which no warp runs block @p not; UINT32_MAX: that is not known.
 */
static void analysed(uint32_t not )
{
	struct gw_eval_block ran[4];

	for (uint32_t i = 0; i < 4; i++)
		ran[i] = (struct gw_eval_block){.runs.most = i != not };
	assert_int_equal(k.b.program.block_count, 4);
	gw_digests_ran(OTHER, &k.b.program, not == UINT32_MAX ? NULL : ran);
}

static uint32_t launch_with(uint32_t blocks, uint64_t first, uint64_t second)
{
	const uint64_t words[] = {first, second};
	struct gw_arguments *a = gw_shared_keep(sizeof(*a) + sizeof(words));
	struct gw_config_entry *c;

	a->size = sizeof(words);
	memcpy(a->bytes, words, sizeof(words));
	c = gw_config_entry(launch(
		OTHER, blocks,
		plan_of(OTHER) ? gw_digest_of_buffer(plan_of(OTHER), a->bytes, a->size) : 0));
	c->arguments = c->arguments ? c->arguments : a;
	return gw_config_count();
}

TEST_WITH(a_kernel_whose_code_was_read_has_a_plan, start, end)
{
	assert_true(distinguished(KERNEL));
	assert_int_equal(plan_of(KERNEL)->count, 1);
	assert_int_equal(plan_of(KERNEL)->word[0].param, 1);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_digest_plans]), 1);
	assert_false(distinguished(OTHER));
}

/* Threads that keep the slot of their last kernel look it up anew. */
TEST_WITH(who_remembers_the_kernel_is_reported, start, end)
{
	uint32_t was = atomic_load(&gw_hot.function_generation);

	gw_digests_plan(OTHER, &k.b.program);
	assert_true(distinguished(OTHER));
	assert_int_not_equal(atomic_load(&gw_hot.function_generation), was);
}

TEST_WITH(without_a_layout_there_is_none, start, end)
{
	gw_hot.shared->kernels[OTHER].layout = NULL;
	gw_digests_plan(OTHER, &k.b.program);
	assert_false(distinguished(OTHER));
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_digest_plans]), 1);
}

TEST_WITH(a_kernel_read_again_keeps_its_plan, start, end)
{
	const struct gw_digest_plan *was = plan_of(KERNEL);

	gw_digests_plan(KERNEL, &k.b.program);
	assert_ptr_equal(plan_of(KERNEL), was);
}

TEST_WITH(the_digest_is_part_of_a_configuration, start, end)
{
	uint32_t plain = launch(KERNEL, 1, 0), one = launch(KERNEL, 1, 77);

	assert_int_not_equal(one, plain);
	assert_int_equal(launch(KERNEL, 1, 77), one);
	assert_int_not_equal(launch(KERNEL, 1, 78), one);
	assert_int_equal(gw_config_entry(one)->config.digest, 77);
	assert_int_equal(gw_config_entry(one)->head, plain);
}

/* A step counter. */
TEST_WITH(digests_that_never_return_are_given_up, start, end)
{
	uint32_t digest = 1, plain = launch(KERNEL, 1, 0);

	while (distinguished(KERNEL) && digest < 10000)
		launch(KERNEL, 1, digest++);
	assert_false(distinguished(KERNEL));
	/* The first is none further than the grid, the last was refused. */
	assert_int_equal(digest - 1, 1 + GW_DIGESTS_AT_A_TIME + 1);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_digest_plans_dropped]), 1);
	assert_int_equal(gw_config_count(), plain + 1 + GW_DIGESTS_AT_A_TIME);
}

/* Launches of two kinds in turns, and of a third, in two shapes, whose first word is not set. */
TEST_WITH(a_word_that_differs_each_time_is_left_out, start, end)
{
	uint32_t count = 0;

	give_two_words();
	analysed(UINT32_MAX);
	for (uint64_t i = 0; i < 5000; i++) {
		launch_with(1, 1, 10);
		launch_with(2, 2, 20);
		count = launch_with(1 + i % 2, 1000 + i, 30);
	}
	assert_true(distinguished(OTHER));
	assert_int_equal(plan_of(OTHER)->count, 1);
	assert_int_equal(plan_of(OTHER)->word[0].offset, 8);
	assert_int_equal(plan_of(OTHER)->wide, 1);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_digest_plans_dropped]), 0);
	assert_in_range(count, GW_DIGESTS_ONCE, GW_DIGESTS_ONCE + 2 * GW_DIGESTS_AT_A_TIME);
}

TEST_WITH(a_step_counter_beside_a_size_leaves_the_size, start, end)
{
	give_two_words();
	analysed(UINT32_MAX);
	for (uint64_t i = 0; i < 200; i++)
		launch_with(1, 7, i);
	assert_int_equal(plan_of(OTHER)->count, 1);
	assert_int_equal(plan_of(OTHER)->word[0].offset, 0);
	assert_false(gw_digests_alike(OTHER, gw_config_entry(1)->arguments,
				      gw_config_entry(2)->arguments));
}

/* Sizes of a program that hardly ever uses one twice. */
static uint64_t some_size(uint64_t i)
{
	const uint64_t mixed = (i + 1) * UINT64_C(0x9fb21c651e98df25) >> 32;

	return 1000 + (uint64_t)1000 * ((mixed & 0xff) + 1) * ((mixed >> 8 & 0xff) + 1);
}

/* @p a and @p b, beside 7, are of one configuration, however they are passed. */
static bool one_configuration(uint64_t a, uint64_t b)
{
	const uint64_t x[] = {7, a}, y[] = {7, b};
	const void *params[] = {&y[0], &y[1]};

	return gw_digest_of_buffer(plan_of(OTHER), (const void *)x, 16) ==
	       gw_digest_of_params(plan_of(OTHER), params);
}

TEST_WITH(sizes_that_hardly_return_are_distinguished_by_magnitude, start, end)
{
	uint32_t count = 0;

	give_two_words();
	analysed(UINT32_MAX);
	for (uint64_t i = 0; i < 4000; i++)
		count = launch_with(1, 7, some_size(i));
	assert_int_equal(plan_of(OTHER)->count, 2);
	assert_int_equal(plan_of(OTHER)->wide, 1);
	assert_int_equal(plan_of(OTHER)->word[1].offset, 8);
	assert_int_equal(plan_of(OTHER)->word[1].size, 8 | GW_DIGEST_ROUGH);
	assert_true(one_configuration(1 << 20, (1 << 20) * 9 / 8 - 1));
	assert_false(one_configuration(1 << 20, (1 << 20) * 9 / 8));
	assert_in_range(count, 60, 180);
	/* Nothing is taken from launches of about the same size. */
	assert_false(gw_digests_alike(OTHER, gw_config_entry(1)->arguments,
				      gw_config_entry(1)->arguments));
	assert_false(gw_digests_fit(OTHER, gw_config_entry(count)->arguments,
				    gw_config_entry(count)->config.digest));
}

static uint64_t next_seed(void)
{
	static uint64_t seed;

	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return seed >> 16;
}

TEST_WITH(a_seed_makes_few_configurations, start, end)
{
	uint32_t count = 0;

	give_two_words();
	analysed(UINT32_MAX);
	for (uint64_t i = 0; i < 3000; i++) {
		launch_with(1, 1, 10);
		launch_with(1, 2, 20);
		count = launch_with(1, 1000, next_seed());
	}
	assert_int_equal(plan_of(OTHER)->word[0].offset, 0);
	assert_in_range(count, GW_DIGESTS_AT_A_TIME, 2 * GW_DIGESTS_ONCE);
}

TEST_WITH(numbers_of_no_kind_are_given_up, start, end)
{
	uint32_t count = 0;

	give_two_words();
	analysed(UINT32_MAX);
	for (uint64_t i = 0; i < 4000; i++)
		count = launch_with(1, next_seed(), next_seed());
	assert_false(distinguished(OTHER));
	assert_in_range(count, GW_DIGESTS_AT_A_TIME, 3 * GW_DIGESTS_ONCE);
}

/* What the program has not set differs now and then. */
TEST_WITH(a_word_that_no_launch_uses_leaves_after_few_configurations, start, end)
{
	uint32_t count = 0;

	give_two_words();
	analysed(2);
	for (uint64_t i = 0; i < 10000; i++)
		count = launch_with(1, 7, i % 50 ? 1 : i);
	assert_int_equal(plan_of(OTHER)->count, 1);
	assert_int_equal(plan_of(OTHER)->word[0].offset, 0);
	assert_in_range(count, GW_DIGESTS_UNREAD, GW_DIGESTS_UNREAD + 4);
	assert_true(gw_digests_alike(OTHER, gw_config_entry(1)->arguments,
				     gw_config_entry(2)->arguments));
}

TEST_WITH(a_word_that_an_analysed_launch_uses_stays, start, end)
{
	give_two_words();
	analysed(2);
	analysed(0);
	for (uint64_t i = 0; i < 1000; i++)
		launch_with(1, 7, i % 50 ? 1 : i);
	assert_int_equal(plan_of(OTHER)->count, 2);
}

/* In a burst, before any launch of it was analysed. */
TEST_WITH(until_a_launch_is_analysed_few_are_distinguished, start, end)
{
	uint32_t count = 0;

	give_two_words();
	for (uint64_t i = 0; i < 1000; i++) {
		launch_with(1, 7, 1);
		count = launch_with(1, 7, 100 + i);
	}
	assert_false(distinguished(OTHER));
	assert_in_range(count, GW_DIGESTS_UNREAD, GW_DIGESTS_UNREAD + 4);
	analysed(2);
	gw_digests_analysed(OTHER);
	assert_int_equal(plan_of(OTHER)->count, 1);
	assert_int_equal(plan_of(OTHER)->word[0].offset, 0);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_digest_plans_dropped]), 0);
}

TEST_WITH(a_layout_that_was_given_up_does_not_return, start, end)
{
	for (uint32_t digest = 1; digest < 100; digest++)
		launch(KERNEL, 1, digest);
	assert_false(distinguished(KERNEL));
	gw_digests_ran(KERNEL, &k.b.program, NULL);
	gw_digests_analysed(KERNEL);
	assert_false(distinguished(KERNEL));
}

TEST_WITH(a_word_that_is_used_later_comes_back, start, end)
{
	give_two_words();
	analysed(2);
	for (uint64_t i = 0; i < 1000; i++)
		launch_with(1, 7, i % 50 ? 1 : i);
	assert_int_equal(plan_of(OTHER)->count, 1);
	analysed(UINT32_MAX);
	launch_with(1, 8, 1);
	assert_int_equal(plan_of(OTHER)->count, 2);
}

TEST_WITH(words_of_which_each_differs_are_given_up_as_a_whole, start, end)
{
	give_two_words();
	analysed(UINT32_MAX);
	for (uint64_t i = 0; i < 200 && distinguished(OTHER); i++)
		launch_with(1, i, i);
	assert_false(distinguished(OTHER));
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_digest_plans_dropped]), 1);
}

/* What was called before is still met: as a launch whose arguments are not known, if it is new. */
TEST_WITH(launches_after_that_are_of_the_plain_configuration, start, end)
{
	uint32_t plain = launch(KERNEL, 1, 0), old = launch(KERNEL, 1, 1000), digest = 1;

	while (distinguished(KERNEL) && digest < 10000)
		launch(KERNEL, 1, digest++);
	assert_int_equal(launch(KERNEL, 1, 5000), plain);
	assert_int_equal(launch(KERNEL, 1, 1000), old);
	gw_digests_plan(KERNEL, &k.b.program);
	assert_false(distinguished(KERNEL));
}

TEST_WITH(several_launches_in_a_row_are_no_return, start, end)
{
	uint32_t digest = 1;

	for (; distinguished(KERNEL) && digest < 10000; digest++)
		for (unsigned i = 0; i < 40; i++)
			launch(KERNEL, 1, digest);
	assert_int_equal(digest - 1, 1 + GW_DIGESTS_AT_A_TIME + 1);
}

/* Two grids a step, and steps that don't come back. */
TEST_WITH(other_grids_in_between_are_no_return, start, end)
{
	uint32_t digest = 1;

	for (; distinguished(KERNEL) && digest < 10000; digest++)
		for (unsigned i = 0; i < 8; i++)
			launch(KERNEL, 1 + i % 2, digest);
	assert_false(distinguished(KERNEL));
	assert_in_range(digest, GW_DIGESTS_AT_A_TIME / 2, GW_DIGESTS_AT_A_TIME);
}

TEST_WITH(digests_that_return_stay, start, end)
{
	for (uint32_t last = 1; last < 200; last++)
		for (uint32_t digest = last < 4 ? 1 : last - 3; digest <= last; digest++)
			launch(KERNEL, 1, digest);
	assert_true(distinguished(KERNEL));
	assert_int_equal(gw_config_count(), 199);
}

/* The grid distinguishes them as it is: the digest adds no configuration. */
TEST_WITH(a_digest_to_each_grid_is_no_flood, start, end)
{
	for (uint32_t blocks = 1; blocks <= 2000; blocks++)
		launch(KERNEL, blocks, 5 * blocks);
	assert_true(distinguished(KERNEL));
}

TEST_WITH(no_kernel_has_more_than_its_share, start, end)
{
	for (uint32_t digest = 1; distinguished(KERNEL) && digest < 10000; digest++)
		for (unsigned i = 0; i < 4; i++)
			launch(KERNEL, 1, digest > i ? digest - i : 1);
	assert_false(distinguished(KERNEL));
	assert_int_equal(gw_config_count(), 1 + GW_DIGESTS_MOST + 1);
}

TEST_WITH(one_kernel_s_flood_is_not_anothers, start, end)
{
	gw_digests_plan(OTHER, &k.b.program);
	for (uint32_t digest = 1; digest < 100; digest++)
		launch(KERNEL, 1, digest);
	assert_false(distinguished(KERNEL));
	assert_true(distinguished(OTHER));
	assert_int_not_equal(launch(OTHER, 1, 7), launch(OTHER, 1, 8));
}

/* In place of the log: what the second half of the table is for. */
TEST_WITH(digests_take_no_more_than_half_of_the_table, start, end)
{
	uint32_t blocks = 1, last;

	while (gw_config_count() < GW_CONFIGS_MAX / 2)
		launch(OTHER, blocks++, 0);
	last = launch(KERNEL, 1, 9);
	assert_false(distinguished(KERNEL));
	assert_int_equal(gw_config_entry(last)->config.digest, 0);
	assert_int_not_equal(launch(OTHER, blocks, 0), 0);
}

TEST_WITH(arguments_are_read_by_the_plan, start, end)
{
	uint64_t pointer = 1, n = 5, m = 6;
	void *a[] = {&pointer, &n}, *b[] = {&pointer, &m}, *none[] = {&pointer, NULL};
	uint64_t bytes[] = {3, 5};
	size_t size = 16, shorter = 12;
	void *whole[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			 CU_LAUNCH_PARAM_END};
	void *cut[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &shorter,
		       CU_LAUNCH_PARAM_END};
	void *sizeless[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, bytes, CU_LAUNCH_PARAM_END};
	uint32_t digest = gw_digest_read(plan_of(KERNEL), a, NULL);

	assert_int_not_equal(digest, 0);
	assert_int_not_equal(gw_digest_read(plan_of(KERNEL), b, NULL), digest);
	assert_int_equal(gw_digest_read(plan_of(KERNEL), NULL, whole), digest);
	assert_int_equal(gw_digest_read(plan_of(KERNEL), NULL, cut), 0);
	assert_int_equal(gw_digest_read(plan_of(KERNEL), NULL, sizeless), 0);
	assert_int_equal(gw_digest_read(plan_of(KERNEL), none, NULL), 0);
	assert_int_equal(gw_digest_read(plan_of(KERNEL), NULL, NULL), 0);
	assert_int_equal(gw_digest_read(plan_of(KERNEL), a, whole), 0);
}

/* ---- provisional hashes ----
 */

static struct gw_digest_plan made;

static void give_provisional(uint32_t slot)
{
	gw_digest_provisional_make(layout->param, layout->count, &made);
	atomic_store(&gw_hot.shared->kernels[slot].plan, &made);
}

/* Nothing beyond the arguments is read, as the sanitizer sees, for arguments are as long as they
 * are. */
TEST_WITH(by_a_provisional_layout_no_launches_are_alike, start, end)
{
	static const struct gw_code_param param[] = {{0, 24}};
	const volatile size_t size = offsetof(struct gw_arguments, bytes) + 24;
	struct gw_arguments *a = calloc(1, size), *b = calloc(1, size);

	assert_non_null(a);
	assert_non_null(b);
	a->size = b->size = 24;
	gw_digest_provisional_make(param, 1, &made);
	atomic_store(&gw_hot.shared->kernels[KERNEL].plan, &made);
	assert_false(gw_digests_alike(KERNEL, a, b));
	free(a);
	free(b);
}

TEST_WITH(the_code_s_layout_replaces_the_provisional_one, start, end)
{
	give_provisional(OTHER);
	gw_digests_plan(OTHER, &k.b.program);
	assert_true(distinguished(OTHER));
	assert_false(plan_of(OTHER)->provisional);
}

TEST_WITH(provisional_hashes_that_never_return_are_given_up, start, end)
{
	uint32_t n = 1;

	give_provisional(OTHER);
	while (distinguished(OTHER) && n < 10000)
		launch(OTHER, 1, GW_DIGEST_IS_PROVISIONAL | n++);
	assert_int_equal(n - 1, 1 + GW_DIGESTS_UNREAD + 1);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_digest_provisional_dropped]), 1);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_digest_plans_dropped]), 0);
	/* That says nothing of hashes by the code. */
	gw_digests_plan(OTHER, &k.b.program);
	assert_true(distinguished(OTHER));
	assert_int_not_equal(launch(OTHER, 1, 7), launch(OTHER, 1, 8));
}

TEST_WITH(there_are_few_configurations_with_provisional_hashes, start, end)
{
	uint32_t n = 1;

	give_provisional(OTHER);
	for (; distinguished(OTHER) && n < 10000; n++)
		for (uint32_t back = 0; back < 4; back++)
			launch(OTHER, 1, GW_DIGEST_IS_PROVISIONAL | (n > back ? n - back : 1));
	assert_int_equal(gw_config_count(), 1 + GW_DIGESTS_PROVISIONAL + 1);
}

TEST_WITH(arguments_fit_no_provisional_hash, start, end)
{
	struct gw_arguments *a = calloc(1, sizeof(*a));

	a->size = 16;
	give_provisional(OTHER);
	assert_false(gw_digests_fit(OTHER, a, gw_digest_provisional_buffer(&made, a->bytes, 16)));
	assert_false(gw_digests_fit(OTHER, a, 0));
	gw_digests_plan(OTHER, &k.b.program);
	assert_true(gw_digests_fit(OTHER, a, gw_digest_of_buffer(plan_of(OTHER), a->bytes, 16)));
	assert_false(gw_digests_fit(OTHER, a, 0));
	free(a);
}

TESTS_MAIN()
