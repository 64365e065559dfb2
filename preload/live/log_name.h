/* Names of logs, and who may read them. */
#ifndef GW_LOG_NAME_H
#define GW_LOG_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** Expand the macros of GPUWATCH_OUT; false when one is not understood or the name is too long. */
bool gw_log_expand(const char *pattern, char *out, size_t room);

/** The rank of this process in its job, "" when no launcher says. */
const char *gw_log_rank(void);

/** GPUWATCH_LOG_MODE, 0600 at least; false when it is no octal number. */
bool gw_log_mode(const char *text, mode_t *mode);

/** The number of the group @p text names, by number or as /etc/group has it; false: none. */
bool gw_log_group(const char *text, gid_t *group);

#endif
