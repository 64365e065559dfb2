/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/join.h"

#include "preload/clock.h"
#include "preload/idmap.h"
#include "preload/tables.h"

#include <stdlib.h>
#include <string.h>

enum {
	WAITING_MAX = 1 << 19, /* launches that may wait at a time; then the oldest give up */
	RECORDS_MAX = 1 << 20, /* records of one batch */
	WINDOW = 512,          /* how far a record looks past launches that lack theirs */
	PATIENCE = 4,          /* batches a record waits for its launch to be seen */
	CHUNK = 1024,
	QUEUES_MAX = 1 << 20, /* streams and graphs ever waited for */
};
static const uint64_t GIVE_UP_NS = 2000000000u; /* a launch others overtook waits no longer */

struct waiting {
	struct waiting *next;
	uint64_t overtaken_ns; /* when a later launch of its queue met its record; 0 = never */
	uint32_t number;
	uint32_t correlation; /* GRAPH: of its graph launch, once a record has told; else 0 */
	struct gw_record_launch record;
};

struct queue {
	struct waiting *head, **end;
};

/* A record of the batch, with its name kept. */
struct came {
	struct gw_activity a;
	int batches;
};

static struct gw_join_sink sink;
static uint64_t now_ns; /* of the batch */
static struct queue *queues;
static uint32_t queue_count, queue_room, waiting_count;
static struct gw_idmap queue_map;
static struct waiting *spare;
static struct came *batch;
static uint32_t batch_count, batch_room;
static struct gw_idmap names; /* name pointer of libcupti -> index of our copy */
static char **name_copies;
static uint32_t name_count;

void gw_join_start(const struct gw_join_sink *s)
{
	sink = *s;
	/* A forked child leaves the parent's lists where they are. */
	queues = NULL;
	spare = NULL;
	batch = NULL;
	name_copies = NULL;
	queue_count = queue_room = waiting_count = batch_count = batch_room = name_count = 0;
	memset(&queue_map, 0, sizeof(queue_map));
	memset(&names, 0, sizeof(names));
}

static struct queue *queue(enum gw_join_by by, uint64_t key, bool make)
{
	uint64_t k = gw_idmap_key(key, (uint64_t)by + 1);
	uint32_t at = gw_idmap_get(&queue_map, k);

	if (at || !make)
		return at ? &queues[at - 1] : NULL;
	if (queue_count >= QUEUES_MAX)
		return NULL;
	if (queue_count == queue_room) {
		uint32_t room = queue_room ? queue_room * 2 : 64;
		struct queue *wider = calloc(room, sizeof(*wider));

		if (!wider)
			return NULL;
		for (uint32_t i = 0; i < queue_count; i++) {
			wider[i] = queues[i];
			if (!wider[i].head)
				wider[i].end = &wider[i].head;
		}
		free(queues);
		queues = wider;
		queue_room = room;
	}
	queues[queue_count] = (struct queue){0};
	queues[queue_count].end = &queues[queue_count].head;
	gw_idmap_put(&queue_map, k, queue_count + 1);
	return &queues[queue_count++];
}

static struct waiting *take_spare(void)
{
	struct waiting *w = spare;

