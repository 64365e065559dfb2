#include "preload/maps/idmap.h"

#include <string.h>

static uint32_t slot(const struct gw_idmap *map, uint64_t key)
{
	uint32_t at = (uint32_t)(key >> 32) & (map->size - 1);

	while (map->keys[at] && map->keys[at] != key)
		at = (at + 1) & (map->size - 1);
	return at;
}

uint32_t gw_idmap_get(const struct gw_idmap *map, uint64_t key)
{
	uint32_t at;

	if (!map->size)
		return 0;
	at = slot(map, key);
	return map->keys[at] ? map->ids[at] : 0;
}

static bool grow(struct gw_idmap *map)
{
	struct gw_idmap wider = {
		.use = map->use, .size = map->size ? map->size * 2 : 256, .used = map->used};

	wider.keys = gw_memory_new(map->use, wider.size, sizeof(*wider.keys));
	wider.ids = wider.keys ? gw_memory_new(map->use, wider.size, sizeof(*wider.ids)) : NULL;
	if (!wider.ids) {
		if (wider.keys)
			gw_memory_free(map->use, wider.keys, wider.size, sizeof(*wider.keys));
		return false;
	}
	for (uint32_t i = 0; i < map->size; i++) {
		if (map->keys[i]) {
			uint32_t at = slot(&wider, map->keys[i]);

			wider.keys[at] = map->keys[i];
			wider.ids[at] = map->ids[i];
		}
	}
	gw_idmap_clear(map);
	*map = wider;
	return true;
}

bool gw_idmap_put(struct gw_idmap *map, uint64_t key, uint32_t id)
{
	uint32_t at;

	/* Where it cannot grow an eighth stays free: a look must end soon. */
	if (map->used * 4 >= map->size * 3 && !grow(map) && map->used >= map->size - map->size / 8)
		return false;
	at = slot(map, key);
	if (!map->keys[at]) {
		map->keys[at] = key;
		map->used++;
	}
	map->ids[at] = id;
	return true;
}

void gw_idmap_remove(struct gw_idmap *map, uint64_t key)
{
	uint32_t mask = map->size - 1, at, hole;

	if (!map->size)
		return;
	at = hole = slot(map, key);
	if (!map->keys[at])
		return;
	map->used--;
	/* What stands behind moves up, where its own place allows: no look ends too early. */
	while (map->keys[at = (at + 1) & mask]) {
		uint32_t home = (uint32_t)(map->keys[at] >> 32) & mask;

		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		map->keys[hole] = map->keys[at];
		map->ids[hole] = map->ids[at];
		hole = at;
	}
	map->keys[hole] = 0;
}

void gw_idmap_empty(struct gw_idmap *map)
{
	if (map->size)
		memset(map->keys, 0, map->size * sizeof(*map->keys));
	map->used = 0;
}

void gw_idmap_clear(struct gw_idmap *map)
{
	if (map->size) {
		gw_memory_free(map->use, map->keys, map->size, sizeof(*map->keys));
		gw_memory_free(map->use, map->ids, map->size, sizeof(*map->ids));
	}
	*map = (struct gw_idmap){.use = map->use};
}
