/*
 * Which words of the parameters control depends on, and which are strides: what the predicates of
 * branches, of accesses and of barriers are computed from is followed back along the program's
 * paths to the parameters.
 *
 * Pointers are left out: their values locate arrays, and do not decide how much work is done.
 * Compilers do compare them (a loop up to the end of an array), so that it is not enough to look at
 * control. A pointer is what an address is added up from with nothing but additions, both halves of
 * it: the low word reaches the low half of an address, the next word the high half. An index may do
 * the first (bytes), never the second: its high half is its sign.
 *
 * A stride decides nothing, and yet two launches that differ in it alone do different work: other
 * sectors, other banks. It is what an address multiplies a number with that is not the same in all
 * threads. What is added to an address once for all of them (where in an array a launch begins) is
 * none.
 *
 * What a copy past registers moves is decided by its size, or by its tensor map and coordinates.
 */
#include "predictor/code/digest.h"

#include "predictor/code/eval/eval.h"
#include "predictor/code/ir/reach.h"

#include <stdlib.h>

enum {
	LOW = 1, /* reaches this half of an address, from its own low half or, of 64 bits, the same
		  */
	HIGH = 2,
	CONTROL_LOW = 4, /* its low half, or all of up to 32 bits, decides control; its high half */
	CONTROL_HIGH = 8,
	CONTROL = CONTROL_LOW | CONTROL_HIGH,
	TERM = 16,       /* an address is made of it */
	STRIDE_LOW = 32, /* as of control */
	STRIDE_HIGH = 64,
	STRIDE = STRIDE_LOW | STRIDE_HIGH,
};

/* What the rule knows beside the search. */
struct knowledge {
	const uint8_t *varies;           /* of each operand (ir/reach.h) */
	const struct gw_eval_block *ran; /* of each block; NULL: any may run */
	bool stores;                     /* those that are followed have been */
};

static bool is_memory(const struct gw_ir_insn *insn)
{
	return insn->op == IR_LD || insn->op == IR_ST || insn->op == IR_ATOM || insn->op == IR_RED;
}

static bool runs(const struct gw_reach *r, uint32_t block)
{
	const struct knowledge *k = r->arg;

	return r->p->blocks[block].reachable && (!k->ran || k->ran[block].runs.most > 0);
}

/* What blocks that do not run make of a number is not used. */
static bool is_run(const struct gw_reach *r, const struct gw_ir_insn *insn)
{
	return runs(r, r->block[insn - r->p->insns]);
}

static bool is_number(const struct gw_reach *r, gw_ir_operand o, uint64_t value)
{
	return gw_ir_is_constant(o) && gw_ir_constant(r->p, o) == value;
}

/* What reaches an address has reached it from what it is the sum of. */
static void follow_address(struct gw_reach *r, const struct gw_ir_insn *insn, unsigned halves)
{
	switch (insn->op) {
	case IR_ADD:
		gw_reach_use(r, insn, 0, halves);
		gw_reach_use(r, insn, 1, halves);
		break;
	case IR_MOV:
	case IR_SUB:
	case IR_TOGEN:
	case IR_FROMGEN:
		gw_reach_use(r, insn, 0, halves);
		break;
	case IR_SEL:
		gw_reach_use(r, insn, 1, halves);
		gw_reach_use(r, insn, 2, halves);
		break;
	case IR_PACK:
		gw_reach_use(r, insn, 0, insn->bits == 32 ? halves & LOW : 0);
		gw_reach_use(r, insn, 1, insn->bits == 32 ? halves & HIGH : 0);
		break;
	case IR_ZEXT: /* the low word of a sum, or a high word that was shifted down */
		gw_reach_use(r, insn, 0, insn->bits >= 32 ? halves : 0);
		break;
	case IR_SHRU:
		if (insn->bits == 64 && is_number(r, gw_ir_uses(r->p, insn)[1], 32))
			gw_reach_use(r, insn, 0, halves & HIGH);
		break;
	default:
		break;
	}
}

/* Local memory and the parameters of calls are seen through, as one. */
static bool is_followed(const struct gw_ir_insn *insn)
{
	return insn->space == IR_SPACE_FRAME || insn->space == IR_SPACE_LOCAL ||
	       insn->space == IR_SPACE_GENERIC;
}

