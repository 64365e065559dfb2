#include "cli/top/cells.h"

#include "calib/nvml/nvml.h"
#include "cli/common/kernel_name.h"
#include "cli/common/memory.h"
#include "cli/common/number.h"
#include "cli/live/tables.h"
#include "cli/message.h"
#include "predictor/log/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

struct column {
	const char *title;
	unsigned width, priority;
	const char *meaning;
};

static const struct column kernel_columns[] = {
#define KERNEL(id, title, width, priority, meaning) {title, width, priority, meaning},
#include "cli/top/columns.def"
#undef KERNEL
};

static const struct column process_columns[] = {
#define PROCESS(id, title, width, priority, meaning) {title, width, priority, meaning},
#include "cli/top/columns.def"
#undef PROCESS
};

enum process_column {
#define PROCESS(id, title, width, priority, meaning) PROCESS_##id,
#include "cli/top/columns.def"
#undef PROCESS
	PROCESS_COLUMNS
};

enum { NAME_LEAST = 20 }; /* columns for what is left: others leave for it */

const char *top_column_title(enum top_column c)
{
	return kernel_columns[c].title;
}

const char *top_column_meaning(enum top_column c)
{
	return kernel_columns[c].meaning;
}

/* ---- text ---- */

char *top_visible(char *out, size_t size, const char *text)
{
	mbstate_t state = {0};
	size_t n = 0;

	while (*text && n + 5 < size) {
		wchar_t c = 0;
		size_t length = mbrtowc(&c, text, strlen(text), &state);

		/* Bidirectional marks have no column, so they are escaped like the rest. */
		if (length > 4 || (!gw_utf8() && (unsigned char)*text >= 0x80) || wcwidth(c) != 1) {
			memset(&state, 0, sizeof(state));
			n += (size_t)snprintf(out + n, size - n, "\\x%02x", (unsigned char)*text++);
			continue;
		}
		memcpy(out + n, text, length);
		n += length;
		text += length;
	}
	out[n] = 0;
	return out;
}

const char *top_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

size_t top_clip(const char *text, size_t columns)
{
	size_t i = 0;

	while (text[i] && (columns || ((unsigned char)text[i] & 0xc0) == 0x80)) {
		columns -= ((unsigned char)text[i] & 0xc0) != 0x80;
		i++;
	}
	return i;
}

/* Append a cell; @p last: nothing follows it. */
static void put_cell(char *line, const char *text, const struct top_place *place, bool left,
		     bool last)
{
	const size_t used = strlen(line), filled = gw_columns(line), full = gw_columns(text);
	const size_t bytes = top_clip(text, place->width);
	const size_t gap = place->at > filled ? place->at - filled : 0;
	const size_t pad = place->width > full ? place->width - full : 0;
	const size_t before = gap + (left ? 0 : pad), behind = left && !last ? pad : 0;
	char *at = line + used;

	if (used + bytes + gap + pad + 2 >= TOP_LINE_MOST)
		return;
	memset(at, ' ', before);
	memcpy(at + before, text, bytes);
	memset(at + before + bytes, ' ', behind);
	at[before + bytes + behind] = '\0';
}

/* ---- columns that fit ---- */

static unsigned need(const struct top_layout *l, const struct column *columns, unsigned count)
{
	unsigned all = 0;

	for (unsigned c = 0; c < count; c++)
		if (l->place[c].shown)
			all += columns[c].width + (all ? 1 : 0);
	return all;
}

static void fit(struct top_layout *l, const struct column *columns, unsigned count, unsigned width)
{
	unsigned worst, at = 0;

	l->width = width;
	do {
		worst = count;
		for (unsigned c = 0; c < count; c++)
			if (l->place[c].shown && columns[c].priority &&
			    (worst == count || columns[c].priority > columns[worst].priority))
				worst = c;
		if (worst == count || need(l, columns, count) + NAME_LEAST <= width)
			break;
		l->place[worst].shown = false;
	} while (true);
	for (unsigned c = 0; c < count; c++) {
		struct top_place *p = &l->place[c];

		if (!p->shown)
			continue;
		p->at = at;
		p->width = columns[c].width ? columns[c].width : at < width ? width - at : 0;
		at += p->width + 1;
	}
}

