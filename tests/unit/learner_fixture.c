#include "tests/unit/learner_fixture.h"

#include "predictor/models/bounds.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct fixture f;
struct gw_predictor *p;
uint32_t configs;
uint64_t seed;

double normal(void)
{
	double a = fixture_random(&seed), b = fixture_random(&seed);

	return sqrt(-2 * log(1 - a)) * cos(2 * M_PI * b);
}

int start(void **state)
{
	(void)state;
	seed = 12345;
	configs = 0;
	fixture_init(&f);
	p = gw_predictor_new(CONFIGS);
	gw_predictor_device(p, &f.device);
	return p ? 0 : -1;
}

int stop(void **state)
{
	(void)state;
	gw_predictor_free(p);
	return 0;
}

enum gw_bound bound;

double model(void)
{
	struct gw_estimate e;

	gw_model_bounds.estimate(&f.device, &f.launch, &f.work, NULL, &e);
	assert_true(e.seconds > 0);
	bound = e.bound;
	return e.seconds;
}

uint32_t with_digest(uint32_t kernel, uint32_t digest)
{
	f.launch.config.digest = digest;
	gw_predictor_configure(p, ++configs, kernel, &f.launch);
	return configs;
}

uint32_t configure(uint32_t kernel, uint32_t blocks, uint32_t threads)
{
	fixture_grid(&f, blocks, threads);
	return with_digest(kernel, f.launch.config.digest);
}

void tell(uint32_t config, enum gw_source source, double factor)
{
	struct gw_work work = f.work;

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++) {
		work.q[i].source = source;
		if (i < GW_WORK_l1_hit_rate)
			work.q[i].value *= factor;
	}
	gw_predictor_work(p, config, &work);
}

struct gw_prediction predict(uint32_t config)
{
	struct gw_prediction made;

	gw_predict(p, config, gw_predictor_observations(p), &made);
	return made;
}

struct gw_prediction measure(uint32_t config, double seconds)
{
	struct gw_prediction made = predict(config);
	const struct gw_observation o = {.seconds = seconds,
					 .exclusive = true,
					 .predicted = made.seconds,
					 .low = made.low,
					 .high = made.high,
					 .tier = made.tier,
					 .work = made.work,
					 .sm_hz = NAN};

	assert_true(gw_observe(p, config, &o) > 0);
	gw_predictor_advance(p, NULL, NULL);
	return made;
}

double off(struct gw_prediction made, double seconds)
{
	return fabs(made.seconds - seconds) / seconds;
}

bool holds(struct gw_prediction made, double seconds)
{
	return seconds >= made.low && seconds <= made.high;
}