static void all_uses(struct gw_reach *r, const struct gw_ir_insn *insn, unsigned marks)
{
	gw_reach_guard(r, insn, marks);
	for (unsigned u = 0; u < insn->uses; u++)
		gw_reach_use(r, insn, u, marks);
}

static void follow_stores(struct gw_reach *r)
{
	struct knowledge *k = r->arg;

	for (uint32_t i = 0; !k->stores && i < r->p->insn_count; i++)
		if (r->p->insns[i].op == IR_ST && is_followed(&r->p->insns[i]))
			all_uses(r, &r->p->insns[i], CONTROL);
	k->stores = true;
}

/* The numbers that a number is made of. Pairs of machine registers are made and taken apart all the
 * time: which half matters is kept. */
static void follow_number(struct gw_reach *r, const struct gw_ir_insn *insn, unsigned marks,
			  unsigned low, unsigned high)
{
	gw_reach_guard(r, insn, low | high);
	if (gw_ir_is_blind(insn))
		return;
	if (insn->op == IR_PACK && insn->bits == 32) {
		gw_reach_use(r, insn, 0, marks & low ? low | high : 0);
		gw_reach_use(r, insn, 1, marks & high ? low | high : 0);
	} else if (insn->op == IR_ZEXT && insn->bits <= 32) {
		gw_reach_use(r, insn, 0, low);
	} else if (insn->op == IR_SHRU && insn->bits == 64 &&
		   is_number(r, gw_ir_uses(r->p, insn)[1], 32)) {
		gw_reach_use(r, insn, 0, high);
	} else if (insn->op == IR_MOV) {
		gw_reach_use(r, insn, 0, marks);
	} else {
		all_uses(r, insn, low | high);
	}
}

static void follow_control(struct gw_reach *r, const struct gw_ir_insn *insn, unsigned marks)
{
	follow_number(r, insn, marks, CONTROL_LOW, CONTROL_HIGH);
	if (insn->op == IR_LD && is_followed(insn))
		follow_stores(r);
}

/* Goes with one number by as much as another one says. */
static bool is_product(const struct gw_ir_insn *insn)
{
	switch (insn->op) {
	case IR_MUL:
	case IR_MULHS:
	case IR_MULHU:
	case IR_MULWS:
	case IR_MULWU:
	case IR_DIVS:
	case IR_DIVU:
	case IR_REMS:
	case IR_REMU:
	case IR_SHL:
		return true;
	default:
		return false;
	}
}

/* Through whatever a compiler makes an index of, but for what is a bit at most. */
static bool makes_index(const struct gw_ir_insn *insn)
{
	return insn->op == IR_TOGEN || insn->op == IR_FROMGEN ||
	       (insn->op >= IR_MOV && insn->op <= IR_SEL && insn->op != IR_CARRY &&
		insn->op != IR_BORROW);
}

static void follow_term(struct gw_reach *r, const struct gw_ir_insn *insn)
{
	const struct knowledge *k = r->arg;
	const uint8_t *varies = k->varies + insn->first + insn->defs;

	if (!makes_index(insn))
		return;
	for (unsigned u = 0; u < insn->uses; u++)
		gw_reach_use(r, insn, u, TERM);
	if (!is_product(insn))
		return;
	gw_reach_use(r, insn, 0, varies[1] ? STRIDE : 0);
	gw_reach_use(r, insn, 1, varies[0] ? STRIDE : 0);
}

static void follow(struct gw_reach *r, const struct gw_ir_insn *insn, uint32_t slot, uint8_t marks)
{
	(void)slot;
	if (!is_run(r, insn))
		return;
	if (marks & (LOW | HIGH))
		follow_address(r, insn, marks & (LOW | HIGH));
	if (marks & CONTROL)
		follow_control(r, insn, marks & CONTROL);
	if (marks & TERM)
		follow_term(r, insn);
	if (marks & STRIDE)
		follow_number(r, insn, marks & STRIDE, STRIDE_LOW, STRIDE_HIGH);
}

/* What an access is made of: its address, and the size of a bulk copy or the coordinates of a tile.
 */
