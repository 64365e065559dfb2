/* The page of one kernel: histograms of its measured times and of measured / predicted. */
#include "cli/common/basis.h"
#include "cli/common/number.h"
#include "cli/top/cells.h"
#include "cli/top/histogram.h"
#include "cli/top/live.h"
#include "cli/top/screen.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	LABEL = 10,    /* columns of a bar's value */
	SHARE = 7,     /* and of its share */
	BESIDE = 64,   /* columns from which on the histograms stand beside each other */
	NAME_ROWS = 3, /* of the kernel's whole name */
	ROOMY = 22,    /* rows for histograms from which on configurations are listed, too */
	CONFIGS_MOST = 9,
};

/* The whole name, over as many rows as it needs and may have; returns the row behind it. */
static unsigned draw_name(const struct top_row *r)
{
	const unsigned width = top_screen_columns();
	char text[TOP_LINE_MOST];
	const char *at = top_visible(text, sizeof(text), r->plain);
	unsigned row = 0;

	for (; *at && row < NAME_ROWS; at += top_clip(at, width))
		top_screen_put(row++, 0, GW_INK_BOLD, at);
	return row;
}

static unsigned draw_facts(const struct top_screen *s, unsigned row)
{
	const struct top_row *r = s->row;
	const double span_s = s->view->model->span_ns / 1e9;
	char line[TOP_LINE_MOST], name[300], remark[300];
	struct gw_text a, b, c;

	top_remark(r->process, NULL, remark, sizeof(remark));
	snprintf(line, sizeof(line), "process %u %s%s%s   GPU %s   bound %s", r->process->pid,
		 top_visible(name, sizeof(name), top_base_name(r->process->exe)),
		 *remark ? ", " : "", remark,
		 r->device < GW_LIVE_DEVICES ? gw_thousands(&a, r->device) : "unknown",
		 gw_bound_name(r->bound));
	top_screen_put(row++, 0, GW_INK_OFF, line);
	snprintf(line, sizeof(line), "runs %s, %s measured   %s in %.1f s   configurations %zu",
		 gw_thousands(&a, r->total.runs), gw_thousands(&b, r->total.measured),
		 gw_thousands(&c, r->interval.runs), isnan(span_s) ? 0 : span_s, r->configs);
	top_screen_put(row++, 0, GW_INK_OFF, line);
	snprintf(line, sizeof(line), "predicted %s   90%% interval %s to %s",
		 gw_duration(&a, r->predicted), gw_duration(&b, r->low), gw_duration(&c, r->high));
	top_screen_put(row++, 0, GW_INK_OFF, line);
	snprintf(line, sizeof(line), "basis: %s; work: %s", gw_basis_name(r->tier),
		 gw_work_basis_name(r->work));
	top_screen_put(row++, 0, GW_INK_OFF, line);
	return row;
}

static void value_text(char *out, size_t size, double value, bool ratio)
{
	struct gw_text text;

	if (ratio)
		snprintf(out, size, value < 99.95 ? "%.2f" : "%.0f", value);
	else
		snprintf(out, size, "%s", gw_duration(&text, value));
	if (gw_columns(out) >= LABEL) /* no time, and no ratio, of a kernel */
		snprintf(out, size, "%.1e", ratio ? value : value / 1e9);
}

