/*
 * Warps that can't all be run. What is left uncovered is stood for by blocks drawn from it evenly,
 * a block as likely as it has warps left, each with all of these: where one warp of a block does
 * the work of many, or each its own part, it is in every block that is drawn, and the blocks agree.
 * By how much they don't is how far the whole may be off.
 */
#include "predictor/code/eval/cover.h"
#include "predictor/core/hash.h"

#include <math.h>

enum { WARPS_MOST = 32, ENOUGH_FROM = 8 };
static const double sampled = 0.9, /* confidence where nothing speaks against it */
	unseen = 0.5,              /* of that, what is lost where hardly a block was run */
	within = 0.25,             /* what confidence is about */
	enough = 0.02,             /* an error that is not worth more blocks ... */
	hidden = 0.005;            /* ... nor is the share that none drawn may have shown */
/* The square root of two, less one: evenly spread, and not as the golden section. */
#define ROOT   0.41421356237309515
#define NEAR   0.01 /* of the grid */
#define LITTLE 0.25 /* of what boxes do not answer for, that they do */

struct sample {
	struct cover *c;
	struct gw_eval_report sums; /* of means of blocks */
	struct gw_spread blocks;    /* mean cost of a warp of each */
	double weight;              /* blocks, the last one as far as it was run */
	double cost;                /* of means of blocks */
	double rest;                /* warps of all boxes */
};

static double fraction(double x)
{
	return x - floor(x);
}

/* Evenly spread over all, and by chance within what is near: what differs in a grid recurs with
 * powers of two, and so does any even step. Randomised by splitmix64. */
static double place(uint32_t n)
{
	uint64_t x = gw_hash_mix((n + 1) * UINT64_C(0x9e3779b97f4a7c15));

	return fraction((n + 1) * GW_GOLDEN + (double)x * 0x1p-64 * NEAR);
}

/* Which block the @p n-th one is. */
static struct gw_dim3 draw(const struct sample *s, uint32_t n)
{
	const struct cover *c = s->c;
	double at = place(n) * s->rest;
	uint32_t i = 0;
	uint64_t block;
	const struct box *b;

	for (; i + 1 < c->count && at >= c->boxes[i].volume; i++)
		at -= c->boxes[i].volume;
	b = &c->boxes[i];
	block = (uint64_t)(fmin(at, b->volume - 1) / (double)b->size[GW_DIM_WARP]);
	return (struct gw_dim3){
		(uint32_t)(b->low[GW_DIM_X] + (int64_t)(block % (uint64_t)b->size[GW_DIM_X])),
		(uint32_t)(b->low[GW_DIM_Y] + (int64_t)(block / (uint64_t)b->size[GW_DIM_X] %
							(uint64_t)b->size[GW_DIM_Y])),
		(uint32_t)(b->low[GW_DIM_Z] + (int64_t)(block / (uint64_t)b->size[GW_DIM_X] /
							(uint64_t)b->size[GW_DIM_Y]))};
}

/* Marks the warps of @p block that nobody answers for; how many. */
static uint32_t left_of(const struct cover *c, struct gw_dim3 block, bool left[WARPS_MOST + 1])
{
	const int64_t at[GW_BOX] = {0, block.x, block.y, block.z};
	uint32_t count = 0;

	for (uint32_t w = 0; w <= WARPS_MOST; w++)
		left[w] = false;
	for (uint32_t i = 0; i < c->count; i++) {
		const struct box *b = &c->boxes[i];
		bool in = true;

		for (unsigned d = GW_DIM_X; d < GW_BOX; d++)
			in = in && at[d] >= b->low[d] && at[d] - b->low[d] < b->size[d];
		for (int64_t w = b->low[GW_DIM_WARP];
		     in && w < b->low[GW_DIM_WARP] + b->size[GW_DIM_WARP]; w++) {
			left[w] = true;
			count++;
		}
	}
	return count;
}

/* The first block may take much more: a part of it would show what its first warps do. */
static bool limited(const struct sample *s)
{
	const struct gw_eval_limits *most = &s->c->e->limits;

	return s->c->failed || s->c->out->steps >= (s->weight > 0 ? 1 : 4) * most->steps ||
	       s->c->out->warps_run >= most->warps;
}

