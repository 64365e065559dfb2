/*
 * Puts launches, which stand in a log about as they ended, in the order in which they began: as
 * many are held as may have ended before one that began earlier. Those that come in order, almost
 * all, wait in a queue; the others in a heap.
 */
#ifndef GW_CLI_SORTER_H
#define GW_CLI_SORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GW_SORTER_ROOM = 4096 }; /**< launches held */

/** Zero-initialised is empty, and has no memory yet. */
struct gw_sorter {
	uint64_t *starts; /**< by slot */
	uint32_t *queue;  /**< slots, a ring in ascending order of their starts */
	uint32_t *heap;   /**< slots, the least start first */
	uint32_t *unused; /**< slots */
	size_t queue_first, queue_count, heap_count, unused_count;
};

/** Whether there is room for no more: take one first. */
bool gw_sorter_full(const struct gw_sorter *sorter);
/** Launches held. */
size_t gw_sorter_count(const struct gw_sorter *sorter);
/** Hold a launch that began at @p start: its slot, below GW_SORTER_ROOM, by which the caller keeps
 * the rest of it. */
uint32_t gw_sorter_add(struct gw_sorter *sorter, uint64_t start);
/** Slot of the launch that began first, which is held no longer; there is one. */
uint32_t gw_sorter_take(struct gw_sorter *sorter);
void gw_sorter_free(struct gw_sorter *sorter);

#endif
