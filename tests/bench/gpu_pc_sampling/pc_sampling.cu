// SPDX-License-Identifier: Apache-2.0
// Is CUPTI's PC sampling harmless? What its calls cost, whether they wait for kernels, what
// launches cost meanwhile and afterwards, whether kernels still overlap, whether activity records
// and PM sampling work beside it, and how a process ends that does not disable it.
//   pc_sampling costs | beside | waits | unload | leave | bare
#include "../cupti_probe.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <pthread.h>
#include <unistd.h>
#include <vector>

#define CK(call)                                                                                   \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ != cudaSuccess)                                                             \
			printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorString(e_));      \
	} while (0)

__global__ void empty() {}
__global__ void stream_add(const float4 *in, float4 *out, size_t n)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x) {
		float4 v = in[i];
		v.x += 1, v.y += 2, v.z += 3, v.w += 4;
		out[i] = v;
	}
}
__global__ void spin_ns(uint64_t ns)
{
	uint64_t t0, t;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t0));
	do
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	while (t - t0 < ns);
}
// Waits for the host, at most 2 s.
__global__ void wait_host(volatile int *flag)
{
	uint64_t t0, t;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t0));
	do
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	while (!*flag && t - t0 < 2000000000ull);
}

static CUcontext context;
static CUpti_PCSamplingData data;
static size_t reasons_count;
static std::vector<CUpti_PCSamplingPCData> pcs;
static std::vector<CUpti_PCSamplingStallReason> stalls;
static float4 *memory;
static const size_t N = 16 << 20;

static void buffers(size_t n)
{
	CUpti_PCSamplingGetNumStallReasonsParams p = {CUpti_PCSamplingGetNumStallReasonsParamsSize, NULL, context, &reasons_count};
	timed("GetNumStallReasons", [&] { return cuptiPCSamplingGetNumStallReasons(&p); });
	printf("    %zu stall reasons\n", reasons_count);
	if (!pcs.empty())
		return;
	pcs.resize(n);
	stalls.resize(n * (reasons_count + 1));
	for (size_t i = 0; i < n; i++) {
		pcs[i] = CUpti_PCSamplingPCData{};
		pcs[i].size = sizeof(pcs[i]);
		pcs[i].stallReasonCount = reasons_count;
		pcs[i].stallReason = &stalls[i * (reasons_count + 1)];
	}
	data = CUpti_PCSamplingData{};
	data.size = sizeof(data);
	data.collectNumPcs = n;
	data.pPcData = pcs.data();
}

static CUptiResult configure(size_t hardware, uint32_t period)
{
	CUpti_PCSamplingConfigurationInfo info[6] = {};
	info[0].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE;
	info[0].attributeData.collectionModeData.collectionMode = CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
	info[1].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL;
	info[1].attributeData.enableStartStopControlData.enableStartStopControl = 1;
	info[2].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER;
	info[2].attributeData.samplingDataBufferData.samplingDataBuffer = &data;
	info[3].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
	info[3].attributeData.samplingPeriodData.samplingPeriod = period;
	info[4].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE;
	info[4].attributeData.hardwareBufferSizeData.hardwareBufferSize = hardware;
	info[5].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE;
	info[5].attributeData.scratchBufferSizeData.scratchBufferSize = 4 << 20;
	CUpti_PCSamplingConfigurationInfoParams p = {CUpti_PCSamplingConfigurationInfoParamsSize, NULL, context, 6, info};
	char text[80];
	snprintf(text, sizeof(text), "SetConfiguration (%zu MiB, 2^%u cycles)", hardware >> 20, period);
	return timed(text, [&] { return cuptiPCSamplingSetConfigurationAttribute(&p); });
}
static CUptiResult enable()
{
	CUpti_PCSamplingEnableParams p = {CUpti_PCSamplingEnableParamsSize, NULL, context};
	return timed("Enable", [&] { return cuptiPCSamplingEnable(&p); });
}
static CUptiResult disable()
{
	CUpti_PCSamplingDisableParams p = {CUpti_PCSamplingDisableParamsSize, NULL, context};
	return timed("Disable", [&] { return cuptiPCSamplingDisable(&p); });
}
static CUptiResult start()
{
	CUpti_PCSamplingStartParams p = {CUpti_PCSamplingStartParamsSize, NULL, context};
	return timed("Start", [&] { return cuptiPCSamplingStart(&p); });
}
static CUptiResult stop()
{
	CUpti_PCSamplingStopParams p = {CUpti_PCSamplingStopParamsSize, NULL, context};
	return timed("Stop", [&] { return cuptiPCSamplingStop(&p); });
}
static CUptiResult get(bool show)
{
	CUpti_PCSamplingGetDataParams p = {CUpti_PCSamplingGetDataParamsSize, NULL, context, &data};
	CUptiResult r = timed("GetData", [&] { return cuptiPCSamplingGetData(&p); });
	printf("    samples %llu, dropped %llu, not of user kernels %llu, PCs %zu, remaining %zu, buffer full %d\n",
	       (unsigned long long)data.totalSamples, (unsigned long long)data.droppedSamples,
	       (unsigned long long)data.nonUsrKernelsTotalSamples, data.totalNumPcs, data.remainingNumPcs, data.hardwareBufferFull);
	for (size_t i = 0; show && r == CUPTI_SUCCESS && i < data.totalNumPcs && i < pcs.size(); i++) {
		printf("    %s +0x%llx:", pcs[i].functionName, (unsigned long long)pcs[i].pcOffset);
		for (size_t k = 0; k < pcs[i].stallReasonCount; k++)
			if (pcs[i].stallReason[k].samples)
				printf(" %u:%u", pcs[i].stallReason[k].pcSamplingStallReasonIndex, pcs[i].stallReason[k].samples);
		puts("");
	}
	return r;
}

