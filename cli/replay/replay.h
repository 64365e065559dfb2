/*
 * The predictor over a recorded log: as it was recorded, where the same version gives the same
 * bits, or with times withheld from it.
 */
#ifndef GW_REPLAY_H
#define GW_REPLAY_H

#include "cli/log/trace.h"
#include "predictor/learner/predictor_set.h"
#include "predictor/models/model.h"

#include <jansson.h>

/** What is never learnt before it is predicted. */
enum replay_hide {
	REPLAY_ALL,           /**< nothing is withheld: in the learner's order */
	REPLAY_KERNEL,        /**< every time of the kernel: what is predicted is cold */
	REPLAY_CONFIGURATION, /**< every time of the configuration: warm, or cold for an only one */
};

/** How to replay; zero-initialised is as recorded. */
struct replay_options {
	enum replay_hide hide;
	bool hide_work; /**< with hide: neither is what was counted there known */
	/**
	 * With hide: the family of each kernel of the trace, any number; kernels of one family
	 * never teach each other. NULL: every kernel is a family.
	 */
	const uint32_t *family;
	/**
	 * As recorded: intervals learn from what is predicted now, and launches that the log has
	 * no prediction for may have one. Otherwise they learn from what the log says had been
	 * predicted, so that one launch that can't be repeated does not spoil those after it.
	 */
	bool own;
	const struct gw_model *model; /**< to predict with instead of `bounds`; NULL: that one */
};

/** What became of a replay. */
struct replay_result {
	uint64_t predicted; /**< launches with a prediction */
	uint64_t folds;     /**< with hide: how often the log was gone through */
	/* As recorded only. */
	uint64_t logged;  /**< launches whose record has a prediction */
	uint64_t equal;   /**< of them replayed with the same bits */
	uint64_t extra;   /**< launches predicted now that the record has nothing for */
	uint64_t steps;   /**< PUBLISHED records */
	uint64_t in_step; /**< of them that found as many observations as they say */
	size_t first;     /**< 1 + the first launch of the trace that has other bits; 0: none has */
	struct trace_launch now; /**< and what was said of it */
};

/** Takes what is predicted for launch @p launch of the trace. */
typedef void replay_fn(void *arg, size_t launch, const struct gw_prediction *prediction);

/**
 * Replay @p trace, calling @p each with @p arg for each launch of it, in the order of the log, or,
 * with times withheld, for each measured launch, one configuration after the other.
 */
void replay(const struct trace *trace, const struct replay_options *options, replay_fn *each,
	    void *arg, struct replay_result *result);

/**
 * The observation that @p launch is: predicted, low, high, tier and work as given by @p said, the
 * SM clock by the samples of the log so far (@p clocks, by GPU).
 */
struct gw_observation replay_observation(const struct trace_launch *launch,
					 const struct trace_launch *said,
					 const struct gw_clocks *clocks);

/** @p prediction as a LAUNCH record would say it. */
void replay_put(struct trace_launch *launch, const struct gw_prediction *prediction);

/** Predictors with room for @p trace that are to use @p model (NULL: their own). */
struct gw_predictor_set *replay_predictors(const struct trace *trace, const struct gw_model *model);

/** Say to @p predictors what configuration @p config of @p trace is; its id is config + 1. */
void replay_configure(struct gw_predictor_set *predictors, const struct trace *trace,
		      uint32_t config);

/** As replay(), for options with something withheld. */
void replay_hidden(const struct trace *trace, const struct replay_options *options, replay_fn *each,
		   void *arg, struct replay_result *result);

/**
 * Write @p path anew to @p to, with the predictions @p said, one for each launch of the trace, in
 * the place of those it has; @p how goes to its header. Returns false after a message.
 */
bool replay_write(const struct trace *trace, const char *to, const struct trace_launch *said,
		  const char *how);

/* Whether a replay said what the log says, to the bit: in words and in JSON. */

/** Print how many predictions of @p trace have the same bits, and where and how the first does not.
 */
void replay_tell_bits(const struct trace *trace, const struct replay_result *result);

/** The same as a new object. */
json_t *replay_bits_json(const struct trace *trace, const struct replay_result *result);

/* Which kernels of a log are alike, so that none of them should teach another. */

/**
 * The family of each kernel of @p trace, a number: by the regular expression @p pattern on
 * demangled names, or by the file @p path of lines "family kernel"; one of the two is NULL. Kernels
 * that neither knows are a family each. free() the list; NULL after a message.
 */
uint32_t *replay_families(const struct trace *trace, const char *pattern, const char *path);

#endif
