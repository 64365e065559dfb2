/*
 * A warp's way through the blocks. Lanes that part are run one group after the other and meet at
 * the branch's immediate post-dominator. Lanes whose way isn't known are run both ways, as lanes
 * that may come; where they meet again, what either way wrote is unknown to them. If such a branch
 * decides a loop, its region is run once, with what it writes unknown from the start, and stands
 * for any number of trips.
 */
#include "predictor/code/eval/state.h"

#include <math.h>

void gw_eval_stop(struct gw_eval *e, uint32_t block)
{
	if (!e->stopped)
		gw_eval_reason(e, GW_WHY_STEPS, block,
			       block < e->p->block_count ? e->p->blocks[block].end_source : 0,
			       UINT32_MAX);
	e->stopped = true;
}

double gw_eval_most(const struct gw_eval *e)
{
	if (e->meeting)
		return e->weight * GW_EVAL_MEET_MOST;
	return e->unbounded ? HUGE_VAL : e->weight;
}

/* Callers that wait get a turn now and then. */
static void ask(struct gw_eval *e, uint32_t steps)
{
	e->asked += steps;
	if (e->asked < GW_EVAL_ASK)
		return;
	e->asked = 0;
	e->halted = e->halted || !e->limits.go_on(e->limits.go_on_arg);
}

void gw_eval_spend(struct gw_eval *e, uint32_t steps, uint32_t block)
{
	if (e->limits.go_on)
		ask(e, steps);
	if (e->steps_left >= steps && !e->halted) {
		e->steps_left -= steps;
		return;
	}
	e->steps_left = 0;
	gw_eval_stop(e, block);
}

static struct gw_warp_entry *top(struct gw_eval *e)
{
	return &e->stack[e->depth - 1];
}

static void forget(struct gw_eval *e, struct gw_warp_entry *entry)
{
	uint32_t block = entry->forget;
	const struct gw_region *region;

	if (block == GW_IR_NONE)
		return;
	entry->forget = GW_IR_NONE;
	region = gw_eval_region(e, block);
	if (!region)
		gw_eval_stop(e, block);
	else
		gw_eval_forget(e, region, entry->forget_lanes & e->live, entry->forget_why, block);
}

static void pop(struct gw_eval *e)
{
	forget(e, top(e));
	e->depth--;
}

static void push(struct gw_eval *e, const struct gw_warp_entry *entry)
{
	if (!entry->lanes || entry->block == entry->meet)
		return;
	if (e->depth == GW_STACK_MAX)
		gw_eval_stop(e, entry->from);
	else
		e->stack[e->depth++] = *entry;
}

/* Leave the entry on top waiting where the lanes of @p block's branch meet; done, when it ends
 * there anyway. */
static void wait_at(struct gw_eval *e, uint32_t block)
{
	struct gw_warp_entry *t = top(e);

	t->from = block;
	t->block = e->p->blocks[block].ipdom;
	if (t->block == t->meet)
		e->depth--;
}

static uint32_t successor(const struct gw_eval *e, uint32_t block, uint32_t n)
{
	return e->p->succs[e->p->blocks[block].succ_first + n];
}

static void go(struct gw_eval *e, uint32_t from, uint32_t to)
{
	top(e)->from = from;
	top(e)->block = to;
}

/* A group of lanes that takes successor @p to of the entry's block. */
static struct gw_warp_entry group(const struct gw_warp_entry *t, uint32_t meet, uint32_t to,
				  uint32_t lanes, uint32_t certain)
{
	return (struct gw_warp_entry){.from = t->block,
				      .block = to,
				      .odds = t->odds,
				      .meet = meet,
				      .lanes = lanes,
				      .certain = certain & lanes,
				      .forget = GW_IR_NONE,
				      .left = GW_IR_NONE,
				      .unbounded = t->unbounded};
}

static void part(struct gw_eval *e, uint32_t block, uint32_t yes, uint32_t no)
{
	uint32_t meet = e->p->blocks[block].ipdom;
	struct gw_warp_entry t = *top(e);
	struct gw_warp_entry a = group(&t, meet, successor(e, block, 0), yes, e->certain);
	struct gw_warp_entry b = group(&t, meet, successor(e, block, 1), no, e->certain);

	wait_at(e, block);
	push(e, &b);
	push(e, &a);
}

