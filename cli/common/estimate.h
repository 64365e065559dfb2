/* Asking models about described launches, and saying their answers in words. */
#ifndef GW_ESTIMATE_H
#define GW_ESTIMATE_H

#include "cli/launch/file.h"
#include "predictor/models/verdict.h"

/** Room for a value with its unit. */
struct estimate_text {
	char s[48];
};

/**
 * Ask @p model for @p item on @p device. Where the file gives no grid and block, an answer that
 * depends on them becomes "not known: grid and block", and so do warnings about them.
 */
void estimate_launch(const struct gw_model *model, const struct gw_device *device,
		     const struct launch_case *item, struct gw_estimate *out);

/**
 * What binds @p item on @p device, by the model `bounds`, whose answer goes to @p bounds; unknown
 * where that depends on a configuration that the file does not give. Where it was @p measured
 * (seconds; NaN: it wasn't), the verdict is of that, as the report's is.
 */
void estimate_verdict(const struct launch_case *item, const struct gw_device *device,
		      double measured, struct gw_verdict *out, struct gw_estimate *bounds);

/** (predicted - measured) / measured; NaN when either is unknown. */
double estimate_error(double seconds, double measured);

/** "34.803 ms": five digits, as the papers print; "unknown" for NaN. */
const char *estimate_time(struct estimate_text *out, double seconds);
/** "-0.14%" with its sign; "-" for NaN. */
const char *estimate_percent(struct estimate_text *out, double share);
/** A value of @p unit with a decimal prefix where the unit takes one: "28.92 Gop/s"; "unknown" for
 * NaN. */
const char *estimate_value(struct estimate_text *out, double value, const char *unit);

/** The term called @p name, NaN when there is none. */
double estimate_term(const struct gw_estimate *e, const char *name);

/** The error for a model that there is not, with the known ones, and "all" when @p all. Returns 2.
 */
int estimate_unknown_model(const char *name, bool all);

#endif
