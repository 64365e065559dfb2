#include "predictor/code/binary/kernel.h"
#include "predictor/code/sass/lower_parts.h"

#include <string.h>

/* Of a thread's local memory, as far as it is followed; 0: not. */
static uint32_t stack_of(const struct gw_code_kernel *k)
{
	uint32_t most = k->frame == GW_CODE_UNKNOWN ? 0 : k->frame;

	if (k->min_stack != GW_CODE_UNKNOWN && k->min_stack > most)
		most = k->min_stack;
	return most > GW_IR_FRAME_MAX ? 0 : (most + 15) / 16 * 16;
}

struct gw_sass_kernel gw_sass_kernel_of(const struct gw_code_kernel *k)
{
	return (struct gw_sass_kernel){
		.name = k->name,
		.param_base = k->param_base,
		.param_bytes = k->param_size == GW_CODE_UNKNOWN ? 0 : k->param_size,
		.static_shared = k->static_shared == GW_CODE_UNKNOWN ? 0 : k->static_shared,
		.stack = stack_of(k),
		.tables = k->bank[2],
		.outside = k->outside,
		.outside_count = k->outside_count,
	};
}

/* ---- places ---- */

/* The register that stands for a place of struct gw_sass_regs. */
static gw_ir_operand register_of(struct gw_lowering *l, unsigned place)
{
	if (l->place[place] == GW_IR_NONE)
		l->place[place] = gw_ir_reg(&l->b, place >= GW_SASS_P0 ? 1 : 32);
	return l->place[place];
}

unsigned gw_lower_width(unsigned op, unsigned bits)
{
	switch (op) {
	case IR_CMP:
	case IR_CARRY:
		return 1;
	case IR_MULWS:
	case IR_MULWU:
	case IR_PACK:
		return 2 * bits;
	default:
		return bits;
	}
}

/* Number of the place at bits @p at; UINT32_MAX: the zero register. */
static unsigned number_at(const struct gw_lowering *l, unsigned at, bool uniform)
{
	unsigned zero = uniform ? gw_sass_urz(l->insn.sm) : GW_SASS_RZ;
	unsigned number = (unsigned)gw_sass_bits(&l->insn, at, 8) & zero;

	if (number == zero)
		return UINT32_MAX;
	return number + (uniform ? GW_SASS_UR0 : 0);
}

gw_ir_operand gw_lower_reg(struct gw_lowering *l, unsigned at, bool uniform)
{
	unsigned place = number_at(l, at, uniform);

	return place == UINT32_MAX ? gw_ir_const(&l->b, 0) : register_of(l, place);
}

gw_ir_operand gw_lower_pair(struct gw_lowering *l, unsigned at, bool uniform)
{
	unsigned place = number_at(l, at, uniform);

	if (place == UINT32_MAX)
		return gw_ir_const(&l->b, 0);
	return GW_LOWER(l, PACK, 32, 0, 2, register_of(l, place), register_of(l, place + 1));
}

gw_ir_operand gw_lower_word(struct gw_lowering *l, unsigned at, unsigned behind)
{
	unsigned place = number_at(l, at, false);

	return place == UINT32_MAX || place + behind >= GW_SASS_RZ ? gw_ir_const(&l->b, 0)
								   : register_of(l, place + behind);
}

gw_ir_operand gw_lower_uniform(struct gw_lowering *l, unsigned at, unsigned behind)
{
	unsigned place = number_at(l, at, true);

	if (place == UINT32_MAX || place + behind >= GW_SASS_UR0 + gw_sass_urz(l->insn.sm))
		return gw_ir_const(&l->b, 0);
	return register_of(l, place + behind);
}

gw_ir_operand gw_lower_predicate(struct gw_lowering *l, unsigned at, unsigned not_at)
{
	unsigned number = (unsigned)gw_sass_bits(&l->insn, at, 3);
	bool invert = gw_sass_bits(&l->insn, not_at, 1);
	gw_ir_operand p;

	if (number == GW_SASS_PT)
		return gw_ir_const(&l->b, !invert);
	p = register_of(l, number + (l->insn.guard_uniform ? GW_SASS_UP0 : GW_SASS_P0));
	return invert ? GW_LOWER(l, NOT, 1, 0, 1, p) : p;
}

