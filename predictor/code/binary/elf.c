#include "predictor/code/binary/elf.h"

/* Bounded, so that many names that don't end can't make a reader's work grow with the square. */
static const char *name_at(struct gw_bytes names, uint64_t at)
{
	struct gw_bytes rest;
	const char *name;

	if (at >= names.size)
		return "";
	rest = (struct gw_bytes){names.data + at, names.size - (size_t)at};
	if (rest.size > GW_ELF_NAME_MAX)
		rest.size = GW_ELF_NAME_MAX;
	name = gw_bytes_text(rest, 0);
	return name ? name : "";
}

/* Section 0 holds the counts that are too large for the header. */
static bool extended_counts(struct gw_elf *elf, uint64_t *names, struct gw_fault *fault)
{
	Elf64_Shdr first;

	*names = elf->header.e_shstrndx;
	elf->section_count = elf->header.e_shnum;
	if (!elf->header.e_shoff)
		return true;
	if (elf->section_count && *names != SHN_XINDEX)
		return true;
	if (!gw_bytes_get(elf->file, elf->header.e_shoff, &first, sizeof(first)))
		return gw_fault_note(fault, "the table of sections lies outside the ELF file",
				     elf->header.e_shoff);
	if (!elf->section_count)
		elf->section_count = first.sh_size;
	if (*names == SHN_XINDEX)
		*names = first.sh_link;
	return true;
}

bool gw_elf_open(struct gw_bytes file, struct gw_elf *out, struct gw_fault *fault)
{
	const Elf64_Ehdr *h = &out->header;
	uint64_t names;
	Elf64_Shdr section;

	*out = (struct gw_elf){.file = file};
	if (file.size < SELFMAG || memcmp(file.data, ELFMAG, SELFMAG) != 0)
		return gw_fault_note(fault, "not an ELF file", 0);
	if (file.size > EI_CLASS && file.data[EI_CLASS] != ELFCLASS64)
		return gw_fault_note(fault, "a 32-bit ELF file, and only 64-bit ones are read",
				     EI_CLASS);
	if (!gw_bytes_get(file, 0, &out->header, sizeof(out->header)))
		return gw_fault_note(fault, "the file ends inside its ELF header", file.size);
	if (h->e_ident[EI_DATA] != ELFDATA2LSB)
		return gw_fault_note(fault,
				     "a big-endian ELF file, and only little-endian ones are read",
				     EI_DATA);
	if (h->e_shoff && h->e_shentsize != sizeof(Elf64_Shdr))
		return gw_fault_note(fault,
				     "sections' headers of this ELF file are not 64 bytes each",
				     offsetof(Elf64_Ehdr, e_shentsize));
	if (!extended_counts(out, &names, fault))
		return false;
	if (h->e_shoff && (h->e_shoff > file.size ||
			   out->section_count > (file.size - h->e_shoff) / sizeof(section)))
		return gw_fault_note(fault,
				     "the table of sections runs over the end of the ELF file",
				     h->e_shoff);
	if (!h->e_shoff)
		out->section_count = 0;
	if (gw_elf_section(out, names, &section) && names != SHN_UNDEF &&
	    !gw_elf_section_bytes(out, &section, &out->names))
		return gw_fault_note(fault, "the sections' names lie outside the ELF file",
				     section.sh_offset);
	return true;
}

bool gw_elf_section(const struct gw_elf *elf, uint64_t index, Elf64_Shdr *out)
{
	return index < elf->section_count &&
	       gw_bytes_get(elf->file, elf->header.e_shoff + index * sizeof(*out), out,
			    sizeof(*out));
}

const char *gw_elf_section_name(const struct gw_elf *elf, const Elf64_Shdr *section)
{
	return name_at(elf->names, section->sh_name);
}

bool gw_elf_section_bytes(const struct gw_elf *elf, const Elf64_Shdr *section, struct gw_bytes *out)
{
	*out = (struct gw_bytes){0};
	return section->sh_type == SHT_NOBITS ||
	       gw_bytes_slice(elf->file, section->sh_offset, section->sh_size, out);
}

/* The section numbers of symbols that don't fit into the symbol itself. */
static struct gw_bytes wide_sections(const struct gw_elf *elf, uint64_t table)
{
	struct gw_bytes out = {0};
	Elf64_Shdr s;

	for (uint64_t i = 0; gw_elf_section(elf, i, &s); i++)
		if (s.sh_type == SHT_SYMTAB_SHNDX && s.sh_link == table &&
		    gw_elf_section_bytes(elf, &s, &out))
			break;
	return out;
}

void gw_elf_symbols(const struct gw_elf *elf, struct gw_elf_symbols *out)
{
	Elf64_Shdr s, names;

	*out = (struct gw_elf_symbols){0};
	for (uint64_t i = 0; gw_elf_section(elf, i, &s); i++) {
		if (s.sh_type != SHT_SYMTAB || !gw_elf_section_bytes(elf, &s, &out->table))
			continue;
		out->count = out->table.size / sizeof(Elf64_Sym);
		if (gw_elf_section(elf, s.sh_link, &names))
			gw_elf_section_bytes(elf, &names, &out->names);
		out->sections = wide_sections(elf, i);
		return;
	}
}

bool gw_elf_symbol(const struct gw_elf_symbols *symbols, uint64_t index, struct gw_elf_symbol *out)
{
	uint32_t section = SHN_XINDEX;
	Elf64_Sym s;

	if (index >= symbols->count ||
	    !gw_bytes_get(symbols->table, index * sizeof(s), &s, sizeof(s)))
		return false;
	gw_bytes_get(symbols->sections, index * sizeof(section), &section, sizeof(section));
	*out = (struct gw_elf_symbol){
		.name = s.st_name,
		.info = s.st_info,
		.other = s.st_other,
		.section = s.st_shndx == SHN_XINDEX ? section : s.st_shndx,
		.value = s.st_value,
		.size = s.st_size,
	};
	return true;
}

const char *gw_elf_symbol_name(const struct gw_elf_symbols *symbols,
			       const struct gw_elf_symbol *symbol)
{
	return name_at(symbols->names, symbol->name);
}
