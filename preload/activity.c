/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/activity.h"

#include "preload/attach.h"
#include "preload/counted.h"
#include "preload/cupti.h"
#include "preload/degrade.h"
#include "preload/injection.h"
#include "preload/options.h"
#include "preload/record_clock.h"
#include "preload/state.h"

#include <string.h>
#include <sys/mman.h>

enum {
	BUFFERS = 64,
	BUFFER_SIZE = 512 << 10,
	WORN_OF = 4096, /* records that are looked at together for those without times */
};

static struct {
	char *memory;          /* BUFFERS of BUFFER_SIZE */
	_Atomic uint64_t idle; /* bit per buffer nobody holds */
	_Atomic uint64_t full; /* bit per buffer that came back with records */
	size_t valid[BUFFERS];
	_Atomic int on;           /* records come */
	_Atomic int ending;       /* what has not run yet is not waited for */
	_Atomic int plain;        /* launches do not know their correlation ids */
	_Atomic uint64_t until;   /* plain: ticks when collecting ended, 0 for not */
	uint32_t looked, without; /* worker: of WORN_OF records, and those without times */
	bool worn;
} pool;

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

bool gw_activity_reserve(void)
{
	void *at;

	if (pool.memory)
		return true;
	at = mmap(NULL, (size_t)BUFFERS * BUFFER_SIZE, PROT_READ | PROT_WRITE,
	          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return false;
	pool.memory = at;
	atomic_store(&pool.full, 0);
	atomic_store(&pool.idle, ~UINT64_C(0));
	return true;
}

int gw_activity_register(void)
{
	return (int)gw_cupti.cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
}

void gw_activity_begin(bool correlated)
{
	atomic_store(&pool.ending, 0);
	atomic_store(&pool.until, 0);
	atomic_store(&pool.plain, !correlated);
	pool.looked = pool.without = 0;
	pool.worn = false;
	gw_record_clock_begin();
	atomic_store(&pool.on, 1);
}

void gw_activity_end(void)
{
	atomic_store(&pool.until, gw_ticks());
	atomic_store(&pool.ending, 1);
}

void gw_activity_gone(bool detached)
{
	atomic_store(&pool.on, 0);
	atomic_store(&pool.plain, 0);
	if (!detached)
		return;
	/* Detached, libcupti holds none any more, whether it gave them back or not. */
	atomic_store(&pool.full, 0);
	atomic_store(&pool.idle, ~UINT64_C(0));
}

bool gw_activity_on(void)
{
	return atomic_load_explicit(&pool.on, memory_order_acquire) != 0;
}

bool gw_activity_covers(uint64_t ticks, bool correlated)
{
	uint64_t until = atomic_load(&pool.until);

	if (!gw_activity_on())
		return false;
	return correlated || (atomic_load(&pool.plain) && (!until || ticks < until));
}

bool gw_activity_worn(void)
{
	return pool.worn;
}

static void look_for_times(const struct gw_activity *a)
{
	pool.without += !a->start && !a->end;
	if (++pool.looked < WORN_OF)
		return;
	pool.worn |= pool.without > WORN_OF / 2;
	pool.looked = pool.without = 0;
}

/* Whether records are joined by stream and order, because launches know no correlation id. */
static bool plain(void)
{
	return atomic_load(&pool.plain) != 0;
}

bool gw_activity_edges(const struct gw_activity *record)
{
	if (gw_options.mode == GW_MODE_WATCH)
		return true;
	return !plain() && !gw_injection_active() && !record->device_launched;
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
	if (!plain() || gw_injection_active() || !gw_cupti_enter())
		return;
	if (gw_cupti.cuptiGetStreamIdEx(context, stream, per_thread, stream_id) != CUPTI_SUCCESS ||
	    gw_cupti.cuptiGetContextId(context, context_id) != CUPTI_SUCCESS)
		*context_id = *stream_id = 0;
	gw_cupti_leave();
}

uint32_t gw_activity_graph_id(CUgraphExec exec)
{
	uint32_t id = 0;

	if (!plain() || gw_injection_active() || !gw_cupti.cuptiGetGraphExecId || !gw_cupti_enter())
		return 0;
	/* The exec's number is what records carry; its type in the header is that of a graph. */
	if (gw_cupti.cuptiGetGraphExecId(exec, &id) != CUPTI_SUCCESS)
		id = 0;
	gw_cupti_leave();
	return id;
}

void gw_activity_context_going(void)
{
	if (!gw_activity_on() || gw_injection_active() || !gw_cupti_enter())
		return;
	gw_cupti.cuptiActivityFlushAll(0);
	gw_cupti_leave();
}

void gw_activity_copies(bool on)
{
	static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_MEMCPY,
	                                           CUPTI_ACTIVITY_KIND_MEMSET};

	if (!gw_activity_on() || !gw_cupti_enter())
		return;
	for (size_t i = 0; i < 2; i++)
		if (on)
			gw_cupti.cuptiActivityEnable(kinds[i]);
		else
			gw_cupti.cuptiActivityDisable(kinds[i]);
	gw_cupti_leave();
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
	        .start = gw_record_time(k->start),
	        .end = gw_record_time(k->end),
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

/* Of copies and memsets only when and where: the beginning of these records is alike in all
 * versions. */
static bool copy(const CUpti_Activity *record)
{
	switch (record->kind) {
	case CUPTI_ACTIVITY_KIND_MEMCPY: {
		const CUpti_ActivityMemcpy6 *c = (const CUpti_ActivityMemcpy6 *)record;

		gw_counted_copy(c->deviceId, gw_record_time(c->start), gw_record_time(c->end));
		return true;
	}
	case CUPTI_ACTIVITY_KIND_MEMSET: {
		const CUpti_ActivityMemset4 *c = (const CUpti_ActivityMemset4 *)record;

		gw_counted_copy(c->deviceId, gw_record_time(c->start), gw_record_time(c->end));
		return true;
	}
	default:
		return false;
	}
}

static uint64_t walk(int at, void (*take)(const struct gw_activity *))
{
	uint8_t *buffer = (uint8_t *)pool.memory + (size_t)at * BUFFER_SIZE;
	CUpti_Activity *record = NULL;
	uint64_t n = 0;

	while (gw_cupti.cuptiActivityGetNextRecord(buffer, pool.valid[at], &record) ==
	       CUPTI_SUCCESS) {
		struct gw_activity a;

		if (copy(record))
			continue;
		if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
		    record->kind != CUPTI_ACTIVITY_KIND_KERNEL)
			continue;
		decode((const CUpti_ActivityKernel10 *)record, &a);
		if (!a.end && atomic_load(&pool.ending)) /* runs on when the window ends */
			continue;
		look_for_times(&a);
		take(&a);
		n++;
	}
	return n;
}

uint64_t gw_activity_take(void (*take)(const struct gw_activity *))
{
	uint64_t full = atomic_exchange(&pool.full, 0), n = 0;
	size_t dropped = 0;

	if (full)
		gw_record_clock_look();
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
