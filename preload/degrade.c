/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/degrade.h"

#include "preload/clock.h"
#include "preload/options.h"
#include "preload/quiet.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CODES = GW_DEGRADED_CODES };

static struct gw_reason reasons[CODES];
static _Atomic int taken[CODES]; /* by code */
static _Atomic int ready[CODES]; /* by position */
static _Atomic unsigned count;
static _Atomic int said;

/* One write: a line of ours is not torn by the program's own output. */
static void say(const char *text)
{
	char line[GW_REASON_MAX + 16];
	int length = snprintf(line, sizeof(line), "gpuwatch: %s\n", text);
	struct gw_quiet quiet;

	if (length <= 0)
		return;
	gw_quiet_begin(&quiet);
	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		length = 0; /* nobody listens: the log still has it */
	gw_quiet_end(&quiet);
}

/*
 * A bound that was reached is for the report to tell; the program's terminal is not for it, nor for
 * counters that nobody asked for.
 */
static bool worth_saying(enum gw_degraded code)
{
	if (code == GW_DEGRADED_COUNTERS && !gw_options.counters_asked)
		return false;
	return code != GW_DEGRADED_GRAPH && code != GW_DEGRADED_TABLE_FULL &&
	       code != GW_DEGRADED_LOG_FULL && code != GW_DEGRADED_FORK &&
	       code != GW_DEGRADED_CLOCK && code != GW_DEGRADED_STUDY && code != GW_DEGRADED_CODE;
}

/* The reason as it is kept, NULL where its code has one already. */
static const struct gw_reason *keep(enum gw_degraded code, const char *format, va_list args)
{
	struct gw_reason *r;
	unsigned at;

	if ((unsigned)code >= CODES || atomic_exchange(&taken[code], 1))
		return NULL;
	at = atomic_fetch_add(&count, 1);
	r = &reasons[at];
	r->code = code;
	r->ns = gw_now_ns();
	vsnprintf(r->text, sizeof(r->text), format, args);
	atomic_store_explicit(&ready[at], 1, memory_order_release);
	return r;
}

void gw_degrade(enum gw_degraded code, const char *format, ...)
{
	int saved = errno;
	const struct gw_reason *r;
	va_list args;

	va_start(args, format);
	r = keep(code, format, args);
	va_end(args);
	if (r && worth_saying(code) && !atomic_exchange(&said, 1))
		say(r->text);
	errno = saved;
}

void gw_degrade_asked(enum gw_degraded code, const char *format, ...)
{
	int saved = errno;
	va_list args;

	va_start(args, format);
	keep(code, format, args);
	va_end(args);
	errno = saved;
}

bool gw_degraded_get(unsigned index, struct gw_reason *out)
{
	if (index >= CODES || !atomic_load_explicit(&ready[index], memory_order_acquire))
		return false;
	*out = reasons[index];
	return true;
}

void gw_degraded_reset(void)
{
	memset(taken, 0, sizeof(taken));
	memset(ready, 0, sizeof(ready));
	atomic_store(&count, 0);
	atomic_store(&said, 0);
}
