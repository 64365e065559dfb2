#include "preload/runtime/linker/objects.h"

#include <string.h>

/* More objects than this: what they share is not known. The largest programs seen have 1,500. */
enum { OBJECTS = 4096 };

static const struct link_map *at_start; /* the last object that was loaded at the start */

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* glibc has relocated these, but for those that are read-only (the vDSO, lld's -z rodynamic). */
const void *gw_object_address(const struct link_map *map, const ElfW(Dyn) * d)
{
	ElfW(Addr) p = d->d_un.d_ptr;

	return (const void *)(p < map->l_addr ? p + map->l_addr : p);
}

bool gw_object_read(const struct link_map *map, struct gw_object *o)
{
	ElfW(Xword) soname = 0;

	*o = (struct gw_object){.base = map->l_addr};
	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			o->symbols = gw_object_address(map, d);
		else if (d->d_tag == DT_STRTAB)
			o->strings = gw_object_address(map, d);
		else if (d->d_tag == DT_GNU_HASH)
			o->hash = gw_object_address(map, d);
		else if (d->d_tag == DT_VERSYM)
			o->versions = gw_object_address(map, d);
		else if (d->d_tag == DT_SONAME)
			soname = d->d_un.d_val;
	}
	if (o->strings && soname)
		o->soname = o->strings + soname;
	return o->symbols && o->strings && o->hash;
}

void *gw_object_find(const struct gw_object *o, const char *name)
{
	uint32_t buckets = o->hash[0], first = o->hash[1], bloom = o->hash[2];
	const uint32_t *bucket = (const uint32_t *)((const ElfW(Addr) *)&o->hash[4] + bloom);
	const uint32_t *chain = bucket + buckets;
	uint32_t hash = gnu_hash(name), i;

	if (!buckets)
		return NULL;
	for (i = bucket[hash % buckets]; i >= first && i; i++) {
		uint32_t h = chain[i - first];
		const ElfW(Sym) *s = &o->symbols[i];

		if ((h | 1) == (hash | 1) && same(o->strings + s->st_name, name) && s->st_value &&
		    !(o->versions && (o->versions[i] & 0x8000)))
			return (void *)(o->base + s->st_value);
		if (h & 1)
			break;
	}
	return NULL;
}

/* ---- under the linker's lock ---- */

/* What is asked, and whether the answer is yes. */
struct question {
	bool (*ask)(struct question *q);
	const struct link_map *caller;
	const char *name;
	void *found;
	bool yes;
};

/* dl_iterate_phdr holds the lock under which the list changes; it is needed for nothing else. */
static int once(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct question *q = arg;

	(void)info;
	(void)size;
	q->yes = q->ask(q);
	return 1;
}

static bool ask(struct question *q)
{
	dl_iterate_phdr(once, q);
	return q->yes;
}

static const struct link_map *first_of_all(void)
{
	return _r_debug.r_map;
}

static bool is_us(const struct link_map *map)
{
	return map->l_ld == _DYNAMIC;
}

static const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* As a dependency is named: by soname, else by the file's name. */
static bool is_called(const char *soname, const char *path, const char *name)
{
	return (soname && !strcmp(soname, name)) || !strcmp(file_of(path), file_of(name));
}

void gw_objects_at_start(void)
{
	const struct link_map *map = first_of_all();

	if (at_start)
		return;
	while (map && map->l_next)
		map = map->l_next;
	at_start = map;
}

static bool is_loaded(struct question *q)
{
	struct gw_object o;

	for (const struct link_map *map = first_of_all(); map; map = map->l_next)
		if (gw_object_read(map, &o) && is_called(o.soname, map->l_name, q->name))
			return true;
	return false;
}

static int count_changes(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint64_t *out = arg;

	(void)size;
	*out = info->dlpi_adds + info->dlpi_subs;
	return 1;
}

uint64_t gw_objects_changes(void)
{
	uint64_t changes = 0;

	dl_iterate_phdr(count_changes, &changes);
	return changes;
}

bool gw_object_loaded(const char *soname)
{
	struct question q = {.ask = is_loaded, .name = soname};

	return ask(&q);
}

static bool is_defined(struct question *q)
{
	struct gw_object o;

	for (const struct link_map *map = first_of_all(); map; map = map->l_next)
		if (gw_object_read(map, &o) && gw_object_find(&o, q->name))
			return true;
	return false;
}

bool gw_object_defines(const char *name)
{
	struct question q = {.ask = is_defined, .name = name};

	return ask(&q);
}

