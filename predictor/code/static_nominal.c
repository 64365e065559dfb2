/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of loops that data end, and the critical path of a warp where data decide how often its
 * blocks run. */
#include "predictor/code/ir/reach.h"
#include "predictor/code/static_work.h"
#include "predictor/models/inputs.h"

#include <math.h>
#include <string.h>

enum {
	ROUNDS = 8,    /* of a loop */
	DEPTH_MOST = 6 /* nests that are distinguished */
};
static const double nominal = 0.3; /* confidence */
/* Rounds of a warp over the mean of its lanes' rows; how far these, and steps of a halving, are
 * open. */
static const double LONGEST = 2, HALVINGS = 1.25;

double gw_static_nominal_block(const struct gw_ir_program *program, uint32_t block)
{
	uint32_t loop = program->blocks[block].loop;
	uint32_t depth = loop == GW_IR_NONE ? 0 : program->loops[loop].depth;
	double runs = 1;

	for (uint32_t i = 0; i < depth && i < DEPTH_MOST; i++)
		runs *= ROUNDS;
	return runs;
}

double gw_static_nominal_insn(const struct gw_ir_program *program, uint32_t insn)
{
	for (uint32_t b = 0; b < program->block_count; b++)
		if (insn - program->blocks[b].first < program->blocks[b].count)
			return gw_static_nominal_block(program, b);
	return 0;
}

bool gw_static_nominal(const struct gw_static_in *in, const struct gw_cfg *cfg,
                       const struct gw_schedule *schedule, struct gw_arena *arena,
                       struct gw_work *work)
{
	double *runs = gw_arena_array(arena, cfg->block_count, sizeof(*runs)), insts = 0;
	struct gw_critical_path course;

	if (!runs)
		return false;
	for (uint32_t b = 0; b < in->program->block_count; b++) {
		uint32_t tag = in->program->blocks[b].tag;

		/* Called functions are the rare cases of divisions and roots (sass/course.c). */
		if (tag < cfg->block_count && cfg->blocks[tag].entry == 0)
			runs[tag] += gw_static_nominal_block(in->program, b);
	}
	for (uint32_t b = 0; b < cfg->block_count; b++)
		insts += runs[b] * cfg->blocks[b].count;
	course = gw_schedule_critical_path(schedule, cfg, runs);
	if (!(insts > 0) || isnan(course.fixed))
		return true;
	gw_static_set(work, GW_WORK_warp_insts, insts, nominal);
	gw_static_set(work, GW_WORK_warp_fixed_cycles, course.fixed, nominal);
	gw_static_set(work, GW_WORK_warp_fixed_chain, course.chain, nominal);
	return true;
}

/* What an address is made from: directly, behind a load, and by what only decides. */
enum { DIRECT = 1, BEHIND = 2, DECIDES = 4 };
enum { QUESTIONS_MOST = 64, LOADS_MOST = 8, SCRATCH = 4 << 20, POOL = 2 << 20 /* bytes */ };

/* A question: where the address of one access comes from. */
struct origin {
	const struct gw_static_in *in;
	uint32_t loop;         /* the access's */
	uint32_t bound;        /* a load before the loop that it is made from; GW_IR_NONE: none */
	bool lanes, far_lanes; /* made from the thread's index; that, or behind a load */
	bool chases;           /* made from what the loop loads */
	bool halves;           /* made from what is halved in the loop */
	bool drawn;            /* what decides in the loop was loaded before */
	bool several;          /* pointers into more than one allocation, or an atomic's result */
	uint32_t loads[LOADS_MOST], load_count; /* it is made from directly */
	const struct gw_static_memory *memory;  /* that the pointer leads into; NULL: not known */
};

static bool within(const struct gw_ir_program *p, uint32_t block, uint32_t loop)
{
	uint32_t at = p->blocks[block].loop;

	while (at != GW_IR_NONE && at != loop)
		at = p->loops[at].parent;
	return at == loop;
}

/* The argument at @p offset; 0: none is there. */
static uint64_t word_at(const struct gw_static_in *in, uint64_t offset)
{
	uint64_t word;

	return gw_bytes_get(in->arguments, offset, &word, sizeof(word)) ? word : 0;
}

/* The allocation that the pointer at @p offset of the arguments begins; others that lead into it
 * tell that it is no array. */
