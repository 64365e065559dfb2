/* Where launches came from. */
#include "cli/common/index.h"
#include "cli/common/json.h"
#include "cli/common/number.h"
#include "cli/message.h"
#include "cli/report/report.h"
#include "cli/stack/symbols.h"
#include "cli/table.h"

#include <stdio.h>

static bool is_cut(const struct log_stack *k)
{
	return k->python ? (k->flags & GW_STACK_PYTHON_CUT) != 0 : k->end != GW_STACK_END_BOTTOM;
}

static void print_stack(struct log_stacks *stacks, const struct gw_row_stack *s, unsigned width)
{
	const struct log_stack *k = &stacks->list[s->stack];
	uint32_t shown[STACK_SHOWN];
	const size_t count = log_stack_shown(stacks, s->stack, shown);
	char line[LOG_LINE], text[LOG_LINE];
	struct gw_text n;

	printf("     %s%s%s\n", gw_counted(&n, (double)s->launches, "run", NULL),
	       k->flags & GW_STACK_CAPTURED ? ", recorded into a graph" : "", count ? ":" : "");
	for (size_t i = 0; i < count; i++) {
		log_frame_text(stacks, shown[i], line, sizeof(line));
		gw_printable(text, sizeof(text), line);
		printf("       %.*s\n", width > 7 ? (int)width - 7 : 0, text);
	}
	if (is_cut(k))
		printf("       %s\n", gw_utf8() ? "…" : "...");
}

void gw_report_stacks(struct gw_report *report, unsigned width)
{
	const unsigned most = report->wide ? LOG_LINE + 7 : width;
	char name[LOG_LINE];
	bool any = false;

	for (size_t i = 0; i < report->count; i++) {
		const struct gw_row *row = report->lines[i].row;

		if (!row->stacks[0].launches)
			continue;
		any = true;
		gw_printable(name, sizeof(name), report->names[row->name]);
		printf("\n  #%zu  %.*s\n", i + 1, most > 8 ? (int)most - 8 : 0, name);
		for (unsigned s = 0; s < GW_ROW_STACKS && row->stacks[s].launches; s++)
			print_stack(&report->model.files[row->stacks[s].file].stacks,
				    &row->stacks[s], most);
	}
	if (!any)
		printf("\n  No stack is in %s (GPUWATCH_STACKS).\n",
		       report->model.file_count == 1 ? "this log" : "these logs");
	else if (symbols_missing())
		gw_warning("report: %s", symbols_missing());
}

static json_t *text_or_null(const char *text)
{
	return *text ? gw_json_text(text) : json_null();
}

static json_t *frame_json(const struct log_stacks *stacks, uint32_t frame)
{
	const struct stack_frame *f = &stacks->frames[frame];
	const bool native = f->object != GW_INDEX_NONE;
	json_t *o = json_object();

	json_object_set_new(o, "function", text_or_null(f->function));
	json_object_set_new(o, "file", text_or_null(f->file));
	json_object_set_new(o, "line", f->line ? gw_json_count(f->line) : json_null());
	json_object_set_new(o, "module",
			    native ? gw_json_text(stacks->objects[f->object].path) : json_null());
	json_object_set_new(o, "address", native ? gw_json_count(f->address) : json_null());
	return o;
}

json_t *gw_report_stacks_json(struct gw_report *report, const struct gw_row *row)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < GW_ROW_STACKS && row->stacks[i].launches; i++) {
		struct log_stacks *stacks = &report->model.files[row->stacks[i].file].stacks;
		const struct log_stack *k = &stacks->list[row->stacks[i].stack];
		uint32_t shown[STACK_SHOWN];
		const size_t count = log_stack_shown(stacks, row->stacks[i].stack, shown);
		json_t *o = json_object(), *frames = json_array();

		for (size_t f = 0; f < count; f++)
			json_array_append_new(frames, frame_json(stacks, shown[f]));
		gw_set_count(o, "runs", row->stacks[i].launches);
		gw_set_bool(o, "graph", k->flags & GW_STACK_CAPTURED);
		gw_set_bool(o, "complete", !is_cut(k));
		json_object_set_new(o, "frames", frames);
		json_array_append_new(list, o);
	}
	return list;
}
