#include "preload/stack/loaded.h"

#include "predictor/core/hash.h"
#include "preload/live/log.h"
#include "preload/maps/idmap.h"
#include "preload/runtime/linker/objects.h"
#include "preload/runtime/sandbox.h"
#include "preload/runtime/self_read.h"
#include "preload/runtime/own_files.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { IDS_MAX = 1 << 16, PATH = 4096, NOTES = 1024, SPARE = 4096 };

static struct gw_loaded *list;
static uint32_t count;
static char *paths; /* of all in the list, one behind the other */
static size_t paths_size, paths_used;
static uint64_t changes;
static bool looked;
static struct gw_idmap ids = {.use = GW_MEMORY_modules}; /* in the log, by path and build id */
static uint32_t id_count;

void gw_loaded_start(void)
{
	ids = (struct gw_idmap){.use = GW_MEMORY_modules};
	list = NULL; /* a forked child leaves its parent's memory alone */
	paths = NULL;
	paths_size = paths_used = 0;
	count = id_count = 0;
	looked = false;
}

/* Forget the list, and have room for one with paths of @p size bytes. */
static bool make_room(size_t size)
{
	count = 0;
	gw_memory_free(GW_MEMORY_modules, paths, 1, paths_size);
	paths = gw_memory_new(GW_MEMORY_modules, 1, size);
	paths_size = paths ? size : 0;
	paths_used = 0;
	if (!list)
		list = gw_memory_new(GW_MEMORY_modules, GW_LOADED_MAX, sizeof(*list));
	return paths && list;
}

static void look_at_header(struct gw_loaded *o, const ElfW(Phdr) * p, uint64_t bias)
{
	const uint64_t at = bias + p->p_vaddr;

	if (p->p_type == PT_LOAD) {
		o->begin = at < o->begin ? at : o->begin;
		o->end = at + p->p_memsz > o->end ? at + p->p_memsz : o->end;
	} else if (p->p_type == PT_GNU_EH_FRAME) {
		o->frames = at;
	} else if (p->p_type == PT_NOTE && !o->notes && p->p_align <= 4) {
		o->notes = at;
		o->notes_size = p->p_memsz;
	}
}

static bool is_us(const struct gw_loaded *o)
{
	return (uintptr_t)gw_loaded_look - o->begin < o->end - o->begin;
}

static const char *name_of(const struct dl_phdr_info *info)
{
	return info->dlpi_name ? info->dlpi_name : "";
}

/* The linker's lock is held: an allocator of the program's may wait for that with its own. */
static int list_one(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct gw_loaded o = {.begin = UINT64_MAX, .bias = info->dlpi_addr};
	const size_t length = strlen(name_of(info)) + 1;

	(void)size;
	(void)arg;
	if (count == GW_LOADED_MAX || length > paths_size - paths_used)
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		look_at_header(&o, &info->dlpi_phdr[i], info->dlpi_addr);
	if (!o.end)
		return 0;
	o.path = memcpy(paths + paths_used, name_of(info), length);
	paths_used += length;
	o.ours = is_us(&o);
	list[count++] = o;
	return 0;
}

static int measure(struct dl_phdr_info *info, size_t size, void *arg)
{
	size_t *sum = arg;

	(void)size;
	*sum += strlen(name_of(info)) + 1;
	return 0;
}

bool gw_loaded_look(void)
{
	const uint64_t now = gw_objects_changes();
	size_t bytes = SPARE;

	if (looked && now == changes)
		return false;
	dl_iterate_phdr(measure, &bytes);
	if (!make_room(bytes))
		return false;
	dl_iterate_phdr(list_one, NULL);
	changes = now; /* what came meanwhile is looked at the next time */
	looked = true;
	return true;
}

struct gw_loaded *gw_loaded_find(uint64_t address)
{
	for (uint32_t i = 0; i < count; i++)
		if (address - list[i].begin < list[i].end - list[i].begin)
			return &list[i];
	return NULL;
}

/* In hex at @p out; empty where there is none. */
static void read_build_id(const struct gw_loaded *o, char *out)
{
	unsigned char notes[NOTES];
	size_t size = o->notes_size < NOTES ? (size_t)o->notes_size : NOTES, at = 0;
	Elf64_Nhdr n;

	*out = 0;
	if (!o->notes || !gw_sandbox_enter())
		return;
	size = gw_self_read(notes, o->notes, size);
	gw_sandbox_leave();
	while (at + sizeof(n) + 4 <= size) {
		size_t name = at + sizeof(n), text, end;

		memcpy(&n, notes + at, sizeof(n));
		text = name + ((size_t)n.n_namesz + 3) / 4 * 4;
		end = text + ((size_t)n.n_descsz + 3) / 4 * 4;
		if (end > size)
			return;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4)) {
			for (size_t i = 0; i < n.n_descsz && i < GW_BUILD_ID; i++)
				sprintf(out + 2 * i, "%02x", notes[text + i]);
			return;
		}
		at = end;
	}
}

/* The program's own name the linker leaves empty. */
static const char *path_of(const struct gw_loaded *o, char *room)
{
	if (*o->path)
		return o->path;
	*room = 0;
	if (gw_sandbox_enter()) {
		gw_program_path(room, PATH);
		gw_sandbox_leave();
	}
	return room;
}

uint32_t gw_loaded_id(struct gw_loaded *o)
{
	struct gw_record_object r = {0};
	char room[PATH], tail[PATH + 2 * GW_BUILD_ID + 2];
	const char *path;
	size_t length;
	uint64_t key;

	if (o->id)
		return o->id;
	path = path_of(o, room);
	length = strnlen(path, PATH - 1);
	memcpy(tail, path, length);
	tail[length++] = 0;
	read_build_id(o, tail + length);
	length += strlen(tail + length) + 1;
	key = gw_hash(1, tail, length) | 1;
	o->id = gw_idmap_get(&ids, key);
	if (o->id || id_count == IDS_MAX || !gw_idmap_put(&ids, key, id_count + 1))
		return o->id;
	r.id = o->id = ++id_count;
	gw_log_write(GW_RECORD_OBJECT, &r, sizeof(r), tail, length);
	return o->id;
}
