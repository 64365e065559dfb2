/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/code/libelf.h"

#include <dlfcn.h>

#define FILE_NAME "libelf.so.1"

struct functions {
#define LIBELF(result, name, parameters) result(*name) parameters;
#include "predictor/code/libelf.def"
#undef LIBELF
};

static struct functions functions;
static const struct functions *in_use; /* NULL: none */

/* A file while libelf has it open. */
struct reading {
	const struct functions *lib;
	struct gw_elf *elf;
	struct gw_arena *arena;
	void *handle;
	Elf64_Shdr *section;
};

/* A function of an opened library; POSIX promises that the pointer fits. */
static bool resolve(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

const char *gw_libelf_open(enum gw_libelf_from from)
{
	void *library;

	if (in_use)
		return NULL;
	library = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL |
	                                    (from == GW_LIBELF_LOADED ? RTLD_NOLOAD : 0));
	if (!library)
		return from == GW_LIBELF_LOADED ? "the process has loaded no " FILE_NAME
		                                : "there is no " FILE_NAME;
#define LIBELF(result, name, parameters)                                                           \
	if (!resolve(library, #name, &functions.name)) {                                           \
		dlclose(library);                                                                  \
		return "the " FILE_NAME " that there is lacks " #name;                             \
	}
#include "predictor/code/libelf.def"
#undef LIBELF
	if (functions.elf_version(EV_CURRENT) == EV_NONE) {
		dlclose(library);
		return "the " FILE_NAME " that there is does not know this version of ELF";
	}
	/* Texts of its errors lie in it: it stays. */
	in_use = &functions;
	return NULL;
}

void gw_libelf_leave(void)
{
	in_use = NULL;
}

const char *gw_libelf_path(void)
{
	void *address;
	Dl_info info;

	if (!in_use)
		return NULL;
	memcpy(&address, &in_use->elf_version, sizeof(address));
	return dladdr(address, &info) && info.dli_fname ? info.dli_fname : FILE_NAME;
}

/* @p at: the byte that libelf was to read. */
static bool refused(struct reading *r, uint64_t at)
{
	const char *said = r->lib->elf_errmsg(-1);

	return gw_fault_note(&r->elf->refused, said ? said : "libelf reads it otherwise", at);
}

/* The arena's state says whether the analysis lacked memory; for our tables there is a way without. */
static void *table(struct reading *r, uint64_t count, size_t size)
{
	bool before = r->arena->refused;
	void *memory = gw_arena_array(r->arena, (size_t)count, size);

	r->arena->refused = before;
	if (!memory)
		gw_fault_note(&r->elf->refused, "there is no memory for what libelf reads", 0);
	return memory;
}

/* What libelf takes for the section's bytes has to be what elf.h does: nothing but the file's. */
static bool same_bytes(struct reading *r, void *handle, const Elf64_Shdr *section)
{
	const struct gw_libelf_data *data;
	struct gw_bytes ours;

	if (section->sh_type == SHT_NOBITS || section->sh_type == SHT_NULL)
		return true;
	data = r->lib->elf_rawdata(handle, NULL);
	if (!gw_elf_section_bytes(r->elf, section, &ours))
		return !data || refused(r, section->sh_offset);
	if (!data || data->d_size != ours.size || (ours.size && data->d_buf != ours.data))
		return refused(r, section->sh_offset);
	return true;
}

static bool read_sections(struct reading *r)
{
	uint64_t table_at = r->elf->header.e_shoff;
	struct gw_bytes names = {0};
	size_t count, index;

	if (r->lib->elf_getshdrnum(r->handle, &count) || count != r->elf->section_count)
		return refused(r, offsetof(Elf64_Ehdr, e_shnum));
	r->section = table(r, count, sizeof(*r->section));
	if (!r->section)
		return false;
	for (size_t i = 0; i < count; i++) {
		void *handle = r->lib->elf_getscn(r->handle, i);

		if (!handle || !r->lib->gelf_getshdr(handle, &r->section[i]))
			return refused(r, table_at + i * sizeof(*r->section));
		if (i && !same_bytes(r, handle, &r->section[i]))
			return false;
	}
	if (r->lib->elf_getshdrstrndx(r->handle, &index) ||
	    (index && index < count &&
	     !gw_elf_section_bytes(r->elf, &r->section[index], &names)) ||
	    names.data != r->elf->names.data || names.size != r->elf->names.size)
		return refused(r, offsetof(Elf64_Ehdr, e_shstrndx));
	return true;
}

/* The section of symbols' wide section numbers, as elf.h finds it: NULL where there is none. False
 * where libelf refuses it. */
static bool wide_sections(struct reading *r, size_t symbols, struct gw_libelf_data **out)
{
	struct gw_bytes ours;

	*out = NULL;
	for (size_t i = 0; i < r->elf->section_count; i++) {
		const Elf64_Shdr *s = &r->section[i];

		if (s->sh_type != SHT_SYMTAB_SHNDX || s->sh_link != symbols ||
		    !gw_elf_section_bytes(r->elf, s, &ours))
			continue;
		*out = r->lib->elf_getdata(r->lib->elf_getscn(r->handle, i), NULL);
		return *out || refused(r, s->sh_offset);
	}
	return true;
}

static bool read_table(struct reading *r, size_t index, uint64_t count)
{
	struct gw_libelf_data *data, *wide;
	uint64_t at = r->section[index].sh_offset;
	struct gw_elf_symbol *out = table(r, count, sizeof(*out));

	if (!out || !wide_sections(r, index, &wide))
		return false;
	data = r->lib->elf_getdata(r->lib->elf_getscn(r->handle, index), NULL);
	if (!data)
		return refused(r, at);
	for (uint64_t i = 0; i < count; i++) {
		Elf64_Word section;
		Elf64_Sym s;

		if (!r->lib->gelf_getsymshndx(data, wide, (int)i, &s, &section))
			return refused(r, at + i * sizeof(s));
		out[i] = gw_elf_symbol_of(&s, wide ? section : SHN_XINDEX);
	}
	r->elf->symbol = out;
	return true;
}

/* Those of the table that elf.h takes. */
static bool read_symbols(struct reading *r)
{
	for (size_t i = 0; i < r->elf->section_count; i++) {
		const Elf64_Shdr *s = &r->section[i];
		struct gw_bytes bytes;

		if (s->sh_type != SHT_SYMTAB || !gw_elf_section_bytes(r->elf, s, &bytes))
			continue;
		if (bytes.size / sizeof(Elf64_Sym) > INT32_MAX)
			return gw_fault_note(&r->elf->refused, "more symbols than libelf counts",
			                     s->sh_offset);
		return bytes.size < sizeof(Elf64_Sym) ||
		       read_table(r, i, bytes.size / sizeof(Elf64_Sym));
	}
	return true;
}

static bool read_all(struct reading *r, bool symbols)
{
	Elf64_Ehdr header;

	if (!r->lib->gelf_getehdr(r->handle, &header) ||
	    memcmp(&header, &r->elf->header, sizeof(header)) != 0)
		return refused(r, 0);
	return read_sections(r) && (!symbols || read_symbols(r));
}

void gw_libelf_read(struct gw_elf *elf, bool symbols, struct gw_arena *arena)
{
	struct reading r = {.lib = in_use, .elf = elf, .arena = arena};

	if (!r.lib)
		return;
	if (elf->section_count > GW_LIBELF_SECTIONS_MAX) {
		gw_fault_note(&elf->refused, "more sections than are given to libelf",
		              elf->header.e_shoff);
		return;
	}
	/* It is opened for reading, so that libelf does not write to it: test_elf has it on pages
	 * that can't be written. */
	r.handle = r.lib->elf_memory((char *)(uintptr_t)elf->file.data, elf->file.size);
	if (!r.handle) {
		refused(&r, 0);
		return;
	}
	if (read_all(&r, symbols))
		elf->section = r.section;
	else
		elf->symbol = NULL;
	r.lib->elf_end(r.handle);
}