/* The reason behind the unknown lanes of a test. */
static gw_base note_unknown(struct gw_eval *e, uint32_t block, const struct gw_value *test,
			    uint32_t unknown)
{
	gw_base base = test->base[gw_at(test, (unsigned)__builtin_ctz(unknown))];
	uint32_t insn;
	enum gw_why why = gw_base_why(base, &insn);

	e->report.control_known = false;
	gw_eval_reason(e, why, block, e->p->blocks[block].end_source, insn);
	return gw_unknown(GW_WHY_BRANCH, insn);
}

/* Where lanes of unknown ways meet, what lies between is forgotten by them. */
static void wait_and_forget(struct gw_eval *e, uint32_t block, uint32_t unknown, gw_base why)
{
	struct gw_warp_entry *t = top(e);

	t->from = block;
	t->block = e->p->blocks[block].ipdom;
	t->forget = block;
	t->forget_lanes = unknown;
	t->forget_why = why;
}

/*
 * Lanes in @p unknown go either way: once, since the branch decides no loop. Or it does, which ends
 * by what is known, too: then they go on as if they stayed, by successor @p stay, and leave once.
 * The warp is likely to stay as long as the last of its lanes does.
 */
static void part_maybe(struct gw_eval *e, uint32_t block, uint32_t yes, uint32_t no,
		       uint32_t unknown, gw_base why, int stay)
{
	uint32_t meet = e->p->blocks[block].ipdom;
	struct gw_warp_entry t = *top(e);
	const uint32_t lanes[] = {yes, no};
	const unsigned first = stay > 0;
	struct gw_warp_entry a, b;

	if (stay >= 0 && t.left == block && !lanes[!first]) { /* they left before */
		top(e)->certain &= ~unknown;
		go(e, block, successor(e, block, first));
		return;
	}
	a = group(&t, meet, successor(e, block, first), lanes[first] | unknown,
		  e->certain & lanes[first]);
	b = group(&t, meet, successor(e, block, !first), lanes[!first] | unknown,
		  e->certain & lanes[!first]);
	b.odds *= GW_EVAL_EITHER;
	if (stay >= 0)
		a.left = block;
	else
		a.odds = b.odds;
	wait_and_forget(e, block, unknown, why);
	if (a.block != meet)
		b.forget = block;
	b.forget_lanes = unknown;
	b.forget_why = why;
	push(e, &b);
	push(e, &a);
}

static void count_branch(struct gw_eval *e, uint32_t block, uint32_t yes, uint32_t no,
			 uint32_t unknown)
{
	struct gw_eval_count *c = &e->report.blocks[block].divergent;

	if (yes & e->certain && no & e->certain)
		c->least += e->weight;
	if ((yes && no) || (unknown && __builtin_popcount(yes | no | unknown) > 1)) {
		c->most += gw_eval_most(e);
		c->likely += e->likely;
	}
}

/* No lane's way is known, and nothing but computing lies between: it need not be followed. */
static void pass_by(struct gw_eval *e, uint32_t block, const struct gw_region *region,
		    uint32_t unknown, gw_base why)
{
	gw_eval_spend(e, region->block_count / 4, block);
	for (uint32_t i = 0; i < region->block_count; i++) {
		uint32_t b = region->blocks[i];
		struct gw_eval_count *runs = &e->report.blocks[b].runs;

		runs->most += gw_eval_most(e);
		runs->likely += GW_EVAL_EITHER * e->likely;
		if (e->p->blocks[b].end == IR_END_BRANCH)
			count_branch(e, b, 0, 0, unknown);
	}
	wait_and_forget(e, block, unknown, why);
}

/* Lanes in @p unknown go any way any number of times; the others go on as they know. */
static void part_unbounded(struct gw_eval *e, uint32_t block, uint32_t yes, uint32_t no,
			   uint32_t unknown, gw_base why)
{
	uint32_t meet = e->p->blocks[block].ipdom;
	struct gw_warp_entry t = *top(e);

	gw_eval_loop_unknown(e, block, meet);
	gw_eval_spend(e, e->p->block_count / 16, block);
	for (uint32_t b = 0; !e->unbounded && b < e->p->block_count; b++)
		e->visited[b] &= ~unknown;
	wait_and_forget(e, block, unknown, why);
	for (uint32_t s = 0; s < e->p->blocks[block].succ_count; s++) {
		struct gw_warp_entry u = group(&t, meet, successor(e, block, s), unknown, 0);

		u.forget = block;
		u.forget_lanes = unknown;
		u.forget_why = why;
		if (u.unbounded == GW_IR_NONE)
			u.unbounded = block;
		push(e, &u);
	}
	if (yes | no) {
		struct gw_warp_entry a = group(&t, meet, successor(e, block, 0), yes, e->certain);
		struct gw_warp_entry b = group(&t, meet, successor(e, block, 1), no, e->certain);

		push(e, &b);
		push(e, &a);
	}
}

