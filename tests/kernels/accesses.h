/* SPDX-License-Identifier: Apache-2.0 */
/* Does a stretch of machine code access memory as a memory microbenchmark claims it does? */
#ifndef GW_TESTS_ACCESSES_H
#define GW_TESTS_ACCESSES_H

#include <stdbool.h>

#include "tests/kernels/sass_text.h"

enum { ACCESSES_WHY = 512 }; /**< room for the reason of a refusal */

/**
 * What lies between reading number @p reading of the clock, from 0, and the next accesses memory by
 * exactly @p claimed ("LDG.E*4 STS": in any order), in the notation of kernels/memory_code.def.
 * False with the reason in @p why.
 */
bool accesses_timed(const struct sass_kernel *kernel, unsigned reading, const char *claimed,
                    char why[ACCESSES_WHY]);

/** Some loop of the kernel, with the loops inside it, does. */
bool accesses_loop(const struct sass_kernel *kernel, const char *claimed, char why[ACCESSES_WHY]);

#endif
