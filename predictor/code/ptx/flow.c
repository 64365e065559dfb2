/* Lowering a function: its blocks, its branches, and the functions that it calls, which are taken
 * in where they stand. */
#include "predictor/code/ptx/lower.h"

#include <string.h>

static bool no_room(struct gw_ptx_lower *l)
{
	return gw_ptx_object(l, "no room for this kernel; raise the limit of memory");
}

static const struct gw_ptx_statement *statement(const struct gw_ptx_lower *l, uint32_t n)
{
	return PTX_AT(statement, l->in->statements, l->frame->function->first + n);
}

/* The statement that a label names, counted in its function; PTX_NONE: no label of that name. */
static uint32_t target(struct gw_ptx_lower *l, const struct gw_ptx_statement *s,
		       const struct gw_ptx_operand *o)
{
	const struct gw_ptx_function *f = l->frame->function;
	const struct gw_ptx_meaning *m;

	if (o->kind != PTX_OPERAND_NAME)
		return PTX_NONE;
	m = gw_ptx_meaning(l->in, s->scope, o->index, f->first_register);
	if (!m || m->what != PTX_NAMED_LABEL || m->index < f->first ||
	    m->index > f->first + f->count)
		return PTX_NONE;
	return m->index - f->first;
}

static bool is_opcode(const struct gw_ptx_statement *s, const char *name)
{
	size_t n = strlen(name);

	return s->opcode && !strncmp(s->opcode, name, n) && (!s->opcode[n] || s->opcode[n] == '.');
}

static bool ends_block(const struct gw_ptx_statement *s)
{
	static const char enders[][5] = {"bra", "brx", "ret", "exit", "trap"};

	for (size_t n = 0; n < sizeof(enders) / sizeof(*enders); n++)
		if (is_opcode(s, enders[n]))
			return true;
	return false;
}

static void lead(struct gw_ptx_lower *l, uint32_t n)
{
	if (l->frame->blocks[n] == GW_IR_NONE)
		l->frame->blocks[n] = gw_ir_block_new(&l->b);
}

/* A block begins at each label that something jumps to, and behind each jump. */
static bool find_leaders(struct gw_ptx_lower *l)
{
	const struct gw_ptx_function *f = l->frame->function;

	for (uint32_t n = 0; n < f->count; n++) {
		const struct gw_ptx_statement *s = statement(l, n);

		/* Names of a list of targets are led to as well. */
		for (uint32_t o = 0; o < s->count && (!s->opcode || is_opcode(s, "bra")); o++) {
			uint32_t to = target(l, s, PTX_AT(operand, l->in->operands, s->first + o));

			if (to != PTX_NONE)
				lead(l, to);
		}
		if (ends_block(s))
			lead(l, n + 1);
	}
	return !l->b.failed;
}

static bool load_statement(struct gw_ptx_lower *l, uint32_t n)
{
	const struct gw_ptx_statement *s = statement(l, n);

	l->i = (struct gw_ptx_insn){.s = s, .count = s->count, .index = n};
	l->i.o = s->count ? PTX_AT(operand, l->in->operands, s->first) : NULL;
	l->b.source = s->line;
	l->b.guard = GW_IR_NONE;
	l->b.guard_not = s->guard_not;
	if (s->guard != PTX_NONE) {
		struct gw_ptx_operand guard = {.kind = PTX_OPERAND_REGISTER, .index = s->guard};

		l->b.guard = gw_ptx_def(l, &guard);
	}
	return true;
}

static bool frame_init(struct gw_ptx_lower *l, struct gw_ptx_frame *f)
{
	uint32_t count = f->function->count;

	f->regs = gw_arena_array(l->arena, f->function->registers, sizeof(*f->regs));
	f->blocks = gw_arena_array(l->arena, count + 1, sizeof(*f->blocks));
	if (!f->regs || !f->blocks)
		return false;
	memset(f->regs, 0xff, f->function->registers * sizeof(*f->regs));
	memset(f->blocks, 0xff, (count + 1) * sizeof(*f->blocks));
	return true;
}

