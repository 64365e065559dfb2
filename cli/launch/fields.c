/* SPDX-License-Identifier: Apache-2.0 */
/* One launch: its keys, its kernel, its configuration, its options, its measured times. */
#include "cli/launch/fields.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

bool launch_number(const struct launch_reader *r, const struct json_node *node, double low,
		   double high, double *out)
{
	if (!launch_expect(r, node, NODE_NUMBER))
		return false;
	if (node->number < low || node->number > high)
		return launch_fail(r, node, "\"%s\" is %g; it must lie between %g and %g",
				   node->key ? node->key : "value", node->number, low, high);
	*out = node->number;
	return true;
}

static bool whole(const struct launch_reader *r, const struct json_node *node, const char *what,
		  double low, double high, uint32_t *out)
{
	if (node->kind != NODE_NUMBER)
		return launch_fail(r, node, "\"%s\" must be a whole number, not %s", what,
				   json_kind_name(node->kind));
	if (node->number < low || node->number > high || node->number != floor(node->number))
		return launch_fail(
			r, node, "\"%s\" is %.17g; it must be a whole number between %.0f and %.0f",
			what, node->number, low, high);
	*out = (uint32_t)node->number;
	return true;
}

/* 128, [128] or [16, 8, 1] */
static bool extent(const struct launch_reader *r, const struct json_node *node, double high_x,
		   double high_yz, struct gw_dim3 *out)
{
	uint32_t *at[] = {&out->x, &out->y, &out->z};

	*out = (struct gw_dim3){1, 1, 1};
	if (node->kind == NODE_NUMBER)
		return whole(r, node, node->key, 1, high_x, &out->x);
	if (node->kind != NODE_ARRAY || node->count < 1 || node->count > 3)
		return launch_fail(r, node,
				   "\"%s\" must be a number or an array of one to three numbers",
				   node->key);
	for (struct json_node n = json_first(node); n.value; json_next(&n))
		if (!whole(r, &n, node->key, 1, n.index ? high_yz : high_x, at[n.index]))
			return false;
	return true;
}

static bool small_extent(const struct launch_reader *r, const struct json_node *node,
			 uint64_t limit, struct gw_dim3 *out)
{
	if (!extent(r, node, (double)limit, (double)limit, out))
		return false;
	if (gw_dim3_count(*out) > limit)
		return launch_fail(r, node, "\"%s\" holds %llu; no GPU takes more than %llu",
				   node->key, (unsigned long long)gw_dim3_count(*out),
				   (unsigned long long)limit);
	return true;
}

static bool read_kernel(const struct launch_reader *r, const struct json_node *node,
			struct gw_kernel *kernel)
{
	static const struct {
		const char *key;
		size_t offset;
	} rows[] = {
		{"registers", offsetof(struct gw_kernel, registers)},
		{"static_shared", offsetof(struct gw_kernel, static_shared)},
		{"local", offsetof(struct gw_kernel, local)},
		{"constant", offsetof(struct gw_kernel, constant)},
		{"max_threads", offsetof(struct gw_kernel, max_threads)},
		{"binary_version", offsetof(struct gw_kernel, binary_version)},
	};
	static const char *const keys[] = {"name",     "registers",   "static_shared", "local",
					   "constant", "max_threads", "binary_version"};

	if (node->kind == NODE_STRING) {
		kernel->name = node->string;
		return true;
	}
	if (!launch_expect(r, node, NODE_OBJECT))
		return false;
	for (struct json_node m = json_first(node); m.value; json_next(&m)) {
		size_t i = 0;

		if (strcmp(m.key, "name") == 0) {
			if (!launch_expect(r, &m, NODE_STRING))
				return false;
			kernel->name = m.string;
			continue;
		}
		while (i < COUNT(rows) && strcmp(rows[i].key, m.key) != 0)
			i++;
		if (i == COUNT(rows))
			return launch_unknown_key(r, &m, "\"kernel\"", keys, COUNT(keys));
		if (!whole(r, &m, m.key, 0, UINT32_MAX - 1.0,
			   (uint32_t *)((char *)kernel + rows[i].offset)))
			return false;
	}
	return true;
}

enum option_kind { OPTION_UNSIGNED, OPTION_BOOL, OPTION_DOUBLE };

