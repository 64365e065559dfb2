#include "cli/plot/svg.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/memory.h"

struct svg {
	char *text;
	size_t used, room;
	bool finished;
};

/*
 * Series colours after Okabe and Ito, darkened or lightened until each has a contrast of at
 * least 3 to 1 against its background and no two look alike to the colour-blind
 * (tests/cli/html_browser.py has the measure).
 */
#define LIGHT "#0072b2", "#d55e00", "#0c5035", "#a8488a", "#6c5400", "#3f4750", "#00a48e", "#5b4bd6"
#define DARK  "#56b4e9", "#ff8a3d", "#09c278", "#e78ac3", "#f0d442", "#cdeefb", "#5addff", "#b37eff"

static const char *const light[] = {"none", "#1b1f24", "#59636e", "#d9dee3", "#ffffff", LIGHT};
static const char *const dark[] = {"none", "#e8ebef", "#a2abb6", "#333a42", "#14171b", DARK};

static void put(struct svg *s, const char *text, size_t n)
{
	if (s->room - s->used < n + 1)
		s->text = gw_grow(s->text, &s->room, s->used + n + 1, 1);
	memcpy(s->text + s->used, text, n);
	s->used += n;
	s->text[s->used] = '\0';
}

__attribute__((format(printf, 2, 3))) static void add(struct svg *s, const char *format, ...)
{
	char text[512];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n > 0)
		put(s, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* XML 1.0 takes no control characters at all, however they are written. */
static void add_escaped(struct svg *s, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			add(s, "&amp;");
			break;
		case '<':
			add(s, "&lt;");
			break;
		case '>':
			add(s, "&gt;");
			break;
		case '"':
			add(s, "&quot;");
			break;
		default:
			put(s, (unsigned char)*text < 0x20 || *text == 0x7f ? " " : text, 1);
		}
	}
}

/* Coordinates to a hundredth; what is not finite is drawn far outside rather than break the file.
 */
static double at(double v)
{
	return isfinite(v) && fabs(v) < 1e6 ? round(v * 100) / 100 + 0.0 : -1e6;
}

static void add_scheme(struct svg *s, const char *const *colours)
{
	for (size_t i = 1; i < sizeof(light) / sizeof(*light); i++)
		add(s, ".f%zu{fill:%s}.s%zu{stroke:%s}", i, colours[i], i, colours[i]);
}

struct svg *svg_new(double width, double height, const char *title, const char *description)
{
	struct svg *s = gw_alloc(sizeof(*s));

	add(s,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" "
	    "height=\"%g\" role=\"img\" font-family=\"system-ui,'Segoe UI','DejaVu Sans',"
	    "Helvetica,Arial,sans-serif\">\n<title>",
	    at(width), at(height), at(width), at(height));
	add_escaped(s, title);
	add(s, "</title>\n<desc>");
	add_escaped(s, description);
	add(s, "</desc>\n<style>");
	add_scheme(s, light);
	add(s, ".h{paint-order:stroke;stroke-width:3px;stroke-linejoin:round;stroke:%s}",
	    light[SVG_PAPER]);
	add(s, "@media(prefers-color-scheme:dark){");
	add_scheme(s, dark);
	add(s, ".h{stroke:%s}}</style>\n", dark[SVG_PAPER]);
	add(s, "<rect class=\"f%d\" width=\"%g\" height=\"%g\" rx=\"8\"/>\n", SVG_PAPER, at(width),
	    at(height));
	return s;
}

static void add_pen(struct svg *s, struct svg_pen pen)
{
	add(s, " class=\"s%d\" stroke-width=\"%g\"%s", pen.ink, pen.width,
	    pen.dashed ? " stroke-dasharray=\"5 4\"" : "");
}

void svg_line(struct svg *s, double x1, double y1, double x2, double y2, struct svg_pen pen)
{
	add(s, "<line x1=\"%g\" y1=\"%g\" x2=\"%g\" y2=\"%g\"", at(x1), at(y1), at(x2), at(y2));
	add_pen(s, pen);
	add(s, "/>\n");
}

void svg_arrow(struct svg *s, double x1, double y1, double x2, double y2, struct svg_pen pen)
{
	double dx = x2 - x1, dy = y2 - y1, length = svg_distance(dx, dy), head = 7;

	if (!(length > 0))
		return;
	dx *= head / length;
	dy *= head / length;
	svg_line(s, x1, y1, x2 - dx / 2, y2 - dy / 2, pen);
	add(s, "<path class=\"f%d\" d=\"M%g %gL%g %gL%g %gZ\"/>\n", pen.ink, at(x2), at(y2),
	    at(x2 - dx - dy / 2.2), at(y2 - dy + dx / 2.2), at(x2 - dx + dy / 2.2),
	    at(y2 - dy - dx / 2.2));
}

