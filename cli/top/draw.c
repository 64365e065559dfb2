/* The pages of the live view but for the histograms. */
#include "cli/top/cells.h"
#include "cli/top/graphs.h"
#include "cli/top/live.h"
#include "cli/top/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROOMY = 20,      /* rows of a screen from which on blank lines part the lists */
	PANEL_LEAST = 9, /* and from which on processes are listed */
	GRAPHS = 3       /* that are listed */
};

static void draw_title(const struct top_screen *s)
{
	char summary[256], right[64], bounds[256], line[640];
	const unsigned width = top_screen_columns();

	top_summary(s->view->model, summary, sizeof(summary));
	top_bounds(s->view->model, bounds, sizeof(bounds));
	snprintf(line, sizeof(line), "gpuwatch top  %s", summary);
	top_screen_put(0, 0, GW_INK_BOLD, line);
	snprintf(right, sizeof(right), " every %g s", s->view->interval_s);
	if (s->paused)
		snprintf(right, sizeof(right), " PAUSED: p goes on");
	if (strlen(right) < width)
		top_screen_put(0, width - (unsigned)strlen(right),
			       s->paused ? GW_INK_WARN : GW_INK_DIM, right);
	snprintf(line, sizeof(line), "GPU time by bound: %s", *bounds ? bounds : "-");
	top_screen_put(1, 0, GW_INK_OFF, line);
}

/* Processes from @p row on, at most @p most lines; returns the row behind them. */
static unsigned draw_processes(const struct top_screen *s, unsigned row, unsigned most)
{
	struct top_layout layout;
	size_t count, shown;
	char **lines;

	top_layout_processes(&layout, top_screen_columns());
	lines = top_process_lines(&layout, s->view->model, most, &count);
	shown = count > most ? most - 1 : count;
	for (size_t i = 0; i < shown; i++, row++) {
		const bool ended = strstr(lines[i], "(ended)") != NULL;

		top_screen_put(row, 0, ended ? GW_INK_DIM : GW_INK_OFF, lines[i]);
		if (!i)
			top_screen_reverse(row, 0, top_screen_columns());
	}
	if (shown < count) {
		char more[64];

		snprintf(more, sizeof(more), "and %zu more", count - shown);
		top_screen_put(row++, 0, GW_INK_DIM, more);
	}
	top_lines_free(lines, count);
	return row;
}

/* The part of the list that the screen has room for: the marked kernel is in it. */
static size_t scroll(struct top_screen *s, size_t room)
{
	s->room = room;
	if (s->selected < s->first)
		s->first = s->selected;
	if (room && s->selected >= s->first + room)
		s->first = s->selected - room + 1;
	if (s->first + room > s->count)
		s->first = s->count > room ? s->count - room : 0;
	return s->count - s->first < room ? s->count - s->first : room;
}

static void draw_kernel_line(const struct top_layout *l, unsigned row, const struct top_row *r,
			     const char *line, bool marked)
{
	const struct top_place *p = &l->place[TOP_COLUMN_ratio];
	char cell[64];

	top_screen_put(row, 0, r->process->state == TOP_ENDED ? GW_INK_DIM : GW_INK_OFF, line);
	if (p->shown && top_row_off(r) && strlen(line) > p->at + p->width) {
		/* Before it there are numbers and units; a µ is two bytes and one column. */
		const size_t from = top_clip(line, p->at),
			     to = top_clip(line, p->at + p->width + 1);

		snprintf(cell, sizeof(cell), "%.*s", (int)(to - from), line + from);
		top_screen_put(row, p->at, GW_INK_WARN, cell);
	}
	if (marked)
		top_screen_reverse(row, 0, top_screen_columns());
}

static void draw_kernels(struct top_screen *s, unsigned row, unsigned end)
{
	struct top_layout layout;
	const size_t shown = scroll(s, end > row + 1 ? end - row - 1 : 0);
	char **lines;

	top_layout_kernels(&layout, s->view->model, top_screen_columns());
	lines = top_kernel_lines(&layout, s->view->model, s->rows + s->first, shown);
	top_screen_put(row, 0, GW_INK_OFF, lines[0]);
	top_screen_reverse(row, 0, top_screen_columns());
	for (size_t i = 0; i < shown; i++)
		draw_kernel_line(&layout, row + 1 + (unsigned)i, s->rows[s->first + i],
				 lines[i + 1], s->first + i == s->selected);
	top_lines_free(lines, shown + 1);
	if (!s->count)
		top_screen_put(row + 1, 0, GW_INK_DIM,
			       s->view->model->processes
				       ? *s->filter ? "no kernel matches the filter"
						    : "no kernel yet"
				       : "no process runs under gpuwatch here; looked in");
	for (unsigned i = 0; !s->view->model->processes && top_source_folder(s->view->source, i);
	     i++) {
		char name[TOP_LINE_MOST];

		if (row + 2 + i < end)
			top_screen_put(row + 2 + i, 2, GW_INK_DIM,
				       top_visible(name, sizeof(name),
						   top_source_folder(s->view->source, i)));
	}
}