static const struct option_row {
	const char *key;
	enum option_kind kind;
	double low, high;
	size_t offset;
} option_rows[] = {
#define ROW(field, kind, low, high) \
	{ \
#field, kind, low, high, offsetof(struct gw_model_options, field) \
	}
	ROW(qrm_factors, OPTION_UNSIGNED, 0, 2),
	ROW(qrm_int_as_add, OPTION_BOOL, 0, 0),
	ROW(qrm_utilisation, OPTION_BOOL, 0, 0),
	ROW(qrm_e_util, OPTION_DOUBLE, 0, 1e6),
	ROW(utilisation, OPTION_DOUBLE, 0, 1),
	ROW(given_ops, OPTION_DOUBLE, 0, 1e30),
	ROW(given_ops_rate, OPTION_DOUBLE, 0, 1e30),
	ROW(given_ops_inst, OPTION_DOUBLE, 0, 1e30),
	ROW(given_traffic, OPTION_DOUBLE, 0, 1e30),
	ROW(l1_hit, OPTION_DOUBLE, 0, 1),
	ROW(l2_hit, OPTION_DOUBLE, 0, 1),
#undef ROW
};

static bool read_option(const struct launch_reader *r, const struct json_node *m,
			struct gw_model_options *options)
{
	static const char *keys[COUNT(option_rows)];
	const struct option_row *row = option_rows, *end = option_rows + COUNT(option_rows);

	while (row < end && strcmp(row->key, m->key) != 0)
		row++;
	if (row == end) {
		for (size_t i = 0; i < COUNT(option_rows); i++)
			keys[i] = option_rows[i].key;
		return launch_unknown_key(r, m, "\"options\"", keys, COUNT(keys));
	}
	if (row->kind == OPTION_UNSIGNED)
		return whole(r, m, m->key, row->low, row->high,
			     (unsigned *)((char *)options + row->offset));
	if (row->kind == OPTION_DOUBLE)
		return launch_number(r, m, row->low, row->high,
				     (double *)((char *)options + row->offset));
	if (!launch_expect(r, m, NODE_BOOL))
		return false;
	*(bool *)((char *)options + row->offset) = m->boolean;
	return true;
}

static bool read_options(const struct launch_reader *r, const struct json_node *node,
			 struct gw_model_options *options)
{
	if (!launch_expect(r, node, NODE_OBJECT))
		return false;
	for (struct json_node m = json_first(node); m.value; json_next(&m))
		if (!read_option(r, &m, options))
			return false;
	return true;
}

/* {"GTX-480": 21.456e-3, ...}: seconds by device */
static bool read_measured(const struct launch_reader *r, const struct json_node *node,
			  struct launch_case *out)
{
	if (!launch_expect(r, node, NODE_OBJECT))
		return false;
	if (node->count > LAUNCH_FILE_MEASURED)
		return launch_fail(r, node, "%zu measured times; the limit is %d", node->count,
				   LAUNCH_FILE_MEASURED);
	out->measured = calloc(node->count + 1, sizeof(*out->measured));
	if (!out->measured)
		return launch_fail(r, node, "out of memory");
	for (struct json_node m = json_first(node); m.value; json_next(&m)) {
		struct launch_measured *t = &out->measured[out->measured_count++];

		t->device = m.key;
		if (!launch_number(r, &m, 1e-12, 1e12, &t->seconds))
			return false;
	}
	return true;
}

static bool read_label(const struct launch_reader *r, const struct json_node *m,
		       struct launch_case *out)
{
	if (!launch_expect(r, m, NODE_STRING))
		return false;
	out->label = m->string;
	return true;
}

static bool read_grid(const struct launch_reader *r, const struct json_node *m,
		      struct launch_case *out)
{
	return extent(r, m, 2147483647, 65535, &out->config.grid);
}

static bool read_block(const struct launch_reader *r, const struct json_node *m,
		       struct launch_case *out)
{
	return small_extent(r, m, 1024, &out->config.block);
}

static bool read_cluster(const struct launch_reader *r, const struct json_node *m,
			 struct launch_case *out)
{
	return small_extent(r, m, 32, &out->config.cluster);
}

static bool read_dynamic(const struct launch_reader *r, const struct json_node *m,
			 struct launch_case *out)
{
	return whole(r, m, m->key, 0, UINT32_MAX, &out->config.dynamic_shared);
}

