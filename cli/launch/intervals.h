/* SPDX-License-Identifier: Apache-2.0 */
/* "intervals" of a described launch, and what interval analysis (Koppelman) says of them. */
#ifndef GW_LAUNCH_INTERVALS_H
#define GW_LAUNCH_INTERVALS_H

#include "predictor/core/device.h"

enum { LAUNCH_INTERVALS = 64 }; /**< most intervals of one launch */

/** An interval as the file describes it; what it does not say is NaN. */
struct launch_interval {
	const char *name;  /**< never NULL */
	double latency;    /**< L_iota, cycles: given, or found from the code */
	double data_bytes; /**< d_iota: bytes a thread moves across the chip's boundary */
	double l2_bytes;   /**< bytes a thread moves between SM and L2 */
	double fp_insts;   /**< n_IF of a thread */
	double ldst_insts; /**< n_IM of a thread */
	double times;      /**< N: executions over all threads */
	double active;     /**< P: threads active */
};

/** What the analysis says; NaN where an input is unknown. */
struct interval_answer {
	double dram, l2, dispatch; /**< threads that saturate each; infinite when it is not used */
	const char *scarcest;      /**< the one with the least; NULL when none is known */
	double saturating;         /**< and its threads */
	double per_sm;             /**< the same on one SM */
	double seconds;            /**< t(N, P) */
};

/** Analyse @p interval on @p device. */
void interval_analyse(const struct launch_interval *interval, const struct gw_device *device,
                      struct interval_answer *out);

#endif
