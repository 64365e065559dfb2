/*
 * The same library through CUDA_INJECTION64_PATH, where LD_PRELOAD can't reach (static or
 * privileged programs, other loaders): the driver loads it in cuInit and calls
 * InitializeInjection. The rows of hooks.def become CUPTI callbacks around the same
 * functions; a launch's correlation id is known there.
 */
#include "preload/cupti/attach.h"

#include "preload/cupti/cupti.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/linker/real_dl.h"
#include "preload/hook/handlers.h"
#include "preload/hook/hooks.h"
#include "preload/launch/threads.h"
#include "preload/runtime/options.h"
#include "preload/runtime/process.h"
#include "preload/runtime/sandbox.h"

#include <dlfcn.h>
#include <signal.h>
#include <generated_cuda_meta.h>
#include <string.h>

static CUpti_SubscriberHandle subscriber;

/* It has no parameters, for which CUPTI has no struct. */
typedef struct {
	int none;
} cuCtxSynchronize_params;

/* A(a, b, …) of hooks.def as p->a, p->b, … */
#define F1(x)                                                         p->x
#define F2(x, ...)                                                    p->x, F1(__VA_ARGS__)
#define F3(x, ...)                                                    p->x, F2(__VA_ARGS__)
#define F4(x, ...)                                                    p->x, F3(__VA_ARGS__)
#define F5(x, ...)                                                    p->x, F4(__VA_ARGS__)
#define F6(x, ...)                                                    p->x, F5(__VA_ARGS__)
#define F7(x, ...)                                                    p->x, F6(__VA_ARGS__)
#define F8(x, ...)                                                    p->x, F7(__VA_ARGS__)
#define F9(x, ...)                                                    p->x, F8(__VA_ARGS__)
#define F10(x, ...)                                                   p->x, F9(__VA_ARGS__)
#define F11(x, ...)                                                   p->x, F10(__VA_ARGS__)
#define PICK(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, name, ...) name
#define FIELDS(...)                                                   PICK(__VA_ARGS__, F11, F10, F9, F8, F7, F6, F5, F4, F3, F2, F1, )(__VA_ARGS__)
#define A(...)                                                        FIELDS(__VA_ARGS__)
#define CALL(function, ...)                                           function(__VA_ARGS__)

/* And what a call of launch_begin() adds is little beside it. */
#define launch_begin(...) gw_kernel_event_rare(__VA_ARGS__, 0, GW_EVENT_KERNEL)
#define gw_launch_end     gw_launch_end_rare

/* A callback costs as much as launches save by it, so here each asks for its thread's context. */
#define HOOKS_WITHOUT_CURRENT

/* Of a thread at a time: a signal handler's comes within another. A mask of all its bits. */
enum { CALLS = 3 };

/*
 * The calls of this thread that are between their two callbacks, the outermost last: launches
 * (launch/ring.c) know an inner call by its lower address, as on a stack. A handler's may come at
 * any instruction: what was written for a call is written again if one came meanwhile.
 */
static _Thread_local struct {
	uint32_t state; /* how many, by CALLS; above, how many have begun */
	struct {
		uint32_t correlation;
		CUpti_CallbackId id;
		uintptr_t frame; /* of the first callback */
	} known[CALLS];
	struct gw_call call[CALLS];
} calls __attribute__((tls_model("initial-exec")));

/* We are in a callback of this thread: what comes meanwhile are calls of our own, but for launches,
 * which are a signal handler's. */
static _Thread_local bool inside __attribute__((tls_model("initial-exec")));

static struct gw_call *call_at(unsigned place)
{
	return &calls.call[CALLS - 1 - place];
}

/*
 * Whether the innermost call has been left by a jump: the same function is called where it was, or
 * further up the stack. On an alternative stack that says nothing.
 */
static bool innermost_gone(unsigned count, CUpti_CallbackId id, uintptr_t frame)
{
	stack_t now;

	return calls.known[count - 1].id == id && frame >= calls.known[count - 1].frame &&
	       !gw_sandboxed() && sigaltstack(NULL, &now) == 0 && !(now.ss_flags & SS_ONSTACK);
}

/* Of more calls than there are places for, the outer ones are taken for left. */
static unsigned call_begins(CUpti_CallbackId id, const CUpti_CallbackData *data, uintptr_t frame)
{
	uint32_t was, count;

	do {
		was = calls.state;
		count = was & CALLS;
		while (count && innermost_gone(count, id, frame))
			count--;
		if (count == CALLS)
			count = 0;
		calls.known[count].correlation = data->correlationId;
		calls.known[count].id = id;
		calls.known[count].frame = frame;
	} while (!gw_own_exchange(&calls.state, was, (was | CALLS) + 1 + ++count));
	return count;
}

/* Which it is, counted from one; those that began after it have been left. 0: its begin was not
 * seen. */
static unsigned call_ends(CUpti_CallbackId id, const CUpti_CallbackData *data)
{
	unsigned count = calls.state & CALLS;

	while (count && (calls.known[count - 1].id != id ||
			 calls.known[count - 1].correlation != data->correlationId))
		count--;
	return count;
}

