/* The intermediate form's names, and the builder that front ends write it with. */
#include "predictor/code/ir/ir.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

/* Most of anything a program may have: far beyond any kernel, and indices stay below
 * GW_IR_CONSTANT. */
enum { COUNT_MAX = 1 << 22, NOTES_MAX = 4096 };

struct gw_ir_build {
	uint32_t insns, blocks, symbols, params, operands, constants, succs, widths, notes;
	uint32_t current; /* the block that awaits its end; GW_IR_NONE: none */
};

static const char *const op_names[] = {
#define IR_OP(name, defs, uses, meaning) #name,
#include "predictor/code/ir/ir.def"
};
static const char *const sreg_names[] = {
#define IR_SREG(name, meaning) #name,
#include "predictor/code/ir/ir.def"
};
static const char *const space_texts[] = {
#define IR_SPACE(name, text) text,
#include "predictor/code/ir/ir.def"
};
static const char *const why_texts[] = {
	"it is known",
#define IR_WHY(name, text) text,
#include "predictor/code/ir/ir.def"
};

const char *gw_ir_op_name(enum gw_ir_op op)
{
	return (unsigned)op < GW_IR_OPS ? op_names[op] : "?";
}

const char *gw_ir_sreg_name(enum gw_ir_sreg sreg)
{
	return (unsigned)sreg < GW_IR_SREGS ? sreg_names[sreg] : "?";
}

const char *gw_ir_space_name(enum gw_ir_space space)
{
	return (unsigned)space < GW_IR_SPACES ? space_texts[space] : "?";
}

const char *gw_why_text(enum gw_why why)
{
	return (unsigned)why < GW_WHYS ? why_texts[why] : "?";
}

bool gw_ir_builder_init(struct gw_ir_builder *b, struct gw_arena *arena)
{
	*b = (struct gw_ir_builder){.arena = arena, .guard = GW_IR_NONE};
	b->grow = gw_arena_array(arena, 1, sizeof(*b->grow));
	b->failed = !b->grow;
	if (b->grow)
		b->grow->current = GW_IR_NONE;
	return !b->failed;
}

/* Room for @p more elements behind @p count in @p array, whose capacity is @p room: the array,
 * perhaps at a new place, or NULL. */
static void *grown(struct gw_ir_builder *b, void *array, uint32_t count, uint32_t more,
		   uint32_t *room, size_t size)
{
	uint32_t wanted = *room ? *room : 64;
	void *out;

	if (b->failed || more > COUNT_MAX || count > COUNT_MAX - more) {
		b->failed = true;
		return NULL;
	}
	if (count + more <= *room)
		return array;
	while (wanted < count + more)
		wanted *= 2;
	out = gw_arena_array(b->arena, wanted, size);
	if (!out) {
		b->failed = true;
		return NULL;
	}
	if (count)
		memcpy(out, array, count * size);
	*room = wanted;
	return out;
}

/* Make room in one of the program's arrays; false when there is none. */
#define GROW(b, field, count, room, more) \
	grow_into(b, (void **)&(b)->program.field, (b)->program.count, more, &(b)->grow->room, \
		  sizeof(*(b)->program.field))

static bool grow_into(struct gw_ir_builder *b, void **array, uint32_t count, uint32_t more,
		      uint32_t *room, size_t size)
{
	void *out = grown(b, *array, count, more, room, size);

	if (!out)
		return false;
	*array = out;
	return true;
}

gw_ir_operand gw_ir_reg(struct gw_ir_builder *b, unsigned bits)
{
	if (b->failed || !GROW(b, widths, reg_count, widths, 1))
		return GW_IR_NONE;
	b->program.widths[b->program.reg_count] = (uint8_t)bits;
	return b->program.reg_count++;
}

