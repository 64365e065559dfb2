/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/join.h"

#include "preload/clock.h"
#include "preload/idmap.h"
#include "preload/join_graph.h"
#include "preload/join_list.h"
#include "preload/tables.h"

#include <stdlib.h>
#include <string.h>

enum {
	RECORDS_MAX = 1 << 20, /* records of one batch */
	ANCHORS = 32,          /* earlier meetings of a stream that are remembered */
	PATIENCE = 4,          /* batches a record waits for its launch to be seen */
	QUEUES_MAX = 1 << 20,  /* kernels and configurations in streams, ever waited for */
};

/* STREAM: launches of one kernel and configuration in one stream. */
struct queue {
	struct gw_waiting_list waiting;
	uint32_t stream; /* STREAM: position in `streams` + 1, else 0 */
};

/* A launch and its record, once they have met. */
struct anchor {
	uint32_t correlation, number;
};

/*
 * libcupti keeps buffers for each launching thread, so what one thread put into a stream may
 * come a buffer's length, thousands of records, before what another put there earlier.
 */
struct stream {
	uint32_t given, met; /* numbers: of the last launch, of the latest that met its record */
	uint32_t met_then;   /* `met` at the last weeding */
	struct anchor last;  /* of this batch */
	bool in_batch;       /* `last` holds */
	struct anchor anchors[ANCHORS];
	uint32_t anchored; /* how many have been put in the ring */
};

/* A record of the batch, with its name kept. */
struct came {
	struct gw_activity a;
	uint64_t name; /* hash of the name */
	int batches;
};

static struct gw_join_sink sink;
static uint64_t now_ns; /* of the batch */
static struct queue *queues;
static uint32_t queue_count, queue_room;
static struct gw_idmap queue_map;
static struct stream *streams;
static uint32_t stream_count;
static struct gw_idmap stream_map;   /* key of a stream -> position in `streams` + 1 */
static struct gw_idmap config_queue; /* stream and configuration -> position in `queues` + 1 */
static uint64_t weeded_ns;
static uint32_t crowded_pause; /* launches until it is asked again for records */
static struct came *batch;
static uint32_t batch_count, batch_room;
static struct gw_idmap names; /* name pointer of libcupti -> index of our copy */
static struct name {
	char *text;
	uint64_t hash;
} * name_copies;
static uint32_t name_count;

void gw_join_start(const struct gw_join_sink *s)
{
	sink = *s;
	gw_waiting_start();
	gw_join_graph_start(&sink);
	/* A forked child leaves the parent's lists where they are. */
	queues = NULL;
	batch = NULL;
	name_copies = NULL;
	streams = NULL;
	queue_count = queue_room = batch_count = batch_room = name_count = 0;
	stream_count = 0;
	weeded_ns = 0;
	crowded_pause = 0;
	memset(&queue_map, 0, sizeof(queue_map));
	memset(&stream_map, 0, sizeof(stream_map));
	memset(&config_queue, 0, sizeof(config_queue));
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
			if (!wider[i].waiting.head)
				wider[i].waiting.end = &wider[i].waiting.head;
		}
		free(queues);
		queues = wider;
		queue_room = room;
	}
	queues[queue_count] = (struct queue){0};
	queues[queue_count].waiting.end = &queues[queue_count].waiting.head;
	gw_idmap_put(&queue_map, k, queue_count + 1);
	return &queues[queue_count++];
}

static void give_up(struct queue *q, struct gw_waiting **at)
{
	struct gw_record_launch record = gw_waiting_take(&q->waiting, at);

	sink.unmatched(&record);
}

static uint64_t hash_of(const char *name)
{
	uint64_t h = 0;

	for (; *name; name++)
		h = gw_idmap_key(h, (unsigned char)*name);
	return h;
}

/* What a launch and its record both tell: kernel, grid, block, dynamic shared memory. */
static uint64_t signature(uint64_t name, const uint32_t grid[3], const uint32_t block[3],
                          uint32_t shared)
{
	uint64_t h = gw_idmap_key(name, (uint64_t)grid[0] << 32 | grid[1]);

	h = gw_idmap_key(h, (uint64_t)grid[2] << 32 | block[0]);
	h = gw_idmap_key(h, (uint64_t)block[1] << 32 | block[2]);
	return gw_idmap_key(h, shared);
}

static uint64_t signature_of(uint32_t config)
{
	const struct gw_config_entry *e = gw_config_entry(config);
	const struct gw_config *c = &e->config;
	const uint32_t grid[] = {c->grid.x, c->grid.y, c->grid.z};
	const uint32_t block[] = {c->block.x, c->block.y, c->block.z};

	return config ? signature(hash_of(e->name), grid, block, c->dynamic_shared) : 0;
}

