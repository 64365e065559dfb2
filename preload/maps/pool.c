#include "preload/maps/pool.h"

#include <string.h>

uint32_t gw_pool_take(struct gw_pool *p)
{
	uint32_t number = p->spare, *next;

	if (!number) {
		char **chunk = &p->chunks[p->made / GW_POOL_CHUNK];

		if (p->made >= GW_POOL_MAX)
			return 0;
		if (!*chunk && !(*chunk = gw_memory_new(p->use, GW_POOL_CHUNK, p->size)))
			return 0;
		p->alive++;
		return ++p->made;
	}
	next = gw_pool_at(p, number);
	p->spare = *next;
	memset(next, 0, p->size);
	p->alive++;
	return number;
}

void gw_pool_give(struct gw_pool *p, uint32_t number)
{
	uint32_t *next = gw_pool_at(p, number);

	*next = p->spare;
	p->spare = number;
	p->alive--;
}

void gw_pool_start(struct gw_pool *p, size_t size, enum gw_memory_use use)
{
	p->size = size;
	p->use = use;
	memset((void *)p->chunks, 0, sizeof(p->chunks));
	p->made = p->spare = p->alive = 0;
}
