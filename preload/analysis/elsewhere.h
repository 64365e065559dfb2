/*
 * Which memory the arguments of a launch point into: how large it is, and whether it is the GPU's
 * own or memory of the host that is mapped, or managed memory. A kernel that accesses the latter in
 * place is bound by the bus, or by pages that move, of which the profile has nothing.
 */
#ifndef GW_ELSEWHERE_H
#define GW_ELSEWHERE_H

#include "predictor/code/static_code.h"
#include "preload/maps/state.h"

/**
 * The allocations that words of @p arguments (NULL: none) point into, at most @p most of them, into
 * @p found. Returns their number; 0 where the driver does not say. Worker only: it asks the driver,
 * for each word that may be an address, a few microseconds.
 */
uint32_t gw_elsewhere(const struct gw_arguments *arguments, struct gw_static_memory *found,
		      uint32_t most);

/** Whether any of them is not the GPU's own memory. */
bool gw_elsewhere_any(const struct gw_static_memory *found, uint32_t count);

#endif
