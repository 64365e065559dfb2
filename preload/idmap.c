/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/idmap.h"

#include <stdlib.h>

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
	struct gw_idmap wider = {.size = map->size ? map->size * 2 : 256, .used = map->used};

	wider.keys = calloc(wider.size, sizeof(*wider.keys));
	wider.ids = calloc(wider.size, sizeof(*wider.ids));
	if (!wider.keys || !wider.ids) {
		free(wider.keys);
		free(wider.ids);
		return false;
	}
	for (uint32_t i = 0; i < map->size; i++) {
		if (map->keys[i]) {
			uint32_t at = slot(&wider, map->keys[i]);

			wider.keys[at] = map->keys[i];
			wider.ids[at] = map->ids[i];
		}
	}
	free(map->keys);
	free(map->ids);
	*map = wider;
	return true;
}

bool gw_idmap_put(struct gw_idmap *map, uint64_t key, uint32_t id)
{
	uint32_t at;

	if (map->used * 4 >= map->size * 3 && !grow(map))
		return false;
	at = slot(map, key);
	if (!map->keys[at]) {
		map->keys[at] = key;
		map->used++;
	}
	map->ids[at] = id;
	return true;
}
