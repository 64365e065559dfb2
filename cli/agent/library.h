/* A library that is opened when it is needed, so that one command runs with and without it. */
#ifndef GW_AGENT_LIBRARY_H
#define GW_AGENT_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Open @p file, as the linker finds it, and set the @p count pointers at @p functions to its @p
 * symbols, in their order. False where it is not here or lacks one. It stays open.
 */
bool gw_library(const char *file, const char *const *symbols, size_t count, void *functions);

#endif
