/*
 * Entries of the live segment: launches that the worker has taken and whose record is not in the
 * log's file yet, and records there whose launch has not been taken yet. Worker only.
 *
 * Release stores here order what another process finds that reads the segment
 * (cli/live/launches.c): an entry whose `ring` is set is complete, whenever this process is killed.
 */
#include "preload/live/live_part.h"

#include "preload/maps/memory.h"
#include "preload/runtime/clock.h"

#include <string.h>

/*
 * Records without a launch of which the launch may yet come: it was in the driver for longer than
 * its kernel ran. Beyond so many the oldest is taken for one whose launch never will.
 */
enum { GW_LIVE_LONES = 1024 };

/* In place of the number of an entry: there is none, and the launch counts among `bulk`. */
#define BULK UINT32_MAX

struct lone {
	uint32_t entry, pair;
	bool graph;
};

static uint32_t taking_ring, taking_position;
static uint32_t *lists, lists_most;    /* room for the next three, of as many each */
static uint32_t *unused, unused_count; /* free entries below entries_used */
static uint32_t *logged, logged_count; /* in blocks that are not in the file yet */
static uint32_t *done, done_count;     /* in the file: free as soon as no event is being taken */
static uint32_t entries_ready;         /* entries whose pages are reserved */
static struct lone lones[GW_LIVE_LONES];
static uint32_t lone_count;
static unsigned char sums_ready[GW_LIVE_SUMS / 8]; /* by bit: parts of the sums that have pages */

/* A child takes the lists of its parent, which lie in its own memory since fork(2). */
void gw_live_entries_start(uint32_t most)
{
	if (lists && lists_most != most) {
		gw_memory_free(GW_MEMORY_waiting, lists, lists_most, 3 * sizeof(uint32_t));
		lists = NULL;
	}
	if (!lists)
		lists = gw_memory_new(GW_MEMORY_waiting, most, 3 * sizeof(uint32_t));
	lists_most = most;
	unused = lists;
	logged = lists ? lists + most : NULL;
	done = lists ? logged + most : NULL;
}

void gw_live_entries_abandon(void)
{
	unused = logged = done = NULL;
	unused_count = logged_count = done_count = entries_ready = lone_count = 0;
	taking_ring = 0;
	memset(sums_ready, 0, sizeof(sums_ready));
}

static void lone_forget(uint32_t at)
{
	for (uint32_t i = 0; i < lone_count; i++)
		if (lones[i].entry == at) {
			memmove(&lones[i], &lones[i + 1], (--lone_count - i) * sizeof(*lones));
			return;
		}
}

void gw_live_taking(const struct gw_thread *t, uint32_t position)
{
	taking_ring = t->live;
	taking_position = position;
}

static struct gw_live_entry *entry(struct gw_live_head *h, uint32_t at)
{
	return (struct gw_live_entry *)(void *)((char *)h + h->entries.offset) + at;
}

/* UINT32_MAX when there is none. */
static uint32_t take_entry(struct gw_live_head *h)
{
	const uint32_t step = GW_LIVE_STEP / sizeof(struct gw_live_entry);

	if (unused_count)
		return unused[--unused_count];
	if (h->entries_used == entries_ready && h->entries_used + step <= h->entries.count &&
	    gw_live_reserve(h, h->entries.offset + entries_ready * sizeof(struct gw_live_entry),
			    GW_LIVE_STEP))
		entries_ready += step;
	if (h->entries_used == entries_ready) {
		gw_live_full("no room for all launches that wait for their times");
		return UINT32_MAX;
	}
	return h->entries_used++;
}

/* A record's kind and length are set when it is written: until then its entry stands there. */
static void remember(struct gw_record_launch *r, uint32_t at)
{
	memcpy(&r->head, &at, sizeof(at));
}

uint32_t gw_live_entry(const struct gw_record_launch *r)
{
	uint32_t at;

	memcpy(&at, &r->head, sizeof(at));
	return at;
}

/* One store, as the launch is in its ring, too, until it is taken. Read by take_lost() of another
 * process (cli/live/launches.c). */
static void bulk_taken(struct gw_live_head *h)
{
	const struct gw_live_bulk b = {taking_ring << 24 | (taking_position & 0xffffff),
				       h->bulk[0].launches + 1};
	uint64_t both;

	memcpy(&both, &b, sizeof(both));
	__atomic_store_n((uint64_t *)(void *)&h->bulk[0], both, __ATOMIC_RELEASE);
}

