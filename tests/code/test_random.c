/*
 * Programs made at random: what the evaluator stands for, warps, blocks and iterations, is what a
 * plain interpreter of one thread at a time counts, and a grid is the sum of its warps.
 */
#include "predictor/code/eval/warp_equivalence.h"
#include "predictor/code/eval/scalar.h"
#include "predictor/code/ptx/report.h"
#include "tests/test.h"

enum { VARIABLES = 6, TEXT_MAX = 1 << 15, STEPS_MAX = 2000000 };

static uint64_t seed;

static unsigned any(unsigned below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 20) % below;
}

/* A program being written. */
struct text {
	char of[TEXT_MAX];
	size_t length;
	unsigned labels, loops;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	t->length += (size_t)vsnprintf(t->of + t->length, TEXT_MAX - t->length, format, list);
	va_end(list);
	if (t->length >= TEXT_MAX)
		abort();
}

/* %v0 to %v5 are variables; %i and %b each loop's index and bound. */
static void put_value(struct text *t)
{
	static const unsigned numbers[] = {0,  1,  2,  3,  4,   7,   8,
					   12, 31, 32, 64, 100, 255, 0xfffffff0};

	if (any(3))
		put(t, "%%v%u", any(VARIABLES));
	else
		put(t, "%u", numbers[any(COUNT(numbers))]);
}

static void put_operation(struct text *t)
{
	static const char *const names[] = {
		"add.u32", "sub.u32", "mul.lo.u32", "and.b32",    "or.b32",  "xor.b32",
		"shl.b32", "shr.u32", "shr.s32",    "min.s32",    "max.u32", "div.u32",
		"rem.u32", "add.u32", "add.u32",    "mul.lo.u32", "div.s32", "mul.hi.u32"};

	put(t, "%s %%v%u, ", names[any(COUNT(names))], any(VARIABLES));
	put_value(t);
	put(t, ", ");
	if (any(2))
		put(t, "%u;\n", 1 + any(9)); /* also keeps most divisions defined */
	else
		put(t, "%%v%u;\n", any(VARIABLES));
}

static void put_test(struct text *t, unsigned predicate)
{
	static const char *const names[] = {"lt.s32", "ge.s32", "eq.s32", "ne.u32",
					    "lt.u32", "hi.u32", "le.u32", "gt.s32"};

	put(t, "setp.%s %%p%u, %%v%u, ", names[any(8)], predicate, any(VARIABLES));
	put_value(t);
	put(t, ";\n");
}

static void put_body(struct text *t, unsigned depth, unsigned statements);

static void put_if(struct text *t, unsigned depth)
{
	unsigned label = t->labels++;

	put_test(t, 1);
	put(t, "@%%p1 bra E%u;\n", label);
	put_body(t, depth + 1, 1 + any(3));
	if (any(2)) {
		put(t, "bra F%u;\n", label);
		put(t, "E%u:\n", label);
		put_body(t, depth + 1, 1 + any(2));
		put(t, "F%u:\n", label);
	} else {
		put(t, "E%u:\n", label);
	}
}

/* What a loop carries from one iteration to the next, evenly or not. */
static void put_carried(struct text *t, unsigned loop)
{
	unsigned v = any(VARIABLES);

	switch (any(7)) {
	case 0:
		put(t, "add.u32 %%v%u, %%i%u, %%v%u;\n", v, loop, any(VARIABLES));
		break;
	case 1:
		put(t, "mov.u32 %%v%u, %%i%u;\n", v, loop);
		break;
	case 2:
		put(t, "add.u32 %%v%u, %%v%u, %%i%u;\n", v, v, loop);
		break;
	case 3:
		put(t, "add.u32 %%v%u, %%v%u, %u;\n", v, v, any(3) ? 3 : 0x10000000 + any(9));
		break;
	case 4:
		put(t, "mad.lo.u32 %%v%u, %%v%u, 5, 1;\n", v, v);
		break;
	default:
		break;
	}
}

/* Ask for every variable's value, so that a wrong one shows. */
static void put_questions(struct text *t)
{
	static const char *const names[] = {"div.u32", "rem.u32", "shr.u32", "and.b32",
					    "shr.s32", "div.s32", "add.u32"};

	for (unsigned v = 0; v < VARIABLES; v++) {
		put(t, "%s %%r2, %%v%u, %u;\n", names[any(7)], v, 1u << any(5) | any(2));
		put(t, "setp.%s %%p5, %%r2, %u;\n", any(2) ? "lt.s32" : "eq.u32",
		    any(3) ? any(20) : any(1u << 31));
		put(t, "@%%p5 st.global.u32 [%%rd1], %%v0;\n");
		/* Near both ends of what a register holds. */
		put(t, "mad.lo.u32 %%r2, %%v%u, %u, %u;\n", v, any(2) ? 1 : 0x30000001u,
		    any(2) ? 0xfffffffcu : 0x7ffffffcu);
		put(t, "setp.%s %%p5, %%r2, %u;\n", any(2) ? "lt.s32" : "gt.u32", any(20));
		put(t, "@%%p5 st.global.u32 [%%rd1], %%v0;\n");
		put(t, "cvt.s64.s32 %%rd2, %%r2; setp.gt.s64 %%p5, %%rd2, 9;\n");
		put(t, "@%%p5 st.global.u32 [%%rd1], %%v0;\n");
	}
}

