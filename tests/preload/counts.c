#include "tests/preload/counts.h"

#include "cli/log/reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CONFIGS = 512 };

/* What a warp counts of each row of work.def, by the stand-in; NAN where it has no such metric. */
static double per_warp(unsigned field)
{
	static const struct {
		const char *name;
		double value;
	} truth[] = {
#define PM_TRUTH(name, per_warp, added) {name, per_warp},
#include "tests/driver/cupti_pm.def"
#undef PM_TRUTH
	};
	static const struct {
		const char *name;
		unsigned field;
		double factor;
	} metric[] = {
#define METRIC(set, name, field, factor, idle) {name, GW_WORK_##field, factor},
#define CLOCK(set, name)
#include "preload/counters/pm_metric.def"
#undef METRIC
#undef CLOCK
	};

	for (size_t i = 0; i < sizeof(metric) / sizeof(*metric); i++)
		for (size_t k = 0; k < sizeof(truth) / sizeof(*truth); k++)
			if (metric[i].field == field && !strcmp(metric[i].name, truth[k].name))
				return truth[k].value * metric[i].factor;
	return NAN;
}

/* The last that a log says of the work of each configuration. */
static struct {
	unsigned blocks;
	struct gw_quantity q[GW_WORK_FIELDS];
} reported[CONFIGS];

static bool take(void *arg, const struct gw_log_record *record)
{
	const void *fixed = record->head;

	(void)arg;
	if (record->head->kind == GW_RECORD_CONFIG) {
		const struct gw_record_config *c = fixed;

		assert_in_range(c->id, 1, CONFIGS - 1);
		reported[c->id].blocks = c->grid_x;
	} else if (record->head->kind == GW_RECORD_WORK) {
		const struct gw_record_work *w = fixed;
		const struct gw_record_quantity *part = (const void *)record->tail;

		for (uint32_t i = 0; i < w->count; i++)
			reported[w->config].q[part[i].field] = (struct gw_quantity){
				.value = part[i].value,
				.source = part[i].source,
				.confidence = part[i].confidence,
			};
	}
	return true;
}

struct outcome *counted3(const char *ms, const char *how, const char *one, const char *two,
				const char *three)
{
	struct run r = RUN("counted", ms, how);
	struct gw_log_status status;
	struct outcome *o;

	r.env[0] = "GPUWATCH_BUDGET=100";
	r.env[1] = "GPUWATCH_STATIC=0";
	r.env[2] = "GPUWATCH_COUNTERS=pm";
	r.env[3] = one; /* the last setting of a variable holds */
	r.env[4] = one ? two : NULL;
	r.env[5] = one && two ? three : NULL;
	o = run_both(&r);
	assert_int_equal(o->status, 0);
	memset(reported, 0, sizeof(reported));
	assert_true(gw_log_read(o->log[0].path, take, NULL, &status));
	return o;
}

struct outcome *counted(const char *ms, const char *how, const char *one, const char *two)
{
	return counted3(ms, how, one, two, NULL);
}

/* What is said to be at most has to be more than it is, but for what the tolerance is for. */
static unsigned too_little(unsigned config, double tolerance)
{
	unsigned n = 0;

	for (unsigned f = 0; f < GW_WORK_FIELDS; f++) {
		enum gw_work_field at = gw_work_upper_bound((enum gw_work_field)f);
		double true_value = per_warp(f) * reported[config].blocks * 4;

		if (at == GW_WORK_FIELDS || !(reported[config].q[at].value < (1 - tolerance) * true_value) ||
		    reported[config].q[at].source != GW_SOURCE_COUNTED)
			continue;
		n++;
		print_message("%u blocks, %s: %g at most, is %g\n", reported[config].blocks,
			      gw_work_info(f).name, reported[config].q[at].value, true_value);
	}
	return n;
}

unsigned values(double tolerance, unsigned *off)
{
	unsigned n = 0;

	*off = 0;
	for (unsigned c = 1; c < CONFIGS; *off += too_little(c++, tolerance))
		for (unsigned f = 0; f < GW_WORK_FIELDS; f++) {
			const struct gw_quantity *q = &reported[c].q[f];
			double true_value = per_warp(f) * reported[c].blocks * 4; /* warps a block */

			if (q->source != GW_SOURCE_COUNTED || /* of the code, where that is read */
			    strstr(gw_work_info(f).name, "most_"))
				continue;
			n++;
			/* Three times the error it states itself is as good as it claims to be. */
			if (fabs(q->value - true_value) <=
			    (tolerance + 0.3 * (1 / (double)q->confidence - 1)) * true_value + 1e-9)
				continue;
			++*off;
			print_message("%u blocks, %s: %g, not %g (confidence %g)\n",
				      reported[c].blocks, gw_work_info(f).name, q->value, true_value,
				      (double)q->confidence);
		}
	return n;
}

bool knows(unsigned blocks, unsigned field)
{
	for (unsigned c = 1; c < CONFIGS; c++)
		if (reported[c].blocks == blocks && reported[c].q[field].source != GW_SOURCE_NONE)
			return true;
	return false;
}

bool knows_any(unsigned blocks)
{
	for (unsigned f = 0; f < GW_WORK_FIELDS; f++)
		if (knows(blocks, f))
			return true;
	return false;
}
