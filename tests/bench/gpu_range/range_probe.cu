// SPDX-License-Identifier: Apache-2.0
// The range profiler around one launch (user range, user replay, one pass): which call answers what, for
// several settings, and what each costs.
#include "../cupti_probe.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <vector>
__global__ void add(const float *in, float *out, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		out[i] = in[i] + 1;
}
static const char *names[] = {"dram__bytes_read.sum", "dram__bytes_write.sum", "smsp__inst_executed.sum", "smsp__inst_issued.sum"};
static float *a;
static void CUPTIAPI req(uint8_t **b, size_t *s, size_t *n) { *s = 1 << 20; *b = (uint8_t *)aligned_alloc(8, *s); *n = 0; }
static void CUPTIAPI done(CUcontext, uint32_t, uint8_t *b, size_t, size_t) { free(b); }

// @p min, @p target: nesting levels; @p availability: ask the context what it can count; @p ranges, @p nodes
static bool run(int min, int target, bool availability, int ranges, int nodes)
{
	CUcontext ctx;
	cuCtxGetCurrent(&ctx);
	printf("min level %d, target level %d, availability %d, ranges %d, nodes %d\n", min, target, availability, ranges, nodes);
	CUpti_Profiler_Initialize_Params init = {CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
	timed("ProfilerInitialize", [&] { return cuptiProfilerInitialize(&init); });
	CUpti_Device_GetChipName_Params chip = {CUpti_Device_GetChipName_Params_STRUCT_SIZE};
	cuptiDeviceGetChipName(&chip);
	std::vector<uint8_t> image;
	if (availability) {
		CUpti_Profiler_GetCounterAvailability_Params av = {CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE};
		av.ctx = ctx;
		timed("GetCounterAvailability", [&] { return cuptiProfilerGetCounterAvailability(&av); });
		image.resize(av.counterAvailabilityImageSize);
		av.pCounterAvailabilityImage = image.data();
		timed("GetCounterAvailability", [&] { return cuptiProfilerGetCounterAvailability(&av); });
	}
	CUpti_Profiler_Host_Initialize_Params host = {CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE};
	host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
	host.pChipName = chip.pChipName;
	host.pCounterAvailabilityImage = availability ? image.data() : NULL;
	timed("HostInitialize", [&] { return cuptiProfilerHostInitialize(&host); });
	CUpti_Profiler_Host_ConfigAddMetrics_Params m = {CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE};
	m.pHostObject = host.pHostObject;
	m.ppMetricNames = names;
	m.numMetrics = 4;
	timed("ConfigAddMetrics", [&] { return cuptiProfilerHostConfigAddMetrics(&m); });
	CUpti_Profiler_Host_GetConfigImageSize_Params cs = {CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE};
	cs.pHostObject = host.pHostObject;
	cuptiProfilerHostGetConfigImageSize(&cs);
	std::vector<uint8_t> config(cs.configImageSize);
	CUpti_Profiler_Host_GetConfigImage_Params ci = {CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE};
	ci.pHostObject = host.pHostObject;
	ci.configImageSize = config.size();
	ci.pConfigImage = config.data();
	timed("GetConfigImage", [&] { return cuptiProfilerHostGetConfigImage(&ci); });
	CUpti_RangeProfiler_Enable_Params en = {CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE};
	en.ctx = ctx;
	timed("Enable", [&] { return cuptiRangeProfilerEnable(&en); });
	CUpti_RangeProfiler_GetCounterDataSize_Params ds = {CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE};
	ds.pRangeProfilerObject = en.pRangeProfilerObject;
	ds.pMetricNames = names;
	ds.numMetrics = 4;
	ds.maxNumOfRanges = ranges;
	ds.maxNumRangeTreeNodes = nodes;
	timed("GetCounterDataSize", [&] { return cuptiRangeProfilerGetCounterDataSize(&ds); });
	bool good = true;
	for (int k = 0; k < 3 && good; k++) {
		std::vector<uint8_t> data(ds.counterDataSize);
		CUpti_RangeProfiler_CounterDataImage_Initialize_Params di = {CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE};
		di.pRangeProfilerObject = en.pRangeProfilerObject;
		di.counterDataSize = data.size();
		di.pCounterData = data.data();
		good &= !timed("CounterDataInitialize", [&] { return cuptiRangeProfilerCounterDataImageInitialize(&di); });
		CUpti_RangeProfiler_SetConfig_Params sc = {CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE};
		sc.pRangeProfilerObject = en.pRangeProfilerObject;
		sc.configSize = config.size();
		sc.pConfig = config.data();
		sc.counterDataImageSize = data.size();
		sc.pCounterDataImage = data.data();
		sc.range = CUPTI_UserRange;
		sc.replayMode = CUPTI_UserReplay;
		sc.maxRangesPerPass = ranges;
		sc.numNestingLevels = 1;
		sc.minNestingLevel = min;
		sc.targetNestingLevel = target;
		good &= !timed("SetConfig", [&] { return cuptiRangeProfilerSetConfig(&sc); });
		CUpti_RangeProfiler_Start_Params st = {CUpti_RangeProfiler_Start_Params_STRUCT_SIZE};
		st.pRangeProfilerObject = en.pRangeProfilerObject;
		good &= !timed("Start", [&] { return cuptiRangeProfilerStart(&st); });
		CUpti_RangeProfiler_PushRange_Params pu = {CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE};
		pu.pRangeProfilerObject = en.pRangeProfilerObject;
		pu.pRangeName = "launch";
		good &= !timed("PushRange", [&] { return cuptiRangeProfilerPushRange(&pu); });
		add<<<256, 256>>>(a, a + (1 << 24), 1 << 24);
		CUpti_RangeProfiler_PopRange_Params po = {CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE};
		po.pRangeProfilerObject = en.pRangeProfilerObject;
		good &= !timed("PopRange", [&] { return cuptiRangeProfilerPopRange(&po); });
		CUpti_RangeProfiler_Stop_Params sp = {CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE};
		sp.pRangeProfilerObject = en.pRangeProfilerObject;
		good &= !timed("Stop", [&] { return cuptiRangeProfilerStop(&sp); });
		CUpti_RangeProfiler_DecodeData_Params de = {CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE};
		de.pRangeProfilerObject = en.pRangeProfilerObject;
		good &= !timed("DecodeData", [&] { return cuptiRangeProfilerDecodeData(&de); });
		double v[4] = {-1, -1, -1, -1};
		CUpti_Profiler_Host_EvaluateToGpuValues_Params ev = {CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE};
		ev.pHostObject = host.pHostObject;
		ev.pCounterDataImage = data.data();
		ev.counterDataImageSize = data.size();
		ev.ppMetricNames = names;
		ev.numMetrics = 4;
		ev.pMetricValues = v;
		good &= !timed("Evaluate", [&] { return cuptiProfilerHostEvaluateToGpuValues(&ev); });
		printf("    all submitted %d, dropped %zu: read %.0f written %.0f inst %.0f issued %.0f (truth 67108864 bytes each way)\n", sp.isAllPassSubmitted, de.numOfRangeDropped, v[0], v[1], v[2], v[3]);
	}
	CUpti_RangeProfiler_Disable_Params di = {CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE};
	di.pRangeProfilerObject = en.pRangeProfilerObject;
	timed("Disable", [&] { return cuptiRangeProfilerDisable(&di); });
	CUpti_Profiler_Host_Deinitialize_Params hd = {CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE};
	hd.pHostObject = host.pHostObject;
	cuptiProfilerHostDeinitialize(&hd);
	return good;
}

int main(int argc, char **argv)
{
	int v = argc > 1 ? atoi(argv[1]) : 0;
	cudaMalloc(&a, sizeof(float) << 26);
	cudaMemset(a, 0, sizeof(float) << 26);
	add<<<1, 1>>>(a, a, 1);
	cudaDeviceSynchronize();
	if (v & 1) {
		cuptiActivityRegisterCallbacks(req, done);
		timed("ActivityEnable", [] { return cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL); });
	}
	switch (v / 2) {
	case 0: return !run(1, 1, false, 1, 1);
	case 1: return !run(1, 0, false, 1, 1);
	case 2: return !run(1, 1, true, 1, 1);
	case 3: return !run(0, 0, false, 1, 1);
	case 4: return !run(1, 1, false, 8, 8);
	default: return !run(1, 1, false, 1, 2);
	}
}
