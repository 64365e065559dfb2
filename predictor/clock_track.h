/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SM clock over time, from samples: for who learns from launches (preload/) and who replays
 * a log. Both give it the CLOCK records in the order of the log.
 */
#ifndef GW_CLOCK_TRACK_H
#define GW_CLOCK_TRACK_H

#include <stdint.h>

enum {
	GW_CLOCK_SAMPLES = 64,         /**< samples kept: the latest, of all devices */
	GW_CLOCK_NEAR_NS = 1000000000, /**< how far from a launch a sample still tells its clock */
};

/** The latest samples; zero-initialised is empty. */
struct gw_clock_track {
	uint32_t count; /**< ever added */
	struct {
		uint64_t ns;
		uint32_t device, sm_khz;
	} sample[GW_CLOCK_SAMPLES];
};

/** Add a sample: device id, SM clock (0: not known, left out) and CLOCK_REALTIME. */
void gw_clock_track_add(struct gw_clock_track *track, uint32_t device, uint32_t sm_khz,
                        uint64_t ns);

/**
 * SM clock of @p device at @p ns in Hz, by the nearest sample (of two as near, the earlier
 * added); NaN when none is near enough, or @p ns is 0.
 */
double gw_clock_track_hz(const struct gw_clock_track *track, uint32_t device, uint64_t ns);

#endif
