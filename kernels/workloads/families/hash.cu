/* Hashes of records, and look-ups in an open-addressing table. */
#include "kernels/workloads/prepare.cuh"

enum { BLOCK = 256, WORDS = 16 };

static __host__ __device__ inline uint32_t rotl(uint32_t v, int by)
{
	return v << by | v >> (32 - by);
}

/* MurmurHash3 (32 bits): the state after a word, and the hash of 64 bytes from the last state. */
static __host__ __device__ inline uint32_t murmur_word(uint32_t h, uint32_t word)
{
	return rotl(h ^ rotl(word * 0xcc9e2d51u, 15) * 0x1b873593u, 13) * 5 + 0xe6546b64u;
}

static __host__ __device__ inline uint32_t murmur_end(uint32_t h)
{
	h ^= WORDS * 4;
	h = (h ^ h >> 16) * 0x85ebca6bu;
	h = (h ^ h >> 13) * 0xc2b2ae35u;
	return h ^ h >> 16;
}

/* A record of 64 bytes per thread, word by word: each warp's load touches 32 sectors. */
extern "C" __global__ void hash_records(const uint32_t *records, uint32_t *out, unsigned n)
{
	unsigned i = wl_thread();
	uint32_t h = 0;

	if (i >= n)
		return;
	for (unsigned w = 0; w < WORDS; w++)
		h = murmur_word(h, records[(size_t)i * WORDS + w]);
	out[i] = murmur_end(h);
}

static const uint32_t EMPTY = 0xffffffffu;

static __host__ __device__ inline uint32_t slot_of(uint32_t key, uint32_t mask)
{
	return (key * 0x9e3779b1u ^ key >> 15) & mask;
}

/* Linear probing; a slot is (key, value). A key that is not there gives EMPTY. */
extern "C" __global__ void hash_probe(const uint2 *table, const uint32_t *keys, uint32_t *out,
				      uint32_t mask, unsigned n)
{
	unsigned i = wl_thread();
	uint32_t key, slot;
	uint2 entry;

	if (i >= n)
		return;
	key = keys[i];
	slot = slot_of(key, mask);
	for (entry = table[slot]; entry.x != key && entry.x != EMPTY; entry = table[slot])
		slot = (slot + 1) & mask;
	out[i] = entry.x == key ? entry.y : EMPTY;
}

WL_PREPARE(hash_records)
{
	double n = (double)c->n;
	uint32_t *records = wl_random<uint32_t>(c, c->n * WORDS, 0, 4294967296.0),
		 *out = wl_output<uint32_t>(c, c->n);

	wl_moves(WL_LAUNCH(c, hash_records, wl_blocks(c->n, BLOCK), BLOCK, 0, records, out, c->n),
		 n * WORDS * 4, n * 4);
}

WL_CHECK(hash_records)
{
	wl_in<uint32_t> records(c, 0);
	wl_out<uint32_t> out(c, 1);

	wl_each(c, c->n, 8 * WORDS, [&](uint64_t i) {
		uint32_t h = 0;

		for (uint64_t w = 0; w < WORDS; w++)
			h = murmur_word(h, records[i * WORDS + w]);
		wl_expect(k, i, out[i], murmur_end(h), 0);
	});
}

enum { SPACE = 1 << 24 }; /* keys are below it, so that about every other look-up finds one */

/* n slots, half of them taken; n look-ups. */
WL_PREPARE(hash_probe)
{
	uint64_t n = c->n;
	uint32_t mask = (uint32_t)n - 1, *keys, *out;
	uint2 *host = wl_host<uint2>(n), *table;

	memset(host, 0xff, n * sizeof *host);
	for (uint64_t i = 0; i < n / 2; i++) {
		uint32_t key = wl_bits(c->seed, i) % SPACE, slot = slot_of(key, mask);

		while (host[slot].x != EMPTY && host[slot].x != key)
			slot = (slot + 1) & mask;
		host[slot] = make_uint2(key, (uint32_t)i);
	}
	table = wl_given(c, n, host);
	keys = wl_host<uint32_t>(n);
	for (uint64_t i = 0; i < n; i++) {
		uint32_t bits = wl_bits(c->seed + 1, i);

		keys[i] = bits % 2 ? wl_bits(c->seed, bits % (n / 2)) % SPACE : bits / 2 % SPACE;
	}
	keys = wl_given(c, n, keys);
	out = wl_output<uint32_t>(c, n);
	wl_moves(WL_LAUNCH(c, hash_probe, wl_blocks(n, BLOCK), BLOCK, 0, table, keys, out, mask, n),
		 NAN, (double)n * 4);
}

/* The values by a table of the reference's own, indexed by key. */
WL_CHECK(hash_probe)
{
	wl_in<uint32_t> keys(c, 1);
	wl_out<uint32_t> out(c, 2);
	uint32_t *value = wl_host<uint32_t>(SPACE);

	memset(value, 0xff, SPACE * sizeof *value);
	for (uint64_t i = 0; i < c->n / 2; i++)
		value[wl_bits(c->seed, i) % SPACE] = (uint32_t)i;
	for (uint64_t i = 0; i < c->n; i++)
		wl_expect(k, i, out[i], value[keys[i]], 0);
	free(value);
}
