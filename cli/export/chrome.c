/*
 * Trace Event JSON: a launch is a complete event on its stream; times in µs since the first log,
 * which a reader with doubles alone keeps to the ns. Each event repeats its kernel's name, and so
 * has it once.
 */
#include "cli/common/memory.h"
#include "cli/export/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *text;
	size_t length;
} keys[EXPORT_COLUMNS] = {
#define COLUMN(name, kind, known, value) {"\"" #name "\":", sizeof("\"" #name "\":") - 1},
#include "cli/export/row.def"
#undef COLUMN
};

static void begin(struct export *e)
{
	export_print(e->out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
			     "{\"name\":\"gpuwatch\",\"ph\":\"M\",\"pid\":0}");
}

static void process(struct export *e, const struct export_process *p)
{
	export_print(e->out,
		     ",\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%" PRIu32
		     ",\"args\":{\"name\":",
		     p->pid);
	export_json_text(e->out, p->name);
	export_print(e->out, "}}");
}

/* ns since the first log as µs, to the ns. */
static void put_time(struct export *e, const char *key, uint64_t ns)
{
	const char digits[] = {'.', (char)('0' + ns % 1000 / 100), (char)('0' + ns % 100 / 10),
			       (char)('0' + ns % 10)};

	export_string(e->out, key);
	export_count(e->out, ns / 1000);
	export_write(e->out, digits, sizeof(digits));
}

/* The same of a date, which may be before the first log's. */
static void put_date(struct export *e, const char *key, uint64_t ns)
{
	if (ns >= e->epoch_ns) {
		put_time(e, key, ns - e->epoch_ns);
		return;
	}
	export_string(e->out, key);
	put_time(e, "-", e->epoch_ns - ns);
}

static void put_axes(struct export *e, const char *key, const struct export_value *x)
{
	export_string(e->out, key);
	export_count(e->out, x[0].count);
	export_write(e->out, ",", 1);
	export_count(e->out, x[1].count);
	export_write(e->out, ",", 1);
	export_count(e->out, x[2].count);
	export_write(e->out, "]", 1);
}

static void put_arg(struct export *e, unsigned column, const struct export_value *value,
		    const char *separator)
{
	export_string(e->out, separator);
	if (column == EXPORT_call_ns) {
		put_date(e, "\"call_us\":", value->count);
		return;
	}
	if (column == EXPORT_grid_x) {
		put_axes(e, "\"grid\":[", value);
		return;
	}
	if (column == EXPORT_block_x) {
		put_axes(e, "\"block\":[", value);
		return;
	}
	export_write(e->out, keys[column].text, keys[column].length);
	if (export_kinds[column] == EXPORT_REAL)
		export_real(e->out, value->real);
	else if (export_kinds[column] == EXPORT_TEXT)
		export_json_text(e->out, value->text);
	else
		export_count(e->out, value->count);
}

/* A column that is no argument: the event or another argument has it, or, mangled, its kernel's
 * name. */
static bool elsewhere(unsigned column)
{
	return column == EXPORT_pid || column == EXPORT_kernel || column == EXPORT_mangled ||
	       column == EXPORT_grid_y || column == EXPORT_grid_z || column == EXPORT_block_y ||
	       column == EXPORT_block_z;
}

/* Those of columns @p from up to @p to that are known. A launch has a stream always: one that is
 * not unknown comes before those of its configuration. */
static void put_args(struct export *e, const struct export_value *values, unsigned from,
		     unsigned to, const char *separator)
{
	for (unsigned i = from; i < to; i++) {
		if (!values[i].known || elsewhere(i))
			continue;
		put_arg(e, i, &values[i], separator);
		separator = ",";
	}
}

