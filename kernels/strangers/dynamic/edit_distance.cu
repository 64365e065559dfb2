// SPDX-License-Identifier: Apache-2.0
// Edit distances of words: a table in local memory; Myers' bit vectors; a warp to a pair by shuffles.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <algorithm>
#define LEN 64
#define GO(e) do { cudaError_t r = (e); if (r) { printf("%d: %s\n", __LINE__, cudaGetErrorString(r)); return 1; } } while (0)

__global__ void plain(const char *text, const int *la, int pairs, int *out)
{
	int p = blockIdx.x * blockDim.x + threadIdx.x;
	if (p >= pairs) return;
	const char *a = text + (size_t)p * 2 * LEN, *b = a + LEN;
	unsigned char row[LEN + 1];
	int m = la[2 * p], n = la[2 * p + 1];
	for (int j = 0; j <= n; j++) row[j] = j;
	for (int i = 1; i <= m; i++) {
		int diag = row[0];
		row[0] = i;
		for (int j = 1; j <= n; j++) {
			int v = min(min(row[j], row[j - 1]) + 1, diag + (a[i - 1] != b[j - 1]));
			diag = row[j];
			row[j] = v;
		}
	}
	out[p] = row[n];
}

__global__ void myers(const char *text, const int *la, int pairs, int *out)
{
	int p = blockIdx.x * blockDim.x + threadIdx.x;
	if (p >= pairs) return;
	const char *a = text + (size_t)p * 2 * LEN, *b = a + LEN;
	int m = la[2 * p], n = la[2 * p + 1], score = m;
	uint64_t peq[8] = {}; // letters a to h
	for (int i = 0; i < m; i++) peq[a[i] - 'a'] |= 1ull << i;
	uint64_t pv = ~0ull, mv = 0, last = 1ull << (m - 1);
	for (int j = 0; j < n; j++) {
		uint64_t eq = peq[b[j] - 'a'], xv = eq | mv, xh = (((eq & pv) + pv) ^ pv) | eq, ph = mv | ~(xh | pv), mh = pv & xh;
		if (ph & last) score++;
		if (mh & last) score--;
		ph = ph << 1 | 1;
		pv = mh << 1 | ~(xv | ph);
		mv = ph & xv;
	}
	out[p] = score;
}

__global__ void by_warp(const char *text, const int *la, int pairs, int *out)
{
	int p = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
	if (p >= pairs) return;
	const char *a = text + (size_t)p * 2 * LEN, *b = a + LEN;
	int m = la[2 * p], n = la[2 * p + 1], cell0 = 2 * lane + 1, cell1 = 2 * lane + 2, diag0 = 2 * lane; // columns of b
	// lane l holds columns 2l+1 and 2l+2; rows go by in a wave
	for (int step = 0; step < m + 31; step++) {
		int fromLeft = __shfl_up_sync(~0u, cell1, 1), i = step - lane;
		if (lane == 0) fromLeft = i + 1;
		if (i >= 0 && i < m) {
			int v0 = min(min(cell0, fromLeft) + 1, diag0 + (a[i] != b[2 * lane]));
			int v1 = min(min(cell1, v0) + 1, cell0 + (a[i] != b[2 * lane + 1]));
			diag0 = fromLeft;
			cell0 = v0;
			cell1 = v1;
		}
	}
	int want = n - 1;
	if (lane == want / 2) out[p] = want % 2 ? cell1 : cell0;
}

int main(int argc, char **argv)
{
	int pairs = argc > 1 ? atoi(argv[1]) : 200000, rounds = argc > 2 ? atoi(argv[2]) : 200;
	std::vector<char> text((size_t)pairs * 2 * LEN);
	std::vector<int> len(2 * pairs), got[3];
	uint32_t s = 77;
	auto r = [&] { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return s >> 4; };
	for (auto &c : text) c = 'a' + r() % 8;
	for (int p = 0; p < pairs; p++) {
		len[2 * p] = 8 + r() % (LEN - 8);
		len[2 * p + 1] = 8 + r() % (LEN - 8);
		if (r() % 2) memcpy(&text[(size_t)p * 2 * LEN + LEN], &text[(size_t)p * 2 * LEN + r() % 4], LEN - 4);
	}
	char *dt;
	int *dl, *out;
	GO(cudaMalloc(&dt, text.size())); GO(cudaMalloc(&dl, 8 * pairs)); GO(cudaMalloc(&out, 4 * pairs));
	GO(cudaMemcpy(dt, text.data(), text.size(), cudaMemcpyHostToDevice)); GO(cudaMemcpy(dl, len.data(), 8 * pairs, cudaMemcpyHostToDevice));
	for (int way = 0; way < 3; way++) {
		for (int k = 0; k < rounds; k++) {
			if (way == 0) plain<<<(pairs + 127) / 128, 128>>>(dt, dl, pairs, out);
			if (way == 1) myers<<<(pairs + 127) / 128, 128>>>(dt, dl, pairs, out);
			if (way == 2) by_warp<<<(pairs + 7) / 8, 256>>>(dt, dl, pairs, out);
		}
		got[way].resize(pairs);
		GO(cudaMemcpy(got[way].data(), out, 4 * pairs, cudaMemcpyDeviceToHost));
	}
	int wrong[3] = {};
	for (int p = 0; p < pairs; p += 23) {
		int row[LEN + 1], m = len[2 * p], n = len[2 * p + 1];
		const char *a = &text[(size_t)p * 2 * LEN], *b = a + LEN;
		for (int j = 0; j <= n; j++) row[j] = j;
		for (int i = 1; i <= m; i++)
			for (int j = 1, diag = row[0]; (j == 1 ? row[0] = i : 0), j <= n; j++) {
				int v = std::min(std::min(row[j], row[j - 1]) + 1, diag + (a[i - 1] != b[j - 1]));
				diag = row[j];
				row[j] = v;
			}
		for (int w = 0; w < 3; w++) wrong[w] += got[w][p] != row[n];
	}
	printf("wrong: %d %d %d\n", wrong[0], wrong[1], wrong[2]);
	return wrong[0] || wrong[1] || wrong[2];
}
