/* Axes, linear or logarithmic, and the frame they make; legends; labels that keep apart. */
#ifndef GW_PLOT_AXIS_H
#define GW_PLOT_AXIS_H

#include "cli/plot/svg.h"

/** One axis. Values map to user units between from and to. */
struct axis {
	bool log;
	double low, high;  /**< of the values; both > 0 when log */
	double from, to;   /**< where low and high are drawn */
	const char *title; /**< with its unit */
};

/** The range of values an axis must show. */
struct axis_range {
	double low, high; /**< NaN before the first value */
};

static const struct axis_range AXIS_EMPTY = {__builtin_nan(""), __builtin_nan("")};

/** Widen @p range by @p value; what is not finite is left out, and what is not > 0 when @p log. */
void axis_include(struct axis_range *range, double value, bool log);

/** An axis over @p range with some room at its ends; an empty range gives 1 to 10. */
struct axis axis_over(struct axis_range range, bool log, double from, double to, const char *title);

/** Where @p value is drawn; NaN for what the axis can't show. */
double axis_at(const struct axis *a, double value);

/** Grid, ticks with numbers, titles; @p x across, @p y upwards. */
void axis_draw(struct svg *s, const struct axis *x, const struct axis *y);

/** A number for a tick or label: 0.05, 3, 1,200, 10⁷. Written to @p out, returned. */
char *axis_number(char *out, size_t size, double value);

/** An entry of a legend. */
struct legend_entry {
	const char *text;
	enum svg_ink ink;
	enum svg_mark mark; /**< SVG_MARKS: a line instead of a point */
	bool solid, dashed;
};

/** Height that the legend takes within @p width; draws nothing when @p s is NULL. */
double legend_draw(struct svg *s, const struct legend_entry *entries, size_t count, double x,
		   double y, double width);

/** Labels: things already drawn are obstacles, each label takes the best free place near its point.
 */
struct labels;
struct labels *labels_new(double x, double y, double w, double h);
void labels_free(struct labels *l);
/** Nothing should be written over this rectangle. */
void labels_avoid(struct labels *l, double x, double y, double w, double h);
/** Nothing should be written over this line. */
void labels_avoid_line(struct labels *l, double x1, double y1, double x2, double y2);
/** Ask for @p text near (x, y); all are placed and drawn by labels_draw. */
void labels_want(struct labels *l, double x, double y, double size, enum svg_ink ink,
		 const char *text);
void labels_draw(struct labels *l, struct svg *s);

#endif
