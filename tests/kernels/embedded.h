/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The embedded modules' code, by two readers: our own, which is always there, and the vendor's
 * cuobjdump and nvdisasm where they are: on the path, or named by the variables CUOBJDUMP and
 * NVDISASM.
 */
#ifndef GW_TESTS_EMBEDDED_H
#define GW_TESTS_EMBEDDED_H

#include <stdbool.h>

#include "tests/kernels/sass_text.h"

/** True, with the reason printed, where there are no kernels. */
bool embedded_skip(void);

/** True where the vendor's tools run; else it is said that they are missing. */
bool embedded_tools(void);

/** Group set-ups of cmocka, and the tear-down of both: read all modules with our own decoder, or
 * with the vendor's tools; forget them. */
int embedded_decode(void **state);
int embedded_disassemble(void **state);
int embedded_forget(void **state);

/** The code of all modules as the group's reader tells it. */
const struct sass_listing *embedded_code(void);

#endif
