/* From PTX to the intermediate form: operands, symbols, and which opcode goes which way. */
#include "predictor/code/ptx/lower.h"

#include <stdlib.h>
#include <string.h>

struct opcode {
	char name[16];
	gw_ptx_lowering *lower;
};

/* Sorted by name. What isn't listed is opaque. */
static const struct opcode opcodes[] = {
	{"abs", gw_ptx_unary},
	{"activemask", gw_ptx_activemask},
	{"add", gw_ptx_add_sub},
	{"addc", gw_ptx_add_sub},
	{"and", gw_ptx_bitwise},
	{"atom", gw_ptx_atom},
	{"bar", gw_ptx_barrier},
	{"barrier", gw_ptx_barrier},
	{"bfe", gw_ptx_bfe},
	{"bfi", gw_ptx_bfi},
	{"bfind", gw_ptx_count},
	{"bra", gw_ptx_bra},
	{"brev", gw_ptx_count},
	{"brkpt", gw_ptx_nothing},
	{"brx", gw_ptx_brx},
	{"call", gw_ptx_call},
	{"clz", gw_ptx_count},
	{"cnot", gw_ptx_unary},
	{"cp", gw_ptx_cp},
	{"cvt", gw_ptx_cvt},
	{"cvta", gw_ptx_cvta},
	{"div", gw_ptx_div_rem},
	{"elect", gw_ptx_elect},
	{"exit", gw_ptx_exit},
	{"fence", gw_ptx_fence},
	{"fma", gw_ptx_fma},
	{"griddepcontrol", gw_ptx_nothing},
	{"isspacep", gw_ptx_isspacep},
	{"ld", gw_ptx_ld},
	{"ldmatrix", gw_ptx_matrix},
	{"ldu", gw_ptx_ld},
	{"lop3", gw_ptx_lop3},
	{"mad", gw_ptx_mul_mad},
	{"max", gw_ptx_min_max},
	{"mbarrier", gw_ptx_mbarrier},
	{"membar", gw_ptx_fence},
	{"min", gw_ptx_min_max},
	{"mov", gw_ptx_mov},
	{"mul", gw_ptx_mul_mad},
	{"nanosleep", gw_ptx_nothing},
	{"neg", gw_ptx_unary},
	{"not", gw_ptx_unary},
	{"or", gw_ptx_bitwise},
	{"pmevent", gw_ptx_nothing},
	{"popc", gw_ptx_count},
	{"prefetch", gw_ptx_prefetch},
	{"prefetchu", gw_ptx_prefetch},
	{"prmt", gw_ptx_prmt},
	{"red", gw_ptx_red},
	{"rem", gw_ptx_div_rem},
	{"ret", gw_ptx_ret},
	{"selp", gw_ptx_selp},
	{"set", gw_ptx_set},
	{"setmaxnreg", gw_ptx_nothing},
	{"setp", gw_ptx_setp},
	{"shf", gw_ptx_funnel},
	{"shfl", gw_ptx_shfl},
	{"shl", gw_ptx_shift},
	{"shr", gw_ptx_shift},
	{"sqrt", gw_ptx_sqrt},
	{"st", gw_ptx_st},
	{"stmatrix", gw_ptx_matrix},
	{"sub", gw_ptx_add_sub},
	{"subc", gw_ptx_add_sub},
	{"suld", gw_ptx_texture},
	{"sured", gw_ptx_texture},
	{"sust", gw_ptx_texture},
	{"tex", gw_ptx_texture},
	{"tld4", gw_ptx_texture},
	{"trap", gw_ptx_exit},
	{"vote", gw_ptx_vote},
	{"wgmma", gw_ptx_async_wait},
	{"wmma", gw_ptx_matrix},
	{"xor", gw_ptx_bitwise},
};

bool gw_ptx_object(struct gw_ptx_lower *l, const char *what)
{
	struct gw_ptx_token at = {.text = l->i.s && l->i.s->opcode ? l->i.s->opcode : ""};

	at.length = (uint32_t)strlen(at.text);
	at.line = l->i.s ? l->i.s->line : 0;
	at.column = l->i.s ? l->i.s->column : 0;
	return gw_ptx_refuse(&at, l->fault, what);
}

bool gw_ptx_has(const struct gw_ptx_lower *l, const char *part)
{
	for (uint32_t n = 1; n < l->i.parts; n++)
		if (!strcmp(l->i.part[n], part))
			return true;
	return false;
}

