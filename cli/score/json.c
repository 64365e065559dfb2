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

	gw_set_text(o, "model", s->names[model]);
	gw_set_text(o, "basis", or_all(gw_basis_name(tier), tier, SCORE_TIERS));
	gw_set_text(o, "work", or_all(gw_work_basis_name(work), work, SCORE_SOURCES));
	gw_set_text(o, "length", score_length_name((enum score_length)length));
	gw_set_count(o, "count", c->count);
	gw_set_count(o, "answered", c->answered);
	gw_set_number(o, "mape", score_mape(c));
	gw_set_number(o, "median_error", gw_quantile(&c->error, 0.5));
	gw_set_number(o, "factor", score_ratio(c));
	gw_set_number(o, "bias", score_bias(c));
	gw_set_number(o, "within_10", score_share(c, c->within10));
	gw_set_number(o, "within_25", score_share(c, c->within25));
	gw_set_number(o, "within_2x", score_share(c, c->within2x));
	gw_set_count(o, "intervals", c->intervals);
	gw_set_number(o, "coverage", score_coverage(c));
	gw_set_number(o, "width", gw_quantile(&c->width, 0.5));
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
			gw_set_number(factors, s->names[m], k->ratio[m]);
		gw_set_text(o, "log", s->traces[k->trace].path);
		gw_set_text(o, "kernel", s->traces[k->trace].log.names[k->kernel].plain);
		gw_set_count(o, "launches", k->count);
		gw_set_number(o, "seconds", k->time);
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
			gw_set_number(predicted, s->names[m],
				      u->answers[m] ? exp(u->log_sum[m] / (double)u->answers[m])
						    : NAN);
		gw_set_text(o, "log", t->path);
		gw_set_text(o, "kernel", t->log.names[c->kernel].plain);
		json_object_set_new(o, "grid", extent(config->grid));
		json_object_set_new(o, "block", extent(config->block));
		gw_set_count(o, "dynamic_shared", config->dynamic_shared);
		if (config->digest)
			json_object_set_new(o, "arguments", json_sprintf("%08x", config->digest));
		gw_set_text(o, "basis", gw_basis_name((enum gw_tier)u->tier));
		gw_set_text(o, "work", gw_work_basis_name((enum gw_source)u->work));
		gw_set_count(o, "launches", u->count);
		gw_set_number(o, "measured", gw_quantile(&u->time, 0.5));
		gw_set_count(o, "intervals", u->intervals);
		gw_set_count(o, "covered", u->covered);
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
		gw_set_text(o, "notice", GW_STAND_IN_NOTICE);
	gw_set_text(o, "schema", "gpuwatch-score-2");
	gw_set_bool(o, "stand_in", about->stand_in);
	gw_set_text(o, "how", about->how);
	gw_set_text(o, "by", s->by_config ? "configuration" : "launch");
	gw_set_count(o, "count", all->count);
	for (size_t i = 0; i < about->missing_count; i++)
		json_array_append_new(missing, gw_json_text(about->missing[i]));
	json_object_set_new(o, "missing", missing);
	for (size_t m = 1; m < s->model_count; m++)
		if (*s->reason[m])
			gw_set_text(reasons, s->names[m], s->reason[m]);
	json_object_set_new(o, "unanswered", reasons);
	json_object_set_new(o, "groups", groups(s));
	json_object_set_new(o, "kernels", kernels(s));
	json_object_set_new(o, "configurations", units(s));
	return o;
}
