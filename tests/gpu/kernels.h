/*
 * What every GPU test program shares: kernels that count themselves, and the tally that
 * says how many ran. Each kernel adds exactly 1 to a counter in device memory, so a
 * program knows without any profiler how many kernels the GPU executed.
 */
#ifndef GW_GPU_KERNELS_H
#define GW_GPU_KERNELS_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long ull;

/* The same source is also compiled to kernels.fatbin, hence the unmangled names. */
extern "C" {
__global__ void bump(ull *sum);
__global__ void bump_shared(ull *sum);       /**< touches its dynamic shared memory */
__global__ void bump_cooperative(ull *sum);  /**< waits for the whole grid */
__global__ void bump_cluster(ull *sum);      /**< has clusters of 2 by its definition */
__global__ void bump_programmatic(ull *sum); /**< waits for the kernel before it */
}

/** Kernels launched so far, and how many of them the GPU counted. */
struct tally {
	ull *sum;    /**< device memory, NULL when closed */
	ull ran;     /**< kernels that this case ran, by its own account */
	ull counted; /**< kernels that counted themselves, in tallies closed so far */
};

#define CHECK(call) \
	do { \
		cudaError_t check_ = (call); \
		if (check_ != cudaSuccess) { \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
				cudaGetErrorString(check_)); \
			exit(1); \
		} \
	} while (0)

#define CHECK_DRIVER(call) \
	do { \
		CUresult check_ = (call); \
		if (check_ != CUDA_SUCCESS) { \
			fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, \
				(int)check_); \
			exit(1); \
		} \
	} while (0)

/** Begin to count in the current context. */
static inline void tally_open(struct tally *t)
{
	CHECK(cudaMalloc(&t->sum, sizeof *t->sum));
	CHECK(cudaMemset(t->sum, 0, sizeof *t->sum));
	CHECK(cudaDeviceSynchronize()); /* other streams must not overtake the memset */
}

/** Wait for every kernel of the current context and take what was counted. */
static inline void tally_close(struct tally *t)
{
	ull sum = 0;

	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(&sum, t->sum, sizeof sum, cudaMemcpyDeviceToHost));
	CHECK(cudaFree(t->sum));
	t->sum = NULL;
	t->counted += sum;
}

/** A case of the workload; sum is open when it is called and may be closed by it. */
struct test_case {
	const char *name;
	void (*run)(struct tally *t);
};

/** Run the case that argv[1] names, print what it did, and give main's exit status. */
int run_case(int argc, char **argv, const struct test_case *cases, size_t count);

/** Path of a file that lies beside the program; static storage. */
const char *beside_program(const char *file);

/** The whole of such a file; malloc'ed, one NUL past its end. */
char *read_beside_program(const char *file);

#endif
