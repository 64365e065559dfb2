/*
 * fleet_store SEED GPUS HOURS FOLDER FILE.csv...: the store that agents of a fleet leave, their
 * tables of hours, made by the agent's own code from GPUs whose kernels take what recorded ones
 * took (gpuwatch export --format=csv). Prints what was put into it, as JSON.
 *
 * 8 GPUs a machine, of two models. Identical GPUs differ by 8%; one in 500 takes 1.5 times as long
 * at one resource all day, one in 200 becomes 5% slow at one from some hour on. Times drift by 1%
 * over the day, each GPU in its own phase; clocks follow the program. GPUs run one of 40 programs
 * and change it after two hours on average. Each program gets a second build at some hour, which is
 * 2% slower in one of four; that of the first program comes 10 minutes before the end.
 */
#include "fleet_pool.h"

#include "cli/agent/store/hours.h"
#include "cli/agent/store/work.h"
#include "cli/common/memory.h"
#include "predictor/core/hash.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	PROGRAMS = 40,
	MODELS = 2,
	LEAST = 20,
	MOST = 60,
	HOST = 8, /* GPUs */
	HOUR = 3600,
	CANARY = 600,     /* s of the first program's second build */
	STATES = 16,      /* rows of a GPU and hour at most */
	DAY0 = 1795651200 /* 2026-11-26 */
};
static const double SPREAD = 0.08, DIURNAL = 0.01, REGRESSED = 1.02, OUTLIER = 1.5, SLOWED = 1.05;

static const char *const models[MODELS] = {"NVIDIA H200", "NVIDIA H100"};
static const char *const resources[] = {
#define RESOURCE(NAME, name, meaning) name,
#include "cli/health/resource.def"
#undef RESOURCE
};
static const unsigned bounds[] = {GW_BOUND_MEMORY, GW_BOUND_COMPUTE, GW_BOUND_LATENCY,
				  GW_BOUND_UNKNOWN};
/* Of the second model against the first, by resource. */
static const double model_factor[] = {1.43, 1.0, 1.05, 1.1};

static struct program {
	unsigned config[MOST], configs, hour; /* of its second build */
	double rate[MOST], ratio, busy, clock;
} programs[PROGRAMS];

static struct gpu {
	unsigned model, program;
	double factor, phase, slow;
	int resource; /* that is slow; -1: none */
	unsigned slow_hour;
	bool power; /* its cap costs 3% */
} * gpus;

static double idle_s[2], lost_s, hours;

static void draw_program(struct program *p, unsigned number, unsigned files, unsigned span)
{
	unsigned file;

	do
		file = below(files);
	while (first[file + 1] - first[file] < LEAST);
	p->configs = LEAST + below(MOST - LEAST + 1);
	for (unsigned i = 0; i < p->configs; i++) {
		p->config[i] = first[file] + below(first[file + 1] - first[file]);
		p->rate[i] = 8 + below(500);
	}
	p->busy = 0.7 + 0.25 * uniform();
	p->clock = 1.98e9 * (1 - 0.08 * uniform());
	p->ratio = number % 4 == 0 ? REGRESSED : 1;
	p->hour = number ? 1 + below(span > 2 ? span - 2 : 1) : span - 1;
}

static void draw_gpu(struct gpu *g, unsigned span)
{
	*g = (struct gpu){.model = uniform() < 0.3,
			  .program = below(PROGRAMS),
			  .factor = 1 + SPREAD * normal() / 2,
			  .phase = 6.283185307179586 * uniform(),
			  .slow = 1,
			  .resource = -1,
			  .power = uniform() < 0.02};
	if (uniform() < 1.0 / 500) {
		g->resource = (int)below(3);
		g->slow = OUTLIER;
	} else if (uniform() < 1.0 / 200) {
		g->resource = (int)below(3);
		g->slow = SLOWED;
		g->slow_hour = span / 4 + below(span / 2 + 1);
	}
}

/* Mean of the launches of an hour: runs of neighbours. */
static double mean_of(const struct config *c)
{
	enum { RUNS = 16, RUN = 16 };
	double sum = 0;

	for (unsigned r = 0; r < RUNS; r++)
		for (unsigned i = 0, at = below(c->count); i < RUN; i++)
			sum += c->ns[(at + i) % c->count];
	return sum / (RUNS * RUN);
}

