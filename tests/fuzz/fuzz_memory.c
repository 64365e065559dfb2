/* What any PTX shows of memory: trees that hang together, shares that are shares, rows that are
   either a number with a source or unknown. */
#include <math.h>
#include <string.h>

#include "predictor/code/memory/extract.h"
#include "predictor/code/ptx/ptx.h"
#include "predictor/code/static_work.h"
#include "starve.h"

enum { ARENA = 128 << 20, KERNELS_MAX = 2 };

static void check_trees(const struct gw_ir_program *program, struct gw_bytes text,
			struct gw_arena *arena)
{
	struct gw_extract trees;
	char out[200];

	if (gw_extract(program, text, arena, &trees)) {
		require(arena->refused, "trees refused for no reason");
		return;
	}
	for (uint32_t i = 0; i < trees.count; i++) {
		const struct gw_access *a = &trees.access[i];

		require(a->count >= 1 && a->count <= GW_ACCESS_NODES, "a tree's size");
		for (uint32_t n = 1; n < a->count; n++)
			require(a->nodes[n].parent >= 0 && (uint32_t)a->nodes[n].parent < n,
				"a node before its parent");
		gw_access_expression(a, out, sizeof(out));
	}
}

static void check_gather(const struct gw_gather *g)
{
	struct gw_locality_hits hits;
	double under_way;

	for (uint32_t i = 0; i < g->count; i++) {
		const struct gw_coalescing *c = &g->access[i].coalescing;

		if (!(c->requests > 0))
			continue;
		require(gw_coalescing_degree(c) > 0 && gw_coalescing_degree(c) < 1 + 1e-9,
			"a degree that is none");
		require(gw_coalescing_sectors(c) >= 1 - 1e-9 && gw_coalescing_sectors(c) < 64.5,
			"sectors of a request");
	}
	gw_locality_l1(g->locality, &hits);
	require(isnan(hits.rate) || (hits.rate >= 0 && hits.rate <= 1), "a hit rate that is none");
	hits.rate = gw_replay_hits(&g->replay, 4096, &under_way);
	require(isnan(hits.rate) || (hits.rate >= 0 && hits.rate <= 1), "a replay's hit rate");
	require(isnan(under_way) || (under_way >= 0 && under_way <= 1), "hits under way");
}

static void known_device(struct gw_device *device)
{
	gw_device_clear(device, "fuzz");
	for (unsigned p = 0; p < GW_PARAMS; p++)
		gw_device_set(device, (enum gw_param)p, 1024, GW_METHOD_PAPER);
	gw_device_set(device, GW_PARAM_compute_capability, 90, GW_METHOD_PAPER);
	gw_device_set(device, GW_PARAM_warp_size, 32, GW_METHOD_PAPER);
}

static void check_rows(const struct gw_ir_program *program, const struct gw_gather *gather,
		       const struct gw_launch *launch, struct gw_arena *arena)
{
	static struct gw_device device;
	struct gw_timing timing;
	struct gw_static_in in = {.program = program,
				  .gather = gather,
				  .timing = &timing,
				  .device = &device,
				  .launch = launch};
	struct gw_work work;

	if (!*device.name)
		known_device(&device);
	if (gw_timing_of(program, arena, &timing)) {
		require(arena->refused || starve_refused(), "a timing refused for no reason");
		return;
	}
	gw_work_clear(&work);
	gw_static_memory(&in, &work);
	gw_static_warp(&in, &work);
	for (unsigned f = 0; f < GW_WORK_FIELDS; f++) {
		const struct gw_quantity *q = &work.q[f];

		require(isnan(q->value) == (q->source == GW_SOURCE_NONE), "a value and its source");
		require(isnan(q->value) || (q->value >= 0 && isfinite(q->value)), "a row's value");
		require(q->confidence >= 0 && q->confidence <= 1, "a row's confidence");
	}
}

/* One length of eight is launched in clusters, of many blocks with more than one dimension. */
static struct gw_config config_of(size_t size)
{
	if (size % 8 == 7)
		return (struct gw_config){{30, 4, 2}, {8, 3, 2}, {3, 2, 1}, 256, 0};
	return (struct gw_config){{3, 2, 1}, {48, 1, 1}, {1, 1, 1}, 256, 0};
}

static void analyse_kernel(const struct gw_ptx *ptx, uint32_t kernel, struct gw_bytes text,
			   struct gw_arena *arena)
{
	static const struct gw_gather_limits limits = {
		.eval = {.steps = 1500, .warp_steps = 300, .warps = 8}, .blocks = 4, .steps = 1500};
	static const uint8_t arguments[256] = {40, 0, 0, 0, 7, 0, 0, 0, 64, 0, 0, 0, 1};
	struct gw_kernel k = {.name = "fuzz", .registers = 32, .max_threads = 1024};
	struct gw_launch launch = {.kernel = &k, .config = config_of(text.size)};
	struct gw_eval_launch eval = {.config = launch.config,
				      .arguments = {arguments, sizeof(arguments)}};
	struct gw_ir_program program;
	struct gw_ptx_fault fault;
	struct gw_gather gather;

	if (!gw_ptx_lower(ptx, kernel, arena, &program, &fault))
		return;
	check_trees(&program, text, arena);
	if (gw_gather_run(&program, &eval, &limits, arena, &gather)) {
		require(arena->refused, "a program that isn't gathered for no reason");
		return;
	}
	check_gather(&gather);
	check_rows(&program, &gather, &launch, arena);
}

/* Whatever is reported of it. */
static void analyse(struct gw_bytes text)
{
	struct gw_ptx_fault fault;
	struct gw_arena arena;
	struct gw_ptx ptx;

	gw_arena_init(&arena, ARENA);
	if (gw_ptx_parse(text, &arena, &ptx, &fault))
		for (uint32_t k = 0; k < ptx.kernel_count && k < KERNELS_MAX; k++)
			analyse_kernel(&ptx, k, text, &arena);
	require(arena.used <= ARENA, "more memory than its limit");
	gw_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	starve_text(data, size, analyse);
	return 0;
}
