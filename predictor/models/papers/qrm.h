/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of the quantitative roofline model (002, table 4.1) and what stands for them today.
 */
#ifndef GW_QRM_H
#define GW_QRM_H

#include "predictor/models/model.h"

/** A metric M_* of the model. */
enum gw_qrm_m {
	GW_M_FMA32,
	GW_M_FMA64,
	GW_M_LDST,
	GW_M_INST,
	GW_M_FP32,
	GW_M_FP64,
	GW_M_INT,
	GW_M_TRAN_R,
	GW_M_TRAN_W,
	GW_MS
};

/** Where a metric is from. */
struct gw_qrm_metric {
	const char *symbol;       /**< in the paper */
	const char *nvprof;       /**< the paper's metric, of a profiler that is gone */
	const char *counter;      /**< the counter of today's hardware that counts the same */
	enum gw_work_field field; /**< the row of work.def it fills */
	double divide;            /**< the row's value divided by this is the metric */
};

/** The one table of them, indexed by enum gw_qrm_m. */
extern const struct gw_qrm_metric gw_qrm_metrics[GW_MS];

#endif
