#include "predictor/core/crc_instruction.h"
#include "predictor/log/record.h"

#include <stdatomic.h>
#include <string.h>

/*
 * CRC-32C (Castagnoli), because x86-64 and aarch64 have an instruction for it: the writer checks
 * every launch it logs, in a program that is being timed. Where the instruction is missing, eight
 * bytes at a time by tables ("slicing by 8"); table[k] advances a byte by k more.
 */
static uint32_t table[8][256];
static _Atomic int ready;

static void fill(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = (c >> 1) ^ (c & 1 ? 0x82f63b78u : 0);
		table[0][i] = c;
	}
	for (int k = 1; k < 8; k++)
		for (uint32_t i = 0; i < 256; i++)
			table[k][i] = (table[k - 1][i] >> 8) ^ table[0][table[k - 1][i] & 255];
	/* Two threads that fill it at once write the same values. Pairs with the acquire below. */
	atomic_store_explicit(&ready, 1, memory_order_release);
}

uint32_t gw_crc32_by_table(uint32_t crc, const void *data, size_t length)
{
	const unsigned char *p = data;

	if (!atomic_load_explicit(&ready, memory_order_acquire))
		fill();
	crc = ~crc;
	for (; length >= 8; length -= 8, p += 8) {
		uint32_t low, high;

		memcpy(&low, p, 4);
		memcpy(&high, p + 4, 4);
		low ^= crc;
		crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^
		      table[4][low >> 24] ^ table[3][high & 255] ^ table[2][high >> 8 & 255] ^
		      table[1][high >> 16 & 255] ^ table[0][high >> 24];
	}
	for (; length; length--, p++)
		crc = (crc >> 8) ^ table[0][(crc ^ *p) & 255];
	return ~crc;
}

static bool has_instruction(void)
{
	enum { UNKNOWN, NO, YES };
	static _Atomic int known;
	int is = atomic_load_explicit(&known, memory_order_relaxed);

	if (is == UNKNOWN) {
		is = gw_crc_has_instruction() ? YES : NO;
		atomic_store_explicit(&known, is, memory_order_relaxed);
	}
	return is == YES;
}

uint32_t gw_crc32(uint32_t crc, const void *data, size_t length)
{
	if (has_instruction())
		return gw_crc_by_instruction(crc, data, length);
	return gw_crc32_by_table(crc, data, length);
}
