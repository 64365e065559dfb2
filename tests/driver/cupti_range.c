/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The range profiler: user ranges, user replay, one pass. As in the real one, pushing and popping
 * wait until the calling thread's context is idle, and a call out of turn is refused.
 */
#include "cupti_counters.h"
#include <stdlib.h>
#include <string.h>

struct CUpti_RangeProfiler_Object {
	uint8_t *data;
	size_t size;       /* as last asked for: what data is prepared for */
	const void *first; /* the configuration that it counts, whatever it is given later */
	bool configured, blank, started, pushed, popped;
	struct sc_counts counts;
};

SC_API cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *p)
{
	SC_ENTER();
	p->pRangeProfilerObject = calloc(1, sizeof(*p->pRangeProfilerObject));
	return p->pRangeProfilerObject ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY;
}

SC_API cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params *p)
{
	SC_ENTER();
	if (!p->pRangeProfilerObject)
		return CUPTI_ERROR_INVALID_PARAMETER;
	sc_count_into(NULL);
	free(p->pRangeProfilerObject);
	return CUPTI_SUCCESS;
}

SC_API cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params *p)
{
	SC_ENTER();
	p->counterDataSize = sizeof(struct sc_data) + 16 * p->numMetrics;
	p->pRangeProfilerObject->size = p->counterDataSize;
	return p->maxNumOfRanges && p->maxNumRangeTreeNodes >= p->maxNumOfRanges
	               ? CUPTI_SUCCESS
	               : CUPTI_ERROR_INVALID_PARAMETER;
}

SC_API
cuptiRangeProfilerCounterDataImageInitialize(
        CUpti_RangeProfiler_CounterDataImage_Initialize_Params *p)
{
	struct sc_data d = {.magic = SC_DATA_MAGIC};

	SC_ENTER();
	if (!p->pRangeProfilerObject->size || p->counterDataSize != p->pRangeProfilerObject->size)
		return CUPTI_ERROR_UNKNOWN;
	memcpy(p->pCounterData, &d, sizeof(d));
	return CUPTI_SUCCESS;
}

SC_API cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params *p)
{
	CUpti_RangeProfiler_Object *o = p->pRangeProfilerObject;
	struct sc_config c;

	SC_ENTER();
	memcpy(&c, p->pConfig, sizeof(c));
	if (o->started || c.magic != SC_CONFIG_MAGIC || c.passes != 1 ||
	    p->range != CUPTI_UserRange || p->replayMode != CUPTI_UserReplay ||
	    p->maxRangesPerPass != 1 || p->counterDataImageSize < sizeof(struct sc_data))
		return CUPTI_ERROR_INVALID_PARAMETER;
	o->data = p->pCounterDataImage;
	o->first = o->first ? o->first : p->pConfig;
	o->blank = o->first != p->pConfig || getenv("STANDIN_RANGE_BLANK");
	o->configured = true;
	return CUPTI_SUCCESS;
}

/* The calls in their order; any other is refused. */
static CUptiResult turn(bool right)
{
	return right ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

SC_API cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params *p)
{
	CUpti_RangeProfiler_Object *o = p->pRangeProfilerObject;

	SC_ENTER();
	if (!o->configured || o->started)
		return turn(false);
	o->started = true;
	o->popped = false;
	return CUPTI_SUCCESS;
}

SC_API cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params *p)
{
	CUpti_RangeProfiler_Object *o = p->pRangeProfilerObject;

	SC_ENTER();
	if (!o->started || o->pushed)
		return turn(false);
	sc_driver()->wait();
	o->counts = (struct sc_counts){0};
	o->pushed = true;
	sc_count_into(&o->counts);
	return CUPTI_SUCCESS;
}

SC_API cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params *p)
{
	CUpti_RangeProfiler_Object *o = p->pRangeProfilerObject;

	SC_ENTER();
	if (!o->pushed)
		return turn(false);
	sc_driver()->wait();
	sc_count_into(NULL);
	o->pushed = false;
	o->popped = true;
	return CUPTI_SUCCESS;
}

SC_API cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params *p)
{
	CUpti_RangeProfiler_Object *o = p->pRangeProfilerObject;

	SC_ENTER();
	if (!o->started || o->pushed)
		return turn(false);
	o->started = false;
	p->isAllPassSubmitted = 1;
	return CUPTI_SUCCESS;
}

SC_API cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params *p)
{
	CUpti_RangeProfiler_Object *o = p->pRangeProfilerObject;
	struct sc_data d = {
	        .magic = SC_DATA_MAGIC, .ranges = 1, .blank = o->blank, .counts = o->counts};

	SC_ENTER();
	p->numOfRangeDropped = 0;
	if (o->started || !o->popped)
		return turn(false);
	memcpy(o->data, &d, sizeof(d));
	return CUPTI_SUCCESS;
}
