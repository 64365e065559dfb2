/*
 * Memory for the command line: it is a short-lived process of its own, so running out of
 * memory ends it with one message (status 2). Never linked into the preloaded library.
 */
#ifndef GW_MEMORY_H
#define GW_MEMORY_H

#include <stddef.h>

/** Zeroed memory, at least one byte; never NULL. free() it. */
void *gw_alloc(size_t size);
/** The same, not zeroed. */
void *gw_alloc_raw(size_t size);
/** A copy of @p text; free() it. */
char *gw_copy(const char *text);
/** Where there is none yet, gw_grow(). */
void *gw_grow_more(void *array, size_t *room, size_t needed, size_t size);
/**
 * Make room for @p needed elements of @p size bytes in @p array, which has *room of them: the
 * array, perhaps moved, the new part zeroed.
 */
static inline void *gw_grow(void *array, size_t *room, size_t needed, size_t size)
{
	return needed <= *room ? array : gw_grow_more(array, room, needed, size);
}
/** The same of the array that the pointer @p array stands for. */
#define GW_GROW(array, room, needed) ((array) = gw_grow(array, room, needed, sizeof(*(array))))

#endif
