/* Machine code of the embedded modules, by two readers, in the words of nvdisasm. */
#ifndef GW_TESTS_CODE_H
#define GW_TESTS_CODE_H

#include "predictor/code/binary/bytes.h"
#include "predictor/code/sass/sass.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Machine code as nvdisasm prints it. */

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

/* Machine code of sm_90 as our own reader of images and our own decoder tell it, in the words of
 * nvdisasm. */

/**
 * Write @p insn as nvdisasm prints it: the operation with the modifiers that sass_spell.def lists.
 * Of the operands only what the checks look at: the first register written and the first read, the
 * clock, the bank of a constant.
 */
void sass_spell(const struct gw_sass_insn *insn, struct sass_instruction *out);

/** Whether sass_spell() knows the modifiers of the operation that @p opcode begins with. */
bool sass_spelled(const char *opcode);

/** Every kernel of every cubin in @p fatbin. False with the reason in *why. */
bool sass_decode(struct gw_bytes fatbin, struct sass_listing *out, const char **why);

/*
 * The embedded modules' code, by two readers: our own, which is always there, and the vendor's
 * cuobjdump and nvdisasm where they are: on the path, or named by the variables CUOBJDUMP and
 * NVDISASM.
 */

/** True, with the reason printed, where there are no kernels. */
bool embedded_skip(void);

/** True where the vendor's tools run; else it is said that they are missing. */
bool embedded_tools(void);

/** Group set-ups of cmocka, and the tear-down of both: read all modules with our own decoder, or
 * with the vendor's tools; forget them. */
int embedded_decode(void **state);
int embedded_disassemble(void **state);
int embedded_forget(void **state);

/** The code of all modules as the group's reader returns it. */
const struct sass_listing *embedded_code(void);

#endif
