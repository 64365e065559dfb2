/* SPDX-License-Identifier: Apache-2.0 */
/* The socket that the agent listens on. */
#ifndef GW_AGENT_LISTEN_H
#define GW_AGENT_LISTEN_H

#include <stdbool.h>

/** Whether systemd hands a listening socket over (LISTEN_FDS). */
bool agent_activated(void);

/** Whether @p where is such as agent_listen() takes, or "none"; false after a message. */
bool agent_listen_good(const char *where);

/**
 * Listen on @p where, ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH; the socket of systemd where there
 * is one. *@p local: only this machine's processes reach it. -1 after a message.
 */
int agent_listen(const char *where, bool *local);

/** Remove the file of a Unix socket that agent_listen() made. */
void agent_listen_end(const char *where);

#endif
