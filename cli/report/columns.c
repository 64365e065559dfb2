#include "cli/log/rows.h"
#include "cli/log/verdict.h"
#include "cli/report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const struct gw_column_info gw_columns_info[GW_COLUMNS] = {
#define COLUMN(id, name, title, kind, priority, by, meaning) \
	{#id, name, title, GW_KIND_##kind, priority, GW_BY_##by, meaning},
#include "cli/report/columns.def"
#undef COLUMN
};

bool gw_report_has(const struct gw_report *report, enum gw_column column)
{
	enum gw_by by = gw_columns_info[column].by;

	return by == GW_BY_KERNEL || by == report->model.by;
}

static double rate(const struct gw_row_peak *c)
{
	return c && c->measured > 0 ? c->amount / c->measured : NAN;
}

static void bound_values(const struct gw_row_bound *b, double *v)
{
	const struct gw_row_peak *dram = gw_bound_peak(b, "dram");
	const struct gw_row_peak *l2 = gw_bound_peak(b, "l2");

	if (!b)
		return;
	if (gw_bound_of(b) != GW_BOUND_UNKNOWN && b->verdict.bound != GW_BOUND_UNKNOWN)
		v[GW_COLUMN_confidence] = b->verdict.confidence;
	/* A part that is not known may be nearer to its peak: no bound, no share of it. */
	if (gw_bound_of(b) != GW_BOUND_UNKNOWN) {
		v[GW_COLUMN_peak] = gw_peak_share(gw_bound_nearest(b));
		v[GW_COLUMN_headroom] = gw_bound_headroom(b);
	}
	v[GW_COLUMN_dram_rate] = rate(dram);
	v[GW_COLUMN_dram] = gw_peak_share(dram);
	v[GW_COLUMN_l2_rate] = rate(l2);
	v[GW_COLUMN_l2] = gw_peak_share(l2);
	v[GW_COLUMN_issue] = gw_peak_share(gw_bound_peak(b, "issue"));
}

void gw_report_values(const struct gw_report *report, struct gw_report_line *line)
{
	struct gw_row *r = line->row;
	double *v = line->value, all = report->model.all.total;

	for (unsigned c = 0; c < GW_COLUMNS; c++)
		v[c] = NAN;
	v[GW_COLUMN_instances] = (double)r->launches;
	v[GW_COLUMN_measured] = (double)r->measured;
	v[GW_COLUMN_shared] = (double)r->config.dynamic_shared;
	if (!r->measured)
		return;
	v[GW_COLUMN_share] = all > 0 ? r->total / all : NAN;
	v[GW_COLUMN_total] = r->total;
	v[GW_COLUMN_avg] = gw_row_mean(r);
	v[GW_COLUMN_med] = gw_quantile(&r->time, 0.5);
	v[GW_COLUMN_min] = r->min;
	v[GW_COLUMN_max] = r->max;
	v[GW_COLUMN_stddev] = gw_row_deviation(r);
	v[GW_COLUMN_predicted] = gw_quantile(&r->predicted, 0.5);
	v[GW_COLUMN_at_least] = gw_quantile(&r->least, 0.5);
	v[GW_COLUMN_error] = gw_quantile(&r->error, 0.5);
	v[GW_COLUMN_mape] = gw_row_mape(r);
	v[GW_COLUMN_coverage] = gw_row_coverage(r);
	v[GW_COLUMN_known] = gw_row_known(r);
	bound_values(r->bound, v);
	v[GW_COLUMN_slow] = (double)r->slow;
	v[GW_COLUMN_counters] = (double)r->works[GW_SOURCE_COUNTED];
	v[GW_COLUMN_extrapolated] = (double)r->works[GW_SOURCE_SCALED];
	v[GW_COLUMN_static] = (double)r->works[GW_SOURCE_STATIC];
	v[GW_COLUMN_late] = (double)r->late;
	v[GW_COLUMN_same_shape] = (double)r->tiers[GW_TIER_STEADY];
	v[GW_COLUMN_kernel_timed] = (double)r->tiers[GW_TIER_WARM];
	v[GW_COLUMN_never_timed] = (double)r->tiers[GW_TIER_COLD];
}

static const char *extent(struct gw_dim3 d, char *buffer, size_t size)
{
	snprintf(buffer, size, "%u %u %u", d.x, d.y, d.z);
	return buffer;
}

const char *gw_report_flags(const struct gw_row *row, bool letters, char *buffer, size_t size)
{
	size_t n = 0;

	*buffer = '\0';
#define FLAG(name, letter, condition, meaning) \
	if ((condition) && n < size) \
		n += (size_t)snprintf(buffer + n, size - n, "%s%s", n && !letters ? " " : "", \
				      letters ? letter : #name);
#include "cli/report/flags.def"
#undef FLAG
	return buffer;
}

/* Of the configuration with the most time, unless others outweigh it. */
const char *gw_report_limiter(const struct gw_row_bound *b)
{
	if (!b || b->verdict.bound == GW_BOUND_UNKNOWN || b->verdict.bound != gw_bound_of(b))
		return "";
	return b->verdict.bound == GW_BOUND_LATENCY ? gw_latency_cause_name(b->verdict.cause)
						    : b->verdict.resource;
}

const char *gw_report_cell(const struct gw_report *report, const struct gw_report_line *line,
			   enum gw_column column, char *buffer, size_t size)
{
	const struct gw_row *row = line->row;
	const struct gw_name *name = &report->model.names[row->name];
	const struct gw_gpu *gpu =
		row->device == GW_INDEX_NONE ? NULL : &report->model.gpus[row->device];

	switch (column) {
	case GW_COLUMN_name:
		return report->mangled ? name->mangled : name->plain;
	case GW_COLUMN_grid:
		return extent(row->config.grid, buffer, size);
	case GW_COLUMN_block:
		return extent(row->config.block, buffer, size);
	case GW_COLUMN_cluster:
		return extent(row->config.cluster, buffer, size);
	case GW_COLUMN_arguments:
		if (!row->config.digest)
			return "";
		snprintf(buffer, size, "%08x", row->config.digest);
		return buffer;
	case GW_COLUMN_device:
		if (!gpu)
			return "unknown";
		snprintf(buffer, size, "%u %s", gpu->record.ordinal, gpu->name);
		return buffer;
	case GW_COLUMN_bound:
		return row->bound && gw_bound_of(row->bound) != GW_BOUND_UNKNOWN
			       ? gw_bound_name(gw_bound_of(row->bound))
			       : "";
	case GW_COLUMN_limiter:
		return gw_report_limiter(row->bound);
	case GW_COLUMN_flags:
		return gw_report_flags(row, false, buffer, size);
	default:
		return "";
	}
}

size_t gw_report_number(const struct gw_report *report, const struct gw_row *row)
{
	for (size_t i = 0; i < report->count; i++)
		if (report->lines[i].row == row)
			return i + 1;
	return 0;
}

enum gw_column gw_report_column(const char *text)
{
	for (unsigned c = 0; c < GW_COLUMNS; c++)
		if (!strcasecmp(text, gw_columns_info[c].id) ||
		    !strcasecmp(text, gw_columns_info[c].name) ||
		    !strcasecmp(text, gw_columns_info[c].title))
			return *text ? (enum gw_column)c : GW_COLUMNS;
	return GW_COLUMNS;
}
