/*
 * GPU time predicted of all launches, and of those that were timed: what all of them take follows
 * from both, at no cost but these sums. Worker only.
 */
#ifndef GW_EXPECTED_H
#define GW_EXPECTED_H

#include "predictor/log/record.h"
#include "preload/maps/state.h"

/** A launch, timed or not. */
static inline void gw_expect(const struct gw_record_launch *r)
{
	if (!(r->predicted > 0))
		return;
	gw_bump(&gw_counters[GW_COUNTER_expected_ns], (uint64_t)((double)r->predicted + 0.5));
	gw_bump(&gw_counters[GW_COUNTER_expected_kernels], 1);
}

/** A launch was measured. */
static inline void gw_expect_measured(const struct gw_record_launch *r)
{
	if (!(r->predicted > 0))
		return;
	gw_bump(&gw_counters[GW_COUNTER_sampled_ns], r->duration_ns);
	gw_bump(&gw_counters[GW_COUNTER_sampled_predicted_ns],
		(uint64_t)((double)r->predicted + 0.5));
}

#endif
