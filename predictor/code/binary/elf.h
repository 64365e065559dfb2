/*
 * Sections and symbols of a 64-bit little-endian ELF file: cubins, host objects, executables and
 * shared libraries. Every offset and count in the file is checked when it is used.
 */
#ifndef GW_CODE_ELF_H
#define GW_CODE_ELF_H

#include "predictor/code/binary/bytes.h"

#include <elf.h>

/** Longest name of a symbol or section that is read; longer ones count as none. */
enum { GW_ELF_NAME_MAX = 1 << 16 };

/** A symbol with its section's number resolved. */
struct gw_elf_symbol {
	uint32_t name; /**< place in the names; gw_elf_symbol_name() */
	uint8_t info, other;
	uint32_t section;
	uint64_t value, size;
};

/** An open ELF file; refers to the bytes it was opened on. */
struct gw_elf {
	struct gw_bytes file;
	Elf64_Ehdr header;
	uint64_t section_count; /**< extended numbering resolved; headers all lie in the file */
	struct gw_bytes names;  /**< the section names, size 0 where there are none */
};

/** A table of symbols and what goes with it. */
struct gw_elf_symbols {
	struct gw_bytes table, names, sections; /**< of SHT_SYMTAB_SHNDX: mostly size 0 */
	uint64_t count;                         /**< symbols that lie in the file */
};

/** Open @p file; false with the fault when it is none that can be read here. */
bool gw_elf_open(struct gw_bytes file, struct gw_elf *out, struct gw_fault *fault);

/** Header of section @p index; false when there is no such section. */
bool gw_elf_section(const struct gw_elf *elf, uint64_t index, Elf64_Shdr *out);

/** Name of a section; "" when it has none that ends inside the file. */
const char *gw_elf_section_name(const struct gw_elf *elf, const Elf64_Shdr *section);

/** The section's bytes; false when they aren't all in the file. A section without bytes in the
 * file (NOBITS) gives none. */
bool gw_elf_section_bytes(const struct gw_elf *elf, const Elf64_Shdr *section,
			  struct gw_bytes *out);

/** The first symbol table of type SHT_SYMTAB; count 0 when there is none. */
void gw_elf_symbols(const struct gw_elf *elf, struct gw_elf_symbols *out);

/** Symbol @p index; false when there is no such symbol. */
bool gw_elf_symbol(const struct gw_elf_symbols *symbols, uint64_t index, struct gw_elf_symbol *out);

/** Name of a symbol; "" when it has none that ends inside the file. */
const char *gw_elf_symbol_name(const struct gw_elf_symbols *symbols,
			       const struct gw_elf_symbol *symbol);

#endif
