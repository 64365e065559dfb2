/* Bars: densities of instructions (Konstantinidis 2017, figs. 4.3, 4.5) and errors (figs. 5.10
 * to 5.12). */
#include "cli/plot/axis.h"
#include "cli/plot/plots.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/common/memory.h"

enum { WIDTH = 820, LEFT = 24, TOP = 62, RIGHT = 28, ROW = 26, TEXT = 11 };

static void head(struct svg *s, const char *title, const char *subtitle)
{
	svg_text(s, LEFT, 27, 16, SVG_START, SVG_INK, true, 0, title);
	svg_text(s, LEFT, 46, 12, SVG_START, SVG_MUTED, false, 0, subtitle);
}

/* Room for the longest of the names at the left. */
static double margin(const char *const *names, size_t count)
{
	double widest = 40;

	for (size_t i = 0; i < count; i++)
		widest = fmax(widest, svg_text_width(names[i], TEXT));
	return LEFT + fmin(widest, 260) + 10;
}

static void density_row(struct svg *s, const struct plot_kernel *k, double x, double y, double w)
{
	double share[] = {k->ops, k->loads_stores, k->other};
	char text[32];

	svg_text(s, x - 8, y + 14, TEXT, SVG_END, SVG_INK, false, 0, k->name);
	for (size_t i = 0; i < 3; i++) {
		double part = isfinite(share[i]) ? share[i] * w : 0;

		svg_rect(s, x, y + 2, fmax(part - 1.5, 0), ROW - 9, svg_series(i));
		snprintf(text, sizeof(text), "%.1f%%", share[i] * 100);
		if (part > svg_text_width(text, TEXT) + 8)
			svg_text(s, x + part / 2, y + 15, TEXT, SVG_MIDDLE, SVG_PAPER, true, 0,
				 text);
		x += part;
	}
	if (!isfinite(share[0] + share[1] + share[2]))
		svg_text(s, x + 4, y + 14, TEXT, SVG_START, SVG_MUTED, false, 0, "unknown");
}

struct svg *plot_densities(const struct plot_data *data)
{
	static const struct legend_entry legend[] = {
		{"beneficial operations (D_ops)", SVG_SERIES0, SVG_SQUARE, true, false},
		{"loads and stores (D_ldst)", (enum svg_ink)(SVG_SERIES0 + 1), SVG_SQUARE, true,
		 false},
		{"other (D_other)", (enum svg_ink)(SVG_SERIES0 + 2), SVG_SQUARE, true, false},
	};
	const char **names = gw_alloc((data->kernel_count + 1) * sizeof(*names));
	const char *subtitle = "Share of each kind among all executed instructions";
	double bottom = TOP + (double)data->kernel_count * ROW, left;
	struct svg *s;

	for (size_t k = 0; k < data->kernel_count; k++)
		names[k] = data->kernels[k].name;
	left = margin(names, data->kernel_count);
	free(names);
	s = svg_new(WIDTH, bottom + 40, "Instruction densities", subtitle);
	head(s, "Instruction densities", subtitle);
	for (size_t k = 0; k < data->kernel_count; k++)
		density_row(s, &data->kernels[k], left, TOP + (double)k * ROW,
			    WIDTH - RIGHT - left);
	legend_draw(s, legend, 3, LEFT, bottom + 10, WIDTH - LEFT - RIGHT);
	return s;
}

/* Bars longer than this would squeeze all others; they are cut and bear their number. */
static const double longest = 1.5;

struct chart {
	struct svg *svg;
	struct axis x;
	double bar, group; /**< height of a bar and of a group of them */
};

