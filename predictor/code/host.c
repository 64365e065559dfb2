/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host objects, executables and shared libraries. nvcc and clang put containers into .nv_fatbin
 * (what the runtime registers) and __nv_relfatbin (what the device linker has yet to link);
 * .nvFatBinSegment holds a wrapper for each registered container that points to it.
 */
#include "predictor/code/elf.h"
#include "predictor/code/image_parts.h"
#include "predictor/code/libelf.h"

#define WRAPPER_MAGIC 0x466243b1u

struct wrapper {
	uint32_t magic, version;
	uint64_t container, prelinked; /* addresses, often put in by the dynamic linker only */
};

/* More loadable segments than any linker makes. */
enum { SEGMENTS_MAX = 64 };

static bool is_fatbin_section(const char *name)
{
	return strcmp(name, ".nv_fatbin") == 0 || strcmp(name, "__nv_relfatbin") == 0;
}

static bool scan_section(struct gw_image_scan *scan, const struct gw_elf *elf,
                         const Elf64_Shdr *section, const char *name)
{
	struct gw_bytes bytes;
	bool good;

	if (!gw_elf_section_bytes(elf, section, &bytes))
		return gw_scan_fault(scan, "a section of fatbins runs over the end of the file",
		                     elf->file.data);
	scan->section = name;
	good = gw_scan_fatbins(scan, bytes);
	scan->section = NULL;
	return good;
}

/* From an address in the process to the file's bytes from there on. */
static bool bytes_at(const struct gw_elf *elf, uint64_t address, struct gw_bytes *out)
{
	const Elf64_Ehdr *h = &elf->header;
	Elf64_Phdr p;

	for (unsigned i = 0; i < h->e_phnum && i < SEGMENTS_MAX; i++) {
		if (!gw_bytes_get(elf->file, h->e_phoff + i * sizeof(p), &p, sizeof(p)))
			return false;
		if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
			return gw_bytes_slice(elf->file, p.p_offset + (address - p.p_vaddr),
			                      p.p_filesz - (address - p.p_vaddr), out);
	}
	return false;
}

/* The one container that a wrapper points to. */
static bool scan_pointed(struct gw_image_scan *scan, const struct gw_elf *elf, uint64_t address)
{
	struct gw_bytes rest;

	if (!address)
		return true;
	if (!bytes_at(elf, address, &rest) || !gw_is_fatbin(rest))
		return gw_scan_fault(scan, "a fatbin's wrapper points to something else",
		                     elf->file.data);
	return gw_scan_fatbin(scan, rest);
}

/* Addresses that the file itself holds: of programs at a fixed place, or packed relocations. */
static bool scan_wrappers(struct gw_image_scan *scan, const struct gw_elf *elf,
                          struct gw_bytes segment)
{
	struct wrapper w;

	for (uint64_t at = 0; gw_bytes_get(segment, at, &w, sizeof(w)); at += sizeof(w))
		if (w.magic == WRAPPER_MAGIC && !scan_pointed(scan, elf, w.container))
			return false;
	return true;
}

/* Addresses that the dynamic linker puts into the wrappers. */
static bool scan_relocated(struct gw_image_scan *scan, const struct gw_elf *elf,
                           const Elf64_Shdr *segment, struct gw_bytes relocations)
{
	Elf64_Rela r;

	for (uint64_t at = 0; gw_bytes_get(relocations, at, &r, sizeof(r)); at += sizeof(r)) {
		uint64_t into = r.r_offset - segment->sh_addr;

		if (r.r_offset >= segment->sh_addr && into < segment->sh_size &&
		    into % sizeof(struct wrapper) == offsetof(struct wrapper, container) &&
		    ELF64_R_SYM(r.r_info) == 0 && !scan_pointed(scan, elf, (uint64_t)r.r_addend))
			return false;
	}
	return true;
}

/* Containers by what points to them, where they lie in no section of their own. */
static bool scan_segment(struct gw_image_scan *scan, const struct gw_elf *elf,
                         const Elf64_Shdr *segment)
{
	uint32_t before = scan->out->containers;
	struct gw_bytes bytes;
	Elf64_Shdr s;

	scan->section = ".nvFatBinSegment";
	for (uint64_t i = 0; gw_elf_section(elf, i, &s); i++)
		if (s.sh_type == SHT_RELA && (s.sh_flags & SHF_ALLOC) &&
		    gw_elf_section_bytes(elf, &s, &bytes) &&
		    !scan_relocated(scan, elf, segment, bytes))
			return false;
	if (!gw_elf_section_bytes(elf, segment, &bytes))
		return gw_scan_fault(
		        scan, "the section of fatbins' wrappers runs over the end of the file",
		        elf->file.data);
	/* Where there are relocations, linkers may leave the addresses in place, too. */
	if (scan->out->containers == before && !scan_wrappers(scan, elf, bytes))
		return false;
	scan->section = NULL;
	return true;
}

bool gw_scan_host(struct gw_image_scan *scan, struct gw_bytes part)
{
	struct gw_fault fault;
	struct gw_elf elf;
	Elf64_Shdr s, segment = {0};
	bool found = false;

	if (!gw_elf_open(part, &elf, &fault))
		return gw_scan_fault(scan, fault.what,
		                     part.data + (fault.offset < part.size ? fault.offset : 0));
	gw_libelf_read(&elf, false, scan->arena);
	for (uint64_t i = 0; gw_elf_section(&elf, i, &s); i++) {
		const char *name = gw_elf_section_name(&elf, &s);

		if (strcmp(name, ".nvFatBinSegment") == 0)
			segment = s;
		if (!is_fatbin_section(name))
			continue;
		found = true;
		if (!scan_section(scan, &elf, &s, name))
			return false;
	}
	return found || !segment.sh_size || scan_segment(scan, &elf, &segment);
}
