// SPDX-License-Identifier: Apache-2.0
// Local alignment. Many short pairs, a thread each with its row in local memory; one long pair, an
// anti-diagonal of tiles per launch (hundreds of small grids).
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
const int MATCH = 2, MISMATCH = -1, GAP = -1, SHORT = 96, TILE = 64;

__global__ void short_pairs(const char *a, const char *b, int pairs, int *best)
{
	int p = blockIdx.x * blockDim.x + threadIdx.x;
	if (p >= pairs) return;
	int row[SHORT + 1], most = 0;
	for (int j = 0; j <= SHORT; j++) row[j] = 0;
	for (int i = 0; i < SHORT; i++) {
		int diag = 0;
		char c = a[i * pairs + p];
		for (int j = 1; j <= SHORT; j++) {
			int h = max(0, max(diag + (c == b[(j - 1) * pairs + p] ? MATCH : MISMATCH), max(row[j], row[j - 1]) + GAP));
			diag = row[j];
			row[j] = h;
			most = max(most, h);
		}
	}
	best[p] = most;
}

// One warp of 64 threads to a tile; the frontier between tiles is in memory.
__global__ void tile_diagonal(const char *a, const char *b, int n, int diagonal, int *below, int *right, int *corner, int *best)
{
	int tiles = n / TILE, ti = blockIdx.x + max(0, diagonal - tiles + 1), tj = diagonal - ti, t = threadIdx.x;
	__shared__ int prev[TILE + 1], prev2[TILE + 1], cur[TILE + 1], top[TILE + 1];
	__shared__ char sb[TILE];
	top[t + 1] = ti ? below[tj * TILE + t] : 0;
	if (t == 0) top[0] = ti && tj ? corner[(ti - 1) * tiles + tj - 1] : 0;
	sb[t] = b[tj * TILE + t];
	int left = tj ? right[ti * TILE + t] : 0, upLeft, most = 0, mine = 0;
	char c = a[ti * TILE + t];
	int leftAbove = t ? (tj ? right[ti * TILE + t - 1] : 0) : top[0];
	__syncthreads();
	for (int d = 0; d < 2 * TILE - 1; d++) {
		int j = d - t;
		bool in = j >= 0 && j < TILE;
		int h = 0;
		if (in) {
			int up = t ? prev[t - 1] : top[j + 1], lf = j ? mine : left;
			upLeft = j ? (t ? prev2[t - 1] : top[j]) : leftAbove;
			h = max(0, max(upLeft + (c == sb[j] ? MATCH : MISMATCH), max(up, lf) + GAP));
			mine = h;
			most = max(most, h);
			cur[t] = h;
		}
		__syncthreads();
		prev2[t] = prev[t];
		prev[t] = cur[t];
		if (in && t == TILE - 1) below[tj * TILE + j] = h;
		__syncthreads();
	}
	right[ti * TILE + t] = mine;
	if (t == TILE - 1) corner[ti * tiles + tj] = mine;
	for (int s = 16; s; s >>= 1) most = max(most, __shfl_xor_sync(~0u, most, s));
	if (t % 32 == 0) atomicMax(best, most);
}

static int reference(const char *a, int sa, const char *b, int sb, int n)
{
	std::vector<int> row(n + 1, 0);
	int most = 0;
	for (int i = 0; i < n; i++)
		for (int j = 1, diag = 0; j <= n; j++) {
			int h = std::max(0, std::max(diag + (a[i * sa] == b[(j - 1) * sb] ? MATCH : MISMATCH), std::max(row[j], row[j - 1]) + GAP));
			diag = row[j];
			row[j] = h;
			most = std::max(most, h);
		}
	return most;
}

int main(int argc, char **argv)
{
	int pairs = argc > 1 ? atoi(argv[1]) : 100000, n = argc > 2 ? atoi(argv[2]) : 8192, rounds = argc > 3 ? atoi(argv[3]) : 90;
	n = n / TILE * TILE;
	std::vector<char> a((size_t)SHORT * pairs), b(a.size()), la(n), lb(n);
	srand(2);
	for (auto *v : {&a, &b, &la, &lb}) for (auto &c : *v) c = "ACGT"[rand() >> 8 & 3];
	for (int i = n / 4; i < n / 3; i++) lb[i] = la[i + 50];
	char *da, *db, *dla, *dlb;
	int *best, *below, *right, *corner, long_best = -1, tiles = n / TILE, wrong = 0;
	cudaMalloc(&da, a.size()); cudaMalloc(&db, b.size()); cudaMalloc(&dla, n); cudaMalloc(&dlb, n); cudaMalloc(&best, 4 * pairs);
	cudaMalloc(&below, 4 * n); cudaMalloc(&right, 4 * n); cudaMalloc(&corner, 4 * tiles * tiles);
	cudaMemcpy(da, a.data(), a.size(), cudaMemcpyHostToDevice); cudaMemcpy(db, b.data(), b.size(), cudaMemcpyHostToDevice);
	cudaMemcpy(dla, la.data(), n, cudaMemcpyHostToDevice); cudaMemcpy(dlb, lb.data(), n, cudaMemcpyHostToDevice);
	std::vector<int> got(pairs);
	for (int r = 0; r < rounds; r++) short_pairs<<<(pairs + 63) / 64, 64>>>(da, db, pairs, best);
	cudaMemcpy(got.data(), best, 4 * pairs, cudaMemcpyDeviceToHost);
	for (int r = 0; r < rounds; r++) {
		cudaMemset(best, 0, 4);
		for (int d = 0; d < 2 * tiles - 1; d++) tile_diagonal<<<std::min(std::min(d + 1, tiles), 2 * tiles - 1 - d), TILE>>>(dla, dlb, n, d, below, right, corner, best);
	}
	cudaMemcpy(&long_best, best, 4, cudaMemcpyDeviceToHost);
	for (int p = 0; p < pairs; p += pairs / 500 + 1) wrong += got[p] != reference(&a[p], pairs, &b[p], pairs, SHORT);
	int want = reference(la.data(), 1, lb.data(), 1, n);
	printf("%d short pairs wrong; the long one scores %d, expected %d\n", wrong, long_best, want);
	return wrong || long_best != want;
}
