#include "preload/join/join.h"

#include "preload/runtime/clock.h"
#include "preload/maps/idmap.h"
#include "preload/join/join_graph.h"
#include "preload/join/join_list.h"
#include "preload/join/kernel_names.h"
#include "preload/maps/pool.h"
#include "preload/maps/configs.h"

#include <stdlib.h>
#include <string.h>

enum {
	RECORDS_MAX = 1 << 20,  /* records of one batch */
	RECORDS_KEPT = 1 << 14, /* so many have room between batches, too */
	ANCHORS = 32,           /* earlier meetings of a stream that are remembered */
	PATIENCE = 4,           /* batches a record waits for its launch to be seen */
	TRIED = 64,             /* launches that a record of a window is tried with … */
	MANY = INT32_MAX,       /* … and of others: all */
	EVICTIONS = 64,         /* queues that may go to make room for a stream */
};

/* Queues in which nothing waits, the first emptied first; the others, of streams and not. */
enum list { IDLE, OF_STREAMS, OF_OTHERS, LISTS };

/*
 * STREAM: launches of one kernel and configuration in one stream. A queue that has been empty for
 * long is forgotten, and a stream with its last queue: nothing waits there.
 */
struct queue {
	struct gw_waiting_list waiting;
	uint64_t key;
	uint32_t stream;        /* STREAM: its number in `streams`, else 0 */
	uint32_t before, after; /* in its list */
	uint32_t turn;          /* of expiry, when it was last emptied */
	bool tickets;           /* TICKET: no record is waited for */
	/* STREAM: behind launches called before this one or with it; NULL: not looked for yet. */
	struct gw_waiting **passed;
	uint32_t passed_by;
};

/* A launch and its record, once they are matched. */
struct anchor {
	uint32_t correlation, number;
};

/*
 * libcupti keeps buffers for each launching thread, so what one thread put into a stream may
 * come a buffer's length, thousands of records, before what another put there earlier.
 */
struct stream {
	uint64_t key;
	uint32_t queues; /* of it */
	uint32_t enqueued,
		matched;         /* numbers: of the last launch, of the latest that was matched */
	uint32_t matched_before; /* `matched` at the expiry before */
	uint32_t next;           /* of the batch's streams */
	struct anchor last;      /* of this batch */
	bool in_batch;           /* `last` holds */
	struct anchor anchors[ANCHORS];
	uint32_t anchored; /* how many have been put in the ring */
};

/* A record of the batch, with its name kept. */
struct pending_record {
	struct gw_activity a;
	uint64_t name; /* hash of the name */
	int batches;
};

static struct gw_join_sink sink;
static uint64_t now_ns; /* of the batch */
static struct gw_pool queues, streams;
static struct gw_idmap queue_map = {.use = GW_MEMORY_streams};  /* key -> number in `queues` */
static struct gw_idmap stream_map = {.use = GW_MEMORY_streams}; /* key -> number in `streams` */
static struct {
	uint32_t first, last;
} lists[LISTS];
static uint32_t batch_streams; /* the first with a match in this batch */
static uint32_t on_tickets;    /* launches that wait in queues of tickets */
static uint64_t expired_ns;
static uint32_t turn;       /* times streams' launches expired */
static uint32_t full_pause; /* launches until it is asked again for records */
static struct pending_record *batch;
static uint32_t batch_count, batch_room;

void gw_join_start(const struct gw_join_sink *s)
{
	sink = *s;
	gw_waiting_start();
	gw_join_graph_start(&sink);
	gw_kernel_names_start();
	/* A forked child leaves the parent's lists where they are. */
	gw_pool_start(&queues, sizeof(struct queue), GW_MEMORY_streams);
	gw_pool_start(&streams, sizeof(struct stream), GW_MEMORY_streams);
	queue_map = stream_map = (struct gw_idmap){.use = GW_MEMORY_streams};
	memset(lists, 0, sizeof(lists));
	batch = NULL;
	batch_count = batch_room = batch_streams = 0;
	expired_ns = turn = on_tickets = full_pause = 0;
}

static struct queue *queue_at(uint32_t number)
{
	return number ? gw_pool_at(&queues, number) : NULL;
}

static struct stream *stream_at(uint32_t number)
{
	return number ? gw_pool_at(&streams, number) : NULL;
}

static enum list list_of(const struct queue *q)
{
	if (!q->waiting.head)
		return IDLE;
	return q->stream ? OF_STREAMS : OF_OTHERS;
}

static void list_add(enum list list, uint32_t number)
{
	struct queue *q = queue_at(number);

	q->before = lists[list].last;
	q->after = 0;
	*(q->before ? &queue_at(q->before)->after : &lists[list].first) = number;
	lists[list].last = number;
}

