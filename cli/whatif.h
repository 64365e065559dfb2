/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `gpuwatch whatif` share. */
#ifndef GW_WHATIF_H
#define GW_WHATIF_H

#include "cli/device_set.h"

/** Whether the file at @p path begins like a log of libgpuwatch, compressed or not. */
bool whatif_is_log(const char *path);

/**
 * Say what the log at @p path holds, and that it does not hold the counted work that a prediction
 * for another device needs. Returns the exit status.
 */
int whatif_log(const char *path, const struct device_set *devices, bool json);

#endif
