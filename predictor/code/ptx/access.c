/* Lowering accesses to memory. */
#include "predictor/code/ptx/lower.h"

#include <stdlib.h>
#include <string.h>

enum { LANE_VALUES_MAX = GW_IR_USES_MAX - 2 };

/* The space an opcode names; GENERIC when it names none. */
static enum gw_ir_space space_of(const struct gw_ptx_lower *l)
{
	static const struct {
		char prefix[16]; /* in place, as in move.c */
		enum gw_ir_space space;
	} all[] = {
		{"shared::cluster", IR_SPACE_CLUSTER},
		{"global", IR_SPACE_GLOBAL},
		{"shared", IR_SPACE_SHARED},
		{"local", IR_SPACE_LOCAL},
		{"const", IR_SPACE_CONST},
		{"param", IR_SPACE_PARAM},
	};

	for (uint32_t n = 1; n < l->i.parts; n++)
		for (size_t s = 0; s < sizeof(all) / sizeof(*all); s++) {
			size_t length = strlen(all[s].prefix);

			if (!strncmp(l->i.part[n], all[s].prefix, length) &&
			    (!l->i.part[n][length] || l->i.part[n][length] == ':'))
				return all[s].space;
		}
	return IR_SPACE_GENERIC;
}

static unsigned vector_of(const struct gw_ptx_lower *l)
{
	if (gw_ptx_has(l, "v2"))
		return 2;
	if (gw_ptx_has(l, "v4"))
		return 4;
	return gw_ptx_has(l, "v8") ? 8 : 1;
}

static uint8_t flags_of(const struct gw_ptx_lower *l)
{
	static const char ordered[][9] = {"volatile", "relaxed", "acquire", "release", "mmio"};
	unsigned flags = gw_ptx_has(l, "nc") || !strcmp(l->i.part[0], "ldu") ? IR_MEM_READONLY : 0;

	for (size_t n = 0; n < sizeof(ordered) / sizeof(*ordered); n++)
		if (gw_ptx_has(l, ordered[n]))
			flags |= IR_MEM_VOLATILE;
	if (l->i.type == 's')
		flags |= IR_MEM_SIGNED;
	return (uint8_t)flags;
}

/* Base and offset of a memory operand. A parameter's own space follows from the named symbol. */
static void address(struct gw_ptx_lower *l, const struct gw_ptx_operand *memory,
		    struct gw_ir_insn *insn, gw_ir_operand uses[2])
{
	struct gw_ptx_operand base = *gw_ptx_item(l, memory, 0);
	uint64_t offset = base.value;

	uses[1] = gw_ptx_number(l, 0);
	if (base.kind == PTX_OPERAND_VARIABLE) {
		const struct gw_ptx_variable *v = PTX_AT(variable, l->in->variables, base.index);

		/* The name of the variable determines the space as exactly as the opcode. */
		if (v->space == IR_SPACE_FRAME || insn->space != IR_SPACE_GENERIC)
			insn->space = v->space == IR_SPACE_FRAME ? (uint8_t)v->space : insn->space;
		uses[0] = gw_ptx_use(l, &base, l->ptx->address_bits);
		return;
	}
	base.value = base.kind == PTX_OPERAND_NUMBER ? base.value : 0;
	uses[0] = gw_ptx_use(l, &base, 64);
	if (base.kind != PTX_OPERAND_NUMBER)
		uses[1] = gw_ptx_number(l, offset);
}

static bool is_access(const struct gw_ptx_lower *l, const struct gw_ptx_operand *memory)
{
	return memory->kind == PTX_OPERAND_MEMORY && memory->count && l->i.bits >= 8;
}

/* Registers of a load's or store's data operand: a list's, or the one. */
static unsigned data_count(const struct gw_ptx_operand *data)
{
	return data->kind == PTX_OPERAND_LIST ? data->count : 1;
}

static const struct gw_ptx_operand *datum(struct gw_ptx_lower *l, const struct gw_ptx_operand *data,
					  uint32_t n)
{
	return data->kind == PTX_OPERAND_LIST ? gw_ptx_item(l, data, n) : data;
}

