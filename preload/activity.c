/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/activity.h"

#include "preload/cupti.h"
#include "preload/degrade.h"
#include "preload/dl.h"
#include "preload/injection.h"
#include "preload/state.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
	BUFFERS = 64,
	BUFFER_SIZE = 512 << 10,
	/* libcupti's own buffers on the device: 3 MiB each by default, 250 of them allowed */
	DEVICE_BUFFERS = 32,
};

static struct {
	char *memory;          /* BUFFERS of BUFFER_SIZE */
	_Atomic uint64_t idle; /* bit per buffer nobody holds */
	_Atomic uint64_t full; /* bit per buffer that came back with records */
	size_t valid[BUFFERS];
	_Atomic int on, forbidden, foreign;
	_Atomic uint64_t until; /* ticks when another tool took over, 0 for never */
} pool;

static __typeof__(cuptiActivityRegisterCallbacks) *real_register;

/*
 * The two callbacks run on whatever thread libcupti likes, under its lock: they take a bit
 * and give a bit.
 */
static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	uint64_t idle = atomic_load(&pool.idle);
	int at;

	*max_records = 0;
	do {
		if (!idle) {
			/* libcupti drops records and counts them. */
			*buffer = NULL;
			*size = 0;
			return;
		}
		at = __builtin_ctzll(idle);
	} while (!atomic_compare_exchange_weak(&pool.idle, &idle, idle & (idle - 1)));
	*buffer = (uint8_t *)pool.memory + (size_t)at * BUFFER_SIZE;
	*size = BUFFER_SIZE;
}

static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
                                      size_t size, size_t valid)
{
	size_t at = (size_t)(buffer - (uint8_t *)pool.memory) / BUFFER_SIZE;

	(void)context;
	(void)stream;
	(void)size;
	if (!buffer || at >= BUFFERS)
		return;
	pool.valid[at] = valid;
	atomic_fetch_or(valid ? &pool.full : &pool.idle, UINT64_C(1) << at);
}

static void ignore(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *info)
{
	(void)data;
	(void)domain;
	(void)id;
	(void)info;
}

static bool failed(const char *what, CUptiResult r)
{
	const char *text = "unknown error";

	if (r == CUPTI_SUCCESS)
		return false;
	gw_cupti.cuptiGetResultString(r, &text);
	gw_degrade(GW_DEGRADED_NO_CUPTI, "%s: %s: kernels are timed by sampled events", what, text);
	return true;
}

static void say_taken(void)
{
	gw_degrade(GW_DEGRADED_CUPTI_TAKEN,
	           "another profiler uses CUPTI: kernels are timed by sampled events");
}

/* Does another tool hold libcupti? Asked by subscribing, which is given up at once. */
static bool taken(void)
{
	CUpti_SubscriberHandle subscriber;
	CUptiResult r;

	if (gw_injection_active()) /* the subscriber is us */
		return false;
	r = gw_cupti.cuptiSubscribe(&subscriber, ignore, NULL);
	if (r == CUPTI_SUCCESS) {
		gw_cupti.cuptiUnsubscribe(subscriber);
		return false;
	}
	if (r == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
		say_taken();
	else
		failed("cuptiSubscribe", r);
	return true;
}

static bool reserve(void)
{
	void *at = mmap(NULL, (size_t)BUFFERS * BUFFER_SIZE, PROT_READ | PROT_WRITE,
	                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return false;
	pool.memory = at;
	atomic_store(&pool.full, 0);
	atomic_store(&pool.idle, ~UINT64_C(0));
	return true;
}

static void cap_device_buffers(void)
{
	size_t value = DEVICE_BUFFERS, size = sizeof(value);

	if (gw_cupti.cuptiActivitySetAttribute)
		gw_cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT,
		                                   &size, &value);
}

static bool attach(void)
{
	char why[256];

	if (atomic_load(&pool.forbidden))
		return false;
	if (!gw_cupti_open(why, sizeof(why))) {
		gw_degrade(GW_DEGRADED_NO_CUPTI, "%s: kernels are timed by sampled events", why);
		return false;
	}
	if (atomic_load(&pool.foreign)) {
		say_taken();
		return false;
	}
	if (taken())
		return false;
	if (!reserve()) {
		gw_degrade(GW_DEGRADED_NO_CUPTI, "no memory for activity buffers: kernels are "
		                                 "timed by sampled events");
		return false;
	}
	cap_device_buffers();
	if (failed("cuptiActivityRegisterCallbacks",
	           gw_cupti.cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed)) ||
	    failed("cuptiActivityEnable",
	           gw_cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)))
		return false;
	return true;
}

void gw_activity_attach(void)
{
	if (attach())
		atomic_store(&pool.on, 1);
	else
		atomic_store(&gw_hot.events, GW_HOT_EVENTS);
}

void gw_activity_forbid(const char *why)
{
	atomic_store(&pool.forbidden, 1);
	atomic_store(&pool.on, 0);
	gw_degrade(GW_DEGRADED_FORK, "%s", why);
}

bool gw_activity_on(void)
{
	return atomic_load_explicit(&pool.on, memory_order_acquire) != 0;
}

bool gw_activity_covers(uint64_t ticks)
{
	return gw_activity_on() || ticks < atomic_load(&pool.until);
}

uint32_t gw_activity_version(void)
{
	return gw_cupti.version;
}

