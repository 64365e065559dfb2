/* SPDX-License-Identifier: Apache-2.0 */
/* Who else may write a file or folder that gpuwatch is about to read or load. */
#ifndef GW_TRUST_H
#define GW_TRUST_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * Whether nobody but root and the user may write @p path, or those alone who may write @p with, a
 * file that is used already (NULL: there is none): they need not this one to do harm. A group that
 * is a user's own, of the same number, is that user; a sticky folder lets others make files in it.
 * What is not there is no matter of trust. Else false, and @p why says why.
 */
bool gw_trusted(const char *path, const char *with, char *why, size_t size);

/** The same of a file and of its folder, where somebody else may put another in its place. */
bool gw_trusted_file(const char *path, const char *with, char *why, size_t size);

/** The folder that @p path is in; false when that is too long. */
bool gw_folder_of(const char *path, char folder[PATH_MAX]);

#endif
