/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/counters/range_session.h"

/* A parameter block of CUPTI's, its size filled in. */
#define PARAMS(type, name, ...)                                                                    \
	type##_Params name = {.structSize = type##_Params_STRUCT_SIZE, __VA_ARGS__}

/* A call of CUPTI's, its name kept where it fails. */
#define CALL(r, call, params) named(r, #call, gw_cupti.call(params))

static CUptiResult named(struct gw_range *r, const char *name, CUptiResult result)
{
	if (result != CUPTI_SUCCESS)
		r->failed = name;
	return result;
}

bool gw_range_usable(void)
{
	return gw_cupti_host_usable() && gw_cupti.cuptiRangeProfilerEnable &&
	       gw_cupti.cuptiRangeProfilerDisable && gw_cupti.cuptiRangeProfilerSetConfig &&
	       gw_cupti.cuptiRangeProfilerStart && gw_cupti.cuptiRangeProfilerStop &&
	       gw_cupti.cuptiRangeProfilerPushRange && gw_cupti.cuptiRangeProfilerPopRange &&
	       gw_cupti.cuptiRangeProfilerDecodeData &&
	       gw_cupti.cuptiRangeProfilerGetCounterDataSize &&
	       gw_cupti.cuptiRangeProfilerCounterDataImageInitialize;
}

CUptiResult gw_range_open(struct gw_range *r, CUcontext context)
{
	PARAMS(CUpti_RangeProfiler_Enable, p, .ctx = context);
	CUptiResult result;

	*r = (struct gw_range){0};
	result = CALL(r, cuptiRangeProfilerEnable, &p);
	if (result == CUPTI_SUCCESS)
		r->object = p.pRangeProfilerObject;
	return result;
}

size_t gw_range_data_size(struct gw_range *r, const struct gw_cupti_set *set, CUptiResult *why)
{
	PARAMS(CUpti_RangeProfiler_GetCounterDataSize, p, .pRangeProfilerObject = r->object,
	       .pMetricNames = (const char **)(uintptr_t)set->names, .numMetrics = set->count,
	       .maxNumOfRanges = 1, .maxNumRangeTreeNodes = 1);

	*why = CALL(r, cuptiRangeProfilerGetCounterDataSize, &p);
	return *why == CUPTI_SUCCESS ? p.counterDataSize : 0;
}

static CUptiResult configure(struct gw_range *r, const struct gw_cupti_set *set, uint8_t *data,
                             size_t size)
{
	PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize, init,
	       .pRangeProfilerObject = r->object, .counterDataSize = size, .pCounterData = data);
	PARAMS(CUpti_RangeProfiler_SetConfig, p, .pRangeProfilerObject = r->object,
	       .configSize = set->size, .pConfig = set->image, .counterDataImageSize = size,
	       .pCounterDataImage = data, .range = CUPTI_UserRange, .replayMode = CUPTI_UserReplay,
	       .maxRangesPerPass = 1, .numNestingLevels = 1, .minNestingLevel = 1,
	       .targetNestingLevel = 1);
	CUptiResult result = CALL(r, cuptiRangeProfilerCounterDataImageInitialize, &init);

	return result == CUPTI_SUCCESS ? CALL(r, cuptiRangeProfilerSetConfig, &p) : result;
}

CUptiResult gw_range_begin(struct gw_range *r, const struct gw_cupti_set *set, uint8_t *data,
                           size_t size)
{
	PARAMS(CUpti_RangeProfiler_Start, start, .pRangeProfilerObject = r->object);
	PARAMS(CUpti_RangeProfiler_PushRange, push, .pRangeProfilerObject = r->object,
	       .pRangeName = "launch");
	CUptiResult result = configure(r, set, data, size);

	if (result != CUPTI_SUCCESS)
		return result;
	result = CALL(r, cuptiRangeProfilerStart, &start);
	r->started = result == CUPTI_SUCCESS;
	if (!r->started)
		return result;
	result = CALL(r, cuptiRangeProfilerPushRange, &push);
	r->pushed = result == CUPTI_SUCCESS;
	if (!r->pushed)
		gw_range_end(r);
	return result;
}

static CUptiResult first(CUptiResult a, CUptiResult b)
{
	return a != CUPTI_SUCCESS ? a : b;
}

CUptiResult gw_range_end(struct gw_range *r)
{
	PARAMS(CUpti_RangeProfiler_PopRange, pop, .pRangeProfilerObject = r->object);
	PARAMS(CUpti_RangeProfiler_Stop, stop, .pRangeProfilerObject = r->object);
	PARAMS(CUpti_RangeProfiler_DecodeData, decode, .pRangeProfilerObject = r->object);
	CUptiResult result = CUPTI_SUCCESS;
	bool whole = r->pushed && r->started;

	if (r->pushed)
		result = CALL(r, cuptiRangeProfilerPopRange, &pop);
	if (r->started)
		result = first(result, CALL(r, cuptiRangeProfilerStop, &stop));
	r->pushed = r->started = false;
	if (!whole || result != CUPTI_SUCCESS)
		return first(result, whole ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION);
	result = CALL(r, cuptiRangeProfilerDecodeData, &decode);
	return first(result, decode.numOfRangeDropped ? CUPTI_ERROR_OUT_OF_MEMORY : CUPTI_SUCCESS);
}

void gw_range_close(struct gw_range *r)
{
	PARAMS(CUpti_RangeProfiler_Disable, p, .pRangeProfilerObject = r->object);

	if (!r->object)
		return;
	if (r->started)
		gw_range_end(r);
	gw_cupti.cuptiRangeProfilerDisable(&p);
	*r = (struct gw_range){0};
}
