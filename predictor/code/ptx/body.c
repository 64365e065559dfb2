/* A function's body: scopes, labels, instructions and their operands. */
#include "predictor/code/ptx/tree.h"

#include <string.h>

/* A list is gathered on the stack, nested ones too. */
enum { NESTING_MAX = 64, LIST_MAX = 192, LIST_NESTING_MAX = 4 };

static bool parse_operand(struct gw_ptx_parser *p, uint32_t scope, struct gw_ptx_operand *out);

static bool parse_named(struct gw_ptx_parser *p, uint32_t scope, struct gw_ptx_operand *out)
{
	struct gw_ptx_lexer *l = &p->lexer;
	const struct gw_ptx_meaning *m;
	uint32_t name = gw_ptx_name(p->in, l->token.text, l->token.length);

	if (name == PTX_NONE)
		return gw_ptx_no_room(p);
	out->kind = *l->token.text == '%' ? PTX_OPERAND_SPECIAL : PTX_OPERAND_NAME;
	out->index = name;
	if (l->token.length == 1 && *l->token.text == '_')
		out->kind = PTX_OPERAND_SINK;
	m = gw_ptx_meaning(p->in, scope, name, p->function->first_register);
	if (m && m->what == PTX_NAMED_REGISTER)
		out->kind = PTX_OPERAND_REGISTER;
	else if (m && m->what == PTX_NAMED_VARIABLE)
		out->kind = PTX_OPERAND_VARIABLE;
	if (out->kind == PTX_OPERAND_REGISTER || out->kind == PTX_OPERAND_VARIABLE)
		out->index = m->index;
	gw_ptx_next(l);
	return true;
}

/* Offsets behind a name, `+4`, `+-4`, `-4`: added to value. */
static bool parse_offset(struct gw_ptx_parser *p, struct gw_ptx_operand *out)
{
	struct gw_ptx_lexer *l = &p->lexer;

	while (gw_ptx_is_mark(l, '+') || gw_ptx_is_mark(l, '-')) {
		bool minus = gw_ptx_is_mark(l, '-');

		gw_ptx_next(l);
		if (gw_ptx_is_mark(l, '-')) {
			minus = !minus;
			gw_ptx_next(l);
		}
		if (l->token.kind != PTX_NUMBER)
			return gw_ptx_fail(p, "an offset in bytes was expected");
		out->value += minus ? 0 - l->token.value : l->token.value;
		gw_ptx_next(l);
	}
	return true;
}

/* Operands up to @p close, separated by commas, laid down together behind what they hold. */
static bool parse_list(struct gw_ptx_parser *p, uint32_t scope, char close,
		       struct gw_ptx_operand *out)
{
	struct gw_ptx_operand items[LIST_MAX];
	uint32_t count = 0;

	gw_ptx_next(&p->lexer);
	if (++p->depth > LIST_NESTING_MAX)
		return gw_ptx_fail(p, "operands nested deeper than any compiler nests them");
	while (!gw_ptx_is_mark(&p->lexer, close)) {
		if (count == LIST_MAX)
			return gw_ptx_fail(p, "more operands than any instruction has");
		memset(&items[count], 0, sizeof(items[count]));
		if (!parse_operand(p, scope, &items[count]))
			return false;
		count++;
		if (!gw_ptx_is_mark(&p->lexer, ','))
			break;
		gw_ptx_next(&p->lexer);
	}
	p->depth--;
	if (!gw_ptx_expect(p, close))
		return false;
	out->index = p->in->operands.count;
	out->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct gw_ptx_operand *o = gw_ptx_add(p->in, &p->in->operands, sizeof(*o));

		if (!o)
			return gw_ptx_no_room(p);
		*o = items[i];
	}
	return true;
}

static bool parse_number(struct gw_ptx_parser *p, struct gw_ptx_operand *out, bool minus)
{
	struct gw_ptx_lexer *l = &p->lexer;

	if (l->token.kind != PTX_NUMBER && l->token.kind != PTX_FLOAT)
		return gw_ptx_fail(p, "an operand was expected");
	out->kind = l->token.kind == PTX_FLOAT ? PTX_OPERAND_FLOAT : PTX_OPERAND_NUMBER;
	out->width = l->token.bits;
	out->value = minus ? 0 - l->token.value : l->token.value;
	if (minus && l->token.kind == PTX_FLOAT)
		out->width = 0;
	gw_ptx_next(l);
	return true;
}

