#include "preload/runtime/degrade.h"

#include "preload/runtime/clock.h"
#include "preload/runtime/messages.h"
#include "preload/runtime/options.h"
#include "preload/runtime/own_files.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
	CODES = GW_DEGRADED_CODES,
	TABLES = 24, /* that may be full, each with a reason of its own */
	REASONS = CODES + TABLES,
};

static struct gw_reason reasons[REASONS];
static _Atomic int taken[CODES];                /* by code */
static const char *_Atomic tables_full[TABLES]; /* the formats of their reasons */
static _Atomic int ready[REASONS];              /* by position */
static _Atomic unsigned count;
static _Atomic int said;
static const char *_Atomic unsaid; /* by a thread in whose table of files descriptor 2 is none */

/* One write: a line of ours is not torn by the program's own output. */
static void say(const char *text)
{
	char line[GW_REASON_MAX + 16];
	int length = snprintf(line, sizeof(line), "gpuwatch: %s\n", text);

	if (length > 0) /* nobody may listen: the log still has it */
		gw_message(line, (size_t)length);
}

void gw_degraded_say(void)
{
	const char *text = atomic_exchange(&unsaid, NULL);

	if (text)
		say(text);
}

/*
 * A bound that was reached belongs in the report; the program's terminal is not for it, nor for
 * counters that nobody asked for.
 */
static bool worth_saying(enum gw_degraded code)
{
	if (code == GW_DEGRADED_COUNTERS && !gw_options.counters_asked)
		return false;
	return code != GW_DEGRADED_GRAPH && code != GW_DEGRADED_TABLE_FULL &&
	       code != GW_DEGRADED_LOG_FULL && code != GW_DEGRADED_MEMORY &&
	       code != GW_DEGRADED_FORK && code != GW_DEGRADED_CLOCK &&
	       code != GW_DEGRADED_ANALYSIS && code != GW_DEGRADED_CODE;
}

/* Whether this is the first reason of its code, or of a table that is full: its format identifies
 * it.
 */
static bool first(enum gw_degraded code, const char *format)
{
	if (code != GW_DEGRADED_TABLE_FULL)
		return !atomic_exchange(&taken[code], 1);
	for (int i = 0; i < TABLES; i++) {
		const char *there = atomic_load(&tables_full[i]);

		if (!there && atomic_compare_exchange_strong(&tables_full[i], &there, format))
			return true;
		if (there == format)
			return false;
	}
	return false;
}

/* The reason as it is kept, NULL where its code has one already. */
static const struct gw_reason *keep(enum gw_degraded code, const char *format, va_list args)
{
	struct gw_reason *r;
	unsigned at;

	if ((unsigned)code >= CODES || !first(code, format))
		return NULL;
	at = atomic_fetch_add(&count, 1);
	r = &reasons[at];
	r->code = code;
	r->ns = gw_wall_ns();
	vsnprintf(r->text, sizeof(r->text), format, args);
	/* Pairs with the acquire in gw_degraded_get(). */
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
		atomic_store(&unsaid, r->text);
	if (!gw_has_own_files())
		gw_degraded_say();
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
	/* Pairs with the release in keep(). */
	if (index >= REASONS || !atomic_load_explicit(&ready[index], memory_order_acquire))
		return false;
	*out = reasons[index];
	return true;
}

void gw_degraded_reset(void)
{
	memset(taken, 0, sizeof(taken));
	memset((void *)tables_full, 0, sizeof(tables_full));
	memset(ready, 0, sizeof(ready));
	atomic_store(&count, 0);
	atomic_store(&said, 0);
}