/*
 * Whether the lanes whose way isn't known wait, at a branch of which all ways but waiting lead to
 * one place: they go there, as if what they wait for had come.
 */
static bool awaits(const struct gw_value *test, uint32_t unknown, const struct gw_region *region)
{
	uint32_t insn;

	for (unsigned i = 0; i < GW_LANES; i++)
		if (unknown >> i & 1 &&
		    gw_base_why(test->base[gw_at(test, i)], &insn) != GW_WHY_AWAIT)
			return false;
	return region->waits;
}

/* All lanes are where the branch's ways meet; what lies between is forgotten. */
static void await(struct gw_eval *e, uint32_t block, const struct gw_value *test, uint32_t unknown)
{
	gw_base base = test->base[gw_at(test, (unsigned)__builtin_ctz(unknown))];
	uint32_t insn;

	gw_base_why(base, &insn);
	gw_eval_reason(e, GW_WHY_AWAIT, block, e->p->blocks[block].end_source, insn);
	e->report.awaits = true;
	wait_and_forget(e, block, e->lanes, gw_unknown(GW_WHY_AWAIT, insn));
}

static void end_branch(struct gw_eval *e, uint32_t block)
{
	const struct gw_ir_block *b = &e->p->blocks[block];
	const struct gw_value *test = gw_eval_source(e, b->test, &e->source[0]);
	uint32_t yes, known = gw_value_known(test, e->lanes, &yes), no, unknown = e->lanes & ~known;

	if (b->test_not)
		yes = known & ~yes;
	no = known & ~yes;
	if (known) {
		gw_domain_pin(&e->domain, gw_form_dims(&test->form));
		gw_eval_loop_known(e, block);
	}
	if (unknown) {
		const struct gw_region *region = gw_eval_region(e, block);
		int stay = -1;
		gw_base why;

		if (region && awaits(test, unknown, region)) {
			await(e, block, test, unknown);
			return;
		}
		count_branch(e, block, yes, no, unknown);
		why = note_unknown(e, block, test, unknown);
		if (!region)
			gw_eval_stop(e, block);
		else if (region->plain && unknown == e->lanes)
			pass_by(e, block, region, unknown, why);
		else if (region->cyclic && (stay = gw_eval_loop_leave(e, block)) < 0)
			part_unbounded(e, block, yes, no, unknown, why);
		else
			part_maybe(e, block, yes, no, unknown, why, stay);
		return;
	}
	count_branch(e, block, yes, no, 0);
	if (!no || !yes)
		go(e, block, successor(e, block, no != 0));
	else
		part(e, block, yes, no);
}

/* Lanes of one index go one way; those whose index isn't known may go every way. */
static void end_switch(struct gw_eval *e, uint32_t block)
{
	const struct gw_ir_block *b = &e->p->blocks[block];
	const struct gw_value *test = gw_eval_source(e, b->test, &e->source[0]);
	uint32_t left = e->lanes, unknown = 0, meet = b->ipdom, ways = 0;
	struct gw_warp_entry t = *top(e);

	gw_domain_pin(&e->domain, gw_form_dims(&test->form));
	for (unsigned i = 0; i < GW_LANES; i++)
		if (test->base[gw_at(test, i)] || test->v[gw_at(test, i)] >= b->succ_count)
			unknown |= left & UINT32_C(1) << i;
	left &= ~unknown;
	if (unknown)
		part_unbounded(e, block, 0, 0, unknown, note_unknown(e, block, test, unknown));
	else
		wait_at(e, block);
	while (left) {
		uint64_t to = test->v[gw_at(test, (unsigned)__builtin_ctz(left))];
		uint32_t lanes = 0;
		struct gw_warp_entry g;

		for (unsigned i = 0; i < GW_LANES; i++)
			if (left >> i & 1 && test->v[gw_at(test, i)] == to)
				lanes |= UINT32_C(1) << i;
		g = group(&t, meet, successor(e, block, (uint32_t)to), lanes, e->certain);
		push(e, &g);
		left &= ~lanes;
		ways++;
	}
	count_branch(e, block, ways > 1 ? e->lanes : 0, ways > 1 ? e->lanes : 0, unknown);
}

/* Lanes that surely come here have ended; the others may have. */
static void end_exit(struct gw_eval *e)
{
	e->live &= ~e->certain;
	e->doubt |= e->lanes & ~e->certain;
	pop(e);
}

