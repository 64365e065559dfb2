/* SPDX-License-Identifier: Apache-2.0 */
/* OpenMetrics 1.0 text: the totals of the logs as counters. */
#include "cli/common/memory.h"
#include "cli/common/utf8.h"
#include "cli/export/totals.h"

#include <inttypes.h>
#include <stdlib.h>

/* Only quote, backslash and line end need an escape. */
static void put_label(struct export_out *out, const char *text)
{
	char *utf8 = gw_to_utf8(text);

	for (const char *s = utf8; *s; s++) {
		if (*s == '\n')
			export_write(out, "\\n", 2);
		else if (*s == '"' || *s == '\\')
			export_print(out, "\\%c", *s);
		else
			export_write(out, s, 1);
	}
	free(utf8);
}

static void put_sample(struct export *e, const char *family, const struct export_total *t,
                       uint64_t value, bool seconds)
{
	const struct gw_gpu *gpu = t->gpu == GW_INDEX_NONE ? NULL : &e->model->gpus[t->gpu];

	export_print(e->out, "%s_total{gpu=\"%d\",UUID=\"", family,
	             gpu ? (int)gpu->record.ordinal : -1);
	put_label(e->out, gpu ? gpu->uuid : "");
	export_print(e->out, "\",kernel=\"");
	put_label(e->out, export_total_name(e, t));
	export_print(e->out, "\",bound=\"%s\"} ", gw_bound_name(t->bound));
	if (seconds)
		export_print(e->out, "%" PRIu64 ".%09" PRIu64 "\n", value / 1000000000,
		             value % 1000000000);
	else
		export_print(e->out, "%" PRIu64 "\n", value);
}

#define FAMILY(name, unit, help, value)                                                            \
	export_print(e->out, "# TYPE " name " counter\n%s# HELP " name " " help "\n",              \
	             (unit) ? "# UNIT " name " seconds\n" : "");                                   \
	for (size_t i = 0; i < t->count; i++)                                                      \
		put_sample(e, name, &t->list[i], value, unit);

static bool end(struct export *e)
{
	struct export_totals *t = e->state;

	if (!t)
		return true;
	FAMILY("gpuwatch_launches", false, "Kernels that ran.", t->list[i].launches)
	FAMILY("gpuwatch_measured_launches", false, "Kernels that ran and were timed.",
	       t->list[i].measured)
	FAMILY("gpuwatch_measured_seconds", true, "GPU time of timed kernels.", t->list[i].ns)
	FAMILY("gpuwatch_scored_seconds", true, "GPU time of timed kernels that had a prediction.",
	       t->list[i].scored_ns)
	FAMILY("gpuwatch_predicted_seconds", true, "Predicted GPU time of the same kernels.",
	       (uint64_t)t->list[i].predicted)
	export_print(e->out, "# EOF\n");
	export_totals_free(t);
	return true;
}

const struct export_format export_openmetrics = {.begin = export_totals_begin,
                                                 .launch = export_totals_launch,
                                                 .sum = export_totals_sum,
                                                 .end = end};
