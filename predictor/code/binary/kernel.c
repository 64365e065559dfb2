#include "predictor/code/binary/kernel.h"
#include "predictor/code/binary/relocations.h"

#include "predictor/code/binary/info.h"

#include <stdlib.h>

enum {
	REGISTERS_SHIFT = 24,
	BARRIERS_SHIFT = 20,
	BARRIERS_MASK = 0x7f,
	PARAM_SIZE_SHIFT = 18,
	PARAMS_MAX = 4096,
	RESERVED_FROM = 90,     /* processors whose linked cubins hold … */
	RESERVED_SHARED = 1024, /* … what the system reserves in shared memory: CUDA 11.8 to 13.2 */
};

/* Set three numbers, or leave them unknown where the item is cut off. */
static void three(uint32_t out[3], const struct gw_info_item *item)
{
	gw_bytes_get(item->payload, 0, out, 3 * sizeof(*out));
}

static bool is_param(const struct gw_info_item *item)
{
	return item->attribute == GW_INFO_KPARAM_INFO || item->attribute == GW_INFO_KPARAM_INFO_V2;
}

/* Place a parameter by its ordinal: they are listed last to first. */
static void place_param(struct gw_code_kernel *k, const struct gw_info_item *item)
{
	struct {
		uint32_t index;
		uint16_t ordinal, offset;
		uint32_t size;
	} p;

	if (!gw_bytes_get(item->payload, 0, &p, sizeof(p)) || p.ordinal >= k->param_count)
		return;
	k->param[p.ordinal] = (struct gw_code_param){
		.offset = p.offset,
		.size = item->attribute == GW_INFO_KPARAM_INFO ? p.size >> PARAM_SIZE_SHIFT
							       : p.size & 0xffff,
	};
}

static bool read_params(struct gw_code_kernel *k, struct gw_bytes info, struct gw_arena *arena)
{
	struct gw_bytes rest = info;
	struct gw_info_item item;
	uint32_t count = 0;

	while (gw_info_next(&rest, &item))
		count += is_param(&item);
	if (!count) {
		/* No parameter is known by there being no bytes of parameters. */
		k->param_count = k->param_size == 0 ? 0 : GW_CODE_UNKNOWN;
		return true;
	}
	k->param_count = count < PARAMS_MAX ? count : PARAMS_MAX;
	k->param = gw_arena_array(arena, k->param_count, sizeof(*k->param));
	if (!k->param)
		return false;
	while (gw_info_next(&info, &item))
		if (is_param(&item))
			place_param(k, &item);
	return true;
}

static void read_item(struct gw_code_kernel *k, const struct gw_info_item *item)
{
	uint32_t pair[2];

	switch (item->attribute) {
	case GW_INFO_MAX_THREADS:
		three(k->max_threads, item);
		break;
	case GW_INFO_REQNTID:
		three(k->required_threads, item);
		break;
	case GW_INFO_CTA_PER_CLUSTER:
		three(k->cluster, item);
		break;
	case GW_INFO_MAXREG_COUNT:
		k->max_registers = item->value;
		break;
	case GW_INFO_NUM_BARRIERS:
		k->barriers = item->value;
		break;
	case GW_INFO_CBANK_PARAM_SIZE:
		k->param_size = item->value;
		break;
	case GW_INFO_PARAM_CBANK:
		if (gw_bytes_get(item->payload, 0, pair, sizeof(pair)))
			k->param_base = pair[1] & 0xffff;
		break;
	case GW_INFO_CRS_STACK_SIZE:
		gw_bytes_get(item->payload, 0, &k->crs_stack, sizeof(k->crs_stack));
		break;
	}
}

static bool read_info(struct gw_code_kernel *k, struct gw_bytes info, struct gw_arena *arena)
{
	struct gw_bytes rest = info;
	struct gw_info_item item;

	while (gw_info_next(&rest, &item)) {
		read_item(k, &item);
		if (item.attribute != GW_INFO_EXIT_OFFSETS || !item.payload.size)
			continue;
		k->exit_count = (uint32_t)(item.payload.size / sizeof(*k->exits));
		k->exits = gw_arena_copy(arena, item.payload.data, item.payload.size);
		if (!k->exits)
			return false;
	}
	return read_params(k, info, arena);
}

static int by_offset(const void *a, const void *b)
{
	const struct gw_code_function *p = a, *q = b;

	return (p->offset > q->offset) - (p->offset < q->offset);
}

/* Functions that were not inlined stand behind their kernel, in its section. */
static bool read_functions(const struct gw_cubin *cubin, const struct gw_cubin_kernel *from,
			   struct gw_code_kernel *k, struct gw_arena *arena)
{
	struct gw_elf_symbol s;

	k->function = gw_arena_array(arena, from->function_count, sizeof(*k->function));
	if (!k->function)
		return false;
	for (uint32_t i = 0; i < from->function_count; i++)
		if (gw_elf_symbol(&cubin->symbols, cubin->function[from->first_function + i], &s))
			k->function[k->function_count++] = (struct gw_code_function){
				gw_elf_symbol_name(&cubin->symbols, &s), s.value, s.size};
	qsort(k->function, k->function_count, sizeof(*k->function), by_offset);
	return true;
}

