/*
 * Kernels of known lengths, again and again, for as long as its argument says (ms): long and short
 * ones with and without time between them, and what its second argument adds: `overlap`, two
 * streams at once; `idle`, none so long that it fills a window; `exit`, another thread ends the
 * program; `thread`, it does while the main thread launches on; `main`, the main thread ends and
 * another launches on and calls exit; `held`, all that others do is behind a kernel that does not
 * end before three seconds; `fork`, a child does too; `copied`, memory
 * is copied on the GPU in the kernels' stream, `beside`, in another one; `tool`, another tool comes
 * when half of the time is over, and goes, and all grids are one larger then; `clock`, it leaves a
 * clock of its own in libcupti; `analysed`, code that takes long to read is launched when half of
 * the time is over, and few launches a second besides.
 */
#include "client.h"
#include "tool.h"

#include <cupti_pmsampling.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

static const char image[] = "gpuwatch-stand-in-module\n"
			    "kernel long_one ns=300000\n"
			    "kernel middle_one ns=80000\n"
			    "kernel short_one ns=7000\n"
			    "kernel tiny_one ns=2000\n"
			    "kernel slow_one ns=9000000\n"
			    "kernel held_one ns=3000000000\n"
			    "kernel wide_one ns=3000000\n";

enum { KERNELS = 7, LARGE = 1 << 20 };
static CUfunction kernels[KERNELS];
static unsigned more; /* blocks */

static void launch(unsigned which, unsigned blocks, CUstream stream)
{
	CK(cuLaunchKernel(kernels[which], blocks + more, 1, 1, 128, 1, 1, 0, stream, NULL, NULL));
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static CUstream copying;
static CUdeviceptr memory; /* 0: nothing is copied */

static void once(CUstream other, bool overlap, bool idle, unsigned i)
{
	launch(0, 100, NULL);
	if (memory)
		CK(cuMemcpyDtoDAsync(memory, memory + LARGE, LARGE, copying));
	launch(2, 7, NULL);
	launch(3, 3, NULL);
	launch(2, 7, NULL);
	CK(cuStreamSynchronize(NULL));
	launch(1, 40, NULL);
	launch(2, 7, NULL);
	launch(1, 20, NULL);
	if (i % 2)
		launch(3, 3, NULL);
	if (i % 16 == 0 && !idle)
		launch(4, 900, NULL);
	CK(cuStreamSynchronize(NULL));
	if (overlap) { /* two kernels at once, long enough that a busy machine starts both in time
			*/
		launch(6, 55, NULL);
		launch(6, 66, other);
		CK(cuCtxSynchronize());
	}
}

/* Ticks at three a nanosecond, from any zero. */
static uint64_t CUPTIAPI ticks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 3 * ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec) + 12345;
}

/* The sampler of a GPU is one's only: the tool must get it, sooner or later. */
static void sample(void *library)
{
	__typeof__(cuptiPmSamplingEnable) *enable;
	__typeof__(cuptiPmSamplingDisable) *disable;
	CUpti_PmSampling_Enable_Params e = {.structSize =
						    CUpti_PmSampling_Enable_Params_STRUCT_SIZE};
	CUpti_PmSampling_Disable_Params d = {.structSize =
						     CUpti_PmSampling_Disable_Params_STRUCT_SIZE};
	CUptiResult r = CUPTI_ERROR_UNKNOWN;

	*(void **)&enable = dlsym(library, "cuptiPmSamplingEnable");
	*(void **)&disable = dlsym(library, "cuptiPmSamplingDisable");
	for (int i = 0; i < 1000 && r != CUPTI_SUCCESS; i++, usleep(10000))
		r = enable(&e);
	d.pPmSamplingObject = e.pPmSamplingObject;
	printf("sampler %d %d\n", (int)r, (int)disable(&d));
}

