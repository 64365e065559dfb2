/*
 * What gw_ir_finish() works out: that the program is sound, where lanes meet again (immediate
 * post-dominators), which loops there are, and which registers decide anything.
 *
 * Dominators are found by the iteration of Cooper, Harvey and Kennedy over reverse postorder. Its
 * worst case is quadratic, and input may be hostile: the work is counted and bounded.
 */
#include "predictor/code/ir/ir.h"

#include <string.h>

enum { WORK_MAX = 1 << 27 };

/* A graph in which dominators are looked for: the program's, or the same backwards. */
struct graph {
	uint32_t nodes;       /* blocks, and one more: the root */
	uint32_t *out, *in;   /* first edge of each node in outs, ins; one more at the end */
	uint32_t *outs, *ins; /* nodes */
	uint32_t *order;      /* nodes reached from the root, in reverse postorder */
	uint32_t *number;     /* of a node: its place in order; GW_IR_NONE: not reached */
	uint32_t *idom;       /* of a node: its immediate dominator; the root's is the root */
	uint32_t reached;
};

struct flow {
	struct gw_ir_program *p;
	struct gw_arena *arena;
	uint64_t work;
	/* The exit that lanes are taken to meet before. Those that end elsewhere don't come to meet
	 * anyone: the others need not wait for them until the very end. */
	uint32_t exit;
};

static uint32_t *numbers(struct flow *f, size_t count)
{
	return gw_arena_array(f->arena, count, sizeof(uint32_t));
}

static const char *check_insn(const struct gw_ir_program *p, const struct gw_ir_insn *insn)
{
	const gw_ir_operand *defs = gw_ir_defs(p, insn), *uses = gw_ir_uses(p, insn);

	if (insn->op >= GW_IR_OPS || insn->space >= GW_IR_SPACES)
		return "an instruction of no known kind";
	for (unsigned i = 0; i < insn->defs; i++)
		if (defs[i] != GW_IR_NONE && defs[i] >= p->reg_count)
			return "an instruction writes a register that is not there";
	for (unsigned i = 0; i < insn->uses; i++)
		if (gw_ir_is_constant(uses[i]) ? (uses[i] & ~GW_IR_CONSTANT) >= p->constant_count
					       : uses[i] >= p->reg_count)
			return "an instruction reads a register that is not there";
	if (insn->guard != GW_IR_NONE && insn->guard >= p->reg_count)
		return "a guard that is not there";
	if ((insn->op == IR_ADDR && insn->aux >= p->symbol_count) ||
	    (insn->op == IR_OPAQUE && insn->aux >= p->note_count) ||
	    (insn->op == IR_SREG && insn->aux >= GW_IR_SREGS))
		return "an instruction names a thing that is not there";
	return NULL;
}

static const char *check_counts(const struct gw_ir_insn *insn)
{
	static const uint8_t least[GW_IR_OPS][2] = {
#define IR_OP(name, defs, uses, meaning) {defs, uses},
#include "predictor/code/ir/ir.def"
	};

	return insn->defs < least[insn->op][0] || insn->uses < least[insn->op][1]
		       ? "an instruction lacks operands"
		       : NULL;
}

static const char *check(const struct gw_ir_program *p)
{
	const char *wrong = NULL;

	if (!p->block_count)
		return "a kernel without instructions";
	for (uint32_t i = 0; i < p->insn_count && !wrong; i++) {
		wrong = check_insn(p, &p->insns[i]);
		if (!wrong)
			wrong = check_counts(&p->insns[i]);
	}
	for (uint32_t i = 0; i < p->block_count && !wrong; i++) {
		const struct gw_ir_block *b = &p->blocks[i];

		if (!b->started)
			wrong = "a jump to a place that is not there";
		for (uint32_t s = 0; s < b->succ_count; s++)
			if (p->succs[b->succ_first + s] >= p->block_count)
				wrong = "a jump to a place that is not there";
		if ((b->end == IR_END_BRANCH || b->end == IR_END_SWITCH) &&
		    (gw_ir_is_constant(b->test) ? (b->test & ~GW_IR_CONSTANT) >= p->constant_count
						: b->test >= p->reg_count))
			wrong = "a branch without its predicate";
	}
	return wrong;
}

