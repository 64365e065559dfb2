/* What streams, events and launches need of stream capture. Lock held in all of these. */
#ifndef GW_TESTS_DRIVER_CAPTURE_H
#define GW_TESTS_DRIVER_CAPTURE_H

#include "si.h"

CUresult si_capture_event_record(CUstream stream, CUevent event);
void si_capture_event_clear(CUevent event);
/* Makes a capturing stream depend on the event, or draws the stream into the event's capture. */
CUresult si_capture_event_wait(CUstream stream, CUevent event);
/* A node for what a capturing stream was given. */
CUresult si_capture_kernel(CUstream stream, CUfunction f, const struct si_config *config,
			   void **params);
CUresult si_capture_exec(CUstream stream, CUgraph graph);
CUresult si_capture_host(CUstream stream, CUhostFn fn, void *user);
CUresult si_capture_memcpy(CUstream stream, void *dst, const void *src, size_t bytes);
CUresult si_capture_memset(CUstream stream, void *dst, unsigned value, unsigned element,
			   size_t count);
/* The legacy stream may not be used while a stream that waits for it is capturing: that
 * invalidates the capture. The query form only says so. */
CUresult si_capture_implicit(CUstream stream);
CUresult si_capture_implicit_query(CUstream stream);
/* Answers a call that a capturing stream cannot take; it invalidates the capture. */
CUresult si_capture_refuse(CUstream stream);
/* The same for a call that an event recorded in a capture cannot take. */
CUresult si_capture_event_refuse(CUevent event);
/* Forgets the capture a stream is in, when the stream goes away. */
void si_capture_abandon(CUstream stream);
/* What a call that may wait or reach elsewhere begins with. A capture that forbids it, by its own
 * mode and the calling thread's, is invalidated. */
CUresult si_capture_unsafe(void);

#endif
