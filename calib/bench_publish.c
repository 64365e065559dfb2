/* The bench: publishing or refusing values. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calib/bench_state.h"
#include "calib/stats.h"

/* The largest allowed spread of @p value in @p unit (gates.def). */
static double gate_of(const char *unit, double value)
{
	static const struct {
		const char *unit;
		double share, least;
	} gates[] = {
#define GATE(name, share, least) {name, share, least},
#include "calib/gates.def"
#undef GATE
	};

	for (size_t i = 0; i < sizeof(gates) / sizeof(*gates); i++)
		if (strcmp(gates[i].unit, unit) == 0)
			return fmax(gates[i].share * value, gates[i].least);
	return 0.05 * value;
}

static void say_why(struct gw_bench *b, const char *name, char *how, const char *why)
{
	snprintf(how, GW_PROFILE_TEXT, "%s", why);
	b->state->refused++;
	gw_bench_note(b, "%s is unknown: %s", name, why);
}

void gw_bench_refuse(struct gw_bench *b, enum gw_param p, const char *why)
{
	struct gw_profile *out = b->state->profile;

	out->device.param[p] = (struct gw_profile_value){.value = NAN, .spread = NAN};
	out->source[p][0] = '\0';
	out->group[p] = (uint8_t)gw_profile_group(out, b->state->group);
	say_why(b, gw_param_info(p).name, out->how[p], why);
}

void gw_bench_refuse_curve(struct gw_bench *b, enum gw_curve_id c, const char *why)
{
	struct gw_profile *out = b->state->profile;

	out->device.curve[c].count = 0;
	out->device.curve[c].method = GW_METHOD_NONE;
	out->curve_source[c][0] = '\0';
	out->curve_group[c] = (uint8_t)gw_profile_group(out, b->state->group);
	say_why(b, gw_curve_info(c).name, out->curve_how[c], why);
}

static void put(struct gw_bench *b, enum gw_param p, struct gw_profile_value value, const char *how)
{
	struct gw_profile *out = b->state->profile;

	out->device.param[p] = value;
	out->source[p][0] = '\0';
	out->group[p] = (uint8_t)gw_profile_group(out, b->state->group);
	snprintf(out->how[p], GW_PROFILE_TEXT, "%s", how);
	b->state->published++;
}

/* False, with the parameter refused, where @p value is out of its unit's range. */
static bool in_range(struct gw_bench *b, enum gw_param p, double value)
{
	double low, high;
	char why[GW_PROFILE_TEXT];

	if (gw_unit_range(gw_param_info(p).unit, &low, &high) && value >= low && value <= high)
		return true;
	snprintf(why, sizeof(why), "%g %s is no possible value", value, gw_param_info(p).unit);
	gw_bench_refuse(b, p, why);
	return false;
}

void gw_bench_publish_value(struct gw_bench *b, enum gw_param p, double value, double spread,
			    size_t n, const char *how)
{
	const char *unit = gw_param_info(p).unit;
	char why[GW_PROFILE_TEXT];

	if (!in_range(b, p, value))
		return;
	if (spread > gate_of(unit, value)) {
		snprintf(why, sizeof(why),
			 "its spread of %.3g %s about %.4g in %zu samples is more than %.3g",
			 spread, unit, value, n, gate_of(unit, value));
		gw_bench_refuse(b, p, why);
		return;
	}
	put(b, p,
	    (struct gw_profile_value){.value = value,
				      .spread = spread,
				      .samples = (uint32_t)n,
				      .method = GW_METHOD_MEASURED},
	    how);
}

void gw_bench_publish(struct gw_bench *b, enum gw_param p, const double *samples, size_t n,
		      const char *how)
{
	if (!n) {
		gw_bench_refuse(b, p, gw_bench_reason(b, "it gave no sample"));
		return;
	}
	gw_bench_publish_value(b, p, gw_median(samples, n), gw_spread(samples, n), n, how);
}

void gw_bench_publish_reported(struct gw_bench *b, enum gw_param p, double value,
			       enum gw_method method, const char *from)
{
	if (!in_range(b, p, value))
		return;
	put(b, p, (struct gw_profile_value){.value = value, .spread = NAN, .method = method},
	    method == GW_METHOD_DRIVER ? from : "");
	if (method != GW_METHOD_DRIVER)
		snprintf(b->state->profile->source[p], GW_PROFILE_TEXT, "%s", from);
}

/* The reason why @p n points are no curve; NULL when they are. */
static const char *curve_fault(enum gw_curve_id c, const double *x, const double *y, size_t n)
{
	double low_x, high_x, low_y, high_y;

	gw_unit_range(gw_curve_unit_x(c), &low_x, &high_x);
	gw_unit_range(gw_curve_info(c).unit, &low_y, &high_y);
	if (!n)
		return "it gave no point";
	if (n > GW_CURVE_POINTS)
		return "it has more points than a profile holds";
	for (size_t i = 0; i < n; i++) {
		if (!(x[i] >= low_x && x[i] <= high_x && y[i] >= low_y && y[i] <= high_y))
			return "a point of it is no possible value";
		if (i && x[i] <= x[i - 1])
			return "its points are not in order";
	}
	return NULL;
}

void gw_bench_curve(struct gw_bench *b, enum gw_curve_id c, const double *x, const double *y,
		    const double *spread, size_t n, const char *how)
{
	struct gw_profile *profile = b->state->profile;
	struct gw_curve *out = &profile->device.curve[c];
	const char *fault = curve_fault(c, x, y, n);

	if (fault) {
		gw_bench_refuse_curve(b, c, n ? fault : gw_bench_reason(b, fault));
		return;
	}
	out->count = (uint32_t)n;
	out->method = GW_METHOD_MEASURED;
	for (size_t i = 0; i < n; i++) {
		out->x[i] = x[i];
		out->y[i] = y[i];
		out->spread[i] = spread ? spread[i] : NAN;
	}
	out->fit = (struct gw_fit){NAN, NAN, NAN, NAN, NAN};
	profile->curve_source[c][0] = '\0';
	profile->curve_group[c] = (uint8_t)gw_profile_group(profile, b->state->group);
	snprintf(profile->curve_how[c], GW_PROFILE_TEXT, "%s", how);
	b->state->published++;
}

void gw_bench_fit(struct gw_bench *b, enum gw_curve_id c, double slope, double intercept, double r2,
		  double x_low, double x_high)
{
	struct gw_curve *out = &b->state->profile->device.curve[c];

	if (out->count && isfinite(slope) && isfinite(intercept) && isfinite(r2))
		out->fit = (struct gw_fit){.slope = slope,
					   .intercept = intercept,
					   .r2 = r2,
					   .low = x_low,
					   .high = x_high};
}

void gw_bench_samples(struct gw_bench *b, const char *series, const char *columns,
		      const double *rows, size_t n_rows, size_t n_columns)
{
	char error[400];

	if (!b->state->samples || gw_samples_write(b->state->samples, series, columns, rows, n_rows,
						   n_columns, error, sizeof(error)))
		return;
	gw_bench_note(b, "%s", error);
	b->state->samples = NULL; /* said once; the measurement goes on */
}
