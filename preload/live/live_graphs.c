/*
 * The kernels of graphs in the live segment, for launches that are in a ring when the process dies.
 * A snapshot's nodes are a list of chunks, written before it can be launched.
 */
#include "preload/live/graph_sums.h"
#include "preload/live/live_part.h"
#include "preload/maps/idmap.h"

#include <errno.h>
#include <string.h>

enum {
	PAGE = 4096,
	PER_CHUNK = sizeof(((struct gw_live_chunk *)0)->node) / sizeof(struct gw_live_node)
};

_Static_assert((int)GW_GRAPHS_MAX <= (int)GW_LIVE_GRAPHS &&
		       (int)GW_SLOTS_MAX <= (int)GW_LIVE_CHUNKS,
	       "each has a place");

static struct gw_slots chunks;
static struct gw_idmap times = {
	.use = GW_MEMORY_graphs}; /* the worker's: graphs that are timed whole -> entry, from 1 … */
static bool times_ready;          /* … and whether their table is reserved */
static bool times_full;
/* Pages that are reserved, from the table of graphs on. */
static _Atomic bool ready[(GW_LIVE_GRAPHS * sizeof(gw_live_graph) +
			   GW_LIVE_CHUNKS * sizeof(struct gw_live_chunk)) /
				  PAGE +
			  1];

static bool have_page(struct gw_live_head *h, uint64_t at)
{
	_Atomic bool *page = &ready[(at - h->graphs.offset) / PAGE];

	/* Pairs with the release below, of another thread. */
	if (!atomic_load_explicit(page, memory_order_acquire) && gw_live_reserve(h, at, 1))
		atomic_store_explicit(page, true, memory_order_release);
	return atomic_load_explicit(page, memory_order_relaxed);
}

static uint64_t chunk_offset(const struct gw_live_head *h, uint32_t number)
{
	return h->chunks.offset + (uint64_t)number * sizeof(struct gw_live_chunk);
}

static struct gw_live_chunk *chunk_at(struct gw_live_head *h, uint32_t number)
{
	return (struct gw_live_chunk *)(void *)((char *)h + chunk_offset(h, number));
}

static gw_live_graph *graph_at(struct gw_live_head *h, uint32_t slot)
{
	return (gw_live_graph *)(void *)((char *)h + h->graphs.offset) + slot;
}

/* 0 when there is none. One beyond the last stays taken. */
static uint32_t take_chunk(struct gw_live_head *h)
{
	uint32_t number = gw_slot_take(&chunks);

	if (!number || number >= h->chunks.count)
		return 0;
	if (have_page(h, chunk_offset(h, number)))
		return number;
	gw_slot_free(&chunks, number);
	return 0;
}

static void free_list(struct gw_live_head *h, uint32_t first)
{
	while (first) {
		uint32_t next = chunk_at(h, first)->next;

		gw_slot_free(&chunks, first);
		first = next;
	}
}

static struct gw_live_node node_of(const struct gw_graph_node *n)
{
	const struct gw_config *c = &n->config;

	return (struct gw_live_node){
		.kernel = (uint16_t)n->kernel,
		.enabled = n->enabled,
		.cooperative = n->cooperative,
		.grid = {c->grid.x, c->grid.y, c->grid.z},
		.block = {(uint16_t)c->block.x, (uint16_t)c->block.y, (uint16_t)c->block.z},
		.cluster = c->cluster.x | c->cluster.y << 10 | c->cluster.z << 20,
		.shared = c->dynamic_shared,
		.digest = c->digest,
	};
}

/* The list of all nodes, 0 for none; false when there is no room. */
static bool make_list(struct gw_live_head *h, const struct gw_graph_slot *slot, uint32_t *first)
{
	uint32_t *link = first;

	*first = 0;
	for (uint32_t i = 0; i < slot->count; i += PER_CHUNK) {
		const uint32_t left = slot->count - i;
		uint32_t number = take_chunk(h);
		struct gw_live_chunk *c;

		if (!number) {
			free_list(h, *first);
			return false;
		}
		c = chunk_at(h, number);
		c->next = 0;
		c->count = left < PER_CHUNK ? left : PER_CHUNK;
		for (uint32_t k = 0; k < c->count; k++)
			c->node[k] = node_of(&slot->nodes[i + k]);
		*link = number;
		link = &c->next;
	}
	return true;
}

static void put(struct gw_live_head *h, uint32_t slot, uint32_t first, uint64_t flags)
{
	gw_live_graph old =
		__atomic_exchange_n(graph_at(h, slot), flags << 32 | first, __ATOMIC_ACQ_REL);

	free_list(h, (uint32_t)old);
}

