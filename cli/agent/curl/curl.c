/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/agent/curl/curl.h"

#include "cli/agent/library.h"

#include <stddef.h>

struct gw_curl gw_curl;

bool gw_curl_open(void)
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
		return false;
	}
	gw_curl.global_init(CURL_GLOBAL_DEFAULT);
	return true;
}
