/*
 * fleet_gpus SEED GPUS SCENARIO FILE.csv...: GPUs of a fleet whose kernels take what recorded ones
 * took (gpuwatch export --format=csv), under gpuwatch health. SCENARIO:
 *
 *   healthy   a day of each; prints "gpu_days alarms episodes", and for each resource its alarms,
 *             then the largest margin (health_verdict) of each day
 *   slow, start, clock, recover, build
 *             each runs 40 minutes and then changes; prints "slow found in_60s right median_s
 *             worst_s back significant": back, how many of those that recovered were called healthy
 *             again within two minutes; significant, how many had a score for p < 0.001 in 10
 * minutes recordings  prints how the drawn times vary against the recorded ones
 *
 * slow: a resource is 3% slow (the clock among them). start: all of a class are 3% slow from the
 * first second of a process that ran before. clock: the SM clock falls by 3 to 10% (a power cap).
 * recover: 3% slow for ten minutes. build: a class is 2% slow.
 *
 * A job draws 20 to 60 configurations of one file, in four processes; another job comes every two
 * hours on average, and every second one has run on the GPU before. Processes start again 50 times
 * an hour. Each interval draws a run of neighbouring recorded launches for each configuration. What
 * the recordings are too short for is assumed: see the constants.
 */
#include "cli/common/memory.h"
#include "cli/health/detect.h"
#include "tests/campaign/fleet_pool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	RUN = 16, /* neighbouring launches of which an interval has the mean */
	JOB_MOST = 60,
	JOB_LEAST = 20,
	KEPT_JOBS = 4,
	PROCESSES = 4,
	BURST_REST = 6 /* intervals between two */
};
static const double SECONDS = 10;     /* of an interval: health_interval_ns() */
static const double SPREAD = 0.08;    /* between identical GPUs (Sinha et al., SC 22) */
static const double DIURNAL = 0.01;   /* of all times over a day */
static const double COMMON = 0.002;   /* noise of all kernels that lasts for minutes */
static const double CLASS = 0.0015;   /* the same of one resource */
static const double OFFSET = 0.003;   /* of a configuration between two processes, Laplace */
static const double DATA = 0.1;       /* share of the configurations whose data decide */
static const double DATA_SIZE = 0.08; /* of that, Laplace; other data come in ten minutes */
static const double BURSTS = 6;       /* a day: a neighbour slows all by up to 8% for up to 20 s */
static const double CLOCK_JOB = 0.16; /* lower by the power that a job draws, at most */
static const double CLOCK_WARM = 0.007;   /* lower when the GPU has become warm, in minutes */
static const double CLOCK_NOISE = 0.0015; /* for minutes */
static const double CLOCK_READ = 0.002;   /* a reading is of a moment */

/* ---- chance ---- */

/* Heavy tails: Student's t with 4 degrees of freedom, of variance 1. */
static double heavy(void)
{
	const double chi = -2 * log(uniform()) - 2 * log(uniform());

	return normal() / sqrt(chi / 4) / 1.4142135623730951;
}

static double laplace(double scale)
{
	const double size = -log(uniform()) * scale;

	return uniform() < 0.5 ? size : -size;
}

/* Covariance of the logarithms of two, @p lag apart. */
static double deviation_of(const double *x, unsigned n, unsigned lag)
{
	double mean = 0, sum = 0;

	for (unsigned i = 0; i < n; i++)
		mean += log(x[i]) / n;
	for (unsigned i = lag; i < n; i++)
		sum += (log(x[i]) - mean) * (log(x[i - lag]) - mean) / (n - lag);
	return sum;
}

static void prepare(void)
{
	for (unsigned i = 0; i < count; i++) {
		struct config *c = &configs[i];
		const unsigned third = (c->count + 2) / 3, run = third < RUN ? third : RUN;

		for (unsigned at = 0; at < c->count; at++) {
			c->mean[at] = 0;
			for (unsigned n = 0; n < run; n++)
				c->mean[at] += c->ns[(at + n) % c->count] / run;
		}
		c->spread = sqrt(deviation_of(c->mean, c->count, 0));
		c->follows = c->resource == HEALTH_MEMORY    ? 0.3 * uniform()
			     : c->resource == HEALTH_COMPUTE ? 0.9 + 0.1 * uniform()
							     : 0.7 + 0.3 * uniform();
	}
}

/* ---- a GPU ---- */

struct launched {
	unsigned config, launches, process;
	bool data; /* its data decide */
	double offset, level;
};

