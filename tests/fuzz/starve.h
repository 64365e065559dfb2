/* SPDX-License-Identifier: Apache-2.0 */
/* Too little memory, for the readers that have a limit. */
#ifndef GW_FUZZ_STARVE_H
#define GW_FUZZ_STARVE_H

#include "predictor/code/bytes.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A limit below the @p used bytes that the same input took where there was enough. The input's
 * bytes choose it, so that each mutation tries another: within minutes every allocation has been
 * the one that fails, the many small ones at the beginning too, as small limits come as often as
 * large ones.
 */
static inline size_t starve_limit(const uint8_t *data, size_t size, size_t used)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ data[i]) * UINT64_C(1099511628211);
	used >>= hash >> 61;
	return used ? (size_t)(hash >> 8 & UINT32_MAX) % used : 0;
}

/* Of memory that a text takes: the tables of names, before anything of it is read (ptx_names.c). */
enum { STARVE_TABLES = 2 * (64 << 10) };

/* @p analyse, which tells the memory it took, on a text with @p limit bytes; one length of sixteen
 * also finds out what happens without enough, mostly with enough for the tables: what comes behind
 * them is little and fails in many places, they are much and fail in two. */
static inline void starve_text(const uint8_t *data, size_t size, size_t limit,
                               size_t (*analyse)(struct gw_bytes text, size_t limit))
{
	struct gw_bytes text = {size ? data : NULL, size};
	size_t used = analyse(text, limit), tables = size % 64 == 14 ? 0 : STARVE_TABLES;

	if (size % 16 == 14 && used > tables)
		analyse(text, tables + starve_limit(data, size, used - tables));
}

#endif
