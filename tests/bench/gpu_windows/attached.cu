// SPDX-License-Identifier: Apache-2.0
// What libcupti costs a program while it is attached, off, and on for a while, and what a window records.
//   attached cost MS PATH [DEPTH]  states one after the other in one process, MS of each workload in each
//                              PATH: enable (activity, then the rest), register, subscribe, trace, hes:
//                              what comes first after the bare state
//   attached edges             which of the launches around a window's ends have records
//   attached calls MS CPU WAY  empty launches alone, on one processor, before and after attaching by WAY: all,
//                              context, twice
//   attached threads SECONDS   16 threads launch kernels and graphs while windows open and close
// Build: nvcc -O2 -arch=sm_90 -I$CUDA/extras/CUPTI/include -o attached attached.cu -lcuda -lcupti -lpthread
// Behind the policy of preload/cupti/windows.c; needs a GPU.
#include "../cupti_probe.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <map>
#include <mutex>
#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int result = (int)(call);                                                          \
		if (result) {                                                                      \
			fprintf(stderr, "attached: %s: %d\n", #call, result);                      \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static __global__ void empty()
{
}

static __global__ void spin(int us)
{
	long long begin = clock64();
	while (clock64() - begin < us * 1900ll)
		;
}

static __global__ void small(float *a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	for (int k = 0; k < n; k++)
		a[i] = a[i] * 1.0001f + 0.5f;
}

// ---- records ---------------------------------------------------------------------------------

struct seen {
	uint64_t kernels = 0, traces = 0, without = 0, buffers = 0;
	std::map<uint32_t, uint32_t> by_shared;      // dynamic shared memory -> records
	std::map<uint32_t, uint32_t> by_correlation; // of graph nodes
};
static seen records;
static std::mutex records_lock;
static std::atomic<bool> detailed;

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *most)
{
	*size = 512 << 10;
	*buffer = (uint8_t *)aligned_alloc(8, *size);
	*most = 0;
}

static void CUPTIAPI completed(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
	CUpti_Activity *record = NULL;
	std::lock_guard<std::mutex> guard(records_lock);

	records.buffers++;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
			auto *k = (CUpti_ActivityKernel10 *)record;
			records.kernels++;
			records.without += !k->start || !k->end;
			if (detailed && k->graphId)
				records.by_correlation[k->correlationId]++;
			else if (detailed)
				records.by_shared[(uint32_t)k->dynamicSharedMemory]++;
		} else if (record->kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE) {
			auto *g = (CUpti_ActivityGraphTrace2 *)record;
			records.traces++;
			records.without += !g->start || !g->end;
		}
	}
	free(buffer);
}

static seen taken()
{
	std::lock_guard<std::mutex> guard(records_lock);
	seen was = records;
	records = seen();
	return was;
}

// ---- what is launched ------------------------------------------------------------------------

static cudaStream_t stream;
static float *data;

static cudaGraphExec_t graph_of(int nodes, bool empties)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < nodes; i++)
		if (empties)
			empty<<<1, 32, 0, stream>>>();
		else
			small<<<132, 128, 0, stream>>>(data, 4);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	return exec;
}

static double median(std::vector<double> &v)
{
	std::sort(v.begin(), v.end());
	return v.empty() ? 0 : v[v.size() / 2];
}

static double mean(const std::vector<double> &v)
{
	double sum = 0;
	for (double x : v)
		sum += x;
	return v.empty() ? 0 : sum / v.size();
}

struct cost {
	double median, mean, most;
};

// ns a launch, of slices that each end with a synchronisation.
static cost launches(double seconds)
{
	std::vector<double> ns;
	double end = now() + seconds, at;

	while ((at = now()) < end) {
		for (int i = 0; i < 500; i++)
			empty<<<1, 32, 0, stream>>>();
		CHECK(cudaStreamSynchronize(stream));
		ns.push_back((now() - at) * 1e9 / 500);
	}
	double average = mean(ns), middle = median(ns);
	return {middle, average, ns.back()};
}

static int depth = 16; // graph launches from one synchronisation to the next

// us a graph launch.
static cost graphs(cudaGraphExec_t exec, double seconds)
{
	std::vector<double> us;
	double end = now() + seconds, at;

	while ((at = now()) < end) {
		for (int i = 0; i < depth; i++)
			CHECK(cudaGraphLaunch(exec, stream));
		CHECK(cudaStreamSynchronize(stream));
		us.push_back((now() - at) * 1e6 / depth);
	}
	double average = mean(us), middle = median(us);
	return {middle, average, us.back()};
}

// ---- windows ---------------------------------------------------------------------------------

static std::atomic<bool> windows_end;
static std::vector<double> enabling, disabling, flushing;

