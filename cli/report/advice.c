#include "cli/report/sections.h"

#include "cli/common/json.h"
#include "cli/common/number.h"
#include "cli/log/verdict.h"
#include "cli/report/line.h"

#include <string.h>

static const char no_profile[] = "no device profile";
static const double WORTH_A_LINE = 0.05; /* of GPU time */

const char *gw_unjudged_words(const char *why)
{
	static const struct {
		const char *part, *words;
	} known[] = {
		{"traffic to device memory", "memory traffic not measured"},
		{"instructions issued", "instruction count not measured"},
		{"nothing is known of its work", "work not measured"},
		{no_profile, "no device profile in the log"},
	};

	for (size_t i = 0; why && i < sizeof(known) / sizeof(*known); i++)
		if (strstr(why, known[i].part))
			return known[i].words;
	return why ? why : "nothing was measured";
}

static double measured_time(const struct gw_row_bound *b)
{
	double all = 0;

	for (unsigned i = 0; b && i <= GW_BOUND_LAUNCH; i++)
		all += b->time[i];
	return all;
}

/* Whether a log says why it has no counters; a reason that names the end of the program is none. */
static bool counters_refused(const struct gw_log_model *m)
{
	for (size_t i = 0; i < m->reason_count; i++)
		if (m->reasons[i].code == GW_DEGRADED_COUNTERS &&
		    !strstr(m->reasons[i].text, "the program ended"))
			return true;
	return false;
}

static const char *advice(const struct gw_log_model *m)
{
	const char *why = gw_bound_unjudged(m->all.bound);

	if (why && strstr(why, no_profile))
		return "gpuwatch calibrate measures the peaks of this GPU";
	if (counters_refused(m))
		return "sampled counters would help: Degraded says why there are none, or few";
	if (!m->counters[GW_COUNTER_pm_windows])
		return "a run of some seconds in mode audit has sampled counters";
	return "a longer run: counters had not reached these kernels when it ended";
}

void gw_report_advice_line(const struct gw_log_model *m, unsigned width)
{
	const struct gw_row_bound *b = m->all.bound;
	struct report_line line;

	if (!b || !(b->time[GW_BOUND_UNKNOWN] >= WORTH_A_LINE * measured_time(b)) ||
	    !(b->time[GW_BOUND_UNKNOWN] > 0))
		return;
	line = report_begin("Advice", width);
	line.brief = true;
	report_part(&line, GW_INK_OFF, "%s", advice(m));
	report_finish(&line, "");
}

/* Their places in `unjudged`, most time first; how many there are. */
static unsigned in_order(const struct gw_row_bound *b, unsigned place[GW_UNJUDGED])
{
	unsigned count = 0;

	for (unsigned i = 0; i < GW_UNJUDGED && b->unjudged[i].why; i++) {
		unsigned at = count++;

		for (; at && b->unjudged[place[at - 1]].time < b->unjudged[i].time; at--)
			place[at] = place[at - 1];
		place[at] = i;
	}
	return count;
}

void gw_report_verdict_details(const struct gw_log_model *m, unsigned width)
{
	const struct gw_row_bound *b = m->all.bound;
	const double all = measured_time(b);
	unsigned place[GW_UNJUDGED], count;
	struct report_line line;
	struct gw_text a;

	if (!(all > 0))
		return;
	line = report_begin("Verdicts", width);
	count = in_order(b, place);
	report_part(&line, GW_INK_OFF, "%s of GPU time",
		    gw_percent(&a, (all - b->time[GW_BOUND_UNKNOWN]) / all));
	for (unsigned i = 0; i < count; i++)
		report_part(&line, GW_INK_WARN, "none for %s: %s",
			    gw_percent(&a, b->unjudged[place[i]].time / all),
			    gw_unjudged_words(b->unjudged[place[i]].why));
	report_finish(&line, "");
}

json_t *gw_report_unjudged_json(const struct gw_row_bound *b)
{
	unsigned place[GW_UNJUDGED], count = in_order(b, place);
	json_t *list = json_array();

	for (unsigned i = 0; i < count; i++)
		json_array_append_new(list, json_pack("{s:s,s:o}", "why", b->unjudged[place[i]].why,
						      "seconds",
						      gw_json_number(b->unjudged[place[i]].time)));
	return list;
}
