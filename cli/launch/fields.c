/* One launch: its keys, its kernel, its configuration, its options, its measured times. */
#include "cli/launch/fields.h"

#include <math.h>
#include <stddef.h>
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

static bool read_value(const struct launch_reader *r, const struct json_node *m,
		       const struct launch_member *row, void *at)
{
	switch (row->kind) {
	case LAUNCH_WHOLE:
		return whole(r, m, m->key, row->low, row->high, at);
	case LAUNCH_NUMBER:
		return launch_number(r, m, row->low, row->high, at);
	case LAUNCH_BOOL:
		*(bool *)at = m->boolean;
		return launch_expect(r, m, NODE_BOOL);
	case LAUNCH_TEXT:
		*(const char **)at = m->string;
		return launch_expect(r, m, NODE_STRING);
	case LAUNCH_OTHER:
		return row->read(r, m, at);
	case LAUNCH_LATER:
		break;
	}
	return true;
}

bool launch_members_read(const struct launch_reader *r, const struct json_node *node,
			 const char *where, const struct launch_member *rows, size_t count,
			 void *out)
{
	const char *keys[32];

	if (!launch_expect(r, node, NODE_OBJECT))
		return false;
	for (size_t i = 0; i < count; i++)
		keys[i] = rows[i].key;
	for (struct json_node m = json_first(node); m.value; json_next(&m)) {
		size_t i = 0;

		while (i < count && strcmp(keys[i], m.key) != 0)
			i++;
		if (i == count)
			return launch_unknown_key(r, &m, where, keys, count);
		if (!read_value(r, &m, &rows[i], (char *)out + rows[i].offset))
			return false;
	}
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

/* A name, or an object. */
static bool read_kernel(const struct launch_reader *r, const struct json_node *node, void *at)
{
	static const struct launch_member rows[] = {
#define ROW(field) \
	{#field, LAUNCH_WHOLE, 0, UINT32_MAX - 1.0, offsetof(struct gw_kernel, field), NULL}
		{"name", LAUNCH_TEXT, 0, 0, offsetof(struct gw_kernel, name), NULL},
		ROW(registers),
		ROW(static_shared),
		ROW(local),
		ROW(constant),
		ROW(max_threads),
		ROW(binary_version),
#undef ROW
	};
	struct gw_kernel *kernel = at;

	if (node->kind != NODE_STRING)
		return launch_members_read(r, node, "\"kernel\"", rows, COUNT(rows), kernel);
	kernel->name = node->string;
	return true;
}

static bool read_options(const struct launch_reader *r, const struct json_node *node, void *options)
{
	static const struct launch_member rows[] = {
#define ROW(field, kind, low, high) \
	{#field, LAUNCH_##kind, low, high, offsetof(struct gw_model_options, field), NULL}
		ROW(qrm_factors, WHOLE, 0, 2),
		ROW(qrm_int_as_add, BOOL, 0, 0),
		ROW(qrm_utilisation, BOOL, 0, 0),
		ROW(qrm_e_util, NUMBER, 0, 1e6),
		ROW(utilisation, NUMBER, 0, 1),
		ROW(given_ops, NUMBER, 0, 1e30),
		ROW(given_ops_rate, NUMBER, 0, 1e30),
		ROW(given_ops_inst, NUMBER, 0, 1e30),
		ROW(given_traffic, NUMBER, 0, 1e30),
		ROW(l1_hit, NUMBER, 0, 1),
		ROW(l2_hit, NUMBER, 0, 1),
#undef ROW
	};

	return launch_members_read(r, node, "\"options\"", rows, COUNT(rows), options);
}

/* {"GTX-480": 21.456e-3, ...}: seconds by device */
static bool read_measured(const struct launch_reader *r, const struct json_node *node, void *at)
{
	struct launch_case *out = at;

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

static bool read_grid(const struct launch_reader *r, const struct json_node *m, void *grid)
{
	return extent(r, m, 2147483647, 65535, grid);
}

static bool read_block(const struct launch_reader *r, const struct json_node *m, void *block)
{
	return small_extent(r, m, 1024, block);
}

static bool read_cluster(const struct launch_reader *r, const struct json_node *m, void *cluster)
{
	return small_extent(r, m, 32, cluster);
}

static bool read_intervals(const struct launch_reader *r, const struct json_node *m, void *out)
{
	return launch_intervals_read(r, m, out);
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

static const struct launch_member launch_rows[] = {
#define AT(field) offsetof(struct launch_case, field)
	{"name", LAUNCH_TEXT, 0, 0, AT(label), NULL},
	{"kernel", LAUNCH_OTHER, 0, 0, AT(kernel), read_kernel},
	{"grid", LAUNCH_OTHER, 0, 0, AT(config.grid), read_grid},
	{"block", LAUNCH_OTHER, 0, 0, AT(config.block), read_block},
	{"cluster", LAUNCH_OTHER, 0, 0, AT(config.cluster), read_cluster},
	{"dynamic_shared", LAUNCH_WHOLE, 0, UINT32_MAX, AT(config.dynamic_shared), NULL},
	{"from_graph", LAUNCH_BOOL, 0, 0, AT(from_graph), NULL},
	{"options", LAUNCH_OTHER, 0, 0, AT(options), read_options},
	{"measured", LAUNCH_OTHER, 0, 0, 0, read_measured},
	{"intervals", LAUNCH_OTHER, 0, 0, 0, read_intervals},
	{"iterations", LAUNCH_LATER, 0, 0, 0, NULL},
	{"work", LAUNCH_LATER, 0, 0, 0, NULL},
	{"parameters", LAUNCH_LATER, 0, 0, 0, NULL},
#undef AT
};

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
	if (!launch_members_read(r, node, "a launch", launch_rows, COUNT(launch_rows), out) ||
	    !read_work(r, node, out) || !check_config(r, node, out))
		return false;
	if (!out->label)
		out->label = out->kernel.name;
	if (!out->label)
		return launch_fail(r, node, "a launch needs a \"name\" or a \"kernel\"");
	if (!out->kernel.name)
		out->kernel.name = out->label;
	return true;
}
