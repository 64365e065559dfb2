/* SPDX-License-Identifier: Apache-2.0
 *
 * Empty launches back to back for a while, timed in slices: what a window of mode watch costs, and
 * that nothing is left of it afterwards, shows in one process.
 *   slices SECONDS [LAUNCHES [CPU]]
 * LAUNCHES: of a slice, each ends with a synchronisation; CPU: the launching thread stays on it.
 * Prints one JSON object: "begin", CLOCK_REALTIME of each slice in ns, and "ns", per launch.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sched.h>
#include <vector>

static __global__ void empty()
{
}

static uint64_t now(clockid_t clock)
{
	timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0;
	int launches = argc > 2 ? atoi(argv[2]) : 1000;
	std::vector<uint64_t> begins, spans;
	cpu_set_t set;

	if (seconds <= 0 || launches < 1) {
		fprintf(stderr, "usage: %s SECONDS [LAUNCHES [CPU]]\n", argv[0]);
		return 2;
	}
	empty<<<1, 32>>>();
	cudaDeviceSynchronize();
	if (argc > 3) {
		CPU_ZERO(&set);
		CPU_SET(atoi(argv[3]), &set);
		sched_setaffinity(0, sizeof(set), &set);
	}

	uint64_t end = now(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9), at;

	while ((at = now(CLOCK_MONOTONIC)) < end) {
		begins.push_back(now(CLOCK_REALTIME));
		for (int i = 0; i < launches; i++)
			empty<<<1, 32>>>();
		cudaDeviceSynchronize();
		spans.push_back(now(CLOCK_MONOTONIC) - at);
	}
	printf("{\"launches\": %d, \"last_error\": %d, \"begin\": [", launches,
	       (int)cudaGetLastError());
	for (size_t i = 0; i < begins.size(); i++)
		printf("%s%llu", i ? ", " : "", (unsigned long long)begins[i]);
	printf("], \"ns\": [");
	for (size_t i = 0; i < spans.size(); i++)
		printf("%s%.1f", i ? ", " : "", (double)spans[i] / launches);
	printf("]}\n");
	return 0;
}
