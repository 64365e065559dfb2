/* A score for people. */
#include "cli/common/basis.h"
#include "cli/common/number.h"
#include "cli/report/line.h"
#include "cli/report/report.h"
#include "cli/message.h"
#include "cli/score/score.h"
#include "cli/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS = 20 }; /* listed one by one */

static void heading(const char *text)
{
	printf("\n%s%s%s\n", gw_ink(stdout, GW_INK_BOLD), text, gw_ink(stdout, GW_INK_OFF));
}

static void factor_cell(struct gw_table *table, double factor)
{
	char text[32] = "-";

	if (!isnan(factor))
		snprintf(text, sizeof(text), factor < 100 ? "%.2f" : "%.0f", factor);
	gw_table_cell(table, text);
}

static void share_cell(struct gw_table *table, double share)
{
	struct gw_text t;

	gw_table_cell(table, gw_percent(&t, share));
}

static void count_cell(struct gw_table *table, uint64_t count)
{
	struct gw_text t;

	gw_table_cell(table, gw_thousands(&t, (double)count));
}

/* The figures that every table has; SCORE_FIGURES of them. */
#define SCORE_FIGURES \
	{"Number", true, false, 2}, {"Answered", true, false, 5}, {"MAPE", true, false, 5}, \
		{"Median", true, false, 0}, {"Factor", true, false, 3}, {"Bias", true, false, 6}, \
		{"In 10%", true, false, 4}, {"In 25%", true, false, 1}, \
	{ \
		"In 2x", true, false, 7 \
	}

static void figures(struct gw_table *table, struct score_cell *c)
{
	count_cell(table, c->count);
	share_cell(table, score_share(c, c->answered));
	share_cell(table, score_mape(c));
	share_cell(table, gw_quantile(&c->error, 0.5));
	factor_cell(table, score_ratio(c));
	factor_cell(table, score_bias(c));
	share_cell(table, score_share(c, c->within10));
	share_cell(table, score_share(c, c->within25));
	share_cell(table, score_share(c, c->within2x));
}

static const char *tier_name(unsigned tier)
{
	return tier == SCORE_TIERS ? "all" : gw_basis_name(tier);
}

static const char *work_name(unsigned work)
{
	return work == SCORE_SOURCES ? "" : gw_work_basis_name(work);
}

static void own_row(struct score *s, struct gw_table *table, unsigned tier, unsigned work,
		    unsigned length, bool by_length)
{
	struct score_cell *c = &s->cells[SCORE_OURS][tier][work][length];

	if (!c->count)
		return;
	gw_table_cell(table, tier_name(tier));
	gw_table_cell(table, work_name(work));
	if (by_length)
		gw_table_cell(table, score_length_name(length));
	figures(table, c);
	share_cell(table, score_coverage(c));
	share_cell(table, gw_quantile(&c->width, 0.5));
}

static void print(struct gw_table *table)
{
	gw_table_show(table, 2);
}

static void own(struct score *s)
{
	static const struct gw_table_column columns[] = {{"Basis", false, false, 0},
							 {"Work", false, false, 0},
							 SCORE_FIGURES,
							 {"Coverage", true, false, 3},
							 {"Width", true, false, 3}};
	struct gw_table *table = gw_table_new(columns, sizeof(columns) / sizeof(*columns));

	heading("Predictions of gpuwatch, by their basis");
	for (unsigned t = GW_TIER_COLD; t <= GW_TIER_STEADY; t++)
		for (unsigned w = SCORE_SOURCES; w-- > 0;)
			own_row(s, table, t, w, SCORE_LENGTHS, false);
	own_row(s, table, GW_TIER_NONE, SCORE_SOURCES, SCORE_LENGTHS, false);
	own_row(s, table, SCORE_TIERS, SCORE_SOURCES, SCORE_LENGTHS, false);
	print(table);
}