static void add_pointer(struct origin *o, uint64_t offset)
{
	const struct gw_static_in *in = o->in;
	uint64_t pointer;

	offset &= ~UINT64_C(7); /* machine code loads its halves */
	pointer = word_at(in, offset);
	for (uint32_t i = 0; i < in->memory_count; i++) {
		const struct gw_static_memory *m = &in->memory[i];

		if (m->begin != pointer || o->memory == m)
			continue;
		o->several |= o->memory != NULL;
		o->memory = m;
		for (uint64_t at = 0; at < in->arguments.size; at += 8)
			o->several |= at != offset && word_at(in, at) >= m->begin &&
			              word_at(in, at) < m->end;
	}
}

static void follow_all(struct gw_reach *r, const struct gw_ir_insn *insn, unsigned marks)
{
	for (unsigned u = 0; u < insn->uses; u++)
		gw_reach_use(r, insn, u, marks);
}

/* The load that instruction @p index gives the value of; in machine code the one before it. */
static uint32_t load_at(const struct gw_ir_program *p, uint32_t index)
{
	uint32_t source = p->insns[index].source;

	if (p->insns[index].op == IR_LD)
		return index;
	while (index-- > 0 && p->insns[index].source == source)
		if (p->insns[index].op == IR_LD || p->insns[index].op == IR_ATOM)
			return index;
	return GW_IR_NONE;
}

static void note_load(struct origin *o, uint32_t index)
{
	for (uint32_t i = 0; i < o->load_count; i++)
		if (o->loads[i] == index)
			return;
	if (o->load_count < LOADS_MOST)
		o->loads[o->load_count++] = index;
}

static void meet_load(struct gw_reach *r, struct origin *o, uint32_t index, unsigned marks)
{
	const struct gw_ir_insn *load = &r->p->insns[index];
	const gw_ir_operand *uses = gw_ir_uses(r->p, load);

	if (load->space == IR_SPACE_PARAM && gw_ir_is_constant(uses[0]) &&
	    gw_ir_is_constant(uses[1])) {
		if (marks & DIRECT)
			add_pointer(o,
			            gw_ir_constant(r->p, uses[0]) + gw_ir_constant(r->p, uses[1]));
		return;
	}
	if (marks & DIRECT) {
		note_load(o, index);
		o->several |= load->op == IR_ATOM;
		if (within(r->p, r->block[index], o->loop))
			o->chases = true;
		else
			o->bound = index;
	}
	o->drawn |= (marks & DECIDES) && !within(r->p, r->block[index], o->loop);
	if (marks & (DIRECT | BEHIND))
		follow_all(r, load, BEHIND);
}

static void follow(struct gw_reach *r, const struct gw_ir_insn *insn, uint32_t slot, uint8_t marks)
{
	struct origin *o = r->arg;
	uint32_t index = r->owner[slot];
	const gw_ir_operand *uses = gw_ir_uses(r->p, insn);

	switch (insn->op) {
	case IR_LD:
	case IR_ATOM:
	case IR_OPAQUE:
		index = load_at(r->p, index);
		if (index != GW_IR_NONE)
			meet_load(r, o, index, marks);
		return;
	case IR_SREG:
		if (insn->aux == IR_SREG_TID_X || insn->aux == IR_SREG_LANEID) {
			o->lanes |= (marks & DIRECT) != 0;
			o->far_lanes |= (marks & (DIRECT | BEHIND)) != 0;
		}
		return;
	case IR_SHRS:
	case IR_SHRU:
		o->halves |= gw_ir_is_constant(uses[1]) && gw_ir_constant(r->p, uses[1]) == 1 &&
		             within(r->p, r->block[index], o->loop);
		break;
	default:
		break;
	}
	if (insn->op == IR_SEL) {
		gw_reach_use(r, insn, 0, DECIDES);
		gw_reach_use(r, insn, 1, marks);
		gw_reach_use(r, insn, 2, marks);
	} else {
		follow_all(r, insn, marks);
	}
	gw_reach_guard(r, insn, DECIDES);
}

static struct origin nothing_known(struct gw_reach *r, const struct gw_static_in *in, uint32_t loop)
{
	const struct gw_ir_program *p = in->program;

	memset(r->marks, 0, p->operand_count);
	memset(r->entry, 0, (size_t)p->block_count * r->places);
	return (struct origin){.in = in, .loop = loop, .bound = GW_IR_NONE};
}

