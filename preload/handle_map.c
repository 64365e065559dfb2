/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/handle_map.h"

/* A place is taken for the first time once: no key is ever 0 again. */
static void remember(struct gw_map *map, uint32_t at)
{
	uint32_t n = atomic_fetch_add_explicit(&map->used, 1, memory_order_relaxed);

	atomic_store_explicit(&map->order[n], at + 1, memory_order_release);
}

bool gw_map_put(struct gw_map *map, uintptr_t key, uint32_t value, uintptr_t owner,
                uintptr_t context)
{
	uint32_t at = gw_map_hash(key);

	for (unsigned i = 0; i < GW_MAP_PROBE; i++, at = (at + 1) & (GW_MAP_SIZE - 1)) {
		struct gw_map_entry *e = &map->entry[at];
		uintptr_t k = atomic_load_explicit(&e->key, memory_order_acquire);

		if ((k && k != GW_MAP_DEAD && k != key) ||
		    !atomic_compare_exchange_strong(&e->key, &k, GW_MAP_BUSY))
			continue;
		if (!k)
			remember(map, at);
		atomic_store_explicit(&e->owner, owner, memory_order_relaxed);
		atomic_store_explicit(&e->context, context, memory_order_relaxed);
		atomic_store_explicit(&e->value, value, memory_order_release);
		atomic_store_explicit(&e->key, key, memory_order_release);
		return true;
	}
	return false;
}

/* Only one thread gets the slot of an entry that several try to clear. */
static uint32_t kill(struct gw_map_entry *e, uintptr_t key)
{
	uint32_t value;

	if (!atomic_compare_exchange_strong(&e->key, &key, GW_MAP_BUSY))
		return 0;
	value = atomic_exchange(&e->value, 0);
	atomic_store_explicit(&e->key, GW_MAP_DEAD, memory_order_release);
	return value;
}

uint32_t gw_map_remove(struct gw_map *map, uintptr_t key)
{
	uint32_t at = gw_map_hash(key), value = 0;

	/* To the end of the chain: two threads may have put the same handle twice. */
	for (unsigned i = 0; i < GW_MAP_PROBE; i++, at = (at + 1) & (GW_MAP_SIZE - 1)) {
		struct gw_map_entry *e = &map->entry[at];
		uintptr_t k = atomic_load_explicit(&e->key, memory_order_acquire);

		if (!k)
			break;
		if (k == key) {
			uint32_t v = kill(e, key);

			value = v ? v : value;
		}
	}
	return value;
}

uintptr_t gw_map_owner(struct gw_map *map, uintptr_t key)
{
	uint32_t at = gw_map_hash(key);

	for (unsigned i = 0; i < GW_MAP_PROBE; i++, at = (at + 1) & (GW_MAP_SIZE - 1)) {
		struct gw_map_entry *e = &map->entry[at];
		uintptr_t k = atomic_load_explicit(&e->key, memory_order_acquire);

		if (k == key)
			return atomic_load_explicit(&e->owner, memory_order_relaxed);
		if (!k)
			break;
	}
	return 0;
}

/* The entry that came as number @p i of all, and its key; NULL where nothing is kept in it. */
static struct gw_map_entry *entry_of(struct gw_map *map, uint32_t i, uintptr_t *key)
{
	uint32_t place = atomic_load_explicit(&map->order[i], memory_order_acquire);
	struct gw_map_entry *e = place ? &map->entry[place - 1] : NULL;

	*key = e ? atomic_load_explicit(&e->key, memory_order_acquire) : 0;
	return *key > GW_MAP_BUSY ? e : NULL;
}

uintptr_t gw_map_find(struct gw_map *map, gw_map_is *is, void *arg)
{
	uint32_t used = atomic_load_explicit(&map->used, memory_order_acquire);

	for (uint32_t i = 0; i < used; i++) {
		uintptr_t k, context;
		struct gw_map_entry *e = entry_of(map, i, &k);
		uint32_t value;

		if (!e)
			continue;
		value = atomic_load_explicit(&e->value, memory_order_relaxed);
		context = atomic_load_explicit(&e->context, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		/* It may have become another's in between. */
		if (atomic_load_explicit(&e->key, memory_order_relaxed) == k &&
		    is(arg, k, value, context))
			return k;
	}
	return 0;
}

void gw_map_remove_all(struct gw_map *map, uintptr_t owner, uintptr_t context,
                       void (*gone)(uint32_t slot))
{
	uint32_t used = atomic_load_explicit(&map->used, memory_order_acquire);

	for (uint32_t i = 0; i < used; i++) {
		uintptr_t k;
		struct gw_map_entry *e = entry_of(map, i, &k);

		if (!e)
			continue;
		if ((owner && atomic_load_explicit(&e->owner, memory_order_relaxed) == owner) ||
		    (context &&
		     atomic_load_explicit(&e->context, memory_order_relaxed) == context)) {
			uint32_t slot = kill(e, k);

			if (slot && gone)
				gone(slot);
		}
	}
}
