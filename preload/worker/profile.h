/* The device profiles in use, one a GPU: found by its name, given to its predictor, kept in the
 * log. */
#ifndef GW_PRELOAD_PROFILE_H
#define GW_PRELOAD_PROFILE_H

#include "predictor/learner/predictor_set.h"

/** Start without profiles; those found are given to @p predictors, which stay the caller's. */
void gw_device_profile_start(struct gw_predictor_set *predictors);

/**
 * The program uses the GPU called @p name, which is device @p id of the log: take the profile of
 * that name into use for it, where none was looked for yet. Worker only; reads files, some 5 ms,
 * once a GPU.
 */
void gw_device_profile_use(uint32_t id, const char *name);

#endif
