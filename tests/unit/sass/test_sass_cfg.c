#include "predictor/code/sass/work.h"
#include "predictor/code/static_work.h"
#include "tests/test.h"
#include "tests/unit/sass/sass_fixture.h"

static void for_each(void (*check)(const struct gw_cfg *cfg))
{
	for (uint32_t k = 0; k < schedule_code()->count; k++) {
		struct built b;

		built_begin(&b, &schedule_code()->kernels[k], 90);
		check(&b.cfg);
		built_end(&b);
	}
}

static void check_edges(const struct gw_cfg *cfg)
{
	uint32_t covered = 0;

	for (uint32_t b = 0; b < cfg->block_count; b++) {
		const struct gw_cfg_block *block = &cfg->blocks[b];

		assert_int_equal(block->first, covered);
		assert_true(block->count > 0);
		covered += block->count;
		for (uint32_t s = 0; s < block->succ_count; s++) {
			const struct gw_cfg_block *to =
				&cfg->blocks[cfg->edges[block->succ_first + s]];
			bool back = false;

			for (uint32_t p = 0; p < to->pred_count; p++)
				back |= cfg->edges[to->pred_first + p] == b;
			assert_true(back);
		}
	}
	assert_int_equal(covered, cfg->insn_count);
}

TEST(blocks_cover_the_code_and_edges_go_both_ways)
{
	for_each(check_edges);
}

/* Blocks that @p from reaches without passing @p without. */
static void reach(const struct gw_cfg *cfg, uint32_t from, uint32_t without, bool *reached)
{
	const struct gw_cfg_block *b = &cfg->blocks[from];

	if (from == without || reached[from])
		return;
	reached[from] = true;
	for (uint32_t s = 0; s < b->succ_count; s++)
		reach(cfg, cfg->edges[b->succ_first + s], without, reached);
}

static bool dominates(const struct gw_cfg *cfg, uint32_t a, uint32_t b)
{
	while (cfg->blocks[b].idom != b && a != b)
		b = cfg->blocks[b].idom;
	return a == b;
}

static void check_dominators(const struct gw_cfg *cfg)
{
	bool *reached = calloc(cfg->block_count, sizeof(*reached));

	assert_non_null(reached);
	for (uint32_t a = 0; a < cfg->block_count; a++) {
		memset(reached, 0, cfg->block_count * sizeof(*reached));
		reach(cfg, 0, a, reached);
		for (uint32_t b = 0; b < cfg->block_count; b++)
			if (cfg->blocks[b].entry == 0)
				assert_int_equal(dominates(cfg, a, b), !reached[b]);
	}
	free(reached);
}

TEST(a_dominator_is_what_no_path_avoids)
{
	for_each(check_dominators);
}

static void check_loops(const struct gw_cfg *cfg)
{
	assert_false(cfg->irreducible);
	for (uint32_t l = 0; l < cfg->loop_count; l++) {
		const struct gw_cfg_loop *loop = &cfg->loops[l];
		uint32_t blocks = 0;

		assert_true(loop->parent == GW_CFG_NONE || loop->parent < l);
		for (uint32_t b = 0; b < cfg->block_count; b++) {
			if (!gw_cfg_in_loop(cfg, b, l))
				continue;
			blocks++;
			assert_true(dominates(cfg, loop->header, b));
		}
		assert_int_equal(blocks, loop->blocks);
		assert_int_equal(cfg->blocks[loop->header].loop, l);
	}
}

TEST(a_loops_header_dominates_its_blocks)
{
	for_each(check_loops);
}

TEST(loops_nest_as_in_the_source)
{
	struct built b;
	uint32_t deepest = 0;

	/* rounds, trips, and the loop of eight inside */
	built_begin(&b, built_kernel(schedule_code(), "nested"), 90);
	for (uint32_t i = 0; i < b.cfg.block_count; i++) {
		uint32_t depth = gw_cfg_depth(&b.cfg, i);

		deepest = depth > deepest ? depth : deepest;
	}
	/* and what pads the code: a branch to itself */
	assert_true(b.cfg.loop_count >= 3);
	assert_int_equal(deepest, 3);
	built_end(&b);
}

TEST(a_call_continues_behind_it_and_names_its_function)
{
	struct built b;
	unsigned calls = 0;

	built_begin(&b, built_kernel(schedule_code(), "square_root"), 90);
	for (uint32_t i = 0; i < b.cfg.block_count; i++) {
		const struct gw_cfg_block *block = &b.cfg.blocks[i];

		if (block->end != GW_CFG_CALL)
			continue;
		calls++;
		assert_int_not_equal(block->call, GW_CFG_NONE);
		assert_int_equal(b.cfg.blocks[block->call].entry, block->call);
		assert_int_equal(block->succ_count, 1);
		assert_int_equal(b.cfg.edges[block->succ_first], i + 1);
	}
	assert_int_equal(calls, 1);
	built_end(&b);
}

