#include "cli/live/launches.h"

#include "cli/common/memory.h"
#include "cli/live/tables.h"

#include <stdlib.h>
#include <string.h>

enum {
	SLOT = 64,
	KERNEL = 0,
	MULTI = 3,
	GRAPH = 1,
	DONE = 1 << 4,
	NODES_MAX = 3 * GW_LIVE_CHUNKS, /* of a graph */
	LAUNCHES_MAX = 1 << 22, /* where no more graphs are counted out: hostile, or no matter */
	WALKED_MAX = 1 << 24,   /* chunks of graphs, likewise */
};

/* Of the launch that was being taken out of a ring. */
struct taking {
	bool whole;           /* it is in a sum, all of it */
	bool partly;          /* some of it is in the log's file: */
	unsigned char *nodes; /* of a graph, a bit for each of these; NULL: none */
};

static uint32_t word(const struct gw_live_file *f, uint64_t at)
{
	uint32_t value;

	memcpy(&value, f->data + at, sizeof(value));
	return value;
}

static bool in_file(const struct gw_live_left *r, uint32_t block)
{
	return block < r->first_block ||
	       (block / 8 < r->block_bytes && r->blocks[block / 8] >> block % 8 & 1);
}

static void keep(struct gw_live_left *r, const struct gw_live_launch *launch)
{
	r->launch = gw_grow(r->launch, &r->room, r->count + 1, sizeof(*r->launch));
	r->launch[r->count++] = *launch;
}

static bool words_usable(const struct gw_live_left *r, const struct gw_live_ring *g)
{
	const struct gw_live_file *f = r->file;

	return gw_live_within(f, g->head, 4) && gw_live_within(f, g->next, 4) &&
	       gw_live_within(f, g->tail, 8) && gw_live_within(f, g->tid, 4);
}

static bool usable(const struct gw_live_left *r, const struct gw_live_ring *g)
{
	return g->used == 1 && (g->mask & (g->mask + 1)) == 0 && words_usable(r, g) &&
	       g->slots % 8 == 0 &&
	       gw_live_within(r->file, g->slots, ((uint64_t)g->mask + 1) * SLOT);
}

/* Its slots were the process's own. */
static bool elsewhere(const struct gw_live_left *r, const struct gw_live_ring *g)
{
	return g->used == 2 && words_usable(r, g);
}

static bool counts(const struct gw_live_left *r, const struct gw_live_ring *g)
{
	return usable(r, g) || elsewhere(r, g);
}

static const struct gw_live_entry *entries(const struct gw_live_left *r)
{
	return (const struct gw_live_entry *)(void *)(r->file->data +
						      r->file->head->entries.offset);
}

/* False: the place is free. Elements of the version before end earlier. */
static bool sum_at(const struct gw_live_left *r, uint32_t at, struct gw_live_sum *out)
{
	const struct gw_live_section *s = &r->file->head->sums;
	const uint64_t from = s->offset + (uint64_t)at * s->size;

	if (at >= s->count || !word(r->file, from + offsetof(struct gw_live_sum, launches)))
		return false;
	*out = (struct gw_live_sum){0};
	memcpy(out, r->file->data + from, s->size < sizeof(*out) ? s->size : sizeof(*out));
	return true;
}

bool gw_live_settled(const struct gw_live_left *r, uint32_t at)
{
	const struct gw_live_entry *e = &entries(r)[at];
	const struct gw_live_head *h = r->file->head;
	struct gw_live_sum sum;

	if (e->block == GW_LIVE_IN_SUM || in_file(r, e->block))
		return true;
	return h->adding.entry == at + 1 && sum_at(r, h->adding.sum, &sum) &&
	       sum.launches == h->adding.launches;
}

bool gw_live_sum_left(const struct gw_live_left *r, uint32_t at, struct gw_live_sum *out)
{
	struct gw_live_sum counter;
	uint64_t launches;

	if (!sum_at(r, at, out) || in_file(r, out->block))
		return false;
	if (!out->counter)
		return true;
	if (out->counter == at + 1 || !sum_at(r, out->counter - 1, &counter))
		return false;
	launches = (uint64_t)out->launches * counter.launches;
	out->launches = launches < UINT32_MAX ? (uint32_t)launches : UINT32_MAX;
	return launches != 0;
}

