/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What dlsym() and dlvsym() answer for the names of hooks.def and foreign.def: our wrapper where
 * the answer would be the driver's or libcupti's own function, and nothing else than without us
 * otherwise.
 */
#ifndef GW_LOOKUP_H
#define GW_LOOKUP_H

#include <stdbool.h>

/** What stands in for a name. */
struct gw_stand_in {
	void *own;        /**< the function of libcuda or libcupti */
	void *next;       /**< what a call by name reaches after us: its own, or another tool's */
	void *by_name;    /**< the exported wrapper, which goes on to `next` */
	void *by_address; /**< the wrapper that goes on to `own` */
};

/** For a name of hooks.def or of the two look-up functions; false for others, or without libcuda.
 */
bool gw_hook_stand_in(const char *name, struct gw_stand_in *s);

/** What the dynamic linker would have bound @p name to, had we not come first. */
void *gw_lookup_next(const char *name);

#endif
