/*
 * Kernels that the evaluator is checked on; evaluate.ptx is what the compiler made of them:
 *   nvcc -arch=sm_90 -ptx -o evaluate.ptx evaluate.cu && tests/archive add tests/compiled.tar.xz --into=code/ptx evaluate.ptx
 * oracle_kernels.c has each of them again as plain C. Loops that lanes leave at different times
 * aren't unrolled: a lane's iteration would else be in the unrolled body for one lane and in the
 * remainder for another, and that is no business of the source.
 */
#define KERNEL extern "C" __global__ void

KERNEL saxpy(int n, float a, const float *x, float *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = a * x[i] + y[i];
}

KERNEL grid_stride(long n, const double *x, double *y)
{
#pragma unroll 1
	for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n; i += (long)gridDim.x * blockDim.x)
		y[i] = x[i] + 1;
}

KERNEL transpose(int width, int height, const float *in, float *out)
{
	__shared__ float tile[16][17];
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;

	if (x < width && y < height)
		tile[threadIdx.y][threadIdx.x] = in[y * width + x];
	__syncthreads();
	x = blockIdx.y * 16 + threadIdx.x;
	y = blockIdx.x * 16 + threadIdx.y;
	if (x < height && y < width)
		out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

KERNEL stencil(int width, int height, const float *in, float *out)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x >= width || y >= height)
		return;
	int left = max(x - 1, 0), right = min(x + 1, width - 1);
	int up = max(y - 1, 0), down = min(y + 1, height - 1);

	out[y * width + x] = in[y * width + left] + in[y * width + right] + in[up * width + x] +
			     in[down * width + x];
}

KERNEL triangle(int n, const float *a, float *out)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	if (row >= n)
		return;
#pragma unroll 1
	for (int c = 0; c <= row; c++)
		sum += a[row * n + c];
	out[row] = sum;
}

KERNEL row_sum(const float *a, float *out, int columns)
{
	__shared__ float part[128];
	float sum = 0;

#pragma unroll 1
	for (int c = threadIdx.x; c < columns; c += blockDim.x)
		sum += a[blockIdx.x * columns + c];
	part[threadIdx.x] = sum;
	__syncthreads();
#pragma unroll 1
	for (int k = blockDim.x / 2; k > 0; k >>= 1) {
		if (threadIdx.x < k)
			part[threadIdx.x] += part[threadIdx.x + k];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = part[0];
}

KERNEL gather(int n, const int *index, const float *x, float *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = x[index[i]];
}

KERNEL search(int n, const int *next, int *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, at = i, steps = 0;

	if (i >= n)
		return;
#pragma unroll 1
	while (at >= 0) {
		at = next[at];
		steps++;
	}
	out[i] = steps;
}

KERNEL odd_even(int n, int *x)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

#pragma unroll 1
	for (int k = 0; k < n; k++)
		if ((i + k) % 3 == 0)
			x[i * n + k] = k;
		else if (k > i)
			x[i] = i;
}

KERNEL doubling(unsigned n, float *x)
{
	unsigned lane = threadIdx.x;

#pragma unroll 1
	for (unsigned s = 1; s < n; s *= 2)
		x[s + lane] = 1;
}

KERNEL downwards(long n, long step, char *x)
{
#pragma unroll 1
	for (long i = n - 1 - threadIdx.x; i >= 0; i -= step)
		x[i] = 0;
}

KERNEL rows(int n, float **row)
{
#pragma unroll 1
	for (int r = 0; r < n; r++)
		row[r][threadIdx.x] = 0;
}

struct shape {
	int width, height;
	short border;
	float *base;
};

__device__ __noinline__ int inside(shape s, int x, int y)
{
	return x >= s.border && y >= s.border && x < s.width - s.border && y < s.height - s.border;
}

KERNEL called(shape s)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;

	if (inside(s, x, y))
		s.base[y * s.width + x] = 1;
}

KERNEL choice(int n, float *x)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	switch (n + i % 8) {
	case 0: x[i] = 1; break;
	case 1: x[2 * i] = 2; break;
	case 2: x[3 * i] = 3; break;
	case 3: x[4 * i] = 4; break;
	case 4: x[5 * i] = 5; break;
	case 5: x[6 * i] = 6; break;
	default: x[0] = 7;
	}
}

KERNEL float_steps(float from, float to, float by, float *x)
{
	int n = 0;

#pragma unroll 1
	for (float f = from; f < to; f += by)
		x[n++] = f;
}

KERNEL local_array(int n, int *out)
{
	int list[8];

	for (int i = 0; i < 8; i++)
		list[i] = i * n;
#pragma unroll 1
	for (int i = 0; i < list[threadIdx.x & 7]; i++)
		out[i] = i;
}

KERNEL histogram(int n, const int *key, int *count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		atomicAdd(&count[key[i]], 1);
		if (atomicMax(&count[i], 3) > 2)
			count[n + i] = 0;
	}
}

KERNEL vectors(int n, const float4 *x, double2 *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		float4 v = x[i];
		y[i] = make_double2(v.x + v.y, v.z + v.w);
	}
}

KERNEL shuffles(int n, const float *x, float *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
	float v = x[i];

	for (int d = 16; d; d /= 2)
		v += __shfl_xor_sync(0xffffffff, v, d);
	if (__ballot_sync(0xffffffff, i < n) == 0xffffffff && warp & 1)
		out[i] = v;
	if (threadIdx.x % 32 == __ffs(__activemask()) - 1)
		out[n + warp] = v;
}

KERNEL leaving(int n, int *x)
{
	int i = threadIdx.x;

#pragma unroll 1
	for (int k = 0; k < n; k++) {
		if (k == i * 2)
			break;
		if ((k & 3) == 1)
			continue;
		x[k * 64 + i] = k;
		if (k == 40)
			return;
	}
	x[i] = -1;
}

KERNEL cube(int nx, int ny, int nz, float *x)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned j = blockIdx.y * blockDim.y + threadIdx.y;
	unsigned k = blockIdx.z * blockDim.z + threadIdx.z;

	if (i < nx && j < ny && k < nz)
		x[(k * ny + j) * nx + i] = 0;
}

KERNEL multiply(int m, int n, int depth, const float *a, const float *b, float *c)
{
	__shared__ float as[16][16], bs[16][16];
	int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
	float sum = 0;

#pragma unroll 1
	for (int t = 0; t < depth / 16; t++) {
		as[threadIdx.y][threadIdx.x] = a[row * depth + t * 16 + threadIdx.x];
		bs[threadIdx.y][threadIdx.x] = b[(t * 16 + threadIdx.y) * n + column];
		__syncthreads();
		for (int k = 0; k < 16; k++)
			sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
		__syncthreads();
	}
	if (row < m)
		c[row * n + column] = sum;
}

KERNEL nested(int n, int m, const float *x, float *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

#pragma unroll 1
	for (int a = 0; a < n; a++) {
#pragma unroll 1
		for (int b = 0; b < m; b++)
			y[i] += x[(long)a * m + b + i];
		y[i + a] = 0;
	}
}
