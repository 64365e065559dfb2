#include "preload/join/join_graph.h"

#include "preload/maps/idmap.h"
#include "preload/join/join_list.h"
#include "preload/maps/pool.h"

#include <string.h>

enum { BUCKETS = 4096 }; /* of launches whose correlation id is known */

/* A graph launch, as long as kernels of it wait. */
struct flight {
	struct flight *before, *after; /* of the same graph, in order of call */
	struct flight *alike;          /* the next of its bucket */
	struct gw_waiting_list kernels;
	uint64_t overtaken_ns; /* when a later one was matched; 0 = never */
	uint64_t configs;      /* hash of the kernels' configurations */
	uint32_t graph;        /* number in `graphs` */
	uint32_t number, correlation;
	bool identified; /* `correlation` is known from a record; if not, all its kernels wait */
};

/* A graph, as long as a launch of it is kept. */
struct graph {
	struct flight *first, *last;
	struct flight *unidentified; /* the first whose correlation id is unknown */
	uint64_t key;
	uint32_t before, after; /* of all graphs */
};

static const struct gw_join_sink *sink;
static struct gw_pool graphs;
static struct gw_idmap graph_map = {.use = GW_MEMORY_graphs}; /* key -> number in `graphs` */
static uint32_t first_graph;
static struct flight *buckets[BUCKETS];

void gw_join_graph_start(const struct gw_join_sink *s)
{
	sink = s;
	gw_pool_start(&graphs, sizeof(struct graph), GW_MEMORY_graphs);
	graph_map = (struct gw_idmap){.use = GW_MEMORY_graphs};
	first_graph = 0;
	memset((void *)buckets, 0, sizeof(buckets));
}

static struct graph *graph_at(uint32_t number)
{
	return gw_pool_at(&graphs, number);
}

static uint32_t graph_known(uint64_t key)
{
	return gw_idmap_get(&graph_map, gw_idmap_key(key, 1));
}

/* Number of a graph, made where it is not known; 0 when there is no room. */
static uint32_t graph_made(uint64_t key)
{
	uint32_t number = graph_known(key);

	if (number)
		return number;
	number = gw_pool_take(&graphs);
	if (number && !gw_idmap_put(&graph_map, gw_idmap_key(key, 1), number)) {
		gw_pool_give(&graphs, number);
		return 0;
	}
	if (!number)
		return 0;
	graph_at(number)->key = gw_idmap_key(key, 1);
	graph_at(number)->after = first_graph;
	if (first_graph)
		graph_at(first_graph)->before = number;
	first_graph = number;
	return number;
}

/* No launch of it is kept any more. */
static void graph_forget(uint32_t number)
{
	struct graph *g = graph_at(number);

	gw_idmap_remove(&graph_map, g->key);
	*(g->before ? &graph_at(g->before)->after : &first_graph) = g->after;
	if (g->after)
		graph_at(g->after)->before = g->before;
	gw_pool_give(&graphs, number);
}

static struct flight *flight_make(uint32_t graph, uint32_t number)
{
	struct graph *g = graph_at(graph);
	struct flight *f = gw_memory_new(GW_MEMORY_graphs, 1, sizeof(*f));

	if (!f) {
		if (!g->first)
			graph_forget(graph);
		return NULL;
	}
	f->kernels.end = &f->kernels.head;
	f->graph = graph;
	f->number = number;
	f->before = g->last;
	*(g->last ? &g->last->after : &g->first) = f;
	g->last = f;
	if (!g->unidentified)
		g->unidentified = f;
	return f;
}

static struct flight **bucket(uint32_t graph, uint32_t correlation)
{
	return &buckets[gw_idmap_key(graph, correlation) % BUCKETS];
}

static void skip_identified(struct graph *g)
{
	while (g->unidentified && g->unidentified->identified)
		g->unidentified = g->unidentified->after;
}

/* The first record of a launch gives the correlation id that all its kernels share. */
static void identify(struct flight *f, uint32_t correlation)
{
	struct flight **at = bucket(f->graph, correlation);

	while (*at)
		at = &(*at)->alike;
	*at = f;
	f->correlation = correlation;
	f->identified = true;
	skip_identified(graph_at(f->graph));
}

