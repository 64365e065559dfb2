/*
 * Activity records. The driver's hook queues what ran; a flush, or a worker thread once a
 * buffer's worth has gathered, moves what is complete into the client's buffers. As in the real
 * library a kernel that still runs holds back everything behind it, and a lock is held while
 * the client's callbacks run.
 */
#include "cupti_si.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GATHER 2048 /* records that wake the worker */
#define TAKEN  4096 /* records that leave the queue at once */

/* Records are stored at the length of the layout of the version reported. */
static const struct {
	uint32_t version;
	size_t size;
} layouts[] = {
	{130000, sizeof(CUpti_ActivityKernel10)}, {19, sizeof(CUpti_ActivityKernel9)},
	{18, sizeof(CUpti_ActivityKernel8)},      {17, sizeof(CUpti_ActivityKernel7)},
	{15, sizeof(CUpti_ActivityKernel6)},      {13, sizeof(CUpti_ActivityKernel5)},
	{0, sizeof(CUpti_ActivityKernel4)},
};

static struct options {
	uint64_t drop_every, bad_every, hold, no_times_after, queue;
	bool reorder, denied;
} options;

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static struct si_execution *queue;
static size_t queue_first, queue_count, queue_capacity; /* capacity: a power of two */
static pthread_cond_t queue_wake = PTHREAD_COND_INITIALIZER;
static bool worker_running;
static uint64_t seen, written;
static _Atomic uint64_t dropped;

/* One flush at a time; held while the client's callbacks run. */
pthread_mutex_t sc_delivery_lock = PTHREAD_MUTEX_INITIALIZER;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static struct sc_clock clock_reported; /* of the records that are being written */
static struct {
	uint8_t *data;
	size_t size, valid, max_records, records;
} buffer;
static bool enabled_copy, enabled_set;
static _Atomic CUpti_ActivityKind enabled_kind; /* CONCURRENT_KERNEL or KERNEL; 0 for none */

bool sc_activity_traces_kernels(void)
{
	return enabled_kind != 0;
}

static size_t record_size(void)
{
	uint32_t version = sc_version();
	for (size_t i = 0;; i++)
		if (version >= layouts[i].version)
			return layouts[i].size;
}

/* ---- the driver's side ---- */

static bool queue_grow(void)
{
	size_t capacity = queue_capacity ? queue_capacity * 2 : 4096;
	struct si_execution *grown;
	if (options.queue && queue_capacity)
		return false;
	while (capacity < options.queue)
		capacity *= 2;
	grown = malloc(capacity * sizeof *grown);
	if (!grown)
		return false;
	if (options.queue)
		memset(grown, 0, capacity * sizeof *grown);
	for (size_t i = 0; i < queue_count; i++)
		grown[i] = queue[(queue_first + i) & (queue_capacity - 1)];
	free(queue);
	queue = grown;
	queue_first = 0;
	queue_capacity = capacity;
	return true;
}

static void queue_add(const struct si_execution *execution)
{
	pthread_mutex_lock(&queue_lock);
	seen++;
	if ((options.drop_every && seen % options.drop_every == 0) ||
	    (queue_count == queue_capacity && !queue_grow())) {
		atomic_fetch_add(&dropped, 1);
	} else {
		queue[(queue_first + queue_count++) & (queue_capacity - 1)] = *execution;
		if (queue_count == GATHER)
			pthread_cond_signal(&queue_wake);
	}
	pthread_mutex_unlock(&queue_lock);
}

static void on_kernel(const struct si_execution *execution)
{
	sc_pm_kernel(execution);
	if (enabled_kind)
		queue_add(execution);
}

void sc_watch_kernels(void)
{
	atomic_store(&sc_hooks.kernel, on_kernel);
	sc_driver()->hooks_set(&sc_hooks);
}

static void on_copy(const struct si_execution *execution)
{
	if (execution->set ? enabled_set : enabled_copy)
		queue_add(execution);
}

