#include "cli/agent/http.h"

#include "cli/agent/library.h"
#include "cli/common/memory.h"
#include "cli/message.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	CONNECTIONS = 64,
	TIMEOUT_S = 10,       /* without a byte from or to the client */
	REQUEST_MOST = 16384, /* bytes of a request's head and of what is being sent */
};

#define LIBRARY "libmicrohttpd.so.12"

#define FUNCTIONS(F) \
	F(lookup_connection_value) \
	F(create_response_from_buffer) \
	F(add_response_header) \
	F(queue_response) F(destroy_response) F(start_daemon) F(stop_daemon)
static struct {
#define F(name) __typeof__(&MHD_##name) name;
	FUNCTIONS(F)
#undef F
} mhd;
static const char *const symbols[] = {
#define F(name) "MHD_" #name,
	FUNCTIONS(F)
#undef F
};

struct http_server {
	struct MHD_Daemon *daemon;
	char *token;
	http_page_fn *page;
	void *arg;
	int fd;
};

/* In a time that does not depend on where they differ. */
static bool same(const char *a, const char *b)
{
	const size_t n = strlen(a), m = strlen(b);
	unsigned char differ = n != m;

	for (size_t i = 0; i < n && m; i++)
		differ |= (unsigned char)(a[i] ^ b[i % m]);
	return !differ;
}

static bool allowed(const struct http_server *s, struct MHD_Connection *c)
{
	static const char scheme[] = "Bearer ";
	const char *given;

	if (!s->token)
		return true;
	given = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
	return given && !strncmp(given, scheme, sizeof(scheme) - 1) &&
	       same(given + sizeof(scheme) - 1, s->token);
}

static enum MHD_Result answer(struct MHD_Connection *c, const struct http_page *p)
{
	struct MHD_Response *r =
		mhd.create_response_from_buffer(p->size, p->body, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result result;

	if (!r) {
		free(p->body);
		return MHD_NO;
	}
	mhd.add_response_header(r, "Content-Type", p->type);
	if (p->status == MHD_HTTP_UNAUTHORIZED)
		mhd.add_response_header(r, "WWW-Authenticate", "Bearer");
	if (p->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		mhd.add_response_header(r, "Allow", "GET, HEAD");
	result = mhd.queue_response(c, p->status, r);
	mhd.destroy_response(r);
	return result;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status, const char *why)
{
	const struct http_page p = {status, "text/plain; charset=utf-8", gw_copy(why), strlen(why)};

	return answer(c, &p);
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **seen)
{
	struct http_server *s = arg;
	struct http_page p = {0};

	(void)version;
	(void)data;
	/* The head has been read; what comes behind it is not wanted, and ends the connection. */
	if (!*seen) {
		*seen = s;
		return MHD_YES;
	}
	if (*size) {
		*size = 0;
		return MHD_YES;
	}
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	/* That it works is no secret: an orchestrator asks without a token. */
	if (strcmp(url, "/healthz") != 0 && !allowed(s, c))
		return refuse(c, MHD_HTTP_UNAUTHORIZED, "the token is missing or wrong\n");
	s->page(s->arg, url, mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Accept"), &p);
	return answer(c, &p);
}

/* Nothing of what clients send belongs in the agent's messages. */
static void quiet(void *arg, const char *format, va_list args)
{
	(void)arg;
	(void)format;
	(void)args;
}

struct http_server *http_start(int fd, const char *token, http_page_fn *page, void *arg)
{
	struct http_server *s;

	if (!gw_library(LIBRARY, symbols, sizeof(symbols) / sizeof(*symbols), &mhd)) {
		close(fd);
		gw_error("agent: to serve needs " LIBRARY ", which is not here: install "
			 "libmicrohttpd (Debian: libmicrohttpd12), or use --listen=none with "
			 "--textfile or --otlp");
		return NULL;
	}
	s = gw_alloc(sizeof(*s));
	s->page = page;
	s->arg = arg;
	s->fd = fd;
	s->token = token ? gw_copy(token) : NULL;
	s->daemon = mhd.start_daemon(
		MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ERROR_LOG, 0, NULL, NULL,
		handle, s, MHD_OPTION_EXTERNAL_LOGGER, quiet, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_MOST,
		MHD_OPTION_END);
	if (s->daemon)
		return s;
	gw_error("agent: the server can't be started: libmicrohttpd refuses");
	close(fd);
	free(s->token);
	free(s);
	return NULL;
}

void http_stop(struct http_server *s)
{
	if (!s)
		return;
	mhd.stop_daemon(s->daemon);
	free(s->token);
	free(s);
}
