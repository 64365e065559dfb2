/* Names of kernels, demangled many at a time. */
#ifndef GW_LOG_NAMES_H
#define GW_LOG_NAMES_H

#include <stddef.h>

/** A kernel's name. */
struct gw_name {
	char *mangled, *plain; /**< plain: demangled; NULL before log_names_demangle */
};

/** Plain names for the @p count at @p names, in one go: see demangle.c. */
void log_names_demangle(struct gw_name *names, size_t count);

/** Free them, and the array. */
void log_names_free(struct gw_name *names, size_t count);

#endif
