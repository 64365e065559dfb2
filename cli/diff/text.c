/* Differences as text and as Markdown. */
#include "cli/diff/runs.h"

#include "cli/common/kernel_name.h"
#include "cli/common/memory.h"
#include "cli/common/number.h"
#include "cli/message.h"
#include "cli/report/line.h"
#include "cli/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const verdicts[DIFF_VERDICTS] = {"same", "slower", "faster", "few times",
						    "new",  "gone",   "renamed"};

/* 1.034 as "+3.4%"; "-" when not known. */
static const char *percent(struct gw_text *out, double ratio)
{
	if (isnan(ratio))
		snprintf(out->s, sizeof(out->s), "-");
	else
		snprintf(out->s, sizeof(out->s), fabs(ratio - 1) < 0.0995 ? "%+.2f%%" : "%+.1f%%",
			 (ratio - 1) * 100);
	return out->s;
}

static const char *interval(char *out, size_t size, const struct shift *s)
{
	struct gw_text low, high;

	if (isnan(s->low))
		snprintf(out, size, "-");
	else
		snprintf(out, size, "%s to %s", percent(&low, s->low), percent(&high, s->high));
	return out;
}

/* A time within a sentence: without the blank that aligns "s" with "ms" in a table. */
static const char *span(struct gw_text *out, double ns)
{
	size_t length = strlen(gw_duration(out, ns));

	if (length && out->s[length - 1] == ' ')
		out->s[length - 1] = 0;
	return out->s;
}

static double mean(const struct diff_side *s)
{
	return s->measured ? s->total / (double)s->measured : NAN;
}

static const char *dim3(char *out, size_t size, struct gw_dim3 d)
{
	snprintf(out, size, d.z > 1 ? "%u,%u,%u" : d.y > 1 ? "%u,%u" : "%u", d.x, d.y, d.z);
	return out;
}

/* Grid and block; the argument hash where rows differ in nothing else. */
static const char *shape(char *out, size_t size, const struct diff_row *r)
{
	char grid[48], block[48], hash[16] = "";

	if (r->siblings)
		snprintf(hash, sizeof(hash), " #%08x", r->config.digest);
	snprintf(out, size, "%s x %s%s", dim3(grid, sizeof(grid), r->config.grid),
		 dim3(block, sizeof(block), r->config.block), hash);
	return out;
}

static const char *gain(char *out, size_t size, const struct diff_row *row)
{
	double g = diff_gain(row);
	struct gw_text t;

	snprintf(out, size, "%s%s", g < 0 ? "-" : "+", gw_duration(&t, fabs(g)));
	return out;
}

static bool shown(const struct diff_row *row, bool all)
{
	return all || (row->verdict != DIFF_SAME && row->verdict != DIFF_FEW && !row->minor);
}

static const char *verdict(char *out, size_t size, const struct diff_row *row)
{
	const bool unknown = row->against_prediction && row->verdict == DIFF_FEW;

	snprintf(out, size, "%s%s%s", unknown ? "unpredicted" : verdicts[row->verdict],
		 row->was && row->verdict != DIFF_RENAMED ? ", renamed" : "",
		 row->regression ? " !" : "");
	return out;
}

static void counts(const struct diff *d, size_t *n)
{
	memset(n, 0, (DIFF_VERDICTS + 1) * sizeof(*n));
	for (size_t i = 0; i < d->count; i++) {
		n[d->rows[i].verdict]++;
		n[DIFF_VERDICTS] += d->rows[i].regression;
	}
}

static void run_line(const char *label, struct diff_run *r)
{
	struct gw_text launches, total, lasted;
	double clock = diff_clock(r);
	char name[400], in[80] = "", at[40] = "";

	printf("  %-6s %s", label, gw_printable(name, sizeof(name), r->path));
	if (r->logs > 1)
		printf(" (%zu logs)", r->logs);
	printf("\n");
	if (r->to > r->from)
		snprintf(in, sizeof(in), " in %s", span(&lasted, r->to - r->from));
	if (!isnan(clock))
		snprintf(at, sizeof(at), ", SM clock %.0f MHz", clock / 1000);
	report_sentence(9, "%s, %s of GPU time%s, %s%s%s%s%s",
			gw_counted(&launches, (double)r->launches, "launch", "launches"),
			span(&total, r->total), in,
			r->gpu ? gw_printable(name, sizeof(name), r->gpu) : "GPU not known", at,
			r->gpus_differ ? ", several kinds of GPU" : "",
			r->stand_in ? ", times of the CPU stand-in" : "",
			r->incomplete ? ", parts of its logs are missing" : "");
}

