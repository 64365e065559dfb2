#include "predictor/learner/predictor_set.h"

#include <math.h>
#include <stdlib.h>

struct gw_predictor_set {
	uint32_t max_configs;
	uint64_t observations, changes;
	const struct gw_model *model;
	const struct gw_device *first; /* the first profile set */
	const struct gw_device *profile[GW_FLEET_MOST + 1];
	struct gw_predictor *predictor[GW_FLEET_MOST + 1]; /* made with the first configuration */
	uint8_t device[];                                  /* by configuration */
};
_Static_assert(GW_FLEET_MOST <= UINT8_MAX, "a configuration has 8 bits for its GPU");

struct gw_predictor_set *gw_predictor_set_new(uint32_t max_configs)
{
	struct gw_predictor_set *f = calloc(1, sizeof(*f) + (size_t)max_configs + 1);

	if (f)
		f->max_configs = max_configs;
	return f;
}

void gw_predictor_set_free(struct gw_predictor_set *f)
{
	for (unsigned d = 0; f && d <= GW_FLEET_MOST; d++)
		gw_predictor_free(f->predictor[d]);
	free(f);
}

static uint32_t clipped(uint32_t device)
{
	return device <= GW_FLEET_MOST ? device : 0;
}

void gw_predictor_set_device(struct gw_predictor_set *f, uint32_t device,
			     const struct gw_device *profile)
{
	uint32_t d = clipped(device);

	f->changes++;
	f->profile[d] = profile;
	if (f->predictor[d])
		gw_predictor_device(f->predictor[d], profile);
	if (f->first || !profile)
		return;
	f->first = profile;
	if (d)
		gw_predictor_set_device(f, 0, profile);
}

void gw_predictor_set_model(struct gw_predictor_set *f, const struct gw_model *model)
{
	f->changes++;
	f->model = model;
	for (unsigned d = 0; d <= GW_FLEET_MOST; d++)
		if (f->predictor[d])
			gw_predictor_model(f->predictor[d], model);
}

/* Takes the shared numbering before its first call. */
static struct gw_predictor *numbered(struct gw_predictor_set *f, uint32_t device)
{
	struct gw_predictor **p = &f->predictor[device];

	if (!*p) {
		*p = gw_predictor_new(f->max_configs);
		if (!*p)
			return NULL;
		if (f->model)
			gw_predictor_model(*p, f->model);
		if (f->profile[device])
			gw_predictor_device(*p, f->profile[device]);
	}
	gw_predictor_number(*p, f->observations);
	return *p;
}

/* Called for what changes it. */
static struct gw_predictor *of_config(struct gw_predictor_set *f, uint32_t config)
{
	f->changes++;
	return config && config <= f->max_configs ? numbered(f, f->device[config]) : NULL;
}

void gw_predictor_set_configure(struct gw_predictor_set *f, uint32_t config, uint32_t device,
				uint32_t kernel, const struct gw_launch *launch)
{
	struct gw_predictor *p;

	if (!config || config > f->max_configs)
		return;
	f->device[config] = (uint8_t)clipped(device);
	p = of_config(f, config);
	if (p)
		gw_predictor_configure(p, config, kernel, launch);
}

void gw_predictor_set_successor(struct gw_predictor_set *f, uint32_t config, uint32_t of)
{
	struct gw_predictor *p = of_config(f, config);

	if (p && p == of_config(f, of))
		gw_predictor_successor(p, config, of);
}

void gw_predictor_set_work(struct gw_predictor_set *f, uint32_t config, const struct gw_work *work)
{
	struct gw_predictor *p = of_config(f, config);
	struct gw_work amounts = *work;

	/* What something is at most is no amount to predict from. */
	gw_work_drop_refuted(&amounts);
	gw_work_drop_most(&amounts);
	if (p)
		gw_predictor_work(p, config, &amounts);
}

void gw_predictor_set_predict(const struct gw_predictor_set *f, uint32_t config, uint64_t known,
			      struct gw_prediction *out)
{
	const struct gw_predictor *p =
		config && config <= f->max_configs ? f->predictor[f->device[config]] : NULL;

	if (p)
		gw_predict(p, config, known, out);
	else
		*out = (struct gw_prediction){.seconds = NAN,
					      .low = NAN,
					      .high = NAN,
					      .known = known,
					      .reason = "nothing was launched on this GPU"};
}

uint64_t gw_predictor_set_observe(struct gw_predictor_set *f, uint32_t config,
				  const struct gw_observation *o)
{
	struct gw_predictor *p = of_config(f, config);
	uint64_t number = p ? gw_observe(p, config, o) : 0;

	if (number)
		f->observations = number;
	return number;
}

uint64_t gw_predictor_set_observations(const struct gw_predictor_set *f)
{
	return f->observations;
}

uint64_t gw_predictor_set_changes(const struct gw_predictor_set *f)
{
	return f->changes;
}

bool gw_predictor_set_advance(struct gw_predictor_set *f,
			      void (*changed)(void *arg, uint32_t config,
					      const struct gw_prediction *prediction),
			      void *arg)
{
	bool any = false;

	/* Those too that saw nothing new: what stands published is one state of all. */
	for (uint32_t d = 0; d <= GW_FLEET_MOST; d++)
		if (f->predictor[d])
			any |= gw_predictor_advance(numbered(f, d), changed, arg);
	f->changes += any;
	return any;
}