void gw_activity_stream_ids(CUcontext context, CUstream stream, bool per_thread,
                            uint32_t *context_id, uint32_t *stream_id)
{
	*context_id = *stream_id = 0;
	/* In a callback libcupti must not be called; there the correlation id is known. */
	if (!gw_activity_on() || gw_injection_active())
		return;
	if (gw_cupti.cuptiGetStreamIdEx(context, stream, per_thread, stream_id) != CUPTI_SUCCESS ||
	    gw_cupti.cuptiGetContextId(context, context_id) != CUPTI_SUCCESS)
		*context_id = *stream_id = 0;
}

uint32_t gw_activity_graph_id(CUgraphExec exec)
{
	uint32_t id = 0;

	/* The exec's number is what records carry; its type in the header is that of a graph. */
	if (!gw_activity_on() || gw_injection_active() || !gw_cupti.cuptiGetGraphExecId ||
	    gw_cupti.cuptiGetGraphExecId(exec, &id) != CUPTI_SUCCESS)
		return 0;
	return id;
}

void gw_activity_context_going(void)
{
	if (gw_activity_on() && !gw_injection_active())
		gw_cupti.cuptiActivityFlushAll(0);
}

void gw_activity_flush(bool all)
{
	if (gw_activity_on())
		gw_cupti.cuptiActivityFlushAll(all ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}

/* Fields that came with a later layout are read only where libcupti's version has them. */
static void decode(const CUpti_ActivityKernel10 *k, struct gw_activity *a)
{
	enum { WITH_CLUSTER = 18 /* CUDA 11.8 */, WITH_DEVICE_LAUNCH = 130000 };

	*a = (struct gw_activity){
	        .name = k->name,
	        .start = k->start,
	        .end = k->end,
	        .graph_node = k->graphNodeId,
	        .context = k->contextId,
	        .stream = k->streamId,
	        .graph = k->graphId,
	        .device = k->deviceId,
	        .correlation = k->correlationId,
	        .grid = {(uint32_t)k->gridX, (uint32_t)k->gridY, (uint32_t)k->gridZ},
	        .block = {(uint32_t)k->blockX, (uint32_t)k->blockY, (uint32_t)k->blockZ},
	        .cluster = {1, 1, 1},
	        .dynamic_shared = (uint32_t)k->dynamicSharedMemory,
	        .static_shared = (uint32_t)k->staticSharedMemory,
	        .registers = k->registersPerThread,
	        .local = k->localMemoryPerThread,
	};
	if (gw_cupti.version >= WITH_CLUSTER && k->clusterX) {
		a->cluster[0] = k->clusterX;
		a->cluster[1] = k->clusterY ? k->clusterY : 1;
		a->cluster[2] = k->clusterZ ? k->clusterZ : 1;
	}
	if (gw_cupti.version >= WITH_DEVICE_LAUNCH)
		a->device_launched = k->isDeviceLaunched != 0;
}

static uint64_t walk(int at, void (*take)(const struct gw_activity *))
{
	uint8_t *buffer = (uint8_t *)pool.memory + (size_t)at * BUFFER_SIZE;
	CUpti_Activity *record = NULL;
	uint64_t n = 0;

	while (gw_cupti.cuptiActivityGetNextRecord(buffer, pool.valid[at], &record) ==
	       CUPTI_SUCCESS) {
		struct gw_activity a;

		if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
		    record->kind != CUPTI_ACTIVITY_KIND_KERNEL)
			continue;
		decode((const CUpti_ActivityKernel10 *)record, &a);
		take(&a);
		n++;
	}
	return n;
}

uint64_t gw_activity_take(void (*take)(const struct gw_activity *))
{
	uint64_t full = atomic_exchange(&pool.full, 0), n = 0;
	size_t dropped = 0;

	for (uint64_t left = full; left; left &= left - 1)
		n += walk(__builtin_ctzll(left), take);
	if (!full)
		return 0;
	atomic_fetch_or(&pool.idle, full);
	if (gw_cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS &&
	    dropped)
		gw_count(GW_COUNTER_activity_dropped, dropped);
	gw_count(GW_COUNTER_activity, n);
	return n;
}

/*
 * Another tool registers its own activity callbacks: libcupti then hands them every buffer,
 * ours included, and they would free what is not theirs. So have our buffers back first.
 */
static void yield(void)
{
	atomic_store(&pool.foreign, 1); /* we ourselves go past our wrapper */
	if (!gw_activity_on())
		return;
	atomic_store(&pool.until, UINT64_MAX); /* while our last records come */
	atomic_store(&pool.on, 0);
	gw_cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	gw_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	gw_cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	atomic_store(&pool.until, gw_ticks());
	gw_degrade(GW_DEGRADED_CUPTI_TAKEN, "another profiler took over CUPTI: from there on "
	                                    "kernels are timed by sampled events");
	atomic_store(&gw_hot.events, GW_HOT_EVENTS);
}

__attribute__((visibility("default"))) CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(
        CUpti_BuffersCallbackRequestFunc requested, CUpti_BuffersCallbackCompleteFunc completed)
{
	if (!real_register)
		real_register = (__typeof__(real_register))gw_activity_real(
		        "cuptiActivityRegisterCallbacks");
	if (!real_register)
		return CUPTI_ERROR_NOT_INITIALIZED;
	yield();
	return real_register(requested, completed);
}

void *gw_activity_wrapper_of(const char *name)
{
	return strcmp(name, "cuptiActivityRegisterCallbacks")
	               ? NULL
	               : (void *)cuptiActivityRegisterCallbacks;
}

void *gw_activity_real(const char *name)
{
	void *handle = gw_cupti_loaded();

	gw_dl_init();
	return handle ? gw_real_dlsym(handle, name) : NULL;
}
