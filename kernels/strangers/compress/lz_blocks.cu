// SPDX-License-Identifier: Apache-2.0
// An LZ77 of independent chunks. A thread compresses a chunk greedily with a small hash table of its own in
// shared or local memory; another kernel takes it apart; a third looks for the longest match by brute force.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#define CHUNK 2048
#define SLOTS 256

__device__ uint32_t hash3(const uint8_t *p) { return ((p[0] | p[1] << 8 | p[2] << 16) * 2654435761u) >> 24; }

__global__ void lzCompress(const uint8_t *in, uint8_t *out, int *size, int chunks)
{
	int c = blockIdx.x * blockDim.x + threadIdx.x;
	if (c >= chunks) return;
	const uint8_t *src = in + (size_t)c * CHUNK;
	uint8_t *dst = out + (size_t)c * CHUNK * 2;
	int16_t table[SLOTS];
	for (int i = 0; i < SLOTS; i++) table[i] = -1;
	int o = 0, i = 0;
	while (i < CHUNK) {
		int len = 0, at = -1;
		if (i + 3 < CHUNK) {
			uint32_t h = hash3(src + i);
			at = table[h];
			table[h] = (int16_t)i;
			if (at >= 0)
				while (len < 127 && i + len < CHUNK && src[at + len] == src[i + len]) len++;
		}
		if (len >= 4) {
			int back = i - at;
			dst[o++] = 0x80 | len;
			dst[o++] = back & 255;
			dst[o++] = back >> 8;
			i += len;
		} else {
			dst[o++] = 0;
			dst[o++] = src[i++];
		}
	}
	size[c] = o;
}

__global__ void lzExpand(const uint8_t *in, const int *size, uint8_t *out, int chunks)
{
	int c = blockIdx.x * blockDim.x + threadIdx.x;
	if (c >= chunks) return;
	const uint8_t *src = in + (size_t)c * CHUNK * 2;
	uint8_t *dst = out + (size_t)c * CHUNK;
	for (int i = 0, o = 0; i < size[c];) {
		int token = src[i];
		if (token & 0x80) {
			int len = token & 127, back = src[i + 1] | src[i + 2] << 8;
			for (int k = 0; k < len; k++, o++) dst[o] = dst[o - back];
			i += 3;
		} else {
			dst[o++] = src[i + 1];
			i += 2;
		}
	}
}

// a block to a chunk, a thread to a start: the longest earlier match within 64 bytes
__global__ void longestMatch(const uint8_t *in, unsigned long long *total)
{
	__shared__ uint8_t s[CHUNK];
	for (int i = threadIdx.x; i < CHUNK; i += blockDim.x) s[i] = in[(size_t)blockIdx.x * CHUNK + i];
	__syncthreads();
	unsigned mine = 0;
	for (int i = threadIdx.x; i < CHUNK; i += blockDim.x) {
		int best = 0;
		for (int back = 1; back <= 64 && back <= i; back++) {
			int len = 0;
			while (len < 32 && i + len < CHUNK && s[i + len] == s[i + len - back]) len++;
			best = max(best, len);
		}
		mine += best;
	}
	mine = __reduce_add_sync(0xffffffffu, mine);
	if (threadIdx.x % 32 == 0) atomicAdd(total, (unsigned long long)mine);
}

int main(int argc, char **argv)
{
	int chunks = (argc > 1 ? atoi(argv[1]) : 16) * 512, rounds = argc > 2 ? atoi(argv[2]) : 200;
	size_t bytes = (size_t)chunks * CHUNK;
	std::vector<uint8_t> h(bytes), back(bytes);
	static const char *words[] = {"alpha ", "beta ", "gamma ", "delta ", "epsilon ", "of ", "the ", "and ", "to ", "in ", "which ", "between "};
	uint32_t x = 5;
	for (size_t i = 0; i < bytes;) {
		x = x * 1664525u + 1013904223u;
		for (const char *w = words[(x >> 20) % 12]; *w && i < bytes; w++) h[i++] = *w;
		if ((x >> 10 & 7) == 0 && i < bytes) h[i++] = x >> 24;
	}
	uint8_t *in, *mid, *out;
	int *size;
	unsigned long long *total, sum = 0;
	if (cudaMalloc(&in, bytes) || cudaMalloc(&mid, 2 * bytes) || cudaMalloc(&out, bytes) || cudaMalloc(&size, 4 * chunks) || cudaMalloc(&total, 8)) return 2;
	cudaMemcpy(in, h.data(), bytes, cudaMemcpyHostToDevice);
	for (int r = 0; r < rounds; r++) {
		cudaMemset(total, 0, 8);
		lzCompress<<<(chunks + 31) / 32, 32>>>(in, mid, size, chunks);
		lzExpand<<<(chunks + 63) / 64, 64>>>(mid, size, out, chunks);
		longestMatch<<<chunks, 128>>>(in, total);
	}
	std::vector<int> sizes(chunks);
	cudaMemcpy(back.data(), out, bytes, cudaMemcpyDeviceToHost);
	cudaMemcpy(sizes.data(), size, 4 * chunks, cudaMemcpyDeviceToHost);
	cudaMemcpy(&sum, total, 8, cudaMemcpyDeviceToHost);
	long packed = 0;
	for (int s : sizes) packed += s;
	bool same = !memcmp(h.data(), back.data(), bytes);
	printf("%zu bytes became %ld, matches %llu, %s\n", bytes, packed, sum, same ? "same again" : "DIFFERENT");
	return !(same && packed < (long)bytes * 2 && sum > 0);
}
