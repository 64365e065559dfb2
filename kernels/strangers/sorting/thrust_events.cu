// SPDX-License-Identifier: Apache-2.0
// Thrust: events sorted by user, summed by user, filtered; sizes grow.
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Draw { __host__ __device__ unsigned operator()(unsigned i) const { i ^= i >> 16; i *= 0x7feb352du; i ^= i >> 15; i *= 0x846ca68bu; return i ^ i >> 16; } };
struct User { unsigned users; __host__ __device__ unsigned operator()(unsigned i) const { return Draw()(i) % users; } };
struct Amount { __host__ __device__ int operator()(unsigned i) const { return Draw()(i + 99) % 1000; } };
struct Square { __host__ __device__ long long operator()(int v) const { return (long long)v * v; } };

int main(int argc, char **argv)
{
	unsigned most = argc > 1 ? strtoul(argv[1], 0, 10) : 8000000, bad = 0;
	for (unsigned n = 10000; n <= most; n *= 3)
		for (int round = 0; round < 200; round++) {
			unsigned users = 1000u << round % 4;
			thrust::device_vector<unsigned> key(n), outKey(users);
			thrust::device_vector<int> amount(n), sum(users);
			thrust::transform(thrust::counting_iterator<unsigned>(0), thrust::counting_iterator<unsigned>(n), key.begin(), User{users});
			thrust::transform(thrust::counting_iterator<unsigned>(0), thrust::counting_iterator<unsigned>(n), amount.begin(), Amount());
			long long squares = thrust::transform_reduce(amount.begin(), amount.end(), Square(), 0ll, thrust::plus<long long>());
			thrust::sort_by_key(key.begin(), key.end(), amount.begin());
			auto end = thrust::reduce_by_key(key.begin(), key.end(), amount.begin(), outKey.begin(), sum.begin());
			if (round == 199) {
				std::vector<int> ref(users), seen(users);
				long long want = 0;
				for (unsigned i = 0; i < n; i++) { int a = Amount()(i); ref[User{users}(i)] += a; seen[User{users}(i)] = 1; want += (long long)a * a; }
				thrust::host_vector<int> got(sum.begin(), end.second);
				bad += want != squares;
				size_t at = 0;
				for (unsigned u = 0; u < users; u++) if (seen[u]) bad += at >= got.size() || got[at] != ref[u], at++;
				bad += at != got.size();
			}
		}
	printf("%u wrong\n", bad);
	return bad != 0;
}
