#include "cli/launch/file.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/launch/fields.h"
#include "predictor/models/papers/interval.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static bool slot(const struct launch_reader *r, const struct json_node *n, void *out)
{
	double number;

	if (!launch_number(r, n, 1, GW_INTERVAL_SLOTS - 1, &number))
		return false;
	if (number != floor(number))
		return launch_fail(r, n, "a value is named by a whole number, not %g", number);
	*(uint16_t *)out = (uint16_t)number;
	return true;
}

static bool read_sources(const struct launch_reader *r, const struct json_node *list, void *at)
{
	uint16_t *source = at;

	if (!launch_expect(r, list, NODE_ARRAY))
		return false;
	if (list->count > GW_INTERVAL_SOURCES)
		return launch_fail(r, list, "an instruction has at most %d sources",
				   GW_INTERVAL_SOURCES);
	for (struct json_node n = json_first(list); n.value; json_next(&n))
		if (!slot(r, &n, source++))
			return false;
	return true;
}

/* {"latency": 400, "occupies": 4, "result": 1, "source": [2]} */
static const struct launch_member insn_rows[] = {
#define AT(field) offsetof(struct gw_interval_insn, field)
	{"latency", LAUNCH_NUMBER, 0, 1e9, AT(latency), NULL},
	{"occupies", LAUNCH_NUMBER, 0, 1e9, AT(occupies), NULL},
	{"result", LAUNCH_OTHER, 0, 0, AT(result), slot},
	{"source", LAUNCH_OTHER, 0, 0, AT(source), read_sources},
#undef AT
};

static bool read_code(const struct launch_reader *r, const struct json_node *list, void *latency)
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
	for (struct json_node m = json_first(list); m.value && ok; json_next(&m)) {
		code[n].occupies = 1;
		ok = launch_members_read(r, &m, "an instruction", insn_rows, COUNT(insn_rows),
					 &code[n++]);
	}
	if (ok)
		*(double *)latency = gw_interval_latency(code, n);
	free(code);
	return ok;
}

static const struct launch_member interval_rows[] = {
#define AT(field) offsetof(struct launch_interval, field)
#define ROW(field) \
	{ \
#field, LAUNCH_NUMBER, 0, 1e24, AT(field), NULL \
	}
	{"name", LAUNCH_TEXT, 0, 0, AT(name), NULL},
	{"code", LAUNCH_OTHER, 0, 0, AT(latency), read_code},
	ROW(latency),
	ROW(data_bytes),
	ROW(l2_bytes),
	ROW(fp_insts),
	ROW(ldst_insts),
	ROW(times),
	ROW(active),
#undef ROW
#undef AT
};

static bool read_interval(const struct launch_reader *r, const struct json_node *node,
			  struct launch_interval *out)
{
	*out = (struct launch_interval){"interval", NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	if (!launch_expect(r, node, NODE_OBJECT))
		return false;
	if (json_member(node, "code").value && json_member(node, "latency").value)
		return launch_fail(r, node, "give \"latency\" or \"code\", not both");
	if (!launch_members_read(r, node, "an interval", interval_rows, COUNT(interval_rows), out))
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
