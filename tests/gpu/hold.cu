/*
 * Programs that a tool beside them must neither hang nor change: kernels that wait for the host or for
 * each other, captures that any stray call would spoil, code that comes and goes, ends in the midst of it all.
 *   hold CASE SECONDS|TURNSx [END]
 * CASE: what runs for so long, or so many turns, which make the same kernels each time. END: `return` (unless given), `exit` (main calls exit), `thread` (another thread
 * calls exit while main launches on), `main` (main ends by pthread_exit, another thread goes on), `quick`
 * (_exit), `reset` (cudaDeviceReset, then return), `running` (exit while a kernel runs).
 * Prints the case, whether all results were right, how many kernels ran by the program's own account, and how many
 * the GPU counted. Exit status 0, 5 for END `thread`; 1 where a result was wrong.
 */
#include "kernels.h"

#include <atomic>
#include <cooperative_groups.h>
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Adds one to *sum when it is done, as all kernels here do. */
__global__ void wait_for(volatile int *flag, int value, ull *sum)
{
	while (*flag < value)
		;
	atomicAdd(sum, 1ull);
}

__global__ void work(ull *sum, int turns)
{
	float a = (float)threadIdx.x;

	for (int i = 0; i < turns; i++)
		a = a * 1.0001f + 0.5f;
	if (blockIdx.x + threadIdx.x == 0 && a > -1)
		atomicAdd(sum, 1ull);
}

/* Blocks that live as long as the host likes, and take what it asks for. */
__global__ void persistent(volatile int *asked, volatile int *done, ull *sum)
{
	int last = 0, next;

	while ((next = *asked) >= 0) {
		if (next == last)
			continue;
		last = next;
		__threadfence_system();
		if (blockIdx.x == 0)
			*done = next;
	}
	if (blockIdx.x == 0)
		atomicAdd(sum, 1ull);
}

/* Every block writes, waits for all, and checks what its neighbour wrote. */
__global__ void together(int *cells, int round, int *wrong, ull *sum)
{
	cooperative_groups::grid_group grid = cooperative_groups::this_grid();

	if (threadIdx.x == 0)
		cells[blockIdx.x] = round;
	grid.sync();
	if (threadIdx.x == 0 && cells[(blockIdx.x + 1) % gridDim.x] != round)
		atomicAdd(wrong, 1);
	grid.sync();
	if (blockIdx.x + threadIdx.x == 0)
		atomicAdd(sum, 1ull);
}

static double until;
static std::atomic<long> turns(-1); /* left, where turns were asked for */
static bool right = true;

static bool more()
{
	return turns < 0 ? now() < until : turns-- > 0;
}

/* Host memory that the GPU sees. */
static volatile int *shared_int()
{
	volatile int *p;

	CHECK(cudaHostAlloc((void **)&p, sizeof *p, cudaHostAllocMapped));
	*p = 0;
	return p;
}

static void host_released(tally *t)
{
	volatile int *flag = shared_int();
	cudaStream_t other;

	CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	for (int i = 1; more(); i++) {
		wait_for<<<1, 1>>>(flag, i, t->sum);
		work<<<264, 256, 0, other>>>(t->sum, 1000);
		CHECK(cudaStreamSynchronize(other));
		usleep(i % 8 ? 2000 : 30000); /* shorter and longer than a window */
		*flag = i;
		CHECK(cudaDeviceSynchronize());
		t->ran += 2;
	}
}

static void persistent_kernel(tally *t)
{
	volatile int *asked = shared_int(), *done = shared_int();
	cudaStream_t other;

	CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	persistent<<<32, 1>>>(asked, done, t->sum);
	for (int i = 1; more(); i++) {
		work<<<132, 128, 0, other>>>(t->sum, 5000);
		*asked = i;
		while (*done != i)
			;
		t->ran++;
		usleep(i % 8 ? 200 : 4000);
	}
	*asked = -1;
	CHECK(cudaDeviceSynchronize());
	t->ran++;
}

static void cooperative(tally *t)
{
	int *cells, *wrong, found = 0, round = 0;
	void *args[] = {&cells, &round, &wrong, &t->sum};

	CHECK(cudaMalloc(&cells, 132 * sizeof *cells));
	CHECK(cudaMalloc(&wrong, sizeof *wrong));
	CHECK(cudaMemset(wrong, 0, sizeof *wrong));
	while (more()) {
		for (int i = 0; i < 20; i++, t->ran++, round++)
			CHECK(cudaLaunchCooperativeKernel((void *)together, dim3(132), dim3(256), args, 0, 0));
		CHECK(cudaDeviceSynchronize());
	}
	CHECK(cudaMemcpy(&found, wrong, sizeof found, cudaMemcpyDeviceToHost));
	right &= !found;
}

__global__ void pass(volatile int *mine, volatile int *theirs, int turns, ull *sum)
{
	for (int i = 1; i <= turns; i++) {
		*mine = i;
		__threadfence();
		while (*theirs < i)
			;
	}
	atomicAdd(sum, 1ull);
}

