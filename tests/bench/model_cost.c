/*
 * Runs one model's estimate a number of times, for cost.sh to count the instructions:
 * model_cost MODEL TIMES [heavy]. `model_cost list` names the models. `model_cost top TIMES`:
 * snapshots of gpuwatch top's model.
 */
#include "cli/top/model.h"
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

/* Of 20 processes with 100 kernels at three shapes, of which each launches 100 times between
 * snapshots. */
static int snapshots_of_top(long times)
{
	enum { PROCESSES = 20, KERNELS = 100, CONFIGS = 3 * KERNELS, SHOWN = 15 };
	const struct top_choice choice = {TOP_SORT_time, false, NULL};
	struct top_model *m = top_model_new();
	double seen = 0;

	m->brief = true;
	for (long i = 0; i <= times; i++) {
		struct top_row **rows;

		top_begin(m, 1000000000u * ((uint64_t)i + 1));
		for (uint32_t k = 0; k < PROCESSES; k++) {
			char id[16];
			struct top_process *p;

			snprintf(id, sizeof(id), "%u", k);
			p = top_process_of(m, id, k + 1, "/bin/a");
			for (uint32_t at = i ? (uint32_t)(i % 3) : 0; at < CONFIGS;
			     at += i ? 3 : 1) {
				static struct gw_live_config c;
				char name[16] = "";

				c.id = at + 1;
				c.kernel = 1 + at % KERNELS;
				c.device = 1;
				c.launches = c.time.count = c.ratio.count = (uint64_t)i + 1;
				c.time.sum = (1000.0 + at) * (double)(i + 1);
				c.ratio.sum = (double)(i + 1);
				c.predicted = c.low = c.high = 1000;
				if (!i)
					snprintf(name, sizeof(name), "k%u", c.kernel);
				top_config_is(m, p, at, &c, i ? NULL : name);
			}
		}
		top_end(m);
		if (top_choose(m, &choice, SHOWN, &rows))
			seen += rows[0]->total.runs;
		free(rows);
	}
	top_model_free(m);
	return !(seen > 0);
}

int main(int argc, char **argv)
{
	const struct gw_model *model = argc > 1 ? gw_model_find(argv[1]) : NULL;
	struct gw_estimate e = {.seconds = NAN};
	struct fixture f;
	long times;

	if (argc == 2 && !strcmp(argv[1], "list"))
		return list();
	if (argc == 3 && !strcmp(argv[1], "top"))
		return snapshots_of_top(strtol(argv[2], NULL, 10));
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