TEST(the_mix_counts_each_instruction_once)
{
	struct gw_sass_mix mix;
	struct built b;

	memset(&mix, 0, sizeof(mix));
	built_begin(&b, built_kernel(schedule_code(), "cal_fma_rate"), 90);
	for (uint32_t i = 0; i < b.cfg.block_count; i++)
		if (gw_cfg_depth(&b.cfg, i) == 2)
			gw_cfg_mix(&b.cfg, i, &mix);
	assert_int_equal(mix.fma32, 8);
	assert_int_equal(mix.cls[GW_SASS_FP32], 8);
	assert_int_equal(mix.pipe[GW_SASS_PIPE_FMA], 8);
	assert_int_equal(mix.cls[GW_SASS_CONTROL], 1);
	assert_int_equal(mix.insns, 11);
	assert_int_equal(mix.unknown, 0);
	built_end(&b);
}

/* A path through the code, of parts of a warp that may part at each branch: instructions, all and
 * of a pipe, up to where @p steps blocks were run. */
static void walk(const struct gw_cfg *cfg, unsigned steps, double *insns,
		 double pipe[GW_SASS_PIPES])
{
	uint32_t parts[64] = {0}, count = 1;

	while (count && steps--) {
		const struct gw_cfg_block *b = &cfg->blocks[parts[--count]];
		struct gw_sass_mix mix = {0};
		uint32_t one = b->succ_count ? (uint32_t)rand() % b->succ_count : 0;

		gw_cfg_mix(cfg, parts[count], &mix);
		*insns += mix.insns;
		for (unsigned p = 0; p < GW_SASS_PIPES; p++)
			pipe[p] += mix.pipe[p];
		if (b->end == GW_CFG_CALL && b->call != GW_CFG_NONE && count < 32)
			parts[count++] = b->call;
		for (uint32_t s = 0; s < b->succ_count; s++)
			if (s == one || (count < 32 && rand() % 4 == 0))
				parts[count++] = cfg->edges[b->succ_first + s];
	}
}

static void check_shares(const struct gw_cfg *cfg)
{
	static const enum gw_work_field rows[][2] = {
		{GW_WORK_share_fma, GW_WORK_pipe_fma},       {GW_WORK_share_alu, GW_WORK_pipe_alu},
		{GW_WORK_share_fp64, GW_WORK_pipe_fp64},     {GW_WORK_share_xu, GW_WORK_pipe_xu},
		{GW_WORK_share_tensor, GW_WORK_pipe_tensor},
	};
	struct gw_arena arena;
	struct gw_work work;

	gw_arena_init(&arena, 1 << 20);
	gw_work_clear(&work);
	assert_true(gw_static_shares(cfg, &arena, &work));
	for (unsigned i = 0; i < 200; i++) {
		double insns = 0, pipe[GW_SASS_PIPES] = {0};

		walk(cfg, 1 + i * 5, &insns, pipe);
		for (unsigned r = 0; r < COUNT(rows); r++)
			assert_true(gw_sass_pipe_sum(rows[r][1], pipe) <=
				    work.q[rows[r][0]].value * insns + 1e-9);
	}
	gw_arena_free(&arena);
}

TEST(no_path_has_more_of_a_pipe_than_its_share)
{
	srand(1);
	for_each(check_shares);
}

/* Loads in a loop: no fp64, no tensor cores, and less than half of it through the ALU pipe or so.
 */
TEST(a_share_is_of_what_goes_together)
{
	struct gw_arena arena;
	struct gw_work work;
	struct built b;

	built_begin(&b, &schedule_code()->kernels[0], 90);
	gw_arena_init(&arena, 1 << 20);
	gw_work_clear(&work);
	assert_true(gw_static_shares(&b.cfg, &arena, &work));
	assert_true(work.q[GW_WORK_share_tensor].value == 0);
	assert_true(work.q[GW_WORK_share_fp64].value == 0);
	assert_true(work.q[GW_WORK_share_alu].value < 0.9);
	gw_arena_free(&arena);
	built_end(&b);
}

TEST(code_that_is_not_whole_instructions_is_refused)
{
	static const uint8_t bytes[40];
	struct gw_arena arena;
	struct gw_cfg cfg;
	struct gw_fault fault;

	gw_arena_init(&arena, 1 << 20);
	assert_false(gw_cfg_build(&cfg, (struct gw_bytes){bytes, 40}, 90, &arena, &fault));
	assert_non_null(fault.what);
	assert_false(gw_cfg_build(&cfg, (struct gw_bytes){NULL, 0}, 90, &arena, &fault));
	assert_non_null(fault.what);
	gw_arena_free(&arena);
	gw_arena_init(&arena, 16);
	assert_false(gw_cfg_build(&cfg, (struct gw_bytes){bytes, 32}, 90, &arena, &fault));
	assert_true(arena.refused);
	gw_arena_free(&arena);
}

TESTS_MAIN(schedule_begin, schedule_end)
