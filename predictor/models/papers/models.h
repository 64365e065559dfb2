/*
 * Every model. The command and the tests link them (libgwpapers.a); the preloaded library links
 * `bounds` alone, which it calls by its own name (predictor/models/bounds.h).
 */
#ifndef GW_MODELS_H
#define GW_MODELS_H

#include "predictor/models/model.h"

/** Every model, in the order they are shown; NULL-terminated. */
extern const struct gw_model *const gw_models[];

/** The model called @p name, NULL when there is none. */
const struct gw_model *gw_model_find(const char *name);

#endif
