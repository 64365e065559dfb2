/* Shapes of grids: a last wave of one block, a million blocks of one warp, a block alone. */
#include "kernels/workloads/prepare.cuh"

enum { WIDE = 1024, WORK = 512, FEW = 8, NARROW = 128 };

static __host__ __device__ inline uint32_t steps(uint32_t x, unsigned count)
{
#pragma unroll 8
	for (unsigned i = 0; i < count; i++)
		x = x * 1664525u + 1013904223u;
	return x;
}

/* Long blocks, two to an SM: whole waves of an H200 (264 blocks) and one block more. */
extern "C" __global__ void __launch_bounds__(WIDE, 2) tail_heavy(const uint32_t *in, uint32_t *out)
{
	out[wl_thread()] = steps(in[wl_thread()], WORK);
}

/* A warp that does next to nothing: launching the block is the work. */
extern "C" __global__ void tiny_blocks(uint32_t *out, uint32_t value)
{
	if (threadIdx.x == 0)
		out[blockIdx.x] = blockIdx.x ^ value;
}

/* One block: the launch itself is what takes time. */
extern "C" __global__ void tiny_kernel(const float *in, float *out)
{
	out[threadIdx.x] = in[threadIdx.x] * 2 + 1;
}

/* Eight blocks on a large GPU: most SMs idle. */
extern "C" __global__ void few_blocks(const uint32_t *in, uint32_t *out, unsigned count)
{
	out[wl_thread()] = steps(in[wl_thread()], count);
}

/* The states before and after `count` steps of each thread. */
static void check_steps(const struct wl_case *c, struct wl_check *k, unsigned count)
{
	wl_in<uint32_t> in(c, 0);
	wl_out<uint32_t> out(c, 1);

	wl_each(c, out.count, count,
		[&](uint64_t i) { wl_expect(k, i, out[i], steps(in[i], count), 0); });
}

WL_PREPARE(tail_heavy)
{
	uint32_t *in = wl_random<uint32_t>(c, c->n * WIDE, 0, 4294967296.0),
		 *out = wl_output<uint32_t>(c, c->n * WIDE);
	double n = (double)c->n * WIDE;

	wl_accesses(wl_moves(WL_LAUNCH(c, tail_heavy, c->n, WIDE, 0, in, out), n * 4, n * 4),
		    n / 32, 4, n / 32, 4);
}

WL_CHECK(tail_heavy)
{
	check_steps(c, k, WORK);
}

WL_PREPARE(few_blocks)
{
	uint32_t *in = wl_random<uint32_t>(c, FEW * NARROW, 0, 4294967296.0),
		 *out = wl_output<uint32_t>(c, FEW * NARROW);
	double n = FEW * NARROW;

	wl_accesses(wl_moves(WL_LAUNCH(c, few_blocks, FEW, NARROW, 0, in, out, c->n), n * 4, n * 4),
		    n / 32, 4, n / 32, 4);
}

WL_CHECK(few_blocks)
{
	check_steps(c, k, (unsigned)c->n);
}

static const uint32_t VALUE = 0x5a5a5a5a;

WL_PREPARE(tiny_blocks)
{
	uint32_t *out = wl_output<uint32_t>(c, c->n);
	double n = (double)c->n;

	wl_accesses(wl_moves(WL_LAUNCH(c, tiny_blocks, c->n, 32, 0, out, VALUE), 0, n * 4), 0, 0, n,
		    1);
}

WL_CHECK(tiny_blocks)
{
	wl_out<uint32_t> out(c, 0);

	wl_each(c, c->n, 1, [&](uint64_t i) { wl_expect(k, i, out[i], (uint32_t)i ^ VALUE, 0); });
}

WL_PREPARE(tiny_kernel)
{
	float *in = wl_random<float>(c, c->n, -1, 1), *out = wl_output<float>(c, c->n);
	double n = (double)c->n;

	wl_accesses(wl_moves(WL_LAUNCH(c, tiny_kernel, 1, c->n, 0, in, out), n * 4, n * 4), n / 32,
		    4, n / 32, 4);
}

WL_CHECK(tiny_kernel)
{
	wl_in<float> in(c, 0);
	wl_out<float> out(c, 1);

	for (uint64_t i = 0; i < c->n; i++)
		wl_expect(k, i, out[i], in[i] * 2.0 + 1, 2e-7);
}