/* The graph of an event whose nodes are known; NULL: it is no such event. */
static const gw_live_graph *graph_of(const struct gw_live_file *f, const struct gw_live_event *e)
{
	const gw_live_graph *all = (const void *)(f->data + f->head->graphs.offset);

	if ((e->kind & 7) != GRAPH || !e->kernel || e->kernel >= GW_LIVE_GRAPHS ||
	    !(all[e->kernel] >> 32 & GW_LIVE_GRAPH_KNOWN))
		return NULL;
	return &all[e->kernel];
}

static const struct gw_live_event *slot_at(const struct gw_live_file *f,
					   const struct gw_live_ring *g, uint32_t at)
{
	return (const void *)(f->data + g->slots + (uint64_t)(at & g->mask) * SLOT);
}

static void note_in_file(struct taking *t, uint32_t node)
{
	t->partly = true;
	t->whole |= !node;
	if (!node || node > NODES_MAX)
		return;
	if (!t->nodes) {
		t->nodes = gw_alloc(NODES_MAX / 8 + 1);
		memset(t->nodes, 0, NODES_MAX / 8 + 1);
	}
	t->nodes[node / 8] |= (unsigned char)(1u << node % 8);
}

/* One that is matched to its launch, whose entry says so, stands for nothing any more. */
static void take_lone(struct gw_live_left *r, const struct gw_live_entry *e)
{
	const uint32_t met = e->position;

	if (!in_file(r, e->block) ||
	    (met && (met > r->file->head->entries_used || in_file(r, entries(r)[met - 1].block))))
		return;
	r->lone = gw_grow(r->lone, &r->lone_room, r->lone_count + 1, sizeof(*r->lone));
	r->lone[r->lone_count++] = (struct gw_live_lone){e->event.ticks, e->id, e->node != 0};
}

/*
 * Entries, but for those whose record is in the file, and those of the launch that was being taken:
 * that counts as its ring has it, unless part of it is in the file already. The ring knows which
 * part that is where it has the graph's nodes.
 */
static void take_entries(struct gw_live_left *r, struct taking taking[GW_LIVE_RINGS])
{
	const struct gw_live_file *f = r->file;

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < f->head->entries_used; i++) {
			const struct gw_live_entry *e = &entries(r)[i];
			const struct gw_live_ring *g =
				&f->head->ring[(e->ring - 1) % GW_LIVE_RINGS];
			struct taking *t = &taking[(e->ring - 1) % GW_LIVE_RINGS];
			bool taken;

			if (!pass && e->ring == GW_LIVE_LONE)
				take_lone(r, e);
			if (!e->ring || e->ring > GW_LIVE_RINGS || !counts(r, g))
				continue;
			taken = (int32_t)(word(f, g->tail) - e->position) > 0;
			if (!pass && !taken && gw_live_settled(r, i))
				note_in_file(t, e->node);
			if (pass && !gw_live_settled(r, i) &&
			    (taken || (t->partly &&
				       (g->used == 2 || !graph_of(f, slot_at(f, g, e->position))))))
				keep(r, &(struct gw_live_launch){.call_ns = e->call_ns,
								 .ticks = e->event.ticks,
								 .tid = e->tid,
								 .stream = e->id,
								 .node = e->node != 0,
								 .event = e->event});
		}
}

/*
 * Launches that are nowhere else, and what threads counted. `taken` lies beside the tail, and is
 * read with it: a launch that was being taken is in the ring, unless part of it is in the log.
 */
