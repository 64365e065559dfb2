/*
 * Launches within launches, and launches left by a jump, at each instruction of the library's: the
 * trap flag stops the program after every one.
 */
#include "client.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

enum { TRAP_FLAG = 1 << 8, OUTER = 1, INNER = 7, AFTER = 11, DEEPER = 12, MOST = 5000 };

static uintptr_t text_begin, text_end;
static long target, met;
static bool jumps;
static sigjmp_buf away;
static CUfunction inner_kernel;
static CUstream streams[2];

static int find_library(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	if (!strstr(info->dlpi_name, "libgpuwatch.so"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			text_begin = info->dlpi_addr + p->p_vaddr;
			text_end = text_begin + p->p_memsz;
		}
	}
	return 1;
}

static void trapped(int signal, siginfo_t *info, void *context)
{
	ucontext_t *c = context;
	uintptr_t at = (uintptr_t)c->uc_mcontext.gregs[REG_RIP];

	(void)signal;
	(void)info;
	if (target < 0 && met && (at < text_begin || at >= text_end))
		siglongjmp(away, 1); /* in the driver */
	if (at < text_begin || at >= text_end || met++ != target)
		return;
	if (jumps)
		siglongjmp(away, 1);
	CK(cuLaunchKernel(inner_kernel, INNER, 1, 1, 64, 1, 1, 0, streams[1], NULL, NULL));
	c->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG; /* the rest of this launch at once */
}

static void step(bool on)
{
	unsigned long flags = __builtin_ia32_readeflags_u64();

	__builtin_ia32_writeeflags_u64(on ? flags | TRAP_FLAG : flags & ~(unsigned long)TRAP_FLAG);
}

static void begin(void)
{
	const struct sigaction action = {.sa_sigaction = trapped,
					 .sa_flags = SA_SIGINFO | SA_NODEFER};

	client_start();
	inner_kernel = client_function("short");
	CK(cuStreamCreate(&streams[0], CU_STREAM_NON_BLOCKING));
	CK(cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING));
	dl_iterate_phdr(find_library, NULL);
	sigaction(SIGTRAP, &action, NULL);
	CK(cuLaunchKernel(inner_kernel, INNER, 1, 1, 64, 1, 1, 0, streams[1], NULL, NULL));
}

static void stepped_launch(CUstream stream)
{
	met = 0;
	step(true);
	CK(cuLaunchKernel(client_kernel, OUTER, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	step(false);
}

/*
 * One launch for each instruction there is of ours in one, with another launch at that instruction.
 * By turns of every third, begun with FIRST, where that is set: libcupti is stepped through, too.
 */
static void at_each_instruction(bool look_up)
{
	const char *first = getenv("FIRST");

	begin();
	for (target = first ? atol(first) : 0; target < MOST; target += first ? 3 : 1) {
		if (look_up) /* the thread's last launch was another */
			CK(cuLaunchKernel(inner_kernel, INNER, 1, 1, 64, 1, 1, 0, streams[1], NULL,
					  NULL));
		stepped_launch(look_up ? streams[0] : NULL);
		if (met <= target)
			break;
	}
	CK(cuCtxSynchronize());
	printf("done\n");
}

static void stepped(void)
{
	at_each_instruction(false);
}

static void stepped_look_ups(void)
{
	at_each_instruction(true);
}

/* The frames between the launch and its caller make it a launch from deeper in the stack. */
static __attribute__((noinline)) void from_deeper(void)
{
	volatile char room[4096];

	room[0] = 0;
	CK(cuLaunchKernel(client_kernel, DEEPER, 1, 1, 32, 1, 1, 0, streams[0], NULL, NULL));
	room[sizeof(room) - 1] = room[0];
}

static void *jump_out(void *more)
{
	CK(cuCtxSetCurrent(client_context));
	from_deeper(); /* what a thread's first launch takes is left out */
	if (sigsetjmp(away, 1) == 0) {
		stepped_launch(NULL);
		*(bool *)more = met > target;
	}
	from_deeper();
	CK(cuLaunchKernel(client_kernel, AFTER, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	return NULL;
}

static void jumped(void)
{
	bool more = true;

	jumps = true;
	begin();
	for (target = 0; target < MOST && more; target++) {
		pthread_t thread;

		pthread_create(&thread, NULL, jump_out, &more);
		pthread_join(thread, NULL);
	}
	CK(cuCtxSynchronize());
	printf("done\n");
}

/* Left once, then never launched from the same place again. */
static void jumped_then_deeper(void)
{
	begin();
	target = -1;
	if (sigsetjmp(away, 1) == 0)
		stepped_launch(NULL);
	for (int i = 0; i < 40000; i++) {
		from_deeper();
		if (i % 1000 == 0)
			client_nap(20);
	}
	CK(cuCtxSynchronize());
	printf("done\n");
}

static void ring_in(long us)
{
	const struct itimerval soon = {{0, 0}, {0, us}};

	setitimer(ITIMER_REAL, &soon, NULL);
}

/* Another launch, while the driver sleeps in one, and not before. */
static void woken(int signal, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	(void)signal;
	(void)info;
	if ((long)c->uc_mcontext.gregs[REG_RAX] != -EINTR) {
		ring_in(1000);
		return;
	}
	met++;
	CK(cuLaunchKernel(inner_kernel, INNER, 1, 1, 64, 1, 1, 0, streams[1], NULL, NULL));
}

static void in_the_driver(void)
{
	const struct sigaction action = {.sa_sigaction = woken, .sa_flags = SA_SIGINFO};

	begin();
	sigaction(SIGALRM, &action, NULL);
	for (int i = 0; i < 110; i++) {
		ring_in(1000);
		CK(cuLaunchKernel(client_kernel, OUTER + (unsigned)i % 3, 1, 1, 32, 1, 1, 0,
				  streams[i & 1], NULL, NULL));
		ring_in(0);
	}
	CK(cuCtxSynchronize());
	printf(met > 90 ? "done\n" : "not asleep\n");
}

/* A library behind us launches within each of these. */
static void within(void)
{
	begin();
	for (int i = 0; i < 3000; i++)
		CK(cuLaunchKernel(client_kernel, OUTER + (unsigned)i % 3, 1, 1, 32, 1, 1, 0,
				  streams[i & 1], NULL, NULL));
	CK(cuCtxSynchronize());
	printf("done\n");
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {
		{"stepped", stepped},
		{"stepped_look_ups", stepped_look_ups},
		{"jumped", jumped},
		{"jumped_then_deeper", jumped_then_deeper},
		{"in_the_driver", in_the_driver},
		{"within", within},
		{NULL, NULL},
	};

	return client_main(argc, argv, list);
}
