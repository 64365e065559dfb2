/* Syntax trees: what the PTX text of a node means, and how nodes hang together. */
#include "predictor/code/memory/access.h"

#include <stdlib.h>
#include <string.h>

static const struct opcode {
	char stem[12]; /* in place: a table of pointers is relocated in every process */
	char type;
	enum gw_ir_op op;
	uint8_t operands;
} opcodes[] = {
#define ACCESS_OP(stem, type, op, operands) {stem, type, IR_##op, operands},
#include "predictor/code/memory/access_op.def"
#undef ACCESS_OP
};

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* A type at the end of an opcode: "s64" gives 's' and 64; false for anything else. */
static bool type_of(const char *text, char *letter, unsigned *bits)
{
	char *end;
	unsigned long n;

	if (strcmp(text, "pred") == 0) {
		*letter = 'b', *bits = 1;
		return true;
	}
	if (!*text || !strchr("subf", *text) || text[1] < '1' || text[1] > '9')
		return false;
	n = strtoul(text + 1, &end, 10);
	if (*end || (n != 8 && n != 16 && n != 32 && n != 64))
		return false;
	*letter = *text, *bits = (unsigned)n;
	return true;
}

/* Either type letter stands for both where the row says so, and "b" and "u" are one. */
static bool letter_fits(char row, char letter)
{
	return row == 'b' || letter == 'b' || row == letter;
}

static bool signed_matters(enum gw_ir_op op)
{
	return op != IR_ADD && op != IR_SUB && op != IR_MUL && op != IR_MOV;
}

static bool decode_operation(struct gw_access_node *n, size_t stem, char letter, unsigned bits)
{
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++) {
		const struct opcode *o = &opcodes[i];

		if (strlen(o->stem) != stem || strncmp(o->stem, n->opcode, stem) != 0)
			continue;
		if (letter == 'f' || (signed_matters(o->op) && !letter_fits(o->type, letter)))
			continue;
		n->kind = GW_NODE_OPERATE;
		n->op = (uint16_t)o->op;
		n->from = (uint8_t)bits;
		n->bits = (uint8_t)(o->op == IR_MULWS || o->op == IR_MULWU ? 2 * bits : bits);
		return n->bits <= 64;
	}
	return false;
}

/* "setp.lt.s32": the comparison between the stem and the type. */
static bool decode_compare(struct gw_access_node *n, char letter, unsigned bits)
{
	static const struct {
		const char *name;
		enum gw_ir_cond is, is_unsigned;
	} conditions[] = {
		{"eq.", IR_COND_EQ, IR_COND_EQ},   {"ne.", IR_COND_NE, IR_COND_NE},
		{"lt.", IR_COND_LTS, IR_COND_LTU}, {"le.", IR_COND_LES, IR_COND_LEU},
		{"gt.", IR_COND_GTS, IR_COND_GTU}, {"ge.", IR_COND_GES, IR_COND_GEU},
	};

	for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++) {
		if (letter == 'f' || !starts(n->opcode + strlen("setp."), conditions[i].name))
			continue;
		n->kind = GW_NODE_COMPARE;
		n->op = (uint16_t)(letter == 's' ? conditions[i].is : conditions[i].is_unsigned);
		n->from = (uint8_t)bits;
		n->bits = 1;
		return true;
	}
	return false;
}

/* "cvt.s64.s32" */
static bool decode_convert(struct gw_access_node *n, size_t stem, char letter, unsigned bits)
{
	char to[8], to_letter;
	unsigned to_bits;
	const char *first = n->opcode + strlen("cvt.");
	size_t length = stem - strlen("cvt.");

	if (letter == 'f' || length >= sizeof(to))
		return false;
	memcpy(to, first, length);
	to[length] = '\0';
	if (!type_of(to, &to_letter, &to_bits) || to_letter == 'f')
		return false;
	n->kind = GW_NODE_CONVERT;
	n->from = (uint8_t)bits;
	n->sign = letter == 's';
	n->bits = (uint8_t)to_bits;
	return true;
}

static void decode_opcode(struct gw_access_node *n)
{
	const char *dot = strrchr(n->opcode, '.');
	size_t stem = dot ? (size_t)(dot - n->opcode) : 0;
	unsigned bits;
	char letter, *end;

	if (starts(n->opcode, "loop.")) {
		n->value = strtoull(n->opcode + 5, &end, 10);
		n->kind = end != n->opcode + 5 && !*end ? GW_NODE_LOOP : GW_NODE_UNKNOWN;
		n->bits = 64;
		return;
	}
	if (!dot || !type_of(dot + 1, &letter, &bits))
		return;
	n->bits = (uint8_t)bits;
	if (starts(n->opcode, "cvta.")) {
		n->kind = GW_NODE_OPERATE, n->op = IR_MOV, n->from = n->bits;
	} else if (starts(n->opcode, "ld.param.")) {
		n->kind = GW_NODE_LOAD, n->sign = letter == 's', n->from = n->bits;
	} else if (starts(n->opcode, "selp.")) {
		n->kind = GW_NODE_SELECT;
	} else if (starts(n->opcode, "setp.") && stem > strlen("setp.")) {
		decode_compare(n, letter, bits);
	} else if (starts(n->opcode, "cvt.") && stem > strlen("cvt.")) {
		decode_convert(n, stem, letter, bits);
	} else {
		decode_operation(n, stem, letter, bits);
	}
}

