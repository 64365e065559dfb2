/* SPDX-License-Identifier: Apache-2.0 */
/* The wrappers, generated from hooks.def, and the ways in by which programs find them. */
#include "preload/hooks.h"

#include "preload/degrade.h"
#include "preload/dl.h"
#include "preload/foreign.h"
#include "preload/handlers.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct gw_real gw_real, gw_next;
struct gw_driver gw_driver;

/*
 * Two wrappers for each row: typed, and answered even when the driver lacks the function. The
 * exported one is called by name and goes on to the next library of that name; the other is
 * handed out where the driver's own address was looked up, and goes on to the driver.
 */
#define A(...)              __VA_ARGS__
#define CALL(function, ...) function(__VA_ARGS__)
#define WRAPPER(linkage, function, table, symbol, pt_, params, before, after, ...)                 \
	linkage CUresult function params                                                           \
	{                                                                                          \
		struct gw_call call;                                                               \
		CUresult result;                                                                   \
                                                                                                   \
		if (GW_UNLIKELY(!table.symbol))                                                    \
			gw_hooks_resolve();                                                        \
		if (GW_UNLIKELY(!table.symbol))                                                    \
			return CUDA_ERROR_NOT_FOUND;                                               \
		if (GW_UNLIKELY(!atomic_load_explicit(&gw_hot.active, memory_order_acquire)) &&    \
		    !gw_activate(GW_HOOK_##symbol == GW_HOOK_cuInit))                              \
			return table.symbol(__VA_ARGS__);                                          \
		call.pt = (pt_);                                                                   \
		CALL(before, &call, __VA_ARGS__);                                                  \
		result = table.symbol(__VA_ARGS__);                                                \
		CALL(after, &call, result, __VA_ARGS__);                                           \
		(void)call;                                                                        \
		return result;                                                                     \
	}
#define HOOK(symbol, base, need, pt, params, args, before, after)                                  \
	WRAPPER(EXPORT, symbol, gw_next, symbol, pt, params, before, after, args)
#include "preload/hooks.def"
#undef HOOK
#define HOOK(symbol, base, need, pt, params, args, before, after)                                  \
	WRAPPER(static, found_##symbol, gw_real, symbol, pt, params, before, after, args)
#include "preload/hooks.def"
#undef HOOK

enum need { OPTIONAL, REQUIRED };

static const struct hook {
	const char *symbol, *base;
	void *wrapper, *found; /* the exported wrapper, the one for addresses that were looked up */
	void **real, **next;
	unsigned pt;
	enum need need;
	bool launch;
} hooks[] = {
#define HOOK(symbol, base, need, pt, params, args, before, after)                                  \
	{#symbol,                                                                                  \
	 base,                                                                                     \
	 (void *)symbol,                                                                           \
	 (void *)found_##symbol,                                                                   \
	 (void **)&gw_real.symbol,                                                                 \
	 (void **)&gw_next.symbol,                                                                 \
	 pt,                                                                                       \
	 need,                                                                                     \
	 GW_HOOK_##symbol <= GW_HOOK_cuGraphLaunch_ptsz},
#include "preload/hooks.def"
#undef HOOK
};

static void *in_libcuda[GW_HOOKS]; /* addresses of libcuda's exports */

static void *libcuda(void)
{
	static void *_Atomic handle;
	void *h = atomic_load(&handle);

	if (!h) {
		int saved = errno; /* it is looked for in the file system */

		h = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
		atomic_store(&handle, h);
		errno = saved;
	}
	return h;
}

static bool ours(const void *address)
{
	for (int i = 0; i < GW_HOOKS; i++)
		if (hooks[i].wrapper == address || hooks[i].found == address)
			return true;
	return false;
}

/* What the dynamic linker would have bound @p name to, had we not come first. */
static void *next_in_line(const char *name)
{
	/* By way of a variable: RTLD_NEXT looks at its caller, which a tail call would change. */
	void *volatile next = gw_real_dlsym(RTLD_NEXT, name);

	return next;
}

void gw_hooks_resolve(void)
{
	static _Atomic int settled; /* what a loaded libcuda lacks, it will not get */
	void *handle = libcuda();

	if (atomic_load_explicit(&settled, memory_order_acquire))
		return;
	gw_dl_init();
	for (int i = 0; i < GW_HOOKS; i++) {
		const struct hook *h = &hooks[i];

		if (handle && !in_libcuda[i])
			in_libcuda[i] = gw_real_dlsym(handle, h->symbol);
		if (in_libcuda[i] && !*h->real && !ours(in_libcuda[i]))
			*h->real = in_libcuda[i];
		if (!*h->next) {
			void *next = next_in_line(h->symbol);

			*h->next = next && !ours(next) ? next : *h->real;
		}
	}
	if (handle)
		atomic_store_explicit(&settled, 1, memory_order_release);
}

/* The wrapper for an address of libcuda: one and the same where nobody comes between. */
static void *wrapper_for(const struct hook *h)
{
	return *h->next == *h->real ? h->wrapper : h->found;
}

bool gw_driver_resolve(void)
{
	void *handle = libcuda();

	if (!handle)
		return false;
	gw_hooks_resolve();
#define DRIVER(symbol) *(void **)&gw_driver.symbol = gw_real_dlsym(handle, #symbol);
#include "preload/driver.def"
#undef DRIVER
	for (int i = 0; i < GW_HOOKS; i++)
		if (hooks[i].need == REQUIRED && !*hooks[i].real)
			gw_degrade(GW_DEGRADED_OTHER,
			           "this driver has no %s: some launches may not be seen",
			           hooks[i].symbol);
	return true;
}

CUcontext gw_context_current(void)
{
	CUcontext context = NULL;

	if (gw_driver.cuCtxGetCurrent && gw_driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS)
		return NULL;
	return context;
}

/*
 * cuGetProcAddress answers with the export whose ABI fits the name, version and flags that
 * were asked for, so the address alone tells which wrapper fits. Should a driver ever answer
 * with an address it does not export, launches are still caught by name and flags: their ABI
 * has never changed.
 */
void *gw_hook_for(void *address, const char *base, unsigned long long flags)
{
	unsigned pt = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
	bool known = false;

	gw_hooks_resolve();
	if (!libcuda() || ours(address))
		return address;
	for (int i = 0; i < GW_HOOKS; i++)
		if (in_libcuda[i] == address)
			return wrapper_for(&hooks[i]);
	for (int i = 0; i < GW_HOOKS; i++) {
		if (strcmp(hooks[i].base, base))
			continue;
		known = true;
		if (hooks[i].launch && hooks[i].pt == pt) {
			*hooks[i].real = address;
			return wrapper_for(&hooks[i]);
		}
	}
	if (known)
		gw_count(GW_COUNTER_hooks_unresolved, 1);
	return address;
}

static __typeof__(cuGetProcAddress) *real_get_v1;
static __typeof__(cuGetProcAddress_v2) *real_get_v2;
static void *get_in_libcuda[2];

/* The two look-up functions are themselves looked up through each other. */
static void *wrap(const char *name, void *address, unsigned long long flags)
{
	if (address == get_in_libcuda[1])
		return (void *)cuGetProcAddress_v2;
	if (address == get_in_libcuda[0])
		return (void *)cuGetProcAddress;
	return gw_hook_for(address, name, flags);
}

static void *resolve_getter(const char *name, void *wrapper, void **own)
{
	void *next;

	if (!*own && libcuda())
		*own = gw_real_dlsym(libcuda(), name);
	next = next_in_line(name);
	return next && next != wrapper ? next : *own;
}

static void resolve_getters(void)
{
	gw_dl_init();
	if (!real_get_v1)
		*(void **)&real_get_v1 = resolve_getter(
		        "cuGetProcAddress", (void *)cuGetProcAddress, &get_in_libcuda[0]);
	if (!real_get_v2)
		*(void **)&real_get_v2 = resolve_getter(
		        "cuGetProcAddress_v2", (void *)cuGetProcAddress_v2, &get_in_libcuda[1]);
}

EXPORT CUresult cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	CUresult result;

	if (!real_get_v1)
		resolve_getters();
	if (!real_get_v1)
		return CUDA_ERROR_NOT_FOUND;
	result = real_get_v1(symbol, pfn, version, flags);
	if (result == CUDA_SUCCESS && symbol && pfn && *pfn && gw_hooking())
		*pfn = wrap(symbol, *pfn, flags);
	return result;
}

EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
                                    CUdriverProcAddressQueryResult *status)
{
	CUresult result;

	if (!real_get_v2)
		resolve_getters();
	if (!real_get_v2)
		return CUDA_ERROR_NOT_FOUND;
	result = real_get_v2(symbol, pfn, version, flags, status);
	if (result == CUDA_SUCCESS && symbol && pfn && *pfn && gw_hooking())
		*pfn = wrap(symbol, *pfn, flags);
	return result;
}

/* Our stand-in for a name of libcuda or libcupti, NULL for every other name. */
static void *wrapper_of(const char *name, const struct hook **hook)
{
	*hook = NULL;
	if (!strcmp(name, "cuGetProcAddress_v2"))
		return (void *)cuGetProcAddress_v2;
	if (!strcmp(name, "cuGetProcAddress"))
		return (void *)cuGetProcAddress;
	for (int i = 0; i < GW_HOOKS; i++)
		if (!strcmp(hooks[i].symbol, name)) {
			*hook = &hooks[i];
			return hooks[i].wrapper;
		}
	return gw_foreign_wrapper_of(name);
}

/*
 * What the look-up would find without us. The global scope has us ahead of what is behind us; a
 * library that was opened locally sees the libraries it depends on as well. The last look-up
 * done is the one that dlerror() tells of.
 */
static void *without_us(void *handle, const char *name, void *wrapper, void *caller)
{
	void *found = gw_next_dlsym(handle, name);
	struct link_map *map = NULL;
	Dl_info info;

	if (found != wrapper)
		return found;
	found = next_in_line(name);
	if (found || handle != RTLD_DEFAULT)
		return found;
	if (dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) && map)
		found = gw_real_dlsym(map, name);
	return found == wrapper ? next_in_line(name) : found;
}

/* In place of an address that was looked up: only the driver's own are stood in for. */
static struct gw_dl_answer answer(void *found, void *wrapper, const struct hook *hook)
{
	if (hook && found == in_libcuda[hook - hooks])
		found = found ? wrapper_for(hook) : NULL;
	else if (hook && found == *hook->next)
		found = wrapper;
	else if (!hook && found &&
	         (found == get_in_libcuda[0] || found == get_in_libcuda[1] ||
	          found == (void *)real_get_v1 || found == (void *)real_get_v2 ||
	          gw_foreign_is_wrapper(wrapper)))
		found = wrapper;
	return (struct gw_dl_answer){found, 1};
}

static bool pass(void *handle, const char *name)
{
	gw_dl_init();
	/* RTLD_NEXT finds the next in line by itself, us included when we are next. */
	return handle == RTLD_NEXT || !name || name[0] != 'c' || name[1] != 'u' || !gw_hooking();
}

struct gw_dl_answer gw_dlsym_filter(void *handle, const char *name, void *caller)
{
	const struct hook *hook;
	void *wrapper;

	if (pass(handle, name) || !(wrapper = wrapper_of(name, &hook)))
		return (struct gw_dl_answer){NULL, 0};
	resolve_getters();
	gw_hooks_resolve();
	return answer(without_us(handle, name, wrapper, caller), wrapper, hook);
}

struct gw_dl_answer gw_dlvsym_filter(void *handle, const char *name, const char *version)
{
	const struct hook *hook;
	void *wrapper;

	/* Our symbols have no version: the global scope is as without us. */
	if (pass(handle, name) || handle == RTLD_DEFAULT || !(wrapper = wrapper_of(name, &hook)))
		return (struct gw_dl_answer){NULL, 0};
	resolve_getters();
	gw_hooks_resolve();
	return answer(gw_next_dlvsym(handle, name, version), wrapper, hook);
}
