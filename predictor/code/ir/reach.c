#include "predictor/code/ir/reach.h"

enum { WAITS = 0x80 }; /* a mark of our own: it is in the queue */

static bool is_reg(gw_ir_operand o)
{
	return o != GW_IR_NONE && !gw_ir_is_constant(o);
}

static uint32_t def_slot(const struct gw_ir_insn *insn, unsigned d)
{
	return insn->first + d;
}

/* ---- what is where ---- */

static void fill(uint32_t *v, size_t n, uint32_t value)
{
	for (size_t i = 0; i < n; i++)
		v[i] = value;
}

/* Registers with one definition need no look at paths. */
static void number_places(struct gw_reach *r)
{
	const struct gw_ir_program *p = r->p;

	fill(r->only, p->reg_count, GW_IR_NONE);
	fill(r->place, p->reg_count, GW_IR_NONE);
	for (uint32_t i = 0; i < p->insn_count; i++)
		for (unsigned d = 0; d < p->insns[i].defs; d++) {
			gw_ir_operand o = gw_ir_defs(p, &p->insns[i])[d];

			if (!is_reg(o))
				continue;
			r->owner[def_slot(&p->insns[i], d)] = i;
			if (r->place[o] != GW_IR_NONE)
				continue;
			if (r->only[o] == GW_IR_NONE) {
				r->only[o] = def_slot(&p->insns[i], d);
			} else {
				r->only[o] = GW_IR_NONE;
				r->place[o] = r->places++;
			}
		}
}

static uint32_t seen(const struct gw_reach *r, const uint32_t *row, gw_ir_operand o)
{
	return is_reg(o) && r->place[o] != GW_IR_NONE ? row[r->place[o]] : GW_IR_NONE;
}

static void walk_block(struct gw_reach *r, uint32_t b)
{
	const struct gw_ir_program *p = r->p;
	const struct gw_ir_block *block = &p->blocks[b];
	uint32_t *row = r->last + (size_t)b * r->places;

	fill(row, r->places, GW_IR_NONE);
	for (uint32_t i = block->first; i < block->first + block->count; i++) {
		const struct gw_ir_insn *insn = &p->insns[i];

		r->block[i] = b;
		r->before_guard[i] = seen(r, row, insn->guard);
		for (unsigned u = insn->defs; u < insn->defs + 0u + insn->uses; u++)
			r->before[insn->first + u] = seen(r, row, p->operands[insn->first + u]);
		for (unsigned d = 0; d < insn->defs; d++) {
			gw_ir_operand o = p->operands[insn->first + d];

			if (!is_reg(o) || r->place[o] == GW_IR_NONE)
				continue;
			r->before[def_slot(insn, d)] = row[r->place[o]];
			row[r->place[o]] = def_slot(insn, d);
		}
	}
	r->before_test[b] = seen(r, row, block->test);
}

static void list_preds(struct gw_reach *r)
{
	const struct gw_ir_program *p = r->p;

	for (uint32_t b = 0; b < p->block_count; b++)
		for (uint32_t s = 0; s < p->blocks[b].succ_count; s++)
			r->pred_first[p->succs[p->blocks[b].succ_first + s] + 2]++;
	for (uint32_t b = 1; b < p->block_count + 2; b++)
		r->pred_first[b] += r->pred_first[b - 1];
	for (uint32_t b = 0; b < p->block_count; b++)
		for (uint32_t s = 0; s < p->blocks[b].succ_count; s++)
			r->preds[r->pred_first[p->succs[p->blocks[b].succ_first + s] + 1]++] = b;
}

