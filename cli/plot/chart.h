/* Functions of one variable as a chart: points joined by lines, bars of probability, fitted lines.
 */
#ifndef GW_PLOT_CHART_H
#define GW_PLOT_CHART_H

#include "cli/plot/svg.h"

/** How the points of a series are drawn. */
enum chart_style {
	CHART_JOINED, /**< points joined by lines */
	CHART_STEMS,  /**< a line from the x axis to each point: probabilities */
	CHART_POINTS, /**< points alone */
	CHART_CURVE,  /**< lines alone */
	CHART_LINE,   /**< lines alone, dashed: a fit or a roof */
};

struct chart_series {
	const char *name;
	enum chart_style style;
	size_t colour; /**< of SVG_SERIES, round and round; a fit has that of its points */
	size_t count;
	const double *x, *y;      /**< what is not finite is left out */
	const char *const *names; /**< of points, for who points at them; NULL: none */
};

/** A chart; nothing of it is kept. */
struct chart {
	const char *title, *subtitle, *x_title, *y_title;
	bool log_x, log_y;
	bool from_zero; /**< the y axis starts at 0; not with log_y */
	bool square;    /**< both axes have the same range and length: they are of one quantity */
	size_t count;   /**< of series */
	const struct chart_series *series;
};

/** Draw it. */
struct svg *plot_chart(const struct chart *chart);

#endif
