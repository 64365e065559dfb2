/* Layers of neural networks: softmax, normalisation, GELU, attention, convolution. */
#include "kernels/workloads/prepare.cuh"

enum { BLOCK = 256, COLUMNS = 2048, PER = COLUMNS / BLOCK };

/* Sum or maximum over a block, in every thread. */
template <bool MAXIMUM> static __device__ float block_fold(float v)
{
	__shared__ float s[BLOCK / 32];

	for (int step = 16; step; step /= 2) {
		float other = __shfl_xor_sync(~0u, v, step);

		v = MAXIMUM ? fmaxf(v, other) : v + other;
	}
	__syncthreads(); /* s may still be read by an earlier call */
	if (threadIdx.x % 32 == 0)
		s[threadIdx.x / 32] = v;
	__syncthreads();
	v = s[0];
	for (int i = 1; i < BLOCK / 32; i++)
		v = MAXIMUM ? fmaxf(v, s[i]) : v + s[i];
	return v;
}

/* One block per row, the row in registers. */
extern "C" __global__ void softmax_rows(const float *in, float *out)
{
	size_t base = (size_t)blockIdx.x * COLUMNS + threadIdx.x;
	float v[PER], most = -INFINITY, sum = 0;

	for (int i = 0; i < PER; i++) {
		v[i] = in[base + i * BLOCK];
		most = fmaxf(most, v[i]);
	}
	most = block_fold<true>(most);
	for (int i = 0; i < PER; i++) {
		v[i] = __expf(v[i] - most);
		sum += v[i];
	}
	sum = 1 / block_fold<false>(sum);
	for (int i = 0; i < PER; i++)
		out[base + i * BLOCK] = v[i] * sum;
}

/* Mean and variance of a row, then scale and shift by column; halves in and out. */
extern "C" __global__ void layernorm_rows(const __half *in, const float *scale, const float *shift,
					  __half *out)
{
	size_t base = (size_t)blockIdx.x * COLUMNS;
	float v[PER], mean = 0, variance = 0;

	for (int i = 0; i < PER; i++) {
		v[i] = __half2float(in[base + threadIdx.x + i * BLOCK]);
		mean += v[i];
	}
	mean = block_fold<false>(mean) / COLUMNS;
	for (int i = 0; i < PER; i++)
		variance += (v[i] - mean) * (v[i] - mean);
	variance = rsqrtf(block_fold<false>(variance) / COLUMNS + 1e-5f);
	for (int i = 0; i < PER; i++) {
		unsigned column = threadIdx.x + i * BLOCK;

		out[base + column] =
			__float2half_rn((v[i] - mean) * variance * scale[column] + shift[column]);
	}
}

/* GELU by the hyperbolic tangent, two halves per thread. */
extern "C" __global__ void gelu_f16(const __half2 *in, __half2 *out, unsigned n)
{
	unsigned i = wl_thread();

	if (i < n) {
		float2 v = __half22float2(in[i]);

		v.x *= 0.5f * (1 + tanhf(0.7978845608f * (v.x + 0.044715f * v.x * v.x * v.x)));
		v.y *= 0.5f * (1 + tanhf(0.7978845608f * (v.y + 0.044715f * v.y * v.y * v.y)));
		out[i] = __float22half2_rn(v);
	}
}

enum { HEAD = 64, QUERIES = 64, KEYS = 32, HEADS = 16 };

/* Attention with running softmax: a thread owns a query, keys and values come in tiles. */
extern "C" __global__ void __launch_bounds__(QUERIES)
	attention(const float *q, const float *k, const float *v, float *out, unsigned length)
{
	__shared__ float keys[KEYS][HEAD], values[KEYS][HEAD];
	size_t head = (size_t)blockIdx.y * length * HEAD,
	       row = head + (size_t)(blockIdx.x * QUERIES + threadIdx.x) * HEAD;
	float query[HEAD], sum[HEAD], most = -INFINITY, total = 0;

#pragma unroll
	for (int i = 0; i < HEAD; i++) {
		query[i] = q[row + i] * 0.125f; /* 1 / sqrt(HEAD) */
		sum[i] = 0;
	}
	for (unsigned base = 0; base < length; base += KEYS) {
		__syncthreads();
		for (unsigned i = threadIdx.x; i < KEYS * HEAD; i += QUERIES) {
			keys[i / HEAD][i % HEAD] = k[head + base * HEAD + i];
			values[i / HEAD][i % HEAD] = v[head + base * HEAD + i];
		}
		__syncthreads();
		for (int key = 0; key < KEYS; key++) {
			float score = 0, now, fade, weight;

#pragma unroll
			for (int i = 0; i < HEAD; i++)
				score += query[i] * keys[key][i];
			now = fmaxf(most, score);
			fade = __expf(most - now);
			weight = __expf(score - now);
			most = now;
			total = total * fade + weight;
#pragma unroll
			for (int i = 0; i < HEAD; i++)
				sum[i] = sum[i] * fade + weight * values[key][i];
		}
	}
#pragma unroll
	for (int i = 0; i < HEAD; i++)
		out[row + i] = sum[i] / total;
}

