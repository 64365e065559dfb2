/* Kernels whose control depends on as many arguments as one, and as are hashed at most:
 *   nvcc -arch=sm_90 -cubin -o arguments.cubin arguments.cu
 *   tests/archive add tests/compiled.tar.xz --into=code/hook_cost arguments.cubin
 */
extern "C" __global__ void one(int *out, int n)
{
	if (threadIdx.x < n)
		out[threadIdx.x] = 1;
}

extern "C" __global__ void eight(int *out, int a, int *, int b, int *, int c, int *, int d, int *,
				 int e, int *, int f, int *, int g, int *, int h)
{
	int i = threadIdx.x;

	if (i < a && i * 3 < b && i * 5 < c && i * 7 < d && i * 9 < e && i * 11 < f && i * 13 < g &&
	    i * 15 < h)
		out[i] = 1;
}
