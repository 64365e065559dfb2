#include "preload/counters/pm_sampler.h"
#include "preload/maps/memory.h"

#include <stdlib.h>
#include <sys/mman.h>

/* The buffer on the GPU: configuring takes 85 ms with this, 1.2 s with 64 MiB (H200). */
enum { HARDWARE_BUFFER = 16 << 20 };

/* A parameter block of CUPTI's, its size filled in. */
#define PARAMS(type, name, ...) \
	type##_Params name = {.structSize = type##_Params_STRUCT_SIZE, __VA_ARGS__}

bool gw_pm_usable(void)
{
	static const uint16_t needed[] = {
#define CUPTI(symbol, need) offsetof(struct gw_cupti, symbol),
#include "preload/cupti/cupti_counters.def"
#undef CUPTI
	};

	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!*(void **)((char *)&gw_cupti + needed[i]))
			return false;
	return true;
}

uint8_t *gw_pm_availability(size_t device, CUptiResult *why)
{
	PARAMS(CUpti_PmSampling_GetCounterAvailability, p, .deviceIndex = device);

	*why = gw_cupti.cuptiPmSamplingGetCounterAvailability(&p);
	if (*why != CUPTI_SUCCESS)
		return NULL;
	p.pCounterAvailabilityImage = calloc(1, p.counterAvailabilityImageSize);
	*why = p.pCounterAvailabilityImage ? gw_cupti.cuptiPmSamplingGetCounterAvailability(&p)
					   : CUPTI_ERROR_OUT_OF_MEMORY;
	if (*why == CUPTI_SUCCESS)
		return p.pCounterAvailabilityImage;
	free(p.pCounterAvailabilityImage);
	return NULL;
}

CUptiResult gw_pm_open(struct gw_pm_sampler *s, size_t device)
{
	PARAMS(CUpti_PmSampling_Enable, p, .deviceIndex = device);
	CUptiResult r = gw_cupti.cuptiPmSamplingEnable(&p);

	*s = (struct gw_pm_sampler){.device = device};
	if (r == CUPTI_SUCCESS)
		s->object = p.pPmSamplingObject;
	return r;
}

static CUptiResult set_config(struct gw_pm_sampler *s, uint64_t interval,
			      CUpti_PmSampling_TriggerMode trigger)
{
	PARAMS(CUpti_PmSampling_SetConfig, p, .pPmSamplingObject = s->object,
	       .configSize = s->set->size, .pConfig = s->set->image,
	       .hardwareBufferSize = HARDWARE_BUFFER, .samplingInterval = interval,
	       .triggerMode = trigger,
	       .hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST);

	return gw_cupti.cuptiPmSamplingSetConfig(&p);
}

CUptiResult gw_pm_configure(struct gw_pm_sampler *s, const struct gw_cupti_set *set,
			    uint64_t interval_ns)
{
	PARAMS(CUpti_PmSampling_GetCounterDataSize, p, .pPmSamplingObject = s->object,
	       .pMetricNames = (const char **)(uintptr_t)set->names, .numMetrics = set->count,
	       .maxSamples = GW_PM_SAMPLES);
	CUptiResult r;

	s->set = set;
	r = set_config(s, interval_ns, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
	/* Turing and GA100 have no timer for it: count cycles of the system clock, 1 to 2 a ns;
	 * each sample has its interval. */
	if (r == CUPTI_ERROR_NOT_SUPPORTED || r == CUPTI_ERROR_INVALID_PARAMETER)
		r = set_config(s, interval_ns + interval_ns / 2,
			       CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL);
	if (r != CUPTI_SUCCESS)
		return r;
	r = gw_cupti.cuptiPmSamplingGetCounterDataSize(&p);
	if (r != CUPTI_SUCCESS)
		return r;
	if (!gw_memory_take(GW_MEMORY_counting, p.counterDataSize))
		return CUPTI_ERROR_OUT_OF_MEMORY;
	s->size = p.counterDataSize;
	s->data = gw_memory_reserve(s->size);
	return s->data ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY;
}

CUptiResult gw_pm_begin(struct gw_pm_sampler *s)
{
	PARAMS(CUpti_PmSampling_CounterDataImage_Initialize, image, .pPmSamplingObject = s->object,
	       .counterDataSize = s->size, .pCounterData = s->data);
	PARAMS(CUpti_PmSampling_Start, start, .pPmSamplingObject = s->object);
	CUptiResult r = gw_cupti.cuptiPmSamplingCounterDataImageInitialize(&image);

	if (r == CUPTI_SUCCESS)
		r = gw_cupti.cuptiPmSamplingStart(&start);
	s->started = r == CUPTI_SUCCESS;
	return r;
}

CUptiResult gw_pm_end(struct gw_pm_sampler *s)
{
	PARAMS(CUpti_PmSampling_Stop, p, .pPmSamplingObject = s->object);

	s->started = false;
	return gw_cupti.cuptiPmSamplingStop(&p);
}

static CUptiResult read_one(const struct gw_pm_sampler *s, size_t index, struct gw_sample *out)
{
	PARAMS(CUpti_PmSampling_CounterData_GetSampleInfo, info, .pPmSamplingObject = s->object,
	       .pCounterDataImage = s->data, .counterDataImageSize = s->size, .sampleIndex = index);
	CUptiResult r = gw_cupti.cuptiPmSamplingCounterDataGetSampleInfo(&info);

	if (r != CUPTI_SUCCESS)
		return r;
	out->begin = info.startTimestamp;
	out->end = info.endTimestamp;
	return gw_cupti_set_values(s->set, s->data, s->size, index, out->value);
}

CUptiResult gw_pm_read(struct gw_pm_sampler *s, struct gw_sample *out, size_t room, size_t *count,
		       bool *overflow)
{
	PARAMS(CUpti_PmSampling_DecodeData, decode, .pPmSamplingObject = s->object,
	       .pCounterDataImage = s->data, .counterDataImageSize = s->size);
	PARAMS(CUpti_PmSampling_GetCounterDataInfo, info, .pCounterDataImage = s->data,
	       .counterDataImageSize = s->size);
	CUptiResult r = gw_cupti.cuptiPmSamplingDecodeData(&decode);

	*count = 0;
	/* An overflow is reported by the flag, by this error, or by both. */
	*overflow = decode.overflow || r == CUPTI_ERROR_OUT_OF_MEMORY;
	if (r != CUPTI_SUCCESS && r != CUPTI_ERROR_OUT_OF_MEMORY)
		return r;
	r = gw_cupti.cuptiPmSamplingGetCounterDataInfo(&info);
	for (size_t i = 0; r == CUPTI_SUCCESS && i < info.numCompletedSamples && i < room; i++) {
		r = read_one(s, i, &out[*count]);
		*count += r == CUPTI_SUCCESS;
	}
	return r;
}

void gw_pm_close(struct gw_pm_sampler *s)
{
	PARAMS(CUpti_PmSampling_Disable, p, .pPmSamplingObject = s->object);

	if (s->object) {
		if (s->started)
			gw_pm_end(s);
		gw_cupti.cuptiPmSamplingDisable(&p);
	}
	if (s->data)
		munmap(s->data, s->size);
	gw_memory_give(GW_MEMORY_counting, s->size);
	*s = (struct gw_pm_sampler){0};
}