static void header(struct diff *d, bool predicted)
{
	struct diff_run *a = &d->run[BASE], *b = &d->run[OTHER];
	double clock = diff_clock(b) / diff_clock(a);

	printf("gpuwatch diff\n\n");
	run_line(predicted ? "Run" : "Base", a);
	if (predicted && a->sums) {
		printf("  Note   ");
		report_wrapped("sums of launches (mode watch) do not say what was predicted before "
			       "their kernel was timed: only launches with a record of their own "
			       "are compared",
			       gw_width(), 9);
	}
	if (predicted)
		return;
	run_line("Other", b);
	if (a->gpu && b->gpu && strcmp(a->gpu, b->gpu))
		printf("  Note   the runs are of different GPUs\n");
	if (a->sums || b->sums)
		printf("  Note   a log holds sums in place of launches (mode watch): means of "
		       "spans "
		       "of %d s or more are compared\n",
		       DIFF_SPAN_MS / 1000);
	if (fabs(clock - 1) >= 0.005)
		printf("  Note   the SM clock differs by %+.1f%%: a regression is slower in "
		       "cycles, "
		       "too\n",
		       (clock - 1) * 100);
}

/* New and gone rows that are not shown. */
static size_t minor(const struct diff *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->count; i++)
		n += d->rows[i].minor;
	return n;
}

static void footer(const struct diff *d, const struct diff_rule *rule, size_t hidden,
		   bool predicted, bool all)
{
	size_t n[DIFF_VERDICTS + 1], few = all ? 0 : minor(d);
	struct gw_text regressions, rows;
	char others[120];

	counts(d, n);
	if (predicted)
		snprintf(others, sizeof(others), "%s", "");
	else
		snprintf(others, sizeof(others), ", %zu new, %zu gone, %zu renamed", n[DIFF_NEW],
			 n[DIFF_GONE], n[DIFF_RENAMED]);
	printf("\n");
	report_sentence(2, "%zu rows: %zu slower, %zu faster, %zu same, %zu %s%s", d->count,
			n[DIFF_SLOWER], n[DIFF_FASTER], n[DIFF_SAME], n[DIFF_FEW],
			predicted ? "not predicted before their kernel was timed"
				  : "with too few times",
			others);
	if (few)
		report_sentence(2,
				"not shown: %s, new or gone, of kernels at shapes that both runs "
				"have, with other arguments and less than %g%% of GPU time each; "
				"--all shows them",
				gw_counted(&rows, (double)few, "row", NULL), rule->share * 100);
	if (hidden)
		printf("  %zu more rows; --top=0 shows all\n", hidden);
	report_sentence(
		2,
		"%s (!): slower by more than %g%% with the whole interval, at least %g%% of "
		"GPU time",
		gw_counted(&regressions, (double)n[DIFF_VERDICTS], "regression", NULL),
		rule->fail * 100, rule->share * 100);
}

/* A number in a cell. */
static void add_count(struct gw_table *t, uint64_t count)
{
	struct gw_text n;

	gw_table_cell(t, gw_thousands(&n, (double)count));
}

/* What every table of rows begins and ends with; between them stands what is compared. */
static void add_verdict(struct gw_table *t, const struct diff_row *r)
{
	struct gw_text s;
	char text[120];

	gw_table_cell(t, verdict(text, sizeof(text), r));
	gw_table_cell(t, gain(text, sizeof(text), r));
	gw_table_cell(t, percent(&s, r->shift.ratio));
}

/* Without the code of both, resources and shape alone say that it is the same kernel. */
static const char *was_by(const struct diff_row *r)
{
	return diff_code(r) == DIFF_CODE_SAME ? "" : "?";
}

static const char *changed(const struct diff_row *r)
{
	return diff_code(r) == DIFF_CODE_CHANGED ? " (code changed)" : "";
}

static void add_kernel(struct gw_table *t, const struct diff_row *r)
{
	char text[120], *name = gw_alloc(strlen(r->name) + (r->was ? strlen(r->was) : 0) + 48);

	gw_table_cell(t, shape(text, sizeof(text), r));
	if (r->was)
		sprintf(name, "%s (was %s%s)", r->name, r->was, was_by(r));
	else
		sprintf(name, "%s%s", r->name, changed(r));
	gw_table_cell(t, name);
	free(name);
}

static void add_row(struct gw_table *t, const struct diff_row *r)
{
	struct gw_text a, b;
	char text[120];

	add_verdict(t, r);
	gw_table_cell(t, interval(text, sizeof(text), &r->shift));
	gw_table_cell(t, gw_duration(&a, mean(&r->side[BASE])));
	gw_table_cell(t, gw_duration(&b, mean(&r->side[OTHER])));
	add_count(t, r->side[BASE].count);
	add_count(t, r->side[OTHER].count);
	add_kernel(t, r);
}

