#include "cli/score/session.h"

#include "cli/command.h"
#include "cli/common/json.h"
#include "cli/common/memory.h"
#include "cli/common/number.h"
#include "cli/log/folder.h"
#include "cli/message.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Add a sentence on what is missing. */
static void note_missing(struct session *s, const char *format, ...)
{
	char text[600];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	GW_GROW(s->missing, &s->missing_room, s->missing_count + 1);
	s->missing[s->missing_count++] = gw_copy(text);
}

enum { COMPLAINTS = 4 }; /* most lines about what a log lacks */

static void complain(struct session *s, const struct trace *t)
{
	char text[300];

	for (unsigned n = 0; n < COMPLAINTS; n++)
		if (gw_log_complaint(&t->log.status, n, text, sizeof(text)))
			note_missing(s, "%s: %s", t->path, text);
}

static bool any_profile(const struct trace *t)
{
	for (size_t i = 0; i < t->log.gpu_count; i++)
		if (t->log.gpus[i].known.profile)
			return true;
	return false;
}

/* What of a log can't be scored, and why. */
static void inspect(struct session *s, const struct trace *t)
{
	struct gw_text n;

	complain(s, t);
	if (t->log.header.version == 1)
		note_missing(s,
			     "%s: of version 1, which had no work and no profile: only what was "
			     "predicted then is scored",
			     t->path);
	else if (!t->work_count)
		note_missing(s,
			     "%s: no WORK record: neither counters nor static analysis, so no "
			     "model can answer",
			     t->path);
	for (size_t i = 0; i < t->log.gpu_count; i++)
		if (t->log.gpus[i].known.why)
			note_missing(s, "%s: the profile of %s in it can't be used: %s", t->path,
				     t->log.gpus[i].name, t->log.gpus[i].known.why);
	if (t->log.header.version != 1 && !any_profile(t))
		note_missing(s,
			     "%s: no device profile in it: models have no GPU to answer for "
			     "(gpuwatch calibrate makes one)",
			     t->path);
	if (t->spread)
		note_missing(
			s,
			"%s: times of mode watch are in sums: each configuration's are those of "
			"its histograms (up to 1,000, within 4.5%%), without order, clocks or "
			"what ran beside",
			t->path);
	else if (t->aggregated)
		note_missing(
			s,
			"%s: %s held as sums only (mode watch, or GPUWATCH_LOG_MAX) and not scored",
			t->path,
			gw_counted(&n, (double)t->aggregated, "launch is", "launches are"));
	if (t->nameless)
		note_missing(s, "%s: %s without a configuration: it is in a lost part", t->path,
			     gw_counted(&n, (double)t->nameless, "launch is", "launches are"));
}

static bool add_path(void *arg, const char *path)
{
	struct session *s = arg;

	GW_GROW(s->paths, &s->path_room, s->path_count + 1);
	s->paths[s->path_count++] = gw_copy(path);
	return true;
}

bool session_open(struct session *s, char **paths, int count, bool spread)
{
	*s = (struct session){0};
	for (int i = 0; i < count; i++)
		s->failed |= gw_log_each(paths[i], add_path, s) != GW_EXIT_OK;
	s->traces = gw_alloc((s->path_count + 1) * sizeof(*s->traces));
	for (size_t i = 0; i < s->path_count; i++) {
		struct trace *t = &s->traces[s->count];

		if (!trace_read(t, s->paths[i])) {
			gw_error("%s: %s", s->paths[i], t->log.status.error);
			trace_free(t);
			s->failed = true;
			continue;
		}
		s->count++;
		s->stand_in |= (t->log.header.flags & GW_HEADER_STAND_IN) != 0;
		t->spread = spread && t->watched && t->aggregated && trace_spread(t);
		inspect(s, t);
	}
	return s->count > 0;
}

void session_close(struct session *s)
{
	for (size_t i = 0; i < s->count; i++)
		trace_free(&s->traces[i]);
	for (size_t i = 0; i < s->missing_count; i++)
		free(s->missing[i]);
	for (size_t i = 0; i < s->path_count; i++)
		free(s->paths[i]);
	free(s->traces);
	free(s->paths);
	free(s->missing);
}

int session_show(struct session *s, struct score *score, const char *how, bool json, json_t *more,
		 const char *folder)
{
	struct score_about about = {
		.how = how,
		.stand_in = s->stand_in,
		.trace_count = s->count,
		.missing = (const char *const *)s->missing,
		.missing_count = s->missing_count,
	};
	int status = GW_EXIT_OK;

	score_finish(score);
	if (json) {
		json_t *o = score_json(score, &about);

		if (more)
			json_object_update(o, more);
		gw_json_print(o);
	} else {
		score_text(score, &about);
	}
	json_decref(more);
	if (folder)
		status = score_plot(score, folder);
	return s->failed ? GW_EXIT_USAGE : status;
}
