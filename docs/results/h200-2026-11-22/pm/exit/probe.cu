// SPDX-License-Identifier: Apache-2.0
// How to end a process that has used PM sampling. probe FLAGS TEARDOWN SECONDS HOW LOG
// FLAGS: A activity + flushing worker, H host API only, E enable/disable only, P full sampling,
//  m all CUPTI calls under one mutex, 1 all on one thread, k host objects kept, n nvperf opened first NODELETE,
//  c host/config image built once (before), g flush on the main thread at context end off
// TEARDOWN: 0 early atexit, joined; 1 none; 2 early atexit, parked; 3 atexit after first profiler call, joined;
//  8, 9 first thing in exit(), by a destructor of the main thread's, joined, parked
//  6, 7 as 0, 2, but after the context was made;  4 registered again after every stage, joined; 5 registered again, parked (objects left alone)
// HOW: r return, e exit(), d cudaDeviceReset then return
#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <cupti_result.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

// z: static destructors of libnvperf_* (Z: of libcupti too) are never registered
static const char *flags = "";
static volatile int swallowed;
extern "C" __attribute__((visibility("default"))) int __cxa_atexit(void (*f)(void *), void *arg, void *dso) noexcept
{
	static int (*real)(void (*)(void *), void *, void *);
	Dl_info info;
	if (!real) real = (decltype(real))dlsym(RTLD_NEXT, "__cxa_atexit");
	if (dso && (strchr(flags, 'z') || strchr(flags, 'Z')) && dladdr(dso, &info) && info.dli_fname &&
	    (strstr(info.dli_fname, "libnvperf") || (strchr(flags, 'Z') && strstr(info.dli_fname, "libcupti")))) { swallowed++; return 0; }
	return real(f, arg, dso);
}
#define EACH(X) X(cuptiActivityRegisterCallbacks) X(cuptiActivityEnable) X(cuptiActivityDisable) X(cuptiActivityFlushAll) \
 X(cuptiActivityGetNextRecord) X(cuptiGetTimestamp) X(cuptiProfilerInitialize) X(cuptiProfilerDeInitialize) X(cuptiDeviceGetChipName) \
 X(cuptiPmSamplingGetCounterAvailability) X(cuptiProfilerHostInitialize) X(cuptiProfilerHostDeinitialize) X(cuptiProfilerHostConfigAddMetrics) \
 X(cuptiProfilerHostGetConfigImageSize) X(cuptiProfilerHostGetConfigImage) X(cuptiProfilerHostGetNumOfPasses) \
 X(cuptiProfilerHostEvaluateToGpuValues) X(cuptiPmSamplingEnable) X(cuptiPmSamplingDisable) X(cuptiPmSamplingSetConfig) \
 X(cuptiPmSamplingStart) X(cuptiPmSamplingStop) X(cuptiPmSamplingDecodeData) X(cuptiPmSamplingGetCounterDataSize) \
 X(cuptiPmSamplingCounterDataImageInitialize) X(cuptiPmSamplingGetCounterDataInfo) X(cuptiPmSamplingCounterDataGetSampleInfo)
#define X(n) static decltype(&n) p_##n;
EACH(X)
#undef X
static int teardown;
static volatile int stop_pm, stop_worker;
static const char *volatile pm_at = "-", *volatile wk_at = "-", *volatile main_at = "-";
static volatile int failures, windows, samples, records;
static char firstfail[100];
static int logfd = 2;
static bool has(char c) { return strchr(flags, c) != NULL; }
static pthread_mutex_t big = PTHREAD_MUTEX_INITIALIZER;
static double now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static void say(const char *s) { if (write(logfd, s, strlen(s))) {} }

static void onsig(int sig)
{
	static volatile int once;
	void *bt[64];
	if (__sync_fetch_and_add(&once, 1)) { for (;;) pause(); }
	char b[300];
	snprintf(b, sizeof b, "\nCRASH signal %d tid %ld%s pm=%s worker=%s main=%s\n", sig, (long)syscall(SYS_gettid),
	         syscall(SYS_gettid) == getpid() ? " (main)" : "", pm_at, wk_at, main_at);
	say(b);
	int n = backtrace(bt, 64);
	backtrace_symbols_fd(bt, n, logfd);
	_exit(99);
}

#define PM(call, ...) ({ pm_at = #call; if (has('m')) pthread_mutex_lock(&big); int r_ = (int)p_##call(__VA_ARGS__); \
	if (has('m')) pthread_mutex_unlock(&big); pm_at = "-" #call; if (r_) { if (!failures++) snprintf(firstfail, 99, "%s=%d", #call, r_); } r_; })
