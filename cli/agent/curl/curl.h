/* libcurl's functions, opened when they are needed. */
#ifndef GW_AGENT_CURL_H
#define GW_AGENT_CURL_H

#include <curl/curl.h>
#include <pthread.h>
#include <stdbool.h>

#define GW_CURL_LIBRARY "libcurl.so.4"

#define GW_CURL_FUNCTIONS(F) \
	F(easy_init) \
	F(easy_setopt) \
	F(easy_perform) \
	F(easy_getinfo) F(easy_cleanup) F(slist_append) F(slist_free_all) F(global_init)
/* Some of curl's names are macros, too. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
struct gw_curl {
#define F(name) __typeof__(&curl_##name) name;
	GW_CURL_FUNCTIONS(F)
#undef F
};

/** The functions, after gw_curl_open() was true. */
extern struct gw_curl gw_curl;

/** Open it, once; false, with an error that names @p option, where it is not here. Before threads
 * that use it begin. */
bool gw_curl_open(const char *option);

/** Initialise the lock of such a thread, and what it waits on, by the monotonic clock. */
void gw_curl_lock(pthread_mutex_t *lock, pthread_cond_t *more);

#endif
