#include "kernels.h"

#include <cooperative_groups.h>

static __device__ void count_once(ull *sum)
{
	if (blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y + threadIdx.z == 0)
		atomicAdd(sum, 1ull);
}

__global__ void bump(ull *sum)
{
	count_once(sum);
}

__global__ void bump_shared(ull *sum)
{
	extern __shared__ unsigned char bytes[];
	volatile unsigned char *touched = bytes;

	touched[threadIdx.x] = (unsigned char)threadIdx.x;
	__syncthreads();
	count_once(sum);
}

__global__ void bump_cooperative(ull *sum)
{
	cooperative_groups::this_grid().sync();
	count_once(sum);
}

__global__ void __cluster_dims__(2, 1, 1) bump_cluster(ull *sum)
{
	cooperative_groups::this_cluster().sync();
	count_once(sum);
}

__global__ void bump_programmatic(ull *sum)
{
	cudaTriggerProgrammaticLaunchCompletion();
	cudaGridDependencySynchronize();
	count_once(sum);
}
