/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/models/papers/models.h"
#include "predictor/models/papers/tune.h"
#include "tests/unit/model_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 64 };

static size_t tune(const struct fixture *f, struct gw_tune_request request,
                   struct gw_tune_choice out[MOST], char why[120])
{
	return gw_wave_tune(&f->device, &f->launch, &f->work, NULL, &request, out, MOST, why);
}

static void every_block_size_is_ranked_fastest_first(void **state)
{
	struct gw_tune_choice c[MOST];
	struct fixture f;
	char why[120];
	size_t n, described = 0;

	(void)state;
	fixture_init(&f);
	n = tune(&f, (struct gw_tune_request){0}, c, why);
	assert_int_equal(n, 32);
	for (size_t i = 0; i < n; i++) {
		assert_true(i == 0 || c[i - 1].seconds <= c[i].seconds);
		assert_true(c[i].grid * c[i].block >= 16000 * 256);
		assert_true((c[i].grid - 1) * c[i].block < 16000 * 256);
		described += c[i].described;
	}
	assert_int_equal(described, 1);
}

static void times_are_the_wave_models_own(void **state)
{
	struct gw_tune_choice c[MOST];
	struct fixture f, other;
	struct gw_estimate e;
	char why[120];
	size_t n, i = 0;

	(void)state;
	fixture_init(&f);
	n = tune(&f, (struct gw_tune_request){0}, c, why);
	while (i < n && c[i].block != 128)
		i++;
	assert_true(i < n);
	fixture_init(&other);
	fixture_grid(&other, 32000, 128);
	gw_model_find("wave")->estimate(&other.device, &other.launch, &other.work, NULL, &e);
	assert_true(fabs(c[i].seconds - e.seconds) < 1e-15);
}

/* Launching costs 1 ns a block here: fewer, larger blocks are faster until waves are uneven. */
static void grid_stride_loops_may_launch_fewer_blocks(void **state)
{
	struct gw_tune_choice c[MOST], fixed[MOST];
	struct fixture f;
	char why[120];

	(void)state;
	fixture_init(&f);
	assert_true(tune(&f, (struct gw_tune_request){0}, fixed, why) > 0);
	assert_int_equal(tune(&f, (struct gw_tune_request){.any_grid = true}, c, why), MOST);
	assert_true(c[0].seconds < fixed[0].seconds);
	assert_true(c[0].grid * c[0].block < 16000 * 256);
}

/* 200 blocks instead of 16,000: each warp does 80 times as much, barriers included. */
static void fewer_warps_do_more_each(void **state)
{
	static const enum gw_work_field per_warp[] = {
	        GW_WORK_warp_cycles, GW_WORK_warp_cycles_longest, GW_WORK_warp_memory_chain,
	        GW_WORK_coalesced_mem_insts, GW_WORK_barriers};
	static struct gw_tune_choice c[1000];
	const struct gw_tune_request request = {.any_grid = true};
	struct fixture f;
	struct gw_estimate e;
	char why[120];
	size_t n, i = 0;

	(void)state;
	fixture_init(&f);
	fixture_work(&f, GW_WORK_barriers, 3);
	n = gw_wave_tune(&f.device, &f.launch, &f.work, NULL, &request, c, 1000, why);
	while (i < n && !(c[i].block == 256 && c[i].grid == 200))
		i++;
	assert_true(i < n);
	f.launch.config.grid.x = 200;
	for (size_t k = 0; k < sizeof(per_warp) / sizeof(*per_warp); k++)
		f.work.q[per_warp[k]].value *= 80;
	gw_model_find("wave")->estimate(&f.device, &f.launch, &f.work, NULL, &e);
	assert_true(fabs(c[i].seconds - e.seconds) < 1e-12);
}

static void shared_memory_follows_the_block_when_asked(void **state)
{
	struct gw_tune_choice c[MOST];
	struct fixture f;
	char why[120];
	size_t n;

	(void)state;
	fixture_init(&f);
	f.launch.config.dynamic_shared = 2048;
	n = tune(&f, (struct gw_tune_request){.shared_per_thread = true}, c, why);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(c[i].shared, c[i].block * 8);
	n = tune(&f, (struct gw_tune_request){0}, c, why);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(c[i].shared, 2048);
}

static void blocks_the_kernel_cannot_have_are_left_out(void **state)
{
	struct gw_tune_choice c[MOST];
	struct fixture f;
	char why[120];

	(void)state;
	fixture_init(&f);
	f.kernel.max_threads = 256;
	assert_int_equal(tune(&f, (struct gw_tune_request){0}, c, why), 8);
}

static void short_list_keeps_the_best(void **state)
{
	struct gw_tune_choice all[MOST], few[3];
	struct gw_tune_request request = {0};
	struct fixture f;
	char why[120];

	(void)state;
	fixture_init(&f);
	tune(&f, request, all, why);
	assert_int_equal(gw_wave_tune(&f.device, &f.launch, &f.work, NULL, &request, few, 3, why),
	                 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(few[i].block == all[i].block && few[i].grid == all[i].grid);
}

static void nothing_to_rank_says_why(void **state)
{
	struct gw_tune_choice c[MOST];
	struct fixture f;
	char why[120];

	(void)state;
	fixture_init(&f);
	f.work.q[GW_WORK_inst_executed] = (struct gw_quantity){.value = NAN};
	assert_int_equal(tune(&f, (struct gw_tune_request){0}, c, why), 0);
	assert_non_null(strstr(why, "inst_executed"));
	f.launch.config.cluster.x = 2;
	assert_int_equal(tune(&f, (struct gw_tune_request){0}, c, why), 0);
	assert_non_null(strstr(why, "cluster"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_block_size_is_ranked_fastest_first),
	        cmocka_unit_test(times_are_the_wave_models_own),
	        cmocka_unit_test(grid_stride_loops_may_launch_fewer_blocks),
	        cmocka_unit_test(fewer_warps_do_more_each),
	        cmocka_unit_test(shared_memory_follows_the_block_when_asked),
	        cmocka_unit_test(blocks_the_kernel_cannot_have_are_left_out),
	        cmocka_unit_test(short_list_keeps_the_best),
	        cmocka_unit_test(nothing_to_rank_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