gw_ir_operand gw_lower_predicate_number(struct gw_lowering *l, unsigned n)
{
	return register_of(l, GW_SASS_P0 + n);
}

void gw_lower_append(struct gw_lowering *l, struct gw_ir_insn insn, const gw_ir_operand *defs,
		     unsigned def_count, const gw_ir_operand *uses, unsigned use_count)
{
	l->b.guard = l->guard;
	l->b.guard_not = l->guard_not;
	gw_ir_append(&l->b, insn, defs, def_count, uses, use_count);
	l->b.guard = GW_IR_NONE;
	l->b.guard_not = false;
}

static void move_guarded(struct gw_lowering *l, unsigned place, unsigned bits, gw_ir_operand value)
{
	const struct gw_ir_insn move = {.op = IR_MOV, .bits = (uint8_t)bits};
	const gw_ir_operand to = register_of(l, place);

	gw_lower_append(l, move, &to, 1, &value, 1);
}

void gw_lower_set(struct gw_lowering *l, unsigned at, bool uniform, gw_ir_operand value)
{
	unsigned place = number_at(l, at, uniform);

	if (place != UINT32_MAX)
		move_guarded(l, place, 32, value);
}

void gw_lower_set_pair(struct gw_lowering *l, unsigned at, bool uniform, gw_ir_operand value)
{
	unsigned place = number_at(l, at, uniform);
	gw_ir_operand low, high, shift;

	if (place == UINT32_MAX)
		return;
	shift = GW_LOWER(l, SHRU, 64, 0, 2, value, gw_ir_const(&l->b, 32));
	low = gw_ir_emit(&l->b, IR_ZEXT, 32, 0, gw_ir_reg(&l->b, 32), 1, value);
	high = gw_ir_emit(&l->b, IR_ZEXT, 32, 0, gw_ir_reg(&l->b, 32), 1, shift);
	move_guarded(l, place, 32, low);
	if (place + 1 != GW_SASS_RZ && place + 1 < GW_SASS_P0)
		move_guarded(l, place + 1, 32, high);
}

void gw_lower_set_words(struct gw_lowering *l, unsigned at, bool uniform,
			const gw_ir_operand *value, unsigned count)
{
	unsigned place = number_at(l, at, uniform);
	unsigned end = uniform ? GW_SASS_P0 : GW_SASS_RZ;

	for (unsigned i = 0; place != UINT32_MAX && i < count && place + i < end; i++)
		move_guarded(l, place + i, 32, value[i]);
}

void gw_lower_set_predicate(struct gw_lowering *l, unsigned at, gw_ir_operand value)
{
	unsigned number = (unsigned)gw_sass_bits(&l->insn, at, 3);

	if (number != GW_SASS_PT)
		move_guarded(l, number + (l->insn.guard_uniform ? GW_SASS_UP0 : GW_SASS_P0), 1,
			     value);
}

void gw_lower_set_predicate_number(struct gw_lowering *l, unsigned n, gw_ir_operand value)
{
	move_guarded(l, GW_SASS_P0 + n, 1, value);
}

/* ---- unknown values ---- */

gw_ir_operand gw_lower_unknown(struct gw_lowering *l, unsigned bits, const char *note)
{
	gw_ir_operand def = gw_ir_reg(&l->b, bits);
	struct gw_ir_insn insn = {.op = IR_OPAQUE, .bits = (uint8_t)bits};

	insn.aux = gw_ir_note(&l->b, note);
	gw_ir_append(&l->b, insn, &def, 1, NULL, 0);
	return def;
}

void gw_lower_opaque_place(struct gw_lowering *l, unsigned place, const char *note)
{
	unsigned bits = place >= GW_SASS_P0 ? 1 : 32;

	move_guarded(l, place, bits, gw_lower_unknown(l, bits, note));
}

void gw_lower_opaque(struct gw_lowering *l, const char *note)
{
	for (unsigned d = 0; d < l->insn.def_count; d++)
		for (unsigned r = 0; r < l->insn.defs[d].count; r++)
			gw_lower_opaque_place(l, l->insn.defs[d].first + r, note);
}

/* ---- blocks ---- */

