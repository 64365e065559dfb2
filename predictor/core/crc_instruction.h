/* CRC-32C by the CPU's own instruction. A machine without one answers no. */
#ifndef GW_CRC_INSTRUCTION_H
#define GW_CRC_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#define GW_CRC_TARGET        __attribute__((target("sse4.2")))
#define GW_CRC_8(crc, eight) ((uint32_t)__builtin_ia32_crc32di(crc, eight))
#define GW_CRC_1(crc, byte)  __builtin_ia32_crc32qi(crc, byte)

/* Slow in a virtual machine, which answers CPUID itself. __builtin_cpu_supports() is not, and links
 * 5 KB that know every CPU. */
static inline bool gw_crc_has_instruction(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2);
}
#elif defined(__aarch64__)
#include <sys/auxv.h>
#define GW_CRC_TARGET        __attribute__((target("+crc")))
#define GW_CRC_8(crc, eight) __builtin_aarch64_crc32cx(crc, eight)
#define GW_CRC_1(crc, byte)  __builtin_aarch64_crc32cb(crc, byte)

static inline bool gw_crc_has_instruction(void)
{
	return getauxval(AT_HWCAP) & 1 << 7; /* HWCAP_CRC32 */
}
#else
#define GW_CRC_TARGET
#define GW_CRC_8(crc, eight) (crc)
#define GW_CRC_1(crc, byte)  (crc)

static inline bool gw_crc_has_instruction(void)
{
	return false;
}
#endif

/** As gw_crc32(); for where gw_crc_has_instruction() says so. */
GW_CRC_TARGET static inline uint32_t gw_crc_by_instruction(uint32_t crc, const void *data,
							   size_t length)
{
	const unsigned char *p = data;
	uint64_t word;

	crc = ~crc;
	for (; length >= 8; length -= 8, p += 8) {
		memcpy(&word, p, 8);
		crc = GW_CRC_8(crc, word);
	}
	for (; length; length--, p++)
		crc = GW_CRC_1(crc, *p);
	return ~crc;
}

#endif
