#include "preload/maps/handle_map.h"

static void set_live(struct gw_map *map, uint32_t at, bool live)
{
	uint64_t bit = UINT64_C(1) << at % 64;

	if (live)
		atomic_fetch_or(&map->live[at / 64], bit);
	else
		atomic_fetch_and(&map->live[at / 64], ~bit);
}

/* So many places from @p home on are looked at from now on: before anything is found in the last.
 */
static void reach_out(struct gw_map *map, uint32_t home, unsigned places)
{
	uint8_t reach = atomic_load(&map->reach[home]);

	while (reach < places &&
	       !atomic_compare_exchange_weak(&map->reach[home], &reach, (uint8_t)places))
		;
}

uint32_t gw_map_put(struct gw_map *map, uintptr_t key, uint32_t value, uintptr_t owner,
		    uintptr_t context)
{
	uint32_t home = gw_map_hash(key);

	for (unsigned i = 0; i < GW_MAP_PROBE; i++) {
		uint32_t at = (home + i) & (GW_MAP_SIZE - 1);
		struct gw_map_entry *e = &map->entry[at];
		uintptr_t k = atomic_load_explicit(&e->key, memory_order_acquire);

		uint32_t there = k == key ? atomic_load(&e->value) : 0;

		if (there && atomic_load(&e->key) == key)
			return there;
		if ((k && k != GW_MAP_DEAD) ||
		    !atomic_compare_exchange_strong(&e->key, &k, GW_MAP_BUSY))
			continue;
		reach_out(map, home, i + 1);
		set_live(map, at, true);
		/* With the fence in asks(): what follows is seen after the last key is gone. */
		atomic_thread_fence(memory_order_release);
		atomic_store_explicit(&e->owner, owner, memory_order_relaxed);
		atomic_store_explicit(&e->context, context, memory_order_relaxed);
		/* Pair with the acquires in gw_map_get(): a key has the value of its entry or a
		 * later one. */
		atomic_store_explicit(&e->value, value, memory_order_release);
		atomic_store_explicit(&e->key, key, memory_order_release);
		return value;
	}
	return 0;
}

/* Only one thread gets the slot of an entry that several try to clear. */
static uint32_t kill(struct gw_map *map, uint32_t at, uintptr_t key)
{
	struct gw_map_entry *e = &map->entry[at];
	uint32_t value;

	if (!atomic_compare_exchange_strong(&e->key, &key, GW_MAP_BUSY))
		return 0;
	value = atomic_exchange(&e->value, 0);
	set_live(map, at, false);
	/* Pairs with the acquire in gw_map_put(), of the next that takes the entry. */
	atomic_store_explicit(&e->key, GW_MAP_DEAD, memory_order_release);
	return value;
}

uint32_t gw_map_remove(struct gw_map *map, uintptr_t key, void (*gone)(uint32_t slot))
{
	uint32_t home = gw_map_hash(key), value = 0;
	unsigned reach = atomic_load_explicit(&map->reach[home], memory_order_acquire);

	for (unsigned i = 0; i < reach; i++) {
		uint32_t at = (home + i) & (GW_MAP_SIZE - 1);
		uintptr_t k = atomic_load_explicit(&map->entry[at].key, memory_order_acquire);

		if (k == key) {
			uint32_t v = kill(map, at, key);

			if (v && gone)
				gone(v);
			value = v ? v : value;
		}
	}
	return value;
}

void gw_map_make_room(struct gw_map *map, uintptr_t key)
{
	static _Atomic uint32_t turns;
	uint32_t place = atomic_fetch_add_explicit(&turns, 1, memory_order_relaxed) % GW_MAP_PROBE;
	uint32_t at = (gw_map_hash(key) + place) & (GW_MAP_SIZE - 1);
	uintptr_t k = atomic_load_explicit(&map->entry[at].key, memory_order_acquire);

	if (k > GW_MAP_BUSY)
		kill(map, at, k);
}

uintptr_t gw_map_owner(struct gw_map *map, uintptr_t key)
{
	uint32_t home = gw_map_hash(key);
	unsigned reach = atomic_load_explicit(&map->reach[home], memory_order_acquire);

	for (unsigned i = 0; i < reach; i++) {
		struct gw_map_entry *e = &map->entry[(home + i) & (GW_MAP_SIZE - 1)];

		if (atomic_load_explicit(&e->key, memory_order_acquire) == key)
			return atomic_load_explicit(&e->owner, memory_order_relaxed);
	}
	return 0;
}

/* What is done with an entry that holds @p key; false: go on to the next. */
typedef bool each(struct gw_map *map, uint32_t at, uintptr_t key, void *arg);

static uintptr_t for_each(struct gw_map *map, each *visit, void *arg)
{
	for (uint32_t word = 0; word < GW_MAP_SIZE / 64; word++) {
		uint64_t live = atomic_load_explicit(&map->live[word], memory_order_acquire);

		for (; live; live &= live - 1) {
			uint32_t at = word * 64 + (uint32_t)__builtin_ctzll(live);
			uintptr_t k =
				atomic_load_explicit(&map->entry[at].key, memory_order_acquire);

			if (k > GW_MAP_BUSY && visit(map, at, k, arg))
				return k;
		}
	}
	return 0;
}

struct asked {
	gw_map_is *is;
	void *arg;
};

static bool asks(struct gw_map *map, uint32_t at, uintptr_t key, void *arg)
{
	const struct asked *a = arg;
	struct gw_map_entry *e = &map->entry[at];
	uint32_t value = atomic_load_explicit(&e->value, memory_order_relaxed);
	uintptr_t context = atomic_load_explicit(&e->context, memory_order_relaxed);

	atomic_thread_fence(memory_order_acquire);
	/* It may have become another's in between: with the fence in gw_map_put(). */
	return atomic_load_explicit(&e->key, memory_order_relaxed) == key &&
	       a->is(a->arg, key, value, context);
}

uintptr_t gw_map_find(struct gw_map *map, gw_map_is *is, void *arg)
{
	struct asked a = {is, arg};

	return for_each(map, asks, &a);
}

struct ended {
	uintptr_t owner, context;
	void (*gone)(uint32_t slot);
};

static bool ends(struct gw_map *map, uint32_t at, uintptr_t key, void *arg)
{
	const struct ended *of = arg;
	struct gw_map_entry *e = &map->entry[at];
	uint32_t slot = 0;

	if ((of->owner && atomic_load_explicit(&e->owner, memory_order_relaxed) == of->owner) ||
	    (of->context && atomic_load_explicit(&e->context, memory_order_relaxed) == of->context))
		slot = kill(map, at, key);
	if (slot && of->gone)
		of->gone(slot);
	return false;
}

void gw_map_remove_all(struct gw_map *map, uintptr_t owner, uintptr_t context,
		       void (*gone)(uint32_t slot))
{
	struct ended of = {owner, context, gone};

	for_each(map, ends, &of);
}
