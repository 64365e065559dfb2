/* Integer cryptography: SHA-256, ChaCha20, modular powers. The same code runs on the host, where it
 * is first held against published vectors. */
#include "kernels/workloads/prepare.cuh"

enum { BLOCK = 256, HASH_WORDS = 8, WORDS = 16 };

static __host__ __device__ inline uint32_t rotr(uint32_t v, int by)
{
	return v >> by | v << (32 - by);
}

/* FIPS 180-4: h becomes the state after a block of 16 words; unrolled, the constants are
 * immediates. */
static __host__ __device__ inline void sha256_block(uint32_t h[HASH_WORDS], const uint32_t *block)
{
	const uint32_t constant[64] = {
		0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
		0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
		0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
		0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
		0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
		0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
		0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
		0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
		0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
		0xc67178f2};
	uint32_t w[WORDS], s[HASH_WORDS];

	for (int i = 0; i < WORDS; i++)
		w[i] = block[i];
	for (int i = 0; i < HASH_WORDS; i++)
		s[i] = h[i];
#pragma unroll
	for (int i = 0; i < 64; i++) {
		uint32_t a, b;

		if (i >= WORDS) {
			a = w[(i + 1) % WORDS];
			b = w[(i + 14) % WORDS];
			w[i % WORDS] += (rotr(a, 7) ^ rotr(a, 18) ^ a >> 3) + w[(i + 9) % WORDS] +
					(rotr(b, 17) ^ rotr(b, 19) ^ b >> 10);
		}
		a = s[7] + (rotr(s[4], 6) ^ rotr(s[4], 11) ^ rotr(s[4], 25)) +
		    ((s[4] & s[5]) ^ (~s[4] & s[6])) + constant[i] + w[i % WORDS];
		b = (rotr(s[0], 2) ^ rotr(s[0], 13) ^ rotr(s[0], 22)) +
		    ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
		s[7] = s[6], s[6] = s[5], s[5] = s[4], s[4] = s[3] + a;
		s[3] = s[2], s[2] = s[1], s[1] = s[0], s[0] = a + b;
	}
	for (int i = 0; i < HASH_WORDS; i++)
		h[i] += s[i];
}

static __host__ __device__ inline void sha256(uint32_t h[HASH_WORDS], const uint32_t *block)
{
	const uint32_t start[HASH_WORDS] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

	for (int i = 0; i < HASH_WORDS; i++)
		h[i] = start[i];
	sha256_block(h, block);
}

/* One header per launch, a nonce per thread in its last word: what miners do. */
extern "C" __global__ void sha256_nonces(const uint32_t *header, uint32_t *out)
{
	uint32_t block[WORDS], h[HASH_WORDS];

	for (int i = 0; i < WORDS; i++)
		block[i] = header[i];
	block[WORDS - 1] = wl_thread();
	sha256(h, block);
	out[wl_thread()] = h[0];
}

/* RFC 8439: sixteen words of key stream. */
static __host__ __device__ inline void chacha20(const uint32_t *in, uint32_t *out)
{
	uint32_t x[WORDS];

	for (int i = 0; i < WORDS; i++)
		x[i] = in[i];
#pragma unroll
	for (int round = 0; round < 20; round++)
#pragma unroll
		for (int q = 0; q < 4; q++) {
			int odd = round % 2, a = q, b = 4 + (q + odd) % 4,
			    c = 8 + (q + 2 * odd) % 4, d = 12 + (q + 3 * odd) % 4;

			x[a] += x[b], x[d] = rotr(x[d] ^ x[a], 16);
			x[c] += x[d], x[b] = rotr(x[b] ^ x[c], 20);
			x[a] += x[b], x[d] = rotr(x[d] ^ x[a], 24);
			x[c] += x[d], x[b] = rotr(x[b] ^ x[c], 25);
		}
	for (int i = 0; i < WORDS; i++)
		out[i] = x[i] + in[i];
}

/* Each thread makes the 64 bytes of its own counter. */
extern "C" __global__ void chacha20_stream(const uint32_t *state, uint4 *out)
{
	uint32_t in[WORDS], stream[WORDS];

	for (int i = 0; i < WORDS; i++)
		in[i] = state[i];
	in[12] += wl_thread();
	chacha20(in, stream);
	for (int i = 0; i < 4; i++)
		out[(size_t)wl_thread() * 4 + i] = make_uint4(stream[4 * i], stream[4 * i + 1],
							      stream[4 * i + 2], stream[4 * i + 3]);
}

static const uint32_t MODULUS = 2147483647u; /* 2^31 - 1, a prime */