static void remember(struct gw_call *call, const CUpti_CallbackData *data)
{
	if (call->event && gw_attach_correlates())
		gw_event_correlate(call->event, data->correlationId);
}

static void handle(CUpti_CallbackId id, const CUpti_CallbackData *data, uintptr_t frame)
{
	bool enter = data->callbackSite == CUPTI_API_ENTER;
	CUresult result = enter ? CUDA_SUCCESS : *(CUresult *)data->functionReturnValue;
	unsigned count = enter ? call_begins(id, data, frame) : call_ends(id, data);
	struct gw_call unseen = {0}, *call = count ? call_at(count - 1) : &unseen;

	switch (id) {
#define HOOK(symbol, base, need, pt_, params, args, before, after) \
	case CUPTI_DRIVER_TRACE_CBID_##symbol: { \
		const symbol##_params *p = data->functionParams; \
												   \
		(void)p; \
		if (enter) { \
			*call = (struct gw_call){.pt = (pt_)}; \
			if (GW_LAUNCHES(symbol) && gw_threads_idle()) \
				break; \
			CALL(before, call, args); \
			remember(call, data); \
		} else { \
			CALL(after, call, result, args); \
		} \
		break; \
	}
#include "preload/hook/hooks.def"
#undef HOOK
	default:
		break;
	}
	if (!enter && count)
		calls.state = (calls.state & ~(uint32_t)CALLS) | (count - 1);
}

/* None of which is ours. */
static bool launches(CUpti_CallbackId id)
{
	switch (id) {
#define HOOK(symbol, base, need, pt, params, args, before, after) \
	case CUPTI_DRIVER_TRACE_CBID_##symbol: \
		return GW_LAUNCHES(symbol);
#include "preload/hook/hooks.def"
#undef HOOK
	default:
		return false;
	}
}

static void CUPTIAPI called(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			    const void *info)
{
	const bool nested = inside;

	(void)unused;
	if (domain == CUPTI_CB_DOMAIN_RESOURCE)
		gw_attach_resource(id, info);
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || (nested && !launches(id)))
		return;
	inside = true;
	/* Pairs with the release in start() (lifecycle.c). */
	if (atomic_load_explicit(&gw_hot.active, memory_order_acquire) || gw_hooks_activate(false))
		handle(id, info, (uintptr_t)__builtin_frame_address(0));
	inside = nested;
}

/*
 * In the global scope we come first: then the wrappers see everything already. So they do where
 * another copy of this library is there: each launch is recorded once.
 */
static bool preloaded(void)
{
	Dl_info ours, found, entry;
	void *program, *first, *injected;

	gw_dl_init();
	/* Not RTLD_DEFAULT: linked with -Bsymbolic, our own scope begins with ourselves. */
	program = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
	first = gw_real_dlsym && program ? gw_real_dlsym(program, "dlsym") : NULL;
	if (!first || !dladdr((void *)preloaded, &ours) || !dladdr(first, &found))
		return false;
	if (ours.dli_fbase == found.dli_fbase)
		return true;
	injected = gw_real_dlsym(program, "InitializeInjection");
	if (!injected || !dladdr(injected, &entry) || entry.dli_fbase != found.dli_fbase)
		return false;
	gw_degrade(GW_DEGRADED_OTHER, "%s is preloaded: %s, which is injected, is off",
		   found.dli_fname, ours.dli_fname);
	return true;
}

static bool subscribe(void)
{
	static const CUpti_CallbackId ids[] = {
#define HOOK(symbol, base, need, pt, params, args, before, after) CUPTI_DRIVER_TRACE_CBID_##symbol,
#include "preload/hook/hooks.def"
#undef HOOK
	};
	unsigned enabled = 0;
	char why[256];
	CUptiResult r;

	if (!gw_cupti_open(why, sizeof(why))) {
		gw_degrade(GW_DEGRADED_NO_CUPTI, "%s: gpuwatch is off in this process", why);
		return false;
	}
	r = gw_cupti.cuptiSubscribe(&subscriber, called, NULL);
	if (r != CUPTI_SUCCESS) {
		gw_degrade(GW_DEGRADED_CUPTI_TAKEN,
			   "cuptiSubscribe fails (%d), so another "
			   "profiler may use CUPTI: gpuwatch is off in this process",
			   (int)r);
		return false;
	}
	/* An id this libcupti does not know yet belongs to a function its driver lacks. */
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		enabled += gw_cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
							ids[i]) == CUPTI_SUCCESS;
	if (!enabled) {
		gw_degrade(GW_DEGRADED_NO_CUPTI, "libcupti calls back for no function of the "
						 "driver: gpuwatch is off in this process");
		gw_cupti.cuptiUnsubscribe(subscriber);
		return false;
	}
	/* Nothing depends on it. */
	gw_cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
				     CUPTI_CBID_RESOURCE_MODULE_LOADED);
	return true;
}

/**
 * Called by the driver while it initialises, when CUDA_INJECTION64_PATH names this library.
 * Returns 1: the driver goes on whatever happens here.
 */
__attribute__((visibility("default"))) int InitializeInjection(void);

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	if (!gw_hooking() || preloaded())
		return 1;
	gw_injection_begin();
	if (subscribe())
		gw_hooks_driver_ready();
	return 1;
}
