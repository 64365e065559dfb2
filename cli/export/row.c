#include "cli/export/export.h"

#include "cli/common/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const export_names[EXPORT_COLUMNS] = {
#define COLUMN(name, kind, known, value) #name,
#include "cli/export/row.def"
#undef COLUMN
};

const enum export_kind export_kinds[EXPORT_COLUMNS] = {
#define COLUMN(name, kind, known, value) EXPORT_##kind,
#include "cli/export/row.def"
#undef COLUMN
};

#define SET_COUNT(v, value) (v)->count = (value)
#define SET_TIME(v, value)  (v)->count = (value)
#define SET_REAL(v, value)  (v)->real = (value)
#define SET_TEXT(v, value)  (v)->text = (value)

void export_values(const struct export_row *r, struct export_value values[EXPORT_COLUMNS])
{
	const struct gw_record_launch *l = &r->launch;

#define COLUMN(name, kind, is_known, value) \
	values[EXPORT_##name] = (struct export_value){.known = (is_known)}; \
	if (values[EXPORT_##name].known) \
		SET_##kind(&values[EXPORT_##name], value);
#include "cli/export/row.def"
#undef COLUMN
}

/* ---- rates over time ---- */

static const char *const rate_names[EXPORT_RATES] = {
	[EXPORT_RATE_DRAM] = "DRAM",
	[EXPORT_RATE_L2] = "L2",
	[EXPORT_RATE_INSTRUCTIONS] = "warp instructions",
	[EXPORT_RATE_FMA] = "FMA pipe",
	[EXPORT_RATE_TENSOR] = "tensor pipes of an SM",
};
const char *const export_rate_units[EXPORT_RATES] = {
	[EXPORT_RATE_DRAM] = "GB/s",
	[EXPORT_RATE_L2] = "GB/s",
	[EXPORT_RATE_INSTRUCTIONS] = "G warp inst/s",
	[EXPORT_RATE_FMA] = "G warp inst/s",
	[EXPORT_RATE_TENSOR] = "G active cycles/s",
};

const char *export_rate_label(char out[EXPORT_RATE_LABEL], enum export_rate rate, double share)
{
	snprintf(out, EXPORT_RATE_LABEL, "%s, counted in %d%% of kernel time", rate_names[rate],
		 (int)(100 * share));
	return out;
}

static double counted(const struct gw_work *work, enum gw_work_field field)
{
	const struct gw_quantity *q = &work->q[field];

	return q->source == GW_SOURCE_COUNTED && q->value >= 0 && isfinite(q->value) ? q->value
										     : NAN;
}

double *export_counted(const struct gw_work *work)
{
	const double l2 =
		counted(work, GW_WORK_l2_read_bytes) + counted(work, GW_WORK_l2_write_bytes);
	const double all[EXPORT_RATES] = {
		[EXPORT_RATE_DRAM] = counted(work, GW_WORK_dram_read_bytes) +
				     counted(work, GW_WORK_dram_write_bytes),
		[EXPORT_RATE_L2] = isnan(l2) ? counted(work, GW_WORK_l2_total_bytes) : l2,
		[EXPORT_RATE_INSTRUCTIONS] = counted(work, GW_WORK_inst_executed),
		[EXPORT_RATE_FMA] = counted(work, GW_WORK_pipe_fma),
		[EXPORT_RATE_TENSOR] = counted(work, GW_WORK_tensor_cycles),
	};
	double *kept = NULL;

	for (int i = 0; i < EXPORT_RATES && !kept; i++)
		kept = isnan(all[i]) ? NULL : gw_alloc(sizeof(all));
	return kept ? memcpy(kept, all, sizeof(all)) : NULL;
}

enum {
	BINS_MOST = 20000,
	LAUNCHES_A_BIN = 16, /* at least, on average: they take more room than bins do */
};

/* Of a GPU. Times are sums over launches. */
struct rates {
	double (*bin)[EXPORT_RATES];
	double time, counted[EXPORT_RATES];
};

struct export_bins {
	uint64_t first_ns, width_ns;
	size_t count, gpus;
	struct rates gpu[];
};

/* The least of 1, 2, 5, 10, 20 … that is @p least or more. */
static uint64_t round_up(uint64_t least)
{
	uint64_t step = 1;

	while (least > 5 * step && step < UINT64_MAX / 100)
		step *= 10;
	return least <= step ? step : least <= 2 * step ? 2 * step : 5 * step;
}

struct export_bins *export_bins_new(uint64_t first_ns, uint64_t last_ns, uint64_t launches,
				    size_t gpus)
{
	const uint64_t wanted = launches / LAUNCHES_A_BIN;
	const size_t most = wanted < 1 ? 1 : wanted < BINS_MOST ? (size_t)wanted : BINS_MOST;
	struct export_bins *b = gw_alloc(sizeof(*b) + gpus * sizeof(*b->gpu));

	b->width_ns = round_up(last_ns > first_ns ? (last_ns - first_ns) / most : 0);
	b->first_ns = first_ns - first_ns % b->width_ns;
	b->count = 2 * most + 2; /* kernels may run on after the last call */
	b->gpus = gpus;
	return b;
}

void export_bins_add(struct export_bins *b, const struct export_row *row)
{
	const uint64_t start = row->launch.start_ns, end = start + row->launch.duration_ns;
	const double *amounts = row->config->counted;
	struct rates *to;

	if (row->gpu_number >= b->gpus || !row->launch.duration_ns)
		return;
	to = &b->gpu[row->gpu_number];
	to->time += (double)row->launch.duration_ns;
	if (!amounts || start < b->first_ns || (end - b->first_ns) / b->width_ns >= b->count)
		return;
	if (!to->bin)
		to->bin = gw_alloc(b->count * sizeof(*to->bin));
	for (uint64_t from = start; from < end;) {
		const uint64_t bin = (from - b->first_ns) / b->width_ns;
		const uint64_t next = b->first_ns + (bin + 1) * b->width_ns;
		const uint64_t until = next < end ? next : end;
		const double part = (double)(until - from) / (double)row->launch.duration_ns;

		for (int i = 0; i < EXPORT_RATES; i++)
			to->bin[bin][i] += isnan(amounts[i]) ? 0 : part * amounts[i];
		from = until;
	}
	for (int i = 0; i < EXPORT_RATES; i++)
		to->counted[i] += isnan(amounts[i]) ? 0 : (double)row->launch.duration_ns;
}

void export_bins_end(struct export_bins *b, struct export *e, const struct export_format *format,
		     const struct export_process *process)
{
	for (size_t g = 0; g < b->gpus; g++) {
		const struct rates *r = &b->gpu[g];

		for (int i = 0; i < EXPORT_RATES && format; i++) {
			double before = 0;

			for (size_t k = 0; r->counted[i] > 0 && k < b->count; k++) {
				if (r->bin[k][i] == before)
					continue;
				before = r->bin[k][i];
				format->rate(e, process, (uint32_t)g, (enum export_rate)i,
					     r->counted[i] / r->time, b->first_ns + k * b->width_ns,
					     before / (double)b->width_ns);
			}
		}
		free(r->bin);
	}
	free(b);
}
