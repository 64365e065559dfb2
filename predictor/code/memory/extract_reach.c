/* Which definitions of a register reach a place. */
#include "predictor/code/memory/extract_parts.h"

#include <string.h>

enum { STEPS = 4000000 /* instructions looked at for one kernel's slices */ };

static void count_defs(struct gw_slicer *s)
{
	const struct gw_ir_program *p = s->program;

	for (uint32_t r = 0; r < p->reg_count; r++)
		s->only_def[r] = GW_DEF_NONE;
	for (uint32_t i = 0; i < p->insn_count; i++)
		for (unsigned d = 0; d < p->insns[i].defs; d++) {
			gw_ir_operand reg = gw_ir_defs(p, &p->insns[i])[d];
			bool first = reg < p->reg_count && s->only_def[reg] == GW_DEF_NONE;

			/* Under a guard the register may keep an earlier value. */
			if (reg < p->reg_count)
				s->only_def[reg] =
					first && p->insns[i].guard == GW_IR_NONE ? i : GW_DEF_MANY;
		}
}

/* Predecessors as runs: counted, summed up, filled in from the back. */
static void find_preds(struct gw_slicer *s)
{
	const struct gw_ir_program *p = s->program;

	for (uint32_t i = 0; i < p->succ_count; i++)
		s->pred_first[p->succs[i]]++;
	for (uint32_t b = 1; b <= p->block_count; b++)
		s->pred_first[b] += s->pred_first[b - 1];
	for (uint32_t b = 0; b < p->block_count; b++)
		for (uint32_t i = 0; i < p->blocks[b].succ_count; i++)
			s->preds[--s->pred_first[p->succs[p->blocks[b].succ_first + i]]] = b;
	for (uint32_t b = 0; b < p->block_count; b++)
		for (uint32_t i = 0; i < p->blocks[b].count; i++)
			s->block_of[p->blocks[b].first + i] = b;
}

static bool find_lines(struct gw_slicer *s, struct gw_bytes ptx)
{
	const char *text = (const char *)ptx.data, *end = text + ptx.size;
	uint32_t count = 1;

	if (!ptx.size)
		return true;
	for (const char *at = text; at < end; at++)
		count += *at == '\n';
	s->line = gw_arena_array(s->arena, (size_t)count + 1, sizeof(*s->line));
	if (!s->line)
		return false;
	s->line[s->line_count++] = text;
	for (const char *at = text; at < end; at++)
		if (*at == '\n')
			s->line[s->line_count++] = at + 1;
	s->line[s->line_count] = end;
	return true;
}

bool gw_slicer_init(struct gw_slicer *s, const struct gw_ir_program *program, struct gw_bytes ptx,
		    struct gw_arena *arena)
{
	*s = (struct gw_slicer){.program = program, .arena = arena, .steps = STEPS};
	s->block_of = gw_arena_array(arena, program->insn_count, sizeof(uint32_t));
	s->only_def = gw_arena_array(arena, program->reg_count, sizeof(uint32_t));
	s->pred_first = gw_arena_array(arena, (size_t)program->block_count + 1, sizeof(uint32_t));
	s->preds = gw_arena_array(arena, program->succ_count, sizeof(uint32_t));
	s->stack = gw_arena_array(arena, program->block_count, sizeof(uint32_t));
	s->visited = gw_arena_array(arena, program->block_count, sizeof(uint32_t));
	if (!s->block_of || !s->only_def || !s->pred_first || !s->preds || !s->stack ||
	    !s->visited || !find_lines(s, ptx))
		return false;
	count_defs(s);
	find_preds(s);
	return true;
}

static bool defines(const struct gw_ir_program *p, const struct gw_ir_insn *insn, uint32_t reg)
{
	for (unsigned d = 0; d < insn->defs; d++)
		if (gw_ir_defs(p, insn)[d] == reg)
			return true;
	return false;
}

static void note(struct gw_reaching *out, uint32_t insn)
{
	for (uint32_t i = 0; i < out->count && i < GW_REACHING_MAX; i++)
		if (out->insn[i] == insn)
			return;
	if (out->count < GW_REACHING_MAX)
		out->insn[out->count] = insn;
	out->count++;
}

/* Look back in a block from @p end (not itself) to its start; false when a definition was found
 * that no earlier one passes. */
static bool scan(struct gw_slicer *s, uint32_t block, uint32_t end, uint32_t reg,
		 struct gw_reaching *out)
{
	const struct gw_ir_program *p = s->program;

	for (uint32_t i = end; i-- > p->blocks[block].first;) {
		if (s->steps)
			s->steps--;
		if (!defines(p, &p->insns[i], reg))
			continue;
		note(out, i);
		if (p->insns[i].guard == GW_IR_NONE)
			return false;
	}
	return true;
}

static uint32_t push_preds(struct gw_slicer *s, uint32_t block, uint32_t depth)
{
	for (uint32_t i = s->pred_first[block]; i < s->pred_first[block + 1]; i++)
		if (s->visited[s->preds[i]] != s->search) {
			s->visited[s->preds[i]] = s->search;
			s->stack[depth++] = s->preds[i];
		}
	return depth;
}

void gw_slicer_reaching(struct gw_slicer *s, uint32_t reg, uint32_t insn, struct gw_reaching *out)
{
	const struct gw_ir_program *p = s->program;
	uint32_t block = s->block_of[insn], depth = 0;

	*out = (struct gw_reaching){0};
	if (s->only_def[reg] != GW_DEF_MANY) {
		if (s->only_def[reg] != GW_DEF_NONE)
			note(out, s->only_def[reg]);
		return;
	}
	s->search++;
	if (scan(s, block, insn, reg, out))
		depth = push_preds(s, block, depth);
	while (depth > 0 && out->count <= GW_REACHING_MAX && s->steps) {
		block = s->stack[--depth];
		if (scan(s, block, p->blocks[block].first + p->blocks[block].count, reg, out))
			depth = push_preds(s, block, depth);
	}
	if (!s->steps)
		out->count = GW_REACHING_MAX + 1;
}

gw_ir_operand gw_slicer_through_moves(struct gw_slicer *s, gw_ir_operand o, uint32_t *insn)
{
	const struct gw_ir_program *p = s->program;
	struct gw_reaching r;

	for (unsigned i = 0; i < 8 && !gw_ir_is_constant(o); i++) {
		gw_slicer_reaching(s, o, *insn, &r);
		if (r.count != 1 || p->insns[r.insn[0]].op != IR_MOV)
			break;
		*insn = r.insn[0];
		o = gw_ir_uses(p, &p->insns[*insn])[0];
	}
	return o;
}

bool gw_slicer_in_loop(const struct gw_slicer *s, uint32_t loop, uint32_t insn)
{
	const struct gw_ir_program *p = s->program;
	uint32_t at = p->blocks[s->block_of[insn]].loop;

	while (at != GW_IR_NONE && at != loop)
		at = p->loops[at].parent;
	return at == loop;
}
