/*
 * --since, --until and --last: which time of a log a command reads. One parser, and one filter, in
 * the loader (events.h).
 */
#ifndef GW_WINDOW_H
#define GW_WINDOW_H

#include "cli/options.h"

#include <stdbool.h>
#include <stdint.h>

/** As the options give them; NULL: not given. */
struct log_window {
	const char *since, *until, *last;
};

/** Rows of a command's table of options, whose struct options has such fields. */
#define LOG_WINDOW_OPTIONS \
	GW_OPT_TEXT( \
		since, "TIME", \
		"only what began at this time or later: 2026-11-26T10:00:00Z, 10:00[:00] of the " \
		"day on which the logs end, 10m before they end (d, h, m, s, ms), or a number of " \
		"seconds after they begin"), \
		GW_OPT_TEXT(until, "TIME", "only what began before this time, likewise"), \
		GW_OPT_ROW(last, TEXT, .argument = "SPAN", \
			   .meaning = "only the last SPAN of the logs, such as 10m; the same as " \
				      "--since=SPAN")

/**
 * Have the loader leave out what is not in @p w of the logs and folders @p paths, @p count of them,
 * from now on; all of it where @p w has nothing. @p command is its name in messages. Returns 0, or
 * the exit status after a message.
 */
int log_window_set(const char *command, const struct log_window *w, char **paths, int count);

/** 0 where there is no such window, or launches were in it; else a message, and the exit status. */
int log_window_check(const char *command);

/** Whether there is a window. */
bool log_window_there(void);

/** Whether what began at @p ns, since 1970, is in it; 0: when it began is not known. */
bool log_window_has(uint64_t ns);

/** Launches in it were handed on. */
void log_window_count(uint64_t launches);

/**
 * @p text as a time in ns since 1970, of logs that begin and end at @p begin and @p end. False
 * where it is none.
 */
bool log_time_read(const char *text, uint64_t begin, uint64_t end, uint64_t *ns);

#endif
