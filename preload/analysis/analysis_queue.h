/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations that wait for their study, and whose turn it is. Where time is short, one of each
 * kernel tells more than all of a few, and of the others those tell most that take little: a matrix
 * product followed through its loops takes as long as a hundred kernels that are told at once.
 * Worker only.
 */
#ifndef GW_ANALYSIS_QUEUE_H
#define GW_ANALYSIS_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	GW_ANALYSIS_QUEUE = 8192, /**< configurations that can wait, of each of five kinds */
	GW_ANALYSIS_CHOICE =
	        1024, /**< of these so many are chosen among, those that waited longest */
	GW_ANALYSIS_DEAR_MS = 10,    /**< CPU time from which on a study is dear */
	GW_ANALYSIS_USUAL_US = 1000, /**< what one is taken for while none of its kernel is known */
};

/** None waits, and nothing is known of what studies take. */
void gw_analysis_queue_start(void);

/** Configuration @p config (of a kernel in a slot) waits; false: there is no room. @p open: it was
 * studied without arguments, left something open, and has them now. */
bool gw_analysis_queue_put(uint32_t config, bool open);

/** Configuration @p config was studied briefly, and a longer study could tell more. */
bool gw_analysis_queue_put_brief(uint32_t config);

/**
 * The next one, which then no longer waits; 0: none. First those not timed when they were put:
 * the first of each kernel, then those likely to take the least, dear ones apart. Dear ones, and
 * those that were timed, come by how much GPU time theirs took for what the study is likely to
 * take; those that were studied briefly come last, and likewise. @p untimed: only those not timed
 * when they were put.
 */
uint32_t gw_analysis_queue_next(bool untimed);

/** The study of a launch of the kernel in @p slot took so much CPU time, its decoding apart. */
void gw_analysis_queue_took(uint32_t slot, uint64_t ns);

/** So many wait that were not timed when they were put; so many in all. */
uint32_t gw_analysis_queue_untimed(void);
uint32_t gw_analysis_queue_waiting(void);

/** Whether all that wait were studied briefly already. */
bool gw_analysis_queue_only_brief(void);

#endif
