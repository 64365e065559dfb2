/* What the pictures of plots.h share: size, titles, place of the axes. */
#ifndef GW_PLOT_FRAME_H
#define GW_PLOT_FRAME_H

#include "cli/plot/axis.h"
#include "cli/plot/plots.h"

enum {
	FRAME_LEFT = 84,
	FRAME_RIGHT = 28,
	FRAME_TOP = 62,
	FRAME_WIDTH = 820,  /**< of the whole picture */
	FRAME_HEIGHT = 440, /**< of the plot area */
	LABEL_TEXT = 11,
};

/** A picture begun: where its axes go. */
struct frame {
	struct svg *svg;
	struct labels *labels;
	struct axis x, y;
	double left, right, top, bottom;
};

/** Begin a picture with a title, a subtitle and a legend under the axes; @p margin is left free at
 * the right. */
struct frame frame_begin(const char *title, const char *subtitle, const struct legend_entry *legend,
			 size_t legend_count, double margin);

/** Set the axes over the ranges and draw them. */
void frame_axes(struct frame *f, struct axis_range x, bool log_x, const char *title_x,
		struct axis_range y, bool log_y, const char *title_y);

/** A line in values, cut at the plot area, which labels then avoid. */
void frame_line(struct frame *f, double x1, double y1, double x2, double y2, struct svg_pen pen);

/** A point in values, with its hover text; labels avoid it. */
void frame_point(struct frame *f, double x, double y, double size, enum svg_mark mark,
		 enum svg_ink ink, bool solid, const char *tip);

/** A half-line from the origin with @p slope, through the plot area. */
void frame_slope(struct frame *f, double slope, double x_from, struct svg_pen pen);

/** Draw the labels asked for and give the picture away. */
struct svg *frame_end(struct frame *f);

#endif
