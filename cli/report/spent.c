#include "cli/report/sections.h"

#include "cli/common/json.h"
#include "cli/common/number.h"
#include "cli/report/line.h"

#include <math.h>

static const double LEAST = 0.005; /* of the time: less is in the details alone */

static const char *const directions[] = {
#define DIRECTION(NAME, name, meaning) name,
#include "predictor/log/value.def"
};
static const char *const wait_calls[] = {
#define WAIT_CALL(NAME, name, meaning) name,
#include "predictor/log/value.def"
};

static void add(struct log_spent *all, const struct log_spent *s)
{
	if (!s->recorded)
		return;
	all->copies = s->copies && (all->copies || !all->recorded);
	all->recorded = true;
	for (unsigned i = 0; i < LOG_SPENT_ROWS; i++)
		all->ns[i] += s->ns[i];
}

/* Rows with most time first. */
static void in_order(const struct log_spent *s, enum log_spent_row order[LOG_SPENT_ROWS])
{
	for (unsigned i = 0; i < LOG_SPENT_ROWS; i++) {
		unsigned at = i;

		for (; at && s->ns[order[at - 1]] < s->ns[i]; at--)
			order[at] = order[at - 1];
		order[at] = (enum log_spent_row)i;
	}
}

static void no_copies(struct report_line *line, const struct log_spent *s)
{
	if (!s->copies)
		report_part(line, GW_INK_WARN, "copies are not recorded (GPUWATCH_COUNTERS=off)");
}

bool gw_report_spent_line(const struct gw_log_model *m, unsigned width)
{
	enum log_spent_row order[LOG_SPENT_ROWS];
	struct log_spent all = {0};
	struct report_line line;
	double wall, idle = 0;
	struct gw_text a, b;

	for (size_t i = 0; i < m->gpu_count; i++)
		add(&all, &m->gpus[i].gaps.spent);
	wall = log_spent_wall(&all);
	if (!all.recorded || !(wall > 0))
		return false;
	for (unsigned i = 0; i < LOG_SPENT_ROWS; i++)
		idle += log_spent_idle((enum log_spent_row)i) ? all.ns[i] : 0;
	in_order(&all, order);
	line = report_begin("GPU idle", width);
	line.brief = true;
	report_part(&line, GW_INK_OFF, "%s of %s", gw_percent(&a, idle / wall),
		    gw_duration(&b, wall));
	for (unsigned i = 0; i < LOG_SPENT_ROWS; i++)
		if (order[i] != LOG_SPENT_KERNELS && all.ns[order[i]] >= LEAST * wall)
			report_part(&line, GW_INK_OFF, "%s %s", log_spent_name(order[i]),
				    gw_percent(&a, all.ns[order[i]] / wall));
	no_copies(&line, &all);
	report_finish(&line, "");
	return true;
}

static void rows(struct report_line *line, const struct log_spent *s, double wall)
{
	enum log_spent_row order[LOG_SPENT_ROWS];
	struct gw_text a, b;

	in_order(s, order);
	for (unsigned i = 0; i < LOG_SPENT_ROWS && s->ns[order[i]] > 0; i++)
		report_part(line, GW_INK_OFF, "%s %s (%s)", log_spent_name(order[i]),
			    gw_percent(&a, s->ns[order[i]] / wall),
			    gw_duration(&b, s->ns[order[i]]));
	no_copies(line, s);
}

static void copies(struct report_line *line, const struct log_spent *s)
{
	struct gw_text a, b, c;

	report_break(line);
	for (unsigned i = 0; i < GW_DIRECTIONS; i++)
		if (s->copy_count[i])
			report_part(line, GW_INK_DIM, "%s %s, beside kernels too: %s, %s",
				    gw_thousands(&a, (double)s->copy_count[i]), directions[i],
				    gw_duration(&b, s->copy_ns[i]), gw_bytes(&c, s->copy_bytes[i]));
	for (unsigned i = 0; i < GW_WAIT_CALLS; i++)
		if (s->waits[i])
			report_part(line, GW_INK_DIM, "%s in %s",
				    gw_counted(&a, (double)s->waits[i], "gap", NULL), wait_calls[i]);
}

void gw_report_spent_details(const struct gw_log_model *m, unsigned width)
{
	for (size_t i = 0; i < m->gpu_count; i++) {
		const struct log_spent *s = &m->gpus[i].gaps.spent;
		double wall = log_spent_wall(s);
		struct report_line line;
		struct gw_text a;

		if (!s->recorded || !(wall > 0))
			continue;
		line = report_begin("GPU time", width);
		if (m->gpu_count > 1)
			report_part(&line, GW_INK_OFF, "%u", m->gpus[i].record.ordinal);
		report_part(&line, GW_INK_OFF, "of %s", gw_duration(&a, wall));
		rows(&line, s, wall);
		copies(&line, s);
		report_finish(&line, "");
	}
}

json_t *gw_report_spent_json(const struct log_spent *s)
{
	json_t *o, *list = json_array(), *copies = json_object(), *waits = json_object();
	double wall = log_spent_wall(s);

	if (!s->recorded || !(wall > 0)) {
		json_decref(list);
		json_decref(copies);
		json_decref(waits);
		return json_null();
	}
	for (unsigned i = 0; i < LOG_SPENT_ROWS; i++)
		json_array_append_new(
			list, json_pack("{s:s,s:s,s:s,s:b,s:o,s:o}", "key",
					log_spent_key((enum log_spent_row)i), "name",
					log_spent_name((enum log_spent_row)i), "meaning",
					log_spent_meaning((enum log_spent_row)i), "idle",
					log_spent_idle((enum log_spent_row)i), "ns",
					gw_json_number(s->ns[i]), "share",
					gw_json_number(s->ns[i] / wall)));
	for (unsigned i = 0; i < GW_DIRECTIONS; i++)
		json_object_set_new(copies, directions[i],
				    json_pack("{s:o,s:o,s:o}", "count",
					      gw_json_count(s->copy_count[i]), "ns",
					      gw_json_number(s->copy_ns[i]), "bytes",
					      gw_json_number(s->copy_bytes[i])));
	for (unsigned i = 0; i < GW_WAIT_CALLS; i++)
		gw_set_count(waits, wait_calls[i], s->waits[i]);
	o = json_object();
	gw_set_number(o, "wall_ns", wall);
	gw_set_bool(o, "copies_recorded", s->copies);
	json_object_set_new(o, "rows", list);
	json_object_set_new(o, "copies", copies);
	json_object_set_new(o, "gaps_in_waits", waits);
	return o;
}