/* Edge @p s of block @p n, the one beyond its successors being that of the root: into the entry, or
 * backwards into the exit. False when there is no such edge. */
static bool edge(const struct flow *f, bool backwards, uint32_t n, uint32_t s, uint32_t *from,
		 uint32_t *to)
{
	const struct gw_ir_program *p = f->p;
	const struct gw_ir_block *b = &p->blocks[n];

	if (s == b->succ_count) {
		*from = p->block_count;
		*to = n;
		return n == (backwards ? f->exit : 0);
	}
	*from = backwards ? p->succs[b->succ_first + s] : n;
	*to = backwards ? n : p->succs[b->succ_first + s];
	return true;
}

/* Count the edges at each node's place + 2; or, once these are summed up, put them down at the
 * node's place + 1, which thereby moves on to where the next node's begin. */
static void edges_walk(const struct flow *f, struct graph *g, bool backwards, bool put)
{
	const struct gw_ir_program *p = f->p;
	uint32_t from, to;

	for (uint32_t n = 0; n < p->block_count; n++)
		for (uint32_t s = 0; s <= p->blocks[n].succ_count; s++) {
			if (!edge(f, backwards, n, s, &from, &to))
				continue;
			if (put) {
				g->outs[g->out[from + 1]++] = to;
				g->ins[g->in[to + 1]++] = from;
			} else {
				g->out[from + 2]++;
				g->in[to + 2]++;
			}
		}
}

static bool graph_make(struct flow *f, struct graph *g, bool backwards)
{
	const struct gw_ir_program *p = f->p;

	g->nodes = p->block_count + 1;
	g->out = numbers(f, g->nodes + 2);
	g->in = numbers(f, g->nodes + 2);
	g->outs = numbers(f, p->succ_count + g->nodes);
	g->ins = numbers(f, p->succ_count + g->nodes);
	g->order = numbers(f, g->nodes);
	g->number = numbers(f, g->nodes);
	g->idom = numbers(f, g->nodes);
	if (!g->out || !g->in || !g->outs || !g->ins || !g->order || !g->number || !g->idom)
		return false;
	edges_walk(f, g, backwards, false);
	for (uint32_t n = 1; n < g->nodes + 2; n++) {
		g->out[n] += g->out[n - 1];
		g->in[n] += g->in[n - 1];
	}
	edges_walk(f, g, backwards, true);
	return true;
}

/* Number the nodes in reverse postorder of a depth-first walk from the root. */
static bool graph_order(struct flow *f, struct graph *g)
{
	uint32_t *stack = numbers(f, g->nodes), *next = numbers(f, g->nodes);
	uint32_t depth = 0, left = g->nodes, root = g->nodes - 1;

	if (!stack || !next)
		return false;
	memset(g->number, 0xff, g->nodes * sizeof(*g->number));
	memcpy(next, g->out, g->nodes * sizeof(*next));
	stack[depth++] = root;
	g->number[root] = 0;
	while (depth) {
		uint32_t n = stack[depth - 1];

		if (next[n] < g->out[n + 1]) {
			uint32_t to = g->outs[next[n]++];

			if (g->number[to] == GW_IR_NONE) {
				g->number[to] = 0;
				stack[depth++] = to;
			}
		} else {
			g->order[--left] = n;
			depth--;
		}
	}
	g->reached = g->nodes - left;
	memmove(g->order, g->order + left, g->reached * sizeof(*g->order));
	for (uint32_t i = 0; i < g->reached; i++)
		g->number[g->order[i]] = i;
	return true;
}

static uint32_t meet(struct flow *f, const struct graph *g, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (g->number[a] > g->number[b]) {
			a = g->idom[a];
			f->work++;
		}
		while (g->number[b] > g->number[a]) {
			b = g->idom[b];
			f->work++;
		}
	}
	return a;
}

