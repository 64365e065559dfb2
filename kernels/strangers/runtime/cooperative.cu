// SPDX-License-Identifier: Apache-2.0
// Cooperative groups: the whole grid meets at barriers (cooperative launch); tiles of a warp; a cluster shares memory.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
namespace cg = cooperative_groups;

__global__ void relaxAll(float *a, float *b, int n, int steps)
{
	cg::grid_group grid = cg::this_grid();
	for (int s = 0; s < steps; s++) {
		for (int i = grid.thread_rank(); i < n; i += grid.size())
			b[i] = i == 0 || i == n - 1 ? a[i] : (a[i - 1] + a[i] + a[i + 1]) / 3;
		grid.sync();
		float *t = a; a = b; b = t;
	}
}
__global__ void gridSum(const float *x, int n, double *partial, double *result)
{
	cg::grid_group grid = cg::this_grid();
	cg::thread_block block = cg::this_thread_block();
	__shared__ double s[32];
	double v = 0;
	for (int i = grid.thread_rank(); i < n; i += grid.size()) v += x[i];
	auto warp = cg::tiled_partition<32>(block);
	v = cg::reduce(warp, v, cg::plus<double>());
	if (warp.thread_rank() == 0) s[warp.meta_group_rank()] = v;
	block.sync();
	if (block.thread_rank() == 0) {
		for (int i = 1; i < (int)warp.meta_group_size(); i++) v += s[i];
		partial[blockIdx.x] = v;
	}
	grid.sync();
	if (grid.thread_rank() == 0) {
		double t = 0;
		for (int b = 0; b < gridDim.x; b++) t += partial[b];
		*result = t;
	}
}
template <int TILE> __global__ void tileMax(const float *x, float *out, int n)
{
	auto tile = cg::tiled_partition<TILE>(cg::this_thread_block());
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float m = cg::reduce(tile, i < n ? x[i] : -1e30f, cg::greater<float>());
	if (tile.thread_rank() == 0 && i < n) out[i / TILE] = m;
}
__global__ void __cluster_dims__(4, 1, 1) clusterHistogram(const float *x, int n, unsigned *hist, int bins) // a quarter of the bins in each block
{
	extern __shared__ unsigned mine[];
	cg::cluster_group cluster = cg::this_cluster();
	int each = bins / 4, clusters = gridDim.x / 4, id = blockIdx.x / 4;
	for (int i = threadIdx.x; i < each; i += blockDim.x) mine[i] = 0;
	cluster.sync();
	for (int i = id * 4 * blockDim.x + cluster.block_rank() * blockDim.x + threadIdx.x; i < n; i += clusters * 4 * blockDim.x) {
		int bin = min(bins - 1, (int)(x[i] * bins));
		atomicAdd(cluster.map_shared_rank(mine, bin / each) + bin % each, 1u);
	}
	cluster.sync();
	for (int i = threadIdx.x; i < each; i += blockDim.x) atomicAdd(&hist[cluster.block_rank() * each + i], mine[i]);
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3000000, steps = argc > 2 ? atoi(argv[2]) : 200, bins = 16384, bad = 0, sms, per;
	std::vector<float> h(n), o(n), tiles(n / 8);
	for (int i = 0; i < n; i++) h[i] = (i * 2654435761u >> 8) / 16777216.f;
	float *x, *a, *b;
	double *partial, *result, r, want = 0;
	unsigned *hist;
	if (cudaMalloc(&x, 4l * n) || cudaMalloc(&a, 4l * n) || cudaMalloc(&b, 4l * n) || cudaMalloc(&partial, 8 << 14) || cudaMalloc(&result, 8) || cudaMalloc(&hist, 4 * bins)) return 2;
	cudaMemcpy(x, h.data(), 4l * n, cudaMemcpyHostToDevice);
	cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
	cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, relaxAll, 256, 0);
	for (int m = 3000; m <= n; m *= 10) {
		cudaMemcpy(a, x, 4l * m, cudaMemcpyDeviceToDevice);
		int count = m;
		void *args[] = {&a, &b, &count, &steps};
		for (int k = 0; k < 60; k++)
			if (cudaLaunchCooperativeKernel((void *)relaxAll, dim3(std::min(sms * per, (m + 255) / 256)), dim3(256), args, 0, 0)) bad++;
		void *args2[] = {&x, &count, &partial, &result};
		for (int k = 0; k < 600; k++)
			if (cudaLaunchCooperativeKernel((void *)gridSum, dim3(sms * 2), dim3(256), args2, 0, 0)) bad++;
		cudaMemcpy(&r, result, 8, cudaMemcpyDeviceToHost);
		want = 0;
		for (int i = 0; i < m; i++) want += h[i];
		bad += !(fabs(r - want) < 1e-6 * want);
	}
	cudaMemcpy(a, x, 12000, cudaMemcpyDeviceToDevice);
	int few = 3000, ten = 10;
	void *args[] = {&a, &b, &few, &ten};
	bad += cudaLaunchCooperativeKernel((void *)relaxAll, dim3(12), dim3(256), args, 0, 0) != cudaSuccess;
	cudaMemcpy(o.data(), a, 12000, cudaMemcpyDeviceToHost);
	std::vector<float> p(h.begin(), h.begin() + few), q(p);
	for (int s = 0; s < ten; s++) { for (int i = 1; i < few - 1; i++) q[i] = (p[i - 1] + p[i] + p[i + 1]) / 3; std::swap(p, q); }
	for (int i = 0; i < few; i++) bad += !(fabsf(p[i] - o[i]) < 1e-4f);
	for (int k = 0; k < 1000; k++) { tileMax<8><<<(n + 255) / 256, 256>>>(x, b, n); tileMax<32><<<(n + 255) / 256, 256>>>(x, a, n); }
	cudaMemcpy(tiles.data(), b, 4l * (n / 8), cudaMemcpyDeviceToHost);
	for (int t = 0; t < n / 8; t += 17) bad += tiles[t] != *std::max_element(h.begin() + t * 8, h.begin() + t * 8 + 8);
	for (int k = 0; k < 600; k++) { cudaMemset(hist, 0, 4 * bins); clusterHistogram<<<128, 256, bins>>>(x, n, hist, bins); }
	std::vector<unsigned> hh(bins), ref(bins);
	cudaMemcpy(hh.data(), hist, 4 * bins, cudaMemcpyDeviceToHost);
	for (float v : h) ref[std::min(bins - 1, (int)(v * bins))]++;
	bad += hh != ref;
	printf("%d wrong, %s\n", bad, cudaGetErrorString(cudaGetLastError()));
	return bad != 0;
}
