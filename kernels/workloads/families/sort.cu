/* Sorts: a bitonic network in shared memory, a stable radix pass, merges of sorted runs. */
#include "kernels/workloads/prepare.cuh"

#include <algorithm>
#include <vector>

enum { KEYS = 1024, BITONIC_BLOCK = KEYS / 2 };

/* Each block sorts 1,024 keys of its own. */
extern "C" __global__ void bitonic_sort(const unsigned *in, unsigned *out)
{
	__shared__ unsigned s[KEYS];
	size_t base = (size_t)blockIdx.x * KEYS;
	unsigned t = threadIdx.x;

	s[t] = in[base + t];
	s[t + BITONIC_BLOCK] = in[base + t + BITONIC_BLOCK];
	for (unsigned length = 2; length <= KEYS; length *= 2)
		for (unsigned step = length / 2; step; step /= 2) {
			unsigned a = 2 * t - (t & (step - 1)), b = a + step;
			bool up = (a & length) == 0;
			unsigned x, y;

			__syncthreads();
			x = s[a];
			y = s[b];
			if ((x > y) == up) {
				s[a] = y;
				s[b] = x;
			}
		}
	__syncthreads();
	out[base + t] = s[t];
	out[base + t + BITONIC_BLOCK] = s[t + BITONIC_BLOCK];
}

enum { RADIX = 16, BLOCK = 256, ROUNDS = 16, CHUNK = BLOCK * ROUNDS };

/* Count of each digit in each chunk: counts[digit][chunk]. */
extern "C" __global__ void radix_count(const unsigned *in, unsigned *counts)
{
	__shared__ unsigned local[RADIX];

	if (threadIdx.x < RADIX)
		local[threadIdx.x] = 0;
	__syncthreads();
	for (unsigned r = 0; r < ROUNDS; r++)
		atomicAdd(&local[in[(size_t)blockIdx.x * CHUNK + r * BLOCK + threadIdx.x] % RADIX],
			  1);
	__syncthreads();
	if (threadIdx.x < RADIX)
		counts[threadIdx.x * gridDim.x + blockIdx.x] = local[threadIdx.x];
}

/* One warp per digit: each finds its digit's start by summing all before it, then scans its row. */
extern "C" __global__ void radix_scan(const unsigned *counts, unsigned *starts, unsigned chunks)
{
	unsigned lane = threadIdx.x % 32, digit = threadIdx.x / 32, before = 0;

	for (unsigned i = lane; i < digit * chunks; i += 32)
		before += counts[i];
	before = wl_warp_sum(before);
	for (unsigned base = 0; base < chunks; base += 32) {
		unsigned i = base + lane, v = i < chunks ? counts[digit * chunks + i] : 0, s = v;

		for (unsigned step = 1; step < 32; step *= 2) {
			unsigned left = __shfl_up_sync(~0u, s, step);

			s += lane >= step ? left : 0;
		}
		if (i < chunks)
			starts[digit * chunks + i] = before + s - v;
		before += __shfl_sync(~0u, s, 31);
	}
}

/* Each key goes behind the equal digits before it; a chunk is taken row by row to stay stable. */
extern "C" __global__ void radix_scatter(const unsigned *in, const unsigned *starts, unsigned *out)
{
	__shared__ unsigned next[RADIX], seen[BLOCK / 32][RADIX];
	unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;

	if (threadIdx.x < RADIX)
		next[threadIdx.x] = starts[threadIdx.x * gridDim.x + blockIdx.x];
	for (unsigned r = 0; r < ROUNDS; r++) {
		unsigned key = in[(size_t)blockIdx.x * CHUNK + r * BLOCK + threadIdx.x],
			 digit = key % RADIX;
		unsigned peers = __match_any_sync(~0u, digit), at;

		if (lane < RADIX)
			seen[warp][lane] = 0;
		__syncwarp();
		if (lane == (unsigned)__ffs((int)peers) - 1)
			seen[warp][digit] = (unsigned)__popc(peers);
		__syncthreads();
		at = next[digit] + (unsigned)__popc(peers & ((1u << lane) - 1));
		for (unsigned w = 0; w < warp; w++)
			at += seen[w][digit];
		out[at] = key;
		__syncthreads();
		if (threadIdx.x < RADIX)
			for (unsigned w = 0; w < BLOCK / 32; w++)
				next[threadIdx.x] += seen[w][threadIdx.x];
		__syncthreads();
	}
}

