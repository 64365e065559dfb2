#include "cli/stack/symbols.h"

#include "cli/common/demangle.h"
#include "cli/common/memory.h"
#include "cli/common/target.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUILD_ID_SIZE = 256 };

/* Of elfutils/libdwfl.h, as far as it is used here; its ABI is stable. */
struct callbacks {
	void *find_elf;
	void *find_debuginfo, *section_address;
	char **debuginfo_path;
};

#define FUNCTIONS(X) \
	X(void *, dwfl_begin, (const struct callbacks *)) \
	X(void *, dwfl_report_offline, (void *, const char *, const char *, int)) \
	X(int, dwfl_report_end, (void *, void *, void *)) \
	X(void *, dwfl_module_getelf, (void *, uint64_t *)) \
	X(const char *, dwfl_module_addrname, (void *, uint64_t)) \
	X(void *, dwfl_module_getsrc, (void *, uint64_t)) \
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
	Elf *elf; /* what was read of the object that ran; NULL: it is not there */
	struct table {
		Elf_Data *symbols;
		size_t names;
	} tables[2];            /* the linker's, and that for look-ups at run time */
	void *session, *module; /* libdw's; NULL: there is none */
	struct stat seen;       /* the file as it was opened */
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
#define FUNCTION(type, name, arguments) \
	symbol = dlsym(library, #name); \
	dw.there = dw.there && symbol; \
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

/* The function that @p address lies in; "" where no table says. */
static const char *function_at(const struct module *m, uint64_t address)
{
	GElf_Sym s;

	for (const struct table *t = m->tables; t < m->tables + 2; t++)
		for (int i = 0; t->symbols && gelf_getsym(t->symbols, i, &s); i++)
			if (GELF_ST_TYPE(s.st_info) == STT_FUNC &&
			    address - s.st_value < s.st_size) {
				const char *name = elf_strptr(m->elf, t->names, s.st_name);

				return name ? name : "";
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

/* The file is the object that ran, which its build id alone shows. Its tables are read at once, for
 * the file may change. */
static void read_file(struct module *m, int fd)
{
	Elf *elf = gw_target_elf(fd);
	Elf_Scn *section = NULL;
	char id[BUILD_ID_SIZE];
	GElf_Shdr s;

	if (elf)
		gw_target_build_id(elf, id, sizeof(id));
	if (!elf || strncmp(id, m->build_id, strlen(m->build_id)) != 0 || fstat(fd, &m->seen)) {
		elf_end(elf);
		return;
	}
	while ((section = elf_nextscn(elf, section))) {
		struct table *t = &m->tables[1];

		if (!gelf_getshdr(section, &s) ||
		    (s.sh_type != SHT_SYMTAB && s.sh_type != SHT_DYNSYM))
			continue;
		t -= s.sh_type == SHT_SYMTAB;
		*t = (struct table){elf_getdata(section, NULL), s.sh_link};
		elf_strptr(elf, s.sh_link, 0);
	}
	elf_cntl(elf, ELF_C_FDDONE);
	m->elf = elf;
}

static void open_module(struct module *m)
{
	/* Without a build id nothing shows that the file is still the one that ran. */
	int fd = *m->path == '/' && *m->build_id ? open_file(m->path) : -1;

	if (fd < 0)
		return;
	read_file(m, fd);
	m->session = m->elf && load() ? dw.dwfl_begin(&dw.callbacks) : NULL;
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
	GW_GROW(modules, &room, count + 1);
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
	const char *name = m->elf ? function_at(m, address) : "", *source = NULL;
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
		elf_end(modules[i].elf);
		free(modules[i].path);
		free(modules[i].build_id);
	}
	free(modules);
	modules = NULL;
	count = room = 0;
}