/* A program's launches on a GPU for some seconds of an hour. */
static void work(struct agent_work *to, const struct gpu *g, unsigned number, bool second,
		 unsigned hour, double seconds)
{
	const struct program *p = &programs[number];
	const double day = 1 + DIURNAL * sin(6.283185307179586 * hour / 24 + g->phase);
	const double clock = p->clock * (1 + 0.002 * normal());
	double ns[MOST], all = 0;

	for (unsigned i = 0; i < p->configs; i++) {
		const struct config *c = &configs[p->config[i]];
		const double at_clock = c->resource == HEALTH_MEMORY ? 1 : 1.98e9 / clock;
		const bool slow = g->resource == (int)c->resource && hour >= g->slow_hour;

		ns[i] = mean_of(c) * g->factor * day * at_clock * (slow ? g->slow : 1) *
			(g->model ? model_factor[c->resource] : 1) * (second ? p->ratio : 1);
		all += ns[i] * p->rate[i];
	}
	for (unsigned i = 0; i < p->configs; i++) {
		const struct config *c = &configs[p->config[i]];
		const double launches = floor(p->rate[i] * p->busy * seconds * 1e9 / all);
		struct agent_sum d = {.launches = launches,
				      .gpu_ns = launches * ns[i],
				      .measured = floor(launches / 50)};
		struct hours_work row = {.bound = bounds[c->resource]};

		row.shape = gw_hash(gw_hash(1, c->kernel, strlen(c->kernel)), c->shape,
				    strlen(c->shape)) >>
			    1;
		snprintf(row.program, sizeof(row.program), "program-%02u", number);
		snprintf(row.build, sizeof(row.build), "1.%u", 4 + second);
		snprintf(row.kernel, sizeof(row.kernel), "%s", c->plain);
		d.measured_ns = d.compared_ns = d.measured * ns[i];
		/* Predictions follow the GPU. */
		d.expected_ns = d.measured_ns / (1 + 0.005 * normal());
		agent_work_add(to, &row, &d, clock);
	}
}

static struct hours_state *state(struct hours_state *to, const struct gpu *g, const char *uuid,
				 uint64_t time_s, const char *metric, const char *label,
				 const char *which, bool gauge, double value)
{
	*to = (struct hours_state){
		.time_s = time_s, .seconds = HOUR, .gauge = gauge, .value = value, .most = value};
	snprintf(to->uuid, sizeof(to->uuid), "%s", uuid);
	snprintf(to->model, sizeof(to->model), "%s", models[g->model]);
	snprintf(to->metric, sizeof(to->metric), "%s", metric);
	snprintf(to->label, sizeof(to->label), "%s", label);
	snprintf(to->which, sizeof(to->which), "%s", which);
	return to + 1;
}

static struct hours_state *states(struct hours_state *to, const struct gpu *g, const char *uuid,
				  uint64_t time_s, double busy, double clock)
{
	const double idle = HOUR * (1 - busy), starved = idle * uniform();

	idle_s[0] += starved;
	idle_s[1] += idle - starved;
	to = state(to, g, uuid, time_s, "gpuwatch_busy_seconds", "", "", false, HOUR * busy);
	to = state(to, g, uuid, time_s, "gpuwatch_idle_seconds", "cause", "starved", false,
		   starved);
	to = state(to, g, uuid, time_s, "gpuwatch_idle_seconds", "cause", "synchronization", false,
		   idle - starved);
	to = state(to, g, uuid, time_s, "gpuwatch_sm_clock_hertz", "", "", true, clock);
	for (int r = 0; r < HEALTH_RESOURCES; r++)
		to = state(to, g, uuid, time_s, "gpuwatch_slowdown_ratio", "resource", resources[r],
			   true, 1 + 0.003 * normal());
	if (g->power) {
		const double lost = 0.03 * busy * HOUR;

		lost_s += lost;
		to = state(to, g, uuid, time_s, "gpuwatch_lost_seconds", "cause", "power cap",
			   false, lost);
		to = state(to, g, uuid, time_s, "gpuwatch_throttled_seconds", "reason", "power",
			   false, HOUR);
	}
	return to;
}

/* The launches of a GPU in an hour; its program may change in the middle. */
static size_t gpu_hour(struct agent_work *to, struct gpu *g, unsigned hour, unsigned span,
		       struct hours_work *rows)
{
	const bool change = uniform() < 0.4;
	const double half = change ? HOUR / 2 : HOUR;
	const struct program *p = &programs[g->program];

	agent_work_clear(to);
	if (!g->program && hour + 1 == span) {
		work(to, g, 0, false, hour, HOUR - CANARY);
		work(to, g, 0, true, hour, CANARY);
		return agent_work_rows(to, rows);
	}
	/* A deployment takes the hour: each GPU has both builds in it. */
	if (hour == p->hour)
		work(to, g, g->program, false, hour, half / 2);
	work(to, g, g->program, hour >= p->hour, hour, hour == p->hour ? half / 2 : half);
	if (change) {
		g->program = below(PROGRAMS);
		work(to, g, g->program, hour > programs[g->program].hour, hour, HOUR - half);
	}
	return agent_work_rows(to, rows);
}

