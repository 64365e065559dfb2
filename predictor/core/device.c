#include "predictor/core/device.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

/* Name, unit and, of a curve, the unit of x, one behind the other. */
static const struct {
#define PARAM(name, unit, meaning)           char name[sizeof(#name "\0" unit)];
#define CURVE(name, unit_x, unit_y, meaning) char name[sizeof(#name "\0" unit_y "\0" unit_x)];
#include "predictor/core/device.def"
#undef PARAM
#undef CURVE
} rows = {
#define PARAM(name, unit, meaning)           #name "\0" unit,
#define CURVE(name, unit_x, unit_y, meaning) #name "\0" unit_y "\0" unit_x,
#include "predictor/core/device.def"
#undef PARAM
#undef CURVE
};

static const uint16_t params[] = {
#define PARAM(name, unit, meaning) offsetof(__typeof__(rows), name),
#define CURVE(name, unit_x, unit_y, meaning)
#include "predictor/core/device.def"
#undef PARAM
#undef CURVE
};

static const uint16_t curves[] = {
#define PARAM(name, unit, meaning)
#define CURVE(name, unit_x, unit_y, meaning) offsetof(__typeof__(rows), name),
#include "predictor/core/device.def"
#undef PARAM
#undef CURVE
};

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

struct gw_field_info gw_param_info(unsigned param)
{
	return gw_field_at(param < GW_PARAMS ? (const char *)&rows + params[param] : NULL);
}

struct gw_field_info gw_curve_info(unsigned curve)
{
	return gw_field_at(curve < GW_CURVES ? (const char *)&rows + curves[curve] : NULL);
}

const char *gw_curve_unit_x(unsigned curve)
{
	return gw_field_at(gw_curve_info(curve).unit).unit;
}

const char *gw_method_name(enum gw_method method)
{
	static const char names[][9] = {"none", "vendor", "paper", "driver", "measured"};

	return (unsigned)method < sizeof(names) / sizeof(*names) ? names[method] : "none";
}