gw_ir_operand gw_ir_const(struct gw_ir_builder *b, uint64_t value)
{
	struct gw_ir_program *p = &b->program;

	/* Neighbours often share a constant: zero offsets, strides. */
	for (uint32_t n = 0; n < 16 && n < p->constant_count; n++)
		if (p->constants[p->constant_count - 1 - n] == value)
			return GW_IR_CONSTANT | (p->constant_count - 1 - n);
	if (b->failed || !GROW(b, constants, constant_count, constants, 1))
		return GW_IR_NONE;
	p->constants[p->constant_count] = value;
	return GW_IR_CONSTANT | p->constant_count++;
}

uint16_t gw_ir_note(struct gw_ir_builder *b, const char *note)
{
	struct gw_ir_program *p = &b->program;

	for (uint32_t n = 0; n < p->note_count; n++)
		if (!strcmp(p->notes[n], note))
			return (uint16_t)n;
	if (p->note_count == NOTES_MAX)
		return NOTES_MAX - 1;
	if (b->failed || !GROW(b, notes, note_count, notes, 1))
		return 0;
	p->notes[p->note_count] = note;
	return (uint16_t)p->note_count++;
}

uint32_t gw_ir_add_symbol(struct gw_ir_builder *b, const struct gw_ir_symbol *symbol)
{
	/* IR_ADDR holds the index in 16 bits. */
	if (b->program.symbol_count == UINT16_MAX)
		b->failed = true;
	if (b->failed || !GROW(b, symbols, symbol_count, symbols, 1))
		return 0;
	b->program.symbols[b->program.symbol_count] = *symbol;
	return b->program.symbol_count++;
}

uint32_t gw_ir_add_param(struct gw_ir_builder *b, const struct gw_ir_param *param)
{
	if (b->failed || !GROW(b, params, param_count, params, 1))
		return 0;
	b->program.params[b->program.param_count] = *param;
	return b->program.param_count++;
}

void gw_ir_act(struct gw_ir_builder *b, bool touches)
{
	if (!b->failed && b->grow->current == GW_IR_NONE)
		gw_ir_block_open(b);
	if (b->failed)
		return;
	b->program.blocks[b->grow->current].acts = true;
	b->program.blocks[b->grow->current].touches |= touches;
}

static bool acts(const struct gw_ir_insn *insn)
{
	switch (insn->op) {
	case IR_OPAQUE:
	case IR_ATOM:
	case IR_RED:
	case IR_ST:
	case IR_FENCE:
		return true;
	case IR_LD:
		return insn->space != IR_SPACE_PARAM;
	case IR_BAR:
		return insn->aux != IR_BARRIER_MEMORY;
	default:
		return false;
	}
}

struct gw_ir_insn *gw_ir_append(struct gw_ir_builder *b, struct gw_ir_insn insn,
				const gw_ir_operand *defs, unsigned def_count,
				const gw_ir_operand *uses, unsigned use_count)
{
	struct gw_ir_program *p = &b->program;

	if (def_count > GW_IR_DEFS_MAX || use_count > GW_IR_USES_MAX || b->failed) {
		b->failed = true;
		return NULL;
	}
	if (b->grow->current == GW_IR_NONE)
		gw_ir_block_open(b);
	if (!GROW(b, insns, insn_count, insns, 1) ||
	    !GROW(b, operands, operand_count, operands, def_count + use_count))
		return NULL;
	insn.defs = (uint8_t)def_count;
	insn.uses = (uint8_t)use_count;
	insn.first = p->operand_count;
	insn.guard = b->guard;
	insn.guard_not = b->guard_not;
	insn.source = b->source;
	if (def_count)
		memcpy(p->operands + p->operand_count, defs, def_count * sizeof(*defs));
	p->operand_count += def_count;
	if (use_count)
		memcpy(p->operands + p->operand_count, uses, use_count * sizeof(*uses));
	p->operand_count += use_count;
	p->insns[p->insn_count] = insn;
	p->blocks[b->grow->current].acts |= acts(&insn);
	p->blocks[b->grow->current].touches |= acts(&insn) && insn.op != IR_OPAQUE;
	p->blocks[b->grow->current].count++;
	return &p->insns[p->insn_count++];
}

