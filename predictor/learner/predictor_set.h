/*
 * The predictors of the GPUs that one process uses: each GPU has one of its own, with its own
 * profile, clock and history, so that nothing learnt on one GPU is used for another. A
 * configuration belongs to the GPU that it runs on. Observations are numbered once for all of them,
 * in the order of the log; what predictor.h says of calls, order and bits holds here too.
 *
 * GPUs go by their ids in the log, from 1; 0 is "not known": what ran on it has a predictor of its
 * own, with the profile that came first. (Logs from before a configuration named its GPU have
 * all of theirs there.)
 */
#ifndef GW_PREDICTOR_SET_H
#define GW_PREDICTOR_SET_H

#include "predictor/learner/predictor.h"

/** GPUs of one process with a predictor each; further ones count as unknown */
enum { GW_FLEET_MOST = 64 };

struct gw_predictor_set;

/** Predictors for up to @p max_configs configurations in all; NULL when there is no memory. */
struct gw_predictor_set *gw_predictor_set_new(uint32_t max_configs);
void gw_predictor_set_free(struct gw_predictor_set *fleet);

/** gw_predictor_device for GPU @p device. */
void gw_predictor_set_device(struct gw_predictor_set *fleet, uint32_t device,
			     const struct gw_device *profile);

/** gw_predictor_model for all GPUs. Best called before any configuration is known. */
void gw_predictor_set_model(struct gw_predictor_set *fleet, const struct gw_model *model);

/** gw_predictor_configure for a configuration that runs on GPU @p device. */
void gw_predictor_set_configure(struct gw_predictor_set *fleet, uint32_t config, uint32_t device,
				uint32_t kernel, const struct gw_launch *launch);

/** gw_predictor_successor; both run on the same GPU. */
void gw_predictor_set_successor(struct gw_predictor_set *fleet, uint32_t config, uint32_t of);

/** gw_predictor_work, gw_predict and gw_observe, by the GPU of the configuration. */
void gw_predictor_set_work(struct gw_predictor_set *fleet, uint32_t config,
			   const struct gw_work *work);
void gw_predictor_set_predict(const struct gw_predictor_set *fleet, uint32_t config, uint64_t known,
			      struct gw_prediction *out);
uint64_t gw_predictor_set_observe(struct gw_predictor_set *fleet, uint32_t config,
				  const struct gw_observation *o);

/** Observations so far, over all GPUs. */
uint64_t gw_predictor_set_observations(const struct gw_predictor_set *fleet);

/** How often anything has happened that may change a prediction. */
uint64_t gw_predictor_set_changes(const struct gw_predictor_set *fleet);

/** gw_predictor_advance of all GPUs; whether any recomputed predictions. */
bool gw_predictor_set_advance(struct gw_predictor_set *fleet,
			      void (*changed)(void *arg, uint32_t config,
					      const struct gw_prediction *prediction),
			      void *arg);

#endif
