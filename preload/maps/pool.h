/* Things of one size by number, which stay where they are; numbers are used again. One thread's. */
#ifndef GW_POOL_H
#define GW_POOL_H

#include "preload/maps/memory.h"

enum { GW_POOL_CHUNK = 256, GW_POOL_CHUNKS = 4096, GW_POOL_MAX = GW_POOL_CHUNK * GW_POOL_CHUNKS };

struct gw_pool {
	size_t size;            /* of a thing */
	enum gw_memory_use use; /* what its memory is taken for */
	uint32_t made, spare;   /* numbers ever given; the first that is free again */
	uint32_t alive;
	char *chunks[GW_POOL_CHUNKS];
};

/** The thing of a number that was taken. */
static inline void *gw_pool_at(const struct gw_pool *p, uint32_t number)
{
	return p->chunks[(number - 1) / GW_POOL_CHUNK] + (number - 1) % GW_POOL_CHUNK * p->size;
}

/** The number, from 1, of a zeroed thing; 0 when there is no room. */
uint32_t gw_pool_take(struct gw_pool *p);
void gw_pool_give(struct gw_pool *p, uint32_t number);

/**
 * Start with no thing, of @p size bytes, at least 4, that are taken for @p use; what a forked
 * child's parent had stays where it is.
 */
void gw_pool_start(struct gw_pool *p, size_t size, enum gw_memory_use use);

#endif
