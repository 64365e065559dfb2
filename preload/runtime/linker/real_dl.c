#include "preload/runtime/linker/real_dl.h"

#include "preload/runtime/linker/objects.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>

void *(*gw_real_dlsym)(void *handle, const char *name);
void *(*gw_real_dlvsym)(void *handle, const char *name, const char *version);
void *(*gw_next_dlsym)(void *handle, const char *name);
void *(*gw_next_dlvsym)(void *handle, const char *name, const char *version);
uintptr_t gw_libc_base;

static bool ends_in(const char *text, const char *end)
{
	size_t n = 0, m = 0;

	while (text[n])
		n++;
	while (end[m])
		m++;
	if (n < m)
		return false;
	for (size_t i = 0; i < m; i++)
		if (text[n - m + i] != end[i])
			return false;
	return true;
}

/*
 * The objects that are loaded, from the dynamic linker's own list. No function is called on
 * the way: a sanitizer's runtime looks its functions up through our dlsym before any of the
 * ones it stands in for (strcmp, dl_iterate_phdr …) may be called.
 */
static bool look(const struct link_map *map)
{
	const char *name = map->l_name;
	struct gw_object o;

	/* Before glibc 2.34 the two lived in libdl. */
	if (!name || !(ends_in(name, "/libc.so.6") || ends_in(name, "/libdl.so.2")) ||
	    !gw_object_read(map, &o))
		return false;
	*(void **)&gw_real_dlvsym = gw_object_find(&o, "dlvsym");
	*(void **)&gw_real_dlsym = gw_object_find(&o, "dlsym");
	gw_libc_base = o.base;
	return gw_real_dlsym && gw_real_dlvsym;
}

void gw_dl_init(void)
{
	const struct link_map *map = _r_debug.r_map;
	void *next;

	if (gw_next_dlsym)
		return;
	gw_objects_at_start();
	while (map && !look(map))
		map = map->l_next;
	next = gw_real_dlsym(RTLD_NEXT, "dlvsym");
	*(void **)&gw_next_dlvsym = next ? next : *(void **)&gw_real_dlvsym;
	next = gw_real_dlsym(RTLD_NEXT, "dlsym");
	*(void **)&gw_next_dlsym = next ? next : *(void **)&gw_real_dlsym;
}

/* Before the program opens its first library. */
__attribute__((constructor)) static void at_start(void)
{
	gw_dl_init();
}

/*
 * Functions of libm as they are there. Where the library is linked they take the places of those
 * names (preload/CMakeLists.txt, which reads each F(…) below): a C program may have a function of
 * its own that is called log(), to which the dynamic linker would bind ours.
 */
/* clang-format off */
#define OF_ONE(F)   F(ceil) F(erf) F(exp) F(exp2) F(floor) F(log) F(log1p) F(nearbyint) F(sqrt) F(trunc)
#define OF_TWO(F)   F(double, fmax) F(double, fmin) F(double, fmod) F(double, nextafter) \
	F(float, fmaxf) F(float, fminf) F(float, nextafterf)
#define OF_THREE(F) F(double, fma) F(float, fmaf)
#define ONE(name)         double (*name)(double);
#define TWO(type, name)   type (*name)(type, type);
#define THREE(type, name) type (*name)(type, type, type);
static struct {
	OF_ONE(ONE)
	OF_TWO(TWO)
	OF_THREE(THREE)
} in_libm;
#undef ONE
#undef TWO
#undef THREE

#define ONE(name)         #name "\0"
#define TWO(type, name)   #name "\0"
#define THREE(type, name) #name "\0"
static const char of_libm[] = OF_ONE(ONE) OF_TWO(TWO) OF_THREE(THREE);
#undef ONE
#undef TWO
#undef THREE

#define FUNCTION(type, name, params, args) \
	type gw_libm_##name params; \
	type gw_libm_##name params \
	{ \
		return in_libm.name args; \
	}
#define ONE(name)         FUNCTION(double, name, (double x), (x))
#define TWO(type, name)   FUNCTION(type, name, (type x, type y), (x, y))
#define THREE(type, name) FUNCTION(type, name, (type x, type y, type z), (x, y, z))
OF_ONE(ONE)
OF_TWO(TWO)
OF_THREE(THREE)
/* clang-format on */

const char *gw_dl_find(void *handle, void **place, const char *names, unsigned needed)
{
	const char *missing = NULL;

	for (unsigned i = 0; *names; i++) {
		place[i] = gw_real_dlsym(handle, names);
		if (!place[i] && i < needed && !missing)
			missing = names;
		while (*names++)
			;
	}
	return missing;
}

bool gw_libm_find(void)
{
	void *libm = dlopen("libm.so.6", RTLD_LAZY | RTLD_NOLOAD);

	gw_dl_init();
	/* It stays open: we need it as long as there is a thread of ours. */
	return libm && !gw_dl_find(libm, (void **)&in_libm, of_libm, UINT_MAX);
}