bool gw_object_at_start(const char *name, struct gw_object *out)
{
	for (const struct link_map *map = first_of_all(); map && at_start; map = map->l_next) {
		if (gw_object_read(map, out) && gw_object_find(out, name))
			return true;
		if (map == at_start)
			break;
	}
	return false;
}

static bool is_listed(struct question *q)
{
	const struct link_map *map = first_of_all();

	while (map && map != q->caller)
		map = map->l_next;
	return map != NULL;
}

bool gw_object_listed(const struct link_map *map)
{
	struct question q = {.ask = is_listed, .caller = map};

	return ask(&q);
}

static bool is_ahead(struct question *q)
{
	const struct link_map *map = first_of_all();
	struct gw_object o;

	while (map && map != q->caller && !is_us(map))
		map = map->l_next;
	if (!map || is_us(map))
		return false;
	while ((map = map->l_next) && !is_us(map))
		if (gw_object_read(map, &o) && gw_object_find(&o, q->name))
			return false;
	return map != NULL;
}

bool gw_object_ahead(const struct link_map *caller, const char *name)
{
	struct question q = {.ask = is_ahead, .caller = caller, .name = name};

	return ask(&q);
}

/* ---- who shares a scope ---- */

/*
 * A library that is opened gets a scope of its own: itself and all it depends on, which each of
 * these then searches after the global scope. So two objects share one if some object depends on
 * both, directly or not (or is one of them). That object need not be the one that was opened: what
 * was has it among its own dependencies.
 */
enum { NEEDS_ONE = 1, NEEDS_OTHER = 2, NEEDS_BOTH = 3 };

static struct {
	const struct link_map *map;
	const char *soname;
	unsigned char needs;
} object[OBJECTS];
static unsigned objects;
static volatile bool
	busy; /* set under the lock: seen by a signal handler on the same thread only */

static bool list_objects(void)
{
	struct gw_object o;

	objects = 0;
	for (const struct link_map *map = first_of_all(); map; map = map->l_next) {
		if (objects == OBJECTS)
			return false;
		gw_object_read(map, &o);
		object[objects].soname = o.soname;
		object[objects++].map = map;
	}
	return true;
}

/* What a dependency of that name needs. */
static unsigned needs_by_name(const char *name, unsigned known)
{
	for (unsigned i = 0; i < objects; i++)
		if ((object[i].needs & ~known) &&
		    is_called(object[i].soname, object[i].map->l_name, name))
			return object[i].needs;
	return 0;
}

static unsigned needs_now(unsigned i)
{
	const struct link_map *map = object[i].map;
	unsigned needs = object[i].needs;
	struct gw_object o;

	gw_object_read(map, &o);
	for (const ElfW(Dyn) *d = map->l_ld; o.strings && d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED)
			needs |= needs_by_name(o.strings + d->d_un.d_val, needs);
	return needs;
}

static bool share(unsigned one, unsigned other)
{
	bool more = true;

	for (unsigned i = 0; i < objects; i++)
		object[i].needs = 0;
	object[one].needs |= NEEDS_ONE;
	object[other].needs |= NEEDS_OTHER;
	while (more) {
		more = false;
		/* Dependencies are mostly loaded after what needs them. */
		for (unsigned i = objects; i--;) {
			unsigned needs = needs_now(i);

			if (needs == NEEDS_BOTH)
				return true;
			more |= needs != object[i].needs;
			object[i].needs = (unsigned char)needs;
		}
	}
	return false;
}

/* The caller's place in the list; `objects` when it has none, or was there at the start. */
static unsigned opened(const struct link_map *caller)
{
	bool later = false;

	for (unsigned i = 0; i < objects; i++) {
		if (object[i].map == caller)
			return later ? i : objects;
		later |= object[i].map == at_start;
	}
	return objects;
}

static bool is_beside(struct question *q)
{
	unsigned caller, definitions = 0;
	struct gw_object o;

	if (!list_objects() || (caller = opened(q->caller)) == objects)
		return false;
	for (unsigned i = 0; i < objects; i++) {
		void *found;

		if (is_us(object[i].map) || !gw_object_read(object[i].map, &o) ||
		    !(found = gw_object_find(&o, q->name)) || !share(caller, i))
			continue;
		q->found = found;
		definitions++;
	}
	return definitions == 1;
}

static bool is_beside_once(struct question *q)
{
	bool yes;

	if (busy)
		return false;
	busy = true;
	yes = is_beside(q);
	busy = false;
	return yes;
}

void *gw_object_beside(const struct link_map *caller, const char *name)
{
	struct question q = {.ask = is_beside_once, .caller = caller, .name = name};

	return ask(&q) ? q.found : NULL;
}
