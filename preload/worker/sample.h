/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which launches are logged one by one where the others go into sums (mode watch): a few each
 * second, and more of configurations in a slow episode. Worker only.
 */
#ifndef GW_SAMPLE_H
#define GW_SAMPLE_H

#include "predictor/log/record.h"

#include <stdbool.h>
#include <stdint.h>

void gw_sample_start(void);

/** A round begins at @p now_ns of the steady clock. */
void gw_sample_tick(uint64_t now_ns);

/** Whether @p r is to be logged by itself. Each call that says so uses up what this second has. */
bool gw_sample_takes(const struct gw_record_launch *r);

#endif
