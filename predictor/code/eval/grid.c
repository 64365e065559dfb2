/*
 * A grid: boxes of warps and blocks that nobody has answered for yet. The warp at a box's lowest
 * corner is run and answers for a part of the box; what is left is cut into boxes again.
 */
#include "predictor/code/eval/cover.h"

#include <math.h>
#include <string.h>

enum { BOXES_MAX = 32768, ASK_FROM = 128 };

static double volume(const int64_t size[GW_BOX])
{
	double v = 1;

	for (unsigned i = 0; i < GW_BOX; i++)
		v *= (double)size[i];
	return v;
}

static void box_add(struct cover *c, const struct box *b)
{
	uint32_t at = c->count;
	struct box added = *b;

	added.volume = volume(b->size);
	if (added.volume <= 0)
		return;
	if (c->count == BOXES_MAX) {
		c->failed = true;
		return;
	}
	c->count++;
	for (; at && c->boxes[(at - 1) / 2].volume < added.volume; at = (at - 1) / 2)
		c->boxes[at] = c->boxes[(at - 1) / 2];
	c->boxes[at] = added;
}

/* Cut a box across dimension @p dim at @p at: the lower part stays, the upper one is added. */
static void box_cut(struct cover *c, struct box *b, unsigned dim, int64_t at)
{
	struct box upper = *b;

	upper.low[dim] += at;
	upper.size[dim] -= at;
	b->size[dim] = at;
	box_add(c, &upper);
}

static unsigned longest_side(const struct box *b)
{
	unsigned best = 0;

	for (unsigned i = 1; i < GW_BOX; i++)
		if (b->size[i] > b->size[best])
			best = i;
	return best;
}

/* Where a run answers for little of its box, what is left is cut in two, so that the next runs are
 * spread over the grid; and at first the very end is cut off, which often differs. Not in halves:
 * grids are powers of two, what differs in them recurs with powers of two, and so would the cuts.
 */
static void spread_out(struct cover *c, struct box *b)
{
	unsigned side = longest_side(b);

	if (b->size[side] < 4)
		return;
	if (!c->bisected)
		box_cut(c, b, side, b->size[side] - 1);
	c->bisected = true;
	box_cut(c, b, side, (int64_t)((double)b->size[side] * GW_GOLDEN));
}

/* What the run at @p b's lowest corner didn't answer for. */
static void leave_rest(struct cover *c, struct box *b, const int64_t high[GW_BOX])
{
	bool little = true;
	int64_t done[GW_BOX];

	for (unsigned i = 0; i < GW_BOX; i++)
		done[i] = high[i] + 1;
	little = volume(done) * 8 < volume(b->size);
	for (unsigned i = GW_BOX; i-- > 0;) {
		struct box rest = *b;

		if (done[i] >= b->size[i])
			continue;
		rest.low[i] += done[i];
		rest.size[i] -= done[i];
		b->size[i] = done[i];
		if (little)
			spread_out(c, &rest);
		box_add(c, &rest);
	}
}

static struct box take_largest(struct cover *c)
{
	struct box largest = c->boxes[0], last = c->boxes[--c->count];
	uint32_t at = 0, child;

	for (; (child = 2 * at + 1) < c->count; at = child) {
		if (child + 1 < c->count && c->boxes[child + 1].volume > c->boxes[child].volume)
			child++;
		if (c->boxes[child].volume <= last.volume)
			break;
		c->boxes[at] = c->boxes[child];
	}
	c->boxes[at] = last;
	return largest;
}

static void add_count(struct gw_eval_count *to, struct gw_eval_count from, double times)
{
	to->least += from.least * times;
	to->most += from.most > 0 ? from.most * times : 0;
	to->likely += from.likely * times;
}

static void add_trips(struct gw_eval_trips *to, const struct gw_eval_trips *from, double times)
{
	to->unknown |= from->unknown;
	to->extrapolated |= from->extrapolated;
	to->total += from->total * times;
	if (from->entries > 0) {
		to->least = to->entries == 0 || from->least < to->least ? from->least : to->least;
		to->most = from->most > to->most ? from->most : to->most;
	}
	to->entries += from->entries * times;
	if (to->unknown)
		to->most = HUGE_VAL;
}

static void add_reasons(struct gw_eval_report *out, const struct gw_eval_warp_report *w)
{
	for (uint32_t n = 0; n < w->reason_count; n++) {
		const struct gw_eval_reason *r = &w->reasons[n];
		bool had = out->reason_count == GW_EVAL_REASONS;

		for (uint32_t i = 0; i < out->reason_count; i++)
			had = had || (out->reasons[i].why == r->why &&
				      out->reasons[i].source == r->source &&
				      out->reasons[i].origin == r->origin);
		if (!had)
			out->reasons[out->reason_count++] = *r;
	}
}

