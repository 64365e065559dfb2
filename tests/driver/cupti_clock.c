/*
 * The clock that records and samples are reported in: CLOCK_REALTIME as it is when they are,
 * shifted by STANDIN_CLOCK_OFFSET, or one that a tool has registered.
 */
#include "cupti_si.h"
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUpti_TimestampCallbackFunc registered;
static struct sc_clock first; /* when it was registered */

int64_t sc_clock_offset(void)
{
	const char *offset = getenv("STANDIN_CLOCK_OFFSET"); /* ns, may be negative */
	return offset ? strtoll(offset, NULL, 10) : 0;
}

/*
 * One moment by both clocks. Between two readings a thread can be kept from running for
 * milliseconds, which would be an error of the device's clock that no device has: then once more.
 */
static struct sc_clock read_both(void)
{
	enum { TRIES = 1000, CLOSE_NS = 500 };
	struct sc_clock c = {0, 0, 1};
	uint64_t best = UINT64_MAX;
	for (int i = 0; i < TRIES && best > CLOSE_NS; i++) {
		uint64_t before = sc_driver()->now(), reported = registered(),
			 after = sc_driver()->now();
		if (after - before < best) {
			best = after - before;
			c.now = before + best / 2;
			c.reported = reported;
		}
	}
	return c;
}

/* By how much CLOCK_REALTIME was set since the driver's clock was taken from it. */
static int64_t set_since(void)
{
	enum { TRIES = 1000, CLOSE_NS = 2000000 };
	int64_t by = 0;
	for (int i = 0; i < TRIES; i++) {
		struct timespec t;
		uint64_t before = sc_driver()->now(), after;
		clock_gettime(CLOCK_REALTIME, &t);
		after = sc_driver()->now();
		by = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec - (int64_t)before;
		if (after - before < CLOSE_NS)
			break;
	}
	return by > -CLOSE_NS && by < CLOSE_NS ? 0 : by; /* less is how long reading takes */
}

struct sc_clock sc_clock_look(void)
{
	struct sc_clock c;
	pthread_mutex_lock(&lock);
	if (registered) {
		c = read_both();
		if (c.now > first.now)
			c.rate =
				(double)(c.reported - first.reported) / (double)(c.now - first.now);
	} else {
		c.now = sc_driver()->now();
		c.reported = c.now + (uint64_t)(sc_clock_offset() + set_since());
		c.rate = 1;
	}
	pthread_mutex_unlock(&lock);
	return c;
}

uint64_t sc_clock_reported(const struct sc_clock *c, uint64_t ns)
{
	return c->reported + (uint64_t)(int64_t)((double)(int64_t)(ns - c->now) * c->rate);
}

void sc_clock_forget(void)
{
	pthread_mutex_lock(&lock);
	registered = NULL;
	pthread_mutex_unlock(&lock);
}

SC_API cuptiGetTimestamp(uint64_t *out)
{
	SC_ENTER();
	if (!out)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*out = sc_clock_look().reported;
	return CUPTI_SUCCESS;
}

SC_API cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp)
{
	SC_ENTER();
	if (!funcTimestamp)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	registered = funcTimestamp;
	first = read_both();
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}
