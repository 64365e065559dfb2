// SPDX-License-Identifier: Apache-2.0
// SHA-256: looks for nonces whose digest starts with zero bits, then builds a Merkle tree.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#define ROR(x, n) (((x) >> (n)) | ((x) << (32 - (n))))

static const uint32_t hK[64] = {0x428a2f98,0x71374491,0xb5c0fbcf,0xe9b5dba5,0x3956c25b,0x59f111f1,0x923f82a4,0xab1c5ed5,0xd807aa98,0x12835b01,0x243185be,0x550c7dc3,0x72be5d74,0x80deb1fe,0x9bdc06a7,0xc19bf174,0xe49b69c1,0xefbe4786,0x0fc19dc6,0x240ca1cc,0x2de92c6f,0x4a7484aa,0x5cb0a9dc,0x76f988da,0x983e5152,0xa831c66d,0xb00327c8,0xbf597fc7,0xc6e00bf3,0xd5a79147,0x06ca6351,0x14292967,0x27b70a85,0x2e1b2138,0x4d2c6dfc,0x53380d13,0x650a7354,0x766a0abb,0x81c2c92e,0x92722c85,0xa2bfe8a1,0xa81a664b,0xc24b8b70,0xc76c51a3,0xd192e819,0xd6990624,0xf40e3585,0x106aa070,0x19a4c116,0x1e376c08,0x2748774c,0x34b0bcb5,0x391c0cb3,0x4ed8aa4a,0x5b9cca4f,0x682e6ff3,0x748f82ee,0x78a5636f,0x84c87814,0x8cc70208,0x90befffa,0xa4506ceb,0xbef9a3f7,0xc67178f2};
static const uint32_t hI[8] = {0x6a09e667,0xbb67ae85,0x3c6ef372,0xa54ff53a,0x510e527f,0x9b05688c,0x1f83d9ab,0x5be0cd19};
__constant__ uint32_t dK[64], dI[8];

__host__ __device__ static void compress(uint32_t *s, const uint32_t *block, const uint32_t *K)
{
	uint32_t w[16], a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
	for (int i = 0; i < 16; i++) w[i] = block[i];
#pragma unroll
	for (int i = 0; i < 64; i++) {
		if (i >= 16) {
			uint32_t x = w[(i + 1) & 15], y = w[(i + 14) & 15];
			w[i & 15] += (ROR(x, 7) ^ ROR(x, 18) ^ (x >> 3)) + w[(i + 9) & 15] + (ROR(y, 17) ^ ROR(y, 19) ^ (y >> 10));
		}
		uint32_t t1 = h + (ROR(e, 6) ^ ROR(e, 11) ^ ROR(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i & 15];
		uint32_t t2 = (ROR(a, 2) ^ ROR(a, 13) ^ ROR(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
		h = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
	}
	s[0] += a; s[1] += b; s[2] += c; s[3] += d; s[4] += e; s[5] += f; s[6] += g; s[7] += h;
}

__global__ void mine(uint32_t seed, uint32_t start, int tries, int bits, uint32_t *best)
{
	uint32_t me = blockIdx.x * blockDim.x + threadIdx.x;
	for (int t = 0; t < tries; t++) {
		uint32_t nonce = start + me * tries + t, b[16] = {seed, nonce, 0x80000000u}, s[8];
		b[15] = 64;
		for (int i = 0; i < 8; i++) s[i] = dI[i];
		compress(s, b, dK);
		if (__clz(s[0]) >= bits) {
			atomicMin(best, nonce);
			return;
		}
	}
}

__global__ void leaves(uint32_t *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	uint32_t b[16] = {(uint32_t)i, 0x80000000u}, s[8];
	b[15] = 32;
	for (int k = 0; k < 8; k++) s[k] = dI[k];
	compress(s, b, dK);
	for (int k = 0; k < 8; k++) out[i * 8 + k] = s[k];
}

__global__ void parents(const uint32_t *in, uint32_t *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	uint32_t s[8], pad[16] = {0x80000000u};
	pad[15] = 512;
	for (int k = 0; k < 8; k++) s[k] = dI[k];
	compress(s, in + i * 16, dK);
	compress(s, pad, dK);
	for (int k = 0; k < 8; k++) out[i * 8 + k] = s[k];
}

int main(int argc, char **argv)
{
	int bits = argc > 1 ? atoi(argv[1]) : 29, levels = argc > 2 ? atoi(argv[2]) : 19, wrong = 0;
	cudaMemcpyToSymbol(dK, hK, sizeof hK);
	cudaMemcpyToSymbol(dI, hI, sizeof hI);
	uint32_t *best, *a, *b, found = ~0u, s[8];
	cudaMalloc(&best, 4); cudaMalloc(&a, 32l << levels); cudaMalloc(&b, 32l << levels);
	for (uint32_t seed = 1; seed <= 12; seed++) {
		found = ~0u;
		cudaMemcpy(best, &found, 4, cudaMemcpyHostToDevice);
		for (uint32_t start = 0; found == ~0u && start < 0xf0000000u; start += 1056u * 256 * 16) {
			mine<<<1056, 256>>>(seed, start, 16, bits - seed % 4, best);
			cudaMemcpy(&found, best, 4, cudaMemcpyDeviceToHost);
		}
		uint32_t block[16] = {seed, found, 0x80000000u};
		block[15] = 64;
		memcpy(s, hI, 32);
		compress(s, block, hK);
		wrong += s[0] >> (32 - (bits - seed % 4)) != 0;
	}
	for (int r = 0; r < 600; r++) {
		uint32_t *x = a, *y = b, *t;
		leaves<<<(1 << levels) / 256, 256>>>(x, 1 << levels);
		for (int n = 1 << (levels - 1); n; n /= 2, t = x, x = y, y = t) parents<<<(n + 127) / 128, 128>>>(x, y, n);
		cudaMemcpy(s, x, 32, cudaMemcpyDeviceToHost);
	}
	int n = 1 << levels;
	std::vector<uint32_t> tree(8l * n);
	uint32_t pad[16] = {0x80000000u};
	pad[15] = 512;
	for (int i = 0; i < n; i++) {
		uint32_t block[16] = {(uint32_t)i, 0x80000000u};
		block[15] = 32;
		memcpy(&tree[8 * i], hI, 32);
		compress(&tree[8 * i], block, hK);
	}
	for (n /= 2; n; n /= 2)
		for (int i = 0; i < n; i++) {
			uint32_t t[8];
			memcpy(t, hI, 32);
			compress(t, &tree[16 * i], hK);
			compress(t, pad, hK);
			memcpy(&tree[8 * i], t, 32);
		}
	wrong += memcmp(s, tree.data(), 32) != 0;
	printf("root %08x%08x, %d wrong\n", s[0], s[1], wrong);
	return wrong != 0 || cudaGetLastError() != cudaSuccess;
}
