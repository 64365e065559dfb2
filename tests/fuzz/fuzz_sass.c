/*
 * Any bytes as machine code: the first says for which architecture, and whether once more with too
 * little memory; four and more behind the last whole instruction are tables of jumps, three a
 * fault, less only move what is refused. Decoded, made a graph of, and scheduled with latencies
 * known and unknown, and lowered; what these promise of one another holds.
 */
#include "predictor/code/binary/kernel.h"
#include "predictor/code/digest.h"
#include "predictor/code/sass/lower.h"
#include "predictor/code/timing/schedule.h"
#include "starve.h"

#include <math.h>

enum { ARENA = 64 << 20 };

static void check_insn(const struct gw_sass_insn *insn, bool known)
{
	require(known == (insn->op != GW_SASS_OP_UNKNOWN), "known and unknown at once");
	require(insn->cls < GW_SASS_CLASSES && insn->pipe < GW_SASS_PIPES &&
			insn->space < GW_SASS_SPACES && insn->latency < GW_SASS_LATENCIES &&
			insn->tensor < GW_SASS_TENSORS,
		"an enumerator out of range");
	for (unsigned i = 0; i < insn->def_count; i++)
		require(insn->defs[i].first + insn->defs[i].count <= GW_SASS_PLACES,
			"a def outside");
	for (unsigned i = 0; i < insn->use_count; i++)
		require(insn->uses[i].first + insn->uses[i].count <= GW_SASS_PLACES,
			"a use outside");
}

static void check_graph(const struct gw_cfg *cfg)
{
	uint32_t covered = 0;

	for (uint32_t b = 0; b < cfg->block_count; b++) {
		const struct gw_cfg_block *block = &cfg->blocks[b];

		require(block->first == covered && block->count, "blocks leave a gap");
		covered += block->count;
		for (uint32_t s = 0; s < block->succ_count; s++)
			require(cfg->edges[block->succ_first + s] < cfg->block_count,
				"an edge to nowhere");
		require(block->loop == GW_CFG_NONE || block->loop < cfg->loop_count,
			"a loop that isn't");
		require(block->call == GW_CFG_NONE || block->call < cfg->block_count,
			"a call to nowhere");
	}
	require(covered == cfg->insn_count, "blocks end early");
	for (uint32_t l = 0; l < cfg->loop_count; l++)
		require(gw_cfg_in_loop(cfg, cfg->loops[l].header, l) &&
				(cfg->loops[l].parent == GW_CFG_NONE || cfg->loops[l].parent < l),
			"a loop without its header, or inside out");
}

/* With latencies known, as long as a GPU's or so short that no branch waits for them, or with some
 * of them unknown; with an instruction's own for every other one. The number of instructions says
 * which: a schedule takes most of an input's time. */
static void check_schedule(const struct gw_cfg *cfg, struct gw_arena *arena)
{
	enum { LONG, PARTLY, SHORT, OWN } way = cfg->insn_count % 4;
	struct gw_schedule schedule;
	struct gw_waits waits;
	double *own = NULL;

	gw_waits_clear(&waits);
	for (unsigned i = 0; i < GW_WAITS; i += way == PARTLY ? 2 : 1)
		waits.cycles[i] = way == SHORT ? 3 : 30;
	if (way == OWN)
		own = gw_arena_array(arena, cfg->insn_count, sizeof(*own));
	for (uint32_t i = 0; own && i < cfg->insn_count; i++)
		own[i] = i % 2 ? 50 : (double)NAN;
	waits.insn = own;
	if (!gw_schedule_build(&schedule, cfg, &waits, arena))
		return;
	for (uint32_t b = 0; b < cfg->block_count; b++) {
		const struct gw_schedule_block *s = &schedule.blocks[b];

		require(s->unknown == (isnan(s->cycles.value) != 0), "unknown without being so");
		require(s->unknown || s->cycles.value >= s->issue - 1e-6, "faster than it issues");
		require(s->chain <= cfg->blocks[b].count, "a chain longer than the block");
	}
}

/* What is hashed of the arguments lies in them, each piece in its parameter. */
static void check_digest(const struct gw_ir_program *program, struct gw_arena *arena)
{
	static const struct gw_code_param param[] = {{0, 8}, {8, 4}, {16, 48}, {64, 192}};
	struct gw_digest_plan plan;

	if (gw_digest_plan_make(program, param, sizeof(param) / sizeof(*param), arena, &plan))
		return;
	require(plan.count <= GW_DIGEST_MOST && plan.fours <= plan.count &&
			(plan.wide <= plan.count || !plan.count),
		"too many words");
	for (uint32_t i = 0; i < plan.count; i++) {
		const struct gw_digest_word *w = &plan.word[i];

		require(w->param < sizeof(param) / sizeof(*param) &&
				w->offset == param[w->param].offset + w->at && w->size &&
				w->at + w->size <= param[w->param].size &&
				w->offset + w->size <= plan.end,
			"a word outside");
	}
}

/* Whatever the code, the program made of it is sound, unless there was no room. */
static void check_lowering(const struct gw_cfg *cfg, struct gw_bytes tables, struct gw_arena *arena)
{
	/* Without any, the code itself is one: longer, and some words lead to blocks. */
	static const struct gw_code_relocation outside[] = {
		{40, 2, "__assertfail", 0}, {0, 2, "vprintf", 0}, {8, 2, "__assertfail", 4}};
	struct gw_sass_kernel kernel = {.name = "fuzz",
					.param_base = 0x210,
					.param_bytes = 256,
					.outside = outside,
					.outside_count = sizeof(outside) / sizeof(*outside),
					.tables = tables.size ? tables : cfg->code};
	struct gw_sass_lowered lowered;
	const char *wrong = gw_sass_lower(&lowered, cfg, &kernel, arena);

	if (wrong && !arena->refused) {
		fprintf(stderr, "%s\n", wrong);
		require(0, "an unsound program");
	}
	if (!wrong)
		check_digest(&lowered.program, arena);
}

/* What a reader of code does with it. */
static void analyse(struct gw_bytes code, struct gw_bytes tables, unsigned sm)
{
	struct gw_arena arena;
	struct gw_fault fault;
	struct gw_cfg cfg;

	gw_arena_init(&arena, ARENA);
	if (gw_cfg_build(&cfg, code, sm, &arena, &fault)) {
		check_graph(&cfg);
		check_lowering(&cfg, tables, &arena);
		check_schedule(&cfg, &arena);
	} else {
		require(fault.what != NULL, "refused without a reason");
	}
	require(arena.used <= ARENA, "more memory than its limit");
	gw_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t architectures[] = {70, 75, 80, 86, 89, 90, 100, 120};
	struct gw_bytes code, tables = {0};
	size_t rest;
	unsigned sm;

	if (!size)
		return 0;
	sm = architectures[data[0] % sizeof(architectures)];
	for (size_t at = 1; at + GW_SASS_BYTES <= size; at += GW_SASS_BYTES) {
		struct gw_sass_insn insn;
		bool known = gw_sass_decode(data + at, sm, &insn);

		check_insn(&insn, known);
	}
	code = (struct gw_bytes){data + 1, size - 1};
	rest = code.size % GW_SASS_BYTES;
	if (rest != 3)
		code.size -= rest;
	if (rest > 3)
		tables = (struct gw_bytes){code.data + code.size, rest};
	starve(0, false);
	analyse(code, tables, sm);
	if (data[0] & 0x80) {
		starve_by(data, size);
		analyse(code, tables, sm);
	}
	return 0;
}
