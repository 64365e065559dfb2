/* A map from 64-bit keys to ids, growing by doubling; one thread's. */
#ifndef GW_IDMAP_H
#define GW_IDMAP_H

#include "preload/maps/memory.h"

#include <stdbool.h>
#include <stdint.h>

struct gw_idmap {
	enum gw_memory_use use; /* what its memory is taken for */
	uint64_t *keys;         /* 0 = free */
	uint32_t *ids;
	uint32_t size, used;
};

/** The id of @p key (not 0), 0 when absent. */
uint32_t gw_idmap_get(const struct gw_idmap *map, uint64_t key);
/** Set the id of @p key (not 0); false when there is no memory. */
bool gw_idmap_put(struct gw_idmap *map, uint64_t key, uint32_t id);
/** Forget @p key; what else is in the map stays as it is. */
void gw_idmap_remove(struct gw_idmap *map, uint64_t key);
/** Forget all keys, and keep the memory. */
void gw_idmap_empty(struct gw_idmap *map);
/** Forget all keys, and give the memory back. */
void gw_idmap_clear(struct gw_idmap *map);

/** Mix two words into a key that is not 0. */
static inline uint64_t gw_idmap_key(uint64_t a, uint64_t b)
{
	const uint64_t m = UINT64_C(0x9fb21c651e98df25);
	uint64_t h = (a ^ (a >> 31)) * m;

	h = (h ^ b ^ (b >> 29)) * m;
	h ^= h >> 32;
	return h ? h : 1;
}

#endif