static void own_by_length(struct score *s)
{
	static const struct gw_table_column columns[] = {
		{"Basis", false, false, 0},   {"Work", false, false, 0},
		{"Length", false, false, 0},  SCORE_FIGURES,
		{"Coverage", true, false, 3}, {"Width", true, false, 3}};
	struct gw_table *table = gw_table_new(columns, sizeof(columns) / sizeof(*columns));

	if (s->cells[SCORE_OURS][SCORE_TIERS][SCORE_SOURCES][SCORE_LENGTHS].answered == 0) {
		gw_table_free(table);
		return;
	}
	heading("The same by measured length");
	for (unsigned t = GW_TIER_COLD; t <= GW_TIER_STEADY; t++)
		for (unsigned w = SCORE_SOURCES; w-- > 0;)
			for (unsigned l = 0; l < SCORE_LENGTHS; l++)
				own_row(s, table, t, w, l, true);
	print(table);
}

static void model_row(struct score *s, struct gw_table *table, size_t model, unsigned work)
{
	struct score_cell *c = &s->cells[model][SCORE_TIERS][work][SCORE_LENGTHS];

	if (!c->count || (model != SCORE_OURS && !c->answered))
		return;
	gw_table_cell(table, s->names[model]);
	gw_table_cell(table, work == SCORE_SOURCES ? "all" : gw_work_basis_name(work));
	figures(table, c);
	for (unsigned l = 0; l < SCORE_LENGTHS; l++) {
		struct score_cell *part = &s->cells[model][SCORE_TIERS][work][l];

		share_cell(table, score_share(part, part->within25));
	}
}

/* How many sources of work occur among all launches. */
static unsigned sources(const struct score *s)
{
	unsigned count = 0;

	for (unsigned w = 0; w < SCORE_SOURCES; w++)
		count += s->cells[SCORE_OURS][SCORE_TIERS][w][SCORE_LENGTHS].count > 0;
	return count;
}

static void models(struct score *s)
{
	static const struct gw_table_column columns[] = {
		{"Model", false, false, 0}, {"Work", false, false, 0}, SCORE_FIGURES,
		{"<5 us", true, false, 8},  {"5-50", true, false, 8},  {"50-150", true, false, 8},
		{">150 us", true, false, 8}};
	struct gw_table *table = gw_table_new(columns, sizeof(columns) / sizeof(*columns));

	heading("Every model on the same launches (lengths: in 25%)");
	for (size_t m = 0; m < s->model_count; m++) {
		if (sources(s) > 1)
			model_row(s, table, m, SCORE_SOURCES);
		for (unsigned w = SCORE_SOURCES; w-- > 0;)
			model_row(s, table, m, w);
	}
	print(table);
	for (size_t m = 1; m < s->model_count; m++) {
		const struct score_cell *c =
			&s->cells[m][SCORE_TIERS][SCORE_SOURCES][SCORE_LENGTHS];

		if (c->answered < c->count && *s->reason[m]) {
			fputs(gw_ink(stdout, GW_INK_DIM), stdout);
			report_sentence(2, "%s answers %s: %s%s", s->names[m],
					c->answered ? "not all" : "none", s->reason[m],
					gw_ink(stdout, GW_INK_OFF));
		}
	}
}

