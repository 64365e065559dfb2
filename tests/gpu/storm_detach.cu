/* SPDX-License-Identifier: Apache-2.0
 *
 * The ways to detach that `storm` tries; CUPTI is opened as gpuwatch opens it.
 */
#include "storm.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cupti_result.h>
#include <cupti_version.h>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <dlfcn.h>
#include <unistd.h>
#include <vector>

#define FUNCTIONS(F)                                                                               \
	F(cuptiSubscribe) F(cuptiUnsubscribe) F(cuptiEnableCallback) F(cuptiFinalize)              \
	F(cuptiActivityRegisterCallbacks) F(cuptiActivityEnable) F(cuptiActivityDisable)           \
	F(cuptiActivityFlushAll) F(cuptiActivityGetNextRecord)                                     \
	F(cuptiActivityGetNumDroppedRecords) F(cuptiGetStreamIdEx) F(cuptiGetContextId)            \
	F(cuptiGetGraphExecId) F(cuptiGetResultString)

static struct {
#define MEMBER(f) decltype(&f) f##_;
	FUNCTIONS(MEMBER)
} cupti;

static void open_cupti()
{
	const char *names[] = {getenv("STORM_CUPTI"), "libcupti.so.13", "libcupti.so.12",
	                       "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
	                       "/usr/local/cuda/lib64/libcupti.so"};
	void *library = nullptr;

	for (const char *name : names)
		if (name && !library)
			library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "storm: libcupti was not found; name it in STORM_CUPTI\n");
		exit(77);
	}
#define FIND(f) cupti.f##_ = (decltype(&f))dlsym(library, #f);
	FUNCTIONS(FIND)
}

static std::atomic<uint64_t> failures{0}, records{0}, unfinished{0}, dropped{0}, buffers{0};

static bool ok(CUptiResult r, const char *what)
{
	const char *text = "?";

	if (r == CUPTI_SUCCESS)
		return true;
	cupti.cuptiGetResultString_(r, &text);
	if (failures++ < 5)
		fprintf(stderr, "storm: %s: %s\n", what, text);
	return false;
}
#define OK(f, ...) ok(cupti.f##_(__VA_ARGS__), #f)

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = 512 << 10;
	*max = 0;
	*buffer = (uint8_t *)aligned_alloc(8, *size);
	buffers++;
}

static void CUPTIAPI completed(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
	CUpti_Activity *record = nullptr;

	while (cupti.cuptiActivityGetNextRecord_(buffer, valid, &record) == CUPTI_SUCCESS) {
		auto *k = (CUpti_ActivityKernel10 *)record;

		if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			continue;
		records++;
		unfinished += !(k->start && k->end > k->start);
	}
	buffers--;
	free(buffer);
}

