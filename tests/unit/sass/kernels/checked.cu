/* SPDX-License-Identifier: Apache-2.0 */
/* Asserts on data, and a function of the driver's that is called otherwise. Together in a cubin:
 * checked_sm_*.cubin is of `nvcc -cubin -arch=sm_*`. */
#include <assert.h>
#include <stdio.h>

extern "C" __global__ void checked(float *y, const float *x, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		float v = x[i];

		assert(v == v);
		if (i & 1) {
			assert(v > 0 || n > 5);
			y[i] = v;
		}
	}
}

extern "C" __global__ void telling(float *y, const float *x, int n)
{
	float v = x[threadIdx.x];

	if (v < 0)
		printf("%d\n", n);
	y[threadIdx.x] = v;
}