/* ---- from the queue into buffers ---- */

static void buffer_send(void)
{
	uint8_t *data = buffer.data;
	buffer.data = NULL;
	if (data)
		complete(NULL, 0, data, buffer.size, buffer.valid);
}

/* cuptiFinalize neither gives a buffer back nor frees it; here it stays findable by a leak checker.
 */
static void buffer_abandon(void)
{
	static struct abandoned {
		struct abandoned *next;
		uint8_t *data;
	} * all;
	struct abandoned *a = buffer.data ? malloc(sizeof *a) : NULL;
	if (a) {
		*a = (struct abandoned){all, buffer.data};
		all = a;
	}
	buffer.data = NULL;
	buffer.valid = buffer.records = 0;
}

static bool buffer_room(size_t size)
{
	if (buffer.data && (buffer.valid + size > buffer.size ||
			    (buffer.max_records && buffer.records == buffer.max_records)))
		buffer_send();
	if (!buffer.data) {
		buffer.size = buffer.max_records = buffer.valid = buffer.records = 0;
		request(&buffer.data, &buffer.size, &buffer.max_records);
	}
	return buffer.data && buffer.size >= size && ((uintptr_t)buffer.data & 7) == 0;
}

static void times_spoil(CUpti_ActivityKernel10 *r)
{
	uint64_t end = r->end;
	switch (written / options.bad_every % 3) { /* each kind of nonsense in turn */
	case 0:
		r->end = r->start;
		r->start = end;
		break;
	case 1:
		r->end = r->start;
		break;
	default:
		r->start = r->end = 0;
	}
}

/* Names in records are the library's, and go with it: a client that kept one reads this. */
static struct name {
	struct name *next;
	const char *driver;
	char text[];
} * names;

static const char *name_keep(const char *driver)
{
	struct name *n = names;
	while (n && (n->driver != driver || strcmp(n->text, driver) != 0))
		n = n->next;
	if (!n && (n = malloc(sizeof *n + strlen(driver) + 1))) {
		n->driver = driver;
		strcpy(n->text, driver);
		n->next = names;
		names = n;
	}
	return n ? n->text : driver;
}

/* Spoilt, never freed: reading one after cuptiFinalize must be seen, not crash. */
static void names_forget(void)
{
	static struct name *forgotten;
	struct name *last = names;
	for (struct name *n = names; n; last = n, n = n->next)
		memset(n->text, '?', strlen(n->text));
	if (last) {
		last->next = forgotten;
		forgotten = names;
		names = NULL;
	}
}

static void record_fill(CUpti_ActivityKernel10 *r, const struct si_execution *x, bool finished)
{
	memset(r, 0, sizeof *r);
	r->kind = enabled_kind;
	if (!r->kind)
		r->kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	r->registersPerThread = (uint16_t)x->regs;
	r->start = finished ? sc_clock_reported(&clock_reported, x->start) : 0;
	r->end = finished ? sc_clock_reported(&clock_reported, x->end) : 0;
	r->completed = 0;
	r->deviceId = x->device_id;
	r->contextId = x->context_id;
	r->streamId = x->stream_id;
	r->gridX = (int32_t)x->config.grid.x;
	r->gridY = (int32_t)x->config.grid.y;
	r->gridZ = (int32_t)x->config.grid.z;
	r->blockX = (int32_t)x->config.block.x;
	r->blockY = (int32_t)x->config.block.y;
	r->blockZ = (int32_t)x->config.block.z;
	r->staticSharedMemory = x->static_shared;
	r->dynamicSharedMemory = (int32_t)x->config.shared;
	r->localMemoryPerThread = (uint32_t)x->local;
	r->correlationId = x->correlation_id;
	r->gridId = x->grid_id;
	r->name = name_keep(x->name);
	r->launchType = x->launch_type;
	r->graphNodeId = x->graph_node_id;
	r->graphId = x->graph_id;
	r->channelID = x->channel;
	r->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
	r->clusterX = x->config.cluster.x;
	r->clusterY = x->config.cluster.y;
	r->clusterZ = x->config.cluster.z;
	written++;
	if (finished && options.bad_every && written % options.bad_every == 0)
		times_spoil(r);
	if (options.no_times_after && written > options.no_times_after)
		r->start = r->end = 0;
}