bool gw_reach_init(struct gw_reach *r, const struct gw_ir_program *p, struct gw_arena *arena)
{
	size_t cells;

	r->p = p;
	r->places = r->slot_count = r->entry_count = 0;
	r->marks = gw_arena_array(arena, p->operand_count + 1u, 1);
	r->before = gw_arena_array(arena, p->operand_count + 1u, sizeof(uint32_t));
	r->owner = gw_arena_array(arena, p->operand_count + 1u, sizeof(uint32_t));
	r->slots = gw_arena_array(arena, p->operand_count + 1u, sizeof(uint32_t));
	r->before_guard = gw_arena_array(arena, p->insn_count + 1u, sizeof(uint32_t));
	r->block = gw_arena_array(arena, p->insn_count + 1u, sizeof(uint32_t));
	r->before_test = gw_arena_array(arena, p->block_count + 1u, sizeof(uint32_t));
	r->only = gw_arena_array(arena, p->reg_count + 1u, sizeof(uint32_t));
	r->place = gw_arena_array(arena, p->reg_count + 1u, sizeof(uint32_t));
	r->pred_first = gw_arena_array(arena, p->block_count + 2u, sizeof(uint32_t));
	r->preds = gw_arena_array(arena, p->succ_count + 1u, sizeof(uint32_t));
	if (!r->marks || !r->before || !r->owner || !r->slots || !r->before_guard || !r->block ||
	    !r->before_test || !r->only || !r->place || !r->pred_first || !r->preds)
		return false;
	number_places(r);
	cells = (size_t)p->block_count * r->places + 1;
	if (cells > UINT32_MAX)
		return false;
	r->last = gw_arena_array(arena, cells, sizeof(uint32_t));
	r->entry = gw_arena_array(arena, cells, 1);
	r->entries = gw_arena_array(arena, cells, sizeof(uint32_t));
	if (!r->last || !r->entry || !r->entries)
		return false;
	for (uint32_t b = 0; b < p->block_count; b++)
		walk_block(r, b);
	list_preds(r);
	return true;
}

/* ---- spreading ---- */

static void raise_slot(struct gw_reach *r, uint32_t slot, unsigned marks)
{
	if ((r->marks[slot] & marks) == marks)
		return;
	if (!(r->marks[slot] & WAITS))
		r->slots[r->slot_count++] = slot;
	r->marks[slot] |= (uint8_t)(marks | WAITS);
}

static void raise_entry(struct gw_reach *r, uint32_t cell, unsigned marks)
{
	if ((r->entry[cell] & marks) == marks)
		return;
	if (!(r->entry[cell] & WAITS))
		r->entries[r->entry_count++] = cell;
	r->entry[cell] |= (uint8_t)(marks | WAITS);
}

/* From definition @p slot of a block back: one under a guard leaves those before it in sight. */
static void see(struct gw_reach *r, uint32_t block, uint32_t place, uint32_t slot, unsigned marks)
{
	while (slot != GW_IR_NONE) {
		raise_slot(r, slot, marks);
		if (r->p->insns[r->owner[slot]].guard == GW_IR_NONE)
			return;
		slot = r->before[slot];
	}
	raise_entry(r, block * r->places + place, marks);
}

static void look(struct gw_reach *r, uint32_t block, gw_ir_operand o, uint32_t before,
		 unsigned marks)
{
	if (!marks || !is_reg(o))
		return;
	if (r->place[o] != GW_IR_NONE)
		see(r, block, r->place[o], before, marks);
	else if (r->only[o] != GW_IR_NONE)
		raise_slot(r, r->only[o], marks);
}

void gw_reach_use(struct gw_reach *r, const struct gw_ir_insn *insn, unsigned index, unsigned marks)
{
	uint32_t slot = insn->first + insn->defs + index;

	if (index < insn->uses)
		look(r, r->block[insn - r->p->insns], r->p->operands[slot], r->before[slot], marks);
}

void gw_reach_guard(struct gw_reach *r, const struct gw_ir_insn *insn, unsigned marks)
{
	size_t i = (size_t)(insn - r->p->insns);

	look(r, r->block[i], insn->guard, r->before_guard[i], marks);
}

void gw_reach_test(struct gw_reach *r, uint32_t block, unsigned marks)
{
	look(r, block, r->p->blocks[block].test, r->before_test[block], marks);
}

static void enter(struct gw_reach *r, uint32_t cell)
{
	uint32_t block = cell / r->places, place = cell % r->places;
	unsigned marks;

	r->entry[cell] &= (uint8_t)~WAITS;
	marks = r->entry[cell];
	for (uint32_t i = r->pred_first[block]; i < r->pred_first[block + 1]; i++)
		see(r, r->preds[i], place, r->last[(size_t)r->preds[i] * r->places + place], marks);
}

void gw_reach_run(struct gw_reach *r)
{
	while (r->slot_count || r->entry_count) {
		uint32_t slot;

		if (r->entry_count) {
			enter(r, r->entries[--r->entry_count]);
			continue;
		}
		slot = r->slots[--r->slot_count];
		r->marks[slot] &= (uint8_t)~WAITS;
		r->rule(r, &r->p->insns[r->owner[slot]], slot, r->marks[slot]);
	}
}
