#include "cli/spent/spent.h"

#include "cli/common/index.h"
#include "cli/common/memory.h"

#include <stdlib.h>
#include <string.h>

enum { DISORDER = 4096 }; /* copies that may have begun later than one that comes after them */

static const struct {
	const char *key, *name, *meaning;
	bool idle;
} rows[LOG_SPENT_ROWS] = {
#define SPENT(NAME, key, idle, name, meaning) {#key, name, meaning, idle},
#include "cli/spent/spent.def"
#undef SPENT
};
_Static_assert((int)LOG_SPENT_SET - (int)LOG_SPENT_COPY == (int)GW_DIRECTION_SET &&
		       (int)GW_DIRECTION_SET + 1 == (int)GW_DIRECTIONS,
	       "a row for each direction");

const char *log_spent_name(enum log_spent_row row)
{
	return rows[row].name;
}

const char *log_spent_key(enum log_spent_row row)
{
	return rows[row].key;
}

const char *log_spent_meaning(enum log_spent_row row)
{
	return rows[row].meaning;
}

bool log_spent_idle(enum log_spent_row row)
{
	return rows[row].idle;
}

bool log_communicates(const char *name)
{
	static const char *const parts[] = {"nccl", "nvshmem", "mscclpp", "cross_device_reduce"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

double log_spent_wall(const struct log_spent *spent)
{
	double sum = 0;

	for (unsigned i = 0; i < LOG_SPENT_ROWS; i++)
		sum += spent->ns[i];
	return sum;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void log_waits_add(struct log_waits *w, uint32_t thread, const struct gw_record_wait *wait)
{
	struct log_thread_waits *t;

	if (thread == GW_INDEX_NONE || wait->duration_ns > UINT64_MAX - wait->start_ns)
		return;
	GW_GROW(w->threads, &w->thread_room, thread + 1u);
	t = &w->threads[thread];
	if (t->count == LOG_WAITS_KEPT) {
		t->count /= 2;
		memmove(t->list, t->list + t->count, t->count * sizeof(*t->list));
	}
	GW_GROW(t->list, &t->room, t->count + 1);
	t->list[t->count++] =
		(struct log_wait){wait->start_ns, wait->start_ns + wait->duration_ns, wait->call};
}

void log_children_add(struct log_waits *w, const struct gw_record_children *r)
{
	if (r->duration_ns > UINT64_MAX - r->start_ns)
		return;
	if (w->children_count == LOG_WAITS_KEPT) {
		w->children_count /= 2;
		memmove(w->children, w->children + w->children_count,
			w->children_count * sizeof(*w->children));
	}
	GW_GROW(w->children, &w->children_room, w->children_count + 1);
	w->children[w->children_count++] =
		(struct log_children){r->start_ns, r->start_ns + r->duration_ns, r->threads_ns};
}

void log_waits_free(struct log_waits *w)
{
	free(w->children);
	for (size_t i = 0; i < w->thread_room; i++)
		free(w->threads[i].list);
	free(w->threads);
	*w = (struct log_waits){0};
}

/* The first wait of @p thread that ends after @p from; NULL: none. @p end: behind its last. */
static const struct log_wait *first_wait(const struct log_waits *w, uint32_t thread, uint64_t from,
					 const struct log_wait **end)
{
	const struct log_thread_waits *t = thread < w->thread_room ? &w->threads[thread] : NULL;
	size_t low = 0, high = t ? t->count : 0;

	if (!high)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->list[middle].until <= from)
			low = middle + 1;
		else
			high = middle;
	}
	*end = t->list + t->count;
	return low < t->count ? &t->list[low] : NULL;
}

/* The first span of children that ends after @p from. */
static size_t first_children(const struct log_waits *w, uint64_t from)
{
	size_t low = 0, high = w->children_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (w->children[middle].until <= from)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The host did @p row from @p from to @p until, or children read its input meanwhile. */
static void work(struct log_spent *s, const struct log_waits *w, uint64_t from, uint64_t until,
		 enum log_spent_row row)
{
	for (size_t i = first_children(w, from);
	     i < w->children_count && w->children[i].from < until; i++) {
		const struct log_children *c = &w->children[i];
		uint64_t begin = larger(c->from, from), end = smaller(c->until, until);

		if (!gw_idle_input(begin, end, c->threads))
			continue;
		s->ns[row] += (double)(begin - from);
		s->ns[LOG_SPENT_INPUT] += (double)(end - begin);
		from = end;
	}
	s->ns[row] += (double)(until - from);
}

/* What the host did from @p from to @p until, when it called what ended the gap. */
static void host(struct log_spent *s, const struct log_waits *waits, uint64_t from, uint64_t until,
		 uint32_t thread)
{
	const struct log_wait *end = NULL, *w = first_wait(waits, thread, from, &end);
	enum log_spent_row other = LOG_SPENT_HOST;

	for (; w && w < end && w->from < until; w++) {
		uint64_t begin = larger(w->from, from), done = smaller(w->until, until);

		if (done <= from)
			continue;
		work(s, waits, from, begin, other);
		s->ns[LOG_SPENT_WAIT] += (double)(done - begin);
		s->waits[w->call < GW_WAIT_CALLS ? w->call : 0]++;
		from = done;
		other = LOG_SPENT_AFTER_WAIT;
	}
	work(s, waits, from, until, other);
}

/* When the thread called before @p call, 0: not known; @p call is its latest now. */
static uint64_t call_before(struct log_spending *state, uint32_t thread, uint64_t call)
{
	uint64_t before;

	if (thread == GW_INDEX_NONE || !call)
		return 0;
	GW_GROW(state->last_call, &state->last_room, thread + 1u);
	before = state->last_call[thread];
	if (call > before)
		state->last_call[thread] = call;
	return before < call ? before : 0;
}

/* What ends a gap. */
struct ender {
	uint64_t call, before; /* before: the thread's call before it, 0: not known */
	uint32_t thread;
};

/* Nothing ran from @p from to @p until. */
static void idle(struct log_spent *s, const struct log_spending *state,
		 const struct log_waits *waits, uint64_t from, uint64_t until,
		 const struct ender *e)
{
	const uint64_t untimed = state->untimed;
	enum log_spent_row row;

	if (until <= from)
		return;
	switch (gw_idle_cause(from, until, untimed, e->thread == GW_INDEX_NONE ? 0 : e->call,
			      e->before)) {
	case GW_IDLE_UNKNOWN:
		row = untimed > from && untimed < until ? LOG_SPENT_NO_TIME : LOG_SPENT_NO_CALL;
		break;
	case GW_IDLE_LAUNCH_BOUND:
		row = LOG_SPENT_CALLS;
		break;
	case GW_IDLE_QUEUED:
		row = LOG_SPENT_QUEUED;
		break;
	default:
		host(s, waits, from, smaller(e->call, until), e->thread);
		from = smaller(e->call, until);
		row = LOG_SPENT_LATENCY;
	}
	s->ns[row] += (double)(until - from);
}

static void hold(struct log_spending *state, const struct log_filling *f)
{
	size_t at, moved = 0;

	if (state->fill_first > 1024 && state->fill_first > state->fill_count / 2) {
		state->fill_count -= state->fill_first;
		memmove(state->fill, state->fill + state->fill_first,
			state->fill_count * sizeof(*state->fill));
		state->fill_first = 0;
	}
	GW_GROW(state->fill, &state->fill_room, state->fill_count + 1);
	/* Records come nearly in order; a damaged log must not take for ever. */
	for (at = state->fill_count++;
	     at > state->fill_first && moved < DISORDER && state->fill[at - 1].start > f->start;
	     at--, moved++)
		state->fill[at] = state->fill[at - 1];
	state->fill[at] = *f;
}

/* No kernel ran until @p until, but for communication, and copies may have. */
static void gap(struct log_spent *s, struct log_spending *state, const struct log_waits *waits,
		uint64_t until, const struct ender *e)
{
	for (size_t i = state->fill_first;
	     i < state->fill_count && state->until < until && state->fill[i].start < until; i++) {
		const struct log_filling *f = &state->fill[i];
		const struct ender own = {f->call, call_before(state, f->thread, f->call),
					  f->thread};
		uint64_t begin = larger(f->start, state->until), end = smaller(f->end, until);

		if (end <= begin)
			continue;
		idle(s, state, waits, state->until, begin, f->call ? &own : e);
		s->ns[f->row] += (double)(end - begin);
		state->until = end;
	}
	idle(s, state, waits, state->until, until, e);
	state->until = larger(state->until, until);
}

/* What has ended by now takes no time that is to come. */
static void forget(struct log_spending *state)
{
	while (state->fill_first < state->fill_count &&
	       state->fill[state->fill_first].end <= state->until)
		state->fill_first++;
}

/* Time begins with what starts first. */
static void begin(struct log_spending *state, uint64_t start)
{
	if (state->until)
		return;
	state->until = start;
	if (state->fill_first < state->fill_count)
		state->until = smaller(start, state->fill[state->fill_first].start);
}

void log_spent_copy(struct log_spent *s, struct log_spending *state, const struct gw_record_copy *c)
{
	uint32_t direction = c->direction < GW_DIRECTIONS ? c->direction : GW_DIRECTION_OTHER;

	if (!c->start_ns || c->duration_ns > UINT64_MAX - c->start_ns)
		return;
	s->copy_ns[direction] += (double)c->duration_ns;
	s->copy_bytes[direction] += (double)c->bytes;
	s->copy_count[direction]++;
	hold(state, &(struct log_filling){.start = c->start_ns,
					  .end = c->start_ns + c->duration_ns,
					  .row = LOG_SPENT_COPY + direction,
					  .thread = GW_INDEX_NONE});
}

void log_spent_untimed(struct log_spending *state, uint64_t call)
{
	state->untimed = larger(state->untimed, call);
}

void log_spent_run(struct log_spent *s, struct log_spending *state, const struct log_waits *waits,
		   const struct log_spent_run *run)
{
	struct ender e = {.call = run->call, .thread = run->thread};

	if (run->communication) {
		hold(state, &(struct log_filling){.start = run->start,
						  .end = run->end,
						  .call = run->call,
						  .row = LOG_SPENT_COMMUNICATION,
						  .thread = run->thread});
		return;
	}
	begin(state, run->start);
	e.before = call_before(state, run->thread, run->call);
	if (run->start > state->until)
		gap(s, state, waits, run->start, &e);
	if (run->end > state->until) {
		s->ns[LOG_SPENT_KERNELS] += (double)(run->end - state->until);
		state->until = run->end;
	}
	forget(state);
}

void log_spent_end(struct log_spent *s, struct log_spending *state, const struct log_waits *waits)
{
	const struct ender none = {.thread = GW_INDEX_NONE};
	uint64_t last = 0;

	for (size_t i = state->fill_first; i < state->fill_count; i++)
		last = larger(last, state->fill[i].end);
	if (last > state->until) {
		begin(state, last);
		gap(s, state, waits, last, &none);
	}
	free(state->fill);
	free(state->last_call);
	*state = (struct log_spending){0};
}
