#include "cli/agent/curl/curl.h"

#include "cli/agent/library.h"
#include "cli/message.h"

#include <stddef.h>
#include <time.h>

struct gw_curl gw_curl;

bool gw_curl_open(const char *option)
{
	static const char *const symbols[] = {
#define F(name) "curl_" #name,
		GW_CURL_FUNCTIONS(F)
#undef F
	};

	if (gw_curl.easy_init)
		return true;
	if (!gw_library(GW_CURL_LIBRARY, symbols, sizeof(symbols) / sizeof(*symbols), &gw_curl)) {
		gw_curl.easy_init = NULL;
		gw_error("agent: %s needs " GW_CURL_LIBRARY ", which is not here: install libcurl "
			 "(Debian: libcurl4)",
			 option);
		return false;
	}
	gw_curl.global_init(CURL_GLOBAL_DEFAULT);
	return true;
}

void gw_curl_lock(pthread_mutex_t *lock, pthread_cond_t *more)
{
	pthread_condattr_t monotonic;

	pthread_mutex_init(lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(more, &monotonic);
	pthread_condattr_destroy(&monotonic);
}
