/* The part of libnvidia-ml.so.1 that gpuwatch asks (calib/nvml/nvml.def). */
#include "calib/nvml/nvml.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default"))) int
enum {
	INVALID_ARGUMENT = 2,
	NOT_SUPPORTED = 3,
	NOT_FOUND = 6,
	INSUFFICIENT_SIZE = 7,
	UNKNOWN = 999,
	CLOCK_SM = 1
};

#define NVML(symbol, parameters) int symbol parameters;
#include "calib/nvml/nvml.def"
#undef NVML

static unsigned long long setting(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : 0;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* What a call of @p name answers before anything else; it may take its time. */
static int answer(const char *name)
{
	const char *failing = getenv("STANDIN_NVML_FAIL");
	unsigned ms = (unsigned)setting("STANDIN_NVML_CALL_MS");

	if (ms)
		usleep(ms * 1000);
	for (double us = (double)setting("STANDIN_NVML_CPU_US"), end = cpu_seconds() + us * 1e-6;
	     us > 0 && cpu_seconds() < end;)
		;
	return failing && (!strcmp(failing, name) || !strcmp(failing, "all")) ? UNKNOWN : 0;
}

/* MIG: NVML reports no use by process, nor of the GPU. */
static bool partitioned(void)
{
	const char *text = getenv("STANDIN_NVML_PIDS");

	return text && strchr(text, '/');
}

/* Of the driver's stand-in, where the program is linked to it and counts (STANDIN_COUNT). */
extern uint64_t standin_kernels(void) __attribute__((weak));

/* The last value of "value@kernels,value@kernels,…" that many kernels have been launched for. */
static unsigned scripted(const char *script, unsigned value)
{
	uint64_t kernels = standin_kernels ? standin_kernels() : 0;
	char *end;

	for (; script && *script; script = *end ? end + 1 : end) {
		unsigned next = (unsigned)strtoul(script, &end, 10);

		if (*end != '@' || strtoull(end + 1, &end, 10) <= kernels)
			value = next;
	}
	return value;
}

EXPORT nvmlInit_v2(void)
{
	return answer("nvmlInit_v2");
}

EXPORT nvmlShutdown(void)
{
	return 0;
}

EXPORT nvmlSystemGetDriverVersion(char *version, unsigned length)
{
	return snprintf(version, length, "stand-in") < 0;
}

EXPORT nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device)
{
	static char all;

	*device = &all;
	if (strncmp(bus, "0000:", 5) != 0)
		return INVALID_ARGUMENT;
	return answer("nvmlDeviceGetHandleByPciBusId_v2");
}

EXPORT nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz)
{
	(void)device;
	*mhz = scripted(getenv(type == CLOCK_SM ? "STANDIN_NVML_SM" : "STANDIN_NVML_MEM"), 1000);
	return answer("nvmlDeviceGetClockInfo");
}

EXPORT nvmlDeviceGetMaxClockInfo(void *device, int type, unsigned *mhz)
{
	return nvmlDeviceGetClockInfo(device, type, mhz);
}

EXPORT nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
	(void)device;
	*reasons = setting("STANDIN_NVML_THROTTLE");
	return answer("nvmlDeviceGetCurrentClocksThrottleReasons");
}

EXPORT nvmlDeviceGetUtilizationRates(void *device, struct nvml_utilisation *rates)
{
	(void)device;
	*rates = (struct nvml_utilisation){.gpu = (unsigned)setting("STANDIN_NVML_BUSY")};
	return partitioned() ? NOT_SUPPORTED : 0;
}

EXPORT nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count,
					       struct nvml_process *list)
{
	const char *text = getenv("STANDIN_NVML_PIDS");
	unsigned room = *count;
	char *end;

	(void)device;
	for (*count = 0; text && *text; text = *end ? end + 1 : end) {
		unsigned pid = (unsigned)strtoul(text, &end, 10);

		if (!strncmp(text, "self", 4)) {
			pid = (unsigned)getpid();
			end += 4;
		}

		const unsigned part = *end == '/' ? (unsigned)strtoul(end + 1, &end, 10) : 0;

		if (*count < room)
			list[*count] = (struct nvml_process){.pid = pid, .gpu_instance = part};
		++*count;
	}
	return *count > room ? INSUFFICIENT_SIZE : 0;
}

EXPORT nvmlDeviceGetProcessUtilization(void *device, struct nvml_process_use *list, unsigned *count,
				       unsigned long long since)
{
	unsigned share = scripted(getenv("STANDIN_NVML_OTHERS"), 0), room = *count;

	(void)device;
	if (!since) /* the mean of half a minute, in which nothing else ran */
		share /= 2;
	if (partitioned())
		return NOT_SUPPORTED;
	*count = 2;
	if (!share)
		return NOT_FOUND;
	if (room < 2 || !list)
		return INSUFFICIENT_SIZE;
	list[0] = (struct nvml_process_use){.pid = (unsigned)getpid(), .sm = 100 - share};
	list[1] = (struct nvml_process_use){.pid = 1, .sm = share};
	return answer("nvmlDeviceGetProcessUtilization");
}

EXPORT nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
	(void)device;
	(void)sensor;
	*celsius = 40;
	return 0;
}

EXPORT nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
	(void)device;
	*milliwatts = 100000;
	return 0;
}
