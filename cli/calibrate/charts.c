#include "cli/calibrate/calibrate.h"

#include <math.h>
#include <stdio.h>

/* The sweeps of operational intensity, each with the throughput that is its roof. */
static const struct {
	const char *name, *roof_name;
	enum gw_curve_id curve, bandwidth;
	enum gw_param roof;
} sweeps[] = {
#define SWEEP(name, roof_name, what, roof) \
	{ \
		name, roof_name, GW_CURVE_mixbench_##what, GW_CURVE_mixbench_##what##_bw, \
			GW_PARAM_##roof \
	}
	SWEEP("fp32", "fp32 multiply-add", fp32, t_sp),
	SWEEP("fp64", "fp64 multiply-add", fp64, t_dp),
	SWEEP("fp16, packed", "packed half multiply-add", fp16, t_hp),
	SWEEP("integer", "integer multiply-add", int, t_int),
#undef SWEEP
};
enum { SWEEPS = sizeof(sweeps) / sizeof(*sweeps) };

/* The highest that was measured, by any stream or by a sweep itself: no point lies above its roof.
 */
double calibrate_bandwidth(const struct gw_device *d)
{
	static const enum gw_param streams[] = {GW_PARAM_b_mem_read, GW_PARAM_b_mem_write,
						GW_PARAM_b_mem_copy, GW_PARAM_b_mem_triad};
	double highest = NAN;

	for (size_t i = 0; i < sizeof(streams) / sizeof(*streams); i++)
		highest = fmax(highest, gw_param(d, streams[i]));
	for (size_t i = 0; i < SWEEPS; i++) {
		const struct gw_curve *c = &d->curve[sweeps[i].bandwidth];

		for (uint32_t k = 0; k < c->count; k++)
			highest = fmax(highest, c->y[k]);
	}
	return highest;
}

json_t *calibrate_sweeps_json(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < SWEEPS; i++)
		json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:s}", "name", sweeps[i].name,
						      "roof_name", sweeps[i].roof_name, "curve",
						      gw_curve_info(sweeps[i].curve).name, "roof",
						      gw_param_info(sweeps[i].roof).name));
	return list;
}

/* A roof: up along the memory's bandwidth, level from the ridge on. */
struct roof {
	double x[3], y[3];
};

static bool make_roof(struct roof *r, double bandwidth, double peak, double low, double high)
{
	double ridge = peak / bandwidth;

	if (!(low > 0) || !(ridge > low))
		return false;
	*r = (struct roof){{low, ridge, fmax(high, ridge)},
			   {low * bandwidth / 1e9, peak / 1e9, peak / 1e9}};
	return true;
}

struct svg *calibrate_roofline(const struct gw_profile *profile)
{
	const struct gw_device *d = &profile->device;
	double bandwidth = calibrate_bandwidth(d), y[SWEEPS][GW_CURVE_POINTS];
	struct chart_series series[2 * SWEEPS];
	struct roof roofs[SWEEPS];
	char title[160];
	size_t n = 0;

	for (size_t i = 0; i < SWEEPS; i++) {
		const struct gw_curve *c = &d->curve[sweeps[i].curve];

		for (uint32_t k = 0; k < c->count; k++)
			y[i][k] = c->y[k] / 1e9;
		if (!c->count)
			continue;
		series[n++] = (struct chart_series){sweeps[i].name, CHART_POINTS, i,   c->count,
						    c->x,           y[i],         NULL};
		if (make_roof(&roofs[i], bandwidth, gw_param(d, sweeps[i].roof), c->x[0],
			      c->x[c->count - 1]))
			series[n++] = (struct chart_series){sweeps[i].roof_name, CHART_LINE, i,   3,
							    roofs[i].x,          roofs[i].y, NULL};
	}
	snprintf(title, sizeof(title), "Experimental roofline: %.90s", d->name);
	return n ? plot_chart(&(struct chart){
			   .title = title,
			   .subtitle = "Measured points of the sweep of operational intensity; "
				       "dashed: highest measured bandwidth and peaks",
			   .x_title = "operational intensity (op/B)",
			   .y_title = "operations (Gop/s)",
			   .log_x = true,
			   .log_y = true,
			   .count = n,
			   .series = series})
		 : NULL;
}

enum { GRIDS = 61, BLOCKS = 3 };

struct svg *calibrate_launch_times(const struct gw_profile *profile)
{
	const struct gw_curve *x1 = &profile->device.curve[GW_CURVE_launch_x1];
	static double grid[GRIDS], us[BLOCKS][GRIDS];
	struct chart_series series[BLOCKS];
	char title[160], names[BLOCKS][24];
	size_t n = 0;
	uint32_t lines = x1->count < BLOCKS ? x1->count : BLOCKS;

	for (size_t k = 0; k < GRIDS; k++)
		grid[k] = pow(10, (double)k / 10); /* 1 to a million blocks */
	for (; n < lines; n++) {
		/* The first, the last, and one between: the eye separates no more. */
		size_t i = lines > 1 ? n * (x1->count - 1) / (lines - 1) : 0;
		double slope = x1->y[i];
		double floor = gw_curve_at(&profile->device, GW_CURVE_launch_x2, x1->x[i]);

		for (size_t k = 0; k < GRIDS; k++)
			us[n][k] = 1e6 * (floor + slope * grid[k]);
		snprintf(names[n], sizeof(names[n]), "%.0f warp%s", x1->x[i],
			 x1->x[i] == 1 ? "" : "s");
		series[n] =
			(struct chart_series){names[n], CHART_CURVE, n, GRIDS, grid, us[n], NULL};
	}
	snprintf(title, sizeof(title), "Empty kernels: %.90s", profile->device.name);
	return n ? plot_chart(&(struct chart){
			   .title = title,
			   .subtitle =
				   "Duration by the regressions over the grid, by warps per block",
			   .x_title = "blocks",
			   .y_title = "duration (µs)",
			   .log_x = true,
			   .log_y = true,
			   .count = n,
			   .series = series})
		 : NULL;
}
