#ifndef GW_DEMANGLE_H
#define GW_DEMANGLE_H

#include <stddef.h>

/**
 * The C++ names that @p mangled, @p count of them, stand for, into @p plain: each a copy to
 * free(). A name that is none, can't be taken apart in bounds, or for which there is no
 * demangler is copied as it is.
 */
void gw_demangle_many(const char *const *mangled, char **plain, size_t count);

/** The same for one name; free() it. */
char *gw_demangle(const char *mangled);

/** Why names stay mangled, as a sentence; NULL when there is a demangler. */
const char *gw_demangle_missing(void);

#endif
