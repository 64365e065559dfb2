/*
 * What a prediction rests on, as commands name it. The log and the predictor call the times a tier
 * and the work's origin a source; these are the words of the reports.
 */
#ifndef GW_BASIS_H
#define GW_BASIS_H

#include "predictor/core/types.h"

/** Of its times: "same shape timed", "kernel timed", "never timed", "no prediction". */
const char *gw_basis_name(enum gw_tier tier);
/** Of its work: "measured counters", "extrapolated", "static analysis", "given", "none". */
const char *gw_work_basis_name(enum gw_source source);

/** The same as keys of JSON objects: "same_shape_timed", "measured_counters". */
const char *gw_basis_key(enum gw_tier tier);
const char *gw_work_basis_key(enum gw_source source);

#endif
