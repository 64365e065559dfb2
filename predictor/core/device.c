/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/core/device.h"

#include <math.h>
#include <stdio.h>

static const struct gw_field_info params[] = {
#define PARAM(name, unit, meaning) {#name, unit},
#define CURVE(name, unit_x, unit_y, meaning)
#include "predictor/core/device.def"
#undef PARAM
#undef CURVE
};

static const struct {
	struct gw_field_info info;
	char unit_x[16];
} curves[] = {
#define PARAM(name, unit, meaning)
#define CURVE(name, ux, uy, meaning) {{#name, uy}, ux},
#include "predictor/core/device.def"
#undef PARAM
#undef CURVE
};

#define PARAM(name, unit, meaning)           GW_FIELD_FITS(name, unit)
#define CURVE(name, unit_x, unit_y, meaning) GW_FIELD_FITS(name, unit_x) GW_FIELD_FITS(name, unit_y)
#include "predictor/core/device.def"
#undef PARAM
#undef CURVE

void gw_device_clear(struct gw_device *device, const char *name)
{
	snprintf(device->name, sizeof(device->name), "%s", name);
	for (unsigned i = 0; i < GW_PARAMS; i++)
		device->param[i] = (struct gw_profile_value){.value = NAN, .spread = NAN};
	for (unsigned i = 0; i < GW_CURVES; i++) {
		device->curve[i].count = 0;
		device->curve[i].method = GW_METHOD_NONE;
		device->curve[i].fit = (struct gw_fit){NAN, NAN, NAN, NAN, NAN};
	}
}

void gw_device_set(struct gw_device *device, enum gw_param p, double value, enum gw_method method)
{
	device->param[p] =
	        (struct gw_profile_value){.value = value, .spread = NAN, .method = method};
}

double gw_curve_at(const struct gw_device *device, enum gw_curve_id c, double x)
{
	const struct gw_curve *f = &device->curve[c];
	uint32_t low = 0, high = f->count;

	if (!f->count || isnan(x))
		return NAN;
	if (x <= f->x[0])
		return f->y[0];
	if (x >= f->x[f->count - 1])
		return f->y[f->count - 1];
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (f->x[middle] <= x)
			low = middle;
		else
			high = middle;
	}
	return f->y[low] + (f->y[high] - f->y[low]) * (x - f->x[low]) / (f->x[high] - f->x[low]);
}

const struct gw_field_info *gw_param_info(unsigned param)
{
	return param < GW_PARAMS ? &params[param] : NULL;
}

const struct gw_field_info *gw_curve_info(unsigned curve)
{
	return curve < GW_CURVES ? &curves[curve].info : NULL;
}

const char *gw_curve_unit_x(unsigned curve)
{
	return curve < GW_CURVES ? curves[curve].unit_x : NULL;
}

const char *gw_method_name(enum gw_method method)
{
	static const char *const names[] = {"none", "vendor", "paper", "driver", "measured"};

	return (unsigned)method < sizeof(names) / sizeof(*names) ? names[method] : "none";
}
