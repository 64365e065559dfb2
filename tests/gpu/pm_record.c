/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For libgpuwatch_pm_record.so, which is libgpuwatch.so with calls of the attribution led through
 * here: writes what it is given, windows of samples and what ran meanwhile, to the file that
 * GPU_PM_RECORD names, so that attribution can be tried again on it without a GPU (pm_again.c).
 * What each step of sampling took is written to the same name with .steps added, as it ends the
 * process: STEP calls CPU-ns wall-ns
 */
#include "tests/gpu/pm_record.h"

#include "preload/counters/pm_sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A step of sampling: its name in the product, and how it is called. */
#define STEPS(STEP) \
	STEP(gw_pm_availability, uint8_t *, (size_t device, CUptiResult * why), (device, why)) \
	STEP(gw_cupti_set_make, CUptiResult, \
	     (struct gw_cupti_set * set, const char *chip, const uint8_t *availability, \
	      const char *const *names, size_t count), \
	     (set, chip, availability, names, count)) \
	STEP(gw_pm_open, CUptiResult, (struct gw_pm_sampler * s, size_t device), (s, device)) \
	STEP(gw_pm_configure, CUptiResult, \
	     (struct gw_pm_sampler * s, const struct gw_cupti_set *set, uint64_t interval_ns), \
	     (s, set, interval_ns)) \
	STEP(gw_pm_begin, CUptiResult, (struct gw_pm_sampler * s), (s)) \
	STEP(gw_pm_end, CUptiResult, (struct gw_pm_sampler * s), (s)) \
	STEP(gw_pm_read, CUptiResult, \
	     (struct gw_pm_sampler * s, struct gw_sample * out, size_t room, size_t * count, \
	      bool *overflow), \
	     (s, out, room, count, overflow)) \
	STEP(gw_cupti_set_values, CUptiResult, \
	     (const struct gw_cupti_set *set, const uint8_t *data, size_t size, size_t range, \
	      double *values), \
	     (set, data, size, range, values))

enum step {
#define STEP(name, type, parameters, arguments) STEP_##name,
	STEPS(STEP)
#undef STEP
		STEP_COUNT
};

static struct {
	uint64_t calls, cpu, wall;
} spent[STEP_COUNT];

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#define STEP(name, type, parameters, arguments) \
	extern type __real_##name parameters; \
	extern type __wrap_##name parameters; \
	type __wrap_##name parameters \
	{ \
		uint64_t cpu = now(CLOCK_THREAD_CPUTIME_ID), wall = now(CLOCK_MONOTONIC); \
		type result = __real_##name arguments; \
\
		spent[STEP_##name].calls++; \
		spent[STEP_##name].cpu += now(CLOCK_THREAD_CPUTIME_ID) - cpu; \
		spent[STEP_##name].wall += now(CLOCK_MONOTONIC) - wall; \
		return result; \
	}
STEPS(STEP)
#undef STEP

__attribute__((destructor)) static void write_steps(void)
{
	static const char *const names[] = {
#define STEP(name, type, parameters, arguments) #name,
		STEPS(STEP)
#undef STEP
	};
	const char *path = getenv("GPU_PM_RECORD");
	char file[4096];
	FILE *out;

	if (!path || !spent[STEP_gw_pm_availability].calls ||
	    snprintf(file, sizeof(file), "%s.steps", path) >= (int)sizeof(file))
		return;
	out = fopen(file, "w");
	for (unsigned i = 0; out && i < STEP_COUNT; i++)
		fprintf(out, "%s %llu %llu %llu\n", names[i], (unsigned long long)spent[i].calls,
			(unsigned long long)spent[i].cpu, (unsigned long long)spent[i].wall);
	if (out)
		fclose(out);
}

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
