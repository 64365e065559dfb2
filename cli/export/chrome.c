/* SPDX-License-Identifier: Apache-2.0 */
/* Trace Event JSON: a launch is a complete event on its stream; times in µs since the first log. */
#include "cli/export/export.h"

#include <inttypes.h>
#include <stdlib.h>

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

static void put_args(struct export *e, const struct export_row *row)
{
	struct export_value v[EXPORT_COLUMNS];
	const char *separator = "";

	export_values(row, v);
	for (unsigned i = EXPORT_call_ns; i < EXPORT_COLUMNS; i++) {
		if (!v[i].known || i == EXPORT_pid || i == EXPORT_kernel)
			continue;
		export_print(e->out, "%s\"%s\":", separator, export_names[i]);
		separator = ",";
		if (export_kinds[i] == EXPORT_COUNT || export_kinds[i] == EXPORT_TIME)
			export_print(e->out, "%" PRIu64, v[i].count);
		else if (export_kinds[i] == EXPORT_REAL)
			export_print(e->out, "%.9g", v[i].real);
		else
			export_json_text(e->out, v[i].text);
	}
}

/* ns since the first log as µs, to the ns. */
static void put_time(struct export *e, const char *key, uint64_t ns)
{
	export_print(e->out, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static void put_start(struct export *e, uint64_t ns)
{
	if (ns < e->epoch_ns)
		export_print(e->out, ",\"ts\":-%.3f", (double)(e->epoch_ns - ns) / 1e3);
	else
		put_time(e, "ts", ns - e->epoch_ns);
}

static void launch(struct export *e, const struct export_row *row)
{
	const struct gw_record_launch *l = &row->launch;

	if (!row->measured || !l->start_ns)
		return;
	export_print(e->out, ",\n{\"name\":");
	export_json_text(e->out, row->config->kernel->plain);
	export_print(e->out,
	             ",\"cat\":\"kernel\",\"ph\":\"X\",\"pid\":%" PRIu32
	             ",\"tid\":\"GPU %d stream %" PRIu32 "\"",
	             row->process->pid, row->gpu ? (int)row->gpu->record.ordinal : -1, row->stream);
	put_start(e, l->start_ns);
	put_time(e, "dur", l->duration_ns);
	export_print(e->out, ",\"args\":{");
	put_args(e, row);
	export_print(e->out, "}}");
}

static void clock_sample(struct export *e, const struct export_process *p, uint32_t gpu,
                         const struct gw_record_clock *c)
{
	export_print(e->out,
	             ",\n{\"name\":\"GPU %" PRIu32 " SM clock\",\"ph\":\"C\",\"pid\":%" PRIu32,
	             e->model->gpus[gpu].record.ordinal, p->pid);
	put_start(e, c->ns);
	export_print(e->out, ",\"args\":{\"MHz\":%" PRIu32 "}}", c->sm_khz / 1000);
}

static bool end(struct export *e)
{
	export_print(e->out, "\n]}\n");
	return true;
}

const struct export_format export_chrome = {
        .begin = begin, .process = process, .launch = launch, .clock = clock_sample, .end = end};
