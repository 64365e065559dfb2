/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/cupti.h"

#include "preload/dl.h"
#include "preload/options.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gw_cupti gw_cupti;

enum need { OPTIONAL, REQUIRED };

/* Version 13 is CUDA 11.0: older ones know no graphs. */
enum { VERSION_MIN = 13, PATH_ROOM = 4096 };

struct scan {
	char loaded[PATH_ROOM]; /* a libcupti that is mapped */
	char beside[PATH_ROOM]; /* folder of another CUDA library that is mapped */
};

static int scan_one(struct dl_phdr_info *info, size_t size, void *arg)
{
	static const char *const siblings[] = {"/libcudart.so", "/libnvrtc.so", "/libcublas.so"};
	struct scan *s = arg;
	const char *path = info->dlpi_name;

	(void)size;
	if (!path || strlen(path) >= PATH_ROOM)
		return 0;
	if (!s->loaded[0] && strstr(path, "/libcupti.so"))
		strcpy(s->loaded, path);
	for (size_t i = 0; i < 3; i++) {
		const char *at = strstr(path, siblings[i]);

		if (at && !s->beside[0]) {
			memcpy(s->beside, path, (size_t)(at - path));
			s->beside[at - path] = 0;
		}
	}
	return 0;
}

/* Local: the program's own look-ups must not find a libcupti that it did not load. */
static void *open_path(const char *path)
{
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The newest match of a pattern, as globbing sorts them. */
static void *open_glob(const char *pattern)
{
	glob_t found;
	void *handle = NULL;

	if (glob(pattern, 0, NULL, &found))
		return NULL;
	for (size_t i = found.gl_pathc; i-- && !handle;)
		handle = open_path(found.gl_pathv[i]);
	globfree(&found);
	return handle;
}

static void *open_under(const char *folder, const char *rest)
{
	char pattern[PATH_ROOM];

	if (!folder || !*folder ||
	    snprintf(pattern, sizeof(pattern), "%s/%s", folder, rest) >= PATH_ROOM)
		return NULL;
	return open_glob(pattern);
}

static void *look(void)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
	                                    "libcupti.so"};
	static const char *const places[] = {"lib64/libcupti.so*",
	                                     "extras/CUPTI/lib64/libcupti.so*",
	                                     "targets/x86_64-linux/lib/libcupti.so*"};
	static const char *const toolkits[] = {NULL, "/usr/local/cuda", "/usr/local/cuda-[0-9]*"};
	struct scan s = {0};
	void *handle = NULL;

	dl_iterate_phdr(scan_one, &s);
	if (s.loaded[0])
		return open_path(s.loaded);
	for (size_t i = 0; i < 4 && !handle; i++)
		handle = open_path(names[i]);
	if (!handle)
		handle = open_under(s.beside, "libcupti.so*");
	if (!handle) /* wheels: nvidia/cuda_runtime/lib beside nvidia/cuda_cupti/lib */
		handle = open_under(s.beside, "../../cuda_cupti/lib/libcupti.so*");
	for (size_t t = 0; t < 3 && !handle; t++)
		for (size_t i = 0; i < 3 && !handle; i++)
			handle = open_under(toolkits[t] ? toolkits[t] : getenv("CUDA_HOME"),
			                    places[i]);
	return handle;
}

bool gw_cupti_unwanted(void)
{
	return !strcmp(gw_options.cupti, "none");
}

bool gw_cupti_open(char *why, size_t size)
{
	bool named = gw_options.cupti[0] != 0;
	void *handle;

	if (gw_cupti.version)
		return true;
	if (gw_cupti_unwanted()) {
		snprintf(why, size, "GPUWATCH_CUPTI=none");
		return false;
	}
	handle = named ? open_path(gw_options.cupti) : look();
	if (!handle) {
		snprintf(why, size,
		         "libcupti was not found (install CUPTI or name its libcupti.so "
		         "with GPUWATCH_CUPTI)");
		if (named)
			snprintf(why, size, "GPUWATCH_CUPTI: %.150s", dlerror());
		return false;
	}
#define CUPTI(symbol, need)                                                                        \
	*(void **)&gw_cupti.symbol = gw_real_dlsym(handle, #symbol);                               \
	if (need == REQUIRED && !gw_cupti.symbol) {                                                \
		snprintf(why, size, "the libcupti found lacks " #symbol);                          \
		return false;                                                                      \
	}
#include "preload/cupti.def"
#include "preload/cupti_counters.def"
#undef CUPTI
	if (gw_cupti.cuptiGetVersion(&gw_cupti.version) != CUPTI_SUCCESS ||
	    gw_cupti.version < VERSION_MIN) {
		snprintf(why, size, "the libcupti found is older than CUDA 11 (version %u)",
		         gw_cupti.version);
		gw_cupti.version = 0;
		return false;
	}
	return true;
}

void *gw_cupti_loaded(void)
{
	struct scan s = {0};

	dl_iterate_phdr(scan_one, &s);
	return s.loaded[0] ? dlopen(s.loaded, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}
