/*
 * Host objects, executables and shared libraries. nvcc and clang put containers into .nv_fatbin
 * (what the runtime registers) and __nv_relfatbin (what the device linker has yet to link), which
 * hold nothing else. Libraries that load code themselves keep containers or bare cubins as data
 * among other data, in sections of any name (cuFFT in .ldata, cuBLASLt in .cask_resource), where
 * nothing but code points to them: there, what begins like one and is whole is one. So what the
 * wrappers in .nvFatBinSegment point to is found wherever it lies, without them.
 */
#include "predictor/code/binary/elf.h"
#include "predictor/code/binary/image_parts.h"

static const char fatbin_magic[] = "\x50\xed\x55\xba";

enum { MAGIC_SIZE = sizeof(fatbin_magic) - 1 };
_Static_assert(MAGIC_SIZE == SELFMAG, "both begin with as many bytes");

static bool is_fatbin_section(const char *name)
{
	return strcmp(name, ".nv_fatbin") == 0 || strcmp(name, "__nv_relfatbin") == 0;
}

static bool is_data(const Elf64_Shdr *section)
{
	return section->sh_type == SHT_PROGBITS &&
	       (section->sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == SHF_ALLOC;
}

/* The place of the next @p magic at or behind @p from; the end where there is none. */
static size_t seek(struct gw_bytes data, size_t from, const char *magic)
{
	const uint8_t *at = memmem(data.data + from, data.size - from, magic, MAGIC_SIZE);

	return at ? (size_t)(at - data.data) : data.size;
}

/* Moves @p end behind the @p size bytes at @p offset, if @p part holds them. */
static void extend(struct gw_bytes part, uint64_t offset, uint64_t size, uint64_t *end)
{
	struct gw_bytes bytes;

	if (gw_bytes_slice(part, offset, size, &bytes) && offset + size > *end)
		*end = offset + size;
}

/* How long the cubin is that @p part begins with, its tables and sections; 0: it begins with none.
 * Never less than the table of sections, so that whoever goes on behind it reads no table twice. */
static uint64_t cubin_size(struct gw_bytes part)
{
	struct gw_fault fault;
	struct gw_elf elf;
	uint64_t end;
	Elf64_Shdr s;

	if (!gw_elf_open(part, &elf, &fault) || elf.header.e_machine != EM_CUDA ||
	    !elf.section_count)
		return 0;
	end = elf.header.e_shoff + elf.section_count * sizeof(s);
	extend(part, elf.header.e_phoff, (uint64_t)elf.header.e_phnum * elf.header.e_phentsize,
	       &end);
	for (uint64_t i = 0; gw_elf_section(&elf, i, &s); i++)
		if (s.sh_type != SHT_NOBITS)
			extend(part, s.sh_offset, s.sh_size, &end);
	return end;
}

/* Every container and every bare cubin among other data. */
static bool scan_data(struct gw_image_scan *scan, struct gw_bytes data)
{
	size_t fatbin = 0, elf = 0;
	struct gw_bytes part;
	uint64_t size;

	for (size_t at = 0; at < data.size; at += size ? (size_t)size : 1) {
		if (fatbin <= at)
			fatbin = seek(data, at, fatbin_magic);
		if (elf <= at)
			elf = seek(data, at, ELFMAG);
		at = fatbin < elf ? fatbin : elf;
		gw_bytes_slice(data, at, data.size - at, &part);
		size = fatbin < elf ? gw_fatbin_size(part) : cubin_size(part);
		gw_bytes_slice(part, 0, size, &part);
		if (size &&
		    !(fatbin < elf ? gw_scan_fatbin(scan, part) : gw_scan_cubin(scan, part)))
			return false;
	}
	return true;
}

/* @p left: how much data is yet to be searched. Sections of a sound file don't overlap, so all of
 * them together are no longer than the file. */
static bool scan_section(struct gw_image_scan *scan, const struct gw_elf *elf,
			 const Elf64_Shdr *section, uint64_t *left)
{
	const char *name = gw_elf_section_name(elf, section);
	bool fatbins = is_fatbin_section(name), good = true;
	struct gw_bytes bytes;
	bool whole = gw_elf_section_bytes(elf, section, &bytes);

	scan->section = *name ? name : NULL;
	if (fatbins && !whole)
		good = gw_scan_fault(scan, "a section of fatbins runs over the end of the file",
				     elf->file.data);
	else if (fatbins)
		good = gw_scan_fatbins(scan, bytes);
	else if (whole && is_data(section) && bytes.size <= *left) {
		*left -= bytes.size;
		good = scan_data(scan, bytes);
	}
	scan->section = NULL;
	return good;
}

bool gw_scan_host(struct gw_image_scan *scan, struct gw_bytes part)
{
	uint64_t left = part.size;
	struct gw_fault fault;
	struct gw_elf elf;
	Elf64_Shdr s;

	if (!gw_elf_open(part, &elf, &fault))
		return gw_scan_fault(scan, fault.what,
				     part.data + (fault.offset < part.size ? fault.offset : 0));
	for (uint64_t i = 0; gw_elf_section(&elf, i, &s); i++)
		if (!scan_section(scan, &elf, &s, &left))
			return false;
	return true;
}