static FILE *begin(const char *folder, const char *host, const char *table)
{
	char path[4200];
	FILE *out;

	snprintf(path, sizeof(path), "%s/hours", folder);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/hours/host=%s", folder, host);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/hours/host=%s/day=2026-11-26", folder, host);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/hours/host=%s/day=2026-11-26/%s-000000.parquet", folder,
		 host, table);
	out = fopen(path, "w");
	if (!out) {
		perror(path);
		exit(2);
	}
	return out;
}

static void machine(const char *folder, unsigned number, unsigned of_gpus, unsigned span)
{
	struct hours_work *w = gw_alloc((size_t)HOST * span * (WORK_ROWS + 1) * sizeof(*w));
	struct hours_state *s = gw_alloc((size_t)HOST * span * STATES * sizeof(*s)), *s_end = s;
	struct agent_work *sums = agent_work_new();
	char host[32];
	size_t rows = 0;
	FILE *out;

	snprintf(host, sizeof(host), "node%05u", number);
	for (unsigned hour = 0; hour < span; hour++)
		for (unsigned i = 0; i < HOST && number * HOST + i < of_gpus; i++) {
			struct gpu *g = &gpus[number * HOST + i];
			const double busy = programs[g->program].busy,
				     clock = programs[g->program].clock;
			const uint64_t time_s = DAY0 + (uint64_t)hour * HOUR;
			char uuid[48];
			size_t from = rows;

			snprintf(uuid, sizeof(uuid), "GPU-%08x-0000-0000-0000-%012x",
				 number * HOST + i, number);
			rows += gpu_hour(sums, g, hour, span, &w[rows]);
			for (size_t k = from; k < rows; k++) {
				w[k].time_s = time_s;
				w[k].seconds = HOUR;
				snprintf(w[k].uuid, sizeof(w[k].uuid), "%s", uuid);
				snprintf(w[k].model, sizeof(w[k].model), "%s", models[g->model]);
				hours += w[k].gpu_s / HOUR;
			}
			s_end = states(s_end, g, uuid, time_s, busy, clock);
		}
	out = begin(folder, host, "work");
	hours_put_work(out, host, w, rows);
	fclose(out);
	out = begin(folder, host, "state");
	hours_put_state(out, host, s, (size_t)(s_end - s));
	fclose(out);
	agent_work_free(sums);
	free(w);
	free(s);
}

static void truth(unsigned number)
{
	const char *comma = "";

	printf("{\"gpu_hours\": %.6f, \"lost_hours\": %.6f, \"starved_hours\": %.6f, "
	       "\"synchronization_hours\": %.6f,\n\"slow\": [",
	       hours, lost_s / HOUR, idle_s[0] / HOUR, idle_s[1] / HOUR);
	for (unsigned i = 0; i < number; i++)
		if (gpus[i].resource >= 0) {
			printf("%s\n{\"uuid\": \"GPU-%08x-0000-0000-0000-%012x\", \"resource\": "
			       "\"%s\", "
			       "\"ratio\": %g, \"hour\": %u}",
			       comma, i, i / HOST, resources[gpus[i].resource], gpus[i].slow,
			       gpus[i].slow_hour);
			comma = ",";
		}
	printf("],\n\"regressed\": [");
	comma = "";
	for (unsigned i = 0; i < PROGRAMS; i++)
		if (programs[i].ratio > 1) {
			printf("%s\"program-%02u\"", comma, i);
			comma = ", ";
		}
	printf("]}\n");
}

int main(int argc, char **argv)
{
	unsigned number, span, files = 0;

	if (argc < 6)
		return 2;
	pool_seed = strtoull(argv[1], NULL, 10) * 7919 + 1;
	number = (unsigned)strtoul(argv[2], NULL, 10);
	span = (unsigned)strtoul(argv[3], NULL, 10);
	configs = gw_alloc(CONFIGS * sizeof(*configs));
	for (int i = 5; i < argc && files < FILES; i++)
		pool_read(files++, argv[i]);
	first[files] = count;
	gpus = gw_alloc(number * sizeof(*gpus));
	for (unsigned i = 0; i < PROGRAMS; i++)
		draw_program(&programs[i], i, files, span);
	for (unsigned i = 0; i < number; i++)
		draw_gpu(&gpus[i], span);
	for (unsigned i = 0; i * HOST < number; i++)
		machine(argv[4], i, number, span);
	truth(number);
	free(configs);
	free(gpus);
	return 0;
}
