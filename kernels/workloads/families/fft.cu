/* Batched Fourier transforms: 1,024 points in shared memory, 32 points across a warp. */
#include "kernels/workloads/prepare.cuh"

enum { POINTS = 1024, BLOCK = POINTS / 2, WARP = 32 };

static __device__ float2 rotated(float2 v, float turn) /* v * exp(-i pi turn) */
{
	float s, c;

	sincospif(-turn, &s, &c);
	return make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
}

/* Radix 2 by Stockham: natural order in and out, two shared buffers in turn. */
extern "C" __global__ void fft_shared(const float2 *in, float2 *out)
{
	__shared__ float2 s[2][POINTS];
	size_t base = (size_t)blockIdx.x * POINTS;
	unsigned t = threadIdx.x, now = 0;

	s[0][t] = in[base + t];
	s[0][t + BLOCK] = in[base + t + BLOCK];
	for (unsigned done = 1; done < POINTS; done *= 2, now ^= 1) {
		unsigned k = t % done, to = 2 * t - k;
		float2 a, b;

		__syncthreads();
		a = s[now][t];
		b = rotated(s[now][t + BLOCK], (float)k / (float)done);
		s[now ^ 1][to] = make_float2(a.x + b.x, a.y + b.y);
		s[now ^ 1][to + done] = make_float2(a.x - b.x, a.y - b.y);
	}
	__syncthreads();
	out[base + t] = s[now][t];
	out[base + t + BLOCK] = s[now][t + BLOCK];
}

/* A transform per warp by shuffles; decimation in frequency, so lane i ends with the value of the
 * reversed index. */
extern "C" __global__ void fft_warp(const float2 *in, float2 *out)
{
	unsigned i = wl_thread(), lane = i % WARP;
	float2 v = in[i];

	for (unsigned half = WARP / 2; half; half /= 2) {
		float2 other = make_float2(__shfl_xor_sync(~0u, v.x, half),
					   __shfl_xor_sync(~0u, v.y, half));

		if (lane & half)
			v = rotated(make_float2(other.x - v.x, other.y - v.y),
				    (float)(lane % half) / (float)half);
		else
			v = make_float2(v.x + other.x, v.y + other.y);
	}
	out[i - lane + (__brev(lane) >> 27)] = v;
}

static void prepare(struct wl_case *c, const char *name, void (*kernel)(const float2 *, float2 *),
		    unsigned points, unsigned grid, unsigned block)
{
	uint64_t values = c->n * points;
	float *in = wl_random<float>(c, values * 2, -1, 1);
	float2 *out = wl_output<float2>(c, values);
	double *truth =
		wl_record(c, name, kernel, dim3(grid), dim3(block), 0, (const float2 *)in, out);

	wl_accesses(wl_moves(truth, (double)values * 8, (double)values * 8), (double)values / 32, 8,
		    (double)values / 32, 8);
}

/* By the definition, at the checked points. */
static void check(const struct wl_case *c, struct wl_check *k, uint64_t points)
{
	wl_in<float> in(c, 0);
	wl_out<float2> out(c, 1);

	wl_each(c, c->n * points, 20 * points, [&](uint64_t i) {
		uint64_t base = i / points * points, frequency = i % points;
		double re = 0, im = 0;

		for (uint64_t j = 0; j < points; j++) {
			double angle =
				-2 * M_PI * (double)(j * frequency % points) / (double)points;
			double x = in[2 * (base + j)], y = in[2 * (base + j) + 1];

			re += x * cos(angle) - y * sin(angle);
			im += x * sin(angle) + y * cos(angle);
		}
		wl_expect(k, 2 * i, out[i].x, re, 1e-6 * (double)points);
		wl_expect(k, 2 * i + 1, out[i].y, im, 1e-6 * (double)points);
	});
}

WL_PREPARE(fft_shared)
{
	prepare(c, "fft_shared", fft_shared, POINTS, (unsigned)c->n, BLOCK);
}

WL_CHECK(fft_shared)
{
	check(c, k, POINTS);
}

WL_PREPARE(fft_warp)
{
	prepare(c, "fft_warp", fft_warp, WARP, wl_blocks(c->n * WARP, 256), 256);
}

WL_CHECK(fft_warp)
{
	check(c, k, WARP);
}
