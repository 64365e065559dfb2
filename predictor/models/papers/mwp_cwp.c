/*
 * MWP-CWP: Hong & Kim 2009, Sim et al. 2012 (whose hardware parameters Sanchez Gil 2017 extracts),
 * and Sanchez Gil's own idea (7.3.4). The published forms are kept as they are, jumps at the
 * borders of the cases of 2009 included (docs/internals/models.md).
 */
#include "predictor/models/papers/mwp_cwp.h"

#include "predictor/models/inputs.h"
#include "predictor/models/occupancy.h"

#include <math.h>

enum {
	SECTOR = 32,      /* bytes, the least that a request moves since Maxwell */
	LINE_SECTORS = 4, /* of a line of 128 bytes */
};

double gw_mwp_2009_exec(double mwp, double cwp, double n, double mem_l, double mem_cycles,
			double comp_cycles, double mem_insts, double rep, enum gw_mwp_case *which)
{
	double between = comp_cycles / mem_insts * (mwp - 1);

	if (mwp >= n && cwp >= n) {
		*which = GW_MWP_NOT_ENOUGH_WARPS;
		return (mem_cycles + comp_cycles + between) * rep;
	}
	if (cwp >= mwp || comp_cycles > mem_cycles) {
		*which = GW_MWP_MEMORY;
		return (mem_cycles * n / mwp + between) * rep;
	}
	*which = GW_MWP_COMPUTE;
	return (mem_l + comp_cycles * n) * rep;
}

void gw_mwp_2009(const struct gw_mwp_2009_in *in, struct gw_mwp_2009_out *out)
{
	double mem_insts = in->coal_insts + in->uncoal_insts;
	double weight_uncoal = in->uncoal_insts / mem_insts;
	double uncoal = in->mem_ld + (in->uncoal_per_mw - 1) * in->departure_uncoal;
	double bw_per_warp;

	out->mem_l = uncoal * weight_uncoal + in->mem_ld * (1 - weight_uncoal);
	out->departure_delay = in->departure_uncoal * in->uncoal_per_mw * weight_uncoal +
			       in->departure_coal * (1 - weight_uncoal);
	out->mwp_without_bw = fmin(out->mem_l / out->departure_delay, in->n);
	bw_per_warp = in->freq * in->load_bytes / out->mem_l;
	out->mwp_peak_bw = in->bandwidth / (bw_per_warp * in->active_sms);
	out->mwp = fmin(fmin(out->mwp_without_bw, out->mwp_peak_bw), in->n);
	out->comp_cycles = in->issue_cycles * in->total_insts;
	out->mem_cycles = uncoal * in->uncoal_insts + in->mem_ld * in->coal_insts;
	out->cwp = fmin((out->mem_cycles + out->comp_cycles) / out->comp_cycles, in->n);
	out->synch_cost = out->departure_delay * (out->mwp - 1) * in->synch_insts *
			  in->active_blocks * in->rep;
	out->exec_cycles = gw_mwp_2009_exec(out->mwp, out->cwp, in->n, out->mem_l, out->mem_cycles,
					    out->comp_cycles, mem_insts, in->rep, &out->which) +
			   out->synch_cost;
}

void gw_mwp_2012(const struct gw_mwp_2012_in *in, struct gw_mwp_2012_out *out)
{
	double per_sm = in->warps / in->active_sms;
	double itilp_max = in->avg_inst_lat / (in->warp_size / in->simd_width);
	double comp_cycles, mem_cycles, zeta;

	out->avg_dram_lat = in->dram_lat + (in->trans_per_warp - 1) * in->delta;
	out->amat = gw_either(in->amat, out->avg_dram_lat * in->miss_ratio + in->hit_lat);
	out->itilp = fmin(in->ilp * in->n, itilp_max);
	out->mwp_peak_bw =
		in->bandwidth / (in->freq * in->transaction / out->avg_dram_lat * in->active_sms);
	out->mwp = fmin(fmin(out->avg_dram_lat / in->delta, out->mwp_peak_bw), in->n);
	comp_cycles = in->insts * in->avg_inst_lat / out->itilp;
	mem_cycles = in->mem_insts * out->amat / in->mlp;
	out->cwp = fmin((mem_cycles + comp_cycles) / comp_cycles, in->n);
	out->mwp_cp = fmin(fmax(1, out->cwp - 1), out->mwp);
	out->itmlp = fmin(in->mlp * out->mwp_cp, out->mwp_peak_bw);
	out->t_comp_parallel = in->insts * per_sm * in->avg_inst_lat / out->itilp;
	out->t_comp = out->t_comp_parallel + in->w_serial;
	out->t_mem = in->mem_insts * per_sm / out->itmlp * out->amat;
	zeta = out->cwp <= out->mwp ? 1 : 0;
	out->f_overlap = (in->n - zeta) / in->n;
	out->t_overlap = fmin(out->t_comp * out->f_overlap, out->t_mem);
	out->t_exec = isnan(out->t_comp) ? NAN : out->t_comp + out->t_mem - out->t_overlap;
}

