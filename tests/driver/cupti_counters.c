/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host half of PM sampling: names of metrics into images, collected data into values.
 * STANDIN_METRICS=n: so many fit into one pass (default 8). STANDIN_NO_METRIC=name: one this chip
 * lacks.
 */
#include "cupti_si.h"
#include <stdlib.h>
#include <string.h>

struct CUpti_Profiler_Host_Object {
	const char *names[SC_NAMES];
	size_t count;
};

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
	if (!p->pChipName || strcmp(p->pChipName, "STANDIN") ||
	    p->profilerType != CUPTI_PROFILER_TYPE_PM_SAMPLING)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p->pHostObject = calloc(1, sizeof(*p->pHostObject));
	if (!p->pHostObject)
		return CUPTI_ERROR_OUT_OF_MEMORY;
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
		    sc_pm_metric(p->ppMetricNames[i]) < 0)
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
	for (size_t i = 0; i < p->pHostObject->count; i++)
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

SC_API cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *p)
{
	size_t found = 0;

	SC_ENTER();
	while (found < p->numMetrics &&
	       sc_pm_value(p->pCounterDataImage, p->rangeIndex, p->ppMetricNames[found],
	                   &p->pMetricValues[found]))
		found++;
	return found == p->numMetrics ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_METRIC_NAME;
}
