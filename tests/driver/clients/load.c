/*
 * load PERCENT SECONDS: six kernels of 20 to 120 us, one after the other, for so long; each takes
 * PERCENT (100: as usual) of its time.
 * With LOAD_MPI, a rank of a job: load FAULT STEPS, where rank 1 has the fault from the middle on:
 * none, input (30 ms of sleep before the batch), host (30 ms of arithmetic after the kernels) or
 * imbalance (twice the blocks).
 */
#include "client.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KERNELS = 6 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#ifdef LOAD_MPI
#include <mpi.h>

enum { BATCH = 8 << 10, EXCHANGES = 3, LARGEST = 32 << 10, FAULT_US = 30000 };

static void compute(double us)
{
	for (const double end = now() + us * 1e-6; now() < end;)
		;
}

/* Gradients are summed on the host, as MPI does without pointers to the GPU. */
static void exchange(CUdeviceptr at, float *mine, float *all)
{
	for (int i = 0; i < EXCHANGES; i++) {
		const size_t bytes = LARGEST >> i;

		CK(cuMemcpyDtoH(mine, at, bytes));
		MPI_Allreduce(mine, all, (int)(bytes / sizeof(*mine)), MPI_FLOAT, MPI_SUM,
			      MPI_COMM_WORLD);
		CK(cuMemcpyHtoD(at, all, bytes));
	}
}

int main(int argc, char **argv)
{
	static float mine[LARGEST / sizeof(float)], all[LARGEST / sizeof(float)];
	char image[] = "gpuwatch-stand-in-module\nkernel layer block_ns=625000\n";
	CUdeviceptr at;
	CUfunction kernel;
	CUmodule module;
	int rank;

	if (argc != 3)
		return 2;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	client_start();
	CK(cuModuleLoadData(&module, image));
	CK(cuModuleGetFunction(&kernel, module, "layer"));
	CK(cuMemAlloc(&at, LARGEST));
	for (int steps = atoi(argv[2]), step = 0; step < steps; step++) {
		const char *fault = rank == 1 && step >= steps / 2 ? argv[1] : "none";

		if (!strcmp(fault, "input"))
			usleep(FAULT_US);
		CK(cuMemcpyHtoD(at, mine, BATCH));
		for (int i = 0; i < KERNELS; i++)
			CK(cuLaunchKernel(kernel, !strcmp(fault, "imbalance") ? 16 : 8, 1, 1, 128,
					  1, 1, 0, NULL, NULL, NULL));
		CK(cuCtxSynchronize());
		if (!strcmp(fault, "host"))
			compute(FAULT_US);
		exchange(at, mine, all);
	}
	MPI_Finalize();
	return 0;
}
#else
int main(int argc, char **argv)
{
	static const char *const names[KERNELS] = {"embed",    "attention", "project",
						   "activate", "norm",      "reduce"};
	char image[1024] = "gpuwatch-stand-in-module\n";
	CUfunction kernel[KERNELS];
	CUmodule module;
	double end;

	if (argc != 3 || atoi(argv[1]) < 1)
		return 2;
	client_start();
	for (int i = 0; i < KERNELS; i++)
		snprintf(image + strlen(image), sizeof(image) - strlen(image), "kernel %s ns=%d\n",
			 names[i], 200 * (i + 1) * atoi(argv[1]));
	CK(cuModuleLoadData(&module, image));
	for (int i = 0; i < KERNELS; i++)
		CK(cuModuleGetFunction(&kernel[i], module, names[i]));
	for (end = now() + atof(argv[2]); now() < end; usleep(2000)) {
		for (int i = 0; i < KERNELS; i++)
			CK(cuLaunchKernel(kernel[i], 8, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL));
		CK(cuCtxSynchronize());
	}
	return 0;
}
#endif
