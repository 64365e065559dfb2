/* Which other users may write a file or folder that gpuwatch is about to read or load. */
#ifndef GW_TRUST_H
#define GW_TRUST_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * Whether only root and the user may write @p path, or only those who may write @p with, a file
 * already in use (NULL: none), and who could do harm without this one. A group with the user's own
 * number counts as the user; a sticky folder lets others create files in it. What does not exist is
 * trusted. Else false, with the reason in @p why.
 */
bool gw_trusted(const char *path, const char *with, char *why, size_t size);

/** The same of a file and of its folder, where somebody else may put another in its place. */
bool gw_trusted_file(const char *path, const char *with, char *why, size_t size);

/** The folder that @p path is in; false when that is too long. */
bool gw_folder_of(const char *path, char folder[PATH_MAX]);

#endif
