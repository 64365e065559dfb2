/* Matrix products of n x n matrices, from one thread per element to the tensor pipe; a product
 * with a vector as in decoding a token. All matrices are row-major. */
#include "kernels/workloads/prepare.cuh"

#include <mma.h>

extern "C" __global__ void gemm_naive(const float *a, const float *b, float *c, unsigned n)
{
	unsigned x = blockIdx.x * blockDim.x + threadIdx.x,
		 y = blockIdx.y * blockDim.y + threadIdx.y;
	float sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += a[y * n + i] * b[i * n + x];
	c[y * n + x] = sum;
}

/* A tile of T x T elements, one per thread, from tiles of shared memory. */
template <typename E, int T>
static __device__ void gemm_tile(const E *a, const E *b, E *c, unsigned n)
{
	__shared__ E as[T][T], bs[T][T];
	unsigned tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * T + tx,
		 y = blockIdx.y * T + ty;
	E sum = 0;

	for (unsigned base = 0; base < n; base += T) {
		as[ty][tx] = a[y * n + base + tx];
		bs[ty][tx] = b[(base + ty) * n + x];
		__syncthreads();
		for (int i = 0; i < T; i++)
			sum += as[ty][i] * bs[i][tx];
		__syncthreads();
	}
	c[y * n + x] = sum;
}

extern "C" __global__ void gemm_tiled(const float *a, const float *b, float *c, unsigned n)
{
	gemm_tile<float, 32>(a, b, c, n);
}

extern "C" __global__ void gemm_f64(const double *a, const double *b, double *c, unsigned n)
{
	gemm_tile<double, 16>(a, b, c, n);
}

enum { BIG = 128, DEPTH = 8, PER = 8 };

/* 128 x 128 elements per block of 256 threads, 8 x 8 in each thread's registers. */
extern "C" __global__ void __launch_bounds__(256)
	gemm_register(const float *a, const float *b, float *c, unsigned n)
{
	__shared__ float as[DEPTH][BIG], bs[DEPTH][BIG];
	unsigned t = threadIdx.x, x0 = blockIdx.x * BIG, y0 = blockIdx.y * BIG, tx = t % 16 * PER,
		 ty = t / 16 * PER;
	float sum[PER][PER] = {};

	for (unsigned base = 0; base < n; base += DEPTH) {
		unsigned row = t / 2, column = t % 2 * 4;
		float4 v = *(const float4 *)&a[(y0 + row) * n + base + column];

		as[column][row] = v.x;
		as[column + 1][row] = v.y;
		as[column + 2][row] = v.z;
		as[column + 3][row] = v.w;
		*(float4 *)&bs[t / 32][t % 32 * 4] =
			*(const float4 *)&b[(base + t / 32) * n + x0 + t % 32 * 4];
		__syncthreads();
#pragma unroll
		for (int i = 0; i < DEPTH; i++)
#pragma unroll
			for (int y = 0; y < PER; y++)
#pragma unroll
				for (int x = 0; x < PER; x++)
					sum[y][x] += as[i][ty + y] * bs[i][tx + x];
		__syncthreads();
	}
#pragma unroll
	for (int y = 0; y < PER; y++)
#pragma unroll
		for (int x = 0; x < PER; x += 4)
			*(float4 *)&c[(y0 + ty + y) * n + x0 + tx + x] =
				make_float4(sum[y][x], sum[y][x + 1], sum[y][x + 2], sum[y][x + 3]);
}

/* A 64 x 64 tile per block of 4 warps; each warp keeps 2 x 2 fragments and loads them from memory.
 */
