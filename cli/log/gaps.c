/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/log/gaps.h"

#include "cli/log/rows.h"
#include "cli/common/memory.h"

#include <stdlib.h>

enum { HELD = 4096 }; /* launches: as many as may have ended before one that began earlier */

/** A launch that ran. */
struct log_run {
	uint64_t start, end, call;
	struct log_caller caller;
	bool graph;
};

static void swap(struct log_run *a, struct log_run *b)
{
	struct log_run c = *a;

	*a = *b;
	*b = c;
}

static void rise(struct log_run *heap, size_t at)
{
	while (at && heap[(at - 1) / 2].start > heap[at].start) {
		swap(&heap[at], &heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
}

static void sink(struct log_run *heap, size_t count)
{
	for (size_t at = 0, next; (next = 2 * at + 1) < count; at = next) {
		if (next + 1 < count && heap[next + 1].start < heap[next].start)
			next++;
		if (heap[at].start <= heap[next].start)
			return;
		swap(&heap[at], &heap[next]);
	}
}

enum gw_gap log_gap_kind(uint64_t start, uint64_t call, bool graph, uint64_t until)
{
	if (start - until > GW_GAP_PAUSE)
		return GW_GAP_PAUSED;
	if (!call || call <= until)
		return GW_GAP_QUEUED;
	return graph ? GW_GAP_LATE_GRAPH : GW_GAP_LATE;
}

static void show(const struct log_course *c, enum gw_gap what, uint64_t from, uint64_t until)
{
	if (c->sink.take)
		c->sink.take(c->sink.arg, c->sink.gpu, what, from, until);
}

/* The launch that began first of those held. */
static void settle(struct log_gaps *g, struct log_course *c)
{
	struct log_run run = c->waiting[0];
	uint64_t from = run.start;

	c->waiting[0] = c->waiting[--c->count];
	sink(c->waiting, c->count);
	if (c->waits)
		log_spent_run(&g->spent, &c->spending, c->waits,
		              &(struct log_spent_run){run.start, run.end, run.call,
		                                      run.caller.thread, run.caller.communication});
	if (c->until && run.start > c->until) {
		enum gw_gap kind = log_gap_kind(run.start, run.call, run.graph, c->until);

		g->time[kind] += (double)(run.start - c->until);
		g->count[kind]++;
		show(c, kind, c->until, run.start);
	} else if (c->until > from) {
		from = c->until;
	}
	if (run.end <= from)
		return;
	g->busy += (double)(run.end - from);
	show(c, GW_GAPS, from, run.end);
	c->until = run.end;
}

void log_gaps_add(struct log_gaps *gaps, struct log_course *course,
                  const struct gw_record_launch *l, struct log_caller caller)
{
	if (!gw_launch_measured(l) || !l->start_ns || l->duration_ns > UINT64_MAX - l->start_ns) {
		log_spent_untimed(&course->spending, l->call_ns);
		return;
	}
	if (!course->waiting)
		course->waiting = gw_alloc(HELD * sizeof(*course->waiting));
	if (course->count == HELD)
		settle(gaps, course);
	course->waiting[course->count] = (struct log_run){
	        .start = l->start_ns,
	        .end = l->start_ns + l->duration_ns,
	        .call = l->call_ns,
	        .caller = caller,
	        .graph = (l->flags & GW_LAUNCH_GRAPH) != 0,
	};
	rise(course->waiting, course->count++);
}

void log_gaps_end(struct log_gaps *gaps, struct log_course *course)
{
	while (course->count)
		settle(gaps, course);
	if (course->waits)
		log_spent_end(&gaps->spent, &course->spending, course->waits);
	free(course->waiting);
	*course = (struct log_course){.sink = course->sink, .waits = course->waits};
}

void log_gaps_copy(struct log_gaps *gaps, struct log_course *course,
                   const struct gw_record_copy *copy)
{
	if (course->waits)
		log_spent_copy(&gaps->spent, &course->spending, copy);
}

double log_gaps_span(const struct log_gaps *gaps)
{
	return gaps->busy + gaps->time[GW_GAP_LATE] + gaps->time[GW_GAP_LATE_GRAPH] +
	       gaps->time[GW_GAP_QUEUED];
}
