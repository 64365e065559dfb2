#include "cli/common/target.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
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
	HEADERS_MOST = 1024,  /* program headers; real programs have a dozen */
	NOTES_MOST = 64,      /* of them looked at for a note … */
	NOTES_SIZE = 1 << 14, /* … of so many bytes: a file of any content does not fill memory */
	SCRIPTS_MOST = 5, /* interpreters that are scripts themselves; as many as Linux follows */
	LINE_MOST = 256,  /* of a #! line; as much as Linux reads */
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

struct Elf *gw_target_elf(int fd)
{
	elf_version(EV_CURRENT);
	return elf_begin(fd, ELF_C_READ, NULL);
}

void gw_target_build_id(struct Elf *elf, char *out, size_t size)
{
	size_t count, name, at;
	GElf_Phdr p;
	GElf_Nhdr n;

	*out = '\0';
	if (elf_getphdrnum(elf, &count))
		return;
	for (size_t i = 0; i < count && i < NOTES_MOST && gelf_getphdr(elf, (int)i, &p); i++) {
		Elf_Data *notes =
			p.p_type == PT_NOTE && p.p_filesz <= NOTES_SIZE
				? elf_getdata_rawchunk(elf, (int64_t)p.p_offset, p.p_filesz,
						       p.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR)
				: NULL;

		for (size_t next = 0;
		     notes && (next = gelf_getnote(notes, next, &n, &name, &at));) {
			const unsigned char *bytes = notes->d_buf;

			if (n.n_type != NT_GNU_BUILD_ID || n.n_namesz != 4 ||
			    memcmp(bytes + name, "GNU", 4))
				continue;
			for (size_t b = 0; b < n.n_descsz && 2 * b + 2 < size; b++)
				sprintf(out + 2 * b, "%02x", bytes[at + b]);
			return;
		}
	}
}

/* The loader a program asks for, into @p loader ("" when it asks for none); false when broken. */
static bool find_loader(Elf *elf, char *loader, size_t size)
{
	GElf_Phdr p;
	size_t count;

	*loader = '\0';
	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		Elf_Data *name;

		if (!gelf_getphdr(elf, (int)i, &p))
			return false;
		if (p.p_type != PT_INTERP)
			continue;
		name = elf_getdata_rawchunk(elf, (int64_t)p.p_offset,
					    p.p_filesz < size ? p.p_filesz : size - 1, ELF_T_BYTE);
		if (name)
			snprintf(loader, size, "%.*s", (int)name->d_size,
				 (const char *)name->d_buf);
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

/* Whether AddressSanitizer's is one of the libraries that the program needs. */
static bool is_asan(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr s;
	GElf_Dyn d;

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *entries = gelf_getshdr(section, &s) && s.sh_type == SHT_DYNAMIC
					    ? elf_getdata(section, NULL)
					    : NULL;

		for (int i = 0; entries && gelf_getdyn(entries, i, &d); i++) {
			const char *name = d.d_tag == DT_NEEDED
						   ? elf_strptr(elf, s.sh_link, d.d_un.d_val)
						   : NULL;

			if (name &&
			    (!strncmp(name, "libasan.so", strlen("libasan.so")) ||
			     !strncmp(name, "libclang_rt.asan", strlen("libclang_rt.asan"))))
				return true;
		}
	}
	return false;
}

static enum gw_target_kind look_at_elf(Elf *elf, const unsigned char *start, char *what,
				       size_t size)
{
	char loader[PATH_MAX];
	GElf_Ehdr e;

	if (start[EI_CLASS] == ELFCLASS32)
		return say(GW_TARGET_FOREIGN, what, size,
			   "is a 32-bit program; libgpuwatch.so is 64-bit, as CUDA is");
	if (!elf || !gelf_getehdr(elf, &e))
		return say(GW_TARGET_BROKEN, what, size, "has a broken ELF header");
	if (e.e_ident[EI_DATA] != ELFDATA2LSB || e.e_machine != OWN_MACHINE)
		return say(GW_TARGET_FOREIGN, what, size,
			   "is for another processor architecture than this gpuwatch");
	if (e.e_type != ET_EXEC && e.e_type != ET_DYN)
		return say(GW_TARGET_BROKEN, what, size, "is an ELF file, but no program");
	/* Linux runs none with more, and libelf takes the number for one that stands elsewhere. */
	if (e.e_phnum > HEADERS_MOST || !find_loader(elf, loader, sizeof(loader)))
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
	if (is_asan(elf))
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
	if (length >= 4 && !memcmp(start, ELFMAG, SELFMAG)) {
		Elf *elf = gw_target_elf(fd);

		kind = privileged(fd, &st)
			       ? say(GW_TARGET_PRIVILEGED, what, size,
				     "is setuid, setgid or has capabilities: the system ignores "
				     "LD_PRELOAD for it")
			       : look_at_elf(elf, start, what, size);
		elf_end(elf);
	} else if (length >= 2 && start[0] == '#' && start[1] == '!')
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