template <typename Fragment, typename E, typename Sum, int K>
static __device__ void gemm_fragments(const E *a, const E *b, Sum *c, unsigned n)
{
	namespace w = nvcuda::wmma;
	unsigned warp = threadIdx.x / 32, y = blockIdx.y * 64 + warp / 2 * 32,
		 x = blockIdx.x * 64 + warp % 2 * 32;
	w::fragment<w::matrix_a, 16, 16, K, Fragment, w::row_major> fa[2];
	w::fragment<w::matrix_b, 16, 16, K, Fragment, w::row_major> fb[2];
	w::fragment<w::accumulator, 16, 16, K, Sum> sum[2][2];

	for (int i = 0; i < 4; i++)
		w::fill_fragment(sum[i / 2][i % 2], (Sum)0);
	for (unsigned base = 0; base < n; base += K) {
		for (int i = 0; i < 2; i++) {
			w::load_matrix_sync(fa[i], a + (y + 16 * i) * n + base, n);
			w::load_matrix_sync(fb[i], b + base * n + x + 16 * i, n);
		}
		for (int i = 0; i < 4; i++)
			w::mma_sync(sum[i / 2][i % 2], fa[i / 2], fb[i % 2], sum[i / 2][i % 2]);
	}
	for (int i = 0; i < 4; i++)
		w::store_matrix_sync(c + (y + i / 2 * 16) * n + x + i % 2 * 16, sum[i / 2][i % 2],
				     n, w::mem_row_major);
}

extern "C" __global__ void gemm_wmma_f16(const __half *a, const __half *b, float *c, unsigned n)
{
	gemm_fragments<__half, __half, float, 16>(a, b, c, n);
}

extern "C" __global__ void gemm_wmma_tf32(const float *a, const float *b, float *c, unsigned n)
{
	gemm_fragments<nvcuda::wmma::precision::tf32, float, float, 8>(a, b, c, n);
}

extern "C" __global__ void gemm_wmma_i8(const signed char *a, const signed char *b, int *c,
					unsigned n)
{
	gemm_fragments<signed char, signed char, int, 16>(a, b, c, n);
}

enum { PITCH = 128 + 8, SLICE = 32 };

/* fp16 with tiles of shared memory: 128 x 128 per block of 8 warps, each 32 x 64. */
extern "C" __global__ void __launch_bounds__(256)
	gemm_tensor_shared(const __half *a, const __half *b, float *c, unsigned n)
{
	namespace w = nvcuda::wmma;
	__shared__ __align__(32) __half as[128][SLICE + 8], bs[SLICE][PITCH];
	unsigned t = threadIdx.x, warp = t / 32, y0 = blockIdx.y * 128, x0 = blockIdx.x * 128;
	unsigned wy = warp / 2 * 32, wx = warp % 2 * 64;
	w::fragment<w::accumulator, 16, 16, 16, float> sum[2][4];

	for (int i = 0; i < 8; i++)
		w::fill_fragment(sum[i / 4][i % 4], 0.0f);
	for (unsigned base = 0; base < n; base += SLICE) {
		for (unsigned i = t; i < 128 * SLICE / 8; i += 256) { /* 8 values at once */
			*(uint4 *)&as[i / 4][i % 4 * 8] =
				*(const uint4 *)&a[(size_t)(y0 + i / 4) * n + base + i % 4 * 8];
			*(uint4 *)&bs[i / 16][i % 16 * 8] =
				*(const uint4 *)&b[(size_t)(base + i / 16) * n + x0 + i % 16 * 8];
		}
		__syncthreads();
		for (int depth = 0; depth < SLICE; depth += 16) {
			w::fragment<w::matrix_a, 16, 16, 16, __half, w::row_major> fa[2];
			w::fragment<w::matrix_b, 16, 16, 16, __half, w::row_major> fb[4];

			for (int i = 0; i < 2; i++)
				w::load_matrix_sync(fa[i], &as[wy + 16 * i][depth], SLICE + 8);
			for (int i = 0; i < 4; i++)
				w::load_matrix_sync(fb[i], &bs[depth][wx + 16 * i], PITCH);
			for (int i = 0; i < 8; i++)
				w::mma_sync(sum[i / 4][i % 4], fa[i / 4], fb[i % 4],
					    sum[i / 4][i % 4]);
		}
		__syncthreads();
	}
	for (int i = 0; i < 8; i++)
		w::store_matrix_sync(c + (size_t)(y0 + wy + i / 4 * 16) * n + x0 + wx + i % 4 * 16,
				     sum[i / 4][i % 4], n, w::mem_row_major);
}

enum { COLUMNS = 4096 };

