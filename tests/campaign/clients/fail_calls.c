/*
 * Preloaded: lets calls of libc fail that libgpuwatch.so makes, as their return addresses show, and no
 * others. FAIL_CALL=name:N is the call that fails: the library's Nth of that function; FAIL_ALWAYS=name:
 * every one of it, too, for what is called only then. FAIL_COUNTS=FILE: a file it maps and counts in how often the library called each function, 8 bytes each in the order
 * of calls.def, then how often a call failed.
 *
 * Each function is a stub that keeps all registers, asks decide() and jumps on to libc's own or
 * answers the failure. libc's are found in its symbol table: the look-ups of this process are the
 * library's.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNREACHED(name, why)

enum call {
#define FAILS(name, answer, error) CALL_##name,
#define HOLDS(name)
#include "tests/campaign/clients/calls.def"
#undef FAILS
	CALLS
};

static const struct {
	const char *name;
	int error;
} calls[CALLS] = {
#define FAILS(name, answer, error) {#name, error},
#include "tests/campaign/clients/calls.def"
#undef FAILS
};

/* By number, for the stubs. */
const long fail_answers[CALLS] = {
#define FAILS(name, answer, error) answer,
#include "tests/campaign/clients/calls.def"
#undef FAILS
};

static void *own[CALLS]; /* libc's functions */
static uintptr_t low, high;
static int target = -1, always = -1;
static uint64_t nth;
static _Atomic uint64_t *counts, uncounted[CALLS + 1];
static _Atomic int state; /* 0: not started, 1: starting, 2: ready */

/* In its first pages. */
static void library_range(const struct link_map *map)
{
	const ElfW(Ehdr) *head = (const void *)map->l_addr;
	const ElfW(Phdr) *p = (const void *)(map->l_addr + head->e_phoff);

	low = map->l_addr;
	for (int i = 0; i < head->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && low + p[i].p_vaddr + p[i].p_memsz > high)
			high = low + p[i].p_vaddr + p[i].p_memsz;
}

static void take_symbol(const struct link_map *map, const ElfW(Sym) *symbol, const char *name)
{
	for (int i = 0; i < CALLS; i++) {
		void *at = (void *)(map->l_addr + symbol->st_value);

		if (__builtin_strcmp(calls[i].name, name))
			continue;
		if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
			at = ((void *(*)(void))at)();
		own[i] = at;
	}
}

/* Every defined symbol in its default version. The table ends where the strings begin. */
static void take_symbols(const struct link_map *map)
{
	const ElfW(Sym) *symbols = NULL;
	const char *strings = NULL;
	const ElfW(Half) *versions = NULL;

	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			symbols = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			strings = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_VERSYM)
			versions = (const void *)d->d_un.d_ptr;
	}
	for (size_t i = 1; symbols && strings && (const void *)(symbols + i) < (const void *)strings; i++)
		if (symbols[i].st_shndx != SHN_UNDEF && !(versions && versions[i] & 0x8000))
			take_symbol(map, &symbols[i], strings + symbols[i].st_name);
}

static const char *environment(const char *name)
{
	size_t length = __builtin_strlen(name);

	for (char **e = environ; e && *e; e++)
		if (!strncmp(*e, name, length) && (*e)[length] == '=')
			return *e + length + 1;
	return NULL;
}

/* The function that is named in @p setting, before a colon; -1: none. */
static int named(const char *setting)
{
	size_t length = setting ? strcspn(setting, ":") : 0;

	for (int i = 0; length && i < CALLS; i++)
		if (strlen(calls[i].name) == length && !strncmp(calls[i].name, setting, length))
			return i;
	return -1;
}

static void read_settings(void)
{
	const char *call = environment("FAIL_CALL"), *file = environment("FAIL_COUNTS");
	const char *colon = call ? strchr(call, ':') : NULL;
	long fd;

	counts = uncounted;
	target = named(call);
	always = named(environment("FAIL_ALWAYS"));
	for (const char *digit = colon ? colon + 1 : ""; *digit >= '0' && *digit <= '9'; digit++)
		nth = 10 * nth + (uint64_t)(*digit - '0');
	fd = file ? syscall(SYS_openat, AT_FDCWD, file, O_RDWR) : -1;
	if (fd >= 0) {
		void *at = (void *)syscall(SYS_mmap, NULL, sizeof(uncounted), PROT_READ | PROT_WRITE,
					   MAP_SHARED, fd, 0);

		if (at != MAP_FAILED)
			counts = at;
		syscall(SYS_close, fd);
	}
}

static void start(void)
{
	int none = 0;

	if (!atomic_compare_exchange_strong(&state, &none, 1))
		return;
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
		if (strstr(map->l_name, "libgpuwatch.so"))
			library_range(map);
		else if (strstr(map->l_name, "/libc.so.6"))
			take_symbols(map);
	}
	read_settings();
	atomic_store(&state, 2);
}

static bool ours(uintptr_t address)
{
	return address >= low && address < high;
}

/**
 * libc's function, or NULL where the call that returns to @p caller is to fail. @p third: its third
 * argument, of __register_atfork() the handler; that is reached by jumps, so that it returns elsewhere.
 */
void *fail_decide(long call, uintptr_t caller, uintptr_t third);

void *fail_decide(long call, uintptr_t caller, uintptr_t third)
{
	if (atomic_load(&state) != 2)
		start();
	if (ours(caller) || (call == CALL___register_atfork && ours(third))) {
		uint64_t count = atomic_fetch_add(&counts[call], 1) + 1;

		if (call == always || (call == target && count == nth)) {
			atomic_fetch_add(&counts[CALLS], 1);
			if (calls[call].error)
				errno = calls[call].error;
			return NULL;
		}
	}
	return own[call];
}

__asm__(".text\n"
	"fail_common:\n"
	"push %rax\npush %rcx\npush %rdx\npush %rsi\npush %rdi\npush %r8\npush %r9\n"
	"sub $136, %rsp\n"
	"movups %xmm0, (%rsp)\nmovups %xmm1, 16(%rsp)\nmovups %xmm2, 32(%rsp)\n"
	"movups %xmm3, 48(%rsp)\nmovups %xmm4, 64(%rsp)\nmovups %xmm5, 80(%rsp)\n"
	"movups %xmm6, 96(%rsp)\nmovups %xmm7, 112(%rsp)\n"
	"mov 192(%rsp), %rdi\nmov 200(%rsp), %rsi\nmov 168(%rsp), %rdx\n"
	"call fail_decide\n"
	"mov %rax, %r11\n"
	"movups (%rsp), %xmm0\nmovups 16(%rsp), %xmm1\nmovups 32(%rsp), %xmm2\n"
	"movups 48(%rsp), %xmm3\nmovups 64(%rsp), %xmm4\nmovups 80(%rsp), %xmm5\n"
	"movups 96(%rsp), %xmm6\nmovups 112(%rsp), %xmm7\n"
	"add $136, %rsp\n"
	"pop %r9\npop %r8\npop %rdi\npop %rsi\npop %rdx\npop %rcx\npop %rax\n"
	"test %r11, %r11\njz 1f\n"
	"add $8, %rsp\njmp *%r11\n"
	"1: pop %rax\nlea fail_answers(%rip), %r11\nmov (%r11,%rax,8), %rax\nret\n"
	".set fail_number, 0\n"
#define FAILS(name, answer, error) \
	".globl " #name "\n.type " #name ", @function\n" #name ":\n" \
	"push $fail_number\njmp fail_common\n.set fail_number, fail_number + 1\n"
#include "tests/campaign/clients/calls.def"
#undef FAILS
#undef HOLDS
);

