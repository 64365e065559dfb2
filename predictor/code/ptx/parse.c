/* A text's outer level: version, target, variables, functions. Bodies are in body.c. */
#include "predictor/code/ptx/tree.h"

#include <string.h>

bool gw_ptx_fail(struct gw_ptx_parser *p, const char *what)
{
	return gw_ptx_refuse(&p->lexer.token, p->fault, what);
}

bool gw_ptx_no_room(struct gw_ptx_parser *p)
{
	return gw_ptx_fail(p, p->in && p->in->looks == GW_PTX_LOOKS_MAX
				      ? "its names take too long to look up"
				      : "no room for this text; raise the limit of memory");
}

bool gw_ptx_expect(struct gw_ptx_parser *p, char c)
{
	static const struct {
		char c;
		const char *what;
	} wants[] = {
		{';', "a ';' was expected; is this text complete PTX?"},
		{',', "a ',' was expected"},
		{']', "a ']' was expected"},
		{')', "a ')' was expected"},
		{'(', "a '(' was expected"},
		{'}', "a '}' was expected; is this text complete PTX?"},
		{'>', "a '>' was expected"},
	};

	if (gw_ptx_is_mark(&p->lexer, c)) {
		gw_ptx_next(&p->lexer);
		return true;
	}
	for (size_t i = 0; i < sizeof(wants) / sizeof(*wants); i++)
		if (wants[i].c == c)
			return gw_ptx_fail(p, wants[i].what);
	return gw_ptx_fail(p, "other punctuation was expected");
}

/* `{ ... }` of a section nobody asks for. */
static bool skip_braces(struct gw_ptx_parser *p)
{
	unsigned depth = 0;

	do {
		if (gw_ptx_is_mark(&p->lexer, '{'))
			depth++;
		else if (gw_ptx_is_mark(&p->lexer, '}'))
			depth--;
		else if (p->lexer.token.kind == PTX_END)
			return gw_ptx_fail(
				p, "a section that doesn't end; is this text complete PTX?");
		gw_ptx_next(&p->lexer);
	} while (depth);
	return true;
}

/* The parameters in `( ... )`, or what a function returns. */
static bool parse_params(struct gw_ptx_parser *p, uint32_t scope, bool entry, uint32_t *count)
{
	struct gw_ptx_lexer *l = &p->lexer;

	*count = 0;
	gw_ptx_next(l);
	while (!gw_ptx_is_mark(l, ')')) {
		struct gw_ptx_variable *v;
		uint32_t index;
		bool in_register = gw_ptx_is_word(l, ".reg");

		if (!in_register && !gw_ptx_is_word(l, ".param"))
			return gw_ptx_fail(p, "a parameter was expected");
		gw_ptx_next(l);
		if (!gw_ptx_declare_variable(p, scope, entry ? IR_SPACE_PARAM : IR_SPACE_FRAME,
					     &index))
			return false;
		v = PTX_AT(variable, p->in->variables, index);
		v->in_register = in_register;
		++*count;
		if (in_register) {
			unsigned width = v->size > 4 ? 64 : v->size > 2 ? 32 : 16;
			uint32_t name = gw_ptx_name(p->in, v->name, (uint32_t)strlen(v->name));

			v->reg = gw_ptx_register(p->in, p->function->first_register, width);
			if (v->reg == PTX_NONE || name == PTX_NONE ||
			    !gw_ptx_mean(p->in, scope, name, PTX_NAMED_REGISTER, v->reg))
				return gw_ptx_no_room(p);
		}
		if (!gw_ptx_is_mark(l, ','))
			break;
		gw_ptx_next(l);
	}
	return gw_ptx_expect(p, ')');
}