static void list_remove(enum list list, uint32_t number)
{
	struct queue *q = queue_at(number);

	*(q->before ? &queue_at(q->before)->after : &lists[list].first) = q->after;
	*(q->after ? &queue_at(q->after)->before : &lists[list].last) = q->before;
}

static void stream_release(uint32_t number)
{
	struct stream *s = stream_at(number);

	if (!s || --s->queues)
		return;
	gw_idmap_remove(&stream_map, s->key);
	gw_pool_give(&streams, number);
}

/* The queue that has been empty for longest is forgotten; false: something waits in each. */
static bool evict(void)
{
	uint32_t number = lists[IDLE].first;
	struct queue *q = queue_at(number);

	if (!q)
		return false;
	list_remove(IDLE, number);
	gw_idmap_remove(&queue_map, q->key);
	stream_release(q->stream);
	gw_pool_give(&queues, number);
	return true;
}

static uint64_t queue_key(enum gw_join_by by, uint64_t key)
{
	return gw_idmap_key(key, (uint64_t)by + 1);
}

static uint32_t queue_known(enum gw_join_by by, uint64_t key)
{
	return gw_idmap_get(&queue_map, queue_key(by, key));
}

/* Number of a queue, made where there is none; 0 when there is no room. */
static uint32_t queue_made(enum gw_join_by by, uint64_t key, uint32_t stream)
{
	uint32_t number = queue_known(by, key);
	struct queue *q;

	if (number)
		return number;
	number = gw_pool_take(&queues);
	if (!number && evict())
		number = gw_pool_take(&queues);
	if (!number)
		return 0;
	if (!gw_idmap_put(&queue_map, queue_key(by, key), number)) {
		gw_pool_give(&queues, number);
		return 0;
	}
	q = queue_at(number);
	q->waiting.end = &q->waiting.head;
	q->key = queue_key(by, key);
	q->stream = stream;
	q->tickets = by == GW_JOIN_TICKET;
	q->turn = turn;
	if (stream)
		stream_at(stream)->queues++;
	list_add(IDLE, number);
	return number;
}

static struct gw_record_launch take(uint32_t number, struct gw_waiting **at)
{
	struct queue *q = queue_at(number);
	enum list was = list_of(q);
	struct gw_record_launch record;

	if (q->passed == &(*at)->next)
		q->passed = at;
	record = gw_waiting_take(&q->waiting, at);
	on_tickets -= q->tickets;
	if (!q->waiting.head) {
		q->passed = NULL;
		list_remove(was, number);
		q->turn = turn;
		list_add(IDLE, number);
	}
	return record;
}

static bool add(uint32_t number, uint32_t launch, const struct gw_record_launch *record)
{
	struct queue *q = queue_at(number);
	bool idle = !q->waiting.head;

	if (!gw_waiting_add(&q->waiting, launch, record))
		return false;
	on_tickets += q->tickets;
	if (idle) {
		list_remove(IDLE, number);
		list_add(list_of(q), number);
	}
	return true;
}

static void give_up(uint32_t number)
{
	struct gw_record_launch record = take(number, &queue_at(number)->waiting.head);

	sink.unmatched(&record);
}

static uint32_t stream_known(uint64_t key)
{
	return gw_idmap_get(&stream_map, gw_idmap_key(key, 1));
}

/* Number of a stream, made where it is not known; 0 when there is no room. */
static uint32_t stream_made(uint64_t key)
{
	uint32_t number = stream_known(key);

	if (number)
		return number;
	number = gw_pool_take(&streams);
	for (int i = 0; !number && i < EVICTIONS && evict(); i++)
		number = gw_pool_take(&streams);
	if (!number)
		return 0;
	if (!gw_idmap_put(&stream_map, gw_idmap_key(key, 1), number)) {
		gw_pool_give(&streams, number);
		return 0;
	}
	stream_at(number)->key = gw_idmap_key(key, 1);
	return number;
}

/* Where launches of a configuration wait in a stream; @p launch becomes the launch's number. */
static uint32_t stream_queue(uint64_t key, uint32_t config, uint32_t *launch)
{
	uint32_t stream = config ? stream_made(key) : 0, number;

	if (!stream)
		return 0;
	stream_at(stream)->queues++; /* it stays while there may be no queue of it */
	*launch = ++stream_at(stream)->enqueued;
	number = queue_made(GW_JOIN_STREAM, gw_idmap_key(gw_join_signature_of(config), stream),
			    stream);
	stream_release(stream);
	return number;
}

/*
 * Where the worker was kept from running, one look at the rings can bring more launches than may
 * wait, while records of most are there. Where it does not help, it is tried again now and then.
 */