static void launches(const char *what)
{
	const int n = 20000;
	std::vector<double> us(n);
	for (int i = 0; i < 200; i++)
		empty<<<1, 1>>>();
	CK(cudaDeviceSynchronize());
	double t0 = now();
	for (int i = 0; i < n; i++) {
		double t = now();
		empty<<<1, 1>>>();
		us[i] = (now() - t) * 1e6;
	}
	CK(cudaDeviceSynchronize());
	double whole = (now() - t0) / n * 1e6;
	std::sort(us.begin(), us.end());
	printf("launches %-40s %.3f us each, call median %.3f p99.9 %.2f max %.0f\n", what, whole, us[n / 2], us[n - n / 1000], us[n - 1]);
	fflush(stdout);
}

static void stall_names()
{
	std::vector<uint32_t> index(reasons_count);
	std::vector<char> text(reasons_count * CUPTI_STALL_REASON_STRING_SIZE);
	std::vector<char *> names(reasons_count);
	for (size_t i = 0; i < reasons_count; i++)
		names[i] = &text[i * CUPTI_STALL_REASON_STRING_SIZE];
	CUpti_PCSamplingGetStallReasonsParams p = {CUpti_PCSamplingGetStallReasonsParamsSize, NULL, context, reasons_count, index.data(), names.data()};
	timed("GetStallReasons", [&] { return cuptiPCSamplingGetStallReasons(&p); });
	for (size_t i = 0; i < reasons_count; i++)
		printf("    %u %s\n", index[i], names[i]);
}

static void kernel_time(const char *what)
{
	cudaEvent_t a, b;
	std::vector<float> ms;
	CK(cudaEventCreate(&a));
	CK(cudaEventCreate(&b));
	for (int i = 0; i < 60; i++) {
		float m = 0;
		CK(cudaEventRecord(a));
		stream_add<<<132 * 8, 256>>>(memory, memory + N, N);
		CK(cudaEventRecord(b));
		CK(cudaEventSynchronize(b));
		CK(cudaEventElapsedTime(&m, a, b));
		ms.push_back(m);
	}
	std::sort(ms.begin(), ms.end());
	// Two spinning kernels in two streams: 1 ms each, so 2 ms when they are serialised.
	cudaStream_t s[2];
	CK(cudaStreamCreate(&s[0]));
	CK(cudaStreamCreate(&s[1]));
	double t0 = now();
	for (int i = 0; i < 10; i++) {
		spin_ns<<<1, 1, 0, s[0]>>>(1000000);
		spin_ns<<<1, 1, 0, s[1]>>>(1000000);
	}
	CK(cudaDeviceSynchronize());
	printf("kernel   %-40s median %.1f us (p10 %.1f p90 %.1f); 2 x 10 ms of spinning in two streams took %.2f ms\n", what,
	       ms[30] * 1e3, ms[6] * 1e3, ms[54] * 1e3, (now() - t0) * 1e3);
	fflush(stdout);
	CK(cudaStreamDestroy(s[0]));
	CK(cudaStreamDestroy(s[1]));
}

