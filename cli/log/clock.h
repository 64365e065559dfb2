/* What logs say of clocks and of slow launches: CLOCK and SLOW records, put together. */
#ifndef GW_LOG_CLOCK_H
#define GW_LOG_CLOCK_H

#include "cli/common/index.h"
#include "cli/log/reader.h"
#include "cli/common/quantile.h"
#include "predictor/counters/slow.h"
#include "predictor/core/types.h"

enum {
	GW_CLOCK_REASONS = 16, /**< bits of CLOCK's reasons that are counted separately */
	GW_SLOW_MOST = 4096,   /**< episodes kept; more are counted */
};

/** How many causes there are. */
enum {
#define SLOW_CAUSE(NAME, name, meaning) GW_SLOW_ORDER_##NAME,
#include "predictor/log/slow.def"
#undef SLOW_CAUSE
	GW_SLOW_CAUSES
};

/** Clock samples of one GPU; zero-initialised is none. */
struct log_clocks {
	uint64_t samples;
	uint64_t held;                        /**< samples in which anything held a clock down */
	uint64_t by_reason[GW_CLOCK_REASONS]; /**< samples by bit, from the lowest */
	uint64_t others;                      /**< samples in which other processes used the GPU */
	struct gw_quantile sm_khz, mem_khz;
	uint32_t sm_low, sm_high;       /**< kHz; 0 when not known */
	uint32_t temperature, power_mw; /**< the most; 0 when not known */
};

/** Take a CLOCK record. */
void log_clock_add(struct log_clocks *c, const struct gw_record_clock *record);
void log_clocks_free(struct log_clocks *c);

/** An episode of slow launches. */
struct log_slow {
	uint32_t name, row; /**< position in gw_log_model.names, .rows; of a graph GW_INDEX_NONE */
	struct gw_config config;
	struct gw_record_slow record; /**< the last of the episode */
};

/** What slow launches there were. */
struct log_slows {
	struct log_slow *list; /**< the first GW_SLOW_MOST episodes */
	size_t count, room;
	uint64_t beyond; /**< records that began episodes not kept */
	struct gw_index index;
};

/**
 * Take @p slow, a SLOW record of file number @p file: the last of one configuration and begin
 * counts.
 */
void log_slow_add(struct log_slows *s, uint32_t file, const struct log_slow *slow);
void log_slows_free(struct log_slows *s);

/** Cause of an episode, GW_SLOW_UNKNOWN for one that this version does not know. */
enum gw_slow_cause log_slow_cause(const struct log_slow *s);

/** Time that the slow launches of an episode took beyond what was predicted, ns. */
double log_slow_lost(const struct log_slow *s);

#endif
