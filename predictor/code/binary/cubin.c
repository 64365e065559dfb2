/* What a cubin is for, and where the parts of its kernels lie. */
#include "predictor/code/binary/info.h"
#include "predictor/code/binary/kernel.h"
#include "predictor/code/binary/relocations.h"

#define MANY "more sections or kernels than the memory allowed can list"

enum {
	ABI_OLD = 7,             /* and below: the processor in the low byte of the flags */
	OLD_ACCELERATOR = 0x800, /* in the flags of an old header: suffix a */
	STO_ENTRY = 0x10,        /* in a symbol's `other`: a kernel, not a device function */
	SHT_INFO = 0x70000000,
};

/* The suffix of the compiler's target: 'a' of "-arch sm_90a" among a note's options. */
static char arch_suffix(struct gw_bytes note)
{
	static const char option[] = "-arch sm_";
	size_t length = sizeof(option) - 1;

	for (size_t i = 0; i + length < note.size; i++) {
		if (memcmp(note.data + i, option, length) != 0)
			continue;
		for (i += length; i < note.size; i++)
			if (note.data[i] < '0' || note.data[i] > '9')
				return note.data[i] == 'a' || note.data[i] == 'f'
					       ? (char)note.data[i]
					       : 0;
	}
	return 0;
}

/* Newer headers leave the suffix to a section; that of a family only to the compiler's note. */
static char noted_suffix(const struct gw_elf *elf)
{
	struct gw_bytes bytes;
	Elf64_Shdr s;
	char suffix = 0;

	for (uint64_t i = 0; gw_elf_section(elf, i, &s); i++) {
		const char *name = gw_elf_section_name(elf, &s);

		if (!gw_elf_section_bytes(elf, &s, &bytes))
			continue;
		if (strcmp(name, ".nv.compat") == 0 && gw_info_accelerated(bytes))
			return 'a';
		if (strcmp(name, ".note.nv.tkinfo") == 0)
			suffix = arch_suffix(bytes);
	}
	return suffix;
}

static bool is_old(const struct gw_elf *elf)
{
	return elf->header.e_ident[EI_ABIVERSION] <= ABI_OLD;
}

static struct gw_code_arch arch_of(const struct gw_elf *elf)
{
	uint32_t flags = elf->header.e_flags;

	if (is_old(elf))
		return (struct gw_code_arch){
			(uint16_t)(flags & 0xff),
			flags & OLD_ACCELERATOR ? 'a' : (char)0,
		};
	return (struct gw_code_arch){(uint16_t)(flags >> 8 & 0xffff), noted_suffix(elf)};
}

struct gw_code_arch gw_cubin_arch(struct gw_bytes cubin)
{
	struct gw_fault fault;
	struct gw_elf elf;

	if (!gw_elf_open(cubin, &elf, &fault) || elf.header.e_machine != EM_CUDA)
		return (struct gw_code_arch){0};
	return arch_of(&elf);
}

static bool is_function(const struct gw_cubin *cubin, const struct gw_elf_symbol *s)
{
	return ELF64_ST_TYPE(s->info) == STT_FUNC && s->section &&
	       s->section < cubin->elf.section_count;
}

static bool is_kernel(const struct gw_cubin *cubin, const struct gw_elf_symbol *s)
{
	return is_function(cubin, s) && (s->other & STO_ENTRY);
}

/* List the kernels; map[] says which, counted from 1, a section of code belongs to. */
static bool find_kernels(struct gw_cubin *cubin, uint32_t *map, struct gw_arena *arena)
{
	struct gw_elf_symbol s;

	for (uint64_t i = 0; gw_elf_symbol(&cubin->symbols, i, &s); i++)
		cubin->count += is_kernel(cubin, &s);
	cubin->kernel = gw_arena_array(arena, cubin->count, sizeof(*cubin->kernel));
	if (!cubin->kernel)
		return false;
	cubin->count = 0;
	for (uint64_t i = 0; gw_elf_symbol(&cubin->symbols, i, &s); i++) {
		if (!is_kernel(cubin, &s))
			continue;
		cubin->kernel[cubin->count++] = (struct gw_cubin_kernel){
			.name = gw_elf_symbol_name(&cubin->symbols, &s),
			.symbol = (uint32_t)i,
			.text = s.section,
			.registers = GW_CODE_UNKNOWN,
			.frame = GW_CODE_UNKNOWN,
			.min_stack = GW_CODE_UNKNOWN,
		};
		map[s.section] = cubin->count;
	}
	return true;
}

/* The functions in each kernel's code: counted, then placed kernel by kernel. */
static bool find_functions(struct gw_cubin *cubin, const uint32_t *map, struct gw_arena *arena)
{
	struct gw_elf_symbol s;
	uint32_t all = 0;

	for (uint64_t i = 0; gw_elf_symbol(&cubin->symbols, i, &s); i++)
		if (is_function(cubin, &s) && map[s.section])
			cubin->kernel[map[s.section] - 1].function_count++;
	for (uint32_t k = 0; k < cubin->count; k++) {
		cubin->kernel[k].first_function = all;
		all += cubin->kernel[k].function_count;
		cubin->kernel[k].function_count = 0;
	}
	cubin->function = gw_arena_array(arena, all, sizeof(*cubin->function));
	if (!cubin->function)
		return false;
	for (uint64_t i = 0; gw_elf_symbol(&cubin->symbols, i, &s); i++) {
		struct gw_cubin_kernel *k;

		if (!is_function(cubin, &s) || !map[s.section])
			continue;
		k = &cubin->kernel[map[s.section] - 1];
		cubin->function[k->first_function + k->function_count++] = (uint32_t)i;
	}
	return true;
}

