/*
 * The quadrant-split of Konstantinidis 2017, 3.3: bandwidth across, operations up. A device is a
 * point, a kernel a half-line whose slope is its intensity. A device above the line has compute to
 * spare (the kernel is memory-bound there), one below it lacks compute. Both axes are
 * linear and begin at 0, so that half-lines leave the origin and their slope is the intensity.
 */
#include "cli/plot/frame.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/common/memory.h"

static const char *const axis_x = "memory bandwidth (GB/s)", *const axis_y = "operations (Gop/s)";

/* A half-line's name stands where it leaves the picture. */
static void name_slope(struct frame *f, double slope, const char *name)
{
	double x = 0.94 * fmin(f->x.high, f->y.high / slope);
	char text[128];

	if (!(x > 0))
		return;
	snprintf(text, sizeof(text), "%.80s (%.3g op/B)", name, slope);
	labels_want(f->labels, axis_at(&f->x, x), axis_at(&f->y, x * slope), LABEL_TEXT, SVG_INK,
		    text);
}

/* Many half-lines have their names beside the picture, in the order in which they leave it. */
struct exit_name {
	const struct plot_kernel *kernel;
	double x, y, row;
};

static int by_height(const void *a, const void *b)
{
	double left = ((const struct exit_name *)a)->y, right = ((const struct exit_name *)b)->y;
	const struct plot_kernel *k = ((const struct exit_name *)a)->kernel;
	const struct plot_kernel *m = ((const struct exit_name *)b)->kernel;

	/* Those that leave through the upper edge are ordered by their slope. */
	return left != right ? (left > right) - (left < right)
			     : (k->intensity < m->intensity) - (k->intensity > m->intensity);
}

/* Rows at least one line of text apart, as near to the exits as that allows. */
static void spread(struct exit_name *names, size_t count, double top, double bottom)
{
	double step = fmin(LABEL_TEXT + 2.5, (bottom - top) / (double)count);

	for (size_t i = 0; i < count; i++)
		names[i].row = fmax(names[i].y, i ? names[i - 1].row + step : top);
	for (size_t i = count; i-- > 0;)
		names[i].row = fmin(names[i].row, i + 1 < count ? names[i + 1].row - step : bottom);
}

static void name_slopes(struct frame *f, const struct plot_data *d)
{
	struct exit_name *names = gw_alloc((d->kernel_count + 1) * sizeof(*names));
	double column = f->right + 22;

	for (size_t k = 0; k < d->kernel_count; k++) {
		double slope = d->kernels[k].intensity, x = fmin(f->x.high, f->y.high / slope);

		names[k] = (struct exit_name){&d->kernels[k], fmax(axis_at(&f->x, x), f->left),
					      fmax(axis_at(&f->y, x * slope), f->top), 0};
	}
	qsort(names, d->kernel_count, sizeof(*names), by_height);
	spread(names, d->kernel_count, f->top + 4, f->bottom);
	for (size_t k = 0; k < d->kernel_count; k++) {
		struct svg_pen pen = {SVG_MUTED, 0.7, false};
		char text[128];

		svg_line(f->svg, names[k].x, names[k].y, f->right, names[k].y, pen);
		svg_line(f->svg, f->right, names[k].y, column - 4, names[k].row, pen);
		snprintf(text, sizeof(text), "%.60s (%.3g)", names[k].kernel->name,
			 names[k].kernel->intensity);
		svg_text(f->svg, column, names[k].row + 4, LABEL_TEXT, SVG_START, SVG_INK, false, 0,
			 text);
	}
	free(names);
}

static double widest_name(const struct plot_data *d)
{
	double widest = 60;

	for (size_t k = 0; k < d->kernel_count; k++)
		widest = fmax(widest, svg_text_width(d->kernels[k].name, LABEL_TEXT));
	return fmin(widest + 50, 260);
}

/* The data sheet's peak is of fp32; it says nothing of other types. */
static bool has_sheet(const struct plot_data *d, enum plot_type type)
{
	for (size_t i = 0; i < d->device_count && type == PLOT_FP32; i++)
		if (isfinite(d->devices[i].spec_bandwidth + d->devices[i].spec_peak))
			return true;
	return false;
}

/* Both axes begin at the origin, where half-lines do. */
static void ranges_from_origin(struct axis_range *x, struct axis_range *y)
{
	axis_include(x, 0, false);
	axis_include(y, 0, false);
}

static void sheet_range(const struct plot_device *v, struct axis_range *x, struct axis_range *y)
{
	if (!isfinite(v->spec_bandwidth + v->spec_peak))
		return;
	axis_include(x, v->spec_bandwidth / 1e9, false);
	axis_include(y, v->spec_peak / 1e9, false);
}

