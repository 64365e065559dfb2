/*
 * One account of the memory that the library takes in the application's process, and its limit
 * (GPUWATCH_MEMORY_MAX). A room that keeps something takes its bytes here first; where they are
 * refused it does without, counts what that costs, and the report names the use. Any thread; no
 * lock.
 */
#ifndef GW_PRELOAD_MEMORY_H
#define GW_PRELOAD_MEMORY_H

#include "preload/maps/state.h"

enum gw_memory_use {
#define USE(name, eighths) GW_MEMORY_##name,
#include "preload/maps/memory.def"
#undef USE
	GW_MEMORY_USES
};

/** Take @p size bytes for @p use; false where its limit would be passed, which is announced. */
bool gw_memory_take(enum gw_memory_use use, size_t size);

/** How much more could be taken for @p use now. */
uint64_t gw_memory_left(enum gw_memory_use use);

/** As gw_memory_take() for what no run can do without: taken also beyond the limit. */
void gw_memory_take_anyway(enum gw_memory_use use, size_t size);

/** @p size bytes of those taken are free again. */
void gw_memory_give(enum gw_memory_use use, size_t size);

/** Zeroed memory of the heap, its bytes taken; NULL where there is none. */
void *gw_memory_new(enum gw_memory_use use, size_t count, size_t size);

/**
 * Make room at @p at, of gw_memory_new() or NULL, for @p count things of @p size where there was
 * room for @p had; what is new is zeroed. NULL where there is no room: @p at stays as it was.
 */
void *gw_memory_wider(enum gw_memory_use use, void *at, size_t had, size_t count, size_t size);

/** Give back what gw_memory_new() or gw_memory_wider() gave. */
void gw_memory_free(enum gw_memory_use use, void *at, size_t count, size_t size);

/**
 * Address space for a table of which pages are touched as it fills. It is never locked into memory,
 * whatever the program asked of mlockall(). NULL where there is none. Its bytes are taken by
 * whoever fills it.
 */
void *gw_memory_reserve(size_t size);

/**
 * The same for a table of fixed size, whose bytes are taken at once. Without one of them the
 * library is off (gw_memory_tables()), so that nobody need look whether there is one. What lies in
 * the library's own data a collector of the program's that is conservative, as Boehm's, searches
 * each time: large tables do not.
 */
void *gw_memory_table(size_t size);

/** Whether each table that was asked for is there. */
bool gw_memory_tables(void);

/** Bytes taken now, in all, and the most that ever were. */
uint64_t gw_memory_now(void);
uint64_t gw_memory_peak(void);

/** Set the counters memory_*. */
void gw_memory_counters(uint64_t out[GW_COUNTERS]);

/** Take for the tables of fixed size what they can take, here and in the library's own data. */
void gw_memory_fixed(void);

/** Nothing is taken: a forked child leaves its parent's memory alone. */
void gw_memory_start(void);

#endif
