/*
 * Where the copies of a kernel find their tensor maps among its parameters: the addresses of copies
 * are followed back to constants, through sums and choices. An address that an index is a part of
 * may be that of any map from its constant part on, to the end of that parameter. Maps that lie
 * in memory are nobody's parameter.
 */
#include "predictor/code/digest.h"

#include "predictor/code/eval/tensor_map.h"
#include "predictor/code/ir/reach.h"

enum {
	DEPTH = 12,      /* definitions in a row that are followed */
	MARKS = 1 << 25, /* bytes of marks that all searches of a kernel may clear */
	APART = 128,     /* bytes from a map to the next one of an array */
	ADDRESS = 8,     /* bytes of a map that say where the tensor lies */
	DEFS = 2,        /* definitions of one register that are followed each */
};

_Static_assert(GW_DIGEST_MAP == GW_TENSOR_MAP_BYTES - ADDRESS, "the rest of what a copy reads");

/* A use of a value: operand `use` of the instruction. */
struct use {
	const struct gw_ir_insn *insn;
	unsigned use;
};

struct defs {
	const struct gw_ir_insn *insn[DEFS];
	unsigned count; /* above DEFS: more than that, or not known */
};

struct finder {
	struct gw_reach *r;
	const struct gw_code_param *param;
	uint32_t count;
	uint64_t left; /* of MARKS */
	gw_digest_map_found *found;
	void *arg;
};

/* The map at byte @p at, if that is one parameter's; the next one's place, 0: there is none. */
static uint32_t found(struct finder *f, uint32_t at)
{
	for (uint32_t i = 0; i < f->count; i++) {
		uint32_t offset = at - f->param[i].offset;

		if (at < f->param[i].offset || offset >= f->param[i].size)
			continue;
		if (f->param[i].size - offset < GW_TENSOR_MAP_BYTES)
			return 0;
		f->found(f->arg, &(struct gw_digest_word){(uint16_t)i, (uint16_t)(offset + ADDRESS),
							  (uint16_t)(at + ADDRESS), GW_DIGEST_MAP});
		return at + APART;
	}
	return 0;
}

static void note(struct gw_reach *r, const struct gw_ir_insn *insn, uint32_t slot, uint8_t marks)
{
	struct defs *defs = r->arg;

	(void)slot;
	(void)marks;
	if (defs->count < DEFS)
		defs->insn[defs->count] = insn;
	defs->count++;
}

/* The instructions that @p u may have its value of. */
static struct defs defs_of(struct finder *f, struct use u)
{
	struct gw_reach *r = f->r;
	const uint64_t marks = r->p->operand_count + (uint64_t)r->p->block_count * r->places;
	struct defs defs = {.count = DEFS + 1};

	if (f->left < marks)
		return defs;
	f->left -= marks;
	defs.count = 0;
	r->rule = note;
	r->arg = &defs;
	memset(r->marks, 0, r->p->operand_count);
	memset(r->entry, 0, (size_t)(marks - r->p->operand_count));
	gw_reach_use(r, u.insn, u.use, 1);
	gw_reach_run(r);
	return defs;
}

/* Passes on the low half of an address, which is all that is needed of it. */
static bool is_move(const struct gw_ir_insn *insn)
{
	return insn->op == IR_MOV || insn->op == IR_ZEXT || insn->op == IR_TOGEN ||
	       insn->op == IR_PACK;
}

static bool number_of(struct finder *f, struct use u, unsigned depth, uint32_t *out)
{
	gw_ir_operand o = gw_ir_uses(f->r->p, u.insn)[u.use];
	struct defs defs;
	uint32_t more;

	if (gw_ir_is_constant(o)) {
		*out = (uint32_t)gw_ir_constant(f->r->p, o);
		return true;
	}
	defs = defs_of(f, u);
	if (defs.count != 1 || !depth)
		return false;
	u = (struct use){defs.insn[0], 0};
	if (is_move(u.insn))
		return number_of(f, u, depth - 1, out);
	if (u.insn->op != IR_ADD || !number_of(f, u, depth - 1, out) ||
	    !number_of(f, (struct use){u.insn, 1}, depth - 1, &more))
		return false;
	*out += more;
	return true;
}

/* What @p u has and @p plus is the address of a map. */
static void follow(struct finder *f, struct use u, uint32_t plus, unsigned depth)
{
	struct defs defs;
	uint32_t number;

	if (number_of(f, u, DEPTH, &number)) {
		found(f, plus + number);
		return;
	}
	defs = defs_of(f, u);
	for (unsigned d = 0; depth && d < defs.count && defs.count <= DEFS; d++) {
		const struct gw_ir_insn *insn = defs.insn[d];
		uint32_t at = plus;

		if (is_move(insn)) {
			follow(f, (struct use){insn, 0}, plus, depth - 1);
		} else if (insn->op == IR_SEL) {
			follow(f, (struct use){insn, 1}, plus, depth - 1);
			follow(f, (struct use){insn, 2}, plus, depth - 1);
		} else if (insn->op == IR_ADD) {
			if (number_of(f, (struct use){insn, 0}, DEPTH, &number))
				follow(f, (struct use){insn, 1}, plus + number, depth - 1);
			else if (number_of(f, (struct use){insn, 1}, DEPTH, &number))
				follow(f, (struct use){insn, 0}, plus + number, depth - 1);
		} else if (insn->op == IR_MUL || insn->op == IR_MULWS || insn->op == IR_MULWU ||
			   insn->op == IR_SHL) {
			for (unsigned i = 0; i < GW_TENSOR_MAPS && (!i || at); i++)
				at = found(f, at);
		}
	}
}

void gw_digest_maps(struct gw_reach *r, const struct gw_code_param *param, uint32_t count,
		    gw_digest_map_found *found_one, void *arg)
{
	struct finder f = {r, param, count, MARKS, found_one, arg};

	for (uint32_t i = 0; i < r->p->insn_count; i++) {
		const struct gw_ir_insn *insn = &r->p->insns[i];
		uint32_t offset;

		if (insn->flags & IR_MEM_BULK && insn->flags & IR_MEM_TENSOR &&
		    number_of(&f, (struct use){insn, 1}, DEPTH, &offset))
			follow(&f, (struct use){insn, 0}, offset, DEPTH);
	}
}
