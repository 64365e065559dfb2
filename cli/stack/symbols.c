/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stack/symbols.h"

#include "cli/common/demangle.h"
#include "cli/common/memory.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	X(int, dwfl_module_build_id, (void *, const unsigned char **, uint64_t *))                 \
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
	void *session, *module; /* NULL: no names */
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
	              : "functions of native code are not named: libdw.so.1 of elfutils is not "
	                "installed (Debian: libdw1)";
}

static bool has_build_id(void *module, const char *expected)
{
	const unsigned char *bits = NULL;
	uint64_t address;
	int size = dw.dwfl_module_build_id(module, &bits, &address);
	char hex[3];

	for (int i = 0; i < size && expected[2 * i]; i++) {
		snprintf(hex, sizeof(hex), "%02x", bits[i]);
		if (strncmp(hex, expected + 2 * i, 2) != 0)
			return false;
	}
	return size > 0 || !*expected;
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

static void open_module(struct module *m)
{
	int fd = *m->path == '/' ? open_file(m->path) : -1;

	if (fd < 0)
		return;
	m->session = dw.dwfl_begin(&dw.callbacks);
	/* It takes the descriptor over where it succeeds. */
	m->module = m->session ? dw.dwfl_report_offline(m->session, "", m->path, fd) : NULL;
	if (!m->module)
		close(fd);
	if (m->session)
		dw.dwfl_report_end(m->session, NULL, NULL);
	if (m->module &&
	    (!dw.dwfl_module_getelf(m->module, &m->bias) || !has_build_id(m->module, m->build_id)))
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

void symbols_find(const char *path, const char *build_id, uint64_t address, char **function,
                  char **file, uint32_t *line)
{
	const struct module *m = load() ? module_of(path, build_id) : NULL;
	const char *name = NULL, *source = NULL;
	void *at;
	int number = 0;

	*line = 0;
	if (m && m->module) {
		name = dw.dwfl_module_addrname(m->module, address + m->bias);
		at = dw.dwfl_module_getsrc(m->module, address + m->bias);
		source = at ? dw.dwfl_lineinfo(at, NULL, &number, NULL, NULL, NULL) : NULL;
	}
	*function = name ? gw_demangle(name) : gw_copy("");
	*file = gw_copy(source ? source : "");
	*line = source && number > 0 ? (uint32_t)number : 0;
}

void symbols_end(void)
{
	for (size_t i = 0; i < count; i++) {
		if (modules[i].session)
			dw.dwfl_end(modules[i].session);
		free(modules[i].path);
		free(modules[i].build_id);
	}
	free(modules);
	modules = NULL;
	count = room = 0;
}
