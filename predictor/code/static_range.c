/* SPDX-License-Identifier: Apache-2.0 */
/* Counts that memory contents decide: their least and their most. */
#include "predictor/code/static_work.h"

#include "predictor/models/inputs.h"

#include <math.h>
#include <string.h>

static bool is_range(const struct gw_eval_count *c)
{
	return c->least != c->most;
}

/* How much of it data decide; below, the rows know enough of its addresses. */
static const double ADDRESSES_OPEN = 0.05;

static bool is_open(const struct gw_gather_access *a)
{
	return a->uncounted > ADDRESSES_OPEN * (a->uncounted + a->requests);
}

bool gw_static_is_decided(const struct gw_static_in *in)
{
	const struct gw_gather *g = in->gather;

	for (uint32_t b = 0; b < in->program->block_count; b++)
		if (is_range(&g->report.blocks[b].runs))
			return false;
	for (uint32_t i = 0; i < g->count; i++)
		if (is_range(&g->access[i].runs) || is_open(&g->access[i]))
			return false;
	for (uint32_t i = 0; i < g->copies.count; i++)
		if (is_range(&g->copies.copy[i].runs))
			return false;
	return g->complete && g->report.complete && g->report.coverage != GW_COVER_NONE;
}

/* Instruction @p insn of the program acts on memory. */
static bool is_access(const struct gw_ir_insn *insn)
{
	return insn->op == IR_LD || insn->op == IR_ST || insn->op == IR_ATOM || insn->op == IR_RED;
}

/* The first block of the function that block @p b of the program belongs to; 0 where there is none.
 */
static uint32_t function_of(const struct gw_ir_program *p, const struct gw_cfg *cfg, uint32_t b)
{
	uint32_t tag = p->blocks[b].tag;

	return tag < cfg->block_count && cfg->blocks[tag].entry < cfg->block_count
	               ? cfg->blocks[tag].entry
	               : 0;
}

/*
 * The functions of @p cfg, by their first blocks, that do more than compute straight on: all but
 * the rare cases of divisions and roots, which compilers put into functions of their own, and which
 * are taken as not called (sass/course.c).
 */
static void mark_acting(const struct gw_ir_program *p, const struct gw_cfg *cfg, uint8_t *acting)
{
	acting[0] = 1;
	for (uint32_t b = 0; b < p->block_count; b++) {
		const struct gw_ir_block *block = &p->blocks[b];
		uint8_t *acts = &acting[function_of(p, cfg, b)];

		for (uint32_t i = 0; i < block->count; i++)
			*acts |= is_access(&p->insns[block->first + i]);
		if (block->loop != GW_IR_NONE && p->loops[block->loop].header == b)
			*acts = 1;
	}
}

/* False where there is no such end. */
static bool fix(struct gw_eval_count *c, bool most)
{
	*c = most ? (struct gw_eval_count){c->most, c->most}
	          : (struct gw_eval_count){c->least, c->least};
	return isfinite(c->least);
}

static bool fix_block(struct gw_eval_block *b, bool most)
{
	bool finite = fix(&b->runs, most);

	return fix(&b->divergent, most) && finite;
}

static void *copy(struct gw_arena *arena, const void *from, size_t count, size_t size)
{
	void *to = gw_arena_array(arena, count, size);

	if (to && count)
		memcpy(to, from, count * size);
	return to;
}

/* Every lane asks for a sector, and a bank's word, of its own; all lanes of an atomic meet. */
static void scatter(struct gw_gather_access *a)
{
	a->coalescing = (struct gw_coalescing){.bytes = a->coalescing.bytes,
	                                       .requests = 1,
	                                       .lanes = GW_REQUEST_LANES,
	                                       .coalesced = 1.0 / GW_REQUEST_LANES,
	                                       .sectors = GW_REQUEST_LANES,
	                                       .lines = GW_REQUEST_LANES,
	                                       .least_sectors = GW_REQUEST_LANES,
	                                       .most_sectors = GW_REQUEST_LANES};
	a->requests = 1;
	a->uncounted = 0;
	a->lanes = a->wavefronts = a->sectors = GW_REQUEST_LANES;
	a->low = a->high = 0;
}

void gw_static_open_traffic(const struct gw_gather *from, bool most, struct gw_work *work)
{
	double loads = gw_work_value(work, GW_WORK_global_load_sectors) * GW_SECTOR_BYTES;
	double stores = gw_work_value(work, GW_WORK_global_store_sectors) * GW_SECTOR_BYTES;
	bool open = false;

	for (uint32_t i = 0; i < from->count; i++)
		open |= from->access[i].space == IR_SPACE_GLOBAL && is_open(&from->access[i]);
	if (!open)
		return;
	gw_static_set(work, GW_WORK_l1_hit_rate, most ? 0 : 1, 1);
	gw_static_set(work, GW_WORK_l2_hit_rate, most ? 0 : 1, 1);
	if (!most)
		return;
	gw_static_set(work, GW_WORK_l2_read_bytes, loads, 1);
	gw_static_set(work, GW_WORK_l2_write_bytes, stores, 1);
	gw_static_set(work, GW_WORK_dram_read_bytes, loads, 1);
	gw_static_set(work, GW_WORK_dram_write_bytes, stores, 1);
}

bool gw_static_end(const struct gw_static_in *in, const struct gw_cfg *cfg, bool most,
                   struct gw_arena *arena, struct gw_gather *out)
{
	const struct gw_ir_program *p = in->program;
	uint8_t *acting = gw_arena_array(arena, cfg ? cfg->block_count : 1, sizeof(*acting));
	struct gw_eval_report *r = &out->report;
	bool finite = true;

	*out = *in->gather;
	r->blocks = copy(arena, r->blocks, p->block_count, sizeof(*r->blocks));
	r->longest = copy(arena, r->longest, p->block_count, sizeof(*r->longest));
	r->insns = copy(arena, r->insns, p->insn_count, sizeof(*r->insns));
	out->access = copy(arena, out->access, out->count, sizeof(*out->access));
	out->copies.copy =
	        copy(arena, out->copies.copy, out->copies.count, sizeof(*out->copies.copy));
	if (!acting || !r->blocks || !r->longest || !r->insns || !out->access || !out->copies.copy)
		return false;
	if (cfg)
		mark_acting(p, cfg, acting);
	for (uint32_t b = 0; b < p->block_count; b++) {
		bool up = most && (!cfg || acting[function_of(p, cfg, b)]);

		finite &= fix_block(&r->blocks[b], up);
		fix_block(&r->longest[b], up);
	}
	for (uint32_t i = 0; i < p->insn_count; i++)
		fix(&r->insns[i], most);
	for (uint32_t i = 0; i < out->count; i++) {
		finite &= fix(&out->access[i].runs, most);
		if (most && is_open(&out->access[i]))
			scatter(&out->access[i]);
	}
	for (uint32_t i = 0; i < out->copies.count; i++)
		finite &= fix(&out->copies.copy[i].runs, most);
	fix(&r->branches, most);
	fix(&r->divergent, most);
	return finite;
}
