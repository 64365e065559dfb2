#include "cli/common/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WORD = 48, BEST = 3 };

static unsigned smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Levenshtein's distance without case, of the first WORD characters. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[WORD + 1];
	size_t na = strnlen(a, WORD), nb = strnlen(b, WORD);

	for (unsigned j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			bool same = tolower((unsigned char)a[i - 1]) ==
				    tolower((unsigned char)b[j - 1]);
			unsigned change = diagonal + !same;

			diagonal = row[j];
			row[j] = smaller(change, smaller(row[j], row[j - 1]) + 1);
		}
	}
	return row[nb];
}

/* Close enough to be a slip: a third of the word; or one begins like the other or holds it. */
static unsigned rate(const char *word, const char *known)
{
	unsigned d = distance(word, known);
	size_t n = strlen(word);

	if (d <= n / 3 + 1)
		return d;
	if (n >= 3 && (strncasecmp(known, word, 3) == 0 || strcasestr(known, word) ||
		       (strlen(known) >= 3 && strcasestr(word, known))))
		return WORD;
	return WORD + 1;
}

static void join(char *out, size_t size, const char *last, const char *const *list, size_t count)
{
	size_t used = 0;

	if (size)
		*out = '\0';
	for (size_t i = 0; i < count && used < size; i++) {
		const char *link = i == 0 ? "" : i + 1 == count ? last : ", ";
		int n = snprintf(out + used, size - used, "%s\"%s\"", link, list[i]);

		used += n > 0 ? (size_t)n : 0;
	}
}

char *gw_words_join(char *out, size_t size, const char *const *words, size_t count)
{
	join(out, size, " and ", words, count);
	return out;
}

char *gw_nearest(char *out, size_t size, const char *word, const char *const *words, size_t count,
		 size_t all)
{
	const char *best[BEST];
	unsigned rates[BEST];
	size_t found = 0;

	if (size)
		*out = '\0';
	for (size_t i = 0; i < count; i++) {
		unsigned r = rate(word, words[i]);
		size_t at = found;

		if (r > WORD)
			continue;
		while (at > 0 && rates[at - 1] > r)
			at--;
		if (at == BEST)
			continue;
		if (found < BEST)
			found++;
		for (size_t j = found - 1; j > at; j--) {
			best[j] = best[j - 1];
			rates[j] = rates[j - 1];
		}
		best[at] = words[i];
		rates[at] = r;
	}
	if (found)
		join(out, size, " or ", best, found);
	else if (count <= all)
		join(out, size, " or ", words, count);
	return out;
}