/* Position of a stream in `streams` + 1; 0 when it is not known, or there is no memory. */
static uint32_t stream_at(uint64_t key, bool make)
{
	uint32_t at = gw_idmap_get(&stream_map, gw_idmap_key(key, 1));
	struct stream *wider;

	if (at || !make)
		return at;
	wider = realloc(streams, (stream_count + 1) * sizeof(*wider));
	if (!wider || !gw_idmap_put(&stream_map, gw_idmap_key(key, 1), stream_count + 1)) {
		streams = wider ? wider : streams;
		return 0;
	}
	streams = wider;
	streams[stream_count] = (struct stream){0};
	return ++stream_count;
}

/* Where launches of a configuration wait in a stream; @p number becomes the launch's. */
static struct queue *stream_queue(uint64_t key, uint32_t config, uint32_t *number)
{
	uint32_t stream = stream_at(key, true), at;
	uint64_t pair = gw_idmap_key((uint64_t)stream << 32 | config, 11);
	struct queue *q;

	if (!stream)
		return NULL;
	*number = ++streams[stream - 1].given;
	at = gw_idmap_get(&config_queue, pair);
	if (at)
		return &queues[at - 1];
	q = queue(GW_JOIN_STREAM, gw_idmap_key(signature_of(config), stream), true);
	if (q) {
		q->stream = stream;
		gw_idmap_put(&config_queue, pair, (uint32_t)(q - queues) + 1);
	}
	return q;
}

/*
 * Where the worker was kept from running, one look at the rings can bring more launches than may
 * wait, while records of most are there. Where it does not help, it is tried again now and then.
 */
static void make_room(void)
{
	enum { PAUSE = 4096 };

	if (crowded_pause && crowded_pause--)
		return;
	sink.crowded();
	crowded_pause = gw_waiting_full() ? PAUSE : 0;
}

void gw_join_wait(enum gw_join_by by, uint64_t key, uint32_t number,
                  const struct gw_record_launch *record)
{
	struct queue *q;

	if (gw_waiting_full())
		make_room();
	if (by == GW_JOIN_GRAPH) {
		gw_join_graph_wait(key, number, record);
		return;
	}
	q = by == GW_JOIN_STREAM ? stream_queue(key, record->config, &number)
	                         : queue(by, key, true);
	if (q && q->waiting.head && gw_waiting_full())
		give_up(q, &q->waiting.head);
	if (!q || !gw_waiting_add(&q->waiting, number, record)) {
		struct gw_record_launch lost = *record;

		sink.unmatched(&lost);
	}
}

/* Our copy of a name of libcupti's, which lives only as long as its module; 0 = no memory. */
static uint32_t keep_name(const char *name)
{
	uint64_t key = gw_idmap_key((uintptr_t)name, 7);
	uint32_t at = gw_idmap_get(&names, key);
	struct name *wider;

	if (at && !strcmp(name_copies[at - 1].text, name))
		return at;
	wider = realloc(name_copies, (name_count + 1) * sizeof(*wider));
	if (!wider)
		return 0;
	name_copies = wider;
	wider[name_count].text = strndup(name, GW_NAME_MAX);
	if (!wider[name_count].text)
		return 0;
	wider[name_count].hash = hash_of(wider[name_count].text);
	gw_idmap_put(&names, key, ++name_count);
	return name_count;
}

void gw_join_record(const struct gw_activity *a)
{
	uint32_t name = keep_name(a->name ? a->name : "");

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
	batch[batch_count].a.name = name_copies[name - 1].text;
	batch[batch_count].name = name_copies[name - 1].hash;
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

/* A launch of a stream, or one that knows its correlation id, has met its record. */
static bool meet(struct queue *q, struct gw_waiting **at, const struct gw_activity *a)
{
	struct gw_record_launch record = gw_waiting_take(&q->waiting, at);

	sink.joined(&record, a, 0);
	return true;
}

static bool before(uint32_t x, uint32_t y)
{
	return (int32_t)(x - y) < 0;
}

/*
 * The latest launch known to have been called before the one of @p correlation: correlation ids
 * rise with the calls of all threads. 0 when none is.
 */
static uint32_t called_before(const struct stream *s, uint32_t correlation)
{
	uint32_t n = s->anchored < ANCHORS ? s->anchored : ANCHORS;
	uint32_t latest = s->in_batch ? s->last.number : 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct anchor *a = &s->anchors[i];

		if (before(a->correlation, correlation) && (!latest || before(latest, a->number)))
			latest = a->number;
	}
	return latest;
}

/*
 * The first launch of the record's kernel and configuration that was called after what is known
 * to have been called before it; where there is none, the first at all.
 */
