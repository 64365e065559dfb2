/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/index.h"

#include "cli/memory.h"

#include <stdlib.h>

/* Spreads keys that are small numbers over the table (the finisher of splitmix64). */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

uint64_t gw_hash(uint64_t seed, const void *data, size_t length)
{
	const unsigned char *p = data;
	uint64_t h = seed ^ 0xcbf29ce484222325u;

	for (size_t i = 0; i < length; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return mix(h);
}

uint32_t gw_index_find(const struct gw_index *index, uint64_t key, gw_index_same *same,
                       const void *arg)
{
	if (!index->room)
		return GW_INDEX_NONE;
	for (size_t i = mix(key) & (index->room - 1); index->slots[i];
	     i = (i + 1) & (index->room - 1))
		if (index->keys[i] == key && (!same || same(arg, index->slots[i] - 1)))
			return index->slots[i] - 1;
	return GW_INDEX_NONE;
}

static void put(struct gw_index *index, uint64_t key, uint32_t slot)
{
	size_t i = mix(key) & (index->room - 1);

	while (index->slots[i])
		i = (i + 1) & (index->room - 1);
	index->keys[i] = key;
	index->slots[i] = slot;
}

void gw_index_add(struct gw_index *index, uint64_t key, uint32_t position)
{
	if (index->used * 2 >= index->room) {
		struct gw_index old = *index;

		index->room = old.room ? old.room * 2 : 64;
		index->keys = gw_alloc(index->room * sizeof(*index->keys));
		index->slots = gw_alloc(index->room * sizeof(*index->slots));
		for (size_t i = 0; i < old.room; i++)
			if (old.slots[i])
				put(index, old.keys[i], old.slots[i]);
		gw_index_free(&old);
	}
	put(index, key, position + 1);
	index->used++;
}

void gw_index_free(struct gw_index *index)
{
	free(index->keys);
	free(index->slots);
	index->keys = NULL;
	index->slots = NULL;
}
