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
/* Confidence in what is likely (static_work.h). */
static const double COUNTS_GUESSED = 0.4, ADDRESSES_GUESSED = 0.1;
static const double MEET_MORE = 8;     /* atomics on one word, over those on a word on average */
static const uint64_t TABLE = 1 << 18; /* bytes of a small table */
/* Of a warp's guards those that let a lane pass, and how many more it may be. */
static const double RARE = 1.0 / 32, RARE_MORE = 8;
static const double BANKS_MEET = 3.5; /* wavefronts of a request for words at random */
/* Bytes of constants for which their rate was measured: the cache nearest to the SM holds them. */
static const double CONSTANTS_NEAR = 4096;

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
 * are taken as not called (sass/critical_path.c).
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

/* Of a range without a most, what is likely over and below its ends; of others, a share. */
static const double ROUNDS_LOW = 8, ROUNDS_HIGH = 1024, SHARE_LOW = 0.15;

static double count_at(const struct gw_eval_count *c, enum gw_static_end end)
{
	bool ends = isfinite(c->most);

	switch (end) {
	case GW_STATIC_LEAST:
		return c->least;
	case GW_STATIC_MOST:
		return c->most;
	case GW_STATIC_LOW:
		return ends ? c->least + SHARE_LOW * (c->most - c->least)
			    : fmax(c->least, c->likely / ROUNDS_LOW);
	case GW_STATIC_HIGH:
		return ends ? c->most : fmax(c->least, c->likely * ROUNDS_HIGH);
	default:
		return fmin(fmax(c->likely, c->least), c->most);
	}
}

/* False where there is no such end. */
static bool fix(struct gw_eval_count *c, enum gw_static_end end)
{
	double value = count_at(c, end);

	*c = (struct gw_eval_count){value, value, value};
	return isfinite(value);
}

static bool fix_block(struct gw_eval_block *b, enum gw_static_end end)
{
	bool finite = fix(&b->runs, end);

	return fix(&b->divergent, end) && finite;
}

/* Sectors of a request by @p apart lanes side by side, and by lanes that each have one of their
 * own.
 */
static double sectors_at(double apart, double bytes, enum gw_static_end end)
{
	const double together = fmin(fmax(ceil(apart * bytes / GW_SECTOR_BYTES), 1), apart);

	switch (end) {
	case GW_STATIC_LEAST:
	case GW_STATIC_LOW:
		return together;
	case GW_STATIC_LIKELY:
		return sqrt(together * apart);
	default:
		return apart;
	}
}

/* Of @p words those that @p lanes lanes ask for, which take any of them. */
static double distinct_words(double words, double lanes)
{
	return words * (1 - pow(1 - 1 / words, lanes));
}

/* So many sectors a request, and words of as many banks; all lanes of an atomic meet at most. */
static void scatter(const struct gw_static_in *in, struct gw_gather_access *a,
		    enum gw_static_end end)
{
	const struct gw_ir_insn *insn = &in->program->insns[a->insn];
	double lanes = gw_gather_lanes(a);
	double sectors = sectors_at(lanes, (double)insn->width * insn->elements, end);
	double lines = sectors;

	if (end == GW_STATIC_LOW || end == GW_STATIC_LEAST)
		lines = ceil(sectors * GW_SECTOR_BYTES / GW_LINE_BYTES);
	a->coalescing = (struct gw_coalescing){.bytes = a->coalescing.bytes,
					       .requests = 1,
					       .lanes = lanes,
					       .coalesced = 1 / sectors,
					       .sectors = sectors,
					       .lines = lines,
					       .least_sectors = sectors,
					       .most_sectors = sectors};
	a->requests = 1;
	a->uncounted = 0;
	a->lanes = lanes;
	a->wavefronts = a->sectors = sectors;
	/* Lanes at random meet in a bank three or four at a time (the most of 32 in 32). */
	if (a->space == IR_SPACE_SHARED && end == GW_STATIC_LIKELY)
		a->wavefronts = fmin(BANKS_MEET, lanes);
	if ((a->space == IR_SPACE_SHARED || a->space == IR_SPACE_CONST) && end == GW_STATIC_LOW)
		a->wavefronts = 1;
	if (a->space == IR_SPACE_CONST && end == GW_STATIC_LIKELY)
		a->wavefronts = distinct_words(in->launch->kernel->constant / 4.0, lanes);
	a->low = a->high = 0;
}

