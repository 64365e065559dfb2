/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GW_RECYCLE_H
#define GW_RECYCLE_H

#include <stdint.h>

/**
 * Free the slots of streams and graphs that ended before @p until, ticks: the worker has seen all
 * events that were there then. Worker only.
 */
void gw_recycle(uint64_t until);

#endif
