/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the agent of this machine. */
#ifndef GW_HEALTH_ASK_H
#define GW_HEALTH_ASK_H

#include <stdbool.h>
#include <stddef.h>

/**
 * What the agent at @p where (ADDRESS:PORT or unix:PATH) serves at @p path, with @p token where
 * that is not NULL; ended by a NUL, free() it. Each of connecting, asking and the answer takes
 * @p seconds at most. NULL, and @p why, where
 * there is none.
 */
char *health_ask(const char *where, const char *path, const char *token, unsigned seconds,
                 char *why, size_t room);

#endif