bool gw_ptx_lower_function(struct gw_ptx_lower *l)
{
	struct gw_ptx_frame *f = l->frame;
	uint32_t count = f->function->count;

	if ((!f->regs && !frame_init(l, f)) || !find_leaders(l))
		return no_room(l);
	for (uint32_t n = 0; n < count; n++) {
		if (f->blocks[n] != GW_IR_NONE)
			gw_ir_block_start(&l->b, f->blocks[n]);
		if (!statement(l, n)->opcode)
			continue;
		if (!load_statement(l, n) || !gw_ptx_lower_insn(l))
			return false;
		if (l->b.failed)
			return no_room(l);
	}
	l->b.guard = GW_IR_NONE;
	if (f->blocks[count] != GW_IR_NONE)
		gw_ir_block_start(&l->b, f->blocks[count]);
	if (f->leave == GW_IR_NONE)
		gw_ir_end_exit(&l->b);
	else
		gw_ir_end_jump(&l->b, f->leave);
	return !l->b.failed || no_room(l);
}

/* Go to block @p to, or, under a guard, perhaps to the next one. */
static void jump(struct gw_ptx_lower *l, uint32_t to)
{
	uint32_t next = l->frame->blocks[l->i.index + 1];

	if (l->b.guard == GW_IR_NONE)
		gw_ir_end_jump(&l->b, to);
	else
		gw_ir_end_branch(&l->b, l->b.guard, l->b.guard_not, to, next);
}

bool gw_ptx_bra(struct gw_ptx_lower *l)
{
	uint32_t to = l->i.count == 1 ? target(l, l->i.s, gw_ptx_operand(l, 0)) : PTX_NONE;

	if (to == PTX_NONE)
		return gw_ptx_object(l, "a branch to a label that isn't in this function; is the "
					"text complete?");
	jump(l, l->frame->blocks[to]);
	return true;
}

/* The statement with the names that an operand refers to: a list of targets by its label. */
static const struct gw_ptx_statement *targets(struct gw_ptx_lower *l,
					      const struct gw_ptx_operand *o)
{
	uint32_t n = target(l, l->i.s, o);
	const struct gw_ptx_statement *s;

	if (n == PTX_NONE || n >= l->frame->function->count)
		return NULL;
	s = statement(l, n);
	return s->opcode ? NULL : s;
}

/* brx.idx index, targets. Under a guard it is a branch around a switch. */
bool gw_ptx_brx(struct gw_ptx_lower *l)
{
	const struct gw_ptx_statement *list = targets(l, gw_ptx_operand(l, 1));
	uint32_t *to, body;
	gw_ir_operand index;

	if (!list || !list->count)
		return gw_ptx_object(l,
				     "brx.idx without its .branchtargets; is the text complete?");
	to = gw_arena_array(l->arena, list->count, sizeof(*to));
	if (!to)
		return no_room(l);
	for (uint32_t n = 0; n < list->count; n++) {
		uint32_t at = target(l, list, PTX_AT(operand, l->in->operands, list->first + n));

		if (at == PTX_NONE)
			return gw_ptx_object(l, "a branch target that isn't in this function");
		to[n] = l->frame->blocks[at];
	}
	if (l->b.guard != GW_IR_NONE) {
		body = gw_ir_block_new(&l->b);
		jump(l, body);
		l->b.guard = GW_IR_NONE;
		gw_ir_block_start(&l->b, body);
	}
	index = gw_ptx_use(l, gw_ptx_operand(l, 0), 32);
	gw_ir_end_switch(&l->b, index, to, list->count);
	return true;
}

/* Under a guard, a block of its own ends the thread. */
static bool end_thread(struct gw_ptx_lower *l)
{
	uint32_t end;

	if (l->b.guard == GW_IR_NONE) {
		gw_ir_end_exit(&l->b);
		return true;
	}
	end = gw_ir_block_new(&l->b);
	jump(l, end);
	gw_ir_block_start(&l->b, end);
	gw_ir_end_exit(&l->b);
	return true;
}

bool gw_ptx_exit(struct gw_ptx_lower *l)
{
	return end_thread(l);
}

bool gw_ptx_ret(struct gw_ptx_lower *l)
{
	if (l->frame->leave == GW_IR_NONE)
		return end_thread(l);
	jump(l, l->frame->leave);
	return true;
}

/* What a call's operands are: results, function, arguments; each list may be missing. */
struct call {
	const struct gw_ptx_operand *results, *callee, *arguments;
	const struct gw_ptx_function *function; /* NULL: not in this text, or not known */
	const char *name;
};

