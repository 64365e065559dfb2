// SPDX-License-Identifier: Apache-2.0
// AES-128 in counter mode and in ECB: tables in constant, shared and global memory. FIPS-197's vector is checked.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static uint8_t sbox[256];
static uint32_t te[256];
__constant__ uint32_t cTe[256];
__constant__ uint8_t cSbox[256];
__constant__ uint32_t roundKeys[44];

static uint8_t mul2(uint8_t x) { return (uint8_t)(x << 1 ^ (x & 0x80 ? 0x1b : 0)); }
static void tables()
{
	uint8_t p = 1, q = 1;
	do {
		p = p ^ mul2(p);
		q ^= q << 1; q ^= q << 2; q ^= q << 4;
		if (q & 0x80) q ^= 0x09;
		sbox[p] = (uint8_t)(q ^ (q << 1 | q >> 7) ^ (q << 2 | q >> 6) ^ (q << 3 | q >> 5) ^ (q << 4 | q >> 4) ^ 0x63);
	} while (p != 1);
	sbox[0] = 0x63;
	for (int i = 0; i < 256; i++) te[i] = (uint32_t)mul2(sbox[i]) << 24 | sbox[i] << 16 | sbox[i] << 8 | (uint8_t)(mul2(sbox[i]) ^ sbox[i]);
}

static void expand(const uint8_t *key, uint32_t *rk)
{
	uint8_t rcon = 1;
	for (int i = 0; i < 4; i++) rk[i] = key[4 * i] << 24 | key[4 * i + 1] << 16 | key[4 * i + 2] << 8 | key[4 * i + 3];
	for (int i = 4; i < 44; i++) {
		uint32_t t = rk[i - 1];
		if (i % 4 == 0) {
			t = t << 8 | t >> 24;
			t = (uint32_t)sbox[t >> 24] << 24 | sbox[t >> 16 & 255] << 16 | sbox[t >> 8 & 255] << 8 | sbox[t & 255];
			t ^= (uint32_t)rcon << 24;
			rcon = mul2(rcon);
		}
		rk[i] = rk[i - 4] ^ t;
	}
}

template <typename T32, typename T8> __host__ __device__ inline void cipher(uint32_t *s, T32 T, T8 S, const uint32_t *rk)
{
#define R(x, n) ((x) >> (n) | (x) << (32 - (n)))
	for (int i = 0; i < 4; i++) s[i] ^= rk[i];
	for (int r = 1; r < 10; r++) {
		uint32_t t[4];
		for (int i = 0; i < 4; i++) {
			uint32_t a = T[s[i] >> 24], b = T[s[(i + 1) & 3] >> 16 & 255], c = T[s[(i + 2) & 3] >> 8 & 255], d = T[s[(i + 3) & 3] & 255];
			t[i] = a ^ R(b, 8) ^ R(c, 16) ^ R(d, 24) ^ rk[4 * r + i];
		}
		for (int i = 0; i < 4; i++) s[i] = t[i];
	}
	uint32_t t[4];
	for (int i = 0; i < 4; i++)
		t[i] = ((uint32_t)S[s[i] >> 24] << 24 | S[s[(i + 1) & 3] >> 16 & 255] << 16 | S[s[(i + 2) & 3] >> 8 & 255] << 8 | S[s[(i + 3) & 3] & 255]) ^ rk[40 + i];
	for (int i = 0; i < 4; i++) s[i] = t[i];
}

__global__ void ctr_constant(uint4 *data, int blocks, uint32_t nonce)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= blocks) return;
	uint32_t s[4] = {nonce, 0, 0, (uint32_t)i};
	cipher(s, cTe, cSbox, roundKeys);
	uint4 d = data[i];
	data[i] = make_uint4(d.x ^ s[0], d.y ^ s[1], d.z ^ s[2], d.w ^ s[3]);
}

__global__ void ctr_shared(uint4 *data, int blocks, uint32_t nonce)
{
	__shared__ uint32_t T[256];
	__shared__ uint8_t S[256];
	for (int i = threadIdx.x; i < 256; i += blockDim.x) T[i] = cTe[i], S[i] = cSbox[i];
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < blocks; i += gridDim.x * blockDim.x) {
		uint32_t s[4] = {nonce, 0, 0, (uint32_t)i};
		cipher(s, T, S, roundKeys);
		uint4 d = data[i];
		data[i] = make_uint4(d.x ^ s[0], d.y ^ s[1], d.z ^ s[2], d.w ^ s[3]);
	}
}

__global__ void ecb_global(uint4 *data, int blocks, const uint32_t *T, const uint8_t *S)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= blocks) return;
	uint4 d = data[i];
	uint32_t s[4] = {d.x, d.y, d.z, d.w};
	cipher(s, T, S, roundKeys);
	data[i] = make_uint4(s[0], s[1], s[2], s[3]);
}

int main(int argc, char **argv)
{
	int blocks = (argc > 1 ? atoi(argv[1]) : 64) << 16, loops = argc > 2 ? atoi(argv[2]) : 130; // MiB
	tables();
	uint8_t key[16];
	uint32_t rk[44], v[4] = {0x00112233, 0x44556677, 0x8899aabb, 0xccddeeff};
	for (int i = 0; i < 16; i++) key[i] = i;
	expand(key, rk);
	cipher(v, te, sbox, rk);
	if (v[0] != 0x69c4e0d8 || v[3] != 0x70b4c55a) { printf("the reference is wrong: %08x\n", v[0]); return 2; }
	cudaMemcpyToSymbol(cTe, te, sizeof te); cudaMemcpyToSymbol(cSbox, sbox, sizeof sbox); cudaMemcpyToSymbol(roundKeys, rk, sizeof rk);
	uint4 *d;
	uint32_t *T;
	uint8_t *S;
	cudaMalloc(&d, 16l * blocks); cudaMalloc(&T, 1024); cudaMalloc(&S, 256);
	cudaMemcpy(T, te, 1024, cudaMemcpyHostToDevice); cudaMemcpy(S, sbox, 256, cudaMemcpyHostToDevice);
	cudaMemset(d, 0, 16l * blocks);
	for (int i = 0; i < loops; i++) { // what one enciphers, the other deciphers
		ctr_constant<<<(blocks + 255) / 256, 256>>>(d, blocks, i);
		ctr_shared<<<528, 256>>>(d, blocks, i);
	}
	for (int i = 0; i < 2; i++) ecb_global<<<(blocks + 127) / 128, 128>>>(d, blocks, T, S);
	ctr_shared<<<264, 512>>>(d, blocks, 7);
	std::vector<uint4> h(blocks);
	if (cudaMemcpy(h.data(), d, 16l * blocks, cudaMemcpyDeviceToHost) != cudaSuccess) return 3;
	uint32_t z[4] = {0, 0, 0, 0};
	cipher(z, te, sbox, rk);
	cipher(z, te, sbox, rk);
	int wrong = 0;
	for (int i = 0; i < blocks; i += 37) {
		uint32_t s[4] = {7, 0, 0, (uint32_t)i};
		cipher(s, te, sbox, rk);
		wrong += h[i].x != (s[0] ^ z[0]) || h[i].y != (s[1] ^ z[1]) || h[i].z != (s[2] ^ z[2]) || h[i].w != (s[3] ^ z[3]);
	}
	printf("%d blocks wrong\n", wrong);
	return wrong ? 1 : 0;
}
