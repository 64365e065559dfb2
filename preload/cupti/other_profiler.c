/*
 * libcupti serves one tool at a time, and says nothing when a second one comes: it would see no
 * records, or be handed our buffers and free what is not its own. So whoever calls one of the
 * functions of other_profiler.def finds libcupti as if we had never been there.
 */
#include "preload/cupti/other_profiler.h"

#include "preload/cupti/attach.h"
#include "preload/cupti/cupti.h"
#include "preload/runtime/linker/real_dl.h"
#include "preload/runtime/linker/export.h"
#include "preload/cupti/subscriber.h"
#include "preload/cupti/windows.h"

#include <cupti_profiler_target.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

enum { KINDS = 256 };

/* What other tools hold. */
static struct {
	_Atomic int calls; /* calls that take something up, under way */
	_Atomic int profiler, kinds;
	_Atomic unsigned char kind[KINDS]; /* activity it enabled */
	_Atomic(CUpti_TimestampCallbackFunc) clock;
	_Atomic unsigned attaches; /* of ours when it registered: */
	_Atomic(CUpti_BuffersCallbackRequestFunc) requested;
	_Atomic(CUpti_BuffersCallbackCompleteFunc) completed;
} tool;

bool gw_other_profiler_busy(void)
{
	return atomic_load(&tool.calls) || atomic_load(&tool.profiler) ||
	       atomic_load(&tool.kinds) || gw_subscriber_busy();
}

gw_other_profiler_clock_fn *gw_other_profiler_clock(void)
{
	return atomic_load(&tool.clock);
}

void gw_other_profiler_abandon(void)
{
	memset(&tool, 0, sizeof(tool));
	gw_subscriber_abandon();
}

static void *real(const char *name)
{
	void *handle = gw_cupti_loaded();

	gw_dl_init();
	return handle ? gw_real_dlsym(handle, name) : NULL;
}

/* ---- before ---- */

/* The other end of hold() in windows.c: the flag first, then a look at theirs (seq_cst). */
static void gives_way(void)
{
	atomic_fetch_add(&tool.calls, 1);
	gw_windows_yield();
}

static void comes(CUpti_CallbackFunc *callback, void **userdata)
{
	gives_way();
	gw_subscriber_comes(callback, userdata);
}

static void switches(uint32_t on)
{
	if (on)
		gives_way();
}

/* It had switched everything off, so we had come back; what it registered holds again. */
static void takes_back(void)
{
	CUpti_BuffersCallbackRequestFunc requested;
	CUpti_BuffersCallbackCompleteFunc completed;
	__typeof__(cuptiActivityRegisterCallbacks) *hand_over;

	gives_way();
	requested = atomic_load(&tool.requested);
	completed = atomic_load(&tool.completed);
	if (!requested || atomic_load(&tool.attaches) == gw_attach_count())
		return;
	atomic_store(&tool.attaches, gw_attach_count());
	*(void **)&hand_over = real("cuptiActivityRegisterCallbacks");
	if (hand_over)
		hand_over(requested, completed);
}

/* ---- after ---- */

/* What it wants of its subscription comes next: until then we would come back only to go again. */
static void subscribed(CUptiResult r, const CUpti_SubscriberHandle *subscriber, void *userdata)
{
	gw_subscriber_came(userdata, r == CUPTI_SUCCESS ? *subscriber : NULL);
	gw_windows_backoff();
	atomic_fetch_sub(&tool.calls, 1);
}

static void unsubscribed(CUptiResult r, CUpti_SubscriberHandle subscriber)
{
	if (r == CUPTI_SUCCESS && subscriber)
		gw_subscriber_went(subscriber);
	gw_windows_backoff();
	atomic_fetch_sub(&tool.calls, 1);
}

static void switched(CUptiResult r, uint32_t on, CUpti_SubscriberHandle subscriber,
		     CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	if (r == CUPTI_SUCCESS)
		gw_subscriber_switched(subscriber, domain, id, on != 0);
	gw_windows_backoff();
	if (on)
		atomic_fetch_sub(&tool.calls, 1);
}

static void registered(CUptiResult r, CUpti_BuffersCallbackRequestFunc requested,
		       CUpti_BuffersCallbackCompleteFunc completed)
{
	if (r == CUPTI_SUCCESS) {
		atomic_store(&tool.requested, requested);
		atomic_store(&tool.completed, completed);
		atomic_store(&tool.attaches, gw_attach_count());
	}
	/* It enables activity next: until then we would come back only to go again. */
	gw_windows_backoff();
	atomic_fetch_sub(&tool.calls, 1);
}

static void clocked(CUptiResult r, CUpti_TimestampCallbackFunc clock)
{
	if (r == CUPTI_SUCCESS)
		atomic_store(&tool.clock, clock);
	gw_windows_backoff();
	atomic_fetch_sub(&tool.calls, 1);
}

static void enabled(CUptiResult r, CUpti_ActivityKind kind)
{
	if (r == CUPTI_SUCCESS && (unsigned)kind < KINDS && !atomic_exchange(&tool.kind[kind], 1))
		atomic_fetch_add(&tool.kinds, 1);
	atomic_fetch_sub(&tool.calls, 1);
}