static bool has_place(struct gw_live_head *h, uint32_t slot)
{
	return h && slot && have_page(h, h->graphs.offset + slot * sizeof(gw_live_graph));
}

void gw_live_graph_made(uint32_t slot)
{
	const struct gw_graph_slot *g = &gw_hot.shared->graph_slots[slot];
	int saved = errno;
	struct gw_live_head *h;
	uint32_t first = 0;

	gw_live_start();
	h = gw_live_mapped();
	if (has_place(h, slot) && make_list(h, g, &first)) {
		put(h, slot, first,
		    GW_LIVE_GRAPH_KNOWN | (g->unknown ? (unsigned)GW_LIVE_GRAPH_MORE : 0u));
	} else if (h) {
		gw_live_graph_gone(slot);
		gw_live_full("no room for the kernels of all graphs");
	}
	errno = saved;
}

void gw_live_graph_changed(uint32_t slot, uint32_t node)
{
	struct gw_live_head *h = gw_live_mapped();
	int saved = errno;
	uint32_t at;

	if (!has_place(h, slot))
		return;
	at = (uint32_t)*graph_at(h, slot);
	for (uint32_t i = 0; at && i < node / PER_CHUNK; i++)
		at = chunk_at(h, at)->next;
	if (at)
		chunk_at(h, at)->node[node % PER_CHUNK] =
			node_of(&gw_hot.shared->graph_slots[slot].nodes[node]);
	errno = saved;
}

void gw_live_graph_gone(uint32_t slot)
{
	struct gw_live_head *h = gw_live_mapped();

	/* A place that was never written has no page, which may not be had now. */
	if (h && atomic_load(&ready[slot * sizeof(gw_live_graph) / PAGE]))
		put(h, slot, 0, 0);
}

void gw_live_graphs_abandon(void)
{
	memset(&chunks, 0, sizeof(chunks));
	memset(ready, 0, sizeof(ready));
	times = (struct gw_idmap){.use = GW_MEMORY_graphs};
	times_ready = times_full = false;
}

/* ---- graphs that are timed whole ---- */

/* The entry of @p graph, made where there is room; NULL: there is none. */
static struct gw_live_graph_time *time_of(uint32_t graph, bool make)
{
	const uint64_t key = gw_idmap_key(graph, 17);
	struct gw_live_head *h = gw_live_mapped();
	uint32_t at;

	if (!h)
		return NULL;
	if (!times_ready)
		times_ready = gw_live_reserve(h, h->graph_times.offset,
					      (uint64_t)h->graph_times.size * h->graph_times.count);
	if (!times_ready)
		return NULL;
	at = gw_idmap_get(&times, key);
	if (!at && make && times.used < h->graph_times.count) {
		at = times.used + 1;
		if (!gw_idmap_put(&times, key, at))
			return NULL;
	}
	if (at)
		return (struct gw_live_graph_time *)(void *)((char *)h + h->graph_times.offset) +
		       at - 1;
	if (make && !times_full)
		gw_live_table_full("graphs", h->graph_times.count);
	times_full |= make;
	return NULL;
}

/* Paired with the reader's look before and after (cli/live/tables.c). */
static void time_begin(struct gw_live_graph_time *t)
{
	__atomic_store_n(&t->sequence, t->sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void time_end(struct gw_live_graph_time *t)
{
	__atomic_store_n(&t->sequence, t->sequence + 1, __ATOMIC_RELEASE);
}

void gw_live_graph_launched(const struct gw_graph_run *run)
{
	struct gw_live_graph_time *t = time_of(run->graph, true);

	if (!t)
		return;
	time_begin(t);
	t->graph = run->graph;
	t->kernels = run->kernels;
	t->known_kernels = run->known;
	t->device = (uint32_t)(run->device + 1);
	t->launches++;
	t->expected_ns += (uint64_t)(run->expected_ns + 0.5);
	time_end(t);
}

void gw_live_graph_timed(uint32_t graph, uint64_t ns, double predicted_ns)
{
	struct gw_live_graph_time *t = time_of(graph, false);

	if (!t)
		return;
	time_begin(t);
	t->timed++;
	t->total_ns += ns;
	t->squares += (double)ns * (double)ns;
	if (predicted_ns > 0) {
		t->scored++;
		t->scored_ns += ns;
		t->predicted_ns += (uint64_t)(predicted_ns + 0.5);
	}
	time_end(t);
}
