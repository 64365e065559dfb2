/*
 * Sparse matrix times vector (CSR), by thread and by warp, equal and skewed rows; a graph's step.
 */
#include "kernels/workloads/prepare.cuh"

enum { BLOCK = 128 };

extern "C" __global__ void spmv_scalar(const unsigned *start, const unsigned *column,
				       const float *value, const float *x, float *y, unsigned rows)
{
	unsigned row = wl_thread();
	float sum = 0;

	if (row >= rows)
		return;
	for (unsigned i = start[row]; i < start[row + 1]; i++)
		sum += value[i] * x[column[i]];
	y[row] = sum;
}

extern "C" __global__ void spmv_vector(const unsigned *start, const unsigned *column,
				       const float *value, const float *x, float *y, unsigned rows)
{
	unsigned row = wl_thread() / 32, lane = threadIdx.x % 32;
	float sum = 0;

	if (row >= rows)
		return;
	for (unsigned i = start[row] + lane; i < start[row + 1]; i += 32)
		sum += value[i] * x[column[i]];
	sum = wl_warp_sum(sum);
	if (lane == 0)
		y[row] = sum;
}

/* One step of a breadth-first search: neighbours of the frontier are marked. */
extern "C" __global__ void bfs_expand(const unsigned *start, const unsigned *neighbour,
				      const uint8_t *frontier, uint8_t *next, unsigned nodes)
{
	unsigned node = wl_thread();

	if (node >= nodes || !frontier[node])
		return;
	for (unsigned i = start[node]; i < start[node + 1]; i++)
		next[neighbour[i]] = 1; /* whoever writes, writes the same */
}

/* Length of a row: 1 to 2 * mean - 1 at random, or by a power law with a tail of 64 * mean. */
static unsigned row_length(uint32_t seed, uint64_t row, unsigned mean, bool skewed)
{
	uint32_t bits = wl_bits(seed ^ 0x5bd1e995u, row);

	if (!skewed)
		return 1 + bits % (2 * mean - 1);
	for (unsigned share = 1; share < 64; share *= 2)
		if (bits & 1u << (31 - __builtin_ctz(share)))
			return mean * share / 2 + 1;
	return 64 * mean;
}

/* Row starts into a new input; returns how many elements there are. */
static uint64_t prepare_rows(struct wl_case *c, unsigned mean, bool skewed, unsigned **start)
{
	unsigned *host = wl_host<unsigned>(c->n + 1);

	host[0] = 0;
	for (uint64_t row = 0; row < c->n; row++)
		host[row + 1] = host[row] + row_length(c->seed, row, mean, skewed);
	*start = wl_given(c, c->n + 1, host);
	return host[c->n];
}

typedef void spmv_kernel(const unsigned *, const unsigned *, const float *, const float *, float *,
			 unsigned);

static void prepare_spmv(struct wl_case *c, const char *name, spmv_kernel *kernel, unsigned mean,
			 bool skewed, unsigned lanes)
{
	unsigned *start;
	uint64_t elements = prepare_rows(c, mean, skewed, &start);
	unsigned *column = wl_random<unsigned>(c, elements, 0, (double)c->n);
	float *value = wl_random<float>(c, elements, -1, 1), *x = wl_random<float>(c, c->n, -1, 1),
	      *y = wl_output<float>(c, c->n);
	double *truth = wl_record(c, name, kernel, dim3(wl_blocks(c->n * lanes, BLOCK)),
				  dim3(BLOCK), 0, start, column, value, x, y, (unsigned)c->n);

	wl_moves(truth, NAN, (double)c->n * 4);
	if (lanes == 1) /* otherwise shuffles add to it, in lanes whose sum nobody wants */
		truth[WL_fp32_flop] = 2.0 * (double)elements;
}

static void check_spmv(const struct wl_case *c, struct wl_check *k, uint64_t mean)
{
	wl_in<unsigned> start(c, 0), column(c, 1);
	wl_in<float> value(c, 2), x(c, 3);
	wl_out<float> y(c, 4);

	wl_each(c, c->n, 6 * mean, [&](uint64_t row) {
		double want = 0;

		for (uint64_t i = start[row]; i < start[row + 1]; i++)
			want += (double)value[i] * x[column[i]];
		wl_expect(k, row, y[row], want, 1e-6 * (start[row + 1] - start[row]));
	});
}

#define SPMV(name, kernel, mean, skewed, lanes) \
	WL_PREPARE(name) \
	{ \
		prepare_spmv(c, #kernel, kernel, mean, skewed, lanes); \
	} \
	WL_CHECK(name) \
	{ \
		check_spmv(c, k, mean); \
	}
SPMV(spmv_csr_scalar, spmv_scalar, 16, false, 1)
SPMV(spmv_csr_vector, spmv_vector, 64, false, 32)
SPMV(spmv_csr_skewed, spmv_scalar, 8, true, 1)

WL_PREPARE(bfs_expand)
{
	unsigned *start;
	uint64_t edges = prepare_rows(c, 8, false, &start);
	unsigned *neighbour = wl_random<unsigned>(c, edges, 0, (double)c->n);
	uint8_t *frontier = wl_random<uint8_t>(c, c->n, 0, 2), *next = wl_zeroed<uint8_t>(c, c->n);

	WL_LAUNCH(c, bfs_expand, wl_blocks(c->n, BLOCK), BLOCK, 0, start, neighbour, frontier, next,
		  c->n);
}

WL_CHECK(bfs_expand)
{
	wl_in<unsigned> start(c, 0), neighbour(c, 1);
	wl_in<uint8_t> frontier(c, 2);
	wl_out<uint8_t> next(c, 3);
	uint8_t *want = wl_host<uint8_t>(c->n);

	memset(want, 0, c->n);
	for (uint64_t node = 0; node < c->n; node++)
		for (uint64_t i = start[node]; frontier[node] && i < start[node + 1]; i++)
			want[neighbour[i]] = 1;
	for (uint64_t i = 0; i < c->n; i++)
		wl_expect(k, i, next[i], want[i], 0);
	free(want);
}
