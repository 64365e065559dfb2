/* Runs the groups in order, and everything around them. */
#include "calib/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calib/bench_state.h"
#include "calib/stats.h"
#include "kernels/kernels.h"
#include "gw_commit.h"

/* Time limit of the calibration; what later groups measure stays unknown. */
static const double full_limit = 90, quick_limit = 20;

static const struct group {
	const char *name;
	bool (*run)(struct gw_bench *b);
	double full, quick; /* seconds it is expected to take */
} groups[] = {
#define GROUP(name, function, full_seconds, quick_seconds, meaning) \
	{#name, function, full_seconds, quick_seconds},
#include "calib/groups.def"
#undef GROUP
};
enum { GROUPS = sizeof(groups) / sizeof(*groups) };

struct gw_calibration {
	const struct gw_calibration_options *options;
	struct gw_cuda cuda;
	struct gw_bench_state state;
	struct gw_bench bench;
	char name[sizeof(((struct gw_device *)0)->name)];
	int others; /* processes that used the GPU before this one did; -1: unknown */
};

const char *gw_calibration_group(unsigned i)
{
	return i < GROUPS ? groups[i].name : NULL;
}

const char *gw_calibration_device(const struct gw_calibration *c)
{
	return c->name;
}

static double seconds_of(const struct gw_calibration *c, const struct group *g)
{
	return c->options->quick ? g->quick : g->full;
}

/* Other groups read what `direct` finds, so it always runs. */
static bool wanted(const struct gw_calibration *c, unsigned i)
{
	return !c->options->only || i == 0 || strcmp(groups[i].name, c->options->only) == 0;
}

static bool find_device(struct gw_calibration *c, char *error, size_t size)
{
	const struct gw_cuda *cu = &c->cuda;
	CUresult result = cu->cuInit(0);
	char bus[32] = "";
	int count = 0;

	if (result == CUDA_SUCCESS)
		result = cu->cuDeviceGetCount(&count);
	if (result == CUDA_ERROR_NO_DEVICE || (result == CUDA_SUCCESS && !count))
		snprintf(error, size,
			 "no GPU is visible: check nvidia-smi, CUDA_VISIBLE_DEVICES, and that a "
			 "container was started with --gpus");
	else if (result == CUDA_SUCCESS && c->options->device >= (unsigned)count)
		snprintf(error, size, "there is no device %u: this machine has %d, counted from 0",
			 c->options->device, count);
	else if (result != CUDA_SUCCESS ||
		 (result = cu->cuDeviceGet(&c->bench.device, (int)c->options->device)) ||
		 (result = cu->cuDeviceGetName(c->name, sizeof(c->name), c->bench.device)))
		snprintf(error, size, "the driver does not work: %s; gpuwatch doctor says more",
			 gw_cuda_error(cu, result));
	else {
		if (cu->cuDeviceGetPCIBusId)
			cu->cuDeviceGetPCIBusId(bus, sizeof(bus), c->bench.device);
		gw_nvml_open(&c->state.nvml, bus);
		return true;
	}
	return false;
}

/*
 * Whether the GPU is in use although no process is listed: those of other containers are not.
 * NVML's figure covers the last second, which may include a run of ours: sample again.
 */
static bool works(const struct gw_nvml *n)
{
	static const struct timespec nap = {.tv_nsec = 200000000};

	for (int i = 0; i < 8; i++) {
		if (!(gw_nvml_utilisation(n) > 0.05))
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}

static bool is_free(struct gw_calibration *c, char *error, size_t size)
{
	const char *remedy = "its times would be wrong; wait, or stop it, or give --force";
	unsigned pid;

	c->others = gw_nvml_processes(&c->state.nvml, &pid);
	if (c->options->busy)
		return true;
	if (c->others > 0 && pid)
		snprintf(error, size, "the GPU is busy: process %u uses it; %s", pid, remedy);
	else if (c->others > 0)
		snprintf(error, size, "the GPU is busy: %d processes use it; %s", c->others, remedy);
	else if (works(&c->state.nvml))
		snprintf(error, size, "the GPU is busy: it works for somebody else; %s", remedy);
	else
		return true;
	return false;
}

struct gw_calibration *gw_calibration_open(const struct gw_calibration_options *options,
					   char *error, size_t size)
{
	struct gw_calibration *c = calloc(1, sizeof(*c));

	if (!c) {
		snprintf(error, size, "no memory");
		return NULL;
	}
	c->options = options;
	c->bench = (struct gw_bench){.cu = &c->cuda, .nvml = &c->state.nvml, .quick = options->quick, .state = &c->state};
	c->state.listener = &options->listener;
	c->state.stop = options->stop;
	c->state.samples = options->samples;
	if (!gw_kernel_images[0].name)
		snprintf(error, size,
			 "this gpuwatch was built without nvcc, so it has no kernels to measure "
			 "with; build it where the CUDA toolkit (13.0 or later) is installed");
	else if (gw_cuda_open(&c->cuda, error, size) && find_device(c, error, size) &&
		 is_free(c, error, size))
		return c;
	gw_calibration_close(c);
	return NULL;
}

void gw_calibration_close(struct gw_calibration *c)
{
	gw_bench_close(&c->bench);
	gw_nvml_close(&c->state.nvml);
	free(c);
}

/* Load until the clock is stable: it rises within a second of the first kernel. */
static void warm_up(struct gw_bench *b)
{
	double before = 0, now = gw_bench_load(b, 0.05);

	for (int i = 0; i < 20 && now > 0 && fabs(now - before) > 0.002 * now; i++) {
		before = now;
		now = gw_bench_load(b, 0.05);
	}
}

static void date_now(char *text, size_t size)
{
	time_t now = time(NULL);
	struct tm utc;

	if (!gmtime_r(&now, &utc) || !strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &utc))
		text[0] = '\0';
}

/* Conditions of the group's run, also for the profile. */
static struct gw_group_run record(struct gw_calibration *c, struct gw_profile *profile)
{
	struct gw_bench_state *s = &c->state;
	unsigned place = gw_profile_group(profile, s->group);
	struct gw_group_run run = {0};

	snprintf(run.name, sizeof(run.name), "%s", s->group);
	date_now(run.date, sizeof(run.date));
	gw_nvml_driver(&s->nvml, run.driver, sizeof(run.driver));
	gw_throttle_text(s->throttle, run.throttle, sizeof(run.throttle));
	run.sm_clock = gw_median(s->clocks, s->clock_count);
	run.sm_clock_low = gw_sample_quantile(s->clocks, s->clock_count, 0);
	run.temperature = gw_nvml_temperature(&s->nvml);
	run.power = gw_nvml_power(&s->nvml);
	run.seconds = gw_bench_now() - s->started;
	if (place)
		profile->groups[place - 1] = run;
	return run;
}

static void look_around(struct gw_calibration *c)
{
	unsigned pid;
	int now = gw_nvml_processes(&c->state.nvml, &pid);

	if (c->others < 0 || now <= c->others + 1)
		return;
	gw_bench_note(&c->bench, "another process began to use the GPU: take this group's values "
				 "with care, or measure it again");
	c->others = now - 1;
}

/* Results of an earlier run must not appear under this one's date. */
static void forget(struct gw_profile *profile, const char *group)
{
	unsigned place = gw_profile_group(profile, group);

	for (unsigned i = 0; i < GW_PARAMS; i++)
		if (place && profile->group[i] == place) {
			profile->device.param[i] = (struct gw_profile_value){.value = NAN, .spread = NAN};
			profile->how[i][0] = profile->source[i][0] = '\0';
		}
	for (unsigned i = 0; i < GW_CURVES; i++)
		if (place && profile->curve_group[i] == place) {
			profile->device.curve[i].count = 0;
			profile->device.curve[i].method = GW_METHOD_NONE;
			profile->curve_how[i][0] = profile->curve_source[i][0] = '\0';
		}
}

static void run_group(struct gw_calibration *c, const struct group *g, struct gw_profile *profile)
{
	const struct gw_calibration_listener *l = &c->options->listener;
	struct gw_bench_state *s = &c->state;
	struct gw_group_run run;
	double seconds = seconds_of(c, g);

	forget(profile, g->name);
	gw_bench_begin(&c->bench, g->name, fmax(3 * seconds, 2));
	s->share = seconds;
	gw_bench_step(&c->bench, 0);
	if (!gw_bench_stopped(&c->bench) && !g->run(&c->bench) && !s->stopped)
		gw_bench_note(&c->bench, "nothing could be measured");
	gw_bench_step(&c->bench, 1);
	gw_bench_end(&c->bench);
	look_around(c);
	s->done_before += seconds;
	run = record(c, profile);
	if (l->ended)
		l->ended(l->arg, &run, s->published, s->refused);
}

static void run_groups(struct gw_calibration *c, struct gw_profile *profile)
{
	struct gw_bench_state *s = &c->state;

	for (unsigned i = 0; i < GROUPS; i++)
		if (wanted(c, i))
			s->all += seconds_of(c, &groups[i]);
	warm_up(&c->bench);
	for (unsigned i = 0; i < GROUPS; i++)
		if (wanted(c, i) && !*s->failure && !(s->stop && *s->stop))
			run_group(c, &groups[i], profile);
}

/* Least and greatest SM clock under load of all groups. */
static void clock_range(const struct gw_profile *profile, double *low, double *high)
{
	*low = *high = NAN;
	for (unsigned i = 0; i < profile->group_count; i++) {
		*low = fmin(*low, profile->groups[i].sm_clock_low);
		*high = fmax(*high, profile->groups[i].sm_clock);
	}
}

/* Conditions of a run of all groups. Those of a single group are stored with the group. */
static void tell_provenance(struct gw_calibration *c, struct gw_profile *profile)
{
	struct gw_provenance *p = &profile->provenance;
	double low, high;
	int version = 0;

	snprintf(p->tool, sizeof(p->tool), "gpuwatch %s (%s)", GW_VERSION, GW_COMMIT);
	date_now(p->date, sizeof(p->date));
	gw_nvml_driver(&c->state.nvml, p->driver, sizeof(p->driver));
	if (c->cuda.cuDriverGetVersion(&version) == CUDA_SUCCESS)
		snprintf(p->cuda, sizeof(p->cuda), "%d.%d", version / 1000, version % 1000 / 10);
	clock_range(profile, &low, &high);
	snprintf(p->clocks, sizeof(p->clocks),
		 "SM %.0f MHz nominal, %.0f to %.0f MHz under load; memory %.0f MHz; not held by "
		 "gpuwatch",
		 gw_param(&profile->device, GW_PARAM_sm_clock) / 1e6, low / 1e6, high / 1e6,
		 gw_param(&profile->device, GW_PARAM_mem_clock) / 1e6);
	snprintf(p->note, sizeof(p->note), "%s", c->options->quick ? "the quick run" : "");
}

bool gw_calibration_run(struct gw_calibration *c, struct gw_profile *profile, char *error,
			size_t size)
{
	struct gw_bench_state *s = &c->state;

	s->profile = profile;
	c->bench.known = &profile->device;
	if (!gw_bench_open(&c->bench, error, size))
		return false;
	s->full_limit = gw_bench_now() + (c->options->quick ? quick_limit : full_limit);
	run_groups(c, profile);
	if (!c->options->only || !*profile->provenance.tool)
		tell_provenance(c, profile);
	if (*s->failure)
		snprintf(error, size, "%s", s->failure);
	else if (s->stop && *s->stop)
		snprintf(error, size, "stopped");
	return !*s->failure && !(s->stop && *s->stop);
}
