/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted of a kernel that it does because it is watched. */
#ifndef GW_ADDED_H
#define GW_ADDED_H

#include "predictor/core/types.h"

/** Take it off what was counted of a launch of @p config (an id of the log). Worker only. */
void gw_subtract_cupti_overhead(uint32_t config, struct gw_work *counted);

#endif
