/* What can't be done is said once, kept for log and report, and never stops the program. */
#ifndef GW_DEGRADE_H
#define GW_DEGRADE_H

#include "predictor/log/record.h"

#include <stdbool.h>

enum { GW_REASON_MAX = 512 };

/** A reason; kept for the log. */
struct gw_reason {
	enum gw_degraded code;
	uint64_t ns; /**< CLOCK_REALTIME when it was noticed */
	char text[GW_REASON_MAX];
};

/**
 * Note that something can't be done; each code is kept once, TABLE_FULL once for each @p format.
 * The first of the process that is worth the program's terminal is also said on stderr, in one
 * line. Callable from any thread; keeps errno.
 */
void gw_degrade(enum gw_degraded code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** The same for what the user asked for: it stands in log and report, nothing is said on stderr. */
void gw_degrade_asked(enum gw_degraded code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * Say on stderr what a thread with a table of files of its own (own_files.h) would have said: there
 * descriptor 2 is not the program's. Any other thread; keeps errno.
 */
void gw_degraded_say(void);

/** The reason numbered @p index (0, 1, …) in order of arrival; false when there are no more. */
bool gw_degraded_get(unsigned index, struct gw_reason *out);

/** Forget all; for a forked child that starts anew. */
void gw_degraded_reset(void);

#endif
