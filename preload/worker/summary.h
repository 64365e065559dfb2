/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GW_SUMMARY_H
#define GW_SUMMARY_H

#include <stdint.h>

/** Totals for the summary, kept as launches are scored. */
struct gw_score {
	uint64_t measured, predicted, within_10, within_25, covered;
};

/** Print one screen on stderr: what ran, how well it was predicted. Worker only. */
void gw_summary_print(const struct gw_score *score, const uint64_t *counters);

#endif
