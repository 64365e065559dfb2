/* SPDX-License-Identifier: Apache-2.0 */
/* Syntax trees: their value for the lanes of a warp, and as one expression. */
#include "predictor/code/access.h"

#include <stdio.h>
#include <string.h>

/* A lane's place, and the values of its nodes. */
struct lane {
	const struct gw_access *access;
	const struct gw_access_launch *launch;
	const struct gw_access_point *point;
	uint32_t thread; /* of the block, counted x first */
	uint64_t value[GW_ACCESS_NODES];
	bool known[GW_ACCESS_NODES];
};

static uint64_t low(uint64_t v, unsigned bits)
{
	return bits >= 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}

static int64_t as_signed(uint64_t v, unsigned bits)
{
	uint64_t sign = UINT64_C(1) << (bits - 1);

	return (int64_t)((low(v, bits) ^ sign) - sign);
}

static uint64_t special(const struct lane *l, enum gw_ir_sreg sreg)
{
	struct gw_dim3 block = l->launch->config.block, grid = l->launch->config.grid;
	const uint32_t by_number[] = {
	        [IR_SREG_TID_X] = l->thread % block.x,
	        [IR_SREG_TID_Y] = l->thread / block.x % block.y,
	        [IR_SREG_TID_Z] = l->thread / block.x / block.y,
	        [IR_SREG_NTID_X] = block.x,
	        [IR_SREG_NTID_Y] = block.y,
	        [IR_SREG_NTID_Z] = block.z,
	        [IR_SREG_CTAID_X] = l->point->block.x,
	        [IR_SREG_CTAID_Y] = l->point->block.y,
	        [IR_SREG_CTAID_Z] = l->point->block.z,
	        [IR_SREG_NCTAID_X] = grid.x,
	        [IR_SREG_NCTAID_Y] = grid.y,
	        [IR_SREG_NCTAID_Z] = grid.z,
	        [IR_SREG_LANEID] = l->thread % GW_REQUEST_LANES,
	        [IR_SREG_WARPID] = l->thread / GW_REQUEST_LANES,
	};

	return by_number[sreg];
}

/* @p bits of the parameter that leaf @p n stands for; false when they weren't given. */
static bool parameter(const struct lane *l, const struct gw_access_node *n, unsigned bits,
                      uint64_t *value)
{
	const struct gw_access_launch *launch = l->launch;
	const struct gw_ir_param *p;

	*value = 0;
	if (n->value < launch->param_count) {
		p = &launch->params[n->value];
		if ((uint64_t)n->offset + bits / 8 <= p->size &&
		    gw_bytes_get(launch->arguments, (uint64_t)p->offset + n->offset, value,
		                 bits / 8))
			return true;
	}
	*value = 0;
	if (!launch->assume_pointers || bits != 64 || n->offset)
		return false;
	/* A terabyte for each keeps them apart. */
	*value = (n->value + 1) << 40;
	return true;
}

static bool divide(enum gw_ir_op op, unsigned bits, uint64_t a, uint64_t b, uint64_t *out)
{
	int64_t sa = as_signed(a, bits), sb = as_signed(b, bits);

	if (low(b, bits) == 0)
		return false;
	/* -1: the one quotient that may not fit, told without dividing. */
	if (op == IR_DIVS)
		*out = sb == -1 ? 0 - (uint64_t)sa : (uint64_t)(sa / sb);
	else if (op == IR_REMS)
		*out = sb == -1 ? 0 : (uint64_t)(sa % sb);
	else if (op == IR_DIVU)
		*out = low(a, bits) / low(b, bits);
	else
		*out = low(a, bits) % low(b, bits);
	return true;
}

static uint64_t high_product(enum gw_ir_op op, unsigned bits, uint64_t a, uint64_t b)
{
	unsigned __int128 u = (unsigned __int128)low(a, bits) * low(b, bits);
	__int128 s = (__int128)as_signed(a, bits) * as_signed(b, bits);

	return op == IR_MULHS ? (uint64_t)(s >> bits) : (uint64_t)(u >> bits);
}