static struct origin ask(struct gw_reach *r, const struct gw_static_in *in, uint32_t load,
                         uint32_t loop)
{
	struct origin o = nothing_known(r, in, loop);

	r->arg = &o;
	gw_reach_use(r, &in->program->insns[load], 0, DIRECT);
	gw_reach_use(r, &in->program->insns[load], 1, DIRECT);
	gw_reach_run(r);
	return o;
}

static bool is_open_load(const struct gw_gather *g, uint32_t insn)
{
	for (uint32_t i = 0; i < g->count; i++)
		if (g->access[i].insn == insn)
			return gw_static_is_open(&g->access[i]);
	return false;
}

/* Whether the loop ends between two places that were loaded: where it begins and where it ends. */
static bool has_two_bounds(struct gw_reach *r, const struct gw_static_in *in, uint32_t loop)
{
	const struct gw_ir_program *p = in->program;
	struct origin o = nothing_known(r, in, loop);
	unsigned bounds = 0;

	r->arg = &o;
	for (uint32_t b = 0; b < p->block_count; b++)
		for (uint32_t s = 0; s < p->blocks[b].succ_count; s++)
			if (within(p, b, loop) &&
			    !within(p, p->succs[p->blocks[b].succ_first + s], loop))
				gw_reach_test(r, b, DIRECT);
	gw_reach_run(r);
	for (uint32_t i = 0; i < o.load_count; i++)
		bounds += !is_open_load(in->gather, o.loads[i]);
	return bounds >= 2;
}

static double bytes_of(const struct gw_static_memory *m)
{
	return (double)(m->end - m->begin);
}

/* Whether it may be a part of a pool, whose arrays are smaller: pools grow by so much. */
static bool is_pool(const struct gw_static_memory *m)
{
	return (m->end - m->begin) % POOL == 0;
}

/** A load in a loop that data end, and what its address is made from. */
struct walk {
	struct origin from;
	uint32_t insn, access; /* the latter: among those gathered */
};

static double width_of(const struct gw_ir_program *p, uint32_t insn)
{
	return (double)p->insns[insn].width * p->insns[insn].elements;
}

/* Bytes of @p w's allocation that a lane takes in a round of its loop; @p most: of the loop beside
 * it that takes the most. */
static double bytes_taken(const struct gw_ir_program *p, const struct walk *walks, uint32_t count,
                          const struct walk *w, double *most)
{
	double own = 0;

	*most = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct origin *of = &walks[i].from;
		double bytes = 0;

		for (uint32_t k = 0; k < count; k++)
			if (walks[k].from.memory == w->from.memory &&
			    walks[k].from.loop == of->loop)
				bytes += width_of(p, walks[k].insn);
		if (of->loop == w->from.loop)
			own = bytes;
		if (p->loops[of->loop].parent == p->loops[w->from.loop].parent)
			*most = fmax(*most, bytes);
	}
	return own;
}

/** What is made of a walk. */
struct found {
	struct gw_static_rounds rounds;
	struct gw_static_walk access;
};

/*
 * Along an array from a place that was loaded before: the array is as long as all rows together,
 * and there are as many of these as there are places. Where each lane has a row of its own, they
 * lie side by side, and the warp goes on with the longest: that of 32 equal ones is the mean, of 32
 * drawn from an exponential distribution it is four times that.
 */
static void along_row(struct gw_reach *r, const struct gw_static_in *in, const struct walk *walks,
                      uint32_t count, const struct walk *w, bool bounded, struct found *out)
{
	const struct gw_ir_program *p = in->program;
	const double lanes = GW_REQUEST_LANES, width = width_of(p, w->insn);
	const uint32_t block = in->launch->config.block.x;
	struct origin row = ask(r, in, w->from.bound, w->from.loop);
	double most, taken = bytes_taken(p, walks, count, w, &most), length, step = 1;
	double sectors = 1, apart = 1, bytes = width;

	if (!row.memory || row.several || row.memory == w->from.memory ||
	    (is_pool(row.memory) && is_pool(w->from.memory)) ||
	    (!bounded && !has_two_bounds(r, in, w->from.loop)))
		return;
	length = bytes_of(w->from.memory) * width_of(p, w->from.bound) / bytes_of(row.memory);
	if (w->from.lanes) {
		step = row.far_lanes ? fmin(lanes, block) : block;
		sectors = lanes * width / GW_SECTOR_BYTES;
		bytes = lanes * width;
	} else if (row.far_lanes) {
		/* As many lanes' rounds in all, however many the warp goes on with. */
		sectors = fmin(fmax(length, width) * lanes / GW_SECTOR_BYTES, lanes) / LONGEST;
		bytes = lanes * width / LONGEST;
		length *= LONGEST;
		apart = LONGEST;
	}
	out->access.sectors = fmax(sectors, 1);
	out->access.low = fmax(sectors * apart, 1);
	out->access.high = fmax(sectors / apart, 1);
	out->access.bytes = bytes;
	out->rounds.likely = length / (step * taken);
	if (most > taken) /* what is left over of rounds that take more at a time */
		out->rounds.likely = fmin(out->rounds.likely, most / taken / 2);
	out->rounds.likely = fmax(out->rounds.likely, 1);
	out->rounds.open = LONGEST;
}

