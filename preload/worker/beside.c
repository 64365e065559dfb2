#include "preload/worker/parts.h"

#include "preload/cupti/activity.h"
#include "preload/runtime/clock.h"

#include <string.h>

enum {
	LANES = 16,  /* streams that are known at once; the one unused longest makes room */
	SPANS = 256, /* of each, the latest */
};

/* The stamps of two kernels that follow each other may cross by 0.1 to 0.2 us on the H200. */
static const uint64_t CROSSING_NS = 256;
/* Between kernels that follow each other: together they are one span. */
static const uint64_t GAP_NS = 2000;
static const uint64_t COPIES = UINT64_C(1) << 63; /* of a stream's copies, in its key */

struct span {
	uint64_t start, end;
};

/* What ran in a stream, by time: only its first look is at records out of order. */
static struct lane {
	uint64_t key;
	uint32_t device;
	uint32_t count; /* spans ever added */
	struct span spans[SPANS];
} lanes[LANES];
static unsigned latest;          /* the lane of the last record */
static uint64_t last_end[2][64]; /* by device: end of the latest kernel seen; of those ahead */

void gw_beside_start(void)
{
	memset(lanes, 0, sizeof(lanes));
	memset(last_end, 0, sizeof(last_end));
}

void gw_beside_clock_set(int64_t by)
{
	memset(lanes, 0, sizeof(lanes));
	if (by > 0)
		return;
	memcpy(last_end[1], last_end[0], sizeof(last_end[1]));
	memset(last_end[0], 0, sizeof(last_end[0]));
}

static struct span *at(struct lane *l, uint32_t number)
{
	return &l->spans[number % SPANS];
}

static uint32_t oldest(const struct lane *l)
{
	return l->count > SPANS ? l->count - SPANS : 0;
}

static uint64_t end_of(struct lane *l)
{
	return l->count ? at(l, l->count - 1)->end : 0;
}

static struct lane *lane_of(uint32_t device, uint64_t key)
{
	struct lane *unused = &lanes[0];

	if (lanes[latest].count && lanes[latest].key == key && lanes[latest].device == device)
		return &lanes[latest];
	for (unsigned i = 0; i < LANES; i++) {
		struct lane *l = &lanes[i];

		if (l->count && l->key == key && l->device == device) {
			latest = i;
			return l;
		}
		if (end_of(l) < end_of(unused))
			unused = l;
	}
	latest = (unsigned)(unused - lanes);
	unused->key = key;
	unused->device = device;
	unused->count = 0;
	return unused;
}

/* Threads that share a stream have their records out of order. */
static void put(struct lane *l, uint64_t start, uint64_t end)
{
	uint32_t n = l->count;
	struct span *last = n ? at(l, n - 1) : NULL;

	if (last && start >= last->start && start <= last->end + GAP_NS) {
		last->end = end > last->end ? end : last->end;
		return;
	}
	l->count++;
	for (; n > oldest(l) && at(l, n - 1)->start > start; n--)
		*at(l, n) = *at(l, n - 1);
	*at(l, n) = (struct span){start, end};
}

void gw_beside_kernel_ran(const struct gw_activity *a)
{
	if (a->start && a->end > a->start)
		put(lane_of(a->device, (uint64_t)a->context << 32 | a->stream), a->start, a->end);
}

void gw_beside_copy_ran(const struct gw_copy *copy)
{
	if (copy->start && copy->end > copy->start)
		put(lane_of(copy->device, COPIES | copy->stream), copy->start, copy->end);
}

/* For how long of [start, end] something ran in the lane. */
static uint64_t shared(struct lane *l, uint64_t start, uint64_t end)
{
	uint32_t low = oldest(l), high = l->count;
	uint64_t sum = 0;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (at(l, middle)->end <= start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < l->count && at(l, low)->start < end; low++) {
		const struct span *s = at(l, low);

		sum += (s->end < end ? s->end : end) - (s->start > start ? s->start : start);
	}
	return sum;
}

struct gw_beside gw_beside_of(const struct gw_activity *a)
{
	const uint64_t key = (uint64_t)a->context << 32 | a->stream, took = a->end - a->start;
	const uint64_t least = took / 50 > CROSSING_NS ? took / 50 : CROSSING_NS;
	uint64_t *last = &last_end[gw_clock_ahead(a->end)][a->device & 63];
	struct gw_beside b = {.kernels = a->start + least < *last};

	*last = a->end > *last ? a->end : *last;
	for (unsigned i = 0; i < LANES; i++) {
		struct lane *l = &lanes[i];
		uint64_t ran;

		if (!l->count || l->device != a->device || l->key == key || end_of(l) <= a->start)
			continue;
		ran = shared(l, a->start, a->end);
		if (l->key & COPIES)
			b.copies |= ran >= took / 10 && ran > CROSSING_NS;
		else
			b.kernels |= ran > least;
	}
	return b;
}
