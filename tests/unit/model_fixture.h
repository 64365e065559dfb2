/* A made-up GPU and launch for the tests of models: round numbers, no real device. */
#ifndef GW_MODEL_FIXTURE_H
#define GW_MODEL_FIXTURE_H

#include "predictor/models/model.h"

struct fixture {
	struct gw_device device;
	struct gw_kernel kernel;
	struct gw_launch launch;
	struct gw_work work;
};

/* Everything a model asks for is known; the launch fills the GPU several times. */
void fixture_init(struct fixture *f);

/* A test of a launch, the fixture's as long as it changes nothing, and of what is said of it. */
#define LAUNCH_TEST(name) \
	static void name##_of(struct fixture *f, struct gw_estimate e); \
	TEST(name) \
	{ \
		struct fixture f; \
		fixture_init(&f); \
		name##_of(&f, (struct gw_estimate){0}); \
	} \
	static void name##_of(struct fixture *f, struct gw_estimate e)

/* Set an amount of work as counted. */
void fixture_work(struct fixture *f, enum gw_work_field field, double value);

/* Launch another one-dimensional grid; amounts over the grid follow, what a warp does stays. */
void fixture_grid(struct fixture *f, uint32_t blocks, uint32_t threads);

/* Set a parameter as measured. */
void fixture_param(struct fixture *f, enum gw_param p, double value);

/* Set a curve from @p count points. */
void fixture_curve(struct fixture *f, enum gw_curve_id c, const double (*points)[2],
		   uint32_t count);

/* A deterministic generator: xorshift64*, from 0 up to but not including 1. */
double fixture_random(uint64_t *state);

/* Value of the first term of that name, NaN when there is none. */
double fixture_term(const struct gw_estimate *e, const char *name);

#endif
