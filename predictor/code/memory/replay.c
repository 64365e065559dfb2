#include "predictor/code/memory/replay.h"

#include <math.h>
#include <string.h>

bool gw_replay_init(struct gw_replay *r, struct gw_arena *arena)
{
	*r = (struct gw_replay){.arena = arena};
	r->event = gw_arena_room(arena, GW_REPLAY_EVENTS, sizeof(*r->event));
	r->last = gw_arena_array(arena, 1, sizeof(*r->last));
	return r->event && r->last;
}

void gw_replay_add(struct gw_replay *r, const struct gw_eval_access *access,
		   const struct gw_request *request)
{
	struct gw_replay_event *e;

	for (uint32_t i = 0; i < access->repeats; i++)
		r->full |= !access->repeat[i].linear && access->repeat[i].count > 1;
	if (r->count == GW_REPLAY_EVENTS) {
		r->full = true;
		return;
	}
	e = &r->event[r->count++];
	*e = (struct gw_replay_event){
		.request = *request, .warp = access->warp, .repeats = access->repeats};
	memcpy(e->repeat, access->repeat, sizeof(e->repeat));
	r->warps = access->warp + 1 > r->warps ? access->warp + 1 : r->warps;
}

/** A load of one warp: an event in one of its iterations. */
struct step {
	uint32_t event;
	uint64_t offset; /* its addresses beyond the event's */
};

/** The loads of one warp in their order, as many as there is room for. */
struct trace {
	struct step *step;
	uint32_t count, room;
	uint32_t row; /* hits in a row */
};

/* The end of the run of events from @p from on that stand for the same loop at @p level. */
static uint32_t loop_end(const struct gw_replay *r, uint32_t from, uint32_t to, uint32_t level)
{
	uint32_t end = from;

	while (end < to && r->event[end].repeats > level &&
	       r->event[end].repeat[level].count == r->event[from].repeat[level].count)
		end++;
	return end;
}

/* Events @p from to @p to in the iterations @p at of the levels above @p level, in order: each
 * loop's body as often as it stands for. As deep as GW_EVAL_LOOPS. */
static void unfold(const struct gw_replay *r, struct trace *t, uint32_t from, uint32_t to,
		   uint32_t level, uint64_t at[GW_EVAL_LOOPS])
{
	while (from < to && t->count < t->room) {
		const struct gw_replay_event *e = &r->event[from];
		uint64_t offset = 0;
		uint32_t end;

		if (e->repeats > level && level < GW_EVAL_LOOPS) {
			end = loop_end(r, from, to, level);
			for (at[level] = 0;
			     at[level] < e->repeat[level].count && t->count < t->room; at[level]++)
				unfold(r, t, from, end, level + 1, at);
			from = end;
			continue;
		}
		for (uint32_t i = 0; i < e->repeats && i < level; i++)
			offset += at[i] * (uint64_t)e->repeat[i].step;
		t->step[t->count++] = (struct step){from++, offset};
	}
}

enum { NONE = UINT32_MAX, SECTORS = GW_LINE_BYTES / GW_SECTOR_BYTES };

/** A line in the cache. */
struct line {
	uint64_t number;
	uint32_t next_in_bucket;
	uint32_t newer, older;   /* neighbours in the order of use */
	uint32_t sectors;        /* bit n: sector n is there */
	uint32_t since[SECTORS]; /* the step in which it was asked for */
};

/** The cache: lines in buckets by number, and in the order of their use. */
struct cache {
	struct line *line;
	uint32_t *bucket;
	uint32_t lines, used, buckets;
	uint32_t newest, oldest;
	double hits, asked;
	double late;  /* of the hits, on sectors asked for in the same step */
	uint32_t now; /* the step */
};

static bool cache_init(struct cache *c, struct gw_arena *arena, double capacity)
{
	*c = (struct cache){.lines = (uint32_t)fmin(capacity / GW_LINE_BYTES, 1 << 16),
			    .buckets = 1,
			    .newest = NONE,
			    .oldest = NONE};
	if (!c->lines)
		c->lines = 1;
	while (c->buckets < c->lines)
		c->buckets *= 2;
	c->line = gw_arena_room(arena, c->lines, sizeof(*c->line));
	c->bucket = gw_arena_array(arena, c->buckets, sizeof(*c->bucket));
	if (!c->line || !c->bucket)
		return false;
	memset(c->bucket, 0xff, c->buckets * sizeof(*c->bucket));
	return true;
}

/* Neighbouring lines go to different buckets as they are. */
static uint32_t *bucket_of(struct cache *c, uint64_t number)
{
	return &c->bucket[(number ^ number >> 16) & (c->buckets - 1)];
}

static void unlink_use(struct cache *c, uint32_t at)
{
	struct line *l = &c->line[at];

	*(l->newer == NONE ? &c->newest : &c->line[l->newer].older) = l->older;
	*(l->older == NONE ? &c->oldest : &c->line[l->older].newer) = l->newer;
}

