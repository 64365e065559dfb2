#include "preload/analysis/code_mapped.h"

#include "predictor/code/binary/bytes.h"
#include "predictor/core/arena.h"
#include "predictor/core/hash.h"
#include "preload/analysis/code_file.h"
#include "preload/maps/memory.h"
#include "preload/runtime/linker/objects.h"
#include "preload/runtime/own_files.h"
#include "preload/runtime/sandbox.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	OBJECTS_MAX = 4096,
	PLACES_MAX = 1 << 14, /* containers */
	SEGMENTS_MAX = 64,
	SECTIONS_MAX = 4096,
	TABLES = 2 << 20,       /* memory for the tables of one object */
	SECTION_MAX = 64 << 20, /* of one object's containers */
	GAP = 4096,             /* most zeros between two containers */
	LINE = 4096 + 128,      /* of /proc/self/maps: a path and what stands before it */
	PAGE = 4096,
};

#define CONTAINER_MAGIC 0xba55ed50u

struct container {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size;
};

/* An object's file while it is listed. */
struct object {
	int fd;
	const char *path;
	uint64_t stamp;
	Elf64_Ehdr head;
	uint64_t base; /* address that the loader's base stands for */
	struct gw_arena arena;
};

static uint64_t seen[OBJECTS_MAX]; /* hashes of the paths of objects that were looked into */
static uint32_t objects;
static struct gw_module_note **places;
static uint32_t place_count, place_room;
static uint64_t changes; /* of the loader's list when it was last looked at */
static bool looked, all;

void gw_code_mapped_start(void)
{
	objects = place_count = place_room = 0;
	places = NULL;
	looked = false;
	all = true;
}

uint32_t gw_code_mapped_count(void)
{
	return place_count;
}

const struct gw_module_note *gw_code_mapped(uint32_t index)
{
	return places[index];
}

/* ---- one object ---- */

static bool room_for_place(void)
{
	uint32_t room = place_room ? place_room * 2 : 16;
	struct gw_module_note **wider;

	if (place_count < place_room)
		return true;
	if (room > PLACES_MAX)
		return false;
	wider = gw_memory_wider(GW_MEMORY_modules, places, place_room, room, sizeof(*places));
	if (!wider)
		return false;
	places = wider;
	place_room = room;
	return true;
}

/* The container of @p size bytes at @p address; false where there is no room for it. */
static bool add_place(const struct object *o, uint64_t address, uint64_t size)
{
	size_t length = strlen(o->path);
	struct gw_module_note *n;

	if (!room_for_place())
		return false;
	n = gw_memory_new(GW_MEMORY_modules, 1, sizeof(*n) + length + 1);
	if (!n)
		return false;
	n->origin = GW_MODULE_FATBIN;
	n->bytes = size;
	n->from_base = address - o->base;
	n->stamp = o->stamp;
	memcpy(n->path, o->path, length + 1);
	places[place_count++] = n;
	return true;
}

/* Moves @p at to the first byte from there on that is not 0, in steps of 8; false: too many are. */
static bool skip_zeros(const struct object *o, uint64_t *at, uint64_t end)
{
	uint64_t word, stop = *at + GAP;

	for (; *at + sizeof(word) <= end; *at += sizeof(word)) {
		if (*at >= stop || !gw_code_file_bytes(o->fd, &word, sizeof(word), *at))
			return false;
		if (word)
			return true;
	}
	*at = end;
	return true;
}

/* Every container of a section: they follow each other, aligned. */
static bool list_section(const struct object *o, const Elf64_Shdr *s)
{
	uint64_t at = s->sh_offset, end = s->sh_offset + s->sh_size;

	if (s->sh_size > SECTION_MAX || end < at)
		return false;
	while (at < end) {
		struct container c;

		if (!skip_zeros(o, &at, end))
			return false;
		if (at == end)
			break;
		if (end - at < sizeof(c) || !gw_code_file_bytes(o->fd, &c, sizeof(c), at) ||
		    c.magic != CONTAINER_MAGIC || c.header_size < sizeof(c) ||
		    c.header_size > end - at || c.size > end - at - c.header_size ||
		    !add_place(o, s->sh_addr + (at - s->sh_offset), c.header_size + c.size))
			return false;
		at = (at + c.header_size + c.size + 7) & ~UINT64_C(7);
	}
	return true;
}

static void *table(struct object *o, uint64_t offset, uint64_t count, size_t size)
{
	void *to = count <= TABLES ? gw_arena_room(&o->arena, (size_t)count, size) : NULL;

	return to && gw_code_file_bytes(o->fd, to, (size_t)count * size, offset) ? to : NULL;
}

/* As offset_of() of code_file.c counts: from the page of the lowest segment. */
static bool find_base(struct object *o)
{
	Elf64_Phdr *p = table(o, o->head.e_phoff, o->head.e_phnum, sizeof(*p));

	o->base = UINT64_MAX;
	for (unsigned i = 0; p && i < o->head.e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_vaddr < o->base)
			o->base = p[i].p_vaddr;
	o->base &= ~(uint64_t)(PAGE - 1);
	return p != NULL;
}

