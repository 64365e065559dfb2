/* SPDX-License-Identifier: Apache-2.0 */
/* The table of files of the log's writer. */
#ifndef GW_LOG_TABLE_H
#define GW_LOG_TABLE_H

#include <stdbool.h>

/** Give the calling thread an empty table of files of its own; false, with errno set: there is
 * none. */
bool gw_log_own_table(void);

#endif
