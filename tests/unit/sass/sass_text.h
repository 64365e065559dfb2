/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a line of a disassembler's text says of its instruction, by tables of mnemonics that know
 * nothing of encodings: the other opinion that the decoder is checked against.
 */
#ifndef GW_SASS_TEXT_H
#define GW_SASS_TEXT_H

#include <stdbool.h>
#include <stdint.h>

enum { SASS_TEXT_REGS = 12 };

struct sass_text {
	char mnemonic[32];       /* up to the first dot */
	const char *cls, *space; /* names as in sass/opcode.def; NULL: the tables don't have it */
	const char *tensor;      /* operand type; NULL: none */
	unsigned width;          /* bits per thread of a memory operation */
	unsigned flops;          /* of a tensor instruction */
	int guard;               /* predicate; 7: always */
	bool guard_not;
	unsigned regs[SASS_TEXT_REGS]; /* general registers named, in order; R255 left out */
	unsigned reg_count;
};

/** Read @p text, "@!P0 FADD R1, R2, R3". */
void sass_text_read(struct sass_text *out, const char *text);

#endif
