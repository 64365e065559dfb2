/* What pm.c is made of: what the chip can sample, what failed, how often a sample is taken. */
#ifndef GW_PM_PARTS_H
#define GW_PM_PARTS_H

#include "preload/cupti/cupti.h"
#include "preload/cupti/cupti_host.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The GPU's chip, as sampling needs it: what its metric sets are made for. The sampling thread's
 * alone, but for gw_pm_against().
 */

/** Nothing is known; what a forked child has is its parent's, and left alone. Before the thread
 * starts.
 */
void gw_pm_chip_start(void);

/** Nothing is known any more: another tool gets libcupti, and may end it. */
void gw_pm_chip_forget(void);

/** Ask once which chip device @p device (ordinal) has. What was made for another one goes. */
CUptiResult gw_pm_chip_know(uint32_t device);

/** Name of the chip; NULL: not known. */
const char *gw_pm_chip_name(void);

/** What of the chip is left to us; NULL: all of it, as far as is known. */
const uint8_t *gw_pm_chip_availability(void);

/**
 * Sampling ended with @p refused. Where the reason may be that a part of the chip is another's, ask
 * once what is left (0.2 s on an H200). True: it is known now, and sets have to be made for it.
 */
bool gw_pm_chip_refused(CUptiResult refused);

/** Why there are to be no counters of @p device in this process; NULL: there may be. Any thread. */
const char *gw_pm_against(uint32_t device);

/* Why there are no counters: which failures stay, and what can be done about them. */

/** What libcupti calls @p r. */
const char *gw_pm_failure_text(CUptiResult r);

/** What can be done about @p r, which does not get better with time; NULL: it may. */
const char *gw_pm_failure_remedy(CUptiResult r);

/** Nothing has failed. Before the sampling thread starts; all below is that thread's. */
void gw_pm_failure_start(void);

/**
 * @p what failed with @p r: report it. How long to wait before the next attempt, ns, longer after
 * each further failure; 0: trying again does not help.
 */
uint64_t gw_pm_failed(const char *what, CUptiResult r);

/** An attempt succeeded. */
void gw_pm_failure_over(void);

/** What failed last, "" when nothing did. */
const char *gw_pm_failure_last(void);

/** The program ends and nothing was counted: say why. @p unrecorded: kernels had no records;
 * @p first_ns: when the first launch was seen, 0: none was. Worker only. */
void gw_pm_never(bool unrecorded, uint64_t first_ns);

/* How often the GPU's counters are sampled, by how long its kernels take. */

/** Nothing has run. Worker only. */
void gw_pm_interval_start(void);

/** A kernel of @p ns ran. Worker only. */
void gw_pm_interval_ran(uint64_t ns);

/** Whether any has. Worker only. */
bool gw_pm_interval_known(void);

/** Between two samples, ns: long kernels need no short interval; a coarser one sees more of them
 * for the same cost. Sampling thread only. */
uint64_t gw_pm_interval(void);

#endif