	if (!w) {
		w = calloc(CHUNK, sizeof(*w));
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

/* Unlink the entry that @p at points to. */
static void drop(struct queue *q, struct waiting **at)
{
	struct waiting *w = *at;

	*at = w->next;
	if (q->end == &w->next)
		q->end = at;
	w->next = spare;
	spare = w;
	waiting_count--;
}

static void give_up(struct queue *q, struct waiting **at)
{
	struct gw_record_launch record = (*at)->record;

	drop(q, at);
	sink.unmatched(&record);
}

void gw_join_wait(enum gw_join_by by, uint64_t key, uint32_t number,
                  const struct gw_record_launch *record)
{
	struct queue *q = queue(by, key, true);
	struct waiting *w;

	if (q && q->head && waiting_count >= WAITING_MAX)
		give_up(q, &q->head);
	w = q && waiting_count < WAITING_MAX ? take_spare() : NULL;
	if (!w) {
		struct gw_record_launch lost = *record;

		sink.unmatched(&lost);
		return;
	}
	w->next = NULL;
	w->number = number;
	w->overtaken_ns = 0;
	w->correlation = 0;
	w->record = *record;
	*q->end = w;
	q->end = &w->next;
	waiting_count++;
}

/* Our copy of a name of libcupti's, which lives only as long as its module. */
static const char *keep_name(const char *name)
{
	uint64_t key = gw_idmap_key((uintptr_t)name, 7);
	uint32_t at = gw_idmap_get(&names, key);
	char **wider;

	if (at && !strcmp(name_copies[at - 1], name))
		return name_copies[at - 1];
	wider = realloc((void *)name_copies, (name_count + 1) * sizeof(*wider));
	if (!wider)
		return NULL;
	name_copies = wider;
	name_copies[name_count] = strndup(name, GW_NAME_MAX);
	if (!name_copies[name_count])
		return NULL;
	gw_idmap_put(&names, key, ++name_count);
	return name_copies[name_count - 1];
}

void gw_join_record(const struct gw_activity *a)
{
	const char *name = keep_name(a->name ? a->name : "");

	if (batch_count == batch_room) {
		uint32_t room = batch_room ? batch_room * 2 : 4096;
		struct came *wider =
		        batch_room < RECORDS_MAX ? realloc(batch, room * sizeof(*wider)) : NULL;

		if (!wider) {
			gw_count(GW_COUNTER_activity_dropped, 1);
			return;
		}
		batch = wider;
		batch_room = room;
	}
	if (!name) {
		gw_count(GW_COUNTER_activity_dropped, 1);
		return;
	}
	batch[batch_count].a = *a;
	batch[batch_count].a.name = name;
	batch[batch_count++].batches = 0;
}

static int by_correlation(const void *x, const void *y)
{
	const struct gw_activity *a = &((const struct came *)x)->a;
	const struct gw_activity *b = &((const struct came *)y)->a;

	/* By difference: the ids of a batch lie close together, also where they wrap. */
	if (a->correlation != b->correlation)
		return (int32_t)(a->correlation - b->correlation) < 0 ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* Name and configuration agree. The cluster is left out: libcupti reports none as 0. */
static bool fits(const struct gw_record_launch *r, const struct gw_activity *a)
{
	const struct gw_config_entry *e = gw_config_entry(r->config);

	return r->config && e->config.grid.x == a->grid[0] && e->config.grid.y == a->grid[1] &&
	       e->config.grid.z == a->grid[2] && e->config.block.x == a->block[0] &&
	       e->config.block.y == a->block[1] && e->config.block.z == a->block[2] &&
	       e->config.dynamic_shared == a->dynamic_shared && !strcmp(e->name, a->name);
}

/* @p graph: the kernels of one graph launch overtake each other as they please. */
static bool meet(struct queue *q, struct waiting **at, const struct gw_activity *a, bool graph)
{
	struct gw_record_launch record = (*at)->record;
	uint32_t number = (*at)->number;

	for (struct waiting *w = q->head; w != *at; w = w->next)
		if (!w->overtaken_ns && !(graph && w->number == number))
			w->overtaken_ns = now_ns;
	drop(q, at);
	sink.joined(&record, a, 0);
	return true;
}

static bool match_stream(const struct gw_activity *a)
{
	struct queue *q = queue(GW_JOIN_STREAM, gw_join_stream_key(a->context, a->stream), false);
	struct waiting **at = q ? &q->head : NULL;

	for (int i = 0; at && *at && i < WINDOW; i++, at = &(*at)->next)
		if (fits(&(*at)->record, a))
			return meet(q, at, a, false);
	return false;
}

/* The kernels of one graph launch share a correlation id: the first to come tells it to all. */
static void correlate(struct queue *q, uint32_t number, uint32_t correlation)
{
	for (struct waiting *w = q->head; w && w->number <= number; w = w->next)
		if (w->number == number)
			w->correlation = correlation;
}

/*
 * A kernel of a graph launch whose correlation id is known, else of the first launch that
 * waits for one. The second look is needed for known ids too: launches through
 * cuGraphLaunch_ptsz were seen to share one. A kernel that no node of ours fits (the body of
 * a conditional node) opens nothing.
 */
static bool match_graph(const struct gw_activity *a)
{
	struct queue *q = queue(GW_JOIN_GRAPH, a->graph, false);
	struct waiting **at;

	if (!q)
		return false;
	for (at = &q->head; *at; at = &(*at)->next)
		if ((*at)->correlation == a->correlation && fits(&(*at)->record, a))
			return meet(q, at, a, true);
	for (at = &q->head; *at; at = &(*at)->next) {
		if (!(*at)->correlation && fits(&(*at)->record, a)) {
			correlate(q, (*at)->number, a->correlation);
			return meet(q, at, a, true);
		}
	}
	return false;
}

static bool match_correlation(const struct gw_activity *a)
{
	struct queue *q = queue(GW_JOIN_CORRELATION, 0, false);
	struct waiting **at = q ? &q->head : NULL;

	for (; at && *at; at = &(*at)->next)
		if ((*at)->number == a->correlation && fits(&(*at)->record, a))
			return meet(q, at, a, true);
	return false;
}

static bool match(const struct gw_activity *a)
{
	if (a->graph && match_graph(a))
		return true;
	return (!a->graph && match_stream(a)) || match_correlation(a);
}

/* Launches that others have overtaken for long, or all of them at the end. */
static void weed(bool last)
{
	for (uint32_t i = 0; i < queue_count; i++) {
		struct queue *q = &queues[i];

		/* The overtaken stand before the others: in a stream always, in a graph nearly. */
		for (struct waiting **at = &q->head; *at;) {
			if (last ||
			    ((*at)->overtaken_ns && (*at)->overtaken_ns + GIVE_UP_NS < now_ns))
				give_up(q, at);
			else if (!(*at)->overtaken_ns)
				break;
			else
				at = &(*at)->next;
		}
	}
}

void gw_join_batch(bool last)
{
	uint32_t kept = 0;

	now_ns = gw_now_ns();
	if (batch_count) /* before the first record there is no array */
		qsort(batch, batch_count, sizeof(*batch), by_correlation);
	for (uint32_t i = 0; i < batch_count; i++) {
		struct came *c = &batch[i];

		if (!c->a.device_launched && match(&c->a))
			continue;
		/* The hook's thread may not have left its event yet. */
		if (!c->a.device_launched && !last && ++c->batches < PATIENCE)
			batch[kept++] = *c;
		else
			sink.uncalled(&c->a);
	}
	batch_count = kept;
	weed(last);
}

void gw_join_ticket(uint32_t thread, uint32_t ticket, double seconds)
{
	struct queue *q = queue(GW_JOIN_TICKET, thread, false);

	for (struct waiting **at = q ? &q->head : NULL; at && *at; at = &(*at)->next) {
		if ((*at)->number == ticket) {
			struct gw_record_launch record = (*at)->record;

			drop(q, at);
			sink.joined(&record, NULL, seconds);
			return;
		}
		(*at)->overtaken_ns = gw_now_ns();
	}
}

uint32_t gw_join_waiting(void)
{
	return waiting_count;
}
