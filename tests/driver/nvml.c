/* SPDX-License-Identifier: Apache-2.0 */
/* The part of libnvidia-ml.so.1 that gpuwatch asks (nvml/nvml.def). */
#include "nvml/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default"))) int
enum { INVALID_ARGUMENT = 2, INSUFFICIENT_SIZE = 7 };

#define NVML(symbol, parameters) int symbol parameters;
#include "nvml/nvml.def"
#undef NVML

static unsigned long long setting(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : 0;
}

EXPORT nvmlInit_v2(void)
{
	return 0;
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
	return strncmp(bus, "0000:", 5) == 0 ? 0 : INVALID_ARGUMENT;
}

EXPORT nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz)
{
	(void)device;
	(void)type;
	*mhz = 1000;
	return 0;
}

EXPORT nvmlDeviceGetMaxClockInfo(void *device, int type, unsigned *mhz)
{
	return nvmlDeviceGetClockInfo(device, type, mhz);
}

EXPORT nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
	(void)device;
	*reasons = setting("STANDIN_NVML_THROTTLE");
	return 0;
}

EXPORT nvmlDeviceGetUtilizationRates(void *device, struct nvml_utilisation *rates)
{
	(void)device;
	*rates = (struct nvml_utilisation){.gpu = (unsigned)setting("STANDIN_NVML_BUSY")};
	return 0;
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

		if (*count < room)
			list[*count] = (struct nvml_process){.pid = pid};
		++*count;
	}
	return *count > room ? INSUFFICIENT_SIZE : 0;
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
