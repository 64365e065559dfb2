/*
 * What bounds the kernels of a log: for each configuration its work and the GPU's profile as the
 * log has them, its mean measured time, and the verdict on these; for each row of a report what
 * follows from its configurations.
 */
#ifndef GW_LOG_VERDICT_H
#define GW_LOG_VERDICT_H

#include "cli/log/model.h"
#include "predictor/models/peaks.h"
#include "predictor/models/occupancy.h"
#include "predictor/models/verdict.h"

/**
 * A launch is short where an empty kernel takes this share of its time: below, fewer launches
 * that do more hardly pay.
 */
#define GW_SHORT 0.1

/** One memory level or pipe over a row. */
struct gw_row_peak {
	const char *name, *unit; /**< static strings */
	enum gw_bound bound;
	double amount, seconds; /**< over all launches: work done, and what it takes at the peak */
	double measured;        /**< time of the launches these are known of, s */
};

enum { GW_UNJUDGED = 8 }; /**< reasons for an unknown bound that are kept apart */

/** What is known of the bounds of a row. Times in s, summed over launches. */
struct gw_row_bound {
	double time[GW_BOUND_LAUNCH + 1]; /**< by enum gw_bound */
	double judged;                    /**< of launches with a verdict */
	/* Why others have none: static sentences, each with the time it is the reason for. */
	struct gw_unjudged {
		const char *why;
		double time;
	} unjudged[GW_UNJUDGED];
	double roof; /**< what these take where the part they use most reaches its peak */
	/* Of launches so short that GW_SHORT of their time or more is what an empty kernel takes.
	 */
	double short_time;
	double starting; /**< … what empty kernels would have taken in their place */
	uint64_t short_launches;
	unsigned peak_count;
	struct gw_row_peak *peaks;
	size_t peak_room; /**< of `peaks` */
	/* The configuration with the most time, and of those with a verdict where there is one. */
	double most; /**< its time; 0: none was measured */
	double mean; /**< mean time of one of its launches */
	uint64_t launches;
	uint32_t configs; /**< configurations of the row that were measured, each log's its own */
	struct gw_verdict verdict;
	struct gw_config config;
	struct gw_kernel kernel; /**< without its name */
	struct log_work *work;   /**< NULL: nothing is known of it */
	struct gw_occupancy occupancy;
	bool resident; /**< occupancy is known */
};

/** State while a log is read. */
struct log_judge;

/** Of the configurations of @p log, which is being read. */
struct log_judge *log_judge_new(const struct gw_log *log);
/** A WORK record of @p config; configurations, kernels and GPUs are positions in gw_log. */
void log_judge_work(struct log_judge *j, uint32_t config, const struct gw_log_record *record);
/** @p count measured launches of @p config in row @p row that took @p ns in all; @p gpu may be
 * GW_INDEX_NONE. */
void log_judge_time(struct log_judge *j, uint32_t config, uint32_t row, uint32_t gpu,
		    uint64_t count, uint64_t ns);
/** Judge everything into the rows of @p model, and free @p j. */
void log_judge_end(struct log_judge *j, struct gw_log_model *model);

void gw_bound_free(struct gw_row_bound *b);

/** How much of @p field one launch of the configuration with the most time does; NaN when unknown.
 */
double gw_bound_amount(const struct gw_row_bound *b, enum gw_work_field field);

/* What a row says; NaN when unknown. Shares 0 to 1, but more than 1 where amounts or peaks are
 * off. */

/** Of the measured time, what would be left out at the peak of the part it uses most; 0 at
 * least. */
double gw_bound_headroom(const struct gw_row_bound *b);
/** The same as a share of all of the row's time: of launches without a verdict nothing is gained.
 */
double gw_bound_gain(const struct gw_row_bound *b);
/** The part of the GPU nearest to its peak over the row; NULL: none is known. */
const struct gw_row_peak *gw_bound_nearest(const struct gw_row_bound *b);
/** The one called @p name; NULL: not known. */
const struct gw_row_peak *gw_bound_peak(const struct gw_row_bound *b, const char *name);
/** Share of its peak that was reached. */
double gw_peak_share(const struct gw_row_peak *c);
/** Why most of the time without a bound has none: a static sentence; NULL when all has one. */
const char *gw_bound_unjudged(const struct gw_row_bound *b);
/** The bound with the most of the row's time; GW_BOUND_UNKNOWN where that has no verdict. */
enum gw_bound gw_bound_of(const struct gw_row_bound *b);

#endif
