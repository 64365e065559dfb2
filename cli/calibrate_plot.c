/* SPDX-License-Identifier: Apache-2.0 */
/* The pictures of `gpuwatch calibrate --plot`: each of functions that the profile has. */
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "cli/calibrate.h"
#include "cli/plot/chart.h"
#include "cli/say.h"

/* A picture of curves that share their axes. */
struct picture {
	const char *file, *title, *subtitle, *x_title, *y_title;
	bool log_x, log_y, from_zero;
	double x_scale, y_scale; /* from the profile's units to the titles' */
	enum chart_style style;
	struct {
		enum gw_curve_id curve;
		const char *name;
	} curves[8]; /* ended by one without a name */
};

static const struct picture pictures[] = {
        {.file = "clock",
         .title = "What reading the clock costs",
         .subtitle = "Probability of each distance between two reads in a row, by warps on the SM",
         .x_title = "cycles",
         .y_title = "probability",
         .from_zero = true,
         .x_scale = 1,
         .y_scale = 1,
         .style = CHART_STEMS,
         .curves = {{GW_CURVE_clock_cost_1, "1 warp"},
                    {GW_CURVE_clock_cost_8, "8 warps"},
                    {GW_CURVE_clock_cost_32, "32 warps"}}},
};

/* A curve in the picture's units. */
struct points {
	double x[GW_CURVE_POINTS], y[GW_CURVE_POINTS];
};

static struct svg *draw(const struct picture *p, const struct gw_profile *profile)
{
	struct chart_series series[8];
	static struct points points[8];
	char title[200];
	size_t n = 0;

	for (size_t i = 0; i < 8 && p->curves[i].name; i++) {
		const struct gw_curve *c = &profile->device.curve[p->curves[i].curve];

		if (!c->count)
			continue;
		for (uint32_t k = 0; k < c->count; k++) {
			points[n].x[k] = c->x[k] * p->x_scale;
			points[n].y[k] = c->y[k] * p->y_scale;
		}
		series[n] = (struct chart_series){p->curves[i].name, p->style, c->count,
		                                  points[n].x, points[n].y};
		n++;
	}
	if (!n)
		return NULL;
	snprintf(title, sizeof(title), "%s: %.90s", p->title, profile->device.name);
	return plot_chart(&(struct chart){.title = title,
	                                  .subtitle = p->subtitle,
	                                  .x_title = p->x_title,
	                                  .y_title = p->y_title,
	                                  .log_x = p->log_x,
	                                  .log_y = p->log_y,
	                                  .from_zero = p->from_zero,
	                                  .count = n,
	                                  .series = series});
}

static bool save(struct svg *svg, const char *folder, const char *file)
{
	char path[PATH_MAX], error[PATH_MAX + 200];
	bool good;

	snprintf(path, sizeof(path), "%s/%s.svg", folder, file);
	good = svg_save(svg, path, error, sizeof(error));
	if (!good)
		gw_error("%s", error);
	svg_free(svg);
	return good;
}

bool calibrate_plot(const struct gw_profile *profile, const char *folder)
{
	unsigned drawn = 0;

	for (size_t i = 0; i < sizeof(pictures) / sizeof(*pictures); i++) {
		struct svg *svg = draw(&pictures[i], profile);

		if (svg && !save(svg, folder, pictures[i].file))
			return false;
		drawn += svg != NULL;
	}
	if (!drawn)
		gw_warning("the profile has no function to draw");
	return true;
}
