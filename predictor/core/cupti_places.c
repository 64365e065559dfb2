#include "predictor/core/cupti_places.h"

#include <stddef.h>
#include <stdio.h>

enum { PATH_ROOM = 4096 };

static bool try_under(const char *folder, const char *const *rest, gw_cupti_try_fn *try, void *arg)
{
	char pattern[PATH_ROOM];

	for (; folder && *folder && *rest; rest++)
		if (snprintf(pattern, sizeof(pattern), "%s/%s", folder, *rest) <
			    (int)sizeof(pattern) &&
		    try(pattern, arg))
			return true;
	return false;
}

bool gw_cupti_search_beside(const char *beside, gw_cupti_try_fn *try, void *arg)
{
	/* Wheels: nvidia/cuda_runtime/lib beside nvidia/cuda_cupti/lib. */
	static const char *const rest[] = {"libcupti.so*", "../../cuda_cupti/lib/libcupti.so*",
					   NULL};

	return try_under(beside, rest, try, arg);
}

bool gw_cupti_search(const char *beside, const char *home, gw_cupti_try_fn *try, void *arg)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
					    "libcupti.so"};
	static const char *const rest[] = {"lib64/libcupti.so*", "extras/CUPTI/lib64/libcupti.so*",
					   "targets/*/lib/libcupti.so*", NULL};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (try(names[i], arg))
			return true;
	return gw_cupti_search_beside(beside, try, arg) || try_under(home, rest, try, arg) ||
	       try_under("/usr/local/cuda", rest, try, arg) ||
	       try_under("/usr/local/cuda-[0-9]*", rest, try, arg);
}
