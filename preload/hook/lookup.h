/*
 * What dlsym() and dlvsym() answer for the names of hooks.def and other_profiler.def: our wrapper
 * where the answer would be the driver's or libcupti's own function, and nothing else than without
 * us otherwise.
 */
#ifndef GW_LOOKUP_H
#define GW_LOOKUP_H

#include "preload/runtime/linker/export.h"

#include <stdbool.h>

/** For a name of hooks.def or of the two look-up functions; false for others, or without libcuda.
 */
bool gw_hook_stand_in(const char *name, struct gw_stand_in *s);

/** What the dynamic linker would have bound @p name to, had we not come first. */
void *gw_lookup_next(const char *name);

/** What our dlsym answers: @p answered 0 means the next is to be asked, as if by the @p caller. */
struct gw_dl_answer {
	void *address;
	long answered;
};
struct gw_dl_answer gw_dlsym_filter(void *handle, const char *name, void *caller);
struct gw_dl_answer gw_dlvsym_filter(void *handle, const char *name, const char *version,
				     void *caller);

#endif
