/* SPDX-License-Identifier: Apache-2.0 */
/* Block shape and shared memory of the launches of CUDA 1, which are set on the function. */
#ifndef GW_SHAPES_H
#define GW_SHAPES_H

#include "preload/runtime/driver.h"

#include <stdint.h>

void gw_shape_block(CUfunction f, int x, int y, int z);
void gw_shape_shared(CUfunction f, unsigned bytes);

#endif
