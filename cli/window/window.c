#include "cli/window/window.h"

#include "cli/command.h"
#include "cli/common/span.h"
#include "cli/log/events.h"
#include "cli/log/folder.h"
#include "cli/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define S UINT64_C(1000000000)

static struct {
	bool there;
	uint64_t from, to, launches;
} window;

/* What the logs' records say of when they begin and end; 0: nothing. */
struct extent {
	uint64_t begin, end;
};

/* ---- times ---- */

/* Exactly @p digits digits at *text as a number up to @p most. */
static bool number(const char **text, int digits, int most, int *out)
{
	*out = 0;
	for (int i = 0; i < digits; i++, ++*text) {
		if (**text < '0' || **text > '9')
			return false;
		*out = *out * 10 + (**text - '0');
	}
	return *out <= most;
}

static bool skip(const char **text, char c)
{
	if (**text != c)
		return false;
	++*text;
	return true;
}

/* A fraction of a second, where there is one. */
static bool fraction(const char **text, uint64_t *ns)
{
	uint64_t digit = S / 10;

	*ns = 0;
	if (!skip(text, '.'))
		return true;
	if (**text < '0' || **text > '9')
		return false;
	for (; **text >= '0' && **text <= '9'; ++*text, digit /= 10)
		*ns += digit * (uint64_t)(**text - '0');
	return true;
}

/* HH:MM[:SS[.fraction]] */
static bool clock_time(const char **text, struct tm *t, uint64_t *ns)
{
	*ns = 0;
	t->tm_sec = 0;
	if (!number(text, 2, 23, &t->tm_hour) || !skip(text, ':') ||
	    !number(text, 2, 59, &t->tm_min))
		return false;
	return !skip(text, ':') || (number(text, 2, 60, &t->tm_sec) && fraction(text, ns));
}

/* Z, +HH:MM or -HH:MM; nothing: local time. */
static bool zone(const char **text, struct tm *t, time_t *out)
{
	const int sign = **text == '-' ? 1 : -1;
	int hours, minutes;

	if (!**text) {
		t->tm_isdst = -1;
		*out = mktime(t);
		return true;
	}
	*out = timegm(t);
	if (**text == 'Z' || **text == 'z') {
		++*text;
		return true;
	}
	if ((!skip(text, '+') && !skip(text, '-')) || !number(text, 2, 23, &hours) ||
	    !skip(text, ':') || !number(text, 2, 59, &minutes))
		return false;
	*out += sign * (hours * 3600 + minutes * 60);
	return true;
}

/* RFC 3339, also with a blank, without seconds, or without a zone; or the time of day alone. */
static bool date_time(const char *text, uint64_t end, uint64_t *ns)
{
	const time_t day = (time_t)(end / S);
	struct tm t = {0};
	time_t seconds;
	uint64_t rest;

	if (text[0] && text[1] && text[2] == ':') {
		if (!localtime_r(&day, &t) || !clock_time(&text, &t, &rest) || *text)
			return false;
	} else {
		if (!number(&text, 4, 9999, &t.tm_year) || !skip(&text, '-') ||
		    !number(&text, 2, 12, &t.tm_mon) || !skip(&text, '-') ||
		    !number(&text, 2, 31, &t.tm_mday) || !t.tm_mon || !t.tm_mday)
			return false;
		t.tm_year -= 1900;
		t.tm_mon--;
		if ((!skip(&text, 'T') && !skip(&text, 't') && !skip(&text, ' ')) ||
		    !clock_time(&text, &t, &rest))
			return false;
	}
	if (!zone(&text, &t, &seconds) || *text || seconds < 0)
		return false;
	*ns = (uint64_t)seconds * S + rest;
	return true;
}

/* Seconds after the start, with a fraction. */
static bool seconds_after(const char *text, uint64_t begin, uint64_t *ns)
{
	char *rest;
	double seconds;

	if (strspn(text, "0123456789.") != strlen(text) || !*text)
		return false;
	seconds = strtod(text, &rest);
	if (*rest || !isfinite(seconds) || seconds > 1e9)
		return false;
	*ns = begin + (uint64_t)(seconds * 1e9);
	return true;
}

