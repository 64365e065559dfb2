/* Stencils in two and three dimensions. Values beyond an edge count as zero. */
#include "kernels/workloads/prepare.cuh"

/* Five points, straight from memory: neighbours come from the caches. */
extern "C" __global__ void stencil2d_5(const float *in, float *out, int n)
{
	int x = (int)(blockIdx.x * blockDim.x + threadIdx.x),
	    y = (int)(blockIdx.y * blockDim.y + threadIdx.y);
	size_t i = (size_t)y * n + x;
	float sum;

	if (x >= n || y >= n)
		return;
	sum = 0.5f * in[i];
	if (x > 0)
		sum += 0.125f * in[i - 1];
	if (x < n - 1)
		sum += 0.125f * in[i + 1];
	if (y > 0)
		sum += 0.125f * in[i - n];
	if (y < n - 1)
		sum += 0.125f * in[i + n];
	out[i] = sum;
}

enum { RADIUS = 2, TILE_X = 32, TILE_Y = 8, BOX = 2 * RADIUS + 1 };

/* A 5 x 5 box with its own weights, from a tile in shared memory. */
extern "C" __global__ void stencil2d_box(const float *in, const float *weight, float *out, int n)
{
	__shared__ float tile[TILE_Y + 2 * RADIUS][TILE_X + 2 * RADIUS];
	int x0 = (int)blockIdx.x * TILE_X - RADIUS, y0 = (int)blockIdx.y * TILE_Y - RADIUS;
	float sum = 0;

	for (int j = (int)threadIdx.y; j < TILE_Y + 2 * RADIUS; j += TILE_Y)
		for (int i = (int)threadIdx.x; i < TILE_X + 2 * RADIUS; i += TILE_X) {
			int x = x0 + i, y = y0 + j;

			tile[j][i] = x >= 0 && y >= 0 && x < n && y < n ? in[(size_t)y * n + x] : 0;
		}
	__syncthreads();
	for (int j = 0; j < BOX; j++)
		for (int i = 0; i < BOX; i++)
			sum += weight[j * BOX + i] * tile[threadIdx.y + j][threadIdx.x + i];
	out[(size_t)(y0 + RADIUS + (int)threadIdx.y) * n + x0 + RADIUS + (int)threadIdx.x] = sum;
}

/* Seven points, one thread per point. */
extern "C" __global__ void stencil3d_7(const float *in, float *out, int n)
{
	int x = (int)(blockIdx.x * blockDim.x + threadIdx.x),
	    y = (int)(blockIdx.y * blockDim.y + threadIdx.y);
	int z = (int)blockIdx.z;
	size_t plane = (size_t)n * n, i = z * plane + (size_t)y * n + x;
	float sum = 0;

	if (x > 0)
		sum += in[i - 1];
	if (x < n - 1)
		sum += in[i + 1];
	if (y > 0)
		sum += in[i - n];
	if (y < n - 1)
		sum += in[i + n];
	if (z > 0)
		sum += in[i - plane];
	if (z < n - 1)
		sum += in[i + plane];
	out[i] = 0.25f * in[i] + 0.125f * sum;
}

enum { REACH = 4 };

/* 25 points in fp64: a thread walks along z and keeps its column in registers. */
extern "C" __global__ void stencil3d_25(const double *in, double *out, int n)
{
	int x = (int)(blockIdx.x * blockDim.x + threadIdx.x),
	    y = (int)(blockIdx.y * blockDim.y + threadIdx.y);
	size_t plane = (size_t)n * n, column = (size_t)y * n + x;
	double z[2 * REACH + 1];

	for (int k = 0; k <= 2 * REACH; k++)
		z[k] = k < REACH || k - REACH >= n ? 0 : in[(k - REACH) * plane + column];
	for (int k = 0; k < n; k++) {
		const double *p = in + k * plane + column;
		double sum = 0.5 * z[REACH];

#pragma unroll
		for (int r = 1; r <= REACH; r++) {
			double weight = 0.0625 / r;

			sum += weight * (z[REACH - r] + z[REACH + r]);
			sum += weight * ((x >= r ? p[-r] : 0) + (x + r < n ? p[r] : 0));
			sum += weight * ((y >= r ? p[-r * n] : 0) + (y + r < n ? p[r * n] : 0));
		}
		out[k * plane + column] = sum;
#pragma unroll
		for (int r = 0; r < 2 * REACH; r++)
			z[r] = z[r + 1];
		z[2 * REACH] = k + REACH + 1 < n ? in[(k + REACH + 1) * plane + column] : 0;
	}
}

/* An input that is zero outside its cube (or square, where there is no z). */
template <typename T> struct padded {
	wl_in<T> in;
	int64_t n;

	double at(int64_t x, int64_t y, int64_t z = 0) const
	{
		return x < 0 || y < 0 || z < 0 || x >= n || y >= n || z >= n
			       ? 0
			       : (double)in[(uint64_t)((z * n + y) * n + x)];
	}
};

