/* The other memories: local arrays, shared memory with bank conflicts, constants by lane. */
#include "kernels/workloads/prepare.cuh"

enum { BLOCK = 256, PLACES = 64, LOOKS = 256 };

/* Pseudo-random places of an array that registers cannot hold, because its index is not known. */
extern "C" __global__ void local_array(const uint32_t *in, uint32_t *out)
{
	uint32_t a[PLACES], v = in[wl_thread()], sum = 0;

	for (unsigned i = 0; i < PLACES; i++)
		a[i] = v ^ i * 2654435761u;
	for (unsigned i = 0; i < LOOKS; i++) {
		v = v * 1664525u + 1013904223u;
		sum += a[v >> 26];
		a[v >> 20 & 63] ^= sum;
	}
	out[wl_thread()] = sum;
}

enum { TILE = 4096 };

/* Lanes read words that are `stride` apart: a stride of 32 puts all of them into one bank. */
extern "C" __global__ void shared_stride(const uint32_t *in, uint32_t *out, unsigned stride)
{
	__shared__ uint32_t tile[TILE];
	uint32_t sum = 0;

	for (unsigned i = threadIdx.x; i < TILE; i += BLOCK)
		tile[i] = in[i];
	__syncthreads();
	for (unsigned i = 0; i < LOOKS; i++)
		sum = sum * 3 + tile[(threadIdx.x * stride + i * 32) % TILE];
	out[wl_thread()] = sum;
}

static __constant__ uint32_t table[1024];

/* Lanes read different constants: one after the other. */
extern "C" __global__ void constant_lanes(const uint32_t *in, uint32_t *out)
{
	uint32_t v = in[wl_thread()], sum = 0;

	for (unsigned i = 0; i < PLACES; i++) {
		v = v * 1664525u + 1013904223u;
		sum = sum * 3 + table[v >> 22];
	}
	out[wl_thread()] = sum;
}

typedef void words_kernel(const uint32_t *, uint32_t *);

static void prepare_words(struct wl_case *c, const char *name, words_kernel *kernel)
{
	uint32_t *in = wl_random<uint32_t>(c, c->n, 0, 4294967296.0),
		 *out = wl_output<uint32_t>(c, c->n);
	double n = (double)c->n;
	double *truth = wl_record(c, name, kernel, dim3((unsigned)(c->n / BLOCK)), dim3(BLOCK), 0,
				  (const uint32_t *)in, out);

	wl_accesses(wl_moves(truth, n * 4, n * 4), n / 32, 4, n / 32, 4);
}

WL_PREPARE(local_array)
{
	prepare_words(c, "local_array", local_array);
}

WL_CHECK(local_array)
{
	wl_in<uint32_t> in(c, 0);
	wl_out<uint32_t> out(c, 1);

	wl_each(c, c->n, 6 * LOOKS, [&](uint64_t t) {
		uint32_t a[PLACES], v = in[t], sum = 0;

		for (unsigned i = 0; i < PLACES; i++)
			a[i] = v ^ i * 2654435761u;
		for (unsigned i = 0; i < LOOKS; i++) {
			v = v * 1664525u + 1013904223u;
			sum += a[v >> 26];
			a[v >> 20 & 63] ^= sum;
		}
		wl_expect(k, t, out[t], sum, 0);
	});
}

static void prepare_stride(struct wl_case *c, unsigned stride)
{
	uint32_t *in = wl_random<uint32_t>(c, TILE, 0, 4294967296.0),
		 *out = wl_output<uint32_t>(c, c->n);
	double n = (double)c->n, loads = n / BLOCK * TILE / 32;

	wl_accesses(wl_moves(WL_LAUNCH(c, shared_stride, c->n / BLOCK, BLOCK, 0, in, out, stride),
			     TILE * 4, n * 4),
		    loads, 4, n / 32, 4);
}

static void check_stride(const struct wl_case *c, struct wl_check *k, uint64_t stride)
{
	wl_in<uint32_t> in(c, 0);
	wl_out<uint32_t> out(c, 1);

	wl_each(c, c->n, 6 * LOOKS, [&](uint64_t t) {
		uint32_t sum = 0;

		for (uint64_t i = 0; i < LOOKS; i++)
			sum = sum * 3 + in[(t % BLOCK * stride + i * 32) % TILE];
		wl_expect(k, t, out[t], sum, 0);
	});
}

#define STRIDE(name, stride) \
	WL_PREPARE(name) \
	{ \
		prepare_stride(c, stride); \
	} \
	WL_CHECK(name) \
	{ \
		check_stride(c, k, stride); \
	}
STRIDE(shared_free, 1)
STRIDE(shared_conflict8, 8)
STRIDE(shared_conflict32, 32)

WL_PREPARE(constant_lanes)
{
	uint32_t values[1024];

	for (unsigned i = 0; i < 1024; i++)
		values[i] = wl_bits(c->seed, i);
	wl_must(cudaMemcpyToSymbol(table, values, sizeof values), "filling constants");
	prepare_words(c, "constant_lanes", constant_lanes);
}

WL_CHECK(constant_lanes)
{
	wl_in<uint32_t> in(c, 0);
	wl_out<uint32_t> out(c, 1);

	wl_each(c, c->n, 6 * PLACES, [&](uint64_t t) {
		uint32_t v = in[t], sum = 0;

		for (unsigned i = 0; i < PLACES; i++) {
			v = v * 1664525u + 1013904223u;
			sum = sum * 3 + wl_bits(c->seed, v >> 22);
		}
		wl_expect(k, t, out[t], sum, 0);
	});
}
