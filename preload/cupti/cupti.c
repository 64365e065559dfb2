#include "preload/cupti/cupti.h"

#include "preload/runtime/linker/real_dl.h"
#include "preload/runtime/options.h"
#include "predictor/core/cupti_places.h"
#include "predictor/profile/trust.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gw_cupti gw_cupti;

enum need { OPTIONAL, REQUIRED };

#define CUPTI(symbol, need) +need
enum {
	NEEDED = 0
#include "preload/cupti/cupti.def"
};
#undef CUPTI

#define CUPTI(symbol, need) #symbol "\0"
static const char names[] =
#include "preload/cupti/cupti.def"
#include "preload/cupti/cupti_counters.def"
	;
#undef CUPTI

/* Version 13 is CUDA 11.0: older ones know no graphs. */
enum { VERSION_MIN = 13, PATH_ROOM = 4096 };

struct scan {
	char loaded[PATH_ROOM];  /* a libcupti that is mapped */
	char sibling[PATH_ROOM]; /* another CUDA library that is mapped */
};

struct search {
	void *handle;
	const char *sibling; /* who may write it needs no libcupti to do harm */
	char refused[256];   /* why the first place that others may write is not used */
};

bool gw_cupti_is_path(const char *path)
{
	return strstr(path, "/libcupti.so") != NULL;
}

static int scan_one(struct dl_phdr_info *info, size_t size, void *arg)
{
	static const char *const siblings[] = {"/libcudart.so", "/libnvrtc.so", "/libcublas.so"};
	struct scan *s = arg;
	const char *path = info->dlpi_name;

	(void)size;
	if (!path || strlen(path) >= PATH_ROOM)
		return 0;
	if (!s->loaded[0] && gw_cupti_is_path(path))
		strcpy(s->loaded, path);
	for (size_t i = 0; i < 3; i++)
		if (!s->sibling[0] && strstr(path, siblings[i]))
			strcpy(s->sibling, path);
	return 0;
}

/* Local: the program's own look-ups must not find a libcupti that it did not load. */
static void *open_path(const char *path)
{
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The name was not asked for, so what is found must not be anybody's. */
static void *open_found(struct search *s, const char *path)
{
	char why[sizeof(s->refused)];
	const char *with = s->sibling[0] ? s->sibling : NULL;

	if (gw_trusted_file(path, with, why, sizeof(why)))
		return open_path(path);
	if (!s->refused[0])
		strcpy(s->refused, why);
	return NULL;
}

static bool open_place(const char *place, void *arg)
{
	struct search *s = arg;
	glob_t found;

	if (!strchr(place, '/')) {
		s->handle = open_path(place);
	} else if (!glob(place, 0, NULL, &found)) {
		for (size_t i = found.gl_pathc; i-- && !s->handle;)
			s->handle = open_found(s, found.gl_pathv[i]);
		globfree(&found);
	}
	return s->handle != NULL;
}

/* @p why: in @p size bytes, where there is none to be used. */
static void *look(char *why, size_t size)
{
	struct scan s = {0};
	struct search search = {.sibling = s.sibling};
	char beside[PATH_MAX];

	dl_iterate_phdr(scan_one, &s);
	if (s.loaded[0])
		return open_path(s.loaded);
	if (!s.sibling[0] || !gw_folder_of(s.sibling, beside))
		beside[0] = 0;
	gw_cupti_search(beside, secure_getenv("CUDA_HOME"), open_place, &search);
	if (search.refused[0])
		snprintf(why, size, "%s (name it with GPUWATCH_CUPTI)", search.refused);
	else
		snprintf(why, size,
			 "libcupti was not found (install CUPTI or name its libcupti.so with "
			 "GPUWATCH_CUPTI)");
	return search.handle;
}

bool gw_cupti_unwanted(void)
{
	return !strcmp(gw_options.cupti, "none");
}

bool gw_cupti_open(char *why, size_t size)
{
	bool named = gw_options.cupti[0] != 0;
	const char *lacks;
	void *handle;

	if (gw_cupti.version)
		return true;
	if (gw_cupti_unwanted()) {
		snprintf(why, size, "%s",
			 gw_options.core_dumps
				 ? "the driver makes no core dump of a GPU beside libcupti "
				   "(CUDA_ENABLE_COREDUMP_ON_EXCEPTION)"
				 : "GPUWATCH_CUPTI=none");
		return false;
	}
	handle = named ? open_path(gw_options.cupti) : look(why, size);
	if (!handle && named)
		snprintf(why, size, "GPUWATCH_CUPTI: %.150s", dlerror());
	if (!handle)
		return false;
	lacks = gw_dl_find(handle, (void **)&gw_cupti, names, NEEDED);
	if (lacks) {
		snprintf(why, size, "the libcupti found lacks %s", lacks);
		return false;
	}
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