static void sheet_point(struct frame *f, const struct plot_device *v)
{
	char tip[160];

	snprintf(tip, sizeof(tip), "%.80s by its data sheet: %.4g GB/s, %.4g Gop/s", v->name,
		 v->spec_bandwidth / 1e9, v->spec_peak / 1e9);
	frame_point(f, v->spec_bandwidth / 1e9, v->spec_peak / 1e9, 9, SVG_SQUARE, SVG_MUTED, false,
		    tip);
}

static void overview_ranges(const struct plot_data *d, struct axis_range *x, struct axis_range *y)
{
	ranges_from_origin(x, y);
	for (size_t i = 0; i < d->device_count; i++) {
		axis_include(x, d->devices[i].bandwidth / 1e9, false);
		for (int t = 0; t < PLOT_TYPES; t++)
			axis_include(y, d->devices[i].peak[t] / 1e9, false);
		sheet_range(&d->devices[i], x, y);
	}
}

static void overview_device(struct frame *f, const struct plot_device *v, size_t i)
{
	static const enum svg_mark marks[PLOT_TYPES] = {SVG_CIRCLE, SVG_SQUARE, SVG_TRIANGLE};
	double low = NAN, high = NAN;
	char tip[160];

	for (int t = 0; t < PLOT_TYPES; t++) {
		low = fmin(low, v->peak[t]);
		high = fmax(high, v->peak[t]);
	}
	sheet_point(f, v);
	frame_line(f, v->bandwidth / 1e9, low / 1e9, v->bandwidth / 1e9, high / 1e9,
		   (struct svg_pen){svg_series(i), 1, true});
	for (int t = 0; t < PLOT_TYPES; t++) {
		snprintf(tip, sizeof(tip), "%.80s: %.4g GB/s, %.4g Gop/s", v->name,
			 v->bandwidth / 1e9, v->peak[t] / 1e9);
		frame_point(f, v->bandwidth / 1e9, v->peak[t] / 1e9, 11, marks[t], svg_series(i),
			    true, tip);
	}
	labels_want(f->labels, axis_at(&f->x, v->bandwidth / 1e9), axis_at(&f->y, high / 1e9),
		    LABEL_TEXT, SVG_INK, v->name);
}

struct svg *plot_quadrant(const struct plot_data *data)
{
	static const struct legend_entry legend[] = {
		{"fp32 peak", SVG_MUTED, SVG_CIRCLE, true, false},
		{"fp64 peak", SVG_MUTED, SVG_SQUARE, true, false},
		{"integer peak", SVG_MUTED, SVG_TRIANGLE, true, false},
		{"kernel: its slope is its intensity (op/B)", SVG_INK, SVG_MARKS, true, false},
		{"fp32 by the data sheet", SVG_MUTED, SVG_SQUARE, false, false},
	};
	struct axis_range x = AXIS_EMPTY, y = AXIS_EMPTY;
	struct frame f =
		frame_begin("Quadrant-split",
			    "A device above a kernel's half-line is memory-bound on it, one "
			    "below is compute-bound",
			    legend, has_sheet(data, PLOT_FP32) ? 5 : 4, widest_name(data));

	overview_ranges(data, &x, &y);
	frame_axes(&f, x, false, axis_x, y, false, axis_y);
	for (size_t k = 0; k < data->kernel_count; k++)
		frame_slope(&f, data->kernels[k].intensity, 0,
			    (struct svg_pen){SVG_INK, 1.1, false});
	name_slopes(&f, data);
	for (size_t i = 0; i < data->device_count; i++)
		overview_device(&f, &data->devices[i], i);
	return frame_end(&f);
}

static void step_ranges(const struct plot_data *d, const struct plot_cell *cells,
			struct axis_range *x, struct axis_range *y, double slope)
{
	ranges_from_origin(x, y);
	for (size_t i = 0; i < d->device_count; i++) {
		const struct plot_cell *c = &cells[i];

		axis_include(x, d->devices[i].bandwidth / 1e9, false);
		axis_include(x, c->predicted / slope / 1e9, false);
		axis_include(x, c->measured / slope / 1e9, false);
		axis_include(y, c->peak / 1e9, false);
		axis_include(y, c->adjusted / 1e9, false);
		axis_include(y, c->predicted / 1e9, false);
		axis_include(y, c->measured / 1e9, false);
	}
}

/* From the measured peak down by E_mix and E_instr, then straight to the half-line: down when
   the point is above it, to the left when it is below. */
