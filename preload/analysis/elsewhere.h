/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which arguments of a launch point to memory that is not the GPU's own: memory of the host that is
 * mapped, and managed memory. A kernel that accesses it in place is bound by the bus, or by pages
 * that move, of which the profile has nothing.
 */
#ifndef GW_ELSEWHERE_H
#define GW_ELSEWHERE_H

#include "predictor/code/static_code.h"
#include "preload/maps/state.h"

/**
 * The ranges of memory elsewhere that words of @p arguments (NULL: none) point into, at most @p
 * most of them, into @p found. Returns their number; 0 where the driver does not say. Worker only:
 * it asks the driver, for each word that may be an address, a microsecond.
 */
uint32_t gw_elsewhere(const struct gw_arguments *arguments, struct gw_static_elsewhere *found,
                      uint32_t most);

#endif
