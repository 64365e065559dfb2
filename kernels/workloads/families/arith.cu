/* Arithmetic alone: one pipe each, a value in and a value out per thread. */
#include "kernels/workloads/prepare.cuh"

enum { BLOCK = 256, CHAINS = 4, ROUNDS = 1024, SHORT = 256 };

/* Four independent chains of multiply-adds that neither vanish nor overflow. */
template <typename T> static __device__ T chains(T start, T a, T b)
{
	T x[CHAINS], sum = 0;

#pragma unroll
	for (int j = 0; j < CHAINS; j++)
		x[j] = start + (T)(0.125 * j);
#pragma unroll 16
	for (int i = 0; i < ROUNDS; i++)
#pragma unroll
		for (int j = 0; j < CHAINS; j++)
			x[j] = x[j] * a + b;
#pragma unroll
	for (int j = 0; j < CHAINS; j++)
		sum += x[j];
	return sum;
}

extern "C" __global__ void fma_f32(const float *in, float *out, float a, float b)
{
	out[wl_thread()] = chains(in[wl_thread()], a, b);
}

extern "C" __global__ void fma_f64(const double *in, double *out, double a, double b)
{
	out[wl_thread()] = chains(in[wl_thread()], a, b);
}

/* Two halves at once, two chains: rounded at each step, and the reference rounds the same. */
extern "C" __global__ void fma_f16(const __half2 *in, __half2 *out, __half a, __half b)
{
	__half2 a2 = __half2half2(a), b2 = __half2half2(b), x = in[wl_thread()], y = __hneg2(x);

#pragma unroll 16
	for (int i = 0; i < ROUNDS; i++) {
		x = __hfma2(x, a2, b2);
		y = __hfma2(y, a2, b2);
	}
	out[wl_thread()] = __hsub2(x, y);
}

/* Sine, power of two and reciprocal root of the special-function unit; the map contracts. */
extern "C" __global__ void sfu_mix(const float *in, float *out)
{
	float v = in[wl_thread()], x = v;

#pragma unroll 8
	for (int i = 0; i < SHORT; i++)
		x = 0.25f * __sinf(x) + 0.25f * exp2f(-x) + 0.25f * rsqrtf(x + 1) + 0.1f * v;
	out[wl_thread()] = x;
}

extern "C" __global__ void div_f64(const double *in, double *out)
{
	double v = in[wl_thread()], x = v;

	for (int i = 0; i < SHORT / 4; i++)
		x = (x + v) / (x * x + 1.5);
	out[wl_thread()] = x;
}

/* Linear congruential steps: integer multiply-adds. */
static __host__ __device__ inline uint32_t multiplied(uint32_t x, uint32_t a, uint32_t b)
{
#pragma unroll 16
	for (int i = 0; i < ROUNDS; i++)
		x = x * a + b;
	return x;
}

/* Shifts and exclusive ors. */
static __host__ __device__ inline uint32_t shifted(uint32_t x)
{
#pragma unroll 16
	for (int i = 0; i < SHORT; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
	}
	return x;
}

extern "C" __global__ void int_mad(const uint32_t *in, uint32_t *out, uint32_t a, uint32_t b)
{
	out[wl_thread()] = multiplied(in[wl_thread()], a, b);
}

extern "C" __global__ void int_logic(const uint32_t *in, uint32_t *out)
{
	out[wl_thread()] = shifted(in[wl_thread()]);
}

/* Four products of bytes at once. */
extern "C" __global__ void int_dp4a(const int *in, int *out)
{
	int v = in[wl_thread()], x = v;

#pragma unroll 16
	for (int i = 0; i < SHORT; i++)
		x = __dp4a(v, x, i);
	out[wl_thread()] = x;
}

/* One value of T in and out per thread of `name`. */
template <typename T> static double *arith(struct wl_case *c, double *truth)
{
	double n = (double)c->n;

	wl_accesses(wl_moves(truth, n * sizeof(T), n * sizeof(T)), n / 32, sizeof(T), n / 32,
		    sizeof(T));
	return truth;
}

static const double A = 0.9990234375, B = 0.0009765625; /* exact in every format */

template <typename T>
static void check_fma(const struct wl_case *c, struct wl_check *k, double tolerance)
{
	wl_in<T> in(c, 0);
	wl_out<T> out(c, 1);

	wl_each(c, c->n, 2 * ROUNDS * CHAINS, [&](uint64_t i) {
		double want = 0;

		for (int j = 0; j < CHAINS; j++) {
			double x = in[i] + 0.125 * j;

			for (int r = 0; r < ROUNDS; r++)
				x = x * A + B;
			want += x;
		}
		wl_expect(k, i, out[i], want, tolerance);
	});
}

WL_PREPARE(fma_f32)
{
	float *in = wl_random<float>(c, c->n, -1, 1), *out = wl_output<float>(c, c->n);

	arith<float>(c,
		     WL_LAUNCH(c, fma_f32, c->n / BLOCK, BLOCK, 0, in, out, A, B))[WL_fp32_flop] =
		(double)c->n * (2 * ROUNDS * CHAINS + 2 * CHAINS - 1);
}

WL_CHECK(fma_f32)
{
	check_fma<float>(c, k, 1e-4);
}

