/*
 * A program that gives its numbers, folders, rights and threads other uses than most: it closes its
 * stderr and reuses the number, leaves a call by siglongjmp(), changes its user and its root, ends
 * a child of vfork() by exit(), and ends its main thread first.
 */
#include "client.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- stderr ---- */

/* The program's data under number 2, if that is free; what stands in it at the end is its own. */
static void use_number_two(void)
{
	char text[64] = "";
	int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd != STDERR_FILENO || write(fd, "head ", 5) != 5)
		exit(9);
	client_compute(1, 50);
	client_nap(50);
	if (write(fd, "tail", 4) != 4 || pread(fd, text, sizeof(text) - 1, 0) < 0)
		exit(9);
	printf("data: %s\n", text);
}

static void stderr_reused(void)
{
	close(STDERR_FILENO);
	use_number_two();
}

/* The summary comes as the process ends, after the program has said its last word. */
static void stderr_reused_at_the_end(void)
{
	char text[64] = "";
	int pid = fork(), fd;

	if (!pid) {
		stderr_reused();
		exit(0);
	}
	client_reap("child", pid);
	fd = open("data", O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		exit(9);
	printf("afterwards: %s\n", text);
}

/* Kernels of the C++ language, one of C, and two names that are not what they look like. */
static void mangled(void)
{
	static const char *const names[] = {"_Z7hostileIiEvT_",
					    "_ZN2at6native10add_kernelIfEEvPT_",
					    "_ZN12_GLOBAL__N_14copyEPf",
					    "plain_one",
					    "_Z999cut",
					    "_ZZ4mainE5local"};
	CUmodule module;
	CUfunction f;
	char image[512] = "gpuwatch-stand-in-module\n";

	client_start();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		sprintf(image + strlen(image), "kernel %s ns=800\n", names[i]);
	CK(cuModuleLoadData(&module, image));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		CK(cuModuleGetFunction(&f, module, names[i]));
		CK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	}
	CK(cuCtxSynchronize());
}

/* Its own stderr is a pipe that nobody reads and that is full. */
static void stderr_is_full(void)
{
	client_compute(1, 5);
	puts("computed");
}

/* ---- an initialisation that does not come to its end ----
 */

static sigjmp_buf back;

static void leave(int signal)
{
	(void)signal;
	siglongjmp(back, 1);
}

static void *launch_some(void *arg)
{
	CUcontext context = arg;

	CK(cuCtxSetCurrent(context));
	for (int i = 0; i < 2; i++)
		CK(cuLaunchKernel(client_kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	return NULL;
}

enum { LATER = 30 };

/* A thread of its own each: 30 waits of half a second, or none. */
static void launch_by_many(void)
{
	double begin = now_s();

	for (int i = 0; i < LATER; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, launch_some, client_context))
			exit(9);
		pthread_join(thread, NULL);
	}
	printf("later calls %s\n", now_s() - begin < LATER * 0.4 ? "go on" : "wait");
}

/* The usual time-out around a call that may hang. */
static void left_by_longjmp(void)
{
	const struct itimerval soon = {{0, 0}, {0, 300000}};
	struct sigaction action = {.sa_handler = leave};

	sigaction(SIGALRM, &action, NULL);
	if (!sigsetjmp(back, 1)) {
		setitimer(ITIMER_REAL, &soon, NULL);
		client_start();
		pause();
	}
	client_start();
	launch_by_many();
}

static void *start(void *unused)
{
	client_start();
	return unused;
}

static void left_by_cancel(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, start, NULL))
		exit(9);
	usleep(300000);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	client_start();
	launch_by_many();
}

