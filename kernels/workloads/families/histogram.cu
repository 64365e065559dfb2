/* Histograms: bins in shared memory, in global memory, and nearly all counts in one bin. */
#include "kernels/workloads/prepare.cuh"

enum { BLOCK = 256, BYTES = 256, BINS = 1 << 16, FEW = 16 };

/* 256 bins per block, merged at the end. */
extern "C" __global__ void histogram_shared(const unsigned *in, unsigned *bins, unsigned words)
{
	__shared__ unsigned local[BYTES];

	local[threadIdx.x] = 0;
	__syncthreads();
	for (unsigned i = wl_thread(); i < words; i += gridDim.x * blockDim.x) {
		unsigned v = in[i];

		for (int byte = 0; byte < 4; byte++)
			atomicAdd(&local[v >> 8 * byte & 255], 1);
	}
	__syncthreads();
	atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

/* Each value counts in global memory at once. */
extern "C" __global__ void histogram_global(const unsigned *in, unsigned *bins, unsigned n)
{
	unsigned i = wl_thread();

	if (i < n)
		atomicAdd(&bins[in[i]], 1);
}

/* Bin 0 gets the values below 240 of 256: fifteen of sixteen meet on one address. */
extern "C" __global__ void histogram_contended(const uint8_t *in, unsigned *bins, unsigned n)
{
	unsigned i = wl_thread();

	if (i < n)
		atomicAdd(&bins[in[i] < 240 ? 0 : in[i] - 240], 1);
}

/* Compare all bins with a count of all inputs; bin(value) is where a value belongs. */
template <typename T, typename F>
static void check(const struct wl_case *c, struct wl_check *k, unsigned bins, uint64_t n, F bin)
{
	wl_in<T> in(c, 0);
	wl_out<unsigned> out(c, 1);
	unsigned *want = wl_host<unsigned>(bins);

	memset(want, 0, bins * sizeof *want);
	for (uint64_t i = 0; i < n; i++)
		bin(want, in[i]);
	for (unsigned i = 0; i < bins; i++)
		wl_expect(k, i, out[i], want[i], 0);
	free(want);
}

WL_PREPARE(histogram_shared)
{
	uint64_t words = c->n / 4;
	unsigned grid = wl_blocks(words, BLOCK) < 132 * 8 ? wl_blocks(words, BLOCK) : 132 * 8;
	unsigned *in = wl_random<unsigned>(c, words, 0, 4294967296.0),
		 *bins = wl_zeroed<unsigned>(c, BYTES);
	double *truth = WL_LAUNCH(c, histogram_shared, grid, BLOCK, 0, in, bins, words);

	wl_accesses(wl_moves(truth, (double)words * 4, BYTES * 4), (double)words / 32, 4, 0, 0);
	truth[WL_shared_atomics] = (double)c->n;
	truth[WL_atomic_requests] = (double)grid * BLOCK;
}

WL_CHECK(histogram_shared)
{
	check<unsigned>(c, k, BYTES, c->n / 4, [](unsigned *want, unsigned v) {
		for (int byte = 0; byte < 4; byte++)
			want[v >> 8 * byte & 255]++;
	});
}

WL_PREPARE(histogram_global)
{
	unsigned *in = wl_random<unsigned>(c, c->n, 0, BINS), *bins = wl_zeroed<unsigned>(c, BINS);
	double *truth =
		WL_LAUNCH(c, histogram_global, wl_blocks(c->n, BLOCK), BLOCK, 0, in, bins, c->n);

	wl_moves(truth, (double)c->n * 4, NAN)[WL_atomic_requests] = (double)c->n;
}

WL_CHECK(histogram_global)
{
	check<unsigned>(c, k, BINS, c->n, [](unsigned *want, unsigned v) { want[v]++; });
}

WL_PREPARE(histogram_contended)
{
	uint8_t *in = wl_random<uint8_t>(c, c->n, 0, 256);
	unsigned *bins = wl_zeroed<unsigned>(c, FEW);
	double *truth =
		WL_LAUNCH(c, histogram_contended, wl_blocks(c->n, BLOCK), BLOCK, 0, in, bins, c->n);

	wl_moves(truth, (double)c->n, FEW * 4)[WL_atomic_requests] = (double)c->n;
}

WL_CHECK(histogram_contended)
{
	check<uint8_t>(c, k, FEW, c->n,
		       [](unsigned *want, uint8_t v) { want[v < 240 ? 0 : v - 240]++; });
}
