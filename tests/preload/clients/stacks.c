/* Programs that launch from stacks of all kinds. Built without frame pointers. */
#include "client.h"

#include <dlfcn.h>
#include <signal.h>
#include <ucontext.h>

#define APART __attribute__((noinline))

int stacks_work(unsigned grid), stacks_step(unsigned grid), stacks_aligned(unsigned grid),
	stacks_deep(int depth);

/* What stands behind a call keeps it from becoming a jump. */
APART int stacks_work(unsigned grid)
{
	client_launch(grid, 3);
	return (int)grid + 1;
}

APART int stacks_step(unsigned grid)
{
	volatile char room[4000];

	room[grid] = 1;
	return stacks_work(grid) + room[grid];
}

/* The frame's place follows from a register that is saved in it: vectors on the stack are aligned.
 */
APART int stacks_aligned(unsigned grid)
{
	_Alignas(64) volatile char vectors[64 * 4];
	volatile char *more = __builtin_alloca(grid * 100);

	vectors[grid] = 2;
	more[grid] = 3;
	return stacks_work(grid) + vectors[grid] + more[grid];
}

static void plain(void)
{
	client_start();
	stacks_step(1);
	stacks_work(2);
	stacks_aligned(3);
	CK(cuCtxSynchronize());
}

APART int stacks_deep(int depth)
{
	volatile int mine = depth;

	return depth ? stacks_deep(depth - 1) + mine : stacks_work(1);
}

static void deep(void)
{
	client_start();
	printf("%d\n", stacks_deep(10000));
	CK(cuCtxSynchronize());
}

static ucontext_t before, inside;
static volatile int result; /* what is stored after a call keeps it from becoming a jump */

static void coroutine(void)
{
	result = stacks_step(1);
}

static void swapped(void)
{
	size_t size = 1 << 16;

	client_start();
	getcontext(&inside);
	inside.uc_stack.ss_sp =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	inside.uc_stack.ss_size = size;
	inside.uc_link = &before;
	makecontext(&inside, coroutine, 0);
	swapcontext(&before, &inside);
	CK(cuCtxSynchronize());
}

static void handler(int signal)
{
	(void)signal;
	result = stacks_work(1);
}

static void on_signal(void)
{
	stack_t other = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

	client_start();
	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	CK(cuCtxSynchronize());
}

/* Nothing returns any more, and what would be returned to is nowhere. */
static void garbage(void)
{
	uintptr_t *frame = __builtin_frame_address(0);

	client_start();
	for (int i = 0; i < 40; i++)
		frame[i] = UINT64_C(0xdeadbeef00000000) + (unsigned)i * 8;
	stacks_work(1);
	CK(cuCtxSynchronize());
	exit(0);
}

/* The library is gone before anybody has looked at the stack, or is not. */
static void unloaded(void)
{
	for (unsigned i = 1; i <= 20; i++) {
		void *library = dlopen("libuser.so", RTLD_NOW);
		int (*launch)(unsigned);

		if (!library)
			exit(9);
		*(void **)&launch = dlsym(library, "user_launch");
		launch(i);
		dlclose(library);
	}
}

static void captured(void)
{
	CUstream stream;
	CUgraph graph;
	CUgraphExec exec;

	client_start();
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CK(cuLaunchKernel(client_kernel, 3, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	CK(cuStreamEndCapture(stream, &graph));
	CK(cuGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 4; i++)
		CK(cuGraphLaunch(exec, stream));
	CK(cuCtxSynchronize());
}

/* More configurations than stacks are taken of. */
static void many(void)
{
	client_start();
	for (unsigned i = 1; i <= 6000; i++) {
		client_launch(i, 1);
		if (i % 50 == 0)
			client_nap(1);
	}
	CK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {
		{"plain", plain},         {"deep", deep},       {"swapped", swapped},
		{"on_signal", on_signal}, {"garbage", garbage}, {"unloaded", unloaded},
		{"captured", captured},   {"many", many},       {NULL, NULL}};

	return client_main(argc, argv, list);
}