double gw_mwp_level_amat(double p_l1, double p_l2, double lat_l1, double lat_l2, double lat_dram)
{
	return p_l1 * lat_l1 + p_l2 * lat_l2 + (1 - p_l1 - p_l2) * lat_dram;
}

/** What both forms need of a launch's shape. */
struct shape {
	double warps;         /* of the launch */
	double active_sms;    /* SMs that get a block */
	double active_blocks; /* blocks an SM runs at once */
	double n;             /* warps an SM runs at once */
	double rep;           /* times an SM does that */
};

/*
 * A grid that does not fill the GPU leaves fewer warps active than fit; #Rep is then 1, as
 * it counts how often an SM runs its set of blocks.
 */
static bool shape_of(const struct gw_device *device, const struct gw_launch *launch,
		     struct gw_estimate *e, struct shape *s)
{
	struct gw_occupancy o;
	const char *why = gw_occupancy_of(device, launch, &o);
	double blocks = gw_dim3_size(launch->config.grid);
	double sms = gw_param_value(device, GW_PARAM_sm_count);

	if (why) {
		gw_estimate_refuse(e, why);
		return false;
	}
	s->warps = blocks * o.warps_per_block;
	s->active_sms = fmin(sms, blocks);
	s->active_blocks = fmin(o.blocks_per_sm, ceil(blocks / sms));
	s->n = s->active_blocks * o.warps_per_block;
	s->rep = fmax(1, blocks / (s->active_blocks * s->active_sms));
	return true;
}

/* Bandwidth of device memory, measured or by the data sheet. */
static double memory_bandwidth(const struct gw_device *device)
{
	return gw_either(gw_param_value(device, GW_PARAM_b_mem),
			 gw_param_value(device, GW_PARAM_b_mem_spec));
}

/* Sectors of a global memory request; stores count when they are known. */
static double sectors_per_request(const struct gw_work *work)
{
	double sectors = gw_work_value(work, GW_WORK_global_load_sectors);
	double requests = gw_work_value(work, GW_WORK_global_load_requests);
	double all_sectors = sectors + gw_work_value(work, GW_WORK_global_store_sectors);
	double all_requests = requests + gw_work_value(work, GW_WORK_global_store_requests);

	return gw_usable(gw_either(all_sectors / all_requests, sectors / requests));
}

static bool inputs_2009(const struct gw_device *d, const struct gw_work *w, const struct shape *s,
			struct gw_estimate *e, struct gw_mwp_2009_in *in)
{
	*in = (struct gw_mwp_2009_in){
		.n = s->n,
		.rep = s->rep,
		.active_blocks = s->active_blocks,
		.active_sms = s->active_sms,
		.freq = gw_need_param(e, d, GW_PARAM_sm_clock),
		.bandwidth = gw_need(e, memory_bandwidth(d), "b_mem"),
		.mem_ld = gw_need_param(e, d, GW_PARAM_lat_dram),
		.departure_coal = gw_need_param(e, d, GW_PARAM_departure_del_coal),
		.departure_uncoal = gw_need_param(e, d, GW_PARAM_departure_del_uncoal),
		.issue_cycles = gw_need_param(e, d, GW_PARAM_warp_size) /
				gw_need_param(e, d, GW_PARAM_fp32_lanes_per_sm),
		.total_insts = gw_need_work(e, w, GW_WORK_inst_executed) / s->warps,
		.coal_insts = gw_need_work(e, w, GW_WORK_coalesced_mem_insts),
		.uncoal_insts = gw_need_work(e, w, GW_WORK_uncoalesced_mem_insts),
		.synch_insts = gw_need_work(e, w, GW_WORK_barriers),
		.load_bytes = gw_need(e, sectors_per_request(w) * SECTOR,
				      "global_load_sectors per global_load_requests"),
	};
	/* Without uncoalesced instructions their transactions have no weight. */
	in->uncoal_per_mw =
		in->uncoal_insts == 0 ? 1 : gw_need_work(e, w, GW_WORK_uncoalesced_per_mw);
	if (!e->reason[0] && !(in->coal_insts + in->uncoal_insts > 0 && in->total_insts > 0))
		gw_estimate_refuse(e, "the model divides by the number of instructions and memory "
				      "instructions, and there are none");
	return !e->reason[0];
}

