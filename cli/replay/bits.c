#include "cli/replay/replay.h"

#include "cli/common/basis.h"
#include "cli/common/json.h"
#include "cli/common/number.h"
#include "cli/message.h"
#include "cli/report/line.h"
#include "cli/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *tier_of(const struct trace_launch *l)
{
	return gw_basis_name((enum gw_tier)l->tier);
}

static const char *work_of(const struct trace_launch *l)
{
	return gw_work_basis_name((enum gw_source)l->work);
}

static void tell_side(const char *label, const struct trace_launch *l)
{
	struct gw_text a, b, c;

	if (isnan(l->predicted))
		printf("    %s nothing\n", label);
	else
		report_sentence(4, "%s %s [%s, %s], %s, work %s", label,
				gw_duration(&a, (double)l->predicted),
				gw_duration(&b, (double)l->low), gw_duration(&c, (double)l->high),
				tier_of(l), work_of(l));
}

/* What can differ too little to be seen in three digits. */
static void tell_what_differs(const struct trace_launch *log, const struct trace_launch *now)
{
	const struct {
		const char *what;
		bool differs;
	} parts[] = {
		{"time", log->predicted != now->predicted},
		{"interval", log->low != now->low || log->high != now->high},
		{"what was known of its time", log->tier != now->tier},
		{"what was known of its work", log->work != now->work},
	};
	const char *before = "    differs in ";

	for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i].differs) {
			printf("%s%s", before, parts[i].what);
			before = ", ";
		}
	putchar('\n');
}

static void tell_first(const struct trace *t, const struct replay_result *r)
{
	const struct trace_launch *l = &t->launches[r->first - 1];
	const struct gw_config *c = &t->log.configs[l->config].config;
	struct gw_text number, known;
	char name[1024], *fitted;

	gw_printable(name, sizeof(name), t->log.names[t->log.configs[l->config].kernel].plain);
	fitted = gw_shorten(name, gw_width() - 4);
	report_sentence(2, "the first that differs: launch %s of the log, called after %s and %s",
			gw_thousands(&number, (double)r->first),
			gw_counted(&known, (double)l->known, "measurement", NULL),
			l->flags & GW_LAUNCH_LATE ? "predicted when the library got to it"
						  : "predicted before");
	printf("    %s\n", fitted);
	report_sentence(4, "grid %ux%ux%u, block %ux%ux%u", c->grid.x, c->grid.y, c->grid.z,
			c->block.x, c->block.y, c->block.z);
	free(fitted);
	tell_side("in the log:", l);
	tell_side("replayed:", &r->now);
	tell_what_differs(l, &r->now);
}

void replay_tell_bits(const struct trace *t, const struct replay_result *r)
{
	struct gw_text a, b, c;
	char build[100], what[250];

	if (!r->logged) {
		printf("%s: no prediction in it to compare with\n", t->path);
		return;
	}
	snprintf(what, sizeof(what), "%s of %s replayed with the same bits%s%s",
		 r->equal == r->logged ? "all" : gw_thousands(&a, (double)r->equal),
		 gw_counted(&b, (double)r->logged, "prediction", NULL),
		 r->extra ? "; launches predicted that the log has nothing for: " : "",
		 r->extra ? gw_thousands(&c, (double)r->extra) : "");
	if (gw_columns(t->path) + gw_columns(what) + 2 <= gw_width()) {
		printf("%s: %s\n", t->path, what);
	} else {
		printf("%s:\n", t->path);
		report_sentence(2, "%s", what);
	}
	if (r->equal < r->logged && *t->log.text[GW_TEXT_build])
		report_sentence(
			2, "it was recorded by build %s; only the same version gives the same bits",
			gw_printable(build, sizeof(build), t->log.text[GW_TEXT_build]));
	if (r->in_step < r->steps)
		report_sentence(2,
				"%s of %s found another number of observations than the log says: "
				"records are lost",
				gw_thousands(&a, (double)(r->steps - r->in_step)),
				gw_counted(&b, (double)r->steps, "publication", NULL));
	if (r->first)
		tell_first(t, r);
}

static json_t *side_json(const struct trace_launch *l)
{
	json_t *o = json_object();

	gw_set_number(o, "seconds", (double)l->predicted * 1e-9);
	gw_set_number(o, "low", (double)l->low * 1e-9);
	gw_set_number(o, "high", (double)l->high * 1e-9);
	gw_set_text(o, "basis", tier_of(l));
	gw_set_text(o, "work", work_of(l));
	return o;
}

static json_t *first_json(const struct trace *t, const struct replay_result *r)
{
	const struct trace_launch *l = &t->launches[r->first - 1];
	json_t *o = json_object();

	gw_set_count(o, "launch", r->first);
	gw_set_text(o, "kernel", t->log.names[t->log.configs[l->config].kernel].plain);
	gw_set_count(o, "known", l->known);
	gw_set_bool(o, "late", l->flags & GW_LAUNCH_LATE);
	json_object_set_new(o, "logged", side_json(l));
	json_object_set_new(o, "replayed", side_json(&r->now));
	return o;
}

json_t *replay_bits_json(const struct trace *t, const struct replay_result *r)
{
	json_t *o = json_object();

	gw_set_text(o, "log", t->path);
	gw_set_count(o, "logged", r->logged);
	gw_set_count(o, "equal", r->equal);
	gw_set_count(o, "extra", r->extra);
	gw_set_count(o, "predicted", r->predicted);
	gw_set_count(o, "publications", r->steps);
	gw_set_count(o, "in_step", r->in_step);
	gw_set_count(o, "folds", r->folds);
	json_object_set_new(o, "first_difference", r->first ? first_json(t, r) : json_null());
	return o;
}
