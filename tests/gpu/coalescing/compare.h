/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of the coalescing test with what was counted of them. */
#ifndef GW_COALESCING_COMPARE_H
#define GW_COALESCING_COMPARE_H

#include "predictor/code/binary/bytes.h"
#include "predictor/core/types.h"

enum counted {
	COUNTED_LOAD_REQUESTS,
	COUNTED_LOAD_SECTORS,
	COUNTED_LOAD_HITS,
	COUNTED_STORE_REQUESTS,
	COUNTED_STORE_SECTORS,
	COUNTED_SHARED_LOADS,
	COUNTED_SHARED_WAVEFRONTS,
	COLD_DRAM_READ, /**< this and what follows: with the caches emptied before */
	COLD_DRAM_WRITE,
	COUNTED,
};

/** A launch. */
struct launched {
	char label[64], kernel[64];
	struct gw_config config;
	uint8_t arguments[256];
	size_t argument_bytes;
	double value[COUNTED]; /**< NaN: not counted */
};

static inline double launched_value(const struct launched *l, enum counted c)
{
	return l->value[c];
}

/** A file's bytes; ends the program when it can't be read. */
struct gw_bytes read_whole(const char *path);

/** The launches of a results folder with their counters; ends the program where it can't. */
struct launched *read_launches(const char *folder, size_t *count);

#endif
