/* SPDX-License-Identifier: Apache-2.0 */
/* A score for programs (docs/user/json-schema.md). */
#include "cli/common/basis.h"
#include "cli/common/json.h"
#include "cli/report/report.h"
#include "cli/score/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *or_all(const char *name, unsigned index, unsigned all)
{
	return index == all ? "all" : name;
}

static json_t *cell_json(const struct score *s, size_t model, unsigned tier, unsigned work,
			 unsigned length, struct score_cell *c)
{
	json_t *o = json_object();

	json_object_set_new(o, "model", gw_json_text(s->names[model]));
	json_object_set_new(o, "basis",
			    json_string(or_all(gw_basis_name(tier), tier, SCORE_TIERS)));
	json_object_set_new(o, "work",
			    json_string(or_all(gw_work_basis_name(work), work, SCORE_SOURCES)));
	json_object_set_new(o, "length", json_string(score_length_name((enum score_length)length)));
	json_object_set_new(o, "count", gw_json_count(c->count));
	json_object_set_new(o, "answered", gw_json_count(c->answered));
	json_object_set_new(o, "mape", gw_json_number(score_mape(c)));
	json_object_set_new(o, "median_error", gw_json_number(gw_quantile(&c->error, 0.5)));
	json_object_set_new(o, "factor", gw_json_number(score_ratio(c)));
	json_object_set_new(o, "bias", gw_json_number(score_bias(c)));
	json_object_set_new(o, "within_10", gw_json_number(score_share(c, c->within10)));
	json_object_set_new(o, "within_25", gw_json_number(score_share(c, c->within25)));
	json_object_set_new(o, "within_2x", gw_json_number(score_share(c, c->within2x)));
	json_object_set_new(o, "intervals", gw_json_count(c->intervals));
	json_object_set_new(o, "coverage", gw_json_number(score_coverage(c)));
	json_object_set_new(o, "width", gw_json_number(gw_quantile(&c->width, 0.5)));
	return o;
}

static json_t *groups(struct score *s)
{
	json_t *list = json_array();

	for (size_t m = 0; m < s->model_count; m++)
		for (unsigned t = 0; t <= SCORE_TIERS; t++)
			for (unsigned w = 0; w <= SCORE_SOURCES; w++)
				for (unsigned l = 0; l <= SCORE_LENGTHS; l++) {
					struct score_cell *c = &s->cells[m][t][w][l];

					if (c->count)
						json_array_append_new(list,
								      cell_json(s, m, t, w, l, c));
				}
	return list;
}

static json_t *kernels(struct score *s)
{
	struct score_kernel *all;
	size_t count = score_kernels(s, &all);
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		const struct score_kernel *k = &all[i];
		json_t *o = json_object(), *factors = json_object();

		for (size_t m = 0; m < s->model_count; m++)
			json_object_set_new(factors, s->names[m], gw_json_number(k->ratio[m]));
		json_object_set_new(o, "log", gw_json_text(s->traces[k->trace].path));
		json_object_set_new(o, "kernel",
				    gw_json_text(s->traces[k->trace].log.names[k->kernel].plain));
		json_object_set_new(o, "launches", gw_json_count(k->count));
		json_object_set_new(o, "seconds", gw_json_number(k->time));
		json_object_set_new(o, "best",
				    k->best ? gw_json_text(s->names[k->best]) : json_null());
		json_object_set_new(o, "factors", factors);
		json_array_append_new(list, o);
	}
	free(all);
	return list;
}

static json_t *extent(struct gw_dim3 d)
{
	return json_pack("[I,I,I]", (json_int_t)d.x, (json_int_t)d.y, (json_int_t)d.z);
}

static json_t *units(struct score *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->unit_count; i++) {
		struct score_unit *u = &s->units[i];
		const struct trace *t = &s->traces[u->trace];
		const struct log_config *c = &t->log.configs[u->config];
		const struct gw_config *config = &c->config;
		json_t *o = json_object(), *predicted = json_object();

		for (size_t m = 0; m < s->model_count; m++)
			json_object_set_new(
				predicted, s->names[m],
				gw_json_number(u->answers[m]
						       ? exp(u->log_sum[m] / (double)u->answers[m])
						       : NAN));
		json_object_set_new(o, "log", gw_json_text(t->path));
		json_object_set_new(o, "kernel", gw_json_text(t->log.names[c->kernel].plain));
		json_object_set_new(o, "grid", extent(config->grid));
		json_object_set_new(o, "block", extent(config->block));
		json_object_set_new(o, "dynamic_shared", gw_json_count(config->dynamic_shared));
		if (config->digest)
			json_object_set_new(o, "arguments", json_sprintf("%08x", config->digest));
		json_object_set_new(o, "basis", json_string(gw_basis_name((enum gw_tier)u->tier)));
		json_object_set_new(o, "work",
				    json_string(gw_work_basis_name((enum gw_source)u->work)));
		json_object_set_new(o, "launches", gw_json_count(u->count));
		json_object_set_new(o, "measured", gw_json_number(gw_quantile(&u->time, 0.5)));
		json_object_set_new(o, "intervals", gw_json_count(u->intervals));
		json_object_set_new(o, "covered", gw_json_count(u->covered));
		json_object_set_new(o, "predicted", predicted);
		json_array_append_new(list, o);
	}
	return list;
}

json_t *score_json(struct score *s, const struct score_about *about)
{
	const struct score_cell *all =
		&s->cells[SCORE_OURS][SCORE_TIERS][SCORE_SOURCES][SCORE_LENGTHS];
	json_t *o = json_object(), *missing = json_array(), *reasons = json_object();

	if (about->stand_in)
		json_object_set_new(o, "notice", json_string(GW_STAND_IN_NOTICE));
	json_object_set_new(o, "schema", json_string("gpuwatch-score-2"));
	json_object_set_new(o, "stand_in", json_boolean(about->stand_in));
	json_object_set_new(o, "how", gw_json_text(about->how));
	json_object_set_new(o, "by", json_string(s->by_config ? "configuration" : "launch"));
	json_object_set_new(o, "count", gw_json_count(all->count));
	for (size_t i = 0; i < about->missing_count; i++)
		json_array_append_new(missing, gw_json_text(about->missing[i]));
	json_object_set_new(o, "missing", missing);
	for (size_t m = 1; m < s->model_count; m++)
		if (*s->reason[m])
			json_object_set_new(reasons, s->names[m], gw_json_text(s->reason[m]));
	json_object_set_new(o, "unanswered", reasons);
	json_object_set_new(o, "groups", groups(s));
	json_object_set_new(o, "kernels", kernels(s));
	json_object_set_new(o, "configurations", units(s));
	return o;
}