static bool decode_special(struct gw_access_node *n)
{
	static const struct {
		const char *reg;
		enum gw_ir_sreg sreg;
	} specials[] = {
		{"%tid.x", IR_SREG_TID_X},       {"%tid.y", IR_SREG_TID_Y},
		{"%tid.z", IR_SREG_TID_Z},       {"%ntid.x", IR_SREG_NTID_X},
		{"%ntid.y", IR_SREG_NTID_Y},     {"%ntid.z", IR_SREG_NTID_Z},
		{"%ctaid.x", IR_SREG_CTAID_X},   {"%ctaid.y", IR_SREG_CTAID_Y},
		{"%ctaid.z", IR_SREG_CTAID_Z},   {"%nctaid.x", IR_SREG_NCTAID_X},
		{"%nctaid.y", IR_SREG_NCTAID_Y}, {"%nctaid.z", IR_SREG_NCTAID_Z},
		{"%laneid", IR_SREG_LANEID},     {"%warpid", IR_SREG_WARPID},
	};

	for (size_t i = 0; i < sizeof(specials) / sizeof(*specials); i++)
		if (strcmp(n->reg, specials[i].reg) == 0) {
			n->kind = GW_NODE_SPECIAL, n->op = (uint16_t)specials[i].sreg;
			n->bits = 32;
			return true;
		}
	return false;
}

/* "[param_5]", "[kernel_param_5+8]": a number after the last "param_", perhaps an offset. */
static void decode_param(struct gw_access_node *n)
{
	const char *last = NULL, *at = n->reg;
	unsigned long long index, offset = 0;
	char *end;

	while ((at = strstr(at, "param_")))
		last = at += strlen("param_");
	if (!last || *last < '0' || *last > '9')
		return;
	index = strtoull(last, &end, 10);
	if (*end == '+' && end[1] >= '0' && end[1] <= '9')
		offset = strtoull(end + 1, &end, 0);
	if (strcmp(end, "]") != 0 || index >= UINT32_MAX || offset >= UINT32_MAX)
		return;
	n->kind = GW_NODE_PARAM;
	n->value = index;
	n->offset = (uint32_t)offset;
	n->bits = 64;
}

static void decode_constant(struct gw_access_node *n)
{
	bool minus = *n->reg == '-';
	const char *digits = n->reg + minus;
	unsigned long long value;
	char *end;

	if (*digits < '0' || *digits > '9')
		return;
	/* Base 0 would take a leading zero for octal, as PTX does too. */
	value = strtoull(digits, &end, 0);
	if (*end == 'U')
		end++;
	if (*end)
		return;
	n->kind = GW_NODE_CONSTANT;
	n->value = minus ? 0 - (uint64_t)value : (uint64_t)value;
	n->bits = 64;
}

void gw_access_decode(struct gw_access_node *node)
{
	*node = (struct gw_access_node){
		.reg = node->reg, .opcode = node->opcode, .parent = node->parent, .bits = 64};
	if (*node->opcode)
		decode_opcode(node);
	else if (*node->reg == '%')
		decode_special(node);
	else if (*node->reg == '[')
		decode_param(node);
	else
		decode_constant(node);
}

/* Operands that a node of this kind must have; an unknown one may have any. */
static unsigned operands_of(const struct gw_access_node *n)
{
	switch ((enum gw_node_kind)n->kind) {
	case GW_NODE_LOAD:
	case GW_NODE_CONVERT:
		return 1;
	case GW_NODE_COMPARE:
	case GW_NODE_LOOP:
		return 2;
	case GW_NODE_SELECT:
		return 3;
	case GW_NODE_OPERATE:
		for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++)
			if (strncmp(opcodes[i].stem, n->opcode, strlen(opcodes[i].stem)) == 0 &&
			    n->opcode[strlen(opcodes[i].stem)] == '.')
				return opcodes[i].operands;
		return 1; /* cvta */
	default:
		return 0;
	}
}

const char *gw_access_link(struct gw_access *access, uint32_t *at)
{
	struct gw_access_node *nodes = access->nodes;

	*at = 0;
	if (access->count == 0 || access->count > GW_ACCESS_NODES)
		return "a tree has 1 to 256 nodes";
	if (nodes[0].parent != -1)
		return "node 0 is the root: its parent is -1";
	for (uint32_t i = 1; i < access->count; i++) {
		struct gw_access_node *parent;

		*at = i;
		if (nodes[i].parent < 0 || (uint32_t)nodes[i].parent >= i)
			return "a node's parent stands before it, and only node 0 has none";
		parent = &nodes[nodes[i].parent];
		if (parent->operands == GW_ACCESS_OPERANDS)
			return "an operation has at most 3 operands";
		parent->operand[parent->operands++] = (uint16_t)i;
	}
	for (uint32_t i = 0; i < access->count; i++) {
		*at = i;
		if (nodes[i].kind != GW_NODE_UNKNOWN && nodes[i].operands != operands_of(&nodes[i]))
			return "the opcode takes another number of operands";
		if (nodes[i].kind == GW_NODE_LOAD &&
		    nodes[nodes[i].operand[0]].kind != GW_NODE_PARAM)
			nodes[i].kind = GW_NODE_UNKNOWN;
	}
	return NULL;
}

uint32_t gw_access_width(const char *text)
{
	unsigned elements = 1, bits;
	char part[16], letter;
	uint32_t width = 0;

	for (const char *dot = strchr(text, '.'); dot; dot = strchr(dot + 1, '.')) {
		size_t length = strcspn(dot + 1, ". \t");

		if (length >= sizeof(part))
			continue;
		memcpy(part, dot + 1, length);
		part[length] = '\0';
		if (part[0] == 'v' && (part[1] == '2' || part[1] == '4' || part[1] == '8') &&
		    !part[2])
			elements = (unsigned)(part[1] - '0');
		else if (strcmp(part, "b128") == 0)
			width = 16;
		else if (type_of(part, &letter, &bits))
			width = bits / 8;
		if (dot[1 + length] != '.')
			break;
	}
	return width * elements <= GW_ACCESS_BYTES ? width * elements : 0;
}
