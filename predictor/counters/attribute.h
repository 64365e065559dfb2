/*
 * Counters to kernels: samples of a GPU's counters, and the times at which its kernels ran, become
 * what one launch of each configuration counts.
 *
 * Each sample says what was counted in a stretch of time; each launch that overlaps it has a share
 * in that, in proportion to the part of its time that falls into the stretch. That is a guess, for
 * hardly a kernel counts evenly. So samples are taken together in stretches that begin and end
 * while nothing runs, wherever there are such moments: then every launch is in one of them
 * whole, and no guess is left. Every sample alone is an equation as well, of little weight: it
 * separates what always runs together. Everything goes into one system of equations per set
 * of metrics, over as many windows as there are, which is solved without negative unknowns:
 * kernels shorter than a sample come out of many launches. What the equations can't separate
 * stays unknown.
 *
 * The samples also determine, for each metric, which part of a launch's recorded time it counts in
 * (attribute_state.h).
 *
 * A window may hold more configurations than are solved for at a time: those that took longest come
 * first, and where more wait, one whose counts are sure enough gives its place to another. What it
 * counts is taken off the samples from then on, for 64 windows.
 *
 * Programs change: the last 24 to 32 windows count, and what differs between stretches of them
 * widens the error.
 *
 * Never credited to a kernel: samples touched by a copy or memset, by kernels of different
 * configurations that ran at the same time, by a kernel of unknown configuration; and windows in
 * which something counted while no known kernel ran (another process, a lost record).
 *
 * Pure: no clock, no thread; bounded memory.
 */
#ifndef GW_ATTRIBUTE_H
#define GW_ATTRIBUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A count with a larger relative error is kept back; how much it is at most may be said. */
#define GW_COUNTED_WORST 0.25

enum {
	GW_SAMPLE_METRICS = 12,    /**< most metrics of a set */
	GW_ATTRIBUTE_CONFIGS = 96, /**< configurations that are solved for at a time */
	GW_ATTRIBUTE_GROUPS = 4,   /**< parts that the windows are dealt to, for the spread */
};

/** What was counted from @p begin to @p end (ns, the kernels' clock). */
struct gw_sample {
	uint64_t begin, end;
	double value[GW_SAMPLE_METRICS]; /**< in the order of the set's metrics; NaN: not counted */
};

/** Something that ran from @p start to @p end. */
struct gw_interval {
	uint64_t start, end; /**< ns */
	uint32_t config;     /**< configuration; 0: none, as a copy, or not known */
};

/** What became of a window. */
enum gw_window_fate {
	GW_WINDOW_USED,
	GW_WINDOW_EMPTY,   /**< no sample that could be used */
	GW_WINDOW_FOREIGN, /**< something counted that no known kernel explains */
};

/** What a launch of a configuration counts. */
struct gw_counted {
	double value[GW_SAMPLE_METRICS]; /**< per launch; NaN: unknown */
	double error[GW_SAMPLE_METRICS]; /**< relative standard error; NaN with the value */
	/**
	 * Upper bound per launch: twice the error above the value; without an error everything
	 * counted in its time; NaN: unknown.
	 */
	double most[GW_SAMPLE_METRICS];
	double launches; /**< how many launches' worth of time was sampled */
};

struct gw_attribution;

/**
 * Nothing known yet of a set of @p metrics metrics. @p guard: bit per metric that no GPU counts
 * while it is idle; what they count outside kernels betrays other work. NULL when memory is out.
 */
struct gw_attribution *gw_attribution_new(unsigned metrics, uint32_t guard);

/** Bytes that one takes at most, while it is solved. */
size_t gw_attribution_bytes(void);

void gw_attribution_free(struct gw_attribution *a);

/**
 * The runs of windows to come are where gw_attribution_shift() put them: all of a window are off
 * alike, so errors hold for windows, not for launches.
 */
void gw_attribution_placed(struct gw_attribution *a);

/**
 * Index of the first of @p samples that is of this window alone; @p count when none is. The first
 * one always reaches back to when sampling stopped before. Where the window before had more samples
 * than were read, libcupti puts what was left of it in front of that one, without their times
 * (they begin and end at one moment): such a sample, and one that lasts many times as long as the
 * shortest, is none of this window, nor is any before it.
 */
size_t gw_samples_own(const struct gw_sample *samples, size_t count);

/**
 * Take in a window: @p samples in order of time, @p runs everything that ran on that GPU between
 * the start of the first that is the window's own (gw_samples_own) and the last one's end (sorted
 * here). Those before it are left out.
 */
enum gw_window_fate gw_attribution_window(struct gw_attribution *a, const struct gw_sample *samples,
					  size_t sample_count, struct gw_interval *runs,
					  size_t run_count);

/**
 * By how many ns the @p runs (in order) ran later than they say, 0 to @p most: so that something
 * runs in the @p samples in which metric @p metric, which no idle GPU counts, counted, and nothing
 * in the others; of those that fit alike, the one nearest to @p expected. UINT64_MAX: they can't
 * tell it to some microseconds, nor is @p most so little.
 */
uint64_t gw_attribution_shift(const struct gw_sample *samples, size_t count, unsigned metric,
			      const struct gw_interval *runs, size_t run_count, uint64_t most,
			      int64_t expected);

/**
 * Solve for all that was taken in; costs up to some tens of milliseconds. What came out weighs the
 * windows to come: now and then, not only in the end.
 */
void gw_attribution_solve(struct gw_attribution *a);

/** Configuration number @p index (0, 1, …) of those solved for, and its counts; 0: no more. */
uint32_t gw_attribution_get(const struct gw_attribution *a, unsigned index, struct gw_counted *out);

/** How far a count with a relative error of @p error may be trusted, 0 to 1: 1 / (1 + 10 error). */
float gw_counted_confidence(double error);

#endif