bool log_time_read(const char *text, uint64_t begin, uint64_t end, uint64_t *ns)
{
	uint64_t span;

	if (gw_span_read(text, &span)) {
		*ns = span < end ? end - span : 0;
		return true;
	}
	return seconds_after(text, begin, ns) || date_time(text, end, ns);
}

/* ---- when logs begin and end ---- */

static void widen(struct extent *x, uint64_t from, uint64_t to)
{
	if (from && (!x->begin || from < x->begin))
		x->begin = from;
	if (to > x->end && to < INT64_MAX)
		x->end = to;
}

static void look(void *arg, const struct log_event *e)
{
	struct extent *x = arg;
	const void *head = e->record ? (const void *)e->record->head : NULL;

	if (e->kind == GW_RECORD_HEADER) {
		const struct gw_record_header *h = head;

		widen(x, h->start_ns, h->start_ns);
	} else if (e->kind == GW_RECORD_LAUNCH) {
		const struct gw_record_launch *l = head;

		widen(x, 0, l->start_ns ? l->start_ns + l->duration_ns : l->call_ns);
	} else if (e->kind == GW_RECORD_AGGREGATE) {
		const struct gw_record_aggregate *a = head;

		widen(x, 0, a->end_ns ? a->end_ns : a->start_ns);
	}
}

static bool look_at(void *arg, const char *path)
{
	struct gw_log log;
	bool good = gw_log_events(&log, path, NULL, 0, look, arg);

	gw_log_free(&log);
	return good;
}

/* ---- the window ---- */

static int bad_time(const char *command, const char *option, const char *text)
{
	return gw_error("%s: --%s=%s is no time; give 2026-11-26T10:00:00Z, 10:00, 10:00:30, 90s, "
			"10m or 2h before the end, or seconds after the start",
			command, option, text);
}

static int set(const char *command, const struct log_window *w, const struct extent *x)
{
	uint64_t span;

	window.from = 0;
	window.to = UINT64_MAX;
	if (w->last && !gw_span_read(w->last, &span))
		return gw_error("%s: --last=%s is no span of time such as 90s, 10m or 2h", command,
				w->last);
	if (w->last)
		window.from = span < x->end ? x->end - span : 0;
	if (w->since && !log_time_read(w->since, x->begin, x->end, &window.from))
		return bad_time(command, "since", w->since);
	if (w->until && !log_time_read(w->until, x->begin, x->end, &window.to))
		return bad_time(command, "until", w->until);
	if (window.from >= window.to)
		return gw_error("%s: --since=%s is not before --until=%s", command,
				w->since ? w->since : w->last, w->until);
	window.there = true;
	window.launches = 0;
	return 0;
}

int log_window_set(const char *command, const struct log_window *w, char **paths, int count)
{
	struct extent x = {0, 0};

	window.there = false;
	if (!w->since && !w->until && !w->last)
		return 0;
	if (w->since && w->last)
		return gw_error("%s: --since and --last exclude each other; give one of them",
				command);
	for (int i = 0; i < count; i++) {
		if (!strcmp(paths[i], "-"))
			return gw_error(
				"%s: a part of a log needs a file, which is read twice, not "
				"standard input",
				command);
		/* One that can't be read is named when it is read for good. */
		gw_log_each(paths[i], look_at, &x);
	}
	return set(command, w, &x);
}

int log_window_check(const char *command)
{
	if (!window.there || window.launches)
		return 0;
	gw_warning("%s: no launch in that span", command);
	return GW_EXIT_FINDINGS;
}

bool log_window_there(void)
{
	return window.there;
}

bool log_window_has(uint64_t ns)
{
	return !window.there || (ns && ns >= window.from && ns < window.to);
}

void log_window_count(uint64_t launches)
{
	window.launches += launches;
}