static void kernels(struct score *s)
{
	static const struct gw_table_column columns[] = {
		{"Number", true, false, -1},     {"Configurations", true, false, 3},
		{"Best model", false, false, 0}, {"Factor", true, false, 0},
		{"gpuwatch", true, false, 0},    {"Kernel", false, true, 0}};
	struct score_kernel *list;
	size_t count = score_kernels(s, &list), best[SCORE_MODELS_MAX] = {0}, listed = 0;
	struct gw_table *table = gw_table_new(columns, sizeof(columns) / sizeof(*columns));
	char line[64 * SCORE_MODELS_MAX] = "Best:";
	size_t length = strlen(line);
	struct gw_text n;

	for (size_t i = 0; i < count; i++) {
		const struct score_kernel *k = &list[i];

		if (!k->best)
			continue;
		best[k->best]++;
		if (listed++ >= KERNELS)
			continue;
		count_cell(table, k->count);
		count_cell(table, k->configs);
		gw_table_cell(table, s->names[k->best]);
		factor_cell(table, k->ratio[k->best]);
		factor_cell(table, k->ratio[SCORE_OURS]);
		gw_table_cell(table, s->traces[k->trace].log.names[k->kernel].plain);
	}
	if (listed) {
		heading("Which model is best for which kernels, longest in all first");
		print(table);
		if (listed > KERNELS)
			printf("  %sand %s (--json has all)%s\n", gw_ink(stdout, GW_INK_DIM),
			       gw_counted(&n, (double)(listed - KERNELS), "more kernel", NULL),
			       gw_ink(stdout, GW_INK_OFF));
		for (size_t m = 1; m < s->model_count; m++)
			if (best[m])
				length += (size_t)snprintf(
					line + length, sizeof(line) - length, "%s %s for %s",
					line[length - 1] == ':' ? "" : ",", s->names[m],
					gw_counted(&n, (double)best[m], "kernel", NULL));
		putchar('\n');
		report_sentence(2, "%s", line);
	} else {
		gw_table_free(table);
	}
	free(list);
}

/* The whole in three lines. */
static void trust(struct score_cell *all)
{
	struct gw_text a, b;

	if (!all->answered)
		return;
	printf("\n  Predicted   %s of %s\n", gw_percent(&a, score_share(all, all->answered)),
	       gw_thousands(&b, (double)all->count));
	printf("  Error       median %s, within 25%%: %s\n",
	       gw_percent(&a, gw_quantile(&all->error, 0.5)),
	       gw_percent(&b, (double)all->within25 / (double)all->answered));
	printf("  Coverage    the 90%% interval contains %s\n",
	       gw_percent(&a, score_coverage(all)));
}

void score_text(struct score *s, const struct score_about *about)
{
	struct score_cell *all = &s->cells[SCORE_OURS][SCORE_TIERS][SCORE_SOURCES][SCORE_LENGTHS];
	char line[600];
	struct gw_text n;

	if (about->stand_in)
		printf("%s" GW_STAND_IN_NOTICE "%s\n", gw_ink(stdout, GW_INK_WARN),
		       gw_ink(stdout, GW_INK_OFF));
	printf("%s%s%s\n", gw_ink(stdout, GW_INK_BOLD), about->how, gw_ink(stdout, GW_INK_OFF));
	for (size_t i = 0; i < about->missing_count; i++)
		printf("  %s%s%s\n", gw_ink(stdout, GW_INK_WARN),
		       gw_printable(line, sizeof(line), about->missing[i]),
		       gw_ink(stdout, GW_INK_OFF));
	if (!all->count) {
		printf("\n  Nothing to score: no launch with a valid time.\n");
		return;
	}
	printf("  %s\n", s->by_config ? "Each kernel and configuration counts once, by its median."
				      : "Each launch counts.");
	trust(all);
	own(s);
	own_by_length(s);
	if (score_asked(s) && s->show_models) {
		models(s);
		kernels(s);
	} else if (!score_asked(s)) {
		printf("\n  No model could answer for any of these %s.\n",
		       gw_counted(&n, (double)all->count, s->by_config ? "configuration" : "launch",
				  s->by_config ? NULL : "launches"));
	}
	printf("\n  %sFactor: geometric mean of how far off, 1 is exact.\n"
	       "  Bias: of predicted over measured.\n"
	       "  In 10%%, 25%%, 2x: of all; a missing answer is outside.\n"
	       "  Coverage: 90%% intervals that contain the measured time.\n"
	       "  Width: median of (high - low) / predicted.%s\n",
	       gw_ink(stdout, GW_INK_DIM), gw_ink(stdout, GW_INK_OFF));
}
