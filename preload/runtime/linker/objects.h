/*
 * The objects that the dynamic linker has loaded, read from its public list: what they define, and
 * which of them share a scope. Nothing here looks a name up, opens anything or allocates.
 */
#ifndef GW_OBJECTS_H
#define GW_OBJECTS_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/** The parts of a loaded object's dynamic section that a look-up by GNU hash needs. */
struct gw_object {
	ElfW(Addr) base;
	const ElfW(Sym) * symbols;
	const char *strings, *soname;
	const uint32_t *hash;
	const ElfW(Versym) * versions;
};

/**
 * Read @p map. False when it has no symbols that can be looked up. Calls no function that another
 * library could stand in for; safe before any constructor has run.
 */
bool gw_object_read(const struct link_map *map, struct gw_object *o);

/** An address in the dynamic section of @p map. */
const void *gw_object_address(const struct link_map *map, const ElfW(Dyn) * d);

/** The default version of @p name, as the linker would bind it; NULL when it is not defined. */
void *gw_object_find(const struct gw_object *o, const char *name);

/** Note which objects were loaded at the start of the process: those of now. First call counts. */
void gw_objects_at_start(void);

/** How often the list of loaded objects has changed since the process began. */
uint64_t gw_objects_changes(void);

/** Whether an object is loaded whose name (soname, or the file's) is @p soname. */
bool gw_object_loaded(const char *soname);

/** Whether an object is loaded that defines @p name. */
bool gw_object_defines(const char *name);

/** The first object that defines @p name and stays for the life of the process, as it was loaded at
 * the start; false where there is none. */
bool gw_object_at_start(const char *name, struct gw_object *out);

/** Whether @p map is of our namespace. */
bool gw_object_listed(const struct link_map *map);

/** Whether @p caller comes before us in the order of look-ups, and no object between it and us
 * defines @p name. */
bool gw_object_ahead(const struct link_map *caller, const char *name);

/**
 * What the scope of @p caller, a library that was opened, holds of @p name beside the global scope:
 * the only definition in the objects it was opened with. NULL when there is none, or more than one:
 * which of these comes first the linker's public list does not say.
 */
void *gw_object_beside(const struct link_map *caller, const char *name);

#endif
