/*
 * Launches from several threads until it dies. After each launch that has returned, its thread
 * counts it in the file that WITNESS names: the grid distinguishes threads. With GRAPHS one more
 * thread launches graphs; with CHILDREN it has some.
 */
#include "nodes.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

enum { THREADS = 3, NODES = 7 };

static uint64_t *witness;

/*
 * Launches of a graph of NODES kernels: one of them off, another other than it was added. Each 16th
 * launch is of a graph that was changed since the one before it.
 */
static void launch_graphs(void)
{
	CUgraphNode node[NODES];
	CUgraphExec exec;
	CUgraph graph;
	CUstream stream;
	CUDA_KERNEL_NODE_PARAMS p;

	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CK(cuGraphCreate(&graph, 0));
	for (unsigned i = 0; i < NODES; i++) {
		p = node_params(client_function("empty"), NULL, 100 + i, 32);
		CK(cuGraphAddKernelNode(&node[i], graph, NULL, 0, &p));
	}
	CK(cuGraphInstantiate(&exec, graph, 0));
	CK(cuGraphNodeSetEnabled(exec, node[2], 0));
	for (uint64_t i = 0;; i++) {
		if (i % 16 == 0) {
			p = node_params(client_function("empty"), NULL, 200 + i / 16 % 2, 32);
			CK(cuGraphExecKernelNodeSetParams(exec, node[4], &p));
		}
		CK(cuGraphLaunch(exec, stream));
		__atomic_store_n(&witness[THREADS], i + 1, __ATOMIC_RELEASE);
		if (i % 16 == 15)
			usleep(4000);
	}
}

static void *launch(void *arg)
{
	unsigned number = (unsigned)(uintptr_t)arg;
	CUfunction f = client_function(number == 1 ? "short" : "empty");
	CUstream stream = NULL;

	CK(cuCtxSetCurrent(client_context));
	if (number == THREADS)
		launch_graphs();
	if (number)
		CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (uint64_t i = 0;; i++) {
		CK(cuLaunchKernel(f, number + 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
		__atomic_store_n(&witness[number], i + 1, __ATOMIC_RELEASE);
		if (i % 64 == 63)
			usleep(4000); /* a ring lasts a second: a worker that gets no processor
					 loses none */
	}
	return NULL;
}

/* Until there is something in this process's log. */
static void wait_for_log(void)
{
	const char *pattern = getenv("GPUWATCH_OUT"),
		   *macro = pattern ? strstr(pattern, "%p") : NULL;
	char path[4096];
	struct stat st;

	if (!macro)
		return;
	snprintf(path, sizeof(path), "%.*s%d%s", (int)(macro - pattern), pattern, (int)getpid(),
		 macro + 2);
	for (int i = 0; i < 10000 && (stat(path, &st) || !st.st_size); i++)
		usleep(1000);
}

/* One that launches, by a grid of its own, before its parent does. */
static void have_first_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		client_compute(50, 300);
		wait_for_log();
		client_launch(50, 300);
		_exit(0);
	}
	client_reap("first", pid);
}

/* Of each kind one; they launch, or try to: the driver refuses it after fork(). */
static void have_children(void)
{
	pid_t pid = fork();

	if (!pid) {
		for (int i = 0; i < 300; i++)
			cuLaunchKernel(client_kernel, 52, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
		_exit(0);
	}
	client_reap("fork", pid);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid) {
		client_launch(51, 300);
		_exit(0);
	}
	client_reap("clone", pid);
	pid = vfork();
	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	client_reap("vfork", pid);
}

int main(int argc, char **argv)
{
	static char *const again[] = {"/bin/true", NULL};
	const char *how = argc > 1 ? argv[1] : "kill";
	int fd = open(getenv("WITNESS"), O_RDWR | O_CREAT, 0600);
	const bool graphs = getenv("GRAPHS") != NULL;
	pthread_t thread[THREADS + 1];

	if (ftruncate(fd, 4096))
		return 8;
	witness = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (witness == MAP_FAILED)
		return 8;
	if (getenv("CHILDREN"))
		have_first_child();
	client_start();
	for (unsigned i = 0; i < THREADS + (graphs ? 1u : 0u); i++)
		pthread_create(&thread[i], NULL, launch, (void *)(uintptr_t)i);
	while (!__atomic_load_n(&witness[0], __ATOMIC_ACQUIRE) ||
	       (graphs && !__atomic_load_n(&witness[THREADS], __ATOMIC_ACQUIRE)))
		usleep(1000);
	if (getenv("CHILDREN"))
		have_children();
	usleep((useconds_t)strtoul(argc > 2 ? argv[2] : "100000", NULL, 10));
	if (!strcmp(how, "segv"))
		raise(SIGSEGV);
	else if (!strcmp(how, "abort"))
		abort();
	else if (!strcmp(how, "_exit"))
		_exit(0);
	else if (!strcmp(how, "exec"))
		execv(again[0], again);
	raise(SIGKILL);
	return 9;
}
