/* Reductions: of everything to one number, of rows, in fp32 and fp64. */
#include "kernels/workloads/prepare.cuh"

enum { BLOCK = 256, COLUMNS = 1024 };

/* Grid-stride, shuffles, then one atomic per warp: reads at full width, writes next to nothing. */
extern "C" __global__ void reduce_shuffle(const float4 *in, double *sum, unsigned n)
{
	float s = 0;

	for (unsigned i = wl_thread(); i < n; i += gridDim.x * blockDim.x) {
		float4 v = in[i];

		s += (v.x + v.y) + (v.z + v.w);
	}
	s = wl_warp_sum(s);
	if (threadIdx.x % 32 == 0)
		atomicAdd(sum, (double)s);
}

/* One value per thread and a tree in shared memory, half of the threads idle at each step. */
extern "C" __global__ void reduce_shared(const float *in, float *partial, unsigned n)
{
	__shared__ float s[BLOCK];
	unsigned i = wl_thread();

	s[threadIdx.x] = i < n ? in[i] : 0;
	for (unsigned step = BLOCK / 2; step; step /= 2) {
		__syncthreads();
		if (threadIdx.x < step)
			s[threadIdx.x] += s[threadIdx.x + step];
	}
	if (threadIdx.x == 0)
		partial[blockIdx.x] = s[0];
}

/* One block per row. */
extern "C" __global__ void reduce_rows(const float *in, float *sums)
{
	__shared__ float s[BLOCK / 32];
	float v = 0;

	for (unsigned i = threadIdx.x; i < COLUMNS; i += BLOCK)
		v += in[(size_t)blockIdx.x * COLUMNS + i];
	v = wl_warp_sum(v);
	if (threadIdx.x % 32 == 0)
		s[threadIdx.x / 32] = v;
	__syncthreads();
	if (threadIdx.x < 32) {
		v = wl_warp_sum(threadIdx.x < BLOCK / 32 ? s[threadIdx.x] : 0);
		if (threadIdx.x == 0)
			sums[blockIdx.x] = v;
	}
}

/* One thread per column of a row-major matrix: coalesced, but a serial loop over the rows. */
extern "C" __global__ void reduce_columns(const float *in, float *sums, unsigned rows,
					  unsigned columns)
{
	unsigned column = wl_thread();
	float v = 0;

	for (unsigned row = 0; row < rows; row++)
		v += in[(size_t)row * columns + column];
	sums[column] = v;
}

/* A dot product in fp64, a partial sum per warp. */
extern "C" __global__ void dot_f64(const double *a, const double *b, double *partial, unsigned n)
{
	double s = 0;

	for (unsigned i = wl_thread(); i < n; i += gridDim.x * blockDim.x)
		s += a[i] * b[i];
	s = wl_warp_sum(s);
	if (threadIdx.x % 32 == 0)
		partial[wl_thread() / 32] = s;
}

/* A persistent grid: at most eight blocks on each SM of an H200. */
static unsigned persistent(uint64_t threads)
{
	unsigned blocks = wl_blocks(threads, BLOCK);

	return blocks < 132 * 8 ? blocks : 132 * 8;
}

WL_PREPARE(reduce_shuffle)
{
	uint64_t n = c->n / 4;
	float *in = wl_random<float>(c, c->n, -1, 1);
	double *sum = wl_zeroed<double>(c, 1);
	double *truth = WL_LAUNCH(c, reduce_shuffle, persistent(n), BLOCK, 0, (float4 *)in, sum, n);

	wl_accesses(wl_moves(truth, (double)c->n * 4, 8), (double)n / 32, 16, 0, 0);
	truth[WL_atomic_requests] = persistent(n) * BLOCK / 32.0;
}

WL_CHECK(reduce_shuffle)
{
	wl_in<float> in(c, 0);
	wl_out<double> sum(c, 1);
	double want = 0, magnitude = 0;

	for (uint64_t i = 0; i < c->n; i++) {
		want += in[i];
		magnitude += fabs((double)in[i]);
	}
	wl_expect(k, 0, sum[0], want, magnitude * 1e-7 * 8);
}

