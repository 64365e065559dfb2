/*
 * Preloaded into a program that may crash: says where. On SIGSEGV, SIGBUS, SIGABRT, SIGILL or
 * SIGFPE it writes to the file FAULT_DIR/PID, and to no other place, the signal, the address, the
 * thread, whether the main thread has ended meanwhile (State Z), and the calls that led there, each
 * as LIBRARY(+OFFSET); then the signal takes its course.
 */
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FRAMES = 64, STACK = 256 << 10 };

static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};
static char path[512];
static volatile sig_atomic_t at_it;

/* A line of /proc/self/status as it is, or nothing. */
static void copy_state(int out)
{
	char text[512], *at, *end;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	at = strstr(text, "State:");
	end = at ? strchr(at, '\n') : NULL;
	if (end && write(out, at, (size_t)(end + 1 - at)) < 0)
		return;
}

static void caught(int number, siginfo_t *info, void *context)
{
	void *frame[FRAMES];
	char line[160], name[32] = "";
	int fd, n;

	(void)context;
	if (!at_it) {
		at_it = 1;
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		pthread_getname_np(pthread_self(), name, sizeof name);
		n = snprintf(line, sizeof line, "signal %d at %p, thread %ld of %d (%s)\n", number,
			     info->si_addr, (long)syscall(SYS_gettid), (int)getpid(), name);
		if (fd >= 0 && write(fd, line, (size_t)n) == n) {
			copy_state(fd);
			backtrace_symbols_fd(frame, backtrace(frame, FRAMES), fd);
			close(fd);
		}
	}
	signal(number, SIG_DFL);
	if (info->si_code <= 0) /* sent, not caused: it does not come again by itself */
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

__attribute__((constructor)) static void begin(void)
{
	const char *folder = getenv("FAULT_DIR");
	struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t stack = {.ss_size = STACK};
	void *frame[1];

	if (!folder)
		return;
	snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
	backtrace(frame, 1); /* loads what it needs */
	stack.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp != MAP_FAILED)
		sigaltstack(&stack, NULL); /* the main thread's: others have their own */
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaction(signals[i], &action, NULL);
}