enum { RUN = 64 };

/* One thread merges two sorted runs of 64: serial, data-dependent, uncoalesced. */
extern "C" __global__ void merge_runs(const unsigned *in, unsigned *out, unsigned pairs)
{
	unsigned pair = wl_thread(), a = 0, b = 0;
	const unsigned *left = in + (size_t)pair * 2 * RUN, *right = left + RUN;

	if (pair >= pairs)
		return;
	for (unsigned i = 0; i < 2 * RUN; i++) {
		bool take_left = b == RUN || (a < RUN && left[a] <= right[b]);

		out[(size_t)pair * 2 * RUN + i] = take_left ? left[a++] : right[b++];
	}
}

WL_PREPARE(bitonic_sort)
{
	double n = (double)c->n;
	unsigned *in = wl_random<unsigned>(c, c->n, 0, 4294967296.0),
		 *out = wl_output<unsigned>(c, c->n);

	wl_accesses(wl_moves(WL_LAUNCH(c, bitonic_sort, c->n / KEYS, BITONIC_BLOCK, 0, in, out),
			     n * 4, n * 4),
		    n / 32, 4, n / 32, 4);
}

/* Runs of `length` keys, each sorted by itself; a random choice of runs where there are many. */
static void check_runs(const struct wl_case *c, struct wl_check *k, uint64_t length)
{
	wl_in<unsigned> in(c, 0);
	wl_out<unsigned> out(c, 1);
	std::vector<unsigned> want(length);

	wl_each(c, c->n / length, 40 * length, [&](uint64_t run) {
		for (uint64_t i = 0; i < length; i++)
			want[i] = in[run * length + i];
		std::sort(want.begin(), want.end());
		for (uint64_t i = 0; i < length; i++)
			wl_expect(k, run * length + i, out[run * length + i], want[i], 0);
	});
}

WL_CHECK(bitonic_sort)
{
	check_runs(c, k, KEYS);
}

WL_PREPARE(radix_pass)
{
	uint64_t n = c->n, chunks = n / CHUNK;
	double bytes = (double)n * 4, table = (double)chunks * RADIX * 4;
	unsigned *in = wl_random<unsigned>(c, n, 0, 4294967296.0);
	unsigned *counts = wl_output<unsigned>(c, chunks * RADIX),
		 *starts = wl_output<unsigned>(c, chunks * RADIX);
	unsigned *out = wl_output<unsigned>(c, n);

	wl_moves(WL_LAUNCH(c, radix_count, chunks, BLOCK, 0, in, counts), bytes,
		 table)[WL_shared_atomics] = (double)n;
	wl_moves(WL_LAUNCH(c, radix_scan, 1, RADIX * 32, 0, counts, starts, chunks), table, table);
	wl_moves(WL_LAUNCH(c, radix_scatter, chunks, BLOCK, 0, in, starts, out), bytes + table,
		 bytes);
}

WL_CHECK(radix_pass)
{
	wl_in<unsigned> in(c, 0);
	wl_out<unsigned> out(c, 3);
	uint64_t next[RADIX + 1] = {0};

	for (uint64_t i = 0; i < c->n; i++)
		next[in[i] % RADIX + 1]++;
	for (unsigned d = 0; d < RADIX; d++)
		next[d + 1] += next[d];
	for (uint64_t i = 0; i < c->n; i++) {
		uint64_t at = next[in[i] % RADIX]++;

		wl_expect(k, at, out[at], in[i], 0);
	}
}

WL_PREPARE(merge_runs)
{
	uint64_t n = c->n, pairs = n / (2 * RUN);
	unsigned *host = wl_host<unsigned>(n), *in, *out;

	for (uint64_t i = 0; i < n; i++)
		host[i] = wl_bits(c->seed, i);
	for (uint64_t i = 0; i < n; i += RUN)
		std::sort(host + i, host + i + RUN);
	in = wl_given(c, n, host);
	out = wl_output<unsigned>(c, n);
	wl_moves(WL_LAUNCH(c, merge_runs, wl_blocks(pairs, 128), 128, 0, in, out, pairs),
		 (double)n * 4, (double)n * 4);
}

WL_CHECK(merge_runs)
{
	check_runs(c, k, 2 * RUN);
}
