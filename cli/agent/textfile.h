/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics as a file that node-exporter's textfile collector reads. */
#ifndef GW_AGENT_TEXTFILE_H
#define GW_AGENT_TEXTFILE_H

#include <stdbool.h>
#include <stddef.h>

/** Name of the file in its folder. */
#define AGENT_TEXTFILE "gpuwatch.prom"

/**
 * Write @p size bytes as AGENT_TEXTFILE in @p folder: the file that was there stays until the new
 * one is on the disk. False, and @p why, where that fails; nothing is left behind then.
 */
bool agent_textfile(const char *folder, const char *text, size_t size, char *why, size_t room);

#endif
