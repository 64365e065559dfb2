/*
 * A look-up without a handle depends on who asks: RTLD_DEFAULT searches the caller's scope,
 * RTLD_NEXT what comes after the caller. Only the real dlsym() knows both, by its return address;
 * so whenever our wrapper is not the answer, it is jumped to as if it had been called itself
 * (dlsym.c). Whether our wrapper is the answer is found out before, from the global scope, where we
 * and the caller see the same, and from the list of loaded objects.
 */
#include "preload/hook/lookup.h"

#include "preload/runtime/linker/real_dl.h"
#include "preload/cupti/other_profiler.h"
#include "preload/lifecycle.h"
#include "preload/runtime/linker/objects.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

static const struct gw_dl_answer as_without_us = {NULL, 0};

void *gw_lookup_next(const char *name)
{
	/* By way of a variable: RTLD_NEXT looks at its caller, which a tail call would change. */
	void *volatile next = gw_real_dlsym(RTLD_NEXT, name);

	return next;
}

/* Whether the name has a stand-in, which only names of libraries that are loaded have. */
static bool concerns_us(const char *name, struct gw_stand_in *s)
{
	gw_dl_init();
	return name && name[0] == 'c' && name[1] == 'u' && gw_hooking() &&
	       (gw_hook_stand_in(name, s) || gw_other_profiler_stand_in(name, s));
}

/* In place of an address that was looked up: only the driver's own are stood in for. */
static void *in_place_of(void *found, const struct gw_stand_in *s)
{
	if (!found)
		return NULL;
	if (found == s->own || gw_other_profiler_owns(found, s))
		return s->by_address;
	return found == s->next ? s->by_name : found;
}

static struct link_map *object_of(void *address)
{
	struct link_map *map = NULL;
	Dl_info info;

	return dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) ? map : NULL;
}

static bool goes_on_to(const struct link_map *map, const char *name)
{
	struct gw_stand_in s;

	return map && gw_hook_stand_in(name, &s) && s.next != s.own && object_of(s.next) == map;
}

/*
 * Whether who asks is behind us what our wrapper of the name, or of those by which names are looked
 * up, goes on to: it asks for the driver's own, to go on to that, and each of its calls has come
 * through us.
 */
static bool is_behind(const char *name, void *caller)
{
	const struct link_map *map = object_of(caller);

	return goes_on_to(map, name) || goes_on_to(map, "cuGetProcAddress_v2") ||
	       goes_on_to(map, "cuGetProcAddress");
}

/* The global scope first, then the caller's own, which only a library that was opened has. */
static void *by_default(const char *name, void *caller)
{
	struct link_map *map = object_of(caller);
	void *found;

	if (map && !gw_object_listed(map))
		return NULL; /* of another namespace: there is nothing of ours */
	found = gw_next_dlsym(RTLD_DEFAULT, name);
	if (found || !map)
		return found;
	found = gw_object_beside(map, name);
	if (found)
		dlerror(); /* without us nothing would have failed */
	return found;
}

/* Asked behind us the next is nothing of ours: whoever asks may be what our wrapper goes on to. */
static void *after(const char *name, void *caller)
{
	struct link_map *map = object_of(caller);

	return map && gw_object_ahead(map, name) ? gw_lookup_next(name) : NULL;
}

struct gw_dl_answer gw_dlsym_filter(void *handle, const char *name, void *caller)
{
	struct gw_dl_answer answer = as_without_us;
	int saved = errno;
	struct gw_stand_in s;
	void *found, *ours;

	if (!concerns_us(name, &s))
		return as_without_us;
	/* First: the error that dlerror() has is that of what follows. */
	if (handle != RTLD_DEFAULT && handle != RTLD_NEXT && is_behind(name, caller)) {
		errno = saved;
		return as_without_us;
	}
	found = handle == RTLD_DEFAULT ? by_default(name, caller)
		: handle == RTLD_NEXT  ? after(name, caller)
				       : gw_next_dlsym(handle, name);
	ours = in_place_of(found, &s);
	if (ours != found)
		answer = (struct gw_dl_answer){ours, 1};
	errno = saved;
	return answer;
}

/* Of that version: what gw_object_beside() finds is of none in particular. */
static void *versioned(void *found, const char *name, const char *version)
{
	void *handle, *of_version = NULL;
	Dl_info info;

	if (!found || !dladdr(found, &info) ||
	    !(handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)))
		return NULL;
	of_version = gw_real_dlvsym(handle, name, version);
	dlclose(handle);
	return of_version == found ? found : NULL;
}

/*
 * Our names of libcupti have its versions, by which they must not be found either; a jump would
 * find them, so where they come up the answer is given here. Of libcuda's names there is no
 * version.
 */
struct gw_dl_answer gw_dlvsym_filter(void *handle, const char *name, const char *version,
				     void *caller)
{
	int saved = errno;
	struct gw_stand_in s;
	bool concerned = concerns_us(name, &s),
	     special = handle == RTLD_DEFAULT || handle == RTLD_NEXT;
	void *wrapper = name ? gw_other_profiler_wrapper_of(name) : NULL, *found, *ours;
	struct link_map *map = wrapper && special ? object_of(caller) : NULL;

	if (!(wrapper || (concerned && !special)) || (map && !gw_object_listed(map)) ||
	    (handle == RTLD_NEXT && !(map && gw_object_ahead(map, name))))
		return as_without_us;
	found = gw_next_dlvsym(handle, name, version);
	ours = wrapper;
	if (found == wrapper || handle == RTLD_NEXT) {
		found = gw_real_dlvsym(RTLD_NEXT, name, version);
		if (!found && handle == RTLD_DEFAULT && map)
			found = versioned(gw_object_beside(map, name), name, version);
	} else {
		ours = found;
	}
	if (concerned)
		found = in_place_of(found, &s);
	errno = saved;
	return ours == found ? as_without_us : (struct gw_dl_answer){found, 1};
}
