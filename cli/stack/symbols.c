/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stack/symbols.h"

#include "cli/common/demangle.h"
#include "cli/common/memory.h"
#include "predictor/code/binary/elf.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of elfutils/libdwfl.h, as far as it is used here; its ABI is stable. */
struct callbacks {
	void *find_elf;
	void *find_debuginfo, *section_address;
	char **debuginfo_path;
};

#define FUNCTIONS(X)                                                                               \
	X(void *, dwfl_begin, (const struct callbacks *))                                          \
	X(void *, dwfl_report_offline, (void *, const char *, const char *, int))                  \
	X(int, dwfl_report_end, (void *, void *, void *))                                          \
	X(void *, dwfl_module_getelf, (void *, uint64_t *))                                        \
	X(const char *, dwfl_module_addrname, (void *, uint64_t))                                  \
	X(void *, dwfl_module_getsrc, (void *, uint64_t))                                          \
	X(const char *, dwfl_lineinfo, (void *, uint64_t *, int *, int *, uint64_t *, uint64_t *)) \
	X(void, dwfl_end, (void *))
static struct {
#define FUNCTION(type, name, arguments) type(*name) arguments;
	FUNCTIONS(FUNCTION)
#undef FUNCTION
	struct callbacks callbacks;
	bool tried, there;
} dw;

/* Objects that were opened, or could not be. */
static struct module {
	char *path, *build_id;
	struct gw_bytes image; /* what was read of the file, at its place; size 0: not there */
	struct gw_elf elf;     /* of it … */
	struct gw_elf_symbols symbols[2]; /* … the linker's, and those for look-ups at run time */
	bool there;                       /* it is the object that ran */
	void *session, *module;           /* libdw's; NULL: there is none */
	struct stat seen;                 /* the file as it was opened */
	uint64_t bias;
} * modules;
static size_t count, room;