static void link_newest(struct cache *c, uint32_t at)
{
	c->line[at].newer = NONE;
	c->line[at].older = c->newest;
	*(c->newest == NONE ? &c->oldest : &c->line[c->newest].newer) = at;
	c->newest = at;
}

/* A place for a new line: a free one, or that of the line used longest ago. */
static uint32_t evict(struct cache *c)
{
	uint32_t at = c->oldest, *link;

	if (c->used < c->lines)
		return c->used++;
	link = bucket_of(c, c->line[at].number);
	while (*link != at)
		link = &c->line[*link].next_in_bucket;
	*link = c->line[at].next_in_bucket;
	unlink_use(c, at);
	return at;
}

static void look_up(struct cache *c, uint64_t sector)
{
	uint64_t number = sector / SECTORS;
	uint32_t bit = UINT32_C(1) << sector % SECTORS, *first = bucket_of(c, number), at = *first;

	while (at != NONE && c->line[at].number != number)
		at = c->line[at].next_in_bucket;
	if (at == NONE) {
		at = evict(c);
		/* What was evicted may have stood first here. */
		c->line[at] = (struct line){.number = number, .next_in_bucket = *first};
		*first = at;
	} else {
		unlink_use(c, at);
	}
	link_newest(c, at);
	c->asked++;
	if (c->line[at].sectors & bit) {
		c->hits++;
		c->late += c->line[at].since[sector % SECTORS] == c->now;
	} else {
		c->line[at].since[sector % SECTORS] = c->now;
	}
	c->line[at].sectors |= bit;
}

/* Whether it hits. */
static bool run_step(struct cache *c, const struct gw_replay *r, const struct step *step)
{
	const double missed = c->asked - c->hits + c->late;
	struct gw_request now = r->event[step->event].request;
	uint64_t piece[GW_REQUEST_PIECES];
	unsigned count;

	for (unsigned lane = 0; lane < GW_REQUEST_LANES; lane++)
		now.address[lane] += step->offset;
	count = gw_request_pieces(&now, GW_SECTOR_BYTES, piece);
	for (unsigned i = 0; i < count; i++)
		look_up(c, piece[i]);
	return c->asked - c->hits + c->late == missed;
}

/* Each warp's trace; false without memory. */
static bool traces_of(const struct gw_replay *r, struct gw_arena *arena, struct trace *traces)
{
	uint32_t room = GW_REPLAY_REQUESTS / r->warps, from = 0;

	while (from < r->count) {
		struct trace *t = &traces[r->event[from].warp];
		uint64_t at[GW_EVAL_LOOPS] = {0};
		uint32_t end = from;

		while (end < r->count && r->event[end].warp == r->event[from].warp)
			end++;
		t->room = room;
		t->step = gw_arena_room(arena, room, sizeof(*t->step));
		if (!t->step)
			return false;
		unfold(r, t, from, end, 0, at);
		from = end;
	}
	return true;
}

/* The answer for a cache of @p capacity bytes. */
static void run_all(const struct gw_replay *r, double capacity, struct gw_replay_answer *a)
{
	struct gw_arena arena;
	struct trace *traces;
	struct cache cache = {.asked = 0};
	bool more = true;

	*a = (struct gw_replay_answer){.count = r->count, .capacity = capacity};
	gw_arena_init(&arena, 16 << 20);
	traces = gw_arena_array(&arena, r->warps, sizeof(*traces));
	if (traces && cache_init(&cache, &arena, capacity) && traces_of(r, &arena, traces))
		for (uint32_t n = 0; more; n++) {
			more = false;
			cache.now = n;
			for (uint32_t w = 0; w < r->warps; w++) {
				struct trace *t = &traces[w];

				if (n >= t->count)
					continue;
				if (!run_step(&cache, r, &t->step[n]))
					t->row = 0;
				else if (t->row < GW_REPLAY_ROW)
					t->row++;
				a->rows[t->row]++;
				more = true;
			}
		}
	gw_arena_free(&arena);
	a->hits = cache.hits / cache.asked;
	a->under_way = cache.late / cache.hits;
}

double gw_replay_hits(const struct gw_replay *r, double capacity, double *under_way)
{
	*under_way = NAN;
	if (!r->count || r->full || !(capacity >= 0))
		return NAN;
	if (r->last->count != r->count || r->last->capacity != capacity)
		run_all(r, capacity, r->last);
	*under_way = r->last->under_way;
	return r->last->hits;
}

double gw_replay_apart(const struct gw_replay *r, double together)
{
	const struct gw_replay_answer *a = r->last;
	double all = 0, hit = 0.5; /* none seen: less than one */

	for (unsigned i = 0; i <= GW_REPLAY_ROW; i++) {
		all += a->rows[i];
		hit += i + 0.5 > together ? a->rows[i] : 0;
	}
	return log(hit / all) / log(a->hits * (1 - a->under_way));
}
