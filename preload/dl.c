/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym and dlvsym, stood in for: a name of hooks.def looked up in libcuda is answered with
 * our wrapper. Every other call must reach the real function by a jump, with the caller's
 * return address still on the stack: RTLD_NEXT and RTLD_DEFAULT look at it. A C function
 * can't promise a tail jump, hence the few lines of assembly.
 */
#include "preload/dl.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>

#ifndef __x86_64__
#error "libgpuwatch is built for x86-64 only: dlsym needs a jump written for the machine"
#endif

void *(*gw_real_dlsym)(void *handle, const char *name);
void *(*gw_real_dlvsym)(void *handle, const char *name, const char *version);
void *(*gw_next_dlsym)(void *handle, const char *name);
void *(*gw_next_dlvsym)(void *handle, const char *name, const char *version);

/*
 * 24 bytes on the stack keep it aligned; above them is the caller's address, the filter's last
 * argument. rdx tells whether rax is the answer.
 */
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        "	.cfi_startproc\n"
        "	endbr64\n"
        "	subq $24, %rsp\n"
        "	.cfi_adjust_cfa_offset 24\n"
        "	movq %rdi, (%rsp)\n"
        "	movq %rsi, 8(%rsp)\n"
        "	movq 24(%rsp), %rdx\n"
        "	call gw_dlsym_filter\n"
        "	movq (%rsp), %rdi\n"
        "	movq 8(%rsp), %rsi\n"
        "	addq $24, %rsp\n"
        "	.cfi_adjust_cfa_offset -24\n"
        "	testq %rdx, %rdx\n"
        "	jne 1f\n"
        "	movq gw_next_dlsym(%rip), %rax\n"
        "	jmp *%rax\n"
        "1:	ret\n"
        "	.cfi_endproc\n"
        ".size dlsym, .-dlsym\n"
        ".globl dlvsym\n"
        ".type dlvsym, @function\n"
        "dlvsym:\n"
        "	.cfi_startproc\n"
        "	endbr64\n"
        "	subq $24, %rsp\n"
        "	.cfi_adjust_cfa_offset 24\n"
        "	movq %rdi, (%rsp)\n"
        "	movq %rsi, 8(%rsp)\n"
        "	movq %rdx, 16(%rsp)\n"
        "	call gw_dlvsym_filter\n"
        "	movq (%rsp), %rdi\n"
        "	movq 8(%rsp), %rsi\n"
        "	testq %rdx, %rdx\n"
        "	movq 16(%rsp), %rdx\n"
        "	leaq 24(%rsp), %rsp\n"
        "	.cfi_adjust_cfa_offset -24\n"
        "	jne 1f\n"
        "	movq gw_next_dlvsym(%rip), %rax\n"
        "	jmp *%rax\n"
        "1:	ret\n"
        "	.cfi_endproc\n"
        ".size dlvsym, .-dlvsym\n");

/* The parts of a loaded object's dynamic section that a look-up by GNU hash needs. */
struct object {
	ElfW(Addr) base;
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash;
	const ElfW(Versym) * versions;
};

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static bool ends_in(const char *text, const char *end)
{
	size_t n = 0, m = 0;

	while (text[n])
		n++;
	while (end[m])
		m++;
	return n >= m && same(text + n - m, end);
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* The default version of a function, as the linker would bind it; NULL when absent. */
static void *find(const struct object *o, const char *name)
{
	uint32_t buckets = o->hash[0], first = o->hash[1], bloom = o->hash[2];
	const uint32_t *bucket = (const uint32_t *)((const ElfW(Addr) *)&o->hash[4] + bloom);
	const uint32_t *chain = bucket + buckets;
	uint32_t hash = gnu_hash(name), i;

	if (!buckets)
		return NULL;
	for (i = bucket[hash % buckets]; i >= first && i; i++) {
		uint32_t h = chain[i - first];

		if ((h | 1) == (hash | 1) && same(o->strings + o->symbols[i].st_name, name) &&
		    o->symbols[i].st_value && !(o->versions && (o->versions[i] & 0x8000)))
			return (void *)(o->base + o->symbols[i].st_value);
		if (h & 1)
			break;
	}
	return NULL;
}

/*
 * The objects that are loaded, from the dynamic linker's own list. No function is called on
 * the way: a sanitizer's runtime looks its functions up through our dlsym before any of the
 * ones it stands in for (strcmp, dl_iterate_phdr …) may be called. glibc has relocated the
 * pointers in a loaded object's dynamic section.
 */
static bool look(const struct link_map *map)
{
	struct object o = {.base = map->l_addr};
	const char *name = map->l_name;

	/* Before glibc 2.34 the two lived in libdl. */
	if (!name || !(ends_in(name, "/libc.so.6") || ends_in(name, "/libdl.so.2")))
		return false;
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		const void *p = (const void *)d->d_un.d_ptr;

		if (d->d_tag == DT_SYMTAB)
			o.symbols = p;
		else if (d->d_tag == DT_STRTAB)
			o.strings = p;
		else if (d->d_tag == DT_GNU_HASH)
			o.hash = p;
		else if (d->d_tag == DT_VERSYM)
			o.versions = p;
	}
	if (!o.symbols || !o.strings || !o.hash)
		return false;
	*(void **)&gw_real_dlvsym = find(&o, "dlvsym");
	*(void **)&gw_real_dlsym = find(&o, "dlsym");
	return gw_real_dlsym && gw_real_dlvsym;
}

void gw_dl_init(void)
{
	const struct link_map *map = _r_debug.r_map;
	void *next;

	if (gw_next_dlsym)
		return;
	while (map && !look(map))
		map = map->l_next;
	next = gw_real_dlsym(RTLD_NEXT, "dlvsym");
	*(void **)&gw_next_dlvsym = next ? next : *(void **)&gw_real_dlvsym;
	next = gw_real_dlsym(RTLD_NEXT, "dlsym");
	*(void **)&gw_next_dlsym = next ? next : *(void **)&gw_real_dlsym;
}
