/*
 * Weak references. A program that is not linked to libcuda may test whether cuInit is there by a
 * weak reference, which without gpuwatch stays NULL: what is loaded later does not change it. The
 * dynamic linker binds it to our export instead. So before the program's first constructor such
 * references of what is loaded at the start are set back to NULL, if nothing else defines the name.
 * The linker's own tables say where they are; only a word that holds our wrapper's address is
 * written.
 *
 * Calls of ours: a program or a library may have a variable with the name of a function of libc
 * (flock), to which the linker binds them. They are bound to libc's function, before any is made. A
 * function of that name may be meant to stand in for libc's.
 */
#include "preload/cupti/other_profiler.h"
#include "preload/hook/hooks.h"
#include "preload/runtime/linker/objects.h"
#include "preload/runtime/linker/real_dl.h"
#include "preload/runtime/arch/arch.h"
#include "preload/runtime/sandbox.h"

#include <dlfcn.h>
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

/*
 * Whether @p slot could be written. What is read-only after relocation, in whole pages as the
 * linker has made it, is so afterwards.
 */
static bool set(const struct dl_phdr_info *object, void **slot, void *value)
{
	const long size = sysconf(_SC_PAGESIZE);
	const uintptr_t page = (uintptr_t)slot & ~((uintptr_t)size - 1),
			end = page + (uintptr_t)size;
	const ElfW(Phdr) *load = segment_of(object, PT_LOAD, (uintptr_t)slot);
	const ElfW(Phdr) *relro = segment_of(object, PT_GNU_RELRO, (uintptr_t)slot);
	const bool stays =
		relro && (size < 0 || end <= object->dlpi_addr + relro->p_vaddr + relro->p_memsz);

	if (!load || !(load->p_flags & PF_W) ||
	    (stays && (size < 0 || mprotect((void *)page, (size_t)size, PROT_READ | PROT_WRITE))))
		return false;
	*slot = value;
	if (stays)
		mprotect((void *)page, (size_t)size, PROT_READ);
	return true;
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
			set(object, slot, NULL);
	}
}

/* This library, and its calls of others' functions. */
static struct dl_phdr_info us;
static struct gw_object us_too;
static struct table our_calls;
static bool astray; /* not all of them go into libc */

/* libc's function for the call of ours at @p r; NULL: unknown. */
static void *of_libc(const ElfW(Rela) * r)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	const ElfW(Sym) *s = &us_too.symbols[ELF64_R_SYM(r->r_info)];

	return libc ? gw_real_dlsym(libc, us_too.strings + s->st_name) : NULL;
}

/* How many of them go into the code of @p object; to its variables none does afterwards. */
static size_t calls_into(const struct dl_phdr_info *object)
{
	const ElfW(Rela) *r = our_calls.first;
	size_t bytes = 0;

	for (size_t i = 0; i < our_calls.size; i += sizeof(*r), r++) {
		void **slot = (void **)(us.dlpi_addr + r->r_offset), *function;
		const ElfW(Phdr) *p = segment_of(object, PT_LOAD, (uintptr_t)*slot);

		if (!p)
			continue;
		if (p->p_flags & PF_X)
			bytes += sizeof(*r);
		else if (!(function = of_libc(r)) || !set(&us, slot, function))
			gw_sandbox_from_start(); /* it goes to a variable: do without */
	}
	return bytes;
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
	if (!map.l_ld || !gw_object_read(&map, &o))
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
	if (map.l_ld == _DYNAMIC) {
		us_too = o;
		our_calls = calls;
		return 0;
	}
	if (astray)
		calls_into(object);
	look_over(object, &o, &all);
	look_over(object, &o, &calls);
	return 0;
}

static void mapped_at(struct dl_phdr_info *object, ElfW(Addr) base)
{
	const ElfW(Ehdr) *header = (const void *)base;

	object->dlpi_addr = base;
	object->dlpi_phdr = (const void *)(base + header->e_phoff);
	object->dlpi_phnum = header->e_phnum;
}

/* Before the other constructors: they make calls. */
__attribute__((constructor(101))) static void set_back(void)
{
	struct dl_phdr_info libc = {0};

	gw_dl_init();
	if (gw_libc_base) /* not prelinked */
		mapped_at(&libc, gw_libc_base);
	mapped_at(&us, (ElfW(Addr))__ehdr_start);
	look_at(&us, 0, NULL);
	astray = calls_into(&libc) != our_calls.size;
	dl_iterate_phdr(look_at, NULL);
}
