/*
 * The device profile: what is known of a GPU, each value with where it came from.
 * Rows: device.def. File format: JSON, docs/internals/profile.md.
 */
#ifndef GW_DEVICE_H
#define GW_DEVICE_H

#include "predictor/core/types.h"

/** Index of every scalar of device.def. */
enum gw_param {
#define PARAM(name, unit, meaning) GW_PARAM_##name,
#define CURVE(name, unit_x, unit_y, meaning)
#include "predictor/core/device.def"
#undef PARAM
#undef CURVE
	GW_PARAMS
};

/** Index of every function of device.def. */
enum gw_curve_id {
#define PARAM(name, unit, meaning)
#define CURVE(name, unit_x, unit_y, meaning) GW_CURVE_##name,
#include "predictor/core/device.def"
#undef PARAM
#undef CURVE
	GW_CURVES
};

/** How a value of a profile was obtained. */
enum gw_method {
	GW_METHOD_NONE,     /**< not known */
	GW_METHOD_VENDOR,   /**< a vendor's document */
	GW_METHOD_PAPER,    /**< a table of a paper */
	GW_METHOD_DRIVER,   /**< asked of the driver */
	GW_METHOD_MEASURED, /**< a microbenchmark */
};

/** One value of a profile. */
struct gw_profile_value {
	double value;     /**< in the unit of its row; NaN when unknown */
	double spread;    /**< robust standard deviation in the same unit; NaN when not known */
	uint32_t samples; /**< how many measurements stand behind it; 0 when none */
	enum gw_method method;
};

enum { GW_CURVE_POINTS = 64 }; /**< most points a function of a profile may have */

/** The line a function follows over part of its domain: y = intercept + slope * x. */
struct gw_fit {
	double slope, intercept; /**< NaN when there is none */
	double r2;               /**< share of y's variance it explains */
	double low, high;        /**< the x it holds for */
};

/** A function of a profile: points with x strictly rising, linear between them, constant outside.
 */
struct gw_curve {
	uint32_t count; /**< 0 when unknown */
	enum gw_method method;
	double x[GW_CURVE_POINTS], y[GW_CURVE_POINTS];
	double spread[GW_CURVE_POINTS]; /**< of each y; NaN when not known */
	struct gw_fit fit;
};

/** A GPU as the models see it. */
struct gw_device {
	char name[96]; /**< as the driver names it */
	struct gw_profile_value param[GW_PARAMS];
	struct gw_curve curve[GW_CURVES];
};

/** A device of which nothing is known but its name (truncated to fit). */
void gw_device_clear(struct gw_device *device, const char *name);

/** Value of @p p, NaN when unknown. */
static inline double gw_param(const struct gw_device *device, enum gw_param p)
{
	return device->param[p].value;
}

/** Set @p p; a spread or count that is not known is NaN or 0. */
void gw_device_set(struct gw_device *device, enum gw_param p, double value, enum gw_method method);

/** Value of curve @p c at @p x; NaN when the curve is unknown or x is NaN. */
double gw_curve_at(const struct gw_device *device, enum gw_curve_id c, double x);

/** Row of a parameter or curve (its unit is that of y); none when out of range. */
struct gw_field_info gw_param_info(unsigned param);
struct gw_field_info gw_curve_info(unsigned curve);
/** Unit of x of @p curve, NULL when out of range. */
const char *gw_curve_unit_x(unsigned curve);
const char *gw_method_name(enum gw_method method);

#endif
