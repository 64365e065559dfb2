/* The work of a described launch: by work.def's names, by Konstantinidis's metrics or by its
 * parameters. */
#include "cli/launch/fields.h"

#include "predictor/models/papers/qrm.h"

#include <math.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* The metrics of Konstantinidis 2017 are given per iteration, in the units of its table 4.1. */
static bool find_field(const char *key, double iterations, unsigned *field, double *factor)
{
	for (size_t i = 0; i < GW_MS; i++) {
		if (strcmp(gw_qrm_metrics[i].symbol, key) == 0) {
			*field = gw_qrm_metrics[i].field;
			*factor = gw_qrm_metrics[i].divide * iterations;
			return true;
		}
	}
	*factor = 1;
	for (*field = 0; *field < GW_WORK_FIELDS; ++*field)
		if (strcmp(gw_work_info(*field).name, key) == 0)
			return true;
	return false;
}

static bool unknown_field(const struct launch_reader *r, const struct json_node *m)
{
	const char *known[GW_WORK_FIELDS + GW_MS];

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		known[i] = gw_work_info(i).name;
	for (size_t i = 0; i < GW_MS; i++)
		known[GW_WORK_FIELDS + i] = gw_qrm_metrics[i].symbol;
	return launch_unknown_key(r, m, "\"work\"", known, COUNT(known));
}

static bool read_source(const struct launch_reader *r, const struct json_node *m,
			enum gw_source *source)
{
	static const char *known[GW_SOURCE_COUNTED];

	if (!launch_expect(r, m, NODE_STRING))
		return false;
	for (int s = GW_SOURCE_STATIC; s <= GW_SOURCE_COUNTED; s++) {
		known[s - 1] = gw_source_name((enum gw_source)s);
		if (strcmp(known[s - 1], m->string) == 0) {
			*source = (enum gw_source)s;
			return true;
		}
	}
	return launch_fail(r, m,
			   "\"source\" is \"%.80s\"; it must be \"%s\", \"%s\", \"%s\" or \"%s\"",
			   m->string, known[0], known[1], known[2], known[3]);
}

/* {"value": 1e6, "source": "counted", "confidence": 0.9, "from": "table 4.4"} */
static bool read_details(const struct launch_reader *r, const struct json_node *node,
			 struct json_node *value, struct gw_quantity *q, const char **from)
{
	static const char *const keys[] = {"value", "source", "confidence", "from"};
	double confidence;

	*value = json_member(node, "value");
	if (!value->value)
		return launch_fail(r, node, "\"%s\" has no \"value\"", node->key);
	for (struct json_node m = json_first(node); m.value; json_next(&m)) {
		if (m.key == value->key)
			continue;
		if (strcmp(m.key, "source") == 0) {
			if (!read_source(r, &m, &q->source))
				return false;
		} else if (strcmp(m.key, "confidence") == 0) {
			if (!launch_number(r, &m, 0, 1, &confidence))
				return false;
			q->confidence = (float)confidence;
		} else if (strcmp(m.key, "from") == 0) {
			if (!launch_expect(r, &m, NODE_STRING))
				return false;
			*from = m.string;
		} else {
			return launch_unknown_key(r, &m, "a work field", keys, COUNT(keys));
		}
	}
	return true;
}

static bool read_field(const struct launch_reader *r, const struct json_node *node, unsigned field,
		       double factor, struct launch_case *out)
{
	struct gw_quantity q = {.source = GW_SOURCE_GIVEN, .confidence = 1};
	/* Shares say so in their meaning; everything else is an amount. */
	double high = strstr(gw_work_meaning(field), "0 to 1") ? 1 : 1e24;
	struct json_node value = *node;
	double number;

	if (node->kind == NODE_OBJECT &&
	    !read_details(r, node, &value, &q, &out->field_source[field]))
		return false;
	if (value.kind == NODE_NULL)
		return true; /* stated to be unknown */
	if (!launch_number(r, &value, 0, high, &number))
		return false;
	if (out->work.q[field].source != GW_SOURCE_NONE)
		return launch_fail(r, node, "\"%s\" gives %s a second time", node->key,
				   gw_work_info(field).name);
	q.value = number * factor;
	out->work.q[field] = q;
	return true;
}

bool launch_work_read(const struct launch_reader *r, const struct json_node *node,
		      double iterations, struct launch_case *out)
{
	if (!launch_expect(r, node, NODE_OBJECT))
		return false;
	for (struct json_node m = json_first(node); m.value; json_next(&m)) {
		unsigned field;
		double factor;

		if (!find_field(m.key, iterations, &field, &factor))
			return unknown_field(r, &m);
		if (!read_field(r, &m, field, factor, out))
			return false;
	}
	return true;
}

