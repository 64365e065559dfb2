/*
 * Answers first: which metric set is sampled next, and for how long without regard to the budget.
 * Sessions go where the most GPU time is without counts, until hardly any is, or until more of them
 * bring no more. What they may cost in all has a bound, so that a program that never repeats a
 * launch falls back to the budget.
 */
#ifndef GW_PM_ANSWERS_H
#define GW_PM_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	GW_PM_ANSWERS_MS = 30000, /**< of CPU that sessions may take before the budget rules … */
	GW_PM_ANSWERS_WATCH_MS = 550, /**< … in mode watch */
	GW_PM_ANSWERS_PERMILLE = 20,  /**< of GPU time may lack a set's counts */
	GW_PM_ANSWERS_TRIES = 4, /**< sessions of a set that bring nothing more, and it is left */
};

/** Start: of all GPU time the counts are missing. Before the thread starts. */
void gw_pm_answers_start(void);

/** The counts of set @p number are missing of a share (0 to 1) of GPU time. Worker only. */
void gw_pm_answers_missing(unsigned number, double share);

/** What the next session of set @p number is worth; 0: nothing. Sampling thread only. */
double gw_pm_answers_worth(unsigned number);

/** Whether sessions go on whatever the budget says. Sampling thread only. */
bool gw_pm_answers_wanted(void);

/** Whether a program whose launches event pairs time, since @p first_ns, has earned a session.
 * Worker only. */
bool gw_pm_answers_earned(uint64_t first_ns);

/** A session of set @p number took @p cpu ns of CPU; where it @p sampled in less than half of its
 * windows, a few times that is left to the budget; where kernels @p ran in less than half of these,
 * a few times it was no try. Sampling thread only. */
void gw_pm_answers_took(unsigned number, uint64_t cpu, bool sampled, bool ran);

/** CPU time of all such sessions, which the budget does not count, ns. Sampling thread only. */
uint64_t gw_pm_answers_cpu(void);

#endif
