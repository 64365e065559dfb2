/* More of everything than tables hold, one at a time or all at once. */
#include "client.h"

#include <pthread.h>

enum {
	SLOTS = 16384,          /* of streams, and of graphs, at a time */
	PAST = SLOTS + 1000,    /* so many one after the other need slots that are used again */
	REST_EVERY = 256,       /* of these the library's threads get time to do their work */
	CONFIGURATIONS = 60000, /* more than fit 64 MiB */
	NAME = 1000,            /* bytes of a kernel's name */
	THREADS = 48,
	HUNDREDS = 1200, /* threads, more than 64 MiB have rings for, small ones included */
};

static long kib_of(const char *field)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256], format[64];
	long kib = 0;

	snprintf(format, sizeof(format), "%s: %%ld", field);
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, format, &kib);
	if (f)
		fclose(f);
	return kib;
}

static void streams(void)
{
	client_start();
	for (int i = 0; i < PAST; i++) {
		CUstream s;

		CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
		CK(cuLaunchKernel(client_kernel, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL));
		CK(cuLaunchKernel(client_kernel, 2, 1, 1, 32, 1, 1, 0, s, NULL, NULL));
		CK(cuStreamSynchronize(s));
		CK(cuStreamDestroy(s));
		if (i % REST_EVERY == 0)
			client_nap(5);
	}
}

static void graphs(void)
{
	CUDA_KERNEL_NODE_PARAMS p = {.gridDimX = 3,
				     .gridDimY = 1,
				     .gridDimZ = 1,
				     .blockDimX = 32,
				     .blockDimY = 1,
				     .blockDimZ = 1};

	client_start();
	p.func = client_kernel;
	for (int i = 0; i < PAST; i++) {
		CUgraphExec exec;
		CUgraphNode node;
		CUgraph graph;

		CK(cuGraphCreate(&graph, 0));
		CK(cuGraphAddKernelNode(&node, graph, NULL, 0, &p));
		CK(cuGraphAddKernelNode(&node, graph, NULL, 0, &p));
		CK(cuGraphInstantiate(&exec, graph, 0));
		CK(cuGraphLaunch(exec, NULL));
		CK(cuStreamSynchronize(NULL));
		CK(cuGraphExecDestroy(exec));
		CK(cuGraphDestroy(graph));
		if (i % REST_EVERY == 0)
			client_nap(5);
	}
}

/* More at a time than there are slots, and then a few launches into each. */
static void streams_at_once(void)
{
	static CUstream stream[PAST];

	client_start();
	for (int i = 0; i < PAST; i++)
		CK(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 2 * PAST; i++) {
		CK(cuLaunchKernel(client_kernel, 1, 1, 1, 32, 1, 1, 0, stream[i % PAST], NULL,
				  NULL));
		if (i % REST_EVERY == 0)
			client_nap(5);
	}
	CK(cuCtxSynchronize());
}

static void rest(int i)
{
	if (i % 4000)
		return;
	CK(cuCtxSynchronize());
	client_nap(30);
}

/* Each launch of another configuration, then the same hundred further ones again and again. */
static void configurations(void)
{
	static char image[NAME + 200], name[NAME + 1];
	CUmodule module;
	CUfunction f;
	long then;

	memset(name, 'k', NAME);
	snprintf(image, sizeof(image), "gpuwatch-stand-in-module\nkernel %s regs=24 ns=1000\n",
		 name);
	client_start();
	CK(cuModuleLoadData(&module, image));
	CK(cuModuleGetFunction(&f, module, name));
	for (int i = 0; i < CONFIGURATIONS; i++, rest(i))
		CK(cuLaunchKernel(f, 1 + (unsigned)i, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	then = kib_of("VmRSS");
	for (int i = 0; i < CONFIGURATIONS; i++, rest(i))
		CK(cuLaunchKernel(f, CONFIGURATIONS + 1 + (unsigned)i % 100, 1, 1, 32, 1, 1, 0,
				  NULL, NULL, NULL));
	printf("grown %ld rss %ld\n", kib_of("VmRSS") - then, kib_of("VmRSS"));
}

static pthread_barrier_t gate;
static int each = 20000; /* launches: more than a ring holds */

/* All at a time, each with all of its ring used. */
static void *fill_ring(void *arg)
{
	(void)arg;
	CK(cuCtxSetCurrent(client_context));
	pthread_barrier_wait(&gate);
	client_launch(1, each);
	pthread_barrier_wait(&gate);
	return NULL;
}

static void run_threads(int count)
{
	static pthread_t thread[HUNDREDS];

	if (!client_context)
		client_start();
	pthread_barrier_init(&gate, NULL, (unsigned)count);
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread[i], NULL, fill_ring, NULL))
			exit(9);
	for (int i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
	CK(cuCtxSynchronize());
}

static void threads(void)
{
	run_threads(THREADS);
	printf("rss %ld\n", kib_of("VmRSS"));
}

/* Faster than any worker keeps up with, and then the same again. */
static void rushes(void)
{
	each = 5000;
	run_threads(THREADS);
	run_threads(THREADS);
	printf("rss %ld\n", kib_of("VmRSS"));
}

static void hundreds_of_threads(void)
{
	each = 100;
	run_threads(HUNDREDS);
}

/* Pages in memory: VmLck has what malloc reserved for each thread, too, 64 MiB without a page. */
static long locked_kib(void)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	char line[4096];
	long kib = 0, one;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Locked: %ld", &one) == 1)
			kib += one;
	if (file)
		fclose(file);
	return kib;
}

/* As programs that may not wait for a page. */
static void locked(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		puts("not allowed");
		return;
	}
	client_compute(1, 100);
	printf("locked %ld\n", locked_kib());
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {
		{"streams", streams},
		{"graphs", graphs},
		{"streams_at_once", streams_at_once},
		{"configurations", configurations},
		{"threads", threads},
		{"hundreds", hundreds_of_threads},
		{"rushes", rushes},
		{"locked", locked},
		{NULL, NULL},
	};

	return client_main(argc, argv, list);
}