static void each_other(tally *t)
{
	cudaStream_t streams[2];
	int *flags;

	CHECK(cudaMalloc(&flags, 256));
	for (cudaStream_t &s : streams)
		CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	while (more()) {
		CHECK(cudaMemset(flags, 0, 256));
		CHECK(cudaDeviceSynchronize());
		pass<<<1, 1, 0, streams[0]>>>(flags, flags + 32, 1000, t->sum);
		usleep(t->ran % 16 ? 0 : 20000);
		pass<<<1, 1, 0, streams[1]>>>(flags + 32, flags, 1000, t->sum);
		CHECK(cudaDeviceSynchronize());
		t->ran += 2;
	}
}

static void captures(tally *t)
{
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	while (more()) {
		/* Global: what any thread of the process does that can't be captured ends it. */
		CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
		for (int i = 0; i < 8; i++) {
			work<<<132, 256, 0, stream>>>(t->sum, 2000);
			usleep(500);
		}
		CHECK(cudaStreamEndCapture(stream, &graph));
		CHECK(cudaGraphInstantiate(&exec, graph, 0));
		for (int i = 0; i < 5; i++, t->ran += 8)
			CHECK(cudaGraphLaunch(exec, stream));
		CHECK(cudaStreamSynchronize(stream));
		CHECK(cudaGraphExecDestroy(exec));
		CHECK(cudaGraphDestroy(graph));
	}
}

/* A path beside this program. */
static const char *beside(const char *file, char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size);
	char *name = (char *)memrchr(path, '/', length > 0 ? (size_t)length : 0);

	if (!name) {
		fprintf(stderr, "hold: where this program lies is not known\n");
		exit(1);
	}
	snprintf(name + 1, size - (size_t)(name + 1 - path), "%s", file);
	return path;
}

/* Each has a stream of its own: the device as a whole is not waited for while one captures. */
struct loader {
	void (*turn)(loader *);
	pthread_t thread;
	cudaStream_t stream;
	tally t;
};

/* The driver loads code, and the loader of programs none. */
static void library(loader *l)
{
	char path[4096];
	void *args[] = {&l->t.sum};
	cudaLibrary_t library;
	cudaKernel_t kernel;

	CHECK(cudaLibraryLoadFromFile(&library, beside("kernels.fatbin", path, sizeof path), NULL, NULL, 0, NULL,
				      NULL, 0));
	CHECK(cudaLibraryGetKernel(&kernel, library, "bump"));
	CHECK(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(32), args, 0, l->stream));
	CHECK(cudaStreamSynchronize(l->stream));
	CHECK(cudaLibraryUnload(library));
	l->t.ran++;
}

/* The loader of programs is busy too: a plug-in with code and a runtime of its own, as PyTorch's libraries have. */
static void plug_in(loader *l)
{
	char path[4096];
	void *handle = dlopen(beside("hold_plug_in.so", path, sizeof path), RTLD_NOW | RTLD_LOCAL);
	int (*launch)(ull *) = handle ? (int (*)(ull *))dlsym(handle, "plug_in_launch") : NULL;

	if (!launch || launch(l->t.sum)) {
		fprintf(stderr, "hold: hold_plug_in.so: %s\n", launch ? "launch failed" : dlerror());
		exit(1);
	}
	l->t.ran++;
	dlclose(handle);
}

/* What has a driver's tables change: memory, streams, events, graphs. */
static void objects(loader *l)
{
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	void *device, *host;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&device, 32 << 20));
	CHECK(cudaHostAlloc(&host, 1 << 20, cudaHostAllocMapped));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	for (int i = 0; i < 8; i++)
		work<<<132, 256, 0, stream>>>(l->t.sum, 500);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaMemcpyAsync(host, device, 1 << 20, cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaFreeHost(host));
	CHECK(cudaFree(device));
	CHECK(cudaStreamDestroy(stream));
	l->t.ran += 8;
}

static void *load_on(void *of)
{
	loader *l = (loader *)of;

	while (more())
		l->turn(l);
	return NULL;
}

/* Code, plug-ins and objects come and go on threads of their own: each takes locks that a tool beside may hold. */
static void modules(tally *t)
{
	loader loaders[] = {{library, 0, 0, {}}, {plug_in, 0, 0, {}}, {objects, 0, 0, {}}};
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (loader &l : loaders) {
		CHECK(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking));
		tally_open(&l.t);
	}
	for (loader &l : loaders) {
		pthread_create(&l.thread, NULL, load_on, &l);
	}
	while (more()) {
		for (int i = 0; i < 50; i++, t->ran++)
			work<<<264, 256, 0, stream>>>(t->sum, 200 << i % 6);
		CHECK(cudaStreamSynchronize(stream));
	}
	for (loader &l : loaders)
		pthread_join(l.thread, NULL);
	for (loader &l : loaders) {
		tally_close(&l.t);
		t->ran += l.t.ran;
		t->counted += l.t.counted;
	}
}