void gw_live_enter(struct gw_record_launch *r, const struct gw_thread *t, const struct gw_event *e,
		   uint32_t node)
{
	struct gw_live_head *h = gw_live_mapped();
	uint32_t at = h && unused && taking_ring ? take_entry(h) : UINT32_MAX;
	struct gw_live_entry *out;

	if (at == UINT32_MAX) {
		remember(r, h ? BULK : 0);
		if (h)
			bulk_taken(h);
		return;
	}
	remember(r, at + 1);
	out = entry(h, at);
	out->position = taking_position;
	out->node = node;
	out->block = GW_LIVE_NO_BLOCK;
	out->call_ns = r->call_ns;
	out->tid = (uint32_t)t->tid;
	out->id = r->stream;
	memcpy(&out->event, e, sizeof(out->event));
	__atomic_store_n(&out->ring, taking_ring, __ATOMIC_RELEASE);
}

/* Likewise. */
static void bulk_logged(struct gw_live_head *h, uint32_t block)
{
	struct gw_live_bulk *b = &h->bulk[1 + block % (GW_LIVE_BULKS - 1)];

	if (b->block != block)
		__atomic_store_n(&b->launches, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&b->block, block, __ATOMIC_RELEASE);
	__atomic_store_n(&b->launches, b->launches + 1, __ATOMIC_RELEASE);
	h->bulk[0].launches--;
}

static void let_go(struct gw_live_head *h, const uint32_t *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		__atomic_store_n(&entry(h, list[i])->ring, 0, __ATOMIC_RELEASE);
		unused[unused_count++] = list[i];
	}
}

void gw_live_logged(uint32_t number, uint32_t block)
{
	struct gw_live_head *h = gw_live_mapped();

	if (!h || !number)
		return;
	if (number == BULK)
		return bulk_logged(h, block);
	__atomic_store_n(&entry(h, number - 1)->block, block, __ATOMIC_RELEASE);
	if (entry(h, number - 1)->ring != GW_LIVE_LONE)
		logged[logged_count++] = number - 1;
}

void gw_live_dropped(uint32_t number)
{
	struct gw_live_head *h = gw_live_mapped();

	if (!h || !number)
		return;
	if (number == BULK) {
		h->bulk[0].launches--;
		return;
	}
	if (entry(h, number - 1)->ring == GW_LIVE_LONE)
		lone_forget(number - 1);
	done[done_count++] = number - 1;
}

/* ---- sums ---- */

/* NULL where there is no such place, or no page for it. */
static struct gw_live_sum *sum_at(struct gw_live_head *h, uint32_t slot)
{
	const uint32_t step = 16 * GW_LIVE_PAGE / sizeof(struct gw_live_sum);
	const uint32_t part = slot / step;

	if (!h || slot >= GW_LIVE_SUMS)
		return NULL;
	if (!(sums_ready[part / 8] >> part % 8 & 1)) {
		const uint64_t at =
			h->sums.offset + (uint64_t)part * step * sizeof(struct gw_live_sum);

		if (!gw_live_reserve(h, at, step * sizeof(struct gw_live_sum)))
			return NULL;
		sums_ready[part / 8] |= (unsigned char)(1u << part % 8);
	}
	return (struct gw_live_sum *)(void *)((char *)h + h->sums.offset) + slot;
}

void gw_live_sum(uint32_t slot, uint32_t config, uint64_t start_ns)
{
	struct gw_live_sum *s = sum_at(gw_live_mapped(), slot);

	if (!s)
		return;
	__atomic_store_n(&s->launches, 0, __ATOMIC_RELEASE);
	s->config = config;
	s->block = GW_LIVE_NO_BLOCK;
	s->measured = 0;
	s->start_ns = start_ns;
	s->total_ns = s->max_ns = 0;
	s->min_ns = UINT64_MAX;
	s->counter = 0;
}

void gw_live_sum_counter(uint32_t slot, uint64_t start_ns)
{
	struct gw_live_sum *s = sum_at(gw_live_mapped(), slot);

	gw_live_sum(slot, 0, start_ns);
	if (s)
		s->counter = slot + 1;
}

void gw_live_sum_part(uint32_t slot, uint32_t config, uint64_t start_ns, uint32_t each,
		      uint32_t counter)
{
	struct gw_live_sum *s = sum_at(gw_live_mapped(), slot);

	gw_live_sum(slot, config, start_ns);
	if (!s)
		return;
	s->counter = counter + 1;
	__atomic_store_n(&s->launches, each, __ATOMIC_RELEASE);
}

static void add_time(struct gw_live_sum *s, uint64_t ns)
{
	s->measured++;
	s->total_ns += ns;
	s->min_ns = ns < s->min_ns ? ns : s->min_ns;
	s->max_ns = ns > s->max_ns ? ns : s->max_ns;
}

