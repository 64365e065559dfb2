/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code as nvdisasm prints it. */
#ifndef GW_TESTS_SASS_TEXT_H
#define GW_TESTS_SASS_TEXT_H

#include <stddef.h>
#include <stdio.h>

/** One instruction. */
struct sass_instruction {
	char opcode[48];   /**< with its modifiers, without predicate */
	char operands[96]; /**< as printed, cut to fit */
	size_t target;     /**< of a branch to a label: the instruction it goes to; else SIZE_MAX */
};

/** One kernel's code. */
struct sass_kernel {
	char name[96];
	struct sass_instruction *code;
	size_t count;
};

/** All the kernels of a listing; sass_free. */
struct sass_listing {
	struct sass_kernel *kernels;
	size_t count;
};

/** Read what `nvdisasm -c` printed. Ends the test when there is no memory. */
struct sass_listing sass_read(FILE *in);
void sass_free(struct sass_listing *listing);

/** The kernel called @p name; NULL when there is none. */
const struct sass_kernel *sass_find(const struct sass_listing *listing, const char *name);

#endif
