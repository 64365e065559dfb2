/* Any bytes as PTX: refused with a place and a remedy, or each kernel lowered and evaluated within
 * its limits, with counts that make sense. */
#include "predictor/code/ptx/report.h"
#include "starve.h"

enum { ARENA = 8 << 20, KERNELS_MAX = 4 };

static void check_access(void *arg, const struct gw_eval_access *access)
{
	uint64_t *seen = arg;

	require(access->active != 0, "an access of no lane");
	require(!(access->certain & ~access->active), "a lane surely where it can't be");
	require(access->repeats <= GW_EVAL_LOOPS, "more loops than there are levels");
	*seen += gw_eval_times(access);
}

static void check_count(struct gw_eval_count c)
{
	require(c.least >= 0 && c.most >= c.least, "a least above its most");
}

/* One length of eight is launched in clusters, of blocks of more than one dimension. */
static struct gw_config config_of(size_t size)
{
	if (size % 8 == 7)
		return (struct gw_config){{3, 2, 1}, {8, 3, 2}, {3, 2, 1}, 256, 0};
	return (struct gw_config){{3, 2, 1}, {48, 1, 1}, {1, 1, 1}, 256, 0};
}

static void evaluate(const struct gw_ptx *ptx, uint32_t kernel, size_t size, struct gw_arena *arena)
{
	/* Steps enough for a few rounds of a loop: what more would show, a long run pays for with
	   most of its executions. */
	static const struct gw_eval_limits limits = {.steps = 3000, .warp_steps = 400, .warps = 16};
	static const uint8_t arguments[256] = {40, 0, 0, 0, 7, 0, 0, 0, 64, 0, 0, 0, 1};
	struct gw_eval_launch launch = {.config = config_of(size),
					.arguments = {arguments, sizeof(arguments)}};
	struct gw_ir_program program;
	struct gw_eval_report report;
	struct gw_ptx_fault fault;
	uint64_t seen = 0;

	if (!gw_ptx_lower(ptx, kernel, arena, &program, &fault)) {
		require(fault.what != NULL, "refused without a reason");
		return;
	}
	if (gw_eval_grid(&program, &launch, &limits, check_access, &seen, arena, &report)) {
		require(arena->refused, "a program that isn't evaluated for no reason");
		return;
	}
	for (uint32_t b = 0; b < program.block_count; b++)
		check_count(report.blocks[b].runs);
	for (uint32_t i = 0; i < program.insn_count; i++)
		check_count(report.insns[i]);
	require(report.warps == 12, "a warp too many or too few");
	require(report.warps_covered <= report.warps, "more warps covered than there are");
	require(report.coverage != GW_COVER_EXACT || report.warps_covered == report.warps,
		"exact without all warps");
}

/* Read, lowered and evaluated. */
static void analyse(struct gw_bytes text)
{
	struct gw_ptx_fault fault;
	struct gw_arena arena;
	struct gw_ptx ptx;

	gw_arena_init(&arena, ARENA);
	if (!gw_ptx_parse(text, &arena, &ptx, &fault))
		require(fault.what && fault.line && fault.column, "refused without a place");
	else
		for (uint32_t k = 0; k < ptx.kernel_count && k < KERNELS_MAX; k++)
			evaluate(&ptx, k, text.size, &arena);
	require(arena.used <= ARENA, "more memory than its limit");
	gw_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	starve_text(data, size, analyse);
	return 0;
}
