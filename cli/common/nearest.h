/* "Did you mean": the known words nearest to one that is not known. */
#ifndef GW_NEAREST_H
#define GW_NEAREST_H

#include <stddef.h>

/**
 * Write up to three of @p count @p words that are near to @p word into @p out, nearest first, as
 * `"a", "b" or "c"`; when none is near, all of them if they are at most @p all, else the empty
 * string. Returns @p out.
 */
char *gw_nearest(char *out, size_t size, const char *word, const char *const *words, size_t count,
		 size_t all);

/** Write all @p words into @p out as `"a", "b" and "c"`, as far as they fit. Returns @p out. */
char *gw_words_join(char *out, size_t size, const char *const *words, size_t count);

#endif
