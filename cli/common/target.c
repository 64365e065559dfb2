/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/common/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
	HEADERS_MOST = 1024, /* program headers looked at; real programs have a dozen */
	SCRIPTS_MOST = 5,   /* interpreters that are scripts themselves; as many as Linux follows */
	LINE_MOST = 256,    /* of a #! line; as much as Linux reads */
	LOADS_MOST = 32,    /* segments that are loaded; real programs have four */
	DYNAMIC_MOST = 512, /* entries of the dynamic section; the libraries needed come first */
};

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OWN_MACHINE = EM_AARCH64 };
#else
#error "libgpuwatch.so is for x86-64 and arm64"
#endif

static enum gw_target_kind say(enum gw_target_kind kind, char *what, size_t size, const char *text)
{
	snprintf(what, size, "%s", text);
	return kind;
}

/* The loader an ELF file asks for, into @p loader ("" when it asks for none); false when broken. */
static bool find_loader(int fd, const Elf64_Ehdr *e, char *loader, size_t size)
{
	*loader = '\0';
	if (e->e_phnum > HEADERS_MOST || (e->e_phnum && e->e_phentsize != sizeof(Elf64_Phdr)))
		return false;
	for (unsigned i = 0; i < e->e_phnum; i++) {
		Elf64_Phdr p;
		off_t at = (off_t)(e->e_phoff + i * sizeof(p));
		size_t length;

		if (e->e_phoff > INT64_MAX / 2 ||
		    pread(fd, &p, sizeof(p), at) != (ssize_t)sizeof(p))
			return false;
		if (p.p_type != PT_INTERP)
			continue;
		length = p.p_filesz < size - 1 ? (size_t)p.p_filesz : size - 1;
		if (p.p_offset > INT64_MAX / 2 ||
		    pread(fd, loader, length, (off_t)p.p_offset) != (ssize_t)length || !length)
			return false;
		loader[length] = '\0';
		return *loader != '\0';
	}
	return true;
}

/* Whether the C library beside a loader is a glibc without the versions libgpuwatch.so needs. */
static bool is_old(const char *loader)
{
	static const char needed[] = "GLIBC_2.34";
	char path[PATH_MAX + 16], *slash;
	struct stat st;
	void *libc = MAP_FAILED;
	bool old = false;
	int fd = -1;

	if (!realpath(loader, path) || !(slash = strrchr(path, '/')))
		return false;
	strcpy(slash, "/libc.so.6");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
		libc = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (libc != MAP_FAILED) {
		old = !memmem(libc, (size_t)st.st_size, needed, sizeof(needed));
		munmap(libc, (size_t)st.st_size);
	}
	if (fd >= 0)
		close(fd);
	return old;
}

/* Bytes at an address of the program; false where its file has none for it. */
static bool read_at(int fd, const Elf64_Phdr *loads, unsigned count, uint64_t address, void *to,
                    size_t size)
{
	for (unsigned i = 0; i < count; i++) {
		const Elf64_Phdr *p = &loads[i];

		if (address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz &&
		    p->p_offset <= INT64_MAX / 4 && address - p->p_vaddr <= INT64_MAX / 4)
			return pread(fd, to, size, (off_t)(p->p_offset + (address - p->p_vaddr))) >
			       0;
	}
	return false;
}

/* Whether one of the libraries that the dynamic section at @p at names is AddressSanitizer's. */
static bool needs_asan(int fd, const Elf64_Phdr *loads, unsigned count, const Elf64_Phdr *dynamic)
{
	Elf64_Dyn d[DYNAMIC_MOST];
	uint64_t strings = 0;
	ssize_t size = dynamic->p_offset > INT64_MAX / 2
	                       ? -1
	                       : pread(fd, d, sizeof(d), (off_t)dynamic->p_offset);
	unsigned entries = size < 0 ? 0 : (unsigned)((size_t)size / sizeof(*d));

	for (unsigned i = 0; i < entries && d[i].d_tag != DT_NULL; i++)
		if (d[i].d_tag == DT_STRTAB)
			strings = d[i].d_un.d_ptr;
	for (unsigned i = 0; i < entries && d[i].d_tag != DT_NULL; i++) {
		char name[64] = "";

		if (d[i].d_tag == DT_NEEDED &&
		    read_at(fd, loads, count, strings + d[i].d_un.d_val, name, sizeof(name) - 1) &&
		    (!strncmp(name, "libasan.so", strlen("libasan.so")) ||
		     !strncmp(name, "libclang_rt.asan", strlen("libclang_rt.asan"))))
			return true;
	}
	return false;
}

/* What find_loader() has looked over is a program header that can be read. */
static bool is_asan(int fd, const Elf64_Ehdr *e)
{
	Elf64_Phdr loads[LOADS_MOST], dynamic = {0};
	unsigned count = 0;

	for (unsigned i = 0; i < e->e_phnum; i++) {
		Elf64_Phdr p;

		if (pread(fd, &p, sizeof(p), (off_t)(e->e_phoff + i * sizeof(p))) !=
		    (ssize_t)sizeof(p))
			return false;
		if (p.p_type == PT_LOAD && count < LOADS_MOST)
			loads[count++] = p;
		else if (p.p_type == PT_DYNAMIC)
			dynamic = p;
	}
	return dynamic.p_type == PT_DYNAMIC && needs_asan(fd, loads, count, &dynamic);
}

