/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that launch without a pause, into streams and as graphs, copy, synchronise, make and destroy streams and
 * graphs: a load for a library that was preloaded.
 *   storm TENTHS [THREADS [GRAPHS]]
 * TENTHS: tenths of a second; GRAPHS: `none`, `before`: made at the start, `remade` (the default): also later.
 * Every kernel adds one to a counter of its thread: at the end all must be there. Prints one
 * JSON object. Exit status: 0 all well, 1 a wrong count or a failed call, 3 hung.
 */
#include <atomic>
#include <cstdint>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <unistd.h>
#include <vector>

static __global__ void add_one(unsigned long long *counter)
{
	if (threadIdx.x == 0)
		atomicAdd(counter, 1ull);
}

static struct {
	std::atomic<uint64_t> kernels{0}; /* launched and taken by the driver, graph nodes too */
	std::atomic<uint64_t> calls{0};   /* launch calls; of them the time below */
	std::atomic<uint64_t> call_ns{0};
	std::atomic<const char *> doing{"starting"}; /* for the watchdog */
} load;
static const char *graphs = "remade";
static std::atomic<bool> stop{false};
static std::atomic<uint64_t> failures{0};

static uint64_t now_ns()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void check(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	if (failures++ < 5)
		fprintf(stderr, "storm: %s: %s\n", what, cudaGetErrorString(error));
}
#define CHECK(call) check(call, #call)

enum { NODES = 4 };

struct worker {
	pthread_t thread;
	unsigned long long *counter; /* on the device: kernels run, a copy of it beside */
	uint64_t launched, remade;
	cudaStream_t stream;
	cudaGraphExec_t exec;
};

static void make_graph(worker &w)
{
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(w.stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < NODES; i++)
		add_one<<<1, 32, 0, w.stream>>>(w.counter);
	CHECK(cudaStreamEndCapture(w.stream, &graph));
	CHECK(cudaGraphInstantiate(&w.exec, graph, 0));
	CHECK(cudaGraphDestroy(graph));
}

static void remake_graph(worker &w)
{
	if (strcmp(graphs, "remade"))
		return;
	CHECK(cudaStreamSynchronize(w.stream));
	CHECK(cudaGraphExecDestroy(w.exec));
	make_graph(w);
	w.remade++;
}

static void launched(worker &w, uint64_t begin, unsigned kernels)
{
	w.launched += kernels;
	load.kernels.fetch_add(kernels, std::memory_order_relaxed);
	load.calls.fetch_add(1, std::memory_order_relaxed);
	load.call_ns.fetch_add(now_ns() - begin, std::memory_order_relaxed);
}

static void step(worker &w, unsigned i)
{
	uint64_t begin = now_ns();

	if (i % 16 == 15 && strcmp(graphs, "none")) {
		CHECK(cudaGraphLaunch(w.exec, w.stream));
		launched(w, begin, NODES);
	} else {
		add_one<<<1, 32, 0, w.stream>>>(w.counter);
		launched(w, begin, 1);
	}
	if (i % 32 == 7)
		CHECK(cudaMemcpyAsync(w.counter + 1, w.counter, 8, cudaMemcpyDeviceToDevice, w.stream));
	if (i % 128 == 77)
		CHECK(cudaStreamSynchronize(w.stream));
	if (i % 4096 == 1000) {
		CHECK(cudaStreamSynchronize(w.stream));
		CHECK(cudaStreamDestroy(w.stream));
		CHECK(cudaStreamCreateWithFlags(&w.stream, cudaStreamNonBlocking));
	}
	if (i % 1024 == 700)
		remake_graph(w);
}

static void *run(void *arg)
{
	worker &w = *(worker *)arg;

	for (unsigned i = 0; !stop.load(std::memory_order_relaxed); i++)
		step(w, i);
	return nullptr;
}

/* Nothing launched for a while: somebody hangs. */
static void *watch(void *)
{
	uint64_t before = ~0ull;

	for (;;) {
		uint64_t now = load.kernels.load();

		if (now == before) {
			fprintf(stderr, "storm: hung while %s\n", load.doing.load());
			printf("{\"hung\": \"%s\"}\n", load.doing.load());
			fflush(stdout);
			_exit(3);
		}
		before = now;
		sleep(12);
	}
}

static uint64_t resident_kb()
{
	unsigned long total = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%lu %lu", &total, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return pages * 4;
}

static double ns_per_call(unsigned ms)
{
	uint64_t calls = load.calls, ns = load.call_ns;

	usleep(ms * 1000);
	calls = load.calls - calls;
	return calls ? (double)(load.call_ns - ns) / (double)calls : 0;
}

static bool all_ran(std::vector<worker> &workers)
{
	bool right = true;

	for (worker &w : workers) {
		unsigned long long ran = 0;

		pthread_join(w.thread, nullptr);
		CHECK(cudaStreamSynchronize(w.stream));
		CHECK(cudaMemcpy(&ran, w.counter, 8, cudaMemcpyDeviceToHost));
		right = right && ran == w.launched;
	}
	return right;
}

int main(int argc, char **argv)
{
	int tenths = argc > 1 ? atoi(argv[1]) : 0, threads = argc > 2 ? atoi(argv[2]) : 16;
	size_t free_before = 0, free_after = 0, total;
	pthread_t watchdog;

	if (tenths < 1 || threads < 1) {
		fprintf(stderr, "usage: %s TENTHS [THREADS [none|before|remade]]\n", argv[0]);
		return 2;
	}
	if (argc > 3)
		graphs = argv[3];

	std::vector<worker> workers((size_t)threads);

	for (worker &w : workers) {
		w.launched = w.remade = 0;
		CHECK(cudaMalloc(&w.counter, 16));
		CHECK(cudaMemset(w.counter, 0, 16));
		CHECK(cudaStreamCreateWithFlags(&w.stream, cudaStreamNonBlocking));
		make_graph(w);
	}
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemGetInfo(&free_before, &total));
	for (worker &w : workers)
		pthread_create(&w.thread, nullptr, run, &w);
	usleep(200000);
	pthread_create(&watchdog, nullptr, watch, nullptr);

	uint64_t begin = now_ns(), memory = resident_kb();
	double first = ns_per_call(500);

	printf("{\"graphs\": \"%s\", \"threads\": %d, \"first_ns\": %.0f, ", graphs, threads, first);
	fflush(stdout);
	load.doing = "launching";
	usleep((useconds_t)tenths * 100000);
	load.doing = "ending";

	double last = ns_per_call(500);

	stop = true;

	bool right = all_ran(workers);
	uint64_t remade = 0;

	for (worker &w : workers)
		remade += w.remade;

	CHECK(cudaMemGetInfo(&free_after, &total));
	printf("\"last_ns\": %.0f, \"seconds\": %.1f, \"kernels\": %llu, \"remade\": %llu, \"all_ran\": %s, "
	       "\"failures\": %llu, \"resident_kb\": %lld, \"device_kb\": %lld, \"last_error\": %d}\n",
	       last, (double)(now_ns() - begin) * 1e-9, (unsigned long long)load.kernels,
	       (unsigned long long)remade, right ? "true" : "false", (unsigned long long)failures,
	       (long long)(resident_kb() - memory),
	       ((long long)free_before - (long long)free_after) / 1024, (int)cudaGetLastError());
	fflush(stdout);
	return right && !failures ? 0 : 1;
}
