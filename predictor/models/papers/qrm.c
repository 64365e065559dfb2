/*
 * The quantitative roofline model of E. Konstantinidis, "A GPU performance estimation model based
 * on micro-benchmarks and black-box kernel profiling", PhD thesis, University of Athens 2017,
 * chapter 4; section, table and equation numbers are the thesis'. docs/internals/models.md lists
 * its assumptions and limits.
 */
#include "predictor/models/papers/qrm.h"

#include <math.h>

const struct gw_qrm_metric gw_qrm_metrics[GW_MS] = {
#define SASS(name) "smsp__sass_thread_inst_executed_op_" name "_pred_on.sum"
	{"M_fma32", "flop_count_sp_fma", SASS("ffma"), GW_WORK_fp32_fma, 1},
	{"M_fma64", "flop_count_dp_fma", SASS("dfma"), GW_WORK_fp64_fma, 1},
	{"M_ldst", "inst_compute_ld_st", SASS("memory"), GW_WORK_ldst_inst, 1},
	{"M_inst", "inst_executed", "smsp__inst_executed.sum", GW_WORK_inst_executed, 1},
	{"M_fp32", "inst_fp_32", SASS("fp32"), GW_WORK_fp32_inst, 1},
	{"M_fp64", "inst_fp_64", SASS("fp64"), GW_WORK_fp64_inst, 1},
	{"M_int", "inst_integer", SASS("integer"), GW_WORK_int_inst, 1},
	{"M_tran-r", "dram_read_transactions", "dram__bytes_read.sum", GW_WORK_dram_read_bytes, 32},
	{"M_tran-w", "dram_write_transactions", "dram__bytes_write.sum", GW_WORK_dram_write_bytes,
	 32},
#undef SASS
};

/* Type of the operations that count as the kernel's work. */
enum k_type { FP32, FP64, INT };

/* What the model derives from the kernel alone (table 4.2). */
struct kernel_parameters {
	enum k_type k;
	double w_comp, w_traf; /* operations, bytes */
	double e_mix;
	double d_ops, d_ldst, d_other;
};

/* One estimate being computed. */
struct qrm {
	const struct gw_device *device;
	const struct gw_work *work;
	const struct gw_model_options *options;
	struct gw_estimate *out;
	bool failed;
};

static const struct gw_model_options no_options;

static void give_up(struct qrm *q, const char *what)
{
	if (!q->failed)
		gw_estimate_missing(q->out, what);
	q->failed = true;
}

/* A metric; one that is unknown or not a count ends the estimate. */
static double metric(struct qrm *q, enum gw_qrm_m m)
{
	double v = q->work->q[gw_qrm_metrics[m].field].value / gw_qrm_metrics[m].divide;

	if (!(v >= 0 && isfinite(v)))
		give_up(q, gw_work_info(gw_qrm_metrics[m].field).name);
	return v;
}

/* A throughput of the device; the same. */
static double rate(struct qrm *q, enum gw_param p)
{
	double v = gw_param(q->device, p);

	if (!(v > 0 && isfinite(v)))
		give_up(q, gw_param_info(p).name);
	return v;
}

/* Without a measurement 4.2.3 allows the specification, which memory never quite reaches. */
static double bandwidth(struct qrm *q)
{
	double specified = gw_param(q->device, GW_PARAM_b_mem_spec);

	if (!isnan(gw_param(q->device, GW_PARAM_b_mem)) || isnan(specified))
		return rate(q, GW_PARAM_b_mem);
	gw_estimate_warn(q->out, "memory bandwidth by the data sheet: the time is a lower bound");
	return rate(q, GW_PARAM_b_mem_spec);
}

/*
 * The rule of 4.2.2. The type decides the cost of the other instructions, so it can't be guessed.
 */
static enum k_type kernel_type(struct qrm *q)
{
	if (metric(q, GW_M_FP64) > 0)
		return FP64;
	if (q->failed)
		return INT;
	return metric(q, GW_M_FP32) > 0 ? FP32 : INT;
}

/* (4.1), (4.3), (4.4): operations, their mix, and the instructions that do them. */
static double operations(struct qrm *q, struct kernel_parameters *p)
{
	double inst, fma = 0;

	if (p->k == INT) {
		p->w_comp = inst = metric(q, GW_M_INT);
		p->e_mix = 0.5;
	} else {
		inst = metric(q, p->k == FP64 ? GW_M_FP64 : GW_M_FP32);
		fma = metric(q, p->k == FP64 ? GW_M_FMA64 : GW_M_FMA32);
		p->w_comp = inst + fma;
		p->e_mix = p->w_comp / (2 * inst);
		if (fma > inst)
			give_up(q, "counts that agree: there are more FMAs than instructions");
	}
	if (!(q->options->given_ops > 0))
		return inst;
	/* 6.2: the user counts operations of another kind and states their peak rate. */
	p->w_comp = q->options->given_ops;
	if (q->options->given_ops_rate > 0) {
		inst = q->options->given_ops_inst > 0 ? q->options->given_ops_inst : p->w_comp;
		p->e_mix = 1;
	}
	return inst;
}