/* Offsets of a kernel's parameters: each at its alignment, in order. */
static bool lay_out(struct gw_ptx_parser *p, struct gw_ptx_function *f)
{
	struct gw_ir_param *params = gw_arena_array(p->in->arena, f->params, sizeof(*params));
	uint64_t at = 0;

	if (!params)
		return gw_ptx_no_room(p);
	for (uint32_t i = 0; i < f->params; i++) {
		struct gw_ptx_variable *v = PTX_AT(variable, p->in->variables, f->first_param + i);

		at = (at + v->align - 1) / v->align * v->align;
		if (at + v->size > UINT16_MAX)
			return gw_ptx_fail(p, "more parameters than a kernel may have");
		v->offset = (uint32_t)at;
		params[i] = (struct gw_ir_param){v->name, v->offset, (uint32_t)v->size, v->align};
		at += v->size;
	}
	f->kernel.params = params;
	f->kernel.param_count = f->params;
	f->kernel.param_bytes = (uint32_t)at;
	return true;
}

/* `n`, `n, m`, `n, m, k` of a directive; missing ones are 1. */
static struct gw_dim3 read_extent(struct gw_ptx_parser *p)
{
	struct gw_ptx_lexer *l = &p->lexer;
	uint32_t d[3] = {0, 1, 1};

	for (unsigned i = 0; i < 3 && l->token.kind == PTX_NUMBER; i++) {
		d[i] = l->token.value <= UINT32_MAX ? (uint32_t)l->token.value : UINT32_MAX;
		gw_ptx_next(l);
		if (!gw_ptx_is_mark(l, ','))
			break;
		gw_ptx_next(l);
	}
	return (struct gw_dim3){d[0], d[1], d[2]};
}

static bool named(const struct gw_ptx_token *t, const char *word)
{
	return t->kind == PTX_WORD && t->length == strlen(word) &&
	       !memcmp(t->text, word, t->length);
}

/* What stands between a kernel's parameters and its body; what isn't known is skipped. */
static void read_bounds(struct gw_ptx_parser *p, struct gw_ptx_kernel *k)
{
	struct gw_ptx_lexer *l = &p->lexer;

	while (!gw_ptx_is_mark(l, '{') && !gw_ptx_is_mark(l, ';') && l->token.kind != PTX_END) {
		struct gw_ptx_token t = l->token;

		gw_ptx_next(l);
		if (named(&t, ".maxntid"))
			k->max_threads = read_extent(p);
		else if (named(&t, ".reqntid"))
			k->threads = read_extent(p);
		else if (named(&t, ".reqnctapercluster"))
			k->cluster = read_extent(p);
		else if (named(&t, ".minnctapersm"))
			k->min_blocks = read_extent(p).x;
		else if (named(&t, ".maxnreg"))
			k->max_registers = read_extent(p).x;
	}
}

/* What the function's name stands for: what was declared before, or a new function. */
static struct gw_ptx_function *function_of(struct gw_ptx_parser *p, uint32_t name)
{
	const struct gw_ptx_meaning *m = gw_ptx_meaning(p->in, 0, name, 0);
	struct gw_ptx_function *f;

	if (m && m->what == PTX_NAMED_FUNCTION) {
		f = PTX_AT(function, p->in->functions, m->index);
		if (!f->has_body)
			return f;
	}
	f = gw_ptx_add(p->in, &p->in->functions, sizeof(*f));
	if (!f || !gw_ptx_mean(p->in, 0, name, PTX_NAMED_FUNCTION, p->in->functions.count - 1))
		return NULL;
	return f;
}

/* A declaration's variables come right after one another: a function's results, its parameters. */
static bool parse_signature(struct gw_ptx_parser *p, struct gw_ptx_function *f, uint32_t scope)
{
	struct gw_ptx_lexer *l = &p->lexer;

	f->first_param = p->in->variables.count;
	f->params = 0;
	if (gw_ptx_is_mark(l, '(') && !parse_params(p, scope, f->is_entry, &f->params))
		return false;
	if (f->is_entry && !lay_out(p, f))
		return false;
	read_bounds(p, &f->kernel);
	return true;
}

static bool parse_function_body(struct gw_ptx_parser *p, struct gw_ptx_function *f, uint32_t scope)
{
	f->has_body = true;
	f->scope = scope;
	f->first = p->in->statements.count;
	gw_ptx_next(&p->lexer);
	if (!gw_ptx_parse_body(p, scope))
		return false;
	f->count = p->in->statements.count - f->first;
	f->registers = p->in->widths.count - f->first_register;
	if (p->listing) {
		p->in->statements.count = p->in->operands.count = 0;
		p->in->widths.count = 0;
	}
	return true;
}

