/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said on the program's stderr. A daemon closes that, and the next file it opens gets the
 * number: so nothing is said unless file descriptor 2 is still the file that it was when the
 * library was loaded, and was one then.
 */
#ifndef GW_MESSAGES_H
#define GW_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>

/** Write @p text where it can be written at once; from any thread. Keeps errno. */
void gw_message(const char *text, size_t size);

/** Whether it would be read on a terminal. Keeps errno. */
bool gw_message_terminal(void);

#endif
