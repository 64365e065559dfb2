/* What waits: pointer chases, dependent chains, few warps, many barriers. */
#include "kernels/workloads/prepare.cuh"

/* Links are 128 bytes apart, one to a line. */
enum { LINE = 32 };

/* One thread follows the links; the next address is the load's result. */
extern "C" __global__ void chase_one(const unsigned *links, unsigned *out, unsigned hops)
{
	unsigned at = 0;

	for (unsigned i = 0; i < hops; i++)
		at = links[(size_t)at * LINE];
	out[0] = at;
}

/* Writes enough to evict everything else from L2. */
extern "C" __global__ void evict_l2(float4 *out, float value)
{
	out[wl_thread()] = make_float4(value, value, value, value);
}

enum { HOPS = 64 };

/* Every thread follows links from a place of its own. */
extern "C" __global__ void chase_many(const unsigned *links, unsigned *out, unsigned length)
{
	unsigned at = wl_thread() % length;

	for (unsigned i = 0; i < HOPS; i++)
		at = links[(size_t)at * LINE];
	out[wl_thread()] = at;
}

enum { RING = 1024 };

/* One warp in shared memory. */
extern "C" __global__ void chase_shared(const unsigned *links, unsigned *out, unsigned hops)
{
	__shared__ unsigned ring[RING];
	unsigned at = threadIdx.x;

	for (unsigned i = threadIdx.x; i < RING; i += 32)
		ring[i] = links[i];
	__syncwarp();
	for (unsigned i = 0; i < hops; i++)
		at = ring[at];
	out[threadIdx.x] = at;
}

/* One warp, one chain of multiply-adds. */
extern "C" __global__ void fma_chain(const float *in, float *out, float a, float b, unsigned rounds)
{
	float x = in[threadIdx.x];

	for (unsigned i = 0; i < rounds; i++)
		x = fmaf(x, a, b);
	out[threadIdx.x] = x;
}

enum { FEW = 64, PER = 64 };

/* So much shared memory that one block of two warps is all an SM holds. */
extern "C" __global__ void low_occupancy(const float *in, float *out, unsigned stride)
{
	extern __shared__ float room[];
	float sum = 0;

	for (unsigned i = 0; i < PER; i++)
		sum += in[wl_thread() + (size_t)i * stride];
	room[threadIdx.x] = sum;
	__syncthreads();
	out[wl_thread()] = room[threadIdx.x ^ 1];
}

enum { WIDE = 1024, EXCHANGES = 128 };

/* 1,024 threads that meet 256 times. */
extern "C" __global__ void barriers(const unsigned *in, unsigned *out)
{
	__shared__ unsigned s[WIDE];
	unsigned v = in[wl_thread()];

	for (unsigned i = 0; i < EXCHANGES; i++) {
		s[threadIdx.x] = v;
		__syncthreads();
		v = v * 3 + s[(threadIdx.x + 33) % WIDE];
		__syncthreads();
	}
	out[wl_thread()] = v;
}

/* One ring through all entries in random order (Sattolo), an entry every `pitch` words. */
static unsigned *prepare_ring(struct wl_case *c, unsigned length, unsigned pitch)
{
	unsigned *host = wl_host<unsigned>((uint64_t)length * pitch);

	memset(host, 0, (uint64_t)length * pitch * sizeof *host);
	for (unsigned i = 0; i < length; i++)
		host[(uint64_t)i * pitch] = i;
	for (unsigned i = length - 1; i > 0; i--) {
		unsigned j = (unsigned)((uint64_t)wl_bits(c->seed, i) * i >> 32);
		unsigned v = host[(uint64_t)i * pitch];

		host[(uint64_t)i * pitch] = host[(uint64_t)j * pitch];
		host[(uint64_t)j * pitch] = v;
	}
	return wl_given(c, (uint64_t)length * pitch, host);
}

/* Where `hops` links lead from `at`; the ring is buffer `ring`. */
static unsigned followed(const struct wl_case *c, unsigned ring, unsigned at, uint64_t hops,
			 unsigned pitch)
{
	wl_in<unsigned> links(c, ring);

	while (hops--)
		at = links[(uint64_t)at * pitch];
	return at;
}

/* A thread alone, in a ring of `length` lines. */
static void prepare_chase(struct wl_case *c, unsigned length)
{
	unsigned *links = prepare_ring(c, length, LINE), *out = wl_output<unsigned>(c, 1);
	double hops = (double)c->n;

	wl_accesses(wl_moves(WL_LAUNCH(c, chase_one, 1, 1, 0, links, out, c->n),
			     fmin(hops, length) * 32, 4),
		    hops, 1, 1, 1);
}

static void check_chase(const struct wl_case *c, struct wl_check *k)
{
	wl_out<unsigned> out(c, 1);

	wl_expect(k, 0, out[0], followed(c, 0, 0, c->n, LINE), 0);
}

#define CHASE(name, length) \
	WL_PREPARE(name) \
	{ \
		prepare_chase(c, length); \
	} \
	WL_CHECK(name) \
	{ \
		check_chase(c, k); \
	}
CHASE(chase_dram, 1 << 21) /* 256 MiB */
CHASE(chase_l2, 1 << 15)   /* 4 MiB */
CHASE(chase_l1, 1 << 8)    /* 32 KiB */

enum { EVICTED = 1 << 26, VALUE = 3 }; /* floats: 256 MiB */