static void costs()
{
	launches("bare");
	launches("bare");
	kernel_time("bare");
	enable();
	buffers(4096);
	stall_names();
	launches("enabled (continuous by default)");
	kernel_time("enabled (continuous by default)");
	if (configure(16 << 20, 14) != CUPTI_SUCCESS)
		configure(512 << 20, 14);
	launches("configured, not started");
	kernel_time("configured, not started");
	start();
	launches("started");
	kernel_time("started");
	stop();
	get(true);
	for (int k = 0; k < 3; k++) {
		start();
		for (int i = 0; i < 20; i++)
			stream_add<<<132 * 8, 256>>>(memory, memory + N, N);
		CK(cudaDeviceSynchronize());
		stop();
		usleep(k * 150000); // CUPTI's own thread decodes each 100 ms
		get(k == 2);
	}
	launches("stopped");
	disable();
	launches("disabled");
	launches("disabled");
	kernel_time("disabled");
	enable();
	disable();
	launches("after a second pair");
	timed("cuptiFinalize", [] { return cuptiFinalize(); });
	launches("finalized");
}

static volatile int *flag;

// While a call waits for a kernel, do launches of another thread wait for the call?
static void *launch_meanwhile(void *)
{
	cudaStream_t s;
	std::vector<double> us;
	CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	double end = now() + 0.35;
	while (now() < end) {
		double t = now();
		empty<<<1, 1, 0, s>>>();
		us.push_back((now() - t) * 1e6);
		usleep(50);
	}
	std::sort(us.begin(), us.end());
	printf("    meanwhile %zu launches of another thread: median %.1f us, max %.0f us\n", us.size(), us[us.size() / 2], us.back());
	return NULL;
}

// Which calls wait for a kernel that waits for the host?
static void waits()
{
	int *f;
	cudaStream_t s;
	CK(cudaMallocHost(&f, 4));
	CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	flag = f;
	for (int k = 0; k < 2; k++) {
		printf("each below: a kernel waits for the host for 0.3 s%s\n", k ? " (second round)" : "");
		auto in_flight = [&](auto call) {
			*flag = 0;
			wait_host<<<1, 1, 0, s>>>(flag);
			pthread_t t;
			pthread_create(&t, NULL, [](void *) -> void * {
				usleep(300000);
				*flag = 1;
				return NULL;
			}, NULL);
			pthread_t l;
			pthread_create(&l, NULL, launch_meanwhile, NULL);
			usleep(20000);
			call();
			pthread_join(t, NULL);
			pthread_join(l, NULL);
			CK(cudaStreamSynchronize(s));
		};
		in_flight([] { enable(); });
		if (!k)
			buffers(4096);
		in_flight([] { configure(16 << 20, 14); });
		in_flight([] { start(); });
		in_flight([] { get(false); });
		in_flight([] { stop(); });
		in_flight([] { get(false); });
		in_flight([] { disable(); });
	}
}

static void CUPTIAPI requested(uint8_t **b, size_t *size, size_t *n)
{
	*size = 1 << 20;
	*b = (uint8_t *)aligned_alloc(8, *size);
	*n = 0;
}
static unsigned kernels_seen;
static void CUPTIAPI completed(CUcontext, uint32_t, uint8_t *b, size_t, size_t valid)
{
	CUpti_Activity *r = NULL;
	while (cuptiActivityGetNextRecord(b, valid, &r) == CUPTI_SUCCESS)
		kernels_seen += r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	free(b);
}