static void disabled(CUptiResult r, CUpti_ActivityKind kind)
{
	if (r == CUPTI_SUCCESS && (unsigned)kind < KINDS && atomic_exchange(&tool.kind[kind], 0))
		atomic_fetch_sub(&tool.kinds, 1);
	gw_windows_backoff();
}

static void profiles(CUptiResult r, const CUpti_Profiler_Initialize_Params *params)
{
	(void)params;
	if (r == CUPTI_SUCCESS)
		atomic_store(&tool.profiler, 1);
	atomic_fetch_sub(&tool.calls, 1);
}

static void profiled(CUptiResult r, const CUpti_Profiler_DeInitialize_Params *params)
{
	(void)params;
	if (r == CUPTI_SUCCESS)
		atomic_store(&tool.profiler, 0);
}

/* All that it had is gone. */
static void finalized(CUptiResult r)
{
	if (r == CUPTI_SUCCESS) {
		for (unsigned k = 0; k < KINDS; k++)
			disabled(r, (CUpti_ActivityKind)k);
		gw_subscriber_went(NULL);
		atomic_store(&tool.profiler, 0);
		atomic_store(&tool.clock, NULL);
	}
	atomic_fetch_sub(&tool.calls, 1);
}

/* ---- the wrappers ---- */

/* What comes from inside our own calls, through the program's scope, is ours. */
#define A(...)                                  __VA_ARGS__
#define FIRST(first, ...)                       first
#define BEFORE_none(...)                        ((void)0)
#define BEFORE_gives_way(...)                   gives_way()
#define BEFORE_takes_back(...)                  takes_back()
#define BEFORE_comes(subscriber, callback, ...) comes(&(callback), &(FIRST(__VA_ARGS__, 0)))
#define BEFORE_switches(on, ...)                switches(on)
#define AFTER_subscribed(r, subscriber, callback, ...) \
	subscribed(r, subscriber, FIRST(__VA_ARGS__, 0))
#define AFTER_unsubscribed(r, ...)                    unsubscribed(r, __VA_ARGS__)
#define AFTER_callback(r, on, subscriber, domain, id) switched(r, on, subscriber, domain, id)
#define AFTER_domain(r, on, subscriber, domain)       switched(r, on, subscriber, domain, 0)
#define AFTER_all(r, on, subscriber)                  switched(r, on, subscriber, (CUpti_CallbackDomain)0, 0)
#define AFTER_registered(r, ...)                      registered(r, __VA_ARGS__)
#define AFTER_clocked(r, ...)                         clocked(r, __VA_ARGS__)
#define AFTER_enabled(r, ...)                         enabled(r, __VA_ARGS__)
#define AFTER_disabled(r, ...)                        disabled(r, __VA_ARGS__)
#define AFTER_profiles(r, ...)                        profiles(r, __VA_ARGS__)
#define AFTER_profiled(r, ...)                        profiled(r, __VA_ARGS__)
#define AFTER_finalized(r, ...)                       finalized(r)
#define CALL(function, ...)                           function(__VA_ARGS__)
#define FOREIGN(symbol, params, args, before, after) \
	GW_EXPORT_CUPTI(symbol) \
	CUptiResult CUPTIAPI by_name_##symbol params \
	{ \
		static __typeof__(symbol) *_Atomic found; \
		__typeof__(symbol) *next = found; \
		CUptiResult r; \
												   \
		if (!next) { \
			*(void **)&next = real(#symbol); \
			found = next; \
		} \
		if (!next) \
			return CUPTI_ERROR_NOT_INITIALIZED; \
		if (gw_attach_here()) \
			return next(args); \
		CALL(BEFORE_##before, args); \
		r = next(args); \
		CALL(AFTER_##after, r, args); \
		return r; \
	}
#include "preload/cupti/other_profiler.def"
#undef FOREIGN

static const struct {
	const char *symbol;
	void *wrapper;
} wrappers[] = {
#define FOREIGN(symbol, params, args, before, after) {#symbol, (void *)by_name_##symbol},
#include "preload/cupti/other_profiler.def"
#undef FOREIGN
};

void *gw_other_profiler_wrapper_of(const char *name)
{
	for (size_t i = 0; i < sizeof(wrappers) / sizeof(*wrappers); i++)
		if (!strcmp(wrappers[i].symbol, name))
			return wrappers[i].wrapper;
	return NULL;
}

bool gw_other_profiler_stand_in(const char *name, struct gw_stand_in *s)
{
	void *wrapper = gw_other_profiler_wrapper_of(name),
	     *handle = wrapper ? gw_cupti_loaded() : NULL;

	if (!handle)
		return false;
	s->own = s->next = gw_real_dlsym(handle, name);
	s->by_name = s->by_address = wrapper;
	dlclose(handle);
	return true;
}

bool gw_other_profiler_owns(void *address, const struct gw_stand_in *s)
{
	Dl_info info;

	for (size_t i = 0; i < sizeof(wrappers) / sizeof(*wrappers); i++)
		if (wrappers[i].wrapper == s->by_name)
			return dladdr(address, &info) && info.dli_fname &&
			       gw_cupti_is_path(info.dli_fname);
	return false;
}