static void launches(tally *t)
{
	while (more()) {
		for (int i = 0; i < 200; i++, t->ran++)
			work<<<264, 256>>>(t->sum, 200 << i % 6);
		CHECK(cudaDeviceSynchronize());
	}
}

static void resets(tally *t)
{
	double end = until;

	for (int i = 0; now() < end; i++) {
		until = now() + 0.11 + 0.23 * (i % 4);
		launches(t);
		tally_close(t);
		CHECK(cudaDeviceReset());
		tally_open(t);
	}
}

extern char **environ;

/* Two processes at once: this program again, beside itself; what it ran is on the line that it prints. */
static void pair(tally *t)
{
	char program[] = "hold", other[] = "released", length[32], line[256];
	char *argv[] = {program, other, length, NULL};
	ull ran = 0, counted = 0;
	posix_spawn_file_actions_t actions;
	int ends[2], status;
	ssize_t n;
	pid_t child;

	if (turns < 0)
		snprintf(length, sizeof length, "%.3f", until - now());
	else
		snprintf(length, sizeof length, "%ldx", turns.load());
	if (pipe(ends) || posix_spawn_file_actions_init(&actions) ||
	    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) ||
	    posix_spawn_file_actions_addclose(&actions, ends[0]) ||
	    posix_spawn(&child, "/proc/self/exe", &actions, NULL, argv, environ)) {
		perror("pair");
		exit(1);
	}
	close(ends[1]);
	host_released(t);
	n = read(ends[0], line, sizeof line - 1);
	line[n > 0 ? n : 0] = '\0';
	if (waitpid(child, &status, 0) != child || status ||
	    sscanf(line, "%*s right kernels %llu counted %llu", &ran, &counted) != 2) {
		fprintf(stderr, "pair: the other ended with %d, said %s\n", status, line);
		exit(1);
	}
	t->ran += ran;
	t->counted += counted;
}

static const test_case cases[] = {
	{"released", host_released}, {"persistent", persistent_kernel}, {"cooperative", cooperative},
	{"streams", each_other},     {"capture", captures},             {"launches", launches},
	{"resets", resets},         {"pair", pair},                     {"modules", modules},
};

/* All code now: loading it later may wait for the kernels that wait for what is loaded. */
static void load()
{
	const void *const kernels[] = {(const void *)wait_for, (const void *)work, (const void *)persistent,
				       (const void *)together, (const void *)pass};
	cudaFuncAttributes attributes;

	for (const void *kernel : kernels)
		CHECK(cudaFuncGetAttributes(&attributes, kernel));
}

static tally t;
static const char *name;

/* What has run until now, said before the end that was asked for. */
static int say()
{
	if (t.sum)
		tally_close(&t);
	right &= t.ran == t.counted;
	printf("%s: %s kernels %llu counted %llu\n", name, right ? "right" : "WRONG", t.ran, t.counted);
	fflush(stdout);
	return right ? 0 : 1;
}

static void *end_it(void *)
{
	usleep(150000);
	exit(5);
}

static void *go_on(void *)
{
	until = now() + 0.3;
	tally_open(&t);
	launches(&t);
	exit(say());
}

static void launch_on()
{
	tally more_of;

	tally_open(&more_of);
	for (;;) {
		work<<<264, 256>>>(more_of.sum, 1000);
		cudaDeviceSynchronize();
	}
}

static int end(const char *how)
{
	pthread_t thread;
	int status = 0;

	if (!strcmp(how, "main")) {
		tally_close(&t);
		t.sum = NULL;
		pthread_create(&thread, NULL, go_on, NULL);
		pthread_exit(NULL);
	}
	status = say();
	if (!strcmp(how, "thread")) {
		pthread_create(&thread, NULL, end_it, NULL);
		launch_on();
	}
	if (!strcmp(how, "quick"))
		_exit(status);
	if (!strcmp(how, "reset"))
		cudaDeviceReset();
	if (!strcmp(how, "running")) {
		tally_open(&t);
		for (int i = 0; i < 50; i++)
			work<<<264, 256>>>(t.sum, 100000);
	}
	if (strcmp(how, "return"))
		exit(status);
	return status;
}

int main(int argc, char **argv)
{
	for (const test_case &c : cases) {
		if (argc < 3 || strcmp(argv[1], c.name))
			continue;
		name = c.name;
		load();
		until = now() + atof(argv[2]);
		turns.store(strchr(argv[2], 'x') ? atol(argv[2]) : -1);
		tally_open(&t);
		c.run(&t);
		return end(argc > 3 ? argv[3] : "return");
	}
	fprintf(stderr, "usage: %s CASE SECONDS|TURNSx [END]\n", argv[0]);
	return 2;
}
