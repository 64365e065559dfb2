/* The pictures of `gpuwatch calibrate --plot`: each of functions that the profile has. */

#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "cli/calibrate/calibrate.h"
#include "cli/message.h"

enum { CURVES = 9 };

/* A picture of curves that share their axes. */
struct picture {
	const char *file, *title, *subtitle, *x_title, *y_title;
	bool log_x, log_y, from_zero;
	double x_scale, y_scale; /* from the profile's units to the titles' */
	enum chart_style style;
	struct {
		enum gw_curve_id curve;
		const char *name;
	} curves[CURVES + 1]; /* ended by one without a name */
};

#define MIB (1.0 / 1048576)
#define KIB (1.0 / 1024)

static const struct picture pictures[] = {
	{"clock",
	 "What reading the clock costs",
	 "Probability of each distance between two reads in a row, by warps on the SM",
	 "cycles",
	 "probability",
	 false,
	 false,
	 true,
	 1,
	 1,
	 CHART_STEMS,
	 {{GW_CURVE_clock_cost_1, "1 warp"},
	  {GW_CURVE_clock_cost_8, "8 warps"},
	  {GW_CURVE_clock_cost_32, "32 warps"}}},
	{"memory-latency",
	 "Latency of memory against footprint",
	 "One load that waits for the one before, over a random ring",
	 "footprint (MiB)",
	 "latency (cycles)",
	 true,
	 false,
	 true,
	 MIB,
	 1,
	 CHART_JOINED,
	 {{GW_CURVE_memory_latency, "memory"},
	  {GW_CURVE_translation_latency, "lines in L2, pages spread out: translation"}}},
	{"latency-at-load",
	 "Latency of device memory at load",
	 "Latency of a chain of loads while other SMs draw bandwidth",
	 "bandwidth drawn (GB/s)",
	 "latency (cycles)",
	 false,
	 false,
	 true,
	 1e-9,
	 1,
	 CHART_JOINED,
	 {{GW_CURVE_dram_latency_at_load, "latency"}}},
	{"latency-threads",
	 "Latency against active threads",
	 "Loads of a sweep of blocks and threads (Sanchez Gil 2017, chapter 6); dashed: the fitted "
	 "line",
	 "active threads",
	 "latency (cycles)",
	 true,
	 false,
	 true,
	 1,
	 1,
	 CHART_POINTS,
	 {{GW_CURVE_dram_latency_threads, "device memory"},
	  {GW_CURVE_l2_latency_threads, "L2"},
	  {GW_CURVE_l1_latency_threads, "L1, one block an SM"},
	  {GW_CURVE_l1_latency_threads_two, "L1, two blocks an SM"}}},
	{"served-by",
	 "Which memory serves a load",
	 "Probability of each level against the footprint of a random ring",
	 "footprint (MiB)",
	 "probability",
	 true,
	 false,
	 true,
	 MIB,
	 1,
	 CHART_JOINED,
	 {{GW_CURVE_share_l1, "L1"},
	  {GW_CURVE_share_l2, "L2"},
	  {GW_CURVE_share_dram, "device memory"}}},
	{"bandwidth-size",
	 "Bandwidth against size",
	 "All SMs, by the size of each array",
	 "size (MiB)",
	 "bandwidth (GB/s)",
	 true,
	 false,
	 true,
	 MIB,
	 1e-9,
	 CHART_JOINED,
	 {{GW_CURVE_dram_read_bw, "read"},
	  {GW_CURVE_dram_write_bw, "write"},
	  {GW_CURVE_dram_copy_bw, "copy"},
	  {GW_CURVE_dram_triad_bw, "triad"},
	  {GW_CURVE_l2_read_bw, "read again and again: L2"},
	  {GW_CURVE_l2_write_bw, "written again and again: L2"}}},
	{"bandwidth-in-flight",
	 "Bandwidth of device memory against bytes in flight",
	 "Little's law: what is in flight is bandwidth times latency",
	 "bytes in flight per SM (KiB)",
	 "bandwidth (GB/s)",
	 false,
	 false,
	 true,
	 KIB,
	 1e-9,
	 CHART_JOINED,
	 {{GW_CURVE_dram_bw_in_flight, "read"}}},
	{"bandwidth-sms",
	 "Bandwidth of device memory against SMs",
	 "Reads by some of the SMs only",
	 "SMs",
	 "bandwidth (GB/s)",
	 false,
	 false,
	 true,
	 1,
	 1e-9,
	 CHART_JOINED,
	 {{GW_CURVE_dram_bw_sms, "read"}}},
	{"pcie",
	 "Copies between host and device",
	 "Pinned memory, by the size of the copy",
	 "size (MiB)",
	 "bandwidth (GB/s)",
	 true,
	 false,
	 true,
	 MIB,
	 1e-9,
	 CHART_JOINED,
	 {{GW_CURVE_pcie_h2d_bw, "host to device"}, {GW_CURVE_pcie_d2h_bw, "device to host"}}},
	{"pipelining",
	 "Independent operations of one warp",
	 "Cycles until the last result is there",
	 "operations",
	 "cycles",
	 false,
	 true,
	 false,
	 1,
	 1,
	 CHART_JOINED,
	 {{GW_CURVE_pipeline_add_f32, "fp32 add"},
	  {GW_CURVE_pipeline_sub_f32, "fp32 subtract"},
	  {GW_CURVE_pipeline_mul_f32, "fp32 multiply"},
	  {GW_CURVE_pipeline_mad_f32, "fp32 multiply-add"},
	  {GW_CURVE_pipeline_div_f32, "fp32 divide"},
	  {GW_CURVE_pipeline_fma_f64, "fp64 multiply-add"},
	  {GW_CURVE_pipeline_add_s32, "integer add"},
	  {GW_CURVE_pipeline_mad_s32, "integer multiply-add"}}},
};

