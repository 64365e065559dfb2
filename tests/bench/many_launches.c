/*
 * many_launches LAUNCHES FILE [NAMES]: a log of that many launches of 300 kernels, predicted and
 * measured, with samples of clocks, as a run of many hours writes it; the kernels are called in
 * turn as the lines of NAMES. What commands need for it is measured by hand:
 * docs/results/see-2026-11-26.
 */
#include "tests/cli/log_builder.h"
#include "tests/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS = 300, BLOCK_LAUNCHES = 2000, SAMPLED = 1000 };

static uint32_t random_below(uint64_t *state, uint32_t most)
{
	return (uint32_t)(next_random(state) >> 33) % most;
}

static void define(struct lb *b, const char *path)
{
	FILE *names = path ? fopen(path, "r") : NULL;

	lb_header(b, 4242, 0, "./many_launches");
	lb_device(b, 1, "NVIDIA H200", "aabbccdd00112233");
	lb_stream(b, 1, 1);
	for (uint32_t i = 0; i < KERNELS; i++) {
		char name[4096];

		if (names && !fgets(name, sizeof(name), names)) {
			rewind(names);
			names = fgets(name, sizeof(name), names) ? names : NULL;
		}
		if (!names)
			snprintf(name, sizeof(name),
				 "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_"
				 "11FillFunctor%03uIfEESt5arrayIPcLm1EEEEviT0_T1_",
				 i);
		name[strcspn(name, "\n")] = 0;
		lb_kernel(b, i + 1, name);
		lb_config(b, i + 1, i + 1, 1024 + i, 256);
	}
}

static void sample(struct lb *b, uint64_t ns, uint64_t *state)
{
	struct gw_record_clock c = {.device = 1,
				    .sm_khz = 1980000 - 15000 * random_below(state, 8),
				    .mem_khz = 3201000,
				    .temperature = 50 + random_below(state, 20),
				    .power_mw = 400000 + random_below(state, 200000),
				    .ns = 1700000000ull * 1000000000 + ns};

	lb_record(b, GW_RECORD_CLOCK, &c, sizeof(c), NULL, 0);
}

int main(int argc, char **argv)
{
	uint64_t launches = argc >= 3 ? strtoull(argv[1], NULL, 10) : 0, now = 0, state = 1;
	struct lb b = {0};
	bool good;

	if (!launches) {
		fprintf(stderr, "usage: many_launches LAUNCHES FILE [NAMES]\n");
		return 2;
	}
	define(&b, argv[3]);
	for (uint64_t i = 0; i < launches; i++) {
		uint32_t kernel = random_below(&state, KERNELS);
		uint64_t usual = 2000 + (uint64_t)kernel * kernel * 10;
		uint64_t time = usual + usual * random_below(&state, 100) / 1000;
		struct gw_record_launch l =
			lb_launch(kernel + 1, now, time, (float)usual * 1.05f, (uint32_t)i);

		l.tier = 3;
		lb_add_launch(&b, l);
		now += time + (random_below(&state, 50) ? 1000 : 300000);
		if (i % SAMPLED == 0)
			sample(&b, now, &state);
		if (i % BLOCK_LAUNCHES == 0)
			lb_block(&b);
	}
	lb_end(&b);
	good = lb_write(&b, argv[2]);
	lb_free(&b);
	return good ? 0 : 2;
}
