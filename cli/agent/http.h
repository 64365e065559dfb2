/* The agent's server: one thread, bounded connections, nothing but reading. */
#ifndef GW_AGENT_HTTP_H
#define GW_AGENT_HTTP_H

#include <stdbool.h>
#include <stddef.h>

/** An answer. */
struct http_page {
	unsigned status;  /**< of HTTP */
	const char *type; /**< of the content; a static string */
	char *body;       /**< the server frees it */
	size_t size;
};

/** Makes the page at @p path; @p accept: the header, NULL where there is none. On the server's
 * thread. */
typedef void http_page_fn(void *arg, const char *path, const char *accept, struct http_page *page);

struct http_server;

/**
 * Serve on the listening socket @p fd, which is the server's from here. @p token: what a request
 * has to bear, NULL: nothing. NULL after a message where it can't be done.
 */
struct http_server *http_start(int fd, const char *token, http_page_fn *page, void *arg);
void http_stop(struct http_server *server);

/* The socket that the agent listens on. */

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