static bool graph_dominators(struct flow *f, struct graph *g)
{
	bool changed = true;

	memset(g->idom, 0xff, g->nodes * sizeof(*g->idom));
	g->idom[g->order[0]] = g->order[0];
	while (changed && f->work < WORK_MAX) {
		changed = false;
		for (uint32_t i = 1; i < g->reached; i++) {
			uint32_t n = g->order[i], best = GW_IR_NONE;

			for (uint32_t e = g->in[n]; e < g->in[n + 1]; e++) {
				uint32_t from = g->ins[e];

				f->work++;
				if (g->number[from] == GW_IR_NONE || g->idom[from] == GW_IR_NONE)
					continue;
				best = best == GW_IR_NONE ? from : meet(f, g, best, from);
			}
			if (best != g->idom[n]) {
				g->idom[n] = best;
				changed = true;
			}
		}
	}
	return !changed;
}

static bool dominates(struct flow *f, const struct graph *g, uint32_t a, uint32_t b)
{
	while (g->number[b] > g->number[a]) {
		b = g->idom[b];
		f->work++;
	}
	return a == b;
}

/* The loop of @p header: what reaches one of its back edges without passing it. Inner headers come
 * later in the order and then overwrite what the outer loop wrote. */
static bool loop_fill(struct flow *f, const struct graph *g, uint32_t header, uint32_t *stack)
{
	struct gw_ir_program *p = f->p;
	struct gw_ir_loop *loop = &p->loops[p->loop_count];
	uint32_t depth = 0, id = p->loop_count;

	*loop = (struct gw_ir_loop){
		.header = header, .parent = p->blocks[header].loop, .blocks = 1};
	for (uint32_t e = g->in[header]; e < g->in[header + 1]; e++) {
		uint32_t from = g->ins[e];

		if (g->number[from] != GW_IR_NONE && from != header && p->blocks[from].loop != id &&
		    dominates(f, g, header, from)) {
			p->blocks[from].loop = id;
			stack[depth++] = from;
		}
	}
	p->blocks[header].loop = id;
	while (depth) {
		uint32_t n = stack[--depth];

		loop->blocks++;
		for (uint32_t e = g->in[n]; e < g->in[n + 1]; e++, f->work++) {
			uint32_t from = g->ins[e];

			if (g->number[from] == GW_IR_NONE || p->blocks[from].loop == id)
				continue;
			p->blocks[from].loop = id;
			stack[depth++] = from;
		}
	}
	loop->depth = loop->parent == GW_IR_NONE ? 1 : p->loops[loop->parent].depth + 1;
	p->loop_count++;
	return f->work < WORK_MAX;
}

static bool is_header(struct flow *f, const struct graph *g, uint32_t n)
{
	for (uint32_t e = g->in[n]; e < g->in[n + 1]; e++)
		if (g->number[g->ins[e]] != GW_IR_NONE && g->ins[e] != g->nodes - 1 &&
		    dominates(f, g, n, g->ins[e]))
			return true;
	return false;
}

/* How many blocks that @p met leaves out lead to block @p to. @p seen marks blocks with @p mark. */
static uint32_t leading_to(struct flow *f, const struct graph *g, uint32_t to, const bool *met,
			   uint32_t *seen, uint32_t mark, uint32_t *stack)
{
	uint32_t depth = 0, count = 0;

	stack[depth++] = to;
	seen[to] = mark;
	while (depth) {
		uint32_t n = stack[--depth];

		count += !met[n];
		f->work++;
		for (uint32_t e = g->in[n]; e < g->in[n + 1]; e++) {
			uint32_t from = g->ins[e];

			if (from == g->nodes - 1 || g->number[from] == GW_IR_NONE ||
			    seen[from] == mark)
				continue;
			seen[from] = mark;
			stack[depth++] = from;
		}
	}
	return count;
}

/* Of the exits that are not met, the one that most blocks lead to that aren't either; of equals
 * the last one, as of very many. GW_IR_NONE: none is left, or there is no room. */
