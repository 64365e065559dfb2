/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weak references. A program that is not linked to libcuda may test whether cuInit is there by a
 * weak reference, which without gpuwatch stays NULL: what is loaded later does not change it. The
 * dynamic linker binds it to our export instead. So before the program's first constructor such
 * references of what is loaded at the start are set back to NULL, if nothing else defines the name.
 * The linker's own tables say where they are; only a word that holds our wrapper's address is
 * written.
 */
#include "preload/cupti/other_profiler.h"
#include "preload/hook/hooks.h"
#include "preload/runtime/linker/objects.h"
#include "preload/runtime/arch/arch.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))
extern HIDDEN const char __ehdr_start[], _end[]; /* ours: the linker defines them in each object */

/* The relocations of an object. */
struct table {
	const ElfW(Rela) * first;
	size_t size, relative; /* bytes; how many of the first are of no symbol */
};

static const ElfW(Phdr) *
        segment_of(const struct dl_phdr_info *object, ElfW(Word) type, uintptr_t address)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];

		if (p->p_type == type && address - object->dlpi_addr >= p->p_vaddr &&
		    address - object->dlpi_addr - p->p_vaddr < p->p_memsz)
			return p;
	}
	return NULL;
}

/* What is read-only after relocation, in whole pages as the linker has made it, is so afterwards.
 */
static void clear(const struct dl_phdr_info *object, void **slot)
{
	uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE), page = (uintptr_t)slot & ~(size - 1);
	const ElfW(Phdr) *load = segment_of(object, PT_LOAD, (uintptr_t)slot);
	const ElfW(Phdr) *relro = segment_of(object, PT_GNU_RELRO, (uintptr_t)slot);

	if (!load || !(load->p_flags & PF_W))
		return;
	if (!relro || page + size > object->dlpi_addr + relro->p_vaddr + relro->p_memsz) {
		*slot = NULL;
	} else if (!mprotect((void *)page, size, PROT_READ | PROT_WRITE)) {
		*slot = NULL;
		mprotect((void *)page, size, PROT_READ);
	}
}

static bool is_weak(const ElfW(Sym) * s)
{
	return s->st_shndx == SHN_UNDEF && ELF64_ST_BIND(s->st_info) == STB_WEAK;
}

static void look_over(const struct dl_phdr_info *object, const struct gw_object *o,
                      const struct table *t)
{
	for (size_t i = t->relative; i < t->size / sizeof(*t->first); i++) {
		const ElfW(Rela) *r = &t->first[i];
		const ElfW(Sym) *s = &o->symbols[ELF64_R_SYM(r->r_info)];
		void **slot = (void **)(object->dlpi_addr + r->r_offset);
		const char *name = o->strings + s->st_name;
		ElfW(Xword) type = ELF64_R_TYPE(r->r_info);

		if (!gw_binds_address((uint32_t)type) || (const char *)*slot < __ehdr_start ||
		    (const char *)*slot >= _end || !is_weak(s))
			continue;
		if ((*slot == gw_hook_wrapper_of(name) ||
		     *slot == gw_other_profiler_wrapper_of(name)) &&
		    !gw_object_defines(name))
			clear(object, slot);
	}
}

static int look_at(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct link_map map = {.l_addr = object->dlpi_addr};
	struct table all = {0}, calls = {0};
	struct gw_object o;

	(void)size;
	(void)arg;
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			map.l_ld = (void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
	if (!map.l_ld || map.l_ld == _DYNAMIC || !gw_object_read(&map, &o))
		return 0;
	for (const ElfW(Dyn) *d = map.l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_RELA)
			all.first = gw_object_address(&map, d);
		else if (d->d_tag == DT_RELASZ)
			all.size = d->d_un.d_val;
		else if (d->d_tag == DT_RELACOUNT)
			all.relative = d->d_un.d_val;
		else if (d->d_tag == DT_JMPREL)
			calls.first = gw_object_address(&map, d);
		else if (d->d_tag == DT_PLTRELSZ)
			calls.size = d->d_un.d_val;
	}
	look_over(object, &o, &all);
	look_over(object, &o, &calls);
	return 0;
}

__attribute__((constructor)) static void set_back(void)
{
	dl_iterate_phdr(look_at, NULL);
}
