/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that do nothing, or as little as a kernel can that looks where it is. */

extern "C" __global__ void gw_empty()
{
}

/* What every kernel does first: which element is mine, and is there one? There never is. */
extern "C" __global__ void gw_index(unsigned count, unsigned *to)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= count)
		to[i] = i;
}
