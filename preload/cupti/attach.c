#include "preload/cupti/attach.h"

#include "preload/cupti/activity.h"
#include "preload/runtime/clock.h"
#include "preload/cupti/cupti.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"
#include "preload/runtime/sandbox.h"
#include "preload/cupti/subscriber.h"
#include "preload/runtime/process.h"

#include <stdatomic.h>

enum {
	/* libcupti's own buffers on the device: 3 MiB each by default, 250 of them allowed */
	DEVICE_BUFFERS = 32,
};

/* The launches whose correlation id is worth knowing. */
static const CUpti_CallbackId launches[] = {
	CUPTI_DRIVER_TRACE_CBID_cuLaunch,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
	CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
	CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
	CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
};

static CUpti_SubscriberHandle subscriber;
static bool subscribed, shared; /* shared: the subscriber is another tool's */
static bool copying;            /* copies and memsets are recorded */
static _Atomic bool stays;      /* between windows: our buffers' callbacks are registered */
static _Atomic int correlating; /* launches are to learn their correlation ids */
static _Atomic int met;         /* one has */
static _Atomic unsigned times;  /* times attached */
static bool (*correlate_launch)(uint32_t id);
static void (*keep_code)(const void *cubin, size_t size);
static bool (*code_wanted)(void);
static _Atomic int open_; /* libcupti may be called */
static _Thread_local bool here __attribute__((tls_model("initial-exec")));

bool gw_attach_correlates(void)
{
	return atomic_load_explicit(&correlating, memory_order_relaxed) != 0;
}

void gw_attach_start(bool (*correlate)(uint32_t id))
{
	correlate_launch = correlate;
}

void gw_attach_reports(bool (*wanted)(void), void (*loaded)(const void *cubin, size_t size))
{
	code_wanted = wanted;
	keep_code = loaded;
}

static void correlate(uint32_t id)
{
	if (gw_attach_correlates() && correlate_launch(id))
		atomic_store_explicit(&met, 1, memory_order_relaxed);
}

void gw_attach_called(const void *info)
{
	const CUpti_CallbackData *data = info;

	if (data->callbackSite == CUPTI_API_ENTER)
		correlate(data->correlationId);
}

void gw_attach_resource(uint32_t id, const void *info)
{
	const CUpti_ResourceData *data = info;
	const CUpti_ModuleResourceData *module = data->resourceDescriptor;

	if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED && keep_code && module && module->pCubin &&
	    module->cubinSize)
		keep_code(module->pCubin, module->cubinSize);
}

static void CUPTIAPI called(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			    const void *info)
{
	(void)unused;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
		gw_attach_called(info);
	else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
		gw_attach_resource(id, info);
}

/* Whether the same call may succeed some other time. */
static bool passing(CUptiResult r)
{
	return r == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || r == CUPTI_ERROR_NOT_READY ||
	       r == CUPTI_ERROR_HARDWARE_BUSY || r == CUPTI_ERROR_OUT_OF_MEMORY ||
	       r == CUPTI_ERROR_INVALID_OPERATION || r == CUPTI_ERROR_UNKNOWN;
}

static enum gw_attached refused(const char *what, CUptiResult r)
{
	const char *text = "unknown error";

	gw_cupti.cuptiGetResultString(r, &text);
	if (r == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
		gw_degrade(GW_DEGRADED_CUPTI_TAKEN,
			   "another profiler uses CUPTI: meanwhile kernels are timed by sampled "
			   "events");
	else
		gw_degrade(GW_DEGRADED_NO_CUPTI, "%s: %s: kernels are timed by sampled events",
			   what, text);
	return passing(r) ? GW_ATTACH_LATER : GW_ATTACH_NEVER;
}

static void cap_device_buffers(void)
{
	size_t value = DEVICE_BUFFERS, size = sizeof(value);

	if (gw_cupti.cuptiActivitySetAttribute)
		gw_cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT,
						   &size, &value);
}

static bool open_library(void)
{
	char why[256];

	if (gw_cupti_open(why, sizeof(why)))
		return true;
	if (gw_cupti_unwanted())
		gw_degrade_asked(GW_DEGRADED_NO_CUPTI, "%s: kernels are timed by sampled events",
				 why);
	else
		gw_degrade(GW_DEGRADED_NO_CUPTI, "%s: kernels are timed by sampled events", why);
	return false;
}

static void give_back(void)
{
	for (size_t i = 0; i < sizeof(launches) / sizeof(*launches); i++)
		gw_cupti.cuptiEnableCallback(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
					     launches[i]);
	gw_subscriber_return();
}

static void unsubscribe(void)
{
	if (shared)
		give_back();
	else if (subscribed)
		gw_cupti.cuptiUnsubscribe(subscriber);
	subscribed = shared = false;
}

/*
 * Subscribing also shows whether another tool holds libcupti, so it is done even where it is given
 * up at once. Injected, the subscriber is us.
 */
static CUptiResult subscribe(bool keep)
{
	CUptiResult r;

	if (gw_injection_active() || subscribed)
		return CUPTI_SUCCESS;
	r = gw_cupti.cuptiSubscribe(&subscriber, called, NULL);
	if (r == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
		subscriber = gw_subscriber_borrow();
		shared = subscriber != NULL;
		r = shared ? CUPTI_SUCCESS : r;
	}
	subscribed = r == CUPTI_SUCCESS;
	if (!keep)
		unsubscribe();
	return r;
}

