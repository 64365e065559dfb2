/* Differences as JSON: raw nanoseconds, ratios above 1 for slower; null for unknown. */
#include "cli/diff/runs.h"

#include "cli/common/json.h"

#include <math.h>

static const char *const verdicts[DIFF_VERDICTS] = {"same", "slower", "faster", "few_times",
						    "new",  "gone",   "renamed"};

static json_t *run_json(struct diff_run *r)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:b,s:b,s:b}", "path", gw_json_text(r->path),
			 "logs", gw_json_count(r->logs), "launches", gw_json_count(r->launches),
			 "gpu_time_ns", gw_json_number(r->total), "span_ns",
			 gw_json_number(r->to > r->from ? r->to - r->from : NAN), "gpu",
			 r->gpu ? gw_json_text(r->gpu) : json_null(), "sm_clock_khz",
			 gw_json_number(diff_clock(r)), "stand_in", r->stand_in, "incomplete",
			 r->incomplete, "sums", r->sums);
}

static json_t *side_json(const struct diff_side *s)
{
	return json_pack("{s:o,s:o,s:o,s:o}", "launches", gw_json_count(s->launches), "measured",
			 gw_json_count(s->measured), "times", gw_json_count(s->count), "total_ns",
			 gw_json_number(s->total));
}

static json_t *shift_json(const struct shift *s)
{
	return json_pack("{s:o,s:o,s:o}", "ratio", gw_json_number(s->ratio), "low",
			 gw_json_number(s->low), "high", gw_json_number(s->high));
}

static json_t *dim3_json(struct gw_dim3 d)
{
	return json_pack("[I,I,I]", (json_int_t)d.x, (json_int_t)d.y, (json_int_t)d.z);
}

static json_t *row_json(const struct diff_row *r, bool predicted)
{
	const enum diff_code code = diff_code(r);
	json_t *o = json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:o,s:s,s:b,s:o,s:o,s:o}", "name",
			      gw_json_text(r->plain), "mangled", gw_json_text(r->mangled), "was",
			      r->was ? gw_json_text(r->was) : json_null(), "grid",
			      dim3_json(r->config.grid), "block", dim3_json(r->config.block),
			      "cluster", dim3_json(r->config.cluster), "dynamic_shared",
			      gw_json_count(r->config.dynamic_shared), "argument_hash",
			      (json_int_t)r->config.digest, "base", side_json(&r->side[BASE]),
			      "verdict", verdicts[r->verdict], "regression", r->regression,
			      "gain_ns", gw_json_number(diff_gain(r)), "p",
			      gw_json_number(r->shift.p), "time", shift_json(&r->shift));

	if (!predicted && code != DIFF_CODE_UNKNOWN)
		gw_set_bool(o, "code_changed", code == DIFF_CODE_CHANGED);
	else if (!predicted)
		json_object_set_new(o, "code_changed", json_null());
	if (predicted) {
		const double ns = r->side[BASE].predicted;

		gw_set_number(o, "predicted_ns", ns > 0 ? ns : NAN);
	} else {
		json_object_set_new(o, "other", side_json(&r->side[OTHER]));
		json_object_set_new(o, "cycles", shift_json(&r->cycles));
	}
	return o;
}

void diff_json(struct diff *d, const struct diff_rule *rule)
{
	bool predicted = !d->run[OTHER].path;
	json_t *rows = json_array(), *o;

	for (size_t i = 0; i < d->count; i++)
		json_array_append_new(rows, row_json(&d->rows[i], predicted));
	o = json_pack("{s:i,s:o,s:o,s:f,s:f,s:f,s:o}", "schema", 1, "base", run_json(&d->run[BASE]),
		      "other", predicted ? json_null() : run_json(&d->run[OTHER]), "fail_on",
		      rule->fail, "min_share", rule->share, "false_share", rule->rate, "rows",
		      rows);
	gw_json_print(o);
}