/* An access of the statement's own type, space and flags. */
static struct gw_ir_insn access_insn(const struct gw_ptx_lower *l, enum gw_ir_op op,
				     unsigned elements)
{
	return (struct gw_ir_insn){.op = (uint16_t)op,
				   .bits = (uint8_t)(l->i.bits & 255),
				   .space = (uint8_t)space_of(l),
				   .flags = flags_of(l),
				   .width = (uint8_t)(l->i.bits / 8),
				   .elements = (uint8_t)elements};
}

/* An access that leaves what it read in @p count registers of @p data. */
static bool reading(struct gw_ptx_lower *l, enum gw_ir_op op, const struct gw_ptx_operand *data,
		    unsigned count, const struct gw_ptx_operand *memory)
{
	struct gw_ir_insn insn = access_insn(l, op, count);
	gw_ir_operand defs[GW_IR_DEFS_MAX], uses[2];

	address(l, memory, &insn, uses);
	for (unsigned n = 0; n < count; n++)
		defs[n] = gw_ptx_def(l, datum(l, data, n));
	gw_ir_append(&l->b, insn, defs, count, uses, 2);
	return true;
}

bool gw_ptx_ld(struct gw_ptx_lower *l)
{
	const struct gw_ptx_operand *data = gw_ptx_operand(l, 0), *memory = gw_ptx_operand(l, 1);
	unsigned count = data_count(data);

	if (!is_access(l, memory) || count > GW_IR_DEFS_MAX || count != vector_of(l))
		return gw_ptx_opaque(l, NULL);
	return reading(l, IR_LD, data, count, memory);
}

bool gw_ptx_st(struct gw_ptx_lower *l)
{
	const struct gw_ptx_operand *memory = gw_ptx_operand(l, 0), *data = gw_ptx_operand(l, 1);
	unsigned count = data_count(data);
	struct gw_ir_insn insn = access_insn(l, IR_ST, count);
	gw_ir_operand uses[GW_IR_USES_MAX];

	if (!is_access(l, memory) || count > LANE_VALUES_MAX || count != vector_of(l))
		return gw_ptx_opaque(l, NULL);
	address(l, memory, &insn, uses);
	for (unsigned n = 0; n < count; n++)
		uses[2 + n] = gw_ptx_use(l, datum(l, data, n), l->i.bits < 64 ? l->i.bits : 64);
	gw_ir_append(&l->b, insn, NULL, 0, uses, 2 + count);
	return true;
}

bool gw_ptx_atom(struct gw_ptx_lower *l)
{
	const struct gw_ptx_operand *data = gw_ptx_operand(l, 0), *memory = gw_ptx_operand(l, 1);
	unsigned count = data_count(data);

	if (!is_access(l, memory) || count > GW_IR_DEFS_MAX)
		return gw_ptx_opaque(l, NULL);
	return reading(l, IR_ATOM, data, count, memory);
}

bool gw_ptx_red(struct gw_ptx_lower *l)
{
	const struct gw_ptx_operand *memory = gw_ptx_operand(l, 0);
	struct gw_ir_insn insn = access_insn(l, IR_RED, vector_of(l));
	gw_ir_operand uses[2];

	if (!is_access(l, memory))
		return gw_ptx_opaque(l, NULL);
	address(l, memory, &insn, uses);
	gw_ir_append(&l->b, insn, NULL, 0, uses, 2);
	return true;
}

/* One side of a copy: an access without registers. */
static void copy_side(struct gw_ptx_lower *l, const struct gw_ptx_operand *memory, enum gw_ir_op op,
		      enum gw_ir_space space, unsigned flags, unsigned width, gw_ir_operand size)
{
	struct gw_ir_insn insn = {.op = (uint16_t)op,
				  .space = (uint8_t)space,
				  .flags = (uint8_t)(IR_MEM_ASYNC | flags),
				  .width = (uint8_t)width,
				  .elements = 1};
	gw_ir_operand uses[3];

	if (memory->count > 1)
		insn.flags |= IR_MEM_TENSOR;
	address(l, memory, &insn, uses);
	uses[2] = size;
	gw_ir_append(&l->b, insn, NULL, 0, uses, flags & IR_MEM_BULK ? 3 : 2);
}

/* The fourth operand, when there is one, is how many bytes are read (the rest is zeros), or that
 * none are: lanes that read nothing don't access global memory. */
