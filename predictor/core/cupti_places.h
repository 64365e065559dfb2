/*
 * Where libcupti is looked for, in order. The preloaded library opens the first that can be opened;
 * `gpuwatch doctor` looks in the same places. Nothing is opened here.
 */
#ifndef GW_CUPTI_PLACES_H
#define GW_CUPTI_PLACES_H

#include <stdbool.h>

/**
 * Tries one place: a name for the loader to find, or, with a slash in it, a pattern of paths whose
 * last match is the newest. True ends the search.
 */
typedef bool gw_cupti_try_fn(const char *place, void *arg);

/**
 * Call @p try with each place until it is true: the loader's own, beside the CUDA library in the
 * folder @p beside, in the toolkit @p home (CUDA_HOME) and in the usual ones. Either may be NULL.
 */
bool gw_cupti_search(const char *beside, const char *home, gw_cupti_try_fn *try, void *arg);

/** The part of it that is beside a CUDA library. */
bool gw_cupti_search_beside(const char *beside, gw_cupti_try_fn *try, void *arg);

#endif