static void read_call(struct gw_ptx_lower *l, struct call *c)
{
	uint32_t n = 0;

	*c = (struct call){.name = ""};
	if (n < l->i.count && l->i.o[n].kind == PTX_OPERAND_LIST)
		c->results = &l->i.o[n++];
	if (n < l->i.count)
		c->callee = &l->i.o[n++];
	if (n < l->i.count && l->i.o[n].kind == PTX_OPERAND_LIST)
		c->arguments = &l->i.o[n];
	if (c->callee && c->callee->kind == PTX_OPERAND_NAME) {
		const struct gw_ptx_meaning *m = gw_ptx_meaning(l->in, 0, c->callee->index, 0);

		c->name = gw_ptx_name_text(l->in, c->callee->index);
		if (m && m->what == PTX_NAMED_FUNCTION)
			c->function = PTX_AT(function, l->in->functions, m->index);
		if (c->function && !c->function->has_body)
			c->function = NULL;
	}
}

static bool is_running(const struct gw_ptx_lower *l, const struct gw_ptx_function *f)
{
	for (const struct gw_ptx_frame *at = l->frame; at; at = at->caller)
		if (at->function == f)
			return true;
	return false;
}

static gw_ir_operand frame_address(struct gw_ptx_lower *l, uint32_t variable)
{
	return gw_ir_emit(&l->b, IR_ADDR, 64, gw_ptx_symbol(l, variable), gw_ir_reg(&l->b, 64), 1,
			  gw_ptx_number(l, 0));
}

/* Store @p value, all of a variable of a call. */
static void store_variable(struct gw_ptx_lower *l, uint32_t variable, gw_ir_operand value)
{
	uint64_t size = PTX_AT(variable, l->in->variables, variable)->size;
	struct gw_ir_insn insn = {.op = IR_ST, .space = IR_SPACE_FRAME, .width = 8};
	gw_ir_operand uses[GW_IR_USES_MAX] = {0}, address = frame_address(l, variable);
	uint64_t elements;

	if (size < 8)
		insn.width = (uint8_t)size;
	insn.bits = (uint8_t)(8 * insn.width);
	elements = insn.width ? size / insn.width : 0;
	for (uint64_t at = 0; at < elements && at * insn.width < GW_IR_FRAME_MAX; at++) {
		uses[0] = address;
		uses[1] = gw_ptx_number(l, at * insn.width);
		uses[2] = value;
		insn.elements = 1;
		gw_ir_append(&l->b, insn, NULL, 0, uses, 3);
	}
}

static gw_ir_operand callee_register(struct gw_ptx_lower *l, struct gw_ptx_frame *f,
				     const struct gw_ptx_variable *v)
{
	struct gw_ptx_operand o = {.kind = PTX_OPERAND_REGISTER, .index = v->reg};
	struct gw_ptx_frame *caller = l->frame;
	gw_ir_operand reg;

	l->frame = f;
	reg = gw_ptx_def(l, &o);
	l->frame = caller;
	return reg;
}

static unsigned register_bits(const struct gw_ptx_variable *v)
{
	return v->size > 4 ? 64 : v->size > 2 ? 32 : 16;
}

/* One argument: the callee's variable is the caller's; or a value is copied. */
static void bind_argument(struct gw_ptx_lower *l, struct gw_ptx_frame *f, uint32_t variable,
			  const struct gw_ptx_operand *o)
{
	const struct gw_ptx_variable *v = PTX_AT(variable, l->in->variables, variable);
	unsigned bits = register_bits(v);

	l->symbols[variable] = GW_IR_NONE;
	if (v->in_register) {
		gw_ir_operand value = gw_ptx_use(l, o, bits);

		gw_ir_emit(&l->b, IR_MOV, bits, 0, callee_register(l, f, v), 1, value);
	} else if (o->kind == PTX_OPERAND_VARIABLE) {
		l->symbols[variable] = gw_ptx_symbol(l, o->index);
	} else {
		store_variable(l, variable,
			       gw_ptx_use(l, o, (unsigned)(v->size < 8 ? 8 * v->size : 64)));
	}
}

