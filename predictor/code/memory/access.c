/* Syntax trees: their value for the lanes of a warp, and as one expression. */
#include "predictor/code/memory/access.h"

#include "predictor/code/eval/scalar.h"

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

/* Operation of @p n on its first two operands; a third one, of a mad, is added. */
static bool operate(const struct gw_access_node *n, const uint64_t in[4], uint64_t *out)
{
	if (!gw_scalar((enum gw_ir_op)n->op, n->from, 0, n->bits, in, out))
		return false;
	*out += in[2];
	return true;
}

static bool inner_value(const struct lane *l, const struct gw_access_node *n, uint64_t *v)
{
	uint64_t in[4] = {0};

	for (unsigned i = 0; i < n->operands; i++)
		in[i] = l->value[n->operand[i]];
	switch ((enum gw_node_kind)n->kind) {
	case GW_NODE_LOAD:
		if (!parameter(l, &l->access->nodes[n->operand[0]], n->bits, v))
			return false;
		*v = n->sign ? (uint64_t)gw_signed_bits(*v, n->bits) : *v;
		return true;
	case GW_NODE_CONVERT:
		*v = n->sign ? (uint64_t)gw_signed_bits(in[0], n->from)
			     : gw_low_bits(in[0], n->from);
		return true;
	case GW_NODE_SELECT:
		*v = in[2] & 1 ? in[0] : in[1];
		return true;
	case GW_NODE_COMPARE:
		*v = gw_scalar_compare((enum gw_ir_cond)n->op, n->from, in[0], in[1]);
		return true;
	case GW_NODE_LOOP:
		*v = in[0];
		if (n->value < GW_ACCESS_LOOPS)
			*v += l->point->iteration[n->value] * in[1];
		return true;
	case GW_NODE_OPERATE:
		return operate(n, in, v);
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
		l->known[i] &= l->known[n->operand[o]] || n->kind == GW_NODE_LOAD;
	if (!l->known[i])
		return;
	if (n->kind == GW_NODE_CONSTANT)
		v = n->value;
	else if (n->kind == GW_NODE_SPECIAL)
		v = special(l, (enum gw_ir_sreg)n->op);
	else if (n->kind == GW_NODE_PARAM)
		l->known[i] = parameter(l, n, 64, &v);
	else
		l->known[i] = inner_value(l, n, &v);
	l->value[i] = gw_low_bits(v, n->bits);
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
	switch ((enum gw_node_kind)n->kind) {
	case GW_NODE_SPECIAL:
		if (n->op == IR_SREG_CTAID_X || n->op == IR_SREG_CTAID_Y ||
		    n->op == IR_SREG_CTAID_Z)
			return BY_BLOCK;
		return n->op >= IR_SREG_NTID_X && n->op <= IR_SREG_NCTAID_Z ? BY_PARAM : BY_THREAD;
	case GW_NODE_UNKNOWN:
		return BY_THREAD;
	case GW_NODE_LOOP:
		return BY_LOOP;
	case GW_NODE_PARAM:
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
	return n->kind == GW_NODE_LOAD || (n->kind == GW_NODE_CONVERT && n->bits >= n->from) ||
	       (n->kind == GW_NODE_OPERATE && n->op == IR_MOV);
}

static bool commutes(const struct gw_access_node *n)
{
	static const uint16_t ops[] = {IR_ADD,   IR_MUL,  IR_MULWS, IR_MULWU, IR_MULHS,
				       IR_MULHU, IR_AND,  IR_OR,    IR_XOR,   IR_MINS,
				       IR_MINU,  IR_MAXS, IR_MAXU};

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (n->kind == GW_NODE_OPERATE && n->op == ops[i])
			return true;
	return false;
}

/* "%tid.x" is tid.x, "[kernel_param_5+8]" param5+8, "mul.wide.s32" mul. */
static void put_name(struct writer *w, const struct gw_access_node *n)
{
	char text[48];

	if (n->kind == GW_NODE_SPECIAL)
		put(w, n->reg + 1, strlen(n->reg + 1));
	else if (n->kind == GW_NODE_PARAM && n->offset)
		put(w, text,
		    (size_t)snprintf(text, sizeof(text), "param%llu+%u",
				     (unsigned long long)n->value, n->offset));
	else if (n->kind == GW_NODE_PARAM)
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
