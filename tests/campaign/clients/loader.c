/*
 * loader PLUG-IN SECONDS: threads open and close libraries, look names up and launch while SIGALRM
 * comes a thousand times a second. PLUG-IN is a library that looks a driver function up when it is
 * loaded. Prints "alive" and how often each was done on stderr; exits with 3 and the name of the
 * thread where one has not moved for 20 s.
 */
#include "tests/campaign/clients/common.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { STUCK_S = 20 };

static CUcontext context;
static const char *plug_in;
static _Atomic bool done;

enum task { LAUNCH, PLUG_IN, DRIVER, LOOK_UP, MODULE, SIGNAL, TASKS };
static const char *const names[TASKS] = {
	[LAUNCH] = "launches",  [PLUG_IN] = "plug-ins", [DRIVER] = "driver opened",
	[LOOK_UP] = "look-ups", [MODULE] = "modules",   [SIGNAL] = "signals"};
static _Atomic uint64_t times[TASKS];
static CUfunction empty;

static void on_signal(int sig)
{
	(void)sig;
	atomic_fetch_add(&times[SIGNAL], 1);
}

static bool do_plug_in(void)
{
	void *handle = dlopen(plug_in, RTLD_NOW | RTLD_LOCAL);
	int (*has)(void) = handle ? (int (*)(void))dlsym(handle, "plug_in_has_cuda") : NULL;

	return has && has() == 1 && !dlclose(handle);
}

static bool do_driver(void)
{
	void *handle = dlopen("libcuda.so.1", RTLD_LAZY);
	bool good = handle && dlsym(handle, "cuLaunchKernel") && !dlsym(handle, "cuNoSuchFunction");

	return good && !dlclose(handle);
}

static bool do_look_up(void)
{
	dlerror();
	return dlsym(RTLD_DEFAULT, "cuInit") && dlsym(RTLD_DEFAULT, "puts") &&
	       !dlsym(RTLD_DEFAULT, "no_such_name") && dlerror();
}

static bool do_module(void)
{
	CUmodule module;
	CUfunction f;

	return cuModuleLoadData(&module, CLIENT_IMAGE) == CUDA_SUCCESS &&
	       cuModuleGetFunction(&f, module, "empty") == CUDA_SUCCESS &&
	       cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) == CUDA_SUCCESS &&
	       cuCtxSynchronize() == CUDA_SUCCESS && cuModuleUnload(module) == CUDA_SUCCESS;
}

static bool do_launch(void)
{
	usleep(10);
	return cuLaunchKernel(empty, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) == CUDA_SUCCESS;
}

static void *work(void *which)
{
	enum task task = (enum task)(uintptr_t)which;

	CK(cuCtxSetCurrent(context));
	while (!atomic_load(&done)) {
		bool good = task == LAUNCH    ? do_launch()
			    : task == PLUG_IN ? do_plug_in()
			    : task == DRIVER  ? do_driver()
			    : task == LOOK_UP ? do_look_up()
					      : do_module();

		if (!good) {
			fprintf(stderr, "loader: %s: refused\n", names[task]);
			_exit(4);
		}
		atomic_fetch_add(&times[task], 1);
	}
	return NULL;
}

/* The main thread: sleeps in steps, and sees that all others move on. */
static void watch(double seconds)
{
	double began = seconds_now(), moved[TASKS];
	uint64_t last[TASKS] = {0};

	for (int i = 0; i < TASKS; i++)
		moved[i] = began;
	while (seconds_now() - began < seconds) {
		usleep(200000);
		for (int i = 0; i < TASKS; i++) {
			uint64_t now = atomic_load(&times[i]);

			if (now != last[i])
				moved[i] = seconds_now();
			last[i] = now;
			if (seconds_now() - moved[i] < STUCK_S)
				continue;
			fprintf(stderr, "loader: %s: stuck after %.0f s\n", names[i],
				seconds_now() - began);
			_exit(3);
		}
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct itimerval each = {{.tv_usec = 1000}, {.tv_usec = 1000}};
	pthread_t thread[SIGNAL];

	if (argc != 3)
		return 2;
	plug_in = argv[1];
	context = client_start();
	empty = kernel_named("empty");
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &each, NULL);
	for (int i = 0; i < SIGNAL; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)i))
			return 2;
	watch(atof(argv[2]));
	atomic_store(&done, true);
	for (int i = 0; i < SIGNAL; i++)
		pthread_join(thread[i], NULL);
	puts("alive");
	for (int i = 0; i < TASKS; i++)
		fprintf(stderr, "%s %llu\n", names[i], (unsigned long long)atomic_load(&times[i]));
	return 0;
}