static void make_room(void)
{
	enum { PAUSE = 4096 };

	if (full_pause && full_pause--)
		return;
	sink.queue_full();
	full_pause = gw_waiting_full() ? PAUSE : 0;
}

void gw_join_wait(enum gw_join_by by, uint64_t key, uint32_t number,
		  const struct gw_record_launch *record)
{
	uint32_t q;

	if (gw_waiting_full())
		make_room();
	if (by == GW_JOIN_GRAPH) {
		gw_join_graph_wait(key, number, record);
		return;
	}
	q = by == GW_JOIN_STREAM ? stream_queue(key, record->config, &number)
				 : queue_made(by, key, 0);
	if (q && queue_at(q)->waiting.head && gw_waiting_full())
		give_up(q);
	if (!q || !add(q, number, record)) {
		struct gw_record_launch lost = *record;

		sink.unmatched(&lost);
	}
}

void gw_join_record(const struct gw_activity *a)
{
	const struct gw_kernel_name *name = gw_kernel_name_keep(a->name ? a->name : "");

	if (name && batch_count == batch_room) {
		uint32_t room = batch_room ? batch_room * 2 : 4096;
		struct pending_record *wider =
			batch_room < RECORDS_MAX ? gw_memory_wider(GW_MEMORY_records, batch,
								   batch_room, room, sizeof(*wider))
						 : NULL;

		batch = wider ? wider : batch;
		batch_room = wider ? room : batch_room;
	}
	if (!name || batch_count == batch_room) {
		gw_count(GW_COUNTER_activity_dropped, 1);
		return;
	}
	batch[batch_count].a = *a;
	batch[batch_count].a.name = name->text;
	batch[batch_count].name = name->hash;
	batch[batch_count++].batches = 0;
}

