/* The list of models: those of the papers, and `bounds`. */
#include "predictor/models/papers/models.h"

#include <string.h>

#define MODEL(symbol) extern const struct gw_model gw_model_##symbol;
#include "predictor/models/papers/models.def"
#undef MODEL

const struct gw_model *const gw_models[] = {
#define MODEL(symbol) &gw_model_##symbol,
#include "predictor/models/papers/models.def"
#undef MODEL
	NULL,
};

const struct gw_model *gw_model_find(const char *name)
{
	for (const struct gw_model *const *m = gw_models; *m; m++)
		if (!strcmp((*m)->name, name))
			return *m;
	return NULL;
}