void top_layout_kernels(struct top_layout *l, const struct top_model *m, unsigned width)
{
	uint32_t devices = 0;

	for (size_t i = 0; i < m->processes; i++)
		devices |= m->process[i]->devices;
	memset(l, 0, sizeof(*l));
	for (unsigned c = 0; c < TOP_COLUMNS; c++)
		l->place[c].shown = true;
	l->place[TOP_COLUMN_pid].shown = m->processes > 1;
	l->place[TOP_COLUMN_gpu].shown = (devices & (devices - 1)) != 0;
	fit(l, kernel_columns, TOP_COLUMNS, width);
}

void top_layout_processes(struct top_layout *l, unsigned width)
{
	memset(l, 0, sizeof(*l));
	for (unsigned c = 0; c < PROCESS_COLUMNS; c++)
		l->place[c].shown = true;
	fit(l, process_columns, PROCESS_COLUMNS, width);
}

static char *head_line(const struct top_layout *l, const struct column *columns, unsigned count)
{
	char *line = gw_alloc(TOP_LINE_MOST);

	for (unsigned c = 0; c < count; c++)
		if (l->place[c].shown)
			put_cell(line, columns[c].title, &l->place[c], !columns[c].width,
				 c + 1 == count);
	return line;
}

/* ---- kernels ---- */

static void rate(struct gw_text *out, double count, double span_ns)
{
	const double a_second = count / span_ns * 1e9;

	if (isnan(a_second) || a_second == 0 || a_second >= 99.95)
		gw_thousands(out, a_second);
	else
		snprintf(out->s, sizeof(out->s), "%.*f", a_second < 9.995 ? 2 : 1, a_second);
	if (gw_columns(out->s) > 8)
		snprintf(out->s, sizeof(out->s), "%.2e", a_second);
}

/* A multiple with three digits. */
static void multiple(char *out, size_t size, double x)
{
	if (isnan(x))
		snprintf(out, size, "-");
	else if (x >= 9999.5 || x < 0)
		snprintf(out, size, "%s", x < 0 ? "<0" : ">9999");
	else
		snprintf(out, size, "%.*f", x < 9.995 ? 2 : x < 99.95 ? 1 : 0, x);
}

static void range(struct gw_text *out, const struct top_row *r)
{
	char low[16], high[16];

	multiple(low, sizeof(low), r->low / r->predicted);
	multiple(high, sizeof(high), r->high / r->predicted);
	if (isnan(r->predicted))
		snprintf(out->s, sizeof(out->s), "-");
	else
		snprintf(out->s, sizeof(out->s), "%s-%s", low, high);
}

static void kernel_cell(struct gw_text *out, const struct top_model *m, const struct top_row *r,
			enum top_column c)
{
	const bool now = !isnan(r->interval.mean_ns);
	struct gw_text share;

	switch (c) {
	case TOP_COLUMN_share:
		gw_percent(&share, top_row_share(m, r));
		snprintf(out->s, sizeof(out->s), "%s%s",
			 r->interval.estimated && strlen(share.s) < 6 ? "~" : "", share.s);
		break;
	case TOP_COLUMN_runs:
		rate(out, r->interval.runs, m->span_ns);
		break;
	case TOP_COLUMN_measured:
		gw_duration(out, now ? r->interval.mean_ns : r->total.mean_ns);
		break;
	case TOP_COLUMN_ratio:
		multiple(out->s, sizeof(out->s), now ? r->interval.ratio : r->total.ratio);
		break;
	case TOP_COLUMN_range:
		range(out, r);
		break;
	case TOP_COLUMN_bound:
		snprintf(out->s, sizeof(out->s), "%s", r->bound ? gw_bound_name(r->bound) : "-");
		break;
	case TOP_COLUMN_gpu:
		snprintf(out->s, sizeof(out->s), r->device < GW_LIVE_DEVICES ? "%u" : "-",
			 r->device);
		break;
	case TOP_COLUMN_pid:
		snprintf(out->s, sizeof(out->s), "%u", r->process->pid);
		break;
	default:
		out->s[0] = 0;
	}
}