char gw_ptx_type(const char *part, unsigned *bits)
{
	static const char halves[][7] = {"f16",  "bf16",  "f16x2", "bf16x2", "tf32",   "e4m3",
					 "e5m2", "u16x2", "s16x2", "f32x2",  "e4m3x2", "e5m2x2"};
	char *end;

	if (!strcmp(part, "pred")) {
		*bits = 1;
		return 'p';
	}
	for (size_t n = 0; n < sizeof(halves) / sizeof(*halves); n++)
		if (!strcmp(part, halves[n])) {
			*bits = strstr(part, "32x2")                   ? 64
				: strstr(part, "x2") || part[0] == 't' ? 32
								       : 16;
			return 'h';
		}
	if (!strchr("subf", part[0]) || !part[0])
		return 0;
	*bits = (unsigned)strtoul(part + 1, &end, 10);
	if (*end || end == part + 1 ||
	    (*bits != 8 && *bits != 16 && *bits != 32 && *bits != 64 && *bits != 128))
		return 0;
	return *bits == 128 ? 'h' : part[0];
}

const struct gw_ptx_operand *gw_ptx_operand(const struct gw_ptx_lower *l, uint32_t n)
{
	static const struct gw_ptx_operand sink = {.kind = PTX_OPERAND_SINK};

	return n < l->i.count ? &l->i.o[n] : &sink;
}

const struct gw_ptx_operand *gw_ptx_item(const struct gw_ptx_lower *l,
					 const struct gw_ptx_operand *o, uint32_t n)
{
	static const struct gw_ptx_operand sink = {.kind = PTX_OPERAND_SINK};

	return n < o->count ? PTX_AT(operand, l->in->operands, o->index + n) : &sink;
}

static uint32_t register_of(struct gw_ptx_lower *l, uint32_t index)
{
	const struct gw_ptx_function *f = l->frame->function;
	uint32_t *reg;

	if (index >= f->registers) {
		l->b.failed = true;
		return GW_IR_NONE;
	}
	reg = &l->frame->regs[index];
	if (*reg == GW_IR_NONE)
		*reg = gw_ir_reg(&l->b,
				 ((const uint8_t *)l->in->widths.items)[f->first_register + index]);
	return *reg;
}

gw_ir_operand gw_ptx_def(struct gw_ptx_lower *l, const struct gw_ptx_operand *o)
{
	return o->kind == PTX_OPERAND_REGISTER ? register_of(l, o->index) : GW_IR_NONE;
}

static gw_ir_operand unknown(struct gw_ptx_lower *l, unsigned bits, const char *note)
{
	struct gw_ir_insn insn = {.op = IR_OPAQUE, .aux = gw_ir_note(&l->b, note)};
	gw_ir_operand def = gw_ir_reg(&l->b, bits < 16 ? 16 : bits);

	gw_ir_append(&l->b, insn, &def, 1, NULL, 0);
	return def;
}

static enum gw_ir_sreg special_of(const char *name)
{
	static const struct {
		char name[20]; /* in place, as in move.c */
		enum gw_ir_sreg first;
	} triples[] =
		{
			{"%tid", IR_SREG_TID_X},
			{"%ntid", IR_SREG_NTID_X},
			{"%ctaid", IR_SREG_CTAID_X},
			{"%nctaid", IR_SREG_NCTAID_X},
			{"%clusterid", IR_SREG_CLUSTERID_X},
			{"%nclusterid", IR_SREG_NCLUSTERID_X},
			{"%cluster_ctaid", IR_SREG_CLUSTER_CTAID_X},
			{"%cluster_nctaid", IR_SREG_CLUSTER_NCTAID_X},
		},
	  singles[] = {
		  {"%laneid", IR_SREG_LANEID},
		  {"%warpid", IR_SREG_UNKNOWN}, /* volatile: not bound to the threads' numbers */
		  {"%nwarpid", IR_SREG_UNKNOWN},
		  {"%lanemask_eq", IR_SREG_LANEMASK_EQ},
		  {"%lanemask_lt", IR_SREG_LANEMASK_LT},
		  {"%lanemask_le", IR_SREG_LANEMASK_LE},
		  {"%lanemask_gt", IR_SREG_LANEMASK_GT},
		  {"%lanemask_ge", IR_SREG_LANEMASK_GE},
		  {"%cluster_ctarank", IR_SREG_CLUSTER_CTARANK},
		  {"%cluster_nctarank", IR_SREG_CLUSTER_NCTARANK},
		  {"%dynamic_smem_size", IR_SREG_DYNAMIC_SMEM},
	  };
	size_t n = strlen(name);

	for (size_t i = 0; i < sizeof(singles) / sizeof(*singles); i++)
		if (!strcmp(singles[i].name, name))
			return singles[i].first;
	for (size_t i = 0; i < sizeof(triples) / sizeof(*triples); i++)
		if (n > 2 && strlen(triples[i].name) == n - 2 && name[n - 2] == '.' &&
		    !memcmp(triples[i].name, name, n - 2) && name[n - 1] >= 'x' &&
		    name[n - 1] <= 'z')
			return (enum gw_ir_sreg)(triples[i].first + (unsigned)(name[n - 1] - 'x'));
	return IR_SREG_UNKNOWN;
}

