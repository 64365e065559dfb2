/*
 * The metrics of the quantitative roofline model (Konstantinidis 2017, table 4.1) and their
 * counters today.
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

/** Source of a metric. */
struct gw_qrm_metric {
	const char *symbol;       /**< in the paper */
	const char *nvprof;       /**< the thesis' metric, of a retired profiler */
	const char *counter;      /**< today's hardware counter for the same */
	enum gw_work_field field; /**< the row of work.def it fills */
	double divide;            /**< the row's value divided by this is the metric */
};

/** The one table of them, indexed by enum gw_qrm_m. */
extern const struct gw_qrm_metric gw_qrm_metrics[GW_MS];

#endif