/* None of its kernels waits any more. */
static void flight_over(struct flight *f)
{
	struct graph *g = graph_at(f->graph);

	*(f->before ? &f->before->after : &g->first) = f->after;
	*(f->after ? &f->after->before : &g->last) = f->before;
	if (f->identified) {
		struct flight **at = bucket(f->graph, f->correlation);

		while (*at != f)
			at = &(*at)->alike;
		*at = f->alike;
	} else if (g->unidentified == f) {
		g->unidentified = f->after;
		skip_identified(g);
	}
	if (!g->first)
		graph_forget(f->graph);
	gw_memory_free(GW_MEMORY_graphs, f, 1, sizeof(*f));
}

/* Give up the first kernel of a launch, which may end it. */
static void give_up(struct flight *f)
{
	struct gw_record_launch record = gw_waiting_take(&f->kernels, &f->kernels.head);

	f->configs = gw_idmap_key(f->configs, f->number);
	if (!f->kernels.head)
		flight_over(f);
	sink->unmatched(&record);
}

/* Where the last launch of a graph is given up, the graph goes with it. */
static void make_room(uint64_t key)
{
	uint32_t graph = graph_known(key);

	if (graph && gw_waiting_full())
		give_up(graph_at(graph)->first);
}

void gw_join_graph_wait(uint64_t key, uint32_t number, const struct gw_record_launch *record)
{
	struct flight *f = NULL;
	uint32_t graph;

	make_room(key);
	graph = graph_made(key);
	if (graph)
		f = graph_at(graph)->last;
	if (graph && (!f || f->number != number))
		f = flight_make(graph, number);
	if (!f || !gw_waiting_add(&f->kernels, number, record)) {
		struct gw_record_launch lost = *record;

		if (f && !f->kernels.head)
			flight_over(f);
		sink->unmatched(&lost);
		return;
	}
	f->configs = gw_idmap_key(f->configs, record->config);
}

/* Those before one that was overtaken have been so too. */
static void overtake(struct flight *f, uint64_t now)
{
	while (f && !f->overtaken_ns) {
		f->overtaken_ns = now;
		f = f->before;
	}
}

/* The kernels of one graph launch overtake each other as they please. */
static bool meet(struct flight *f, struct gw_waiting **at, const struct gw_activity *a,
		 uint64_t now)
{
	struct gw_record_launch record = gw_waiting_take(&f->kernels, at);

	overtake(f->before, now);
	if (!f->kernels.head)
		flight_over(f);
	sink->joined(&record, a, 0);
	return true;
}

/*
 * A launch with this correlation id, else the first whose id is unknown. The second look is needed
 * for known ids too: launches through cuGraphLaunch_ptsz were seen to share one. A kernel that no
 * node of ours fits (the body of a conditional node) opens nothing.
 */
bool gw_join_graph_match(const struct gw_activity *a, uint64_t now)
{
	uint32_t graph = graph_known(a->graph);
	struct gw_waiting **at;
	uint64_t passed = 0; /* launches of the same kernels as one that does not fit */

	if (!graph)
		return false;
	for (struct flight *f = *bucket(graph, a->correlation); f; f = f->alike) {
		if (f->graph != graph || f->correlation != a->correlation)
			continue;
		at = gw_waiting_fitting(&f->kernels.head, UINT32_MAX, a);
		if (at)
			return meet(f, at, a, now);
	}
	for (struct flight *f = graph_at(graph)->unidentified; f; f = f->after) {
		if (f->identified || f->configs == passed)
			continue;
		passed = f->configs;
		at = gw_waiting_fitting(&f->kernels.head, UINT32_MAX, a);
		if (at) {
			identify(f, a->correlation);
			return meet(f, at, a, now);
		}
	}
	return false;
}

void gw_join_graph_expire(uint64_t now, bool last)
{
	for (uint32_t number = first_graph, after; number; number = after) {
		struct flight *f = graph_at(number)->first, *next;

		after = graph_at(number)->after;
		for (;
		     f && (last || (f->overtaken_ns && f->overtaken_ns + GW_JOIN_GIVE_UP_NS < now));
		     f = next) {
			bool more = f->kernels.head->next != NULL;

			next = more ? f : f->after;
			give_up(f);
		}
	}
}
