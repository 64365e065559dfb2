/* Events: a moment on a stream's timeline. */
#include "si.h"
#include "capture.h"

CUresult si_cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
	CUcontext ctx;
	CUevent event;
	SI_TRY(si_current(&ctx));
	if (!phEvent || Flags > 7)
		return CUDA_ERROR_INVALID_VALUE;
	event = si_object_new(SI_EVENT, sizeof *event);
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->ctx = ctx;
	event->flags = Flags;
	*phEvent = event;
	return CUDA_SUCCESS;
}

static CUresult record(bool pt, CUevent hEvent, CUstream hStream)
{
	CUstream stream = NULL;
	CUresult result;
	if (!si_is(hEvent, SI_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	SI_LOCKED();
	result = si_stream(hStream, pt, &stream);
	if (result == CUDA_SUCCESS && stream->capture) {
		result = si_capture_event_record(stream, hEvent);
	} else if (result == CUDA_SUCCESS) {
		uint64_t now = si_now();
		si_capture_event_clear(hEvent);
		hEvent->recorded = true;
		hEvent->stream = stream;
		hEvent->time = si_stream_begin(stream, now);
	}
	return result;
}

CUresult si_cuEventRecord(bool pt, CUevent hEvent, CUstream hStream)
{
	return record(pt, hEvent, hStream);
}

CUresult si_cuEventRecordWithFlags(bool pt, CUevent hEvent, CUstream hStream, unsigned int flags)
{
	return flags > CU_EVENT_RECORD_EXTERNAL ? CUDA_ERROR_INVALID_VALUE
						: record(pt, hEvent, hStream);
}

/* Is the event's moment still to come? Lock held. */
static bool pending(CUevent event)
{
	bool host = si_is(event->stream, SI_STREAM) && event->stream->host_pending > 0;
	return event->recorded && (host || event->time > si_now());
}

CUresult si_cuEventQuery(CUevent hEvent)
{
	CUresult result;
	SI_TRY(si_ready());
	if (!si_is(hEvent, SI_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	SI_LOCKED();
	result = hEvent->capture ? si_capture_event_refuse(hEvent) : si_capture_unsafe();
	if (result == CUDA_SUCCESS && pending(hEvent))
		result = CUDA_ERROR_NOT_READY;
	return result;
}

CUresult si_cuEventSynchronize(CUevent hEvent)
{
	CUresult result = si_ready();
	uint64_t time;
	if (result != CUDA_SUCCESS)
		return result;
	if (!si_is(hEvent, SI_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	SI_LOCK();
	result = hEvent->capture ? si_capture_event_refuse(hEvent) : si_capture_unsafe();
	if (result == CUDA_SUCCESS && hEvent->recorded && si_is(hEvent->stream, SI_STREAM))
		si_host_drain(hEvent->stream);
	time = hEvent->recorded ? hEvent->time : 0;
	SI_UNLOCK();
	if (result == CUDA_SUCCESS)
		si_wait_until(time);
	return result;
}

CUresult si_cuEventDestroy_v2(CUevent hEvent)
{
	SI_TRY(si_ready());
	if (!si_is(hEvent, SI_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	SI_LOCKED();
	si_capture_event_clear(hEvent);
	si_object_free(hEvent);
	return CUDA_SUCCESS;
}

CUresult si_cuEventDestroy(CUevent hEvent)
{
	return si_cuEventDestroy_v2(hEvent);
}

CUresult si_cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
	CUresult result = CUDA_SUCCESS;
	SI_TRY(si_ready());
	if (!pMilliseconds)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_is(hStart, SI_EVENT) || !si_is(hEnd, SI_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	SI_LOCKED();
	if (((hStart->flags | hEnd->flags) & CU_EVENT_DISABLE_TIMING) || !hStart->recorded ||
	    !hEnd->recorded)
		result = CUDA_ERROR_INVALID_HANDLE;
	else if (pending(hStart) || pending(hEnd))
		result = CUDA_ERROR_NOT_READY;
	else
		*pMilliseconds = (float)((double)(int64_t)(hEnd->time - hStart->time) / 1e6);
	return result;
}

CUresult si_cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
	return si_cuEventElapsedTime_v2(pMilliseconds, hStart, hEnd);
}
