/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose time on the GPU is scripted: kernels, copies, waits, and work of the host. */
#include "client.h"

enum { TURNS = 20, MS = 1000, COPIED = 32 << 20 };

static CUfunction spin;

static void run_for(uint64_t ns)
{
	void *params[] = {&ns};

	CK(cuLaunchKernel(spin, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
}

/* Whoever watches knows the rate of the clock. */
static void begin(void)
{
	client_start();
	spin = client_function("spin");
	run_for(1000);
	CK(cuCtxSynchronize());
	client_nap(60);
}

/* 5 ms of a kernel that is waited for, then 4 ms of the host. */
static void waits(void)
{
	begin();
	for (int i = 0; i < TURNS; i++) {
		run_for(5000000);
		CK(cuStreamSynchronize(NULL));
		usleep(4 * MS);
	}
	run_for(1000);
	CK(cuCtxSynchronize());
}

/* 3 ms of a kernel, and the host comes back after 8 ms. */
static void host(void)
{
	begin();
	for (int i = 0; i < TURNS; i++) {
		run_for(3000000);
		usleep(8 * MS);
	}
	run_for(1000);
	CK(cuCtxSynchronize());
}

/* 2.1 ms for a copy to the GPU, as long back, 1 ms of a kernel, 2.1 ms for a memset. */
static void copies(void)
{
	static char memory[COPIED];
	CUdeviceptr there;

	begin();
	CK(cuMemAlloc(&there, sizeof(memory)));
	for (int i = 0; i < TURNS; i++) {
		CK(cuMemcpyHtoD(there, memory, sizeof(memory)));
		run_for(1000000);
		CK(cuMemcpyDtoH(memory, there, sizeof(memory)));
		CK(cuMemsetD8Async(there, 1, sizeof(memory), NULL));
	}
	run_for(1000);
	CK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {
	        {"waits", waits}, {"host", host}, {"copies", copies}, {NULL, NULL}};

	return client_main(argc, argv, list);
}