/* A loop of few iterations, or of many. */
static void put_loop(struct text *t, unsigned depth)
{
	unsigned loop = t->loops++, label = t->labels++;

	put(t, "mov.u32 %%i%u, %u;\n", loop, any(5));
	if (any(2)) {
		put(t, "and.b32 %%b%u, %%v%u, %u;\n", loop, any(VARIABLES), depth ? 7 : 31);
	} else {
		put(t, "mov.u32 %%b%u, %u;\n", loop, any(depth ? 20 : 900));
	}
	put(t, "L%u:\n", label);
	put_body(t, depth + 1, 1 + any(3));
	put_carried(t, loop);
	put(t, "add.u32 %%i%u, %%i%u, %u;\n", loop, loop, 1 + any(3));
	put(t, "setp.lt.u32 %%p2, %%i%u, %%b%u;\n@%%p2 bra L%u;\n", loop, loop, label);
}

static void put_body(struct text *t, unsigned depth, unsigned statements)
{
	for (unsigned n = 0; n < statements; n++) {
		unsigned what = any(10);

		if (what < 2 && depth < 3) {
			put_if(t, depth);
		} else if (what < 4 && depth < 2) {
			put_loop(t, depth);
		} else if (what < 6) {
			put(t, "st.global.u32 [%%rd1], %%v0;\n");
		} else if (what == 6) {
			put_test(t, 3);
			put(t, "@%%p3 st.global.u32 [%%rd1], %%v0;\n");
		} else if (what == 7 && any(4) == 0) {
			put_test(t, 4);
			put(t, "@%%p4 exit;\n");
		} else {
			put_operation(t);
		}
	}
}

static void write_program(struct text *t)
{
	memset(t, 0, sizeof(*t));
	put(t,
	    ".version 8.0\n.target sm_90\n.address_size 64\n"
	    ".entry k(.param .u32 n, .param .u64 x)\n{\n.reg .pred %%p<8>; .reg .b32 %%v<8>;\n"
	    ".reg .b32 %%i<99>; .reg .b32 %%b<99>; .reg .b32 %%r<9>; .reg .b64 %%rd<3>;\n"
	    "ld.param.u32 %%v4, [n]; ld.param.u64 %%rd1, [x];\nmov.u32 %%r1, %%ntid.x;\n"
	    "mov.u32 %%v0, %%tid.x; mov.u32 %%v1, %%ctaid.x; mov.u32 %%v2, %%ctaid.y;\n"
	    "mad.lo.u32 %%v3, %%v1, %%r1, %%v0; mov.u32 %%v5, %u;\n",
	    any(1000));
	put_body(t, 0, 4 + any(6));
	put_questions(t);
	put(t, "ret;\n}\n");
}

/* One thread, interpreted. */
struct thread {
	const struct gw_ir_program *p;
	const struct gw_eval_launch *launch;
	struct gw_dim3 tid, ctaid;
	uint64_t *regs;
	double *runs; /* of each instruction: lanes that ran it */
	unsigned steps;
};

static uint64_t value(const struct thread *t, gw_ir_operand o)
{
	return gw_ir_is_constant(o) ? gw_ir_constant(t->p, o) : t->regs[o];
}

static uint64_t special(const struct thread *t, unsigned sreg)
{
	switch (sreg) {
	case IR_SREG_TID_X:
		return t->tid.x;
	case IR_SREG_CTAID_X:
		return t->ctaid.x;
	case IR_SREG_CTAID_Y:
		return t->ctaid.y;
	case IR_SREG_NTID_X:
		return t->launch->config.block.x;
	default:
		abort();
	}
}

/* False: a division that isn't defined; the program is of no use. */
static bool step(struct thread *t, uint32_t index)
{
	const struct gw_ir_insn *insn = &t->p->insns[index];
	const gw_ir_operand *defs = gw_ir_defs(t->p, insn), *uses = gw_ir_uses(t->p, insn);
	uint64_t in[4] = {0}, out = 0;

	if (insn->guard != GW_IR_NONE && (t->regs[insn->guard] != 0) == insn->guard_not)
		return true;
	t->runs[index]++;
	for (unsigned n = 0; n < insn->uses && n < 4; n++)
		in[n] = value(t, uses[n]);
	if (insn->op == IR_ST)
		return true;
	if (insn->op == IR_SREG)
		out = special(t, insn->aux);
	else if (insn->op == IR_LD)
		gw_bytes_get(t->launch->arguments, in[0], &out, insn->width);
	else if (!gw_scalar((enum gw_ir_op)insn->op, insn->bits, insn->aux, t->p->widths[defs[0]],
			    in, &out))
		return false;
	t->regs[defs[0]] = out;
	return true;
}