static gw_ir_operand special(struct gw_ptx_lower *l, uint32_t name, unsigned bits)
{
	return gw_ir_emit(&l->b, IR_SREG, 32, special_of(gw_ptx_name_text(l->in, name)),
			  gw_ir_reg(&l->b, bits > 32 ? 64 : 32), 0);
}

/* Room in local memory; its address. */
static uint32_t local_room(struct gw_ptx_lower *l, uint64_t size, uint32_t align)
{
	uint64_t at = ((uint64_t)l->local + align - 1) / align * align;

	/* What goes beyond is given one place beyond all others, whose contents aren't followed. */
	if (at + size > GW_IR_FRAME_MAX)
		return GW_IR_FRAME_MAX;
	l->local = (uint32_t)(at + size);
	return (uint32_t)at;
}

uint32_t gw_ptx_symbol(struct gw_ptx_lower *l, uint32_t variable)
{
	const struct gw_ptx_variable *v = PTX_AT(variable, l->in->variables, variable);
	struct gw_ir_symbol s = {.name = v->name,
				 .space = v->space,
				 .dynamic = v->dynamic && v->space == IR_SPACE_SHARED,
				 .align = v->align,
				 .size = v->size};

	if (l->symbols[variable] != GW_IR_NONE)
		return l->symbols[variable];
	if (v->space == IR_SPACE_SHARED && !v->dynamic) {
		uint64_t at = ((uint64_t)l->shared + v->align - 1) / v->align * v->align;

		s.address = at;
		l->shared = at + v->size < UINT32_MAX ? (uint32_t)(at + v->size) : UINT32_MAX;
	} else if (v->space == IR_SPACE_LOCAL || v->space == IR_SPACE_FRAME) {
		s.address = local_room(l, v->size, v->align);
	}
	l->symbols[variable] = gw_ir_add_symbol(&l->b, &s);
	return l->symbols[variable];
}

/* A variable's address; a kernel parameter's is its offset. */
static gw_ir_operand address_of(struct gw_ptx_lower *l, const struct gw_ptx_operand *o)
{
	const struct gw_ptx_variable *v = PTX_AT(variable, l->in->variables, o->index);
	unsigned bits = l->ptx->address_bits;

	if (v->space == IR_SPACE_PARAM)
		return gw_ptx_number(l, v->offset + o->value);
	return gw_ir_emit(&l->b, IR_ADDR, bits, gw_ptx_symbol(l, o->index), gw_ir_reg(&l->b, bits),
			  1, gw_ptx_number(l, o->value));
}

gw_ir_operand gw_ptx_use(struct gw_ptx_lower *l, const struct gw_ptx_operand *o, unsigned bits)
{
	uint64_t mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
	gw_ir_operand reg;

	switch (o->kind) {
	case PTX_OPERAND_REGISTER:
		reg = register_of(l, o->index);
		if (o->negated)
			return gw_ir_emit(&l->b, IR_NOT, 1, 0, gw_ir_reg(&l->b, 1), 1, reg);
		return reg;
	case PTX_OPERAND_NUMBER:
		return gw_ptx_number(l, o->value & mask);
	case PTX_OPERAND_FLOAT:
		if (o->width == bits)
			return gw_ptx_number(l, o->value);
		return unknown(l, bits, "a float written in decimals");
	case PTX_OPERAND_VARIABLE:
		return address_of(l, o);
	case PTX_OPERAND_SPECIAL:
		return special(l, o->index, bits);
	case PTX_OPERAND_NAME:
		if (!strcmp(gw_ptx_name_text(l->in, o->index), "WARP_SZ"))
			return gw_ptx_number(l, 32);
		return unknown(l, bits, "the address of a function");
	default:
		return unknown(l, bits, "an operand of a kind that isn't followed");
	}
}

static void gather_defs(struct gw_ptx_lower *l, const struct gw_ptx_operand *o, gw_ir_operand *defs,
			unsigned *count)
{
	gw_ir_operand def = gw_ptx_def(l, o);

	if (def != GW_IR_NONE && *count < GW_IR_DEFS_MAX)
		defs[(*count)++] = def;
	if (o->kind == PTX_OPERAND_LIST || o->kind == PTX_OPERAND_PAIR)
		for (uint32_t n = 0; n < o->count; n++) {
			gather_defs(l, gw_ptx_item(l, o, n), defs, count);
			if (*count == GW_IR_DEFS_MAX) {
				struct gw_ir_insn insn = {
					.op = IR_OPAQUE, .aux = gw_ir_note(&l->b, "a wide result")};

				gw_ir_append(&l->b, insn, defs, *count, NULL, 0);
				*count = 0;
			}
		}
}