#define WK(call, ...) ({ wk_at = #call; if (has('m')) pthread_mutex_lock(&big); int r_ = (int)p_##call(__VA_ARGS__); \
	if (has('m')) pthread_mutex_unlock(&big); wk_at = "-" #call; r_; })
#define P_(type, var) type##_Params var; memset(&var, 0, sizeof var); var.structSize = type##_Params_STRUCT_SIZE

static const char *cfg0[] = {"dram__bytes_read.sum", "dram__bytes_write.sum", "smsp__inst_executed.sum", "smsp__inst_issued.sum",
                             "lts__t_sectors.sum", "gpc__cycles_elapsed.max", "sm__cycles_active.avg"};
static const char *cfg1[] = {"smsp__inst_executed_pipe_alu.sum", "smsp__inst_executed_pipe_lsu.sum"};
struct config { const char **names; size_t n; uint8_t *image; size_t size; CUpti_Profiler_Host_Object *host; };
static config configs[2] = {{cfg0, 7}, {cfg1, 2}};
static uint8_t *avail;
static const char *chip;

static void finish();
static volatile int reg;
static void again() { if (teardown == 4 || teardown == 5 || (teardown == 3 && !reg)) { reg++; atexit(finish); } }

static int host_make(config *c)
{
	P_(CUpti_Profiler_Host_Initialize, i);
	i.profilerType = CUPTI_PROFILER_TYPE_PM_SAMPLING; i.pChipName = chip; i.pCounterAvailabilityImage = avail;
	if (PM(cuptiProfilerHostInitialize, &i)) return 1;
	c->host = i.pHostObject;
	again();
	P_(CUpti_Profiler_Host_ConfigAddMetrics, a); a.pHostObject = c->host; a.ppMetricNames = c->names; a.numMetrics = c->n;
	if (PM(cuptiProfilerHostConfigAddMetrics, &a)) return 1;
	P_(CUpti_Profiler_Host_GetConfigImageSize, s); s.pHostObject = c->host;
	if (PM(cuptiProfilerHostGetConfigImageSize, &s)) return 1;
	free(c->image);
	c->image = (uint8_t *)malloc(c->size = s.configImageSize);
	P_(CUpti_Profiler_Host_GetConfigImage, g); g.pHostObject = c->host; g.configImageSize = c->size; g.pConfigImage = c->image;
	if (PM(cuptiProfilerHostGetConfigImage, &g)) return 1;
	P_(CUpti_Profiler_Host_GetNumOfPasses, p); p.configImageSize = c->size; p.pConfigImage = c->image;
	if (PM(cuptiProfilerHostGetNumOfPasses, &p) || p.numOfPasses != 1) return 1;
	return 0;
}
static void host_free(config *c)
{
	if (!c->host || has('k')) return;
	P_(CUpti_Profiler_Host_Deinitialize, d); d.pHostObject = c->host;
	PM(cuptiProfilerHostDeinitialize, &d);
	c->host = NULL;
}
static void doze(double s) { for (double t = now(); now() - t < s && !stop_pm;) usleep(1000); }