enum { CHANNELS = 32, TAPS = 9 };

/* A 3 x 3 convolution of 32 by 32 channels, edges left out; a thread per output value. */
extern "C" __global__ void conv2d_direct(const float *in, const float *weight, float *out,
					 unsigned n)
{
	unsigned x = blockIdx.x * blockDim.x + threadIdx.x,
		 y = blockIdx.y * blockDim.y + threadIdx.y, to = blockIdx.z, wide = n + 2;
	float sum = 0;

	for (unsigned from = 0; from < CHANNELS; from++)
#pragma unroll
		for (unsigned tap = 0; tap < TAPS; tap++)
			sum += weight[(to * CHANNELS + from) * TAPS + tap] *
			       in[((size_t)from * wide + y + tap / 3) * wide + x + tap % 3];
	out[((size_t)to * n + y) * n + x] = sum;
}

WL_PREPARE(softmax_rows)
{
	double n = (double)c->n * COLUMNS;
	float *in = wl_random<float>(c, c->n * COLUMNS, -4, 4),
	      *out = wl_output<float>(c, c->n * COLUMNS);

	wl_accesses(wl_moves(WL_LAUNCH(c, softmax_rows, c->n, BLOCK, 0, in, out), n * 4, n * 4),
		    n / 32, 4, n / 32, 4);
}

WL_CHECK(softmax_rows)
{
	wl_in<float> in(c, 0);
	wl_out<float> out(c, 1);

	wl_each(c, c->n, 40 * COLUMNS, [&](uint64_t row) {
		double sum = 0;

		for (uint64_t i = 0; i < COLUMNS; i++)
			sum += exp((double)in[row * COLUMNS + i]);
		for (uint64_t i = 0; i < COLUMNS; i++) {
			double want = exp((double)in[row * COLUMNS + i]) / sum;

			wl_expect(k, row * COLUMNS + i, out[row * COLUMNS + i], want, 5e-6 * want);
		}
	});
}

WL_PREPARE(layernorm_rows)
{
	double n = (double)c->n * COLUMNS;
	__half *in = wl_random<__half>(c, c->n * COLUMNS, -2, 2);
	float *scale = wl_random<float>(c, COLUMNS, 0.5, 1.5),
	      *shift = wl_random<float>(c, COLUMNS, -1, 1);
	__half *out = wl_output<__half>(c, c->n * COLUMNS);

	wl_accesses(wl_moves(WL_LAUNCH(c, layernorm_rows, c->n, BLOCK, 0, in, scale, shift, out),
			     n * 2 + COLUMNS * 8, n * 2),
		    3 * n / 32, 10 / 3.0, n / 32, 2);
}

WL_CHECK(layernorm_rows)
{
	wl_in<__half> in(c, 0);
	wl_in<float> scale(c, 1), shift(c, 2);
	wl_out<__half> out(c, 3);

	wl_each(c, c->n, 20 * COLUMNS, [&](uint64_t row) {
		double mean = 0, square = 0;

		for (uint64_t i = 0; i < COLUMNS; i++) {
			double v = __half2float(in[row * COLUMNS + i]);

			mean += v / COLUMNS;
			square += v * v / COLUMNS;
		}
		for (uint64_t i = 0; i < COLUMNS; i++) {
			double v = __half2float(in[row * COLUMNS + i]);
			double want = (v - mean) / sqrt(square - mean * mean + 1e-5) * scale[i] +
				      shift[i];

			wl_expect(k, row * COLUMNS + i, __half2float(out[row * COLUMNS + i]), want,
				  6e-4 * (1 + fabs(want)));
		}
	});
}