static void windows(double on, double period, CUpti_ActivityKind kind)
{
	while (!windows_end) {
		double at = now();
		cuptiActivityEnable(kind);
		enabling.push_back((now() - at) * 1e6);
		usleep((useconds_t)(on * 1e6));
		at = now();
		cuptiActivityDisable(kind);
		disabling.push_back((now() - at) * 1e6);
		usleep(2000);
		at = now();
		cuptiActivityFlushAll(0);
		flushing.push_back((now() - at) * 1e6);
		usleep((useconds_t)((period - on) * 1e6));
	}
}

static double span_s;
static cudaGraphExec_t empties_before, smalls_before;

static void state(const char *name, bool fresh = false)
{
	cost l = launches(span_s), e = graphs(empties_before, span_s), s = graphs(smalls_before, span_s);
	seen r;

	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	r = taken();
	printf("STATE %-26s launch %7.0f %7.0f  graph100 %7.2f %7.2f  graph450 %8.2f %8.2f  kernels %llu traces %llu without %llu",
	       name, l.median, l.mean, e.median, e.mean, s.median, s.mean, (unsigned long long)r.kernels,
	       (unsigned long long)r.traces, (unsigned long long)r.without);
	if (fresh) {
		cudaGraphExec_t made100 = graph_of(100, true), made450 = graph_of(450, false);
		cost e2 = graphs(made100, span_s), s2 = graphs(made450, span_s);

		printf("  new: graph100 %7.2f graph450 %8.2f", e2.median, s2.median);
		CHECK(cudaGraphExecDestroy(made100));
		CHECK(cudaGraphExecDestroy(made450));
		cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
		r = taken();
		printf(" kernels %llu", (unsigned long long)r.kernels);
	}
	printf("\n");
	fflush(stdout);
}

static void in_windows(double ms, CUpti_ActivityKind kind, const char *what)
{
	char name[64];

	windows_end = false;
	enabling.clear();
	disabling.clear();
	flushing.clear();
	std::thread switcher(windows, ms * 1e-3, ms * 1e-3 * 10, kind);
	snprintf(name, sizeof(name), "%s %g of %g ms", what, ms, ms * 10);
	state(name);
	windows_end = true;
	switcher.join();
	if (enabling.empty())
		return;
	double e = median(enabling), d = median(disabling), f = median(flushing);
	printf("  %zu windows: enable median %.1f most %.1f us, disable %.1f most %.1f, flush %.1f most %.1f\n",
	       enabling.size(), e, enabling.back(), d, disabling.back(), f, flushing.back());
}

static void CUPTIAPI called(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *)
{
}

static const CUpti_CallbackId ids[] = {
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};

static CUpti_SubscriberHandle subscriber;