/* Counts of blocks, instructions and loops, so many times. */
static void add_sums(struct gw_eval_report *to, const struct gw_ir_program *p,
		     const struct gw_eval_block *blocks, const struct gw_eval_count *insns,
		     const struct gw_eval_trips *trips, double times)
{
	for (uint32_t b = 0; b < p->block_count; b++) {
		const uint32_t first = p->blocks[b].first;

		if (!(blocks[b].runs.most > 0)) /* nor did what is in it run */
			continue;
		add_count(&to->blocks[b].runs, blocks[b].runs, times);
		add_count(&to->blocks[b].divergent, blocks[b].divergent, times);
		for (uint32_t i = first; i < first + p->blocks[b].count; i++)
			add_count(&to->insns[i], insns[i], times);
	}
	for (uint32_t l = 0; l < p->loop_count; l++)
		add_trips(&to->trips[l], &trips[l], times);
}

void gw_cover_add(struct gw_eval_report *to, const struct gw_eval *e, double times)
{
	add_sums(to, e->p, e->report.blocks, e->report.insns, e->report.trips, times);
}

void gw_cover_add_all(struct gw_eval_report *to, const struct gw_ir_program *p,
		      const struct gw_eval_report *from, double times)
{
	add_sums(to, p, from->blocks, from->insns, from->trips, times);
}

static void keep_longest(struct cover *c)
{
	struct gw_eval_report *out = c->out;
	const struct gw_eval_warp_report *w = &c->e->report;

	if (!(w->cost > out->longest_cost) && out->warps_run)
		return;
	out->longest_cost = w->cost;
	memcpy(out->longest, w->blocks, c->e->p->block_count * sizeof(*w->blocks));
	out->longest_warp = c->e->warp;
	out->longest_block = c->e->block;
}

bool gw_cover_run(struct cover *c, struct gw_dim3 block, uint32_t warp, int64_t high[GW_BOX])
{
	struct gw_eval_report *out = c->out;
	const struct gw_eval_warp_report *w = &c->e->report;

	gw_eval_one(c->e, block, warp, high);
	if (c->e->halted) {
		c->failed = true;
		return false;
	}
	memcpy(high, c->e->domain.high, sizeof(c->e->domain.high));
	keep_longest(c);
	add_reasons(out, w);
	out->control_known = out->control_known && w->control_known;
	out->complete = out->complete && w->complete;
	out->awaits = out->awaits || w->awaits;
	out->steps += w->steps;
	out->warps_run++;
	gw_spread_add(&c->warps, w->cost);
	if (w->complete)
		out->coverage = GW_COVER_SAMPLED;
	return true;
}

/* What is left can be run within the limits, if it goes as it went so far. */
static bool can_finish(const struct cover *c)
{
	double share = (double)c->out->warps / c->covered;

	return share * (double)c->out->steps < (double)c->e->limits.steps &&
	       share * (double)c->out->warps_run < c->e->limits.warps;
}

/* Where not all can be run, half of the limits is left for what stands for the rest. */
static bool goes_on(const struct cover *c)
{
	const struct gw_eval_report *out = c->out;
	const struct gw_eval_limits *most = &c->e->limits;
	uint64_t n = out->warps_run;

	if (!c->count || c->failed || n >= most->warps || out->steps >= most->steps)
		return false;
	if (n < most->warps / 2 && out->steps < most->steps / 2 && (n < ASK_FROM || n & (n - 1)))
		return true;
	return can_finish(c);
}

/* Where work is handed out block by block, none gets more than the first. */
static void add_first(struct cover *c, const struct box *b, uint32_t warps)
{
	const struct gw_eval_block *ran = c->e->report.blocks;

	if (b->low[GW_DIM_X] || b->low[GW_DIM_Y] || b->low[GW_DIM_Z])
		return;
	for (uint32_t i = 0; i < c->e->p->block_count; i++)
		add_count(&c->out->first[i].runs, ran[i].runs, warps);
	c->out->first_warps += warps;
}

static void run_box(struct cover *c)
{
	struct box b = take_largest(c);
	struct gw_dim3 block = {(uint32_t)b.low[GW_DIM_X], (uint32_t)b.low[GW_DIM_Y],
				(uint32_t)b.low[GW_DIM_Z]};
	int64_t high[GW_BOX], done[GW_BOX];

	for (unsigned i = 0; i < GW_BOX; i++)
		high[i] = b.size[i] - 1;
	if (!gw_cover_run(c, block, (uint32_t)b.low[GW_DIM_WARP], high))
		return;
	for (unsigned i = 0; i < GW_BOX; i++)
		done[i] = high[i] + 1;
	gw_cover_add(c->out, c->e, volume(done));
	add_first(c, &b, (uint32_t)done[GW_DIM_WARP]);
	c->covered += volume(done);
	c->cost += c->e->report.cost * volume(done);
	if (c->ran)
		c->ran(c->e->sink_arg, volume(done));
	leave_rest(c, &b, high);
}

