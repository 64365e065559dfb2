/* Every way for a process to end, and launches before main and after exit. */
#include "client.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <time.h>

/* Launches done, where the parent can read them after a SIGKILL: CLIENT_TRUTH names the file. */
static _Atomic uint64_t *truth;

static void truth_open(void)
{
	const char *path = getenv("CLIENT_TRUTH");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (fd < 0 || ftruncate(fd, 4096) != 0)
		exit(9);
	truth = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if ((void *)truth == MAP_FAILED)
		exit(9);
}

static void launch_forever(void)
{
	truth_open();
	client_start();
	for (;;) {
		client_launch(1, 1);
		atomic_fetch_add(truth, 1);
		if (atomic_load(truth) % 64 == 0)
			usleep(500);
	}
}

static void launch_late(void)
{
	client_launch(8, 2);
}

static void launch_very_late(void)
{
	client_launch(9, 2);
}

static void by_return(void)
{
	client_compute(1, 3);
}

/* Ends while the library's thread does what the first launch brings about. */
static void early(void)
{
	client_compute(1, 3);
	client_nap(60);
}

static void early_by_exit(void)
{
	early();
	exit(0);
}

static void at_exit(void)
{
	atexit(launch_very_late); /* runs after the handler that CUDA's user brought about */
	client_compute(1, 3);
	atexit(launch_late);
}

static void only_at_exit(void)
{
	atexit(launch_very_late);
	client_start();
}

static void by__exit(void)
{
	client_compute(1, 3);
	fflush(stdout);
	_exit(21);
}

static void said(void)
{
	fputs("quick exit handler\n", stderr);
}

static void by_quick_exit(void)
{
	at_quick_exit(said);
	client_compute(1, 3);
	quick_exit(22);
}

static void by_abort(void)
{
	client_compute(1, 3);
	abort();
}

static void by_signal(void)
{
	client_compute(1, 3);
	raise(SIGTERM);
}

static void by_fault(void)
{
	client_compute(1, 3);
	raise(SIGSEGV);
}

static atomic_int running;

static void *keep_launching(void *unused)
{
	(void)unused;
	CK(cuCtxSetCurrent(client_context));
	client_launch(2, 1); /* before the end may come: without a launch there is no log */
	atomic_fetch_add(&running, 1);
	for (;;) {
		client_launch(2, 1);
		usleep(10); /* a loaded machine's processors are not for these threads alone */
	}
	return NULL;
}

static void *exit_here(void *unused)
{
	(void)unused;
	while (atomic_load(&running) < 4)
		usleep(100);
	exit(23);
}

/* exit() on a thread while others launch. */
static void among_threads(void)
{
	pthread_t thread[4], last;

	client_start();
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, keep_launching, NULL);
	pthread_create(&last, NULL, exit_here, NULL);
	pthread_join(last, NULL);
}

/* Launches that are new to us, so that there is work until the very end. */
static void *keep_launching_new(void *unused)
{
	CK(cuCtxSetCurrent(client_context));
	atomic_fetch_add(&running, 1);
	for (unsigned grid = 1;; grid++) {
		client_launch(grid % 60000 + 1, 1);
		usleep(20);
	}
	return unused;
}

static void exit_in_handler(int number)
{
	(void)number;
	exit(23);
}

/* exit() in a signal handler, on a stack of 12 KiB beside what the signal takes. */
static void small_stack(void)
{
	const size_t guard = 64 << 10, size = (getauxval(AT_MINSIGSTKSZ) + (16 << 10)) & ~4095UL;
	char *room = mmap(NULL, guard + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	const stack_t stack = {.ss_sp = room + guard, .ss_size = size};
	struct sigaction action = {.sa_handler = exit_in_handler, .sa_flags = SA_ONSTACK};
	pthread_t thread;

	client_start();
	client_launch(1, 3);
	pthread_create(&thread, NULL, keep_launching_new, NULL);
	while (!atomic_load(&running))
		usleep(100);
	usleep(200000);
	if (mprotect(room, guard, PROT_NONE) || sigaltstack(&stack, NULL) ||
	    sigaction(SIGTERM, &action, NULL))
		_exit(9);
	raise(SIGTERM);
}

/* As where what is launched meanwhile crashes: nothing comes after the handlers. */
static void cut(void)
{
	_exit(23);
}

static void among_threads_cut(void)
{
	atexit(cut); /* the first registered is the last to run */
	among_threads();
}

/* A host function on the driver's own thread ends the program. */
static void CUDA_CB host_exit(void *unused)
{
	(void)unused;
	exit(24);
}

static void in_host_function(void)
{
	client_compute(1, 3);
	CK(cuLaunchHostFunc(NULL, host_exit, NULL));
	for (;;)
		pause();
}

static void reset_first(void)
{
	client_compute(1, 3);
	CK(cuModuleUnload(client_module));
	CK(cuDevicePrimaryCtxRelease(0));
}

/* Work that is not done when the program ends. */
static void unfinished(void)
{
	uint64_t ns = 400000000;
	void *params[] = {&ns};

	client_compute(1, 3);
	CK(cuLaunchKernel(client_function("spin"), 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
}

__attribute__((constructor)) static void before_main(void)
{
	if (getenv("CLIENT_CONSTRUCTOR")) {
		client_compute(7, 2);
		puts("constructor");
	}
}

__attribute__((destructor)) static void after_main(void)
{
	if (getenv("CLIENT_DESTRUCTOR")) {
		client_launch(6, 2);
		puts("destructor");
	}
}

static void nothing(void)
{
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {
		{"return", by_return},
		{"early", early},
		{"early_by_exit", early_by_exit},
		{"at_exit", at_exit},
		{"only_at_exit", only_at_exit},
		{"_exit", by__exit},
		{"quick_exit", by_quick_exit},
		{"abort", by_abort},
		{"signal", by_signal},
		{"fault", by_fault},
		{"among_threads", among_threads},
		{"among_threads_cut", among_threads_cut},
		{"small_stack", small_stack},
		{"in_host_function", in_host_function},
		{"reset_first", reset_first},
		{"unfinished", unfinished},
		{"forever", launch_forever},
		{"nothing", nothing},
		{NULL, NULL},
	};

	return client_main(argc, argv, list);
}