/* The child's calls fail, and do so at once. */
static void forked_meanwhile(void)
{
	pthread_t thread;
	pid_t pid;

	if (pthread_create(&thread, NULL, start, NULL))
		exit(9);
	usleep(300000);
	pid = fork();
	if (!pid) {
		double begin = now_s();

		for (int i = 0; i < LATER; i++)
			cuCtxSetCurrent(NULL);
		printf("calls of the child %s\n", now_s() - begin < LATER * 0.4 ? "go on" : "wait");
		fflush(stdout);
		_exit(3);
	}
	pthread_join(thread, NULL);
	client_reap("child", pid);
	client_launch(1, 3);
}

/* ---- a child that ends by exit() in its parent's memory ---- */

/* By the constructor of calls_back.so. */
__attribute__((visibility("default"))) void client_called_back(void);

void client_called_back(void)
{
	double begin = now_s();

	client_compute(1, 3);
	printf("the constructor %s\n", now_s() - begin < 1.5 ? "goes on" : "waits");
}

static void under_dlopen(void)
{
	if (!dlopen("calls_back.so", RTLD_NOW))
		exit(9);
	client_launch(1, 3);
}

static void launch_for(double seconds)
{
	const double end = now_s() + seconds;

	while (now_s() < end) {
		CK(cuLaunchKernel(client_function("long"), 100, 1, 1, 128, 1, 1, 0, NULL, NULL,
				  NULL));
		CK(cuLaunchKernel(client_function("short"), 7, 1, 1, 128, 1, 1, 0, NULL, NULL,
				  NULL));
		CK(cuStreamSynchronize(NULL));
	}
}

static void exit_in_child(bool shares_memory)
{
	int status = 0;
	pid_t pid;

	client_compute(1, 3);
	fflush(stdout);
	pid = shares_memory ? vfork() : fork();
	if (!pid)
		exit(127);
	if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 127)
		_exit(9);
}

static void vfork_then_exit(void)
{
	exit_in_child(true);
	launch_for(4);
	/* libc's handlers have run, in the child. */
	_exit(0);
}

/* ---- other uses of a process ----
 */

static void go_on(void)
{
	client_launch(2, 20);
	client_nap(30);
	CK(cuCtxSynchronize());
	puts("went on");
}

static void closefrom_3(void)
{
	client_compute(1, 20);
	closefrom(3);
	go_on();
}

static void closefrom_and_chdir(void)
{
	client_compute(1, 20);
	if (chdir("/"))
		exit(9);
	closefrom(3);
	go_on();
}

static void daemon_before(void)
{
	fflush(stdout);
	if (daemon(1, 1))
		exit(9);
	client_compute(1, 20);
	go_on();
}

static void daemon_after(void)
{
	client_compute(1, 20);
	fflush(stdout);
	if (daemon(1, 1))
		exit(9);
	puts("a daemon");
}

static void other_user(void)
{
	client_compute(1, 20);
	if (getuid() == 0 && (setgid(65534) || setuid(65534)))
		exit(9);
	closefrom(3);
	go_on();
}

static void other_root(void)
{
	client_compute(1, 20);
	if (getuid() == 0 && (mkdir("root", 0700) || chroot("root") || chdir("/")))
		exit(9);
	closefrom(3);
	go_on();
}

static void umask_0777(void)
{
	umask(0777);
	client_compute(1, 20);
	go_on();
}

static void limited(__rlimit_resource_t resource, rlim_t value, bool first)
{
	const struct rlimit limit = {value, value};

	if (first && setrlimit(resource, &limit))
		exit(9);
	client_compute(1, 20);
	if (!first && setrlimit(resource, &limit))
		exit(9);
	go_on();
}

static void no_files(void)
{
	limited(RLIMIT_NOFILE, 0, true);
}

static void small_files(void)
{
	limited(RLIMIT_FSIZE, 4096, false);
}

static void no_memory(void)
{
	limited(RLIMIT_AS, 1 << 20, false);
}

/* ---- a main thread that ends first ---- */