/* It takes as much room as a kernel's, so that all records of a buffer are alike. */
static void copy_fill(void *room, const struct si_execution *x, bool finished)
{
	CUpti_ActivityMemcpy6 *r = room; /* what is filled in lies alike in CUpti_ActivityMemset4 */

	r->kind = x->set ? CUPTI_ACTIVITY_KIND_MEMSET : CUPTI_ACTIVITY_KIND_MEMCPY;
	r->copyKind = x->copy;
	r->bytes = x->bytes;
	r->start = finished ? sc_clock_reported(&clock_reported, x->start) : 0;
	r->end = finished ? sc_clock_reported(&clock_reported, x->end) : 0;
	r->deviceId = x->device_id;
	r->contextId = x->context_id;
	r->streamId = x->stream_id;
}

static void record_write(const struct si_execution *x, bool finished)
{
	CUpti_ActivityKernel10 record;
	size_t size = record_size();
	if (!buffer_room(size)) {
		atomic_fetch_add(&dropped, 1);
		return;
	}
	if (x->copy || x->set) {
		memset(&record, 0, sizeof record);
		copy_fill(&record, x, finished);
	} else {
		record_fill(&record, x, finished);
	}
	memcpy(buffer.data + buffer.valid, &record, size);
	buffer.valid += size;
	buffer.records++;
}

static size_t queue_length(void)
{
	size_t n;
	pthread_mutex_lock(&queue_lock);
	n = queue_count;
	pthread_mutex_unlock(&queue_lock);
	return n;
}

/* Takes from the queue what may be reported now, at most @p most; returns how many. */
static size_t queue_take(struct si_execution **out, size_t most, uint64_t now, bool forced)
{
	size_t n = 0;
	pthread_mutex_lock(&queue_lock);
	while (n < queue_count && n < most &&
	       (forced || queue[(queue_first + n) & (queue_capacity - 1)].end <= now))
		n++;
	*out = n ? malloc(n * sizeof **out) : NULL;
	if (!*out)
		n = 0;
	for (size_t i = 0; i < n; i++)
		(*out)[i] = queue[(queue_first + i) & (queue_capacity - 1)];
	queue_first = queue_capacity ? (queue_first + n) & (queue_capacity - 1) : 0;
	queue_count -= n;
	pthread_mutex_unlock(&queue_lock);
	return n;
}

