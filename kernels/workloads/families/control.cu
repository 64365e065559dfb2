/* Control flow: lanes, warps and blocks that do not do the same. */
#include "kernels/workloads/prepare.cuh"

enum { BLOCK = 256, UNIT = 64 };

/* A chain of linear congruential steps: integers, so that any path is exact. */
static __host__ __device__ inline uint32_t steps(uint32_t x, unsigned count)
{
#pragma unroll 1
	for (unsigned i = 0; i < count; i++)
		x = x * 1664525u + 1013904223u;
	return x;
}

/* Trip counts from 64 to 512 by lane: an eighth of the lanes is left at the end. */
extern "C" __global__ void branch_lanes(const uint32_t *in, uint32_t *out)
{
	out[wl_thread()] = steps(in[wl_thread()], (threadIdx.x % 8 + 1) * UNIT);
}

static __host__ __device__ inline float path(unsigned which, float v)
{
#pragma unroll 1
	for (int i = 0; i < UNIT; i++)
		switch (which) {
		case 0:
			v = sqrtf(v + 0.5f);
			break;
		case 1:
			v = 1.5f / (v + 1);
			break;
		case 2:
			v = fmaf(v, v * 0.25f, 0.25f);
			break;
		default:
			v = fabsf(v - 0.75f) * 0.5f;
		}
	return v;
}

/* One of four paths by the data: a warp walks them one after the other. */
extern "C" __global__ void branch_data(const float *in, const uint8_t *which, float *out)
{
	out[wl_thread()] = path(which[wl_thread()], in[wl_thread()]);
}

static __host__ __device__ inline unsigned collatz_steps(uint64_t v)
{
	unsigned count = 0;

	for (; v > 1 && count < 1000; count++)
		v = v & 1 ? 3 * v + 1 : v / 2;
	return count;
}

/* Trip counts that only execution reveals. */
extern "C" __global__ void collatz(const uint32_t *in, unsigned *out)
{
	out[wl_thread()] = collatz_steps(in[wl_thread()]);
}

/* All threads fill a tile, then one thread folds it while the others wait. */
extern "C" __global__ void serial_thread(const uint32_t *in, uint32_t *out)
{
	__shared__ uint32_t tile[BLOCK];

	tile[threadIdx.x] = steps(in[wl_thread()], 16);
	__syncthreads();
	if (threadIdx.x == 0) {
		uint32_t sum = 0;

		for (unsigned i = 0; i < BLOCK; i++)
			sum = sum * 31 + tile[i];
		tile[0] = sum;
	}
	__syncthreads();
	out[wl_thread()] = tile[0] ^ threadIdx.x;
}

/* One warp of each block works 32 times as long as the other seven. */
extern "C" __global__ void serial_warp(const uint32_t *in, uint32_t *out)
{
	out[wl_thread()] =
		steps(in[wl_thread()], threadIdx.x / 32 == blockIdx.x % 8 ? 32 * UNIT : UNIT);
}

/* One block of 64 works 64 times as long. */
extern "C" __global__ void block_skew(const uint32_t *in, uint32_t *out)
{
	out[wl_thread()] = steps(in[wl_thread()], blockIdx.x % 64 == 63 ? 64 * UNIT : UNIT);
}

static void prepare(struct wl_case *c, const char *name,
		    void (*kernel)(const uint32_t *, uint32_t *))
{
	double n = (double)c->n;
	uint32_t *in = wl_random<uint32_t>(c, c->n, 1, 1 << 24),
		 *out = wl_output<uint32_t>(c, c->n);
	double *truth = wl_record(c, name, kernel, dim3((unsigned)(c->n / BLOCK)), dim3(BLOCK), 0,
				  (const uint32_t *)in, out);

	wl_accesses(wl_moves(truth, n * 4, n * 4), n / 32, 4, n / 32, 4);
}

/* want(i, value of i): what thread i must have written. */
template <typename F>
static void check(const struct wl_case *c, struct wl_check *k, uint64_t cost, F want)
{
	wl_in<uint32_t> in(c, 0);
	wl_out<uint32_t> out(c, 1);

	wl_each(c, c->n, cost, [&](uint64_t i) { wl_expect(k, i, out[i], want(i, in[i]), 0); });
}

WL_PREPARE(branch_lanes)
{
	prepare(c, "branch_lanes", branch_lanes);
}

WL_CHECK(branch_lanes)
{
	check(c, k, 8 * UNIT, [](uint64_t i, uint32_t v) { return steps(v, (i % 8 + 1) * UNIT); });
}

WL_PREPARE(branch_data)
{
	double n = (double)c->n;
	float *in = wl_random<float>(c, c->n, 0, 1);
	uint8_t *which = wl_random<uint8_t>(c, c->n, 0, 4);
	float *out = wl_output<float>(c, c->n);

	wl_moves(WL_LAUNCH(c, branch_data, c->n / BLOCK, BLOCK, 0, in, which, out), n * 5, n * 4);
}

/* The paths contract, so errors do not grow: single precision on both sides agrees closely. */
WL_CHECK(branch_data)
{
	wl_in<float> in(c, 0);
	wl_in<uint8_t> which(c, 1);
	wl_out<float> out(c, 2);

	wl_each(c, c->n, 10 * UNIT,
		[&](uint64_t i) { wl_expect(k, i, out[i], path(which[i], in[i]), 1e-6); });
}

WL_PREPARE(collatz)
{
	prepare(c, "collatz", collatz);
}

WL_CHECK(collatz)
{
	check(c, k, 1000, [](uint64_t, uint32_t v) { return collatz_steps(v); });
}

WL_PREPARE(serial_thread)
{
	prepare(c, "serial_thread", serial_thread);
}

WL_CHECK(serial_thread)
{
	wl_in<uint32_t> in(c, 0);

	check(c, k, 20 * BLOCK, [&](uint64_t i, uint32_t) {
		uint32_t sum = 0;

		for (uint64_t t = i / BLOCK * BLOCK; t < i / BLOCK * BLOCK + BLOCK; t++)
			sum = sum * 31 + steps(in[t], 16);
		return sum ^ (uint32_t)(i % BLOCK);
	});
}

WL_PREPARE(serial_warp)
{
	prepare(c, "serial_warp", serial_warp);
}

WL_CHECK(serial_warp)
{
	check(c, k, 8 * UNIT, [](uint64_t i, uint32_t v) {
		return steps(v, i % BLOCK / 32 == i / BLOCK % 8 ? 32 * UNIT : UNIT);
	});
}

WL_PREPARE(block_skew)
{
	prepare(c, "block_skew", block_skew);
}

WL_CHECK(block_skew)
{
	check(c, k, 4 * UNIT, [](uint64_t i, uint32_t v) {
		return steps(v, i / BLOCK % 64 == 63 ? 64 * UNIT : UNIT);
	});
}