static void error_bar(const struct chart *c, const struct plot_bar *b, double y)
{
	double cut = fmin(fmax(b->error, -longest), longest), zero = axis_at(&c->x, 0);
	double end = axis_at(&c->x, cut);
	char text[32];

	svg_rect(c->svg, fmin(zero, end), y + 1, fmax(fabs(end - zero), 1), c->bar - 2,
		 svg_series(b->series));
	snprintf(text, sizeof(text), "%s%.1f%%%s", b->error < 0 ? "−" : "+", fabs(b->error) * 100,
		 cut != b->error ? " (cut)" : "");
	svg_text(c->svg, end + (b->error < 0 ? -5 : 5), y + c->bar / 2 + 4, TEXT,
		 b->error < 0 ? SVG_END : SVG_START, SVG_INK, false, 0, text);
}

static void error_axis(const struct chart *c, double top, double bottom)
{
	double span = c->x.high - c->x.low, step = span > 1.5    ? 0.5
						   : span > 0.6  ? 0.2
						   : span > 0.25 ? 0.1
								 : 0.05;

	for (double i = ceil(c->x.low / step); i * step <= c->x.high + 1e-9; i++) {
		double x = axis_at(&c->x, i * step);
		char text[32];

		svg_line(c->svg, x, top, x, bottom,
			 (struct svg_pen){i == 0 ? SVG_INK : SVG_GRID, 1, false});
		snprintf(text, sizeof(text), "%s%.0f%%",
			 i < 0   ? "−"
			 : i > 0 ? "+"
				 : "",
			 fabs(i * step) * 100);
		svg_text(c->svg, x, bottom + 15, TEXT, SVG_MIDDLE, SVG_MUTED, false, 0, text);
	}
	svg_text(c->svg, (c->x.from + c->x.to) / 2, bottom + 34, 12, SVG_MIDDLE, SVG_INK, false, 0,
		 "error of the predicted time (%)");
}

static struct axis error_range(const struct plot_bars *bars, double left)
{
	struct axis_range range = {0, 0};
	double room;
	struct axis x;

	for (size_t i = 0; i < bars->bar_count; i++)
		axis_include(&range, fmin(fmax(bars->bars[i].error, -longest), longest), false);
	/* Numbers stand outside the ends of the bars. */
	room = 0.14 * fmax(range.high - range.low, 0.02);
	x = axis_over(range, false, left, WIDTH - RIGHT, "");
	x.low = range.low - (range.low < 0 ? room : room / 4);
	x.high = range.high + (range.high > 0 ? room : room / 4);
	return x;
}

static double legend_of(struct svg *s, const struct plot_bars *bars, double y)
{
	struct legend_entry *e = gw_alloc((bars->series_count + 1) * sizeof(*e));
	double height;

	for (size_t i = 0; i < bars->series_count; i++)
		e[i] = (struct legend_entry){bars->series[i], svg_series(i), SVG_SQUARE, true,
					     false};
	height = legend_draw(s, e, bars->series_count, LEFT, y, WIDTH - LEFT - RIGHT);
	free(e);
	return height;
}

struct svg *plot_errors(const struct plot_bars *bars)
{
	struct chart c = {.bar = 15};
	double left = margin(bars->groups, bars->group_count), y = TOP, bottom;

	c.group = c.bar * (double)bars->series_count + 12;
	bottom = TOP + c.group * (double)bars->group_count;
	c.svg = svg_new(WIDTH, bottom + 56 + legend_of(NULL, bars, 0), bars->title,
			bars->description);
	c.x = error_range(bars, left);
	head(c.svg, bars->title, bars->description);
	error_axis(&c, TOP, bottom);
	for (size_t g = 0; g < bars->group_count; g++, y += c.group) {
		svg_text(c.svg, left - 8, y + c.group / 2 + 4, TEXT, SVG_END, SVG_INK, false, 0,
			 bars->groups[g]);
		for (size_t i = 0; i < bars->bar_count; i++)
			if (bars->bars[i].group == g && isfinite(bars->bars[i].error))
				error_bar(&c, &bars->bars[i],
					  y + 6 + c.bar * (double)bars->bars[i].series);
	}
	legend_of(c.svg, bars, bottom + 46);
	return c.svg;
}