static void estimate_2009(const struct gw_device *device, const struct gw_launch *launch,
			  const struct gw_work *work, const struct gw_model_options *options,
			  struct gw_estimate *e)
{
	struct gw_mwp_2009_in in;
	struct gw_mwp_2009_out out;
	struct shape s;

	(void)options;
	gw_estimate_clear(e);
	if (!shape_of(device, launch, e, &s) || !inputs_2009(device, work, &s, e, &in))
		return;
	gw_mwp_2009(&in, &out);
	gw_estimate_term(e, "N", in.n, "warp");
	gw_estimate_term(e, "#Rep", in.rep, "1");
	gw_estimate_term(e, "Mem_L", out.mem_l, "cycle");
	gw_estimate_term(e, "Departure_delay", out.departure_delay, "cycle");
	gw_estimate_term(e, "MWP_peak_BW", out.mwp_peak_bw, "warp");
	gw_estimate_term(e, "MWP", out.mwp, "warp");
	gw_estimate_term(e, "CWP", out.cwp, "warp");
	gw_estimate_term(e, "Synch_cost", out.synch_cost, "cycle");
	gw_estimate_term(e, "case", out.which, "1");
	gw_estimate_term(e, "Exec_cycles", out.exec_cycles, "cycle");
	gw_estimate_resource(e, "memory", out.mem_cycles * in.n / out.mwp * in.rep / in.freq);
	gw_estimate_resource(e, "compute", out.comp_cycles * in.n * in.rep / in.freq);
	gw_estimate_settle(e, out.exec_cycles / in.freq);
	if (e->reason[0])
		return;
	e->bound = out.which == GW_MWP_NOT_ENOUGH_WARPS ? GW_BOUND_LATENCY
		   : out.which == GW_MWP_MEMORY         ? GW_BOUND_MEMORY
							: GW_BOUND_COMPUTE;
	e->binding = out.which == GW_MWP_NOT_ENOUGH_WARPS ? "latency"
		     : out.which == GW_MWP_MEMORY         ? "memory"
							  : "compute";
}

/*
 * avg_trans_warp: the papers count a coalesced request as one transaction, however many sectors it
 * has. Without the code's classes a request of at most a line's sectors counts as coalesced.
 */
static double transactions(const struct gw_work *w)
{
	double coal = gw_work_value(w, GW_WORK_coalesced_mem_insts);
	double uncoal = gw_work_value(w, GW_WORK_uncoalesced_mem_insts);
	double each = uncoal == 0 ? 1 : gw_work_value(w, GW_WORK_uncoalesced_per_mw);
	double sectors = sectors_per_request(w);

	return gw_usable(gw_either((coal + uncoal * each) / (coal + uncoal),
				   sectors <= LINE_SECTORS ? 1 : sectors));
}

/*
 * O_sync as Hong & Kim 2009 count it, because the factor of Sim et al. is a constant of their GPU:
 * each barrier of a block makes the warps' requests depart together once more.
 */
static double sync_cycles(const struct gw_mwp_2012_in *in, double mwp, const struct shape *s,
			  double barriers)
{
	if (barriers == 0)
		return 0;
	return in->delta * in->trans_per_warp * fmax(0, mwp - 1) * barriers * s->active_blocks *
	       s->rep;
}

/*
 * O_SFU: what the special-function unit takes beyond its share of the instructions,
 * F_SFU = min(max(#SFU / #insts - SFU_width / SIMD_width, 0), 1).
 */
static double sfu_cycles(const struct gw_device *d, const struct gw_mwp_2012_in *in,
			 double sfu_insts)
{
	double width = gw_param_value(d, GW_PARAM_t_sfu) /
		       (gw_param_value(d, GW_PARAM_sm_count) * in->freq);
	double share = sfu_insts / in->insts - width / in->simd_width;

	if (sfu_insts == 0)
		return 0;
	return sfu_insts * in->warps / in->active_sms * in->warp_size / width *
	       fmin(fmax(share, 0), 1);
}

