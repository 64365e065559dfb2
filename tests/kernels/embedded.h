/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded modules, disassembled by cuobjdump and nvdisasm: from the path, or those that the
 * variables CUOBJDUMP and NVDISASM name. */
#ifndef GW_TESTS_EMBEDDED_H
#define GW_TESTS_EMBEDDED_H

#include <stdbool.h>

#include "tests/kernels/sass_text.h"

/** True, with the reason printed, where there are no kernels or no tools to read them. */
bool embedded_skip(void);

/** Group set-up and tear-down of cmocka: disassemble all modules; forget them. */
int embedded_load(void **state);
int embedded_forget(void **state);

/** The code of all modules. */
const struct sass_listing *embedded_code(void);

#endif
