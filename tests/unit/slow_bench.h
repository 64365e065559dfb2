/* Launches through predictor and detector of slow episodes, by chance that repeats itself. */
#ifndef GW_TESTS_SLOW_BENCH_H
#define GW_TESTS_SLOW_BENCH_H

#include "predictor/counters/slow.h"
#include "predictor/learner/predictor.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static uint64_t seed;

static double uniform(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* Launches of one configuration through predictor and detector, as the worker does it. */
struct bench {
	struct gw_predictor *predictor;
	struct gw_slow *slow;
	uint64_t ns;
	unsigned publish_every, since_published;
	unsigned begun, ended;
	struct gw_slow_event last;
};

/* What surrounds a launch when nothing is the matter. */
static struct gw_slow_sample usual(void)
{
	return (struct gw_slow_sample){
		.clock = {.sm_hz = 1980e6, .mem_hz = 3201e6, .others = 0},
		.dram_bytes = 1e6,
		.follows = 1,
	};
}

static void open_bench(struct bench *b, unsigned publish_every)
{
	*b = (struct bench){.predictor = gw_predictor_new(8),
			    .slow = gw_slow_new(8),
			    .ns = 1000,
			    .publish_every = publish_every};
	assert_non_null(b->predictor);
	assert_non_null(b->slow);
}

static void close_bench(struct bench *b)
{
	gw_predictor_free(b->predictor);
	gw_slow_free(b->slow);
}

/* One launch of @p seconds under the circumstances of @p s. True when it brought an event. */
static bool launch(struct bench *b, double seconds, struct gw_slow_sample s)
{
	struct gw_prediction p;
	struct gw_observation o = {.seconds = seconds, .exclusive = !s.overlapped};
	bool event;

	gw_predict(b->predictor, 1, gw_predictor_observations(b->predictor), &p);
	s.start_ns = b->ns += 100000;
	s.seconds = seconds;
	s.predicted = o.predicted = p.seconds;
	s.low = o.low = p.low;
	s.high = o.high = p.high;
	s.steady = p.tier == GW_TIER_STEADY;
	gw_observe(b->predictor, 1, &o);
	event = gw_slow_observe(b->slow, 1, &s, &b->last);
	if (event)
		b->last.until_ns ? b->ended++ : b->begun++;
	if (++b->since_published >= b->publish_every) {
		b->since_published = 0;
		gw_predictor_advance(b->predictor, NULL, NULL);
	}
	return event;
}

static void launches(struct bench *b, int n, double seconds, double sigma,
		     const struct gw_slow_sample *s)
{
	for (int i = 0; i < n; i++)
		launch(b, seconds * exp(sigma * normal()), *s);
}

/* A test of launches by chance of its own, published every so many. */
#define BENCH_TEST(name, seed_, every) \
	static void name##_on(struct bench *b); \
	TEST(name) \
	{ \
		struct bench b; \
		seed = seed_; \
		open_bench(&b, every); \
		name##_on(&b); \
		close_bench(&b); \
	} \
	static void name##_on(struct bench *b)

#endif
