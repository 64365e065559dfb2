/* A window in a recording of what the attribution of sampled counters was given. */
#ifndef GW_PM_RECORD_H
#define GW_PM_RECORD_H

#include "predictor/counters/attribute.h"
#include "preload/counters/pm.h"

#define PM_RECORDED UINT32_C(0x6d705747)

/** Followed by so many samples and runs, as they lie in memory. */
struct pm_recorded {
	uint32_t magic;
	uint32_t metrics;
	uint8_t row[GW_SAMPLE_METRICS]; /**< enum gw_pm_row of each */
	uint64_t samples, runs;
};

#endif
