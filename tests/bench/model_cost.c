/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one model's estimate a number of times, for cost.sh to count the instructions:
 * model_cost MODEL TIMES [heavy]. `model_cost list` names the models.
 */
#include "predictor/models/papers/models.h"
#include "tests/unit/model_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every resource used and no schedule known: the longest way through a model. */
static void make_heavy(struct fixture *f)
{
	for (unsigned i = 0; i < GW_WORK_warp_cycles; i++)
		if (f->work.q[i].value == 0)
			fixture_work(f, (enum gw_work_field)i, 128e3);
	fixture_work(f, GW_WORK_l1_hit_rate, 0.5);
	fixture_work(f, GW_WORK_l2_hit_rate, 0.5);
	f->work.q[GW_WORK_warp_cycles].value = NAN;
	f->work.q[GW_WORK_warp_cycles_longest].value = NAN;
}

static int list(void)
{
	for (unsigned i = 0; gw_models[i]; i++)
		puts(gw_models[i]->name);
	return 0;
}

int main(int argc, char **argv)
{
	const struct gw_model *model = argc > 1 ? gw_model_find(argv[1]) : NULL;
	struct gw_estimate e = {.seconds = NAN};
	struct fixture f;
	long times;

	if (argc == 2 && !strcmp(argv[1], "list"))
		return list();
	if (argc < 3 || argc > 4 || !model) {
		fputs("usage: model_cost MODEL TIMES [heavy] | model_cost list\n", stderr);
		return 2;
	}
	times = strtol(argv[2], NULL, 10);
	fixture_init(&f);
	if (argc == 4)
		make_heavy(&f);
	for (long i = 0; i < times; i++) {
		/* Another launch each time, so that nothing can be hoisted out of the loop. */
		f.launch.config.grid.x = 16000 + (uint32_t)(i % 1000);
		model->estimate(&f.device, &f.launch, &f.work, NULL, &e);
	}
	return times > 0 && !(e.seconds > 0); /* a model that gives up early would look cheap */
}
