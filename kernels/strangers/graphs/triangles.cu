// SPDX-License-Identifier: Apache-2.0
// Triangle counting by intersection of sorted neighbour lists, and k-core peeling.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>
typedef unsigned long long u64;

__global__ void triangles_thread(const int *off, const int *nbr, int n, u64 *total)
{
	int u = blockIdx.x * blockDim.x + threadIdx.x;
	u64 mine = 0;
	if (u < n)
		for (int e = off[u]; e < off[u + 1]; e++) {
			int v = nbr[e], a = off[u], b = off[v];
			while (a < off[u + 1] && b < off[v + 1]) {
				int x = nbr[a], y = nbr[b];
				mine += x == y;
				a += x <= y;
				b += y <= x;
			}
		}
	if (mine) atomicAdd(total, mine);
}

__global__ void triangles_warp(const int *off, const int *nbr, const int *src, int m, u64 *total)
{
	int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31, warps = gridDim.x * blockDim.x >> 5;
	u64 mine = 0;
	for (int e = warp; e < m; e += warps) {
		int u = src[e], v = nbr[e];
		for (int a = off[u] + lane; a < off[u + 1]; a += 32) {
			int x = nbr[a], lo = off[v], hi = off[v + 1];
			while (lo < hi) {
				int mid = (lo + hi) / 2;
				if (nbr[mid] < x) lo = mid + 1; else hi = mid;
			}
			mine += lo < off[v + 1] && nbr[lo] == x;
		}
	}
	for (int d = 16; d; d >>= 1) mine += __shfl_down_sync(0xffffffffu, mine, d);
	if (!lane && mine) atomicAdd(total, mine);
}

__global__ void degrees(const int *off, int *deg, int n)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	if (v < n) deg[v] = off[v + 1] - off[v];
}

__global__ void peel(const int *off, const int *nbr, int *deg, int n, int k, int *removed)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	if (v >= n || deg[v] >= k || deg[v] < 0) return;
	deg[v] = -1000000;
	atomicAdd(removed, 1);
	for (int e = off[v]; e < off[v + 1]; e++) atomicSub(&deg[nbr[e]], 1);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 60000, loops = argc > 2 ? atoi(argv[2]) : 400;
	std::vector<std::vector<int>> full(n), up(n);
	srand48(5);
	for (int i = 1; i < n; i++)
		for (int k = 0; k < 12; k++) {
			int w = (int)(i * drand48() * drand48());
			full[i].push_back(w);
			full[w].push_back(i);
		}
	std::vector<int> off{0}, nbr, src, foff{0}, fnbr;
	for (int v = 0; v < n; v++) {
		std::sort(full[v].begin(), full[v].end());
		full[v].erase(std::unique(full[v].begin(), full[v].end()), full[v].end());
		for (int w : full[v]) {
			fnbr.push_back(w);
			// oriented towards the larger degree would be better; the index will do
			if (w < v) nbr.push_back(w), src.push_back(v);
		}
		off.push_back(nbr.size());
		foff.push_back(fnbr.size());
	}
	int m = nbr.size(), *dOff, *dNbr, *dSrc, *dfOff, *dfNbr, *dDeg, *dRem;
	u64 *dTotal, got[2];
	cudaMalloc(&dOff, off.size() * 4); cudaMalloc(&dNbr, m * 4); cudaMalloc(&dSrc, m * 4); cudaMalloc(&dfOff, foff.size() * 4);
	cudaMalloc(&dfNbr, fnbr.size() * 4); cudaMalloc(&dDeg, n * 4); cudaMalloc(&dRem, 4); cudaMalloc(&dTotal, 16);
	cudaMemcpy(dOff, off.data(), off.size() * 4, cudaMemcpyHostToDevice);
	cudaMemcpy(dNbr, nbr.data(), m * 4, cudaMemcpyHostToDevice);
	cudaMemcpy(dSrc, src.data(), m * 4, cudaMemcpyHostToDevice);
	cudaMemcpy(dfOff, foff.data(), foff.size() * 4, cudaMemcpyHostToDevice);
	cudaMemcpy(dfNbr, fnbr.data(), fnbr.size() * 4, cudaMemcpyHostToDevice);
	for (int i = 0; i < loops; i++) {
		cudaMemset(dTotal, 0, 16);
		triangles_thread<<<(n + 127) / 128, 128>>>(dOff, dNbr, n, dTotal);
		triangles_warp<<<528, 256>>>(dOff, dNbr, dSrc, m, dTotal + 1);
	}
	cudaMemcpy(got, dTotal, 16, cudaMemcpyDeviceToHost);
	int core = 0;
	for (int i = 0; i < loops; i++) {
		degrees<<<(n + 255) / 256, 256>>>(dfOff, dDeg, n);
		int left = n;
		for (core = 1; left > 0; core++)
			for (int gone = 1; gone;) {
				cudaMemset(dRem, 0, 4);
				peel<<<(n + 255) / 256, 256>>>(dfOff, dfNbr, dDeg, n, core, dRem);
				cudaMemcpy(&gone, dRem, 4, cudaMemcpyDeviceToHost);
				left -= gone;
			}
	}
	u64 want = 0;
	for (int u = 0; u < n; u++)
		for (int e = off[u]; e < off[u + 1]; e++) {
			int v = nbr[e], a = off[u], b = off[v];
			while (a < off[u + 1] && b < off[v + 1]) {
				int x = nbr[a], y = nbr[b];
				want += x == y;
				a += x <= y;
				b += y <= x;
			}
		}
	printf("%llu %llu triangles, %llu expected; largest core %d\n", got[0], got[1], want, core - 2);
	return got[0] != want || got[1] != want || core < 3;
}
