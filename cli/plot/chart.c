#include "cli/plot/chart.h"

#include <math.h>
#include <stdio.h>

#include "cli/plot/frame.h"

enum { LEGEND_MOST = 24 };

static bool has_points(const struct chart_series *s)
{
	return s->style != CHART_CURVE && s->style != CHART_LINE;
}

/* SVG_MARKS: none, and a line in the legend. */
static enum svg_mark mark_of(const struct chart_series *s)
{
	return has_points(s) ? (enum svg_mark)(s->colour % SVG_CROSS) : SVG_MARKS;
}

static size_t legend_of(const struct chart *c, struct legend_entry legend[LEGEND_MOST])
{
	size_t n = 0;

	for (size_t i = 0; i < c->count && n < LEGEND_MOST; i++) {
		const struct chart_series *r = &c->series[i];

		if (!*r->name)
			continue;
		legend[n++] = (struct legend_entry){r->name, svg_series(r->colour), mark_of(r),
						    true, r->style == CHART_LINE};
	}
	return n;
}

static void ranges(const struct chart *c, struct axis_range *x, struct axis_range *y)
{
	if (c->from_zero)
		axis_include(y, 0, false);
	for (size_t i = 0; i < c->count; i++)
		for (size_t k = 0; k < c->series[i].count; k++) {
			axis_include(x, c->series[i].x[k], c->log_x);
			axis_include(y, c->series[i].y[k], c->log_y);
		}
}

static void draw_lines(struct frame *f, const struct chart_series *s)
{
	struct svg_pen pen = {svg_series(s->colour), s->style == CHART_LINE ? 1.2 : 1.6,
			      s->style == CHART_LINE};

	for (size_t k = 1; k < s->count; k++)
		frame_line(f, s->x[k - 1], s->y[k - 1], s->x[k], s->y[k], pen);
}

static void draw_points(struct frame *f, const struct chart_series *s)
{
	enum svg_ink ink = svg_series(s->colour);
	char tip[400];

	for (size_t k = 0; k < s->count; k++) {
		if (s->style == CHART_STEMS)
			frame_line(f, s->x[k], f->y.low, s->x[k], s->y[k],
				   (struct svg_pen){ink, 2, false});
		snprintf(tip, sizeof(tip), "%.200s%s%.60s: %.5g, %.5g", s->names ? s->names[k] : "",
			 s->names ? "; " : "", s->name, s->x[k], s->y[k]);
		frame_point(f, s->x[k], s->y[k], 8, mark_of(s), ink, true, tip);
	}
}

/* What is free beside a square plot area. */
enum { SQUARE_MARGIN = FRAME_WIDTH - FRAME_LEFT - FRAME_RIGHT - FRAME_HEIGHT };

static void both_ranges(const struct chart *c, struct axis_range *x, struct axis_range *y)
{
	ranges(c, x, y);
	if (c->square) {
		ranges(c, y, x);
		ranges(c, x, y);
	}
}

struct svg *plot_chart(const struct chart *chart)
{
	struct legend_entry legend[LEGEND_MOST];
	size_t entries = legend_of(chart, legend);
	struct axis_range x = AXIS_EMPTY, y = AXIS_EMPTY;
	struct frame f = frame_begin(chart->title, chart->subtitle, legend, entries,
				     chart->square ? SQUARE_MARGIN : 0);

	both_ranges(chart, &x, &y);
	frame_axes(&f, x, chart->log_x, chart->x_title, y, chart->log_y, chart->y_title);
	for (size_t i = 0; i < chart->count; i++) {
		const struct chart_series *s = &chart->series[i];

		if (s->style != CHART_STEMS && s->style != CHART_POINTS)
			draw_lines(&f, s);
		if (has_points(s))
			draw_points(&f, s);
	}
	return frame_end(&f);
}
