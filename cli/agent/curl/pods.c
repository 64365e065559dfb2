#include "cli/agent/pod_list.h"

#include "cli/agent/curl/curl.h"
#include "cli/common/memory.h"
#include "cli/message.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum {
	PERIOD_S = 10,
	LEAST_S = 1, /* between two questions */
	TOTAL_S = 5,
	PREFIX = 5,      /* of a gRPC message: whether it is compressed, and its length */
	MOST = 16 << 20, /* as kubelet's own limit */
};

/* An empty ListPodResourcesRequest. */
static const char question[PREFIX];

struct pods {
	CURL *curl;
	struct curl_slist *headers;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more; /* by CLOCK_MONOTONIC */
	bool ending, soon, fresh;
	struct agent_pod_list list; /* fresh: not taken yet */
	uint64_t failures;
	char why[160];
	/* The thread's. */
	unsigned char *answer;
	size_t length, room;
	int status; /* of gRPC; -1: none came */
};

static size_t take_body(char *data, size_t size, size_t count, void *arg)
{
	struct pods *p = arg;

	size *= count;
	if (size > MOST + PREFIX - p->length)
		return 0;
	p->answer = gw_grow(p->answer, &p->room, p->length + size, 1);
	memcpy(p->answer + p->length, data, size);
	p->length += size;
	return size;
}

/* Trailers come as headers do. */
static size_t take_header(char *data, size_t size, size_t count, void *arg)
{
	static const char name[] = "grpc-status:";
	struct pods *p = arg;

	char text[16] = "";
	size_t rest;

	size *= count;
	if (size < sizeof(name) || strncasecmp(data, name, sizeof(name) - 1) != 0)
		return size;
	rest = size - (sizeof(name) - 1);
	memcpy(text, data + sizeof(name) - 1, rest < sizeof(text) ? rest : sizeof(text) - 1);
	p->status = atoi(text);
	return size;
}

/* One question; @p why is set where there is no answer. */
static bool ask(struct pods *p, struct agent_pod_list *list, char *why, size_t size)
{
	char error[CURL_ERROR_SIZE] = "";
	size_t length;
	CURLcode code;

	p->length = 0;
	p->status = -1;
	gw_curl.easy_setopt(p->curl, CURLOPT_ERRORBUFFER, error);
	code = gw_curl.easy_perform(p->curl);
	gw_curl.easy_setopt(p->curl, CURLOPT_ERRORBUFFER, NULL);
	if (code != CURLE_OK) {
		snprintf(why, size, "%s", *error ? error : "no answer");
		return false;
	}
	if (p->status != 0) {
		snprintf(why, size, "it answers with gRPC status %d", p->status);
		return false;
	}
	length = p->length < PREFIX ? 0
				    : (size_t)p->answer[1] << 24 | (size_t)p->answer[2] << 16 |
					      (size_t)p->answer[3] << 8 | p->answer[4];
	if (p->length < PREFIX || p->answer[0] || length != p->length - PREFIX ||
	    !agent_pod_list_read(p->answer + PREFIX, length, list)) {
		snprintf(why, size, "its answer is no ListPodResourcesResponse");
		return false;
	}
	return true;
}

static void after(struct timespec *t, int seconds)
{
	clock_gettime(CLOCK_MONOTONIC, t);
	t->tv_sec += seconds;
}

/* The lock is held. */
static void pause_for(struct pods *p, int seconds, bool unless_soon)
{
	struct timespec t;
	int late = 0;

	after(&t, seconds);
	while (!p->ending && !(unless_soon && p->soon) && !late)
		late = pthread_cond_timedwait(&p->more, &p->lock, &t);
}

static void *run(void *arg)
{
	struct pods *p = arg;

	pthread_mutex_lock(&p->lock);
	while (!p->ending) {
		struct agent_pod_list list = {0};
		char why[sizeof(p->why)] = "";
		bool good;

		p->soon = false;
		pthread_mutex_unlock(&p->lock);
		good = ask(p, &list, why, sizeof(why));
		pthread_mutex_lock(&p->lock);
		memcpy(p->why, why, sizeof(why));
		p->failures += !good;
		if (good) {
			free(p->list.row);
			p->list = list;
			p->fresh = true;
		}
		pause_for(p, LEAST_S, false);
		pause_for(p, PERIOD_S - LEAST_S, true);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static bool prepare(struct pods *p, const char *socket)
{
	CURL *c = p->curl = gw_curl.easy_init();

	p->headers = gw_curl.slist_append(NULL, "Content-Type: application/grpc");
	p->headers = gw_curl.slist_append(p->headers, "TE: trailers");
	p->headers = gw_curl.slist_append(p->headers, "Expect:");
	if (!c || gw_curl.easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, socket) != CURLE_OK ||
	    gw_curl.easy_setopt(c, CURLOPT_HTTP_VERSION,
				(long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE) != CURLE_OK)
		return false;
	gw_curl.easy_setopt(c, CURLOPT_URL, "http://localhost/v1.PodResourcesLister/List");
	gw_curl.easy_setopt(c, CURLOPT_PROXY, "");
	/* Between two questions gRPC servers ping, and end connections that do not answer. */
	gw_curl.easy_setopt(c, CURLOPT_FORBID_REUSE, 1L);
	gw_curl.easy_setopt(c, CURLOPT_HTTPHEADER, p->headers);
	gw_curl.easy_setopt(c, CURLOPT_POST, 1L);
	gw_curl.easy_setopt(c, CURLOPT_POSTFIELDS, question);
	gw_curl.easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)PREFIX);
	gw_curl.easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	gw_curl.easy_setopt(c, CURLOPT_TIMEOUT, (long)TOTAL_S);
	gw_curl.easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
	gw_curl.easy_setopt(c, CURLOPT_WRITEDATA, p);
	gw_curl.easy_setopt(c, CURLOPT_HEADERFUNCTION, take_header);
	gw_curl.easy_setopt(c, CURLOPT_HEADERDATA, p);
	return true;
}

static void release(struct pods *p)
{
	if (p->curl)
		gw_curl.easy_cleanup(p->curl);
	gw_curl.slist_free_all(p->headers);
	pthread_cond_destroy(&p->more);
	pthread_mutex_destroy(&p->lock);
	free(p->list.row);
	free(p->answer);
	free(p);
}

struct pods *pods_start(const char *socket)
{
	struct pods *p;

	if (!gw_curl_open("--pod-resources"))
		return NULL;
	p = gw_alloc(sizeof(*p));
	gw_curl_lock(&p->lock, &p->more);
	if (prepare(p, socket) && !pthread_create(&p->thread, NULL, run, p))
		return p;
	gw_error("agent: --pod-resources=%s: this libcurl has no HTTP/2, or the path is too long",
		 socket);
	release(p);
	return NULL;
}

void pods_ask(struct pods *p)
{
	pthread_mutex_lock(&p->lock);
	p->soon = true;
	pthread_cond_signal(&p->more);
	pthread_mutex_unlock(&p->lock);
}

uint64_t pods_take(struct pods *p, struct agent_pod_list *list, char *why, size_t size)
{
	uint64_t failures;

	pthread_mutex_lock(&p->lock);
	if (p->fresh) {
		free(list->row);
		*list = p->list;
		p->list = (struct agent_pod_list){0};
		p->fresh = false;
	}
	snprintf(why, size, "%s", p->why);
	failures = p->failures;
	pthread_mutex_unlock(&p->lock);
	return failures;
}

void pods_stop(struct pods *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	pthread_cond_signal(&p->more);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	release(p);
}