static void pm_sampling()
{
	static const char *names[] = {"dram__bytes_read.sum", "smsp__inst_executed.sum"};
	CUpti_Profiler_Initialize_Params init = {CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
	timed("cuptiProfilerInitialize", [&] { return cuptiProfilerInitialize(&init); });
	CUpti_Device_GetChipName_Params chip = {CUpti_Device_GetChipName_Params_STRUCT_SIZE};
	cuptiDeviceGetChipName(&chip);
	CUpti_PmSampling_Enable_Params en = {CUpti_PmSampling_Enable_Params_STRUCT_SIZE};
	if (timed("PM Enable", [&] { return cuptiPmSamplingEnable(&en); }) != CUPTI_SUCCESS)
		return;
	CUpti_Profiler_Host_Initialize_Params host = {CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE};
	host.profilerType = CUPTI_PROFILER_TYPE_PM_SAMPLING;
	host.pChipName = chip.pChipName;
	timed("HostInitialize", [&] { return cuptiProfilerHostInitialize(&host); });
	CUpti_Profiler_Host_ConfigAddMetrics_Params add = {CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE};
	add.pHostObject = host.pHostObject;
	add.ppMetricNames = names;
	add.numMetrics = 2;
	timed("ConfigAddMetrics", [&] { return cuptiProfilerHostConfigAddMetrics(&add); });
	CUpti_Profiler_Host_GetConfigImageSize_Params size = {CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE};
	size.pHostObject = host.pHostObject;
	cuptiProfilerHostGetConfigImageSize(&size);
	std::vector<uint8_t> image(size.configImageSize);
	CUpti_Profiler_Host_GetConfigImage_Params gi = {CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE};
	gi.pHostObject = host.pHostObject;
	gi.configImageSize = image.size();
	gi.pConfigImage = image.data();
	cuptiProfilerHostGetConfigImage(&gi);
	CUpti_PmSampling_SetConfig_Params set = {CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE};
	set.pPmSamplingObject = en.pPmSamplingObject;
	set.configSize = image.size();
	set.pConfig = image.data();
	set.hardwareBufferSize = 16 << 20;
	set.samplingInterval = 20000;
	set.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
	timed("PM SetConfig", [&] { return cuptiPmSamplingSetConfig(&set); });
	CUpti_PmSampling_Start_Params st = {CUpti_PmSampling_Start_Params_STRUCT_SIZE};
	st.pPmSamplingObject = en.pPmSamplingObject;
	timed("PM Start", [&] { return cuptiPmSamplingStart(&st); });
	CK(cudaDeviceSynchronize());
	CUpti_PmSampling_Stop_Params sp = {CUpti_PmSampling_Stop_Params_STRUCT_SIZE};
	sp.pPmSamplingObject = en.pPmSamplingObject;
	timed("PM Stop", [&] { return cuptiPmSamplingStop(&sp); });
	CUpti_PmSampling_Disable_Params di = {CUpti_PmSampling_Disable_Params_STRUCT_SIZE};
	di.pPmSamplingObject = en.pPmSamplingObject;
	timed("PM Disable", [&] { return cuptiPmSamplingDisable(&di); });
}

static void beside()
{
	cuptiActivityRegisterCallbacks(requested, completed);
	timed("ActivityEnable", [] { return cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL); });
	launches("activity");
	enable();
	buffers(4096);
	launches("activity, PC enabled");
	configure(16 << 20, 14);
	start();
	launches("activity, PC started");
	kernel_time("activity, PC started");
	cuptiActivityFlushAll(1);
	printf("  activity saw %u kernels\n", kernels_seen);
	puts("PM sampling while PC sampling is started");
	pm_sampling();
	stop();
	get(false);
	puts("PM sampling while PC sampling is enabled, stopped");
	pm_sampling();
	disable();
	puts("PM sampling after Disable");
	pm_sampling();
	puts("PC sampling again");
	enable();
	configure(16 << 20, 14);
	start();
	launches("PC started again");
	stop();
	get(false);
	disable();
}

// A module that goes while sampling is on.
static void unload()
{
	static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(){.reg .u32 %r<3>;.reg .pred %p;mov.u32 %r1,0;L:add.u32 %r1,%r1,1;setp.lt.u32 %p,%r1,100000;@%p bra L;ret;}";
	enable();
	buffers(4096);
	configure(16 << 20, 10);
	start();
	for (int i = 0; i < 20; i++) {
		CUmodule m;
		CUfunction f;
		double t = now();
		CUresult r = cuModuleLoadData(&m, ptx);
		cuModuleGetFunction(&f, m, "k");
		r = r ? r : cuLaunchKernel(f, 132, 1, 1, 256, 1, 1, 0, 0, NULL, NULL);
		CK(cudaDeviceSynchronize());
		cuModuleUnload(m);
		if (i < 3 || i == 19)
			printf("  load, launch, unload %.3f ms (%d)\n", (now() - t) * 1e3, r);
	}
	stop();
	get(true);
	disable();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "costs";
	double begin = now();
	CK(cudaMalloc(&memory, 2 * N * sizeof(*memory)));
	CK(cudaMemset(memory, 0, 2 * N * sizeof(*memory)));
	empty<<<1, 1>>>();
	CK(cudaDeviceSynchronize());
	cuCtxGetCurrent(&context);
	if (!strcmp(what, "costs"))
		costs();
	else if (!strcmp(what, "beside"))
		beside();
	else if (!strcmp(what, "waits"))
		waits();
	else if (!strcmp(what, "unload"))
		unload();
	else if (!strcmp(what, "leave")) { // started, and never stopped
		buffers(4096);
		enable();
		configure(16 << 20, 14);
		start();
		launches("before leaving");
	}
	printf("%s: %.2f s to the end of main\n", what, now() - begin);
	fflush(stdout);
}
