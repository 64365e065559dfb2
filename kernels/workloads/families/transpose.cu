/* Transposes of an n x n matrix: strided stores, a shared tile, and a tile with bank conflicts. */
#include "kernels/workloads/prepare.cuh"

enum { TILE = 32, ROWS = 8 };

extern "C" __global__ void transpose_naive(const float *in, float *out, unsigned n)
{
	unsigned x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;

	for (unsigned j = 0; j < TILE; j += ROWS)
		out[(size_t)x * n + y + j] = in[(size_t)(y + j) * n + x];
}

/* A tile whose rows are PITCH words apart: 33 spreads its columns over the banks, 32 does not. */
template <int PITCH> static __device__ void transpose_tile(const float *in, float *out, unsigned n)
{
	__shared__ float tile[TILE][PITCH];
	unsigned x = blockIdx.x * TILE, y = blockIdx.y * TILE;

	for (unsigned j = threadIdx.y; j < TILE; j += ROWS)
		tile[j][threadIdx.x] = in[(size_t)(y + j) * n + x + threadIdx.x];
	__syncthreads();
	for (unsigned j = threadIdx.y; j < TILE; j += ROWS)
		out[(size_t)(x + j) * n + y + threadIdx.x] = tile[threadIdx.x][j];
}

extern "C" __global__ void transpose_tiled(const float *in, float *out, unsigned n)
{
	transpose_tile<TILE + 1>(in, out, n);
}

extern "C" __global__ void transpose_conflict(const float *in, float *out, unsigned n)
{
	transpose_tile<TILE>(in, out, n);
}

static void prepare(struct wl_case *c, const char *name,
		    void (*kernel)(const float *, float *, unsigned), double store_sectors)
{
	unsigned n = (unsigned)c->n;
	double elements = (double)n * n;
	float *in = wl_random<float>(c, c->n * n, -1, 1), *out = wl_output<float>(c, c->n * n);
	double *truth = wl_record(c, name, kernel, dim3(n / TILE, n / TILE), dim3(TILE, ROWS), 0,
				  in, out, n);

	wl_accesses(wl_moves(truth, elements * 4, elements * 4), elements / 32, 4, elements / 32,
		    store_sectors);
}

static void check(const struct wl_case *c, struct wl_check *k)
{
	wl_in<float> in(c, 0);
	wl_out<float> out(c, 1);
	uint64_t n = c->n;

	wl_each(c, n * n, 4,
		[&](uint64_t i) { wl_expect(k, i, out[i], in[i % n * n + i / n], 0); });
}

#define TRANSPOSE(name, store_sectors) \
	WL_PREPARE(name) \
	{ \
		prepare(c, #name, name, store_sectors); \
	} \
	WL_CHECK(name) \
	{ \
		check(c, k); \
	}
TRANSPOSE(transpose_naive, 32)
TRANSPOSE(transpose_tiled, 4)
TRANSPOSE(transpose_conflict, 4)