static void read_where(struct gw_ptx_lower *l, const struct gw_ptx_operand *how_many)
{
	gw_ir_operand guard = l->b.guard, zero = gw_ptx_number(l, 0), reads;
	bool guard_not = l->b.guard_not, is_predicate = how_many->kind == PTX_OPERAND_REGISTER;

	if (how_many->kind != PTX_OPERAND_REGISTER && how_many->kind != PTX_OPERAND_NUMBER)
		return;
	l->b.guard = GW_IR_NONE;
	reads = gw_ptx_use(l, how_many, 32);
	if (l->b.failed)
		return;
	is_predicate = is_predicate && !gw_ir_is_constant(reads) && l->b.program.widths[reads] == 1;
	if (is_predicate)
		reads = gw_ir_emit(&l->b, IR_NOT, 1, 0, gw_ir_reg(&l->b, 1), 1, reads);
	else
		reads = gw_ir_emit(&l->b, IR_CMP, 32, IR_COND_NE, gw_ir_reg(&l->b, 1), 2, reads,
				   zero);
	if (guard != GW_IR_NONE && guard_not)
		guard = gw_ir_emit(&l->b, IR_NOT, 1, 0, gw_ir_reg(&l->b, 1), 1, guard);
	if (guard != GW_IR_NONE)
		reads = gw_ir_emit(&l->b, IR_AND, 1, 0, gw_ir_reg(&l->b, 1), 2, reads, guard);
	l->b.guard = reads;
	l->b.guard_not = false;
}

/* cp.async.cg.shared.global [to], [from], 16: 4, 8 or 16 bytes a lane. */
static bool copy_lanes(struct gw_ptx_lower *l)
{
	const struct gw_ptx_operand *to = gw_ptx_operand(l, 0), *from = gw_ptx_operand(l, 1);
	const struct gw_ptx_operand *size = gw_ptx_operand(l, 2);
	gw_ir_operand guard = l->b.guard;
	bool guard_not = l->b.guard_not;

	if (to->kind != PTX_OPERAND_MEMORY || from->kind != PTX_OPERAND_MEMORY || !to->count ||
	    !from->count || size->kind != PTX_OPERAND_NUMBER || size->value > 16)
		return gw_ptx_opaque(l, NULL);
	read_where(l, gw_ptx_operand(l, 3));
	copy_side(l, from, IR_LD, IR_SPACE_GLOBAL, 0, (unsigned)size->value, GW_IR_NONE);
	l->b.guard = guard;
	l->b.guard_not = guard_not;
	copy_side(l, to, IR_ST, IR_SPACE_SHARED, 0, (unsigned)size->value, GW_IR_NONE);
	return true;
}

/* Which of two spaces comes first in the opcode: the destination's. */
static bool to_shared(const struct gw_ptx_lower *l)
{
	for (uint32_t n = 1; n < l->i.parts; n++) {
		if (!strncmp(l->i.part[n], "shared", 6))
			return true;
		if (!strcmp(l->i.part[n], "global"))
			return false;
	}
	return true;
}

/* Bulk copies: one thread moves `size` bytes, or a tile of a tensor map ([map, {coordinates}]). */
static bool copy_bulk(struct gw_ptx_lower *l)
{
	const struct gw_ptx_operand *to = gw_ptx_operand(l, 0), *from = gw_ptx_operand(l, 1);
	bool loads = to_shared(l), tensor = gw_ptx_has(l, "tensor");
	enum gw_ir_space there =
		gw_ptx_has(l, "global") || tensor ? IR_SPACE_GLOBAL : IR_SPACE_SHARED;
	unsigned flags = IR_MEM_BULK | (tensor ? IR_MEM_TENSOR : 0u);
	gw_ir_operand size;

	if (to->kind != PTX_OPERAND_MEMORY || !to->count)
		return gw_ptx_opaque(l, NULL);
	if (gw_ptx_has(l, "prefetch") || from->kind != PTX_OPERAND_MEMORY || !from->count) {
		copy_side(l, to, IR_LD, IR_SPACE_GLOBAL, flags | IR_MEM_PREFETCH, 0,
			  gw_ptx_number(l, 0));
		return true;
	}
	size = tensor ? gw_ptx_number(l, 0) : gw_ptx_use(l, gw_ptx_operand(l, 2), 32);
	copy_side(l, from, IR_LD, loads ? there : IR_SPACE_SHARED, flags, 0, size);
	copy_side(l, to, gw_ptx_has(l, "reduce") ? IR_RED : IR_ST, loads ? IR_SPACE_SHARED : there,
		  flags, 0, size);
	return true;
}

