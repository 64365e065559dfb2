/* SPDX-License-Identifier: Apache-2.0 */
/* Which configuration a launch is of, by its event. Worker only. */
#ifndef GW_LAUNCH_CONFIG_H
#define GW_LAUNCH_CONFIG_H

#include "preload/maps/state.h"

#include <stdbool.h>

/** Number of the device whose stream it went to, from 1; 0 when that is not known. */
uint32_t gw_launch_device(const struct gw_event *e);

/**
 * Id of the configuration of an event, 0 when there is none. @p read: the cell that the launch read
 * was of this very configuration.
 */
uint32_t gw_launch_config(const struct gw_event *e, bool *read);

#endif
