/*
 * The tables of hours of this machine (work.def): the rows of a day, kept until the day has ended,
 * as each writing of its files holds all of them.
 */
#ifndef GW_AGENT_ROLLUP_H
#define GW_AGENT_ROLLUP_H

#include "cli/agent/metrics.h"
#include "cli/agent/store/hours.h"

/** Rows of a table. */
struct rollup_rows {
	struct hours_work *work;
	struct hours_state *state;
	size_t works, states, work_room, state_room;
};

struct agent_rollup {
	uint64_t hour_s;           /**< begin of the hour that runs, since 1970; 0: none yet */
	uint64_t from_s;           /**< since when this hour has been seen */
	uint64_t begin_s;          /**< when what is kept began: the name of its files */
	struct rollup_rows closed; /**< of hours that have ended */
	struct rollup_rows now;    /**< of the hour that runs */
	struct rollup_metric *metric;
	size_t metrics, metric_room;
	uint64_t dropped; /**< rows, because files can't be written */
	bool began;       /**< a counter that is new from now on began at 0 */
};

/** Zero-initialised is empty. */
void rollup_free(struct agent_rollup *r);

/** A sample of a GPU's metric. */
void rollup_sample(struct agent_rollup *r, const struct metric_family *family,
		   const struct metric_label *labels, size_t count, double value);

/**
 * All samples of @p now_ns, CLOCK_REALTIME, are there: take what ran on @p node's GPUs, too. What
 * came since the call before counts into the hour of that call.
 */
void rollup_take(struct agent_rollup *r, const struct agent_node *node, uint64_t now_ns);

/** The rows of ended hours are in a file that no more will be added to. */
void rollup_forget(struct agent_rollup *r);

#endif
