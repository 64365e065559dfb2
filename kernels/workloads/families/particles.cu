/* N-body: all pairs from shared tiles, and neighbours within a cut-off by a list. */
#include "kernels/workloads/prepare.cuh"

enum { TILE = 256, NEIGHBOURS = 64 };

static const float SOFTENING = 0.01f;

/* Acceleration of every body by every other; w is the mass. */
extern "C" __global__ void nbody_pairs(const float4 *body, float4 *acceleration, unsigned n)
{
	__shared__ float4 tile[TILE];
	unsigned i = wl_thread();
	float4 me = body[i];
	float ax = 0, ay = 0, az = 0;

	for (unsigned base = 0; base < n; base += TILE) {
		tile[threadIdx.x] = body[base + threadIdx.x];
		__syncthreads();
#pragma unroll 8
		for (unsigned j = 0; j < TILE; j++) {
			float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
			float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + SOFTENING),
			      s = tile[j].w * inverse * inverse * inverse;

			ax += dx * s;
			ay += dy * s;
			az += dz * s;
		}
		__syncthreads();
	}
	acceleration[i] = make_float4(ax, ay, az, 0);
}

/* Lennard-Jones energy over 64 listed neighbours, those beyond the cut-off skipped. */
extern "C" __global__ void neighbour_energy(const float4 *body, const unsigned *list, float *energy,
					    unsigned n, float cutoff2)
{
	unsigned i = wl_thread();
	float4 me;
	float sum = 0;

	if (i >= n)
		return;
	me = body[i];
	for (unsigned k = 0; k < NEIGHBOURS; k++) {
		float4 other = body[list[(size_t)k * n + i]];
		float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z,
		      r2 = dx * dx + dy * dy + dz * dz + SOFTENING;

		if (r2 < cutoff2) {
			float s = 0.01f / (r2 * r2 * r2);

			sum += s * (s - 1);
		}
	}
	energy[i] = sum;
}

WL_PREPARE(nbody_pairs)
{
	float *body = wl_random<float>(c, c->n * 4, 0, 1);
	float4 *out = wl_output<float4>(c, c->n);
	double *truth = WL_LAUNCH(c, nbody_pairs, c->n / TILE, TILE, 0, (float4 *)body, out, c->n);

	wl_moves(truth, (double)c->n * 16, (double)c->n * 16);
}

WL_CHECK(nbody_pairs)
{
	wl_in<float> body(c, 0);
	wl_out<float4> out(c, 1);

	wl_each(c, c->n, 64 * c->n, [&](uint64_t i) {
		double sum[3] = {0, 0, 0}, magnitude = 0;

		for (uint64_t j = 0; j < c->n; j++) {
			double d[3], r2 = SOFTENING, s;

			for (unsigned a = 0; a < 3; a++) {
				d[a] = (double)body[4 * j + a] - body[4 * i + a];
				r2 += d[a] * d[a];
			}
			s = body[4 * j + 3] / (r2 * sqrt(r2));
			magnitude += s;
			for (unsigned a = 0; a < 3; a++)
				sum[a] += d[a] * s;
		}
		wl_expect(k, 3 * i, out[i].x, sum[0], 3e-6 * magnitude);
		wl_expect(k, 3 * i + 1, out[i].y, sum[1], 3e-6 * magnitude);
		wl_expect(k, 3 * i + 2, out[i].z, sum[2], 3e-6 * magnitude);
	});
}

static const float CUTOFF2 = 0.25f;

WL_PREPARE(neighbour_energy)
{
	uint64_t n = c->n;
	float *body = wl_random<float>(c, n * 4, 0, 1);
	unsigned *list = wl_random<unsigned>(c, n * NEIGHBOURS, 0, (double)n);
	float *energy = wl_output<float>(c, n);
	double *truth = WL_LAUNCH(c, neighbour_energy, wl_blocks(n, 128), 128, 0, (float4 *)body,
				  list, energy, n, CUTOFF2);

	wl_moves(truth, (double)n * (16 + NEIGHBOURS * 4), (double)n * 4);
}

/* A pair whose distance rounds across the cut-off may count or not: the sum may differ by that. */
WL_CHECK(neighbour_energy)
{
	wl_in<float> body(c, 0);
	wl_in<unsigned> list(c, 1);
	wl_out<float> energy(c, 2);

	wl_each(c, c->n, 16 * NEIGHBOURS, [&](uint64_t i) {
		double sum = 0, tolerance = 0;

		for (uint64_t p = 0; p < NEIGHBOURS; p++) {
			uint64_t j = list[p * c->n + i];
			double r2 = SOFTENING, s;

			for (unsigned a = 0; a < 3; a++)
				r2 += pow((double)body[4 * j + a] - body[4 * i + a], 2);
			s = 0.01f / (r2 * r2 * r2);
			sum += r2 < CUTOFF2 ? s * (s - 1) : 0;
			tolerance +=
				fabs(r2 - CUTOFF2) < 1e-6 ? fabs(s * (s - 1)) : 2e-5 * s * (s + 1);
		}
		wl_expect(k, i, energy[i], sum, tolerance);
	});
}
