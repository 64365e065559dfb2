/* The table made of hooks.def. */
#ifndef GW_HOOKS_H
#define GW_HOOKS_H

#include "preload/runtime/driver.h"

/** Index of every row of hooks.def. */
enum gw_hook {
#define HOOK(symbol, base, need, pt, params, args, before, after) GW_HOOK_##symbol,
#include "preload/hook/hooks.def"
#undef HOOK
	GW_HOOKS,
	GW_HOOK_LAUNCHES = 0 /**< how many of the rows, the first, are launches */
#define HOOK(symbol, base, need, pt, params, args, before, after) +1
#define HOOK_RARE(symbol, base, need, pt, params, args, before, after)
#include "preload/hook/hooks.def"
#undef HOOK
#undef HOOK_RARE
};

/** Launches pass through in mode idle; what else is hooked is followed, for when it ends. */
#define GW_LAUNCHES(symbol) (GW_HOOK_##symbol < GW_HOOK_LAUNCHES)

/** The driver's own functions, typed; NULL until resolved. */
struct gw_real {
#define HOOK(symbol, base, need, pt, params, args, before, after) CUresult(*symbol) params;
#include "preload/hook/hooks.def"
#undef HOOK
};
extern struct gw_real gw_real;

/**
 * What a call by name reaches after us: the function of a library preloaded behind us, which may
 * wrap the driver's too, or the driver's own.
 */
extern struct gw_real gw_next;

/**
 * Our wrapper for @p address, a function of libcuda that was found under @p base with
 * cuGetProcAddress @p flags; @p address itself when there is none. Remembers @p address.
 */
void *gw_hook_for(void *address, const char *base, unsigned long long flags);

/** The exported wrapper for a name of libcuda, NULL for every other name. */
void *gw_hook_wrapper_of(const char *name);

/** Fill gw_real and gw_next as far as they are not yet. */
void gw_hooks_resolve(void);

/** cuInit has succeeded: gw_on_driver_ready(), then report what the driver lacks. */
void gw_hooks_driver_ready(void);

/** gw_activate(), then report what the driver lacks. */
bool gw_hooks_activate(bool init);

#endif