/* What every launch of a configuration begins with. */
static void put_head(struct export *e, const struct export_row *row)
{
	struct export_text *text = &row->config->text[0];
	struct export_mark from = export_mark(e->out);

	if (text->data) {
		export_write(e->out, text->data, text->length);
		return;
	}
	export_string(e->out, ",\n{\"name\":");
	export_json_text(e->out, row->config->kernel->plain);
	export_string(e->out, ",\"cat\":\"kernel\",\"ph\":\"X\",\"pid\":");
	export_count(e->out, row->process->pid);
	export_string(e->out, ",\"tid\":\"GPU ");
	export_keep(e->out, from, text);
}

/* What decides all arguments of a launch from those of its configuration on. */
struct alike {
	float predicted, low, high;
	uint32_t tier, work;
};

/* Those arguments, behind a struct alike, are kept in the configuration's second text. */
static void put_rest(struct export *e, const struct export_row *row,
		     const struct export_value *values)
{
	const struct gw_record_launch *l = &row->launch;
	const struct alike alike = {l->predicted, l->low, l->high, l->tier, l->work};
	struct export_text *text = &row->config->text[1], written = {0};
	struct export_mark from;

	if (text->data && !memcmp(text->data, &alike, sizeof(alike))) {
		export_write(e->out, text->data + sizeof(alike), text->length - sizeof(alike));
		return;
	}
	from = export_mark(e->out);
	put_args(e, values, EXPORT_OF_CONFIG, EXPORT_COLUMNS, ",");
	export_string(e->out, "}}");
	export_keep(e->out, from, &written);
	if (!written.data)
		return;
	free(text->data);
	text->length = sizeof(alike) + written.length;
	text->data = gw_alloc(text->length);
	memcpy(text->data, &alike, sizeof(alike));
	memcpy(text->data + sizeof(alike), written.data, written.length);
	free(written.data);
}

static void launch(struct export *e, const struct export_row *row)
{
	const struct gw_record_launch *l = &row->launch;
	struct export_value values[EXPORT_COLUMNS];

	if (!row->measured || !l->start_ns)
		return;
	export_values(row, values);
	put_head(e, row);
	if (row->gpu)
		export_count(e->out, row->gpu->record.ordinal);
	else
		export_string(e->out, "-1");
	export_string(e->out, " stream ");
	export_count(e->out, row->stream);
	export_string(e->out, "\"");
	put_date(e, ",\"ts\":", l->start_ns);
	put_time(e, ",\"dur\":", l->duration_ns);
	export_string(e->out, ",\"args\":{");
	put_args(e, values, EXPORT_call_ns, EXPORT_OF_CONFIG, "");
	put_rest(e, row, values);
}

/* A sample of a counter, but for its value. */
static void put_counter(struct export *e, const struct export_process *p, uint32_t gpu,
			const char *what, const char *unit, uint64_t ns)
{
	export_print(e->out, ",\n{\"name\":\"GPU %" PRIu32 " %s\",\"ph\":\"C\",\"pid\":%" PRIu32,
		     e->model->gpus[gpu].record.ordinal, what, p->pid);
	put_date(e, ",\"ts\":", ns);
	export_print(e->out, ",\"args\":{\"%s\":", unit);
}

static void clock_sample(struct export *e, const struct export_process *p, uint32_t gpu,
			 const struct gw_record_clock *c)
{
	put_counter(e, p, gpu, "SM clock", "MHz", c->ns);
	export_print(e->out, "%" PRIu32 "}}", c->sm_khz / 1000);
}

static void rate(struct export *e, const struct export_process *p, uint32_t gpu,
		 enum export_rate which, double share, uint64_t ns, double value)
{
	char name[EXPORT_RATE_LABEL];

	put_counter(e, p, gpu, export_rate_label(name, which, share), export_rate_units[which], ns);
	export_real(e->out, value);
	export_string(e->out, "}}");
}

static bool end(struct export *e)
{
	export_print(e->out, "\n]}\n");
	return true;
}

const struct export_format export_chrome = {.begin = begin,
					    .process = process,
					    .launch = launch,
					    .clock = clock_sample,
					    .rate = rate,
					    .end = end};