static bool parse_simple(struct gw_ptx_parser *p, uint32_t scope, struct gw_ptx_operand *out)
{
	struct gw_ptx_lexer *l = &p->lexer;

	if (gw_ptx_is_mark(l, '{') || gw_ptx_is_mark(l, '(')) {
		out->kind = PTX_OPERAND_LIST;
		return parse_list(p, scope, *l->token.text == '{' ? '}' : ')', out);
	}
	if (gw_ptx_is_mark(l, '[')) {
		out->kind = PTX_OPERAND_MEMORY;
		return parse_list(p, scope, ']', out);
	}
	if (gw_ptx_is_mark(l, '-') || gw_ptx_is_mark(l, '~')) {
		bool minus = gw_ptx_is_mark(l, '-');

		gw_ptx_next(l);
		if (!parse_number(p, out, minus))
			return false;
		out->value = minus ? out->value : ~out->value;
		return true;
	}
	if (l->token.kind == PTX_WORD)
		return parse_named(p, scope, out) && parse_offset(p, out);
	return parse_number(p, out, false) && parse_offset(p, out);
}

static bool parse_operand(struct gw_ptx_parser *p, uint32_t scope, struct gw_ptx_operand *out)
{
	struct gw_ptx_operand first, *two;

	if (gw_ptx_is_mark(&p->lexer, '!')) {
		out->negated = true;
		gw_ptx_next(&p->lexer);
	}
	if (!parse_simple(p, scope, out))
		return false;
	if (!gw_ptx_is_mark(&p->lexer, '|'))
		return true;
	/* p|q: two results. */
	first = *out;
	gw_ptx_next(&p->lexer);
	memset(out, 0, sizeof(*out));
	if (!parse_simple(p, scope, out))
		return false;
	for (unsigned i = 0; i < 2; i++) {
		two = gw_ptx_add(p->in, &p->in->operands, sizeof(*two));
		if (!two)
			return gw_ptx_no_room(p);
		*two = i ? *out : first;
	}
	*out = (struct gw_ptx_operand){
		.kind = PTX_OPERAND_PAIR, .index = p->in->operands.count - 2, .count = 2};
	return true;
}

static bool add_statement(struct gw_ptx_parser *p, const struct gw_ptx_statement *s)
{
	struct gw_ptx_statement *kept = gw_ptx_add(p->in, &p->in->statements, sizeof(*kept));

	if (!kept)
		return gw_ptx_no_room(p);
	*kept = *s;
	return true;
}

/* A statement of @p scope that begins at the current token. */
static struct gw_ptx_statement begin_statement(const struct gw_ptx_parser *p, uint32_t scope)
{
	return (struct gw_ptx_statement){.guard = PTX_NONE,
					 .scope = scope,
					 .line = p->lexer.token.line,
					 .column = p->lexer.token.column};
}

/* `@!%p1 `: the guard of an instruction. */
static bool parse_guard(struct gw_ptx_parser *p, uint32_t scope, struct gw_ptx_statement *s)
{
	struct gw_ptx_operand guard = {0};

	if (!gw_ptx_is_mark(&p->lexer, '@'))
		return true;
	gw_ptx_next(&p->lexer);
	if (!parse_operand(p, scope, &guard))
		return false;
	if (guard.kind != PTX_OPERAND_REGISTER)
		return gw_ptx_fail(p, "the guard before this is no declared register");
	s->guard = guard.index;
	s->guard_not = guard.negated;
	return true;
}

/* Operands up to the semicolon. */
static bool parse_operands(struct gw_ptx_parser *p, uint32_t scope, struct gw_ptx_statement *s)
{
	struct gw_ptx_operand all = {0};
	struct gw_ptx_lexer before = p->lexer;

	if (gw_ptx_is_mark(&before, ';')) {
		gw_ptx_next(&p->lexer);
		return true;
	}
	/* A list without an opening mark: its items come from the token that is here. */
	p->lexer.at = before.token.text;
	p->lexer.line = before.token.line;
	p->lexer.line_start = before.token.text - (before.token.column - 1);
	if (!parse_list(p, scope, ';', &all))
		return false;
	s->first = all.index;
	s->count = all.count;
	return true;
}

static bool parse_instruction(struct gw_ptx_parser *p, uint32_t scope)
{
	struct gw_ptx_statement s = begin_statement(p, scope);
	uint32_t name;

	if (!parse_guard(p, scope, &s))
		return false;
	if (p->lexer.token.kind != PTX_WORD)
		return gw_ptx_fail(p, "an instruction was expected");
	name = gw_ptx_name(p->in, p->lexer.token.text, p->lexer.token.length);
	if (name == PTX_NONE)
		return gw_ptx_no_room(p);
	s.opcode = gw_ptx_name_text(p->in, name);
	gw_ptx_next(&p->lexer);
	return parse_operands(p, scope, &s) && add_statement(p, &s);
}