static enum gw_target_kind look_at_elf(int fd, const unsigned char *start, size_t length,
                                       char *what, size_t size)
{
	char loader[PATH_MAX];
	Elf64_Ehdr e;

	if (length < EI_NIDENT + 4 || start[EI_CLASS] == ELFCLASSNONE)
		return say(GW_TARGET_BROKEN, what, size, "has a broken ELF header");
	if (start[EI_CLASS] != ELFCLASS64)
		return say(GW_TARGET_FOREIGN, what, size,
		           "is a 32-bit program; libgpuwatch.so is 64-bit, as CUDA is");
	if (length < sizeof(e))
		return say(GW_TARGET_BROKEN, what, size, "has a broken ELF header");
	memcpy(&e, start, sizeof(e));
	if (start[EI_DATA] != ELFDATA2LSB || e.e_machine != OWN_MACHINE)
		return say(GW_TARGET_FOREIGN, what, size,
		           "is for another processor architecture than this gpuwatch");
	if (e.e_type != ET_EXEC && e.e_type != ET_DYN)
		return say(GW_TARGET_BROKEN, what, size, "is an ELF file, but no program");
	if (!find_loader(fd, &e, loader, sizeof(loader)))
		return say(GW_TARGET_BROKEN, what, size, "has broken ELF program headers");
	if (!*loader)
		return say(GW_TARGET_STATIC, what, size,
		           "is statically linked: LD_PRELOAD can't reach it");
	if (strstr(loader, "ld-musl"))
		return say(GW_TARGET_MUSL, what, size,
		           "uses the musl C library; libgpuwatch.so needs glibc 2.34 or newer");
	if (is_old(loader))
		return say(GW_TARGET_OLD, what, size,
		           "uses an older C library; libgpuwatch.so needs glibc 2.34 or newer");
	if (is_asan(fd, &e))
		return say(
		        GW_TARGET_ASAN, what, size,
		        "is built with AddressSanitizer, whose runtime must be the first library");
	return say(GW_TARGET_DYNAMIC, what, size, "is dynamically linked");
}

/* Whether running it switches the loader to secure mode, which ignores LD_PRELOAD. */
static bool privileged(int fd, const struct stat *st)
{
	char caps[64];

	if ((st->st_mode & S_ISUID) && st->st_uid != getuid())
		return true;
	/* Without group execution the bit marks mandatory locking, not setgid. */
	if ((st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st->st_gid != getgid())
		return true;
	return getuid() && fgetxattr(fd, "security.capability", caps, sizeof(caps)) > 0;
}

/* The interpreter in a #! line into @p out; false when there is none. */
static bool interpreter(char *line, char *out, size_t size)
{
	char *begin = line + 2;
	size_t length;

	line[strcspn(line, "\n")] = '\0';
	begin += strspn(begin, " \t");
	length = strcspn(begin, " \t\r");
	begin[length] = '\0';
	return length && (size_t)snprintf(out, size, "%s", begin) < size;
}

static enum gw_target_kind look(const char *path, unsigned depth, char *what, size_t size);

static enum gw_target_kind look_at_script(char *line, unsigned depth, char *what, size_t size)
{
	char next[LINE_MOST + 1], inner[400];
	enum gw_target_kind kind;

	if (!interpreter(line, next, sizeof(next)) || depth == SCRIPTS_MOST)
		return say(GW_TARGET_BROKEN, what, size,
		           "is a script whose #! line names no program");
	kind = look(next, depth + 1, inner, sizeof(inner));
	snprintf(what, size, "is a script for %s, which %s", next, inner);
	if (kind == GW_TARGET_UNREADABLE && access(next, F_OK)) {
		snprintf(what, size, "is a script for %s, which does not exist", next);
		return GW_TARGET_BROKEN;
	}
	return kind;
}

static enum gw_target_kind look(const char *path, unsigned depth, char *what, size_t size)
{
	unsigned char start[LINE_MOST + 1] = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	enum gw_target_kind kind;
	ssize_t length;
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		if (fd >= 0)
			close(fd);
		return say(GW_TARGET_UNREADABLE, what, size, "can't be read");
	}
	length = pread(fd, start, LINE_MOST, 0);
	if (length >= 4 && !memcmp(start, ELFMAG, SELFMAG))
		kind = privileged(fd, &st)
		               ? say(GW_TARGET_PRIVILEGED, what, size,
		                     "is setuid, setgid or has capabilities: the system ignores "
		                     "LD_PRELOAD for it")
		               : look_at_elf(fd, start, (size_t)length, what, size);
	else if (length >= 2 && start[0] == '#' && start[1] == '!')
		kind = look_at_script((char *)start, depth, what, size);
	else if (length < 0)
		kind = say(GW_TARGET_UNREADABLE, what, size, "can't be read");
	else
		kind = say(GW_TARGET_BROKEN, what, size,
		           "is neither a program nor a script with a #! line");
	close(fd);
	return kind;
}

enum gw_target_kind gw_target(const char *path, char *what, size_t size)
{
	return look(path, 0, what, size);
}

static int usable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno == EACCES ? 126 : 127;
	return S_ISREG(st.st_mode) && !access(path, X_OK) ? 0 : 126;
}

int gw_target_find(const char *command, char *out, size_t size)
{
	const char *path = getenv("PATH");
	int best = 127;

	if (strchr(command, '/'))
		return (size_t)snprintf(out, size, "%s", command) < size ? usable(out) : 127;
	if (!path)
		path = "/bin:/usr/bin";
	while (*command) {
		size_t length = strcspn(path, ":");
		int n = snprintf(out, size, "%.*s/%s", length ? (int)length : 1,
		                 length ? path : ".", command);
		int status = (size_t)n < size ? usable(out) : 127;

		if (!status)
			return 0;
		/* A folder of that name, or a file that may not be run, does not end the search. */
		if (status == 126)
			best = 126;
		if (!path[length])
			break;
		path += length + 1;
	}
	snprintf(out, size, "%s", command);
	return best;
}
