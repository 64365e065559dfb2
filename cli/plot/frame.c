#include "cli/plot/frame.h"

#include <math.h>

struct frame frame_begin(const char *title, const char *subtitle, const struct legend_entry *legend,
			 size_t legend_count, double margin)
{
	double width = FRAME_WIDTH - FRAME_LEFT - FRAME_RIGHT;
	double legend_height = legend_draw(NULL, legend, legend_count, FRAME_LEFT, 0, width);
	struct frame f = {.left = FRAME_LEFT,
			  .right = FRAME_WIDTH - FRAME_RIGHT - margin,
			  .top = FRAME_TOP,
			  .bottom = FRAME_TOP + FRAME_HEIGHT};

	f.svg = svg_new(FRAME_WIDTH, f.bottom + 56 + legend_height, title, subtitle);
	f.labels = labels_new(f.left, f.top, f.right - f.left, f.bottom - f.top);
	svg_text(f.svg, FRAME_LEFT - 60, 27, 16, SVG_START, SVG_INK, true, 0, title);
	svg_text(f.svg, FRAME_LEFT - 60, 46, 12, SVG_START, SVG_MUTED, false, 0, subtitle);
	legend_draw(f.svg, legend, legend_count, FRAME_LEFT, f.bottom + 48, width);
	return f;
}

void frame_axes(struct frame *f, struct axis_range x, bool log_x, const char *title_x,
		struct axis_range y, bool log_y, const char *title_y)
{
	f->x = axis_over(x, log_x, f->left, f->right, title_x);
	f->y = axis_over(y, log_y, f->bottom, f->top, title_y);
	axis_draw(f->svg, &f->x, &f->y);
}

static double within(double v, double a, double b)
{
	return fmin(fmax(v, fmin(a, b)), fmax(a, b));
}

void frame_line(struct frame *f, double x1, double y1, double x2, double y2, struct svg_pen pen)
{
	x1 = axis_at(&f->x, x1);
	x2 = axis_at(&f->x, x2);
	y1 = axis_at(&f->y, y1);
	y2 = axis_at(&f->y, y2);
	if (!isfinite(x1 + x2 + y1 + y2))
		return;
	/* Lines that leave the area are horizontal, vertical or drawn by frame_slope. */
	x1 = within(x1, f->left, f->right);
	x2 = within(x2, f->left, f->right);
	y1 = within(y1, f->top, f->bottom);
	y2 = within(y2, f->top, f->bottom);
	svg_line(f->svg, x1, y1, x2, y2, pen);
	labels_avoid_line(f->labels, x1, y1, x2, y2);
}

void frame_point(struct frame *f, double x, double y, double size, enum svg_mark mark,
		 enum svg_ink ink, bool solid, const char *tip)
{
	double px = axis_at(&f->x, x), py = axis_at(&f->y, y);

	if (!isfinite(px) || !isfinite(py))
		return;
	svg_point(f->svg, px, py, size, mark, ink, solid, tip);
	labels_avoid(f->labels, px - size / 2, py - size / 2, size, size);
}

void frame_slope(struct frame *f, double slope, double x_from, struct svg_pen pen)
{
	double from = fmax(x_from, f->x.low), to = f->x.high;

	if (!(slope > 0))
		return;
	/* On linear and on double logarithmic axes alike, y = slope x is straight. */
	from = fmax(from, f->y.low / slope);
	to = fmin(to, f->y.high / slope);
	if (to > from)
		frame_line(f, from, slope * from, to, slope * to, pen);
}

struct svg *frame_end(struct frame *f)
{
	labels_draw(f->labels, f->svg);
	labels_free(f->labels);
	return f->svg;
}
