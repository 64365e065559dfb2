/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The in-process predictor: one learner for all tiers. Not thread-safe: its owner is
 * the worker thread (preload/), or the program that replays a log.
 *
 * Observations are numbered from 1. Predictions are made anew by gw_predictor_advance, from
 * the first n observations, n being their number then; a launch that was called while those
 * stood published is predicted from them even if the predictor has advanced once since. So
 * a prediction never uses a measurement that was not there when the launch was called.
 */
#ifndef GW_PREDICTOR_H
#define GW_PREDICTOR_H

#include "types.h"

struct gw_predictor;

/**
 * A predictor for up to @p max_configs configurations; memory grows with use, by pages.
 * NULL when there is no memory. The caller frees it with gw_predictor_free (NULL is fine).
 */
struct gw_predictor *gw_predictor_new(uint32_t max_configs);
void gw_predictor_free(struct gw_predictor *p);

/**
 * Predict a launch of configuration @p config (a dense id, 1 to max_configs; another id
 * gives an unknown prediction) from no more than the first @p known observations. Always
 * fills @p out; out->known tells how many were used.
 */
void gw_predict(const struct gw_predictor *p, uint32_t config, uint64_t known,
                struct gw_prediction *out);

/** What is known of a measurement. */
struct gw_observation {
	double seconds;   /**< GPU time, > 0 */
	bool exclusive;   /**< no other kernel ran meanwhile, as far as is known */
	double predicted; /**< what had been predicted for this very launch, s; NaN when nothing */
	double low, high; /**< and its interval, s */
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
 * Make predictions anew from all observations so far. Calls @p changed (may be NULL) once for
 * each configuration that was observed since the last call.
 */
void gw_predictor_advance(struct gw_predictor *p,
                          void (*changed)(void *arg, uint32_t config,
                                          const struct gw_prediction *prediction),
                          void *arg);

#endif
