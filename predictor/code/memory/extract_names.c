/* How registers, constants and instructions of a syntax tree are called. */
#include "predictor/code/memory/extract_parts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *gw_name_keep(struct gw_slicer *s, const char *text)
{
	const char *kept = gw_arena_text(s->arena, text, strlen(text));

	s->no_room |= !kept;
	return kept ? kept : "";
}

const char *gw_name_register(struct gw_slicer *s, uint32_t reg)
{
	unsigned bits = reg < s->program->reg_count ? s->program->widths[reg] : 0;
	char text[32];

	snprintf(text, sizeof(text), "%s%u",
		 bits == 64   ? "%rd"
		 : bits == 16 ? "%rs"
		 : bits == 1  ? "%p"
			      : "%r",
		 reg);
	return gw_name_keep(s, text);
}

const char *gw_name_constant(struct gw_slicer *s, uint64_t value, unsigned bits)
{
	char text[32];

	if (bits < 64 && bits > 0 && value >> (bits - 1) & 1)
		value |= ~((UINT64_C(1) << bits) - 1);
	snprintf(text, sizeof(text), "%lld", (long long)value);
	return gw_name_keep(s, text);
}

const char *gw_name_param(struct gw_slicer *s, uint64_t offset)
{
	const struct gw_ir_program *p = s->program;
	char text[64];

	for (uint32_t i = 0; i < p->param_count; i++) {
		uint64_t within = offset - p->params[i].offset;

		if (offset < p->params[i].offset || within >= p->params[i].size)
			continue;
		if (within)
			snprintf(text, sizeof(text), "[param_%u+%llu]", i,
				 (unsigned long long)within);
		else
			snprintf(text, sizeof(text), "[param_%u]", i);
		return gw_name_keep(s, text);
	}
	return gw_name_keep(s, "[param]");
}

/* A space as PTX writes it in an opcode. */
static const char *space_word(const struct gw_ir_insn *insn)
{
	static const char *const words[GW_IR_SPACES] = {
		[IR_SPACE_GENERIC] = "generic", [IR_SPACE_GLOBAL] = "global",
		[IR_SPACE_SHARED] = "shared",   [IR_SPACE_CLUSTER] = "shared::cluster",
		[IR_SPACE_LOCAL] = "local",     [IR_SPACE_CONST] = "const",
		[IR_SPACE_PARAM] = "param"};

	return insn->space < GW_IR_SPACES && words[insn->space] ? words[insn->space] : "global";
}

const char *gw_name_special(struct gw_slicer *s, enum gw_ir_sreg sreg)
{
	const char *name = gw_ir_sreg_name(sreg);
	char text[32] = "%";

	for (size_t i = 0; name[i] && i + 2 < sizeof(text); i++)
		text[i + 1] = name[i] == '_' ? '.' : (char)tolower((unsigned char)name[i]);
	return gw_name_keep(s, text);
}

static const struct name {
	enum gw_ir_op op;
	char stem[12]; /* in place, as in access_decode.c */
	char type;
} names[] = {
#define ACCESS_OP(stem, type, op, operands) {IR_##op, stem, operands == 3 ? 0 : type},
#include "predictor/code/memory/access_op.def"
#undef ACCESS_OP
};

static const char *compare_name(const struct gw_ir_insn *insn, char *out, size_t size)
{
	static const char *const text[GW_IR_CONDS] = {
		[IR_COND_EQ] = "eq.s",  [IR_COND_NE] = "ne.s",  [IR_COND_LTS] = "lt.s",
		[IR_COND_LES] = "le.s", [IR_COND_GTS] = "gt.s", [IR_COND_GES] = "ge.s",
		[IR_COND_LTU] = "lt.u", [IR_COND_LEU] = "le.u", [IR_COND_GTU] = "gt.u",
		[IR_COND_GEU] = "ge.u"};

	if (insn->aux >= GW_IR_CONDS || !text[insn->aux])
		return NULL;
	snprintf(out, size, "setp.%s%u", text[insn->aux], insn->bits);
	return out;
}