/*
 * Atomic operations on words up to @p extent are spread over them evenly, or, where they are
 * not, as many more meet on one word as MEET_MORE says. What is counted in a small table mostly has
 * a mode: all may meet. So may they where it is not known how many words there are.
 */
static void meet(struct gw_gather_access *a, double extent, enum gw_static_end end)
{
	bool high = end == GW_STATIC_HIGH;

	a->wavefronts = 1;
	if (end == GW_STATIC_LEAST) /* none do */
		a->high = UINT64_MAX;
	else if (extent > (double)TABLE)
		a->high = (uint64_t)(high ? extent / MEET_MORE : extent);
	else if (!high) /* else all may meet */
		a->high = extent >= 0 ? (uint64_t)extent : TABLE;
}

static bool holds(const struct gw_static_memory *m, uint64_t address)
{
	return address >= m->begin && address < m->end;
}

static bool touches(const struct gw_gather_access *a, const struct gw_static_memory *m)
{
	return a->space == IR_SPACE_GLOBAL && a->requests > 0 && !is_open(a) && a->low <= a->high &&
	       holds(m, a->low);
}

double gw_static_extent(const struct gw_static_in *in, bool loads)
{
	const struct gw_gather *g = in->gather;
	double known = 0, others = 0;

	for (uint32_t m = 0; m < in->memory_count; m++) {
		double size = (double)(in->memory[m].end - in->memory[m].begin);
		bool loaded = false, touched = false;

		for (uint32_t i = 0; i < g->count; i++) {
			bool here = touches(&g->access[i], &in->memory[m]);

			touched |= here;
			loaded |= here && !g->access[i].store;
		}
		known += loaded ? size : 0;
		others += touched ? 0 : size;
	}
	return loads ? known : others;
}

/** Traffic of loads and stores that are open, bytes asked for by a grid. */
struct open_bytes {
	double loads, all_loads, stores;
};

static struct open_bytes open_bytes(const struct gw_static_in *in, enum gw_static_end end)
{
	const struct gw_gather *from = in->gather;
	struct open_bytes o = {0};

	for (uint32_t i = 0; i < from->count; i++) {
		const struct gw_gather_access *a = &from->access[i];
		struct gw_gather_access at = *a;
		double bytes;

		if (a->space != IR_SPACE_GLOBAL || a->atomic)
			continue;
		if (is_open(a))
			scatter(in, &at, end);
		bytes = count_at(&a->runs, end) * GW_SECTOR_BYTES *
			gw_either(gw_coalescing_sectors(&at.coalescing), 0);
		if (a->store && is_open(a))
			o.stores += bytes;
		else if (!a->store) {
			o.all_loads += bytes;
			o.loads += is_open(a) ? bytes : 0;
		}
	}
	return o;
}

static void change(struct gw_work *work, enum gw_work_field f, double value)
{
	struct gw_quantity *q = &work->q[f];

	if (!isfinite(value))
		return;
	q->value = value;
	if (q->source == GW_SOURCE_NONE)
		q->confidence = (float)ADDRESSES_GUESSED;
	q->source = GW_SOURCE_STATIC;
}

/*
 * Of @p asked bytes at random places within @p extent: each place comes from device memory once,
 * and again as far as L2 does not hold all.
 */
static double from_memory(double asked, double extent, double l2_size)
{
	double once = extent > 0 ? fmin(asked, extent) : asked;
	double lost = extent > l2_size ? 1 - l2_size / extent : 0;

	return once + (asked - once) * lost;
}

static void likely_traffic(const struct gw_static_in *in, enum gw_static_end end,
			   struct gw_work *work)
{
	struct open_bytes o = open_bytes(in, end);
	double extent = gw_static_extent(in, false), places = extent;
	double l1_size = gw_param_value(in->device, GW_PARAM_l1_size);
	double l2_size = gw_param_value(in->device, GW_PARAM_l2_size);
	double known = gw_either(gw_work_value(work, GW_WORK_l1_hit_rate), 0);
	double hits = extent > 0 && extent < l1_size ? 1 : 0, missed, dram, read, known_read;

