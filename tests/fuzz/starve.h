/*
 * Too little memory, for the readers that have a limit: an arena refuses one of the allocations
 * made of it, and those behind it or not. The linker leads their calls here (--wrap), so that each
 * of some hundred is as likely to be the one; a limit in bytes would mostly lie in the few large
 * ones.
 */
#ifndef GW_FUZZ_STARVE_H
#define GW_FUZZ_STARVE_H

#include "predictor/code/binary/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(int condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "%s\n", what);
		abort();
	}
}

/* From here on allocations are counted, and the one numbered @p at (from 1; 0: none) is refused;
 * with @p all behind it, too, as when memory is out, else not, as when only it was too large. */
void starve(uint64_t at, bool all);

/* Whether one was refused since: of any arena, as some work in one of their own. */
bool starve_refused(void);

/* To be called after an input ran with enough: refuses what its bytes choose of
 * what it made, and those behind it or not: each mutation tries another. */
void starve_by(const uint8_t *data, size_t size);

/* @p analyse on a text; one length of sixteen also finds out what happens without enough. */
void starve_text(const uint8_t *data, size_t size, void (*analyse)(struct gw_bytes text));

#endif
