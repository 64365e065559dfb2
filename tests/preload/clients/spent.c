/* Programs whose time on the GPU is scripted: kernels, copies, waits, and work of the host. */
#include "client.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { TURNS = 20, MS = 1000, COPIED = 32 << 20 };

static CUfunction spin;

static void run_for(uint64_t ns)
{
	void *params[] = {&ns};

	CK(cuLaunchKernel(spin, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
}

/* Whoever watches knows the rate of the clock. */
static void begin(void)
{
	client_start();
	spin = client_function("spin");
	run_for(1000);
	CK(cuCtxSynchronize());
	client_nap(60);
}

/* 5 ms of a kernel that is waited for, then 4 ms of the host. */
static void waits(void)
{
	begin();
	for (int i = 0; i < TURNS; i++) {
		run_for(5000000);
		CK(cuStreamSynchronize(NULL));
		usleep(4 * MS);
	}
	run_for(1000);
	CK(cuCtxSynchronize());
}

/* 3 ms of a kernel, and the host comes back after 8 ms. */
static void host(void)
{
	begin();
	for (int i = 0; i < TURNS; i++) {
		run_for(3000000);
		usleep(8 * MS);
	}
	run_for(1000);
	CK(cuCtxSynchronize());
}

/* 2.1 ms for a copy to the GPU, as long back, 1 ms of a kernel, 2.1 ms for a memset. */
static void copies(void)
{
	static char memory[COPIED];
	CUdeviceptr there;

	begin();
	CK(cuMemAlloc(&there, sizeof(memory)));
	for (int i = 0; i < TURNS; i++) {
		CK(cuMemcpyHtoD(there, memory, sizeof(memory)));
		run_for(1000000);
		CK(cuMemcpyDtoH(memory, there, sizeof(memory)));
		CK(cuMemsetD8Async(there, 1, sizeof(memory), NULL));
	}
	run_for(1000);
	CK(cuCtxSynchronize());
}

enum { CHILDREN = 8, GOOD = 5 };

static double cpu_ms(const pid_t *child)
{
	double sum = 0;

	for (unsigned i = 0; i < CHILDREN; i++) {
		struct timespec t;
		clockid_t clock;

		if (clock_getcpuclockid(child[i], &clock) || clock_gettime(clock, &t))
			exit(6);
		sum += (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
	}
	return sum;
}

static pid_t make_child(bool computes)
{
	volatile unsigned long sink = 0;
	pid_t pid = fork();

	while (!pid)
		if (computes)
			sink++;
		else
			pause();
	return pid;
}

/*
 * Children compute, or sleep, while this thread sleeps and then launches: until they have had a
 * processor for three fifths of 60 ms five times, or ten seconds are over. They are many so that
 * other programs do not keep them from it.
 */
static void with_children(bool compute)
{
	pid_t child[CHILDREN];
	int good = 0;

	begin();
	for (unsigned i = 0; i < CHILDREN; i++)
		child[i] = make_child(compute);
	client_nap(1200); /* they are found */
	run_for(1000);
	for (int i = 0; i < 160 && good < GOOD; i++) {
		double before = cpu_ms(child);

		usleep(60 * MS);
		good += !compute || cpu_ms(child) - before >= 36;
		run_for(1000);
	}
	CK(cuCtxSynchronize());
	for (unsigned i = 0; i < CHILDREN; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
}

static void input(void)
{
	with_children(true);
}

static void idle_children(void)
{
	with_children(false);
}

/*
 * As NCCL of versions 2.27 (4) and 2.28 (5) reports a collective to its profiler, after the launch
 * of its kernel; by their own declarations of what is passed.
 */
struct collective {
	uint64_t sequence;
	const char *function;
	const void *from;
	void *to;
	size_t count;
	int root;
	const char *datatype;
	uint8_t channels, warps;
	const char *algorithm, *protocol;
	void *group;
};
struct event4 {
	uint8_t type;
	void *parent;
	int rank;
	struct collective collective;
};
struct event5 {
	uint64_t type;
	void *parent;
	int rank;
	struct collective collective;
};
struct profiler4 {
	const char *name;
	int (*init)(void **, int *, const char *, uint64_t, int, int, int, void *);
	int (*start)(void *, void **, struct event4 *);
	int (*stop)(void *), (*record)(void *, int, void *), (*finalize)(void *);
};
struct profiler5 {
	const char *name;
	int (*init)(void **, uint64_t, int *, const char *, int, int, int, void *);
	int (*start)(void *, void **, struct event5 *);
	int (*stop)(void *), (*record)(void *, int, void *), (*finalize)(void *);
};

static void *plugin(const char *symbol)
{
	void *library = dlopen(getenv("NCCL_PROFILER_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
	void *found = library ? dlsym(library, symbol) : NULL;

	if (!found)
		exit(8);
	return found;
}

/* It prints what it was asked for and what handles it got. */
static void collectives(void)
{
	const struct profiler5 *p = plugin("ncclProfiler_v5");
	struct event5 group = {.type = 1};
	struct event5 e = {.type = 2,
			   .collective = {.function = "AllReduce",
					  .count = UINT64_C(5) << 32 | 7,
					  .datatype = "ncclBfloat16"}};
	void *context = NULL, *handle = &context;
	int mask = -1;

	begin();
	if (p->init(&context, 0x123456789abcdef, &mask, "world", 1, 8, 3, NULL))
		exit(7);
	for (uint64_t i = 0; i < TURNS; i++) {
		if (mask & 2)
			p->start(context, &handle, &group);
		run_for(1000);
		e.collective.sequence = (UINT64_C(1) << 32) + i;
		if (mask & 2)
			p->start(context, &handle, &e);
	}
	printf("%d %s\n", mask, mask && handle ? "handle" : "none");
	p->stop(handle);
	p->record(handle, 0, NULL);
	p->finalize(context);
	CK(cuCtxSynchronize());
}

static void collectives4(void)
{
	const struct profiler4 *p = plugin("ncclProfiler_v4");
	struct event4 e = {.type = 2,
			   .collective = {.function = "of later", .datatype = "ncclFloat32"}};
	void *context[2], *handle;
	int mask;

	begin();
	for (int i = 0; i < 2; i++)
		if (p->init(&context[i], &mask, NULL, (uint64_t)i + 1, 1, 2, i, NULL))
			exit(7);
	for (int i = 0; i < 2; i++) {
		run_for(1000);
		p->start(context[i], &handle, &e);
	}
	CK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {{"waits", waits},
					       {"host", host},
					       {"copies", copies},
					       {"input", input},
					       {"idle_children", idle_children},
					       {"collectives", collectives},
					       {"collectives4", collectives4},
					       {NULL, NULL}};

	return client_main(argc, argv, list);
}
