/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of the kernel's, as /proc and /sys have them. */
#ifndef GW_SMALL_FILE_H
#define GW_SMALL_FILE_H

#include <stddef.h>

/**
 * Read the start of the file @p path into @p text, @p size − 1 bytes at most, and put a 0 behind.
 * Returns the number of bytes read, 0 where the file is empty or can't be read. Not in a sandbox.
 */
size_t gw_small_file(const char *path, char *text, size_t size);

/**
 * Field @p number (proc(5) counts from 1; at least 3, the state) of @p stat, the text of
 * /proc/PID/stat. It ends at the next blank; NULL where there is none. The name, field 2, may hold
 * blanks and parentheses.
 */
const char *gw_stat_field(const char *stat, unsigned number);

#endif
