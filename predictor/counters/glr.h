/*
 * The sequential test of a quantity over time, of a GPU's resource or of one kernel: a
 * window-limited generalized likelihood ratio of a shift, in noise whose memory is learned. Pure.
 * docs/internals/health.md describes the statistics.
 */
#ifndef GW_GLR_H
#define GW_GLR_H

#include <stdbool.h>
#include <stdint.h>

enum {
	GLR_WINDOW = 60,
	GLR_ALARM = 14 /**< score at which a resource is slow, whatever it runs */
};

/** What is assumed before anything was seen. */
struct glr_rules {
	double noise;     /**< standard deviation of an interval that averages out over time */
	double slow;      /**< of what does not */
	uint32_t prior;   /**< intervals that these count as */
	bool noise_early; /**< the intervals that make the level also show the noise */
	double level;     /**< standard error of that level against the drift of a day; 0: none */
	uint32_t bursts;  /**< intervals of a window that a disturbance may take: the highest */
};

/** Deviations of a resource over time. All zero: a new one. */
struct glr {
	const struct glr_rules *rules; /**< NULL: those of gpuwatch health */
	uint32_t intervals;            /**< that were taken */
	uint32_t settling;             /**< intervals of which the level is the mean; 0: six */
	uint64_t taken;                /**< number of the last interval that was taken */
	double level;                  /**< mean deviation of the first intervals */
	double drift;                  /**< mean of the deviation while nothing is suspected */
	double variance;               /**< of an interval's deviation around it */
	double slow_part; /**< covariance of two, a minute apart: what averaging does not remove */
	double unsure;    /**< standard error of the drift after other kernels or a pause */
	double unclear;   /**< of what the clock explains, the error that the drift has taken in */
	double astray; /**< variance of the drift against the one at first, by what was between */
	float past[GLR_WINDOW];  /**< deviations less the drift, by interval modulo the window */
	uint64_t at[GLR_WINDOW]; /**< when each began */
	uint32_t filled;         /**< how many of these are of one stretch of time */
	bool suspected, slow;
	uint32_t episode; /**< number of the last suspicion */
	double score;     /**< largest log-likelihood ratio of the windows that end now */
	double shift;     /**< mean deviation since the change, beyond the drift; 0: none */
	double counted;   /**< the same of the window that the score is of, as far as it counts */
	double last;      /**< last deviation, less the drift */
	uint64_t since;   /**< when the change began */
};

/** A deviation, and what is not certain of it. Averaging over time removes neither. */
struct glr_deviation {
	double log;   /**< logarithm of measured over expected */
	double doubt; /**< variance that it has from the references it rests on */
	/**
	 * Standard error, with a sign, of what the clock explains. Its factor is the same for as
	 * long as the kernels are: a drift that was learned beside one value errs by the difference
	 * to another.
	 */
	double unclear;
};

/** Take the deviation of interval @p number, which began at @p began_ns. */
void glr_take(struct glr *c, uint64_t number, uint64_t began_ns,
	      const struct glr_deviation *deviation);

/**
 * How near it is to a change by @p least or more: the smallest ratio of what was seen to what is
 * needed, of its score (@p alarm), its mean and each of the last intervals. From 1 on it is slow
 * now, if what it is the mean of agrees: set `slow` then. 0: nothing is suspected, or it is slow
 * already.
 */
double glr_margin(const struct glr *c, double least, double alarm);

/** Whether it has been taken for long enough to be judged. */
bool glr_known(const struct glr *c);

/** Interval @p number had nothing to judge. */
void glr_pass(struct glr *c, uint64_t number);

/** Whether @p unclear is of another clock than the one that the drift was learned beside. */
bool glr_other_clock(const struct glr *c, double unclear);

/** What is known of a drift. */
struct glr_drift {
	double log, variance; /**< variance 0: nothing */
	double unclear;       /**< as of a deviation */
};

/** The drift as it is known now. */
struct glr_drift glr_drift(const struct glr *c);

/** Whether the drift @p now is known better than @p then is now, @p ago intervals later. */
bool glr_knows_better(const struct glr_drift *now, const struct glr_drift *then, uint64_t ago);

/** Other configurations than last. Shares are of the weight of what is judged now. */
struct glr_mix {
	double other;          /**< share that was not judged last */
	double astray;         /**< sum of the variances of its drift, by share */
	double unclear;        /**< of the deviation that glr_take() takes next */
	double recalled;       /**< share of which an older drift is known */
	struct glr_drift then; /**< sum of these by share */
};

/** Add the drift @p then of @p share to what is recalled, @p ago intervals later. */
void glr_recall(struct glr_mix *mix, double share, const struct glr_drift *then, uint64_t ago);

/**
 * The drift is known twice: as that of others until now, whose references were learned with an
 * error of their own as these were, and as what it was when these ran.
 */
void glr_mixed(struct glr *c, const struct glr_mix *mix);

/** Variance of the drift as a reference that is learned now takes it over. */
double glr_astray(const struct glr *c);

/** That a score is none of the false alarms of a day, 0 to 1. */
double glr_confidence(double score);

#endif