/* `.entry name (...) bounds { ... }`, `.func (results) name (...) { ... }` or `;`. */
static bool parse_function(struct gw_ptx_parser *p, bool entry)
{
	struct gw_ptx_lexer *l = &p->lexer;
	struct gw_ptx_function f = {.is_entry = entry, .first_register = p->in->widths.count};
	uint32_t scope = gw_ptx_scope_open(p->in, 0), name;
	struct gw_ptx_function *kept;
	bool ok;

	if (scope == PTX_NONE)
		return gw_ptx_no_room(p);
	p->function = &f;
	f.first_result = p->in->variables.count;
	if (gw_ptx_is_mark(l, '(') && !parse_params(p, scope, false, &f.results))
		return false;
	if (l->token.kind != PTX_WORD)
		return gw_ptx_fail(p, "a function's name was expected");
	f.kernel.line = l->token.line;
	name = gw_ptx_name(p->in, l->token.text, l->token.length);
	if (name == PTX_NONE)
		return gw_ptx_no_room(p);
	f.kernel.name = gw_ptx_name_text(p->in, name);
	gw_ptx_next(l);
	if (!parse_signature(p, &f, scope))
		return false;
	ok = gw_ptx_is_mark(l, '{') ? parse_function_body(p, &f, scope) : gw_ptx_expect(p, ';');
	p->function = NULL;
	if (!ok)
		return false;
	kept = function_of(p, name);
	if (!kept)
		return gw_ptx_no_room(p);
	*kept = f;
	return true;
}

static bool parse_variables(struct gw_ptx_parser *p, enum gw_ir_space space)
{
	uint32_t index;

	gw_ptx_next(&p->lexer);
	do
		if (!gw_ptx_declare_variable(p, 0, space, &index))
			return false;
	while (gw_ptx_is_mark(&p->lexer, ',') && (gw_ptx_next(&p->lexer), true));
	return gw_ptx_expect(p, ';');
}

static void parse_version(struct gw_ptx_parser *p)
{
	struct gw_ptx_lexer *l = &p->lexer;

	gw_ptx_next(l);
	/* "8.7" reads as a decimal float. */
	if (l->token.kind == PTX_FLOAT && l->token.length >= 3) {
		uint32_t v = 0;

		for (uint32_t i = 0; i < l->token.length; i++)
			if (l->token.text[i] >= '0' && l->token.text[i] <= '9' && v < 100000)
				v = 10 * v + (uint32_t)(l->token.text[i] - '0');
		p->out->version = v;
		gw_ptx_next(l);
	}
}

static void parse_target(struct gw_ptx_parser *p)
{
	struct gw_ptx_lexer *l = &p->lexer;

	gw_ptx_next(l);
	if (l->token.kind == PTX_WORD && !p->out->target)
		p->out->target = gw_arena_text(p->in->arena, l->token.text, l->token.length);
	while (l->token.kind == PTX_WORD && *l->token.text != '.') {
		gw_ptx_next(l);
		if (gw_ptx_is_mark(l, ','))
			gw_ptx_next(l);
	}
}

/* A directive of the outer level that is none of those we know: up to the next one. */
static bool skip_directive(struct gw_ptx_parser *p)
{
	struct gw_ptx_lexer *l = &p->lexer;

	do {
		if (gw_ptx_is_mark(l, '{'))
			return skip_braces(p);
		gw_ptx_next(l);
		if (gw_ptx_is_mark(l, ';')) {
			gw_ptx_next(l);
			return true;
		}
	} while (l->token.kind != PTX_END && !(l->token.kind == PTX_WORD && *l->token.text == '.'));
	return true;
}

/* `.attribute(.unified(1, 2))`, `.noreturn` before a function's name. */
static void skip_attributes(struct gw_ptx_parser *p)
{
	struct gw_ptx_lexer *l = &p->lexer;

	while (l->token.kind == PTX_WORD && *l->token.text == '.') {
		bool has_list = gw_ptx_is_word(l, ".attribute");
		unsigned depth = 0;

		gw_ptx_next(l);
		while (has_list && l->token.kind != PTX_END) {
			depth += gw_ptx_is_mark(l, '(');
			depth -= gw_ptx_is_mark(l, ')') && depth;
			gw_ptx_next(l);
			has_list = depth != 0;
		}
	}
}

