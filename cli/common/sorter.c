#include "cli/common/sorter.h"

#include "cli/common/memory.h"

#include <stdlib.h>

static void make_room(struct gw_sorter *s)
{
	s->starts = gw_alloc(GW_SORTER_ROOM * sizeof(*s->starts));
	s->queue = gw_alloc(GW_SORTER_ROOM * sizeof(*s->queue));
	s->heap = gw_alloc(GW_SORTER_ROOM * sizeof(*s->heap));
	s->unused = gw_alloc(GW_SORTER_ROOM * sizeof(*s->unused));
	while (s->unused_count < GW_SORTER_ROOM) {
		s->unused[s->unused_count] = (uint32_t)s->unused_count;
		s->unused_count++;
	}
}

static uint64_t heap_start(const struct gw_sorter *s, size_t at)
{
	return s->starts[s->heap[at]];
}

static void exchange(struct gw_sorter *s, size_t a, size_t b)
{
	uint32_t other = s->heap[a];

	s->heap[a] = s->heap[b];
	s->heap[b] = other;
}

static void heap_add(struct gw_sorter *s, uint32_t slot)
{
	size_t at = s->heap_count++;

	s->heap[at] = slot;
	for (; at && heap_start(s, (at - 1) / 2) > heap_start(s, at); at = (at - 1) / 2)
		exchange(s, at, (at - 1) / 2);
}

static uint32_t heap_take(struct gw_sorter *s)
{
	uint32_t slot = s->heap[0];

	s->heap[0] = s->heap[--s->heap_count];
	for (size_t at = 0, next; (next = 2 * at + 1) < s->heap_count; at = next) {
		if (next + 1 < s->heap_count && heap_start(s, next + 1) < heap_start(s, next))
			next++;
		if (heap_start(s, at) <= heap_start(s, next))
			break;
		exchange(s, at, next);
	}
	return slot;
}

static uint64_t queue_start(const struct gw_sorter *s, size_t at)
{
	return s->starts[s->queue[(s->queue_first + at) % GW_SORTER_ROOM]];
}

bool gw_sorter_full(const struct gw_sorter *s)
{
	return s->starts && !s->unused_count;
}

size_t gw_sorter_count(const struct gw_sorter *s)
{
	return s->queue_count + s->heap_count;
}

uint32_t gw_sorter_add(struct gw_sorter *s, uint64_t start)
{
	uint32_t slot;

	if (!s->starts)
		make_room(s);
	slot = s->unused[--s->unused_count];
	s->starts[slot] = start;
	if (s->queue_count && start < queue_start(s, s->queue_count - 1))
		heap_add(s, slot);
	else
		s->queue[(s->queue_first + s->queue_count++) % GW_SORTER_ROOM] = slot;
	return slot;
}

uint32_t gw_sorter_take(struct gw_sorter *s)
{
	uint32_t slot;

	if (s->heap_count && (!s->queue_count || heap_start(s, 0) < queue_start(s, 0))) {
		slot = heap_take(s);
	} else {
		slot = s->queue[s->queue_first];
		s->queue_first = (s->queue_first + 1) % GW_SORTER_ROOM;
		s->queue_count--;
	}
	s->unused[s->unused_count++] = slot;
	return slot;
}

void gw_sorter_free(struct gw_sorter *s)
{
	free(s->starts);
	free(s->queue);
	free(s->heap);
	free(s->unused);
	*s = (struct gw_sorter){0};
}