struct job {
	struct launched of[JOB_MOST];
	unsigned configs;
	double clock; /* kHz */
};

/* What is wrong: of a resource, by a factor. */
struct fault {
	enum health_resource resource;
	double slow;
};

struct gpu {
	struct health *health;
	double factor, phase, common, class[HEALTH_RESOURCES], clock, warm;
	unsigned burst, calm;
	double burst_size;
	bool started[PROCESSES];
	struct job job[KEPT_JOBS];
	unsigned jobs, now, files, t;
};

static double heat_of(const struct launched *l)
{
	return l->launches * configs[l->config].ns[0];
}

static void draw_data(struct launched *l)
{
	l->level = l->data ? exp(laplace(DATA_SIZE)) : 1;
}

static void start_process(struct gpu *g, unsigned process)
{
	struct job *j = &g->job[g->now];

	g->started[process] = true;
	for (unsigned i = 0; i < j->configs; i++)
		if (j->of[i].process == process)
			j->of[i].offset = exp(laplace(OFFSET));
}

static void draw_job(struct job *j, unsigned files)
{
	double heat = 0, power = 0;
	unsigned file;

	do
		file = below(files);
	while (first[file + 1] - first[file] < JOB_LEAST);
	j->configs = JOB_LEAST + below(JOB_MOST - JOB_LEAST + 1);
	for (unsigned i = 0; i < j->configs; i++) {
		struct launched *l = &j->of[i];

		*l = (struct launched){first[file] + below(first[file + 1] - first[file]),
				       8 + below(500),
				       below(PROCESSES),
				       uniform() < DATA,
				       1,
				       1};
	}
	/* As the power of its kernels, by their time. */
	for (unsigned i = 0; i < j->configs; i++) {
		heat += heat_of(&j->of[i]);
		power += heat_of(&j->of[i]) *
			 (double)(j->of[i].config * UINT64_C(2654435761) % 1000) / 1000;
	}
	j->clock = 1980000 * (1 - CLOCK_JOB * power / heat);
}

static void other_job(struct gpu *g)
{
	if (g->jobs > 1 && uniform() < 0.5) {
		g->now = below(g->jobs);
	} else {
		g->now = g->jobs < KEPT_JOBS ? g->jobs++ : below(KEPT_JOBS);
		draw_job(&g->job[g->now], g->files);
	}
	g->warm = 1;
	for (unsigned p = 0; p < PROCESSES; p++)
		start_process(g, p);
	for (unsigned i = 0; i < g->job[g->now].configs; i++)
		draw_data(&g->job[g->now].of[i]);
}

static void wander(double *x, double size)
{
	*x = 0.97 * *x + size * 0.2431 * normal();
}

/* What slows all kernels of each resource now. */
static void conditions(struct gpu *g, const struct fault *fault, double out[HEALTH_RESOURCES])
{
	const double day = DIURNAL * sin(6.283185307179586 * g->t * SECONDS / 86400 + g->phase);

	wander(&g->common, COMMON);
	g->calm += !g->burst;
	if (g->calm > BURST_REST && uniform() < BURSTS * SECONDS / 86400) {
		g->calm = 0;
		g->burst = 1 + below(2);
		g->burst_size = 0.08 * uniform();
	}
	for (int r = 0; r < HEALTH_RESOURCES; r++) {
		wander(&g->class[r], CLASS);
		out[r] = g->factor * exp(day + g->common + g->class[r]) *
			 (g->burst ? 1 + g->burst_size : 1) *
			 (r == (int)fault->resource ? fault->slow : 1);
	}
	g->burst -= g->burst > 0;
}

static void interval(struct gpu *g, const struct fault *fault)
{
	struct job *j = &g->job[g->now];
	double slow[HEALTH_RESOURCES], clock, reading;

	conditions(g, fault, slow);
	wander(&g->clock, CLOCK_NOISE);
	g->warm *= 0.92;
	clock = j->clock * exp(g->clock) * (1 - CLOCK_WARM * (1 - g->warm)) /
		(fault->resource == HEALTH_CLOCK ? fault->slow : 1);
	reading = clock * exp(CLOCK_READ * heavy());
	if (uniform() < 50 * SECONDS / 3600)
		start_process(g, below(PROCESSES));
	for (unsigned i = 0; i < j->configs; i++) {
		struct launched *l = &j->of[i];
		const struct config *c = &configs[l->config];
		const double lower = 1980000 / clock - 1;
		double ns = c->mean[below(c->count)] * slow[c->resource] * l->offset * l->level *
			    (1 + c->follows * lower);

		if (l->data && uniform() < SECONDS / 600)
			draw_data(l);
		/* The agent leaves out what a process launches first. */
		if (g->started[l->process])
			continue;
		health_add(g->health, &(struct health_sample){.key = l->config + 1,
							      .kernel = c->kernel,
							      .resource = c->resource,
							      .launches = l->launches,
							      .mean_ns = ns,
							      .sm_khz = reading});
	}
	memset(g->started, 0, sizeof(g->started));
	health_tick(g->health, ++g->t * health_interval_ns());
}

