/*
 * Attribution of sampled counters, once more, on recordings of pm_record.c.
 *   pm_again FILE…   prints, for each configuration and metric, all windows taken in,
 *     A config row-of-work.def value relative-error launches at-most
 *     F fate windows of it
 */
#include "tests/gpu/pm_record.h"

#include "predictor/core/types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETS = 2 * GW_PM_ROWS, MOST = 1 << 20 };

static const struct {
	const char *field;
	double factor;
	bool idle;
} rows[GW_PM_ROWS] = {
#define METRIC(set, name, field, factor, idle) {#field, factor, idle},
#define CLOCK(set, name)                       {NULL, 0, false},
#include "preload/counters/pm_metric.def"
#undef METRIC
#undef CLOCK
};

static struct set {
	struct pm_recorded head;
	struct gw_attribution *attribution;
} sets[SETS];
static unsigned fates[GW_WINDOW_FOREIGN + 1];

static struct set *set_of(const struct pm_recorded *head)
{
	uint32_t guard = 0;
	unsigned i = 0;

	while (i < SETS && sets[i].attribution &&
	       (sets[i].head.metrics != head->metrics ||
		memcmp(sets[i].head.row, head->row, head->metrics) != 0))
		i++;
	if (i == SETS)
		return NULL;
	for (unsigned m = 0; m < head->metrics; m++)
		guard |= rows[head->row[m]].idle ? 1u << m : 0;
	if (!sets[i].attribution)
		sets[i] = (struct set){*head, gw_attribution_new(head->metrics, guard)};
	return sets[i].attribution ? &sets[i] : NULL;
}

static int take(FILE *in, const struct pm_recorded *head)
{
	struct gw_sample *samples;
	struct gw_interval *runs;
	struct set *set;
	int ok;

	if (head->magic != PM_RECORDED || head->metrics > GW_SAMPLE_METRICS ||
	    head->samples > MOST || head->runs > MOST)
		return 0;
	for (unsigned m = 0; m < head->metrics; m++)
		if (head->row[m] >= GW_PM_ROWS)
			return 0;
	samples = calloc(head->samples + 1, sizeof(*samples));
	runs = calloc(head->runs + 1, sizeof(*runs));
	set = set_of(head);
	ok = samples && runs && set &&
	     fread(samples, sizeof(*samples), head->samples, in) == head->samples &&
	     fread(runs, sizeof(*runs), head->runs, in) == head->runs;
	if (ok)
		fates[gw_attribution_window(set->attribution, samples, head->samples, runs,
					    head->runs)]++;
	if (ok) /* as often as the product does, or oftener */
		gw_attribution_solve(set->attribution);
	free(samples);
	free(runs);
	return ok;
}

static void print_set(const struct set *s)
{
	struct gw_counted c;
	uint32_t config;

	gw_attribution_solve(s->attribution);
	for (unsigned i = 0; (config = gw_attribution_get(s->attribution, i, &c)) != 0; i++)
		for (unsigned m = 0; m < s->head.metrics; m++)
			if (rows[s->head.row[m]].field)
				printf("A\t%u\t%s\t%.17g\t%.6g\t%.6g\t%.6g\n", config,
				       rows[s->head.row[m]].field,
				       c.value[m] * rows[s->head.row[m]].factor, c.error[m],
				       c.launches, c.most[m] * rows[s->head.row[m]].factor);
}

int main(int argc, char **argv)
{
	struct pm_recorded head;

	for (int i = 1; i < argc; i++) {
		FILE *in = fopen(argv[i], "rb");

		if (!in) {
			perror(argv[i]);
			return 2;
		}
		while (fread(&head, sizeof(head), 1, in) == 1)
			if (!take(in, &head)) {
				fprintf(stderr, "pm_again: %s: not a recording\n", argv[i]);
				return 2;
			}
		fclose(in);
	}
	for (unsigned i = 0; i < SETS && sets[i].attribution; i++) {
		print_set(&sets[i]);
		gw_attribution_free(sets[i].attribution);
	}
	for (unsigned i = 0; i <= GW_WINDOW_FOREIGN; i++)
		printf("F\t%u\t%u\n", i, fates[i]);
	return 0;
}
