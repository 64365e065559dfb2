/*
 * What is said on the program's stderr. A daemon closes that, and the next file it opens gets the
 * number: so nothing is said unless file descriptor 2 is still the file that it was when the
 * library was loaded, and was one then.
 */
#ifndef GW_MESSAGES_H
#define GW_MESSAGES_H
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/** Write @p text where it can be written at once; from any thread. Keeps errno. */
void gw_message(const char *text, size_t size);

/** Whether it would be read on a terminal. Keeps errno. */
bool gw_message_terminal(void);

/*
 * Writing on one of the program's threads without the signals that a write may bring: a pipe
 * nobody reads or a file at its size limit must not end the program for our sake, nor a terminal
 * that is another's stop it.
 */

/** What the thread's signals were. */
struct gw_blocked_signals {
	sigset_t before, pending; /**< mask; those of ours that were waiting already */
};

/** From here on SIGPIPE, SIGXFSZ and SIGTTOU of this thread's writes wait … */
void gw_block_signals_begin(struct gw_blocked_signals *quiet);
/** … and here those that came meanwhile are taken back, or, in a sandbox, wait on. Keeps errno. */
void gw_block_signals_end(const struct gw_blocked_signals *quiet);

#endif
