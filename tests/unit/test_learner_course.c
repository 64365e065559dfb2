/* SPDX-License-Identifier: Apache-2.0 */
/* What replay relies on: who tells the predictor the same gets the same bits. */
#include "tests/unit/learner_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint64_t digest;

static void add(const struct gw_prediction *made)
{
	const double values[] = {made->seconds,       made->low,          made->high,
	                         (double)made->known, (double)made->tier, (double)made->work,
	                         (double)made->bound};

	for (unsigned i = 0; i < sizeof(values) / sizeof(*values); i++) {
		uint64_t bits;

		memcpy(&bits, &values[i], sizeof(bits));
		digest = (digest ^ bits) * UINT64_C(0x9fb21c651e98df25);
		digest ^= digest >> 31;
	}
}

static void add_changed(void *arg, uint32_t config, const struct gw_prediction *made)
{
	(void)arg;
	digest += config;
	add(made);
}

/* A course of everything; @p ask: also asks for predictions nobody else asked for. */
static uint64_t course(bool ask)
{
	digest = 1;
	seed = 777;
	configs = 0;
	gw_predictor_free(p);
	p = gw_predictor_new(CONFIGS);
	for (int i = 0; i < 3000; i++) {
		double what = fixture_random(&seed);
		uint32_t c = configs ? 1 + (uint32_t)(fixture_random(&seed) * configs) : 0;

		if (i == 20)
			gw_predictor_device(p, &f.device);
		if (what < 0.1 || !c) {
			fixture_init(&f);
			configure(1 + (uint32_t)(fixture_random(&seed) * 20),
			          1 + (uint32_t)(fixture_random(&seed) * 30000),
			          32 + (uint32_t)(fixture_random(&seed) * 900));
		} else if (what < 0.2) {
			fixture_init(&f);
			tell(c, what < 0.15 ? GW_SOURCE_STATIC : GW_SOURCE_COUNTED,
			     fixture_random(&seed));
		} else if (what < 0.8) {
			struct gw_prediction made = predict(c);
			struct gw_observation o = {.seconds = 1e-5 * exp(normal()),
			                           .exclusive = what < 0.7,
			                           .predicted = made.seconds,
			                           .low = made.low,
			                           .high = made.high,
			                           .tier = made.tier,
			                           .work = made.work,
			                           .sm_hz = what < 0.5 ? NAN : 1e9 * (1 + what)};

			add(&made);
			gw_observe(p, c, &o);
		} else if (what < 0.9) {
			gw_predictor_advance(p, add_changed, NULL);
		} else if (ask) {
			predict(c);
		}
	}
	return digest;
}

static void the_same_calls_give_the_same_bits(void **state)
{
	uint64_t first = course(false);

	(void)state;
	assert_int_equal(course(false), first);
	/* A replay asks at other moments than the process did: asking must not change a thing. */
	assert_int_equal(course(true), first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(the_same_calls_give_the_same_bits, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
