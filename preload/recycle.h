/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GW_RECYCLE_H
#define GW_RECYCLE_H

/** Free the slots of ended streams and graphs that no event can name any more. Worker only. */
void gw_recycle(void);

#endif
