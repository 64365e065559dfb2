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
#include "cli/health/detect.h"
#include "cli/common/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CONFIGS = 4096,
	FILES = 8,
	PER_CONFIG = 256,
	JOB_MOST = 60,
	JOB_LEAST = 20,
	KEPT_JOBS = 4,
	POOL_LEAST = 4,
	COLUMNS = 64,
	LINE = 1 << 20,
	DAY = 17280 /* intervals */
};
static const double SLOW = 1.03, SPREAD = 0.08, DIURNAL = 0.01, COMMON = 0.003;

struct config {
	char kernel[64];
	char shape[64];
	enum health_resource resource;
	double ns[PER_CONFIG];
	unsigned count, seen;
	unsigned file;
};
static struct config *configs;
static unsigned count, first[FILES + 1];

/* ---- recordings ---------------------------------------------------------------------------- */

/* The next field of a line of CSV, in place. */
static char *field(char **at)
{
	char *from = *at, *to, *out;

	if (!from)
		return NULL;
	if (*from != '"') {
		to = strchr(from, ',');
		*at = to ? to + 1 : NULL;
		if (to)
			*to = 0;
		return from;
	}
	for (out = to = ++from; *to && !(*to == '"' && to[1] != '"'); to++)
		*out++ = *to == '"' ? *to++ : *to;
	*at = *to && to[1] == ',' ? to + 2 : NULL;
	*out = 0;
	return from;
}

static enum health_resource resource_of(const char *bound)
{
	if (!strcmp(bound, "memory"))
		return HEALTH_MEMORY;
	if (!strcmp(bound, "compute"))
		return HEALTH_COMPUTE;
	return !strcmp(bound, "latency") || !strcmp(bound, "launch") ? HEALTH_LATENCY
	                                                             : HEALTH_OTHER;
}

static struct config *config_of(unsigned file, const char *kernel, const char *shape,
                                enum health_resource resource)
{
	for (unsigned i = first[file]; i < count; i++)
		if (!strncmp(configs[i].kernel, kernel, sizeof(configs[i].kernel) - 1) &&
		    !strcmp(configs[i].shape, shape) && configs[i].resource == resource)
			return &configs[i];
	if (count == CONFIGS)
		exit(2);
	snprintf(configs[count].kernel, sizeof(configs[count].kernel), "%s", kernel);
	snprintf(configs[count].shape, sizeof(configs[count].shape), "%s", shape);
	configs[count].resource = resource;
	configs[count].file = file;
	return &configs[count++];
}

static void take_row(unsigned file, char *const *name, unsigned columns, char *line)
{
	const char *kernel = "", *bound = "";
	char shape[64] = "";
	double ns = 0;
	struct config *c;

	for (unsigned i = 0; i < columns; i++) {
		const char *value = field(&line);

		if (!value)
			return;
		if (!strcmp(name[i], "duration_ns"))
			ns = strtod(value, NULL);
		else if (!strcmp(name[i], "mangled"))
			kernel = value;
		else if (!strcmp(name[i], "bound"))
			bound = value;
		else if (!strncmp(name[i], "grid", 4) || !strncmp(name[i], "block", 5) ||
		         !strcmp(name[i], "dynamic_shared"))
			snprintf(shape + strlen(shape), sizeof(shape) - strlen(shape), "%s,",
			         value);
	}
	if (!(ns > 0))
		return;
	c = config_of(file, kernel, shape, resource_of(bound));
	/* The first one warms up what the others find. */
	if (c->seen++ && c->count < PER_CONFIG)
		c->ns[c->count++] = ns;
}

static void read_file(unsigned file, const char *path)
{
	static char line[LINE], header[LINE];
	char *name[COLUMNS], *at = header;
	unsigned columns = 0, kept;
	FILE *in = fopen(path, "r");

	if (!in || !fgets(header, sizeof(header), in)) {
		fprintf(stderr, "fleet_gpus: %s can't be read\n", path);
		exit(2);
	}
	header[strcspn(header, "\r\n")] = 0;
	while (at && columns < COLUMNS)
		name[columns++] = field(&at);
	first[file] = count;
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\r\n")] = 0;
		take_row(file, name, columns, line);
	}
	fclose(in);
	kept = first[file];
	for (unsigned i = first[file]; i < count; i++)
		if (configs[i].count >= POOL_LEAST) {
			if (kept != i)
				configs[kept] = configs[i];
			kept++;
		}
	memset(&configs[kept], 0, (count - kept) * sizeof(*configs));
	count = kept;
}

/* ---- chance -------------------------------------------------------------------------------- */

static uint64_t seed;

static double uniform(void)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static unsigned below(unsigned n)
{
	return (unsigned)(uniform() * n);
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

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
	seed = strtoull(argv[1], NULL, 10) * 7919 + 1;
	gpus = (unsigned)strtoul(argv[2], NULL, 10);
	days = strtod(argv[3], NULL);
	share = strtod(argv[4], NULL);
	configs = gw_alloc(CONFIGS * sizeof(*configs));
	o.delay = gw_alloc(gpus * sizeof(*o.delay));
	for (int i = 5; i < argc && files < FILES; i++)
		read_file(files++, argv[i]);
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
