/*
 * Configurations that wait for their analysis, and which is next. Where time is short, one
 * configuration of each kernel is worth more than all of a few kernels, and a cheap analysis more
 * than an expensive one: a matrix product whose loops are followed takes as long as a hundred
 * kernels without loops. Worker only.
 */
#ifndef GW_ANALYSIS_QUEUE_H
#define GW_ANALYSIS_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	GW_ANALYSIS_QUEUE = 8192, /**< configurations that can wait, of each of five kinds */
	GW_ANALYSIS_CHOICE =
		1024, /**< of these so many are chosen among, those that waited longest */
	GW_ANALYSIS_USUAL_US = 1000, /**< estimate of one while none of its kernel has run */
	/** CPU time of a kernel's first analyses before its other configurations wait with the
	 * timed ones: 32 of 10 ms, as hashes may add 32 before some return. A kernel whose
	 * arguments change at each launch would keep all others from their turn. */
	GW_ANALYSIS_EACH_MS = 320,
	GW_ANALYSIS_LAUNCH_NS = 10000, /**< the same of a launch's GPU time while none is timed */
};

/** Start: none waits, and the duration of analyses is unknown. */
void gw_analysis_queue_start(void);

/** From now on the next one is that with the most GPU time so far per estimated time of analysis,
 * as a program is watched for long that begins with much that never comes again; or in the order of
 * gw_analysis_queue_next(). */
void gw_analysis_queue_by_time(bool on);

/** Whether @p config (of a kernel in a slot) is not timed and the first of its kernel to be queued
 * so.
 */
bool gw_analysis_queue_new_kernel(uint32_t config);

/** Whether launches of @p config take as long so far as its analysis is likely to; always where it
 * is new by gw_analysis_queue_new_kernel(), and but by time. */
bool gw_analysis_queue_worth(uint32_t config);

/** Queue configuration @p config (of a kernel in a slot); false: the queue is full. @p open: it was
 * analysed without arguments, something remained undetermined, and it has them now. */
bool gw_analysis_queue_put(uint32_t config, bool open);

/** Times were taken: those that have one by now wait with the timed ones. */
void gw_analysis_queue_timed(void);

/** Queue configuration @p config again: its brief analysis left something to a longer one. */
bool gw_analysis_queue_put_brief(uint32_t config);

/**
 * The next one, which then no longer waits; 0: none. First those not timed when they were put,
 * whose times wait for them: the first of each kernel, then one of each, the cheapest by estimate
 * first. Then those that have their arguments now. Timed ones follow by their GPU time per
 * estimated time of analysis, and with them those of a kernel that had GW_ANALYSIS_EACH_MS; those
 * that were analysed briefly come last, in the same order. @p untimed: only those not timed when
 * they were put.
 */
uint32_t gw_analysis_queue_next(bool untimed);

/** Which that is of those not timed when they were put; it still waits. */
uint32_t gw_analysis_queue_peek(void);

/** How many configurations of the kernel of @p config had their turn. */
uint32_t gw_analysis_queue_turns(uint32_t config);

/** @p config had its turn, and is not analysed, or not yet. */
void gw_analysis_queue_back(uint32_t config);

/** The analysis of a launch of the kernel in @p slot took @p ns of CPU time, without decoding.
 * @p first: it is not a longer one after a brief one. */
void gw_analysis_queue_took(uint32_t slot, uint64_t ns, bool first);

/** How many wait that were not timed when they were put, but for those of a kernel that had
 * GW_ANALYSIS_EACH_MS; in all. */
uint32_t gw_analysis_queue_untimed(void);
uint32_t gw_analysis_queue_waiting(void);

/** How many of them were not even analysed briefly. */
uint32_t gw_analysis_queue_first(void);

#endif
