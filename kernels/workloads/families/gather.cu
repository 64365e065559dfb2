/* Indexed access: gathers and scatters over the whole array, a window, or rows of a table. */
#include "kernels/workloads/prepare.cuh"

extern "C" __global__ void gather_words(const float *in, const unsigned *index, float *out,
					unsigned n)
{
	unsigned i = wl_thread();

	if (i < n)
		out[i] = in[index[i]];
}

/* The index is counted from the start of the thread's own window. */
extern "C" __global__ void gather_window(const float *in, const unsigned *index, float *out,
					 unsigned n, unsigned window)
{
	unsigned i = wl_thread();

	if (i < n)
		out[i] = in[i / window * window + index[i]];
}

extern "C" __global__ void scatter_words(const float *in, const unsigned *index, float *out,
					 unsigned n)
{
	unsigned i = wl_thread();

	if (i < n)
		out[index[i]] = in[i];
}

/* A warp copies a row of 128 floats: what an embedding does. */
extern "C" __global__ void gather_rows(const float4 *table, const unsigned *index, float4 *out,
				       unsigned rows)
{
	unsigned row = wl_thread() / 32, lane = threadIdx.x % 32;

	if (row < rows)
		out[row * 32 + lane] = table[(size_t)index[row] * 32 + lane];
}

enum { BLOCK = 256, WINDOW = 1024, ROW = 128 };

/*
 * Loads of a word, loads of its index and stores are all counted by requests; sectors of the
 * gathered side depend on the indices.
 */
static void state(double *truth, uint64_t n, double loads)
{
	wl_moves(truth, NAN, (double)n * 4);
	truth[WL_global_load_requests] = loads * (double)n / 32;
	truth[WL_global_store_requests] = (double)n / 32;
}

WL_PREPARE(gather_random)
{
	uint64_t n = c->n;
	float *in = wl_random<float>(c, n, -1, 1);
	unsigned *index = wl_random<unsigned>(c, n, 0, (double)n);
	float *out = wl_output<float>(c, n);

	state(WL_LAUNCH(c, gather_words, wl_blocks(n, BLOCK), BLOCK, 0, in, index, out, n), n, 2);
}

WL_CHECK(gather_random)
{
	wl_in<float> in(c, 0);
	wl_in<unsigned> index(c, 1);
	wl_out<float> out(c, 2);

	wl_each(c, c->n, 8, [&](uint64_t i) { wl_expect(k, i, out[i], in[index[i]], 0); });
}

WL_PREPARE(gather_window)
{
	uint64_t n = c->n;
	float *in = wl_random<float>(c, n, -1, 1);
	unsigned *index = wl_random<unsigned>(c, n, 0, WINDOW);
	float *out = wl_output<float>(c, n);

	state(WL_LAUNCH(c, gather_window, wl_blocks(n, BLOCK), BLOCK, 0, in, index, out, n, WINDOW),
	      n, 2);
}

WL_CHECK(gather_window)
{
	wl_in<float> in(c, 0);
	wl_in<unsigned> index(c, 1);
	wl_out<float> out(c, 2);

	wl_each(c, c->n, 8, [&](uint64_t i) {
		wl_expect(k, i, out[i], in[i / WINDOW * WINDOW + index[i]], 0);
	});
}

/* A permutation of 0 .. n-1, n a power of two: each step maps the range onto itself one to one. */
static unsigned permuted(uint32_t seed, unsigned i, unsigned n)
{
	unsigned shift = (unsigned)(32 - __builtin_clz(n - 1)) / 2 + 1;

	for (int round = 0; round < 3; round++) {
		i = (i * 0x9e3779b1u + wl_bits(seed, (uint64_t)round)) & (n - 1);
		i ^= i >> shift;
	}
	return i;
}

WL_PREPARE(scatter_random)
{
	uint64_t n = c->n;
	unsigned *host = wl_host<unsigned>(n);
	float *in = wl_random<float>(c, n, -1, 1), *out;
	unsigned *index;

	for (unsigned i = 0; i < n; i++)
		host[i] = permuted(c->seed, i, (unsigned)n);
	index = wl_given(c, n, host);
	out = wl_output<float>(c, n);
	state(WL_LAUNCH(c, scatter_words, wl_blocks(n, BLOCK), BLOCK, 0, in, index, out, n), n, 2);
}

WL_CHECK(scatter_random)
{
	wl_in<float> in(c, 0);
	wl_in<unsigned> index(c, 1);
	wl_out<float> out(c, 2);

	wl_each(c, c->n, 8, [&](uint64_t i) { wl_expect(k, i, out[index[i]], in[i], 0); });
}

enum { TABLE = 1 << 17 }; /* rows of 512 bytes: 64 MiB, more than the L2 of an H200 */

WL_PREPARE(gather_rows)
{
	uint64_t rows = c->n;
	float *table = wl_random<float>(c, (uint64_t)TABLE * ROW, -1, 1);
	unsigned *index = wl_random<unsigned>(c, rows, 0, TABLE);
	float *out = wl_output<float>(c, rows * ROW);
	double *truth = WL_LAUNCH(c, gather_rows, wl_blocks(rows * 32, BLOCK), BLOCK, 0,
				  (float4 *)table, index, (float4 *)out, rows);

	wl_moves(truth, NAN, (double)rows * ROW * 4);
	wl_accesses(truth, 2 * (double)rows, 8.5, (double)rows,
		    16); /* a row of 16 sectors, 1 of its index */
}

WL_CHECK(gather_rows)
{
	wl_in<float> table(c, 0);
	wl_in<unsigned> index(c, 1);
	wl_out<float> out(c, 2);

	wl_each(c, c->n * ROW, 8, [&](uint64_t i) {
		wl_expect(k, i, out[i], table[(uint64_t)index[i / ROW] * ROW + i % ROW], 0);
	});
}