static void begin_access(struct gw_reach *r, const struct gw_ir_insn *insn)
{
	bool global = insn->space == IR_SPACE_GLOBAL || insn->space == IR_SPACE_GENERIC;
	unsigned marks = global ? LOW | HIGH | TERM : TERM;

	if (!global && insn->space != IR_SPACE_SHARED)
		return;
	gw_reach_use(r, insn, 0, marks);
	gw_reach_use(r, insn, 1, marks);
	for (unsigned u = 2; insn->flags & IR_MEM_BULK && u < insn->uses; u++)
		gw_reach_use(r, insn, u, insn->flags & IR_MEM_TENSOR ? TERM : CONTROL);
}

static void begin(struct gw_reach *r)
{
	const struct gw_ir_program *p = r->p;

	for (uint32_t b = 0; b < p->block_count; b++) {
		if (!runs(r, b))
			continue;
		if (gw_ir_decides(p, &p->blocks[b]))
			gw_reach_test(r, b, CONTROL);
		for (uint32_t i = 0; i < p->blocks[b].count; i++) {
			const struct gw_ir_insn *insn = &p->insns[p->blocks[b].first + i];

			if (insn->op == IR_BAR ||
			    (is_memory(insn) && insn->space != IR_SPACE_FRAME &&
			     insn->space != IR_SPACE_PARAM))
				gw_reach_guard(r, insn, CONTROL);
			if (is_memory(insn))
				begin_access(r, insn);
		}
	}
}

/* What its definitions are marked with, to the bytes of the parameters that it loads. */
static void note_load(const struct gw_reach *r, const struct gw_ir_insn *insn, uint8_t *bytes,
		      uint32_t size)
{
	const gw_ir_operand *use = gw_ir_uses(r->p, insn);
	uint64_t at;

	if (insn->op != IR_LD || insn->space != IR_SPACE_PARAM || !gw_ir_is_constant(use[0]) ||
	    !gw_ir_is_constant(use[1]) || !is_run(r, insn))
		return;
	at = gw_ir_constant(r->p, use[0]) + gw_ir_constant(r->p, use[1]);
	for (unsigned d = 0; d < insn->defs; d++, at += insn->width) {
		unsigned marks = r->marks[insn->first + d];

		for (unsigned b = 0; b < insn->width && at + b < size; b++) {
			unsigned half = b < 4 ? LOW | CONTROL_LOW | STRIDE_LOW
					      : HIGH | CONTROL_HIGH | STRIDE_HIGH;

			bytes[at + b] |= (uint8_t)(insn->width == 8   ? marks & half
						   : insn->width == 4 ? marks
								      : marks & (CONTROL | STRIDE));
		}
	}
}

static void forget_pointers(uint8_t *bytes, uint32_t size)
{
	for (uint32_t at = 0; at + 8 <= size; at += 8)
		if (bytes[at] & LOW && bytes[at + 4] & HIGH)
			memset(bytes + at, 0, 8);
}

/* Of what is marked with @p what in a parameter, pieces as large as are hashed at a time, up to
 * @p most of all. Their marks are taken off. */
static void take_param(struct gw_digest_plan *plan, unsigned what, unsigned most, uint8_t *bytes,
		       uint32_t index, const struct gw_code_param *param)
{
	uint32_t at = param->offset, end = param->offset + param->size;

	while (at < end && plan->count < most) {
		uint32_t run = 0, piece = 8;

		while (run < 8 && at + run < end && bytes[at + run] & what)
			run++;
		while (piece > run && piece > 1)
			piece /= 2;
		if (run) {
			plan->word[plan->count++] = (struct gw_digest_word){
				(uint16_t)index, (uint16_t)(at - param->offset), (uint16_t)at,
				(uint16_t)piece};
			memset(bytes + at, 0, piece);
			if (at + piece > plan->end)
				plan->end = (uint16_t)(at + piece);
		}
		at += piece;
	}
}

static void take_map(void *arg, const struct gw_digest_word *map)
{
	struct gw_digest_plan *plan = arg;

	for (uint32_t i = 0; i < plan->count; i++)
		if (!memcmp(&plan->word[i], map, sizeof(*map)))
			return;
	if (plan->count == GW_DIGEST_MOST)
		return;
	plan->word[plan->count++] = *map;
	if (map->offset + map->size > plan->end)
		plan->end = (uint16_t)(map->offset + map->size);
}

/* Fours, then eights, then all others, each by offset. */
static int place(const struct gw_digest_word *w)
{
	return (w->size == 4 ? 0 : w->size == 8 ? 1 << 16 : 1 << 17) + w->offset;
}