static bool interpret(struct thread *t)
{
	uint32_t block = 0;

	for (;;) {
		const struct gw_ir_block *b = &t->p->blocks[block];
		bool yes;

		for (uint32_t i = b->first; i < b->first + b->count; i++)
			if (t->steps++ > STEPS_MAX || !step(t, i))
				return false;
		if (b->end == IR_END_EXIT)
			return true;
		yes = b->end == IR_END_JUMP || (value(t, b->test) != 0) != b->test_not;
		block = t->p->succs[b->succ_first + !yes];
	}
}

/* Lanes' executions by instruction, as the evaluator's events tell. */
static void add_event(void *arg, const struct gw_eval_access *x)
{
	double *runs = arg;

	runs[x->insn] += (double)gw_eval_times(x) * __builtin_popcount(x->active);
}

/* A warp's first accesses in their order. */
enum { MADE_MOST = 6000 };
struct accesses {
	struct gw_eval_access made[MADE_MOST];
	uint32_t count;
};

static void note(void *arg, const struct gw_eval_access *x)
{
	struct accesses *c = arg;

	if (c->count < MADE_MOST)
		c->made[c->count] = *x;
	c->count++;
}

static bool same_access(const struct gw_eval_access *a, const struct gw_eval_access *b)
{
	bool same = a->insn == b->insn && a->space == b->space && a->warp == b->warp &&
		    a->active == b->active && a->certain == b->certain && a->bytes == b->bytes &&
		    a->repeats == b->repeats && a->unbounded == b->unbounded &&
		    !memcmp(&a->block, &b->block, sizeof(a->block));

	for (unsigned lane = 0; lane < GW_LANES && same; lane++)
		if (a->active >> lane & 1)
			same = a->base[lane] == b->base[lane] &&
			       (a->base[lane] == GW_BASE_UNKNOWN ||
				a->address[lane] == b->address[lane]);
	for (uint32_t i = 0; i < a->repeats && same; i++)
		same = a->repeat[i].count == b->repeat[i].count &&
		       a->repeat[i].step == b->repeat[i].step &&
		       a->repeat[i].linear == b->repeat[i].linear;
	return same;
}

/* A warp that is not run because another is like it makes the accesses that it makes when it is;
 * returns how many were not run. */
static unsigned alike_agree(const struct gw_ir_program *p, const struct gw_eval_launch *launch,
			    struct gw_eval *e, struct gw_arena *arena, unsigned number)
{
	static const struct gw_eval_limits limits = {.steps = 4000000, .warp_steps = 1000000};
	static struct accesses run, reported;
	struct gw_eval *own = gw_eval_new(p, launch, &limits, arena);
	struct gw_warp_equivalence *alike = gw_warp_equivalence_new(own, &limits, arena);
	uint32_t warps = (launch->config.block.x + 31) / 32;
	unsigned spared = 0;

	assert_non_null(own);
	assert_non_null(alike);
	for (uint32_t n = 0; n < warps * 14; n++) {
		struct gw_dim3 block = {n / warps % 7, n / warps / 7, 0};
		struct gw_eval_warp_report one;
		struct gw_warp_equivalence_report two;

		run.count = reported.count = 0;
		assert_null(gw_eval_warp(e, block, n % warps, note, &run, &one));
		assert_null(
			gw_warp_equivalence_warp(alike, block, n % warps, note, &reported, &two));
		if (run.count != reported.count || one.complete != two.complete)
			fail_msg("program %u, block %u,%u, warp %u: %u accesses, %u reported",
				 number, block.x, block.y, n % warps, run.count, reported.count);
		for (uint32_t i = 0; i < run.count && i < MADE_MOST; i++)
			if (!same_access(&run.made[i], &reported.made[i]))
				fail_msg("program %u, block %u,%u, warp %u: access %u of %u is "
					 "another one",
					 number, block.x, block.y, n % warps, i, run.count);
		spared += two.steps != one.steps;
	}
	return spared;
}

