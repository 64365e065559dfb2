/* The kernels of the corpus; make_corpus compiles them in every form that code comes in. */
__constant__ float coefficient[8];

__device__ __noinline__ float power(float x, int n)
{
	for (int i = 0; i < n; i++)
		x = x * x + 1;
	return x;
}

__global__ void __launch_bounds__(128, 4) saxpy(int n, float a, const float *x, float *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = a * x[i] + y[i] + coefficient[i & 7];
}

struct record {
	char first;
	double list[5];
	short last;
};

__global__ void reduce(record r, unsigned char flag, const float *in, float *out)
{
	__shared__ float sum[64];

	sum[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
	__syncthreads();
	for (int k = 32; k; k >>= 1) {
		if (threadIdx.x < k)
			sum[threadIdx.x] += sum[threadIdx.x + k];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = flag ? sum[0] : (float)r.list[r.last] + r.first;
}

extern "C" __global__ void powers(float *x, int n)
{
	x[threadIdx.x] = power(x[threadIdx.x], n) + power(x[threadIdx.x + 1], n + 1);
}

#ifdef PROGRAM
int main()
{
	saxpy<<<1, 1>>>(0, 0, 0, 0);
	powers<<<1, 1>>>(0, 0);
}
#endif
