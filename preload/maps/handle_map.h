/*
 * From a driver's handle to a slot of ours, without locks: read on every launch, written
 * on first use of a handle and when it is destroyed. Handles are reused by the driver, so what
 * is known of one must be forgotten the moment it is destroyed.
 */
#ifndef GW_HANDLE_MAP_H
#define GW_HANDLE_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GW_MAP_BITS = 16,
	GW_MAP_SIZE = 1 << GW_MAP_BITS,
	GW_MAP_PROBE = 64, /**< longest chain that is searched */
};

/**
 * An entry; key 0 is free, GW_MAP_DEAD was used. While its key is GW_MAP_BUSY one thread
 * fills or clears it, unseen by all others: an entry is read only under the key it is for.
 */
struct gw_map_entry {
	_Atomic uintptr_t key;
	_Atomic uint32_t value;    /**< slot */
	_Atomic uintptr_t owner;   /**< module, library: dies with it */
	_Atomic uintptr_t context; /**< dies with it; 0 for none */
};

#define GW_MAP_DEAD ((uintptr_t)1)
#define GW_MAP_BUSY ((uintptr_t)2)

/**
 * A bit of `live` for each entry that holds a handle, so that a module's or a context's end costs
 * what it takes to look at these. `reach` says for each hash how many places from its own on were
 * ever taken by a handle of it: after any number of handles have come and gone, a look for one that
 * is not there ends after as many.
 */
struct gw_map {
	_Atomic uint64_t live[GW_MAP_SIZE / 64];
	_Atomic uint8_t reach[GW_MAP_SIZE];
	struct gw_map_entry entry[GW_MAP_SIZE];
};

static inline uint32_t gw_map_hash(uintptr_t key)
{
	return (uint32_t)(((uint64_t)key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - GW_MAP_BITS));
}

/** The slot of @p key, 0 when it isn't known. */
static inline uint32_t gw_map_get(struct gw_map *map, uintptr_t key)
{
	uint32_t home = gw_map_hash(key);

	for (unsigned i = 0;;) {
		struct gw_map_entry *e = &map->entry[(home + i) & (GW_MAP_SIZE - 1)];
		/* These pair with the releases in gw_map_put() and of `reach` (handle_map.c). */
		uintptr_t k = atomic_load_explicit(&e->key, memory_order_acquire);

		if (k == key) {
			uint32_t value = atomic_load_explicit(&e->value, memory_order_acquire);

			/* The entry may have gone to another handle between the two. */
			if (atomic_load_explicit(&e->key, memory_order_relaxed) == key)
				return value;
		}
		if (!k || ++i >= atomic_load_explicit(&map->reach[home], memory_order_acquire))
			return 0;
	}
}

/**
 * Remember @p value (not 0) for @p key (above GW_MAP_BUSY), unless another thread has done so
 * meanwhile. Returns the slot that stands for @p key now; 0 when the chain is full: the handle then
 * stays unknown and is looked at anew each time.
 */
uint32_t gw_map_put(struct gw_map *map, uintptr_t key, uint32_t value, uintptr_t owner,
		    uintptr_t context);

/**
 * Forget @p key; returns the slot it had, 0 when none. Two threads may have put it at once, each
 * with a slot of its own: @p gone, if not NULL, is called with each.
 */
uint32_t gw_map_remove(struct gw_map *map, uintptr_t key, void (*gone)(uint32_t slot));

/**
 * Forget one of the handles in whose chain @p key would be, each time another. For maps whose slots
 * are never reused: who uses the handle looks it up anew.
 */
void gw_map_make_room(struct gw_map *map, uintptr_t key);

/** Owner given for @p key, 0 when it isn't known. */
uintptr_t gw_map_owner(struct gw_map *map, uintptr_t key);

/**
 * A key that @p is() says yes to; 0: none. An entry may go while it is asked about.
 */
typedef bool gw_map_is(void *arg, uintptr_t key, uint32_t value, uintptr_t context);
uintptr_t gw_map_find(struct gw_map *map, gw_map_is *is, void *arg);

/**
 * Forget every entry whose owner is @p owner (when not 0) or whose context is @p context
 * (when not 0); @p gone, if not NULL, is called with the slot of each.
 */
void gw_map_remove_all(struct gw_map *map, uintptr_t owner, uintptr_t context,
		       void (*gone)(uint32_t slot));

#endif
