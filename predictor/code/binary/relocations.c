#include "predictor/code/binary/relocations.h"

#include <string.h>

struct gw_relocations gw_relocations_in(const struct gw_cubin *cubin, uint32_t index)
{
	struct gw_relocations in = {.each = sizeof(Elf64_Rela)};
	Elf64_Shdr section;

	if (!index || !gw_elf_section(&cubin->elf, index, &section) ||
	    !gw_elf_section_bytes(&cubin->elf, &section, &in.bytes))
		return in;
	if (section.sh_type != SHT_RELA)
		in.each = sizeof(Elf64_Rel);
	return in;
}

bool gw_relocation_next(const struct gw_cubin *cubin, struct gw_relocations *in,
			struct gw_code_relocation *out, uint32_t *section)
{
	struct gw_elf_symbol s = {0};
	Elf64_Rela r = {0};

	if (in->bytes.size - in->at < in->each)
		return false;
	memcpy(&r, in->bytes.data + in->at, in->each);
	in->at += in->each;
	gw_elf_symbol(&cubin->symbols, ELF64_R_SYM(r.r_info), &s);
	*section = s.section;
	*out = (struct gw_code_relocation){r.r_offset, (uint32_t)ELF64_R_TYPE(r.r_info),
					   gw_elf_symbol_name(&cubin->symbols, &s), r.r_addend};
	return true;
}
