/*
 * For libgpuwatch_pm_record.so, which is libgpuwatch.so with calls of the attribution led through
 * here: writes what it is given, windows of samples and what ran meanwhile, to the file that
 * GPU_PM_RECORD names, so that attribution can be tried again on it without a GPU (pm_again.c).
 */
#include "tests/gpu/pm_record.h"

#include <stdio.h>
#include <stdlib.h>

extern const struct gw_pm_set *__real_gw_pm_set(unsigned number);
extern const struct gw_pm_set *__wrap_gw_pm_set(unsigned number);
extern enum gw_window_fate __real_gw_attribution_window(struct gw_attribution *a,
							const struct gw_sample *samples,
							size_t sample_count,
							struct gw_interval *runs, size_t run_count);
extern enum gw_window_fate __wrap_gw_attribution_window(struct gw_attribution *a,
							const struct gw_sample *samples,
							size_t sample_count,
							struct gw_interval *runs, size_t run_count);

/* The set that this thread asked for last: a window's, as it is taken in. */
static _Thread_local unsigned asked;

const struct gw_pm_set *__wrap_gw_pm_set(unsigned number)
{
	asked = number;
	return __real_gw_pm_set(number);
}

static void write_window(FILE *out, const struct gw_sample *samples, size_t sample_count,
			 const struct gw_interval *runs, size_t run_count)
{
	const struct gw_pm_set *set = __real_gw_pm_set(asked);
	struct pm_recorded head = {.magic = PM_RECORDED, .metrics = set->count};

	for (unsigned m = 0; m < set->count; m++)
		head.row[m] = set->row[m];
	head.samples = sample_count;
	head.runs = run_count;
	fwrite(&head, sizeof(head), 1, out);
	fwrite(samples, sizeof(*samples), sample_count, out);
	fwrite(runs, sizeof(*runs), run_count, out);
	fflush(out);
}

enum gw_window_fate __wrap_gw_attribution_window(struct gw_attribution *a,
						 const struct gw_sample *samples,
						 size_t sample_count, struct gw_interval *runs,
						 size_t run_count)
{
	static FILE *out; /* the worker's alone */
	const char *path = getenv("GPU_PM_RECORD");

	if (!out && path)
		out = fopen(path, "wb");
	if (out)
		write_window(out, samples, sample_count, runs, run_count);
	return __real_gw_attribution_window(a, samples, sample_count, runs, run_count);
}
