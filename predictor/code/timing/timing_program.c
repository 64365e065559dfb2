/* A kernel as stretches of code that are timed: bodies of innermost loops, and other blocks. */
#include "predictor/code/timing/timing.h"

#include <string.h>

static enum gw_time_class class_of(const struct gw_ir_insn *insn)
{
	bool shared = insn->space == IR_SPACE_SHARED || insn->space == IR_SPACE_CLUSTER;

	switch ((enum gw_ir_op)insn->op) {
	case IR_FADD:
	case IR_FMUL:
	case IR_FFMA:
	case IR_FMIN:
	case IR_FMAX:
	case IR_FNEG:
	case IR_FABS:
	case IR_FSAT:
	case IR_FCMP:
		return insn->bits == 64 ? GW_TIME_fp64 : GW_TIME_fp32;
	case IR_FDIV:
	case IR_DIVS:
	case IR_DIVU:
	case IR_REMS:
	case IR_REMU:
		return GW_TIME_div;
	case IR_FSQRT:
	case IR_S2F:
	case IR_U2F:
	case IR_F2S:
	case IR_F2U:
	case IR_F2F:
	case IR_FRINT:
		return GW_TIME_sfu;
	case IR_MUL:
	case IR_MULHS:
	case IR_MULHU:
	case IR_MULWS:
	case IR_MULWU:
		return GW_TIME_imad;
	case IR_LD:
	case IR_ST:
		if (insn->space == IR_SPACE_PARAM || insn->space == IR_SPACE_CONST)
			return GW_TIME_constant;
		return shared ? GW_TIME_shared : GW_TIME_mem;
	case IR_ATOM:
	case IR_RED:
		return shared ? GW_TIME_shared : GW_TIME_atomic;
	case IR_SHFL:
		return GW_TIME_shared;
	case IR_BAR:
		return GW_TIME_barrier;
	default:
		return GW_TIME_int;
	}
}

/* What is compiled away: it takes no time. */
static bool is_free(const struct gw_ir_insn *insn)
{
	return insn->op == IR_NOP || insn->op == IR_MOV || insn->op == IR_FENCE ||
	       insn->op == IR_TOGEN || insn->op == IR_FROMGEN || insn->op == IR_ZEXT;
}

/** A stretch being collected. */
struct stretch {
	const struct gw_ir_program *program;
	struct gw_time_insn code[GW_TIME_INSNS];
	uint32_t count, values;
	uint32_t *number; /* per register: its value's number in this stretch; 0: none yet */
	struct gw_time_part part;
};

static uint32_t value_of(struct stretch *s, gw_ir_operand o)
{
	if (gw_ir_is_constant(o) || o >= s->program->reg_count)
		return 0;
	if (!s->number[o])
		s->number[o] = s->values++;
	return s->number[o];
}

static void append(struct stretch *s, const struct gw_ir_insn *insn)
{
	const struct gw_ir_program *p = s->program;
	struct gw_time_insn *now = &s->code[s->count];
	unsigned sources = 0;

	if (is_free(insn)) {
		/* The value is its source's, under another name. */
		if (insn->defs == 1 && insn->uses >= 1 && gw_ir_defs(p, insn)[0] < p->reg_count)
			s->number[gw_ir_defs(p, insn)[0]] = value_of(s, gw_ir_uses(p, insn)[0]);
		return;
	}
	if (s->count == GW_TIME_INSNS)
		return;
	*now = (struct gw_time_insn){.cls = (uint8_t)class_of(insn)};
	for (unsigned i = 0; i < insn->uses && sources < 7; i++)
		now->source[sources++] = value_of(s, gw_ir_uses(p, insn)[i]);
	if (insn->guard != GW_IR_NONE)
		now->source[sources] = value_of(s, insn->guard);
	for (unsigned i = 0; i < insn->defs; i++) {
		gw_ir_operand def = gw_ir_defs(p, insn)[i];

		/* A new value, though the register be old: what waited for the old one has it. */
		if (def >= p->reg_count)
			continue;
		s->number[def] = s->values++;
		if (i < 4)
			now->result[i] = s->number[def];
	}
	s->count++;
	s->part.all.lat[now->cls]++;
	s->part.insns++;
	s->part.loads += insn->op == IR_LD && now->cls == GW_TIME_mem;
}

static void append_block(struct stretch *s, uint32_t block)
{
	const struct gw_ir_block *b = &s->program->blocks[block];

	for (uint32_t i = 0; i < b->count; i++)
		append(s, &s->program->insns[b->first + i]);
	if (b->end == IR_END_JUMP || b->end == IR_END_EXIT || s->count == GW_TIME_INSNS)
		return;
	s->code[s->count++] =
		(struct gw_time_insn){.cls = GW_TIME_br, .source = {value_of(s, b->test)}};
	s->part.all.lat[GW_TIME_br]++;
	s->part.insns++;
}

/* Time what was collected, as a part of @p out, and begin anew. */
static bool finish(struct stretch *s, struct gw_timing *out)
{
	/* Values, for the calculation's length only. */
	struct gw_arena scratch;
	bool fine = true;

	if (s->count) {
		gw_arena_init(&scratch, 64 << 20);
		/* Between iterations and blocks only what is waited for counts. */
		fine = gw_time_of(s->code, s->count, s->values, false, &scratch, &s->part.time);
		gw_arena_free(&scratch);
		if (s->count == GW_TIME_INSNS)
			s->part.time.incomplete = true;
		out->part[out->count++] = s->part;
	}
	memset(s->number, 0, s->program->reg_count * sizeof(*s->number));
	s->count = 0;
	s->values = 1;
	return fine;
}

/* A loop without loops inside. */
static bool innermost(const struct gw_ir_program *p, uint32_t loop)
{
	for (uint32_t i = 0; i < p->loop_count; i++)
		if (p->loops[i].parent == loop)
			return false;
	return loop != GW_IR_NONE;
}

static bool time_loop(struct stretch *s, uint32_t loop, struct gw_timing *out)
{
	const struct gw_ir_program *p = s->program;

	s->part = (struct gw_time_part){.block = p->loops[loop].header, .loop = true};
	for (unsigned iteration = 0; iteration < 2; iteration++)
		for (uint32_t b = 0; b < p->block_count; b++)
			if (p->blocks[b].loop == loop && p->blocks[b].reachable)
				append_block(s, b);
	s->part.insns /= 2;
	s->part.loads /= 2;
	return finish(s, out);
}

const char *gw_timing_of(const struct gw_ir_program *program, struct gw_arena *arena,
			 struct gw_timing *out)
{
	static const char no_room[] = "the timing needs more memory than the analysis may use";
	struct stretch *s = gw_arena_array(arena, 1, sizeof(*s));

	*out = (struct gw_timing){0};
	out->part = gw_arena_array(arena, (size_t)program->block_count + program->loop_count,
				   sizeof(*out->part));
	if (!s || !out->part)
		return no_room;
	s->program = program;
	s->values = 1;
	s->number = gw_arena_array(arena, program->reg_count, sizeof(*s->number));
	if (!s->number)
		return no_room;
	for (uint32_t i = 0; i < program->loop_count; i++)
		if (innermost(program, i) && !time_loop(s, i, out))
			return no_room;
	for (uint32_t b = 0; b < program->block_count; b++) {
		if (!program->blocks[b].reachable || innermost(program, program->blocks[b].loop))
			continue;
		s->part = (struct gw_time_part){.block = b};
		append_block(s, b);
		if (!finish(s, out))
			return no_room;
	}
	return NULL;
}