static uint64_t shift(enum gw_ir_op op, unsigned bits, uint64_t a, uint64_t by)
{
	uint64_t n = low(by, 32);

	if (op == IR_SHRS)
		return (uint64_t)(as_signed(a, bits) >> (n < bits ? n : bits - 1));
	if (n >= bits)
		return 0;
	return op == IR_SHL ? a << n : low(a, bits) >> n;
}

static uint64_t lesser(enum gw_ir_op op, unsigned bits, uint64_t a, uint64_t b)
{
	bool first = op == IR_MINS || op == IR_MAXS ? as_signed(a, bits) < as_signed(b, bits)
	                                            : low(a, bits) < low(b, bits);

	return first == (op == IR_MINS || op == IR_MINU) ? a : b;
}

/* One operation of ir.def on numbers of @p bits; false where it has no result. */
static bool operate(enum gw_ir_op op, unsigned bits, uint64_t a, uint64_t b, uint64_t *out)
{
	switch (op) {
	case IR_MOV:
		*out = a;
		return true;
	case IR_NOT:
		*out = ~a;
		return true;
	case IR_ABS:
		*out = as_signed(a, bits) < 0 ? 0 - a : a;
		return true;
	case IR_ADD:
		*out = a + b;
		return true;
	case IR_SUB:
		*out = a - b;
		return true;
	case IR_AND:
		*out = a & b;
		return true;
	case IR_OR:
		*out = a | b;
		return true;
	case IR_XOR:
		*out = a ^ b;
		return true;
	case IR_MUL:
		*out = a * b;
		return true;
	case IR_MULWU:
		*out = low(a, bits) * low(b, bits);
		return true;
	case IR_MULWS:
		*out = (uint64_t)(as_signed(a, bits) * as_signed(b, bits));
		return true;
	case IR_MULHS:
	case IR_MULHU:
		*out = high_product(op, bits, a, b);
		return true;
	case IR_SHL:
	case IR_SHRS:
	case IR_SHRU:
		*out = shift(op, bits, a, b);
		return true;
	case IR_MINS:
	case IR_MINU:
	case IR_MAXS:
	case IR_MAXU:
		*out = lesser(op, bits, a, b);
		return true;
	case IR_DIVS:
	case IR_DIVU:
	case IR_REMS:
	case IR_REMU:
		return divide(op, bits, a, b, out);
	default:
		return false;
	}
}

static bool compare(enum gw_ir_cond cond, unsigned bits, uint64_t a, uint64_t b)
{
	int64_t sa = as_signed(a, bits), sb = as_signed(b, bits);

	a = low(a, bits), b = low(b, bits);
	switch (cond) {
	case IR_COND_EQ:
		return a == b;
	case IR_COND_NE:
		return a != b;
	case IR_COND_LTS:
		return sa < sb;
	case IR_COND_LES:
		return sa <= sb;
	case IR_COND_GTS:
		return sa > sb;
	case IR_COND_GES:
		return sa >= sb;
	case IR_COND_LTU:
		return a < b;
	case IR_COND_LEU:
		return a <= b;
	case IR_COND_GTU:
		return a > b;
	default:
		return a >= b;
	}
}