WL_PREPARE(chase_evicted)
{
	float *out = wl_output<float>(c, EVICTED);
	double *truth = WL_LAUNCH(c, evict_l2, EVICTED / 4 / 256, 256, 0, (float4 *)out, VALUE);

	wl_accesses(wl_moves(truth, 0, EVICTED * 4.0), 0, 0, EVICTED / 128, 16);
	prepare_chase(c, 1 << 21);
}

WL_CHECK(chase_evicted)
{
	wl_out<float> sweep(c, 0);
	wl_out<unsigned> out(c, 2);

	wl_each(c, EVICTED, 1, [&](uint64_t i) { wl_expect(k, i, sweep[i], VALUE, 0); });
	wl_expect(k, EVICTED, out[0], followed(c, 1, 0, c->n, LINE), 0);
}

enum { LENGTH = 1 << 19 }; /* lines of the shared ring: 64 MiB */

WL_PREPARE(chase_many)
{
	unsigned *links = prepare_ring(c, LENGTH, LINE), *out = wl_output<unsigned>(c, c->n);
	double *truth = WL_LAUNCH(c, chase_many, c->n / 64, 64, 0, links, out, LENGTH);

	truth[WL_global_load_requests] = (double)c->n / 32 * HOPS;
	truth[WL_global_store_requests] = (double)c->n / 32;
}

WL_CHECK(chase_many)
{
	wl_out<unsigned> out(c, 1);

	wl_each(c, c->n, 16 * HOPS, [&](uint64_t i) {
		wl_expect(k, i, out[i], followed(c, 0, (unsigned)(i % LENGTH), HOPS, LINE), 0);
	});
}

WL_PREPARE(chase_shared)
{
	unsigned *links = prepare_ring(c, RING, 1), *out = wl_output<unsigned>(c, 32);

	wl_accesses(wl_moves(WL_LAUNCH(c, chase_shared, 1, 32, 0, links, out, c->n), RING * 4, 128),
		    RING / 32, 4, 1, 4);
}

WL_CHECK(chase_shared)
{
	wl_out<unsigned> out(c, 1);

	for (unsigned i = 0; i < 32; i++)
		wl_expect(k, i, out[i], followed(c, 0, i, c->n, 1), 0);
}

static const float A = 0.99609375f, B = 0.00390625f;

WL_PREPARE(fma_chain)
{
	float *in = wl_random<float>(c, 32, -1, 1), *out = wl_output<float>(c, 32);
	double *truth = WL_LAUNCH(c, fma_chain, 1, 32, 0, in, out, A, B, c->n);

	wl_accesses(wl_moves(truth, 128, 128), 1, 4, 1, 4);
	truth[WL_fp32_flop] = 64.0 * (double)c->n;
}

/*
 * Fused on both sides, in single precision, hence equal: the chain ends near its fixed point, where
 * double precision would show little.
 */
WL_CHECK(fma_chain)
{
	wl_in<float> in(c, 0);
	wl_out<float> out(c, 1);

	for (unsigned i = 0; i < 32; i++) {
		float x = in[i];

		for (uint64_t r = 0; r < c->n; r++)
			x = fmaf(x, A, B);
		wl_expect(k, i, out[i], x, 0);
	}
}

WL_PREPARE(low_occupancy)
{
	uint64_t threads = c->n * FEW;
	float *in = wl_random<float>(c, threads * PER, -1, 1), *out = wl_output<float>(c, threads);
	double *truth = WL_LAUNCH(c, low_occupancy, c->n, FEW, 160 * 1024, in, out, threads),
	       n = (double)threads;

	wl_accesses(wl_moves(truth, n * PER * 4, n * 4), n / 32 * PER, 4, n / 32, 4);
	truth[WL_fp32_flop] = n * PER;
}

WL_CHECK(low_occupancy)
{
	wl_in<float> in(c, 0);
	wl_out<float> out(c, 1);

	wl_each(c, out.count, 2 * PER, [&](uint64_t i) {
		double want = 0;

		for (uint64_t j = 0; j < PER; j++)
			want += in[(i ^ 1) + j * out.count];
		wl_expect(k, i, out[i], want, 1e-6 * PER);
	});
}

WL_PREPARE(barriers)
{
	uint64_t threads = c->n * WIDE;
	unsigned *in = wl_random<unsigned>(c, threads, 0, 4294967296.0),
		 *out = wl_output<unsigned>(c, threads);
	double n = (double)threads;

	wl_accesses(wl_moves(WL_LAUNCH(c, barriers, c->n, WIDE, 0, in, out), n * 4, n * 4), n / 32,
		    4, n / 32, 4);
}

WL_CHECK(barriers)
{
	wl_in<unsigned> in(c, 0);
	wl_out<unsigned> out(c, 1);

	wl_each(c, c->n, 4 * WIDE * EXCHANGES, [&](uint64_t block) {
		unsigned v[WIDE], s[WIDE];

		for (unsigned t = 0; t < WIDE; t++)
			v[t] = in[block * WIDE + t];
		for (unsigned i = 0; i < EXCHANGES; i++) {
			memcpy(s, v, sizeof s);
			for (unsigned t = 0; t < WIDE; t++)
				v[t] = v[t] * 3 + s[(t + 33) % WIDE];
		}
		for (unsigned t = 0; t < WIDE; t++)
			wl_expect(k, block * WIDE + t, out[block * WIDE + t], v[t], 0);
	});
}