WL_PREPARE(gelu_f16)
{
	uint64_t pairs = c->n / 2;
	__half *in = wl_random<__half>(c, c->n, -4, 4), *out = wl_output<__half>(c, c->n);
	double n = (double)pairs;

	wl_accesses(wl_moves(WL_LAUNCH(c, gelu_f16, wl_blocks(pairs, BLOCK), BLOCK, 0,
				       (__half2 *)in, (__half2 *)out, pairs),
			     n * 4, n * 4),
		    n / 32, 4, n / 32, 4);
}

WL_CHECK(gelu_f16)
{
	wl_in<__half> in(c, 0);
	wl_out<__half> out(c, 1);

	wl_each(c, c->n, 40, [&](uint64_t i) {
		double v = __half2float(in[i]),
		       want = 0.5 * v * (1 + tanh(0.7978845608 * (v + 0.044715 * v * v * v)));

		wl_expect(k, i, __half2float(out[i]), want, 5e-4 * fabs(want) + 1e-6);
	});
}

WL_PREPARE(attention)
{
	uint64_t values = c->n * HEAD * HEADS;
	float *q = wl_random<float>(c, values, -2, 2), *k = wl_random<float>(c, values, -2, 2),
	      *v = wl_random<float>(c, values, -1, 1);
	float *out = wl_output<float>(c, values);
	double *truth = WL_LAUNCH(c, attention, dim3((unsigned)c->n / QUERIES, HEADS), QUERIES, 0,
				  q, k, v, out, c->n);

	wl_moves(truth, (double)values * 12, (double)values * 4);
}

WL_CHECK(attention)
{
	wl_in<float> q(c, 0), keys(c, 1), v(c, 2);
	wl_out<float> out(c, 3);

	wl_each(c, c->n * HEADS, 8 * HEAD * c->n, [&](uint64_t row) {
		uint64_t head = row / c->n * c->n;
		double sum[HEAD] = {}, total = 0;

		for (uint64_t key = head; key < head + c->n; key++) {
			double score = 0;

			for (uint64_t i = 0; i < HEAD; i++)
				score += (double)q[row * HEAD + i] * keys[key * HEAD + i];
			score = exp(score / 8);
			total += score;
			for (uint64_t i = 0; i < HEAD; i++)
				sum[i] += score * v[key * HEAD + i];
		}
		for (uint64_t i = 0; i < HEAD; i++)
			wl_expect(k, row * HEAD + i, out[row * HEAD + i], sum[i] / total, 2e-5);
	});
}

WL_PREPARE(conv2d_direct)
{
	unsigned n = (unsigned)c->n;
	uint64_t wide = c->n + 2, ins = wide * wide * CHANNELS, outs = c->n * n * CHANNELS,
		 weights = CHANNELS * CHANNELS * TAPS;
	float *in = wl_random<float>(c, ins, -1, 1), *weight = wl_random<float>(c, weights, -1, 1),
	      *out = wl_output<float>(c, outs);
	double *truth = WL_LAUNCH(c, conv2d_direct, dim3(n / 32, n / 8, CHANNELS), dim3(32, 8), 0,
				  in, weight, out, n);

	wl_moves(truth, (double)(ins + weights) * 4, (double)outs * 4);
	truth[WL_fp32_flop] = (double)outs * 2 * CHANNELS * TAPS;
}

WL_CHECK(conv2d_direct)
{
	wl_in<float> in(c, 0), weight(c, 1);
	wl_out<float> out(c, 2);
	uint64_t n = c->n, wide = n + 2;

	wl_each(c, out.count, 6 * CHANNELS * TAPS, [&](uint64_t i) {
		uint64_t to = i / (n * n), y = i / n % n, x = i % n;
		double want = 0;

		for (uint64_t from = 0; from < CHANNELS; from++)
			for (uint64_t tap = 0; tap < TAPS; tap++)
				want += (double)weight[(to * CHANNELS + from) * TAPS + tap] *
					in[(from * wide + y + tap / 3) * wide + x + tap % 3];
		wl_expect(k, i, out[i], want, 1e-6 * CHANNELS * TAPS);
	});
}
