/*
 * The in-process predictor: one learner for all tiers. Not thread-safe: its owner is
 * the worker thread (preload/), or the program that replays a log. The same calls in the same
 * order give the same bits.
 *
 * Observations are numbered from 1. Predictions are made anew by gw_predictor_advance, from
 * the first n observations, n being their number then; a launch that was called while those
 * stood published is predicted from them even if the predictor has advanced once since. So
 * a prediction never uses a measurement that was not there when the launch was called.
 *
 * To replay a log: CONFIG is gw_predictor_set_configure (the kernel by its KERNEL record),
 * SUCCESSOR is gw_predictor_set_successor, WORK is gw_predictor_set_work, a whole PROFILE is
 * gw_predictor_set_device, LAUNCH with the flag LEARNT is gw_predictor_set_observe, PUBLISHED is
 * gw_predictor_set_advance; all in the order of the file. A launch whose record says `known` was
 * predicted from the state after the PUBLISHED of that number (before any: 0), if its configuration
 * stood before that record; else at the latest at its own record.
 */
#ifndef GW_PREDICTOR_H
#define GW_PREDICTOR_H

#include "predictor/core/device.h"
#include "predictor/core/types.h"

struct gw_model;
struct gw_predictor;

/** Bytes that a configuration takes, once it is configured. */
size_t gw_predictor_config_bytes(void);

/** The same of a kernel. */
size_t gw_predictor_kernel_bytes(void);

/**
 * A predictor for up to @p max_configs configurations; memory grows with use, by pages.
 * NULL when there is no memory. The caller frees it with gw_predictor_free (NULL is fine).
 */
struct gw_predictor *gw_predictor_new(uint32_t max_configs);
void gw_predictor_free(struct gw_predictor *p);

/**
 * The GPU the launches run on. @p profile stays the caller's and unchanged until it is replaced
 * or the predictor freed. NULL (as at the start): nothing is known of it, and predictions come
 * from times alone. Best called before the first configuration is launched.
 */
void gw_predictor_device(struct gw_predictor *p, const struct gw_device *profile);

/**
 * Take the times of @p model for the model's times, NULL (as at the start): of `bounds`. Best
 * called before the first configuration is known; @p model stays the caller's.
 */
void gw_predictor_model(struct gw_predictor *p, const struct gw_model *model);

/**
 * Define configuration @p config (a dense id, 1 to max_configs; others are ignored): a launch @p
 * launch, which is copied, of kernel @p kernel (any number that identifies the kernel, not 0). Once
 * for each, before it is observed. One that is observed without is predicted from its own times
 * only.
 */
void gw_predictor_configure(struct gw_predictor *p, uint32_t config, uint32_t kernel,
			    const struct gw_launch *launch);

/**
 * Configuration @p config, just configured, differs from @p of in the argument hash alone: @p of
 * has none or a provisional one, and its first launch had the arguments of this hash. So the
 * history of @p of may belong to @p config, or to several. If the published times of @p of agree,
 * they predict @p config until it has its own, and its history starts with them.
 */
void gw_predictor_successor(struct gw_predictor *p, uint32_t config, uint32_t of);

/**
 * The work of @p config as now known; copied, replaces the previous. A configuration that no
 * gw_predictor_advance has seen yet is predicted with it at once, but never for a launch called
 * before the observations so far: the counts may come from it. Others from the next advance on.
 */
void gw_predictor_work(struct gw_predictor *p, uint32_t config, const struct gw_work *work);

/**
 * The assumed work of a launch of @p config, into @p out: what was set, and where nothing was
 * counted, extrapolated from the kernel's counted configurations; each amount with its source.
 * Unknown for an id that was never configured.
 */
void gw_predictor_known_work(const struct gw_predictor *p, uint32_t config, struct gw_work *out);

/**
 * Predict a launch of configuration @p config (a dense id, 1 to max_configs; another id
 * gives an unknown prediction) from no more than the first @p known observations. Always
 * fills @p out; out->known is how many were used.
 */
void gw_predict(const struct gw_predictor *p, uint32_t config, uint64_t known,
		struct gw_prediction *out);

/** What is known of a measurement. */
struct gw_observation {
	double seconds;    /**< GPU time, > 0 */
	bool exclusive;    /**< no other kernel is known to have run meanwhile */
	double predicted;  /**< what had been predicted for this very launch, s; NaN when nothing */
	double low, high;  /**< and its interval, s */
	enum gw_tier tier; /**< basis of that prediction … */
	enum gw_source work; /**< … and source of its work */
	double sm_hz;        /**< SM clock while it ran; NaN when not known */
};

/**
 * Learn from a measurement of @p config. Returns the number of the observation (1, 2, …),
 * or 0 when it can't be learnt from: seconds not a positive number in the range of a float, or an
 * id out of range.
 */
uint64_t gw_observe(struct gw_predictor *p, uint32_t config, const struct gw_observation *o);

/** How many observations have been made. */
uint64_t gw_predictor_observations(const struct gw_predictor *p);

/**
 * For predictors that share one numbering (predictor_set.h): @p observations have been made in
 * total. The next one made here follows them; the next advance includes all. Ignored where it is
 * less.
 */
void gw_predictor_number(struct gw_predictor *p, uint64_t observations);

/**
 * Recompute predictions from all observations so far, if there were any since the last call. Calls
 * @p changed (may be NULL) for each configuration whose prediction changed: those that were
 * observed, and a bounded number of those that depend on them, the others in later calls. Returns
 * whether predictions were recomputed (the log then gets a PUBLISHED).
 */
bool gw_predictor_advance(struct gw_predictor *p,
			  void (*changed)(void *arg, uint32_t config,
					  const struct gw_prediction *prediction),
			  void *arg);

#endif
