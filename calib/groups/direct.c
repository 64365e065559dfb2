/*
 * Values that need no measurement (Sanchez Gil 2017, 5.1): from the driver or a vendor's document.
 */
#include <stdio.h>

#include "calib/bench.h"
#include "calib/nvml/nvml.h"

/* Attributes of the driver, each with the factor to the parameter's unit. */
static const struct {
	enum gw_param param;
	CUdevice_attribute attribute;
	double scale;
	const char *how;
} reported[] = {
#define REPORTED(name, attribute, scale) \
	{ \
		GW_PARAM_##name, CU_DEVICE_ATTRIBUTE_##attribute, scale, \
			"CU_DEVICE_ATTRIBUTE_" #attribute \
	}
	REPORTED(sm_clock, CLOCK_RATE, 1e3),
	REPORTED(mem_clock, MEMORY_CLOCK_RATE, 1e3),
	REPORTED(sm_count, MULTIPROCESSOR_COUNT, 1),
	REPORTED(warp_size, WARP_SIZE, 1),
	REPORTED(l2_size, L2_CACHE_SIZE, 1),
	REPORTED(max_threads_per_sm, MAX_THREADS_PER_MULTIPROCESSOR, 1),
	REPORTED(max_blocks_per_sm, MAX_BLOCKS_PER_MULTIPROCESSOR, 1),
	REPORTED(max_threads_per_block, MAX_THREADS_PER_BLOCK, 1),
	REPORTED(registers_per_sm, MAX_REGISTERS_PER_MULTIPROCESSOR, 1),
	REPORTED(shared_per_sm, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 1),
	REPORTED(shared_per_block, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 1),
	REPORTED(shared_reserved, RESERVED_SHARED_MEMORY_PER_BLOCK, 1),
#undef REPORTED
};

/*
 * Values that no call returns, by compute capability: the CUDA C++ Programming Guide, tables
 * "throughput of native arithmetic instructions" and "technical specifications per compute
 * capability".
 */
static const struct {
	int capability;
	double schedulers, fp32_lanes, l1_kib;
} documented[] = {
	{75, 4, 64, 96},    {80, 4, 64, 192},   {86, 4, 128, 128},
	{87, 4, 128, 192},  {89, 4, 128, 128},  {90, 4, 128, 256},
	{100, 4, 128, 256}, {103, 4, 128, 256}, {120, 4, 128, 128},
};

static int attribute(struct gw_bench *b, CUdevice_attribute which)
{
	int value = 0;

	return gw_bench_good(b, b->cu->cuDeviceGetAttribute(&value, which, b->device),
			     "cuDeviceGetAttribute")
		       ? value
		       : 0;
}

static void tell_documented(struct gw_bench *b, int capability)
{
	const char *source = "CUDA C++ Programming Guide, tables by compute capability";
	char why[80];

	for (size_t i = 0; i < sizeof(documented) / sizeof(*documented); i++) {
		if (documented[i].capability != capability)
			continue;
		gw_bench_publish_reported(b, GW_PARAM_schedulers_per_sm, documented[i].schedulers,
					  GW_METHOD_VENDOR, source);
		gw_bench_publish_reported(b, GW_PARAM_fp32_lanes_per_sm, documented[i].fp32_lanes,
					  GW_METHOD_VENDOR, source);
		gw_bench_publish_reported(b, GW_PARAM_l1_size, documented[i].l1_kib * 1024,
					  GW_METHOD_VENDOR, source);
		return;
	}
	snprintf(why, sizeof(why), "compute capability %d.%d is not in gpuwatch's table",
		 capability / 10, capability % 10);
	gw_bench_refuse(b, GW_PARAM_schedulers_per_sm, why);
	gw_bench_refuse(b, GW_PARAM_fp32_lanes_per_sm, why);
	gw_bench_refuse(b, GW_PARAM_l1_size, why);
}

/* Highest SM clock: NVML's, or the nominal one where there is no NVML. */
static void tell_highest_clock(struct gw_bench *b)
{
	double highest = gw_nvml_sm_clock_max(b->nvml);

	if (highest > 0)
		gw_bench_publish_reported(b, GW_PARAM_sm_clock_max, highest, GW_METHOD_DRIVER,
					  "nvmlDeviceGetMaxClockInfo");
	else
		gw_bench_refuse(b, GW_PARAM_sm_clock_max, "NVML does not report it");
}

/* Sanchez Gil 2017, 6.4.1: both edges of the memory clock over the width of the bus. */
static void tell_peak_bandwidth(struct gw_bench *b)
{
	double width = attribute(b, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
	double clock = gw_param(b->known, GW_PARAM_mem_clock);

	if (width > 0 && clock > 0)
		gw_bench_publish_reported(b, GW_PARAM_b_mem_spec, 2 * clock * width / 8,
					  GW_METHOD_DRIVER, "2 x memory clock x bus width");
	else
		gw_bench_refuse(b, GW_PARAM_b_mem_spec,
				"the driver does not report the memory's clock or width");
}

bool gw_group_direct(struct gw_bench *b)
{
	int capability = 10 * attribute(b, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
			 attribute(b, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
	size_t memory = 0;

	for (size_t i = 0; i < sizeof(reported) / sizeof(*reported); i++) {
		int value = attribute(b, reported[i].attribute);

		if (value > 0)
			gw_bench_publish_reported(b, reported[i].param, value * reported[i].scale,
						  GW_METHOD_DRIVER, reported[i].how);
		else
			gw_bench_refuse(b, reported[i].param, "the driver does not report it");
	}
	gw_bench_publish_reported(b, GW_PARAM_compute_capability, capability, GW_METHOD_DRIVER,
				  "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR");
	if (gw_bench_good(b, b->cu->cuDeviceTotalMem_v2(&memory, b->device), "cuDeviceTotalMem"))
		gw_bench_publish_reported(b, GW_PARAM_global_memory, (double)memory,
					  GW_METHOD_DRIVER, "cuDeviceTotalMem");
	tell_documented(b, capability);
	tell_highest_clock(b);
	tell_peak_bandwidth(b);
	return true;
}
