/*
 * Why nothing ran on a GPU between two kernels, while the program runs. What a thread waited for,
 * and what was copied, is kept as long as a round of the worker lasts: the records of kernels come
 * after the events of their launches.
 */
#include "preload/live/live_part.h"
#include "preload/runtime/options.h"

#include <string.h>

enum {
	THREADS = 64, /* with a place of their own; those that share one push each other out */
	WAITS = 256,  /* of a thread, the latest */
	COPIES = 32,  /* of a GPU, the latest */
	READS = 256,  /* spans in which child processes were at work, the latest */
};

struct span {
	uint64_t from, until;
};

static struct thread {
	uint32_t id;
	uint32_t waits; /* ever */
	uint64_t call;  /* its latest launch that ran */
	uint64_t since; /* when it took the place of another: before, its waits are not known */
	struct span wait[WAITS];
} threads[THREADS];

static struct {
	uint32_t count; /* ever */
	struct span span[COPIES];
} copies[GW_LIVE_DEVICES];

static struct {
	uint32_t count; /* ever */
	struct read {
		struct span span;
		uint64_t threads; /* ns of CPU time that threads used that launch */
	} read[READS];
} reads;

static uint64_t untimed; /* the latest call of a launch without a time */

void gw_live_idle_forget(void)
{
	memset(threads, 0, sizeof(threads));
	memset(copies, 0, sizeof(copies));
	memset(&reads, 0, sizeof(reads));
	untimed = 0;
}

_Static_assert((int)GW_IDLE_CAUSES <= (int)GW_LIVE_IDLE, "room for all");

static struct thread *thread_of(uint32_t id, uint64_t now_ns)
{
	struct thread *t = &threads[id % THREADS];

	if (t->id != id) {
		t->since = t->id ? now_ns : 0;
		t->id = id;
		t->waits = 0;
		t->call = 0;
	}
	return t;
}

void gw_live_waited(uint32_t thread, uint64_t from_ns, uint64_t until_ns)
{
	struct thread *t = thread_of(thread, from_ns);

	t->wait[t->waits++ % WAITS] = (struct span){from_ns, until_ns};
}

void gw_live_children(uint64_t from_ns, uint64_t until_ns, uint64_t threads_ns)
{
	reads.read[reads.count++ % READS] = (struct read){{from_ns, until_ns}, threads_ns};
}

void gw_live_copied(uint32_t ordinal, uint64_t from_ns, uint64_t until_ns)
{
	if (ordinal < GW_LIVE_DEVICES)
		copies[ordinal].span[copies[ordinal].count++ % COPIES] =
			(struct span){from_ns, until_ns};
}

void gw_live_untimed(const struct gw_record_launch *r)
{
	if (!(r->flags & GW_LAUNCH_MEASURED) && r->call_ns > untimed)
		untimed = r->call_ns;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The host did @p row from @p from to @p until, or children read its input meanwhile, as work() in
 * cli/spent/spent.c has it. */
static void work(uint64_t from, uint64_t until, enum gw_idle_cause row, uint64_t out[])
{
	const uint32_t kept = reads.count < READS ? reads.count : READS;
	const struct read *oldest = &reads.read[reads.count % READS];
	uint32_t i = reads.count;

	/* What was read then may have been pushed out. */
	if (kept == READS && oldest->span.from > from && until > from) {
		const uint64_t known = smaller(oldest->span.from, until);

		out[GW_IDLE_UNKNOWN] += known - from;
		from = known;
	}
	while (i != reads.count - kept && reads.read[(i - 1) % READS].span.until > from)
		i--;
	for (; i != reads.count && from < until; i++) {
		const struct read *r = &reads.read[i % READS];
		const uint64_t begin = larger(r->span.from, from),
			       end = smaller(r->span.until, until);

		if (!gw_idle_input(begin, end, r->threads))
			continue;
		out[row] += begin - from;
		out[GW_IDLE_INPUT] += end - begin;
		from = end;
	}
	out[row] += until - from;
}

/* What the host did from @p from to @p until. */
static void host(const struct thread *t, uint64_t from, uint64_t until, uint64_t out[])
{
	const uint32_t kept = t->waits < WAITS ? t->waits : WAITS;
	uint32_t i = t->waits;
	enum gw_idle_cause other = GW_IDLE_HOST;

	/* Waits of then may have been pushed out. */
	if (t->since > from || (kept == WAITS && t->wait[t->waits % WAITS].from > from))
		other = GW_IDLE_UNKNOWN;
	while (i != t->waits - kept && t->wait[(i - 1) % WAITS].until > from)
		i--;
	for (; i != t->waits; i++) {
		const struct span *w = &t->wait[i % WAITS];
		const uint64_t begin = larger(w->from, from), end = smaller(w->until, until);

		if (end <= begin)
			continue;
		work(from, begin, other, out);
		out[GW_IDLE_WAIT] += end - begin;
		other = GW_IDLE_AFTER_WAIT;
		from = end;
	}
	work(from, until, other, out);
}

/* Neither kernel nor copy ran. @p before: the thread's call before @p call, 0: not known. */
static void idle(const struct thread *t, uint64_t before, uint64_t call, uint64_t from,
		 uint64_t until, uint64_t out[])
{
	enum gw_idle_cause cause;

	if (until <= from)
		return;
	cause = gw_idle_cause(from, until, untimed, t ? call : 0, before);
	if (cause == GW_IDLE_HOST) {
		host(t, from, smaller(call, until), out);
		from = smaller(call, until);
		cause = GW_IDLE_LATENCY;
	}
	out[cause] += until - from;
}

/* The copy that ran first from @p from on and before @p until; false: none did. */
static bool next_copy(uint32_t ordinal, uint64_t from, uint64_t until, struct span *out)
{
	const uint32_t kept = copies[ordinal].count < COPIES ? copies[ordinal].count : COPIES;
	bool found = false;

	for (uint32_t i = 0; i < kept; i++) {
		const struct span *c = &copies[ordinal].span[i];
		const struct span cut = {larger(c->from, from), smaller(c->until, until)};

		if (cut.until > cut.from && (!found || cut.from < out->from)) {
			*out = cut;
			found = true;
		}
	}
	return found;
}

void gw_live_ran_for(uint32_t ordinal, uint64_t start_ns, uint64_t end_ns,
		     const struct gw_record_launch *r)
{
	const uint64_t call_ns = r->call_ns;
	struct thread *t = r->thread ? thread_of(r->thread, call_ns) : NULL;
	const uint64_t before = t && t->call < call_ns ? t->call : 0;
	uint64_t from_ns = gw_live_ran(ordinal, start_ns, end_ns), out[GW_LIVE_IDLE] = {0};
	struct span copy;

	if (t && call_ns > t->call)
		t->call = call_ns;
	if (!from_ns || ordinal >= GW_LIVE_DEVICES || gw_options.mode != GW_MODE_AUDIT)
		return;
	while (next_copy(ordinal, from_ns, start_ns, &copy)) {
		idle(t, before, call_ns, from_ns, copy.from, out);
		out[GW_IDLE_COPY] += copy.until - copy.from;
		from_ns = copy.until;
	}
	idle(t, before, call_ns, from_ns, start_ns, out);
	gw_live_idled(ordinal, out);
}