/* Run warp @p w for those that follow it and are left as well; how many it answers for. */
static uint32_t run_warp(struct sample *s, struct gw_dim3 block, uint32_t w, bool *left)
{
	uint32_t full = (uint32_t)(gw_dim3_count(s->c->e->launch->config.block) / GW_LANES);
	int64_t high[GW_BOX] = {0};
	uint32_t n = 0;

	/* One that is not full is another one. */
	while (w + n + 1 < full && left[w + n + 1])
		n++;
	high[GW_DIM_WARP] = n;
	if (!gw_cover_run(s->c, block, w, high))
		return 0;
	n = (uint32_t)high[GW_DIM_WARP] + 1;
	for (uint32_t i = 0; i < n; i++)
		left[w + i] = false;
	return n;
}

/* The @p n-th block: as many of its warps as the limits let, from all over it. */
static void run_block(struct sample *s, uint32_t n)
{
	struct gw_dim3 block = draw(s, n);
	bool left[WARPS_MOST + 1];
	uint32_t count = left_of(s->c, block, left), done = 0;
	double cost = 0;

	for (uint32_t i = 0; done < count && !limited(s); i++) {
		uint32_t w = (uint32_t)(fraction(n * ROOT + i * GW_GOLDEN) * WARPS_MOST), times;

		/* Every one comes in the end, those drawn first, which are far apart. */
		w = i < WARPS_MOST ? w : i % WARPS_MOST;
		times = left[w] ? run_warp(s, block, w, left) : 0;
		if (!times)
			continue;
		gw_cover_add(&s->sums, s->c->e, (double)times / count);
		cost += s->c->e->report.cost * times;
		done += times;
	}
	if (!done)
		return;
	s->weight += (double)done / count;
	s->cost += cost / count;
	gw_spread_add(&s->blocks, cost / done);
	s->c->drawn += done;
}

/* Standard error of the grid's cost for that of the uncovered rest, relative to it. Where
 * there are not several blocks, the warps that were run show how much they differ. */
static double error_of(const struct sample *s)
{
	const struct gw_spread *x = s->blocks.count >= 2 ? &s->blocks : &s->c->warps;
	double mean = s->weight > 0 ? s->cost / s->weight : s->c->cost / s->c->covered;
	double all = s->c->cost + s->rest * mean;

	return all > 0 ? s->rest * sqrt(x->squares / (x->count > 1 ? x->count - 1 : 1) / x->count) /
				 all
		       : 0;
}

/* What no block drawn may have shown, as a share of all. */
static double unseen_of(const struct sample *s)
{
	return s->rest / (double)s->c->out->warps / (1 + s->weight);
}

static double sureness(const struct sample *s)
{
	double likely = erf(within / (error_of(s) * sqrt(2)));

	return sampled * likely * (1 - unseen * unseen_of(s));
}

void gw_cover_sample(struct cover *c)
{
	const struct gw_ir_program *p = c->e->p;
	struct sample s = {.c = c, .rest = (double)c->out->warps - c->covered};
	uint64_t most = 0; /* steps of a block */
	bool anew = c->covered < LITTLE * s.rest;

	/* Boxes that answer for little leave pieces of blocks: whole ones stand for all. */
	if (anew) {
		gw_cover_whole(c);
		s.rest += c->covered;
	}
	if (!gw_cover_sums(p, c->arena, &s.sums))
		c->failed = true;
	for (uint32_t n = 0; c->count && c->out->complete && !limited(&s); n++) {
		const uint64_t before = c->out->steps;

		run_block(&s, n);
		/* So would a part of another one. */
		if (most < c->out->steps - before)
			most = c->out->steps - before;
		if (c->out->steps + most > c->e->limits.steps)
			break;
		if (s.blocks.count >= ENOUGH_FROM && error_of(&s) < enough &&
		    unseen_of(&s) < hidden)
			break;
	}
	c->sure = sureness(&s);
	if (s.weight > 0) {
		if (anew) {
			c->out->blocks = s.sums.blocks;
			c->out->insns = s.sums.insns;
			c->out->trips = s.sums.trips;
			c->cost = 0;
		}
		gw_cover_add_all(c->out, p, &s.sums, s.rest / s.weight - anew);
		c->cost += s.rest * s.cost / s.weight;
	} else if (c->covered > 0) {
		double all = (double)c->out->warps / c->covered;

		gw_cover_add_all(c->out, p, c->out, all - 1);
		c->cost *= all;
	}
}
