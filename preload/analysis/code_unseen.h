/*
 * The code of kernels of which no hook saw the module loaded: looked for by name in what libcupti
 * reported and in the fat binaries of the process's objects. A name that stands for different code
 * is nobody's. Worker only.
 */
#ifndef GW_CODE_UNSEEN_H
#define GW_CODE_UNSEEN_H

#include "preload/analysis/code.h"
#include "preload/maps/state.h"

enum { GW_CODE_SEARCH_MAX = 128 << 20 }; /**< bytes of unpacked code that are ever searched */

/**
 * The code of @p kernel, machine code in @p arena and else where it is held. False, with the
 * reason, where there is none or it is not certain which.
 */
bool gw_code_unseen(const struct gw_kernel_slot *kernel, struct gw_arena *arena,
		    struct gw_code *out);

/** Start with nothing known. */
void gw_code_unseen_start(void);

#endif
