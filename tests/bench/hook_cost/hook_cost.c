/*
 * The calls whose cost hook_cost.py counts, on the CPU stand-in: each phase_ function makes
 * CALLS alike calls, and callgrind writes down what was counted whenever one is entered.
 */
#include "tests/driver/clients/client.h"
#include "tests/driver/clients/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CALLS = 512, STREAMS = 8, NODES = 10 };

static CUfunction known, one, eight, fresh[CALLS];
static CUstream stream[STREAMS], unseen[CALLS];
static CUgraphExec graph;

static void launch(CUfunction f, unsigned grid, CUstream s)
{
	CK(cuLaunchKernel(f, grid, 1, 1, 32, 1, 1, 0, s, NULL, NULL));
}

/* Of a kernel whose code shows which arguments count. */
static void decided(CUfunction f)
{
	static uint64_t argument[16];
	void *params[16];

	for (int i = 0; i < 16; i++)
		params[i] = &argument[i];
	CK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream[0], params, NULL));
}

static bool add_naps(void *sum, const char *status)
{
	if (task_is_library(status))
		*(unsigned long *)sum +=
			strtoul(task_field(status, "\nvoluntary_ctxt_switches:\t"), NULL, 10);
	return true;
}

/* How often the library's threads gave up the processor of their own accord. */
static unsigned long naps(void)
{
	unsigned long sum = 0;

	each_task(add_naps, &sum);
	return sum;
}

/*
 * Let the worker take the times of what was launched and publish its predictions: it has had
 * ROUNDS of its rounds, however slow the machine.
 */
static void settle(void)
{
	enum { ROUNDS = 40, POLL_US = 20000, POLLS = 20, POLLS_MAX = 3000 };
	unsigned long begin = naps();

	CK(cuCtxSynchronize());
	for (int i = 0; i < POLLS || (begin && i < POLLS_MAX && naps() - begin < ROUNDS); i++)
		usleep(POLL_US);
}

#define PHASE(name, call) \
	__attribute__((noinline)) void phase_##name(void); \
	void phase_##name(void) \
	{ \
		for (unsigned i = 0; i < CALLS; i++) \
			call; \
		__asm__ volatile("" ::: "memory"); \
	}
PHASE(first_kernel, launch(fresh[i], 1, stream[0]))
PHASE(first_configuration, launch(known, 1000 + i, stream[0]))
PHASE(first_stream, launch(known, 1, unseen[i]))
PHASE(kernels_in_turns, launch(fresh[i % 64], 1, stream[0]))
PHASE(predicted, launch(known, 1, stream[0]))
PHASE(predicted_streams, launch(known, 1, stream[i % STREAMS]))
PHASE(predicted_default_stream, launch(known, 1, NULL))
PHASE(predicted_one_argument, decided(one))
PHASE(predicted_eight_arguments, decided(eight))
PHASE(graph, CK(cuGraphLaunch(graph, stream[0])))
PHASE(end, (void)i)

static CUmodule load(void)
{
	static char image[CALLS * 32 + 64];
	size_t n = (size_t)sprintf(image, "gpuwatch-stand-in-module\nkernel known ns=800\n");
	CUmodule module;

	for (int i = 0; i < CALLS; i++)
		n += (size_t)sprintf(image + n, "kernel fresh%d ns=800\n", i);
	CK(cuModuleLoadData(&module, image));
	return module;
}

/* Machine code, which the stand-in takes for the kernels that STANDIN_KERNELS lists. */
static void load_code(void)
{
	enum { ROOM = 1 << 16 };
	char *image =
		calloc(1, ROOM); /* not in this program's file, where it would be looked for */
	FILE *f = fopen(HOOK_CODE "/arguments.cubin", "rb");
	CUmodule module;

	setenv("STANDIN_KERNELS", HOOK_COST "/arguments.kernels", 1);
	if (!f || !image || fread(image, 1, ROOM, f) == 0)
		exit(1);
	fclose(f);
	CK(cuModuleLoadData(&module, image));
	CK(cuModuleGetFunction(&one, module, "one"));
	CK(cuModuleGetFunction(&eight, module, "eight"));
}

static void make_graph(void)
{
	CUgraph made;

	CK(cuStreamBeginCapture(stream[0], CU_STREAM_CAPTURE_MODE_RELAXED));
	for (int i = 0; i < NODES; i++)
		launch(known, 1, stream[0]);
	CK(cuStreamEndCapture(stream[0], &made));
	CK(cuGraphInstantiate(&graph, made, 0));
}

int main(void)
{
	CUmodule module;

	client_start();
	module = load();
	load_code();
	CK(cuModuleGetFunction(&known, module, "known"));
	for (int i = 0; i < CALLS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "fresh%d", i);
		CK(cuModuleGetFunction(&fresh[i], module, name));
		CK(cuStreamCreate(&unseen[i], CU_STREAM_NON_BLOCKING));
	}
	for (int i = 0; i < STREAMS; i++)
		CK(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < STREAMS; i++)
		launch(known, 1, stream[i]);
	launch(known, 1, NULL);
	for (int i = 0; i < 4; i++) { /* code is read, plans are made, times are learnt */
		decided(one);
		decided(eight);
		settle();
	}
	make_graph();
	CK(cuGraphLaunch(graph, stream[0]));
	settle();
	phase_first_kernel();
	phase_first_configuration();
	phase_first_stream();
	phase_kernels_in_turns();
	phase_predicted();
	phase_predicted_streams();
	phase_predicted_default_stream();
	phase_predicted_one_argument();
	phase_predicted_eight_arguments();
	phase_graph();
	phase_end();
	settle();
	printf("%d calls\n", CALLS);
	return 0;
}
