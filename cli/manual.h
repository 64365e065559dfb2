/* SPDX-License-Identifier: Apache-2.0 */
/* Each prints one manual page on stdout. */
#ifndef GW_MANUAL_H
#define GW_MANUAL_H

#include "cli/command.h"

#include <stdbool.h>

/** gpuwatch(1) */
void gw_manual_main(void);
/** gpuwatch-COMMAND(1) */
void gw_manual_command(const struct gw_command *command);
/** libgpuwatch(7) */
void gw_manual_library(void);
/** gpuwatch-log(5), or the same as Markdown. */
void gw_manual_log(bool markdown);

#endif
