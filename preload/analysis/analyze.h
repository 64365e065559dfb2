/*
 * Code analysis of launches: each configuration is analysed once, as time allows, and the worker
 * offers the result to known_work.h. Worker only.
 *
 * Analyses run on threads of their own (analysis_jobs.h). Where there is none, because none can be
 * made, the worker analyses by itself: then an analysis never keeps it from its rings, which it
 * drains meanwhile.
 */
#ifndef GW_ANALYZE_H
#define GW_ANALYZE_H

#include "predictor/core/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GW_ANALYSIS_ROUND_MS = 10,  /**< of a round of a worker that analyses by itself; an analysis
				       begun in it is finished */
	GW_ANALYSIS_LAST_MS = 20,   /**< of all, when the program ends and waits for the worker */
	GW_ANALYSIS_LOOK_US = 2000, /**< how often the rings are drained meanwhile */
	/** CPU time of all analyses together on threads; on the worker, or with GPUWATCH_BUDGET=0,
	 * GW_ANALYSIS_FIRST_MS. Beyond that … */
	GW_ANALYSIS_ANSWERS_MS = 60000,
	GW_ANALYSIS_PERCENT = 2, /**< … this share of the time since the start, or the budget's */
	GW_ANALYSIS_WATCH_MS = 2000,    /**< the first in mode watch, on one thread, … */
	GW_ANALYSIS_WATCH_NOW_MS = 200, /**< … these at once and the others … */
	GW_ANALYSIS_WATCH_PART = 10, /**< … in this part of the time since the start, for what runs
					for long to be found; and then … */
	GW_ANALYSIS_WATCH_PERCENT = 1, /**< … this share, or the budget's */
	GW_ANALYSIS_TIDY_MS = 10000, /**< there, so long after the last, nothing is kept of them */
	GW_ANALYSIS_HOLD_MS = 1000,  /**< how long times wait for a row of analyses … */
	GW_ANALYSIS_HOLD = 4096, /**< … while no more launches than these wait for theirs … */
	GW_ANALYSIS_HOLD_EACH = 64, /**< … nor more of each configuration in the row, on average */
	/** Where a kernel in the row has no time of any configuration yet, all times wait, so many
	 * launches of them … */
	GW_ANALYSIS_HOLD_NEW = 65536,
	GW_ANALYSIS_HOLD_NEW_MS = 250, /**< … and for so long in the whole process */
};

/** Start with nothing analysed; on up to @p threads threads, 0: on the worker. */
void gw_analysis_start(unsigned threads);

/** The mode has changed: whether code of configurations launched from now on is analysed. */
void gw_analysis_mode(void);

/** No more analyses: threads give up what they are at, and end. Does not wait for them. */
void gw_analysis_stop(void);

/** Queue the analysis of configuration @p config (analysis_queue.h), unless it was queued before.
 */
void gw_analysis_want(uint32_t config);

/** The same for a launch of it, in mode watch once it is worth its time: each launch asks. */
void gw_analysis_launched(uint32_t config);

/** Launches of @p config have the shape and arguments of @p as: copy the result of its analysis. */
void gw_analysis_same(uint32_t config, uint32_t as);

/**
 * Take the results that threads have and give them what waits, or, without threads, analyse it,
 * within the bounds above. @p meanwhile is called every GW_ANALYSIS_LOOK_US and returns false when
 * the program ends. @p last: the program has ended.
 */
void gw_analysis_run(bool (*meanwhile)(void), bool last);

/** Whether any configuration waits for its analysis and there is time for it, or one is under way.
 */
bool gw_analysis_waits(void);

/** Whether any configuration waits for its first analysis and there is time for it, or a thread is
 * at one. */
bool gw_analysis_unfinished(void);

/** Whether the worker analyses by itself. */
bool gw_analysis_inline(void);

/**
 * Whether records must wait because launches without a prediction wait for an analysis that will
 * give them one: times wait for up to GW_ANALYSIS_HOLD_MS, so that the predictions precede them.
 * Not where launches of kernels that have been timed repeat: there a time predicts the next launch
 * better than code the first; nor in mode watch, where few launches are timed and all are analysed
 * between windows.
 * @p launches: number of launches that wait for their times.
 */
bool gw_analysis_defers_join(uint32_t launches);

/** The program ends: log the configurations that were not analysed, with the reason. */
void gw_analysis_finish(void);

/** CPU time that all analyses together may take, @p ns after the start; ns. */
uint64_t gw_analysis_allowance(uint64_t ns);

/** Bytes held between analyses. */
size_t gw_analysis_held(void);

#endif
