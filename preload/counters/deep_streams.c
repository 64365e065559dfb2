/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/counters/deep_streams.h"

#include "preload/runtime/clock.h"
#include "preload/runtime/deadline.h"

#include <pthread.h>

enum { STREAMS = 256, WAIT_NS = 20000000, PAUSE_NS = 20000 };

struct used {
	CUstream stream; /* as cuStreamQuery takes it */
	CUcontext context;
	uint32_t serial; /* of the thread, for its own stream; else 0 */
};

static pthread_mutex_t lock;
static struct used list[STREAMS];
static uint32_t count;
static bool overflown; /* there was one that had no room: it can't be asked */

void gw_deep_streams_start(void)
{
	pthread_mutex_init(&lock, NULL);
	count = 0;
	overflown = false;
}

static bool same(const struct used *a, const struct used *b)
{
	return a->stream == b->stream && a->context == b->context && a->serial == b->serial;
}

void gw_deep_streams_used(CUstream stream, uint32_t pt, uint32_t serial)
{
	struct used u = {.stream = stream, .context = gw_context_current()};
	uint32_t i = 0;

	if (!stream)
		u.stream = pt ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
	if (u.stream == CU_STREAM_PER_THREAD)
		u.serial = serial;
	pthread_mutex_lock(&lock);
	while (i < count && !same(&list[i], &u))
		i++;
	if (i == count && count < STREAMS)
		list[count++] = u;
	else if (i == count)
		overflown = true;
	pthread_mutex_unlock(&lock);
}

/* Ask each; those that are idle are struck off. False: one can't be asked. */
static bool ask(CUcontext context, uint32_t serial, bool *busy)
{
	bool can = !overflown && gw_driver.cuStreamQuery;

	*busy = false;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < count && can;) {
		CUresult r;

		if (list[i].context != context) {
			i++;
			continue;
		}
		can = !list[i].serial || list[i].serial == serial;
		r = can ? gw_driver.cuStreamQuery(list[i].stream) : CUDA_ERROR_INVALID_VALUE;
		can = r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_READY;
		*busy |= r == CUDA_ERROR_NOT_READY;
		if (r == CUDA_SUCCESS)
			list[i] = list[--count];
		else
			i++;
	}
	pthread_mutex_unlock(&lock);
	return can;
}

bool gw_deep_streams_idle(CUcontext context, uint32_t serial)
{
	uint64_t begin = gw_steady_ns();
	bool busy;

	for (;;) {
		if (!ask(context, serial, &busy))
			return false;
		if (!busy)
			return true;
		if (gw_steady_ns() - begin > WAIT_NS)
			return false;
		gw_pause(PAUSE_NS);
	}
}

static void strike_off(CUstream stream, CUcontext context)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < count;)
		if (list[i].stream == stream || list[i].context == context)
			list[i] = list[--count];
		else
			i++;
	pthread_mutex_unlock(&lock);
}

void gw_deep_streams_gone(CUstream stream)
{
	strike_off(stream, NULL);
}

void gw_deep_streams_context_gone(CUcontext context)
{
	strike_off(NULL, context);
}