/* A row of weights per warp, eight halves per load. */
extern "C" __global__ void gemv_f16(const uint4 *weights, const __half *x, float *y)
{
	unsigned row = wl_thread() / 32, lane = threadIdx.x % 32;
	float sum = 0;

	for (unsigned i = lane; i < COLUMNS / 8; i += 32) {
		uint4 packed = weights[(size_t)row * (COLUMNS / 8) + i];
		const __half *w = (const __half *)&packed;

		for (int j = 0; j < 8; j++)
			sum += __half2float(w[j]) * __half2float(x[i * 8 + j]);
	}
	sum = wl_warp_sum(sum);
	if (lane == 0)
		y[row] = sum;
}

template <typename In, typename Out>
static double *prepare_gemm(struct wl_case *c, const char *name,
			    void (*kernel)(const In *, const In *, Out *, unsigned), unsigned tile,
			    dim3 block, double limit)
{
	uint64_t n = c->n;
	In *a = wl_random<In>(c, n * n, -limit, limit), *b = wl_random<In>(c, n * n, -limit, limit);
	Out *out = wl_output<Out>(c, n * n);
	double *truth = wl_record(c, name, kernel, dim3((unsigned)n / tile, (unsigned)n / tile),
				  block, 0, a, b, out, (unsigned)n);

	return wl_moves(truth, 2.0 * (double)(n * n) * sizeof(In), (double)(n * n) * sizeof(Out));
}

/* `error` is what one product may be off by. */
template <typename In, typename Out>
static void check_gemm(const struct wl_case *c, struct wl_check *k, double error)
{
	wl_in<In> a(c, 0), b(c, 1);
	wl_out<Out> out(c, 2);
	uint64_t n = c->n;

	wl_each(c, n * n, 4 * n, [&](uint64_t i) {
		double want = 0;

		for (uint64_t j = 0; j < n; j++)
			want += (double)a[i / n * n + j] * (double)b[j * n + i % n];
		wl_expect(k, i, (double)out[i], want, error * (double)n);
	});
}

#define GEMM(name, in, out, tile, block, limit, error, truth) \
	WL_PREPARE(name) \
	{ \
		double operations = 2.0 * (double)c->n * (double)c->n * (double)c->n; \
		prepare_gemm<in, out>(c, #name, name, tile, block, limit)[truth] = operations; \
	} \
	WL_CHECK(name) \
	{ \
		check_gemm<in, out>(c, k, error); \
	}
GEMM(gemm_naive, float, float, 16, dim3(16, 16), 1, 1e-6, WL_fp32_flop)
GEMM(gemm_tiled, float, float, 32, dim3(32, 32), 1, 1e-6, WL_fp32_flop)
GEMM(gemm_register, float, float, BIG, dim3(256), 1, 1e-6, WL_fp32_flop)
GEMM(gemm_f64, double, double, 16, dim3(16, 16), 1, 1e-15, WL_fp64_flop)
GEMM(gemm_wmma_f16, __half, float, 64, dim3(128), 1, 1e-6, WL_tensor_flop)
GEMM(gemm_wmma_tf32, float, float, 64, dim3(128), 1, 2e-3,
     WL_tensor_flop) /* operands lose 13 bits */
GEMM(gemm_wmma_i8, signed char, int, 64, dim3(128), 127, 0, WL_tensor_flop)
GEMM(gemm_tensor_shared, __half, float, 128, dim3(256), 1, 1e-6, WL_tensor_flop)

WL_PREPARE(gemv_f16)
{
	uint64_t rows = c->n;
	__half *weights = wl_random<__half>(c, rows * COLUMNS, -1, 1),
	       *x = wl_random<__half>(c, COLUMNS, -1, 1);
	float *y = wl_output<float>(c, rows);

	wl_moves(WL_LAUNCH(c, gemv_f16, rows / 4, 128, 0, (uint4 *)weights, x, y),
		 (double)rows * COLUMNS * 2 + COLUMNS * 2, (double)rows * 4);
}

WL_CHECK(gemv_f16)
{
	wl_in<__half> weights(c, 0), x(c, 1);
	wl_out<float> y(c, 2);

	wl_each(c, c->n, 8 * COLUMNS, [&](uint64_t row) {
		double want = 0;

		for (uint64_t i = 0; i < COLUMNS; i++)
			want += (double)__half2float(weights[row * COLUMNS + i]) *
				(double)__half2float(x[i]);
		wl_expect(k, row, y[row], want, 1e-6 * COLUMNS);
	});
}
