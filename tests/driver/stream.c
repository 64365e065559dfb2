/* Streams: in-order timelines, the default streams' rules, and host functions. */
#include "si.h"
#include "capture.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Both number the process's streams, and the driver's own take the first: see context_new. */
struct si_stream_ids si_stream_ids = {6, 6};

void si_stream_ids_skip(unsigned n)
{
	si_stream_ids.cupti += n;
	si_stream_ids.driver += n;
}

CUstream si_stream_new(CUcontext ctx, unsigned flags, int priority)
{
	CUstream stream = si_object_new(SI_STREAM, sizeof *stream);
	if (!stream)
		return NULL;
	stream->ctx = ctx;
	stream->id = si_stream_ids.cupti++;
	stream->driver_id = si_stream_ids.driver++;
	stream->flags = flags;
	stream->priority = priority < -5 ? -5 : priority > 0 ? 0 : priority;
	stream->next = ctx->streams;
	ctx->streams = stream;
	return stream;
}

/* This thread's default stream in the context, made on first use. */
static CUstream per_thread_stream(CUcontext ctx)
{
	static uint64_t tokens;
	CUstream stream;
	if (si_tls.per_thread_ctx == ctx->id && si_is(si_tls.per_thread, SI_STREAM))
		return si_tls.per_thread;
	if (!si_tls.token)
		si_tls.token = ++tokens;
	for (stream = ctx->streams; stream; stream = stream->next)
		if (stream->owner == si_tls.token)
			break;
	if (!stream)
		stream = si_stream_new(ctx, CU_STREAM_DEFAULT, 0);
	if (!stream)
		return NULL;
	stream->owner = si_tls.token;
	si_tls.per_thread = stream;
	si_tls.per_thread_ctx = ctx->id;
	return stream;
}

