// SPDX-License-Identifier: Apache-2.0
// PageRank by pulling (rows of the transposed graph) and by pushing (atomics), until the ranks settle.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

namespace {
void must(cudaError_t status)
{
	if (status != cudaSuccess) {
		std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
		std::exit(EXIT_FAILURE);
	}
}

template <typename T> T *upload(const std::vector<T> &v)
{
	T *p;
	must(cudaMalloc(&p, v.size() * sizeof(T)));
	must(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
	return p;
}
} // namespace

__global__ void contribution(const float *rank, const int *degree, float *contrib, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) contrib[i] = degree[i] ? rank[i] / degree[i] : 0.f;
}

// A warp to a vertex.
__global__ void pull(const int *offset, const int *source, const float *contrib, float *rank, int n, float base)
{
	int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
	if (warp >= n) return;
	float sum = 0;
	for (int e = offset[warp] + lane; e < offset[warp + 1]; e += 32) sum += contrib[source[e]];
	for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
	if (lane == 0) rank[warp] = base + 0.85f * sum;
}

__global__ void push(const int *from, const int *to, const float *contrib, float *sum, int m)
{
	int e = blockIdx.x * blockDim.x + threadIdx.x;
	if (e < m) atomicAdd(&sum[to[e]], contrib[from[e]]);
}

__global__ void finishPush(float *sum, float *rank, int n, float base)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		rank[i] = base + 0.85f * sum[i];
		sum[i] = 0;
	}
}

__global__ void l1Difference(const float *a, const float *b, int n, double *out)
{
	double mine = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) mine += fabs((double)a[i] - b[i]);
	for (int d = 16; d; d /= 2) mine += __shfl_xor_sync(~0u, mine, d);
	if (threadIdx.x % 32 == 0) atomicAdd(out, mine);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? std::atoi(argv[1]) : 300000, m = n * 12, repeats = argc > 2 ? std::atoi(argv[2]) : 180;
	std::mt19937 gen(3);
	std::vector<int> from(m), to(m), degree(n), offset(n + 1), source(m);
	for (int e = 0; e < m; e++) {
		double u = gen() / 4294967296.0;
		from[e] = gen() % n;
		to[e] = (int)(n * u * u * u); // popular pages
		degree[from[e]]++;
		offset[to[e] + 1]++;
	}
	std::partial_sum(offset.begin(), offset.end(), offset.begin());
	std::vector<int> at(offset.begin(), offset.end() - 1);
	for (int e = 0; e < m; e++) source[at[to[e]]++] = from[e];
	int *dFrom = upload(from), *dTo = upload(to), *dDegree = upload(degree), *dOffset = upload(offset), *dSource = upload(source);
	std::vector<float> start(n, 1.f / n), zero(n, 0.f), byPull(n), byPush(n);
	float *rank = upload(start), *last = upload(start), *contrib = upload(zero), *sum = upload(zero);
	double *delta, h;
	must(cudaMalloc(&delta, 8));
	const float base = 0.15f / n;
	for (int r = 0; r < repeats; r++) {
		must(cudaMemcpy(rank, start.data(), 4 * n, cudaMemcpyHostToDevice));
		for (int it = 0; it < 20; it++) {
			std::swap(rank, last);
			contribution<<<(n + 255) / 256, 256>>>(last, dDegree, contrib, n);
			pull<<<(n * 32 + 255) / 256, 256>>>(dOffset, dSource, contrib, rank, n, base);
			must(cudaMemset(delta, 0, 8));
			l1Difference<<<128, 256>>>(rank, last, n, delta);
			must(cudaMemcpy(&h, delta, 8, cudaMemcpyDeviceToHost));
			if (h < 1e-7) break;
		}
	}
	must(cudaMemcpy(byPull.data(), rank, 4 * n, cudaMemcpyDeviceToHost));
	must(cudaMemcpy(rank, start.data(), 4 * n, cudaMemcpyHostToDevice));
	for (int it = 0; it < 20 * repeats / 4; it++) {
		contribution<<<(n + 255) / 256, 256>>>(rank, dDegree, contrib, n);
		push<<<(m + 255) / 256, 256>>>(dFrom, dTo, contrib, sum, m);
		finishPush<<<(n + 255) / 256, 256>>>(sum, rank, n, base);
	}
	must(cudaMemcpy(byPush.data(), rank, 4 * n, cudaMemcpyDeviceToHost));
	std::vector<double> ref(n, 1. / n), next(n);
	for (int it = 0; it < 20; it++) {
		std::fill(next.begin(), next.end(), base);
		for (int e = 0; e < m; e++) next[to[e]] += 0.85 * ref[from[e]] / degree[from[e]];
		ref.swap(next);
	}
	double off = 0, all = 0;
	for (int i = 0; i < n; i++) off += std::fabs(ref[i] - byPull[i]) + std::fabs(ref[i] - byPush[i]), all += ref[i];
	std::printf("off by %g of %g\n", off, all);
	return off < 1e-3 * all ? EXIT_SUCCESS : EXIT_FAILURE;
}
