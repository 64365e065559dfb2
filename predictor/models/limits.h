/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a launch can have used of the parts of the GPU of which it isn't known how much it did: no
 * more than what is known beside it leaves. So a verdict can exclude what was not counted.
 */
#ifndef GW_LIMITS_H
#define GW_LIMITS_H

#include "predictor/models/peaks.h"

/** A memory level or pipe with unknown use. */
struct gw_unmeasured {
	const char *name; /**< as in the model `bounds`; NULL: there is none that matters */
	const char *why;  /**< what of it is not known; static string */
	double share;     /**< of its peak that the launch may have reached, at most; 0 to 1 */
	unsigned limited; /**< how many others are unknown, but limited to less than @p line */
};

/**
 * Of the @p count @p peaks of @p launch that are not known, the one that may have been nearest
 * to its peak in the @p seconds it took, if that may be @p line or more. Limits are those of
 * docs/internals/models.md, "What was not counted".
 */
struct gw_unmeasured gw_limits(const struct gw_device *device, const struct gw_launch *launch,
                               const struct gw_work *work, const struct gw_peak *peaks,
                               unsigned count, double seconds, double line);

#endif
