/* Inclusive prefix sums: inside warps, and over an array in three launches. Sums are modulo 2^32.
 */
#include "kernels/workloads/prepare.cuh"

enum { BLOCK = 256, ITEMS = 4, CHUNK = BLOCK * ITEMS };

static __device__ unsigned warp_scan(unsigned v)
{
	unsigned lane = threadIdx.x % 32;

	for (unsigned step = 1; step < 32; step *= 2) {
		unsigned left = __shfl_up_sync(~0u, v, step);

		v += lane >= step ? left : 0;
	}
	return v;
}

/* Each warp scans 32 values of its own. */
extern "C" __global__ void scan_warps(const unsigned *in, unsigned *out)
{
	unsigned i = wl_thread();

	out[i] = warp_scan(in[i]);
}

/* Inclusive over the block; every thread must come. */
static __device__ unsigned block_scan(unsigned v)
{
	__shared__ unsigned sums[32];
	unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, s = warp_scan(v);

	__syncthreads(); /* sums may still be read by an earlier call */
	if (lane == 31)
		sums[warp] = s;
	__syncthreads();
	if (warp == 0)
		sums[lane] = warp_scan(lane < blockDim.x / 32 ? sums[lane] : 0);
	__syncthreads();
	return warp ? s + sums[warp - 1] : s;
}

/* Each block scans a chunk and leaves its total. */
extern "C" __global__ void scan_chunks(const uint4 *in, uint4 *out, unsigned *totals)
{
	unsigned i = wl_thread();
	uint4 v = in[i];
	unsigned before;

	v.y += v.x;
	v.z += v.y;
	v.w += v.z;
	before = block_scan(v.w) - v.w;
	out[i] = make_uint4(v.x + before, v.y + before, v.z + before, v.w + before);
	if (threadIdx.x == BLOCK - 1)
		totals[blockIdx.x] = v.w + before;
}

/* One block: each chunk's total becomes the sum of the chunks before it. */
extern "C" __global__ void scan_totals(const unsigned *totals, unsigned *offsets, unsigned chunks)
{
	__shared__ unsigned carry;
	unsigned sum = 0;

	for (unsigned base = 0; base < chunks; base += blockDim.x) {
		unsigned i = base + threadIdx.x, v = i < chunks ? totals[i] : 0,
			 s = block_scan(v) + sum;

		if (i < chunks)
			offsets[i] = s - v;
		if (threadIdx.x == blockDim.x - 1)
			carry = s;
		__syncthreads();
		sum = carry;
	}
}

extern "C" __global__ void scan_add(const uint4 *in, const unsigned *offsets, uint4 *out)
{
	unsigned i = wl_thread(), before = offsets[blockIdx.x];
	uint4 v = in[i];

	out[i] = make_uint4(v.x + before, v.y + before, v.z + before, v.w + before);
}

WL_PREPARE(scan_warps)
{
	double n = (double)c->n;
	unsigned *in = wl_random<unsigned>(c, c->n, 0, 1000), *out = wl_output<unsigned>(c, c->n);

	wl_accesses(wl_moves(WL_LAUNCH(c, scan_warps, wl_blocks(c->n, BLOCK), BLOCK, 0, in, out),
			     n * 4, n * 4),
		    n / 32, 4, n / 32, 4);
}

WL_CHECK(scan_warps)
{
	wl_in<unsigned> in(c, 0);
	wl_out<unsigned> out(c, 1);

	wl_each(c, c->n, 64, [&](uint64_t i) {
		unsigned want = 0;

		for (uint64_t j = i / 32 * 32; j <= i; j++)
			want += in[j];
		wl_expect(k, i, out[i], want, 0);
	});
}

WL_PREPARE(scan_array)
{
	uint64_t n = c->n, chunks = n / CHUNK;
	double bytes = (double)n * 4, totals_bytes = (double)chunks * 4;
	unsigned *in = wl_random<unsigned>(c, n, 0, 1 << 20), *local = wl_output<unsigned>(c, n);
	unsigned *totals = wl_output<unsigned>(c, chunks),
		 *offsets = wl_output<unsigned>(c, chunks);
	unsigned *out = wl_output<unsigned>(c, n);

	wl_accesses(wl_moves(WL_LAUNCH(c, scan_chunks, chunks, BLOCK, 0, (uint4 *)in,
				       (uint4 *)local, totals),
			     bytes, bytes + totals_bytes),
		    (double)n / 128, 16, NAN, NAN);
	wl_moves(WL_LAUNCH(c, scan_totals, 1, 1024, 0, totals, offsets, chunks), totals_bytes,
		 totals_bytes);
	wl_accesses(wl_moves(WL_LAUNCH(c, scan_add, chunks, BLOCK, 0, (uint4 *)local, offsets,
				       (uint4 *)out),
			     bytes + totals_bytes, bytes),
		    (double)n / 64, 8.5, (double)n / 128, 16);
}

/* The whole sum is a serial reference: every value is checked. */
WL_CHECK(scan_array)
{
	wl_in<unsigned> in(c, 0);
	wl_out<unsigned> out(c, 4);
	unsigned want = 0;

	for (uint64_t i = 0; i < c->n; i++) {
		want += in[i];
		wl_expect(k, i, out[i], want, 0);
	}
}