/* ".nv.constant3" or ".nv.constant2.NAME" is of a bank; -1 for any other name. */
static int bank_of(const char *name)
{
	static const char prefix[] = ".nv.constant";

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return -1;
	name += sizeof(prefix) - 1;
	if (*name < '0' || *name >= '0' + GW_CODE_BANKS || (name[1] && name[1] != '.'))
		return -1;
	return *name - '0';
}

/* A section that may belong to a kernel: its sh_info then is the section of the code. */
static void place_section(struct gw_cubin *cubin, const uint32_t *map, uint32_t index,
			  const Elf64_Shdr *s)
{
	const char *name = gw_elf_section_name(&cubin->elf, s);
	uint32_t owner = s->sh_info < cubin->elf.section_count ? map[s->sh_info] : 0;
	struct gw_cubin_kernel *k = owner ? &cubin->kernel[owner - 1] : NULL;
	int bank = bank_of(name);

	if (bank >= 0) {
		*(k ? &k->bank[bank] : &cubin->bank[bank]) = index;
	} else if (strcmp(name, ".rela.nv.constant4") == 0 ||
		   strcmp(name, ".rel.nv.constant4") == 0) {
		cubin->addresses = index;
	} else if (k && strncmp(name, ".nv.info.", 9) == 0) {
		k->info = index;
	} else if (k && strncmp(name, ".nv.shared.", 11) == 0) {
		k->shared = index;
	} else if (k && (s->sh_type == SHT_RELA || s->sh_type == SHT_REL) &&
		   strncmp(name, ".rel", 4) == 0 && s->sh_size) {
		k->relocations = index;
	}
}

/* The attributes that stand in one section for all functions. */
static void place_attributes(struct gw_cubin *cubin, const uint32_t *map, struct gw_bytes info)
{
	struct gw_info_item item;
	struct gw_elf_symbol s;
	uint32_t pair[2];

	while (gw_info_next(&info, &item)) {
		struct gw_cubin_kernel *k;

		if ((item.attribute != GW_INFO_REGCOUNT && item.attribute != GW_INFO_FRAME_SIZE &&
		     item.attribute != GW_INFO_MIN_STACK_SIZE) ||
		    !gw_bytes_get(item.payload, 0, pair, sizeof(pair)) ||
		    !gw_elf_symbol(&cubin->symbols, pair[0], &s) ||
		    s.section >= cubin->elf.section_count || !map[s.section])
			continue;
		k = &cubin->kernel[map[s.section] - 1];
		if (k->symbol != pair[0])
			continue;
		if (item.attribute == GW_INFO_REGCOUNT)
			k->registers = pair[1];
		else if (item.attribute == GW_INFO_FRAME_SIZE)
			k->frame = pair[1];
		else
			k->min_stack = pair[1];
	}
}

static bool is_outside(const struct gw_code_relocation *r, uint32_t section)
{
	enum { R_CUDA_64 = 2 };

	return section == SHN_UNDEF && r->type == R_CUDA_64 && *r->symbol;
}

/* Those of bank 4 that are of no symbol in the cubin: few, of many that are. */
static bool find_outside(struct gw_cubin *cubin, struct gw_arena *arena)
{
	enum { MOST = 256 };
	struct gw_relocations in = gw_relocations_in(cubin, cubin->addresses), again = in;
	struct gw_code_relocation r;
	uint32_t section, count = 0;

	while (count < MOST && gw_relocation_next(cubin, &in, &r, &section))
		count += is_outside(&r, section);
	cubin->outside = gw_arena_array(arena, count, sizeof(*cubin->outside));
	if (!cubin->outside)
		return false;
	while (cubin->outside_count < count && gw_relocation_next(cubin, &again, &r, &section))
		if (is_outside(&r, section))
			cubin->outside[cubin->outside_count++] = r;
	return true;
}

bool gw_cubin_open(struct gw_bytes cubin, struct gw_arena *arena, struct gw_cubin *out,
		   struct gw_fault *fault)
{
	struct gw_bytes bytes;
	uint32_t *map;
	Elf64_Shdr s;

	*out = (struct gw_cubin){0};
	if (!gw_elf_open(cubin, &out->elf, fault))
		return false;
	if (out->elf.header.e_machine != EM_CUDA)
		return gw_fault_note(fault, "an ELF file, but not of machine code for a GPU",
				     offsetof(Elf64_Ehdr, e_machine));
	out->arch = arch_of(&out->elf);
	out->old = is_old(&out->elf);
	out->linked = out->elf.header.e_type != ET_REL;
	gw_elf_symbols(&out->elf, &out->symbols);
	map = gw_arena_array(arena, (size_t)out->elf.section_count, sizeof(*map));
	if (!map || !find_kernels(out, map, arena) || !find_functions(out, map, arena)) {
		out->count = 0;
		return gw_fault_note(fault, MANY, out->elf.header.e_shoff);
	}
	for (uint64_t i = 0; gw_elf_section(&out->elf, i, &s) && i < UINT32_MAX; i++) {
		place_section(out, map, (uint32_t)i, &s);
		if (s.sh_type == SHT_INFO &&
		    strcmp(gw_elf_section_name(&out->elf, &s), ".nv.info") == 0 &&
		    gw_elf_section_bytes(&out->elf, &s, &bytes))
			place_attributes(out, map, bytes);
	}
	if (!find_outside(out, arena)) {
		out->count = 0;
		return gw_fault_note(fault, MANY, out->elf.header.e_shoff);
	}
	return true;
}

uint32_t gw_cubin_find(const struct gw_cubin *cubin, const char *name)
{
	uint32_t i = 0;

	while (i < cubin->count && strcmp(cubin->kernel[i].name, name) != 0)
		i++;
	return i;
}
