#include "cli/report/sections.h"

#include "cli/common/json.h"
#include "cli/log/reasons.h"
#include "cli/common/number.h"
#include "cli/report/line.h"
#include "cli/table.h"

#include <stdio.h>
#include <stdlib.h>

enum { SHOWN = 4, INDENT = REPORT_LABEL + 2 };

/* The outcome of a reason that counts; NULL: it was withdrawn, or no launch has it. */
static const char *what(const struct gw_unexplained *u)
{
	if (!*u->text || (!u->launches && u->end != GW_ANALYSIS_OFF))
		return NULL;
	return gw_analysis_end_name(u->end);
}

/* The reason with the most launches after @p before in this order; NULL: there is none. */
static const struct gw_unexplained *next(const struct gw_log_model *m,
					 const struct gw_unexplained *before)
{
	const struct gw_unexplained *found = NULL;

	for (const struct gw_unexplained *u = m->unexplained;
	     u < m->unexplained + m->unexplained_count; u++) {
		bool after = !before || u->launches < before->launches ||
			     (u->launches == before->launches && u > before);

		if (what(u) && after && (!found || u->launches > found->launches))
			found = u;
	}
	return found;
}

static void sentence(const struct gw_report *report, const struct gw_unexplained *u, unsigned width)
{
	enum { NAME = 40 };
	char text[500], reason[300], name[NAME * 4 + 1], *shorter;
	struct gw_text n;

	gw_printable(reason, sizeof(reason), u->text);
	if (u->end == GW_ANALYSIS_OFF) {
		snprintf(text, sizeof(text), "off: %s", reason);
	} else {
		shorter = gw_shorten(report->names[u->name], NAME);
		snprintf(text, sizeof(text), "%s, %s: %s (%s%s)",
			 gw_counted(&n, (double)u->launches, "launch", "launches"), what(u), reason,
			 gw_printable(name, sizeof(name), shorter),
			 u->configs > 1 ? " and others" : "");
		free(shorter);
	}
	report_wrapped(text, width, INDENT);
}

void gw_report_code_lines(const struct gw_report *report, unsigned width)
{
	const struct gw_log_model *m = &report->model;
	const struct gw_unexplained *u = m->unexplained_count ? next(m, NULL) : NULL;
	unsigned more = 0;
	struct gw_text n;

	for (unsigned i = 0; u; i++, u = next(m, u)) {
		if (i >= SHOWN) {
			more++;
			continue;
		}
		printf("  %s%-*s%s ", gw_ink(stdout, GW_INK_BOLD), REPORT_LABEL - 1,
		       i ? "" : "Code", gw_ink(stdout, GW_INK_OFF));
		sentence(report, u, width);
	}
	if (more)
		printf("%*s%s%s in --json%s\n", INDENT, "", gw_ink(stdout, GW_INK_DIM),
		       gw_counted(&n, more, "more reason", NULL), gw_ink(stdout, GW_INK_OFF));
}

static json_t *reason_json(const struct gw_unexplained *u)
{
	json_t *o = json_object();

	gw_set_text(o, "outcome", gw_analysis_end_name(u->end));
	gw_set_text(o, "meaning", gw_analysis_end_meaning(u->end));
	gw_set_text(o, "reason", u->text);
	return o;
}

json_t *gw_report_codes_json(const struct gw_log_model *m)
{
	json_t *list = json_array();

	for (const struct gw_unexplained *u = m->unexplained_count ? next(m, NULL) : NULL; u;
	     u = next(m, u)) {
		json_t *o = reason_json(u);

		json_object_set_new(o, "configurations",
				    u->end == GW_ANALYSIS_OFF ? json_null()
							      : gw_json_count(u->configs));
		gw_set_count(o, "launches", u->launches);
		json_object_set_new(o, "name",
				    u->end == GW_ANALYSIS_OFF
					    ? json_null()
					    : gw_json_text(m->names[u->name].plain));
		json_array_append_new(list, o);
	}
	return list;
}

json_t *gw_report_code_json(const struct gw_log_model *m, const struct gw_row *row)
{
	json_t *o = json_object();

	gw_set_count(o, "analysed_launches", row->code_analyzed);
	json_object_set_new(o, "reason",
			    row->unexplained_most ? reason_json(&m->unexplained[row->unexplained])
						  : json_null());
	gw_set_count(o, "reason_launches", row->unexplained_most);
	return o;
}