static bool match_stream(const struct came *c, uint32_t stream)
{
	const struct gw_activity *a = &c->a;
	struct stream *s = stream ? &streams[stream - 1] : NULL;
	struct queue *q =
	        s ? queue(GW_JOIN_STREAM,
	                  gw_idmap_key(signature(c->name, a->grid, a->block, a->dynamic_shared),
	                               stream),
	                  false)
	          : NULL;
	uint32_t after = q ? called_before(s, a->correlation) : 0;
	struct gw_waiting **first = NULL, **at = q ? &q->waiting.head : NULL;

	for (; at && *at; at = &(*at)->next) {
		if (!gw_join_fits(&(*at)->record, a))
			continue;
		if (!first)
			first = at;
		if (before(after, (*at)->number) || !after)
			break;
	}
	if (!first)
		return false;
	at = *at ? at : first;
	s->last = (struct anchor){a->correlation, (*at)->number};
	s->in_batch = true;
	if (before(s->met, s->last.number))
		s->met = s->last.number;
	return meet(q, at, a);
}

static bool match_correlation(const struct gw_activity *a)
{
	struct queue *q =
	        queue(GW_JOIN_CORRELATION, gw_join_correlation_key(a->correlation), false);
	struct gw_waiting **at = q ? &q->waiting.head : NULL;

	for (; at && *at; at = &(*at)->next)
		if ((*at)->number == a->correlation && gw_join_fits(&(*at)->record, a))
			return meet(q, at, a);
	return false;
}

static bool match(const struct came *c)
{
	uint32_t stream = stream_at(gw_join_stream_key(c->a.context, c->a.stream), false);

	if (c->a.graph && gw_join_graph_match(&c->a, now_ns))
		return true;
	if (!c->a.graph && stream)
		return match_stream(c, stream) || match_correlation(&c->a);
	/* In a stream that nothing was launched into: one of a launch on several devices. */
	return match_correlation(&c->a) ||
	       (!c->a.graph && match_stream(c, stream_at(gw_join_multi_key(c->a.device), false)));
}

/* Launches timed by events that later ones have overtaken for long; the first are the oldest. */
static void weed_tickets(struct queue *q)
{
	while (q->waiting.head && q->waiting.head->overtaken_ns &&
	       q->waiting.head->overtaken_ns + GW_JOIN_GIVE_UP_NS < now_ns)
		give_up(q, &q->waiting.head);
}

/* Launches of a stream that had been overtaken when streams were weeded the last time. */
static void weed_stream(struct queue *q)
{
	while (q->waiting.head && before(q->waiting.head->number, streams[q->stream - 1].met_then))
		give_up(q, &q->waiting.head);
}

/* Launches that others have overtaken for long, or all of them at the end. */
static void weed(bool last)
{
	bool turn = now_ns - weeded_ns >= GW_JOIN_GIVE_UP_NS;

	for (uint32_t i = 0; i < queue_count; i++) {
		struct queue *q = &queues[i];

		while (last && q->waiting.head)
			give_up(q, &q->waiting.head);
		if (!q->stream)
			weed_tickets(q);
		else if (turn)
			weed_stream(q);
	}
	gw_join_graph_weed(now_ns, last);
	for (uint32_t i = 0; turn && i < stream_count; i++)
		streams[i].met_then = streams[i].met;
	weeded_ns = turn ? now_ns : weeded_ns;
}

/* As they mostly are: libcupti tells the launches of one thread in their order. */
static bool in_order(void)
{
	for (uint32_t i = 1; i < batch_count; i++)
		if (by_correlation(&batch[i - 1], &batch[i]) > 0)
			return false;
	return true;
}

static void batch_begin(void)
{
	now_ns = gw_now_ns();
	if (!in_order())
		qsort(batch, batch_count, sizeof(*batch), by_correlation);
	for (uint32_t i = 0; i < stream_count; i++)
		streams[i].in_batch = false;
}

static void batch_end(void)
{
	for (uint32_t i = 0; i < stream_count; i++)
		if (streams[i].in_batch)
			streams[i].anchors[streams[i].anchored++ % ANCHORS] = streams[i].last;
}

void gw_join_batch(bool last)
{
	uint32_t kept = 0;

	batch_begin();
	for (uint32_t i = 0; i < batch_count; i++) {
		struct came *c = &batch[i];

		if (!c->a.device_launched && match(c))
			continue;
		/* The hook's thread may not have left its event yet. */
		if (!c->a.device_launched && !last && ++c->batches < PATIENCE)
			batch[kept++] = *c;
		else
			sink.uncalled(&c->a);
	}
	batch_count = kept;
	batch_end();
	weed(last);
}

void gw_join_ticket(uint32_t thread, uint32_t ticket, double seconds)
{
	struct queue *q = queue(GW_JOIN_TICKET, thread, false);

	for (struct gw_waiting **at = q ? &q->waiting.head : NULL; at && *at; at = &(*at)->next) {
		if ((*at)->number == ticket) {
			struct gw_record_launch record = gw_waiting_take(&q->waiting, at);

			sink.joined(&record, NULL, seconds);
			return;
		}
		if (!(*at)->overtaken_ns)
			(*at)->overtaken_ns = gw_now_ns();
	}
}

uint32_t gw_join_waiting(void)
{
	return gw_waiting_count();
}
