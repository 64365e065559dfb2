/*
 * Memory of one analysis: taken piece by piece, given back all at once, and bounded, so that no
 * input, however hostile, makes the process that we are a guest in grow without limit.
 */
#ifndef GW_ARENA_H
#define GW_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct gw_arena_chunk;

/** An arena; all zero but `limit` is an empty one. Not for several threads at a time. */
struct gw_arena {
	size_t limit;                  /**< most bytes it may hold */
	size_t used;                   /**< bytes it holds, its own bookkeeping included */
	bool refused;                  /**< an allocation failed: the limit, or no memory */
	struct gw_arena_chunk *chunks; /**< newest first */
};

/**
 * From here on each arena asks @p take before it takes bytes of the system, is refused them where
 * that says no, and says @p give when they go back. At most once, before the first arena.
 */
void gw_arena_account(bool (*take)(size_t bytes), void (*give)(size_t bytes));

/** An empty arena of at most @p limit bytes. */
void gw_arena_init(struct gw_arena *arena, size_t limit);

/** @p count elements of @p size bytes, zeroed, aligned for any object; NULL when that overflows,
 *  exceeds the limit or the system has no memory (`refused` is then set). Freed with the arena. */
void *gw_arena_array(struct gw_arena *arena, size_t count, size_t size);

/** The same, but not zeroed: for large arrays of which what is read is written before. */
void *gw_arena_room(struct gw_arena *arena, size_t count, size_t size);

/** A copy of @p size bytes; NULL as for gw_arena_array(). */
void *gw_arena_copy(struct gw_arena *arena, const void *bytes, size_t size);

/** A copy of the @p length bytes at @p text, terminated; NULL as for gw_arena_array(). */
char *gw_arena_text(struct gw_arena *arena, const char *text, size_t length);

/** Give everything back; the arena is empty and may be used again. */
void gw_arena_free(struct gw_arena *arena);

#endif
