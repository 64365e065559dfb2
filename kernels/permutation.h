/*
 * A random-looking order of 0 .. count - 1 that needs no table: position i holds
 * gw_permute(i, count, seed). Device code lays chains out with it over memory of any size, the
 * unit tests compile it for the host.
 */
#ifndef GW_KERNELS_PERMUTATION_H
#define GW_KERNELS_PERMUTATION_H

#ifdef __CUDACC__
#define GW_HOST_DEVICE static __host__ __device__ inline
#else
#define GW_HOST_DEVICE static inline
#endif

/** A 32-bit mixer (the finaliser of MurmurHash3): every bit of @p x moves every bit out. */
GW_HOST_DEVICE unsigned gw_mix(unsigned x)
{
	x = (x ^ (x >> 16)) * 0x85ebca6bu;
	x = (x ^ (x >> 13)) * 0xc2b2ae35u;
	return x ^ (x >> 16);
}

/** Bits of half of the smallest even-width domain that holds @p count values. */
GW_HOST_DEVICE unsigned gw_permute_half(unsigned count)
{
	unsigned half = 1;

	while (half < 16 && (count - 1) >> (2 * half))
		half++;
	return half;
}

/**
 * Where position @p i of @p count (1 to 2^32 - 1) goes: each of 0 .. count - 1 once. A Feistel
 * network permutes the smallest domain of 4^n values that holds count; a value outside is sent
 * through again until it falls inside, which keeps it one to one.
 */
GW_HOST_DEVICE unsigned gw_permute(unsigned i, unsigned count, unsigned seed)
{
	unsigned half = gw_permute_half(count), mask = (1u << half) - 1;

	do {
		unsigned left = (i >> half) & mask, right = i & mask;

		for (unsigned round = 0; round < 4; round++) {
			unsigned next = left ^ (gw_mix(right + seed * 4 + round) & mask);

			left = right;
			right = next;
		}
		i = left << half | right;
	} while (i >= count);
	return i;
}

/**
 * Offset in bytes of link @p i of a chain of @p count links, one in every @p stride (a multiple of
 * 128): the strides in random order, and a random line within each, so that the links of wide
 * strides don't all fall into a few sets of a cache.
 */
GW_HOST_DEVICE unsigned long long gw_link_offset(unsigned i, unsigned count,
						 unsigned long long stride, unsigned seed)
{
	unsigned place = gw_permute(i, count, seed);

	return place * stride + gw_mix(place ^ seed) % (unsigned)(stride / 128) * 128ull;
}

#endif
