/* The coalescing graph of a kernel and the locality graph of its blocks (Kim 2023). */
#include "cli/plot/frame.h"

#include <math.h>
#include <stdio.h>

enum { ELEMENTS = 32, SECTOR_BYTES = 32, TEXT = 11 };

static void bars(struct frame *f, const struct plot_coalescing *data)
{
	double width = axis_at(&f->x, 1) - axis_at(&f->x, 0), base = axis_at(&f->y, 0);

	for (unsigned i = 0; i < ELEMENTS; i++) {
		double top = axis_at(&f->y, data->lanes[i]);

		svg_rect(f->svg, axis_at(&f->x, i) - width * 0.4, top, width * 0.8, base - top,
			 svg_series(0));
	}
}

/* Where one sector of the range ends and the next begins. */
static void sectors(struct frame *f, unsigned bytes)
{
	unsigned elements = bytes ? SECTOR_BYTES / bytes : 0;

	for (unsigned i = elements; elements && i < ELEMENTS; i += elements)
		frame_line(f, i - 0.5, f->y.low, i - 0.5, f->y.high,
			   (struct svg_pen){SVG_MUTED, 1, true});
}

struct svg *plot_coalescing(const struct plot_coalescing *data)
{
	static const struct legend_entry legend[] = {
		{"lanes of a request, mean", SVG_SERIES0, SVG_SQUARE, true, false},
		{"border of sectors", SVG_MUTED, SVG_MARKS, true, true},
	};
	struct axis_range x = {-0.5, ELEMENTS - 0.5}, y = {0, 1};
	char title[160], subtitle[200];
	struct frame f;

	snprintf(title, sizeof(title), "Coalescing graph of %.100s", data->kernel);
	snprintf(subtitle, sizeof(subtitle),
		 "Degree of coalescing %.4g%%, sector expectation %.4g, sectors per request %.4g; "
		 "%.3g lanes outside",
		 100 * data->degree, data->expectation, data->sectors, data->outside);
	f = frame_begin(title, subtitle, legend, data->bytes ? 2 : 1, 0);
	for (unsigned i = 0; i < ELEMENTS; i++)
		axis_include(&y, data->lanes[i], false);
	frame_axes(&f, x, false, "element of the coalescing range", y, false, "lanes of a request");
	bars(&f, data);
	sectors(&f, data->bytes);
	return frame_end(&f);
}

static void sharing_row(struct svg *s, const struct plot_sharing *d, size_t row, double left,
			double top, double cell)
{
	double own = d->shared[row * d->blocks + row], y = top + cell * ((double)row + 0.5);
	char tip[160];

	svg_text(s, left - 6, y + 4, fmin(TEXT, cell), SVG_END, SVG_INK, false, 0, d->names[row]);
	for (size_t i = 0; i < d->blocks; i++) {
		double share = d->shared[row * d->blocks + i] / own;
		double side = cell * 0.9 * sqrt(share);
		double x = left + cell * ((double)i + 0.5);

		if (!(share > 0))
			continue;
		snprintf(tip, sizeof(tip), "%s and %s: %.5g of %.5g sectors", d->names[row],
			 d->names[i], d->shared[row * d->blocks + i], own);
		svg_point(s, x, y, fmax(side, 1.5), SVG_SQUARE, svg_series(i == row ? 1 : 0), true,
			  tip);
	}
}

struct svg *plot_sharing(const struct plot_sharing *data)
{
	static const struct legend_entry legend[] = {
		{"sectors that both blocks touch, as a share of the row's", SVG_SERIES0, SVG_SQUARE,
		 true, false},
		{"the block itself", (enum svg_ink)(SVG_SERIES0 + 1), SVG_SQUARE, true, false},
	};
	const double left = FRAME_LEFT + 10, top = FRAME_TOP;
	double cell = fmin(24, (FRAME_WIDTH - left - FRAME_RIGHT) / (double)data->blocks);
	double bottom = top + cell * (double)data->blocks;
	char title[160], subtitle[160];
	struct svg *s;

	snprintf(title, sizeof(title), "Locality graph of %.100s", data->kernel);
	snprintf(subtitle, sizeof(subtitle),
		 "Blocks by blocks: SpScore %.4g, degree of sharing %.4g%%", data->sp_score,
		 100 * data->degree_of_sharing);
	s = svg_new(FRAME_WIDTH, bottom + 60, title, subtitle);
	svg_text(s, 24, 27, 16, SVG_START, SVG_INK, true, 0, title);
	svg_text(s, 24, 46, 12, SVG_START, SVG_MUTED, false, 0, subtitle);
	for (size_t row = 0; row < data->blocks; row++)
		sharing_row(s, data, row, left, top, cell);
	legend_draw(s, legend, 2, left, bottom + 16, FRAME_WIDTH - left - FRAME_RIGHT);
	return s;
}
