#include "cli/log/gaps.h"

#include "cli/log/rows.h"
#include "cli/common/memory.h"

#include <stdlib.h>

/** A launch that ran. */
struct log_run {
	uint64_t start, end, call;
	struct log_caller caller;
	bool graph;
};

const char *log_gap_name(enum gw_gap gap)
{
	static const char *const names[GW_GAPS] = {"starved", "starved_graphs", "back_to_back",
						   "paused"};

	return names[gap];
}

enum gw_gap log_gap_kind(uint64_t start, uint64_t call, bool graph, uint64_t until)
{
	if (start - until > GW_GAP_PAUSE)
		return GW_GAP_PAUSED;
	if (!call || call <= until)
		return GW_GAP_QUEUED;
	return graph ? GW_GAP_LATE_GRAPH : GW_GAP_LATE;
}

static void show(const struct log_timeline *c, enum gw_gap what, uint64_t from, uint64_t until)
{
	if (c->sink.take)
		c->sink.take(c->sink.arg, c->sink.gpu, what, from, until);
}

/* The launch that began first of those held. */
static void settle(struct log_gaps *g, struct log_timeline *c)
{
	const struct log_run run = c->waiting[gw_sorter_take(&c->order)];
	uint64_t from = run.start;

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

void log_gaps_add(struct log_gaps *gaps, struct log_timeline *timeline,
		  const struct gw_record_launch *l, struct log_caller caller)
{
	if (!gw_launch_measured(l) || !l->start_ns || l->duration_ns > UINT64_MAX - l->start_ns) {
		log_spent_untimed(&timeline->spending, l->call_ns);
		return;
	}
	if (!timeline->waiting)
		timeline->waiting = gw_alloc(GW_SORTER_ROOM * sizeof(*timeline->waiting));
	if (gw_sorter_full(&timeline->order))
		settle(gaps, timeline);
	timeline->waiting[gw_sorter_add(&timeline->order, l->start_ns)] = (struct log_run){
		.start = l->start_ns,
		.end = l->start_ns + l->duration_ns,
		.call = l->call_ns,
		.caller = caller,
		.graph = (l->flags & GW_LAUNCH_GRAPH) != 0,
	};
}

void log_gaps_end(struct log_gaps *gaps, struct log_timeline *timeline)
{
	while (gw_sorter_count(&timeline->order))
		settle(gaps, timeline);
	if (timeline->waits)
		log_spent_end(&gaps->spent, &timeline->spending, timeline->waits);
	gw_sorter_free(&timeline->order);
	free(timeline->waiting);
	*timeline = (struct log_timeline){.sink = timeline->sink, .waits = timeline->waits};
}

void log_gaps_copy(struct log_gaps *gaps, struct log_timeline *timeline,
		   const struct gw_record_copy *copy)
{
	if (timeline->waits)
		log_spent_copy(&gaps->spent, &timeline->spending, copy);
}

double log_gaps_span(const struct log_gaps *gaps)
{
	return gaps->busy + gaps->time[GW_GAP_LATE] + gaps->time[GW_GAP_LATE_GRAPH] +
	       gaps->time[GW_GAP_QUEUED];
}
