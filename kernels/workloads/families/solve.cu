/* Batches of small systems: Cholesky by warp, elimination by thread, tridiagonal by thread. */
#include "kernels/workloads/prepare.cuh"

enum { ORDER = 32, PITCH = ORDER + 1 };

/* Lower factor of a symmetric 32 x 32 matrix per warp, in shared memory; only the lower half of
 * the input is read, and the diagonal gets ORDER added so that a factor exists. */
extern "C" __global__ void cholesky_warp(const float *in, float *out)
{
	__shared__ float a[ORDER][PITCH];
	unsigned lane = threadIdx.x;
	size_t base = (size_t)blockIdx.x * ORDER * ORDER;

	for (unsigned row = 0; row < ORDER; row++)
		a[row][lane] = in[base + row * ORDER + lane] + (row == lane ? ORDER : 0);
	__syncwarp();
	for (unsigned j = 0; j < ORDER; j++) {
		float sum = a[lane][j], pivot;

		for (unsigned i = 0; i < j; i++)
			sum -= a[lane][i] * a[j][i];
		pivot = sqrtf(__shfl_sync(~0u, sum, (int)j));
		__syncwarp();
		if (lane >= j)
			a[lane][j] = lane == j ? pivot : sum / pivot;
		__syncwarp();
	}
	for (unsigned row = 0; row < ORDER; row++)
		out[base + row * ORDER + lane] = lane <= row ? a[row][lane] : 0;
}

enum { SMALL = 4 };

/* A 4 x 4 system per thread in registers; elements of all systems are interleaved. */
extern "C" __global__ void solve_thread(const double *matrix, const double *right, double *x,
					unsigned systems)
{
	unsigned s = wl_thread();
	double a[SMALL][SMALL + 1];

	if (s >= systems)
		return;
#pragma unroll
	for (int i = 0; i < SMALL; i++) {
#pragma unroll
		for (int j = 0; j < SMALL; j++)
			a[i][j] = matrix[(size_t)(i * SMALL + j) * systems + s] +
				  (i == j ? SMALL : 0);
		a[i][SMALL] = right[(size_t)i * systems + s];
	}
#pragma unroll
	for (int p = 0; p < SMALL; p++) {
		double inverse = 1 / a[p][p];

#pragma unroll
		for (int i = 0; i < SMALL; i++) {
			double factor = a[i][p] * inverse;

			if (i != p)
#pragma unroll
				for (int j = p; j <= SMALL; j++)
					a[i][j] -= factor * a[p][j];
		}
	}
#pragma unroll
	for (int i = 0; i < SMALL; i++)
		x[(size_t)i * systems + s] = a[i][SMALL] / a[i][i];
}

enum { ROWS = 64 };

/* Thomas's algorithm: two dependent sweeps over 64 unknowns, the factor kept in global memory. */
extern "C" __global__ void tridiagonal(const float *lower, const float *upper, const float *right,
				       float *factor, float *x, unsigned systems)
{
	unsigned s = wl_thread();
	float g = 0, d = 0;

	if (s >= systems)
		return;
	for (unsigned i = 0; i < ROWS; i++) {
		size_t at = (size_t)i * systems + s;
		float pivot = 1 / (4 - lower[at] * g);

		g = upper[at] * pivot;
		d = (right[at] - lower[at] * d) * pivot;
		factor[at] = g;
		x[at] = d;
	}
	for (unsigned i = ROWS - 1; i-- > 0;) {
		size_t at = (size_t)i * systems + s;

		d = x[at] - factor[at] * d;
		x[at] = d;
	}
}

WL_PREPARE(cholesky_warp)
{
	uint64_t values = c->n * ORDER * ORDER;
	float *in = wl_random<float>(c, values, -1, 1), *out = wl_output<float>(c, values);

	wl_accesses(wl_moves(WL_LAUNCH(c, cholesky_warp, c->n, ORDER, 0, in, out),
			     (double)values * 4, (double)values * 4),
		    (double)values / 32, 4, (double)values / 32, 4);
}

WL_CHECK(cholesky_warp)
{
	wl_in<float> in(c, 0);
	wl_out<float> out(c, 1);

	wl_each(c, c->n, ORDER * ORDER * ORDER, [&](uint64_t m) {
		uint64_t base = m * ORDER * ORDER;
		double a[ORDER][ORDER] = {};

		for (unsigned j = 0; j < ORDER; j++)
			for (unsigned row = 0; row < ORDER; row++) {
				double sum = in[base + row * ORDER + j] + (row == j ? ORDER : 0);

				for (unsigned i = 0; i < j; i++)
					sum -= a[row][i] * a[j][i];
				a[row][j] = row < j ? 0 : row == j ? sqrt(sum) : sum / a[j][j];
				wl_expect(k, base + row * ORDER + j, out[base + row * ORDER + j],
					  a[row][j], 1e-5);
			}
	});
}

WL_PREPARE(solve_thread)
{
	double n = (double)c->n;
	double *matrix = wl_random<double>(c, c->n * SMALL * SMALL, -1, 1),
	       *right = wl_random<double>(c, c->n * SMALL, -1, 1);
	double *x = wl_output<double>(c, c->n * SMALL);
	double *truth =
		WL_LAUNCH(c, solve_thread, wl_blocks(c->n, 128), 128, 0, matrix, right, x, c->n);

	wl_accesses(wl_moves(truth, n * 20 * 8, n * 4 * 8), n * 20 / 32, 8, n * 4 / 32, 8);
}

/* The solution is right when it solves: the residual is compared with zero. */
WL_CHECK(solve_thread)
{
	wl_in<double> matrix(c, 0), right(c, 1);
	wl_out<double> x(c, 2);

	wl_each(c, c->n, 64, [&](uint64_t s) {
		for (uint64_t i = 0; i < SMALL; i++) {
			double sum = 0;

			for (uint64_t j = 0; j < SMALL; j++)
				sum += (matrix[(i * SMALL + j) * c->n + s] + (i == j ? SMALL : 0)) *
				       x[j * c->n + s];
			wl_expect(k, i * c->n + s, sum, right[i * c->n + s], 1e-13);
		}
	});
}

WL_PREPARE(tridiagonal)
{
	uint64_t values = c->n * ROWS;
	float *lower = wl_random<float>(c, values, -1, 1),
	      *upper = wl_random<float>(c, values, -1, 1);
	float *right = wl_random<float>(c, values, -1, 1), *factor = wl_output<float>(c, values),
	      *x = wl_output<float>(c, values);
	double *truth = WL_LAUNCH(c, tridiagonal, wl_blocks(c->n, 64), 64, 0, lower, upper, right,
				  factor, x, c->n);

	wl_moves(truth, (double)values * 12, (double)values * 8);
}

WL_CHECK(tridiagonal)
{
	wl_in<float> lower(c, 0), upper(c, 1), right(c, 2);
	wl_out<float> x(c, 4);
	uint64_t n = c->n;

	wl_each(c, n * ROWS, 8, [&](uint64_t at) {
		uint64_t row = at / n;
		double sum = 4.0 * x[at];

		if (row > 0)
			sum += (double)lower[at] * x[at - n];
		if (row < ROWS - 1)
			sum += (double)upper[at] * x[at + n];
		wl_expect(k, at, sum, right[at], 2e-6);
	});
}
