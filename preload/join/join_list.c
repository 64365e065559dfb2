#include "preload/join/join_list.h"

#include "preload/join/kernel_names.h"
#include "preload/maps/idmap.h"
#include "preload/maps/memory.h"
#include "preload/maps/configs.h"

#include <string.h>

enum { WAITING_MAX = 1 << 19, CHUNK = 1024 };

static struct gw_waiting *spare;
static uint32_t count;

void gw_waiting_start(void)
{
	spare = NULL;
	count = 0;
}

uint32_t gw_waiting_count(void)
{
	return count;
}

bool gw_waiting_full(void)
{
	return count >= WAITING_MAX;
}

static struct gw_waiting *take_spare(void)
{
	struct gw_waiting *w = spare;

	if (!w) {
		w = gw_memory_new(GW_MEMORY_waiting, CHUNK, sizeof(*w));
		for (int i = 0; w && i < CHUNK; i++) {
			w[i].next = spare;
			spare = &w[i];
		}
		w = spare;
	}
	if (w)
		spare = w->next;
	return w;
}

bool gw_waiting_add(struct gw_waiting_list *list, uint32_t number,
		    const struct gw_record_launch *record)
{
	struct gw_waiting *w = gw_waiting_full() ? NULL : take_spare();

	if (!w)
		return false;
	w->next = NULL;
	w->number = number;
	w->overtaken_ns = 0;
	w->record = *record;
	*list->end = w;
	list->end = &w->next;
	count++;
	return true;
}

struct gw_record_launch gw_waiting_take(struct gw_waiting_list *list, struct gw_waiting **at)
{
	struct gw_waiting *w = *at;

	*at = w->next;
	if (list->end == &w->next)
		list->end = at;
	w->next = spare;
	spare = w;
	count--;
	return w->record;
}

bool gw_join_fits(const struct gw_record_launch *r, const struct gw_activity *a)
{
	const struct gw_config_entry *e = gw_config_entry(r->config);

	return r->config && gw_activity_of_call(a, r->call_ns) && e->config.grid.x == a->grid[0] &&
	       e->config.grid.y == a->grid[1] && e->config.grid.z == a->grid[2] &&
	       e->config.block.x == a->block[0] && e->config.block.y == a->block[1] &&
	       e->config.block.z == a->block[2] && e->config.dynamic_shared == a->dynamic_shared &&
	       !strcmp(e->name, a->name);
}

struct gw_waiting **gw_waiting_fitting(struct gw_waiting **at, uint32_t most,
				       const struct gw_activity *a)
{
	for (; *at && most; at = &(*at)->next, most--)
		if (gw_join_fits(&(*at)->record, a))
			return at;
	return NULL;
}

uint64_t gw_join_signature(uint64_t name, const uint32_t grid[3], const uint32_t block[3],
			   uint32_t shared)
{
	uint64_t h = gw_idmap_key(name, (uint64_t)grid[0] << 32 | grid[1]);

	h = gw_idmap_key(h, (uint64_t)grid[2] << 32 | block[0]);
	h = gw_idmap_key(h, (uint64_t)block[1] << 32 | block[2]);
	return gw_idmap_key(h, shared);
}

uint64_t gw_join_signature_of(uint32_t config)
{
	struct gw_config_entry *e = gw_config_entry(config);
	const struct gw_config *c = &e->config;
	const uint32_t grid[] = {c->grid.x, c->grid.y, c->grid.z};
	const uint32_t block[] = {c->block.x, c->block.y, c->block.z};

	if (!e->signature)
		e->signature = gw_join_signature(gw_kernel_name_hash(e->name), grid, block,
						 c->dynamic_shared);
	return e->signature;
}
