/* What may have been written where it isn't known who went which way. */
#include "predictor/code/eval/state.h"

#include <string.h>

bool gw_eval_in_loop(const struct gw_eval *e, uint32_t block, uint32_t loop)
{
	uint32_t at = block == GW_IR_NONE ? GW_IR_NONE : e->p->blocks[block].loop;

	while (at != GW_IR_NONE && at != loop)
		at = e->p->loops[at].parent;
	return at == loop && loop != GW_IR_NONE;
}

static bool may_store_locally(const struct gw_eval *e, const struct gw_ir_insn *insn)
{
	return insn->op == IR_ST &&
	       (insn->space == IR_SPACE_LOCAL || insn->space == IR_SPACE_FRAME ||
		(insn->space == IR_SPACE_GENERIC && e->local_escapes));
}

/* The places in values[] that marked blocks write, into @p values; their number. */
static uint32_t walk_written(struct gw_eval *e, struct gw_region *out, uint8_t *seen,
			     uint32_t *values)
{
	uint32_t count = 0;

	for (uint32_t b = 0; b < e->p->block_count; b++) {
		if (!e->mark[b])
			continue;
		for (uint32_t n = e->plan_first[b]; n < e->plan_first[b + 1]; n++) {
			const struct gw_ir_insn *insn = &e->p->insns[e->plan[n]];

			out->stores = out->stores || may_store_locally(e, insn);
			for (unsigned d = 0; d < insn->defs; d++) {
				gw_ir_operand def = gw_ir_defs(e->p, insn)[d];
				uint32_t slot = def == GW_IR_NONE ? GW_IR_NONE : e->slot[def];

				if (slot == GW_IR_NONE || seen[slot])
					continue;
				seen[slot] = 1;
				values[count++] = slot;
			}
		}
	}
	return count;
}

bool gw_eval_written(struct gw_eval *e, struct gw_region *out)
{
	uint8_t *seen = e->value_mark;
	uint32_t *values;

	memset(seen, 0, e->value_count);
	out->value_count = walk_written(e, out, seen, e->value_todo);
	out->stores = out->stores && e->frame;
	values = gw_arena_copy(e->arena, e->value_todo, out->value_count * sizeof(*values));
	out->values = values;
	return values != NULL;
}

/* Mark what @p block's successors reach before block @p meet; is @p block among it? */
static bool mark_region(struct gw_eval *e, uint32_t block, uint32_t meet)
{
	const struct gw_ir_program *p = e->p;
	uint32_t depth = 0, at = block;

	memset(e->mark, 0, p->block_count);
	for (;;) {
		const struct gw_ir_block *b = &p->blocks[at];

		for (uint32_t s = 0; s < b->succ_count; s++) {
			uint32_t to = p->succs[b->succ_first + s];

			if (to == meet || e->mark[to])
				continue;
			e->mark[to] = 1;
			e->todo[depth++] = to;
		}
		if (!depth)
			break;
		at = e->todo[--depth];
	}
	return e->mark[block];
}

/* Whether nothing acts in the marked region, out of which block @p meet alone leads. */
static bool only_waits(const struct gw_eval *e, uint32_t meet)
{
	if (meet == GW_IR_NONE)
		return false;
	for (uint32_t b = 0; b < e->p->block_count; b++)
		if (e->mark[b] && (e->p->blocks[b].acts || e->p->blocks[b].end == IR_END_EXIT))
			return false;
	return true;
}

#define SEVERAL UINT32_MAX

/* Who writes each register; false: no room. */
static bool find_writers(struct gw_eval *e)
{
	const struct gw_ir_program *p = e->p;

	if (e->writer)
		return true;
	e->rewritten = gw_arena_array(e->arena, p->reg_count, sizeof(*e->rewritten));
	e->writer =
		e->rewritten ? gw_arena_array(e->arena, p->reg_count, sizeof(*e->writer)) : NULL;
	for (uint32_t i = 0; e->writer && i < p->insn_count; i++)
		for (unsigned d = 0; d < p->insns[i].defs; d++) {
			gw_ir_operand reg = gw_ir_defs(p, &p->insns[i])[d];

			if (reg != GW_IR_NONE)
				e->writer[reg] = e->writer[reg] ? SEVERAL : i + 1;
		}
	return e->writer != NULL;
}

/* The one instruction that writes register @p reg; NULL: none, or several. */
static const struct gw_ir_insn *writer(const struct gw_eval *e, gw_ir_operand reg)
{
	uint32_t at = e->writer[reg];

	return at && at != SEVERAL ? &e->p->insns[at - 1] : NULL;
}

static void mark_rewritten(struct gw_eval *e, const struct gw_ir_insn *insn)
{
	for (unsigned d = 0; d < insn->defs; d++)
		if (gw_ir_defs(e->p, insn)[d] != GW_IR_NONE)
			e->rewritten[gw_ir_defs(e->p, insn)[d]] = 1;
}

/*
 * Whether operands @p a and @p b of two instructions are made in the same way, from the same
 * registers. Those that are written between the two, by the order of the code, are `rewritten`.
 */
