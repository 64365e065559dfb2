#include "predictor/code/timing/schedule_parts.h"

#include <math.h>
#include <string.h>

/* Times over all blocks until nothing changes: a scoreboard's state goes round each nest of loops
 * within a few. */
enum { PASSES = 8 };

/* How a block leaves the warp. */
struct state {
	struct gw_warp warp; /* at the issue slot after the block's last instruction */
	bool known;
	/* Runs of any block are numbered: this one's last, and its last that had another end. */
	uint64_t run, change;
};

/* ---- entry states ---- */

static bool by_branch(const struct gw_cfg *cfg, uint32_t from, uint32_t to)
{
	const struct gw_cfg_block *b = &cfg->blocks[from];

	if (b->end == GW_CFG_FALL || b->end == GW_CFG_EXIT || b->end == GW_CFG_RETURN)
		return false;
	return b->succ_count < 2 || cfg->edges[b->succ_first] == to || b->end == GW_CFG_INDIRECT;
}

/* The loop that @p block is entered from alone: a header's own, but for the first time. */
static uint32_t entered_from(const struct gw_cfg *cfg, const struct state *states, uint32_t block)
{
	const struct gw_cfg_block *b = &cfg->blocks[block];

	if (b->loop == GW_CFG_NONE || cfg->loops[b->loop].header != block)
		return GW_CFG_NONE;
	for (uint32_t k = 0; k < b->pred_count; k++) {
		uint32_t pred = cfg->edges[b->pred_first + k];

		if (states[pred].known && gw_cfg_in_loop(cfg, pred, b->loop))
			return b->loop;
	}
	return GW_CFG_NONE;
}

/* Nothing before @p block changed since it ran: it would leave the warp as it did. */
static bool settled(const struct gw_cfg *cfg, const struct state *states, uint32_t block)
{
	const struct gw_cfg_block *b = &cfg->blocks[block];

	for (uint32_t k = 0; k < b->pred_count; k++)
		if (states[cfg->edges[b->pred_first + k]].change >= states[block].run)
			return false;
	return states[block].known;
}

static void enter(const struct gw_cfg *cfg, const struct state *states,
		  const struct gw_schedule *out, uint32_t block, struct gw_warp *w)
{
	const struct gw_cfg_block *b = &cfg->blocks[block];
	uint32_t loop = entered_from(cfg, states, block);
	bool first = true;

	gw_warp_init(w);
	for (uint32_t k = 0; k < b->pred_count; k++) {
		uint32_t pred = cfg->edges[b->pred_first + k];
		struct gw_warp from;

		if (!states[pred].known ||
		    (loop != GW_CFG_NONE && !gw_cfg_in_loop(cfg, pred, loop)))
			continue;
		from = states[pred].warp;
		if (by_branch(cfg, pred, block) && out->blocks[pred].taken > 0) {
			from.now.value += out->blocks[pred].taken;
			from.now.fixed += out->blocks[pred].taken;
		}
		gw_warp_rebase(&from);
		if (first)
			*w = from;
		else
			gw_warp_merge(w, &from);
		first = false;
	}
}

/* ---- a block ---- */

static uint8_t missing_wait(const struct gw_cycles *t, const struct gw_waits *waits)
{
	for (unsigned i = 0; i < GW_WAITS; i++)
		if (t->count[i] != 0 && isnan(waits->cycles[i]))
			return (uint8_t)i;
	return GW_WAIT_other;
}

/* What a taken branch takes beyond its stall count. */
static double taken_extra(const struct gw_cfg_block *b, const struct gw_sass_insn *last,
			  const struct gw_waits *waits)
{
	double extra = waits->cycles[GW_WAIT_branch] - last->stall;

	if (b->end == GW_CFG_FALL || b->end == GW_CFG_EXIT)
		return 0;
	return extra < 0 ? 0 : extra;
}

/* Run @p block from the state in @p w; w->now is then the cycles it took. */
static void run_block(const struct gw_cfg *cfg, const struct gw_waits *waits, uint32_t block,
		      struct gw_warp *w, struct gw_schedule_block *out)
{
	const struct gw_cfg_block *b = &cfg->blocks[block];
	struct gw_sass_insn insn = {0};

	*out = (struct gw_schedule_block){.chain = out->chain};
	for (uint32_t i = b->first; i < b->first + b->count; i++) {
		gw_cfg_insn(cfg, i, &insn);
		gw_warp_issue(w, &insn, i, waits, out);
		out->issue += insn.stall;
		out->loads += insn.latency == GW_SASS_LATENCY_GLOBAL ||
			      insn.latency == GW_SASS_LATENCY_LOCAL ||
			      insn.latency == GW_SASS_LATENCY_TEXTURE;
	}
	out->cycles = w->now;
	out->taken = taken_extra(b, &insn, waits);
	out->in_flight = out->waits ? out->in_flight / out->waits : (double)NAN;
	out->unknown = isnan(out->cycles.value);
	if (out->unknown) {
		out->missing = missing_wait(&w->now, waits);
		gw_warp_init(w);
	}
}

/* ---- loops ---- */

