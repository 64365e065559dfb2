/* SPDX-License-Identifier: Apache-2.0 */
/* New configurations are announced to the predictor, in the order of the log. Worker only. */
#ifndef GW_CONFIGURE_H
#define GW_CONFIGURE_H

#include "predictor/learner/predictor_set.h"

/** Start with none announced. */
void gw_configure_start(void);

/**
 * Announce those that the registry has made since, before anything else is done with them. One of
 * launches whose arguments are known better now goes on from an earlier one (SUCCESSOR).
 */
void gw_configure_new(struct gw_predictor_set *fleet);

#endif
