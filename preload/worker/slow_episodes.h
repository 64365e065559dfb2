/* Episodes of slow launches (predictor/counters/slow.h): found as launches are learnt from, and
 * logged. Worker only. */
#ifndef GW_SLOW_EPISODES_H
#define GW_SLOW_EPISODES_H

#include "predictor/counters/clocks.h"
#include "predictor/log/record.h"
#include "preload/live/graph_sums.h"

#include <stdbool.h>

/** Start with nothing known. */
void gw_episodes_start(void);

/** A launch that was measured, while @p clock held, and @p copies of this process went on. */
void gw_episodes_launch(const struct gw_record_launch *r, const struct gw_clock_state *clock,
			bool copies);

/** A graph that was timed whole. */
void gw_episodes_graph(const struct gw_graph_time *time);

/** The log ends: write what is still going on. */
void gw_episodes_finish(void);

/** Whether a slow episode of configuration @p config is under way. */
bool gw_episodes_open(uint32_t config);

#endif
