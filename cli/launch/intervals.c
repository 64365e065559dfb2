/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/launch/file.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/launch/fields.h"
#include "predictor/models/papers/interval.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static const struct {
	const char *key;
	size_t offset;
} rows[] = {
#define ROW(field) \
	{ \
#field, offsetof(struct launch_interval, field) \
	}
	ROW(latency),    ROW(data_bytes), ROW(l2_bytes), ROW(fp_insts),
	ROW(ldst_insts), ROW(times),      ROW(active),
#undef ROW
};

static bool slot(const struct launch_reader *r, const struct json_node *n, uint16_t *out)
{
	double number;

	if (!launch_number(r, n, 1, GW_INTERVAL_SLOTS - 1, &number))
		return false;
	if (number != floor(number))
		return launch_fail(r, n, "a value is named by a whole number, not %g", number);
	*out = (uint16_t)number;
	return true;
}

static bool read_sources(const struct launch_reader *r, const struct json_node *list,
			 struct gw_interval_insn *insn)
{
	unsigned i = 0;

	if (!launch_expect(r, list, NODE_ARRAY))
		return false;
	if (list->count > GW_INTERVAL_SOURCES)
		return launch_fail(r, list, "an instruction has at most %d sources",
				   GW_INTERVAL_SOURCES);
	for (struct json_node n = json_first(list); n.value; json_next(&n))
		if (!slot(r, &n, &insn->source[i++]))
			return false;
	return true;
}

/* {"latency": 400, "occupies": 4, "result": 1, "source": [2]} */
static bool read_insn(const struct launch_reader *r, const struct json_node *node,
		      struct gw_interval_insn *insn)
{
	static const char *const keys[] = {"latency", "occupies", "result", "source"};
	bool ok = launch_expect(r, node, NODE_OBJECT);

	*insn = (struct gw_interval_insn){.latency = 0, .occupies = 1};
	for (struct json_node m = json_first(node); m.value && ok; json_next(&m)) {
		if (strcmp(m.key, "latency") == 0)
			ok = launch_number(r, &m, 0, 1e9, &insn->latency);
		else if (strcmp(m.key, "occupies") == 0)
			ok = launch_number(r, &m, 0, 1e9, &insn->occupies);
		else if (strcmp(m.key, "result") == 0)
			ok = slot(r, &m, &insn->result);
		else if (strcmp(m.key, "source") == 0)
			ok = read_sources(r, &m, insn);
		else
			ok = launch_unknown_key(r, &m, "an instruction", keys, COUNT(keys));
	}
	return ok;
}

static bool read_code(const struct launch_reader *r, const struct json_node *list, double *latency)
{
	struct gw_interval_insn *code;
	size_t n = 0;
	bool ok = true;

	if (!launch_expect(r, list, NODE_ARRAY))
		return false;
	if (list->count == 0 || list->count > 65536)
		return launch_fail(r, list, "\"code\" has %zu instructions; it needs 1 to 65536",
				   list->count);
	code = calloc(list->count, sizeof(*code));
	if (!code)
		return launch_fail(r, list, "out of memory");
	for (struct json_node m = json_first(list); m.value && ok; json_next(&m))
		ok = read_insn(r, &m, &code[n++]);
	if (ok)
		*latency = gw_interval_latency(code, n);
	free(code);
	return ok;
}

static bool read_member(const struct launch_reader *r, const struct json_node *m,
			struct launch_interval *out)
{
	static const char *known[COUNT(rows) + 2] = {"name", "code"};

	if (strcmp(m->key, "name") == 0) {
		if (!launch_expect(r, m, NODE_STRING))
			return false;
		out->name = m->string;
		return true;
	}
	if (strcmp(m->key, "code") == 0)
		return read_code(r, m, &out->latency);
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (strcmp(rows[i].key, m->key) == 0)
			return launch_number(r, m, 0, 1e24,
					     (double *)(void *)((char *)out + rows[i].offset));
		known[i + 2] = rows[i].key;
	}
	return launch_unknown_key(r, m, "an interval", known, COUNT(known));
}

static bool read_interval(const struct launch_reader *r, const struct json_node *node,
			  struct launch_interval *out)
{
	*out = (struct launch_interval){"interval", NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	if (!launch_expect(r, node, NODE_OBJECT))
		return false;
	if (json_member(node, "code").value && json_member(node, "latency").value)
		return launch_fail(r, node, "give \"latency\" or \"code\", not both");
	for (struct json_node m = json_first(node); m.value; json_next(&m))
		if (!read_member(r, &m, out))
			return false;
	if (!(out->latency > 0))
		return launch_fail(r, node,
				   "an interval needs \"latency\" or \"code\", above 0 cycles");
	return true;
}

bool launch_intervals_read(const struct launch_reader *r, const struct json_node *list,
			   struct launch_case *out)
{
	if (!launch_expect(r, list, NODE_ARRAY))
		return false;
	if (list->count > LAUNCH_INTERVALS)
		return launch_fail(r, list, "%zu intervals; the limit is %d", list->count,
				   LAUNCH_INTERVALS);
	out->intervals = calloc(list->count + 1, sizeof(*out->intervals));
	if (!out->intervals)
		return launch_fail(r, list, "out of memory");
	for (struct json_node n = json_first(list); n.value; json_next(&n))
		if (!read_interval(r, &n, &out->intervals[out->interval_count++]))
			return false;
	return true;
}

static void consider(struct interval_answer *out, const char *name, double threads)
{
	if (isnan(threads) || threads >= out->saturating)
		return;
	out->scarcest = name;
	out->saturating = threads;
}

void interval_analyse(const struct launch_interval *interval, const struct gw_device *device,
		      struct interval_answer *out)
{
	double phi = gw_param(device, GW_PARAM_sm_clock), mem = gw_param(device, GW_PARAM_b_mem);
	struct gw_interval_use dram = {interval->data_bytes, 0}, l2 = {interval->l2_bytes, 0};
	/* A multiply-add is two of t_sp's operations, but one instruction. */
	struct gw_interval_use dispatch[] = {
		{interval->fp_insts, gw_param(device, GW_PARAM_t_sp) / 2 / phi},
		{interval->ldst_insts, gw_param(device, GW_PARAM_t_ldst) / phi},
	};

	if (isnan(mem))
		mem = gw_param(device, GW_PARAM_b_mem_spec);
	dram.theta = gw_interval_bytes_per_cycle(mem, phi);
	l2.theta = gw_interval_bytes_per_cycle(gw_param(device, GW_PARAM_b_l2_read), phi);
	*out = (struct interval_answer){
		.dram = gw_interval_threads(interval->latency, &dram, 1),
		.l2 = gw_interval_threads(interval->latency, &l2, 1),
		.dispatch = gw_interval_threads(interval->latency, dispatch, 2),
		.saturating = INFINITY,
	};
	consider(out, "dram", out->dram);
	consider(out, "l2", out->l2);
	consider(out, "dispatch", out->dispatch);
	out->per_sm = out->saturating / gw_param(device, GW_PARAM_sm_count);
	out->seconds = gw_interval_time(interval->times, interval->active, interval->latency,
					out->saturating) /
		       phi;
	/* Without any limit the time would be a guess that nothing saturates. */
	if (!out->scarcest || isnan(interval->active))
		out->seconds = NAN;
}
