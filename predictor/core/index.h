/*
 * A hash index: from a 64-bit key to a position in an array of the caller. Memory grows with
 * what is in it, never with the size of a key, so a log's ids may be any numbers.
 */
#ifndef GW_INDEX_H
#define GW_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Zero-initialised is empty. Free with gw_index_free. */
struct gw_index {
	uint64_t *keys;
	uint32_t *slots; /* position + 1; 0: empty */
	size_t room, used;
};

/** Whether the element at @p position is the one looked for. */
typedef bool gw_index_same(const void *arg, uint32_t position);

enum { GW_INDEX_NONE = UINT32_MAX };

/**
 * Position of the element with @p key for which @p same says so (NULL: the key alone decides);
 * GW_INDEX_NONE when there is none.
 */
uint32_t gw_index_find(const struct gw_index *index, uint64_t key, gw_index_same *same,
		       const void *arg);

/** Add @p position under @p key; false without memory for it, with the index as it was. */
bool gw_index_try_add(struct gw_index *index, uint64_t key, uint32_t position);

void gw_index_free(struct gw_index *index);

#endif
