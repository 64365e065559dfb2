/* The logs that an operand of a command stands for. */
#ifndef GW_LOG_FOLDER_H
#define GW_LOG_FOLDER_H

#include <stdbool.h>

/** Reads the log at @p path; false when it could not be read, after a message. */
typedef bool gw_log_file_fn(void *arg, const char *path);

/**
 * Call @p read with @p arg for the log at @p path ("-": standard input), or for each log of the
 * folder at @p path by name. 0; or GW_EXIT_USAGE after a message when there is none or none could
 * be read: a broken one among others is reported and left out.
 */
int gw_log_each(const char *path, gw_log_file_fn *read, void *arg);

#endif
