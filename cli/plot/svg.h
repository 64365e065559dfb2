/*
 * Drawing SVG that stands alone: no script, no font, no link, one viewBox. The picture
 * brings its own background and follows the reader's light or dark preference, so it can
 * be read on any page. Colours are classes, so that both schemes stand in one place.
 * Coordinates are in user units (pixels at natural size), y downwards.
 */
#ifndef GW_SVG_H
#define GW_SVG_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

enum { SVG_SERIES = 8 }; /**< colours that differ for colour-blind readers too */

/** What a stroke, fill or text is for; svg.c gives each its colour in both schemes. */
enum svg_ink {
	SVG_NONE,
	SVG_INK,    /**< text, axes */
	SVG_MUTED,  /**< secondary text, minor marks */
	SVG_GRID,   /**< grid lines */
	SVG_PAPER,  /**< the background */
	SVG_SERIES0 /**< the first of SVG_SERIES series colours */
};

/** Colour of series @p i; the colours come round again after SVG_SERIES. */
static inline enum svg_ink svg_series(size_t i)
{
	return (enum svg_ink)(SVG_SERIES0 + i % SVG_SERIES);
}

/** How a line or outline is drawn. */
struct svg_pen {
	enum svg_ink ink;
	double width;
	bool dashed;
};

enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

/** Shapes of points; they differ in form too, so that colour is not the only sign. */
enum svg_mark { SVG_CIRCLE, SVG_SQUARE, SVG_TRIANGLE, SVG_DIAMOND, SVG_CROSS, SVG_MARKS };

struct svg;

/** A picture of @p width x @p height; title and description are for screen readers too. */
struct svg *svg_new(double width, double height, const char *title, const char *description);

void svg_line(struct svg *s, double x1, double y1, double x2, double y2, struct svg_pen pen);
/** A line with a head at its second end. */
void svg_arrow(struct svg *s, double x1, double y1, double x2, double y2, struct svg_pen pen);
void svg_rect(struct svg *s, double x, double y, double w, double h, enum svg_ink fill);
/** A point; @p solid fills it, otherwise it is an outline over the background. @p tip is shown on
 * hover (may be NULL). */
void svg_point(struct svg *s, double x, double y, double size, enum svg_mark mark, enum svg_ink ink,
	       bool solid, const char *tip);
/** Text with its baseline at y; escaped here. @p turn is in degrees. */
void svg_text(struct svg *s, double x, double y, double size, enum svg_anchor anchor,
	      enum svg_ink ink, bool bold, double turn, const char *text);

/** Width that @p text will take at @p size, estimated for a common sans-serif font. */
double svg_text_width(const char *text, double size);

/** The document, NUL-terminated, ended and owned by @p s. */
const char *svg_finish(struct svg *s);
/** Write to @p path; on failure returns false with one message in @p error. */
bool svg_save(struct svg *s, const char *path, char *error, size_t error_size);
void svg_free(struct svg *s);

/** Distance of two points. Not hypot(), whose version of glibc 2.35 would keep the command from
 * older systems. */
static inline double svg_distance(double dx, double dy)
{
	return sqrt(dx * dx + dy * dy);
}

#endif
