/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that build the graph; for no one else. */
#ifndef GW_CODE_CFG_PARTS_H
#define GW_CODE_CFG_PARTS_H

#include "predictor/code/sass/cfg.h"

/** Fill the blocks' entry, idom and loop, and loops[]. An instruction whose @p flags have
 *  @p function begins one. False when the arena is full. */
bool gw_cfg_find_loops(struct gw_cfg *cfg, const uint8_t *flags, uint8_t function,
                       struct gw_arena *arena);

#endif