	if (!(o.loads + o.stores > 0))
		return;
	if (end == GW_STATIC_HIGH)
		hits = 0;
	missed = o.loads * (1 - hits);
	read = (o.all_loads - o.loads) * (1 - known) + missed;
	known_read = gw_either(gw_work_value(work, GW_WORK_dram_read_bytes), 0);
	if (o.loads > 0 && !(extent > 0)) { /* then they lie where more is loaded */
		places = gw_static_extent(in, true);
		missed += known_read;
		known_read = 0;
	}
	dram = known_read + from_memory(missed, places, l2_size);
	if (o.all_loads > 0) {
		change(work, GW_WORK_l1_hit_rate, fmax(1 - read / o.all_loads, 0));
		change(work, GW_WORK_l2_read_bytes, read);
		change(work, GW_WORK_dram_read_bytes, fmin(dram, read));
		if (read > 0)
			change(work, GW_WORK_l2_hit_rate, fmax(1 - dram / read, 0));
		gw_static_keep(in, known_read + (places > 0 ? places : missed), work);
	}
	if (o.stores > 0)
		change(work, GW_WORK_dram_write_bytes,
		       gw_either(gw_work_value(work, GW_WORK_dram_write_bytes), 0) +
			       fmax(from_memory(o.stores, extent, l2_size) - l2_size, 0));
}

/* Cold: to be small. */
__attribute__((cold)) void gw_static_open_traffic(const struct gw_static_in *in,
						  enum gw_static_end end, struct gw_work *work)
{
	const struct gw_gather *from = in->gather;
	double loads = gw_work_value(work, GW_WORK_global_load_sectors) * GW_SECTOR_BYTES;
	double stores = gw_work_value(work, GW_WORK_global_store_sectors) * GW_SECTOR_BYTES;
	bool most = end == GW_STATIC_MOST, open = false;

	for (uint32_t i = 0; i < from->count; i++)
		open |= from->access[i].space == IR_SPACE_GLOBAL && is_open(&from->access[i]);
	if (!open)
		return;
	if (end != GW_STATIC_LEAST && !most) {
		likely_traffic(in, end, work);
		return;
	}
	gw_static_set(work, GW_WORK_l1_hit_rate, most ? 0 : 1, 1);
	gw_static_set(work, GW_WORK_l2_hit_rate, most ? 0 : 1, 1);
	if (!most)
		return;
	gw_static_set(work, GW_WORK_l2_read_bytes, loads, 1);
	gw_static_set(work, GW_WORK_l2_write_bytes, stores, 1);
	gw_static_set(work, GW_WORK_dram_read_bytes, loads, 1);
	gw_static_set(work, GW_WORK_dram_write_bytes, stores, 1);
}

/* Places of its own for what is changed; false: no room. */
static bool copy_ranges(const struct gw_ir_program *p, struct gw_arena *arena,
			struct gw_gather *out)
{
	struct gw_eval_report *r = &out->report;

	r->blocks = gw_arena_copy(arena, r->blocks, p->block_count * sizeof(*r->blocks));
	r->longest = gw_arena_copy(arena, r->longest, p->block_count * sizeof(*r->longest));
	r->insns = gw_arena_copy(arena, r->insns, p->insn_count * sizeof(*r->insns));
	out->access = gw_arena_copy(arena, out->access, out->count * sizeof(*out->access));
	out->copies.copy = gw_arena_copy(arena, out->copies.copy,
					 out->copies.count * sizeof(*out->copies.copy));
	return r->blocks && r->longest && r->insns && out->access && out->copies.copy;
}

/*
 * Where block @p b lies in its range. Functions that are called where it is not known whether they
 * are hold the rare cases: of a division or root always, of others so it is likely.
 */
