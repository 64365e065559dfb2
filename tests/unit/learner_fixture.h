/* A learner, and kernels of the made-up GPU whose true work and times the test decides. */
#ifndef GW_LEARNER_FIXTURE_H
#define GW_LEARNER_FIXTURE_H

#include "predictor/learner/predictor.h"
#include "tests/unit/model_fixture.h"

enum { CONFIGS = 4000 };

extern struct fixture f;       /* the launch under test, with its true work */
extern struct gw_predictor *p; /* the learner */
extern uint32_t configs;       /* configurations handed out */
extern uint64_t seed;          /* of normal() and fixture_random() */
extern enum gw_bound bound;    /* by model() */

/* Set-up and tear-down of a test: a learner that knows the GPU and nothing else. */
int start(void **state);
int stop(void **state);

/* A standard normal number. */
double normal(void);

/* What the model makes of the true work, in seconds. */
double model(void);

/* A configuration of @p kernel of so many blocks and threads; f holds its launch and true work. */
uint32_t configure(uint32_t kernel, uint32_t blocks, uint32_t threads);

/* The configuration of f again, with a digest. */
uint32_t with_digest(uint32_t kernel, uint32_t digest);

/* Tell the learner the true work of f, times @p factor, as of @p source. */
void tell(uint32_t config, enum gw_source source, double factor);

/* Predict from all that was observed. */
struct gw_prediction predict(uint32_t config);

/* Measure once and make predictions anew; returns what had been predicted. */
struct gw_prediction measure(uint32_t config, double seconds);

/* Relative error of a prediction, and whether its interval holds the time. */
double off(struct gw_prediction made, double seconds);
bool holds(struct gw_prediction made, double seconds);

#endif
