/* Placing labels: each tries places around its point, nearest first, and takes the cheapest. */
#include "cli/plot/axis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/memory.h"

struct box {
	double x, y, w, h;
};

struct segment {
	double x1, y1, x2, y2;
};

struct wish {
	double x, y, size;
	enum svg_ink ink;
	char *text;
};

struct labels {
	struct box frame;
	struct box *boxes;
	struct segment *lines;
	struct wish *wishes;
	size_t box_count, box_room, line_count, line_room, wish_count, wish_room;
};

struct labels *labels_new(double x, double y, double w, double h)
{
	struct labels *l = gw_alloc(sizeof(*l));

	l->frame = (struct box){x, y, w, h};
	return l;
}

void labels_free(struct labels *l)
{
	for (size_t i = 0; i < l->wish_count; i++)
		free(l->wishes[i].text);
	free(l->wishes);
	free(l->lines);
	free(l->boxes);
	free(l);
}

void labels_avoid(struct labels *l, double x, double y, double w, double h)
{
	GW_GROW(l->boxes, &l->box_room, l->box_count + 1);
	l->boxes[l->box_count++] = (struct box){x, y, w, h};
}

void labels_avoid_line(struct labels *l, double x1, double y1, double x2, double y2)
{
	GW_GROW(l->lines, &l->line_room, l->line_count + 1);
	l->lines[l->line_count++] = (struct segment){x1, y1, x2, y2};
}

void labels_want(struct labels *l, double x, double y, double size, enum svg_ink ink,
		 const char *text)
{
	if (!isfinite(x) || !isfinite(y))
		return;
	GW_GROW(l->wishes, &l->wish_room, l->wish_count + 1);
	l->wishes[l->wish_count++] = (struct wish){x, y, size, ink, gw_copy(text)};
}

static double overlap(const struct box *a, const struct box *b)
{
	double w = fmin(a->x + a->w, b->x + b->w) - fmax(a->x, b->x);
	double h = fmin(a->y + a->h, b->y + b->h) - fmax(a->y, b->y);

	return w > 0 && h > 0 ? w * h : 0;
}

/* Length of a line within a box, by clipping it at the four sides (Liang and Barsky). */
static double crossing(const struct box *b, const struct segment *s)
{
	double dx = s->x2 - s->x1, dy = s->y2 - s->y1, from = 0, to = 1;
	double p[] = {-dx, dx, -dy, dy};
	double q[] = {s->x1 - b->x, b->x + b->w - s->x1, s->y1 - b->y, b->y + b->h - s->y1};

	for (int i = 0; i < 4; i++) {
		if (p[i] == 0) {
			if (q[i] < 0)
				return 0;
		} else if (p[i] < 0) {
			from = fmax(from, q[i] / p[i]);
		} else {
			to = fmin(to, q[i] / p[i]);
		}
	}
	return to > from ? (to - from) * svg_distance(dx, dy) : 0;
}

/* Written-over text costs most, then leaving the frame, then crossing a line, then distance. */
static double cost(const struct labels *l, const struct box *b, double distance)
{
	double area = b->w * b->h;
	double sum = distance * 0.8 + 20 * (area - overlap(b, &l->frame));

	for (size_t i = 0; i < l->box_count; i++)
		sum += 6 * overlap(b, &l->boxes[i]);
	for (size_t i = 0; i < l->line_count; i++)
		sum += 3 * crossing(b, &l->lines[i]);
	return sum;
}

static struct box candidate(const struct wish *w, double width, double angle, double distance)
{
	double cx = cos(angle), sy = sin(angle);

	/* The box touches the circle of the distance with its nearest side or corner. */
	return (struct box){w->x + distance * cx + (cx - 1) / 2 * width,
			    w->y + distance * sy + (sy - 1) / 2 * w->size, width, w->size * 1.05};
}

static struct box place(const struct labels *l, const struct wish *w)
{
	static const double steps[] = {8, 14, 22, 34, 50, 70};
	double width = svg_text_width(w->text, w->size), best_cost = INFINITY;
	struct box best = {0};

	for (size_t d = 0; d < sizeof(steps) / sizeof(*steps); d++) {
		for (int k = 0; k < 16; k++) {
			/* Right, then up and down from there: where readers look first. */
			double angle = (k % 2 ? -1 : 1) * ((k + 1) / 2) * 3.14159265358979 / 8;
			struct box b = candidate(w, width, angle, steps[d]);
			double c = cost(l, &b, steps[d] + 0.2 * k);

			if (c < best_cost) {
				best_cost = c;
				best = b;
			}
		}
	}
	return best;
}

static void leader(struct svg *s, const struct wish *w, const struct box *b)
{
	double x = fmin(fmax(w->x, b->x), b->x + b->w), y = fmin(fmax(w->y, b->y), b->y + b->h);

	if (svg_distance(x - w->x, y - w->y) > 18)
		svg_line(s, w->x, w->y, x, y, (struct svg_pen){SVG_MUTED, 0.7, false});
}

void labels_draw(struct labels *l, struct svg *s)
{
	for (size_t i = 0; i < l->wish_count; i++) {
		const struct wish *w = &l->wishes[i];
		struct box b = place(l, w);

		leader(s, w, &b);
		svg_text(s, b.x, b.y + w->size * 0.85, w->size, SVG_START, w->ink, false, 0,
			 w->text);
		labels_avoid(l, b.x, b.y, b.w, b.h);
	}
}
