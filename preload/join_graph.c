/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/join_graph.h"

#include "preload/idmap.h"
#include "preload/join_list.h"

#include <stdlib.h>
#include <string.h>

enum {
	GRAPHS_MAX = 1 << 20, /* ever waited for */
	BUCKETS = 4096,       /* of launches that were told their correlation id */
};

/* A graph launch, as long as kernels of it wait. */
struct flight {
	struct flight *before, *after; /* of the same graph, in order of call */
	struct flight *alike;          /* the next of its bucket */
	struct gw_waiting_list kernels;
	uint64_t overtaken_ns; /* when a later one met a record; 0 = never */
	uint64_t configs;      /* hash of the kernels' configurations */
	uint32_t graph;        /* position in `graphs` */
	uint32_t number, correlation;
	bool told; /* a record has told `correlation`; where not, all its kernels wait */
};

struct graph {
	struct flight *first, *last;
	struct flight *untold; /* the first that was told nothing */
};

static const struct gw_join_sink *sink;
static struct graph *graphs;
static uint32_t graph_count, graph_room;
static struct gw_idmap graph_map; /* key -> position in `graphs` + 1 */
static struct flight *buckets[BUCKETS];

void gw_join_graph_start(const struct gw_join_sink *s)
{
	sink = s;
	graphs = NULL;
	graph_count = graph_room = 0;
	memset(&graph_map, 0, sizeof(graph_map));
	memset((void *)buckets, 0, sizeof(buckets));
}

/* Position of a graph in `graphs` + 1; 0 when it is not known, or there is no memory. */
static uint32_t graph_at(uint64_t key, bool make)
{
	uint64_t k = gw_idmap_key(key, 1);
	uint32_t at = gw_idmap_get(&graph_map, k);

	if (at || !make || graph_count >= GRAPHS_MAX)
		return at;
	if (graph_count == graph_room) {
		uint32_t room = graph_room ? graph_room * 2 : 64;
		struct graph *wider = realloc(graphs, room * sizeof(*wider));

		if (!wider)
			return 0;
		graphs = wider;
		graph_room = room;
	}
	if (!gw_idmap_put(&graph_map, k, graph_count + 1))
		return 0;
	graphs[graph_count] = (struct graph){0};
	return ++graph_count;
}

static struct flight *flight_make(uint32_t graph, uint32_t number)
{
	struct graph *g = &graphs[graph];
	struct flight *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->kernels.end = &f->kernels.head;
	f->graph = graph;
	f->number = number;
	f->before = g->last;
	*(g->last ? &g->last->after : &g->first) = f;
	g->last = f;
	if (!g->untold)
		g->untold = f;
	return f;
}

static struct flight **bucket(uint32_t graph, uint32_t correlation)
{
	return &buckets[gw_idmap_key(graph, correlation) % BUCKETS];
}

static void skip_told(struct graph *g)
{
	while (g->untold && g->untold->told)
		g->untold = g->untold->after;
}

/* The first record to come tells a launch the id that all its kernels share. */
static void tell(struct flight *f, uint32_t correlation)
{
	struct flight **at = bucket(f->graph, correlation);

	while (*at)
		at = &(*at)->alike;
	*at = f;
	f->correlation = correlation;
	f->told = true;
	skip_told(&graphs[f->graph]);
}

/* None of its kernels waits any more. */
static void flight_over(struct flight *f)
{
	struct graph *g = &graphs[f->graph];

	*(f->before ? &f->before->after : &g->first) = f->after;
	*(f->after ? &f->after->before : &g->last) = f->before;
	if (f->told) {
		struct flight **at = bucket(f->graph, f->correlation);

		while (*at != f)
			at = &(*at)->alike;
		*at = f->alike;
	} else if (g->untold == f) {
		g->untold = f->after;
		skip_told(g);
	}
	free(f);
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

void gw_join_graph_wait(uint64_t key, uint32_t number, const struct gw_record_launch *record)
{
	uint32_t graph = graph_at(key, true);
	struct flight *f;

	if (graph && graphs[graph - 1].first && gw_waiting_full())
		give_up(graphs[graph - 1].first);
	f = graph ? graphs[graph - 1].last : NULL;
	if (graph && (!f || f->number != number))
		f = flight_make(graph - 1, number);
	if (!f || !gw_waiting_add(&f->kernels, number, record)) {
		struct gw_record_launch lost = *record;

		if (f && !f->kernels.head)
			flight_over(f);
		sink->unmatched(&lost);
		return;
	}
	f->configs = gw_idmap_key(f->configs, record->config);
}

static struct gw_waiting **fitting(struct flight *f, const struct gw_activity *a)
{
	struct gw_waiting **at = &f->kernels.head;

	while (*at && !gw_join_fits(&(*at)->record, a))
		at = &(*at)->next;
	return *at ? at : NULL;
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
 * A launch that was told the id, else the first that was told none. The second look is needed for
 * known ids too: launches through cuGraphLaunch_ptsz were seen to share one. A kernel that no node
 * of ours fits (the body of a conditional node) opens nothing.
 */
bool gw_join_graph_match(const struct gw_activity *a, uint64_t now)
{
	uint32_t graph = graph_at(a->graph, false);
	struct gw_waiting **at;
	uint64_t passed = 0; /* launches of the same kernels as one that does not fit */

	if (!graph--)
		return false;
	for (struct flight *f = *bucket(graph, a->correlation); f; f = f->alike) {
		if (f->graph != graph || f->correlation != a->correlation)
			continue;
		at = fitting(f, a);
		if (at)
			return meet(f, at, a, now);
	}
	for (struct flight *f = graphs[graph].untold; f; f = f->after) {
		if (f->told || f->configs == passed)
			continue;
		passed = f->configs;
		at = fitting(f, a);
		if (at) {
			tell(f, a->correlation);
			return meet(f, at, a, now);
		}
	}
	return false;
}

void gw_join_graph_weed(uint64_t now, bool last)
{
	for (uint32_t i = 0; i < graph_count; i++) {
		struct graph *g = &graphs[i];

		while (g->first && (last || (g->first->overtaken_ns &&
		                             g->first->overtaken_ns + GW_JOIN_GIVE_UP_NS < now)))
			give_up(g->first);
	}
}