static const struct fault none = {HEALTH_MEMORY, 1};

static void begin(struct gpu *g, unsigned files)
{
	*g = (struct gpu){.health = health_new(),
			  .factor = 1 + SPREAD * normal() / 2,
			  .phase = 6.283185307179586 * uniform(),
			  .files = files};
	other_job(g);
}

static void intervals(struct gpu *g, unsigned n, const struct fault *fault)
{
	while (n--)
		interval(g, fault);
}

/* ---- a healthy day ---- */

static bool is_slow(const struct gpu *g, enum health_resource r)
{
	struct health_verdict v;

	health_of(g->health, r, &v);
	return v.state == HEALTH_SLOW;
}

static double healthy_day(struct gpu *g, unsigned alarms[HEALTH_RESOURCES])
{
	const unsigned day = (unsigned)(86400 / SECONDS);
	bool was[HEALTH_RESOURCES] = {false};
	double most = 0;

	for (unsigned t = 1; t <= day; t++) {
		if (uniform() < SECONDS / 7200)
			other_job(g);
		interval(g, &none);
		for (int r = 0; r < HEALTH_RESOURCES; r++) {
			struct health_verdict v;

			health_of(g->health, (enum health_resource)r, &v);
			alarms[r] += v.state == HEALTH_SLOW && !was[r];
			was[r] = v.state == HEALTH_SLOW;
			most = fmax(most, v.margin);
		}
	}
	return most;
}

static void healthy(unsigned gpus, unsigned files)
{
	unsigned alarms[HEALTH_RESOURCES] = {0}, all = 0;
	double *most = gw_alloc(gpus * sizeof(*most));

	for (unsigned n = 0; n < gpus; n++) {
		struct gpu g;

		begin(&g, files);
		most[n] = healthy_day(&g, alarms);
		health_free(g.health);
	}
	for (int r = 0; r < HEALTH_RESOURCES; r++)
		all += alarms[r];
	printf("%u %u", gpus, all);
	for (int r = 0; r < HEALTH_RESOURCES; r++)
		printf(" %u", alarms[r]);
	for (unsigned n = 0; n < gpus; n++)
		printf(" %.4f", most[n]);
	putchar('\n');
	free(most);
}

/* ---- a change ---- */

struct outcome {
	unsigned slow, found, soon, right, back, significant, times;
	double *delay;
};

static bool has(const struct gpu *g, enum health_resource r)
{
	const struct job *j = &g->job[g->now];
	unsigned kinds = 0;

	/* At least five configurations that hardly vary. */
	for (unsigned i = 0; i < j->configs; i++) {
		unsigned same = 0;

		for (unsigned k = 0; k < i; k++)
			same += j->of[k].config == j->of[i].config;
		kinds += configs[j->of[i].config].resource == r && !same && !j->of[i].data &&
			 configs[j->of[i].config].spread < 0.03;
	}
	return r == HEALTH_CLOCK || kinds >= 5;
}

/* A job of which some resource can become slow. */
static void suitable_job(struct gpu *g)
{
	for (;;) {
		for (int r = 0; r < HEALTH_CLOCK; r++)
			if (has(g, (enum health_resource)r))
				return;
		other_job(g);
	}
}

static struct fault draw_fault(const struct gpu *g, const char *scenario)
{
	struct fault f = {HEALTH_CLOCK, 1.03};

	if (!strcmp(scenario, "clock")) {
		f.slow = 1.03 + 0.07 * uniform();
		return f;
	}
	do
		f.resource = (enum health_resource)below(
			strcmp(scenario, "slow") != 0 ? HEALTH_CLOCK : HEALTH_RESOURCES);
	while (!has(g, f.resource));
	f.slow = !strcmp(scenario, "build") ? 1.02 : f.slow;
	return f;
}

