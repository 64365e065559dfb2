/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for the command line: it is a short-lived process of its own, so running out of
 * memory ends it with one message (status 2). Never linked into the preloaded library.
 */
#ifndef GW_MEMORY_H
#define GW_MEMORY_H

#include <stddef.h>

/** Zeroed memory, at least one byte; never NULL. free() it. */
void *gw_alloc(size_t size);
/** A copy of @p text; free() it. */
char *gw_copy(const char *text);
/**
 * Make room for @p count elements of @p size bytes in @p array, which has *room of them: the
 * array, perhaps moved, the new part zeroed.
 */
void *gw_grow(void *array, size_t *room, size_t count, size_t size);

#endif