static char *kernel_line(const struct top_layout *l, const struct top_model *m,
			 const struct top_row *r, const char *name)
{
	char *line = gw_alloc(TOP_LINE_MOST);

	for (unsigned c = 0; c < TOP_COLUMNS; c++) {
		struct gw_text cell;

		if (!l->place[c].shown)
			continue;
		kernel_cell(&cell, m, r, (enum top_column)c);
		put_cell(line, c == TOP_COLUMN_name ? name : cell.s, &l->place[c],
			 c == TOP_COLUMN_name, c + 1 == TOP_COLUMNS);
		/* The gap to the next column has room for a mark. */
		if (c == TOP_COLUMN_ratio && top_row_off(r))
			strcat(line, "!");
	}
	return line;
}

char **top_kernel_lines(const struct top_layout *l, const struct top_model *m,
			struct top_row *const *rows, size_t count)
{
	char **lines = gw_alloc((count + 1) * sizeof(*lines));
	char **names = gw_alloc((count + 1) * sizeof(*names));
	char clean[TOP_LINE_MOST];

	for (size_t i = 0; i < count; i++)
		names[i] = gw_copy(top_visible(clean, sizeof(clean), rows[i]->name));
	gw_kernel_names_fit(names, count,
			    l->place[TOP_COLUMN_name].width > 4 ? l->place[TOP_COLUMN_name].width
								: 4);
	lines[0] = head_line(l, kernel_columns, TOP_COLUMNS);
	for (size_t i = 0; i < count; i++) {
		lines[i + 1] = kernel_line(l, m, rows[i], names[i]);
		free(names[i]);
	}
	free(names);
	return lines;
}

void top_lines_free(char **lines, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(lines[i]);
	free(lines);
}

/* ---- processes ---- */

const char *top_mode_name(const struct top_process *p)
{
	const char *name = p->totals.ns ? gw_mode_name(p->totals.mode) : NULL;

	return name ? name : "-";
}

void top_remark(const struct top_process *p, const struct top_device *d, char *out, size_t size)
{
	const uint64_t lost = p->totals.counter[GW_COUNTER_ring_dropped] +
			      p->totals.counter[GW_COUNTER_threads_dropped];
	char text[256];

	*out = 0;
	if (p->state == TOP_ENDED)
		snprintf(out, size, "ended");
	else if (lost)
		snprintf(out, size, "%llu launches lost", (unsigned long long)lost);
	else if (p->totals.configs_refused)
		snprintf(out, size, "table of configurations full");
	else if (d && d->now.reasons) {
		gw_throttle_text(d->now.reasons, text, sizeof(text));
		if (strcmp(text, "none") != 0)
			snprintf(out, size, "throttled: %.200s", text);
	} else if (p->state == TOP_ELSEWHERE)
		snprintf(out, size, "in another PID namespace");
	if (!*out && d && d->idle >= 0.1 && d->input >= 0.5)
		snprintf(out, size, "waits for input: %.0f%% of idle time", 100 * d->input);
	if (!*out && p->switchable && p->switched.until_ns)
		gw_live_mode_text(&p->switched, out, size);
}

