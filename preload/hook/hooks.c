/* The wrappers, generated from hooks.def, and the ways in by which programs find them. */
#include "preload/hook/hooks.h"

#include "preload/runtime/degrade.h"
#include "preload/runtime/linker/real_dl.h"
#include "preload/runtime/linker/export.h"
#include "preload/hook/handlers.h"
#include "preload/hook/lookup.h"
#include "preload/launch/threads.h"
#include "preload/runtime/linker/objects.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

struct gw_real gw_real, gw_next;

static void **place(struct gw_real *table, int row)
{
	_Static_assert(sizeof(*table) == GW_HOOKS * sizeof(void *), "a pointer a row, in order");
	return (void **)table + row;
}

/*
 * Two wrappers for each row: typed, and answered even when the driver lacks the function. The
 * exported one is called by name and goes on to the next library of that name; the other is
 * handed out where the driver's own address was looked up, and goes on to the driver.
 */
#define A(...)              __VA_ARGS__
#define CALL(function, ...) function(__VA_ARGS__)
#define COLD                __attribute__((cold))
#define USED                __attribute__((used)) /* by the table below, which the compiler does not read */
#define WRAPPER(linkage, function, real, symbol, pt_, params, before, after, ...) \
	linkage CUresult function params \
	{ \
		struct gw_call call; \
		CUresult result; \
		int active; \
												   \
		if (GW_UNLIKELY(!real)) \
			gw_hooks_resolve(); \
		if (GW_UNLIKELY(!real)) \
			return CUDA_ERROR_NOT_FOUND; \
		active = atomic_load_explicit(&gw_hot.active, memory_order_acquire); \
		if (GW_UNLIKELY(active != GW_HOT_ON) && \
		    (active == GW_HOT_IDLE || (!active && !gw_hooks_activate(false)) || \
		     gw_threads_idle())) \
			return real(__VA_ARGS__); \
		call.pt = (pt_); \
		CALL(before, &call, __VA_ARGS__); \
		result = real(__VA_ARGS__); \
		CALL(after, &call, result, __VA_ARGS__); \
		return result; \
	}
