/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_gpus SEED GPUS DAYS SHARE FILE.csv...: GPUs of a fleet for some days, whose kernels take
 * what recorded ones took (gpuwatch export --format=csv), under gpuwatch health. A share of them
 * becomes 3% slow at one resource. Prints a line of counts: gpu_days false_alarms slow found
 * found_in_60s right_resource median_s worst_s
 *
 * A job draws 20 to 60 configurations of one file; others come after two hours on average, and
 * every second one has run on the GPU before. Each interval draws a run of neighbouring recorded
 * launches for each configuration. Added to that: 8% between GPUs, 1% over the day, 0.3% of common
 * noise that lasts for minutes, clocks that follow the job's power by up to 8% and change by 0.2%.
 */
#include "fleet_pool.h"

#include "cli/common/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	JOB_MOST = 60,
	JOB_LEAST = 20,
	KEPT_JOBS = 4,
	DAY = 17280 /* intervals */
};
static const double SLOW = 1.03, SPREAD = 0.08, DIURNAL = 0.01, COMMON = 0.003;

/* ---- a GPU --------------------------------------------------------------------------------- */

struct job {
	unsigned config[JOB_MOST], launches[JOB_MOST], configs;
	double clock; /* kHz */
};

struct gpu {
	struct health *health;
	double factor, phase, common;
	struct job job[KEPT_JOBS];
	unsigned jobs, now;
};

struct outcome {
	double gpu_days;
	unsigned alarms, slow, found, soon, right, times;
	double *delay;
};

static unsigned heaviest(const struct job *j)
{
	unsigned at = 0;

	for (unsigned i = 1; i < j->configs; i++)
		if (j->launches[i] * configs[j->config[i]].ns[0] >
		    j->launches[at] * configs[j->config[at]].ns[0])
			at = i;
	return j->config[at];
}

static void draw_job(struct job *j, unsigned files)
{
	unsigned file;

	do
		file = below(files);
	while (first[file + 1] - first[file] < JOB_LEAST);
	j->configs = JOB_LEAST + below(JOB_MOST - JOB_LEAST + 1);
	for (unsigned i = 0; i < j->configs; i++) {
		j->config[i] = first[file] + below(first[file + 1] - first[file]);
		j->launches[i] = 8 + below(500);
	}
	/* As the power of the kernel that runs longest has it. */
	j->clock =
	        1980000 * (1 - 0.08 * (double)(heaviest(j) * UINT64_C(2654435761) % 1000) / 1000);
}

static void other_job(struct gpu *g, unsigned files)
{
	if (g->jobs > 1 && uniform() < 0.5) {
		g->now = below(g->jobs);
		return;
	}
	g->now = g->jobs < KEPT_JOBS ? g->jobs++ : below(KEPT_JOBS);
	draw_job(&g->job[g->now], files);
}

/* Mean of a run of neighbours, as many as are launched, at most a pool's. */
static double mean_of(const struct config *c, unsigned launches)
{
	const unsigned n = launches < 16 ? launches : 16;
	unsigned at = below(c->count);
	double sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += c->ns[(at + i) % c->count];
	return sum / n;
}

static void interval(struct gpu *g, unsigned t, enum health_resource bad, double slow)
{
	const struct job *j = &g->job[g->now];
	const double day = 1 + DIURNAL * sin(6.283185307179586 * t / DAY + g->phase);
	double clock = j->clock * (1 + 0.002 * normal());

	g->common = 0.95 * g->common + COMMON * sqrt(1 - 0.95 * 0.95) * normal();
	clock /= bad == HEALTH_CLOCK ? slow : 1;
	for (unsigned i = 0; i < j->configs; i++) {
		const struct config *c = &configs[j->config[i]];
		const double at_clock = c->resource == HEALTH_MEMORY ? 1 : 1980000 / clock;
		const double worse = c->resource == bad ? slow : 1;
		const struct health_sample s = {
		        .key = j->config[i] + 1,
		        .kernel = c->kernel,
		        .resource = c->resource,
		        .launches = j->launches[i],
		        .mean_ns = mean_of(c, j->launches[i]) * g->factor * day * (1 + g->common) *
		                   at_clock * worse,
		        .sm_khz = clock,
		};

		health_add(g->health, &s);
	}
	health_tick(g->health, (uint64_t)(t + 1) * health_interval_ns());
}

