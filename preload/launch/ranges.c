#include "preload/launch/ranges.h"

#include "predictor/core/hash.h"
#include "preload/launch/launch.h"
#include "preload/launch/utf8.h"
#include "preload/runtime/options.h"

enum { PROBES = 32, EARLY = 15 };

/* Open addressing; a place is taken once and for all by its hash. */
static struct name {
	_Atomic uint64_t hash; /* 0: free */
	_Atomic uint32_t ready;
	uint32_t domain;
	char text[GW_RANGE_NAME];
} names[GW_RANGE_NAMES];
static _Atomic int full;
static _Atomic uint64_t numbers;

static void write_name(struct name *n, uint32_t domain, const char *text, size_t length)
{
	memcpy(n->text, text, length);
	n->domain = domain;
	/* Pairs with the acquire in gw_range_text(). */
	atomic_store_explicit(&n->ready, 1, memory_order_release);
}

/*
 * How much of a name is the same each time: PyTorch's emit_nvtx() numbers its operators, as in
 * "aten::add, seq = 7, op_id = 12".
 */
static size_t constant_part(const char *text)
{
	static const char *const counts[] = {", seq = ", ", op_id = "};
	size_t length = text ? strnlen(text, GW_RANGE_NAME - 1) : 0;

	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		const char *found =
			length ? memmem(text, length, counts[i], strlen(counts[i])) : NULL;

		length = found ? (size_t)(found - text) : length;
	}
	return length;
}

uint32_t gw_range_name(uint32_t domain, const char *text)
{
	size_t length = constant_part(text);
	uint64_t hash = gw_hash(gw_hash_mix(domain + 1), length ? text : "", length) | 1;

	for (unsigned i = 0; i < PROBES; i++) {
		uint32_t at = (uint32_t)(hash >> 20) + i;
		struct name *n = &names[at % GW_RANGE_NAMES];
		uint64_t there = atomic_load_explicit(&n->hash, memory_order_relaxed);

		if (!there && atomic_compare_exchange_strong(&n->hash, &there, hash)) {
			write_name(n, domain, length ? text : "", length);
			there = hash;
		}
		if (there == hash)
			return GW_RANGE_FIRST + at % GW_RANGE_NAMES;
	}
	atomic_store_explicit(&full, 1, memory_order_relaxed);
	return GW_RANGE_OTHER;
}

uint32_t gw_range_name_wide(uint32_t domain, const wchar_t *text)
{
	char narrow[GW_RANGE_NAME];
	size_t length = 0, more = 1;

	for (; text && *text && more; text++) {
		more = gw_utf8_put(narrow + length, sizeof(narrow) - 1 - length, (uint32_t)*text);
		length += more;
	}
	narrow[length] = 0;
	return gw_range_name(domain, narrow);
}

const char *gw_range_text(uint32_t id, uint32_t *domain)
{
	const struct name *n;

	*domain = 0;
	if (id < GW_RANGE_FIRST || id >= GW_RANGE_FIRST + GW_RANGE_NAMES)
		return "(other names)";
	n = &names[id - GW_RANGE_FIRST];
	/* Pairs with the release in write_name(). */
	if (!atomic_load_explicit(&n->ready, memory_order_acquire))
		return NULL;
	*domain = n->domain;
	return n->text;
}

bool gw_range_names_full(void)
{
	return atomic_load_explicit(&full, memory_order_relaxed) != 0;
}

/* Ranges that a thread is in which has launched nothing, and so has no ring. */
static _Thread_local struct {
	uint32_t depth, name[EARLY];
} early __attribute__((tls_model("initial-exec")));

/* The calling thread's record, where changes are recorded. */
static struct gw_thread *thread(void)
{
	if (!atomic_load_explicit(&gw_hot.active, memory_order_acquire))
		return NULL;
	return gw_self ? gw_self : gw_thread_register();
}

/* Launches first: half of the ring is theirs. An event that is missing leaves the depth right. */
static void change(struct gw_thread *t, enum gw_range_change what, uint32_t name, uint64_t number)
{
	struct gw_call call = {.thread = t};
	struct gw_event *e;
	uint32_t head;

	head = atomic_load_explicit(&t->head, memory_order_relaxed);
	/* Within a launch, or not kept. */
	if (t->next != head || gw_options.mode != GW_MODE_AUDIT || !atomic_load(&gw_hot.active))
		return;
	/* Pairs with the release of `tail` (worker/drain.c): the slot has been read. */
	if (head - atomic_load_explicit(&t->tail, memory_order_acquire) > t->mask / 2) {
		gw_count(GW_COUNTER_ranges_dropped, 1);
		return;
	}
	e = gw_ring_slot(&call);
	if (!e)
		return;
	e->ticks = gw_ticks();
	e->flags = call.how == GW_CALL_OUTER ? 0 : GW_EVENT_DONE;
	e->kind = GW_EVENT_RANGE;
	e->block_x = (uint16_t)what;
	e->grid[0] = name;
	e->grid[1] = (uint32_t)number;
	e->grid[2] = (uint32_t)(number >> 32);
	if (call.how == GW_CALL_OUTER)
		gw_event_end(&call, call.at);
}

void gw_ranges_enter(struct gw_thread *t)
{
	const uint32_t depth = early.depth;

	early.depth = 0;
	while (t->range_depth < depth && t->range_depth < EARLY) {
		const uint32_t name = early.name[t->range_depth];

		change(t, GW_RANGE_PUSHED, name, ++t->range_depth);
	}
	t->range_depth = depth;
}

void gw_range_push(uint32_t name)
{
	struct gw_thread *t = gw_self;

	if (t)
		change(t, GW_RANGE_PUSHED, name, ++t->range_depth);
	else if (early.depth++ < EARLY)
		early.name[early.depth - 1] = name;
}

void gw_range_pop(void)
{
	struct gw_thread *t = gw_self;

	if (!t)
		early.depth -= early.depth != 0;
	else if (t->range_depth)
		change(t, GW_RANGE_POPPED, 0, --t->range_depth);
}

uint64_t gw_range_start(uint32_t name)
{
	struct gw_thread *t = thread();
	uint64_t number = atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1;

	if (t)
		change(t, GW_RANGE_STARTED, name, number);
	return number;
}

void gw_range_end(uint64_t number)
{
	struct gw_thread *t = thread();

	if (t)
		change(t, GW_RANGE_ENDED, 0, number);
}
