/*
 * A bit of everything the library hooks, each result printed, nothing given up: what the program
 * hears of the driver must be the same with and without us, whatever fails.
 */
#include "client.h"

#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void say(const char *what, CUresult r)
{
	printf("%s %d\n", what, (int)r);
}
#define SAY(call) say(#call, call)

static CUgraph captured(CUstream stream, CUfunction f)
{
	CUgraph graph = NULL;

	SAY(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	SAY(cuLaunchKernel(f, 5, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	SAY(cuLaunchKernel(f, 6, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	SAY(cuStreamEndCapture(stream, &graph));
	return graph;
}

static void graphs(CUstream stream, CUfunction f)
{
	CUgraph graph = captured(stream, f);
	CUgraphExec exec = NULL;
	CUgraphExecUpdateResultInfo info;

	SAY(cuGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++)
		SAY(cuGraphLaunch(exec, stream));
	SAY(cuGraphExecUpdate(exec, graph, &info));
	SAY(cuGraphLaunch(exec, stream));
	SAY(cuStreamSynchronize(stream));
	SAY(cuGraphExecDestroy(exec));
	SAY(cuGraphDestroy(graph));
}

static void streams(CUfunction f)
{
	CUstream stream = NULL;
	CUlaunchConfig config = {.gridDimX = 4,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 64,
				 .blockDimY = 1,
				 .blockDimZ = 1};

	SAY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 20; i++)
		SAY(cuLaunchKernel(f, 2, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	config.hStream = stream;
	SAY(cuLaunchKernelEx(&config, f, NULL, NULL));
	SAY(cuLaunchCooperativeKernel(f, 3, 1, 1, 32, 1, 1, 0, stream, NULL));
	SAY(cuLaunchKernel(f, 0, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	SAY(cuLaunchKernel(NULL, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	graphs(stream, f);
	SAY(cuStreamSynchronize(stream));
	SAY(cuStreamDestroy(stream));
}

static void library(void)
{
	CUlibrary lib = NULL;
	CUkernel kernel = NULL;

	SAY(cuLibraryLoadData(&lib, CLIENT_IMAGE, NULL, NULL, 0, NULL, NULL, 0));
	SAY(cuLibraryGetKernel(&kernel, lib, "short"));
	SAY(cuLaunchKernel((CUfunction)kernel, 7, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	SAY(cuCtxSynchronize());
	SAY(cuLibraryUnload(lib));
}

static void everything(void)
{
	CUcontext context = NULL;
	CUmodule module = NULL;
	CUfunction f = NULL;

	SAY(cuInit(0));
	SAY(cuInit(0));
	SAY(cuDevicePrimaryCtxRetain(&context, 0));
	SAY(cuCtxSetCurrent(context));
	SAY(cuModuleLoadData(&module, CLIENT_IMAGE));
	SAY(cuModuleGetFunction(&f, module, "empty"));
	SAY(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	streams(f);
	library();
	SAY(cuModuleUnload(module));
	SAY(cuCtxSynchronize());
	SAY(cuDevicePrimaryCtxRelease(0));
}

/* What a program that does not look at errors would hear later. */
static void errno_kept(void)
{
	int changed = 0;

	errno = 0;
	client_start();
	for (int i = 0; i < 200; i++) {
		errno = 7000 + i;
		cuLaunchKernel(client_kernel, 1 + (unsigned)i, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
		changed += errno != 7000 + i;
	}
	printf("errno changed %d times\n", changed);
}

/* A descriptor that the program opens gets the number it would get without us. */
static void descriptors(void)
{
	int first = open("/dev/null", O_RDONLY | O_CLOEXEC), second;

	client_compute(1, 20);
	client_nap(200); /* let the library's thread open what it will */
	second = open("/dev/null", O_RDONLY | O_CLOEXEC);
	printf("descriptors %d %d\n", first, second);
}

/* Daemons close whatever is open, and then open files of their own. */
static void closes_all(void)
{
	char text[64] = "";
	int fd;

	client_compute(1, 20);
	client_nap(200);
	for (fd = 3; fd < 1024; fd++)
		close(fd);
	for (int i = 0; i < 1000; i++) {
		fd = open("mine", O_RDWR | O_CREAT | O_APPEND, 0600);
		if (fd < 0)
			break;
	}
	client_launch(2, 20);
	client_nap(1200);
	client_launch(3, 20);
	fd = open("mine", O_RDONLY);
	printf("in my file: %zd bytes\n", read(fd, text, sizeof(text)));
}

/* Launches of several configurations, with a rest of @p ms after every @p some. */
static void several(unsigned count, unsigned some, unsigned ms)
{
	client_start();
	for (unsigned i = 0; i < count; i++) {
		client_launch(1 + i % 5, 1);
		if (i % some == 0)
			client_nap(ms);
	}
	CK(cuCtxSynchronize());
}

/* For logs that have a limit. */
static void many(void)
{
	several(6000, 500, 30);
}

/* With time for records to be asked for in between. */
static void very_many(void)
{
	several(16000, 200, 40);
}

static void *spin_four_times(void *arg)
{
	unsigned number = (unsigned)(uintptr_t)arg;

	CK(cuCtxSetCurrent(client_context));
	for (int k = 0; k < 4; k++) {
		uint64_t ns = 100000 * (uint64_t)number;
		void *params[] = {&ns};

		CK(cuLaunchKernel(client_kernel, number, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
		CK(cuCtxSynchronize());
	}
	return NULL;
}

/* One thread after the other, the grid telling each kernel's duration in 100 us. */
static void durations(void)
{
	client_start();
	client_kernel = client_function("spin");
	for (uintptr_t i = 1; i <= 8; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, spin_four_times, (void *)i);
		pthread_join(thread, NULL);
		client_nap(70); /* so that the library may use the thread's record again */
	}
}

/* Two streams: one is being captured while launches go to the other. */
static void beside_capture(void)
{
	CUstream capturing, running;
	CUgraph graph = NULL;

	client_start();
	CK(cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING));
	CK(cuStreamCreate(&running, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 20; i++)
		SAY(cuLaunchKernel(client_kernel, 1, 1, 1, 32, 1, 1, 0, running, NULL, NULL));
	SAY(cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (int i = 0; i < 20; i++) {
		SAY(cuLaunchKernel(client_kernel, 2, 1, 1, 32, 1, 1, 0, running, NULL, NULL));
		SAY(cuLaunchKernel(client_kernel, 3, 1, 1, 32, 1, 1, 0, capturing, NULL, NULL));
		usleep(100);
	}
	SAY(cuStreamEndCapture(capturing, &graph));
	SAY(cuStreamSynchronize(running));
	printf("a graph: %d\n", graph != NULL);
}

/* Kernels of @p ns each for @p ms, one at a time. */
static void spin_for(uint64_t ns, unsigned ms)
{
	void *params[] = {&ns};

	for (unsigned i = 0; i < ms; i++) {
		CK(cuLaunchKernel(client_kernel, 7, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
		CK(cuCtxSynchronize());
		client_nap(1);
	}
}

static void slower_for(unsigned ms)
{
	client_start();
	client_kernel = client_function("spin");
	spin_for(300000, 500);
	spin_for(400000, ms);
}

/* One configuration whose kernels take a third longer after a while. */
static void slows_down(void)
{
	slower_for(400);
}

/* NVML reports other processes once a second. */
static void slows_down_for_long(void)
{
	slower_for(1500);
}

/* One configuration whose kernels take a third longer when another's run beside them. */
static void in_company(void)
{
	uint64_t ns = 400000, longer = 900000;
	void *params[] = {&ns}, *others[] = {&longer};
	CUstream mine, other;

	client_start();
	client_kernel = client_function("spin");
	CK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	CK(cuStreamCreate(&mine, CU_STREAM_NON_BLOCKING));
	spin_for(300000, 500);
	for (unsigned i = 0; i < 400; i++) {
		CK(cuLaunchKernel(client_kernel, 9, 1, 1, 32, 1, 1, 0, other, others, NULL));
		CK(cuLaunchKernel(client_kernel, 7, 1, 1, 32, 1, 1, 0, mine, params, NULL));
		CK(cuCtxSynchronize());
		client_nap(1);
	}
}

/* The same beside copies. */
static void beside_copies(void)
{
	enum { BYTES = 1 << 20 };
	uint64_t ns = 400000;
	void *params[] = {&ns};
	CUstream other;
	CUdeviceptr from, to;

	client_start();
	client_kernel = client_function("spin");
	CK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	CK(cuMemAlloc(&from, BYTES));
	CK(cuMemAlloc(&to, BYTES));
	spin_for(300000, 500);
	for (unsigned i = 0; i < 400; i++) {
		CK(cuLaunchKernel(client_kernel, 7, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
		CK(cuMemcpyDtoDAsync(to, from, BYTES, other));
		CK(cuCtxSynchronize());
		client_nap(1);
	}
}

/* Long enough for the clock to be looked at, the same all the time. */
static void steady(void)
{
	client_start();
	client_kernel = client_function("spin");
	spin_for(200000, 500);
}

/* In moved_clock.so, where that is preloaded. */
extern void moved_clock_set(int seconds) __attribute__((weak));

/* The wall clock is set while it launches, and as it ends; "back" or "ahead" first. */
static void clock_set(int seconds)
{
	client_start();
	client_kernel = client_function("spin");
	spin_for(200000, 100);
	for (int i = 0; i < 2; i++, seconds *= -2) {
		if (moved_clock_set)
			moved_clock_set(seconds);
		spin_for(200000, 400);
	}
	if (moved_clock_set)
		moved_clock_set(seconds);
}

static void clock_set_back(void)
{
	clock_set(-3600);
}

static void clock_set_ahead(void)
{
	clock_set(3600);
}

/* How often the library's threads were put to sleep so far. */
static unsigned long sleeps(void)
{
	unsigned long sum = 0, n;
	char line[256], *end;
	glob_t found;

	if (glob("/proc/self/task/*/status", 0, NULL, &found) != 0)
		return 0;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		FILE *f = fopen(found.gl_pathv[i], "r");
		int ours = 0;

		while (f && fgets(line, sizeof(line), f)) {
			ours |= !strncmp(line, "Name:\tgpuwatch", 14);
			n = strncmp(line, "voluntary_ctxt", 14)
				    ? 0
				    : strtoul(strchr(line, ':') + 1, &end, 10);
			sum += ours ? n : 0;
		}
		if (f)
			fclose(f);
	}
	globfree(&found);
	return sum;
}

/* Nothing is launched for long: how often threads are awake is printed, per second. A busy machine
   ends late what the launches began: the quietest three seconds count, the first quiet ones end it.
 */
static void idle(void)
{
	unsigned long before, least = 1000;
	time_t begun;

	client_start();
	client_kernel = client_function("spin");
	spin_for(200000, 500);
	client_nap(2500);
	for (int i = 0; i < 5 && least > 10; i++) {
		before = sleeps();
		begun = time(NULL);
		client_nap(3000);
		before = (sleeps() - before) / (unsigned long)(time(NULL) - begun);
		least = before < least ? before : least;
	}
	printf("awake %lu times a second\n", least);
	spin_for(200000, 50);
}

/* One kernel at ever larger grids. */
static void grids(void)
{
	uint64_t ns = 200000;
	void *params[] = {&ns};

	client_start();
	client_kernel = client_function("spin");
	for (unsigned blocks = 8; blocks <= 64; blocks *= 2)
		for (unsigned i = 0; i < 60; i++) {
			CK(cuLaunchKernel(client_kernel, blocks, 1, 1, 32, 1, 1, 0, NULL, params,
					  NULL));
			CK(cuCtxSynchronize());
			client_nap(i ? 1 : 400); /* the first one's time is known */
		}
}

/* One kernel of a library on two GPUs, four times as slow on the second; then a graph on it. */
static void two_gpus(void)
{
	uint64_t ns[2] = {100000, 400000};
	CUcontext context[2];
	CUstream stream[2];
	CUlibrary library = NULL;
	CUkernel kernel = NULL;
	CUgraphExec exec = NULL;
	CUgraph graph = NULL;

	CK(cuInit(0));
	CK(cuLibraryLoadData(&library, CLIENT_IMAGE, NULL, NULL, 0, NULL, NULL, 0));
	CK(cuLibraryGetKernel(&kernel, library, "spin"));
	for (int d = 0; d < 2; d++) {
		CK(cuDevicePrimaryCtxRetain(&context[d], d));
		CK(cuCtxSetCurrent(context[d]));
		CK(cuStreamCreate(&stream[d], CU_STREAM_NON_BLOCKING));
	}
	for (int i = 0; i < 200; i++) {
		void *params[] = {&ns[i % 2]};

		CK(cuCtxSetCurrent(context[i % 2]));
		CK(cuLaunchKernel((CUfunction)kernel, 9, 1, 1, 32, 1, 1, 0,
				  i % 4 < 2 ? stream[i % 2] : NULL, params, NULL));
		CK(cuCtxSynchronize());
		client_nap(2);
	}
	for (int i = 0; i < 2; i++) { /* captured on the second, which is current still */
		void *params[] = {&ns[1]};

		CK(cuStreamBeginCapture(stream[1], CU_STREAM_CAPTURE_MODE_RELAXED));
		CK(cuLaunchKernel((CUfunction)kernel, 9, 1, 1, 32, 1, 1, 0, stream[1], params,
				  NULL));
		CK(cuStreamEndCapture(stream[1], &graph));
	}
	CK(cuGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 20; i++) {
		CK(cuGraphLaunch(exec, stream[1]));
		CK(cuStreamSynchronize(stream[1]));
	}
}

/* Both GPUs, a stream of each, and kernels of one library. */
static void on_both(CUcontext context[2], CUstream stream[2], CUkernel *kernel)
{
	CUlibrary library;

	CK(cuInit(0));
	CK(cuLibraryLoadData(&library, CLIENT_IMAGE, NULL, NULL, 0, NULL, NULL, 0));
	CK(cuLibraryGetKernel(kernel, library, "short"));
	for (int d = 0; d < 2; d++) {
		CK(cuDevicePrimaryCtxRetain(&context[d], d));
		CK(cuCtxSetCurrent(context[d]));
		CK(cuStreamCreate(&stream[d], CU_STREAM_NON_BLOCKING));
	}
}

/* Deprecated, and the only launch of its kind. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void params_of_both(CUDA_LAUNCH_PARAMS params[2], CUkernel kernel, const CUstream stream[2])
{
	for (int d = 0; d < 2; d++)
		params[d] = (CUDA_LAUNCH_PARAMS){.function = (CUfunction)kernel,
						 .gridDimX = 4,
						 .gridDimY = 1,
						 .gridDimZ = 1,
						 .blockDimX = 64,
						 .blockDimY = 1,
						 .blockDimZ = 1,
						 .hStream = stream[d]};
}

/* One call, a kernel on each GPU, and no other launch. */
static void at_once_alone(void)
{
	CUDA_LAUNCH_PARAMS params[2];
	CUcontext context[2];
	CUstream stream[2];
	CUkernel kernel;

	on_both(context, stream, &kernel);
	params_of_both(params, kernel, stream);
	for (int i = 0; i < 20; i++) {
		CK(cuLaunchCooperativeKernelMultiDevice(params, 2, 0));
		CK(cuCtxSynchronize());
	}
}

/* The same among launches of the same kernel into the same streams. */
static void at_once(void)
{
	CUDA_LAUNCH_PARAMS params[2];
	CUcontext context[2];
	CUstream stream[2];
	CUkernel kernel;

	on_both(context, stream, &kernel);
	params_of_both(params, kernel, stream);
	for (int i = 0; i < 20; i++) {
		CK(cuLaunchCooperativeKernelMultiDevice(params, 2, 0));
		for (int d = 0; d < 2; d++) {
			CK(cuCtxSetCurrent(context[d]));
			for (unsigned grid = 4; grid < 6; grid++)
				CK(cuLaunchKernel((CUfunction)kernel, grid, 1, 1, 64, 1, 1, 0,
						  stream[d], NULL, NULL));
			CK(cuCtxSynchronize());
		}
	}
	client_nap(200);
}

#pragma GCC diagnostic pop

/* One graph with kernels on both GPUs, launched into a stream of the first. */
static void across(void)
{
	CUcontext context[2];
	CUstream stream[2];
	CUevent fork, join;
	CUkernel kernel;
	CUgraph graph;
	CUgraphExec exec;

	on_both(context, stream, &kernel);
	CK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	CK(cuCtxSetCurrent(context[0]));
	CK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	CK(cuStreamBeginCapture(stream[0], CU_STREAM_CAPTURE_MODE_RELAXED));
	CK(cuEventRecord(fork, stream[0]));
	CK(cuCtxSetCurrent(context[1]));
	CK(cuStreamWaitEvent(stream[1], fork, 0));
	CK(cuLaunchKernel((CUfunction)kernel, 2, 1, 1, 32, 1, 1, 0, stream[1], NULL, NULL));
	CK(cuEventRecord(join, stream[1]));
	CK(cuCtxSetCurrent(context[0]));
	for (int i = 0; i < 2; i++)
		CK(cuLaunchKernel((CUfunction)kernel, 2, 1, 1, 32, 1, 1, 0, stream[0], NULL, NULL));
	CK(cuStreamWaitEvent(stream[0], join, 0));
	CK(cuStreamEndCapture(stream[0], &graph));
	CK(cuGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 50; i++) {
		CK(cuGraphLaunch(exec, stream[0]));
		CK(cuStreamSynchronize(stream[0]));
	}
	client_nap(200);
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {
		{"everything", everything},
		{"errno", errno_kept},
		{"descriptors", descriptors},
		{"closes_all", closes_all},
		{"many", many},
		{"very_many", very_many},
		{"durations", durations},
		{"beside_capture", beside_capture},
		{"slows_down", slows_down},
		{"slows_down_for_long", slows_down_for_long},
		{"in_company", in_company},
		{"beside_copies", beside_copies},
		{"steady", steady},
		{"idle", idle},
		{"clock_set_back", clock_set_back},
		{"clock_set_ahead", clock_set_ahead},
		{"grids", grids},
		{"two_gpus", two_gpus},
		{"at_once", at_once},
		{"at_once_alone", at_once_alone},
		{"across", across},
		{NULL, NULL},
	};

	return client_main(argc, argv, list);
}