/* STANDIN_REORDER: stream by stream, the highest id first; each stream stays in order. */
static int by_stream(const void *a, const void *b)
{
	const struct si_execution *x = a, *y = b;
	if (x->stream_id != y->stream_id)
		return x->stream_id < y->stream_id ? 1 : -1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* STANDIN_HOLD=N: records of every Nth stream come one flush late. */
static struct si_execution *held;
static size_t held_count;

static void held_write(uint64_t now)
{
	for (size_t i = 0; i < held_count; i++)
		record_write(&held[i], held[i].end <= now);
	free(held);
	held = NULL;
	held_count = 0;
}

static bool hold_back(const struct si_execution *x, struct si_execution **keep, size_t *kept)
{
	struct si_execution *grown;
	if (!options.hold || x->stream_id % options.hold != 0)
		return false;
	grown = realloc(*keep, (*kept + 1) * sizeof *grown);
	if (!grown)
		return false;
	*keep = grown;
	grown[(*kept)++] = *x;
	return true;
}

/* Delivery lock held. */
static void move(bool forced)
{
	uint64_t now = sc_driver()->now();
	struct si_execution *taken, *keep = NULL;
	size_t kept = 0, n, left = queue_length();
	if (!request || !complete)
		return;
	clock_reported = sc_clock_look();
	for (; left; left -= n) {
		n = queue_take(&taken, options.reorder || left < TAKEN ? left : TAKEN, now, forced);
		if (!n)
			break;
		if (options.reorder)
			qsort(taken, n, sizeof *taken, by_stream);
		for (size_t i = 0; i < n; i++)
			if (forced || !hold_back(&taken[i], &keep, &kept))
				record_write(&taken[i], taken[i].end <= now);
		free(taken);
	}
	held_write(now);
	held = keep;
	held_count = kept;
}

static void *worker(void *unused)
{
	(void)unused;
	for (;;) {
		pthread_mutex_lock(&queue_lock);
		while (queue_count < GATHER)
			pthread_cond_wait(&queue_wake, &queue_lock);
		pthread_mutex_unlock(&queue_lock);
		pthread_mutex_lock(&sc_delivery_lock);
		move(false);
		pthread_mutex_unlock(&sc_delivery_lock);
		struct timespec pause = {0, 1000000};
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void worker_start(void)
{
	sigset_t all, old;
	pthread_t thread;
	if (worker_running)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, worker, NULL) == 0) {
		pthread_detach(thread);
		worker_running = true;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ---- the functions ---- */

static pthread_once_t options_once = PTHREAD_ONCE_INIT;

static void options_read(void)
{
	options.drop_every = sc_driver()->env_u64("STANDIN_DROP", 0);
	options.bad_every = sc_driver()->env_u64("STANDIN_BAD_TIME", 0);
	options.no_times_after = sc_driver()->env_u64("STANDIN_NO_TIMES_AFTER", 0);
	options.hold = sc_driver()->env_u64("STANDIN_HOLD", 0);
	options.reorder = sc_driver()->env_u64("STANDIN_REORDER", 0) != 0;
	options.queue = sc_driver()->env_u64("STANDIN_QUEUE", 0);
	options.denied = sc_driver()->env_u64("STANDIN_DENY", 0) != 0;
}

SC_API cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
				      CUpti_BuffersCallbackCompleteFunc funcBufferCompleted)
{
	SC_ENTER();
	if (!funcBufferRequested || !funcBufferCompleted)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&sc_delivery_lock);
	request = funcBufferRequested;
	complete = funcBufferCompleted;
	pthread_mutex_unlock(&sc_delivery_lock);
	return CUPTI_SUCCESS;
}

static bool is_kernel(CUpti_ActivityKind kind)
{
	return kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || kind == CUPTI_ACTIVITY_KIND_KERNEL;
}

static bool switch_copies(CUpti_ActivityKind kind, bool on)
{
	if (kind != CUPTI_ACTIVITY_KIND_MEMCPY && kind != CUPTI_ACTIVITY_KIND_MEMSET)
		return false;
	*(kind == CUPTI_ACTIVITY_KIND_MEMSET ? &enabled_set : &enabled_copy) = on;
	atomic_store(&sc_hooks.copy, enabled_copy || enabled_set ? on_copy : NULL);
	return true;
}

/* STANDIN_ORDER: the real library can deadlock there, with a third thread that loads code. */
static _Atomic int flushing;

static void switching(const char *function)
{
	if (atomic_load(&flushing) && sc_driver()->env_u64("STANDIN_ORDER", 0))
		fprintf(stderr, "stand-in: %s while another thread is in cuptiActivityFlushAll\n",
			function);
}

SC_API cuptiActivityEnable(CUpti_ActivityKind kind)
{
	switching(__func__);
	SC_ENTER();
	if ((unsigned)kind == 0)
		return CUPTI_ERROR_INVALID_KIND;
	if ((unsigned)kind >= CUPTI_ACTIVITY_KIND_COUNT)
		return CUPTI_ERROR_NOT_COMPATIBLE;
	pthread_once(&options_once, options_read);
	if (options.denied)
		return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
	if (switch_copies(kind, true) || !is_kernel(kind))
		return CUPTI_SUCCESS; /* of other kinds the stand-in has no records */
	pthread_mutex_lock(&queue_lock);
	if (enabled_kind && enabled_kind != kind) {
		pthread_mutex_unlock(&queue_lock);
		return CUPTI_ERROR_NOT_COMPATIBLE;
	}
	enabled_kind = kind;
	worker_start();
	pthread_mutex_unlock(&queue_lock);
	sc_watch_kernels();
	return CUPTI_SUCCESS;
}

SC_API cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
	return context ? cuptiActivityEnable(kind) : CUPTI_ERROR_INVALID_CONTEXT;
}

