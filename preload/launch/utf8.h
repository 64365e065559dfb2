#ifndef GW_UTF8_H
#define GW_UTF8_H

#include <stddef.h>
#include <stdint.h>

/** How many bytes character @p c takes as UTF-8, at @p out; 0: there is no room for it. */
static inline size_t gw_utf8_put(char *out, size_t room, uint32_t c)
{
	size_t size;

	c = c > 0x10ffff ? 0xfffd : c;
	size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	if (size > room)
		return 0;
	if (size == 1) {
		*out = (char)c;
		return 1;
	}
	for (size_t i = size - 1; i; i--, c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	*out = (char)((0xf00 >> size & 0xff) | c);
	return size;
}

#endif
