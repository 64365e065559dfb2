// SPDX-License-Identifier: Apache-2.0
// Huffman coding: counts on the GPU, the tree on the host, lengths, offsets, packing by atomicOr, decoding by chunk.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <queue>
#include <vector>
#define CHUNK 256

__constant__ uint32_t code[256];
__constant__ uint8_t bits[256];
struct Node { int left, right, symbol; };

__global__ void frequency(const uint8_t *in, int n, uint32_t *freq)
{
	__shared__ uint32_t f[8][256]; // a copy for each warp
	for (int i = threadIdx.x; i < 2048; i += 256) f[i / 256][i % 256] = 0;
	__syncthreads();
	for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&f[threadIdx.x / 32][in[i]], 1);
	__syncthreads();
	uint32_t sum = 0;
	for (int w = 0; w < 8; w++) sum += f[w][threadIdx.x];
	if (sum) atomicAdd(&freq[threadIdx.x], sum);
}
__global__ void chunk_bits(const uint8_t *in, int chunks, uint32_t *len)
{
	int c = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	if (c >= chunks) return;
	uint32_t s = 0;
	for (int i = threadIdx.x % 32; i < CHUNK; i += 32) s += bits[in[c * CHUNK + i]];
	s = __reduce_add_sync(~0u, s);
	if (threadIdx.x % 32 == 0) len[c] = s;
}
__global__ void offsets(const uint32_t *len, uint32_t *off, int chunks) // one block
{
	__shared__ uint32_t s[512];
	int per = (chunks + 511) / 512, from = threadIdx.x * per, to = min(chunks, from + per);
	uint32_t mine = 0;
	for (int i = from; i < to; i++) mine += len[i];
	s[threadIdx.x] = mine;
	__syncthreads();
	if (threadIdx.x == 0)
		for (uint32_t i = 0, t = 0; i < 512; i++) { uint32_t x = s[i]; s[i] = t; t += x; }
	__syncthreads();
	uint32_t t = s[threadIdx.x];
	for (int i = from; i < to; i++) { off[i] = t; t += len[i]; }
}
__global__ void pack(const uint8_t *in, const uint32_t *off, uint32_t *out, int chunks)
{
	int c = blockIdx.x * blockDim.x + threadIdx.x;
	if (c >= chunks) return;
	uint32_t at = off[c];
	for (int i = 0; i < CHUNK; i++) {
		uint8_t s = in[c * CHUNK + i];
		uint64_t v = (uint64_t)code[s] << (64 - bits[s] - at % 32);
		atomicOr(&out[at / 32], (uint32_t)(v >> 32));
		if ((uint32_t)v) atomicOr(&out[at / 32 + 1], (uint32_t)v);
		at += bits[s];
	}
}
__global__ void unpack(const uint32_t *in, const uint32_t *off, const Node *tree, int root, uint8_t *out, int chunks)
{
	int c = blockIdx.x * blockDim.x + threadIdx.x;
	if (c >= chunks) return;
	uint32_t at = off[c];
	for (int i = 0; i < CHUNK; i++) {
		int node = root;
		while (tree[node].symbol < 0) {
			node = in[at / 32] >> (31 - at % 32) & 1 ? tree[node].right : tree[node].left;
			at++;
		}
		out[c * CHUNK + i] = tree[node].symbol;
	}
}

int main(int argc, char **argv)
{
	int chunks = (argc > 1 ? atoi(argv[1]) : 24) << 12, n = chunks * CHUNK, rounds = argc > 2 ? atoi(argv[2]) : 400;
	std::vector<uint8_t> h(n), back(n);
	uint32_t x = 9;
	for (auto &c : h) { x = x * 1664525u + 1013904223u; c = 'a' + __builtin_clz((x >> 5) | 1) * 2 + (x >> 30); }
	uint8_t *in, *out;
	uint32_t *freq, *len, *off, *packed, f[256];
	cudaMalloc(&in, n); cudaMalloc(&out, n); cudaMalloc(&freq, 1024); cudaMalloc(&len, 4 * chunks); cudaMalloc(&off, 4 * chunks); cudaMalloc(&packed, n + 64);
	cudaMemcpy(in, h.data(), n, cudaMemcpyHostToDevice);
	std::vector<Node> tree;
	Node *dtree;
	cudaMalloc(&dtree, 512 * sizeof(Node));
	for (int r = 0; r < rounds; r++) {
		cudaMemset(freq, 0, 1024);
		frequency<<<264, 256>>>(in, n, freq);
		cudaMemcpy(f, freq, 1024, cudaMemcpyDeviceToHost);
		typedef std::pair<uint64_t, int> Item;
		std::priority_queue<Item, std::vector<Item>, std::greater<Item>> q;
		tree.clear();
		for (int s = 0; s < 256; s++)
			if (f[s]) { q.push({f[s], (int)tree.size()}); tree.push_back({-1, -1, s}); }
		while (q.size() > 1) {
			Item a = q.top(); q.pop();
			Item b = q.top(); q.pop();
			q.push({a.first + b.first, (int)tree.size()});
			tree.push_back({a.second, b.second, -1});
		}
		uint32_t hcode[256] = {};
		uint8_t hbits[256] = {};
		std::vector<std::pair<int, std::pair<uint32_t, int>>> todo{{(int)tree.size() - 1, {0, 0}}};
		while (!todo.empty()) {
			auto t = todo.back();
			todo.pop_back();
			Node &node = tree[t.first];
			if (node.symbol >= 0) { hcode[node.symbol] = t.second.first; hbits[node.symbol] = t.second.second; continue; }
			todo.push_back({node.left, {t.second.first * 2, t.second.second + 1}});
			todo.push_back({node.right, {t.second.first * 2 + 1, t.second.second + 1}});
		}
		cudaMemcpyToSymbol(code, hcode, sizeof hcode);
		cudaMemcpyToSymbol(bits, hbits, sizeof hbits);
		cudaMemcpy(dtree, tree.data(), tree.size() * sizeof(Node), cudaMemcpyHostToDevice);
		cudaMemset(packed, 0, n + 64);
		chunk_bits<<<(chunks * 32 + 255) / 256, 256>>>(in, chunks, len);
		offsets<<<1, 512>>>(len, off, chunks);
		pack<<<(chunks + 127) / 128, 128>>>(in, off, packed, chunks);
		unpack<<<(chunks + 127) / 128, 128>>>(packed, off, dtree, (int)tree.size() - 1, out, chunks);
	}
	if (cudaMemcpy(back.data(), out, n, cudaMemcpyDeviceToHost) != cudaSuccess) { puts("CUDA failed"); return 2; }
	bool same = std::equal(h.begin(), h.end(), back.begin());
	printf("%zu nodes, %s\n", tree.size(), same ? "ok" : "not what was packed");
	return !same;
}