static int by_correlation(const void *x, const void *y)
{
	const struct gw_activity *a = &((const struct pending_record *)x)->a;
	const struct gw_activity *b = &((const struct pending_record *)y)->a;

	/* By difference: the ids of a batch lie close together, also where they wrap. */
	if (a->correlation != b->correlation)
		return (int32_t)(a->correlation - b->correlation) < 0 ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* A launch of a stream, or one that knows its correlation id, is matched to its record. */
static bool meet(uint32_t queue, struct gw_waiting **at, const struct gw_activity *a)
{
	struct gw_record_launch record = take(queue, at);

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

/* The first launch of a queue called after @p after. Those before are passed by once: they may be
 * many thousands, whose records libcupti has dropped, and wait until they expire. */
static struct gw_waiting **first_after(struct queue *q, uint32_t after)
{
	struct gw_waiting **at = &q->waiting.head;

	if (q->passed && !before(after, q->passed_by))
		at = q->passed;
	while (*at && !before(after, (*at)->number))
		at = &(*at)->next;
	q->passed = at;
	q->passed_by = after;
	return at;
}

/*
 * The first launch of the record's kernel and configuration that was called after what is known
 * to have been called before it; where there is none, the first at all. In a window the first at
 * all: launches of all threads wait there in the order of their rings.
 */
static bool match_stream(const struct pending_record *c, uint32_t stream)
{
	const struct gw_activity *a = &c->a;
	struct stream *s = stream_at(stream);
	uint64_t like = gw_join_signature(c->name, a->grid, a->block, a->dynamic_shared);
	uint32_t q = s ? queue_known(GW_JOIN_STREAM, gw_idmap_key(like, stream)) : 0;
	const bool window = gw_activity_by_device();
	uint32_t after = q && !window ? called_before(s, a->correlation) : 0;
	struct gw_waiting **at =
		after ? gw_waiting_fitting(first_after(queue_at(q), after), MANY, a) : NULL;

	if (q && !at)
		at = gw_waiting_fitting(&queue_at(q)->waiting.head, window ? TRIED : MANY, a);
	if (!at)
		return false;
	s->last = (struct anchor){a->correlation, (*at)->number};
	if (!s->in_batch) {
		s->in_batch = true;
		s->next = batch_streams;
		batch_streams = stream;
	}
	if (before(s->matched, s->last.number))
		s->matched = s->last.number;
	return meet(q, at, a);
}

static bool match_correlation(const struct gw_activity *a)
{
	uint32_t q = queue_known(GW_JOIN_CORRELATION, gw_join_correlation_key(a->correlation));
	struct gw_waiting **at = q ? &queue_at(q)->waiting.head : NULL;

	for (; at && *at; at = &(*at)->next)
		if ((*at)->number == a->correlation && gw_join_fits(&(*at)->record, a))
			return meet(q, at, a);
	return false;
}

static bool match(const struct pending_record *c)
{
	uint32_t stream = stream_known(gw_join_stream_key(c->a.context, c->a.stream));

	if (gw_activity_by_device())
		return gw_activity_of_call(&c->a, 0) &&
		       match_stream(c, stream_known(gw_join_multi_key(c->a.device)));
	if (c->a.graph && gw_join_graph_match(&c->a, now_ns))
		return true;
	if (!c->a.graph && stream)
		return match_stream(c, stream) || match_correlation(&c->a);
	/* In a stream that nothing was launched into: one of a launch on several devices. */
	return match_correlation(&c->a) ||
	       (!c->a.graph && match_stream(c, stream_known(gw_join_multi_key(c->a.device))));
}

/* Whether others have overtaken the first of a queue for long; times by events have no turns. */
static bool overtaken(const struct queue *q)
{
	const struct gw_waiting *w = q->waiting.head;

	if (q->stream)
		return w && before(w->number, stream_at(q->stream)->matched_before);
	return w && w->overtaken_ns && w->overtaken_ns + GW_JOIN_GIVE_UP_NS < now_ns;
}

/* Launches of the queues of @p list that others have overtaken for long, or all of them. */
static void expire_list(enum list list, bool all)
{
	for (uint32_t number = lists[list].first, after; number; number = after) {
		struct queue *q = queue_at(number);

		after = q->after;
		while (all ? q->waiting.head != NULL : overtaken(q))
			give_up(number);
	}
}

/* Each second time nothing waits in a queue, it is forgotten. */
static void forget_idle(void)
{
	while (lists[IDLE].first && turn - queue_at(lists[IDLE].first)->turn > 1)
		evict();
}

static void expire(bool last)
{
	bool due = now_ns - expired_ns >= GW_JOIN_GIVE_UP_NS;

	expire_list(OF_OTHERS, last);
	if (due || last)
		expire_list(OF_STREAMS, last);
	gw_join_graph_expire(now_ns, last);
	if (!due)
		return;
	for (uint32_t number = lists[OF_STREAMS].first; number; number = queue_at(number)->after) {
		struct stream *s = stream_at(queue_at(number)->stream);

		s->matched_before = s->matched;
	}
	turn++;
	forget_idle();
	expired_ns = now_ns;
}

/* The common case: libcupti reports the launches of one thread in their order. */
static bool in_order(void)
{
	for (uint32_t i = 1; i < batch_count; i++)
		if (by_correlation(&batch[i - 1], &batch[i]) > 0)
			return false;
	return true;
}

static void batch_begin(void)
{
	now_ns = gw_steady_ns();
	if (!in_order())
		qsort(batch, batch_count, sizeof(*batch), by_correlation);
}

static void batch_end(void)
{
	for (uint32_t number = batch_streams; number; number = stream_at(number)->next) {
		struct stream *s = stream_at(number);

		s->anchors[s->anchored++ % ANCHORS] = s->last;
		s->in_batch = false;
	}
	batch_streams = 0;
	/* What a rush needed goes back when it is over. */
	if (!batch_count && batch_room > RECORDS_KEPT) {
		gw_memory_free(GW_MEMORY_records, batch, batch_room, sizeof(*batch));
		batch = NULL;
		batch_room = 0;
	}
}

void gw_join_batch(bool last)
{
	uint32_t kept = 0;

	batch_begin();
	for (uint32_t i = 0; i < batch_count; i++) {
		struct pending_record *c = &batch[i];

		if (!c->a.device_launched && match(c))
			continue;
		/* The hook's thread may not have left its event yet. */
		if (!c->a.device_launched && !last && ++c->batches < PATIENCE)
			batch[kept++] = *c;
		else
			sink.orphan(&c->a);
	}
	batch_count = kept;
	batch_end();
	expire(last);
}

void gw_join_ticket(uint32_t thread, uint32_t ticket, double seconds)
{
	uint32_t q = queue_known(GW_JOIN_TICKET, thread);

	for (struct gw_waiting **at = q ? &queue_at(q)->waiting.head : NULL; at && *at;
	     at = &(*at)->next) {
		if ((*at)->number == ticket) {
			struct gw_record_launch record = take(q, at);

			sink.joined(&record, NULL, seconds);
			return;
		}
		if ((int32_t)((*at)->number - ticket) > 0)
			return; /* what is timed later waits on */
		if (!(*at)->overtaken_ns)
			(*at)->overtaken_ns = gw_steady_ns();
	}
}

void gw_join_thread_gone(uint32_t thread)
{
	uint32_t q = queue_known(GW_JOIN_TICKET, thread);

	while (q && queue_at(q)->waiting.head)
		give_up(q);
}

uint32_t gw_join_waiting(void)
{
	return gw_waiting_count() - on_tickets;
}