static json_t *picture_json(const struct picture *p)
{
	json_t *curves = json_array();

	for (size_t i = 0; i < CURVES && p->curves[i].name; i++)
		json_array_append_new(curves,
				      json_pack("[s,s]", gw_curve_info(p->curves[i].curve).name,
						p->curves[i].name));
	return json_pack("{s:s,s:s,s:s,s:s,s:s,s:b,s:b,s:b,s:f,s:f,s:o}", "id", p->file, "title",
			 p->title, "subtitle", p->subtitle, "x", p->x_title, "y", p->y_title,
			 "log_x", p->log_x, "log_y", p->log_y, "stems", p->style == CHART_STEMS,
			 "x_scale", p->x_scale, "y_scale", p->y_scale, "curves", curves);
}

json_t *calibrate_pictures_json(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(pictures) / sizeof(*pictures); i++)
		json_array_append_new(list, picture_json(&pictures[i]));
	return list;
}

enum { FIT_POINTS = 32 };

/* Series under construction: each curve may bring its fit along. */
struct work {
	struct chart_series series[2 * CURVES];
	double x[2 * CURVES][GW_CURVE_POINTS], y[2 * CURVES][GW_CURVE_POINTS];
	char names[CURVES][60];
	size_t count;
};

static void add_points(struct work *w, const struct picture *p, const struct gw_curve *c,
		       const char *name)
{
	size_t i = w->count++;

	for (uint32_t k = 0; k < c->count; k++) {
		w->x[i][k] = c->x[k] * p->x_scale;
		w->y[i][k] = c->y[k] * p->y_scale;
	}
	w->series[i] = (struct chart_series){name, p->style, i, c->count, w->x[i], w->y[i], NULL};
}

/* The fit of the curve added last, in its colour. */
static void add_fit(struct work *w, const struct picture *p, const struct gw_curve *c,
		    const char *name, char text[60])
{
	size_t i = w->count;

	if (!isfinite(c->fit.slope))
		return;
	w->count++;
	/* Many points: on logarithmic axes a line is none. */
	for (unsigned k = 0; k < FIT_POINTS; k++) {
		double at = c->fit.low + (c->fit.high - c->fit.low) * k / (FIT_POINTS - 1);

		w->x[i][k] = at * p->x_scale;
		w->y[i][k] = (c->fit.intercept + c->fit.slope * at) * p->y_scale;
	}
	snprintf(text, 60, "%.36s: line, R² %.4f", name, c->fit.r2);
	w->series[i] =
		(struct chart_series){text, CHART_LINE, i - 1, FIT_POINTS, w->x[i], w->y[i], NULL};
}

static struct svg *draw(const struct picture *p, const struct gw_profile *profile)
{
	static struct work w;
	char title[200];

	w.count = 0;
	for (size_t i = 0; i < CURVES && p->curves[i].name; i++) {
		const struct gw_curve *c = &profile->device.curve[p->curves[i].curve];

		if (!c->count)
			continue;
		add_points(&w, p, c, p->curves[i].name);
		add_fit(&w, p, c, p->curves[i].name, w.names[i]);
	}
	snprintf(title, sizeof(title), "%s: %.90s", p->title, profile->device.name);
	return w.count ? plot_chart(&(struct chart){.title = title,
						    .subtitle = p->subtitle,
						    .x_title = p->x_title,
						    .y_title = p->y_title,
						    .log_x = p->log_x,
						    .log_y = p->log_y,
						    .from_zero = p->from_zero,
						    .count = w.count,
						    .series = w.series})
		       : NULL;
}

/* Write and free a picture, NULL where there is nothing to draw; false after a message. */
static bool save(struct svg *svg, const char *folder, const char *file, unsigned *drawn)
{
	char path[PATH_MAX], error[PATH_MAX + 200];
	bool good = true;

	if (!svg)
		return true;
	if (snprintf(path, sizeof(path), "%s/%s.svg", folder, file) >= PATH_MAX)
		snprintf(error, sizeof(error), "%s: the name is too long", folder);
	else
		good = svg_save(svg, path, error, sizeof(error));
	if (!good)
		gw_error("%s", error);
	svg_free(svg);
	++*drawn;
	return good;
}

bool calibrate_plot(const struct gw_profile *profile, const char *folder)
{
	unsigned drawn = 0;

	for (size_t i = 0; i < sizeof(pictures) / sizeof(*pictures); i++)
		if (!save(draw(&pictures[i], profile), folder, pictures[i].file, &drawn))
			return false;
	if (!save(calibrate_roofline(profile), folder, "roofline", &drawn) ||
	    !save(calibrate_launch_times(profile), folder, "launch", &drawn))
		return false;
	if (!drawn)
		gw_warning("the profile has no function to draw");
	return true;
}