static enum gw_static_end end_of(const struct gw_ir_program *p, const struct gw_cfg *cfg,
				 const uint8_t *acting, uint32_t b, enum gw_static_end end)
{
	uint32_t function = cfg ? function_of(p, cfg, b) : 0;

	if (!cfg || function == 0)
		return end;
	return acting[function] && (end == GW_STATIC_HIGH || end == GW_STATIC_MOST)
		       ? end
		       : GW_STATIC_LEAST;
}

/* A counter behind a guard that is not known, of which nobody wants the number at once, counts what
 * is rare, or else it is kept by block. */
static bool counts_rare(const struct gw_gather_access *a, const struct gw_ir_insn *insn)
{
	return insn->op == IR_RED && a->space == IR_SPACE_GLOBAL && a->requests > 0 &&
	       a->maybe >= a->requests && a->low == a->high;
}

static struct gw_eval_count rare(const struct gw_eval_count *c, enum gw_static_end end)
{
	double likely = fmax(c->least, fmin(c->likely * RARE, c->most));
	double value = end == GW_STATIC_LOW    ? c->least
		       : end == GW_STATIC_HIGH ? fmin(c->most, likely * RARE_MORE)
					       : likely;

	return (struct gw_eval_count){value, value, value};
}

static bool near_constants(const struct gw_static_in *in)
{
	const uint32_t bytes = in->launch->kernel->constant;

	return bytes > 4 && bytes <= CONSTANTS_NEAR;
}

/* Accesses that the models know too little of where data decide their addresses: what a warp's
 * lanes take of local memory, many constants and atomics in shared memory depends on how they meet.
 */
static bool is_opaque(const struct gw_static_in *in, const struct gw_gather_access *a)
{
	return is_open(a) &&
	       (a->space == IR_SPACE_LOCAL || (a->space == IR_SPACE_SHARED && a->atomic) ||
		(a->space == IR_SPACE_CONST && !near_constants(in)));
}

bool gw_static_at(const struct gw_static_in *in, const struct gw_cfg *cfg, enum gw_static_end end,
		  struct gw_arena *arena, struct gw_gather *out)
{
	const struct gw_ir_program *p = in->program;
	uint8_t *acting = gw_arena_array(arena, cfg ? cfg->block_count : 1, sizeof(*acting));
	struct gw_eval_report *r = &out->report;
	bool finite = true, between = end != GW_STATIC_LEAST && end != GW_STATIC_MOST;

	*out = *in->gather;
	if (!acting || !copy_ranges(p, arena, out))
		return false;
	if (cfg)
		mark_acting(p, cfg, acting);
	for (uint32_t b = 0; b < p->block_count; b++) {
		enum gw_static_end at = end_of(p, cfg, acting, b, end);

		if (!(r->blocks[b].runs.most > 0)) /* nothing of it is open */
			continue;
		finite &= fix_block(&r->blocks[b], at);
		fix_block(&r->longest[b], at);
		for (uint32_t i = 0; i < p->blocks[b].count; i++) {
			uint32_t insn = p->blocks[b].first + i;

			fix(&r->insns[insn], at);
		}
	}
	for (uint32_t i = 0; i < out->count; i++) {
		struct gw_gather_access *a = &out->access[i];
		const struct gw_ir_insn *insn = &p->insns[a->insn];

		a->runs = r->insns[a->insn];
		finite &= isfinite(a->runs.least) && !(between && is_opaque(in, a));
		if (between && counts_rare(a, insn))
			a->runs = rare(&in->gather->access[i].runs, end);
		const bool atomic = a->atomic && a->space == IR_SPACE_GLOBAL;

		if ((end == GW_STATIC_LEAST && !atomic) || !is_open(a))
			continue;
		scatter(in, a, end);
		if (end != GW_STATIC_MOST && atomic)
			meet(a, gw_static_extent(in, false) - insn->width, end);
	}
	for (uint32_t i = 0; i < out->copies.count; i++)
		finite &= fix(&out->copies.copy[i].runs, end);
	fix(&r->branches, end);
	fix(&r->divergent, end);
	out->counted_alone = between;
	if (between)
		r->sure *= COUNTS_GUESSED;
	return finite;
}