CUresult si_stream(CUstream handle, bool pt, CUstream *out)
{
	CUcontext ctx;
	if (si_is(handle, SI_STREAM)) {
		*out = handle;
		return si_ready();
	}
	SI_TRY(si_current(&ctx));
	if (handle == CU_STREAM_LEGACY || (!handle && !pt))
		*out = ctx->legacy;
	else if (handle == CU_STREAM_PER_THREAD || !handle)
		*out = per_thread_stream(ctx);
	else
		return CUDA_ERROR_INVALID_HANDLE;
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- timelines ---- */

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t si_stream_begin(CUstream stream, uint64_t now)
{
	uint64_t start = later(now, stream->end);
	if (stream->legacy)
		return later(start, stream->ctx->blocking_end);
	if (!(stream->flags & CU_STREAM_NON_BLOCKING))
		return later(start, stream->ctx->legacy_end);
	return start;
}

void si_stream_end(CUstream stream, uint64_t end)
{
	stream->end = later(stream->end, end);
	if (stream->legacy)
		stream->ctx->legacy_end = later(stream->ctx->legacy_end, end);
	else if (!(stream->flags & CU_STREAM_NON_BLOCKING))
		stream->ctx->blocking_end = later(stream->ctx->blocking_end, end);
}

/* ---- host functions: the only work that needs a thread ---- */

struct host_item {
	CUstream stream, handle;
	CUhostFn fn;
	CUstreamCallback callback;
	void *user;
	uint64_t due;
	struct host_item *next;
};
static struct host_item *host_first, **host_last = &host_first;
static int host_total;
static bool host_running;
static pthread_cond_t host_wake = PTHREAD_COND_INITIALIZER;
static pthread_cond_t host_done = PTHREAD_COND_INITIALIZER;

static void *host_thread(void *unused)
{
	(void)unused;
	SI_LOCK();
	for (;;) {
		struct host_item *item = host_first;
		if (!item) {
			pthread_cond_wait(&host_wake, &si_lock);
			continue;
		}
		host_first = item->next;
		if (!host_first)
			host_last = &host_first;
		SI_UNLOCK();
		si_wait_until(item->due);
		if (item->fn)
			item->fn(item->user);
		else
			item->callback(item->handle, CUDA_SUCCESS, item->user);
		SI_LOCK();
		item->stream->host_pending--;
		host_total--;
		si_stream_end(item->stream, si_now());
		free(item);
		pthread_cond_broadcast(&host_done);
	}
	return NULL;
}

static void host_start(void)
{
	sigset_t all, old;
	pthread_t thread;
	if (host_running)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, host_thread, NULL) == 0) {
		pthread_detach(thread);
		host_running = true;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void si_host_enqueue(CUstream stream, CUhostFn fn, CUstreamCallback callback, void *user,
		     uint64_t due)
{
	struct host_item *item = calloc(1, sizeof *item);
	host_start();
	if (!item || !host_running) {
		free(item);
		return;
	}
	*item = (struct host_item){stream, stream, fn, callback, user, due, NULL};
	*host_last = item;
	host_last = &item->next;
	stream->host_pending++;
	host_total++;
	pthread_cond_signal(&host_wake);
}

/* The legacy stream and the streams that wait for it drain each other. */
static bool host_busy(CUstream stream)
{
	if (stream->host_pending > 0)
		return true;
	if (host_total == 0 || (stream->flags & CU_STREAM_NON_BLOCKING))
		return false;
	if (!stream->legacy)
		return stream->ctx->legacy->host_pending > 0;
	for (CUstream s = stream->ctx->streams; s; s = s->next)
		if (!(s->flags & CU_STREAM_NON_BLOCKING) && s->host_pending > 0)
			return true;
	return false;
}

void si_host_drain(CUstream stream)
{
	while (host_total > 0 && host_busy(stream))
		pthread_cond_wait(&host_done, &si_lock);
}

/* ---- waiting ---- */

CUresult si_context_wait(CUcontext ctx)
{
	uint64_t end;
	SI_LOCK();
	for (CUstream s = ctx->streams; s; s = s->next)
		si_host_drain(s);
	end = ctx->dropped_end;
	for (CUstream s = ctx->streams; s; s = s->next)
		end = later(end, s->end);
	SI_UNLOCK();
	si_wait_until(end);
	return CUDA_SUCCESS;
}

static void stream_drop(CUstream stream)
{
	CUstream *link = &stream->ctx->streams;
	while (*link && *link != stream)
		link = &(*link)->next;
	if (*link)
		*link = stream->next;
	si_capture_abandon(stream);
	si_object_free(stream);
}

void si_context_drop(CUcontext ctx)
{
	while (ctx->streams)
		stream_drop(ctx->streams);
	ctx->legacy = NULL;
}

/* ---- the functions ---- */

CUresult si_cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
	CUcontext ctx;
	SI_TRY(si_current(&ctx));
	if (!phStream || flags > CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	*phStream = si_stream_new(ctx, flags, priority);
	return *phStream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult si_cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
	return si_cuStreamCreateWithPriority(phStream, Flags, 0);
}

/* A destroyed stream's work still runs; only waiting for the whole context waits for it. */
CUresult si_cuStreamDestroy_v2(CUstream hStream)
{
	SI_TRY(si_ready());
	if (!si_is(hStream, SI_STREAM) || hStream->legacy)
		return CUDA_ERROR_INVALID_HANDLE;
	SI_LOCKED();
	si_host_drain(hStream);
	hStream->ctx->dropped_end = later(hStream->ctx->dropped_end, hStream->end);
	stream_drop(hStream);
	return CUDA_SUCCESS;
}

CUresult si_cuStreamDestroy(CUstream hStream)
{
	return si_cuStreamDestroy_v2(hStream);
}

/* Finds the stream and, where it exists, evaluates to `expression` of it, under the lock. */
#define GET(handle, pt, check, expression) \
	do { \
		CUstream stream_ = NULL; \
		CUresult result_; \
		if (!(check)) \
			return CUDA_ERROR_INVALID_VALUE; \
		SI_LOCK(); \
		result_ = si_stream(handle, pt, &stream_); \
		if (result_ == CUDA_SUCCESS) \
			expression; \
		SI_UNLOCK(); \
		return result_; \
	} while (0)

CUresult si_cuStreamGetId(bool pt, CUstream hStream, unsigned long long *streamId)
{
	GET(hStream, pt, streamId, *streamId = stream_->driver_id);
}

CUresult si_cuStreamGetPriority(bool pt, CUstream hStream, int *priority)
{
	GET(hStream, pt, priority, *priority = stream_->priority);
}

CUresult si_cuStreamGetFlags(bool pt, CUstream hStream, unsigned int *flags)
{
	GET(hStream, pt, flags, *flags = stream_->flags);
}

CUresult si_cuStreamGetCtx(bool pt, CUstream hStream, CUcontext *pctx)
{
	GET(hStream, pt, pctx, *pctx = stream_->ctx);
}

CUresult si_cuStreamGetCtx_v2(bool pt, CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
	if (pGreenCtx)
		*pGreenCtx = NULL;
	GET(hStream, pt, pCtx, *pCtx = stream_->ctx);
}

CUresult si_cuStreamGetDevice(bool pt, CUstream hStream, CUdevice *device)
{
	GET(hStream, pt, device, *device = stream_->ctx->device);
}

CUresult si_cuStreamWaitEvent(bool pt, CUstream hStream, CUevent hEvent, unsigned int Flags)
{
	CUstream stream = NULL;
	CUresult result;
	if (Flags > CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_is(hEvent, SI_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	SI_LOCKED();
	result = si_stream(hStream, pt, &stream);
	if (result == CUDA_SUCCESS && (stream->capture || hEvent->capture)) {
		result = si_capture_event_wait(stream, hEvent);
	} else if (result == CUDA_SUCCESS && hEvent->recorded) {
		/* Bodies run when issued, so a host function before them must be over. */
		if (si_is(hEvent->stream, SI_STREAM))
			si_host_drain(hEvent->stream);
		si_stream_end(stream, hEvent->time);
	}
	return result;
}

CUresult si_cuStreamAddCallback(bool pt, CUstream hStream, CUstreamCallback callback,
				void *userData, unsigned int flags)
{
	CUstream stream = NULL;
	CUresult result;
	if (!callback || flags)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	result = si_stream(hStream, pt, &stream);
	if (result == CUDA_SUCCESS && stream->capture)
		result = si_capture_refuse(stream);
	if (result == CUDA_SUCCESS)
		si_host_enqueue(stream, NULL, callback, userData,
				si_stream_begin(stream, si_now()));
	return result;
}

CUresult si_cuStreamQuery(bool pt, CUstream hStream)
{
	CUstream stream = NULL;
	CUresult result;
	SI_LOCKED();
	result = si_stream(hStream, pt, &stream);
	if (result == CUDA_SUCCESS && stream->capture)
		result = si_capture_refuse(stream);
	else if (result == CUDA_SUCCESS &&
		 (host_busy(stream) || si_stream_begin(stream, 0) > si_now()))
		result = CUDA_ERROR_NOT_READY;
	return result;
}

CUresult si_cuStreamSynchronize(bool pt, CUstream hStream)
{
	CUstream stream = NULL;
	CUresult result;
	uint64_t end = 0;
	SI_LOCK();
	result = si_stream(hStream, pt, &stream);
	if (result == CUDA_SUCCESS)
		result = stream->capture ? si_capture_refuse(stream) : si_capture_unsafe();
	if (result == CUDA_SUCCESS) {
		si_host_drain(stream);
		end = si_stream_begin(stream, 0);
	}
	SI_UNLOCK();
	si_wait_until(end);
	return result;
}

CUresult si_cuStreamCopyAttributes(bool pt, CUstream dstStream, CUstream srcStream)
{
	CUstream dst = NULL, src = NULL;
	CUresult result;
	SI_LOCKED();
	result = si_stream(dstStream, pt, &dst);
	if (result == CUDA_SUCCESS)
		result = si_stream(srcStream, pt, &src);
	if (result == CUDA_SUCCESS)
		dst->window = src->window;
	return result;
}

CUresult si_cuStreamGetAttribute(bool pt, CUstream hStream, CUstreamAttrID attr,
				 CUstreamAttrValue *value)
{
	GET(hStream, pt, value && attr == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
	    value->accessPolicyWindow = stream_->window);
}

CUresult si_cuStreamSetAttribute(bool pt, CUstream hStream, CUstreamAttrID attr,
				 const CUstreamAttrValue *param)
{
	GET(hStream, pt, param && attr == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
	    stream_->window = param->accessPolicyWindow);
}

CUresult si_cuStreamAttachMemAsync(bool pt, CUstream hStream, CUdeviceptr dptr, size_t length,
				   unsigned int flags)
{
	(void)length;
	(void)flags;
	GET(hStream, pt, dptr, (void)stream_);
}

/* ---- values in memory ---- */

static CUresult write_value(bool pt, CUstream handle, CUdeviceptr addr, const void *value,
			    size_t bytes)
{
	GET(handle, pt, addr && addr % bytes == 0, {
		si_host_drain(stream_);
		memcpy((void *)addr, value, bytes);
		si_stream_end(stream_, si_stream_begin(stream_, si_now()));
	});
}

/* Waits on the calling thread: bodies run when issued, so what comes after must wait here. */
static CUresult wait_value(bool pt, CUstream handle, CUdeviceptr addr, uint64_t value, size_t bytes,
			   unsigned flags)
{
	for (;;) {
		uint64_t seen = bytes == 4 ? __atomic_load_n((uint32_t *)addr, __ATOMIC_ACQUIRE)
					   : __atomic_load_n((uint64_t *)addr, __ATOMIC_ACQUIRE);
		unsigned how = flags & 3;
		bool met = how == CU_STREAM_WAIT_VALUE_EQ    ? seen == value
			   : how == CU_STREAM_WAIT_VALUE_AND ? (seen & value) != 0
			   : how == CU_STREAM_WAIT_VALUE_NOR ? (seen | value) != UINT64_MAX
			   : bytes == 4 ? (int32_t)((uint32_t)seen - (uint32_t)value) >= 0
					: (int64_t)(seen - value) >= 0;
		if (met)
			break;
		si_wait_until(si_now() + 1000);
	}
	GET(handle, pt, addr, si_stream_end(stream_, si_stream_begin(stream_, si_now())));
}

#define VALUE_FUNCTIONS(suffix) \
	CUresult si_cuStreamWriteValue32##suffix(bool pt, CUstream stream, CUdeviceptr addr, \
						 cuuint32_t value, unsigned int flags) \
	{ \
		return flags > 1 ? CUDA_ERROR_INVALID_VALUE \
				 : write_value(pt, stream, addr, &value, sizeof value); \
	} \
	CUresult si_cuStreamWriteValue64##suffix(bool pt, CUstream stream, CUdeviceptr addr, \
						 cuuint64_t value, unsigned int flags) \
	{ \
		return flags > 1 ? CUDA_ERROR_INVALID_VALUE \
				 : write_value(pt, stream, addr, &value, sizeof value); \
	} \
	CUresult si_cuStreamWaitValue32##suffix(bool pt, CUstream stream, CUdeviceptr addr, \
						cuuint32_t value, unsigned int flags) \
	{ \
		return wait_value(pt, stream, addr, value, 4, flags); \
	} \
	CUresult si_cuStreamWaitValue64##suffix(bool pt, CUstream stream, CUdeviceptr addr, \
						cuuint64_t value, unsigned int flags) \
	{ \
		return wait_value(pt, stream, addr, value, 8, flags); \
	}
VALUE_FUNCTIONS()
VALUE_FUNCTIONS(_v2)
