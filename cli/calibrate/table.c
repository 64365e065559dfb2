/* The values of a profile as tables, one for each group that measured them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/calibrate/calibrate.h"
#include "cli/message.h"
#include "cli/table.h"

static const struct gw_table_column columns[] = {
	{.title = "parameter"},
	{.title = "value", .right = true},
	{.title = "unit"},
	{.title = "spread", .right = true, .priority = 2},
	{.title = "n", .right = true, .priority = 3},
	{.title = "method", .priority = 1},
	{.title = "how", .elastic = true, .priority = 4},
};
enum { COLUMNS = sizeof(columns) / sizeof(*columns) };

/* The prefix that leaves one to three digits before the point, for the units that take one. */
struct prefixed {
	double scale;
	const char *prefix;
};

static struct prefixed prefix_for(const char *unit, double value)
{
	const struct prefixed prefixes[] = {
		{1e15, "P"}, {1e12, "T"}, {1e9, "G"},  {1e6, "M"},
		{1e3, "k"},  {1, ""},     {1e-3, "m"}, {1e-6, gw_utf8() ? "µ" : "u"},
		{1e-9, "n"}, {1e-12, "p"}};
	static const char *const plain[] = {"1", "thread", "cycle", "warp/block"};
	const size_t count = sizeof(prefixes) / sizeof(*prefixes);

	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (strcmp(unit, plain[i]) == 0)
			return (struct prefixed){1, ""};
	for (size_t i = 0; i < count; i++)
		if (fabs(value) >= prefixes[i].scale)
			return prefixes[i];
	return (struct prefixed){1, ""};
}

static void number_cell(struct gw_table *t, double value, const char *format)
{
	char text[40] = "";

	if (isfinite(value))
		snprintf(text, sizeof(text), format, value);
	gw_table_cell(t, text);
}

static void param_row(struct gw_table *t, const struct gw_profile *p, unsigned i)
{
	const struct gw_profile_value *v = &p->device.param[i];
	const struct gw_field_info info = gw_param_info(i);
	struct prefixed scale = prefix_for(info.unit, v->value);
	char unit[40], count[24] = "";

	snprintf(unit, sizeof(unit), "%s%s", scale.prefix,
		 strcmp(info.unit, "1") != 0 ? info.unit : "");
	if (v->samples)
		snprintf(count, sizeof(count), "%u", v->samples);
	gw_table_cell(t, info.name);
	if (v->method == GW_METHOD_NONE)
		gw_table_cell(t, "unknown");
	else
		number_cell(t, v->value / scale.scale, "%.5g");
	gw_table_cell(t, unit);
	number_cell(t, v->spread / scale.scale, "%.2g");
	gw_table_cell(t, count);
	gw_table_cell(t, v->method == GW_METHOD_NONE ? "" : gw_method_name(v->method));
	gw_table_cell(t, *p->how[i] ? p->how[i] : p->source[i]);
}

static void curve_row(struct gw_table *t, const struct gw_profile *p, unsigned i)
{
	const struct gw_curve *c = &p->device.curve[i];
	char value[32], unit[80], fit[40] = "";

	snprintf(value, sizeof(value), c->count ? "%u points" : "unknown", c->count);
	snprintf(unit, sizeof(unit), "%s by %s", gw_curve_info(i).unit, gw_curve_unit_x(i));
	if (isfinite(c->fit.r2))
		snprintf(fit, sizeof(fit), "%s %.4f", gw_utf8() ? "R²" : "R^2", c->fit.r2);
	gw_table_cell(t, gw_curve_info(i).name);
	gw_table_cell(t, value);
	gw_table_cell(t, unit);
	gw_table_cell(t, fit);
	gw_table_cell(t, "");
	gw_table_cell(t, c->count ? gw_method_name(c->method) : "");
	gw_table_cell(t, *p->curve_how[i] ? p->curve_how[i] : p->curve_source[i]);
}

/* The rows of group @p group (1 + index, 0: no group) that say anything; how many. */
static unsigned fill(struct gw_table *t, const struct gw_profile *p, unsigned group)
{
	unsigned rows = 0;

	for (unsigned i = 0; i < GW_PARAMS; i++)
		if (p->group[i] == group && (p->device.param[i].method || *p->how[i])) {
			param_row(t, p, i);
			rows++;
		}
	for (unsigned i = 0; i < GW_CURVES; i++)
		if (p->curve_group[i] == group && (p->device.curve[i].count || *p->curve_how[i])) {
			curve_row(t, p, i);
			rows++;
		}
	return rows;
}

static void heading(const struct gw_profile *p, unsigned group)
{
	const struct gw_group_run *run = group ? &p->groups[group - 1] : NULL;
	char name[64];

	printf("\n%s%s%s", gw_ink(stdout, GW_INK_BOLD),
	       run ? gw_printable(name, sizeof(name), run->name) : "not measured here",
	       gw_ink(stdout, GW_INK_OFF));
	if (run && isfinite(run->sm_clock))
		printf("  SM clock %.0f MHz (least %.0f)", run->sm_clock / 1e6,
		       run->sm_clock_low / 1e6);
	if (run && *run->throttle)
		printf(", throttled by: %s", gw_printable(name, sizeof(name), run->throttle));
	putchar('\n');
}

void calibrate_tables(const struct gw_profile *p)
{
	char name[sizeof(p->device.name)];

	printf("%s\n", gw_printable(name, sizeof(name), p->device.name));
	for (unsigned k = 1; k <= p->group_count + 1; k++) {
		unsigned group = k <= p->group_count ? k : 0;
		struct gw_table *t = gw_table_new(columns, COLUMNS);

		if (t && fill(t, p, group)) {
			heading(p, group);
			gw_table_print(t, stdout, gw_width(), 2);
		}
		gw_table_free(t);
	}
}