static bool load(void)
{
	void *library, *symbol;

	if (dw.tried)
		return dw.there;
	dw.tried = true;
	library = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		return false;
	dw.there = true;
	/* POSIX promises that a function pointer fits; ISO C has no cast for it. */
#define FUNCTION(type, name, arguments)                                                            \
	symbol = dlsym(library, #name);                                                            \
	dw.there = dw.there && symbol;                                                             \
	memcpy(&dw.name, &symbol, sizeof(symbol));
	FUNCTIONS(FUNCTION)
#undef FUNCTION
	/* Debugging information beside the object's own is looked for on this machine alone. */
	dw.callbacks.find_debuginfo = dlsym(library, "dwfl_build_id_find_debuginfo");
	dw.callbacks.section_address = dlsym(library, "dwfl_offline_section_address");
	dw.there = dw.there && dw.callbacks.find_debuginfo && dw.callbacks.section_address;
	return dw.there;
}

const char *symbols_missing(void)
{
	return load() ? NULL
	              : "source lines of native code are not known: libdw.so.1 of elfutils is not "
	                "installed (Debian: libdw1)";
}

static bool is_build_id(struct gw_bytes note, const char *expected)
{
	enum { HEAD = 16 }; /* sizes, type, "GNU" */
	char hex[3];

	for (size_t i = HEAD; i < note.size && expected[2 * (i - HEAD)]; i++) {
		snprintf(hex, sizeof(hex), "%02x", note.data[i]);
		if (strncmp(hex, expected + 2 * (i - HEAD), 2) != 0)
			return false;
	}
	return note.size > HEAD;
}

/* The file is the object that ran, which its build id alone shows; its tables of symbols are taken.
 */
static bool read_sections(struct module *m)
{
	struct gw_bytes bytes;
	bool same = false;
	Elf64_Shdr s, names;

	for (uint64_t i = 0; gw_elf_section(&m->elf, i, &s); i++) {
		if (!strcmp(gw_elf_section_name(&m->elf, &s), ".note.gnu.build-id") &&
		    gw_elf_section_bytes(&m->elf, &s, &bytes))
			same = is_build_id(bytes, m->build_id);
		if (s.sh_type == SHT_DYNSYM && gw_elf_section(&m->elf, s.sh_link, &names) &&
		    gw_elf_section_bytes(&m->elf, &s, &m->symbols[1].table) &&
		    gw_elf_section_bytes(&m->elf, &names, &m->symbols[1].names))
			m->symbols[1].count = m->symbols[1].table.size / sizeof(Elf64_Sym);
	}
	gw_elf_symbols(&m->elf, &m->symbols[0]);
	return same;
}

/* The function that @p address lies in; "" where no table says. */
static const char *function_at(const struct module *m, uint64_t address)
{
	for (unsigned t = 0; t < 2; t++) {
		struct gw_elf_symbol s;

		for (uint64_t i = 0; i < m->symbols[t].count; i++)
			if (gw_elf_symbol(&m->symbols[t], i, &s) &&
			    ELF64_ST_TYPE(s.info) == STT_FUNC && address - s.value < s.size)
				return gw_elf_symbol_name(&m->symbols[t], &s);
	}
	return "";
}

/* A regular file, so that nothing waits. */
static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool read_part(const struct module *m, int fd, uint64_t offset, uint64_t size)
{
	unsigned char *image = (unsigned char *)(uintptr_t)m->image.data;

	if (offset > m->image.size || size > m->image.size - offset)
		return false;
	while (size) {
		ssize_t got = pread(fd, image + offset, size, (off_t)offset);

		if (got <= 0)
			return false;
		offset += (uint64_t)got;
		size -= (uint64_t)got;
	}
	return true;
}

/* Headers of sections, their names, tables of symbols and notes. The rest of the image stays zeros.
 */
static bool read_tables(struct module *m, int fd)
{
	struct gw_fault fault;
	Elf64_Ehdr h;
	Elf64_Shdr s;

	if (!read_part(m, fd, 0, sizeof(h)))
		return false;
	memcpy(&h, m->image.data, sizeof(h));
	/* The first header has the number of sections where there are many. */
	if (!read_part(m, fd, h.e_shoff, sizeof(s)) || !gw_elf_open(m->image, &m->elf, &fault) ||
	    !read_part(m, fd, h.e_shoff, m->elf.section_count * sizeof(s)) ||
	    !gw_elf_open(m->image, &m->elf, &fault))
		return false;
	for (uint64_t i = 0; gw_elf_section(&m->elf, i, &s); i++)
		if ((s.sh_type == SHT_STRTAB || s.sh_type == SHT_SYMTAB ||
		     s.sh_type == SHT_DYNSYM || s.sh_type == SHT_SYMTAB_SHNDX ||
		     s.sh_type == SHT_NOTE) &&
		    !read_part(m, fd, s.sh_offset, s.sh_size))
			return false;
	return true;
}

/* A copy: a mapped file that is cut short ends who reads it (SIGBUS). */
static void read_file(struct module *m, int fd)
{
	void *at;

	if (fstat(fd, &m->seen) || m->seen.st_size <= 0)
		return;
	at = mmap(NULL, (size_t)m->seen.st_size, PROT_READ | PROT_WRITE,
	          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return;
	m->image = (struct gw_bytes){at, (size_t)m->seen.st_size};
	m->there = read_tables(m, fd) && read_sections(m);
}

static void open_module(struct module *m)
{
	/* Without a build id nothing shows that the file is still the one that ran. */
	int fd = *m->path == '/' && *m->build_id ? open_file(m->path) : -1;

	if (fd < 0)
		return;
	read_file(m, fd);
	m->session = m->there && load() ? dw.dwfl_begin(&dw.callbacks) : NULL;
	/* It takes the descriptor over where it succeeds. */
	m->module = m->session ? dw.dwfl_report_offline(m->session, "", m->path, fd) : NULL;
	if (!m->module)
		close(fd);
	if (m->session)
		dw.dwfl_report_end(m->session, NULL, NULL);
	if (m->module && !dw.dwfl_module_getelf(m->module, &m->bias))
		m->module = NULL;
}

static struct module *module_of(const char *path, const char *build_id)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(modules[i].path, path) && !strcmp(modules[i].build_id, build_id))
			return &modules[i];
	modules = gw_grow(modules, &room, count + 1, sizeof(*modules));
	modules[count] = (struct module){.path = gw_copy(path), .build_id = gw_copy(build_id)};
	open_module(&modules[count]);
	return &modules[count++];
}

/* libdw maps the file: it is not asked once the file has changed. */
static bool unchanged(const struct module *m)
{
	struct stat now;

	return !stat(m->path, &now) && now.st_ino == m->seen.st_ino &&
	       now.st_dev == m->seen.st_dev && now.st_size == m->seen.st_size &&
	       now.st_mtim.tv_sec == m->seen.st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == m->seen.st_mtim.tv_nsec;
}

void symbols_find(const char *path, const char *build_id, uint64_t address, char **function,
                  char **file, uint32_t *line)
{
	const struct module *m = module_of(path, build_id);
	const char *name = m->there ? function_at(m, address) : "", *source = NULL;
	void *at;
	int number = 0;

	*line = 0;
	if (m->module && unchanged(m)) {
		/* Separate debugging information has more symbols. */
		if (!*name)
			name = dw.dwfl_module_addrname(m->module, address + m->bias);
		at = dw.dwfl_module_getsrc(m->module, address + m->bias);
		source = at ? dw.dwfl_lineinfo(at, NULL, &number, NULL, NULL, NULL) : NULL;
	}
	*function = name && *name ? gw_demangle(name) : gw_copy("");
	*file = gw_copy(source ? source : "");
	*line = source && number > 0 ? (uint32_t)number : 0;
}

void symbols_end(void)
{
	for (size_t i = 0; i < count; i++) {
		if (modules[i].session)
			dw.dwfl_end(modules[i].session);
		if (modules[i].image.size)
			munmap((void *)(uintptr_t)modules[i].image.data, modules[i].image.size);
		free(modules[i].path);
		free(modules[i].build_id);
	}
	free(modules);
	modules = NULL;
	count = room = 0;
}