static bool read_relocations(const struct gw_cubin *cubin, uint32_t index, struct gw_code_kernel *k,
			     struct gw_arena *arena)
{
	struct gw_relocations in = gw_relocations_in(cubin, index);
	struct gw_code_relocation r;
	uint32_t section;

	k->relocation = gw_arena_array(arena, in.bytes.size / in.each, sizeof(*k->relocation));
	if (!k->relocation)
		return false;
	while (gw_relocation_next(cubin, &in, &r, &section))
		k->relocation[k->relocation_count++] = r;
	return true;
}

/* The bytes of a section that may be missing; false when it runs over the end of the file. */
static bool part(const struct gw_cubin *cubin, uint32_t index, struct gw_bytes *out)
{
	Elf64_Shdr section;

	*out = (struct gw_bytes){0};
	return !index || !gw_elf_section(&cubin->elf, index, &section) ||
	       gw_elf_section_bytes(&cubin->elf, &section, out);
}

/* Old files have the number in the flags of the code's section; newer ones have an attribute, but
 * not where a kernel uses none. */
static uint32_t barriers_of(const struct gw_cubin *cubin, const Elf64_Shdr *text)
{
	if (cubin->old)
		return (uint32_t)(text->sh_flags >> BARRIERS_SHIFT) & BARRIERS_MASK;
	return 0;
}

static void read_shared(const struct gw_cubin *cubin, const struct gw_cubin_kernel *from,
			struct gw_code_kernel *k)
{
	Elf64_Shdr section = {0};

	if (from->shared ? !gw_elf_section(&cubin->elf, from->shared, &section) : !cubin->linked)
		return; /* none of its own; what it calls may have some */
	if (section.sh_size >= GW_CODE_UNKNOWN)
		return;
	k->static_shared = (uint32_t)section.sh_size;
	if (cubin->linked && cubin->arch.number >= RESERVED_FROM &&
	    k->static_shared >= RESERVED_SHARED) {
		k->reserved_shared = RESERVED_SHARED;
		k->static_shared -= RESERVED_SHARED;
	}
}

static bool read_code(const struct gw_cubin *cubin, const struct gw_cubin_kernel *from,
		      struct gw_code_kernel *k, struct gw_fault *fault)
{
	Elf64_Shdr text;

	if (!gw_elf_section(&cubin->elf, from->text, &text) ||
	    !gw_elf_section_bytes(&cubin->elf, &text, &k->code))
		return gw_fault_note(fault, "a kernel's code runs over the end of the cubin",
				     text.sh_offset);
	/* Files from before REGCOUNT have the number in the section of the code. */
	if (k->registers == GW_CODE_UNKNOWN && text.sh_info >> REGISTERS_SHIFT)
		k->registers = text.sh_info >> REGISTERS_SHIFT;
	k->barriers = barriers_of(cubin, &text);
	read_shared(cubin, from, k);
	for (int i = 0; i < GW_CODE_BANKS; i++)
		if (!part(cubin, from->bank[i] ? from->bank[i] : cubin->bank[i], &k->bank[i]))
			return gw_fault_note(
				fault, "a kernel's constants run over the end of the cubin", 0);
	return true;
}

static struct gw_code_kernel unknown_kernel(const struct gw_cubin *cubin,
					    const struct gw_cubin_kernel *from)
{
	const uint32_t none = GW_CODE_UNKNOWN;

	return (struct gw_code_kernel){
		.name = from->name,
		.arch = cubin->arch,
		.outside = cubin->outside,
		.outside_count = cubin->outside_count,
		.registers = from->registers,
		.static_shared = none,
		.frame = from->frame,
		.min_stack = from->min_stack,
		.crs_stack = none,
		.param_base = none,
		.param_size = none,
		.param_count = none,
		.max_threads = {none, none, none},
		.required_threads = {none, none, none},
		.max_registers = none,
		.cluster = {none, none, none},
	};
}

bool gw_cubin_kernel(const struct gw_cubin *cubin, uint32_t index, struct gw_arena *arena,
		     struct gw_code_kernel *out, struct gw_fault *fault)
{
	const struct gw_cubin_kernel *from = &cubin->kernel[index];
	struct gw_bytes info;

	*out = unknown_kernel(cubin, from);
	if (!read_code(cubin, from, out, fault))
		return false;
	if (!part(cubin, from->info, &info))
		return gw_fault_note(fault, "a kernel's attributes run over the end of the cubin",
				     0);
	if (!read_info(out, info, arena) || !read_functions(cubin, from, out, arena) ||
	    !read_relocations(cubin, from->relocations, out, arena))
		return gw_fault_note(fault,
				     "a kernel has more parts than the memory allowed can list", 0);
	return true;
}