static void take_lost(struct gw_live_left *r, const struct taking taking[GW_LIVE_RINGS])
{
	enum { LAUNCHES, GRAPHS = 2, DROPPED = 5 };
	const struct gw_live_head *h = r->file->head;
	const struct gw_live_ring *latest;
	uint32_t known = 0;

	for (unsigned i = 0; i < GW_LIVE_RINGS; i++) {
		const struct gw_live_ring *g = &h->ring[i];
		uint64_t c[sizeof(r->counted) / sizeof(*r->counted)];
		uint32_t left;

		known += g->used != 0;
		if (!counts(r, g) || !h->counted[i] ||
		    !gw_live_within(r->file, h->counted[i], sizeof(c)))
			continue;
		memcpy(c, r->file->data + h->counted[i], sizeof(c));
		for (unsigned n = 0; n < sizeof(c) / sizeof(*c); n++)
			r->counted[n] += c[n];
		left = (uint32_t)(c[LAUNCHES] + c[GRAPHS] - c[DROPPED] -
				  word(r->file, g->tail + 4));
		left -= left && taking[i].partly;
		/* One may be counted whose slot is not committed yet. */
		if (g->used == 2 && left <= (uint64_t)g->mask + 2)
			r->lost += left;
	}
	r->unlisted = h->rings > known ? h->rings - known : 0;
	for (unsigned i = 0; i < GW_LIVE_BULKS; i++)
		if (!i || !in_file(r, h->bulk[i].block))
			r->lost += h->bulk[i].launches;
	/* The latest is among them and in its ring until it is taken. */
	latest = &h->ring[((h->bulk[0].block >> 24) - 1) % GW_LIVE_RINGS];
	if (h->bulk[0].launches && words_usable(r, latest))
		r->lost -= !((word(r->file, latest->tail) ^ h->bulk[0].block) & 0xffffff);
}

/* The header may be damaged: a span that no integer holds ends at the last one that does. */
static uint64_t time_of(const struct gw_live_head *h, uint64_t ticks)
{
	double khz = h->tick_khz ? h->tick_khz : 1e6;
	double ns = (double)(int64_t)(ticks - h->start_ticks) * 1e6 / khz;
	int64_t span = ns >= 0x1p63 ? INT64_MAX : ns < -0x1p63 ? INT64_MIN : (int64_t)ns;

	return h->start_ns + (uint64_t)span;
}

/* A node as if its kernel had been launched by itself. */
static struct gw_live_event launch_of(const struct gw_live_node *n)
{
	return (struct gw_live_event){
		.flags = n->cooperative ? 1 : 0,
		.block_z = n->block[2],
		.kernel = n->kernel,
		.grid = {n->grid[0], n->grid[1], n->grid[2]},
		.block_x = n->block[0],
		.block_y = n->block[1],
		.cluster = n->cluster,
		.shared = n->shared,
		.digest = n->digest,
	};
}

/* The kernels of a graph launch, but for those of @p done. */
static void take_graph(struct gw_live_left *r, gw_live_graph graph,
		       const struct gw_live_launch *whole, const unsigned char *done)
{
	const struct gw_live_head *h = r->file->head;
	const struct gw_live_chunk *chunks = (const void *)(r->file->data + h->chunks.offset);
	uint32_t at = (uint32_t)graph, number = 0;

	r->graphs += graph >> 32 & GW_LIVE_GRAPH_MORE && !whole->open ? 1 : 0;
	for (uint64_t n = 0; at && at < h->chunks.count && n < h->chunks.count; n++) {
		const struct gw_live_chunk *c = &chunks[at];

		r->walked++;
		for (uint32_t i = 0; i < c->count && i < 3; i++) {
			struct gw_live_launch l = *whole;

			l.node = true;
			l.event = launch_of(&c->node[i]);
			number++;
			if (c->node[i].enabled &&
			    !(done && number <= NODES_MAX && done[number / 8] >> number % 8 & 1))
				keep(r, &l);
		}
		at = c->next;
	}
}