static void run_block(struct gw_eval *e, uint32_t block)
{
	struct gw_eval_count *runs = &e->report.blocks[block].runs;
	uint32_t first = e->plan_first[block], end = e->plan_first[block + 1];

	gw_eval_spend(e, end - first + 1, block);
	if (e->stopped)
		return;
	runs->least += e->certain ? e->weight : 0;
	runs->most += gw_eval_most(e);
	runs->likely += e->likely;
	for (uint32_t n = first; n < end; n++)
		gw_eval_insn(e, e->plan[n]);
	switch (e->p->blocks[block].end) {
	case IR_END_JUMP:
		go(e, block, successor(e, block, 0));
		break;
	case IR_END_BRANCH:
		if (gw_ir_decides(e->p, &e->p->blocks[block]))
			end_branch(e, block);
		else
			go(e, block, successor(e, block, 0));
		break;
	case IR_END_SWITCH:
		end_switch(e, block);
		break;
	default:
		end_exit(e);
	}
}

/* In a region without a bound each lane runs each block once; coming again, it has any value that
 * the region may write. False: nothing is left to run. */
static bool visit(struct gw_eval *e, struct gw_warp_entry *t)
{
	uint32_t again = e->lanes & e->visited[t->block];
	const struct gw_region *region;

	e->visited[t->block] |= e->lanes;
	if (!again)
		return true;
	region = gw_eval_region(e, t->unbounded);
	if (region)
		gw_eval_forget(e, region, again, gw_unknown(GW_WHY_BRANCH, UINT32_MAX),
			       t->unbounded);
	else
		gw_eval_stop(e, t->block);
	t->lanes &= ~again;
	e->lanes &= ~again;
	e->certain &= ~again;
	return e->lanes != 0;
}

/* Whether the entry's region is a wait of blocks for each other. */
static bool meets(struct gw_eval *e, const struct gw_warp_entry *t)
{
	const struct gw_region *region =
		t->unbounded != GW_IR_NONE ? gw_eval_region(e, t->unbounded) : NULL;

	return region && region->meets;
}

/*
 * How often the warp is likely to run the entry's block: a loop that data end goes round
 * GW_EVAL_ROUNDS times, loops within it as often each time.
 */
static double likely_runs(const struct gw_eval *e, const struct gw_warp_entry *t)
{
	double runs = e->weight * (e->certain ? 1 : t->odds);
	uint32_t around = GW_IR_NONE;

	if (!e->unbounded)
		return runs;
	if (e->meeting)
		return runs * GW_EVAL_MEET;
	if (e->p->blocks[t->unbounded].ipdom != GW_IR_NONE)
		around = e->p->blocks[e->p->blocks[t->unbounded].ipdom].loop;
	for (uint32_t l = e->p->blocks[t->block].loop; l != GW_IR_NONE && l != around;
	     l = e->p->loops[l].parent)
		runs *= GW_EVAL_ROUNDS;
	return runs;
}

/* One step of the entry on top. */
static void advance(struct gw_eval *e)
{
	struct gw_warp_entry *t = top(e);

	if (t->block == GW_IR_NONE || t->block == t->meet) {
		pop(e);
		return;
	}
	forget(e, t);
	e->lanes = t->lanes & e->live;
	e->certain = t->certain & e->lanes & ~e->doubt;
	e->unbounded = t->unbounded != GW_IR_NONE;
	e->meeting = meets(e, t);
	if (!e->lanes || (e->unbounded && !visit(e, t))) {
		pop(e);
		return;
	}
	gw_eval_edge(e, t->from, t->block);
	e->likely = likely_runs(e, t); /* of iterations that the edge may have changed */
	if (!e->stopped)
		run_block(e, t->block);
}

void gw_eval_run(struct gw_eval *e, uint32_t lanes)
{
	struct gw_warp_entry first = {.from = GW_IR_NONE,
				      .block = 0,
				      .meet = GW_IR_NONE,
				      .lanes = lanes,
				      .certain = lanes,
				      .odds = 1,
				      .forget = GW_IR_NONE,
				      .left = GW_IR_NONE,
				      .unbounded = GW_IR_NONE};

	e->live = lanes;
	e->doubt = 0;
	e->stopped = false;
	e->depth = 0;
	gw_eval_loops_begin(e);
	push(e, &first);
	while (e->depth && !e->stopped)
		advance(e);
	gw_eval_loops_end(e);
	e->report.complete = !e->stopped;
	e->report.halted = e->halted;
}