WL_PREPARE(reduce_shared)
{
	uint64_t n = c->n, blocks = wl_blocks(n, BLOCK);
	float *in = wl_random<float>(c, n, -1, 1), *partial = wl_output<float>(c, blocks);
	double *truth = WL_LAUNCH(c, reduce_shared, blocks, BLOCK, 0, in, partial, n);

	wl_accesses(wl_moves(truth, (double)n * 4, (double)blocks * 4), (double)n / 32, 4,
		    (double)blocks, 1);
	truth[WL_fp32_flop] = (double)blocks * (BLOCK - 1);
}

/* Sums of runs of `length` values; sum i is out[i]. */
static void check_runs(const struct wl_case *c, struct wl_check *k, uint64_t count, uint64_t length)
{
	wl_in<float> in(c, 0);
	wl_out<float> out(c, 1);

	wl_each(c, count, 2 * length, [&](uint64_t i) {
		double want = 0;

		for (uint64_t j = 0; j < length; j++)
			want += in[i * length + j];
		wl_expect(k, i, out[i], want, 1e-6 * (double)length);
	});
}

WL_CHECK(reduce_shared)
{
	check_runs(c, k, c->n / BLOCK, BLOCK);
}

WL_PREPARE(reduce_rows)
{
	double n = (double)c->n * COLUMNS;
	float *in = wl_random<float>(c, c->n * COLUMNS, -1, 1), *sums = wl_output<float>(c, c->n);
	double *truth = WL_LAUNCH(c, reduce_rows, c->n, BLOCK, 0, in, sums);

	wl_accesses(wl_moves(truth, n * 4, (double)c->n * 4), n / 32, 4, (double)c->n, 1);
}

WL_CHECK(reduce_rows)
{
	check_runs(c, k, c->n, COLUMNS);
}

enum { WIDTH = 16384 };

WL_PREPARE(reduce_columns)
{
	double n = (double)c->n * WIDTH;
	float *in = wl_random<float>(c, c->n * WIDTH, -1, 1), *sums = wl_output<float>(c, WIDTH);
	double *truth = WL_LAUNCH(c, reduce_columns, WIDTH / 128, 128, 0, in, sums, c->n, WIDTH);

	wl_accesses(wl_moves(truth, n * 4, WIDTH * 4), n / 32, 4, WIDTH / 32, 4);
	truth[WL_fp32_flop] = n;
}

WL_CHECK(reduce_columns)
{
	wl_in<float> in(c, 0);
	wl_out<float> out(c, 1);

	wl_each(c, WIDTH, 2 * c->n, [&](uint64_t i) {
		double want = 0;

		for (uint64_t row = 0; row < c->n; row++)
			want += in[row * WIDTH + i];
		wl_expect(k, i, out[i], want, 1e-6 * (double)c->n);
	});
}

WL_PREPARE(dot_f64)
{
	uint64_t n = c->n;
	unsigned grid = persistent(n);
	double *a = wl_random<double>(c, n, -1, 1), *b = wl_random<double>(c, n, -1, 1);
	double *partial = wl_output<double>(c, grid * (BLOCK / 32));
	double *truth = WL_LAUNCH(c, dot_f64, grid, BLOCK, 0, a, b, partial, n);

	wl_accesses(wl_moves(truth, (double)n * 16, grid * 8.0 * 8), (double)n / 16, 8, grid * 8.0,
		    1);
}

WL_CHECK(dot_f64)
{
	wl_in<double> a(c, 0), b(c, 1);
	wl_out<double> partial(c, 2);
	uint64_t threads = partial.count * 32;

	wl_each(c, partial.count, c->n / partial.count + 1, [&](uint64_t warp) {
		double want = 0;

		for (uint64_t start = warp * 32; start < c->n; start += threads)
			for (uint64_t i = start; i < start + 32 && i < c->n; i++)
				want += a[i] * b[i];
		wl_expect(k, warp, partial[warp], want,
			  1e-12 * (1 + (double)(c->n / partial.count)));
	});
}
