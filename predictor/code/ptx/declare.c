/* Declarations: `.reg .b32 %r<5>;`, `.shared .align 4 .b8 buffer[1024];`, `.param .u64 a`. */
#include "predictor/code/ptx/tree.h"

#include <string.h>

struct type_name {
	char text[12]; /* in place, as in move.c */
	uint8_t bits;
};

/* Bits of a type's suffix (".b32"); 0: not a type. */
static unsigned type_bits(const char *text, uint32_t length)
{
	static const struct type_name types[] = {
		{".pred", 1},        {".b8", 8},       {".u8", 8},      {".s8", 8},
		{".b16", 16},        {".u16", 16},     {".s16", 16},    {".f16", 16},
		{".bf16", 16},       {".e4m3", 8},     {".e5m2", 8},    {".b32", 32},
		{".u32", 32},        {".s32", 32},     {".f32", 32},    {".f16x2", 32},
		{".bf16x2", 32},     {".tf32", 32},    {".e4m3x2", 16}, {".e5m2x2", 16},
		{".u16x2", 32},      {".s16x2", 32},   {".b64", 64},    {".u64", 64},
		{".s64", 64},        {".f64", 64},     {".f32x2", 64},  {".texref", 64},
		{".samplerref", 64}, {".surfref", 64}, {".b128", 128},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strlen(types[i].text) == length && !memcmp(types[i].text, text, length))
			return types[i].bits;
	return 0;
}

bool gw_ptx_space_of(const struct gw_ptx_token *t, enum gw_ir_space *space)
{
	static const struct {
		const char *text;
		enum gw_ir_space space;
	} spaces[] = {
		{".global", IR_SPACE_GLOBAL},
		{".shared", IR_SPACE_SHARED},
		{".const", IR_SPACE_CONST},
		{".local", IR_SPACE_LOCAL},
		{".tex", IR_SPACE_TEXTURE},
		{".shared::cta", IR_SPACE_SHARED},
		{".shared::cluster", IR_SPACE_CLUSTER},
	};

	for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++)
		if (t->kind == PTX_WORD && strlen(spaces[i].text) == t->length &&
		    !memcmp(spaces[i].text, t->text, t->length)) {
			*space = spaces[i].space;
			return true;
		}
	return false;
}

/* Registers of IR: what has another width takes the next one up; 128 bits are never known. */
static unsigned register_width(unsigned bits)
{
	return bits == 1 ? 1 : bits <= 16 ? 16 : bits <= 32 ? 32 : 64;
}

static bool declare_register(struct gw_ptx_parser *p, uint32_t scope, unsigned bits)
{
	struct gw_ptx_lexer *l = &p->lexer;
	uint32_t name, reg, first = p->function->first_register;

	if (l->token.kind != PTX_WORD)
		return gw_ptx_fail(p, "a register's name was expected; is this text complete PTX?");
	name = gw_ptx_name(p->in, l->token.text, l->token.length);
	gw_ptx_next(l);
	if (name == PTX_NONE)
		return gw_ptx_no_room(p);
	if (gw_ptx_is_mark(l, '<')) {
		gw_ptx_next(l);
		if (l->token.kind != PTX_NUMBER || l->token.value > INT32_MAX)
			return gw_ptx_fail(p, "the number of registers was expected");
		reg = gw_ptx_range_add(p->in, scope, name, (uint32_t)l->token.value,
				       register_width(bits))
			      ? 0
			      : PTX_NONE;
		gw_ptx_next(l);
		if (reg != PTX_NONE)
			return gw_ptx_expect(p, '>');
	} else {
		reg = gw_ptx_register(p->in, first, register_width(bits));
		if (reg != PTX_NONE && !gw_ptx_mean(p->in, scope, name, PTX_NAMED_REGISTER, reg))
			reg = PTX_NONE;
	}
	return reg != PTX_NONE || gw_ptx_no_room(p);
}

bool gw_ptx_declare_registers(struct gw_ptx_parser *p, uint32_t scope)
{
	struct gw_ptx_lexer *l = &p->lexer;
	unsigned bits = 0;

	while (l->token.kind == PTX_WORD && *l->token.text == '.') {
		unsigned here = type_bits(l->token.text, l->token.length);

		bits = here ? here : bits; /* .v2 and .v4 go by */
		gw_ptx_next(l);
	}
	if (!bits || !p->function)
		return gw_ptx_fail(p, "a register needs a type such as .b32");
	for (;;) {
		if (!declare_register(p, scope, bits))
			return false;
		if (!gw_ptx_is_mark(l, ','))
			return gw_ptx_expect(p, ';');
		gw_ptx_next(l);
	}
}

