/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What code tells of the launches that are seen: each configuration is studied once, on the
 * worker, as time allows, and what is told is offered to known_work.h. Worker only.
 *
 * A study never keeps the worker from its rings: it looks after them meanwhile, and ends where
 * it takes too long.
 */
#ifndef GW_ANALYSIS_H
#define GW_ANALYSIS_H

#include "predictor/core/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GW_ANALYSIS_ROUND_MS = 10,  /**< of a round of the worker; the study then begun goes on */
	GW_ANALYSIS_LAUNCH_MS = 60, /**< longest study of one launch, CPU time */
	GW_ANALYSIS_LAST_MS = 20,   /**< of all, where the program is at its end and waits for us */
	GW_ANALYSIS_LOOK_US = 2000, /**< how often the rings are looked after meanwhile */
	GW_ANALYSIS_FIRST_MS = 2000, /**< CPU time of all studies together, and beyond that … */
	GW_ANALYSIS_KEPT_MS = 1500,  /**< of this, what is kept for configurations that are new */
	GW_ANALYSIS_PERCENT = 2, /**< … this share of the time since the start, or the budget's */
	GW_ANALYSIS_HOLD_MS = 1000, /**< how long times wait for a row of studies … */
	GW_ANALYSIS_HOLD = 4096, /**< … while no more launches than these wait for theirs … */
	GW_ANALYSIS_HOLD_EACH = 16, /**< … nor more of each configuration in the row, on average */
};

/** Start with nothing studied. */
void gw_analysis_start(void);

/** A launch of configuration @p config was met. In which order they are studied: analysis_queue.h.
 */
void gw_analysis_want(uint32_t config);

/** Launches of @p config are those of @p as, on the same arguments: what was told of them holds. */
void gw_analysis_same(uint32_t config, uint32_t as);

/**
 * Study what waits, within the bounds above. @p meanwhile is called every GW_ANALYSIS_LOOK_US;
 * false: the program ends. @p last: it is at its end.
 */
void gw_analysis_run(bool (*meanwhile)(void), bool last);

/** Whether any configuration waits for its study and there is time for it. */
bool gw_analysis_waits(void);

/**
 * Whether launches that have no prediction yet wait for a study that will give them one: their
 * times can wait as well, for up to GW_ANALYSIS_HOLD_MS, so that they are predicted before. Not
 * where launches repeat: what times tell of the next is worth more than what code tells of the
 * first.
 * @p launches: so many wait for their times.
 */
bool gw_analysis_defers_join(uint32_t launches);

/** Say in the log why those are untold whose turn did not come: the program is at its end. */
void gw_analysis_finish(void);

/** CPU time that all studies together may take, @p ns after the start. */
uint64_t gw_analysis_allowance(uint64_t ns);

/** Bytes held between studies. */
size_t gw_analysis_held(void);

#endif