static void add_predicted_row(struct gw_table *t, const struct diff_row *r)
{
	const double predicted = r->side[BASE].predicted;
	struct gw_text ns;
	char text[120];

	add_verdict(t, r);
	gw_table_cell(t, interval(text, sizeof(text), &r->shift));
	gw_table_cell(t, predicted > 0 ? gw_duration(&ns, predicted) : "-");
	gw_table_cell(t,
		      isnan(r->shift.ratio) ? "-" : gw_duration(&ns, predicted * r->shift.ratio));
	add_count(t, r->side[BASE].count);
	add_kernel(t, r);
}

/* Rows shown, at most @p top of them (0: all); the rest is counted. */
static size_t choose(const struct diff *d, uint64_t top, bool all, const struct diff_row **rows,
		     size_t *hidden)
{
	size_t count = 0;

	*hidden = 0;
	for (size_t i = 0; i < d->count; i++) {
		if (!shown(&d->rows[i], all))
			continue;
		if (top && count == top)
			++*hidden;
		else
			rows[count++] = &d->rows[i];
	}
	return count;
}

static const struct gw_table_column columns[] = {
	{"Verdict", false, false, 0}, {"GPU time", true, false, -2},
	{"Shift", true, false, 0},    {"95% interval", false, false, -2},
	{"Base", true, false, 3},     {"Other", true, false, 3},
	{"Times", true, false, 4},    {"Times", true, false, 4},
	{"Shape", false, false, 2},   {"Name", false, true, 0},
};

static const struct gw_table_column predicted_columns[] = {
	{"Verdict", false, false, 0},  {"GPU time", true, false, -2},
	{"Shift", true, false, 0},     {"90% interval", false, false, -2},
	{"Predicted", true, false, 3}, {"Median", true, false, 3},
	{"Times", true, false, 4},     {"Shape", false, false, 2},
	{"Name", false, true, 0},
};

void diff_text(struct diff *d, const struct diff_rule *rule, uint64_t top, bool all)
{
	const struct diff_row **rows = gw_alloc((d->count + 1) * sizeof(*rows));
	size_t hidden, count = choose(d, top, all, rows, &hidden);
	bool predicted = !d->run[OTHER].path;
	struct gw_table *t =
		predicted ? gw_table_new(predicted_columns,
					 sizeof(predicted_columns) / sizeof(*predicted_columns))
			  : gw_table_new(columns, sizeof(columns) / sizeof(*columns));

	header(d, predicted);
	printf("\n");
	for (size_t i = 0; i < count; i++)
		(predicted ? add_predicted_row : add_row)(t, rows[i]);
	if (count)
		gw_table_print(t, stdout, gw_width(), 2);
	else if (!predicted)
		printf("  No change was found.\n");
	else
		printf("  No kernel is known to be slower or faster than predicted.\n");
	footer(d, rule, hidden, predicted, all);
	gw_table_free(t);
	free(rows);
}

/* A name in a cell of a Markdown table. */
static void print_name(const char *name)
{
	char text[600];

	putchar('`');
	for (const char *c = gw_printable(text, sizeof(text), name); *c; c++)
		if (*c == '|')
			fputs("\\|", stdout);
		else
			putchar(*c == '`' ? '\'' : *c);
	putchar('`');
}

void diff_markdown(struct diff *d, const struct diff_rule *rule, uint64_t top, bool all)
{
	const struct diff_row **rows = gw_alloc((d->count + 1) * sizeof(*rows));
	size_t hidden, count = choose(d, top, all, rows, &hidden), n[DIFF_VERDICTS + 1];
	struct gw_text regressions;

	counts(d, n);
	printf("**gpuwatch diff**: %s of more than %g%%; %zu slower, %zu faster, %zu "
	       "same, "
	       "%zu new, %zu gone\n\n",
	       gw_counted(&regressions, (double)n[DIFF_VERDICTS], "regression", NULL),
	       rule->fail * 100, n[DIFF_SLOWER], n[DIFF_FASTER], n[DIFF_SAME], n[DIFF_NEW],
	       n[DIFF_GONE]);
	if (count)
		printf("| Kernel | Shape | Verdict | GPU time | Shift | %d%% interval |\n"
		       "|---|---|---|--:|--:|---|\n",
		       rows[0]->against_prediction ? 90 : 95);
	for (size_t i = 0; i < count; i++) {
		const struct diff_row *r = rows[i];
		struct gw_text s;
		char text[120];

		printf("| ");
		print_name(r->name);
		if (r->was) {
			printf(" was ");
			print_name(r->was);
			printf("%s", was_by(r));
		}
		printf("%s", changed(r));
		printf(" | %s", shape(text, sizeof(text), r));
		printf(" | %s", verdict(text, sizeof(text), r));
		printf(" | %s", gain(text, sizeof(text), r));
		printf(" | %s", percent(&s, r->shift.ratio));
		printf(" | %s |\n", interval(text, sizeof(text), &r->shift));
	}
	if (hidden)
		printf("\n%zu more rows.\n", hidden);
	free(rows);
}
