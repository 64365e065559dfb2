/*
 * Mode and budget of the running process, which gpuwatch ctl asks for through the live segment.
 * Worker only.
 */
#ifndef GW_CONTROL_H
#define GW_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/** Start in the mode of gw_options. @p forbidden: kernels of this process can't be timed. */
void gw_control_start(bool forbidden);

/** Once a round, at @p now_ns of the steady clock: obey a request, or go back as an earlier one
 * said. */
void gw_control_tick(uint64_t now_ns);

/** The log has begun: it is to say how the process came into its mode. */
void gw_control_logged(void);

#endif