static int by_place(const void *a, const void *b)
{
	return place(a) - place(b);
}

/* Whether 8 bytes lie right behind 8 others, in one parameter. */
static bool goes_on(const struct gw_digest_word *w)
{
	return w[-1].size == 8 && w->size == 8 && w->param == w[-1].param && w->at == w[-1].at + 8;
}

void gw_digest_plan_spans(struct gw_digest_plan *plan)
{
	struct gw_digest_span *at = plan->span;

	plan->spans = plan->fours = plan->wide = 0;
	for (const struct gw_digest_word *w = plan->word; w < plan->word + plan->count; w++) {
		if (w->size != 4 && w->size != 8)
			break;
		plan->wide++;
		if (w > plan->word && goes_on(w)) {
			at[-1].param = (uint16_t)(at[-1].param + GW_DIGEST_PARAMS);
			continue;
		}
		*at++ = (struct gw_digest_span){w->param, w->at};
		plan->spans++;
		if (w->size == 4)
			plan->fours++;
	}
}

/* Bytes of all parameters; UINT32_MAX: more than are looked at. */
static uint32_t size_of(const struct gw_code_param *param, uint32_t count)
{
	uint32_t size = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t end = (uint64_t)param[i].offset + param[i].size;

		if (end > GW_DIGEST_BYTES || i == GW_DIGEST_PARAMS)
			return UINT32_MAX;
		size = end > size ? (uint32_t)end : size;
	}
	return size;
}

uint64_t gw_digest_magnitude(const unsigned char *from, unsigned size, int more)
{
	uint64_t value = 0;
	int below = 0;

	while (size--)
		value = value << 8 | from[size];
	if (value >> more)
		below = 63 - more - __builtin_clzll(value);
	return value >> below | (uint64_t)below << 8;
}

uint64_t gw_digest_run(uint64_t h, const unsigned char *from, unsigned size)
{
	uint64_t rough;

	if (size & GW_DIGEST_ROUGH) {
		rough = gw_digest_magnitude(from, size - GW_DIGEST_ROUGH, GW_DIGEST_ROUGH_BITS);
		return gw_digest_add(h, (const unsigned char *)&rough, 8);
	}
	for (; size; size -= 8, from += 8)
		h = gw_digest_add(h, from, 8);
	return h;
}

uint32_t gw_digest_rest(const struct gw_digest_plan *plan, const void *const *params, uint64_t h)
{
	for (uint32_t i = plan->wide; i < plan->count; i++) {
		const struct gw_digest_word *w = &plan->word[i];
		const unsigned char *from = params[w->param];

		if (!from)
			return 0;
		h = gw_digest_add(h, from + w->at, w->size);
	}
	return gw_digest_end(h);
}

const char *gw_digest_plan_run(const struct gw_ir_program *program, const struct gw_eval_block *ran,
			       const struct gw_code_param *param, uint32_t count,
			       struct gw_arena *arena, struct gw_digest_plan *plan)
{
	uint32_t size = size_of(param, count);
	struct knowledge knowledge = {.ran = ran};
	struct gw_reach r = {.rule = follow, .arg = &knowledge};
	uint8_t *bytes;

	*plan = (struct gw_digest_plan){0};
	if (size == UINT32_MAX)
		return "it has more parameters than are looked at";
	bytes = gw_arena_array(arena, size + 1u, 1);
	if (!bytes || !gw_reach_init(&r, program, arena))
		return "there is no memory for it";
	knowledge.varies = gw_ir_vary(&r, arena);
	if (!knowledge.varies)
		return "there is no memory for it";
	begin(&r);
	gw_reach_run(&r);
	for (uint32_t i = 0; i < program->insn_count; i++)
		note_load(&r, &program->insns[i], bytes, size);
	forget_pointers(bytes, size);
	/* Where not all find room, those that decide go before strides. */
	for (uint32_t i = 0; i < count; i++)
		take_param(plan, CONTROL, GW_DIGEST_WORDS, bytes, i, &param[i]);
	for (uint32_t i = 0; i < count; i++)
		take_param(plan, STRIDE, GW_DIGEST_STRIDES, bytes, i, &param[i]);
	gw_digest_maps(&r, param, count, take_map, plan);
	qsort(plan->word, plan->count, sizeof(*plan->word), by_place);
	gw_digest_plan_spans(plan);
	return NULL;
}
