// SPDX-License-Identifier: Apache-2.0
// Breadth-first search of a random graph from several sources: top-down with a queue, bottom-up when the
// frontier is large. Usage: bfs_levels [log2 of vertices] [sources]
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(2); } } while (0)

__global__ void resetLevels(int *level, int n, int source)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	if (v < n) level[v] = v == source ? 0 : -1;
}

__global__ void topDown(const int *row, const int *col, int *level, const int *queue, int queued, int *next, int *nextCount, int depth)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= queued) return;
	int v = queue[i];
	for (int e = row[v]; e < row[v + 1]; e++) {
		int w = col[e];
		if (level[w] < 0 && atomicCAS(&level[w], -1, depth + 1) == -1)
			next[atomicAdd(nextCount, 1)] = w;
	}
}

__global__ void bottomUp(const int *row, const int *col, int *level, int n, int depth, int *found)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	if (v >= n || level[v] >= 0) return;
	for (int e = row[v]; e < row[v + 1]; e++)
		if (level[col[e]] == depth) {
			level[v] = depth + 1;
			atomicAdd(found, 1);
			return;
		}
}

__global__ void gatherFrontier(const int *level, int n, int depth, int *queue, int *count)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	if (v < n && level[v] == depth) queue[atomicAdd(count, 1)] = v;
}

static unsigned rnd(unsigned &s) { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return s; }

int main(int argc, char **argv)
{
	int scale = argc > 1 ? atoi(argv[1]) : 21, sources = argc > 2 ? atoi(argv[2]) : 250;
	int n = 1 << scale, m = n * 4;
	std::vector<int> from(m), to(m), row(n + 1, 0), col(2 * m);
	unsigned s = 12345;
	for (int i = 0; i < m; i++) { // skewed: the product of two draws
		from[i] = (int)(((unsigned long long)rnd(s) * (rnd(s) >> 12)) >> 20 >> (32 - scale)) & (n - 1);
		to[i] = rnd(s) & (n - 1);
	}
	for (int i = 0; i < m; i++) row[from[i] + 1]++, row[to[i] + 1]++;
	for (int v = 0; v < n; v++) row[v + 1] += row[v];
	std::vector<int> at(row.begin(), row.end() - 1);
	for (int i = 0; i < m; i++) col[at[from[i]]++] = to[i], col[at[to[i]]++] = from[i];

	int *dRow, *dCol, *dLevel, *dQ[2], *dCount;
	CK(cudaMalloc(&dRow, (n + 1) * 4)); CK(cudaMalloc(&dCol, 2 * m * 4)); CK(cudaMalloc(&dLevel, n * 4));
	CK(cudaMalloc(&dQ[0], n * 4)); CK(cudaMalloc(&dQ[1], n * 4)); CK(cudaMalloc(&dCount, 4));
	CK(cudaMemcpy(dRow, row.data(), (n + 1) * 4, cudaMemcpyHostToDevice));
	CK(cudaMemcpy(dCol, col.data(), 2 * m * 4, cudaMemcpyHostToDevice));
	int blocks = (n + 255) / 256, last = 0;
	for (int t = 0; t < sources; t++) {
		int source = last = rnd(s) & (n - 1), queued = 1, depth = 0, cur = 0;
		resetLevels<<<blocks, 256>>>(dLevel, n, source);
		CK(cudaMemcpy(dQ[0], &source, 4, cudaMemcpyHostToDevice));
		while (queued) {
			CK(cudaMemset(dCount, 0, 4));
			if (queued < n / 16) {
				topDown<<<(queued + 127) / 128, 128>>>(dRow, dCol, dLevel, dQ[cur], queued, dQ[1 - cur], dCount, depth);
				CK(cudaMemcpy(&queued, dCount, 4, cudaMemcpyDeviceToHost));
				cur = 1 - cur;
			} else {
				bottomUp<<<blocks, 256>>>(dRow, dCol, dLevel, n, depth, dCount);
				CK(cudaMemcpy(&queued, dCount, 4, cudaMemcpyDeviceToHost));
				if (queued && queued < n / 16) {
					CK(cudaMemset(dCount, 0, 4));
					gatherFrontier<<<blocks, 256>>>(dLevel, n, depth + 1, dQ[cur], dCount);
				}
			}
			depth++;
		}
	}
	std::vector<int> level(n), want(n, -1), queue{last};
	CK(cudaMemcpy(level.data(), dLevel, n * 4, cudaMemcpyDeviceToHost));
	want[last] = 0;
	for (size_t i = 0; i < queue.size(); i++)
		for (int e = row[queue[i]]; e < row[queue[i] + 1]; e++)
			if (want[col[e]] < 0) { want[col[e]] = want[queue[i]] + 1; queue.push_back(col[e]); }
	int wrong = 0;
	for (int v = 0; v < n; v++) wrong += level[v] != want[v];
	printf("reached %zu of %d, wrong %d\n", queue.size(), n, wrong);
	return wrong != 0;
}