static void lower_insn(struct gw_lowering *l, uint32_t index)
{
	gw_cfg_insn(l->cfg, index, &l->insn);
	l->b.source = index;
	l->guard = GW_IR_NONE;
	l->guard_not = l->insn.guard_not;
	if (l->insn.guard != GW_SASS_PT)
		l->guard =
			register_of(l, l->insn.guard + (l->insn.guard_uniform ? 0u + GW_SASS_UP0
									      : 0u + GW_SASS_P0));
	else if (l->insn.guard_not)
		return; /* never runs */
	/* Stands for the instruction whatever becomes of it. */
	gw_ir_append(&l->b, (struct gw_ir_insn){.op = IR_NOP}, NULL, 0, NULL, 0);
	if (gw_lower_acts(&l->insn))
		gw_ir_act(&l->b, !gw_lower_computes(&l->insn));
	if (!gw_lower_alu(l) && !gw_lower_memory(l))
		gw_lower_opaque(l, gw_sass_op_name(l->insn.op));
}

/* The condition on which the block's last instruction goes its way. */
static gw_ir_operand condition(struct gw_lowering *l)
{
	gw_ir_operand guard = gw_lower_predicate(l, 12, 15), other;

	if (l->insn.op == GW_SASS_OP_EXIT || l->insn.op == GW_SASS_OP_RET) {
		other = gw_lower_predicate(l, 87, 90);
	} else if (l->insn.op != GW_SASS_OP_BRA) {
		return guard;
	} else if (l->insn.form == 2) { /* BRA.U UP0 */
		l->insn.guard_uniform = true;
		other = gw_lower_predicate(l, 24, 27);
	} else if (gw_sass_bits(&l->insn, 32, 2)) { /* BRA.DIV UR: lanes of the mask are missing */
		gw_ir_operand mask = gw_lower_reg(l, 24, true), here;

		here = gw_ir_emit(&l->b, IR_ACTIVE, 32, 0, gw_ir_reg(&l->b, 32), 0);
		here = GW_LOWER(l, AND, 32, 0, 2, here, mask);
		other = GW_LOWER(l, CMP, 32, IR_COND_NE, 2, here, mask);
	} else {
		other = gw_lower_predicate(l, 87, 90);
	}
	return GW_LOWER(l, AND, 1, 0, 2, guard, other);
}

uint32_t gw_lower_block_of(const struct gw_lowering *l, uint32_t block)
{
	const struct gw_lowered_function *f = &l->functions[l->function];

	return block - f->first < f->blocks ? f->base + (block - f->first) : l->exit;
}

static void end_indirect(struct gw_lowering *l, const struct gw_cfg_block *block)
{
	uint32_t *to;

	if (gw_lower_table_jump(l))
		return;
	l->indirect = true;
	to = gw_arena_array(l->b.arena, block->succ_count, sizeof(*to));
	for (uint32_t i = 0; to && i < block->succ_count; i++)
		to[i] = gw_lower_block_of(l, l->cfg->edges[block->succ_first + i]);
	if (to && block->succ_count)
		gw_ir_end_switch(&l->b, gw_lower_unknown(l, 32, "the index of an indirect jump"),
				 to, block->succ_count);
	else
		gw_ir_end_jump(&l->b, l->exit);
}

/* A call of a function that is taken in, or passed over. */
static void end_call(struct gw_lowering *l, const struct gw_cfg_block *block, uint32_t next)
{
	bool always = l->insn.guard == GW_SASS_PT, never = gw_lower_never(l, block);
	uint32_t begin;

	if (never && always)
		gw_ir_end_never(&l->b);
	else if (never || !gw_lower_call(l, block, next, &begin))
		gw_ir_end_jump(&l->b, next);
	else if (always)
		gw_ir_end_jump(&l->b, begin);
	else
		gw_ir_end_branch(&l->b, condition(l), false, begin, next);
}