static bool has(const struct gpu *g, enum health_resource r)
{
	const struct job *j = &g->job[g->now];
	unsigned n = 0;

	for (unsigned i = 0; i < j->configs; i++)
		n += configs[j->config[i]].resource == r;
	return r == HEALTH_CLOCK || n >= 3;
}

static bool is_slow(const struct gpu *g, enum health_resource r)
{
	struct health_verdict v;

	health_of(g->health, r, &v);
	return v.state == HEALTH_SLOW;
}

/* The GPU becomes slow within a job that it has had for a while. */
static void fail(struct gpu *g, unsigned t, unsigned files, struct outcome *o)
{
	enum health_resource bad, worst;
	bool found = false;

	do {
		other_job(g, files);
		bad = (enum health_resource)below(HEALTH_RESOURCES);
	} while (!has(g, bad));
	for (unsigned i = 0; i < 240; i++)
		interval(g, t++, bad, 1);
	if (health_state(g->health, &worst) == HEALTH_SLOW)
		return; /* counted as a false alarm by what comes before */
	o->slow++;
	for (unsigned i = 1; i <= 60 && !found; i++) {
		interval(g, t++, bad, SLOW);
		found = health_state(g->health, &worst) == HEALTH_SLOW;
		if (found) {
			o->found++;
			o->soon += i <= 12;
			o->right += worst == bad;
			o->delay[o->times++] = 5.0 * i;
		}
	}
}

static void live(unsigned intervals, unsigned files, bool fails, struct outcome *o)
{
	struct gpu g = {.health = health_new(),
	                .factor = 1 + SPREAD * normal() / 2,
	                .phase = 6.283185307179586 * uniform()};
	bool was[HEALTH_RESOURCES] = {false};

	other_job(&g, files);
	for (unsigned t = 0; t < intervals; t++) {
		if (uniform() < 1.0 / 1440)
			other_job(&g, files);
		interval(&g, t, HEALTH_MEMORY, 1);
		for (int r = 0; r < HEALTH_RESOURCES; r++) {
			const bool slow = is_slow(&g, (enum health_resource)r);

			o->alarms += slow && !was[r];
			was[r] = slow;
		}
	}
	o->gpu_days += (double)intervals / DAY;
	if (fails)
		fail(&g, intervals, files, o);
	health_free(g.health);
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	struct outcome o = {0};
	unsigned gpus, files = 0;
	double days, share;

	if (argc < 6)
		return 2;
	pool_seed = strtoull(argv[1], NULL, 10) * 7919 + 1;
	gpus = (unsigned)strtoul(argv[2], NULL, 10);
	days = strtod(argv[3], NULL);
	share = strtod(argv[4], NULL);
	configs = gw_alloc(CONFIGS * sizeof(*configs));
	o.delay = gw_alloc(gpus * sizeof(*o.delay));
	for (int i = 5; i < argc && files < FILES; i++)
		pool_read(files++, argv[i]);
	first[files] = count;
	for (unsigned i = 0; i < gpus; i++)
		live((unsigned)(days * DAY), files, uniform() < share, &o);
	qsort(o.delay, o.times, sizeof(*o.delay), by_size);
	printf("%.2f %u %u %u %u %u %.0f %.0f\n", o.gpu_days, o.alarms, o.slow, o.found, o.soon,
	       o.right, o.times ? o.delay[o.times / 2] : NAN, o.times ? o.delay[o.times - 1] : NAN);
	free(configs);
	free(o.delay);
	return 0;
}
