/* Predicted against measured, both logarithmic: a point for each kernel and configuration. */
#include "cli/command.h"
#include "cli/common/basis.h"
#include "cli/common/memory.h"
#include "cli/plot/chart.h"
#include "cli/common/paths.h"
#include "cli/message.h"
#include "cli/score/score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	POINTS = 2000, /* most points of a series: more overlap */
	LINES = 3,
	SERIES = SCORE_TIERS * SCORE_SOURCES + LINES
};

/* A picture being put together. */
struct picture {
	struct chart_series series[SERIES];
	char names[SERIES][64];
	size_t count;
	double low, high; /* of everything in it */
};

static double predicted(const struct score_unit *u, size_t model)
{
	return u->answers[model] ? exp(u->log_sum[model] / (double)u->answers[model]) : NAN;
}

/* Of its kernel. */
static const char *name_of(const struct score *s, const struct score_unit *u)
{
	const struct gw_log *log = &s->traces[u->trace].log;
	const struct gw_name *name = &log->names[log->configs[u->config].kernel];

	return name->plain ? name->plain : name->mangled;
}

static bool belongs(const struct score_unit *u, size_t model, unsigned tier, unsigned work)
{
	/* A model does not know of tiers. */
	return u->work == work && (model != SCORE_OURS || u->tier == tier) && u->answers[model];
}

static void add_series(struct picture *p, struct score *s, size_t model, unsigned tier,
		       unsigned work)
{
	struct chart_series *out = &p->series[p->count];
	const char **names;
	double *x, *y;
	size_t all = 0, step, seen = 0, n = 0;

	for (size_t i = 0; i < s->unit_count; i++)
		all += belongs(&s->units[i], model, tier, work);
	if (!all)
		return;
	step = (all + POINTS - 1) / POINTS;
	x = gw_alloc(all * sizeof(*x));
	y = gw_alloc(all * sizeof(*y));
	names = gw_alloc(all * sizeof(*names));
	for (size_t i = 0; i < s->unit_count; i++) {
		struct score_unit *u = &s->units[i];

		if (!belongs(u, model, tier, work) || seen++ % step)
			continue;
		x[n] = gw_quantile(&u->time, 0.5) * 1e6;
		y[n] = predicted(u, model) * 1e6;
		names[n] = name_of(s, u);
		p->low = fmin(p->low, fmin(x[n], y[n]));
		p->high = fmax(p->high, fmax(x[n], y[n]));
		n++;
	}
	snprintf(p->names[p->count], sizeof(p->names[0]), "%s%swork: %s",
		 model == SCORE_OURS ? gw_basis_name((enum gw_tier)tier) : "",
		 model == SCORE_OURS ? ", " : "", gw_work_basis_name((enum gw_source)work));
	*out = (struct chart_series){p->names[p->count], CHART_POINTS, p->count, n, x, y, names};
	p->count++;
}

static void add_line(struct picture *p, double factor, const char *name)
{
	struct chart_series *out = &p->series[p->count];
	double *xy = gw_alloc(4 * sizeof(*xy));

	xy[0] = p->low;
	xy[1] = p->high;
	xy[2] = p->low * factor;
	xy[3] = p->high * factor;
	*out = (struct chart_series){name, CHART_LINE, factor == 1 ? 7 : 6, 2, xy, xy + 2, NULL};
	p->count++;
}

static int save(struct svg *svg, const char *folder, const char *model)
{
	char path[4096], error[4200];
	int status = GW_EXIT_OK;

	snprintf(path, sizeof(path), "%s/predicted-%s.svg", folder, model);
	if (!svg_save(svg, path, error, sizeof(error)))
		status = gw_error("%s", error);
	svg_free(svg);
	return status;
}

static int draw(struct score *s, size_t model, const char *folder)
{
	struct score_cell *all = &s->cells[model][SCORE_TIERS][SCORE_SOURCES][SCORE_LENGTHS];
	struct picture p = {.low = INFINITY, .high = 0};
	char title[128], subtitle[200];
	size_t points;
	int status;

	for (unsigned t = 0; t < (model == SCORE_OURS ? SCORE_TIERS : 1); t++)
		for (unsigned w = 0; w < SCORE_SOURCES; w++)
			add_series(&p, s, model, t, w);
	points = p.count;
	if (!points)
		return GW_EXIT_OK;
	add_line(&p, 1, "as measured");
	add_line(&p, 1.25, "25% off");
	add_line(&p, 0.75, "");
	snprintf(title, sizeof(title), "Predicted against measured time: %s", s->names[model]);
	snprintf(subtitle, sizeof(subtitle),
		 "Each kernel and configuration; within 25%%: %.0f%%, median error %.1f%%",
		 score_share(all, all->within25) * 100, gw_quantile(&all->error, 0.5) * 100);
	status = save(plot_chart(&(struct chart){.title = title,
						 .subtitle = subtitle,
						 .x_title = "measured GPU time (µs)",
						 .y_title = "predicted GPU time (µs)",
						 .log_x = true,
						 .log_y = true,
						 .square = true,
						 .count = p.count,
						 .series = p.series}),
		      folder, s->names[model]);
	for (size_t i = 0; i < p.count; i++) {
		free((void *)p.series[i].x);
		free((void *)p.series[i].names);
		if (i < points)
			free((void *)p.series[i].y);
	}
	return status;
}

int score_plot(struct score *s, const char *folder)
{
	int status = GW_EXIT_OK;

	if (!gw_folder_make(folder))
		return GW_EXIT_USAGE;
	/* The first is gpuwatch. */
	for (size_t m = 0; m < (s->show_models ? s->model_count : 1) && status == GW_EXIT_OK; m++)
		status = draw(s, m, folder);
	return status;
}