/* A result that is a variable is the caller's; one in a register is copied afterwards. */
static void bind_results(struct gw_ptx_lower *l, struct gw_ptx_frame *f, const struct call *c,
			 bool after)
{
	for (uint32_t n = 0; c->results && n < f->function->results && n < c->results->count; n++) {
		uint32_t variable = f->function->first_result + n;
		const struct gw_ptx_variable *v = PTX_AT(variable, l->in->variables, variable);
		const struct gw_ptx_operand *o = gw_ptx_item(l, c->results, n);

		if (!after && !v->in_register && o->kind == PTX_OPERAND_VARIABLE)
			l->symbols[variable] = gw_ptx_symbol(l, o->index);
		if (after && v->in_register)
			gw_ir_emit(&l->b, IR_MOV, register_bits(v), 0, gw_ptx_def(l, o), 1,
				   callee_register(l, f, v));
	}
}

/* Take the callee in: its body, then on in a block of its own. */
static bool take_in(struct gw_ptx_lower *l, const struct call *c)
{
	struct gw_ptx_frame f = {.function = c->function, .caller = l->frame};
	struct gw_ptx_insn here = l->i;

	f.leave = gw_ir_block_new(&l->b);
	if (!frame_init(l, &f))
		return no_room(l);
	for (uint32_t n = 0; c->arguments && n < f.function->params && n < c->arguments->count; n++)
		bind_argument(l, &f, f.function->first_param + n, gw_ptx_item(l, c->arguments, n));
	bind_results(l, &f, c, false);
	l->calls++;
	l->frame = &f;
	if (!gw_ptx_lower_function(l))
		return false;
	l->frame = f.caller;
	l->calls--;
	l->i = here;
	l->b.source = here.s->line;
	gw_ir_block_start(&l->b, f.leave);
	bind_results(l, &f, c, true);
	return !l->b.failed || no_room(l);
}

/* Functions of the system that touch nothing the evaluator follows. */
static bool is_harmless(const char *name)
{
	static const char *const names[] = {"vprintf", "__assertfail", "malloc", "free",
					    "__cudaCDP2Free"};

	for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++)
		if (!strcmp(name, names[n]))
			return true;
	return false;
}

/* A call that isn't followed: its results are unknown, and what is in local memory may be. */
static bool leave_out(struct gw_ptx_lower *l, const struct call *c)
{
	struct gw_ir_insn insn = {.op = IR_OPAQUE};
	struct gw_ir_insn anywhere = {
		.op = IR_ST, .bits = 8, .space = IR_SPACE_FRAME, .width = 1, .elements = 1};
	gw_ir_operand unknown = gw_ir_reg(&l->b, 64), uses[3];

	insn.aux = gw_ir_note(&l->b, is_harmless(c->name) ? "a call of the system"
							  : "a call that isn't followed");
	gw_ir_append(&l->b, insn, &unknown, 1, NULL, 0);
	if (!is_harmless(c->name)) {
		l->b.program.open_calls++;
		uses[0] = uses[2] = unknown;
		uses[1] = gw_ptx_number(l, 0);
		gw_ir_append(&l->b, anywhere, NULL, 0, uses, 3);
	}
	for (uint32_t n = 0; c->results && n < c->results->count; n++) {
		const struct gw_ptx_operand *o = gw_ptx_item(l, c->results, n);
		gw_ir_operand def = gw_ptx_def(l, o);

		if (def != GW_IR_NONE)
			gw_ir_append(&l->b, insn, &def, 1, NULL, 0);
		else if (o->kind == PTX_OPERAND_VARIABLE)
			store_variable(l, o->index, unknown);
	}
	return true;
}

bool gw_ptx_call(struct gw_ptx_lower *l)
{
	uint32_t after = GW_IR_NONE, body;
	struct call c;
	bool ok;

	read_call(l, &c);
	/* Under a guard, a branch around the call. */
	if (l->b.guard != GW_IR_NONE) {
		body = gw_ir_block_new(&l->b);
		after = gw_ir_block_new(&l->b);
		gw_ir_end_branch(&l->b, l->b.guard, l->b.guard_not, body, after);
		l->b.guard = GW_IR_NONE;
		gw_ir_block_start(&l->b, body);
	}
	if (!c.function && !strcmp(c.name, "__assertfail")) {
		gw_ir_end_never(&l->b);
		ok = true;
	} else if (c.function && l->calls < PTX_CALLS_MAX && !is_running(l, c.function))
		ok = take_in(l, &c);
	else
		ok = leave_out(l, &c);
	if (ok && after != GW_IR_NONE)
		gw_ir_block_start(&l->b, after);
	return ok;
}