static bool read_graph(const struct launch_reader *r, const struct json_node *m,
		       struct launch_case *out)
{
	if (!launch_expect(r, m, NODE_BOOL))
		return false;
	out->from_graph = m->boolean;
	return true;
}

static bool read_kernel_of(const struct launch_reader *r, const struct json_node *m,
			   struct launch_case *out)
{
	return read_kernel(r, m, &out->kernel);
}

static bool read_options_of(const struct launch_reader *r, const struct json_node *m,
			    struct launch_case *out)
{
	return read_options(r, m, &out->options);
}

/* Iterations multiply only what a paper gives per iteration, so they are read before the work. */
static bool read_work(const struct launch_reader *r, const struct json_node *node,
		      struct launch_case *out)
{
	const struct json_node iterations = json_member(node, "iterations");
	const struct json_node parameters = json_member(node, "parameters");
	const struct json_node work = json_member(node, "work");
	double times = 1;

	if (iterations.value && !launch_number(r, &iterations, 1, 1e12, &times))
		return false;
	if (work.value && parameters.value)
		return launch_fail(r, &parameters, "give \"work\" or \"parameters\", not both");
	if (iterations.value && !work.value)
		return launch_fail(
			r, &iterations,
			"\"iterations\" multiplies the M_* metrics of \"work\", which is missing");
	if (work.value)
		return launch_work_read(r, &work, times, out);
	return !parameters.value || launch_parameters_read(r, &parameters, out);
}

static const struct {
	const char *key;
	bool (*read)(const struct launch_reader *r, const struct json_node *m,
		     struct launch_case *out);
} launch_rows[] = {
	{"name", read_label},        {"kernel", read_kernel_of},
	{"grid", read_grid},         {"block", read_block},
	{"cluster", read_cluster},   {"dynamic_shared", read_dynamic},
	{"from_graph", read_graph},  {"options", read_options_of},
	{"measured", read_measured}, {"intervals", launch_intervals_read},
	{"iterations", NULL},        {"work", NULL},
	{"parameters", NULL},
};

static bool read_member(const struct launch_reader *r, const struct json_node *m,
			struct launch_case *out)
{
	static const char *keys[COUNT(launch_rows)];
	size_t i = 0;

	while (i < COUNT(launch_rows) && strcmp(launch_rows[i].key, m->key) != 0)
		i++;
	if (i < COUNT(launch_rows))
		return !launch_rows[i].read || launch_rows[i].read(r, m, out);
	for (i = 0; i < COUNT(launch_rows); i++)
		keys[i] = launch_rows[i].key;
	return launch_unknown_key(r, m, "a launch", keys, COUNT(keys));
}

static bool check_config(const struct launch_reader *r, const struct json_node *node,
			 struct launch_case *out)
{
	bool grid = json_member(node, "grid").value, block = json_member(node, "block").value;

	if (grid != block)
		return launch_fail(r, node, "\"%s\" is given without \"%s\"",
				   grid ? "grid" : "block", grid ? "block" : "grid");
	out->has_config = grid;
	return true;
}

static void defaults(struct launch_case *out)
{
	static const struct gw_dim3 one = {1, 1, 1};

	out->kernel = (struct gw_kernel){NULL,       UINT32_MAX, UINT32_MAX, UINT32_MAX,
					 UINT32_MAX, UINT32_MAX, UINT32_MAX};
	out->config = (struct gw_config){.grid = one, .block = one, .cluster = one};
	out->options.l1_hit = out->options.l2_hit = -1;
	gw_work_clear(&out->work);
}

bool launch_fields_read(const struct launch_reader *r, const struct json_node *node,
			struct launch_case *out)
{
	defaults(out);
	if (!launch_expect(r, node, NODE_OBJECT))
		return false;
	for (struct json_node m = json_first(node); m.value; json_next(&m))
		if (!read_member(r, &m, out))
			return false;
	if (!read_work(r, node, out) || !check_config(r, node, out))
		return false;
	if (!out->label)
		out->label = out->kernel.name;
	if (!out->label)
		return launch_fail(r, node, "a launch needs a \"name\" or a \"kernel\"");
	if (!out->kernel.name)
		out->kernel.name = out->label;
	return true;
}