enum { E_MIX, D_OPS, D_LDST, W_COMP, W_TRAF, PARAMETERS };

static const struct {
	const char *name;
	double high;
} parameter_rows[PARAMETERS] = {
	{"E_mix", 100}, {"D_ops", 100}, {"D_ldst", 100}, {"W_comp", 1e24}, {"W_traf", 1e24},
};

static void give(struct launch_case *out, enum gw_work_field field, double value)
{
	out->work.q[field] =
		(struct gw_quantity){.value = value, .source = GW_SOURCE_GIVEN, .confidence = 1};
}

/* The instructions of K_type; D_ops relates them to all. What K_type rules out is zero
 * (Konstantinidis 2017, 4.2.2). */
static bool give_instructions(struct launch_case *out, const char *type, const double *p)
{
	double fp = p[W_COMP] / (2 * p[E_MIX] / 100), fma = p[W_COMP] - fp, ops;

	if (strcmp(type, "fp32") == 0) {
		give(out, GW_WORK_fp32_inst, ops = fp);
		give(out, GW_WORK_fp32_fma, fma);
	} else if (strcmp(type, "fp64") == 0) {
		give(out, GW_WORK_fp64_inst, ops = fp);
		give(out, GW_WORK_fp64_fma, fma);
	} else if (strcmp(type, "int") == 0) {
		give(out, GW_WORK_int_inst, ops = p[W_COMP]);
		give(out, GW_WORK_fp32_inst, 0);
		give(out, GW_WORK_fp32_fma, 0);
	} else {
		return false;
	}
	if (strcmp(type, "fp64") != 0) {
		give(out, GW_WORK_fp64_inst, 0);
		give(out, GW_WORK_fp64_fma, 0);
	}
	give(out, GW_WORK_inst_executed, ops / (p[D_OPS] / 100) / 32);
	give(out, GW_WORK_ldst_inst, p[D_LDST] / p[D_OPS] * ops);
	return true;
}

static bool read_parameter(const struct launch_reader *r, const struct json_node *m, double *p)
{
	static const char *const keys[] = {"K_type", "W_comp", "W_traf",
					   "E_mix",  "D_ops",  "D_ldst"};

	for (int i = 0; i < PARAMETERS; i++)
		if (strcmp(parameter_rows[i].name, m->key) == 0)
			return launch_number(r, m, i == D_LDST ? 0 : 1e-6, parameter_rows[i].high,
					     &p[i]);
	return strcmp(m->key, "K_type") == 0
		       ? launch_expect(r, m, NODE_STRING)
		       : launch_unknown_key(r, m, "\"parameters\"", keys, COUNT(keys));
}

/* The parameters of Konstantinidis's table 4.2, as its table 5.16 prints them: shares in per cent.
 */
bool launch_parameters_read(const struct launch_reader *r, const struct json_node *node,
			    struct launch_case *out)
{
	double p[PARAMETERS] = {NAN, NAN, NAN, NAN, NAN};
	struct json_node type;

	if (!launch_expect(r, node, NODE_OBJECT))
		return false;
	for (struct json_node m = json_first(node); m.value; json_next(&m))
		if (!read_parameter(r, &m, p))
			return false;
	for (int i = 0; i < PARAMETERS; i++)
		if (isnan(p[i]))
			return launch_fail(r, node, "\"parameters\" lacks \"%s\"",
					   parameter_rows[i].name);
	type = json_member(node, "K_type");
	if (!type.value)
		return launch_fail(r, node, "\"parameters\" lacks \"K_type\"");
	if (p[E_MIX] < 50)
		return launch_fail(r, node, "\"E_mix\" is %g; it lies between 50 and 100",
				   p[E_MIX]);
	if (p[D_OPS] + p[D_LDST] > 100.011) /* two figures rounded to 0.01 each */
		return launch_fail(r, node, "\"D_ops\" and \"D_ldst\" add up to %g, more than 100",
				   p[D_OPS] + p[D_LDST]);
	if (!give_instructions(out, type.string, p))
		return launch_fail(
			r, &type,
			"\"K_type\" is \"%.80s\"; it must be \"fp32\", \"fp64\" or \"int\"",
			type.string);
	/* Read and written bytes are not separated here, so their rows stay unknown. */
	out->options.given_traffic = p[W_TRAF];
	return true;
}