static bool inner_value(const struct lane *l, const struct gw_access_node *n, uint64_t *v)
{
	const uint64_t *value = l->value;
	uint64_t a = n->operands > 0 ? value[n->operand[0]] : 0;
	uint64_t b = n->operands > 1 ? value[n->operand[1]] : 0;
	uint64_t c = n->operands > 2 ? value[n->operand[2]] : 0;

	switch ((enum gw_access_kind)n->kind) {
	case GW_ACCESS_LOAD:
		if (!parameter(l, &l->access->nodes[n->operand[0]], n->bits, v))
			return false;
		*v = n->sign ? (uint64_t)as_signed(*v, n->bits) : *v;
		return true;
	case GW_ACCESS_CONVERT:
		*v = n->sign ? (uint64_t)as_signed(a, n->from) : low(a, n->from);
		return true;
	case GW_ACCESS_SELECT:
		*v = c & 1 ? a : b;
		return true;
	case GW_ACCESS_COMPARE:
		*v = compare((enum gw_ir_cond)n->op, n->from, a, b);
		return true;
	case GW_ACCESS_LOOP:
		*v = a;
		if (n->value < GW_ACCESS_LOOPS)
			*v += l->point->iteration[n->value] * b;
		return true;
	case GW_ACCESS_OPERATE:
		if (!operate((enum gw_ir_op)n->op, n->from, a, b, v))
			return false;
		*v += c; /* mad */
		return true;
	default:
		return false;
	}
}

static void node_value(struct lane *l, uint32_t i)
{
	const struct gw_access_node *n = &l->access->nodes[i];
	uint64_t v = 0;

	l->known[i] = true;
	for (unsigned o = 0; o < n->operands; o++)
		l->known[i] &= l->known[n->operand[o]] || n->kind == GW_ACCESS_LOAD;
	if (!l->known[i])
		return;
	if (n->kind == GW_ACCESS_CONSTANT)
		v = n->value;
	else if (n->kind == GW_ACCESS_SPECIAL)
		v = special(l, (enum gw_ir_sreg)n->op);
	else if (n->kind == GW_ACCESS_PARAM)
		l->known[i] = parameter(l, n, 64, &v);
	else
		l->known[i] = inner_value(l, n, &v);
	l->value[i] = low(v, n->bits);
}

/* The node that makes the root unknown: the first unknown one all of whose operands are known. */
static uint32_t culprit(const struct lane *l)
{
	uint32_t at = 0;

	for (;;) {
		const struct gw_access_node *n = &l->access->nodes[at];
		uint32_t next = at;

		for (unsigned o = 0; o < n->operands && next == at; o++)
			if (!l->known[n->operand[o]])
				next = n->operand[o];
		if (next == at)
			return at;
		at = next;
	}
}

bool gw_access_request(const struct gw_access *access, const struct gw_access_launch *launch,
                       const struct gw_access_point *point, struct gw_request *out, uint32_t *blame)
{
	struct lane l = {.access = access, .launch = launch, .point = point};
	uint64_t threads = gw_dim3_count(launch->config.block);

	*out = (struct gw_request){.bytes = access->bytes};
	for (unsigned lane = 0; lane < GW_REQUEST_LANES; lane++) {
		uint64_t thread = (uint64_t)point->warp * GW_REQUEST_LANES + lane;

		if (thread >= threads)
			break;
		l.thread = (uint32_t)thread;
		/* Operands stand after the nodes they belong to. */
		for (uint32_t i = access->count; i-- > 0;)
			node_value(&l, i);
		if (!l.known[0]) {
			if (blame)
				*blame = culprit(&l);
			return false;
		}
		out->address[lane] = l.value[0];
		out->active |= UINT32_C(1) << lane;
	}
	return gw_request_valid(out);
}

/* What a subtree's value changes with, most often first: the order of an expression's operands. */
enum rank { BY_THREAD, BY_BLOCK, BY_LOOP, BY_PARAM, BY_NOTHING };

static enum rank own_rank(const struct gw_access_node *n)
{
	switch ((enum gw_access_kind)n->kind) {
	case GW_ACCESS_SPECIAL:
		if (n->op == IR_SREG_CTAID_X || n->op == IR_SREG_CTAID_Y ||
		    n->op == IR_SREG_CTAID_Z)
			return BY_BLOCK;
		return n->op >= IR_SREG_NTID_X && n->op <= IR_SREG_NCTAID_Z ? BY_PARAM : BY_THREAD;
	case GW_ACCESS_UNKNOWN:
		return BY_THREAD;
	case GW_ACCESS_LOOP:
		return BY_LOOP;
	case GW_ACCESS_PARAM:
		return BY_PARAM;
	default:
		return BY_NOTHING;
	}
}

