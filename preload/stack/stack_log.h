/*
 * Stacks of first launches (launch/stacks.h) become records: unwound, each frame and object written
 * once, and one STACK for a configuration. A copy of a stack ends here: addresses alone go to the
 * log. Worker only.
 */
#ifndef GW_STACK_LOG_H
#define GW_STACK_LOG_H

#include "predictor/core/types.h"

#include <stdbool.h>
#include <stdint.h>

/** Begin anew; @p config gives the id of a configuration, as gw_launches_config(). */
void gw_stacks_log_start(uint32_t (*config)(uint32_t kernel, uint32_t device,
					    const struct gw_config *shape));

/** Whether launches of configuration @p config are to leave a stack though they have a prediction:
 * it began before stacks were wanted. */
bool gw_stack_lacks(uint32_t config);

/** Write the stacks that wait, a few in a round. */
void gw_stacks_log(uint64_t now_ns);

#endif
