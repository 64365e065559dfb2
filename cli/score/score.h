/*
 * How far predictions were off: of gpuwatch itself as a log has them or a replay makes them, and of
 * every model on the same launches and the same work.
 */
#ifndef GW_SCORE_H
#define GW_SCORE_H

#include "cli/common/quantile.h"
#include "cli/log/trace.h"
#include "predictor/models/model.h"

#include <jansson.h>

enum {
	SCORE_TIERS = GW_TIER_STEADY + 1,
	SCORE_SOURCES = GW_SOURCE_COUNTED + 1,
	SCORE_MODELS_MAX = 16, /**< gpuwatch itself and every model */
	SCORE_OURS = 0,        /**< gpuwatch itself among them */
};

/** Lengths of kernels, kept apart; by measured time. */
enum score_length { SCORE_UNDER_5, SCORE_UNDER_50, SCORE_UNDER_150, SCORE_LONGER, SCORE_LENGTHS };

/** A prediction and what became of it. Times in seconds. */
struct score_answer {
	double predicted; /**< NaN: none was given */
	double low, high; /**< its interval; NaN: none */
	double measured;
};

/** Figures over a group of answers. */
struct score_cell {
	uint64_t count;                        /**< answers wanted */
	uint64_t answered;                     /**< given */
	uint64_t within10, within25, within2x; /**< of those given */
	uint64_t intervals;                    /**< given with an interval */
	double covered;                        /**< intervals that held the measured time */
	double error_sum, ratio_sum, bias_sum; /**< of |p - m| / m, |ln p / m|, ln p / m */
	struct gw_quantile error, width;       /**< width: of (high - low) / predicted */
};

/** One kernel and configuration at one tier and source of work. */
struct score_unit {
	uint32_t trace, config; /**< position in score.traces and in its configurations */
	uint8_t tier, work;
	uint64_t count, intervals, covered;
	uint64_t answers[SCORE_MODELS_MAX]; /**< by model */
	double log_sum[SCORE_MODELS_MAX];   /**< of ln(predicted) */
	double ratio_sum[SCORE_MODELS_MAX]; /**< of |ln p / m| */
	double low_sum, high_sum;           /**< of ln low, ln high */
	struct gw_quantile time;            /**< measured, s */
};

/** What is being scored. */
struct score {
	const char *names[SCORE_MODELS_MAX];             /**< gpuwatch, then the models */
	const struct gw_model *models[SCORE_MODELS_MAX]; /**< NULL for gpuwatch */
	size_t model_count;
	bool show_models; /**< the text shows every model, not gpuwatch's predictions alone */
	bool by_config;   /**< every configuration counts once, by its medians; else every launch */
	const struct trace *traces; /**< the logs, for names */
	struct gw_index unit_index;
	struct score_unit *units;
	size_t unit_count, unit_room;
	/** By model, tier, source and length; the last row of each of the latter is all together.
	 */
	struct score_cell cells[SCORE_MODELS_MAX][SCORE_TIERS + 1][SCORE_SOURCES + 1]
			       [SCORE_LENGTHS + 1];
	char reason[SCORE_MODELS_MAX][120]; /**< why a model last gave no answer */
};

/** A score over @p traces without any answer yet; free it with score_free. */
struct score *score_new(const struct trace *traces, bool by_config);
void score_free(struct score *score);

/**
 * Add a measured launch of configuration @p config of trace @p trace: what gpuwatch said, at which
 * tier and on which work, and what every model says (@p models: seconds by model, NaN without
 * answer; index SCORE_OURS is not looked at).
 */
void score_add(struct score *score, uint32_t trace, uint32_t config, enum gw_tier tier,
	       enum gw_source work, const struct score_answer *ours,
	       const double models[SCORE_MODELS_MAX]);

/** After the last launch: what could only be summed up then. */
void score_finish(struct score *score);

/** What the models say of the launches of a trace; work as it was known when each was predicted. */
struct score_models;
struct score_models *score_models_new(struct score *score, const struct trace *trace);
/**
 * Their answers for launch @p launch of the trace, by model. @p last: with the work known at
 * the end. Valid until the next call.
 */
const double *score_models_ask(struct score_models *m, const struct trace_launch *launch,
			       bool last);
void score_models_free(struct score_models *m);

/* What a cell says; each NaN when there is nothing to say it of. */
double score_mape(const struct score_cell *cell);
/** Geometric mean of the factor by which predictions are off, 1 or more. */
double score_ratio(const struct score_cell *cell);
/** Geometric mean of predicted over measured. */
double score_bias(const struct score_cell *cell);
/** Share of all answers wanted; one that was not given is outside. */
double score_share(const struct score_cell *cell, uint64_t within);
double score_coverage(const struct score_cell *cell);

/** A kernel and how far off every model is on it. */
struct score_kernel {
	uint32_t trace, kernel;         /**< position in score.traces and in its kernels */
	uint64_t count;                 /**< launches */
	uint32_t configs;               /**< units of it: configurations by tier and work */
	double time;                    /**< measured in all, s */
	double ratio[SCORE_MODELS_MAX]; /**< geometric mean factor by model; NaN: not always
					   answered */
	size_t best; /**< the model, gpuwatch itself apart, with the least; 0: none always answers
		      */
};

/** Every kernel, the longest in all first; free() the list. Returns how many. */
size_t score_kernels(struct score *score, struct score_kernel **list);

/** Whether any model gave any answer. */
bool score_asked(const struct score *score);

const char *score_length_name(enum score_length length);

/** What stands above a table, and in JSON beside it. */
struct score_about {
	const char *how; /**< how the predictions came about, a sentence */
	bool stand_in;   /**< some log is of the CPU stand-in */
	size_t trace_count;
	const char *const *missing; /**< sentences: what could not be scored, and why */
	size_t missing_count;
};

void score_text(struct score *score, const struct score_about *about);
/** The same for programs; the caller's, see docs/user/score.md. */
json_t *score_json(struct score *score, const struct score_about *about);
/** Pictures of predicted against measured, one for each model, into @p folder. Exit status. */
int score_plot(struct score *score, const char *folder);

#endif