static bool alike(const struct gw_eval *e, gw_ir_operand a, gw_ir_operand b, unsigned depth)
{
	const struct gw_ir_program *p = e->p;
	const struct gw_ir_insn *x, *y;

	if (gw_ir_is_constant(a) && gw_ir_is_constant(b))
		return gw_ir_constant(p, a) == gw_ir_constant(p, b);
	if (gw_ir_is_constant(a) || gw_ir_is_constant(b))
		return false;
	if (a == b)
		return !e->rewritten[a];
	x = writer(e, a);
	y = writer(e, b);
	if (!depth || !x || !y || x->op != y->op || x->bits != y->bits || x->aux != y->aux ||
	    !x->uses || x->uses != y->uses)
		return false;
	for (unsigned u = 0; u < x->uses; u++)
		if (!alike(e, gw_ir_uses(p, x)[u], gw_ir_uses(p, y)[u], depth - 1))
			return false;
	return true;
}

static bool is_atomic(const struct gw_ir_insn *insn)
{
	return insn->op == IR_ATOM || insn->op == IR_RED;
}

/* The only instruction of the marked region that acts: a load; else GW_IR_NONE. */
static uint32_t only_load(const struct gw_eval *e)
{
	uint32_t load = GW_IR_NONE;

	for (uint32_t b = 0; b < e->p->block_count; b++) {
		const struct gw_ir_block *block = &e->p->blocks[b];

		for (uint32_t i = block->first; e->mark[b] && i < block->first + block->count;
		     i++) {
			const struct gw_ir_insn *insn = &e->p->insns[i];

			if (insn->op == IR_ST || insn->op == IR_BAR || is_atomic(insn) ||
			    (insn->op == IR_LD && load != GW_IR_NONE))
				return GW_IR_NONE;
			load = insn->op == IR_LD ? i : load;
		}
	}
	return load;
}

/*
 * Whether the marked region looks at nothing but a word that an atomic operation before it is on:
 * how blocks meet in a barrier of the grid. A word that another block stores into may come at any
 * time.
 */
static bool blocks_meet(struct gw_eval *e)
{
	enum { DEPTH = 4 };
	const struct gw_ir_program *p = e->p;
	const uint32_t load = only_load(e);
	const gw_ir_operand *b;

	if (load == GW_IR_NONE || !find_writers(e))
		return false;
	b = gw_ir_uses(p, &p->insns[load]);
	memset(e->rewritten, 0, p->reg_count);
	for (uint32_t i = load; i-- > 0;) {
		const gw_ir_operand *a = gw_ir_uses(p, &p->insns[i]);

		if (is_atomic(&p->insns[i]) && alike(e, a[0], b[0], DEPTH) &&
		    alike(e, a[1], b[1], DEPTH))
			return true;
		mark_rewritten(e, &p->insns[i]);
	}
	return false;
}

/* The blocks of the marked region of @p block, where each runs once at most. */
static bool list_plain(struct gw_eval *e, uint32_t block, struct gw_region *out)
{
	uint32_t *blocks = e->todo;

	out->block_count = 0;
	if (out->cyclic || !e->p->from_sass || e->p->blocks[block].ipdom == GW_IR_NONE)
		return true;
	for (uint32_t b = 0; b < e->p->block_count; b++) {
		const struct gw_ir_block *one = &e->p->blocks[b];

		if (!e->mark[b])
			continue;
		if (one->touches || one->end == IR_END_EXIT ||
		    one->loop != e->p->blocks[block].loop)
			return true;
		blocks[out->block_count++] = b;
	}
	out->plain = true;
	out->blocks = gw_arena_copy(e->arena, blocks, out->block_count * sizeof(*blocks));
	return out->blocks != NULL;
}

const struct gw_region *gw_eval_region(struct gw_eval *e, uint32_t block)
{
	struct gw_region *r;

	if (e->regions[block])
		return e->regions[block];
	r = gw_arena_array(e->arena, 1, sizeof(*r));
	if (!r)
		return NULL;
	r->cyclic = mark_region(e, block, e->p->blocks[block].ipdom);
	r->waits = only_waits(e, e->p->blocks[block].ipdom);
	r->meets = r->cyclic && blocks_meet(e);
	if (!list_plain(e, block, r) || !gw_eval_written(e, r))
		return NULL;
	e->regions[block] = r;
	return r;
}

void gw_eval_forget(struct gw_eval *e, const struct gw_region *region, uint32_t lanes, gw_base why,
		    uint32_t block)
{
	gw_eval_spend(e, region->value_count / 2, block);
	for (uint32_t n = 0; n < region->value_count; n++) {
		struct gw_value *x = &e->values[region->values[n]];

		if (!(x->written & e->live & ~lanes)) {
			x->uniform = true;
			x->base[0] = why;
			continue;
		}
		gw_value_spread(x);
		for (unsigned i = 0; i < GW_LANES; i++)
			if (lanes >> i & 1)
				x->base[i] = why;
	}
	if (region->stores)
		gw_eval_spend(e, e->p->frame_bytes / 2, block);
	if (region->stores)
		gw_eval_forget_frame(e, lanes, why);
}

