/* The agent where it was built without libmicrohttpd. */
#include "cli/agent/http.h"

#include "cli/message.h"

#include <unistd.h>

struct http_server *http_start(int fd, const char *token, http_page_fn *page, void *arg)
{
	(void)token;
	(void)page;
	(void)arg;
	close(fd);
	gw_error("agent: this gpuwatch was built without libmicrohttpd and serves nothing: install "
		 "libmicrohttpd-dev and build again, or use --listen=none with --textfile or "
		 "--otlp");
	return NULL;
}

void http_stop(struct http_server *server)
{
	(void)server;
}
