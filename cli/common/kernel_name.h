/*
 * Kernel names short enough for a table. A demangled name repeats its namespaces and its parameter
 * types; what distinguishes two kernels of a library, the functor and the tile, comes last.
 */
#ifndef GW_KERNEL_NAME_H
#define GW_KERNEL_NAME_H

#include <stddef.h>

/**
 * The short form of a demangled name: without return type, parameter list, namespaces and the
 * suffixes of numbers, template arguments kept. A lambda is named after the function that
 * contains it. A name that is not a demangled function is returned as it is. free() the result.
 */
char *gw_kernel_name(const char *plain);

/** A kernel as the program's symbol table and as C++ name it. */
struct gw_kernel_names {
	const char *mangled, *plain;
};

/**
 * Shorten @p count names into @p out, each to free(). Names that differ stay different: where two
 * short forms are the same, both are the demangled name, and the mangled one where that is the
 * same, too. Equal mangled names give equal results.
 */
void gw_kernel_names(const struct gw_kernel_names *names, size_t count, char **out);

/**
 * Fit @p count texts (UTF-8) into @p columns columns each, in place: @p text[i] is freed and
 * replaced where it is longer. Texts that differ stay different as far as @p columns allows it: one
 * that is cut shows its start and the part in which it differs from the others.
 */
void gw_kernel_names_fit(char **text, size_t count, size_t columns);

#endif