/* What a register is to a search: made in its loop; where the search is; what chooses a half. */
enum { MADE = 1, PLACE = 2, CHOICE = 4 };
/* In steers[]: of a comparison of what the loop makes; plus its operand from elsewhere. */
enum { STEERS = 1 };
enum { PASSES = 4, SEARCH_BLOCKS = 8 };
static const uint64_t LARGE = 1 << 24; /* instructions times loops of a kernel too large for it */

/* Instruction @p index makes something that is @p what: so are its operands. */
static bool trace(struct gw_eval *e, uint32_t index, uint8_t what, bool note)
{
	const struct gw_ir_insn *i = &e->p->insns[index];
	const gw_ir_operand *use = gw_ir_uses(e->p, i);
	bool chooses = what & CHOICE && (i->op == IR_CMP || i->op == IR_FCMP);

	what &= chooses ? PLACE : PLACE | CHOICE;
	if (!(chooses || what) || !gw_is_scalar((enum gw_ir_op)i->op))
		return false;
	if (what & PLACE && i->guard != GW_IR_NONE)
		e->rewritten[i->guard] |= CHOICE;
	for (unsigned u = 0; u < i->uses; u++)
		if (use[u] < e->p->reg_count) {
			if (chooses && note && !(e->rewritten[use[u]] & MADE))
				e->steers[index] = (uint8_t)(STEERS + 1 + u);
			e->rewritten[use[u]] |= i->op == IR_SEL && !u ? CHOICE : what;
		}
	if (chooses && note && !e->steers[index])
		e->steers[index] = STEERS;
	return what & PLACE && (i->op == IR_SHRS || i->op == IR_SHRU) &&
	       gw_ir_is_constant(use[1]) && gw_ir_constant(e->p, use[1]) == 1;
}

/* Of the marked loop: what the test of @p block is made of, by the order of the code; whether that
 * is halved. */
static bool trace_loop(struct gw_eval *e, uint32_t block, bool note)
{
	const struct gw_ir_program *p = e->p;
	bool halved = false;
	uint32_t b = block;

	memset(e->rewritten, 0, p->reg_count);
	for (uint32_t n = 0; n < PASSES * p->block_count; n++) {
		const struct gw_ir_block *at = &p->blocks[b];

		if (n == p->block_count)
			e->rewritten[p->blocks[block].test] |= PLACE;
		for (uint32_t k = at->first + at->count; e->mark[b] && k-- > at->first;) {
			const struct gw_ir_insn *i = &p->insns[k];
			const gw_ir_operand def = i->defs ? gw_ir_defs(p, i)[0] : GW_IR_NONE;
			uint8_t what;

			if (def == GW_IR_NONE)
				continue;
			what = e->rewritten[def];
			e->rewritten[def] |= MADE;
			if (b == block && i->guard == GW_IR_NONE)
				e->rewritten[def] = MADE;
			halved |= trace(e, k, what, note);
		}
		b = b ? b - 1 : p->block_count - 1;
	}
	return halved;
}

void gw_eval_find_steers(struct gw_eval *e)
{
	const struct gw_ir_program *p = e->p;

	if ((uint64_t)p->loop_count * p->insn_count > LARGE || !find_writers(e))
		return;
	e->steers = gw_arena_array(e->arena, p->insn_count, 1);
	for (uint32_t l = 0; e->steers && l < p->loop_count; l++) {
		if (p->loops[l].blocks > SEARCH_BLOCKS)
			continue;
		for (uint32_t b = 0; b < p->block_count; b++)
			e->mark[b] = gw_eval_in_loop(e, b, l);
		for (uint32_t b = 0; b < p->block_count; b++)
			if (e->mark[b] && p->blocks[b].end == IR_END_BRANCH &&
			    p->blocks[b].test < p->reg_count && trace_loop(e, b, false))
				trace_loop(e, b, true);
	}
}

void gw_eval_steer(struct gw_eval *e, uint32_t index, uint32_t mask,
		   const struct gw_value *const in[GW_SOURCES_MAX])
{
	/* Where the warp lies in the grid, as a fraction of 32 bits: so does what it looks for. */
	const uint64_t place = (((uint64_t)e->block.x << 5 | e->warp) << 27) /
			       e->launch->config.grid.x,
		       random = (e->steps_left + place) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	const unsigned turn = gw_eval_round(e);
	const struct gw_value *sought =
		e->steers[index] > STEERS ? in[e->steers[index] - STEERS - 1] : NULL;
	struct gw_value *x = &e->result;
	bool any = false;

	gw_value_spread(x);
	for (unsigned i = 0; i < GW_LANES; i++) {
		if (!(mask >> i & 1) || !x->base[i])
			continue;
		x->base[i] = GW_BASE_NONE;
		x->v[i] = (sought && sought->base[gw_at(sought, i)] ? random >> i
								    : place >> (32 - turn)) &
			  1;
		any = true;
	}
	if (any) {
		memset(&x->form, 0, sizeof(x->form));
		gw_domain_pin(&e->domain, UINT8_MAX);
	}
}
