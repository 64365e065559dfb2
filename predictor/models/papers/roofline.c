/*
 * The plain roofline: each kind of operation at its peak rate, memory at its bandwidth, all
 * overlapped; the slowest decides. docs/internals/models.md lists its assumptions and limits.
 */
#include "predictor/models/model.h"

#include <math.h>

/* A kind of operation: `weight` each of field a, plus one each of field b, at the rate p. */
struct kind {
	const char *name;
	enum gw_work_field a, b;
	double weight;
	enum gw_param p, or_p; /* the faster of the two that are known */
	const char *left_out;  /* a warning where there is no rate; NULL: no answer without one */
};

static const char no_int_rate[] =
	"integer operations are left out: the device has neither t_int nor t_add";

#define NO_FIELD GW_WORK_FIELDS

static const struct kind kinds[] = {
	/* An FMA is two operations: one as an instruction, one more as an FMA. */
	{"fp32", GW_WORK_fp32_inst, GW_WORK_fp32_fma, 1, GW_PARAM_t_sp, GW_PARAM_t_sp, NULL},
	{"fp64", GW_WORK_fp64_inst, GW_WORK_fp64_fma, 1, GW_PARAM_t_dp, GW_PARAM_t_dp, NULL},
	/* The mix of packed half operations is unknown: two lanes, at least one operation each. */
	{"fp16", GW_WORK_fp16_inst, NO_FIELD, 2, GW_PARAM_t_hp, GW_PARAM_t_hp, NULL},
	/* Multiply-adds are not counted separately either: one operation each. */
	{"int", GW_WORK_int_inst, NO_FIELD, 1, GW_PARAM_t_int, GW_PARAM_t_add, no_int_rate},
#define TENSOR(type, unit) \
	{ \
		"tensor " #type, GW_WORK_tensor_##type##_##unit, NO_FIELD, 1, \
			GW_PARAM_t_tensor_##type, GW_PARAM_t_tensor_##type, NULL \
	}
	TENSOR(fp16, flop),
	TENSOR(tf32, flop),
	TENSOR(fp8, flop),
	TENSOR(int8, flop),
	TENSOR(fp64, flop),
#undef TENSOR
};

static double faster(const struct gw_device *device, const struct kind *k)
{
	return fmax(gw_param(device, k->p), gw_param(device, k->or_p)); /* fmax passes over NaN */
}

/* Operations of a kind; NaN when they are not known. */
static double operations(const struct gw_work *work, const struct kind *k)
{
	double v = k->weight * work->q[k->a].value;

	return k->b == NO_FIELD ? v : v + work->q[k->b].value;
}

/* The slower of two resources by time. */
static void compete(struct gw_estimate *out, const char *name, double seconds, enum gw_bound bound)
{
	gw_estimate_resource(out, name, seconds);
	if (isnan(out->seconds) || seconds > out->seconds) {
		out->seconds = seconds;
		out->binding = name;
		out->bound = bound;
	}
}

/* False when there are such operations but no rate for them. The roofline of 2009 is of flop/s and
 * B/s; integers extend it where the device's rate is known. */
static bool compute(const struct gw_device *device, const struct gw_work *work,
		    const struct kind *k, struct gw_estimate *out)
{
	double ops = operations(work, k), rate = faster(device, k);

	if (isnan(ops) || ops == 0)
		return true; /* a kind that was not counted cannot be shown to bind */
	if (!(ops > 0 && isfinite(ops))) {
		gw_estimate_missing(out, gw_work_info(k->a).name);
		return false;
	}
	if (!(rate > 0 && isfinite(rate)) && k->left_out) {
		gw_estimate_warn(out, k->left_out);
		return true;
	}
	if (!(rate > 0 && isfinite(rate))) {
		gw_estimate_missing(out, gw_param_info(k->p).name);
		return false;
	}
	compete(out, k->name, ops / rate, GW_BOUND_COMPUTE);
	return true;
}

static double bandwidth(const struct gw_device *device)
{
	double measured = gw_param(device, GW_PARAM_b_mem);

	return isnan(measured) ? gw_param(device, GW_PARAM_b_mem_spec) : measured;
}

static bool memory(const struct gw_device *device, const struct gw_work *work,
		   const struct gw_model_options *options, struct gw_estimate *out)
{
	double rate = bandwidth(device), bytes = work->q[GW_WORK_dram_read_bytes].value +
						 work->q[GW_WORK_dram_write_bytes].value;

	if (options && options->given_traffic > 0)
		bytes = options->given_traffic;
	if (!(bytes >= 0 && isfinite(bytes))) {
		gw_estimate_missing(out, "dram_read_bytes and dram_write_bytes");
		return false;
	}
	if (!(rate > 0 && isfinite(rate))) {
		gw_estimate_missing(out, "b_mem");
		return false;
	}
	compete(out, "dram", bytes / rate, GW_BOUND_MEMORY);
	return true;
}

static void estimate(const struct gw_device *device, const struct gw_launch *launch,
		     const struct gw_work *work, const struct gw_model_options *options,
		     struct gw_estimate *out)
{
	bool counted = false;

	(void)launch;
	gw_estimate_clear(out);
	if (!memory(device, work, options, out))
		return;
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!compute(device, work, &kinds[i], out))
			return;
		counted = counted || !isnan(operations(work, &kinds[i]));
	}
	if (!counted)
		gw_estimate_missing(out, "operations of any kind");
	else if (!(out->seconds > 0 && isfinite(out->seconds)))
		gw_estimate_missing(out, "operations or traffic: there are none");
}

const struct gw_model gw_model_roofline = {
	.name = "roofline",
	.source = "Williams, Waterman, Patterson 2009 (Konstantinidis 2017, 2.3 and 3.1)",
	.summary = "operations at their peak rate, traffic at the memory bandwidth, the slower one",
	.estimate = estimate,
};