/* `.branchtargets a, b;` and the like: a statement without an opcode. */
static bool parse_targets(struct gw_ptx_parser *p, uint32_t scope)
{
	struct gw_ptx_statement s = begin_statement(p, scope);

	gw_ptx_next(&p->lexer);
	return parse_operands(p, scope, &s) && add_statement(p, &s);
}

static bool skip_statement(struct gw_ptx_parser *p)
{
	while (!gw_ptx_is_mark(&p->lexer, ';')) {
		if (p->lexer.token.kind == PTX_END)
			return gw_ptx_expect(p, ';');
		gw_ptx_next(&p->lexer);
	}
	gw_ptx_next(&p->lexer);
	return true;
}

/* `.loc 1 24 3` and `.loc 1 24 3, function_name $L, inlined_at 1 2 3` end without a semicolon: at
 * the end of their line. `.pragma "...";` does end with one. */
static bool skip_line(struct gw_ptx_parser *p)
{
	uint32_t line = p->lexer.token.line;

	while (p->lexer.token.line == line && p->lexer.token.kind != PTX_END)
		gw_ptx_next(&p->lexer);
	return true;
}

static bool declare(struct gw_ptx_parser *p, uint32_t scope, enum gw_ir_space space)
{
	uint32_t index;

	do {
		gw_ptx_next(&p->lexer);
		if (!gw_ptx_declare_variable(p, scope, space, &index))
			return false;
	} while (gw_ptx_is_mark(&p->lexer, ','));
	return gw_ptx_expect(p, ';');
}

static bool parse_directive(struct gw_ptx_parser *p, uint32_t scope)
{
	struct gw_ptx_lexer *l = &p->lexer;
	enum gw_ir_space space;

	if (gw_ptx_is_word(l, ".reg")) {
		gw_ptx_next(l);
		return gw_ptx_declare_registers(p, scope);
	}
	if (gw_ptx_is_word(l, ".param"))
		return declare(p, scope, IR_SPACE_FRAME);
	if (gw_ptx_space_of(&l->token, &space))
		return declare(p, scope, space);
	if (gw_ptx_is_word(l, ".loc") || gw_ptx_is_word(l, ".file"))
		return skip_line(p);
	if (gw_ptx_is_word(l, ".branchtargets"))
		return parse_targets(p, scope);
	return skip_statement(p);
}

/* `name:` stands for the next statement. */
static bool parse_label(struct gw_ptx_parser *p, uint32_t scope)
{
	uint32_t name = gw_ptx_name(p->in, p->lexer.token.text, p->lexer.token.length);

	if (name == PTX_NONE ||
	    !gw_ptx_mean(p->in, scope, name, PTX_NAMED_LABEL, p->in->statements.count))
		return gw_ptx_no_room(p);
	gw_ptx_next(&p->lexer);
	gw_ptx_next(&p->lexer);
	return true;
}

static bool is_label(const struct gw_ptx_lexer *l)
{
	struct gw_ptx_lexer ahead = *l;

	if (l->token.kind != PTX_WORD || *l->token.text == '.')
		return false;
	gw_ptx_next(&ahead);
	return gw_ptx_is_mark(&ahead, ':');
}

static bool parse_statement(struct gw_ptx_parser *p, uint32_t scope)
{
	struct gw_ptx_lexer *l = &p->lexer;

	if (is_label(l))
		return parse_label(p, scope);
	if (l->token.kind == PTX_WORD && *l->token.text == '.')
		return parse_directive(p, scope);
	if (gw_ptx_is_mark(l, ';')) {
		gw_ptx_next(l);
		return true;
	}
	return parse_instruction(p, scope);
}

bool gw_ptx_parse_body(struct gw_ptx_parser *p, uint32_t scope)
{
	uint32_t inner = scope, nesting = 0;

	for (;;) {
		struct gw_ptx_lexer *l = &p->lexer;

		if (l->token.kind == PTX_END)
			return gw_ptx_expect(p, '}');
		if (gw_ptx_is_mark(l, '{')) {
			inner = gw_ptx_scope_open(p->in, inner);
			if (inner == PTX_NONE)
				return gw_ptx_no_room(p);
			if (++nesting > NESTING_MAX)
				return gw_ptx_fail(
					p, "braces nested deeper than any compiler nests them");
			gw_ptx_next(l);
		} else if (gw_ptx_is_mark(l, '}')) {
			gw_ptx_next(l);
			if (!nesting--)
				return true;
			inner = PTX_AT(scope, p->in->scopes, inner)->parent;
		} else if (!parse_statement(p, inner)) {
			return false;
		}
	}
}
