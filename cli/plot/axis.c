#include "cli/plot/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TICK_TEXT = 11, TITLE_TEXT = 12, LEGEND_TEXT = 12, LEGEND_ROW = 19 };

void axis_include(struct axis_range *range, double value, bool log)
{
	if (!isfinite(value) || (log && value <= 0))
		return;
	/* Not fmin: a range begins as NaN, which these let in. */
	if (!(range->low <= value))
		range->low = value;
	if (!(range->high >= value))
		range->high = value;
}

/* The step 1, 2 or 5 times a power of ten that gives about @p parts parts. */
static double nice_step(double span, double parts)
{
	double raw = span / parts, base = pow(10, floor(log10(raw))), m = raw / base;

	return base * (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10);
}

struct axis axis_over(struct axis_range range, bool log, double from, double to, const char *title)
{
	struct axis a = {.log = log, .from = from, .to = to, .title = title};

	if (!isfinite(range.low))
		range = (struct axis_range){1, 10};
	if (log) {
		double room = fmax(0.12, 0.06 * log10(range.high / range.low));

		a.low = pow(10, log10(range.low) - room);
		a.high = pow(10, log10(range.high) + room);
	} else {
		double span =
			range.high > range.low ? range.high - range.low : fabs(range.high) + 1;

		a.low = range.low - (range.low != 0 ? 0.06 * span : 0);
		a.high = range.high + (range.high != 0 ? 0.06 * span : 0);
	}
	return a;
}

double axis_at(const struct axis *a, double value)
{
	double share;

	if (a->log)
		share = value > 0 ? log10(value / a->low) / log10(a->high / a->low) : NAN;
	else
		share = (value - a->low) / (a->high - a->low);
	return a->from + share * (a->to - a->from);
}

static const char *superscript(char *out, size_t size, int exponent)
{
	static const char *const digit[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
	char plain[16];
	size_t used = 0;

	snprintf(plain, sizeof(plain), "%d", exponent);
	*out = '\0';
	for (const char *p = plain; *p && used < size; p++)
		used += (size_t)snprintf(out + used, size - used, "%s",
					 *p == '-' ? "⁻" : digit[*p - '0']);
	return out;
}

static char *with_commas(char *out, size_t size, double value)
{
	char plain[32];
	size_t used = 0, n;

	snprintf(plain, sizeof(plain), "%.0f", fabs(value));
	n = strlen(plain);
	if (value < 0)
		used += (size_t)snprintf(out, size, "−");
	for (size_t i = 0; i < n && used + 2 < size; i++) {
		if (i && (n - i) % 3 == 0)
			out[used++] = ',';
		out[used++] = plain[i];
	}
	out[used] = '\0';
	return out;
}

char *axis_number(char *out, size_t size, double value)
{
	double magnitude = fabs(value);
	char up[32];
	int exponent;

	if (value == 0) {
		snprintf(out, size, "0");
	} else if (magnitude >= 1000 && magnitude < 1e6) {
		with_commas(out, size, value);
	} else if (magnitude >= 1e-3 && magnitude < 1000) {
		snprintf(out, size, "%s%.3g", value < 0 ? "−" : "", magnitude);
	} else {
		exponent = (int)floor(log10(magnitude) + 1e-9);
		if (fabs(magnitude / pow(10, exponent) - 1) < 1e-9)
			snprintf(out, size, "%s10%s", value < 0 ? "−" : "",
				 superscript(up, sizeof(up), exponent));
		else
			snprintf(out, size, "%.3g·10%s", value / pow(10, exponent),
				 superscript(up, sizeof(up), exponent));
	}
	return out;
}

/* One tick across both axes: @p across is the axis it belongs to, @p other the one it spans. */
static void tick(struct svg *s, const struct axis *across, const struct axis *other, bool vertical,
		 double value, bool named)
{
	struct svg_pen pen = {SVG_GRID, named ? 1 : 0.5, false};
	double p = axis_at(across, value);
	char text[48];

	if (vertical)
		svg_line(s, p, other->from, p, other->to, pen);
	else
		svg_line(s, other->from, p, other->to, p, pen);
	if (!named)
		return;
	axis_number(text, sizeof(text), value);
	if (vertical)
		svg_text(s, p, other->from + 16, TICK_TEXT, SVG_MIDDLE, SVG_MUTED, false, 0, text);
	else
		svg_text(s, other->from - 6, p + 4, TICK_TEXT, SVG_END, SVG_MUTED, false, 0, text);
}

/* Within few decades 2, 5 and what else has room is named; over very many only some powers are. */
static void log_ticks(struct svg *s, const struct axis *a, const struct axis *other, bool vertical)
{
	double decades = log10(a->high / a->low);
	double room = fabs(a->to - a->from) / fmax(decades, 0.1);
	int stride = (int)ceil((vertical ? 34 : 20) / room);

	for (int e = (int)floor(log10(a->low)); e <= (int)ceil(log10(a->high)); e++) {
		for (int m = 1; m < 10; m++) {
			double value = m * pow(10, e);
			bool power = m == 1 && e % stride == 0;
			double apart = room * log10((m + 1.0) / m);
			bool between = apart > (vertical ? 46 : 24) ||
				       ((m == 2 || m == 5) && room > (vertical ? 150 : 90));

			if (value < a->low || value > a->high || (stride > 1 && !power))
				continue;
			tick(s, a, other, vertical, value, power || between);
		}
	}
}

static void linear_ticks(struct svg *s, const struct axis *a, const struct axis *other,
			 bool vertical)
{
	double step = nice_step(a->high - a->low, fabs(a->to - a->from) / (vertical ? 90 : 50));

	for (double i = ceil(a->low / step); i * step <= a->high; i++)
		tick(s, a, other, vertical, i * step, true);
}

void axis_draw(struct svg *s, const struct axis *x, const struct axis *y)
{
	struct svg_pen pen = {SVG_MUTED, 1, false};
	double middle = (y->from + y->to) / 2;

	(x->log ? log_ticks : linear_ticks)(s, x, y, true);
	(y->log ? log_ticks : linear_ticks)(s, y, x, false);
	svg_line(s, x->from, y->from, x->to, y->from, pen);
	svg_line(s, x->from, y->from, x->from, y->to, pen);
	svg_text(s, (x->from + x->to) / 2, y->from + 38, TITLE_TEXT, SVG_MIDDLE, SVG_INK, false, 0,
		 x->title);
	svg_text(s, x->from - 52, middle, TITLE_TEXT, SVG_MIDDLE, SVG_INK, false, -90, y->title);
}

static void legend_sign(struct svg *s, const struct legend_entry *e, double x, double y)
{
	if (e->mark == SVG_MARKS)
		svg_line(s, x, y, x + 18, y, (struct svg_pen){e->ink, 2, e->dashed});
	else
		svg_point(s, x + 9, y, 10, e->mark, e->ink, e->solid, NULL);
}

double legend_draw(struct svg *s, const struct legend_entry *entries, size_t count, double x,
		   double y, double width)
{
	double column = x, row = y;

	for (size_t i = 0; i < count; i++) {
		double w = 24 + svg_text_width(entries[i].text, LEGEND_TEXT) + 18;

		if (column > x && column + w > x + width) {
			column = x;
			row += LEGEND_ROW;
		}
		if (s) {
			legend_sign(s, &entries[i], column, row + 8);
			svg_text(s, column + 24, row + 12, LEGEND_TEXT, SVG_START, SVG_INK, false,
				 0, entries[i].text);
		}
		column += w;
	}
	return count ? row + LEGEND_ROW - y : 0;
}
