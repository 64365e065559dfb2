/* Which rows are shown, by what name, and in what order. */
#include "cli/common/kernel_name.h"
#include "cli/common/memory.h"
#include "cli/top/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const keys[] = {
#define SORT(id, meaning) #id,
#include "cli/top/sort.def"
#undef SORT
};

const char *top_sort_name(enum top_sort sort)
{
	return sort < TOP_SORTS ? keys[sort] : "";
}

enum top_sort top_sort_of(const char *name)
{
	enum top_sort at = 0;

	while (at < TOP_SORTS && strcmp(keys[at], name) != 0)
		at++;
	return at;
}

/* qsort() has no argument for it; the command has one thread. */
static const struct top_choice *sorting;

/* The greater comes first; unknown comes last. */
static int by_value(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return a > b ? -1 : a < b;
}

static double pick(double interval, double total)
{
	return isnan(interval) ? total : interval;
}

static int by_key(const struct top_row *a, const struct top_row *b)
{
	switch (sorting->sort) {
	case TOP_SORT_runs:
		return by_value(a->interval.runs, b->interval.runs);
	case TOP_SORT_measured:
		return by_value(pick(a->interval.mean_ns, a->total.mean_ns),
				pick(b->interval.mean_ns, b->total.mean_ns));
	case TOP_SORT_ratio:
		return by_value(fabs(log(pick(a->interval.ratio, a->total.ratio))),
				fabs(log(pick(b->interval.ratio, b->total.ratio))));
	case TOP_SORT_name:
		return strcmp(a->name, b->name);
	case TOP_SORT_pid:
		return (a->process->pid > b->process->pid) - (a->process->pid < b->process->pid);
	default:
		return by_value(a->interval.time_ns, b->interval.time_ns);
	}
}

/* Rows that are alike stand in an order that does not change from one snapshot to the next. */
static int by_choice(const void *x, const void *y)
{
	struct top_row *a = *(struct top_row *const *)x, *b = *(struct top_row *const *)y;
	int order = sorting->sort == TOP_SORT_time ? by_key(a, b) : 0;

	if (!order) {
		top_row_finish(a);
		top_row_finish(b);
		order = by_key(a, b);
	}
	order = sorting->reverse ? -order : order;
	if (!order)
		order = by_value(a->total.time_ns, b->total.time_ns);
	if (!order)
		order = by_value(a->total.runs, b->total.runs);
	if (!order)
		order = strcmp(a->plain, b->plain);
	if (!order)
		order = strcmp(a->process->id, b->process->id);
	return order ? order : (a->device > b->device) - (a->device < b->device);
}

double top_row_share(const struct top_model *m, const struct top_row *r)
{
	return m->time_ns > 0 ? r->interval.time_ns / m->time_ns : NAN;
}

bool top_row_off(const struct top_row *r)
{
	return r->interval.ratio < r->low / r->predicted ||
	       r->interval.ratio > r->high / r->predicted;
}

static bool wanted(const struct top_row *r, const struct top_choice *choice)
{
	return r->configs && (!choice->filter || !regexec(choice->filter, r->plain, 0, NULL, 0));
}

void top_order(struct top_row **rows, size_t count, const struct top_choice *choice, size_t ordered)
{
	const size_t first = ordered < count ? ordered : count;
	const bool by_time = choice->sort == TOP_SORT_time && !choice->reverse;

	sorting = choice;
	if (!first)
		return;
	qsort(rows, first, sizeof(*rows), by_choice);
	/* Few of the others come before the last of those. */
	for (size_t i = first; i < count; i++) {
		struct top_row *r = rows[i];
		size_t at = first;

		if (by_time && r->interval.time_ns < rows[first - 1]->interval.time_ns)
			continue;
		if (by_choice(&r, &rows[first - 1]) >= 0)
			continue;
		rows[i] = rows[first - 1];
		while (--at && by_choice(&r, &rows[at - 1]) < 0)
			rows[at] = rows[at - 1];
		rows[at] = r;
	}
	for (size_t i = 0; i < first; i++)
		top_row_finish(rows[i]);
}

size_t top_choose(const struct top_model *m, const struct top_choice *choice, size_t ordered,
		  struct top_row ***rows)
{
	size_t count = 0, room = 1;

	for (size_t i = 0; i < m->processes; i++)
		room += m->process[i]->rows;
	*rows = gw_alloc(room * sizeof(**rows));
	for (size_t i = 0; i < m->processes; i++)
		for (size_t k = 0; k < m->process[i]->rows; k++) {
			struct top_row *const *row = m->process[i]->row;

			top_row_soon(row, k, m->process[i]->rows);
			if (wanted(row[k], choice))
				(*rows)[count++] = row[k];
		}
	if (count)
		top_order(*rows, count, choice, ordered);
	return count;
}

/* A row that has found its name leaves one without behind: none of its configurations is left. */
void top_name_rows(struct top_model *m)
{
	size_t count = 0, at = 0;
	struct gw_kernel_names *names;
	char **out;

	for (size_t i = 0; i < m->processes; i++)
		count += m->process[i]->rows;
	names = gw_alloc((count + 1) * sizeof(*names));
	out = gw_alloc((count + 1) * sizeof(*out));
	for (size_t i = 0; i < m->processes; i++)
		for (size_t k = 0; k < m->process[i]->rows; k++) {
			const struct top_row *r = m->process[i]->row[k];

			names[at++] = (struct gw_kernel_names){r->mangled ? r->mangled : r->plain,
							       r->plain};
		}
	gw_kernel_names(names, count, out);
	at = 0;
	for (size_t i = 0; i < m->processes; i++)
		for (size_t k = 0; k < m->process[i]->rows; k++) {
			free(m->process[i]->row[k]->name);
			m->process[i]->row[k]->name = out[at++];
		}
	free(names);
	free(out);
	m->unnamed = false;
}