static double total[7];
static uint64_t lo_ts = ~0ull, hi_ts;
static void windows_of(config *c, CUpti_PmSampling_Object *o)
{
	P_(CUpti_PmSampling_SetConfig, sc);
	sc.pPmSamplingObject = o; sc.configSize = c->size; sc.pConfig = c->image; sc.hardwareBufferSize = 16 << 20;
	sc.samplingInterval = 50000; sc.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
	if (PM(cuptiPmSamplingSetConfig, &sc)) return;
	again();
	P_(CUpti_PmSampling_GetCounterDataSize, ds);
	ds.pPmSamplingObject = o; ds.pMetricNames = c->names; ds.numMetrics = c->n; ds.maxSamples = 256;
	if (PM(cuptiPmSamplingGetCounterDataSize, &ds)) return;
	uint8_t *image = (uint8_t *)calloc(1, ds.counterDataSize);
	for (int w = 0; w < 3 && !stop_pm; w++) {
		P_(CUpti_PmSampling_CounterDataImage_Initialize, ii);
		ii.pPmSamplingObject = o; ii.counterDataSize = ds.counterDataSize; ii.pCounterData = image;
		if (PM(cuptiPmSamplingCounterDataImageInitialize, &ii)) break;
		P_(CUpti_PmSampling_Start, st); st.pPmSamplingObject = o;
		if (PM(cuptiPmSamplingStart, &st)) break;
		again();
		doze(0.010);
		P_(CUpti_PmSampling_Stop, sp); sp.pPmSamplingObject = o;
		PM(cuptiPmSamplingStop, &sp);
		P_(CUpti_PmSampling_DecodeData, dd); dd.pPmSamplingObject = o; dd.pCounterDataImage = image; dd.counterDataImageSize = ds.counterDataSize;
		if (PM(cuptiPmSamplingDecodeData, &dd)) break;
		again();
		P_(CUpti_PmSampling_GetCounterDataInfo, gi); gi.pCounterDataImage = image; gi.counterDataImageSize = ds.counterDataSize;
		PM(cuptiPmSamplingGetCounterDataInfo, &gi);
		for (size_t s = 0; s < gi.numCompletedSamples && !stop_pm; s++) {
			double v[7];
			P_(CUpti_PmSampling_CounterData_GetSampleInfo, si); si.pPmSamplingObject = o; si.pCounterDataImage = image;
			si.counterDataImageSize = ds.counterDataSize; si.sampleIndex = s;
			PM(cuptiPmSamplingCounterDataGetSampleInfo, &si);
			P_(CUpti_Profiler_Host_EvaluateToGpuValues, ev); ev.pHostObject = c->host; ev.pCounterDataImage = image;
			ev.counterDataImageSize = ds.counterDataSize; ev.rangeIndex = s; ev.ppMetricNames = c->names; ev.numMetrics = c->n; ev.pMetricValues = v;
			PM(cuptiProfilerHostEvaluateToGpuValues, &ev);
			samples++;
			if (c == configs) { for (int i = 0; i < 7; i++) total[i] += v[i]; }
			if (si.startTimestamp < lo_ts && s) lo_ts = si.startTimestamp;
			if (si.endTimestamp > hi_ts) hi_ts = si.endTimestamp;
		}
		again();
		windows++;
		doze(0.010);
	}
	free(image);
}

static void pm_body()
{
	if (!has('H')) {
		P_(CUpti_Profiler_Initialize, pi);
		if (PM(cuptiProfilerInitialize, &pi)) return;
		again();
		P_(CUpti_Device_GetChipName, cn);
		if (PM(cuptiDeviceGetChipName, &cn)) return;
		chip = cn.pChipName;
		P_(CUpti_PmSampling_GetCounterAvailability, ca);
		if (PM(cuptiPmSamplingGetCounterAvailability, &ca)) return;
		avail = (uint8_t *)calloc(1, ca.counterAvailabilityImageSize); ca.pCounterAvailabilityImage = avail;
		if (PM(cuptiPmSamplingGetCounterAvailability, &ca)) return;
		again();
	} else
		chip = "GH100";
	if (has('c') && (host_make(&configs[0]) || host_make(&configs[1]))) return;
	for (int k = 0; !stop_pm; k ^= 1) {
		config *c = &configs[k];
		if (!has('c') && !has('E') && host_make(c)) return;
		if (has('H')) { host_free(c); continue; }
		P_(CUpti_PmSampling_Enable, en);
		if (PM(cuptiPmSamplingEnable, &en)) { usleep(20000); continue; }
		again();
		if (!has('E') && !stop_pm) windows_of(c, en.pPmSamplingObject);
		if (stop_pm && (teardown == 5 || teardown == 2 || teardown == 7 || teardown == 9)) return;
		P_(CUpti_PmSampling_Disable, di); di.pPmSamplingObject = en.pPmSamplingObject;
		PM(cuptiPmSamplingDisable, &di);
		again();
		if (!has('c')) host_free(c);
	}
	if (has('c')) { host_free(&configs[0]); host_free(&configs[1]); }
}
static volatile int pm_done = 1, wk_done = 1;
static void *pm_main(void *)
{
	pm_body();
	pm_done = 1;
	if (teardown == 5 || teardown == 2 || teardown == 7 || teardown == 9) for (;;) pause();
	return NULL;
}

