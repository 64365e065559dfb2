// SPDX-License-Identifier: Apache-2.0
/* ChaCha20 key stream (RFC 8439's vector), CRC-32 by chunk, and modular exponentiation of 64-bit numbers. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define QR(a, b, c, d) (a += b, d ^= a, d = d << 16 | d >> 16, c += d, b ^= c, b = b << 12 | b >> 20, a += b, d ^= a, d = d << 8 | d >> 24, c += d, b ^= c, b = b << 7 | b >> 25)

__host__ __device__ void chacha_block(const uint32_t *in, uint32_t counter, uint32_t *out)
{
	uint32_t x[16];
	for (int i = 0; i < 16; i++) x[i] = i == 12 ? counter : in[i];
	for (int r = 0; r < 10; r++) {
		QR(x[0], x[4], x[8], x[12]); QR(x[1], x[5], x[9], x[13]); QR(x[2], x[6], x[10], x[14]); QR(x[3], x[7], x[11], x[15]);
		QR(x[0], x[5], x[10], x[15]); QR(x[1], x[6], x[11], x[12]); QR(x[2], x[7], x[8], x[13]); QR(x[3], x[4], x[9], x[14]);
	}
	for (int i = 0; i < 16; i++) out[i] = x[i] + (i == 12 ? counter : in[i]);
}

struct Key { uint32_t w[16]; };
__global__ void keystream(Key k, uint32_t *out, int blocks)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < blocks) chacha_block(k.w, i + 1, out + 16l * i);
}

__global__ void crc_chunks(const uint8_t *data, uint32_t *crc, int chunks, int size, const uint32_t *table)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= chunks) return;
	uint32_t c = ~0u;
	for (int k = 0; k < size; k++) c = table[(c ^ data[(long)i * size + k]) & 255] ^ c >> 8;
	crc[i] = ~c;
}

__host__ __device__ uint64_t mulmod(uint64_t a, uint64_t b, uint64_t m)
{
	uint64_t r = 0;
	for (; b; b >>= 1) {
		if (b & 1) r = r >= m - a ? r - (m - a) : r + a;
		a = a >= m - a ? a - (m - a) : a + a;
	}
	return r;
}
__host__ __device__ uint64_t powmod(uint64_t a, uint64_t e, uint64_t m)
{
	uint64_t r = 1;
	for (; e; e >>= 1, a = mulmod(a, a, m))
		if (e & 1) r = mulmod(r, a, m);
	return r;
}
__global__ void modexp(uint64_t *v, int n, uint64_t m)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) v[i] = powmod(i + 2, (uint64_t)i * 7919 + 12345, m);
}

int main(int argc, char **argv)
{
	int mib = argc > 1 ? atoi(argv[1]) : 128, blocks = mib << 14, rounds = argc > 2 ? atoi(argv[2]) : 900, wrong = 0;
	Key k = {{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}};
	for (int i = 0; i < 8; i++) k.w[4 + i] = 0x03020100 + 0x04040404 * i;
	k.w[13] = 0x09000000; k.w[14] = 0x4a000000;
	uint32_t *d, *crc, *table, out[16], t[256], *h = (uint32_t *)malloc((size_t)mib << 20), hc[4];
	uint64_t *v, hv[8], m = 0xffffffffffffffc5ull;
	for (uint32_t i = 0, c; i < 256; t[i++] = c) { c = i; for (int j = 0; j < 8; j++) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1; }
	cudaMalloc(&d, (size_t)mib << 20); cudaMalloc(&crc, 4 << 20); cudaMalloc(&table, 1024); cudaMalloc(&v, 8 << 16);
	cudaMemcpy(table, t, 1024, cudaMemcpyHostToDevice);
	for (int r = 0; r < rounds; r++) keystream<<<(blocks + 127) / 128, 128>>>(k, d, blocks);
	for (int size = 256; size <= 16384; size *= 4) {
		int chunks = (mib << 20) / size;
		for (int r = 0; r < 12; r++) crc_chunks<<<(chunks + 63) / 64, 64>>>((uint8_t *)d, crc, chunks, size, table);
	}
	for (int r = 0; r < 6; r++) modexp<<<512, 128>>>(v, 65536, m - 2 * r);
	if (cudaMemcpy(h, d, (size_t)mib << 20, cudaMemcpyDeviceToHost)) return 9;
	cudaMemcpy(hc, crc, 16, cudaMemcpyDeviceToHost);
	cudaMemcpy(hv, v + 1000, 64, cudaMemcpyDeviceToHost);
	wrong += h[0] != 0xe4e7f110 || h[15] != 0x4e3c50a2; /* RFC 8439, 2.3.2 */
	for (int b = 0; b < blocks; b += 501) {
		chacha_block(k.w, b + 1, out);
		for (int i = 0; i < 16; i++) wrong += out[i] != h[16l * b + i];
	}
	for (int c = 0; c < 4; c++) {
		uint32_t x = ~0u;
		for (int i = 0; i < 16384; i++) x = t[(x ^ ((uint8_t *)h)[c * 16384 + i]) & 255] ^ x >> 8;
		wrong += hc[c] != ~x;
	}
	for (int i = 0; i < 8; i++) wrong += hv[i] != powmod(1002 + i, (uint64_t)(1000 + i) * 7919 + 12345, m - 10);
	printf("%d wrong, %s\n", wrong, cudaGetErrorString(cudaDeviceSynchronize()));
	return wrong > 0;
}