/*
 * O_bank: cycles of shared memory beyond one an access. What the LSU executes and global memory
 * was not asked for counts as accesses, so that these cycles are the least there are.
 */
static double bank_cycles(const struct gw_work *w, const struct gw_mwp_2012_in *in)
{
	double passes = gw_work_value(w, GW_WORK_shared_wavefronts);
	double accesses = gw_work_value(w, GW_WORK_pipe_lsu) -
			  gw_work_value(w, GW_WORK_global_load_requests) -
			  gw_work_value(w, GW_WORK_global_store_requests);

	if (passes == 0)
		return 0;
	return isnan(passes - accesses) ? NAN
					: fmax(0, passes - fmax(0, accesses)) / in->active_sms;
}

/*
 * W_serial = O_sync + O_SFU + O_CFdiv + O_bank: stated by the user, or from what is known of the
 * code. O_CFdiv is none: #insts counts the instructions of each group of a diverged warp.
 */
static double serial_cycles(const struct gw_device *d, const struct gw_work *work,
			    const struct shape *s, const struct gw_mwp_2012_in *in)
{
	double given = gw_work_value(work, GW_WORK_serial_cycles);
	struct gw_mwp_2012_out out;

	if (!isnan(given))
		return given;
	gw_mwp_2012(in, &out);
	return sync_cycles(in, out.mwp, s, gw_work_value(work, GW_WORK_barriers)) +
	       sfu_cycles(d, in, gw_work_value(work, GW_WORK_pipe_xu) / s->warps) +
	       bank_cycles(work, in);
}

/* Memory instructions of a warp: by the code when it is known, else the requests counted. */
static double memory_insts(const struct gw_work *w, double warps)
{
	double code = gw_work_value(w, GW_WORK_coalesced_mem_insts) +
		      gw_work_value(w, GW_WORK_uncoalesced_mem_insts);

	return gw_either(code, (gw_work_value(w, GW_WORK_global_load_requests) +
				gw_work_value(w, GW_WORK_global_store_requests)) /
				       warps);
}

static bool inputs_2012(const struct gw_device *d, const struct gw_work *w, const struct shape *s,
			struct gw_estimate *e, struct gw_mwp_2012_in *in)
{
	*in = (struct gw_mwp_2012_in){
		.n = s->n,
		.warps = s->warps,
		.active_sms = s->active_sms,
		.amat = NAN,
		.freq = gw_need_param(e, d, GW_PARAM_sm_clock),
		.bandwidth = gw_need(e, memory_bandwidth(d), "b_mem"),
		.dram_lat = gw_need_param(e, d, GW_PARAM_lat_dram),
		.hit_lat = gw_need_param(e, d, GW_PARAM_lat_l1),
		.delta = gw_need_param(e, d, GW_PARAM_departure_del_uncoal),
		.avg_inst_lat = gw_need_param(e, d, GW_PARAM_avg_inst_lat),
		.warp_size = gw_need_param(e, d, GW_PARAM_warp_size),
		.simd_width = gw_need_param(e, d, GW_PARAM_fp32_lanes_per_sm),
		.insts = gw_need_work(e, w, GW_WORK_inst_executed) / s->warps,
		.mem_insts = gw_need(e, memory_insts(w, s->warps), "coalesced_mem_insts"),
		.ilp = gw_need_work(e, w, GW_WORK_warp_ilp),
	};
	if (e->reason[0] || in->mem_insts == 0) {
		/* No request: the memory side has no weight, whatever its parameters. */
		in->mlp = in->trans_per_warp = 1;
		in->transaction = SECTOR;
		in->miss_ratio = 0;
		in->w_serial = serial_cycles(d, w, s, in);
		return !e->reason[0];
	}
	in->mlp = gw_need_work(e, w, GW_WORK_warp_loads_in_flight);
	/* The bandwidth that a warp draws is of all bytes of its request. */
	in->transaction = gw_need(e, sectors_per_request(w) * SECTOR,
				  "global_load_sectors per global_load_requests");
	in->trans_per_warp = gw_need(e, transactions(w), "uncoalesced_per_mw");
	in->miss_ratio = (1 - gw_share(gw_need_work(e, w, GW_WORK_l1_hit_rate))) *
			 (1 - gw_share(gw_need_work(e, w, GW_WORK_l2_hit_rate)));
	gw_need(e, in->miss_ratio, "hit rates between 0 and 1");
	in->w_serial = serial_cycles(d, w, s, in);
	return !e->reason[0];
}