static uint32_t choose_exit(struct flow *f, const struct graph *g, const bool *met)
{
	enum { EXITS = 64 };
	uint32_t *seen = numbers(f, g->nodes), *stack = numbers(f, g->nodes);
	uint32_t best = 0, exits = 0, found = GW_IR_NONE;

	if (!seen || !stack)
		return GW_IR_NONE;
	for (uint32_t i = 1; i < g->reached; i++) {
		uint32_t count = best;

		if (f->p->blocks[g->order[i]].end != IR_END_EXIT || met[g->order[i]])
			continue;
		if (++exits <= EXITS)
			count = leading_to(f, g, g->order[i], met, seen, exits, stack);
		if (count >= best)
			found = g->order[i];
		best = count > best ? count : best;
	}
	return found;
}

static bool find_loops(struct flow *f, const struct graph *g)
{
	struct gw_ir_program *p = f->p;
	uint32_t *stack;

	stack = numbers(f, g->nodes);
	p->loops = gw_arena_array(f->arena, p->block_count, sizeof(*p->loops));
	if (!stack || !p->loops)
		return false;
	for (uint32_t i = 1; i < g->reached; i++)
		p->blocks[g->order[i]].reachable = true;
	for (uint32_t i = 1; i < g->reached; i++)
		if (is_header(f, g, g->order[i]) && !loop_fill(f, g, g->order[i], stack))
			return false;
	return true;
}

/* Where the lanes of each block's branch meet that lead to block @p exit; these are met then. */
static bool meet_before(struct flow *f, uint32_t exit, bool *met)
{
	struct gw_ir_program *p = f->p;
	struct graph g;

	f->exit = exit;
	if (!graph_make(f, &g, true) || !graph_order(f, &g) || !graph_dominators(f, &g))
		return false;
	for (uint32_t n = 0; n < p->block_count; n++) {
		if (g.number[n] == GW_IR_NONE || met[n])
			continue;
		if (g.idom[n] != p->block_count)
			p->blocks[n].ipdom = g.idom[n];
		met[n] = true;
	}
	return true;
}

/* As if a kernel had one exit; blocks that don't lead there have one of their own. */
static bool find_meeting_points(struct flow *f, const struct graph *g)
{
	enum { ROUNDS = 8 };
	bool *met = gw_arena_array(f->arena, g->nodes, sizeof(*met));

	if (!met)
		return false;
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint32_t exit = choose_exit(f, g, met);

		if (exit == GW_IR_NONE)
			break;
		if (!meet_before(f, exit, met))
			return false;
	}
	return !f->arena->refused;
}

/* The blocks' source instructions: runs of one source number count once. */
static void count_sources(struct gw_ir_program *p)
{
	for (uint32_t n = 0; n < p->block_count; n++) {
		struct gw_ir_block *b = &p->blocks[n];
		uint32_t last = UINT32_MAX;

		b->sources = 0;
		for (uint32_t i = b->first; i < b->first + b->count; i++)
			if (p->insns[i].source != last) {
				last = p->insns[i].source;
				b->sources++;
			}
		if (b->end != IR_END_JUMP && b->end_source != last)
			b->sources++;
	}
}

const char *gw_ir_finish(struct gw_ir_builder *b)
{
	struct flow f = {.p = &b->program, .arena = b->arena};
	const char *wrong;
	struct graph g;

	if (b->failed)
		return "the kernel is larger than what may be analysed";
	wrong = check(f.p);
	if (wrong)
		return wrong;
	gw_ir_drop_never(f.p);
	count_sources(f.p);
	if (!graph_make(&f, &g, false) || !graph_order(&f, &g) || !graph_dominators(&f, &g) ||
	    !find_loops(&f, &g) || !find_meeting_points(&f, &g))
		return b->arena->refused ? "no room to analyse the kernel's control flow"
					 : "the kernel's control flow is too tangled to analyse";
	if (!gw_ir_find_relevance(f.p, b->arena))
		return "no room to analyse the kernel's registers";
	return NULL;
}