static bool parse_item(struct gw_ptx_parser *p)
{
	struct gw_ptx_lexer *l = &p->lexer;
	enum gw_ir_space space;

	if (l->token.kind == PTX_WORD &&
	    (gw_ptx_is_word(l, ".entry") || gw_ptx_is_word(l, ".func"))) {
		bool entry = gw_ptx_is_word(l, ".entry");

		gw_ptx_next(l);
		skip_attributes(p);
		return parse_function(p, entry);
	}
	if (gw_ptx_space_of(&l->token, &space))
		return parse_variables(p, space);
	if (gw_ptx_is_word(l, ".version")) {
		parse_version(p);
	} else if (gw_ptx_is_word(l, ".target")) {
		parse_target(p);
	} else if (gw_ptx_is_word(l, ".address_size")) {
		gw_ptx_next(l);
		if (l->token.kind == PTX_NUMBER && l->token.value == 32)
			p->out->address_bits = 32;
	} else if (gw_ptx_is_word(l, ".visible") || gw_ptx_is_word(l, ".extern") ||
		   gw_ptx_is_word(l, ".weak") || gw_ptx_is_word(l, ".common") ||
		   gw_ptx_is_mark(l, ';') || l->token.kind == PTX_NUMBER) {
		gw_ptx_next(l);
	} else if (l->token.kind == PTX_WORD && *l->token.text == '.') {
		return skip_directive(p);
	} else {
		return gw_ptx_fail(p, "this is no PTX: a directive such as .entry was expected");
	}
	return true;
}

static bool list_kernels(struct gw_ptx_parser *p)
{
	struct gw_ptx_kernel *kernels;
	uint32_t n = 0;

	kernels = gw_arena_array(p->in->arena, p->in->functions.count, sizeof(*kernels));
	if (!kernels)
		return gw_ptx_no_room(p);
	for (uint32_t i = 0; i < p->in->functions.count; i++) {
		const struct gw_ptx_function *f = PTX_AT(function, p->in->functions, i);

		if (f->is_entry && f->has_body)
			kernels[n++] = f->kernel;
	}
	p->out->kernels = kernels;
	p->out->kernel_count = n;
	return true;
}

static bool parse(struct gw_bytes text, struct gw_arena *arena, bool listing, struct gw_ptx *out,
		  struct gw_ptx_fault *fault)
{
	struct gw_ptx_parser p = {.out = out, .fault = fault, .listing = listing};

	memset(out, 0, sizeof(*out));
	memset(fault, 0, sizeof(*fault));
	out->address_bits = 64;
	gw_ptx_lex_begin(&p.lexer, text);
	p.in = gw_arena_array(arena, 1, sizeof(*p.in));
	if (!p.in)
		return gw_ptx_no_room(&p);
	p.in->arena = arena;
	out->inside = p.in;
	if (!gw_ptx_names_init(p.in))
		return gw_ptx_no_room(&p);
	if (p.lexer.token.kind == PTX_END)
		return gw_ptx_fail(&p, "the text is empty; PTX begins with .version");
	while (p.lexer.token.kind != PTX_END)
		if (!parse_item(&p))
			return false;
	return list_kernels(&p);
}

bool gw_ptx_parse(struct gw_bytes text, struct gw_arena *arena, struct gw_ptx *out,
		  struct gw_ptx_fault *fault)
{
	return parse(text, arena, false, out, fault);
}

bool gw_ptx_list(struct gw_bytes text, struct gw_arena *arena, struct gw_ptx *out,
		 struct gw_ptx_fault *fault)
{
	return parse(text, arena, true, out, fault);
}

uint32_t gw_ptx_find(const struct gw_ptx *ptx, const char *name)
{
	for (uint32_t i = 0; i < ptx->kernel_count; i++)
		if (!strcmp(ptx->kernels[i].name, name))
			return i;
	return PTX_NONE;
}