WL_PREPARE(stencil2d_5)
{
	unsigned n = (unsigned)c->n;
	double points = (double)n * n;
	float *in = wl_random<float>(c, c->n * n, -1, 1), *out = wl_output<float>(c, c->n * n);
	double *truth = WL_LAUNCH(c, stencil2d_5, dim3(n / 32, n / 8), dim3(32, 8), 0, in, out, n);

	wl_moves(truth, points * 4, points * 4)[WL_global_store_requests] = points / 32;
}

WL_CHECK(stencil2d_5)
{
	padded<float> in = {wl_in<float>(c, 0), (int64_t)c->n};
	wl_out<float> out(c, 1);

	wl_each(c, c->n * c->n, 12, [&](uint64_t i) {
		int64_t x = (int64_t)(i % c->n), y = (int64_t)(i / c->n);

		wl_expect(k, i, out[i],
			  0.5 * in.at(x, y) + 0.125 * (in.at(x - 1, y) + in.at(x + 1, y) +
						       in.at(x, y - 1) + in.at(x, y + 1)),
			  1e-6);
	});
}

WL_PREPARE(stencil2d_box)
{
	unsigned n = (unsigned)c->n;
	double points = (double)n * n;
	float *in = wl_random<float>(c, c->n * n, -1, 1),
	      *weight = wl_random<float>(c, BOX * BOX, -0.1, 0.1);
	float *out = wl_output<float>(c, c->n * n);
	double *truth = WL_LAUNCH(c, stencil2d_box, dim3(n / TILE_X, n / TILE_Y),
				  dim3(TILE_X, TILE_Y), 0, in, weight, out, n);

	wl_moves(truth, points * 4, points * 4)[WL_global_store_requests] = points / 32;
	truth[WL_fp32_flop] = points * 2 * BOX * BOX;
}

WL_CHECK(stencil2d_box)
{
	padded<float> in = {wl_in<float>(c, 0), (int64_t)c->n};
	wl_in<float> weight(c, 1);
	wl_out<float> out(c, 2);

	wl_each(c, c->n * c->n, 2 * BOX * BOX, [&](uint64_t i) {
		int64_t x = (int64_t)(i % c->n) - RADIUS, y = (int64_t)(i / c->n) - RADIUS;
		double want = 0;

		for (int j = 0; j < BOX; j++)
			for (int b = 0; b < BOX; b++)
				want += (double)weight[(uint64_t)(j * BOX + b)] *
					in.at(x + b, y + j);
		wl_expect(k, i, out[i], want, 2e-6);
	});
}

WL_PREPARE(stencil3d_7)
{
	unsigned n = (unsigned)c->n;
	double points = (double)n * n * n;
	float *in = wl_random<float>(c, c->n * n * n, -1, 1),
	      *out = wl_output<float>(c, c->n * n * n);
	double *truth =
		WL_LAUNCH(c, stencil3d_7, dim3(n / 32, n / 8, n), dim3(32, 8), 0, in, out, n);

	wl_moves(truth, points * 4, points * 4)[WL_global_store_requests] = points / 32;
}

WL_CHECK(stencil3d_7)
{
	padded<float> in = {wl_in<float>(c, 0), (int64_t)c->n};
	wl_out<float> out(c, 1);
	uint64_t n = c->n;

	wl_each(c, n * n * n, 16, [&](uint64_t i) {
		int64_t x = (int64_t)(i % n), y = (int64_t)(i / n % n), z = (int64_t)(i / n / n);
		double sum = in.at(x - 1, y, z) + in.at(x + 1, y, z) + in.at(x, y - 1, z) +
			     in.at(x, y + 1, z) + in.at(x, y, z - 1) + in.at(x, y, z + 1);

		wl_expect(k, i, out[i], 0.25 * in.at(x, y, z) + 0.125 * sum, 1e-6);
	});
}

WL_PREPARE(stencil3d_25)
{
	unsigned n = (unsigned)c->n;
	double points = (double)n * n * n;
	double *in = wl_random<double>(c, c->n * n * n, -1, 1),
	       *out = wl_output<double>(c, c->n * n * n);
	double *truth = WL_LAUNCH(c, stencil3d_25, dim3(n / 32, n / 4), dim3(32, 4), 0, in, out, n);

	wl_moves(truth, points * 8, points * 8)[WL_global_store_requests] = points / 32;
}

WL_CHECK(stencil3d_25)
{
	padded<double> in = {wl_in<double>(c, 0), (int64_t)c->n};
	wl_out<double> out(c, 1);
	uint64_t n = c->n;

	wl_each(c, n * n * n, 60, [&](uint64_t i) {
		int64_t x = (int64_t)(i % n), y = (int64_t)(i / n % n), z = (int64_t)(i / n / n);
		double want = 0.5 * in.at(x, y, z);

		for (int r = 1; r <= REACH; r++)
			want += 0.0625 / r *
				(in.at(x - r, y, z) + in.at(x + r, y, z) + in.at(x, y - r, z) +
				 in.at(x, y + r, z) + in.at(x, y, z - r) + in.at(x, y, z + r));
		wl_expect(k, i, out[i], want, 1e-14);
	});
}