static char *process_line(const struct top_layout *l, const struct top_model *m,
			  const struct top_process *p, uint32_t gpu)
{
	const struct top_device *d = gpu < GW_LIVE_DEVICES ? &p->device[gpu] : NULL;
	char *line = gw_alloc(TOP_LINE_MOST), remark[300], name[300], program[700];
	struct gw_text cell[PROCESS_COLUMNS] = {0};

	top_remark(p, d, remark, sizeof(remark));
	snprintf(program, sizeof(program), "%s%s%s%s",
		 top_visible(name, sizeof(name), top_base_name(p->exe)), *remark ? " (" : "",
		 remark, *remark ? ")" : "");
	snprintf(cell[PROCESS_pid].s, sizeof(cell->s), "%u", p->pid);
	snprintf(cell[PROCESS_gpu].s, sizeof(cell->s), d ? "%u" : "-", gpu);
	gw_percent(&cell[PROCESS_idle], d ? d->idle : NAN);
	snprintf(cell[PROCESS_clock].s, sizeof(cell->s), d && d->now.sm_khz ? "%u" : "-",
		 d ? d->now.sm_khz / 1000 : 0);
	rate(&cell[PROCESS_runs], p->runs, m->span_ns);
	snprintf(cell[PROCESS_mode].s, sizeof(cell->s), "%s", top_mode_name(p));
	snprintf(cell[PROCESS_budget].s, sizeof(cell->s), p->switchable ? "%u%%" : "-",
		 p->switched.budget);
	for (unsigned c = 0; c < PROCESS_COLUMNS; c++)
		if (l->place[c].shown)
			put_cell(line, c == PROCESS_program ? program : cell[c].s, &l->place[c],
				 c == PROCESS_program, c + 1 == PROCESS_COLUMNS);
	return line;
}

char **top_process_lines(const struct top_layout *l, const struct top_model *m, size_t most,
			 size_t *count)
{
	size_t room = 0;
	char **lines = NULL;

	*count = 0;
	lines = gw_grow(lines, &room, 1, sizeof(*lines));
	lines[(*count)++] = head_line(l, process_columns, PROCESS_COLUMNS);
	for (size_t i = 0; i < m->processes; i++) {
		const struct top_process *p = m->process[i];
		bool any = false;

		for (uint32_t d = 0; d <= GW_LIVE_DEVICES; d++) {
			/* One whose GPUs are not known has a line of its own. */
			if (d < GW_LIVE_DEVICES ? !p->device[d].known : any)
				continue;
			any = true;
			lines = gw_grow(lines, &room, *count + 1, sizeof(*lines));
			lines[*count] = *count < most ? process_line(l, m, p, d) : NULL;
			++*count;
		}
	}
	return lines;
}

/* ---- on all ---- */

void top_summary(const struct top_model *m, char *out, size_t size)
{
	struct gw_text processes, runs;
	double all = 0;
	size_t live = 0;

	for (size_t i = 0; i < m->processes; i++) {
		live += m->process[i]->state != TOP_ENDED;
		all += isnan(m->process[i]->runs) ? 0 : m->process[i]->runs;
	}
	rate(&runs, isnan(m->span_ns) ? NAN : all, m->span_ns);
	snprintf(out, size, "%s, %s kernel runs/s",
		 gw_counted(&processes, (double)live, "process", "processes"), runs.s);
}

void top_bounds(const struct top_model *m, char *out, size_t size)
{
	static const enum gw_bound order[] = {GW_BOUND_MEMORY, GW_BOUND_COMPUTE, GW_BOUND_LATENCY,
					      GW_BOUND_LAUNCH, GW_BOUND_UNKNOWN};
	size_t n = 0;

	*out = 0;
	for (unsigned i = 0; i < sizeof(order) / sizeof(*order) && m->time_ns > 0; i++) {
		struct gw_text share;

		if (m->bound_ns[order[i]] > 0 && n < size)
			n += (size_t)snprintf(
				out + n, size - n, "%s%s %s", n ? "  " : "",
				gw_bound_name(order[i]),
				gw_percent(&share, m->bound_ns[order[i]] / m->time_ns));
	}
}
