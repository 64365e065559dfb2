/*
 * Counters of the GPU while the program's kernels run on it: a thread of ours takes windows of
 * samples, one set of metrics after the other: first where GPU time is without counts
 * (pm_answers.h), then as often as the budget allows. It never waits for the program, nor the
 * program for it, but in exit(): there a call under way is waited for. Its priority is that of the
 * program: a thread that waits for a lock of libcupti's or the driver's that it holds would wait
 * for it.
 */
#ifndef GW_PM_H
#define GW_PM_H

#include "preload/counters/pm_sampler.h"
#include "preload/cupti/windows.h"

#include <stdatomic.h>

enum { GW_PM_WINDOWS = 16 /**< that can be under way between the thread and the worker */ };

/** Index of every metric of pm_metric.def, and their number. */
enum gw_pm_row {
#define METRIC(set, name, field, factor, idle) GW_PM_##field,
#define CLOCK(set, name)                       GW_PM_CLOCK_##set,
#include "preload/counters/pm_metric.def"
#undef METRIC
#undef CLOCK
	GW_PM_ROWS
};

enum { GW_PM_SETS = 2 * GW_PM_ROWS /**< most sets: halving makes at most one of each row */ };

/** A set of metrics that this chip collects together. */
struct gw_pm_set {
	uint8_t row[GW_SAMPLE_METRICS]; /**< enum gw_pm_row of each */
	const char *name[GW_SAMPLE_METRICS];
	unsigned count;
};

/** Life of a window. */
enum gw_pm_window_state {
	GW_PM_FREE,
	GW_PM_OPEN,  /**< being sampled: what runs from `begin` on belongs to it */
	GW_PM_READY, /**< for the worker, which frees it */
};

/** A window of samples. All but the state is the thread's until READY, then the worker's. */
struct gw_pm_window {
	_Atomic int state;      /**< enum gw_pm_window_state */
	_Atomic uint64_t begin; /**< CLOCK_REALTIME, ns, as the records of kernels have it */
	uint64_t ready_ns;      /**< when it was handed over, as gw_steady_ns() counts */
	uint64_t end;           /**< of the last sample, once the worker has set it */
	uint32_t device;        /**< ordinal */
	unsigned set;           /**< number of the set, unchanging; see gw_pm_set() */
	size_t count;           /**< samples */
	struct gw_sample sample[GW_PM_SAMPLES]; /**< by libcupti's clock: see gw_record_time() */
};

/** Start with nothing under way (in a forked child: without the parent's thread). Worker only. */
void gw_pm_start(void);

/**
 * Once a cycle: @p launches were made since the last time. Begins to sample with the first
 * launches, where the options, the GPU and other tools let it. Worker only.
 */
void gw_pm_tick(uint64_t now_ns, uint32_t launches);

/** A launch was made for @p device, an ordinal (-1: not known). Worker only. */
void gw_pm_launched(int device);

/** A kernel of @p ns ran on @p device: what there is to be sampled. Worker only. */
void gw_pm_ran(uint32_t device, uint64_t ns);

/** Whether the thread runs that takes windows. */
bool gw_pm_sampling(void);

/** What it does. Worker only. */
enum gw_sampler gw_pm_sampler(void);

/** Start with all windows free. */
void gw_pm_windows_start(void);

/** The first window in @p state, NULL: none is. Any thread. */
struct gw_pm_window *gw_pm_window_in(enum gw_pm_window_state state);

/**
 * The calling thread, which samples, has used a function of libcupti's of @p stage, below 8, which
 * may have made static objects: they are destroyed after the thread has been stopped.
 */
void gw_pm_used(unsigned stage);

/**
 * One window of set @p set, from its beginning to its hand-over; @p sampler is configured, with a
 * sample each @p every ns. @p doze sleeps for so many ns, less where it is time to leave, which it
 * returns then; @p what: the call that failed; @p ran is counted up where a kernel did. The sampling
 * thread.
 */
CUptiResult gw_pm_window_take(struct gw_pm_sampler *sampler, unsigned set, uint64_t every,
			      bool (*doze)(uint64_t ns), const char **what, int *ran);

/** Whether there was a window with samples. Any thread. */
bool gw_pm_sampled(void);

/** Window number @p index, below GW_PM_WINDOWS. Worker only. */
struct gw_pm_window *gw_pm_window(unsigned index);

/** The metrics of a window's set. */
const struct gw_pm_set *gw_pm_set(unsigned number);

/** A bit for each of @p members that counts nothing on a GPU on which nothing runs. */
uint32_t gw_pm_idle(const struct gw_pm_set *members);

/** Launches have activity records, or event pairs that tell when they ran (gw_hot.exact), from now
 * on: counters may be sampled. Worker only. */
void gw_pm_records_begin(void);

/**
 * Launches will have none. In mode watch that is the end of a window: the sampler stays as it is,
 * for the next. Otherwise another tool is to have libcupti: nothing is sampled until
 * gw_pm_records_begin, and this returns when the thread has left libcupti, after 5 s at the latest.
 * Worker only.
 */
void gw_pm_records_end(void);

/** The first kernel with a record since gw_pm_records_begin started at @p ns, CLOCK_REALTIME: where
 * launches wait for their turn on the GPU, those with records run so much later. Worker only. */
void gw_pm_records_ran(uint64_t ns);

/** The program ends: where counters were asked for and there are none, say why. Worker only. */
void gw_pm_over(void);

/**
 * The program ends and may be held until @p deadline (gw_steady_ns()): wait for the window under
 * way to be handed over; none is begun after it. Any thread.
 */
void gw_pm_finish(uint64_t deadline);

/**
 * No more counters in this process. Returns when the thread has left libcupti, after 5 s at
 * the latest. Any thread; keeps errno.
 */
void gw_pm_stop(void);

/** In a forked child: the thread is the parent's, and so is all it had open. */
void gw_pm_abandon(void);

#endif