static CUptiResult call_back(void)
{
	CUptiResult last = CUPTI_SUCCESS;
	size_t enabled = 0;

	/* An id this libcupti does not know belongs to a function its driver lacks. */
	for (size_t i = 0; i < sizeof(launches) / sizeof(*launches); i++) {
		CUptiResult r = gw_cupti.cuptiEnableCallback(
			1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, launches[i]);

		enabled += r == CUPTI_SUCCESS;
		last = r == CUPTI_SUCCESS ? last : r;
	}
	return enabled ? CUPTI_SUCCESS : last;
}

/*
 * Sampled counters have to know when something else than a kernel used the memory. Switched on
 * once, before there are records, and not for each session of the sampler: libcupti 13.0 deadlocks
 * where a thread switches activity while another flushes records and a third is in a driver call
 * that loads code (seen on an H200). Not for windows of mode watch either: switched with each, or
 * left on between them, libcupti 13.0 corrupted its memory after some thousand windows. Kernels'
 * records do without these where they are refused.
 */
static void switch_copies(bool on)
{
	static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_MEMCPY,
						   CUPTI_ACTIVITY_KIND_MEMSET};

	if (on ? gw_options.mode != GW_MODE_AUDIT || !gw_options_sample() : !copying)
		return;
	copying = on;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (on)
			gw_cupti.cuptiActivityEnable(kinds[i]);
		else
			gw_cupti.cuptiActivityDisable(kinds[i]);
}

/* Nothing depends on it. What another tool's subscriber gets of modules is the tool's. */
static void report_modules(bool ids)
{
	if (shared && !ids)
		unsubscribe();
	else if (subscribed && !shared && keep_code)
		gw_cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
					     CUPTI_CBID_RESOURCE_MODULE_LOADED);
}

/* What one window left, the next finds. */
static CUptiResult set_up(enum gw_attach_as as, const char **what)
{
	CUptiResult r;

	if (stays && as == GW_ATTACH_WINDOW)
		return CUPTI_SUCCESS;
	*what = "cuptiSubscribe";
	r = subscribe(as == GW_ATTACH_IDS || (as == GW_ATTACH_ORDER && keep_code && code_wanted()));
	if (r == CUPTI_SUCCESS && as != GW_ATTACH_WINDOW)
		report_modules(as == GW_ATTACH_IDS);
	if (r != CUPTI_SUCCESS)
		return r;
	cap_device_buffers();
	*what = "cuptiActivityRegisterCallbacks";
	return (CUptiResult)gw_activity_register();
}

/* Records first, ids after: a launch that knows its id has a record. */
static enum gw_attached attach(enum gw_attach_as as)
{
	const bool ids = as == GW_ATTACH_IDS;
	const char *what = "";
	CUptiResult r = set_up(as, &what);

	stays = r == CUPTI_SUCCESS && as == GW_ATTACH_WINDOW;
	if (r == CUPTI_SUCCESS) {
		what = "cuptiActivityEnable";
		r = gw_cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	}
	if (r == CUPTI_SUCCESS && ids && !gw_injection_active()) {
		what = "cuptiEnableCallback";
		r = call_back();
		if (r != CUPTI_SUCCESS)
			gw_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	}
	if (r == CUPTI_SUCCESS) {
		switch_copies(true);
		return GW_ATTACHED;
	}
	unsubscribe();
	return refused(what, r);
}

static enum gw_attached attach_outside(enum gw_attach_as as)
{
	enum gw_attached result;

	if (!open_library())
		return GW_ATTACH_NEVER;
	if (!gw_activity_reserve()) {
		gw_degrade(GW_DEGRADED_NO_CUPTI, "%s: kernels are timed by sampled events",
			   "no memory for activity buffers");
		return GW_ATTACH_NEVER;
	}
	atomic_store(&met, 0);
	here = true;
	result = attach(as);
	here = false;
	if (result == GW_ATTACHED) {
		atomic_fetch_add(&times, 1);
		atomic_store(&open_, 1);
		atomic_store(&correlating, as == GW_ATTACH_IDS);
	}
	return result;
}

enum gw_attached gw_attach(enum gw_attach_as as)
{
	enum gw_attached result = GW_ATTACH_NEVER;

	if (gw_sandbox_enter()) {
		result = attach_outside(as);
		gw_sandbox_leave();
	}
	return result;
}

void gw_attach_settle(void)
{
	atomic_store(&correlating, 0);
}

void gw_attach_stop(void)
{
	atomic_store(&correlating, 0);
	here = true;
	gw_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	switch_copies(false);
	unsubscribe();
	here = false;
}

bool gw_attach_stays(void)
{
	return stays;
}

/* Of buffers that libcupti holds another tool would be handed the records. */
void gw_attach_leave(void)
{
	if (!stays)
		return;
	here = true;
	gw_cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	here = false;
	stays = false;
}

bool gw_attach_met(void)
{
	return atomic_load_explicit(&met, memory_order_relaxed) || gw_injection_active();
}

unsigned gw_attach_count(void)
{
	return atomic_load(&times);
}

void gw_attach_abandon(void)
{
	atomic_store(&open_, 0);
	atomic_store(&correlating, 0);
	stays = false;
}

bool gw_attach_here(void)
{
	return here;
}

bool gw_attach_open(void)
{
	return atomic_load(&open_) != 0;
}
