/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host half of the profilers: names of metrics into images, collected data into values. A
 * metric is worth so much for each kernel, block, warp or thread that ran while it was counted.
 * STANDIN_METRICS=n: so many fit into one pass (default 8). STANDIN_NO_METRIC=name: one this chip
 * lacks.
 */
#include "cupti_counters.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KERNEL, BLOCK, WARP, THREAD };
/* What kernels count: their own, and what CUPTI's record of them adds. */
static const struct {
	const char *name;
	int of;
	double worth;
} metrics[] = {
        {"dram__bytes_read.sum", THREAD, 4},
        {"dram__bytes_write.sum", THREAD, 2},
        {"smsp__inst_executed.sum", WARP, 100 + 8},
        {"smsp__inst_issued.sum", WARP, 101 + 8},
        {"smsp__thread_inst_executed_pred_on.sum", THREAD, 99 + 8},
        {"sm__inst_executed_pipe_tensor.sum", BLOCK, 16},
};

struct CUpti_Profiler_Host_Object {
	const char *names[SC_NAMES];
	size_t count;
	bool sampled; /* for PM sampling, which has metrics of its own */
};

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static struct sc_counts *into;

void sc_count_into(struct sc_counts *counts)
{
	pthread_mutex_lock(&counting);
	into = counts;
	pthread_mutex_unlock(&counting);
}

void sc_count_kernel(const struct si_execution *x)
{
	const struct si_dim *g = &x->config.grid, *b = &x->config.block;
	uint64_t blocks = (uint64_t)g->x * g->y * g->z, threads = (uint64_t)b->x * b->y * b->z;

	pthread_mutex_lock(&counting);
	if (into) {
		into->kernels++;
		into->blocks += blocks;
		into->warps += blocks * ((threads + 31) / 32);
		into->threads += blocks * threads;
	}
	pthread_mutex_unlock(&counting);
}

static size_t in_one_pass(void)
{
	return (size_t)sc_driver()->env_u64("STANDIN_METRICS", 8);
}

SC_API cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *p)
{
	(void)p;
	SC_ENTER();
	return CUPTI_SUCCESS;
}

SC_API cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *p)
{
	SC_ENTER();
	p->pChipName = "STANDIN";
	return p->deviceIndex ? CUPTI_ERROR_INVALID_DEVICE : CUPTI_SUCCESS;
}

SC_API cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *p)
{
	SC_ENTER();
	if (!p->pChipName || strcmp(p->pChipName, "STANDIN"))
		return CUPTI_ERROR_INVALID_PARAMETER;
	p->pHostObject = calloc(1, sizeof(*p->pHostObject));
	if (!p->pHostObject)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	p->pHostObject->sampled = p->profilerType == CUPTI_PROFILER_TYPE_PM_SAMPLING;
	return CUPTI_SUCCESS;
}

SC_API cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *p)
{
	SC_ENTER();
	free(p->pHostObject);
	return CUPTI_SUCCESS;
}

SC_API cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *p)
{
	const char *lacking = getenv("STANDIN_NO_METRIC");

	SC_ENTER();
	for (size_t i = 0; i < p->numMetrics; i++) {
		if ((lacking && !strcmp(p->ppMetricNames[i], lacking)) ||
		    (p->pHostObject->sampled && sc_pm_metric(p->ppMetricNames[i]) < 0))
			return CUPTI_ERROR_INVALID_METRIC_NAME;
		if (p->pHostObject->count == SC_NAMES)
			return CUPTI_ERROR_OUT_OF_MEMORY;
		p->pHostObject->names[p->pHostObject->count++] = p->ppMetricNames[i];
	}
	return CUPTI_SUCCESS;
}

SC_API cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *p)
{
	SC_ENTER();
	p->configImageSize = sizeof(struct sc_config);
	return CUPTI_SUCCESS;
}

SC_API cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *p)
{
	struct sc_config c = {.magic = SC_CONFIG_MAGIC};

	SC_ENTER();
	if (p->configImageSize < sizeof(c))
		return CUPTI_ERROR_INVALID_PARAMETER;
	c.passes = (uint32_t)((p->pHostObject->count + in_one_pass() - 1) / in_one_pass());
	for (size_t i = 0; p->pHostObject->sampled && i < p->pHostObject->count; i++)
		c.metric[c.count++] = (uint8_t)sc_pm_metric(p->pHostObject->names[i]);
	memcpy(p->pConfigImage, &c, sizeof(c));
	return CUPTI_SUCCESS;
}

SC_API cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *p)
{
	struct sc_config c;

	SC_ENTER();
	memcpy(&c, p->pConfigImage, sizeof(c));
	p->numOfPasses = c.passes;
	return c.magic == SC_CONFIG_MAGIC ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

static double value_of(const char *name, const struct sc_counts *c)
{
	const uint64_t amount[] = {c->kernels, c->blocks, c->warps, c->threads};

	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
		if (!strcmp(metrics[i].name, name))
			return metrics[i].worth * (double)amount[metrics[i].of];
	return (double)c->warps;
}

SC_API cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *p)
{
	struct sc_data d;
	size_t found = 0;

	SC_ENTER();
	while (found < p->numMetrics &&
	       sc_pm_value(p->pCounterDataImage, p->rangeIndex, p->ppMetricNames[found],
	                   &p->pMetricValues[found]))
		found++;
	if (found)
		return found == p->numMetrics ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_METRIC_NAME;
	memcpy(&d, p->pCounterDataImage, sizeof(d));
	if (d.magic != SC_DATA_MAGIC || p->rangeIndex >= d.ranges)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < p->numMetrics; i++)
		p->pMetricValues[i] = d.blank ? NAN : value_of(p->ppMetricNames[i], &d.counts);
	return CUPTI_SUCCESS;
}
