#include "cli/common/span.h"

#include <string.h>

static const struct unit {
	const char *name;
	uint64_t ns;
} units[] = {{"d", UINT64_C(86400000000000)},
	     {"h", UINT64_C(3600000000000)},
	     {"m", UINT64_C(60000000000)},
	     {"s", UINT64_C(1000000000)},
	     {"ms", UINT64_C(1000000)}};

enum { UNITS = sizeof(units) / sizeof(*units), MOST_DAYS = 10000 };

/* The unit of @p length letters at @p text, at @p from in the list or later; UNITS: none. */
static unsigned unit_of(const char *text, size_t length, unsigned from)
{
	while (from < UNITS &&
	       (strlen(units[from].name) != length || memcmp(units[from].name, text, length) != 0))
		from++;
	return from;
}

bool gw_span_read(const char *text, uint64_t *ns)
{
	const uint64_t most = MOST_DAYS * units[0].ns;
	uint64_t sum = 0;
	unsigned unit = 0;

	do {
		uint64_t n = 0;
		size_t letters;

		if (*text < '0' || *text > '9')
			return false;
		for (; *text >= '0' && *text <= '9'; text++) {
			n = n * 10 + (uint64_t)(*text - '0');
			if (n > most)
				return false;
		}
		letters = strspn(text, "dhms");
		unit = unit_of(text, letters, unit);
		if (unit == UNITS || n > most / units[unit].ns)
			return false;
		sum += n * units[unit++].ns;
		text += letters;
	} while (*text);
	*ns = sum;
	return sum && sum <= most;
}