/*
 * At whichever store the process is killed, a reader finds the launch in its entry or in the sum:
 * `adding` says which, until the entry itself says so.
 */
void gw_live_summed(uint32_t slot, const struct gw_record_launch *r)
{
	struct gw_live_head *h = gw_live_mapped();
	struct gw_live_sum *s = sum_at(h, slot);
	const uint32_t number = gw_live_entry(r);

	if (!h)
		return;
	if (s && number && number != BULK) {
		h->adding.sum = slot;
		h->adding.launches = s->launches + 1;
		__atomic_store_n(&h->adding.entry, number, __ATOMIC_RELEASE);
	}
	if (s && r->flags & GW_LAUNCH_MEASURED)
		add_time(s, r->duration_ns);
	if (s)
		__atomic_store_n(&s->launches, s->launches + 1, __ATOMIC_RELEASE);
	if (number && number != BULK)
		__atomic_store_n(&entry(h, number - 1)->block, GW_LIVE_IN_SUM, __ATOMIC_RELEASE);
	if (s)
		__atomic_store_n(&h->adding.entry, 0, __ATOMIC_RELEASE);
	gw_live_dropped(number);
}

void gw_live_sum_logged(uint32_t slot, uint32_t block)
{
	struct gw_live_sum *s = sum_at(gw_live_mapped(), slot);

	if (s)
		__atomic_store_n(&s->block, block, __ATOMIC_RELEASE);
}

/* ---- records without a launch ---- */

/* The ticks at which it was @p ns by the wall clock; now where that is not known. */
static uint64_t ticks_at(uint64_t ns)
{
	uint64_t now = gw_ticks(), now_ns = gw_clock_ns(now);

	if (!ns || ns > now_ns)
		return now;
	return now - (uint64_t)((double)(now_ns - ns) * 1e-6 * gw_clock_khz());
}

void gw_live_enter_lone(struct gw_record_launch *r, uint32_t pair)
{
	struct gw_live_head *h = gw_live_mapped();
	uint32_t at;
	struct gw_live_entry *out;

	if (!h || !unused)
		return;
	if (lone_count == GW_LIVE_LONES) { /* its launch was lost: a ring was full */
		done[done_count++] = lones[0].entry;
		lone_forget(lones[0].entry);
	}
	at = take_entry(h);
	if (at == UINT32_MAX)
		return;
	remember(r, at + 1);
	out = entry(h, at);
	*out = (struct gw_live_entry){.id = r->config,
				      .node = (r->flags & GW_LAUNCH_GRAPH) != 0,
				      .block = GW_LIVE_NO_BLOCK,
				      .call_ns = r->start_ns,
				      .event = {.ticks = ticks_at(r->start_ns)}};
	lones[lone_count++] = (struct lone){at, pair, (r->flags & GW_LAUNCH_GRAPH) != 0};
	__atomic_store_n(&out->ring, GW_LIVE_LONE, __ATOMIC_RELEASE);
}

static struct lone *lone_of(uint32_t pair, bool graph)
{
	for (uint32_t i = 0; i < lone_count; i++)
		if (lones[i].graph == graph && (!pair || lones[i].pair == pair))
			return &lones[i];
	return NULL;
}

void gw_live_met_lone(const struct gw_record_launch *r, uint32_t pair, uint32_t block)
{
	struct gw_live_head *h = gw_live_mapped();
	struct lone *l = lone_of(pair, (r->flags & GW_LAUNCH_GRAPH) != 0);
	const uint32_t own = gw_live_entry(r);

	if (!h || !l) {
		gw_live_logged(own, block);
		return;
	}
	/* From here to the next store it stands for the launch wherever that is found. */
	__atomic_store_n(&entry(h, l->entry)->position, own, __ATOMIC_RELEASE);
	gw_live_logged(own, entry(h, l->entry)->block);
	done[done_count++] = l->entry;
	lone_forget(l->entry);
}

void gw_live_tick(uint32_t written)
{
	struct gw_live_head *h = gw_live_mapped();
	uint32_t n = 0;

	if (!h)
		return;
	let_go(h, done, done_count);
	done_count = 0;
	for (uint32_t i = 1; i < GW_LIVE_BULKS; i++)
		if ((int32_t)(h->bulk[i].block - written) < 0)
			h->bulk[i].launches = 0;
	/* They went into blocks in order. */
	while (n < logged_count && (int32_t)(entry(h, logged[n])->block - written) < 0)
		n++;
	let_go(h, logged, n);
	logged_count -= n;
	memmove(logged, logged + n, logged_count * sizeof(*logged));
}
