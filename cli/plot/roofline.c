/* The roofline of one device with every kernel at its intensity (Konstantinidis 2017, fig. 5.9). */
#include "cli/plot/frame.h"

#include <math.h>
#include <stdio.h>

static const enum svg_mark marks[PLOT_TYPES] = {SVG_CIRCLE, SVG_SQUARE, SVG_TRIANGLE};
static const char *const roofs[PLOT_TYPES] = {"fp32 multiply-add", "fp64 multiply-add",
					      "integer multiply-add"};

/* Only the roofs that some kernel is under. */
static bool used(const struct plot_data *d, enum plot_type type)
{
	for (size_t k = 0; k < d->kernel_count; k++)
		if (d->kernels[k].type == type)
			return true;
	return false;
}

static const struct plot_cell *cell(const struct plot_data *d, size_t kernel, size_t device)
{
	return &d->cells[kernel * d->device_count + device];
}

static void ranges(const struct plot_data *d, size_t device, struct axis_range *x,
		   struct axis_range *y)
{
	const struct plot_device *v = &d->devices[device];

	for (int t = 0; t < PLOT_TYPES; t++) {
		if (!used(d, (enum plot_type)t))
			continue;
		axis_include(x, v->peak[t] / v->bandwidth, true);
		axis_include(x, 4 * v->peak[t] / v->bandwidth, true);
		axis_include(y, v->peak[t] / 1e9, true);
	}
	for (size_t k = 0; k < d->kernel_count; k++) {
		const struct plot_cell *c = cell(d, k, device);

		axis_include(x, d->kernels[k].intensity, true);
		axis_include(y, c->predicted / 1e9, true);
		axis_include(y, c->measured / 1e9, true);
	}
	axis_include(y, x->low * v->bandwidth / 1e9, true);
}

static void draw_roofs(struct frame *f, const struct plot_data *d, const struct plot_device *v)
{
	double ridge = NAN, top = NAN;
	char text[96], rate[48];

	for (int t = 0; t < PLOT_TYPES; t++) {
		double peak = v->peak[t] / 1e9, at = v->peak[t] / v->bandwidth;

		if (!used(d, (enum plot_type)t) || !isfinite(at))
			continue;
		frame_line(f, at, peak, f->x.high, peak,
			   (struct svg_pen){SVG_INK, 1.6, t != PLOT_FP32});
		snprintf(text, sizeof(text), "%s: %s Gop/s", roofs[t],
			 axis_number(rate, sizeof(rate), peak));
		labels_want(f->labels, f->right - svg_text_width(text, LABEL_TEXT) / 2 - 4,
			    axis_at(&f->y, peak) - 6, LABEL_TEXT, SVG_MUTED, text);
		if (!(at <= ridge)) {
			ridge = fmax(at, isnan(ridge) ? at : ridge);
			top = ridge * v->bandwidth / 1e9;
		}
	}
	if (isnan(ridge))
		return;
	frame_line(f, f->x.low, f->x.low * v->bandwidth / 1e9, ridge, top,
		   (struct svg_pen){SVG_INK, 1.6, false});
	snprintf(text, sizeof(text), "device memory: %.4g GB/s", v->bandwidth / 1e9);
	labels_want(f->labels, axis_at(&f->x, sqrt(f->x.low * ridge)),
		    axis_at(&f->y, sqrt(f->x.low * ridge) * v->bandwidth / 1e9), LABEL_TEXT,
		    SVG_MUTED, text);
}

static void draw_kernel(struct frame *f, const struct plot_kernel *k, const struct plot_cell *c)
{
	char tip[200];
	double predicted = c->predicted / 1e9, measured = c->measured / 1e9;

	snprintf(tip, sizeof(tip), "%.80s: %.4g op/B, predicted %.4g Gop/s", k->name, k->intensity,
		 predicted);
	if (isfinite(measured)) {
		frame_line(f, k->intensity, predicted, k->intensity, measured,
			   (struct svg_pen){SVG_MUTED, 0.8, true});
		frame_point(f, k->intensity, measured, 8, SVG_CROSS, SVG_INK, true, "measured");
	}
	frame_point(f, k->intensity, predicted, 10, marks[k->type], svg_series((size_t)k->type),
		    true, tip);
	labels_want(f->labels, axis_at(&f->x, k->intensity), axis_at(&f->y, predicted), LABEL_TEXT,
		    SVG_INK, k->name);
}

struct svg *plot_roofline(const struct plot_data *data, size_t device)
{
	static const char *const names[PLOT_TYPES] = {
		"fp32 kernel, predicted", "fp64 kernel, predicted", "integer kernel, predicted"};
	const struct plot_device *v = &data->devices[device];
	struct legend_entry legend[PLOT_TYPES + 1];
	struct axis_range x = AXIS_EMPTY, y = AXIS_EMPTY;
	size_t entries = 0;
	bool measured = false;
	char title[160];
	struct frame f;

	for (int t = 0; t < PLOT_TYPES; t++)
		if (used(data, (enum plot_type)t))
			legend[entries++] = (struct legend_entry){names[t], svg_series((size_t)t),
								  marks[t], true, false};
	for (size_t k = 0; k < data->kernel_count; k++)
		measured |= isfinite(cell(data, k, device)->measured);
	if (measured)
		legend[entries++] =
			(struct legend_entry){"measured", SVG_INK, SVG_CROSS, true, false};
	snprintf(title, sizeof(title), "Roofline of %.100s", v->name);
	f = frame_begin(title,
			"Measured peaks as roofs; each kernel at its intensity and at the rate "
			"the quantitative roofline predicts",
			legend, entries, 0);
	ranges(data, device, &x, &y);
	frame_axes(&f, x, true, "operational intensity (op/B)", y, true, "operations (Gop/s)");
	draw_roofs(&f, data, v);
	for (size_t k = 0; k < data->kernel_count; k++)
		draw_kernel(&f, &data->kernels[k], cell(data, k, device));
	return frame_end(&f);
}