static void step_device(struct frame *f, const struct plot_device *v, const struct plot_cell *c,
			size_t i, double slope)
{
	double x = v->bandwidth / 1e9, at = c->predicted / slope / 1e9, y = c->predicted / 1e9;
	double px = axis_at(&f->x, x);
	struct svg_pen pen = {svg_series(i), 1.4, false}, dashed = {svg_series(i), 1.2, true};
	char tip[200];

	frame_line(f, x, c->adjusted / 1e9, x, y, dashed);
	frame_line(f, x, y, at, y, dashed);
	if (isfinite(c->peak) && isfinite(c->mixed) && isfinite(c->adjusted)) {
		svg_arrow(f->svg, px, axis_at(&f->y, c->peak / 1e9) + 5, px,
			  axis_at(&f->y, c->mixed / 1e9) - 4, pen);
		svg_arrow(f->svg, px, axis_at(&f->y, c->mixed / 1e9) + 4, px,
			  axis_at(&f->y, c->adjusted / 1e9) - 6, pen);
		labels_avoid_line(f->labels, px, axis_at(&f->y, c->peak / 1e9), px,
				  axis_at(&f->y, c->adjusted / 1e9));
	}
	snprintf(tip, sizeof(tip), "%.80s: peak %.4g, with E_mix %.4g, with E_instr %.4g Gop/s",
		 v->name, c->peak / 1e9, c->mixed / 1e9, c->adjusted / 1e9);
	frame_point(f, x, c->peak / 1e9, 9, SVG_CIRCLE, svg_series(i), false, tip);
	frame_point(f, x, c->mixed / 1e9, 6, SVG_CIRCLE, svg_series(i), false, tip);
	frame_point(f, x, c->adjusted / 1e9, 12, SVG_CIRCLE, svg_series(i), true, tip);
	snprintf(tip, sizeof(tip), "%.80s: predicted %.4g Gop/s", v->name, y);
	frame_point(f, at, y, 8, SVG_DIAMOND, svg_series(i), true, tip);
	snprintf(tip, sizeof(tip), "%.80s: measured %.4g Gop/s", v->name, c->measured / 1e9);
	frame_point(f, c->measured / slope / 1e9, c->measured / 1e9, 8, SVG_CROSS, svg_series(i),
		    true, tip);
	labels_want(f->labels, px, axis_at(&f->y, c->adjusted / 1e9), LABEL_TEXT, SVG_INK, v->name);
}

static bool has_measured(const struct plot_data *d, const struct plot_cell *cells)
{
	for (size_t i = 0; i < d->device_count; i++)
		if (isfinite(cells[i].measured))
			return true;
	return false;
}

/* Only what is drawn; returns how many entries that is. */
static size_t degradation_legend(struct legend_entry out[6], const struct plot_data *d,
				 const struct plot_cell *cells, enum plot_type type)
{
	size_t n = 0;

	out[n++] = (struct legend_entry){"measured peak", SVG_MUTED, SVG_CIRCLE, false, false};
	out[n++] = (struct legend_entry){"after E_mix and E_instr", SVG_MUTED, SVG_CIRCLE, true,
					 false};
	out[n++] = (struct legend_entry){"predicted", SVG_MUTED, SVG_DIAMOND, true, false};
	if (has_measured(d, cells))
		out[n++] = (struct legend_entry){"measured", SVG_MUTED, SVG_CROSS, true, false};
	out[n++] = (struct legend_entry){"kernel", SVG_INK, SVG_MARKS, true, false};
	if (has_sheet(d, type))
		out[n++] = (struct legend_entry){"by the data sheet", SVG_MUTED, SVG_SQUARE, false,
						 false};
	return n;
}

struct svg *plot_degradation(const struct plot_data *data, size_t kernel)
{
	const struct plot_kernel *k = &data->kernels[kernel];
	const struct plot_cell *cells = &data->cells[kernel * data->device_count];
	struct axis_range x = AXIS_EMPTY, y = AXIS_EMPTY;
	struct legend_entry legend[6];
	size_t entries = degradation_legend(legend, data, cells, k->type);
	char title[160];
	struct frame f;

	snprintf(title, sizeof(title), "Quadrant-split of %.100s", k->name);
	f = frame_begin(title,
			"The peak of each device, degraded by E_mix and E_instr, meets the "
			"kernel's half-line",
			legend, entries, 0);
	step_ranges(data, cells, &x, &y, k->intensity);
	for (size_t i = 0; i < data->device_count && k->type == PLOT_FP32; i++)
		sheet_range(&data->devices[i], &x, &y);
	frame_axes(&f, x, false, axis_x, y, false, axis_y);
	frame_slope(&f, k->intensity, 0, (struct svg_pen){SVG_INK, 2, false});
	name_slope(&f, k->intensity, k->name);
	for (size_t i = 0; i < data->device_count; i++) {
		const struct plot_device *v = &data->devices[i];

		if (k->type == PLOT_FP32)
			sheet_point(&f, v);
		step_device(&f, v, &cells[i], i, k->intensity);
	}
	return frame_end(&f);
}