static void profile(bool clock)
{
	__typeof__(cuptiActivityRegisterTimestampCallback) *tick;

	if (clock) {
		*(void **)&tick = dlsym(tool_library(), "cuptiActivityRegisterTimestampCallback");
		printf("clock %d\n", (int)tick(ticks));
	}
	tool_takes();
	sample(tool_library());
	client_launch(1, 10);
	CK(cuCtxSynchronize());
	tool_goes();
}

/* Real code (CODE_IMAGE), in so many configurations that to read it takes most of a second. */
static void launch_what_is_long_to_read(void)
{
	CUdeviceptr out = 0x700000000000;
	int n = 1000;
	void *params[] = {&out, &n};
	CUfunction powers;
	CUmodule module;

	CK(cuModuleLoadData(&module, client_image()));
	CK(cuModuleGetFunction(&powers, module, "powers"));
	for (unsigned i = 1; i <= 200; i++)
		CK(cuLaunchKernel(powers, i, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
}

static void *end_it(void *unused)
{
	(void)unused;
	exit(0);
}

/* Where STANDIN_PM_CONFIGURE_MS is set, the end comes in the midst of that. */
static void launch_until_configuring(void)
{
	void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	_Atomic int *configuring =
		library ? (_Atomic int *)dlsym(library, "standin_pm_configuring") : NULL;

	for (int i = 0;
	     getenv("STANDIN_PM_CONFIGURE_MS") && configuring && !*configuring && i < 30000; i++) {
		once(NULL, false, false, 1);
		usleep(1000);
	}
}

static void *launch_on(void *unused)
{
	(void)unused;
	CK(cuCtxSetCurrent(client_context));
	launch_until_configuring();
	for (int i = 0; i < 20; i++)
		once(NULL, false, false, 1);
	exit(0);
}

static void end(const char *how)
{
	pthread_t thread;

	if (!strcmp(how, "main")) {
		pthread_create(&thread, NULL, launch_on, NULL);
		pthread_exit(NULL);
	}
	launch_until_configuring();
	if (!strcmp(how, "thread") || !strcmp(how, "exit")) {
		pthread_create(&thread, NULL, end_it, NULL);
		while (*how == 't')
			once(NULL, false, false, 1);
		pthread_join(thread, NULL);
	}
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"long_one", "middle_one", "short_one", "tiny_one",
					    "slow_one", "held_one",   "wide_one"};
	double left = argc > 1 ? atof(argv[1]) : 1000; /* ms */
	const char *how = argc > 2 ? argv[2] : "";
	bool clock = !strcmp(how, "clock"), tool = clock || !strcmp(how, "tool");
	bool first = !strcmp(how, "first"), rare = !strcmp(how, "analysed"), analysed = false;
	double half = left / 2;
	CUstream other;
	CUmodule module;

	if (first)
		tool_takes();
	client_start();
	CK(cuModuleLoadData(&module, image));
	for (int i = 0; i < KERNELS; i++)
		CK(cuModuleGetFunction(&kernels[i], module, names[i]));
	CK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	copying = !strcmp(how, "beside") ? other : NULL;
	if (copying || !strcmp(how, "copied"))
		CK(cuMemAlloc(&memory, 2 * LARGE));
	if (!strcmp(how, "held"))
		launch(5, 11, other);
	for (unsigned i = 0; left > 0; i++) {
		double begin = now_ms(), passed;

		if (first && left < half) {
			tool_goes();
			first = false;
		}
		if (tool && !more && left < half) {
			profile(clock);
			more = 1;
		}
		if (rare && !analysed && left < half) {
			launch_what_is_long_to_read();
			analysed = true;
		}
		once(other, !strcmp(how, "overlap"), !strcmp(how, "idle"), i);
		if (rare)
			usleep(3000);
		/* As client_nap counts. The longest of them takes 10 ms. */
		passed = now_ms() - begin;
		left -= client_library_busy() ? 0 : passed < 12 ? passed : 12;
	}
	if (!strcmp(how, "fork") && !fork())
		exit(0);
	if (!strcmp(how, "fork"))
		wait(NULL);
	end(how);
	CK(cuCtxSynchronize());
	return 0;
}