static bool list_sections(struct object *o)
{
	static const char wanted[] = ".nv_fatbin";
	Elf64_Shdr *s = table(o, o->head.e_shoff, o->head.e_shnum, sizeof(*s));
	const Elf64_Shdr *names;
	struct gw_bytes text;
	bool good = true;

	if (!s || o->head.e_shstrndx >= o->head.e_shnum)
		return false;
	names = &s[o->head.e_shstrndx];
	text.size = (size_t)names->sh_size;
	text.data = table(o, names->sh_offset, names->sh_size, 1);
	if (!text.data)
		return false;
	for (unsigned i = 0; i < o->head.e_shnum; i++) {
		const char *name = gw_bytes_text(text, s[i].sh_name);

		if (name && !strcmp(name, wanted) && s[i].sh_type == SHT_PROGBITS)
			good = list_section(o, &s[i]) && good;
	}
	return good;
}

static bool list_open(struct object *o)
{
	struct stat st;
	bool good;

	if (fstat(o->fd, &st) || !S_ISREG(st.st_mode) ||
	    !gw_code_file_bytes(o->fd, &o->head, sizeof(o->head), 0))
		return false;
	if (memcmp(o->head.e_ident, ELFMAG, SELFMAG) != 0)
		return true; /* code that some program maps, and no object */
	if (o->head.e_ident[EI_CLASS] != ELFCLASS64 || o->head.e_phentsize != sizeof(Elf64_Phdr) ||
	    o->head.e_phnum > SEGMENTS_MAX || o->head.e_shentsize != sizeof(Elf64_Shdr) ||
	    !o->head.e_shnum || o->head.e_shnum > SECTIONS_MAX)
		return false;
	o->stamp = gw_file_stamp(&st);
	gw_arena_init(&o->arena, TABLES);
	good = find_base(o) && list_sections(o);
	gw_arena_free(&o->arena);
	return good;
}

static bool list_object(const char *path)
{
	struct object o = {.path = path, .fd = gw_code_file_open(path)};
	bool good;

	if (o.fd < 0)
		return false;
	good = list_open(&o);
	close(o.fd);
	return good;
}

/* ---- all that are mapped ---- */

/* Remembers the object; false where it was known. */
static bool is_new(const char *path)
{
	uint64_t hash = gw_hash(0, path, strlen(path));

	for (uint32_t i = 0; i < objects; i++)
		if (seen[i] == hash)
			return false;
	if (objects == OBJECTS_MAX)
		return false;
	seen[objects++] = hash;
	return true;
}

/* What has a name there but never was a file: memory that compilers and systems share. */
static bool is_memory(const char *path)
{
	static const char *const names[] = {"/memfd:", "/dev/", "/SYSV", "/anon_hugepage"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(path, names[i], strlen(names[i])))
			return true;
	return false;
}

/* A line of /proc/self/maps: what may be run, and is in a file, is an object. */
static bool look_at(char *line)
{
	static const char gone[] = " (deleted)";
	char *path = strchr(line, '/'), *mode = strchr(line, ' ');
	size_t length;

	if (!path || !mode || mode > path || mode[1] == 0 || mode[2] == 0 || mode[3] != 'x')
		return true;
	length = strlen(path);
	if (is_memory(path))
		return true;
	if (!is_new(path))
		return objects < OBJECTS_MAX;
	if (length >= sizeof(gone) && !strcmp(path + length - (sizeof(gone) - 1), gone))
		return false;
	return list_object(path);
}

/* Each line of what is read, in order; one that is too long counts as not looked at. */
static bool look_at_all(int fd)
{
	char line[LINE], *end;
	size_t used = 0;
	bool good = true;
	ssize_t n;

	while ((n = read(fd, line + used, sizeof(line) - 1 - used)) > 0 ||
	       (n < 0 && errno == EINTR)) {
		used += n > 0 ? (size_t)n : 0;
		line[used] = 0;
		while ((end = strchr(line, '\n'))) {
			*end = 0;
			good = look_at(line) && good;
			used -= (size_t)(end + 1 - line);
			memmove(line, end + 1, used + 1);
		}
		if (used == sizeof(line) - 1) {
			good = false;
			used = 0;
		}
	}
	return good && n == 0;
}

static void look(void *unused)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	(void)unused;
	all = fd >= 0 && look_at_all(fd) && all;
	if (fd >= 0)
		close(fd);
}

bool gw_code_mapped_look(void)
{
	const uint64_t now = gw_objects_changes();

	if (looked && now == changes)
		return all;
	if (!gw_sandbox_enter())
		return false;
	gw_apart(look, NULL);
	gw_sandbox_leave();
	looked = true;
	changes = now;
	return all;
}
