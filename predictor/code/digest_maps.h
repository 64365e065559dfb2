/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps among a kernel's parameters, for the layout of its argument hash (digest.h). */
#ifndef GW_CODE_DIGEST_MAPS_H
#define GW_CODE_DIGEST_MAPS_H

#include "predictor/code/digest.h"
#include "predictor/code/ir/reach.h"

/** What a map among the parameters says of its tensor, but for the address. May come several times.
 */
typedef void gw_digest_map_found(void *arg, const struct gw_digest_word *map);

/**
 * Find the maps that the copies of a program go through among its @p count parameters, which are
 * laid out by @p param. @p r is a search on the program that has ended: its marks are used here.
 */
void gw_digest_maps(struct gw_reach *r, const struct gw_code_param *param, uint32_t count,
                    gw_digest_map_found *found, void *arg);

#endif