static void append(char line[TOP_LINE_MOST], const char *what, const char *text)
{
	const size_t n = strlen(line);

	snprintf(line + n, TOP_LINE_MOST - n, "%s%s", what, text);
}

/* The last line: what is typed, a message, or the keys and what is set. */
static void draw_foot(const struct top_screen *s, const char *keys)
{
	const unsigned row = top_screen_rows() - 1;
	char line[TOP_LINE_MOST], text[4 * TOP_FILTER_MOST];
	const char *why = "";
	unsigned refused = top_source_refused(s->view->source, &why);

	if (s->editing) {
		snprintf(line, sizeof(line), "Filter (regular expression): %s_",
			 top_visible(text, sizeof(text), s->edit));
		top_screen_put(row, 0, GW_INK_BOLD, line);
		return;
	}
	if (s->message) {
		top_screen_put(row, 0, GW_INK_WARN, s->message);
		return;
	}
	/* What is set comes first: keys are in the help, too. */
	snprintf(line, sizeof(line), "sort: %s%s", top_sort_name(s->view->choice.sort),
		 s->view->choice.reverse ? ", reverse" : "");
	if (*s->filter)
		append(line, "   filter: ", top_visible(text, sizeof(text), s->filter));
	if (refused)
		append(line, "   segment unreadable: ", top_visible(text, sizeof(text), why));
	append(line, "   ", keys);
	top_screen_put(row, 0, GW_INK_DIM, line);
}

/* Graphs that are timed whole, those with most time, and a line of what gpuwatch takes. */
static unsigned draw_graphs(const struct top_screen *s, unsigned row)
{
	char own[TOP_LINE_MOST];
	size_t count;
	char **lines = top_graph_lines(s->view->model, GRAPHS, &count);

	for (size_t i = 0; i < count; i++)
		top_screen_put(row++, 0, GW_INK_OFF, lines[i]);
	top_lines_free(lines, count);
	if (top_own(s->view->model, own, sizeof(own)))
		top_screen_put(row++, 0, GW_INK_DIM, own);
	return row;
}

static void draw_list(struct top_screen *s)
{
	const unsigned rows = top_screen_rows(), gap = rows >= ROOMY;
	unsigned row = 2 + gap;

	draw_title(s);
	if (rows >= PANEL_LEAST)
		row = draw_processes(s, row, rows / 3 > 2 ? rows / 3 : 2) + gap;
	if (gap)
		row = draw_graphs(s, row);
	draw_kernels(s, row, rows - 1);
	draw_foot(s, "q end  p pause  / filter  s sort  Enter histogram  ? help");
}

static void draw_help(void)
{
	static const struct {
		const char *keys, *meaning;
	} keys[] = {
#define KEY(keys, meaning) {keys, meaning},
#include "cli/top/keys.def"
#undef KEY
	};
	unsigned row = 0;
	char line[TOP_LINE_MOST];

	top_screen_put(row++, 0, GW_INK_BOLD, "Keys");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		snprintf(line, sizeof(line), "  %-12s %s", keys[i].keys, keys[i].meaning);
		top_screen_put(row++, 0, GW_INK_OFF, line);
	}
	top_screen_put(row++, 0, GW_INK_BOLD, "Columns");
	for (enum top_column c = 0; c < TOP_COLUMNS; c++) {
		snprintf(line, sizeof(line), "  %-12s %s", top_column_title(c),
			 top_column_meaning(c));
		top_screen_put(row++, 0, GW_INK_OFF, line);
	}
}

void top_screen_draw(struct top_screen *s)
{
	top_screen_clear();
	if (top_screen_rows() < 4 || top_screen_columns() < 20) {
		top_screen_put(0, 0, GW_INK_OFF, "too small");
	} else if (s->page == TOP_PAGE_HELP) {
		draw_help();
		draw_foot(s, "Esc back  q end");
	} else if (s->page == TOP_PAGE_KERNEL) {
		top_screen_draw_kernel(s);
		draw_foot(s, "Esc back  p pause  q end");
	} else {
		draw_list(s);
	}
	top_screen_show();
}
