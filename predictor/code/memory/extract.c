/* Syntax trees out of a kernel: the slices themselves, breadth first. */
#include "predictor/code/memory/extract_parts.h"

#include <stdio.h>
#include <string.h>

/* What a node in the queue stands for. */
struct item {
	gw_ir_operand operand;
	uint32_t insn; /* that uses it: its definitions are looked for before this one */
	unsigned bits; /* of the use, for a constant's sign */
	bool negate;   /* a constant that is subtracted */
	bool defined;  /* its definition is known: it is `insn` itself */
};

/* A tree being made; item i is what node i stands for. */
struct tree {
	struct gw_slicer *slicer;
	struct gw_access_node node[GW_ACCESS_NODES];
	struct item item[GW_ACCESS_NODES];
	uint32_t count;
	bool full; /* the tree has more nodes than there is room for */
};

/* A new node below @p parent. */
static void put(struct tree *t, int32_t parent, struct item item)
{
	if (t->count == GW_ACCESS_NODES) {
		t->full = true;
		return;
	}
	t->node[t->count] = (struct gw_access_node){.reg = "", .opcode = "", .parent = parent};
	t->item[t->count++] = item;
}

static void put_operand(struct tree *t, uint32_t parent, gw_ir_operand o, uint32_t insn,
			unsigned bits)
{
	put(t, (int32_t)parent, (struct item){.operand = o, .insn = insn, .bits = bits});
}

/* A leaf that is all text. */
static void put_leaf(struct tree *t, uint32_t parent, const char *reg)
{
	put(t, (int32_t)parent, (struct item){.operand = GW_IR_NONE});
	if (!t->full)
		t->node[t->count - 1].reg = reg ? reg : "";
}

/* Whether the value of @p o at @p insn is that of register @p reg at the head of the loop, where
 * @p of are its definitions. */
static bool is_counter(struct gw_slicer *s, gw_ir_operand o, uint32_t insn, uint32_t reg,
		       const struct gw_reaching *of)
{
	struct gw_reaching r;

	if (o != reg)
		return false;
	gw_slicer_reaching(s, o, insn, &r);
	return r.count == 2 && ((r.insn[0] == of->insn[0] && r.insn[1] == of->insn[1]) ||
				(r.insn[0] == of->insn[1] && r.insn[1] == of->insn[0]));
}

/* The same in each iteration of @p loop. */
static bool invariant(struct gw_slicer *s, gw_ir_operand o, uint32_t insn, uint32_t loop)
{
	struct gw_reaching r;

	if (gw_ir_is_constant(o))
		return true;
	gw_slicer_reaching(s, o, insn, &r);
	return r.count == 1 && !gw_slicer_in_loop(s, loop, r.insn[0]);
}

/* The instruction by which @p next, a definition inside @p loop, raises the counter, through moves;
 * its operand that is the step goes to @p step. GW_DEF_NONE: it does something else. */
static uint32_t raise_of(struct gw_slicer *s, uint32_t reg, const struct gw_reaching *defs,
			 uint32_t next, uint32_t loop, unsigned *step)
{
	const struct gw_ir_program *p = s->program;
	const struct gw_ir_insn *insn = &p->insns[next];
	gw_ir_operand o = insn->op == IR_MOV ? gw_ir_uses(p, insn)[0] : GW_IR_NONE;
	struct gw_reaching r;

	if (o != GW_IR_NONE && !gw_ir_is_constant(o)) {
		uint32_t at = next;

		o = gw_slicer_through_moves(s, o, &at);
		if (gw_ir_is_constant(o))
			return GW_DEF_NONE;
		gw_slicer_reaching(s, o, at, &r);
		if (r.count != 1)
			return GW_DEF_NONE;
		next = r.insn[0];
		insn = &p->insns[next];
	}
	if (insn->guard != GW_IR_NONE || (insn->op != IR_ADD && insn->op != IR_SUB))
		return GW_DEF_NONE;
	for (unsigned i = 0; i < (insn->op == IR_ADD ? 2U : 1U); i++) {
		const gw_ir_operand *use = gw_ir_uses(p, insn);

		*step = 1 - i;
		if (is_counter(s, use[i], next, reg, defs) &&
		    invariant(s, use[1 - i], next, loop) &&
		    (insn->op == IR_ADD || gw_ir_is_constant(use[1])))
			return next;
	}
	return GW_DEF_NONE;
}

/* The first value of a counter: what the definition outside the loop gives it. */
static void put_first(struct tree *t, uint32_t at, uint32_t def, gw_ir_operand reg)
{
	const struct gw_ir_program *p = t->slicer->program;
	const struct gw_ir_insn *insn = &p->insns[def];

	if (insn->op == IR_MOV)
		put_operand(t, at, gw_ir_uses(p, insn)[0], def, insn->bits);
	else
		put(t, (int32_t)at, (struct item){.operand = reg, .insn = def, .defined = true});
}