void svg_rect(struct svg *s, double x, double y, double w, double h, enum svg_ink fill)
{
	add(s, "<rect class=\"f%d\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>\n", fill, at(x),
	    at(y), at(fmax(w, 0)), at(fmax(h, 0)));
}

static void add_mark(struct svg *s, double x, double y, double r, enum svg_mark mark)
{
	switch (mark) {
	case SVG_SQUARE:
		add(s, "M%g %gh%gv%gh%gZ", at(x - 0.88 * r), at(y - 0.88 * r), at(1.76 * r),
		    at(1.76 * r), at(-1.76 * r));
		break;
	case SVG_TRIANGLE:
		add(s, "M%g %gL%g %gH%gZ", at(x), at(y - 1.15 * r), at(x + 1.05 * r),
		    at(y + 0.75 * r), at(x - 1.05 * r));
		break;
	case SVG_DIAMOND:
		add(s, "M%g %gl%g %gl%g %gl%g %gZ", at(x), at(y - 1.2 * r), at(1.2 * r),
		    at(1.2 * r), at(-1.2 * r), at(1.2 * r), at(-1.2 * r), at(-1.2 * r));
		break;
	case SVG_CROSS:
		add(s, "M%g %gl%g %gM%g %gl%g %g", at(x - r), at(y - r), at(2 * r), at(2 * r),
		    at(x - r), at(y + r), at(2 * r), at(-2 * r));
		break;
	default:
		add(s, "M%g %ga%g %g 0 1 0 %g 0a%g %g 0 1 0 %g 0Z", at(x - r), at(y), at(r), at(r),
		    at(2 * r), at(r), at(r), at(-2 * r));
	}
}

void svg_point(struct svg *s, double x, double y, double size, enum svg_mark mark, enum svg_ink ink,
	       bool solid, const char *tip)
{
	/* A solid point has a rim of the background's colour: neighbours stay apart. */
	bool rim = solid && mark != SVG_CROSS;

	if (rim)
		add(s, "<path class=\"f%d s%d\" stroke-width=\"1\" d=\"", ink, SVG_PAPER);
	else
		add(s, "<path class=\"f%d s%d\" stroke-width=\"2\" d=\"",
		    mark == SVG_CROSS ? SVG_NONE : SVG_PAPER, ink);
	add_mark(s, x, y, size / 2, mark);
	if (!tip) {
		add(s, "\"/>\n");
		return;
	}
	add(s, "\"><title>");
	add_escaped(s, tip);
	add(s, "</title></path>\n");
}

void svg_text(struct svg *s, double x, double y, double size, enum svg_anchor anchor,
	      enum svg_ink ink, bool bold, double turn, const char *text)
{
	static const char *const anchors[] = {"start", "middle", "end"};

	/* What is as the background stands on a colour, and needs no halo. */
	add(s, "<text class=\"f%d%s\" x=\"%g\" y=\"%g\" font-size=\"%g\" text-anchor=\"%s\"%s", ink,
	    ink == SVG_PAPER ? "" : " h", at(x), at(y), size, anchors[anchor],
	    bold ? " font-weight=\"600\"" : "");
	if (turn != 0)
		add(s, " transform=\"rotate(%g %g %g)\"", turn, at(x), at(y));
	add(s, ">");
	add_escaped(s, text);
	add(s, "</text>\n");
}

double svg_text_width(const char *text, double size)
{
	double units = 0;

	for (; *text; text++) {
		if ((*text & 0xc0) == 0x80)
			continue; /* the rest of a character already counted */
		if (strchr("iljtfr.,:;'|!()[] -", *text))
			units += 0.36;
		else if (strchr("mwMW%@", *text))
			units += 0.92;
		else
			units += *text >= 'A' && *text <= 'Z' ? 0.68 : 0.61;
	}
	return units * size;
}

const char *svg_finish(struct svg *s)
{
	if (!s->finished)
		add(s, "</svg>\n");
	s->finished = true;
	return s->text;
}

bool svg_save(struct svg *s, const char *path, char *error, size_t error_size)
{
	const char *text = svg_finish(s);
	FILE *file = fopen(path, "we");
	bool ok = file && fwrite(text, 1, s->used, file) == s->used;
	int why = errno;

	if (file && fclose(file) != 0) {
		ok = false;
		why = errno;
	}
	if (!ok)
		snprintf(error, error_size, "%s: cannot be written: %s", path, strerror(why));
	return ok;
}

void svg_free(struct svg *s)
{
	if (s) {
		free(s->text);
		free(s);
	}
}
