#include "tests/kernels/code.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/code/binary/kernel.h"

enum {
	SR_CLOCKLO = 0x50,  /* number of the special register */
	MEMORY = 256 << 20, /* of the arena, for one module */
};

/* One modifier: see sass_spell.def. */
static const struct modifier {
	const char *operation;
	uint8_t at, count;
	uint16_t value;
	const char *text;
} modifiers[] = {
#define SPELL(operation, at, count, value, text) {#operation, at, count, value, text},
#include "tests/kernels/sass_spell.def"
};

enum { MODIFIERS = sizeof(modifiers) / sizeof(*modifiers) };

static bool is(const struct gw_sass_insn *insn, const char *operation)
{
	return !strcmp(gw_sass_op_name(insn->op), operation);
}

/* nvdisasm names multiply-adds after what they are used for. */
static const char *multiply_add(const struct gw_sass_insn *insn)
{
	bool is_signed = gw_sass_bits(insn, 73, 1);
	/* The factor b and the summand c; one of them is a register at 64, the other at 32, where
	 * it may also be an immediate, a constant or a uniform register. */
	bool swapped = insn->form == 2 || insn->form == 3 || insn->form == 7;
	bool zero_at_32 = insn->form == 1 && gw_sass_bits(insn, 32, 8) == GW_SASS_RZ;
	bool zero_at_64 = gw_sass_bits(insn, 64, 8) == GW_SASS_RZ;
	bool b_zero = swapped ? zero_at_64 : zero_at_32, c_zero = !swapped && zero_at_64;
	uint64_t immediate = gw_sass_bits(insn, 32, 32);

	if (insn->op == GW_SASS_OP_IMAD_HI)
		return is_signed ? ".HI" : ".HI.U32";
	if (insn->op == GW_SASS_OP_IMAD_WIDE)
		return is_signed ? ".WIDE" : ".WIDE.U32";
	if (gw_sass_bits(insn, 74, 1))
		return ".X";
	if (gw_sass_bits(insn, 24, 8) == GW_SASS_RZ && b_zero && insn->form != 7)
		return is_signed ? ".MOV" : ".MOV.U32";
	if (insn->form == 4 && immediate == 1 && !c_zero)
		return is_signed ? ".IADD" : ".IADD.U32";
	if (insn->form == 4 && immediate > 1 && !(immediate & (immediate - 1)) && c_zero)
		return is_signed ? ".SHL" : ".SHL.U32";
	return is_signed ? "" : ".U32";
}

static void operands(const struct gw_sass_insn *insn, struct sass_instruction *out)
{
	unsigned written = (unsigned)gw_sass_bits(insn, 16, 8);
	unsigned read = (unsigned)gw_sass_bits(insn, 24, 8);

	if (is(insn, "CS2R") || is(insn, "S2R") || is(insn, "S2UR"))
		snprintf(out->operands, sizeof(out->operands), "R%u, %s", written,
			 gw_sass_bits(insn, 72, 8) == SR_CLOCKLO ? "SR_CLOCKLO" : "SR");
	else if (insn->space == GW_SASS_SPACE_CONSTANT)
		snprintf(out->operands, sizeof(out->operands), "R%u, c[0x%x]", written,
			 (unsigned)gw_sass_bits(insn, 54, 5));
	else
		snprintf(out->operands, sizeof(out->operands), "R%u, R%u", written, read);
}

void sass_spell(const struct gw_sass_insn *insn, struct sass_instruction *out)
{
	const char *name = gw_sass_op_name(insn->op);
	size_t length;

	*out = (struct sass_instruction){.target = SIZE_MAX};
	snprintf(out->opcode, sizeof(out->opcode), "%s%s", name,
		 is(insn, "IMAD") ? multiply_add(insn) : "");
	length = strlen(out->opcode);
	for (unsigned i = 0; i < MODIFIERS; i++) {
		const struct modifier *m = &modifiers[i];

		if (!strcmp(m->operation, name) && gw_sass_bits(insn, m->at, m->count) == m->value)
			length += (size_t)snprintf(out->opcode + length,
						   sizeof(out->opcode) - length, "%s", m->text);
	}
	operands(insn, out);
}

bool sass_spelled(const char *opcode)
{
	size_t length = strcspn(opcode, ".");

	for (unsigned i = 0; i < MODIFIERS; i++)
		if (strlen(modifiers[i].operation) == length &&
		    !strncmp(modifiers[i].operation, opcode, length))
			return true;
	return length == 4 && !strncmp(opcode, "IMAD", 4);
}

static void add_kernel(struct sass_listing *l, const struct gw_code_kernel *k)
{
	size_t count = k->code.size / GW_SASS_BYTES;
	struct sass_kernel *more = realloc(l->kernels, (l->count + 1) * sizeof(*more)), *out;

	if (!more)
		abort();
	l->kernels = more;
	out = &more[l->count++];
	*out = (struct sass_kernel){.code = calloc(count + !count, sizeof(*out->code)),
				    .count = count};
	if (!out->code)
		abort();
	snprintf(out->name, sizeof(out->name), "%s", k->name);
	for (size_t i = 0; i < count; i++) {
		struct gw_sass_insn insn;
		int64_t target;

		gw_sass_decode(k->code.data + i * GW_SASS_BYTES, k->arch.number, &insn);
		sass_spell(&insn, &out->code[i]);
		target = (int64_t)((i + 1) * GW_SASS_BYTES) + insn.target;
		if (is(&insn, "BRA") && insn.has_target && target >= 0 &&
		    (size_t)target < k->code.size)
			out->code[i].target = (size_t)target / GW_SASS_BYTES;
	}
}

static bool add_cubin(struct sass_listing *l, struct gw_bytes bytes, struct gw_arena *arena,
		      struct gw_fault *fault)
{
	struct gw_cubin cubin;
	struct gw_code_kernel k;

	if (!gw_cubin_open(bytes, arena, &cubin, fault))
		return false;
	for (uint32_t i = 0; i < cubin.count; i++) {
		if (!gw_cubin_kernel(&cubin, i, arena, &k, fault))
			return false;
		add_kernel(l, &k);
	}
	return true;
}

bool sass_decode(struct gw_bytes fatbin, struct sass_listing *out, const char **why)
{
	struct gw_fault fault = {0};
	struct gw_images images;
	struct gw_arena arena;
	struct gw_bytes bytes;
	bool good;

	*out = (struct sass_listing){NULL, 0};
	gw_arena_init(&arena, MEMORY);
	good = gw_images_open(fatbin, &arena, &images, &fault);
	for (size_t i = 0; good && i < images.count; i++)
		if (images.image[i].kind == GW_IMAGE_CUBIN)
			good = gw_image_bytes(&images.image[i], &arena, &bytes, &fault) &&
			       add_cubin(out, bytes, &arena, &fault);
	gw_arena_free(&arena);
	if (!good)
		sass_free(out);
	*why = fault.what;
	return good;
}