static void draw_bar(unsigned row, unsigned column, unsigned width, double part)
{
	const char *const full = gw_utf8() ? "█" : "#";
	const unsigned length = (unsigned)(part * width + 0.5);
	char line[TOP_LINE_MOST];
	size_t n = 0;

	for (unsigned i = 0; i < length && n + 4 < sizeof(line); i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s", full);
	if (!length && part > 0)
		snprintf(line, sizeof(line), "%s", gw_utf8() ? "▏" : "|");
	else
		line[n] = 0;
	top_screen_put(row, column, GW_INK_OFF, line);
}

/* A histogram in a box; its bars grow with the most frequent one. */
static void draw_histogram(const struct gw_sketch *s, bool ratio, unsigned row, unsigned end,
			   unsigned column, unsigned width)
{
	struct top_bar bars[TOP_BARS_MOST];
	const size_t count = top_bars(s, end > row + 2 ? end - row - 2 : 0, bars);
	char line[TOP_LINE_MOST], low[64], middle[64], high[64];
	double most = 0;

	value_text(low, sizeof(low), gw_sketch_quantile(s, 0.05), ratio);
	value_text(middle, sizeof(middle), gw_sketch_quantile(s, 0.5), ratio);
	value_text(high, sizeof(high), gw_sketch_quantile(s, 0.95), ratio);
	top_screen_put(row, column, GW_INK_BOLD, ratio ? "measured / predicted" : "measured time");
	if (s->count)
		snprintf(line, sizeof(line), "p5 %s  median %s  p95 %s", low, middle, high);
	else
		snprintf(line, sizeof(line), "none");
	line[top_clip(line, width)] = 0;
	top_screen_put(row + 1, column, GW_INK_OFF, line);
	for (size_t i = 0; i < count; i++)
		most = bars[i].share > most ? bars[i].share : most;
	for (size_t i = 0; i < count; i++) {
		const unsigned at = row + 2 + (unsigned)i;
		struct gw_text share;

		value_text(low, sizeof(low), bars[i].low, ratio);
		snprintf(line, sizeof(line), "%*s%s", (int)(LABEL - 1 - gw_columns(low)), "", low);
		top_screen_put(at, column, GW_INK_OFF, line);
		draw_bar(at, column + LABEL, width - LABEL - SHARE - 1, bars[i].share / most);
		snprintf(line, sizeof(line), "%*s", SHARE, gw_percent(&share, bars[i].share));
		if (bars[i].share > 0)
			top_screen_put(at, column + width - SHARE, GW_INK_OFF, line);
	}
}

static void draw_config(const struct gw_live_config *c, unsigned row)
{
	char grid[48], block[48], line[300];
	struct gw_text runs, mean, predicted, low, high;

	snprintf(grid, sizeof(grid), "%u,%u,%u", c->grid[0], c->grid[1], c->grid[2]);
	snprintf(block, sizeof(block), "%u,%u,%u", c->block[0], c->block[1], c->block[2]);
	snprintf(line, sizeof(line), "%20s %13s %12s %9s %9s  %s to %s", grid, block,
		 gw_thousands(&runs, (double)c->launches),
		 gw_duration(&mean, c->time.count ? c->time.sum / (double)c->time.count : NAN),
		 gw_duration(&predicted, c->predicted), gw_duration(&low, c->low),
		 gw_duration(&high, c->high));
	top_screen_put(row, 0, GW_INK_OFF, line);
}

/* Those with the most GPU time, in rows from @p row to before @p end. */
static void draw_configs(const struct top_row *r, unsigned row, unsigned end)
{
	const struct top_process *p = r->process;
	double below = INFINITY;
	char line[200];

	snprintf(line, sizeof(line), "%20s %13s %12s %9s %9s  %s", "Grid", "Block", "Runs",
		 "Measured", "Predicted", "90% interval");
	top_screen_put(row, 0, GW_INK_OFF, line);
	top_screen_reverse(row++, 0, top_screen_columns());
	for (bool any = true; any && row < end;) {
		double next = -1;

		any = false;
		for (size_t i = 0; i < p->configs; i++) {
			const struct gw_live_config *c = top_row_config(r, i);

			if (c && c->time.sum < below && c->time.sum > next)
				next = c->time.sum;
		}
		for (size_t i = 0; i < p->configs && row < end && next >= 0; i++) {
			const struct gw_live_config *c = top_row_config(r, i);

			if (c && c->time.sum == next) {
				draw_config(c, row++);
				any = true;
			}
		}
		below = next;
	}
}

void top_screen_draw_kernel(const struct top_screen *s)
{
	const unsigned width = top_screen_columns();
	unsigned row, end = top_screen_rows() - 1;
	struct gw_sketch time, ratio;

	top_row_finish(s->row);
	row = draw_facts(s, draw_name(s->row));
	top_row_sketches(s->row, &time, &ratio);
	row += end > row + 12;
	if (end > row + ROOMY) {
		const unsigned listed =
			s->row->configs < CONFIGS_MOST ? (unsigned)s->row->configs : CONFIGS_MOST;

		draw_configs(s->row, end - listed - 2, end - 1);
		end -= listed + 3;
	}
	if (width >= BESIDE) {
		draw_histogram(&time, false, row, end, 0, width / 2 - 2);
		draw_histogram(&ratio, true, row, end, width / 2 + 2, width - width / 2 - 2);
	} else {
		const unsigned middle = row + (end - row) / 2;

		draw_histogram(&time, false, row, middle, 0, width);
		draw_histogram(&ratio, true, middle, end, 0, width);
	}
}
