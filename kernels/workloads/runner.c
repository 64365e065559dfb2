#include "kernels/workloads/runner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include "kernels/workloads/options.h"

static const struct {
	wl_prepare_fn *prepare;
	wl_check_fn *check;
} functions[] = {
#define WORKLOAD(name, family, n0, n1, n2, n3, n4, n5, measure, meaning) \
	{wl_prepare_##name, wl_check_##name},
#include "kernels/workloads/workloads.def"
#undef WORKLOAD
};

static size_t allocated, most;   /* device memory of all live cases, and what it may be */
static const char *now = "CUDA"; /* what is being done, for messages */

/* Around each launch, and what --cold writes over. */
static cudaEvent_t before[WL_LAUNCHES], after[WL_LAUNCHES];
static void *flush;
static size_t flush_bytes;

void wl_must(unsigned error, const char *what)
{
	if (!error)
		return;
	wl_error("%s: %s: %s", now, what, cudaGetErrorString((cudaError_t)error));
	exit(WL_CUDA);
}

static void *host_memory(size_t bytes)
{
	void *p = calloc(1, bytes);

	wl_must(p ? cudaSuccess : cudaErrorMemoryAllocation, "host memory");
	return p;
}

struct wl_buffer *wl_buffer_new(struct wl_case *c, size_t bytes, enum wl_role role)
{
	struct wl_buffer *b = &c->buffer[c->buffer_count];

	if (c->buffer_count == WL_BUFFERS)
		wl_must(cudaErrorInvalidValue, "more buffers than WL_BUFFERS");
	if (bytes > most - allocated) {
		wl_error("%s at size %u: more than %zu MiB would be taken at once; "
			 "choose fewer workloads or smaller sizes (--only, --size), or allow more (--memory)",
			 c->info->name, c->size, most >> 20);
		exit(WL_USAGE);
	}
	*b = (struct wl_buffer){.bytes = bytes, .role = role};
	b->seed = c->seed * 2654435761u + c->buffer_count++ * 40503u;
	wl_must(cudaMalloc(&b->device, bytes), "device memory");
	allocated += bytes;
	return b;
}

void wl_expect(struct wl_check *k, uint64_t index, double got, double want, double tolerance)
{
	double error = fabs(got - want);

	k->compared++;
	if (tolerance > 0 && error / tolerance > k->worst)
		k->worst = error / tolerance;
	if (error <= tolerance) /* false for a NaN */
		return;
	if (!k->wrong++)
		snprintf(k->first, sizeof(k->first), "value %llu is %.9g, not %.9g within %.3g",
			 (unsigned long long)index, got, want, tolerance);
}

static void launch(const struct wl_case *c, unsigned i)
{
	const struct wl_launch *l = &c->launch[i];
	void *args[WL_ARGS];

	for (unsigned a = 0; a < l->arg_count; a++)
		args[a] = (void *)(l->args + l->arg_offset[a]);
	wl_must(cudaLaunchKernel(l->function, (struct dim3){l->grid[0], l->grid[1], l->grid[2]},
				 (struct dim3){l->block[0], l->block[1], l->block[2]}, args,
				 l->dynamic_shared, NULL),
		l->kernel);
}

static void queue_round(const struct wl_case *c)
{
	now = c->info->name;
	for (unsigned i = 0; i < c->launch_count; i++)
		launch(c, i);
}

static void one_round(const struct wl_case *c)
{
	queue_round(c);
	wl_must(cudaDeviceSynchronize(), "running");
}

static void measured_round(const struct wl_job *job, struct wl_result *r, uint64_t round)
{
	float ms;

	now = r->c.info->name;
	for (unsigned i = 0; i < r->c.launch_count; i++) {
		if (job->cold)
			wl_must(cudaMemsetAsync(flush, (int)round, flush_bytes, NULL),
				"flushing L2");
		wl_must(cudaEventRecord(before[i], NULL), "an event");
		launch(&r->c, i);
		wl_must(cudaEventRecord(after[i], NULL), "an event");
	}
	wl_must(cudaDeviceSynchronize(), "running");
	for (unsigned i = 0; i < r->c.launch_count; i++) {
		wl_must(cudaEventElapsedTime(&ms, before[i], after[i]), "an event's time");
		r->seconds[i][round] = (double)ms * 1e-3;
	}
}

static void prepare(const struct wl_job *job, const struct wl_choice *choice, struct wl_result *r)
{
	const struct wl_info *info = &wl_infos[choice->workload];

	now = info->name;
	*r = (struct wl_result){.c = {.info = info,
				      .size = choice->size,
				      .n = info->sizes[choice->size],
				      .seed = job->seed}};
	functions[choice->workload].prepare(&r->c);
	for (unsigned i = 0; i < r->c.launch_count; i++)
		r->seconds[i] = host_memory((job->repeat + 1) * sizeof(double));
	wl_must(cudaDeviceSynchronize(), "preparing");
}

/* One round on poisoned outputs and cleared sums, held against the reference. */
static void check(const struct wl_choice *choice, struct wl_result *r)
{
	for (unsigned i = 0; i < r->c.buffer_count; i++) {
		const struct wl_buffer *b = &r->c.buffer[i];

		if (b->role != WL_INPUT)
			wl_must(cudaMemset(b->device, b->role == WL_OUTPUT ? 0xff : 0, b->bytes),
				"poisoning an output");
	}
	one_round(&r->c);
	functions[choice->workload].check(&r->c, &r->check);
}

static void release(struct wl_result *r)
{
	for (unsigned i = 0; i < r->c.buffer_count; i++) {
		allocated -= r->c.buffer[i].bytes;
		wl_must(cudaFree(r->c.buffer[i].device), "releasing memory");
		free(r->c.buffer[i].host);
	}
	for (unsigned i = 0; i < r->c.launch_count; i++)
		free(r->seconds[i]);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double middle(const double *sorted, uint64_t count)
{
	return count ? (sorted[(count - 1) / 2] + sorted[count / 2]) / 2 : NAN;
}

double wl_median(const struct wl_result *result, unsigned i)
{
	return middle(result->seconds[i], result->rounds);
}

double wl_spread(const struct wl_result *result, unsigned i)
{
	double *distance = host_memory((result->rounds + 1) * sizeof(double)), spread;

	for (uint64_t k = 0; k < result->rounds; k++)
		distance[k] = fabs(result->seconds[i][k] - wl_median(result, i));
	qsort(distance, result->rounds, sizeof(double), ascending);
	spread = middle(distance, result->rounds);
	free(distance);
	return spread;
}

/* All cases once. */
static void round_of(const struct wl_job *job, struct wl_result *results, unsigned count,
		     uint64_t round)
{
	for (unsigned i = 0; i < count && !job->queued; i++)
		measured_round(job, &results[i], round);
	for (unsigned i = 0; i < count && job->queued; i++) {
		queue_round(&results[i].c);
		for (unsigned l = 0; l < results[i].c.launch_count; l++)
			results[i].seconds[l][round] = NAN;
	}
	if (job->queued)
		wl_must(cudaDeviceSynchronize(), "running");
}

static double clock_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The measured rounds of a group; gives their number. */
static uint64_t all_rounds(const struct wl_job *job, struct wl_result *results, unsigned count)
{
	double end = job->seconds > 0 ? clock_seconds() + job->seconds : INFINITY;
	uint64_t round = 0;

	wl_must(cudaProfilerStart(), "starting the profiler");
	while (round < job->repeat && clock_seconds() < end)
		round_of(job, results, count, round++);
	wl_must(cudaProfilerStop(), "stopping the profiler");
	return round;
}

/* Cases that are live together. */
static unsigned run_group(const struct wl_job *job, const struct wl_choice *choice, unsigned count,
			  struct wl_result *results, wl_report_fn *report)
{
	unsigned wrong = 0;
	uint64_t rounds;

	for (unsigned i = 0; i < count; i++) {
		prepare(job, &choice[i], &results[i]);
		if (job->check)
			check(&choice[i], &results[i]);
		one_round(&results[i].c);
	}
	rounds = all_rounds(job, results, count);
	for (unsigned i = 0; i < count; i++) {
		results[i].rounds = rounds;
		for (unsigned l = 0; l < results[i].c.launch_count; l++)
			qsort(results[i].seconds[l], rounds, sizeof(double), ascending);
		wrong += job->check && (results[i].check.wrong || !results[i].check.compared);
		report(job, &results[i]);
		release(&results[i]);
	}
	return wrong;
}

static void set_up(const struct wl_job *job)
{
	int l2 = 0;

	now = "setting up";
	most = job->memory;
	for (unsigned i = 0; i < WL_LAUNCHES; i++) {
		wl_must(cudaEventCreate(&before[i]), "an event");
		wl_must(cudaEventCreate(&after[i]), "an event");
	}
	if (!job->cold)
		return;
	wl_must(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0), "size of the L2");
	flush_bytes = 2 * (size_t)l2;
	wl_must(cudaMalloc(&flush, flush_bytes), "memory to flush the L2 with");
}

static void tear_down(void)
{
	now = "ending";
	for (unsigned i = 0; i < WL_LAUNCHES; i++) {
		wl_must(cudaEventDestroy(before[i]), "an event");
		wl_must(cudaEventDestroy(after[i]), "an event");
	}
	wl_must(cudaFree(flush), "releasing memory");
}

unsigned wl_run(const struct wl_job *job, const struct wl_choice *choice, unsigned count,
		wl_report_fn *report)
{
	unsigned group = job->interleave ? count : 1, wrong = 0;
	struct wl_result *results = host_memory(group * sizeof(*results));

	set_up(job);
	for (unsigned i = 0; i < count; i += group)
		wrong += run_group(job, choice + i, group, results, report);
	tear_down();
	free(results);
	return wrong;
}

bool wl_gpu(const char **reason)
{
	int count = 0;
	cudaError_t error = cudaGetDeviceCount(&count);

	*reason = error ? cudaGetErrorString(error) : "no CUDA device was found";
	return !error && count > 0;
}
