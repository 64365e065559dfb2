#include "preload/cupti/activity.h"

#include "preload/cupti/attach.h"
#include "preload/cupti/cupti.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/degrade.h"
#include "preload/maps/memory.h"
#include "preload/runtime/options.h"
#include "preload/cupti/record_clock.h"
#include "preload/maps/state.h"
#include "preload/runtime/process.h"

#include <string.h>
#include <sys/mman.h>

/*
 * libcupti fills a buffer for each launching thread, and hands out what it has gathered at once:
 * some 2,500 records to a buffer, so that all of them hold those of half a second of empty kernels
 * in graphs, a million a second on the H200. The first are used first, and the memory of those that
 * only a rush needed goes back.
 */
enum {
	BUFFERS = 256,
	BUFFER_SIZE = 512 << 10,
	WORDS = BUFFERS / 64,
	KEPT = 64,         /* buffers whose memory stays */
	WORN_OF = 4096,    /* records that are looked at together for those without times */
	CLOCKS_NS = 50000, /* that the clocks of calls and of records may differ by */
};

static struct {
	char *memory;                 /* BUFFERS of BUFFER_SIZE */
	_Atomic uint64_t idle[WORDS]; /* bit per buffer nobody holds */
	_Atomic uint64_t full[WORDS]; /* bit per buffer that came back with records */
	_Atomic uint64_t had[WORDS];  /* bit per buffer whose memory is taken */
	size_t valid[BUFFERS];
	uint64_t came[BUFFERS]; /* when it came back: a number that rises with each */
	_Atomic uint64_t last_came;
	_Atomic int on;           /* records come */
	_Atomic int ending;       /* what has not run yet is not waited for */
	_Atomic int as;           /* enum gw_attach_as */
	_Atomic uint64_t since;   /* in a window: ticks when it was surely on … */
	uint64_t since_ns;        /* … and CLOCK_REALTIME; the worker's */
	uint64_t off_ns;          /* the same: when it was switched off, 0: it is on */
	_Atomic uint64_t until;   /* ticks when collecting ended, 0 for not */
	uint32_t looked, without; /* worker: of WORN_OF records, and those without times */
	bool worn;
} pool;

static char *buffer_at(size_t at)
{
	return pool.memory + at * BUFFER_SIZE;
}

static void put(_Atomic uint64_t *words, size_t at)
{
	atomic_fetch_or(&words[at / 64], UINT64_C(1) << at % 64);
}

/* Whether there is memory for a buffer, which nobody else holds. */
static bool has_memory(size_t at)
{
	if (atomic_load(&pool.had[at / 64]) >> at % 64 & 1)
		return true;
	if (!gw_memory_take(GW_MEMORY_buffers, BUFFER_SIZE))
		return false;
	put(pool.had, at);
	return true;
}

/* The first buffer that nobody holds, now taken; BUFFERS: none. */
static size_t take_idle(void)
{
	for (size_t word = 0; word < WORDS; word++) {
		uint64_t idle = atomic_load(&pool.idle[word]);

		while (idle) {
			size_t at = word * 64 + (size_t)__builtin_ctzll(idle);

			if (atomic_compare_exchange_weak(&pool.idle[word], &idle,
							 idle & (idle - 1))) {
				if (has_memory(at))
					return at;
				put(pool.idle, at);
				return BUFFERS;
			}
		}
	}
	return BUFFERS;
}

/*
 * The two callbacks run on whatever thread libcupti likes, under its lock: they take a bit
 * and give a bit. Where there is none, libcupti drops records and counts them.
 */
static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	size_t at = take_idle();

	*max_records = 0;
	*buffer = at < BUFFERS ? (uint8_t *)buffer_at(at) : NULL;
	*size = at < BUFFERS ? BUFFER_SIZE : 0;
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
	pool.came[at] = atomic_fetch_add(&pool.last_came, 1) + 1;
	put(valid ? pool.full : pool.idle, at);
}

bool gw_activity_reserve(void)
{
	if (pool.memory)
		return true;
	pool.memory = gw_memory_reserve((size_t)BUFFERS * BUFFER_SIZE);
	if (!pool.memory)
		return false;
	for (size_t word = 0; word < WORDS; word++)
		atomic_store(&pool.idle[word], ~UINT64_C(0));
	return true;
}

int gw_activity_register(void)
{
	return (int)gw_cupti.cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
}

void gw_activity_begin(enum gw_attach_as as)
{
	atomic_store(&pool.ending, 0);
	atomic_store(&pool.until, 0);
	pool.since_ns = as == GW_ATTACH_WINDOW ? gw_wall_ns() : 0;
	pool.off_ns = 0;
	atomic_store(&pool.since, as == GW_ATTACH_WINDOW ? gw_ticks() : 0);
	atomic_store(&pool.as, as);
	pool.looked = pool.without = 0;
	pool.worn = false;
	gw_record_clock_begin();
	atomic_store(&pool.on, 1);
}

void gw_activity_settle(void)
{
	if (gw_activity_by_device())
		atomic_store(&pool.until, gw_ticks());
}

void gw_activity_off(void)
{
	pool.off_ns = gw_wall_ns();
}

void gw_activity_end(void)
{
	if (!gw_activity_by_device())
		atomic_store(&pool.until, gw_ticks());
	atomic_store(&pool.ending, 1);
}

void gw_activity_gone(void)
{
	atomic_store(&pool.on, 0);
	atomic_store(&pool.as, GW_ATTACH_IDS);
}