static void kernel_parameters(struct qrm *q, struct kernel_parameters *p)
{
	double i_ops, i_total;

	p->k = kernel_type(q);
	if (q->failed)
		return;
	i_ops = operations(q, p);
	i_total = 32 * metric(q, GW_M_INST);        /* (4.5) */
	p->d_ops = i_ops / i_total;                 /* (4.6) */
	p->d_ldst = metric(q, GW_M_LDST) / i_total; /* (4.7) */
	p->d_other = 1 - p->d_ops - p->d_ldst;      /* (4.8) */
	p->w_traf = q->options->given_traffic > 0
			    ? q->options->given_traffic                               /* 7.2.1 */
			    : 32 * (metric(q, GW_M_TRAN_R) + metric(q, GW_M_TRAN_W)); /* (4.2) */
	if (!q->failed && !(p->w_comp > 0))
		give_up(q, "operations of any type: the model has no rate for a kernel without");
	/* Counts taken from different launches need not add up exactly. */
	if (p->d_other < 0 && p->d_other > -0.02) {
		p->d_other = 0;
		gw_estimate_warn(q->out, "compute and load/store instructions exceed all "
					 "instructions by up to 2%: no others are assumed");
	}
	if (!q->failed && !(p->d_other >= 0))
		give_up(q, "counts that agree: there are more compute and load/store "
			   "instructions than instructions");
}

/* (4.9). Integers as additions (5.2.6): T_add counts one operation an instruction, while E_mix
 * halves as if there were two; twice T_add makes an integer cost what an addition costs. */
static double peak(struct qrm *q, enum k_type k)
{
	if (q->options->given_ops > 0 && q->options->given_ops_rate > 0)
		return q->options->given_ops_rate;
	if (k == INT && q->options->qrm_int_as_add)
		return 2 * rate(q, GW_PARAM_t_add);
	return rate(q, k == FP64 ? GW_PARAM_t_dp : k == FP32 ? GW_PARAM_t_sp : GW_PARAM_t_int);
}

/* (4.10) to (4.16): the share of the pipeline's time that operations get. */
static double instruction_efficiency(struct qrm *q, const struct kernel_parameters *p, double t_op)
{
	bool own_rate = q->options->given_ops > 0 && q->options->given_ops_rate > 0;
	double t_sp = rate(q, GW_PARAM_t_sp);
	/* A rate the user gives counts the operations of an instruction as they are; the paper's
	 * count two for each. */
	double per_inst = own_rate && q->options->given_ops_inst > 0
				  ? q->options->given_ops / q->options->given_ops_inst
			  : own_rate ? 1
				     : 2;
	double w_op = t_sp / t_op * per_inst / 2;
	double w_ldst = 0.5 * t_sp / rate(q, GW_PARAM_t_ldst);
	double w_other = 0.5 * t_sp / rate(q, GW_PARAM_t_add);
	double c_op = p->d_ops * w_op;         /* (4.13) */
	double c_ldst = p->d_ldst * w_ldst;    /* (4.14) */
	double c_other = p->d_other * w_other; /* (4.15) */

	gw_estimate_term(q->out, "W_op", w_op, "1");       /* (4.10) */
	gw_estimate_term(q->out, "W_ldst", w_ldst, "1");   /* (4.11) */
	gw_estimate_term(q->out, "W_other", w_other, "1"); /* (4.12) */
	gw_estimate_term(q->out, "C_op", c_op, "1");
	gw_estimate_term(q->out, "C_ldst", c_ldst, "1");
	gw_estimate_term(q->out, "C_other", c_other, "1");
	return c_op / (c_op + c_ldst + c_other); /* (4.16) */
}

static void show_kernel(struct gw_estimate *out, const struct kernel_parameters *p)
{
	static const char *const types[] = {"K_type fp32", "K_type fp64", "K_type int"};

	gw_estimate_term(out, types[p->k], 1, "1");
	gw_estimate_term(out, "W_comp", p->w_comp, "op");
	gw_estimate_term(out, "W_traf", p->w_traf, "B");
	gw_estimate_term(out, "E_mix", p->e_mix, "1");
	gw_estimate_term(out, "D_ops", p->d_ops, "1");
	gw_estimate_term(out, "D_ldst", p->d_ldst, "1");
	gw_estimate_term(out, "D_other", p->d_other, "1");
}