/* cp.async, cp.async.bulk, cp.reduce.async.bulk, and what waits for them. */
bool gw_ptx_cp(struct gw_ptx_lower *l)
{
	if (gw_ptx_has(l, "wait_group") || gw_ptx_has(l, "wait_all"))
		return gw_ptx_async_wait(l);
	if (gw_ptx_has(l, "commit_group") || gw_ptx_has(l, "mbarrier"))
		return gw_ptx_nothing(l);
	return gw_ptx_has(l, "bulk") ? copy_bulk(l) : copy_lanes(l);
}

bool gw_ptx_prefetch(struct gw_ptx_lower *l)
{
	struct gw_ir_insn insn = {.op = IR_LD,
				  .space = (uint8_t)space_of(l),
				  .flags = IR_MEM_PREFETCH,
				  .width = 1,
				  .elements = 1};
	const struct gw_ptx_operand *memory = gw_ptx_operand(l, 0);
	gw_ir_operand uses[2];

	if (memory->kind != PTX_OPERAND_MEMORY || !memory->count)
		return gw_ptx_opaque(l, NULL);
	address(l, memory, &insn, uses);
	gw_ir_append(&l->b, insn, NULL, 0, uses, 2);
	return true;
}

/* Bytes that each lane gets or gives: the registers' of the data operand. */
bool gw_ptx_matrix(struct gw_ptx_lower *l)
{
	bool stores = l->i.part[0][0] == 's' || gw_ptx_has(l, "store");
	const struct gw_ptx_operand *data = gw_ptx_operand(l, stores ? 1 : 0);
	const struct gw_ptx_operand *memory = gw_ptx_operand(l, stores ? 0 : 1);
	struct gw_ir_insn insn = {.op = stores ? IR_ST : IR_LD,
				  .bits = 32,
				  .space = (uint8_t)space_of(l),
				  .flags = IR_MEM_MATRIX,
				  .width = l->i.type == 'f' && l->i.bits == 64 ? 8 : 4};
	gw_ir_operand defs[GW_IR_DEFS_MAX], uses[2];
	unsigned count = data_count(data);

	if (memory->kind != PTX_OPERAND_MEMORY || !memory->count || count > GW_IR_DEFS_MAX ||
	    (!strcmp(l->i.part[0], "wmma") && !stores && !gw_ptx_has(l, "load")))
		return gw_ptx_opaque(l, NULL);
	insn.elements = (uint8_t)count;
	address(l, memory, &insn, uses);
	for (unsigned n = 0; n < count && !stores; n++)
		defs[n] = gw_ptx_def(l, datum(l, data, n));
	gw_ir_append(&l->b, insn, defs, stores ? 0 : count, uses, 2);
	return true;
}

/* Textures and surfaces: where they go depends on a descriptor that nobody knows. */
bool gw_ptx_texture(struct gw_ptx_lower *l)
{
	const char *name = l->i.part[0];
	struct gw_ir_insn insn = {.op = !strcmp(name, "sust")    ? IR_ST
					: !strcmp(name, "sured") ? IR_RED
								 : IR_LD,
				  .space = IR_SPACE_TEXTURE,
				  .flags = IR_MEM_TENSOR,
				  .width = 4};
	const struct gw_ptx_operand *data = gw_ptx_operand(l, 0);
	gw_ir_operand defs[GW_IR_DEFS_MAX], uses[2], unknown = gw_ir_reg(&l->b, 64);
	struct gw_ir_insn nothing = {.op = IR_OPAQUE,
				     .aux = gw_ir_note(&l->b, "a texture's or surface's address")};
	unsigned count = insn.op == IR_LD && data->kind != PTX_OPERAND_PAIR ? data_count(data) : 0;

	gw_ir_append(&l->b, nothing, &unknown, 1, NULL, 0);
	uses[0] = unknown;
	uses[1] = gw_ptx_number(l, 0);
	count = count < GW_IR_DEFS_MAX ? count : 0;
	insn.elements = (uint8_t)(count ? count : 1);
	for (unsigned n = 0; n < count; n++)
		defs[n] = gw_ptx_def(l, datum(l, data, n));
	gw_ir_append(&l->b, insn, defs, count, uses, 2);
	return true;
}