struct writer {
	const struct gw_access *access;
	enum rank rank[GW_ACCESS_NODES];
	char *out;
	size_t size, used;
};

static void put(struct writer *w, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (w->used + 1 < w->size)
			w->out[w->used++] = text[i];
		else if (w->size > 4)
			memcpy(w->out + w->size - 4, "...", 3);
	if (w->size)
		w->out[w->used] = '\0';
}

/* Moves and widenings: what stands in for their operand. */
static bool transparent(const struct gw_access_node *n)
{
	return n->kind == GW_ACCESS_LOAD || (n->kind == GW_ACCESS_CONVERT && n->bits >= n->from) ||
	       (n->kind == GW_ACCESS_OPERATE && n->op == IR_MOV);
}

static bool commutes(const struct gw_access_node *n)
{
	static const uint16_t ops[] = {IR_ADD,   IR_MUL,  IR_MULWS, IR_MULWU, IR_MULHS,
	                               IR_MULHU, IR_AND,  IR_OR,    IR_XOR,   IR_MINS,
	                               IR_MINU,  IR_MAXS, IR_MAXU};

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (n->kind == GW_ACCESS_OPERATE && n->op == ops[i])
			return true;
	return false;
}

/* "%tid.x" is tid.x, "[kernel_param_5+8]" param5+8, "mul.wide.s32" mul. */
static void put_name(struct writer *w, const struct gw_access_node *n)
{
	char text[48];

	if (n->kind == GW_ACCESS_SPECIAL)
		put(w, n->reg + 1, strlen(n->reg + 1));
	else if (n->kind == GW_ACCESS_PARAM && n->offset)
		put(w, text,
		    (size_t)snprintf(text, sizeof(text), "param%llu+%u",
		                     (unsigned long long)n->value, n->offset));
	else if (n->kind == GW_ACCESS_PARAM)
		put(w, text,
		    (size_t)snprintf(text, sizeof(text), "param%llu",
		                     (unsigned long long)n->value));
	else if (*n->opcode && n->operands)
		put(w, n->opcode, strcspn(n->opcode, "."));
	else
		put(w, n->reg, strlen(n->reg));
}

static void write_node(struct writer *w, uint32_t at)
{
	const struct gw_access_node *n = &w->access->nodes[at];
	uint16_t order[GW_ACCESS_OPERANDS];

	/* As deep as the tree at most: GW_ACCESS_NODES. */
	while (transparent(n))
		n = &w->access->nodes[n->operand[0]];
	memcpy(order, n->operand, sizeof(order));
	if (commutes(n) && n->operands >= 2 && w->rank[order[1]] < w->rank[order[0]]) {
		order[0] = n->operand[1];
		order[1] = n->operand[0];
	}
	put_name(w, n);
	for (unsigned o = 0; o < n->operands; o++) {
		put(w, o ? ", " : "(", o ? 2 : 1);
		write_node(w, order[o]);
	}
	if (n->operands)
		put(w, ")", 1);
}

char *gw_access_expression(const struct gw_access *access, char *out, size_t size)
{
	struct writer w = {.access = access, .out = out, .size = size};

	for (uint32_t i = access->count; i-- > 0;) {
		const struct gw_access_node *n = &access->nodes[i];

		w.rank[i] = own_rank(n);
		for (unsigned o = 0; o < n->operands; o++)
			if (w.rank[n->operand[o]] < w.rank[i])
				w.rank[i] = w.rank[n->operand[o]];
	}
	if (size)
		*out = '\0';
	write_node(&w, 0);
	return out;
}