const char *gw_name_opcode(const struct gw_ir_insn *insn, unsigned result_bits, char *out,
			   size_t size)
{
	enum gw_ir_op op = (enum gw_ir_op)insn->op;

	if (op == IR_CMP)
		return compare_name(insn, out, size);
	if (op == IR_SEXT)
		snprintf(out, size, "cvt.s%u.s%u", result_bits, insn->bits);
	else if (op == IR_ZEXT)
		snprintf(out, size, "cvt.u%u.u%u", result_bits, insn->bits);
	else if (op == IR_SEL)
		snprintf(out, size, "selp.b%u", result_bits);
	else if (op == IR_SREG)
		snprintf(out, size, "mov.u%u", result_bits);
	else if (op == IR_FROMGEN || op == IR_TOGEN)
		snprintf(out, size, "cvta.%s%s.u64", op == IR_FROMGEN ? "to." : "",
			 space_word(insn));
	else if (op == IR_LD)
		snprintf(out, size, "ld.%s.%c%u", space_word(insn),
			 insn->flags & IR_MEM_SIGNED ? 's' : 'u', 8U * insn->width);
	else
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			if (names[i].op == op && names[i].type) {
				snprintf(out, size, "%s.%c%u", names[i].stem, names[i].type,
					 insn->bits);
				return out;
			}
	return op == IR_SEXT || op == IR_ZEXT || op == IR_SEL || op == IR_SREG ||
			       op == IR_FROMGEN || op == IR_TOGEN || op == IR_LD
		       ? out
		       : NULL;
}

/* The line of PTX of an instruction, without space at its ends; empty when there is none. */
static struct gw_bytes line_of(const struct gw_slicer *s, const struct gw_ir_insn *insn)
{
	const char *from, *to;

	if (!s->line || insn->source < 1 || insn->source > s->line_count)
		return (struct gw_bytes){0};
	from = s->line[insn->source - 1], to = s->line[insn->source];
	while (from < to && (*from == ' ' || *from == '\t'))
		from++;
	while (to > from && (to[-1] == '\n' || to[-1] == '\r' || to[-1] == ' ' || to[-1] == '\t'))
		to--;
	return (struct gw_bytes){(const uint8_t *)from, (size_t)(to - from)};
}

/* The next word of @p line up to a space or comma, copied; the line then begins after it. */
static bool word(struct gw_bytes *line, char *out, size_t size)
{
	const uint8_t *at = line->data, *end = at + line->size;
	size_t length = 0;

	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	while (at < end && *at != ' ' && *at != '\t' && *at != ',' && *at != ';' &&
	       length + 1 < size)
		out[length++] = (char)*at++;
	out[length] = '\0';
	line->size = (size_t)(end - at);
	line->data = at;
	return length > 0 && length + 1 < size;
}

void gw_name_by_source(struct gw_slicer *s, const struct gw_ir_insn *insn,
		       struct gw_access_node *node)
{
	struct gw_bytes line = line_of(s, insn);
	char opcode[64], reg[64];
	struct gw_access_node named = {.reg = "", .opcode = opcode, .parent = node->parent};
	struct gw_access_node made = *node;

	if (!line.size || !word(&line, opcode, sizeof(opcode)))
		return;
	if (*opcode == '@' && !word(&line, opcode, sizeof(opcode)))
		return;
	if (!word(&line, reg, sizeof(reg)) || *reg != '%')
		return;
	gw_access_decode(&named);
	gw_access_decode(&made);
	/* A line that means more than this operation (mad, an address with an offset) has another
	 * decoding. */
	if (named.kind != made.kind || named.kind == GW_NODE_UNKNOWN || named.op != made.op ||
	    named.bits != made.bits || named.from != made.from || strncmp(opcode, "mad.", 4) == 0)
		return;
	node->opcode = gw_name_keep(s, opcode);
	node->reg = gw_name_keep(s, reg);
}

/* "ld.global.v2.u32", where the PTX is not at hand. */
static const char *made_up(struct gw_slicer *s, const struct gw_ir_insn *insn)
{
	const char *op = insn->op == IR_LD   ? "ld"
			 : insn->op == IR_ST ? "st"
					     : gw_ir_op_name((enum gw_ir_op)insn->op);
	char text[96], vector[16] = "";

	if (insn->elements > 1)
		snprintf(vector, sizeof(vector), ".v%u", insn->elements);
	snprintf(text, sizeof(text), "%s.%s%s.u%u", op, space_word(insn), vector, 8U * insn->width);
	return gw_name_keep(s, text);
}

const char *gw_name_access(struct gw_slicer *s, const struct gw_ir_insn *insn)
{
	struct gw_bytes line = line_of(s, insn);
	char text[GW_ACCESS_TEXT_MAX];
	size_t length = 0;

	for (size_t i = 0; i < line.size && length + 1 < sizeof(text); i++) {
		bool space = line.data[i] == ' ' || line.data[i] == '\t';

		if (!space)
			text[length++] = (char)line.data[i];
		else if (length && text[length - 1] != ' ')
			text[length++] = ' ';
	}
	text[length] = '\0';
	return length ? gw_name_keep(s, text) : made_up(s, insn);
}
