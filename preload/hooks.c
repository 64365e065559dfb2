/* SPDX-License-Identifier: Apache-2.0 */
/* The wrappers, generated from hooks.def, and the ways in by which programs find them. */
#include "preload/hooks.h"

#include "preload/degrade.h"
#include "preload/dl.h"
#include "preload/handlers.h"

#include <dlfcn.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct gw_real gw_real;
struct gw_driver gw_driver;

/* One wrapper for each row: typed, and answered even when the driver lacks the function. */
#define A(...)              __VA_ARGS__
#define CALL(function, ...) function(__VA_ARGS__)
#define HOOK(symbol, base, need, pt_, params, args, before, after)                                 \
	EXPORT CUresult symbol params                                                              \
	{                                                                                          \
		struct gw_call call;                                                               \
		CUresult result;                                                                   \
                                                                                                   \
		if (GW_UNLIKELY(!gw_real.symbol) && (!gw_hooks_resolve() || !gw_real.symbol))      \
			return CUDA_ERROR_NOT_FOUND;                                               \
		if (GW_UNLIKELY(!atomic_load_explicit(&gw_hot.active, memory_order_acquire)) &&    \
		    !gw_activate(GW_HOOK_##symbol == GW_HOOK_cuInit))                              \
			return gw_real.symbol(args);                                               \
		call.pt = (pt_);                                                                   \
		CALL(before, &call, args);                                                         \
		result = gw_real.symbol(args);                                                     \
		CALL(after, &call, result, args);                                                  \
		(void)call;                                                                        \
		return result;                                                                     \
	}
#include "preload/hooks.def"
#undef HOOK

enum need { OPTIONAL, REQUIRED };

static const struct hook {
	const char *symbol, *base;
	void *wrapper;
	void **real;
	unsigned pt;
	enum need need;
	bool launch;
} hooks[] = {
#define HOOK(symbol, base, need, pt, params, args, before, after)                                  \
	{#symbol,                                                                                  \
	 base,                                                                                     \
	 (void *)symbol,                                                                           \
	 (void **)&gw_real.symbol,                                                                 \
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
		h = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
		atomic_store(&handle, h);
	}
	return h;
}

static bool ours(const void *address)
{
	for (int i = 0; i < GW_HOOKS; i++)
		if (hooks[i].wrapper == address)
			return true;
	return false;
}

bool gw_hooks_resolve(void)
{
	void *handle = libcuda();

	gw_dl_init();
	if (!handle)
		return false;
	for (int i = 0; i < GW_HOOKS; i++) {
		void *address =
		        in_libcuda[i] ? in_libcuda[i] : gw_real_dlsym(handle, hooks[i].symbol);

		in_libcuda[i] = address;
		if (address && !*hooks[i].real && !ours(address))
			*hooks[i].real = address;
	}
	return true;
}

bool gw_driver_resolve(void)
{
	void *handle = libcuda();

	if (!handle || !gw_hooks_resolve())
		return false;
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

	if (!gw_hooks_resolve() || ours(address))
		return address;
	for (int i = 0; i < GW_HOOKS; i++)
		if (in_libcuda[i] == address)
			return hooks[i].wrapper;
	for (int i = 0; i < GW_HOOKS; i++) {
		if (strcmp(hooks[i].base, base))
			continue;
		known = true;
		if (hooks[i].launch && hooks[i].pt == pt) {
			*hooks[i].real = address;
			return hooks[i].wrapper;
		}
	}
	if (known)
		gw_count(GW_COUNTER_hooks_unresolved, 1);
	return address;
}

static __typeof__(cuGetProcAddress) *real_get_v1;
static __typeof__(cuGetProcAddress_v2) *real_get_v2;

/* The two look-up functions are themselves looked up through each other. */
static void *wrap(const char *name, void *address, unsigned long long flags)
{
	if (address && real_get_v2 && address == (void *)real_get_v2)
		return (void *)cuGetProcAddress_v2;
	if (address && real_get_v1 && address == (void *)real_get_v1)
		return (void *)cuGetProcAddress;
	return gw_hook_for(address, name, flags);
}

static void resolve_getters(void)
{
	void *handle = libcuda();

	gw_dl_init();
	if (!handle || !gw_real_dlsym)
		return;
	if (!real_get_v1)
		*(void **)&real_get_v1 = gw_real_dlsym(handle, "cuGetProcAddress");
	if (!real_get_v2)
		*(void **)&real_get_v2 = gw_real_dlsym(handle, "cuGetProcAddress_v2");
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
static void *wrapper_of(const char *name)
{
	if (name[0] != 'c' || name[1] != 'u')
		return NULL;
	if (!strcmp(name, "cuGetProcAddress_v2"))
		return (void *)cuGetProcAddress_v2;
	if (!strcmp(name, "cuGetProcAddress"))
		return (void *)cuGetProcAddress;
	for (int i = 0; i < GW_HOOKS; i++)
		if (!strcmp(hooks[i].symbol, name))
			return hooks[i].wrapper;
	return gw_activity_wrapper_of(name);
}

static struct gw_dl_answer answer(void *wrapper, void *found, const char *name)
{
	resolve_getters();
	gw_hooks_resolve();
	/*
	 * The global search order puts us first, so it finds us even where no libcuda is
	 * loaded; without us the answer would have been NULL.
	 */
	if (found == wrapper &&
	    !(strncmp(name, "cupti", 5) ? libcuda() && gw_real_dlsym(libcuda(), name)
	                                : gw_activity_real(name) != NULL))
		return (struct gw_dl_answer){NULL, 1};
	return (struct gw_dl_answer){found ? wrapper : NULL, 1};
}

static bool pass(void *handle, const char *name)
{
	/* RTLD_NEXT finds the next in line by itself, us included when we are next. */
	return handle == RTLD_NEXT || !name || name[0] != 'c' || name[1] != 'u' || !gw_hooking();
}

struct gw_dl_answer gw_dlsym_filter(void *handle, const char *name)
{
	void *wrapper;

	if (!gw_real_dlsym)
		gw_dl_init();
	if (pass(handle, name))
		return (struct gw_dl_answer){NULL, 0};
	wrapper = wrapper_of(name);
	if (!wrapper)
		return (struct gw_dl_answer){NULL, 0};
	if (handle == RTLD_DEFAULT)
		return answer(wrapper, wrapper, name);
	return answer(wrapper, gw_real_dlsym(handle, name), name);
}

struct gw_dl_answer gw_dlvsym_filter(void *handle, const char *name, const char *version)
{
	void *wrapper;

	if (!gw_real_dlvsym)
		gw_dl_init();
	if (pass(handle, name))
		return (struct gw_dl_answer){NULL, 0};
	wrapper = wrapper_of(name);
	if (!wrapper || handle == RTLD_DEFAULT) /* our symbols have no version */
		return (struct gw_dl_answer){NULL, 0};
	return answer(wrapper, gw_real_dlvsym(handle, name, version), name);
}
