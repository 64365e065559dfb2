#include "cli/agent/curl/push.h"

#include "cli/agent/curl/curl.h"
#include "cli/common/memory.h"
#include "cli/message.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	BACKOFF_LEAST_S = 1,
	BACKOFF_MOST_S = 60,
	CONNECT_S = 5,
	TOTAL_S = 10,
};

struct push {
	CURL *curl;
	struct curl_slist *headers;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more; /* by CLOCK_MONOTONIC */
	struct proto queue[PUSH_QUEUE];
	unsigned count;
	uint64_t failures;
	char why[200]; /* the latest attempt failed; "": it did not */
	bool ending;
	struct timespec until; /* when ending: no attempt begins after it */
};

static void after(struct timespec *t, double seconds)
{
	clock_gettime(CLOCK_MONOTONIC, t);
	t->tv_sec += (time_t)seconds;
	t->tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
	if (t->tv_nsec >= 1000000000) {
		t->tv_nsec -= 1000000000;
		t->tv_sec++;
	}
}

static bool later(const struct timespec *than)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > than->tv_sec ||
	       (now.tv_sec == than->tv_sec && now.tv_nsec > than->tv_nsec);
}

/* What a collector answers is of no use. */
static size_t discard(char *data, size_t size, size_t count, void *arg)
{
	(void)data;
	(void)arg;
	return size * count;
}

/* False: it has arrived, or, with @p why, never will; else it may be tried again. */
static bool again(struct push *p, const struct proto *message, char why[CURL_ERROR_SIZE])
{
	long status = 0;
	CURLcode code;

	*why = 0;
	gw_curl.easy_setopt(p->curl, CURLOPT_POSTFIELDS, message->data);
	gw_curl.easy_setopt(p->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)message->length);
	gw_curl.easy_setopt(p->curl, CURLOPT_ERRORBUFFER, why);
	code = gw_curl.easy_perform(p->curl);
	gw_curl.easy_setopt(p->curl, CURLOPT_ERRORBUFFER, NULL);
	if (code != CURLE_OK) {
		if (!*why)
			strcpy(why, "no answer");
		return true;
	}
	gw_curl.easy_getinfo(p->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 200 && status < 300)
		return false;
	snprintf(why, CURL_ERROR_SIZE, "it answers with status %ld", status);
	return status == 408 || status == 429 || status >= 500;
}

/* Sends from the oldest on. Between two attempts that fail it waits, twice as long each time, and a
 * while that differs from agent to agent. The lock is held. False: it failed. */
static bool work(struct push *p, unsigned *seed, double *backoff)
{
	struct proto message = p->queue[0];
	char why[CURL_ERROR_SIZE];
	struct timespec t;
	bool failed;

	memmove(p->queue, p->queue + 1, (PUSH_QUEUE - 1) * sizeof(*p->queue));
	p->count--;
	pthread_mutex_unlock(&p->lock);
	failed = again(p, &message, why);
	pthread_mutex_lock(&p->lock);
	snprintf(p->why, sizeof(p->why), "%.*s", (int)sizeof(p->why) - 1, why);
	p->failures += *why != 0;
	if (!failed) {
		*backoff = BACKOFF_LEAST_S;
		free(message.data);
		return true;
	}
	if (p->count < PUSH_QUEUE) {
		memmove(p->queue + 1, p->queue, p->count++ * sizeof(*p->queue));
		p->queue[0] = message;
	} else {
		free(message.data);
	}
	after(&t, *backoff * (0.5 + 0.5 * rand_r(seed) / RAND_MAX));
	while (!p->ending && !later(&t))
		pthread_cond_timedwait(&p->more, &p->lock, &t);
	*backoff = *backoff * 2 < BACKOFF_MOST_S ? *backoff * 2 : BACKOFF_MOST_S;
	return false;
}

static void *run(void *arg)
{
	struct push *p = arg;
	unsigned seed = (unsigned)time(NULL) ^ (unsigned)(uintptr_t)p;
	double backoff = BACKOFF_LEAST_S;
	bool good = true;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (!p->count && !p->ending)
			pthread_cond_wait(&p->more, &p->lock);
		/* What waits at the end goes as long as the collector takes it. */
		if (p->ending && (!p->count || !good || later(&p->until)))
			break;
		good = work(p, &seed, &backoff);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static bool prepare(struct push *p, const char *url, const char *ca)
{
	CURL *c = p->curl = gw_curl.easy_init();

	p->headers = gw_curl.slist_append(NULL, "Content-Type: application/x-protobuf");
	p->headers = gw_curl.slist_append(p->headers, "Expect:");
	if (!c || gw_curl.easy_setopt(c, CURLOPT_URL, url) != CURLE_OK)
		return false;
	gw_curl.easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	gw_curl.easy_setopt(c, CURLOPT_HTTPHEADER, p->headers);
	gw_curl.easy_setopt(c, CURLOPT_POST, 1L);
	gw_curl.easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	gw_curl.easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
	gw_curl.easy_setopt(c, CURLOPT_TIMEOUT, (long)TOTAL_S);
	gw_curl.easy_setopt(c, CURLOPT_WRITEFUNCTION, discard);
	if (ca)
		gw_curl.easy_setopt(c, CURLOPT_CAINFO, ca);
	return true;
}

struct push *push_start(const char *url, const char *ca)
{
	struct push *p;

	if (!gw_curl_open("--otlp"))
		return NULL;
	p = gw_alloc(sizeof(*p));
	gw_curl_lock(&p->lock, &p->more);
	if (prepare(p, url, ca) && !pthread_create(&p->thread, NULL, run, p))
		return p;
	gw_error("agent: --otlp=%s: libcurl can't be used with it", url);
	gw_curl.easy_cleanup(p->curl);
	gw_curl.slist_free_all(p->headers);
	free(p);
	return NULL;
}

void push_queue(struct push *p, struct proto message)
{
	pthread_mutex_lock(&p->lock);
	if (p->count == PUSH_QUEUE) {
		free(p->queue[0].data);
		memmove(p->queue, p->queue + 1, (PUSH_QUEUE - 1) * sizeof(*p->queue));
		p->count--;
		p->failures++;
	}
	p->queue[p->count++] = message;
	pthread_cond_signal(&p->more);
	pthread_mutex_unlock(&p->lock);
}

uint64_t push_failures(struct push *p, char *why, size_t size)
{
	uint64_t n;

	pthread_mutex_lock(&p->lock);
	n = p->failures;
	snprintf(why, size, "%s", p->why);
	pthread_mutex_unlock(&p->lock);
	return n;
}

void push_stop(struct push *p, unsigned seconds)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	after(&p->until, seconds);
	pthread_cond_signal(&p->more);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	for (unsigned i = 0; i < p->count; i++)
		free(p->queue[i].data);
	gw_curl.easy_cleanup(p->curl);
	gw_curl.slist_free_all(p->headers);
	pthread_cond_destroy(&p->more);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
