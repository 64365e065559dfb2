/* gpuwatch calibrate --html: a profile, perhaps against another, as a page for a browser. */

#include "cli/calibrate/calibrate.h"
#include "cli/common/json.h"
#include "cli/html/page.h"

#include <math.h>
#include <stdlib.h>

static json_t *param_json(const struct gw_profile *p, unsigned i)
{
	const struct gw_profile_value *v = &p->device.param[i];

	return json_pack("{s:o,s:o,s:o,s:o}", "value",
			 v->method ? gw_json_number(v->value) : json_null(), "spread",
			 gw_json_number(v->spread), "method",
			 json_string(v->method ? gw_method_name(v->method) : ""), "how",
			 gw_json_text(*p->how[i] ? p->how[i] : p->source[i]));
}

/* Those that one of the profiles knows, or says why not. */
static json_t *params_json(const struct gw_profile *const *profiles, size_t count)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < GW_PARAMS; i++) {
		json_t *values = json_array();
		bool any = false;

		for (size_t k = 0; k < count; k++) {
			any |= profiles[k]->device.param[i].method || *profiles[k]->how[i];
			json_array_append_new(values, param_json(profiles[k], i));
		}
		if (any)
			json_array_append_new(list, json_pack("{s:s,s:s,s:o}", "name",
							      gw_param_info(i).name, "unit",
							      gw_param_info(i).unit, "values",
							      json_incref(values)));
		json_decref(values);
	}
	return list;
}

static json_t *numbers(const double *values, uint32_t count)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(list, gw_json_number(values[i]));
	return list;
}

static json_t *profile_json(const struct gw_profile *p)
{
	double measured = calibrate_bandwidth(&p->device);
	json_t *curves = json_object();

	for (unsigned i = 0; i < GW_CURVES; i++) {
		const struct gw_curve *c = &p->device.curve[i];

		if (c->count)
			json_object_set_new(curves, gw_curve_info(i).name,
					    json_pack("[o,o]", numbers(c->x, c->count),
						      numbers(c->y, c->count)));
	}
	return json_pack("{s:o,s:o,s:o,s:b}", "name", gw_json_text(p->device.name), "curves",
			 curves, "bandwidth",
			 gw_json_number(isfinite(measured)
						? measured
						: gw_param(&p->device, GW_PARAM_b_mem_spec)),
			 "measured", isfinite(measured));
}

bool calibrate_html(const struct gw_profile *const *profiles, size_t count, const char *path)
{
	json_t *list = json_array(), *data;
	char *text;
	bool good;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, profile_json(profiles[i]));
	data = json_pack("{s:s,s:[],s:[],s:o,s:o,s:o,s:o}", "schema", "gpuwatch-profile-html-1",
			 "columns", "kernels", "profiles", list, "params",
			 params_json(profiles, count), "pictures", calibrate_pictures_json(),
			 "sweeps", calibrate_sweeps_json());
	text = json_dumps(data, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12));
	json_decref(data);
	good = text && html_write_data("profile", text, path);
	free(text);
	return good;
}
