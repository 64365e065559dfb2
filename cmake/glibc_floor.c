/*
 * Archives of newer systems, and code compiled there, call functions by versions that older systems
 * lack: jansson strtoll() as __isoc23_strtoll() (glibc 2.38, see glibc_floor.h), sqlite and the
 * command fmod() of glibc 2.38. These definitions, hidden, let what is built there run on them.
 */
#include <math.h>
#include <search.h>
#include <stdlib.h>

#define HIDDEN __attribute__((visibility("hidden")))

#ifdef GW_LIBELF_REST
/*
 * What the archive of libelf 0.192 (Debian 13) calls and lacks: trees of tsearch(3) with a lock
 * behind the root. A handle of libelf is used by one thread at a time here.
 */
typedef int compare_fn(const void *a, const void *b);

HIDDEN void eu_search_tree_init(void **tree);
HIDDEN void eu_search_tree_fini(void **tree, void (*release)(void *));
HIDDEN void *eu_tsearch(const void *key, void **tree, compare_fn *compare);
HIDDEN void *eu_tdelete(const void *key, void **tree, compare_fn *compare);

HIDDEN void eu_search_tree_init(void **tree)
{
	*tree = NULL;
}

HIDDEN void eu_search_tree_fini(void **tree, void (*release)(void *))
{
	tdestroy(*tree, release);
	*tree = NULL;
}

HIDDEN void *eu_tsearch(const void *key, void **tree, compare_fn *compare)
{
	return tsearch(key, tree, compare);
}

HIDDEN void *eu_tdelete(const void *key, void **tree, compare_fn *compare)
{
	return tdelete(key, tree, compare);
}
#else
HIDDEN long long __isoc23_strtoll(const char *text, char **end, int base);

HIDDEN long long __isoc23_strtoll(const char *text, char **end, int base)
{
	return strtoll(text, end, base);
}

/* The first version that each architecture has: it differs in how errors are reported alone. */
#if defined(__x86_64__)
__asm__(".symver first_fmod, fmod@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver first_fmod, fmod@GLIBC_2.17");
#endif
#if defined(__x86_64__) || defined(__aarch64__)
double first_fmod(double x, double y);

HIDDEN double fmod(double x, double y)
{
	return first_fmod(x, y);
}
#endif
#endif