static void watch(struct gpu *g, const struct fault *fault, struct outcome *o)
{
	bool found = false, significant = false;

	for (unsigned i = 1; i <= 60; i++) {
		enum health_resource worst;
		struct health_verdict v;

		interval(g, fault);
		health_of(g->health, fault->resource, &v);
		significant |= v.score > 4.775;
		if (found || health_state(g->health, &worst) != HEALTH_SLOW)
			continue;
		found = true;
		o->found++;
		o->soon += i * SECONDS <= 60;
		o->right += worst == fault->resource;
		o->delay[o->times++] = SECONDS * i;
	}
	o->significant += significant;
	if (!found)
		return;
	intervals(g, 12, &none);
	o->back += !is_slow(g, fault->resource);
}

static void change(struct gpu *g, const char *scenario, struct outcome *o)
{
	enum health_resource worst;
	struct fault fault;

	suitable_job(g);
	intervals(g, 240, &none);
	fault = draw_fault(g, scenario);
	if (!strcmp(scenario, "start")) {
		const unsigned mine = g->now;

		do
			other_job(g);
		while (g->now == mine);
		intervals(g, 60, &none);
		g->now = mine;
		for (unsigned p = 0; p < PROCESSES; p++)
			start_process(g, p);
	}
	if (health_state(g->health, &worst) == HEALTH_SLOW)
		return; /* the false alarms are counted elsewhere */
	o->slow++;
	watch(g, &fault, o);
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void changes(unsigned gpus, unsigned files, const char *scenario)
{
	struct outcome o = {.delay = gw_alloc(gpus * sizeof(double))};

	for (unsigned i = 0; i < gpus; i++) {
		struct gpu g;

		begin(&g, files);
		change(&g, scenario, &o);
		health_free(g.health);
	}
	qsort(o.delay, o.times, sizeof(*o.delay), by_size);
	printf("%u %u %u %u %.0f %.0f %u %u\n", o.slow, o.found, o.soon, o.right,
	       o.times ? o.delay[o.times / 2] : NAN, o.times ? o.delay[o.times - 1] : NAN, o.back,
	       o.significant);
	free(o.delay);
}

/* ---- recordings against what is drawn of them ---- */

/* Of configurations with six runs or more in a row: standard deviation of a run's mean as recorded,
 * and as drawn with everything that is added to it. */
static void recordings(unsigned files)
{
	double *ratio = gw_alloc(count * sizeof(*ratio)), at_lag = 0;
	unsigned n = 0, lags = 0, wider = 0;

	(void)files;
	for (unsigned i = 0; i < count; i++) {
		const struct config *c = &configs[i];
		double recorded[PER_CONFIG], drawn[PER_CONFIG], class = 0;
		const double all = deviation_of(c->ns, c->count, 0);
		unsigned runs = 0;

		if (all > 0 && c->count >= 16) {
			at_lag += deviation_of(c->ns, c->count, 1) / all;
			lags++;
		}
		if (c->count < 6 * RUN)
			continue;
		for (unsigned at = 0; at + RUN <= c->count; at += RUN)
			recorded[runs++] = c->mean[at];
		for (unsigned k = 0; k < PER_CONFIG; k++) {
			wander(&class, hypot(COMMON, CLASS));
			drawn[k] = c->mean[below(c->count)] * exp(class + laplace(OFFSET));
		}
		ratio[n] =
			sqrt(deviation_of(drawn, PER_CONFIG, 0) / deviation_of(recorded, runs, 0));
		wider += ratio[n++] >= 1;
	}
	qsort(ratio, n, sizeof(*ratio), by_size);
	printf("%u %u %.3f %.2f %u\n", count, n, n ? ratio[n / 10] : NAN, n ? ratio[n / 2] : NAN,
	       wider);
	printf("%u %.3f\n", lags, at_lag / lags);
	free(ratio);
}

int main(int argc, char **argv)
{
	unsigned gpus, files = 0;

	if (argc < 5)
		return 2;
	pool_seed = strtoull(argv[1], NULL, 10) * 7919 + 1;
	gpus = (unsigned)strtoul(argv[2], NULL, 10);
	configs = gw_alloc(CONFIGS * sizeof(*configs));
	for (int i = 4; i < argc && files < FILES; i++)
		pool_read(files++, argv[i]);
	first[files] = count;
	prepare();
	if (!strcmp(argv[3], "recordings"))
		recordings(files);
	else if (!strcmp(argv[3], "healthy"))
		healthy(gpus, files);
	else
		changes(gpus, files, argv[3]);
	free(configs);
	return 0;
}
