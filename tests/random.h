/* Pseudo-random numbers that are the same in every run: a linear congruential sequence (Knuth's
 * MMIX). */
#ifndef GW_TESTS_RANDOM_H
#define GW_TESTS_RANDOM_H

#include <math.h>
#include <stdint.h>

/** The next number after @p seed; its upper bits are the better ones. */
static inline uint64_t next_random(uint64_t *seed)
{
	return *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
}

/** Evenly between 0 and 1, neither included. */
static inline double next_uniform(uint64_t *seed)
{
	return ((double)(next_random(seed) >> 11) + 0.5) / 0x1p53;
}

/** Of a normal distribution of mean 0 and deviation 1. */
static inline double next_normal(uint64_t *seed)
{
	double radius = sqrt(-2 * log(next_uniform(seed)));

	return radius * cos(6.283185307179586 * next_uniform(seed));
}

#endif