bool gw_activity_on(void)
{
	/* Pairs with the stores of gw_activity_begin() and gw_activity_gone(). */
	return atomic_load_explicit(&pool.on, memory_order_acquire) != 0;
}

bool gw_activity_covers(uint64_t ticks, bool correlated)
{
	uint64_t until = atomic_load(&pool.until);

	if (!gw_activity_on())
		return false;
	if (correlated)
		return true;
	return atomic_load(&pool.as) != GW_ATTACH_IDS && ticks >= atomic_load(&pool.since) &&
	       (!until || ticks < until);
}

bool gw_activity_of_call(const struct gw_activity *record, uint64_t call_ns)
{
	if (!gw_activity_by_device() || !record->start)
		return true;
	return record->start >= pool.since_ns && record->start + CLOCKS_NS >= call_ns;
}

bool gw_activity_overran(const struct gw_activity *record)
{
	return gw_activity_by_device() && record->graph_node && pool.off_ns &&
	       record->end > pool.off_ns;
}

bool gw_activity_by_device(void)
{
	return atomic_load_explicit(&pool.as, memory_order_relaxed) == GW_ATTACH_WINDOW;
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
	return atomic_load(&pool.as) == GW_ATTACH_ORDER;
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
	if (!plain() || gw_injection_active() || !gw_attach_open())
		return;
	if (gw_cupti.cuptiGetStreamIdEx(context, stream, per_thread, stream_id) != CUPTI_SUCCESS ||
	    gw_cupti.cuptiGetContextId(context, context_id) != CUPTI_SUCCESS)
		*context_id = *stream_id = 0;
}

uint32_t gw_activity_graph_id(CUgraphExec exec)
{
	uint32_t id = 0;

	if (!plain() || gw_injection_active() || !gw_cupti.cuptiGetGraphExecId || !gw_attach_open())
		return 0;
	/* The exec's number is what records carry; its type in the header is that of a graph. */
	if (gw_cupti.cuptiGetGraphExecId(exec, &id) != CUPTI_SUCCESS)
		id = 0;
	return id;
}

void gw_activity_context_going(void)
{
	if (!gw_activity_on() || gw_injection_active() || !gw_attach_open())
		return;
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

static uint32_t direction(uint8_t kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
		return GW_DIRECTION_TO_DEVICE;
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
		return GW_DIRECTION_TO_HOST;
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
		return GW_DIRECTION_ON_DEVICE;
	case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
		return GW_DIRECTION_PEER;
	default:
		return GW_DIRECTION_OTHER;
	}
}

/* Of copies and memsets what all versions have alike: the beginning of their records. */
static bool copy(const CUpti_Activity *record, const struct gw_activity_sink *sink)
{
	struct gw_copy copy;

	if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
		const CUpti_ActivityMemcpy6 *c = (const CUpti_ActivityMemcpy6 *)record;

		copy = (struct gw_copy){
			c->deviceId, direction(c->copyKind),   c->streamId,
			c->bytes,    gw_record_time(c->start), gw_record_time(c->end)};
	} else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
		const CUpti_ActivityMemset4 *c = (const CUpti_ActivityMemset4 *)record;

		copy = (struct gw_copy){
			c->deviceId, GW_DIRECTION_SET,         c->streamId,
			c->bytes,    gw_record_time(c->start), gw_record_time(c->end)};
	} else {
		return false;
	}
	sink->copy(&copy);
	return true;
}

static uint64_t walk(size_t at, const struct gw_activity_sink *sink)
{
	uint8_t *buffer = (uint8_t *)buffer_at(at);
	CUpti_Activity *record = NULL;
	uint64_t n = 0;

	while (gw_cupti.cuptiActivityGetNextRecord(buffer, pool.valid[at], &record) ==
	       CUPTI_SUCCESS) {
		struct gw_activity a;

		if (copy(record, sink))
			continue;
		if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
		    record->kind != CUPTI_ACTIVITY_KIND_KERNEL)
			continue;
		decode((const CUpti_ActivityKernel10 *)record, &a);
		if (!a.end && atomic_load(&pool.ending)) /* runs on when the window ends */
			continue;
		look_for_times(&a);
		sink->kernel(&a);
		n++;
	}
	return n;
}

/* Each goes back as soon as it is read: more may come meanwhile. */
static void give_back(size_t at)
{
	atomic_fetch_and(&pool.full[at / 64], ~(UINT64_C(1) << at % 64));
	if (at >= KEPT) {
		madvise(buffer_at(at), BUFFER_SIZE, MADV_DONTNEED);
		atomic_fetch_and(&pool.had[at / 64], ~(UINT64_C(1) << at % 64));
		gw_memory_give(GW_MEMORY_buffers, BUFFER_SIZE);
	}
	put(pool.idle, at);
}

/* What came until now, and nothing that comes while it is read: records are joined in order. */
uint64_t gw_activity_take(const struct gw_activity_sink *sink)
{
	uint64_t until = atomic_load(&pool.last_came), n = 0;
	size_t dropped = 0, buffers = 0;

	for (size_t word = 0; word < WORDS; word++) {
		uint64_t full = atomic_load(&pool.full[word]);

		for (; full; full &= full - 1) {
			size_t at = word * 64 + (size_t)__builtin_ctzll(full);

			if (pool.came[at] > until)
				continue;
			if (!buffers++)
				gw_record_clock_look();
			n += walk(at, sink);
			give_back(at);
		}
	}
	if (!buffers)
		return 0;
	if (gw_cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS &&
	    dropped)
		gw_count(GW_COUNTER_activity_dropped, dropped);
	gw_count(GW_COUNTER_activity, n);
	return n;
}