static void end_block(struct gw_lowering *l, const struct gw_cfg_block *block)
{
	const uint32_t *succ = l->cfg->edges + block->succ_first;
	uint32_t next = block->succ_count ? gw_lower_block_of(l, succ[0]) : l->exit;
	uint32_t out = block->end == GW_CFG_RETURN ? l->functions[l->function].after : l->exit;

	switch (block->end) {
	case GW_CFG_BRANCH:
		if (block->succ_count == 2 && succ[0] != succ[1])
			gw_ir_end_branch(&l->b, condition(l), false, next,
					 gw_lower_block_of(l, succ[1]));
		else
			gw_ir_end_jump(&l->b, next);
		break;
	case GW_CFG_EXIT:
	case GW_CFG_RETURN:
		if (block->succ_count && next != out)
			gw_ir_end_branch(&l->b, condition(l), false, out, next);
		else if (out == l->exit)
			gw_ir_end_exit(&l->b);
		else
			gw_ir_end_jump(&l->b, out);
		break;
	case GW_CFG_INDIRECT:
		end_indirect(l, block);
		break;
	case GW_CFG_CALL:
		end_call(l, block, next);
		break;
	default:
		gw_ir_end_jump(&l->b, next);
	}
}

static void lower_block(struct gw_lowering *l, uint32_t index)
{
	const struct gw_cfg_block *block = &l->cfg->blocks[index];

	gw_ir_block_start(&l->b, gw_lower_block_of(l, index));
	l->table.index = GW_IR_NONE;
	if (block->entry != l->functions[l->function].entry) {
		gw_ir_end_exit(&l->b); /* of another function, or of none */
		return;
	}
	for (uint32_t i = block->first; i < block->first + block->count; i++)
		lower_insn(l, i);
	end_block(l, block);
}

static const char *finish(struct gw_sass_lowered *out, struct gw_lowering *l)
{
	struct gw_ir_program *p = &l->b.program;
	const char *wrong;

	p->name = l->kernel->name;
	p->param_bytes = l->kernel->param_bytes;
	p->static_shared = l->kernel->static_shared;
	p->frame_bytes = l->kernel->stack;
	p->from_sass = true;
	if (p->param_bytes)
		gw_ir_add_param(&l->b, &(struct gw_ir_param){NULL, 0, p->param_bytes, 8});
	if (l->b.failed)
		return "no memory for the program";
	wrong = gw_ir_finish(&l->b);
	out->program = l->b.program;
	return wrong;
}

/* The kernel's own blocks have the numbers of the graph's; `exit` is one more, and the blocks of
 * functions that are taken in follow. */
static bool begin(struct gw_lowering *l)
{
	uint32_t count = l->cfg->block_count;

	for (unsigned i = 0; i < GW_SASS_PLACES; i++)
		l->place[i] = GW_IR_NONE;
	l->functions = gw_arena_array(l->b.arena, GW_LOWERED_FUNCTIONS, sizeof(*l->functions));
	if (!l->functions)
		return false;
	for (uint32_t b = 0; b <= count; b++) {
		uint32_t block = gw_ir_block_new(&l->b);

		if (l->b.failed)
			return false;
		l->b.program.blocks[block].tag = b < count ? b : GW_CFG_NONE;
	}
	for (uint32_t i = 0; i < l->cfg->insn_count && !l->pipelined; i++) {
		gw_cfg_insn(l->cfg, i, &l->insn);
		l->pipelined = l->insn.op == GW_SASS_OP_UTMALDG || l->insn.op == GW_SASS_OP_UBLKCP;
	}
	l->exit = count;
	l->functions[0] = (struct gw_lowered_function){.blocks = count, .after = count};
	l->function_count = 1;
	return true;
}

const char *gw_sass_lower(struct gw_sass_lowered *out, const struct gw_cfg *cfg,
			  const struct gw_sass_kernel *kernel, struct gw_arena *arena)
{
	struct gw_lowering l = {.cfg = cfg, .kernel = kernel};

	memset(out, 0, sizeof(*out));
	if (!gw_ir_builder_init(&l.b, arena) || !begin(&l))
		return "no memory for the program";
	for (; l.function < l.function_count; l.function++) {
		const struct gw_lowered_function *f = &l.functions[l.function];

		for (uint32_t b = f->first; b - f->first < f->blocks && !l.b.failed; b++)
			lower_block(&l, b);
	}
	out->calls = l.calls;
	out->indirect = l.indirect;
	gw_ir_block_start(&l.b, l.exit);
	gw_ir_end_exit(&l.b);
	return finish(out, &l);
}
