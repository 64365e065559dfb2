/* SPDX-License-Identifier: Apache-2.0 */
/* Writing without raising a signal in the program. */
#ifndef GW_QUIET_H
#define GW_QUIET_H

#include <stddef.h>
#include <sys/types.h>

/**
 * write(2), on whatever thread, without the SIGPIPE of a reader that has gone or the SIGXFSZ
 * of RLIMIT_FSIZE, either of which would end a program that does not write itself. Result
 * and errno are those of write.
 */
ssize_t gw_quiet_write(int fd, const void *data, size_t size);

#endif
