#include "cli/report/sections.h"

#include "cli/common/basis.h"
#include "cli/common/json.h"
#include "cli/log/verdict.h"
#include "cli/common/number.h"
#include "cli/report/fix.h"
#include "cli/report/line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void gw_report_fix_lines(const struct gw_report *report, unsigned width)
{
	struct gw_fix fixes[GW_FIXES];
	unsigned count = gw_report_fixes(report, fixes);
	char text[1200], clean[1200];

	if (!count)
		return;
	printf("\n  %sTo fix first%s %s(by the most to gain at this GPU's peaks)%s\n",
	       gw_ink(stdout, GW_INK_BOLD), gw_ink(stdout, GW_INK_OFF), gw_ink(stdout, GW_INK_DIM),
	       gw_ink(stdout, GW_INK_OFF));
	for (unsigned i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "%s.", fixes[i].text);
		printf("  %u. ", i + 1);
		report_wrapped(gw_printable(clean, sizeof(clean), text), width, 5);
	}
}

static json_t *evidence_json(const struct gw_verdict *v)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < v->evidence_count; i++)
		json_array_append_new(list, json_pack("{s:s,s:o,s:s}", "what", v->evidence[i].what,
						      "value", gw_json_number(v->evidence[i].value),
						      "unit", v->evidence[i].unit));
	return list;
}

static json_t *peaks_json(const struct gw_row_bound *b)
{
	json_t *o = json_object();

	for (unsigned i = 0; i < b->peak_count; i++) {
		const struct gw_row_peak *c = &b->peaks[i];

		json_object_set_new(
			o, c->name,
			json_pack("{s:s,s:o,s:o,s:o,s:s}", "unit", c->unit, "achieved_per_second",
				  gw_json_number(c->amount / c->measured), "peak_per_second",
				  gw_json_number(c->seconds > 0 ? c->amount / c->seconds : NAN),
				  "share", gw_json_number(gw_peak_share(c)), "bound",
				  gw_bound_name(c->bound)));
	}
	return o;
}

static json_t *work_json(const struct log_work *known)
{
	json_t *o = json_object();
	struct gw_work work;

	log_work_of(known, &work);
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++) {
		const struct gw_quantity *q = &work.q[i];

		if (isnan(q->value))
			continue;
		json_object_set_new(
			o, gw_work_info(i).name,
			json_pack("{s:o,s:s,s:s,s:o}", "value", gw_json_number(q->value), "unit",
				  gw_work_info(i).unit, "source", gw_work_basis_name(q->source),
				  "confidence", gw_json_number((double)q->confidence)));
	}
	return o;
}

static json_t *config_json(const struct gw_config *c)
{
	char grid[64], block[64], arguments[16] = "";

	snprintf(grid, sizeof(grid), "%u %u %u", c->grid.x, c->grid.y, c->grid.z);
	snprintf(block, sizeof(block), "%u %u %u", c->block.x, c->block.y, c->block.z);
	if (c->digest)
		snprintf(arguments, sizeof(arguments), "%08x", c->digest);
	return json_pack("{s:s,s:s,s:o,s:s}", "GridXYZ", grid, "BlockXYZ", block,
			 "Dynamic Shared (B)", gw_json_count(c->dynamic_shared), "Arguments",
			 arguments);
}

json_t *gw_report_bound_json(const struct gw_row *row)
{
	const struct gw_row_bound *b = row->bound;
	enum gw_bound bound = gw_bound_of(b);
	bool known = b && bound != GW_BOUND_UNKNOWN && b->verdict.bound != GW_BOUND_UNKNOWN;
	const char *limiter = gw_report_limiter(b);
	json_t *o, *times;
	char text[200];

	if (!b)
		return json_null();
	o = json_object();
	times = json_object();
	for (unsigned i = 0; i <= GW_BOUND_LAUNCH; i++)
		gw_set_number(times, gw_bound_name((enum gw_bound)i), b->time[i]);
	json_object_set_new(o, "seconds_by_bound", times);
	gw_set_text(o, "bound", gw_bound_name(bound));
	json_object_set_new(o, "limiter", *limiter ? json_string(limiter) : json_null());
	gw_set_number(o, "confidence", known ? b->verdict.confidence : NAN);
	gw_set_number(o, "headroom", known ? gw_bound_headroom(b) : NAN);
	json_object_set_new(o, "unknown",
			    gw_bound_unjudged(b) ? json_string(gw_bound_unjudged(b)) : json_null());
	json_object_set_new(o, "without_verdict", gw_report_unjudged_json(b));
	json_object_set_new(o, "peaks", peaks_json(b));
	/* The rest describes the configuration with the most time. */
	json_object_set_new(o, "configuration", config_json(&b->config));
	gw_set_number(o, "mean_seconds", b->mean);
	json_object_set_new(o, "evidence", evidence_json(&b->verdict));
	gw_bound_text(b, text, sizeof(text));
	gw_set_text(o, "text", text);
	gw_bound_cause(b, text, sizeof(text));
	gw_set_text(o, "why", text);
	json_object_set_new(o, "work", work_json(b->work));
	return o;
}

static json_t *row_json(const struct gw_report *report, const struct gw_row *row)
{
	size_t number = row ? gw_report_number(report, row) : 0;

	return number ? gw_json_count(number) : json_null();
}

json_t *gw_report_fixes_json(const struct gw_report *report)
{
	struct gw_fix fixes[GW_FIXES];
	unsigned count = gw_report_fixes(report, fixes);
	json_t *list = json_array();

	for (unsigned i = 0; i < count; i++)
		json_array_append_new(
			list,
			json_pack("{s:s,s:o,s:o,s:o,s:o,s:o}", "kind", gw_fix_name(fixes[i].kind),
				  "share", gw_json_number(fixes[i].share), "gain",
				  gw_json_number(fixes[i].gain), "row",
				  row_json(report, fixes[i].row), "name",
				  fixes[i].row
					  ? gw_json_text(
						    report->model.names[fixes[i].row->name].plain)
					  : json_null(),
				  "text", gw_json_text(fixes[i].text)));
	return list;
}

json_t *gw_report_basis_json(const struct gw_row *row)
{
	json_t *o = json_object(), *tiers = json_object(), *works = json_object();

	for (unsigned t = GW_TIER_COLD; t <= GW_TIER_STEADY; t++)
		gw_set_count(tiers, gw_basis_key((enum gw_tier)t), row->tiers[t]);
	for (unsigned w = GW_SOURCE_NONE; w <= GW_SOURCE_COUNTED; w++)
		gw_set_count(works, gw_work_basis_key((enum gw_source)w), row->works[w]);
	json_object_set_new(o, "times", tiers);
	json_object_set_new(o, "work", works);
	return o;
}