/* The only successor of @p block that lies in @p loop; GW_CFG_NONE: none or several. */
static uint32_t only_inside(const struct gw_cfg *cfg, uint32_t block, uint32_t loop)
{
	const struct gw_cfg_block *b = &cfg->blocks[block];
	uint32_t found = GW_CFG_NONE;

	for (uint32_t k = 0; k < b->succ_count; k++) {
		uint32_t to = cfg->edges[b->succ_first + k];

		if (!gw_cfg_in_loop(cfg, to, loop) || to == found)
			continue;
		if (found != GW_CFG_NONE)
			return GW_CFG_NONE;
		found = to;
	}
	return found;
}

static void loop_cycles(struct gw_schedule *out, const struct gw_cfg *cfg, uint32_t loop)
{
	uint32_t header = cfg->loops[loop].header, at = header, steps = 0;
	double sum = 0;

	out->loops[loop] = (struct gw_schedule_loop){(double)NAN, false};
	do {
		uint32_t to = only_inside(cfg, at, loop);

		if (to == GW_CFG_NONE || cfg->blocks[at].loop != loop ||
		    cfg->blocks[at].end == GW_CFG_CALL || steps++ >= cfg->loops[loop].blocks)
			return;
		sum += out->blocks[at].cycles.value;
		if (by_branch(cfg, at, to))
			sum += out->blocks[at].taken;
		at = to;
	} while (at != header);
	out->loops[loop] = (struct gw_schedule_loop){sum, steps == cfg->loops[loop].blocks};
}

/* Run @p block as number @p run, unless it is settled. False: its cycles are what they were. */
static bool visit(struct gw_schedule *out, const struct gw_cfg *cfg, const struct gw_waits *waits,
		  struct state *states, uint32_t block, uint64_t run)
{
	double before = out->blocks[block].cycles.value;
	struct state *s = &states[block];
	bool first = !s->known;
	struct gw_warp w;

	/* Unknown cycles count as other cycles each time: further passes are as many as ever. */
	if (settled(cfg, states, block))
		return isnan(before);
	enter(cfg, states, out, block, &w);
	run_block(cfg, waits, block, &w, &out->blocks[block]);
	if (first || memcmp(&w, &s->warp, sizeof(w)))
		s->change = run;
	s->warp = w;
	s->known = true;
	s->run = run;
	return first || !(fabs(out->blocks[block].cycles.value - before) < 1e-6);
}

bool gw_schedule_build(struct gw_schedule *out, const struct gw_cfg *cfg,
		       const struct gw_waits *waits, struct gw_arena *arena)
{
	struct state *states = gw_arena_array(arena, cfg->block_count, sizeof(*states));
	bool changed = true;
	uint64_t run = 0;

	out->blocks = gw_arena_array(arena, cfg->block_count, sizeof(*out->blocks));
	out->loops = gw_arena_array(arena, cfg->loop_count, sizeof(*out->loops));
	out->global = waits->cycles[GW_WAIT_global];
	if (!states || !out->blocks || !out->loops)
		return false;
	for (unsigned pass = 0; changed && pass < PASSES; pass++) {
		changed = false;
		for (uint32_t b = 0; b < cfg->block_count; b++)
			changed |= visit(out, cfg, waits, states, b, ++run);
	}
	for (uint32_t b = 0; b < cfg->block_count; b++)
		out->blocks[b].chain = gw_schedule_chain(cfg, &cfg->blocks[b]);
	for (uint32_t l = 0; l < cfg->loop_count; l++)
		loop_cycles(out, cfg, l);
	return true;
}

/* ---- a warp's critical path ---- */

/* Times that the branch at @p block's end is taken. */
static double taken_runs(const struct gw_cfg *cfg, const double *runs, uint32_t block)
{
	const struct gw_cfg_block *b = &cfg->blocks[block];
	uint32_t to, next;

	if (b->end == GW_CFG_FALL || b->end == GW_CFG_EXIT || !b->succ_count)
		return 0;
	if (b->end != GW_CFG_BRANCH || b->succ_count < 2)
		return runs[block];
	to = cfg->edges[b->succ_first];
	next = cfg->edges[b->succ_first + 1];
	if (cfg->blocks[to].pred_count == 1)
		return runs[to];
	if (cfg->blocks[next].pred_count == 1)
		return runs[block] - runs[next];
	/* Both are reached from elsewhere too; backwards it is a loop's, taken but for its end. */
	return to <= block ? runs[block] : fmin(runs[block], runs[to]) / 2;
}

double gw_schedule_warp(const struct gw_schedule *schedule, const struct gw_cfg *cfg,
			const double *runs)
{
	double sum = 0;

	for (uint32_t b = 0; b < cfg->block_count; b++) {
		double taken = taken_runs(cfg, runs, b);

		if (runs[b] > 0)
			sum += runs[b] * schedule->blocks[b].cycles.value;
		if (taken > 0)
			sum += taken * schedule->blocks[b].taken;
	}
	return sum;
}

struct gw_critical_path gw_schedule_critical_path(const struct gw_schedule *schedule,
						  const struct gw_cfg *cfg, const double *runs)
{
	struct gw_critical_path c = {.cycles = gw_schedule_warp(schedule, cfg, runs)};

	for (uint32_t b = 0; b < cfg->block_count; b++)
		if (runs[b] > 0)
			c.chain +=
				runs[b] * (double)schedule->blocks[b].cycles.count[GW_WAIT_global];
	c.fixed = c.chain > 0 ? c.cycles - c.chain * schedule->global : c.cycles;
	return c;
}
