/*
 * What a kernel's machine code says of its pipes whatever way it takes through it, for verdicts.
 *
 * A warp, or a part of it, comes to a block from one that ran before, and from each run of that one
 * at most once; where lanes part, both ways are run. So a block runs no more often than the blocks
 * before it together. Let each block cost its instructions of a pipe, less the share s of all its
 * instructions. Where there are prices y >= 0 of the blocks with cost + (prices of the blocks that
 * may follow) <= price, and the entry's is 0, no path costs more than 0: s is the most that the
 * pipe can have. The least prices come from repeating that rule; the least s by halving.
 */
#include "predictor/code/sass/work.h"
#include "predictor/code/static_work.h"

#include <math.h>

enum {
	BLOCKS_MOST = 2048, /* of a kernel that is looked at */
	HALVINGS = 5,
	ROUNDS = 64, /* for the prices: more count as not found */
};

static const struct {
	enum gw_work_field share, pipe;
} shares[] = {
	{GW_WORK_share_fma, GW_WORK_pipe_fma},   {GW_WORK_share_alu, GW_WORK_pipe_alu},
	{GW_WORK_share_fp64, GW_WORK_pipe_fp64}, {GW_WORK_share_fp16, GW_WORK_pipe_fp16},
	{GW_WORK_share_xu, GW_WORK_pipe_xu},     {GW_WORK_share_tensor, GW_WORK_pipe_tensor},
};
enum { SHARES = sizeof(shares) / sizeof(*shares) };

/** A block's instructions, all and by pipe; and those of its head, which more parts may run. */
struct part {
	double insns, of[SHARES];
};

struct code {
	const struct gw_cfg *cfg;
	struct part *whole, *head;
	double *price;
};

static bool is_run(const struct gw_cfg *cfg, uint32_t b)
{
	return cfg->blocks[b].entry != GW_CFG_NONE || cfg->unknown_jumps;
}

static void fill(struct part *p, double insns, const double pipe[GW_SASS_PIPES])
{
	p->insns = insns;
	for (unsigned i = 0; i < SHARES; i++)
		p->of[i] = gw_sass_pipe_sum(shares[i].pipe, pipe);
}

static void read_head(struct code *c, uint32_t b)
{
	const uint32_t count = gw_sass_head(c->cfg, b);
	double pipe[GW_SASS_PIPES] = {0};
	struct gw_sass_insn insn;

	for (uint32_t i = 0; i < count; i++)
		if (gw_cfg_insn(c->cfg, c->cfg->blocks[b].first + i, &insn))
			pipe[insn.pipe]++;
	fill(&c->head[b], count, pipe);
}

/* False: an opcode is not in the list, or a function elsewhere is called. */
static bool read_block(struct code *c, uint32_t b)
{
	const struct gw_cfg_block *block = &c->cfg->blocks[b];
	double pipe[GW_SASS_PIPES];
	struct gw_sass_mix mix = {0};

	gw_cfg_mix(c->cfg, b, &mix);
	for (unsigned p = 0; p < GW_SASS_PIPES; p++)
		pipe[p] = mix.pipe[p];
	fill(&c->whole[b], mix.insns, pipe);
	read_head(c, b);
	return !mix.unknown && (block->end != GW_CFG_CALL || block->call != GW_CFG_NONE);
}

static double cost(const struct part *p, unsigned row, double share)
{
	return p->of[row] - share * p->insns;
}

static double price_of(const struct code *c, uint32_t b, unsigned row, double share)
{
	const struct gw_cfg_block *block = &c->cfg->blocks[b];
	double price = cost(&c->whole[b], row, share);

	if (c->head[b].insns > 0)
		price = fmax(price, cost(&c->head[b], row, share));
	for (uint32_t s = 0; s < block->succ_count; s++)
		price += c->price[c->cfg->edges[block->succ_first + s]];
	if (block->end == GW_CFG_CALL)
		price += c->price[block->call];
	return fmax(price, 0);
}

/* Whether the pipe has no more than @p share on any path. */
static bool suffices(struct code *c, unsigned row, double share)
{
	bool changed = true;

	for (uint32_t b = 0; b < c->cfg->block_count; b++)
		c->price[b] = 0;
	for (unsigned round = 0; changed && round < ROUNDS && !(c->price[0] > 0); round++) {
		changed = false;
		for (uint32_t b = c->cfg->block_count; b-- > 0;) {
			double price = is_run(c->cfg, b) ? price_of(c, b, row, share) : 0;

			changed |= price > c->price[b];
			c->price[b] = fmax(c->price[b], price);
		}
	}
	return !changed && !(c->price[0] > 0);
}

static double share_of(struct code *c, unsigned row)
{
	double some = 0, low = 0, high = 1;

	for (uint32_t b = 0; b < c->cfg->block_count; b++)
		some += is_run(c->cfg, b) ? c->whole[b].of[row] : 0;
	/* Where an indirect jump leads is guessed: it may lead elsewhere. */
	for (unsigned i = 0; some > 0 && !c->cfg->unknown_jumps && i < HALVINGS; i++) {
		double middle = (low + high) / 2;

		*(suffices(c, row, middle) ? &high : &low) = middle;
	}
	return some > 0 ? high : 0;
}

bool gw_static_shares(const struct gw_cfg *cfg, struct gw_arena *arena, struct gw_work *work)
{
	struct code c = {.cfg = cfg};

	if (!cfg->block_count || cfg->block_count > BLOCKS_MOST)
		return true;
	c.whole = gw_arena_array(arena, cfg->block_count, sizeof(*c.whole));
	c.head = gw_arena_array(arena, cfg->block_count, sizeof(*c.head));
	c.price = gw_arena_array(arena, cfg->block_count, sizeof(*c.price));
	if (!c.whole || !c.head || !c.price)
		return false;
	for (uint32_t b = 0; b < cfg->block_count; b++)
		if (is_run(cfg, b) && !read_block(&c, b))
			return true;
	for (unsigned i = 0; i < SHARES; i++)
		gw_static_set(work, shares[i].share, share_of(&c, i), 1);
	return true;
}
