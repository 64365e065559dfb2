/*
 * Where gpuwatch's own parts are, relative to the running executable, so that the build tree
 * and a moved installation work alike.
 */
#ifndef GW_PATHS_H
#define GW_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/**
 * The absolute path of libgpuwatch.so into @p out. NULL, or where it was looked for: the text
 * is valid until the next call.
 */
const char *gw_library_path(char *out, size_t size);

/** Make the folder @p path where it is not there yet; false after a message. */
bool gw_folder_make(const char *path);

#endif