/* Register @p reg is a counter of a loop around @p user: node @p at becomes "loop.N". */
static bool expand_counter(struct tree *t, uint32_t at, gw_ir_operand reg, uint32_t user,
			   const struct gw_reaching *defs)
{
	struct gw_slicer *s = t->slicer;
	const struct gw_ir_program *p = s->program;
	uint32_t loop = p->blocks[s->block_of[user]].loop;
	char opcode[24];

	for (; loop != GW_IR_NONE; loop = p->loops[loop].parent)
		for (unsigned inner = 0; inner < 2; inner++) {
			uint32_t first = defs->insn[1 - inner], next = defs->insn[inner], raise;
			const gw_ir_operand *use;
			unsigned step;

			if (!gw_slicer_in_loop(s, loop, next) || gw_slicer_in_loop(s, loop, first))
				continue;
			raise = raise_of(s, reg, defs, next, loop, &step);
			if (raise == GW_DEF_NONE)
				return false;
			use = gw_ir_uses(p, &p->insns[raise]);
			snprintf(opcode, sizeof(opcode), "loop.%u", loop);
			t->node[at].opcode = gw_name_keep(s, opcode);
			put_first(t, at, first, reg);
			put(t, (int32_t)at,
			    (struct item){.operand = use[step],
					  .insn = raise,
					  .bits = p->insns[raise].bits,
					  .negate = p->insns[raise].op == IR_SUB});
			return true;
		}
	return false;
}

/* A load: of a parameter a leaf below, of anything else the end of the tree. */
static void expand_load(struct tree *t, uint32_t at, const struct gw_ir_insn *insn,
			gw_ir_operand reg)
{
	const struct gw_ir_program *p = t->slicer->program;
	const gw_ir_operand *use = gw_ir_uses(p, insn);
	uint64_t offset = 0;

	if (insn->space != IR_SPACE_PARAM || !gw_ir_is_constant(use[0]) ||
	    !gw_ir_is_constant(use[1]))
		return;
	while (offset < insn->defs && gw_ir_defs(p, insn)[offset] != reg)
		offset++;
	offset = offset * insn->width + gw_ir_constant(p, use[0]) + gw_ir_constant(p, use[1]);
	put_leaf(t, at, gw_name_param(t->slicer, offset));
}

static void expand_operands(struct tree *t, uint32_t at, uint32_t def)
{
	const struct gw_ir_insn *insn = &t->slicer->program->insns[def];
	const gw_ir_operand *use = gw_ir_uses(t->slicer->program, insn);

	if (insn->op == IR_SEL) { /* PTX has the predicate last */
		put_operand(t, at, use[1], def, insn->bits);
		put_operand(t, at, use[2], def, insn->bits);
		put_operand(t, at, use[0], def, 1);
		return;
	}
	for (unsigned i = 0; i < insn->uses; i++)
		put_operand(t, at, use[i], def, insn->bits);
}

/* Two registers that hold one number: what that is, where it is known. False: it is not. */
static bool expand_pair(struct tree *t, uint32_t at, uint32_t def)
{
	const gw_ir_operand *half = gw_ir_uses(t->slicer->program, &t->slicer->program->insns[def]);
	uint64_t offset;

	if (gw_slicer_param_pair(t->slicer, def, &offset)) {
		t->node[at].opcode = "ld.param.u64";
		put_leaf(t, at, gw_name_param(t->slicer, offset));
		return true;
	}
	if (!gw_slicer_is_widened(t->slicer, def))
		return false;
	t->node[at].opcode = "cvt.u64.u32";
	put_operand(t, at, half[0], def, 32);
	return true;
}

/* Node @p at is what instruction @p def writes to @p reg. */
static void expand_insn(struct tree *t, uint32_t at, uint32_t def, gw_ir_operand reg)
{
	struct gw_slicer *s = t->slicer;
	const struct gw_ir_insn *insn = &s->program->insns[def];
	char opcode[48];

	if (insn->op == IR_ADDR && insn->aux < s->program->symbol_count)
		t->node[at].reg = s->program->symbols[insn->aux].name;
	if (!gw_name_opcode(insn, s->program->widths[reg], opcode, sizeof(opcode)))
		return;
	t->node[at].opcode = gw_name_keep(s, opcode);
	gw_name_by_source(s, insn, &t->node[at]);
	if (insn->op == IR_LD) {
		expand_load(t, at, insn, reg);
	} else if (insn->op == IR_SREG) {
		put_leaf(t, at, gw_name_special(s, (enum gw_ir_sreg)insn->aux));
	} else {
		expand_operands(t, at, def);
	}
}

