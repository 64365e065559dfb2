/* Signals on launching threads, and what a program may notice of a thread it did not make. */
#include "client.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

static atomic_int ticks;

static void tick(int signal)
{
	(void)signal;
	atomic_fetch_add(&ticks, 1);
}

static void handle(int signal, int flags)
{
	struct sigaction action = {.sa_handler = tick, .sa_flags = flags};

	sigaction(signal, &action, NULL);
}

static void launches_until_ticks(int wanted)
{
	struct timespec now, begin;

	/* The handler interrupts launches all the while; give up after ten seconds. */
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		client_launch(1, 50);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (atomic_load(&ticks) < wanted && now.tv_sec - begin.tv_sec < 10);
	printf("ticks came: %s\n", atomic_load(&ticks) >= wanted ? "yes" : "no");
}

static void interval_timer(void)
{
	const struct itimerval each = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};

	handle(SIGALRM, SA_RESTART);
	setitimer(ITIMER_REAL, &each, NULL);
	client_start();
	launches_until_ticks(50);
	setitimer(ITIMER_REAL, &off, NULL);
}

static void posix_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	const struct itimerspec each = {{0, 1000000}, {0, 1000000}};
	timer_t timer;

	handle(SIGUSR1, 0);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &each, NULL);
	client_start();
	launches_until_ticks(50);
	timer_delete(timer);
}

/* The handler must interrupt the main thread's sleep: nobody else may take the signal. */
static void interrupted_sleep(void)
{
	const struct timespec hour = {3600, 0};
	const struct itimerval once = {{0, 0}, {0, 20000}};
	int slept, interrupted;

	handle(SIGALRM, 0);
	client_compute(1, 5);
	setitimer(ITIMER_REAL, &once, NULL);
	errno = 0;
	slept = nanosleep(&hour, NULL);
	interrupted = errno == EINTR;
	printf("nanosleep: %d, EINTR: %d, ticks %d\n", slept, interrupted, atomic_load(&ticks));
}

static void child_signal(void)
{
	pid_t pid;

	handle(SIGCHLD, SA_RESTART);
	client_compute(1, 5);
	pid = fork();
	if (!pid)
		_exit(3);
	client_reap("child", pid);
	printf("SIGCHLD came %d times\n", atomic_load(&ticks));
	client_launch(1, 5);
}

static bool blocks_signals(void *all, const char *status)
{
	unsigned long long blocked = strtoull(task_field(status, "\nSigBlk:\t"), NULL, 16);

	/* SIGKILL, SIGSTOP and the two the C library keeps can't be blocked. */
	if (atoi(task_field(status, "\nPid:\t")) != getpid())
		*(bool *)all &= (blocked | 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1) |
				 3ull << 31) == ~0ull;
	return true;
}

/* Every thread that is not the program's blocks every signal the program could handle. */
static void others_block_signals(void)
{
	bool all = true;

	client_compute(1, 5);
	each_task(blocks_signals, &all);
	printf("all other threads block all signals: %d\n", all);
}

/* A signal that nobody handles ends the program, whichever thread gets it. */
static void unhandled(void)
{
	client_compute(1, 5);
	kill(getpid(), SIGUSR2);
	pause();
}

static void masked(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	client_compute(1, 5);
	kill(getpid(), SIGUSR1);
	sigpending(&set);
	printf("pending: %d\n", sigismember(&set, SIGUSR1));
	client_launch(1, 5);
	sigprocmask(SIG_BLOCK, NULL, &set);
	printf("still blocked: %d\n", sigismember(&set, SIGUSR1));
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {
		{"interval_timer", interval_timer},
		{"posix_timer", posix_timer},
		{"interrupted_sleep", interrupted_sleep},
		{"child_signal", child_signal},
		{"others_block_signals", others_block_signals},
		{"unhandled", unhandled},
		{"masked", masked},
		{NULL, NULL},
	};

	return client_main(argc, argv, list);
}
