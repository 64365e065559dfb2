/* Processes made in every way, before and after CUDA is in use. */
#include "client.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/syscall.h>

extern char **environ;
static char *self[] = {"/proc/self/exe", "three", NULL};

static void three(void)
{
	client_compute(3, 3);
}

static void in_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		client_compute(2, 5);
		exit(4);
	}
	client_reap("child that launches", pid);
}

static void child_then_parent(void)
{
	in_child();
	client_compute(1, 7);
}

static void after_compute(void)
{
	pid_t pid;

	client_compute(1, 4);
	pid = fork();
	if (!pid) {
		volatile double x = 1;

		for (int i = 0; i < 1000000; i++)
			x *= 1.0000001;
		printf("computed %.3f\n", x);
		fflush(stdout);
		_exit(x > 1 ? 3 : 0);
	}
	client_reap("child that computes", pid);
	client_launch(1, 4);
}

static void after__exit(void)
{
	pid_t pid;

	client_compute(1, 4);
	pid = fork();
	if (!pid)
		_exit(5);
	client_reap("child that calls _exit", pid);
	client_launch(1, 1);
}

static void said(void)
{
	fputs("exit handler\n", stderr);
}

static void after_exit(void)
{
	pid_t pid;

	atexit(said);
	client_compute(1, 4);
	pid = fork();
	if (!pid)
		exit(6);
	client_reap("child that calls exit", pid);
	client_launch(1, 1);
}

static void after_exec(void)
{
	pid_t pid;

	client_compute(1, 4);
	pid = fork();
	if (!pid) {
		execv(self[0], self);
		_exit(127);
	}
	client_reap("child that execs", pid);
	client_launch(1, 1);
}

/* CUDA does not work in such a child: it must hear so from the driver, as without us. */
static void after_launch(void)
{
	pid_t pid;

	client_compute(1, 4);
	pid = fork();
	if (!pid) {
		CUcontext current;

		printf("current %d\n", (int)cuCtxGetCurrent(&current));
		printf("launch %d\n",
		       (int)cuLaunchKernel(client_kernel, 9, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
		printf("init %d\n", (int)cuInit(0));
		printf("synchronize %d\n", (int)cuCtxSynchronize());
		fflush(stdout);
		exit(2);
	}
	client_reap("child that tries to launch", pid);
	client_launch(1, 4);
}

static void vfork_exec(void)
{
	pid_t pid;

	client_compute(1, 4);
	pid = vfork();
	if (!pid) {
		execv(self[0], self);
		_exit(127);
	}
	client_reap("vfork", pid);
	client_launch(1, 4);
}

static void spawn(void)
{
	pid_t pid;

	client_compute(1, 4);
	if (posix_spawn(&pid, self[0], NULL, NULL, self, environ) != 0)
		exit(9);
	client_reap("posix_spawn", pid);
	client_launch(1, 4);
}

static void by_system(void)
{
	client_compute(1, 4);
	printf("system: %d\n", system("exit 7") >> 8);
	fflush(stdout);
	client_launch(1, 4);
}

static void by_popen(void)
{
	char line[64] = "";
	FILE *pipe;

	client_compute(1, 4);
	pipe = popen("echo from the pipe", "r");
	if (!pipe || !fgets(line, sizeof(line), pipe))
		exit(9);
	printf("%spclose: %d\n", line, pclose(pipe));
	client_launch(1, 4);
}

static void daemon_first(void)
{
	if (daemon(1, 1) != 0)
		exit(9);
	client_compute(1, 6);
	puts("the daemon computed");
}

/* The CUDA of a process that becomes a daemon afterwards is lost; the program may go on. */
static void daemon_after(void)
{
	client_compute(1, 6);
	if (daemon(1, 1) != 0)
		exit(9);
	printf("launch %d\n",
	       (int)cuLaunchKernel(client_kernel, 9, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
}

static void raw_clone(void)
{
	long pid;

	client_compute(1, 4);
	/* No library knows of such a child: not the C library, not the driver, not we. */
	pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid) {
		client_launch(1, 20);
		_exit(11);
	}
	client_reap("clone", (pid_t)pid);
	client_launch(1, 4);
}

static void raw_clone_exit(void)
{
	long pid;

	client_compute(1, 4);
	pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid) {
		unsetenv("STANDIN_COUNT"); /* the stand-in would count the parent's again */
		exit(12);
	}
	client_reap("clone, exit", (pid_t)pid);
	client_launch(1, 4);
}

static void *launch_many(void *unused)
{
	CK(cuCtxSetCurrent(client_context));
	client_launch(1, 3000);
	return unused;
}

/* The child ends its only thread, which has the parent's to end. */
static void *clone_and_go_on(void *unused)
{
	long pid;
	pthread_t other;

	CK(cuCtxSetCurrent(client_context));
	client_launch(1, 4);
	pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid)
		pthread_exit(NULL);
	client_reap("clone, pthread_exit", (pid_t)pid);
	usleep(100000);
	pthread_create(&other, NULL, launch_many, NULL);
	launch_many(NULL);
	pthread_join(other, NULL);
	return unused;
}

static void raw_clone_thread(void)
{
	pthread_t thread;

	client_compute(1, 4);
	pthread_create(&thread, NULL, clone_and_go_on, NULL);
	pthread_join(thread, NULL);
}

static void grandchildren(void)
{
	pid_t pid = fork();

	if (!pid) {
		pid = fork();
		if (!pid) {
			client_compute(3, 3);
			exit(1);
		}
		client_reap("grandchild", pid);
		client_compute(2, 2);
		exit(2);
	}
	client_reap("child", pid);
	client_compute(1, 1);
}

static atomic_int stop;

static void *keep_launching(void *unused)
{
	(void)unused;
	CK(cuCtxSetCurrent(client_context));
	while (!atomic_load(&stop)) {
		client_launch(1, 16);
		usleep(200);
	}
	return NULL;
}

/* Children made at any moment of other threads' launches: none may hang. */
static void among_threads(void)
{
	pthread_t thread[4];

	client_compute(1, 1);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, keep_launching, NULL);
	for (int i = 0; i < 60; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			free(malloc(100));
			if (i % 3 == 0)
				execv(self[0], self);
			if (i % 3 == 1)
				exit(0);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			printf("child %d: %#x\n", i, (unsigned)status);
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	puts("all children ended");
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {
		{"three", three},
		{"in_child", in_child},
		{"child_then_parent", child_then_parent},
		{"after_compute", after_compute},
		{"after__exit", after__exit},
		{"after_exit", after_exit},
		{"after_exec", after_exec},
		{"after_launch", after_launch},
		{"vfork", vfork_exec},
		{"spawn", spawn},
		{"system", by_system},
		{"popen", by_popen},
		{"daemon_first", daemon_first},
		{"daemon_after", daemon_after},
		{"raw_clone", raw_clone},
		{"raw_clone_exit", raw_clone_exit},
		{"raw_clone_thread", raw_clone_thread},
		{"grandchildren", grandchildren},
		{"among_threads", among_threads},
		{NULL, NULL},
	};

	return client_main(argc, argv, list);
}
