/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the numbers of a stream or graph, or a kernel's name, are unknown, a launch and its
 * record cannot be matched and would be logged twice; whichever arrives second is dropped. Worker
 * only.
 */
#ifndef GW_UNPAIRED_H
#define GW_UNPAIRED_H

#include <stdbool.h>
#include <stdint.h>

/** Start with none. */
void gw_unpaired_start(void);

/** A launch of configuration @p config (0: not known), in a graph or not, that met no record: false
 * when its record was written, without it. */
bool gw_unpaired_launch(uint32_t config, bool graph);

/** The same of a record that met no launch. */
bool gw_unpaired_record(uint32_t config, bool graph);

#endif
