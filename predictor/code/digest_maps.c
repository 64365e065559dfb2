/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the copies of a kernel find their tensor maps among its parameters: the addresses of copies
 * are followed back to constants, through sums and choices. An address that an index is a part of
 * may be that of any map from its constant part on, to the end of that parameter. Maps that lie
 * in memory are nobody's parameter.
 */
#include "predictor/code/digest_maps.h"

#include "predictor/code/eval/tensor_map.h"
#include "predictor/code/memory/extract_parts.h"

enum {
	DEPTH = 16,    /* definitions in a row that are followed */
	VISITS = 4096, /* of one kernel in all */
	APART = 128,   /* bytes from a map to the next one of an array */
	ADDRESS = 8,   /* bytes of a map that say where the tensor lies */
};

_Static_assert(GW_DIGEST_MAP == GW_TENSOR_MAP_BYTES - ADDRESS, "the rest of what a copy reads");

struct finder {
	struct gw_slicer slicer;
	const struct gw_code_param *param;
	uint32_t count, left;
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
		return offset + APART < f->param[i].size ? at + APART : 0;
	}
	return 0;
}

/* The instruction that alone gives operand @p o its value for instruction @p at. */
static const struct gw_ir_insn *source_of(struct finder *f, gw_ir_operand o, uint32_t at,
                                          uint32_t *insn)
{
	struct gw_reaching r;

	if (!f->left || o == GW_IR_NONE)
		return NULL;
	f->left--;
	gw_slicer_reaching(&f->slicer, o, at, &r);
	*insn = r.insn[0];
	return r.count == 1 ? &f->slicer.program->insns[*insn] : NULL;
}

static bool number_of(struct finder *f, gw_ir_operand o, uint32_t at, unsigned depth, uint64_t *out)
{
	const struct gw_ir_program *p = f->slicer.program;
	const struct gw_ir_insn *insn;
	const gw_ir_operand *use;
	uint64_t more;

	if (gw_ir_is_constant(o)) {
		*out = gw_ir_constant(p, o);
		return true;
	}
	insn = depth ? source_of(f, o, at, &at) : NULL;
	if (!insn)
		return false;
	use = gw_ir_uses(p, insn);
	switch (insn->op) {
	case IR_MOV:
	case IR_ZEXT:
	case IR_TOGEN:
	case IR_PACK: /* the low half is all that is wanted of an address */
		return number_of(f, use[0], at, depth - 1, out);
	case IR_ADD:
		if (!number_of(f, use[0], at, depth - 1, out) ||
		    !number_of(f, use[1], at, depth - 1, &more))
			return false;
		*out += more;
		return true;
	default:
		return false;
	}
}

static void follow(struct finder *f, gw_ir_operand o, uint32_t at, uint32_t plus, unsigned depth);

/* On from what instruction @p at makes. */
static void follow_insn(struct finder *f, uint32_t at, uint32_t plus, unsigned depth)
{
	const struct gw_ir_insn *insn = &f->slicer.program->insns[at];
	const gw_ir_operand *use = gw_ir_uses(f->slicer.program, insn);
	uint64_t number;

	switch (insn->op) {
	case IR_MOV:
	case IR_ZEXT:
	case IR_TOGEN:
	case IR_PACK:
		follow(f, use[0], at, plus, depth);
		break;
	case IR_SEL:
		follow(f, use[1], at, plus, depth);
		follow(f, use[2], at, plus, depth);
		break;
	case IR_ADD:
		for (unsigned u = 0; u < 2; u++)
			if (number_of(f, use[u], at, DEPTH, &number)) {
				follow(f, use[1 - u], at, plus + (uint32_t)number, depth);
				return;
			}
		break;
	case IR_MUL:
	case IR_MULWS:
	case IR_MULWU:
	case IR_SHL:
		for (unsigned i = 0; i < GW_TENSOR_MAPS && (i == 0 || plus); i++)
			plus = found(f, plus);
		break;
	default: /* of memory, or of what is no address here */
		break;
	}
}

/* Operand @p o of instruction @p at and @p plus is the address of a map. */
static void follow(struct finder *f, gw_ir_operand o, uint32_t at, uint32_t plus, unsigned depth)
{
	struct gw_reaching r;
	uint64_t number;

	if (number_of(f, o, at, DEPTH, &number)) {
		found(f, plus + (uint32_t)number);
		return;
	}
	if (!depth || !f->left || o == GW_IR_NONE)
		return;
	f->left--;
	gw_slicer_reaching(&f->slicer, o, at, &r);
	for (uint32_t i = 0; i < r.count && r.count <= GW_REACHING_MAX; i++)
		follow_insn(f, r.insn[i], plus, depth - 1);
}

static bool has_map(const struct gw_ir_insn *insn)
{
	return insn->flags & IR_MEM_BULK && insn->flags & IR_MEM_TENSOR;
}

bool gw_digest_maps(const struct gw_ir_program *program, const struct gw_code_param *param,
                    uint32_t count, struct gw_arena *arena, gw_digest_map_found *found_at,
                    void *arg)
{
	struct finder f = {
	        .param = param, .count = count, .left = VISITS, .found = found_at, .arg = arg};
	bool any = false;

	for (uint32_t i = 0; i < program->insn_count; i++) {
		const struct gw_ir_insn *insn = &program->insns[i];
		const gw_ir_operand *use = gw_ir_uses(program, insn);
		uint64_t offset;

		if (!has_map(insn))
			continue;
		if (!any && !gw_slicer_init(&f.slicer, program, (struct gw_bytes){NULL, 0}, arena))
			return false;
		any = true;
		if (number_of(&f, use[1], i, DEPTH, &offset))
			follow(&f, use[0], i, (uint32_t)offset, DEPTH);
	}
	return true;
}