SC_API cuptiActivityDisable(CUpti_ActivityKind kind)
{
	switching(__func__);
	SC_ENTER();
	if ((unsigned)kind == 0 || (unsigned)kind >= CUPTI_ACTIVITY_KIND_COUNT)
		return CUPTI_ERROR_INVALID_KIND;
	switch_copies(kind, false);
	if (is_kernel(kind)) {
		atomic_store(&sc_hooks.kernel, NULL);
		pthread_mutex_lock(&queue_lock);
		enabled_kind = CUPTI_ACTIVITY_KIND_INVALID;
		pthread_mutex_unlock(&queue_lock);
	}
	return CUPTI_SUCCESS;
}

SC_API cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
	return context ? cuptiActivityDisable(kind) : CUPTI_ERROR_INVALID_CONTEXT;
}

static void flush_all(uint32_t flag)
{
	pthread_mutex_lock(&sc_delivery_lock);
	move((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
	if (complete && (buffer.records > 0 || (flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)))
		buffer_send();
	pthread_mutex_unlock(&sc_delivery_lock);
}

SC_API cuptiActivityFlushAll(uint32_t flag)
{
	CUptiResult r;
	atomic_fetch_add(&flushing, 1);
	r = sc_enter(__func__);
	if (r == CUPTI_SUCCESS)
		flush_all(flag);
	atomic_fetch_sub(&flushing, 1);
	return r;
}

SC_API cuptiActivityFlushPeriod(uint32_t time)
{
	(void)time;
	SC_ENTER();
	return CUPTI_SUCCESS;
}

/* What was not flushed is lost. */
void sc_activity_stop(void)
{
	atomic_store(&sc_hooks.kernel, NULL);
	atomic_store(&sc_hooks.copy, NULL);
	enabled_copy = enabled_set = false;
	pthread_mutex_lock(&sc_delivery_lock);
	pthread_mutex_lock(&queue_lock);
	queue_count = 0;
	pthread_mutex_unlock(&queue_lock);
	free(held);
	held = NULL;
	held_count = 0;
	buffer_abandon();
	names_forget();
	request = NULL;
	complete = NULL;
	sc_clock_forget();
	pthread_mutex_unlock(&sc_delivery_lock);
	pthread_mutex_lock(&queue_lock);
	enabled_kind = CUPTI_ACTIVITY_KIND_INVALID;
	pthread_mutex_unlock(&queue_lock);
}

SC_API cuptiActivityGetNextRecord(uint8_t *data, size_t validBufferSizeBytes,
				  CUpti_Activity **record)
{
	size_t size = record_size();
	uint8_t *next;
	SC_ENTER();
	if (!data || !record)
		return CUPTI_ERROR_INVALID_PARAMETER;
	next = *record ? (uint8_t *)*record + size : data;
	if (next < data || (size_t)(next - data) + size > validBufferSizeBytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)(void *)next;
	return CUPTI_SUCCESS;
}

SC_API cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t streamId, size_t *count)
{
	(void)context;
	(void)streamId;
	SC_ENTER();
	if (!count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*count = (size_t)atomic_exchange(&dropped, 0);
	return CUPTI_SUCCESS;
}
