#include "cli/common/estimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/nearest.h"
#include "cli/message.h"
#include "predictor/models/bounds.h"
#include "predictor/models/papers/models.h"

static bool has_warning(const struct gw_estimate *e, const char *warning)
{
	for (unsigned i = 0; i < e->warning_count; i++)
		if (strcmp(e->warnings[i], warning) == 0)
			return true;
	return false;
}

/* Keep what @p other says too: the rest was said of a configuration that nobody gave. */
static void keep_common_warnings(struct gw_estimate *e, const struct gw_estimate *other)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < e->warning_count; i++)
		if (has_warning(other, e->warnings[i]))
			e->warnings[kept++] = e->warnings[i];
	e->warning_count = kept;
}

static void refuse(struct gw_estimate *e)
{
	gw_estimate_clear(e);
	gw_estimate_missing(e, "grid and block");
}

/* A model says of itself what it can't do without, except that a configuration is always there.
   So a launch without one is asked about twice, far apart: what is the same both times did not
   depend on it. */
static void without_config(const struct gw_model *model, const struct gw_device *device,
			   const struct launch_case *item, struct gw_estimate *out)
{
	struct gw_launch launch = launch_case_launch(item);
	struct gw_estimate other;

	launch.config.grid = launch.config.block = (struct gw_dim3){1, 1, 1};
	model->estimate(device, &launch, &item->work, &item->options, out);
	launch.config.grid.x = 100000;
	launch.config.block.x = 256;
	model->estimate(device, &launch, &item->work, &item->options, &other);
	if (isnan(out->seconds) && isnan(other.seconds))
		return;
	if (out->seconds != other.seconds)
		refuse(out);
	else
		keep_common_warnings(out, &other);
}

void estimate_launch(const struct gw_model *model, const struct gw_device *device,
		     const struct launch_case *item, struct gw_estimate *out)
{
	struct gw_launch launch = launch_case_launch(item);

	if (item->has_config)
		model->estimate(device, &launch, &item->work, &item->options, out);
	else
		without_config(model, device, item, out);
}

void estimate_verdict(const struct launch_case *item, const struct gw_device *device,
		      double measured, struct gw_verdict *out, struct gw_estimate *bounds)
{
	struct gw_launch launch = launch_case_launch(item);

	estimate_launch(&gw_model_bounds, device, item, bounds);
	if (item->has_config && measured > 0)
		gw_verdict_measured(device, &launch, &item->work, measured, out);
	else
		gw_verdict_of(device, &launch, &item->work, bounds, out);
}

double estimate_error(double seconds, double measured)
{
	return (seconds - measured) / measured;
}

static const char *prefixed(struct estimate_text *out, double value, const char *unit, int digits)
{
	static const char *const prefixes[] = {"p", "n", "µ", "m", "", "k",
					       "M", "G", "T", "P", "E"};
	int step = 4;
	double magnitude = fabs(value);

	while (magnitude >= 999.995 && step < 10) {
		magnitude /= 1000;
		step++;
	}
	while (magnitude > 0 && magnitude < 0.999995 && step > 0) {
		magnitude *= 1000;
		step--;
	}
	snprintf(out->s, sizeof(out->s), "%s%.*g %s%s", value < 0 ? "-" : "", digits, magnitude,
		 prefixes[step], unit);
	return out->s;
}

const char *estimate_time(struct estimate_text *out, double seconds)
{
	static const struct {
		double unit;
		const char *name;
	} units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}};
	size_t i = 0;
	double value;
	int digits;

	if (isnan(seconds)) {
		snprintf(out->s, sizeof(out->s), "unknown");
		return out->s;
	}
	while (i < 3 && seconds < units[i].unit)
		i++;
	value = seconds / units[i].unit;
	digits = value < 10 ? 3 : value < 100 ? 3 : value < 1000 ? 2 : 1;
	snprintf(out->s, sizeof(out->s), value < 1e7 ? "%.*f %s" : "%.*e %s", digits, value,
		 units[i].name);
	return out->s;
}

const char *estimate_percent(struct estimate_text *out, double share)
{
	if (isnan(share))
		snprintf(out->s, sizeof(out->s), "-");
	else
		snprintf(out->s, sizeof(out->s), "%+.2f%%", share * 100);
	return out->s;
}

const char *estimate_value(struct estimate_text *out, double value, const char *unit)
{
	static const char *const prefix_units[] = {"s",    "B",      "B/s", "op",
						   "op/s", "flop/s", "Hz",  "op/s"};

	if (isnan(value)) {
		snprintf(out->s, sizeof(out->s), "unknown");
		return out->s;
	}
	for (size_t i = 0; i < sizeof(prefix_units) / sizeof(*prefix_units); i++)
		if (strcmp(prefix_units[i], unit) == 0)
			return prefixed(out, value, unit, 5);
	/* Counts of threads and the like are whole numbers that people read as such. */
	snprintf(out->s, sizeof(out->s),
		 fabs(value) >= 1e5 && fabs(value) < 1e15 ? "%.0f%s%s" : "%.5g%s%s", value,
		 strcmp(unit, "1") == 0 ? "" : " ", strcmp(unit, "1") == 0 ? "" : unit);
	return out->s;
}

double estimate_term(const struct gw_estimate *e, const char *name)
{
	for (unsigned i = 0; i < e->term_count; i++)
		if (strcmp(e->terms[i].name, name) == 0)
			return e->terms[i].value;
	return NAN;
}

int estimate_unknown_model(const char *name, bool all)
{
	const char *names[64];
	char list[512];
	size_t n = 0;

	for (const struct gw_model *const *m = gw_models; *m && n < 63; m++)
		names[n++] = (*m)->name;
	if (all)
		names[n++] = "all";
	return gw_error("unknown model \"%s\"; must be one of %s", name,
			gw_words_join(list, sizeof(list), names, n));
}