/*
 * A halving search: in its step k there are 2^k places. Keys that were loaded lead the lanes to any
 * of them, others side by side. L1 has those of the first steps, as far as it goes, and the last
 * ones lie in the same sector.
 */
static void by_halves(const struct gw_static_in *in, const struct walk *w, struct found *out)
{
	const double lanes = GW_REQUEST_LANES, bytes = bytes_of(w->from.memory);
	double steps = fmax(log2(bytes / width_of(in->program, w->insn)), 1);
	double far = fmax(log2(bytes / gw_param_value(in->device, GW_PARAM_l1_size)), 0);
	double apart = fmax(steps - log2(lanes), 0), sectors = 1;

	if (w->from.drawn)
		sectors = fmax((lanes * apart + lanes - 1) / steps, 1);
	out->rounds = (struct gw_static_rounds){steps, HALVINGS};
	out->access = (struct gw_static_walk){sectors, sqrt(sectors), sectors,
	                                      sectors * GW_SECTOR_BYTES * fmin(far / steps, 1)};
}

static uint32_t find_walks(struct gw_reach *r, const struct gw_static_in *in, struct walk *walks)
{
	const struct gw_gather *g = in->gather;
	uint32_t count = 0;

	for (uint32_t i = 0; i < g->count && count < QUESTIONS_MOST; i++) {
		const struct gw_gather_access *a = &g->access[i];
		uint32_t loop = in->program->blocks[r->block[a->insn]].loop;

		if (a->space != IR_SPACE_GLOBAL || a->store || loop == GW_IR_NONE ||
		    !g->report.trips[loop].unknown || !gw_static_is_open(a))
			continue;
		walks[count] = (struct walk){ask(r, in, a->insn, loop), a->insn, i};
		count += walks[count].from.memory && !walks[count].from.several;
	}
	return count;
}

static void look(struct gw_reach *r, const struct gw_static_in *in, struct gw_static_walks *out)
{
	struct walk walks[QUESTIONS_MOST + 1];
	uint32_t count = find_walks(r, in, walks);

	for (uint32_t i = 0; i < count; i++) {
		const struct walk *w = &walks[i];
		struct gw_static_rounds *rounds = &out->rounds[w->from.loop];
		struct found found = {{0, 0}, {0, 0, 0, 0}};

		if (w->from.halves)
			by_halves(in, w, &found);
		else if (!w->from.chases && w->from.bound != GW_IR_NONE)
			along_row(r, in, walks, count, w, rounds->likely > 0, &found);
		if (!(found.rounds.likely > 0))
			continue;
		out->access[w->access] = found.access;
		if (!(rounds->likely > 0 && rounds->likely <= found.rounds.likely))
			*rounds = found.rounds;
	}
}

const struct gw_static_walks *gw_static_walks(const struct gw_static_in *in, struct gw_arena *arena)
{
	struct gw_static_walks *out = gw_arena_array(arena, 1, sizeof(*out));
	struct gw_reach r = {.rule = follow};
	struct gw_arena scratch;
	bool any;

	if (!in->memory_count || !in->program->loop_count || !out)
		return NULL;
	out->rounds = gw_arena_array(arena, in->program->loop_count, sizeof(*out->rounds));
	out->access = gw_arena_array(arena, in->gather->count, sizeof(*out->access));
	if (!out->rounds || !out->access)
		return NULL;
	gw_arena_init(&scratch, SCRATCH);
	any = gw_reach_init(&r, in->program, &scratch);
	if (any)
		look(&r, in, out);
	gw_arena_free(&scratch);
	return any ? out : NULL;
}