/* base^exponent modulo `modulus`, by 64-bit remainders: long integer divisions and a branch per
 * bit. */
static __host__ __device__ inline uint32_t power(uint32_t base, uint32_t exponent, uint32_t modulus)
{
	uint64_t result = 1, square = base;

	for (; exponent; exponent >>= 1) {
		if (exponent & 1)
			result = result * square % modulus;
		square = square * square % modulus;
	}
	return (uint32_t)result;
}

extern "C" __global__ void modular_power(const uint32_t *base, const uint32_t *exponent,
					 uint32_t *out, uint32_t modulus)
{
	unsigned i = wl_thread();

	out[i] = power(base[i], exponent[i], modulus);
}

WL_PREPARE(sha256_nonces)
{
	uint32_t *header = wl_random<uint32_t>(c, WORDS, 0, 4294967296.0),
		 *out = wl_output<uint32_t>(c, c->n);
	double *truth = WL_LAUNCH(c, sha256_nonces, c->n / BLOCK, BLOCK, 0, header, out);

	wl_moves(truth, WORDS * 4, (double)c->n * 4)[WL_global_store_requests] = (double)c->n / 32;
}

WL_CHECK(sha256_nonces)
{
	uint32_t abc[WORDS] = {0x61626380}, h[HASH_WORDS],
		 block[WORDS]; /* the message "abc", padded */
	wl_in<uint32_t> header(c, 0);
	wl_out<uint32_t> out(c, 1);

	abc[WORDS - 1] = 24;
	sha256(h, abc);
	wl_expect(k, 0, h[0], 0xba7816bf, 0);
	for (unsigned i = 0; i < WORDS; i++)
		block[i] = header[i];
	wl_each(c, c->n, 1000, [&](uint64_t i) {
		block[WORDS - 1] = (uint32_t)i;
		sha256(h, block);
		wl_expect(k, i, out[i], h[0], 0);
	});
}

WL_PREPARE(chacha20_stream)
{
	uint32_t *state = wl_random<uint32_t>(c, WORDS, 0, 4294967296.0),
		 *out = wl_output<uint32_t>(c, c->n * WORDS);
	double *truth = WL_LAUNCH(c, chacha20_stream, c->n / BLOCK, BLOCK, 0, state, (uint4 *)out),
	       warps = (double)c->n / 32;

	wl_moves(truth, WORDS * 4, (double)c->n * 64);
	truth[WL_global_store_requests] = 4 * warps;
	truth[WL_global_store_sectors] = 4 * 32 * warps;
}

WL_CHECK(chacha20_stream)
{
	/* RFC 8439, 2.3.2: key 00..1f, counter 1, nonce 000000090000004a00000000 */
	const uint32_t rfc[WORDS] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574,
				     0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c,
				     0x13121110, 0x17161514, 0x1b1a1918, 0x1f1e1d1c,
				     0x00000001, 0x09000000, 0x4a000000, 0x00000000};
	uint32_t in[WORDS], stream[WORDS];
	wl_in<uint32_t> state(c, 0);
	wl_out<uint32_t> out(c, 1);

	chacha20(rfc, stream);
	wl_expect(k, 0, stream[0], 0xe4e7f110, 0);
	wl_each(c, c->n, 1000, [&](uint64_t i) {
		for (unsigned w = 0; w < WORDS; w++)
			in[w] = state[w] + (w == 12 ? (uint32_t)i : 0);
		chacha20(in, stream);
		for (unsigned w = 0; w < WORDS; w++)
			wl_expect(k, i * WORDS + w, out[i * WORDS + w], stream[w], 0);
	});
}

WL_PREPARE(modular_power)
{
	double n = (double)c->n;
	uint32_t *base = wl_random<uint32_t>(c, c->n, 1, MODULUS),
		 *exponent = wl_random<uint32_t>(c, c->n, 0, 4294967296.0);
	uint32_t *out = wl_output<uint32_t>(c, c->n);
	double *truth =
		WL_LAUNCH(c, modular_power, c->n / BLOCK, BLOCK, 0, base, exponent, out, MODULUS);

	wl_accesses(wl_moves(truth, n * 8, n * 4), n / 16, 4, n / 32, 4);
}

/* Fermat's little theorem holds the reference itself to account. */
WL_CHECK(modular_power)
{
	wl_in<uint32_t> base(c, 0), exponent(c, 1);
	wl_out<uint32_t> out(c, 2);

	wl_expect(k, 0, power(base[0], MODULUS - 1, MODULUS), 1, 0);
	wl_each(c, c->n, 500, [&](uint64_t i) {
		wl_expect(k, i, out[i], power(base[i], exponent[i], MODULUS), 0);
	});
}