static bool attach()
{
	return OK(cuptiActivityRegisterCallbacks, requested, completed) &&
	       OK(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

static void end_window(storm &s, const char *how)
{
	size_t n = 0;

	if (!strcmp(how, "held")) {
		s.graph_gate = 1;
		while (s.launching)
			usleep(20);
		cuCtxSynchronize(); /* what was launched has run */
	}
	OK(cuptiActivityDisable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	for (int i = 0; i < 3; i++) {
		OK(cuptiActivityFlushAll, 0);
		usleep(1000);
	}
	if (cupti.cuptiActivityGetNumDroppedRecords_(nullptr, 0, &n) == CUPTI_SUCCESS)
		dropped += n;
}

static std::atomic<uint64_t> finalize_ns{0};
static std::atomic<int> wanted{0}, done{0};

static void finalize()
{
	uint64_t begin = now_ns();

	OK(cuptiFinalize);
	finalize_ns = now_ns() - begin;
	done = 1;
}

static void CUPTIAPI called(void *, CUpti_CallbackDomain domain, CUpti_CallbackId, const void *info)
{
	auto *data = (const CUpti_CallbackData *)info;
	int one = 1;

	if (domain == CUPTI_CB_DOMAIN_DRIVER_API && data->callbackSite == CUPTI_API_EXIT &&
	    wanted.compare_exchange_strong(one, 0))
		finalize();
}

static void wait_done()
{
	for (int i = 0; i < 100000 && !done; i++)
		usleep(50);
	if (!done)
		failures++;
}

static const CUpti_CallbackId ids[] = {
        CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion,
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};
static CUpti_SubscriberHandle subscriber;

/* As gpuwatch does while it measures; here nobody looks at what comes. */
static void hear_launches()
{
	OK(cuptiSubscribe, &subscriber, called, nullptr);
	for (CUpti_CallbackId id : ids)
		if (id != ids[0])
			OK(cuptiEnableCallback, 1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
}

/* @own: wait for no call of the program's, make one. */
static void detach_callback(bool own)
{

	if (!OK(cuptiSubscribe, &subscriber, called, nullptr)) {
		finalize();
		return;
	}
	wanted = 1;
	for (CUpti_CallbackId id : ids)
		if (!own || id == ids[0])
			OK(cuptiEnableCallback, 1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
	if (own) {
		int version;

		cuDriverGetVersion(&version);
	}
	wait_done();
}

static void detach(storm &s, const char *how)
{
	done = 0;
	if (!strcmp(how, "callback") || !strcmp(how, "own")) {
		detach_callback(!strcmp(how, "own"));
	} else if (!strcmp(how, "hook")) {
		s.after = finalize;
		wait_done();
	} else if (!strcmp(how, "thread")) {
		finalize();
	} else if (!strcmp(how, "unsubscribed") || !strcmp(how, "held")) {
		OK(cuptiUnsubscribe, subscriber);
		usleep(2000); /* for threads that are in a callback */
		finalize();
		s.graph_gate = 0;
	} else {
		s.gate = 1;
		while (s.waiting < s.threads)
			usleep(20);
		OK(cuptiActivityFlushAll, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
		finalize();
		s.gate = 0;
	}
}

struct series {
	const char *name;
	std::vector<double> ms;

	void add(uint64_t ns)
	{
		ms.push_back((double)ns * 1e-6);
	}
	void print()
	{
		std::sort(ms.begin(), ms.end());
		size_t n = ms.size();

		printf("\"%s_ms\": {\"median\": %.3f, \"p90\": %.3f, \"p99\": %.3f, \"max\": %.3f}, ",
		       name, ms[n / 2], ms[n * 9 / 10], ms[n * 99 / 100], ms[n - 1]);
	}
};

void detach_cycles(storm &s, const char *how, int cycles, int window_ms, int pause_ms)
{
	series attaching{"attach", {}}, attach_stall{"attach_stall", {}}, ending{"end", {}},
	        finalizing{"finalize", {}}, detach_stall{"detach_stall", {}},
	        pause_stall{"pause_stall", {}};
	uint64_t in_windows = 0, calls = 0, call_ns = 0, window_calls = 0, window_ns = 0;
	int n = 0;

	open_cupti();
	cudaFree(nullptr); /* the context is this thread's too */
	for (; n < cycles && failures < 50; n++) {
		uint64_t at, kernels, before, before_ns;

		s.doing = "pausing";
		s.longest_ns = 0;
		before = s.calls;
		before_ns = s.call_ns;
		usleep((useconds_t)pause_ms * 1000);
		calls += s.calls - before;
		call_ns += s.call_ns - before_ns;
		pause_stall.add(s.longest_ns.exchange(0));
		s.doing = "attaching";
		s.attached = 1;
		while (s.making)
			usleep(20);
		at = now_ns();
		attach();
		if (!strcmp(how, "unsubscribed") || !strcmp(how, "held"))
			hear_launches();
		attaching.add(now_ns() - at);
		usleep(2000);
		attach_stall.add(s.longest_ns.exchange(0));
		s.doing = "measuring";
		kernels = s.kernels;
		before = s.calls;
		before_ns = s.call_ns;
		usleep((useconds_t)window_ms * 1000);
		window_calls += s.calls - before;
		window_ns += s.call_ns - before_ns;
		in_windows += s.kernels - kernels;
		s.doing = "ending a window";
		at = now_ns();
		end_window(s, how);
		ending.add(now_ns() - at);
		s.doing = "detaching";
		s.longest_ns = 0;
		detach(s, how);
		s.attached = 0;
		finalizing.add(finalize_ns);
		usleep(1000);
		detach_stall.add(s.longest_ns.exchange(0));
	}
	printf("\"cycles\": %d, \"cupti_failures\": %llu, \"records\": %llu, \"unfinished\": %llu, "
	       "\"dropped\": %llu, \"in_windows\": %llu, \"buffers_out\": %llu, "
	       "\"pause_ns\": %.0f, \"window_ns\": %.0f, ",
	       n, (unsigned long long)failures, (unsigned long long)records,
	       (unsigned long long)unfinished, (unsigned long long)dropped,
	       (unsigned long long)in_windows, (unsigned long long)buffers,
	       calls ? (double)call_ns / (double)calls : 0,
	       window_calls ? (double)window_ns / (double)window_calls : 0);
	for (series *x : {&attaching, &attach_stall, &ending, &finalizing, &detach_stall, &pause_stall})
		x->print();
	fflush(stdout);
}

/* ---- what the numbers are ------------------------------------------------------------------ */

static __global__ void nothing()
{
}

static double launch_ns()
{
	enum { LAUNCHES = 20000 };
	double best = 1e30;

	for (int r = 0; r < 5; r++) {
		uint64_t begin = now_ns();

		for (int i = 0; i < LAUNCHES; i++)
			nothing<<<1, 32>>>();
		cudaDeviceSynchronize();
		best = std::min(best, (double)(now_ns() - begin) / LAUNCHES);
	}
	return best;
}

static void tell(const char *when, CUcontext context, CUstream *streams, CUgraphExec *execs)
{
	unsigned long long driver = 0;
	uint32_t id = 0;

	cupti.cuptiGetContextId_(context, &id);
	cuCtxGetId(context, &driver);
	printf("%s: context cupti %u driver %llu;", when, id, driver);
	for (int i = 0; i < 4; i++) {
		CUptiResult r = cupti.cuptiGetStreamIdEx_(context, streams[i], i == 3, &id);

		driver = 0;
		cuStreamGetId(streams[i], &driver);
		printf(" stream cupti %u (%d) driver %llu;", id, (int)r, driver);
	}
	for (int i = 0; i < 2; i++) {
		CUptiResult r = cupti.cuptiGetGraphExecId_(execs[i], &id);

		printf(" exec %u (%d);", id, (int)r);
	}
	printf(" launch %.0f ns\n", launch_ns());
	fflush(stdout);
}

static CUgraphExec some_graph()
{
	CUgraph graph;
	CUgraphExec exec;

	cuGraphCreate(&graph, 0);
	cuGraphInstantiate(&exec, graph, 0);
	return exec;
}

void tell_ids()
{
	CUcontext context;
	CUstream streams[4] = {};
	CUgraphExec execs[2];
	storm none;

	open_cupti();
	cudaFree(nullptr);
	cuCtxGetCurrent(&context);
	cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING);
	cuStreamCreate(&streams[2], CU_STREAM_NON_BLOCKING);
	streams[3] = CU_STREAM_PER_THREAD;
	execs[0] = some_graph();
	execs[1] = some_graph();
	launch_ns();
	printf("bare: launch %.0f ns\n", launch_ns());
	for (int round = 0; round < 3; round++) {
		tell("never attached, or after finalize", context, streams, execs);
		attach();
		tell("attached", context, streams, execs);
		cuStreamDestroy(streams[1]);
		cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING);
		cuGraphExecDestroy(execs[0]);
		execs[0] = some_graph();
		tell("stream 1 and graph 0 replaced", context, streams, execs);
		cuCtxSynchronize();
		end_window(none, "thread");
		printf("disabled: launch %.0f ns\n", launch_ns());
		finalize();
		printf("finalized: launch %.0f ns\n", launch_ns());
		if (round == 1) {
			OK(cuptiSubscribe, &subscriber, called, nullptr);
			OK(cuptiUnsubscribe, subscriber);
			printf("subscribed and unsubscribed: launch %.0f ns\n", launch_ns());
			finalize();
			printf("finalized: launch %.0f ns\n", launch_ns());
		}
	}
}
