/* Atomics, from one address per thread to one address for all. */
#include "kernels/workloads/prepare.cuh"

enum { BLOCK = 256, BANKS = 8, TIMES = 64, SLOTS = 1024 };

/* Every thread adds to an element of its own. */
extern "C" __global__ void atomic_free(const unsigned *in, unsigned *sum)
{
	atomicAdd(&sum[wl_thread()], in[wl_thread()]);
}

/* The lanes of a warp meet on one address. */
extern "C" __global__ void atomic_warp(const unsigned *in, unsigned *sum)
{
	atomicAdd(&sum[wl_thread() / 32], in[wl_thread()]);
}

/* All threads meet on one address, which the compiler cannot know: values are below `size`. */
extern "C" __global__ void atomic_same(const unsigned *in, unsigned *sum, unsigned size)
{
	unsigned v = in[wl_thread()];

	atomicAdd(&sum[v / size], v);
}

/* The same where it can be known: warps are summed first. */
extern "C" __global__ void atomic_uniform(const unsigned *in, unsigned *sum)
{
	atomicAdd(sum, in[wl_thread()]);
}

/* The largest float of 1,024 classes by compare and swap, which is tried until it succeeds. */
extern "C" __global__ void atomic_cas(const float *in, unsigned *best)
{
	float v = in[wl_thread()];
	unsigned *slot = &best[wl_thread() * 2654435761u >> 22], old = *slot, seen;

	while (__uint_as_float(old) < v) {
		seen = atomicCAS(slot, old, __float_as_uint(v));
		if (seen == old)
			break;
		old = seen;
	}
}

/* Eight shared counters for a block: 64 additions by each thread, 32 lanes on eight addresses. */
extern "C" __global__ void atomic_shared(const unsigned *in, unsigned *out)
{
	__shared__ unsigned sum[BANKS];
	unsigned v = in[wl_thread()];

	if (threadIdx.x < BANKS)
		sum[threadIdx.x] = 0;
	__syncthreads();
	for (unsigned i = 0; i < TIMES; i++)
		atomicAdd(&sum[(v + i * 5) % BANKS], i + 1);
	__syncthreads();
	if (threadIdx.x < BANKS)
		out[blockIdx.x * BANKS + threadIdx.x] = sum[threadIdx.x];
}

enum { BELOW = 1000 };

/* State that all threads execute an atomic operation, this many of them on one address. */
static void state(struct wl_case *c, double *truth, double same)
{
	truth[WL_atomic_requests] = (double)c->n;
	truth[WL_atomic_same_address] = same;
}

static double *prepare(struct wl_case *c, const char *name,
		       void (*kernel)(const unsigned *, unsigned *), uint64_t sums)
{
	unsigned *in = wl_random<unsigned>(c, c->n, 0, BELOW), *sum = wl_zeroed<unsigned>(c, sums);

	return wl_moves(wl_record(c, name, kernel, dim3((unsigned)(c->n / BLOCK)), dim3(BLOCK), 0,
				  (const unsigned *)in, sum),
			(double)(c->n + sums) * 4, (double)sums * 4);
}

/* Sums of runs of `length` values, modulo 2^32. */
static void check(const struct wl_case *c, struct wl_check *k, uint64_t length)
{
	wl_in<unsigned> in(c, 0);
	wl_out<unsigned> out(c, 1);

	wl_each(c, c->n / length, length, [&](uint64_t i) {
		unsigned want = 0;

		for (uint64_t j = 0; j < length; j++)
			want += in[i * length + j];
		wl_expect(k, i, out[i], want, 0);
	});
}

WL_PREPARE(atomic_free)
{
	state(c, prepare(c, "atomic_free", atomic_free, c->n), 1);
}

WL_CHECK(atomic_free)
{
	check(c, k, 1);
}

WL_PREPARE(atomic_warp)
{
	state(c, prepare(c, "atomic_warp", atomic_warp, c->n / 32), 32);
}

WL_CHECK(atomic_warp)
{
	check(c, k, 32);
}

WL_PREPARE(atomic_same)
{
	unsigned *in = wl_random<unsigned>(c, c->n, 0, BELOW), *sum = wl_zeroed<unsigned>(c, 1);
	double *truth = WL_LAUNCH(c, atomic_same, c->n / BLOCK, BLOCK, 0, in, sum, BELOW);

	state(c, wl_moves(truth, (double)c->n * 4, 4), (double)c->n);
}

WL_CHECK(atomic_same)
{
	check(c, k, c->n);
}

WL_PREPARE(atomic_uniform)
{
	prepare(c, "atomic_uniform", atomic_uniform, 1);
}

WL_CHECK(atomic_uniform)
{
	check(c, k, c->n);
}

WL_PREPARE(atomic_cas)
{
	float *in = wl_random<float>(c, c->n, 0, 1);
	unsigned *best = wl_zeroed<unsigned>(c, SLOTS);

	wl_moves(WL_LAUNCH(c, atomic_cas, c->n / BLOCK, BLOCK, 0, in, best),
		 (double)c->n * 4 + SLOTS * 4, SLOTS * 4);
}

WL_CHECK(atomic_cas)
{
	wl_in<float> in(c, 0);
	wl_out<float> out(c, 1);
	float want[SLOTS] = {};

	for (uint64_t i = 0; i < c->n; i++)
		want[(uint32_t)i * 2654435761u >> 22] =
			fmaxf(want[(uint32_t)i * 2654435761u >> 22], in[i]);
	for (unsigned i = 0; i < SLOTS; i++)
		wl_expect(k, i, out[i], want[i], 0);
}

WL_PREPARE(atomic_shared)
{
	unsigned *in = wl_random<unsigned>(c, c->n, 0, BELOW),
		 *out = wl_output<unsigned>(c, c->n / BLOCK * BANKS);
	double *truth = WL_LAUNCH(c, atomic_shared, c->n / BLOCK, BLOCK, 0, in, out);

	wl_moves(truth, (double)c->n * 4, (double)c->n / BLOCK * BANKS * 4)[WL_shared_atomics] =
		(double)c->n * TIMES;
}

WL_CHECK(atomic_shared)
{
	wl_in<unsigned> in(c, 0);
	wl_out<unsigned> out(c, 1);

	wl_each(c, c->n / BLOCK, 3 * BLOCK * TIMES, [&](uint64_t block) {
		unsigned want[BANKS] = {};

		for (uint64_t t = 0; t < BLOCK; t++)
			for (unsigned i = 0; i < TIMES; i++)
				want[(in[block * BLOCK + t] + i * 5) % BANKS] += i + 1;
		for (unsigned b = 0; b < BANKS; b++)
			wl_expect(k, block * BANKS + b, out[block * BANKS + b], want[b], 0);
	});
}