static void CUPTIAPI want(uint8_t **b, size_t *s, size_t *m) { *s = 512 << 10; *b = (uint8_t *)malloc(*s); *m = 0; }
static void CUPTIAPI got(CUcontext, uint32_t, uint8_t *b, size_t, size_t valid)
{
	CUpti_Activity *r = NULL;
	while (p_cuptiActivityGetNextRecord(b, valid, &r) == CUPTI_SUCCESS) records++;
	free(b);
}
static void *worker_main(void *)
{
	while (!stop_worker) { usleep(10000); WK(cuptiActivityFlushAll, 0); }
	WK(cuptiActivityFlushAll, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	wk_done = 1;
	return NULL;
}
static void *both_main(void *)
{
	// one thread: the flushes happen between the steps of sampling
	pm_body();
	if (has('A')) WK(cuptiActivityFlushAll, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	pm_done = wk_done = 1;
	if (teardown == 5 || teardown == 2 || teardown == 7 || teardown == 9) for (;;) pause();
	return NULL;
}
static pthread_t pm_thread, worker;
static double finish_took;
static void finish()
{
	static int once;
	if (once++) return;
	double t = now();
	stop_pm = 1;
	while (!pm_done && now() - t < 5) usleep(200);
	stop_worker = 1;
	while (!wk_done && now() - t < 5) usleep(200);
	finish_took = now() - t;
	if (!pm_done || !wk_done) say(" UNFINISHED");
}
extern "C" int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern "C" void *__dso_handle;
static void tls_finish(void *) { finish(); }
static void last() { char b[300]; snprintf(b, sizeof b, " windows=%d samples=%d records=%d failures=%d %s finish=%.3f swallowed=%d inst=%.3g cyc=%.3g lo=%llu hi=%llu\n", windows, samples, records, failures, firstfail, finish_took, swallowed, total[2], total[5], (unsigned long long)lo_ts, (unsigned long long)hi_ts); say(b); }

__global__ void empty() {}
__global__ void spin(long long n) { long long t = clock64(); while (clock64() - t < n) ; }

int main(int argc, char **argv)
{
	if (argc < 6) return 2;
	flags = argv[1]; teardown = atoi(argv[2]);
	double seconds = atof(argv[3]);
	logfd = open(argv[5], O_WRONLY | O_CREAT | O_TRUNC, 0644);
	{ void *b[4]; backtrace(b, 4); }
	struct sigaction sa; memset(&sa, 0, sizeof sa); sa.sa_handler = onsig;
	sigaction(SIGSEGV, &sa, 0); sigaction(SIGABRT, &sa, 0); sigaction(SIGBUS, &sa, 0); sigaction(SIGFPE, &sa, 0); sigaction(SIGILL, &sa, 0);
	atexit(last);
	if (teardown >= 8) __cxa_thread_atexit_impl(tls_finish, 0, &__dso_handle);
	if (has('n')) {
		if (!dlopen("libnvperf_host.so", RTLD_NOW | RTLD_NODELETE) || !dlopen("libnvperf_target.so", RTLD_NOW | RTLD_NODELETE)) say(dlerror());
	}
	void *h = dlopen("libcupti.so.13", RTLD_NOW);
	if (!h) { say(dlerror()); return 3; }
#define X(n) p_##n = (decltype(&n))dlsym(h, #n); if (!p_##n) { say("missing " #n); return 3; }
	EACH(X)
#undef X
	if (teardown == 0 || teardown == 2) atexit(finish);
	bool sampling = has('H') || has('E') || has('P');
	if (has('A')) {
		p_cuptiActivityRegisterCallbacks(want, got);
		p_cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	}
	if (!has('H') && !has('x')) { cudaFree(0); empty<<<1, 32>>>(); cudaDeviceSynchronize(); }
	if (has('x')) cuInit(0);
	if (teardown == 6 || teardown == 7) atexit(finish);
	double t0 = now();
	if (has('A') && !has('1')) { wk_done = 0; pthread_create(&worker, 0, worker_main, 0); }
	if (teardown >= 3 && teardown < 6 && !sampling) atexit(finish);
	if (sampling) { pm_done = 0; if (has('1')) wk_done = 0; pthread_create(&pm_thread, 0, has('1') ? both_main : pm_main, 0); }
	main_at = "launching";
	while (now() - t0 < seconds) {
		if (has('H') || has('x')) usleep(1000);
		else { for (int i = 0; i < 20; i++) empty<<<1, 32>>>(); spin<<<132, 256>>>(20000); usleep(50); if (cudaDeviceSynchronize()) say(" cudaerror"); }
	}
	main_at = "exiting";
	if (argv[4][0] == 'd') { main_at = "reset"; cudaDeviceReset(); main_at = "after reset"; }
	if (argv[4][0] == 'e') exit(0);
	return 0;
}
