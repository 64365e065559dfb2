#include "cli/common/utf8.h"

#include "cli/common/memory.h"

#include <stddef.h>
#include <string.h>

/* Bytes of the well-formed UTF-8 character at @p s; 0 when it is none. */
static size_t character(const unsigned char *s)
{
	size_t more = s[0] < 0x80   ? 0
		      : s[0] < 0xc2 ? 9
		      : s[0] < 0xe0 ? 1
		      : s[0] < 0xf0 ? 2
		      : s[0] < 0xf5 ? 3
				    : 9;

	if (more == 9)
		return 0;
	for (size_t i = 1; i <= more; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return more + 1;
}

char *gw_to_utf8(const char *text)
{
	char *utf8 = gw_alloc(3 * strlen(text) + 1), *to = utf8;

	for (const unsigned char *s = (const unsigned char *)text; *s;) {
		size_t length = character(s);

		memcpy(to, length ? (const char *)s : "\xef\xbf\xbd", length ? length : 3);
		to += length ? length : 3;
		s += length ? length : 1;
	}
	return utf8;
}