static void report_2012(const struct gw_mwp_2012_in *in, const struct gw_mwp_2012_out *out,
			struct gw_estimate *e)
{
	gw_estimate_term(e, "N", in->n, "warp");
	gw_estimate_term(e, "AMAT", out->amat, "cycle");
	gw_estimate_term(e, "ITILP", out->itilp, "1");
	gw_estimate_term(e, "ITMLP", out->itmlp, "1");
	gw_estimate_term(e, "MWP", out->mwp, "warp");
	gw_estimate_term(e, "CWP", out->cwp, "warp");
	gw_estimate_term(e, "W_parallel", out->t_comp_parallel, "cycle");
	gw_estimate_term(e, "W_serial", in->w_serial, "cycle");
	gw_estimate_term(e, "T_mem", out->t_mem, "cycle");
	gw_estimate_term(e, "T_overlap", out->t_overlap, "cycle");
	gw_estimate_resource(e, "compute", out->t_comp / in->freq);
	gw_estimate_resource(e, "memory", out->t_mem / in->freq);
	if (isnan(in->w_serial)) {
		gw_estimate_missing(e,
				    "serial_cycles (W_serial), or what it follows from: barriers, "
				    "pipe_xu and t_sfu, pipe_lsu");
		return;
	}
	gw_estimate_settle(e, out->t_exec / in->freq);
	if (e->reason[0])
		return;
	e->bound = out->t_mem > out->t_comp ? GW_BOUND_MEMORY : GW_BOUND_COMPUTE;
	e->binding = out->t_mem > out->t_comp ? "memory" : "compute";
}

static void estimate_2012(const struct gw_device *device, const struct gw_launch *launch,
			  const struct gw_work *work, const struct gw_model_options *options,
			  struct gw_estimate *e)
{
	struct gw_mwp_2012_in in;
	struct gw_mwp_2012_out out;
	struct shape s;

	(void)options;
	gw_estimate_clear(e);
	if (!shape_of(device, launch, e, &s) || !inputs_2012(device, work, &s, e, &in))
		return;
	gw_mwp_2012(&in, &out);
	report_2012(&in, &out, e);
}

/* Sanchez Gil 2017, 7.3.4: the structure of 2012 with the mean latency taken over the levels. */
static void estimate_levels(const struct gw_device *device, const struct gw_launch *launch,
			    const struct gw_work *work, const struct gw_model_options *options,
			    struct gw_estimate *e)
{
	struct gw_mwp_2012_in in;
	struct gw_mwp_2012_out out;
	struct shape s;
	double l1, l2, lat_l2;

	(void)options;
	gw_estimate_clear(e);
	if (!shape_of(device, launch, e, &s) || !inputs_2012(device, work, &s, e, &in))
		return;
	if (in.mem_insts > 0) {
		lat_l2 = gw_need_param(e, device, GW_PARAM_lat_l2);
		l1 = gw_work_value(work, GW_WORK_l1_hit_rate);
		l2 = (1 - l1) * gw_work_value(work, GW_WORK_l2_hit_rate);
		if (e->reason[0])
			return;
		in.amat = gw_mwp_level_amat(l1, l2, in.hit_lat, lat_l2,
					    in.dram_lat + (in.trans_per_warp - 1) * in.delta);
	}
	gw_mwp_2012(&in, &out);
	report_2012(&in, &out, e);
}

const struct gw_model gw_model_mwp_cwp_2009 = {
	.name = "mwp-cwp-2009",
	.source = "Sanchez Gil 2017, 1.6 (Hong & Kim 2009)",
	.summary = "memory and computation warp parallelism, three cases",
	.estimate = estimate_2009,
};

const struct gw_model gw_model_mwp_cwp = {
	.name = "mwp-cwp",
	.source = "Sanchez Gil 2017, ch. 2 (Sim et al. 2012)",
	.summary = "computation, memory and their overlap from MWP and CWP",
	.estimate = estimate_2012,
};

const struct gw_model gw_model_mwp_cwp_levels = {
	.name = "mwp-cwp-levels",
	.source = "Sanchez Gil 2017, 7.3.4",
	.summary = "mwp-cwp with the mean latency over the probabilities of the memory levels",
	.estimate = estimate_levels,
};
