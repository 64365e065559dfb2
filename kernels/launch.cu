/* Kernels that do nothing, or only compute their element. */

extern "C" __global__ void gw_empty()
{
}

/* The start of every kernel: which element is mine, and does it exist? It never does. */
extern "C" __global__ void gw_index(unsigned count, unsigned *to)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= count)
		to[i] = i;
}
