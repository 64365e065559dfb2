#include "calib/nvml/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* nvml.h's numbers; its ABI keeps them. */
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };

static const struct {
	uint64_t bit;
	const char *name;
} reasons[] = {
	{0x2, "application clocks"},
	{0x4, "power cap"},
	{0x8, "hardware slowdown"},
	{0x10, "sync boost"},
	{0x20, "thermal slowdown"},
	{0x40, "thermal slowdown (hardware)"},
	{0x80, "power brake"},
	{0x100, "display clocks"},
};

/* A function of an opened library; POSIX promises that the pointer fits. */
static void resolve(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	memcpy(function, &symbol, sizeof(symbol));
}

void gw_nvml_open(struct gw_nvml *n, const char *bus)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

	*n = (struct gw_nvml){0};
	if (!library)
		return;
#define NVML(symbol, parameters) resolve(library, #symbol, &n->symbol);
#include "calib/nvml/nvml.def"
#undef NVML
	if (!n->nvmlInit_v2 || !n->nvmlDeviceGetHandleByPciBusId_v2 || n->nvmlInit_v2() != 0)
		return;
	if (n->nvmlDeviceGetHandleByPciBusId_v2(bus, &n->device) != 0)
		n->device = NULL;
}

void gw_nvml_close(struct gw_nvml *n)
{
	if (n->device && n->nvmlShutdown)
		n->nvmlShutdown();
	n->device = NULL;
}

void gw_nvml_driver(const struct gw_nvml *n, char *text, size_t size)
{
	if (!n->device || !n->nvmlSystemGetDriverVersion ||
	    n->nvmlSystemGetDriverVersion(text, (unsigned)size) != 0)
		text[0] = '\0';
}

/* Result of a getter of one unsigned, times @p scale; NaN on failure. */
static double number(const struct gw_nvml *n, int (*get)(void *, int, unsigned *), int which,
		     double scale)
{
	unsigned value;

	return n->device && get && get(n->device, which, &value) == 0 ? value * scale : NAN;
}

double gw_nvml_sm_clock(const struct gw_nvml *n)
{
	return number(n, n->nvmlDeviceGetClockInfo, CLOCK_SM, 1e6);
}

double gw_nvml_sm_clock_max(const struct gw_nvml *n)
{
	return number(n, n->nvmlDeviceGetMaxClockInfo, CLOCK_SM, 1e6);
}

double gw_nvml_memory_clock(const struct gw_nvml *n)
{
	return number(n, n->nvmlDeviceGetClockInfo, CLOCK_MEMORY, 1e6);
}

double gw_nvml_temperature(const struct gw_nvml *n)
{
	return number(n, n->nvmlDeviceGetTemperature, SENSOR_GPU, 1);
}

double gw_nvml_power(const struct gw_nvml *n)
{
	unsigned milliwatts;

	return n->device && n->nvmlDeviceGetPowerUsage &&
			       n->nvmlDeviceGetPowerUsage(n->device, &milliwatts) == 0
		       ? milliwatts / 1e3
		       : NAN;
}

double gw_nvml_utilisation(const struct gw_nvml *n)
{
	struct nvml_utilisation rates;

	return n->device && n->nvmlDeviceGetUtilizationRates &&
			       n->nvmlDeviceGetUtilizationRates(n->device, &rates) == 0
		       ? rates.gpu / 100.0
		       : NAN;
}

/* Whether this process is among those that NVML lists, and how many others are, on its part of the
 * GPU where that is partitioned (MIG): those on others share no SM with it. -1: unknown. */
static int listed(const struct gw_nvml *n, unsigned *others)
{
	struct nvml_process list[64];
	unsigned count = sizeof(list) / sizeof(*list);
	int own = -1;

	if (!n->nvmlDeviceGetComputeRunningProcesses_v3 ||
	    n->nvmlDeviceGetComputeRunningProcesses_v3(n->device, &count, list) != 0)
		return -1;
	for (unsigned i = 0; i < count; i++)
		if (list[i].pid == (unsigned)getpid())
			own = (int)i;
	for (unsigned i = 0; own >= 0 && i < count; i++)
		*others += (int)i != own && list[i].gpu_instance == list[own].gpu_instance;
	return own >= 0;
}

double gw_nvml_others(const struct gw_nvml *n)
{
	struct nvml_process_use some[128], *use = some;
	unsigned count = sizeof(some) / sizeof(*some), others = 0;
	unsigned long long since;
	struct timespec now;
	double share = 0;
	int answer;

	if (!n->device || listed(n, &others) != 1)
		return NAN;
	if (!others)
		return 0;
	if (!n->nvmlDeviceGetProcessUtilization)
		return NAN;
	/* Since 0 it is the mean of half a minute. */
	clock_gettime(CLOCK_REALTIME, &now);
	since = ((unsigned long long)now.tv_sec - 1) * 1000000 +
		(unsigned long long)now.tv_nsec / 1000;
	answer = n->nvmlDeviceGetProcessUtilization(n->device, use, &count, since);
	/* Called with too little room, it returns the room it needs. */
	if (answer == INSUFFICIENT_SIZE && count && (use = calloc(count, sizeof(*use))))
		answer = n->nvmlDeviceGetProcessUtilization(n->device, use, &count, since);
	for (unsigned i = 0; answer == 0 && i < count; i++)
		if (use[i].pid != (unsigned)getpid())
			share += use[i].sm / 100.0;
	if (use != some)
		free(use);
	if (answer == NOT_FOUND)
		return 0;
	return answer == 0 ? fmin(share, 1) : NAN;
}

int gw_nvml_processes(const struct gw_nvml *n, unsigned *pid)
{
	struct nvml_process list[64];
	unsigned count = sizeof(list) / sizeof(*list);
	int answer;

	*pid = 0;
	if (!n->device || !n->nvmlDeviceGetComputeRunningProcesses_v3)
		return -1;
	answer = n->nvmlDeviceGetComputeRunningProcesses_v3(n->device, &count, list);
	if (answer == INSUFFICIENT_SIZE)
		return (int)count;
	if (answer != 0)
		return -1;
	if (count)
		*pid = list[0].pid;
	return (int)count;
}

uint64_t gw_nvml_throttle(const struct gw_nvml *n)
{
	unsigned long long now, known = 0;

	if (!n->device || !n->nvmlDeviceGetCurrentClocksThrottleReasons ||
	    n->nvmlDeviceGetCurrentClocksThrottleReasons(n->device, &now) != 0)
		return 0;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		known |= reasons[i].bit;
	return now & known; /* without "idle" and what newer drivers add */
}

void gw_throttle_text(uint64_t bits, char *text, size_t size)
{
	size_t length = 0;

	snprintf(text, size, "none");
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		if (!(bits & reasons[i].bit) || length >= size)
			continue;
		length += (size_t)snprintf(text + length, size - length, "%s%s",
					   length ? ", " : "", reasons[i].name);
	}
}
