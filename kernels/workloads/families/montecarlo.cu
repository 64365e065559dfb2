/* Monte Carlo: a generator per thread, integer counting and option prices. */
#include "kernels/workloads/prepare.cuh"

enum { BLOCK = 256, DRAWS = 512, STEPS = 64 };

/* Marsaglia's xorshift, seeded per thread. */
static __host__ __device__ inline uint32_t draw(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Points of the unit square that fall into the quarter circle; integers alone, so exact. */
static __host__ __device__ inline unsigned hits(uint32_t state)
{
	unsigned count = 0;

	for (unsigned i = 0; i < DRAWS; i++) {
		uint32_t x = draw(&state) >> 16, y = draw(&state) >> 16;

		count += (uint64_t)x * x + (uint64_t)y * y < (uint64_t)1 << 32;
	}
	return count;
}

extern "C" __global__ void mc_pi(const uint32_t *state, unsigned *count)
{
	count[wl_thread()] = hits(state[wl_thread()]);
}

/* Log of a price after 64 steps of geometric Brownian motion, two normal deviates by Box-Muller
 * each. */
extern "C" __global__ void mc_option(const uint32_t *states, float *out, float drift,
				     float volatility)
{
	uint32_t state = states[wl_thread()];
	float sum = 0;

	for (unsigned i = 0; i < STEPS; i++) {
		float u = ((float)(draw(&state) >> 8) + 0.5f) * 0x1p-24f,
		      v = (float)(draw(&state) >> 8) * 0x1p-24f, s, c;
		float radius = sqrtf(-2 * logf(u));

		sincospif(2 * v, &s, &c);
		sum += 2 * drift + volatility * radius * (s + c);
	}
	out[wl_thread()] = expf(sum);
}

WL_PREPARE(mc_pi)
{
	uint32_t *state = wl_random<uint32_t>(c, c->n, 1, 4294967295.0);
	unsigned *count = wl_output<unsigned>(c, c->n);
	double n = (double)c->n;

	wl_accesses(
		wl_moves(WL_LAUNCH(c, mc_pi, c->n / BLOCK, BLOCK, 0, state, count), n * 4, n * 4),
		n / 32, 4, n / 32, 4);
}

/* Against the same integers on the host, and all together against pi. */
WL_CHECK(mc_pi)
{
	wl_in<uint32_t> state(c, 0);
	wl_out<unsigned> count(c, 1);
	double sum = 0, draws = (double)c->n * DRAWS;

	wl_each(c, c->n, 8 * DRAWS,
		[&](uint64_t i) { wl_expect(k, i, count[i], hits(state[i]), 0); });
	for (uint64_t i = 0; i < c->n; i++)
		sum += count[i];
	wl_expect(k, c->n, 4 * sum / draws, M_PI,
		  4 * 6 * 0.41 / sqrt(draws)); /* six standard deviations */
}

static const float DRIFT = 1e-4f, VOLATILITY = 0.02f;

WL_PREPARE(mc_option)
{
	uint32_t *state = wl_random<uint32_t>(c, c->n, 1, 4294967295.0);
	float *out = wl_output<float>(c, c->n);
	double n = (double)c->n;

	wl_accesses(wl_moves(WL_LAUNCH(c, mc_option, c->n / BLOCK, BLOCK, 0, state, out, DRIFT,
				       VOLATILITY),
			     n * 4, n * 4),
		    n / 32, 4, n / 32, 4);
}

WL_CHECK(mc_option)
{
	wl_in<uint32_t> states(c, 0);
	wl_out<float> out(c, 1);

	wl_each(c, c->n, 100 * STEPS, [&](uint64_t i) {
		uint32_t state = states[i];
		double sum = 0;

		for (unsigned j = 0; j < STEPS; j++) {
			double u = (float)((float)(draw(&state) >> 8) + 0.5f) * 0x1p-24,
			       v = (draw(&state) >> 8) * 0x1p-24;

			sum += 2 * DRIFT + VOLATILITY * sqrt(-2 * log(u)) *
						   (sin(2 * M_PI * v) + cos(2 * M_PI * v));
		}
		wl_expect(k, i, out[i], exp(sum), 2e-5 * exp(sum));
	});
}