WL_PREPARE(fma_f64)
{
	double *in = wl_random<double>(c, c->n, -1, 1), *out = wl_output<double>(c, c->n);

	arith<double>(c,
		      WL_LAUNCH(c, fma_f64, c->n / BLOCK, BLOCK, 0, in, out, A, B))[WL_fp64_flop] =
		(double)c->n * (2 * ROUNDS * CHAINS + 2 * CHAINS - 1);
}

WL_CHECK(fma_f64)
{
	check_fma<double>(c, k, 1e-12);
}

WL_PREPARE(fma_f16)
{
	__half *in = wl_random<__half>(c, c->n * 2, -1, 1);
	__half2 *out = wl_output<__half2>(c, c->n);
	double *truth = WL_LAUNCH(c, fma_f16, c->n / BLOCK, BLOCK, 0, (__half2 *)in, out,
				  __double2half(A), __double2half(B));

	arith<__half2>(c, truth)[WL_fp16_flop] = (double)c->n * (2 * 2 * 2 * ROUNDS + 2);
}

/* A product of halves is exact in double and so is the sum: one rounding, as in the fused one. */
WL_CHECK(fma_f16)
{
	wl_in<__half> in(c, 0);
	wl_out<__half> out(c, 1);

	wl_each(c, c->n * 2, 40 * ROUNDS, [&](uint64_t i) {
		__half x = in[i], y = __float2half_rn(-__half2float(x));

		for (int r = 0; r < ROUNDS; r++) {
			x = __double2half((double)__half2float(x) * A + B);
			y = __double2half((double)__half2float(y) * A + B);
		}
		wl_expect(k, i, __half2float(out[i]),
			  __half2float(__double2half((double)__half2float(x) - __half2float(y))),
			  0);
	});
}

WL_PREPARE(sfu_mix)
{
	float *in = wl_random<float>(c, c->n, 0, 1), *out = wl_output<float>(c, c->n);

	arith<float>(c, WL_LAUNCH(c, sfu_mix, c->n / BLOCK, BLOCK, 0, in, out));
}

WL_CHECK(sfu_mix)
{
	wl_in<float> in(c, 0);
	wl_out<float> out(c, 1);

	wl_each(c, c->n, 60 * SHORT, [&](uint64_t i) {
		double v = in[i], x = v;

		for (int r = 0; r < SHORT; r++)
			x = 0.25 * sin(x) + 0.25 * exp2(-x) + 0.25 / sqrt(x + 1) + 0.1 * v;
		wl_expect(k, i, out[i], x, 5e-6);
	});
}

WL_PREPARE(div_f64)
{
	double *in = wl_random<double>(c, c->n, 0.5, 1), *out = wl_output<double>(c, c->n);

	arith<double>(c, WL_LAUNCH(c, div_f64, c->n / BLOCK, BLOCK, 0, in, out));
}

WL_CHECK(div_f64)
{
	wl_in<double> in(c, 0);
	wl_out<double> out(c, 1);

	wl_each(c, c->n, 5 * SHORT, [&](uint64_t i) {
		double v = in[i], x = v;

		for (int r = 0; r < SHORT / 4; r++)
			x = (x + v) / (x * x + 1.5);
		wl_expect(k, i, out[i], x, 1e-13);
	});
}

static const uint32_t LCG_A = 1664525, LCG_B = 1013904223;

WL_PREPARE(int_mad)
{
	uint32_t *in = wl_random<uint32_t>(c, c->n, 0, 4294967296.0),
		 *out = wl_output<uint32_t>(c, c->n);

	arith<uint32_t>(c, WL_LAUNCH(c, int_mad, c->n / BLOCK, BLOCK, 0, in, out, LCG_A, LCG_B));
}

WL_CHECK(int_mad)
{
	wl_in<uint32_t> in(c, 0);
	wl_out<uint32_t> out(c, 1);

	wl_each(c, c->n, 2 * ROUNDS,
		[&](uint64_t i) { wl_expect(k, i, out[i], multiplied(in[i], LCG_A, LCG_B), 0); });
}

WL_PREPARE(int_logic)
{
	uint32_t *in = wl_random<uint32_t>(c, c->n, 0, 4294967296.0),
		 *out = wl_output<uint32_t>(c, c->n);

	arith<uint32_t>(c, WL_LAUNCH(c, int_logic, c->n / BLOCK, BLOCK, 0, in, out));
}

WL_CHECK(int_logic)
{
	wl_in<uint32_t> in(c, 0);
	wl_out<uint32_t> out(c, 1);

	wl_each(c, c->n, 6 * SHORT,
		[&](uint64_t i) { wl_expect(k, i, out[i], shifted(in[i]), 0); });
}

WL_PREPARE(int_dp4a)
{
	int *in = wl_random<int>(c, c->n, -2147483648.0, 2147483648.0),
	    *out = wl_output<int>(c, c->n);

	arith<int>(c, WL_LAUNCH(c, int_dp4a, c->n / BLOCK, BLOCK, 0, in, out));
}

WL_CHECK(int_dp4a)
{
	wl_in<int> in(c, 0);
	wl_out<int> out(c, 1);

	wl_each(c, c->n, 8 * SHORT, [&](uint64_t i) {
		int v = in[i], x = v;

		for (int r = 0; r < SHORT; r++) {
			int sum = r;

			for (int byte = 0; byte < 32; byte += 8)
				sum += (int)(int8_t)(v >> byte) * (int)(int8_t)(x >> byte);
			x = sum;
		}
		wl_expect(k, i, out[i], x, 0);
	});
}
