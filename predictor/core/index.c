#include "predictor/core/index.h"

#include "predictor/core/hash.h"

#include <stdlib.h>

uint32_t gw_index_find(const struct gw_index *index, uint64_t key, gw_index_same *same,
		       const void *arg)
{
	if (!index->room)
		return GW_INDEX_NONE;
	for (size_t i = gw_hash_mix(key) & (index->room - 1); index->slots[i];
	     i = (i + 1) & (index->room - 1))
		if (index->keys[i] == key && (!same || same(arg, index->slots[i] - 1)))
			return index->slots[i] - 1;
	return GW_INDEX_NONE;
}

static void put(struct gw_index *index, uint64_t key, uint32_t slot)
{
	size_t i = gw_hash_mix(key) & (index->room - 1);

	while (index->slots[i])
		i = (i + 1) & (index->room - 1);
	index->keys[i] = key;
	index->slots[i] = slot;
}

static bool grow(struct gw_index *index)
{
	struct gw_index old = *index, grown = {.room = old.room ? old.room * 2 : 64};

	grown.keys = calloc(grown.room, sizeof(*grown.keys));
	grown.slots = calloc(grown.room, sizeof(*grown.slots));
	if (!grown.keys || !grown.slots) {
		gw_index_free(&grown);
		return false;
	}
	for (size_t i = 0; i < old.room; i++)
		if (old.slots[i])
			put(&grown, old.keys[i], old.slots[i]);
	grown.used = old.used;
	gw_index_free(&old);
	*index = grown;
	return true;
}

bool gw_index_try_add(struct gw_index *index, uint64_t key, uint32_t position)
{
	if (index->used * 2 >= index->room && !grow(index))
		return false;
	put(index, key, position + 1);
	index->used++;
	return true;
}

void gw_index_free(struct gw_index *index)
{
	free(index->keys);
	free(index->slots);
	index->keys = NULL;
	index->slots = NULL;
}
