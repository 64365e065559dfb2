/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing on one of the program's threads without the signals that a write may bring: a pipe
 * nobody reads or a file at its size limit must not end the program for our sake, nor a terminal
 * that is another's stop it.
 */
#ifndef GW_BLOCK_SIGNALS_H
#define GW_BLOCK_SIGNALS_H

#include <signal.h>

/** What the thread's signals were. */
struct gw_blocked_signals {
	sigset_t before, pending; /**< mask; those of ours that were waiting already */
};

/** From here on SIGPIPE, SIGXFSZ and SIGTTOU of this thread's writes wait … */
void gw_block_signals_begin(struct gw_blocked_signals *quiet);
/** … and here those that came meanwhile are taken back, or, in a sandbox, wait on. Keeps errno. */
void gw_block_signals_end(const struct gw_blocked_signals *quiet);

#endif