static void callbacks(uint32_t on)
{
	for (CUpti_CallbackId id : ids)
		cuptiEnableCallback(on, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
}

static const CUpti_ActivityKind KERNELS = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                TRACE = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;

static void costs(const char *path)
{
	std::string p = path;

	state("bare");
	state("bare again", true);
	if (p == "register") {
		timed("cuptiActivityRegisterCallbacks", [] { return cuptiActivityRegisterCallbacks(requested, completed); });
		state("registered only", true);
	} else if (p == "subscribe") {
		timed("cuptiSubscribe", [] { return cuptiSubscribe(&subscriber, called, NULL); });
		state("subscribed only");
		timed("callbacks on", [] { callbacks(1); return CUPTI_SUCCESS; });
		state("callbacks on");
		callbacks(0);
		state("callbacks off");
		timed("cuptiUnsubscribe", [] { return cuptiUnsubscribe(subscriber); });
		state("unsubscribed");
	} else if (p == "trace") {
		cuptiActivityRegisterCallbacks(requested, completed);
		timed("enable GRAPH_TRACE", [] { return cuptiActivityEnable(TRACE); });
		state("trace on, first", true);
		timed("disable GRAPH_TRACE", [] { return cuptiActivityDisable(TRACE); });
		state("trace off");
		in_windows(5, TRACE, "trace");
		state("trace off again");
	} else if (p == "hes") {
		timed("cuptiActivityEnableHWTrace", [] { return cuptiActivityEnableHWTrace(1); });
		state("hes asked");
	}
	cuptiActivityRegisterCallbacks(requested, completed);
	timed("enable CONCURRENT_KERNEL", [] { return cuptiActivityEnable(KERNELS); });
	timed("disable CONCURRENT_KERNEL", [] { return cuptiActivityDisable(KERNELS); });
	state("off, never launched", true);
	timed("enable CONCURRENT_KERNEL", [] { return cuptiActivityEnable(KERNELS); });
	state("on", true);
	timed("disable CONCURRENT_KERNEL", [] { return cuptiActivityDisable(KERNELS); });
	state("off", true);
	for (double ms : {1., 5., 20., 50.})
		in_windows(ms, KERNELS, "kernels");
	state("off again");
	cuptiSubscribe(&subscriber, called, NULL);
	state("off, subscribed");
	callbacks(1);
	state("off, callbacks");
	callbacks(0);
	state("off, callbacks off");
	cuptiUnsubscribe(subscriber);
	state("off, unsubscribed");
	state("off, last", true);
}

static void call_state(const char *name)
{
	cost l = launches(span_s);

	printf("CALLS %-28s %7.0f %7.0f\n", name, l.median, l.mean);
	fflush(stdout);
}

static void calls(const char *way)
{
	CUcontext context;
	std::string w = way;

	CHECK(cuCtxGetCurrent(&context));
	call_state("warm-up");
	call_state("bare");
	call_state("bare, again");
	cuptiActivityRegisterCallbacks(requested, completed);
	if (w == "context") {
		timed("cuptiActivityEnableContext", [&] { return cuptiActivityEnableContext(context, KERNELS); });
		call_state("on");
		timed("cuptiActivityDisableContext", [&] { return cuptiActivityDisableContext(context, KERNELS); });
	} else {
		cuptiActivityEnable(KERNELS);
		call_state("on");
		cuptiActivityDisable(KERNELS);
	}
	call_state("off");
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	call_state("off, flushed");
	if (w == "twice") {
		cuptiSubscribe(&subscriber, called, NULL);
		call_state("off, subscribed");
		callbacks(1);
		call_state("off, callbacks");
		callbacks(0);
		call_state("off, callbacks off");
		cuptiUnsubscribe(subscriber);
	} else {
		cuptiSubscribe(&subscriber, called, NULL);
		cuptiEnableAllDomains(0, subscriber);
		cuptiUnsubscribe(subscriber);
	}
	call_state("off, unsubscribed");
	call_state("off, last");
}

// ---- edges -----------------------------------------------------------------------------------

static int records_between(const seen &r, int first, int last)
{
	int n = 0;
	for (int i = first; i < last; i++)
		n += r.by_shared.count(i) ? 1 : 0;
	return n;
}

// 60 launches of a 100 us kernel, numbered by their shared memory, queued at once. Enabled after 20
// calls, disabled after 40; `wait`: until the queue has run off, before that.
static void stream_edges(bool wait)
{
	taken();
	for (int i = 1; i <= 60; i++) {
		if (i == 21)
			cuptiActivityEnable(KERNELS);
		if (i == 41) {
			if (wait)
				CHECK(cudaStreamSynchronize(stream));
			cuptiActivityDisable(KERNELS);
		}
		spin<<<1, 32, (size_t)i, stream>>>(100);
	}
	double at = now();
	cuptiActivityFlushAll(0);
	double early = (now() - at) * 1e6;
	CHECK(cudaStreamSynchronize(stream));
	at = now();
	cuptiActivityFlushAll(0);
	double late = (now() - at) * 1e6;
	usleep(20000);
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	seen r = taken();
	printf("EDGES stream%s: records of calls before %d/20, within %d/20, after %d/20; flush with kernels queued %.0f us, after %.0f us\n",
	       wait ? " (drained before disabling)" : "", records_between(r, 1, 21), records_between(r, 21, 41),
	       records_between(r, 41, 61), early, late);
}

static void graph_edges(cudaGraphExec_t exec, const char *name, int nodes)
{
	taken();
	for (int i = 1; i <= 30; i++) {
		if (i == 11)
			cuptiActivityEnable(KERNELS);
		if (i == 21)
			cuptiActivityDisable(KERNELS);
		CHECK(cudaGraphLaunch(exec, stream));
	}
	CHECK(cudaStreamSynchronize(stream));
	usleep(20000);
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	seen r = taken();
	printf("EDGES graphs %s: 10 launches before, 10 within, 10 after: %zu correlation ids, records:", name, r.by_correlation.size());
	int whole = 0;
	for (auto &c : r.by_correlation) {
		whole += (int)c.second == nodes;
		if ((int)c.second != nodes)
			printf(" %u", c.second);
	}
	printf(" whole: %d\n", whole);
}

static void edges()
{
	cudaGraphExec_t before = graph_of(450, false), off, on;

	detailed = true;
	cuptiActivityRegisterCallbacks(requested, completed);
	cuptiActivityEnable(KERNELS);
	cuptiActivityDisable(KERNELS);
	off = graph_of(450, false);
	cuptiActivityEnable(KERNELS);
	on = graph_of(450, false);
	cuptiActivityDisable(KERNELS);
	for (int i = 0; i < 3; i++) {
		stream_edges(false);
		stream_edges(true);
		graph_edges(before, "instantiated before attaching", 450);
		graph_edges(off, "instantiated while off", 450);
		graph_edges(on, "instantiated while on", 450);
	}
	cudaGraphExec_t between = graph_of(450, false);
	graph_edges(between, "instantiated between windows", 450);
	for (double ms : {1., 2., 5., 20., 50.}) {
		taken();
		std::atomic<bool> stop{false};
		std::atomic<uint64_t> launched{0};
		std::thread loop([&] {
			while (!stop) {
				for (int i = 0; i < 8; i++)
					CHECK(cudaGraphLaunch(before, stream));
				launched += 8;
				CHECK(cudaStreamSynchronize(stream));
			}
		});
		usleep(50000);
		uint64_t first = launched;
		double at = now();
		cuptiActivityEnable(KERNELS);
		usleep((useconds_t)(ms * 1e3));
		cuptiActivityDisable(KERNELS);
		double span = (now() - at) * 1e3;
		uint64_t last = launched;
		usleep(50000);
		stop = true;
		loop.join();
		at = now();
		cuptiActivityFlushAll(0);
		double plain = (now() - at) * 1e6;
		size_t came = taken().kernels;
		at = now();
		cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
		seen r = taken();
		printf("WINDOW %g ms (%.2f): %llu graph launches of 450, %zu records by plain flush (%.0f us), %llu more by a forced one (%.0f us)\n",
		       ms, span, (unsigned long long)(last - first), came, plain,
		       (unsigned long long)r.kernels, (now() - at) * 1e6);
	}
}

// ---- threads ---------------------------------------------------------------------------------

static void threads(double seconds)
{
	std::atomic<bool> stop{false};
	std::atomic<uint64_t> done{0};
	std::vector<std::thread> all;
	uint64_t opened = 0;

	cuptiActivityRegisterCallbacks(requested, completed);
	for (int t = 0; t < 16; t++)
		all.emplace_back([&, t] {
			cudaStream_t own;
			cudaGraph_t graph;
			cudaGraphExec_t exec;

			CHECK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
			while (!stop) {
				CHECK(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal));
				for (int i = 0; i < 50; i++)
					empty<<<1, 32, 0, own>>>();
				CHECK(cudaStreamEndCapture(own, &graph));
				CHECK(cudaGraphInstantiate(&exec, graph, 0));
				CHECK(cudaGraphDestroy(graph));
				for (int k = 0; k < 20 && !stop; k++) {
					CHECK(cudaGraphLaunch(exec, own));
					for (int i = 0; i < 100; i++)
						empty<<<1, 32, (size_t)t, own>>>();
					CHECK(cudaStreamSynchronize(own));
					done += 150;
				}
				CHECK(cudaGraphExecDestroy(exec));
			}
			CHECK(cudaStreamDestroy(own));
		});
	double end = now() + seconds;
	for (unsigned dice = 1; now() < end; opened++) {
		dice = dice * 1664525 + 1013904223;
		cuptiActivityEnable(KERNELS);
		usleep(dice >> 20);
		cuptiActivityDisable(KERNELS);
		usleep(1000);
		cuptiActivityFlushAll(0);
		usleep((dice >> 20) * 4);
	}
	stop = true;
	for (auto &t : all)
		t.join();
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	seen r = taken();
	printf("THREADS 16 in %.0f s: %llu kernels, %llu windows, %llu records, %llu without times\n", seconds,
	       (unsigned long long)done.load(), (unsigned long long)opened, (unsigned long long)r.kernels,
	       (unsigned long long)r.without);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&data, 132 * 128 * sizeof(*data)));
	CHECK(cudaMemset(data, 0, 132 * 128 * sizeof(*data)));
	empty<<<1, 32, 0, stream>>>();
	spin<<<1, 32, 0, stream>>>(1);
	CHECK(cudaStreamSynchronize(stream));
	if (!strcmp(what, "cost") && (argc == 4 || argc == 5)) {
		depth = argc == 5 ? atoi(argv[4]) : depth;
		span_s = atof(argv[2]) * 1e-3;
		empties_before = graph_of(100, true);
		smalls_before = graph_of(450, false);
		costs(argv[3]);
	} else if (!strcmp(what, "calls") && argc == 5) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(atoi(argv[3]), &set);
		sched_setaffinity(0, sizeof(set), &set);
		span_s = atof(argv[2]) * 1e-3;
		calls(argv[4]);
	} else if (!strcmp(what, "edges")) {
		edges();
	} else if (!strcmp(what, "threads") && argc == 3) {
		threads(atof(argv[2]));
	} else {
		fprintf(stderr, "usage: %s cost MS PATH [DEPTH] | calls MS CPU WAY | edges | threads SECONDS\n", argv[0]);
		return 2;
	}
	return 0;
}