/* (4.17), (4.18) and what follows from them. */
static void predict(struct qrm *q, const struct kernel_parameters *p)
{
	struct gw_estimate *out = q->out;
	double t_op = peak(q, p->k), b_mem = bandwidth(q);
	double e_instr = instruction_efficiency(q, p, t_op), t_adjusted, o_krn, o_dev, t_predicted;

	if (q->failed)
		return;
	/* fig. 5.10 */
	t_adjusted = t_op * (q->options->qrm_factors < 2 ? p->e_mix : 1) *
		     (q->options->qrm_factors < 1 ? e_instr : 1); /* (4.17) */
	o_krn = p->w_traf > 0 ? p->w_comp / p->w_traf : INFINITY;
	o_dev = t_adjusted / b_mem;
	t_predicted = o_krn > o_dev ? t_adjusted : o_krn * b_mem; /* (4.18) */
	gw_estimate_term(out, "E_instr", e_instr, "1");
	gw_estimate_term(out, "T_op", t_op, "op/s");
	gw_estimate_term(out, "T'_op", t_adjusted, "op/s");
	gw_estimate_term(out, "B_mem", b_mem, "B/s");
	gw_estimate_term(out, "O_krn", p->w_traf > 0 ? o_krn : NAN, "op/B");
	gw_estimate_term(out, "O_dev", o_dev, "op/B");
	gw_estimate_term(out, "T_predicted", t_predicted, "op/s");
	gw_estimate_resource(out, "compute", p->w_comp / t_adjusted);
	gw_estimate_resource(out, "dram", p->w_traf / b_mem);
	if (!isfinite(p->w_comp / t_predicted))
		give_up(q,
			"numbers a time can be computed from: the counts or rates are too extreme");
	if (q->failed)
		return;
	out->seconds = p->w_comp / t_predicted;
	out->bound = o_krn > o_dev ? GW_BOUND_COMPUTE : GW_BOUND_MEMORY;
	out->binding = o_krn > o_dev ? "compute" : "dram";
}

/* 5.2.5: the correction by the reference GPU's own error. */
static void correct(struct qrm *q)
{
	double e_util = q->options->qrm_e_util;

	if (!q->options->qrm_utilisation)
		return;
	if (!(e_util > 0 && isfinite(e_util * q->out->seconds))) {
		give_up(q, "qrm_e_util, measured over predicted time on the reference GPU (5.13)");
		return;
	}
	gw_estimate_term(q->out, "E_util", e_util, "1"); /* (5.13) */
	q->out->seconds *= e_util;
}

/* What the thesis found to make its predictions wrong (5.1.4, 5.2.5, 5.2.6). */
static void warn(const struct qrm *q, const struct gw_launch *launch)
{
	const struct gw_quantity *w = q->work->q;
	double active = w[GW_WORK_thread_inst].value / (32 * w[GW_WORK_inst_executed].value);
	double used = q->options->utilisation;
	struct gw_estimate *out = q->out;

	if (gw_dim3_count(launch->config.block) < 64)
		gw_estimate_warn(out, "fewer than 64 threads a block: likely bound by latency, "
				      "the time is a lower bound");
	if (gw_dim3_count(launch->config.grid) < 90)
		gw_estimate_warn(out,
				 "fewer than 90 blocks: likely bound by latency, the time is a "
				 "lower bound");
	if (out->seconds < 0.5e-3)
		gw_estimate_warn(out, "under 0.5 ms: the cost of launching, which the model leaves "
				      "out, matters");
	if (used > 0 && used < 0.7)
		gw_estimate_warn(out,
				 "no resource was used to 70%: bound by latency, the time is a "
				 "lower bound");
	/* 78.21% of the lanes active was what made lvmd-krn 20% slower than predicted. */
	if (active < 0.8 || w[GW_WORK_divergent_branches].value > 0.1)
		gw_estimate_warn(out,
				 "threads of a warp diverge: idle lanes cost as much as active "
				 "ones, the time is a lower bound");
	if (w[GW_WORK_narrow_accesses].value > 0)
		gw_estimate_warn(out,
				 "8-bit memory accesses: they don't reach the memory bandwidth");
}

static void estimate(const struct gw_device *device, const struct gw_launch *launch,
		     const struct gw_work *work, const struct gw_model_options *options,
		     struct gw_estimate *out)
{
	struct qrm q = {.device = device,
			.work = work,
			.options = options ? options : &no_options,
			.out = out};
	struct kernel_parameters p;

	gw_estimate_clear(out);
	kernel_parameters(&q, &p);
	if (q.failed)
		return;
	show_kernel(out, &p);
	predict(&q, &p);
	if (!q.failed)
		correct(&q);
	if (!q.failed)
		warn(&q, launch);
}

const struct gw_model gw_model_qrm = {
	.name = "qrm",
	.source = "Konstantinidis 2017, chapter 4",
	.summary = "quantitative roofline: peaks lowered by the mix of operations and of "
		   "instructions",
	.estimate = estimate,
};
