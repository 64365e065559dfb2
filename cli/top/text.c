/* gpuwatch top --once: one snapshot as text. */
#include "cli/message.h"
#include "cli/top/cells.h"
#include "cli/top/graphs.h"
#include "cli/top/top.h"

#include <stdio.h>
#include <stdlib.h>

enum { GRAPHS = 10 }; /* that are listed */

static void print(char **lines, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("%s%s%s\n", i ? "" : gw_ink(stdout, GW_INK_BOLD), lines[i],
		       i ? "" : gw_ink(stdout, GW_INK_OFF));
	top_lines_free(lines, count);
}

static void print_none(const struct top_view *v)
{
	printf("no process runs under gpuwatch here; looked for live segments in\n");
	for (unsigned i = 0; top_source_folder(v->source, i); i++) {
		char name[4400];

		printf("  %s\n", gw_printable(name, sizeof(name), top_source_folder(v->source, i)));
	}
}

void top_text(const struct top_view *v)
{
	const unsigned width = gw_width();
	char summary[256], bounds[256], own[320];
	struct top_layout layout;
	struct top_row **rows;
	size_t count, lines;
	char **text;

	if (!v->model->processes) {
		print_none(v);
		return;
	}
	top_summary(v->model, summary, sizeof(summary));
	top_bounds(v->model, bounds, sizeof(bounds));
	printf("%s\n%s%s%s", summary, *bounds ? "GPU time by bound: " : "", bounds,
	       *bounds ? "\n\n" : "\n");
	top_layout_processes(&layout, width);
	text = top_process_lines(&layout, v->model, SIZE_MAX, &lines);
	print(text, lines);
	putchar('\n');
	top_layout_kernels(&layout, v->model, width);
	count = top_choose(v->model, &v->choice, SIZE_MAX, &rows);
	lines = v->rows && v->rows < count ? v->rows : count;
	text = top_kernel_lines(&layout, v->model, rows, lines);
	print(text, lines + 1);
	if (!count)
		printf("no kernel%s\n", v->choice.filter ? " matches the filter" : " yet");
	else if (lines < count)
		printf("and %zu more\n", count - lines);
	free(rows);
	text = top_graph_lines(v->model, GRAPHS, &lines);
	for (size_t i = 0; i < lines; i++)
		printf("%s%s\n", i ? "" : "\n", text[i]);
	top_lines_free(text, lines);
	if (top_own(v->model, own, sizeof(own)))
		printf("\n%s%s%s\n", gw_ink(stdout, GW_INK_DIM), own, gw_ink(stdout, GW_INK_OFF));
}
