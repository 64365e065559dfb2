/* Hashes of numbers and of bytes: for tables, and for samples that are to be the same every time.
 */
#ifndef GW_HASH_H
#define GW_HASH_H

#include <stddef.h>
#include <stdint.h>

/** The finaliser of splitmix64: every bit of the result depends on every bit of @p x. */
static inline uint64_t gw_hash_mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/** Of @p length bytes (FNV-1a, not finished); @p seed is 0. */
static inline uint64_t gw_hash_plain(uint64_t seed, const void *data, size_t length)
{
	const unsigned char *p = data;
	uint64_t h = seed ^ UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < length; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

/** The same, finished; @p seed is 0 or the hash of what comes before. */
static inline uint64_t gw_hash(uint64_t seed, const void *data, size_t length)
{
	return gw_hash_mix(gw_hash_plain(seed, data, length));
}

#endif