gw_ir_operand gw_ir_emit(struct gw_ir_builder *b, enum gw_ir_op op, unsigned bits, unsigned aux,
			 gw_ir_operand def, unsigned n, ...)
{
	struct gw_ir_insn insn = {.op = (uint16_t)op, .bits = (uint8_t)bits, .aux = (uint16_t)aux};
	gw_ir_operand uses[4];
	va_list list;

	va_start(list, n);
	for (unsigned i = 0; i < n && i < 4; i++)
		uses[i] = va_arg(list, gw_ir_operand);
	va_end(list);
	gw_ir_append(b, insn, &def, 1, uses, n < 4 ? n : 4);
	return def;
}

uint32_t gw_ir_block_new(struct gw_ir_builder *b)
{
	struct gw_ir_program *p = &b->program;

	if (b->failed || !GROW(b, blocks, block_count, blocks, 1))
		return 0;
	p->blocks[p->block_count] =
		(struct gw_ir_block){.test = GW_IR_NONE, .ipdom = GW_IR_NONE, .loop = GW_IR_NONE};
	return p->block_count++;
}

void gw_ir_block_start(struct gw_ir_builder *b, uint32_t block)
{
	struct gw_ir_program *p = &b->program;

	if (b->failed || block >= p->block_count || p->blocks[block].started) {
		b->failed = true;
		return;
	}
	if (b->grow->current != GW_IR_NONE)
		gw_ir_end_jump(b, block);
	p->blocks[block].first = p->insn_count;
	p->blocks[block].started = true;
	b->grow->current = block;
}

uint32_t gw_ir_block_open(struct gw_ir_builder *b)
{
	uint32_t block = gw_ir_block_new(b);

	gw_ir_block_start(b, block);
	return block;
}

static void end_block(struct gw_ir_builder *b, enum gw_ir_end end, gw_ir_operand test,
		      const uint32_t *to, uint32_t count)
{
	struct gw_ir_program *p = &b->program;
	struct gw_ir_block *block;

	if (b->failed)
		return;
	if (b->grow->current == GW_IR_NONE)
		gw_ir_block_open(b);
	if (!GROW(b, succs, succ_count, succs, count ? count : 1))
		return;
	block = &p->blocks[b->grow->current];
	block->end = (uint8_t)end;
	block->test = test;
	block->end_source = b->source;
	block->succ_first = p->succ_count;
	block->succ_count = count;
	if (count)
		memcpy(p->succs + p->succ_count, to, count * sizeof(*to));
	p->succ_count += count;
	b->grow->current = GW_IR_NONE;
}

void gw_ir_end_jump(struct gw_ir_builder *b, uint32_t to)
{
	end_block(b, IR_END_JUMP, GW_IR_NONE, &to, 1);
}

void gw_ir_end_branch(struct gw_ir_builder *b, gw_ir_operand test, bool test_not, uint32_t yes,
		      uint32_t no)
{
	uint32_t to[2] = {yes, no};

	if (!b->failed && b->grow->current == GW_IR_NONE)
		gw_ir_block_open(b);
	if (!b->failed)
		b->program.blocks[b->grow->current].test_not = test_not;
	end_block(b, IR_END_BRANCH, test, to, 2);
}

void gw_ir_end_switch(struct gw_ir_builder *b, gw_ir_operand index, const uint32_t *to,
		      uint32_t count)
{
	end_block(b, IR_END_SWITCH, index, to, count);
}

void gw_ir_end_never(struct gw_ir_builder *b)
{
	if (!b->failed && b->grow->current == GW_IR_NONE)
		gw_ir_block_open(b);
	if (!b->failed)
		b->program.blocks[b->grow->current].never = true;
	gw_ir_end_exit(b);
}

void gw_ir_end_exit(struct gw_ir_builder *b)
{
	end_block(b, IR_END_EXIT, GW_IR_NONE, NULL, 0);
}