static void sum_branches(struct cover *c)
{
	struct gw_eval_report *out = c->out;

	for (uint32_t b = 0; b < c->e->p->block_count; b++) {
		uint8_t end = c->e->p->blocks[b].end;

		if (end != IR_END_BRANCH && end != IR_END_SWITCH)
			continue;
		add_count(&out->branches, out->blocks[b].runs, 1);
		add_count(&out->divergent, out->blocks[b].divergent, 1);
	}
}

bool gw_cover_sums(const struct gw_ir_program *p, struct gw_arena *arena,
		   struct gw_eval_report *out)
{
	*out = (struct gw_eval_report){.coverage = GW_COVER_NONE,
				       .control_known = true,
				       .complete = true,
				       .longest_cost = NAN,
				       .mean_cost = NAN};
	out->blocks = gw_arena_array(arena, p->block_count, sizeof(*out->blocks));
	out->longest = gw_arena_array(arena, p->block_count, sizeof(*out->longest));
	out->first = gw_arena_array(arena, p->block_count, sizeof(*out->first));
	out->insns = gw_arena_array(arena, p->insn_count, sizeof(*out->insns));
	out->trips = gw_arena_array(arena, p->loop_count, sizeof(*out->trips));
	return out->blocks && out->longest && out->first && out->insns && out->trips;
}

void gw_cover_whole(struct cover *c)
{
	const struct gw_config *k = &c->e->launch->config;
	int64_t threads = (int64_t)gw_dim3_count(k->block), full = threads / GW_LANES;
	struct box b = {.size = {full, k->grid.x, k->grid.y, k->grid.z}};

	c->count = 0;
	box_add(c, &b);
	b.low[GW_DIM_WARP] = full;
	b.size[GW_DIM_WARP] = threads % GW_LANES != 0;
	box_add(c, &b);
	c->out->warps = (uint64_t)(full + b.size[GW_DIM_WARP]) * gw_dim3_count(k->grid);
}

static void finish(struct cover *c)
{
	struct gw_eval_report *out = c->out;
	bool all = !c->count && !c->failed;

	if (!all && out->warps_run)
		gw_cover_sample(c);
	out->spaces = c->e->spaces;
	out->warps_covered = (uint64_t)fmin(c->covered + c->drawn, (double)out->warps);
	if (out->warps_run)
		out->mean_cost = c->cost / (double)out->warps;
	out->sure = out->coverage == GW_COVER_NONE ? 0 : all ? 1 : c->sure;
	if (out->coverage == GW_COVER_SAMPLED && all)
		out->coverage = GW_COVER_EXACT;
	sum_branches(c);
}

/* False: no room. */
static bool cover_begin(struct cover *c)
{
	if (!c->e->boxes)
		c->e->boxes = gw_arena_room(c->e->arena, BOXES_MAX, sizeof(*c->boxes));
	c->boxes = c->e->boxes;
	if (!c->boxes || !gw_cover_sums(c->e->p, c->arena, c->out))
		return false;
	gw_cover_whole(c);
	return true;
}

bool gw_eval_accesses(struct gw_eval *e, uint64_t steps, uint32_t warps, gw_eval_sink *sink,
		      gw_eval_ran *ran, void *arg, struct gw_arena *arena)
{
	const struct gw_eval_limits limits = e->limits;
	struct gw_eval_report sums;
	struct cover c = {.e = e, .out = &sums, .arena = arena, .ran = ran};

	if (!cover_begin(&c))
		return false;
	e->limits.steps = steps;
	e->limits.warps = warps;
	e->sink = sink;
	e->sink_arg = arg;
	e->alike = true;
	while (goes_on(&c))
		run_box(&c);
	e->limits = limits;
	return !c.count && !c.failed && sums.complete;
}

const char *gw_eval_grid_by(struct gw_eval *e, gw_eval_sink *sink, void *arg,
			    struct gw_arena *arena, struct gw_eval_report *out)
{
	struct cover c = {.e = e, .out = out, .arena = arena};

	if (!cover_begin(&c))
		return "no room for the evaluation";
	e->sink = sink;
	e->sink_arg = arg;
	e->alike = false;
	while (goes_on(&c))
		run_box(&c);
	finish(&c);
	return NULL;
}

const char *gw_eval_grid(const struct gw_ir_program *program, const struct gw_eval_launch *launch,
			 const struct gw_eval_limits *limits, gw_eval_sink *sink, void *arg,
			 struct gw_arena *arena, struct gw_eval_report *out)
{
	const char *wrong = gw_eval_check(program, launch);
	struct gw_eval *e = wrong ? NULL : gw_eval_new(program, launch, limits, arena);

	if (wrong)
		return wrong;
	return e ? gw_eval_grid_by(e, sink, arg, arena, out) : "no room for the evaluation";
}
