#include "preload/counters/pm_parts.h"

#include <math.h>
#include <stdatomic.h>

enum {
	SHORTEST_NS = 20000, /* shorter ones overflow */
	LONGEST_NS = 200000,
	SAMPLES_A_KERNEL = 32, /* of a kernel so long that it needs no shorter interval */
};

static _Atomic uint64_t kernel_ns; /* a typical kernel's time, by share of GPU time */

/* The worker's: kernels' times, weighted by time. */
static double mean_ns, weight;

void gw_pm_interval_start(void)
{
	atomic_store(&kernel_ns, 0);
	mean_ns = weight = 0;
}

void gw_pm_interval_ran(uint64_t ns)
{
	const double memory = 1e10; /* about the last ten seconds of GPU time */

	weight = fmin(weight, memory) + (double)ns;
	mean_ns += ((double)ns - mean_ns) * (double)ns / weight;
	atomic_store_explicit(&kernel_ns, (uint64_t)mean_ns, memory_order_relaxed);
}

bool gw_pm_interval_known(void)
{
	return weight > 0;
}

uint64_t gw_pm_interval(void)
{
	uint64_t ns = atomic_load(&kernel_ns) / SAMPLES_A_KERNEL;

	if (ns < SHORTEST_NS)
		return SHORTEST_NS;
	return ns < LONGEST_NS ? ns : LONGEST_NS;
}
