/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/clock_track.h"

#include <math.h>

void gw_clock_track_add(struct gw_clock_track *track, uint32_t device, uint32_t sm_khz, uint64_t ns)
{
	uint32_t at = track->count % GW_CLOCK_SAMPLES;

	if (!sm_khz || !ns)
		return;
	track->sample[at].ns = ns;
	track->sample[at].device = device;
	track->sample[at].sm_khz = sm_khz;
	track->count++;
	if (!track->count) /* wrapped: the ring is full all the same */
		track->count = GW_CLOCK_SAMPLES;
}

double gw_clock_track_hz(const struct gw_clock_track *track, uint32_t device, uint64_t ns)
{
	uint32_t n = track->count < GW_CLOCK_SAMPLES ? track->count : GW_CLOCK_SAMPLES;
	uint64_t nearest = GW_CLOCK_NEAR_NS;
	double hz = NAN;

	/* The latest first: launches are asked for soon after they ran. */
	for (uint32_t i = 0; ns && i < n; i++) {
		uint32_t at = (track->count - 1 - i) % GW_CLOCK_SAMPLES;
		uint64_t t = track->sample[at].ns, far = t > ns ? t - ns : ns - t;

		if (track->sample[at].device != device || far > nearest)
			continue;
		nearest = far;
		hz = track->sample[at].sm_khz * 1e3;
	}
	return hz;
}