/* False: the program divides by zero or runs too long somewhere, and shows nothing. */
static bool threads_agree(struct gw_eval *e, const struct thread *model, uint32_t warp,
			  unsigned number)
{
	const struct gw_ir_program *p = model->p;
	struct gw_eval_warp_report report;
	double *events = calloc(p->insn_count, sizeof(*events));
	bool useful = true;
	struct thread t = *model;

	memset(t.runs, 0, p->insn_count * sizeof(*t.runs));
	assert_null(gw_eval_warp(e, t.ctaid, warp, add_event, events, &report));
	for (uint32_t lane = 0; lane < 32 && useful; lane++) {
		t.tid.x = 32 * warp + lane;
		t.steps = 0;
		memset(t.regs, 0, p->reg_count * sizeof(*t.regs));
		if (t.tid.x < t.launch->config.block.x)
			useful = interpret(&t);
	}
	useful = useful && report.complete && report.control_known;
	for (uint32_t i = 0; i < p->insn_count && useful; i++)
		if (p->insns[i].op == IR_ST && events[i] != t.runs[i])
			fail_msg("program %u, block %u,%u, warp %u, line %u: %g lanes, %g "
				 "interpreted",
				 number, t.ctaid.x, t.ctaid.y, warp, p->insns[i].source, events[i],
				 t.runs[i]);
	free(events);
	return useful;
}

/* The grid's counts are its warps' sum. */
static void grid_agrees(const struct gw_ir_program *p, const struct gw_eval_launch *launch,
			struct gw_eval *e, struct gw_arena *arena, unsigned number)
{
	double *sum = calloc(p->insn_count, sizeof(*sum));
	uint32_t warps = (launch->config.block.x + 31) / 32;
	struct gw_eval_warp_report one;
	struct gw_eval_report grid;

	assert_null(gw_eval_grid(p, launch, NULL, NULL, NULL, arena, &grid));
	for (uint32_t y = 0; y < launch->config.grid.y; y++)
		for (uint32_t x = 0; x < launch->config.grid.x; x++)
			for (uint32_t w = 0; w < warps; w++) {
				assert_null(gw_eval_warp(e, (struct gw_dim3){x, y, 0}, w, NULL,
							 NULL, &one));
				for (uint32_t i = 0; i < p->insn_count; i++)
					sum[i] += one.insns[i].least;
			}
	if (grid.coverage == GW_COVER_EXACT)
		for (uint32_t i = 0; i < p->insn_count; i++)
			if (p->insns[i].op == IR_ST && grid.insns[i].least != sum[i])
				fail_msg("program %u, line %u: the grid's %g, its warps' %g",
					 number, p->insns[i].source, grid.insns[i].least, sum[i]);
	free(sum);
}

static bool try_program(unsigned number, struct gw_arena *arena, unsigned *spared)
{
	static struct text text;
	static const struct {
		uint32_t n, unused;
		uint64_t x;
	} arguments = {37, 0, 0x1000};
	struct gw_eval_launch launch = {
		.config = {{7, 2, 1}, {80, 1, 1}, {1, 1, 1}, 0, 0},
		.arguments = {(const uint8_t *)&arguments, sizeof(arguments)}};
	struct thread t = {.launch = &launch};
	struct gw_ir_program p;
	struct gw_ptx_fault fault;
	struct gw_ptx ptx;
	struct gw_eval *e;
	bool useful = true;

	write_program(&text);
	assert_true(gw_ptx_parse((struct gw_bytes){(const uint8_t *)text.of, text.length}, arena,
				 &ptx, &fault));
	assert_true(gw_ptx_lower(&ptx, 0, arena, &p, &fault));
	e = gw_eval_new(&p, &launch, NULL, arena);
	assert_non_null(e);
	t.p = &p;
	t.regs = calloc(p.reg_count, sizeof(*t.regs));
	t.runs = calloc(p.insn_count, sizeof(*t.runs));
	for (uint32_t b = 0; b < 14 && useful; b += 3)
		for (uint32_t w = 0; w < 3 && useful; w++) {
			t.ctaid = (struct gw_dim3){b % 7, b / 7, 0};
			useful = threads_agree(e, &t, w, number);
		}
	if (useful)
		*spared += alike_agree(&p, &launch, e, arena, number);
	if (useful)
		grid_agrees(&p, &launch, e, arena, number);
	free(t.regs);
	free(t.runs);
	return useful;
}

TEST(what_is_stood_for_is_what_happens)
{
	unsigned useful = 0, spared = 0;

	for (unsigned n = 0; n < PROGRAMS; n++) {
		struct gw_arena arena;

		seed = UINT64_C(0x9e3779b97f4a7c15) * (n + 1);
		gw_arena_init(&arena, (size_t)64 << 20);
		useful += try_program(n, &arena, &spared);
		gw_arena_free(&arena);
	}
	print_message("%u of %u programs were of use\n", useful, PROGRAMS);
	print_message("%u of their %u warps were not run\n", spared, useful * 42);
	assert_true(useful > PROGRAMS / 2);
	assert_true(spared > useful * 42 / 4);
}

TESTS_MAIN()