/* As a driver's: it takes no signal, and does not end. */
static void *stay(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void *take_signal(void *set)
{
	int signal = 0;

	/* Not at once, so that it is there before it is taken. */
	usleep(100000);
	if (sigwait(set, &signal))
		_exit(9);
	printf("took signal %d\n", signal);
	fflush(stdout);
	_exit(5);
	return NULL;
}

static void main_leaves(void *(*run)(void *), sigset_t *blocked)
{
	pthread_t thread;

	client_compute(1, 20);
	pthread_sigmask(SIG_BLOCK, blocked, NULL);
	if (pthread_create(&thread, NULL, run, blocked))
		exit(9);
	puts("main leaves");
	fflush(stdout);
	pthread_exit(NULL);
}

static sigset_t all;

static void main_leaves_to_driver(void)
{
	sigfillset(&all);
	main_leaves(stay, &all);
}

static void main_leaves_to_sigwait(void)
{
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	kill(getpid(), SIGTERM);
	main_leaves(take_signal, &all);
}

/* ---- what its threads are like by default ---- */

/* It has a name of libm's. */
__attribute__((visibility("default"))) void own_log(const char *text) __asm__("log");

void own_log(const char *text)
{
	printf("log: %s\n", text);
}

/* Kernels that are timed and predicted. */
static void launch_for_long(void)
{
	client_compute(1, 200);
	client_nap(300);
	client_compute(1, 200);
	own_log("computed");
}

/* Variables with names of libc's functions, which nobody here calls. */
#define VISIBLE __attribute__((visibility("default")))
VISIBLE int own_flock __asm__("flock") = 1;
VISIBLE int own_openat __asm__("openat") = 2;
VISIBLE int own_getauxval __asm__("getauxval") = 3;

static void own_variables(void)
{
	launch_for_long();
	printf("%d %d %d\n", own_flock, own_openat, own_getauxval);
}

static void floating_point_traps(void)
{
	feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
	launch_for_long();
}

static void threads_have_defaults(void)
{
	pthread_attr_t attr;

	pthread_getattr_default_np(&attr);
	pthread_attr_setstacksize(&attr, 16 << 10);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_setattr_default_np(&attr))
		exit(9);
	launch_for_long();
}

/* How many threads run in real time, this one included. */
static void real_time(void)
{
	const struct sched_param first = {1};
	const struct dirent *entry;
	unsigned count = 0;
	DIR *tasks;

	if (sched_setscheduler(0, SCHED_FIFO, &first))
		exit(77);
	launch_for_long();
	for (tasks = opendir("/proc/self/task"); tasks && (entry = readdir(tasks));)
		count += atoi(entry->d_name) &&
			 sched_getscheduler(atoi(entry->d_name)) == SCHED_FIFO;
	printf("%u in real time\n", count);
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {
		{"stderr_reused", stderr_reused},
		{"stderr_free", use_number_two},
		{"stderr_reused_at_the_end", stderr_reused_at_the_end},
		{"stderr_is_full", stderr_is_full},
		{"mangled", mangled},
		{"left_by_longjmp", left_by_longjmp},
		{"left_by_cancel", left_by_cancel},
		{"forked_meanwhile", forked_meanwhile},
		{"under_dlopen", under_dlopen},
		{"vfork_then_exit", vfork_then_exit},
		{"closefrom", closefrom_3},
		{"closefrom_and_chdir", closefrom_and_chdir},
		{"daemon_before", daemon_before},
		{"daemon_after", daemon_after},
		{"other_user", other_user},
		{"other_root", other_root},
		{"umask_0777", umask_0777},
		{"no_files", no_files},
		{"small_files", small_files},
		{"no_memory", no_memory},
		{"main_leaves_to_driver", main_leaves_to_driver},
		{"main_leaves_to_sigwait", main_leaves_to_sigwait},
		{"floating_point_traps", floating_point_traps},
		{"threads_have_defaults", threads_have_defaults},
		{"real_time", real_time},
		{"own_log", launch_for_long},
		{"own_variables", own_variables},
		{NULL, NULL},
	};

	return client_main(argc, argv, list);
}
