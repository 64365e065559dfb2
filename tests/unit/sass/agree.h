/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder beside the disassembler, instruction by instruction. */
#ifndef GW_AGREE_H
#define GW_AGREE_H

#include "tests/unit/sass/listing.h"

struct agreement {
	unsigned insns;
	unsigned known;   /* opcodes that the list has */
	unsigned cls;     /* class and space agree */
	unsigned details; /* width, guard, tensor type and size agree as well */
	unsigned regs;    /* the general registers named in the text are those decoded */
	unsigned compute; /* instructions whose registers are compared: arithmetic, moves, loads,
	                     stores */
};

/** Compare all of @p listing as code of @p sm; what disagrees goes to stderr, 10 lines at most. */
struct agreement agree(const struct listing *listing, unsigned sm);

#endif