/* `.align 8`, `.ptr .global .align 16`, `.b8`, `.attribute(.managed)`: what stands before a name.
 */
static bool read_type(struct gw_ptx_parser *p, struct gw_ptx_variable *v, unsigned *bits)
{
	struct gw_ptx_lexer *l = &p->lexer;
	bool pointer = false;

	*bits = 0;
	while (l->token.kind == PTX_WORD && *l->token.text == '.') {
		unsigned here = type_bits(l->token.text, l->token.length);
		bool align = gw_ptx_is_word(l, ".align");

		pointer = pointer || gw_ptx_is_word(l, ".ptr");
		*bits = here ? here : *bits;
		if (gw_ptx_is_word(l, ".v2") || gw_ptx_is_word(l, ".v4"))
			v->size = l->token.text[2] == '2' ? 2 : 4;
		gw_ptx_next(l);
		if (align && l->token.kind == PTX_NUMBER) {
			if (!pointer) /* else that of what it points to */
				v->align = (uint32_t)l->token.value;
			gw_ptx_next(l);
		}
		if (gw_ptx_is_mark(l, '(')) {
			while (l->token.kind != PTX_END && !gw_ptx_is_mark(l, ')'))
				gw_ptx_next(l);
			gw_ptx_next(l);
		}
	}
	return *bits || gw_ptx_fail(p, "a variable needs a type such as .b8");
}

/* `[4][8]`, `[]`: the number of elements. */
static bool read_extents(struct gw_ptx_parser *p, struct gw_ptx_variable *v, uint64_t *count)
{
	struct gw_ptx_lexer *l = &p->lexer;

	*count = 1;
	while (gw_ptx_is_mark(l, '[')) {
		gw_ptx_next(l);
		if (l->token.kind == PTX_NUMBER) {
			if (__builtin_mul_overflow(*count, l->token.value, count) ||
			    *count > UINT32_MAX)
				return gw_ptx_fail(p, "an array larger than any memory");
			gw_ptx_next(l);
		} else {
			v->dynamic = true;
		}
		if (!gw_ptx_expect(p, ']'))
			return false;
	}
	return true;
}

static bool skip_initialiser(struct gw_ptx_parser *p)
{
	struct gw_ptx_lexer *l = &p->lexer;
	unsigned depth = 0;

	while (l->token.kind != PTX_END) {
		if (gw_ptx_is_mark(l, '{'))
			depth++;
		else if (gw_ptx_is_mark(l, '}'))
			depth -= depth != 0;
		else if (!depth && (gw_ptx_is_mark(l, ';') || gw_ptx_is_mark(l, ',')))
			return true;
		gw_ptx_next(l);
	}
	return gw_ptx_fail(p, "an initialiser that doesn't end; is this text complete PTX?");
}

static bool valid_align(uint32_t align)
{
	return align && align <= 4096 && !(align & (align - 1));
}

bool gw_ptx_declare_variable(struct gw_ptx_parser *p, uint32_t scope, enum gw_ir_space space,
			     uint32_t *index)
{
	struct gw_ptx_lexer *l = &p->lexer;
	struct gw_ptx_variable *v = gw_ptx_add(p->in, &p->in->variables, sizeof(*v));
	uint64_t count;
	uint32_t name;
	unsigned bits;

	if (!v)
		return gw_ptx_no_room(p);
	*index = p->in->variables.count - 1;
	v->space = (uint8_t)space;
	v->reg = PTX_NONE;
	if (!read_type(p, v, &bits))
		return false;
	if (l->token.kind != PTX_WORD)
		return gw_ptx_fail(p, "a variable's name was expected");
	name = gw_ptx_name(p->in, l->token.text, l->token.length);
	if (name == PTX_NONE || !gw_ptx_mean(p->in, scope, name, PTX_NAMED_VARIABLE, *index))
		return gw_ptx_no_room(p);
	v->name = gw_ptx_name_text(p->in, name);
	gw_ptx_next(l);
	if (!read_extents(p, v, &count))
		return false;
	v->align = valid_align(v->align) ? v->align : (bits + 7) / 8;
	v->size = (v->size ? v->size : 1) * count * ((bits + 7) / 8);
	if (v->dynamic)
		v->size = 0;
	if (gw_ptx_is_mark(l, '=')) {
		gw_ptx_next(l);
		return skip_initialiser(p);
	}
	return true;
}
