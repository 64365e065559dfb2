/* The case studies of Konstantinidis 2017 as inputs of the model. */
#ifndef GW_QRM_CASE_H
#define GW_QRM_CASE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "predictor/models/papers/qrm.h"
#include "predictor/profile/profile.h"

/** The GPUs of table 5.1, in its order, and the one of chapter 6. */
enum gpu { GTX_480, GTX_660, GTX_960, GTX_1060, M2050, K20C, CUDA_GPUS, R9_NANO = CUDA_GPUS, GPUS };

/** The shipped profile of a GPU, read once; fails the test when it can't be read. */
const struct gw_device *gpu(enum gpu g);

/** Work from the metrics of table 4.1, in its order, each times @p times. */
void work_of_metrics(struct gw_work *work, const double m[GW_MS], double times);

/** A row of table 5.16 (or 6.4): kernel parameters instead of metrics, shares in percent. */
struct parameters {
	const char *kernel, *type;
	double w_comp, w_traf, e_mix, d_ops, d_ldst, d_other, o_krn;
};

/** Metrics that give these parameters, by 4.1 to 4.7 turned round. */
void work_of_parameters(struct gw_work *work, const struct parameters *p);

/** What qrm says of the work on a GPU, launched wide enough to qualify. */
struct gw_estimate predict(enum gpu g, const struct gw_work *work,
			   const struct gw_model_options *options);

/** Value of a term; fails the test when the estimate has none of that name. */
double term(const struct gw_estimate *e, const char *name);

/** @p value, written with as many decimals as @p printed has, must read as @p printed. */
#define assert_prints(value, printed) assert_prints_at(value, printed, __FILE__, __LINE__)
void assert_prints_at(double value, const char *printed, const char *file, int line);

/** @p value, rounded to the decimals of @p printed, must be within one unit of the last of it. */
#define assert_unit(value, printed) assert_unit_at(value, printed, __FILE__, __LINE__)
void assert_unit_at(double value, const char *printed, const char *file, int line);

/** Table 4.4: red/black SOR on the GTX-480; per iteration, the tables that follow are of 4. */
extern const double sor_metrics[GW_MS];
/** Table 5.10: LMSOR; per iteration as well, though its caption says 4. */
extern const double lmsor_metrics[GW_MS];
/** Table 4.9: SGEMM. */
extern const double sgemm_metrics[GW_MS];
/** Table 5.16, row lvmd-krn. */
extern const struct parameters lvmd_krn;

#endif