bool gw_ptx_opaque(struct gw_ptx_lower *l, const char *note)
{
	struct gw_ir_insn insn = {.op = IR_OPAQUE};
	gw_ir_operand defs[GW_IR_DEFS_MAX];
	unsigned count = 0;

	insn.aux = gw_ir_note(&l->b, note ? note : l->i.s->opcode);
	if (l->i.count)
		gather_defs(l, gw_ptx_operand(l, 0), defs, &count);
	gw_ir_append(&l->b, insn, defs, count, NULL, 0);
	return true;
}

static int compare_opcode(const void *name, const void *opcode)
{
	return strcmp(name, ((const struct opcode *)opcode)->name);
}

/* Cut the opcode at its dots; what a scope or a modifier says behind "::" stays with its part. */
static bool split(struct gw_ptx_lower *l)
{
	char *text = gw_arena_text(l->arena, l->i.s->opcode, strlen(l->i.s->opcode));

	l->i.parts = 0;
	l->i.type = 0;
	l->i.bits = 0;
	while (text && l->i.parts < PTX_PARTS_MAX) {
		char *dot = strchr(text, '.'), type;
		unsigned bits;

		if (dot)
			*dot = '\0';
		type = l->i.parts ? gw_ptx_type(text, &bits) : 0;
		if (type) {
			l->i.type = type;
			l->i.bits = bits;
		}
		l->i.part[l->i.parts++] = text;
		text = dot ? dot + 1 : NULL;
	}
	return l->i.parts != 0;
}

bool gw_ptx_lower_insn(struct gw_ptx_lower *l)
{
	const struct opcode *found;

	if (!split(l))
		return gw_ptx_object(l, "no room for this kernel; raise the limit of memory");
	found = bsearch(l->i.part[0], opcodes, sizeof(opcodes) / sizeof(*opcodes), sizeof(*opcodes),
			compare_opcode);
	return found ? found->lower(l) : gw_ptx_opaque(l, NULL);
}

/* Dynamic shared memory begins where the static one ends. */
static void place_dynamic(struct gw_ptx_lower *l)
{
	struct gw_ir_program *p = &l->b.program;

	p->static_shared = l->shared;
	for (uint32_t n = 0; n < p->symbol_count; n++)
		if (p->symbols[n].dynamic)
			p->symbols[n].address = ((uint64_t)l->shared + p->symbols[n].align - 1) /
						p->symbols[n].align * p->symbols[n].align;
	p->frame_bytes = l->local;
}

static const struct gw_ptx_function *entry(const struct gw_ptx_inside *in, uint32_t kernel)
{
	for (uint32_t n = 0; n < in->functions.count; n++) {
		const struct gw_ptx_function *f = PTX_AT(function, in->functions, n);

		if (f->is_entry && f->has_body && !kernel--)
			return f;
	}
	return NULL;
}

static bool begin(struct gw_ptx_lower *l, const struct gw_ptx_function *f)
{
	l->symbols = gw_arena_array(l->arena, l->in->variables.count, sizeof(*l->symbols));
	if (!l->symbols || !gw_ir_builder_init(&l->b, l->arena))
		return false;
	memset(l->symbols, 0xff, l->in->variables.count * sizeof(*l->symbols));
	l->b.program.name = f->kernel.name;
	l->b.program.param_bytes = f->kernel.param_bytes;
	l->carry = gw_ir_reg(&l->b, 1);
	for (uint32_t n = 0; n < f->kernel.param_count; n++)
		gw_ir_add_param(&l->b, &f->kernel.params[n]);
	gw_ir_block_open(&l->b);
	return true;
}

bool gw_ptx_lower(const struct gw_ptx *ptx, uint32_t kernel, struct gw_arena *arena,
		  struct gw_ir_program *out, struct gw_ptx_fault *fault)
{
	const struct gw_ptx_function *f = entry(ptx->inside, kernel);
	struct gw_ptx_lower l = {.ptx = ptx, .in = ptx->inside, .arena = arena, .fault = fault};
	struct gw_ptx_frame frame = {.function = f, .leave = GW_IR_NONE};
	const char *wrong;

	memset(fault, 0, sizeof(*fault));
	if (!f)
		return gw_ptx_object(&l, "the text has no kernel of this number");
	l.frame = &frame;
	if (!begin(&l, f))
		return gw_ptx_object(&l, "no room for this kernel; raise the limit of memory");
	if (!gw_ptx_lower_function(&l))
		return false;
	place_dynamic(&l);
	wrong = gw_ir_finish(&l.b);
	if (wrong) {
		l.i.s = NULL;
		gw_ptx_object(&l, wrong);
		fault->line = f->kernel.line;
		return false;
	}
	*out = l.b.program;
	return true;
}