/* @p taking: the first of them was being taken. */
static void take_ring(struct gw_live_left *r, const struct gw_live_ring *g,
		      const struct taking *taking)
{
	const struct gw_live_file *f = r->file;
	uint32_t head = word(f, g->head), next = word(f, g->next), tail = word(f, g->tail);
	uint64_t ticks = slot_at(f, g, tail - 1)->ticks; /* the worker has taken that one */

	if (!ticks)
		ticks = f->head->start_ticks;
	if (head - tail > g->mask + 1 || next - tail > g->mask + 1)
		return; /* damaged */
	for (uint32_t at = tail; (int32_t)(next - at) > 0; at++) {
		const struct gw_live_event *e = slot_at(f, g, at);
		struct gw_live_launch l = {.tid = word(f, g->tid), .event = *e};
		const gw_live_graph *graph = graph_of(f, e);
		struct gw_live_stream stream;
		unsigned kind = e->kind & 7;

		/* In flight, but for inner launches that have ended. */
		l.open = (int32_t)(head - at) <= 0 && !(e->flags & DONE);
		/* Of one that has just begun the slot may hold what was there before. */
		if (l.open && (int64_t)(e->ticks - ticks) <= 0)
			continue;
		ticks = e->ticks ? e->ticks : ticks;
		l.ticks = ticks;
		l.stream = gw_live_stream_at(f, e->stream, &stream) ? stream.id : 0;
		l.call_ns = time_of(f->head, ticks);
		if (at == tail && taking->whole)
			continue;
		if (graph && r->count < LAUNCHES_MAX && r->walked < WALKED_MAX)
			take_graph(r, *graph, &l, at == tail ? taking->nodes : NULL);
		else if (at == tail && taking->partly)
			continue;
		else if (kind == KERNEL || kind == MULTI)
			keep(r, &l);
		else
			r->graphs += kind == GRAPH && !l.open;
	}
}

static int by_call(const void *x, const void *y)
{
	const struct gw_live_launch *a = x, *b = y;

	return a->call_ns < b->call_ns ? -1 : a->call_ns > b->call_ns;
}

static int by_ticks(const void *x, const void *y)
{
	const struct gw_live_launch *a = x, *b = y;

	return a->ticks < b->ticks ? -1 : a->ticks > b->ticks;
}

struct lone {
	uint64_t like, ticks;
	size_t next; /* of a range of those alike, the first: the next that may match */
};

static int by_like(const void *x, const void *y)
{
	const struct lone *a = x, *b = y;

	if (a->like != b->like)
		return a->like < b->like ? -1 : 1;
	return a->ticks < b->ticks ? -1 : a->ticks > b->ticks;
}

/* The first of those that are alike; NULL: there is none. */
static struct lone *first_like(struct lone *all, size_t count, uint64_t like)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].like < like)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && all[low].like == like ? &all[low] : NULL;
}

/* Launches come in the order of their calls: a record whose kernel had started by then is of none.
 */
static bool met(struct lone *all, size_t count, const struct gw_live_launch *l, uint64_t like)
{
	struct lone *first = l->ticks ? first_like(all, count, like) : NULL;

	if (!first)
		return false;
	while (first + first->next < all + count && first[first->next].like == like)
		if (first[first->next++].ticks >= l->ticks)
			return true;
	return false;
}

void gw_live_drop_lone(struct gw_live_left *r, gw_live_like_launch_fn *of_launch,
		       gw_live_like_config_fn *of_config, void *arg)
{
	struct lone *all = gw_alloc((r->lone_count + 1) * sizeof(*all));
	size_t kept = 0;

	for (size_t i = 0; i < r->lone_count; i++)
		all[i] = (struct lone){of_config(arg, r->lone[i].config) + r->lone[i].node,
				       r->lone[i].ticks, 0};
	qsort(all, r->lone_count, sizeof(*all), by_like);
	if (r->count)
		qsort(r->launch, r->count, sizeof(*r->launch), by_ticks);
	for (size_t i = 0; i < r->count; i++) {
		const struct gw_live_launch *l = &r->launch[i];
		bool there =
			r->lone_count && met(all, r->lone_count, l, of_launch(arg, l) + l->node);

		if (!there && !l->open)
			r->launch[kept++] = *l;
	}
	r->count = kept;
	free(all);
	if (r->count)
		qsort(r->launch, r->count, sizeof(*r->launch), by_call);
}

void gw_live_take(struct gw_live_left *r)
{
	struct taking taking[GW_LIVE_RINGS] = {{0}};
	uint64_t slots = 0;

	take_entries(r, taking);
	take_lost(r, taking);
	for (unsigned i = 0; i < GW_LIVE_RINGS; i++) {
		const struct gw_live_ring *g = &r->file->head->ring[i];

		/* Rings lie beside each other: those that don't would count a launch many times. */
		if (usable(r, g) && (slots += (uint64_t)g->mask + 1) <= r->file->size / SLOT)
			take_ring(r, g, &taking[i]);
		free(taking[i].nodes);
	}
}