#define HOOK(symbol, base, need, pt, params, args, before, after) \
	GW_EXPORT(symbol) \
	WRAPPER(GW_HOT, by_name_##symbol, gw_next.symbol, symbol, pt, params, before, after, args)
#define HOOK_RARE(...)
#define HOOK_BARE(...)
#include "preload/hook/hooks.def"
#undef HOOK
#undef HOOK_RARE
#undef HOOK_BARE

/* Launches that another library has looked up, and which nothing is inlined into. */
#define launch_begin(...) gw_kernel_event_rare(__VA_ARGS__, 0, GW_EVENT_KERNEL)
#define gw_launch_end     gw_launch_end_rare
#define HOOK(symbol, base, need, pt, params, args, before, after) \
	WRAPPER(COLD USED static, found_##symbol, gw_real.symbol, symbol, pt, params, before, after, \
		args)

/* What a call that is no launch finds. */
enum state { MISSING, OFF, ON };

COLD static __attribute__((noinline)) enum state state_of(void *const *real, bool init)
{
	if (!*real)
		gw_hooks_resolve();
	if (!*real)
		return MISSING;
	return atomic_load_explicit(&gw_hot.active, memory_order_acquire) || gw_hooks_activate(init)
		       ? ON
		       : OFF;
}

/*
 * What is no launch is cold: smaller, and out of the way of the launch path. Its two wrappers share
 * a body, which takes the place of the function that each goes on to; a row without parameters has
 * none to add it to.
 */
#define AROUND(linkage, function, real, symbol, params, before, after, ...) \
	linkage CUresult function params \
	{ \
		enum state now = \
			state_of((void *const *)(real), GW_HOOK_##symbol == GW_HOOK_cuInit); \
		struct gw_call call; \
		CUresult result; \
												   \
		if (now == MISSING) \
			return CUDA_ERROR_NOT_FOUND; \
		if (now == ON) { \
			CALL(before, &call, __VA_ARGS__); \
		} \
		result = (*(real))(__VA_ARGS__); \
		if (now == ON) { \
			CALL(after, &call, result, __VA_ARGS__); \
		} \
		(void)call; \
		return result; \
	}
#define HOOK_BARE(symbol, base, need, pt, params, args, before, after) \
	GW_EXPORT(symbol) \
	AROUND(COLD, by_name_##symbol, &gw_next.symbol, symbol, params, before, after, args) \
	AROUND(COLD USED static, found_##symbol, &gw_real.symbol, symbol, params, before, after, args)
#define HOOK_RARE(symbol, base, need, pt, params, args, before, after) \
	AROUND(COLD static, around_##symbol, real, symbol, \
	       (A params, __typeof__(symbol) **real), before, after, args) \
	GW_EXPORT(symbol) \
	COLD CUresult by_name_##symbol params \
	{ \
		return around_##symbol(args, &gw_next.symbol); \
	} \
	COLD USED static CUresult found_##symbol params \
	{ \
		return around_##symbol(args, &gw_real.symbol); \
	}
#include "preload/hook/hooks.def"
#undef HOOK
#undef HOOK_RARE

enum need { OPTIONAL, REQUIRED };

/* The names, one behind the other: a table of pointers to them is relocated in every process. */
static const struct {
#define HOOK(symbol, base, need, pt, params, args, before, after) \
	char symbol[sizeof(#symbol)];
#include "preload/hook/hooks.def"
#undef HOOK
} names = {
#define HOOK(symbol, base, need, pt, params, args, before, after) #symbol,
#include "preload/hook/hooks.def"
#undef HOOK
};

/*
 * The wrappers of each row, the exported one and that for addresses that were looked up, as distances
 * from this table, for the same reason. C has no word for such a constant.
 */
extern const int32_t gw_hook_wrappers[GW_HOOKS][2] __attribute__((visibility("hidden")));
#define IN_TABLE(text) __asm__(".pushsection .rodata.gw_hook_wrappers, \"a\"\n" text "\n.popsection");
IN_TABLE(".balign 4\n.globl gw_hook_wrappers\n.hidden gw_hook_wrappers\ngw_hook_wrappers:")
#define HOOK(symbol, base, need, pt, params, args, before, after) \
	IN_TABLE(".long by_name_" #symbol " - gw_hook_wrappers, found_" #symbol " - gw_hook_wrappers")
#include "preload/hook/hooks.def"
#undef HOOK
enum { BY_NAME, FOUND };

static void *wrapper_at(int row, int which)
{
	return (char *)gw_hook_wrappers + gw_hook_wrappers[row][which];
}

static const struct hook {
	uint16_t symbol; /* place in `names` */
	uint8_t base;    /* length of the name that cuGetProcAddress has for it, which the symbol begins with */
	uint8_t pt, need;
	bool by_name; /* a launch, or what cuLaunch() launches with: caught at any address */
} hooks[] = {
#define HOOK(symbol, base, need, pt, params, args, before, after) \
	{offsetof(__typeof__(names), symbol), \
	 sizeof(base) - 1, \
	 pt, \
	 need, \
	 GW_LAUNCHES(symbol) || GW_HOOK_##symbol == GW_HOOK_cuFuncSetBlockShape || \
		 GW_HOOK_##symbol == GW_HOOK_cuFuncSetSharedSize},
#include "preload/hook/hooks.def"
#undef HOOK
};

static const char *name_at(uint16_t place_of_it)
{
	return (const char *)&names + place_of_it;
}

static void *in_libcuda[GW_HOOKS]; /* addresses of libcuda's exports */

static bool ours(const void *address)
{
	for (int i = 0; i < GW_HOOKS; i++)
		if (wrapper_at(i, BY_NAME) == address || wrapper_at(i, FOUND) == address)
			return true;
	return false;
}

void gw_hooks_resolve(void)
{
	static _Atomic int settled; /* what a loaded libcuda lacks, it will not get */
	void *handle = gw_libcuda();

	/* Pairs with the release below: the pointers are set. */
	if (atomic_load_explicit(&settled, memory_order_acquire))
		return;
	gw_dl_init();
	for (int i = 0; i < GW_HOOKS; i++) {
		const char *symbol = name_at(hooks[i].symbol);
		void **real = place(&gw_real, i), **next = place(&gw_next, i);

		if (handle && !in_libcuda[i])
			in_libcuda[i] = gw_real_dlsym(handle, symbol);
		if (in_libcuda[i] && !*real && !ours(in_libcuda[i]))
			*real = in_libcuda[i];
		if (!*next) {
			void *found = gw_lookup_next(symbol);

			*next = found && !ours(found) ? found : *real;
		}
	}
	if (handle)
		/* Pairs with the acquire above. */
		atomic_store_explicit(&settled, 1, memory_order_release);
}

static _Atomic int missing_reported;

/* A forked child has a log of its own. */
static void in_child(void)
{
	atomic_store(&missing_reported, 0);
}

__attribute__((constructor)) static void at_load(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

static void report_missing(void)
{
	int saved = errno;

	if (!atomic_load(&gw_hot.active) || atomic_exchange(&missing_reported, 1))
		return;
	gw_hooks_resolve();
	for (int i = 0; i < GW_HOOKS; i++)
		if (hooks[i].need == REQUIRED && !*place(&gw_real, i))
			gw_degrade(GW_DEGRADED_OTHER,
				   "this driver has no %s: some launches may not be seen",
				   name_at(hooks[i].symbol));
	errno = saved;
}

void gw_hooks_driver_ready(void)
{
	gw_on_driver_ready();
	report_missing();
}

bool gw_hooks_activate(bool init)
{
	bool active = gw_activate(init);

	if (active && !init)
		report_missing();
	return active;
}

/* The wrapper for an address of libcuda: one and the same where nobody comes between. */
static void *wrapper_for(int row)
{
	return wrapper_at(row, *place(&gw_next, row) == *place(&gw_real, row) ? BY_NAME : FOUND);
}

/*
 * cuGetProcAddress answers with the export whose ABI fits the name, version and flags that
 * were asked for, so the address alone decides which wrapper fits. Should a driver ever answer
 * with an address it does not export, launches are still caught by name and flags: their ABI
 * has never changed.
 */
void *gw_hook_for(void *address, const char *base, unsigned long long flags)
{
	unsigned pt = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
	bool known = false;

	gw_hooks_resolve();
	if (!gw_libcuda() || ours(address))
		return address;
	for (int i = 0; i < GW_HOOKS; i++)
		if (in_libcuda[i] == address)
			return wrapper_for(i);
	for (int i = 0; i < GW_HOOKS; i++) {
		if (strncmp(name_at(hooks[i].symbol), base, hooks[i].base) || base[hooks[i].base])
			continue;
		known = true;
		if (hooks[i].by_name && hooks[i].pt == pt) {
			*place(&gw_real, i) = address;
			return wrapper_for(i);
		}
	}
	if (known)
		gw_count(GW_COUNTER_hooks_unresolved, 1);
	return address;
}

GW_EXPORT(cuGetProcAddress)
GW_EXPORT(cuGetProcAddress_v2)

static __typeof__(cuGetProcAddress) *real_get_v1;
static __typeof__(cuGetProcAddress_v2) *real_get_v2;
static void *get_in_libcuda[2];

/* The two look-up functions are themselves looked up through each other. */
static void *wrap(const char *name, void *address, unsigned long long flags)
{
	/* As every runtime since CUDA 12 does, before there is a context. */
	if (!strcmp(name, "cuLibraryLoadData"))
		gw_module_libraries();
	if (address == get_in_libcuda[1])
		return (void *)by_name_cuGetProcAddress_v2;
	if (address == get_in_libcuda[0])
		return (void *)by_name_cuGetProcAddress;
	return gw_hook_for(address, name, flags);
}

static void *resolve_getter(const char *name, void *wrapper, void **own)
{
	void *next;

	if (!*own && gw_libcuda())
		*own = gw_real_dlsym(gw_libcuda(), name);
	next = gw_lookup_next(name);
	return next && next != wrapper ? next : *own;
}

static void resolve_getters(void)
{
	gw_dl_init();
	if (!real_get_v1)
		*(void **)&real_get_v1 = resolve_getter(
			"cuGetProcAddress", (void *)by_name_cuGetProcAddress, &get_in_libcuda[0]);
	if (!real_get_v2)
		*(void **)&real_get_v2 =
			resolve_getter("cuGetProcAddress_v2", (void *)by_name_cuGetProcAddress_v2,
				       &get_in_libcuda[1]);
}

CUresult by_name_cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
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

CUresult by_name_cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
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

static bool getter_stand_in(const char *name, struct gw_stand_in *s)
{
	bool v2 = !strcmp(name, "cuGetProcAddress_v2");

	if (!v2 && strcmp(name, "cuGetProcAddress"))
		return false;
	resolve_getters();
	s->own = get_in_libcuda[v2];
	s->next = v2 ? (void *)real_get_v2 : (void *)real_get_v1;
	s->by_name = s->by_address =
		v2 ? (void *)by_name_cuGetProcAddress_v2 : (void *)by_name_cuGetProcAddress;
	return true;
}

void *gw_hook_wrapper_of(const char *name)
{
	if (!strcmp(name, "cuGetProcAddress_v2"))
		return (void *)by_name_cuGetProcAddress_v2;
	if (!strcmp(name, "cuGetProcAddress"))
		return (void *)by_name_cuGetProcAddress;
	for (int i = 0; i < GW_HOOKS; i++)
		if (!strcmp(name_at(hooks[i].symbol), name))
			return wrapper_at(i, BY_NAME);
	return NULL;
}

bool gw_hook_stand_in(const char *name, struct gw_stand_in *s)
{
	for (int i = 0; i < GW_HOOKS; i++)
		if (!strcmp(name_at(hooks[i].symbol), name)) {
			if (!gw_libcuda())
				return false;
			gw_hooks_resolve();
			s->own = in_libcuda[i];
			s->next = *place(&gw_next, i);
			s->by_name = wrapper_at(i, BY_NAME);
			s->by_address = wrapper_for(i);
			return true;
		}
	return gw_libcuda() && getter_stand_in(name, s);
}
