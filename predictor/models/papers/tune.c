/* Ranks block and grid sizes by the wave model (Kleimenov and Popova 2021, its use in the
 * conclusion). */
#include "predictor/models/papers/tune.h"

#include "predictor/models/inputs.h"
#include "predictor/models/occupancy.h"

#include <stdio.h>
#include <string.h>

extern const struct gw_model gw_model_wave;

enum { WARP = 32, BLOCK_MAX = 1024 };

/** State of a search. */
struct search {
	const struct gw_device *device;
	const struct gw_launch *launch; /* as described */
	const struct gw_work *work;
	const struct gw_model_options *options;
	const struct gw_tune_request *request;
	struct gw_tune_choice *out;
	size_t count, max;
	char *why;
};

static double warps_of(const struct gw_config *c)
{
	return gw_dim3_size(c->grid) * ceil(gw_dim3_size(c->block) / WARP);
}

/* A warp's work when another number of warps than described shares the total. */
static void scale_per_warp(struct gw_work *work, double factor)
{
	static const enum gw_work_field rows[] = {
		GW_WORK_warp_cycles,           GW_WORK_warp_cycles_longest,
		GW_WORK_warp_memory_chain,     GW_WORK_coalesced_mem_insts,
		GW_WORK_uncoalesced_mem_insts, GW_WORK_barriers,
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		work->q[rows[i]].value *= factor;
}

static bool better(const struct gw_tune_choice *a, const struct gw_tune_choice *b)
{
	if (a->seconds != b->seconds)
		return a->seconds < b->seconds;
	if (a->block != b->block)
		return a->block < b->block;
	return a->grid < b->grid;
}

/* Keep the best choices sorted; a duplicate is not listed twice. */
static void keep(struct search *s, const struct gw_tune_choice *choice)
{
	size_t at = s->count;

	while (at > 0 && better(choice, &s->out[at - 1]))
		at--;
	if (at >= s->max)
		return;
	if (s->count < s->max)
		s->count++;
	memmove(&s->out[at + 1], &s->out[at], (s->count - 1 - at) * sizeof(*s->out));
	s->out[at] = *choice;
}

static void consider(struct search *s, const struct gw_config *config, bool described)
{
	struct gw_launch launch = *s->launch;
	struct gw_work work = *s->work;
	struct gw_occupancy occupancy;
	struct gw_estimate estimate;
	struct gw_tune_choice choice;

	launch.config = *config;
	scale_per_warp(&work, warps_of(&s->launch->config) / warps_of(config));
	gw_model_wave.estimate(s->device, &launch, &work, s->options, &estimate);
	if (isnan(estimate.seconds)) {
		if (described || !s->why[0])
			snprintf(s->why, sizeof(estimate.reason), "%s", estimate.reason);
		return;
	}
	if (gw_occupancy_of(s->device, &launch, &occupancy))
		return;
	choice = (struct gw_tune_choice){
		.block = (uint32_t)gw_dim3_count(config->block),
		.grid = gw_dim3_count(config->grid),
		.shared = config->dynamic_shared,
		.seconds = estimate.seconds,
		.occupancy = occupancy.fraction,
		.waves = occupancy.waves,
		.described = described,
	};
	keep(s, &choice);
}

/* Bytes of dynamic shared memory of a block of @p block threads. */
static uint32_t shared_of(const struct search *s, uint32_t block)
{
	const struct gw_config *c = &s->launch->config;
	double bytes = c->dynamic_shared;

	if (s->request->shared_per_thread)
		bytes = ceil(bytes * block / gw_dim3_size(c->block));
	return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

static void consider_size(struct search *s, uint32_t block, double grid)
{
	const struct gw_config *c = &s->launch->config;
	struct gw_config config = {.block = {block, 1, 1}, .cluster = {1, 1, 1}};

	if (!(grid >= 1 && grid <= INT32_MAX))
		return;
	config.grid = (struct gw_dim3){(uint32_t)grid, 1, 1};
	config.dynamic_shared = shared_of(s, block);
	if (block == gw_dim3_count(c->block) && grid == gw_dim3_size(c->grid))
		return; /* the described launch, which is considered as it is */
	consider(s, &config, false);
}

size_t gw_wave_tune(const struct gw_device *device, const struct gw_launch *launch,
		    const struct gw_work *work, const struct gw_model_options *options,
		    const struct gw_tune_request *request, struct gw_tune_choice *out, size_t max,
		    char why[120])
{
	struct search s = {device, launch, work, options, request, out, 0, max, why};
	double threads = gw_dim3_size(launch->config.grid) * gw_dim3_size(launch->config.block);
	double sms = gw_param_value(device, GW_PARAM_sm_count);

	why[0] = '\0';
	if (gw_dim3_size(launch->config.cluster) != 1) {
		snprintf(why, 120, "launches with clusters cannot be tuned by this model");
		return 0;
	}
	consider(&s, &launch->config, true);
	for (uint32_t block = WARP; block <= BLOCK_MAX; block += WARP) {
		double all = ceil(threads / block);

		consider_size(&s, block, all);
		if (request->any_grid)
			for (double grid = sms; grid < all; grid *= 2)
				consider_size(&s, block, grid);
	}
	return s.count;
}