/* Say what node @p at is, and append its operands. */
static void expand(struct tree *t, uint32_t at)
{
	struct gw_slicer *s = t->slicer;
	struct item *item = &t->item[at];
	struct gw_reaching defs = {.count = 1, .insn = {item->insn}};
	uint64_t value;

	if (item->operand == GW_IR_NONE)
		return;
	if (gw_ir_is_constant(item->operand)) {
		value = gw_ir_constant(s->program, item->operand);
		t->node[at].reg = gw_name_constant(s, item->negate ? 0 - value : value, item->bits);
		return;
	}
	t->node[at].reg = gw_name_register(s, item->operand);
	if (!item->defined)
		gw_slicer_reaching(s, item->operand, item->insn, &defs);
	while (defs.count == 1 && gw_slicer_is_pair(s, defs.insn[0]) &&
	       gw_slicer_whole(s, defs.insn[0], &item->operand, &item->insn)) {
		t->node[at].reg = gw_name_register(s, item->operand);
		gw_slicer_reaching(s, item->operand, item->insn, &defs);
	}
	if (defs.count == 1 && gw_slicer_is_pair(s, defs.insn[0]) &&
	    expand_pair(t, at, defs.insn[0]))
		return;
	if (defs.count == 1)
		expand_insn(t, at, defs.insn[0], item->operand);
	else if (defs.count == 2)
		expand_counter(t, at, item->operand, item->insn, &defs);
}

/* The root: the address, which is the sum of two operands. */
static void put_root(struct tree *t, uint32_t insn)
{
	const struct gw_ir_program *p = t->slicer->program;
	const gw_ir_operand *use = gw_ir_uses(p, &p->insns[insn]);

	if (gw_ir_is_constant(use[1]) && gw_ir_constant(p, use[1]) == 0) {
		put(t, -1, (struct item){.operand = use[0], .insn = insn, .bits = 64});
		return;
	}
	put(t, -1, (struct item){.operand = GW_IR_NONE});
	t->node[0].reg = "address";
	t->node[0].opcode = "add.s64";
	put_operand(t, 0, use[0], insn, 64);
	put_operand(t, 0, use[1], insn, 64);
}

static bool extract_one(struct gw_slicer *s, uint32_t insn, struct gw_access *out)
{
	const struct gw_ir_insn *op = &s->program->insns[insn];
	struct tree t;
	uint32_t at;

	t.slicer = s;
	t.count = 0;
	t.full = false;
	put_root(&t, insn);
	for (uint32_t i = 0; i < t.count; i++)
		expand(&t, i);
	for (uint32_t i = 0; i < t.count; i++)
		gw_access_decode(&t.node[i]);
	*out = (struct gw_access){.text = gw_name_access(s, op),
				  .bytes = (uint32_t)op->width * op->elements,
				  .store = op->op != IR_LD,
				  .count = t.full ? 1 : t.count};
	/* A tree that has no room, or whose parts don't fit together, is its root alone: unknown.
	 */
	if (t.full)
		t.node[0].kind = GW_NODE_UNKNOWN;
	out->nodes = gw_arena_copy(s->arena, t.node, out->count * sizeof(*out->nodes));
	if (!out->nodes || s->no_room)
		return false;
	if (gw_access_link(out, &at)) {
		out->count = 1;
		out->nodes[0].kind = GW_NODE_UNKNOWN;
		out->nodes[0].operands = 0;
	}
	return true;
}

bool gw_extract_is_lane_access(const struct gw_ir_insn *insn)
{
	const unsigned other = IR_MEM_PREFETCH | IR_MEM_BULK | IR_MEM_TENSOR | IR_MEM_MATRIX;
	bool memory =
		insn->op == IR_LD || insn->op == IR_ST || insn->op == IR_ATOM || insn->op == IR_RED;

	return memory && !(insn->flags & other);
}

static bool is_global(const struct gw_ir_insn *insn)
{
	return gw_extract_is_lane_access(insn) &&
	       (insn->space == IR_SPACE_GLOBAL || insn->space == IR_SPACE_GENERIC);
}

const char *gw_extract(const struct gw_ir_program *program, struct gw_bytes ptx,
		       struct gw_arena *arena, struct gw_extract *out)
{
	static const char no_room[] = "the syntax trees need more memory than the analysis may use";
	struct gw_slicer slicer;
	uint32_t count = 0;

	*out = (struct gw_extract){0};
	for (uint32_t i = 0; i < program->insn_count; i++)
		count += is_global(&program->insns[i]);
	out->access = gw_arena_array(arena, count, sizeof(*out->access));
	out->insn = gw_arena_array(arena, count, sizeof(*out->insn));
	if (!out->access || !out->insn || !gw_slicer_init(&slicer, program, ptx, arena))
		return no_room;
	for (uint32_t i = 0; i < program->insn_count; i++) {
		if (!is_global(&program->insns[i]))
			continue;
		if (!extract_one(&slicer, i, &out->access[out->count]))
			return no_room;
		out->insn[out->count++] = i;
	}
	return NULL;
}
