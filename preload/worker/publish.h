/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions published for the launch path. Worker only. */
#ifndef GW_CELLS_H
#define GW_CELLS_H

/** Make predictions anew from what was observed and publish those that changed. */
void gw_publish_predictions(void);

#endif
