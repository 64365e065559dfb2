/*
 * The wave model (Kleimenov and Popova 2021): a warp's time from dependences, a processing block's
 * time from its warps' times and issue delays, the latency of each memory level raised until the
 * level's bandwidth suffices, waves summed, and the launch itself by regression.
 */
#include "predictor/models/papers/wave.h"

#include "predictor/models/inputs.h"
#include "predictor/models/occupancy.h"

#include <math.h>

/* Sectors of an uncoalesced request beyond those of a coalesced one: 32 - 4 (Kleimenov and Popova
 * 2021, delay_dep). */
#define EXTRA_SECTORS 28.0

static double time_at(const struct gw_wave_load *l, double latency)
{
	return fmax(l->fixed + l->slope * latency, l->floor);
}

/*
 * One step as printed is x -> x T / t(x), with T the demand. Below saturation (t > T) it
 * lets the latency decay to zero, so it is held at the idle latency: F(x) = max(idle,
 * x T / t(x)).
 *
 * Why it ends. x / t(x) = min(x / (fixed + slope x), x / floor) does not fall with x, so F
 * is monotone; as F(idle) >= idle the sequence from idle never falls. With slope > 0,
 * F(x) <= max(idle, T / slope), so it is bounded and converges, and its limit is idle or
 * has t = T. On the way the gap T - t shrinks by fixed / t < 1 in each step. With slope =
 * 0 the time does not depend on the latency: no step can help, and T itself is the time.
 * A gap that shrinks slowly (fixed near T) is closed after GW_WAVE_STEPS in one step, as t
 * is linear there.
 */
void gw_wave_fixed_point(const struct gw_wave_load *load, struct gw_wave_point *out)
{
	double latency = load->idle;
	double time = time_at(load, latency);

	out->steps = 0;
	while (load->slope > 0 && time < load->demand * (1 - GW_WAVE_EPSILON)) {
		if (++out->steps == GW_WAVE_STEPS || latency <= 0) {
			latency = (load->demand - load->fixed) / load->slope;
			time = load->demand;
			break;
		}
		latency = fmax(load->idle, latency * load->demand / time);
		time = time_at(load, latency);
	}
	out->latency = latency;
	out->cycles = fmax(time, load->demand);
}

enum { L1, L2, DRAM, UNCOAL, LEVELS };

static const struct {
	const char *name, *latency;
} level_names[LEVELS] = {
	{"l1", "lat_L1"}, {"l2", "lat_L2"}, {"dram", "lat_DRAM"}, {"uncoalesced", "lat_uncoal"}};

/** A memory level: its share of a warp's waits and loads, and its capacity. */
struct level {
	double weight;    /* in lat(sm, ...): coalpct l1pct, ..., uncoalpct */
	double bytes;     /* of a warp */
	double latency;   /* idle, cycles */
	double bandwidth; /* B/cycle, of an SM for L1 and of the GPU for the others */
};

/** The kernel and GPU tuples, per warp and in cycles. */
struct wave {
	struct gw_occupancy occupancy;
	double clock, sms, schedulers;
	double compute; /* time of the main thread without memory latency */
	double chain;   /* memory accesses it waits for one after the other */
	double sync, delay;
	struct level level[LEVELS];
};

/* Issue cycles of one class for a warp: as many as its units need, at least one each. */
static double class_delay(const struct gw_device *d, double insts, double rate, double slots)
{
	double per_warp = gw_param_value(d, GW_PARAM_warp_size) * slots / rate;

	return insts * fmax(per_warp, 1);
}

/* delay(thread): issue cycles of a warp. Classes that are not known cost one cycle each. */
static double delay_of(const struct gw_device *d, const struct gw_work *w, double warps,
		       double slots, struct gw_estimate *e)
{
	double size = gw_param_value(d, GW_PARAM_warp_size);
	double rest = gw_need_work(e, w, GW_WORK_inst_executed) / warps, sum = 0;
	const double classes[][2] = {
		{gw_work_value(w, GW_WORK_fp32_inst) / size, gw_param_value(d, GW_PARAM_t_sp) / 2},
		{gw_work_value(w, GW_WORK_fp64_inst) / size, gw_param_value(d, GW_PARAM_t_dp) / 2},
		{gw_work_value(w, GW_WORK_int_inst) / size,
		 gw_either(gw_param_value(d, GW_PARAM_t_add),
			   gw_param_value(d, GW_PARAM_t_int) / 2)},
		{gw_work_value(w, GW_WORK_ldst_inst) / size, gw_param_value(d, GW_PARAM_t_ldst)},
		{gw_work_value(w, GW_WORK_pipe_xu), gw_param_value(d, GW_PARAM_t_sfu)},
	};
	bool known = true;

	for (unsigned i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		double insts = classes[i][0] / warps;
		double delay = insts == 0 ? 0 : class_delay(d, insts, classes[i][1], slots);

		if (isnan(delay)) {
			known = false;
			continue;
		}
		sum += delay;
		rest -= insts;
	}
	if (!known)
		gw_estimate_warn(e, "an instruction class is not known: its issue takes one cycle "
				    "at least");
	return sum + fmax(rest, 0);
}

/* Shares of the accesses that hit L1 and L2 (l1pct, l2pct): given by the user or by hit rates. */
static void hit_shares(const struct gw_work *w, const struct gw_model_options *options,
		       struct gw_estimate *e, double *l1, double *l2)
{
	double of_rest = gw_share(gw_work_value(w, GW_WORK_l2_hit_rate));
	/* Both zero means not given, and so does a share below 0. */
	bool given = options && (options->l1_hit > 0 || options->l2_hit > 0);

	*l1 = given ? gw_share(options->l1_hit) : NAN;
	*l2 = given ? gw_share(options->l2_hit) : NAN;
	*l1 = gw_either(*l1, gw_share(gw_work_value(w, GW_WORK_l1_hit_rate)));
	*l2 = gw_either(*l2, (1 - *l1) * of_rest);
	gw_need(e, *l1, "l1_hit_rate, or l1pct as an option");
	gw_need(e, *l2, "l2_hit_rate, or l2pct as an option");
	if (*l1 + *l2 > 1 + 1e-12 && !e->reason[0])
		gw_estimate_refuse(e,
				   "the shares of L1 and L2 hits (l1pct, l2pct) exceed 1 together");
}

/*
 * Share of the bytes in uncoalesced requests. Sequential 4-byte words need at most 4 sectors a
 * request, so there none is uncoalesced; above that only code analysis knows.
 */
static double uncoalesced_share(const struct gw_work *w, struct gw_estimate *e)
{
	double bad = gw_work_value(w, GW_WORK_uncoalesced_mem_insts);
	double sectors = gw_work_value(w, GW_WORK_global_load_sectors) /
			 gw_work_value(w, GW_WORK_global_load_requests);
	double good = gw_work_value(w, GW_WORK_coalesced_mem_insts);

	if (bad == 0)
		return 0;
	if (!isnan(bad) && !isnan(good))
		return bad / (bad + good);
	if (sectors <= 4)
		return 0;
	return gw_need(e, NAN, "uncoalesced_mem_insts and coalesced_mem_insts");
}

/* Bytes that a launch requests of L1: counted there, else the sectors of global requests. */
static double demanded_bytes(const struct gw_work *w)
{
	double sectors = gw_work_value(w, GW_WORK_global_load_sectors) +
			 gw_work_value(w, GW_WORK_global_store_sectors);

	return gw_either(gw_work_value(w, GW_WORK_l1_bytes), sectors * 32);
}

static void levels_of(const struct gw_device *d, const struct gw_work *w,
		      const struct gw_model_options *options, double warps, struct wave *v,
		      struct gw_estimate *e)
{
	static const enum gw_param latency[] = {GW_PARAM_lat_l1, GW_PARAM_lat_l2, GW_PARAM_lat_dram,
						GW_PARAM_lat_uncoalesced};
	static const enum gw_param bandwidth[] = {GW_PARAM_b_l1, GW_PARAM_b_l2_read, GW_PARAM_b_mem,
						  GW_PARAM_bw_uncoalesced};
	double bytes = gw_need(e, demanded_bytes(w), "l1_bytes") / warps;
	double share[LEVELS], l1, l2, bad;

	for (unsigned i = 0; i < LEVELS; i++)
		v->level[i] = (struct level){.bandwidth = INFINITY};
	v->chain = 0;
	if (e->reason[0] || bytes == 0)
		return;
	hit_shares(w, options, e, &l1, &l2);
	bad = uncoalesced_share(w, e);
	v->chain = gw_need_work(e, w, GW_WORK_warp_memory_chain);
	share[L1] = l1, share[L2] = l2, share[DRAM] = fmax(0, 1 - l1 - l2), share[UNCOAL] = bad;
	for (unsigned i = 0; i < LEVELS && !e->reason[0]; i++) {
		if (!(share[i] > 0))
			continue;
		v->level[i].bytes = bytes * share[i];
		v->level[i].weight = i == UNCOAL ? bad : (1 - bad) * share[i];
		v->level[i].latency = gw_need_param(e, d, latency[i]);
		v->level[i].bandwidth =
			gw_need_param(e, d, bandwidth[i]) / v->clock / (i == L1 ? v->sms : 1);
	}
}

static double mean_latency(const struct level level[LEVELS])
{
	double sum = 0;

	for (unsigned i = 0; i < LEVELS; i++)
		sum += level[i].weight * level[i].latency;
	return sum;
}

/*
 * time(thread) less its memory latency: the code's schedule where it is known, else
 * instructions at the mean latency over how many the warp overlaps.
 */
static double compute_time(const struct gw_device *d, const struct gw_work *w, double warps,
			   double waits, struct gw_estimate *e)
{
	double scheduled = gw_either(gw_work_value(w, GW_WORK_warp_cycles_longest),
				     gw_work_value(w, GW_WORK_warp_cycles));

	if (!isnan(scheduled)) {
		if (scheduled < waits)
			gw_estimate_warn(e, "warp_cycles is less than the latency of its loads");
		return fmax(scheduled - waits, 0);
	}
	scheduled = gw_work_value(w, GW_WORK_inst_executed) / warps *
		    gw_param_value(d, GW_PARAM_avg_inst_lat) / gw_work_value(w, GW_WORK_warp_ilp);
	return gw_need(e, gw_usable(scheduled), "warp_cycles, or warp_ilp and avg_inst_lat");
}

/* time_syncs = syncs delay_dep (blockSize - 1), the block counted in warps as in Hong & Kim. */
static double sync_time(const struct gw_device *d, const struct gw_work *w, double warps_per_block,
			struct gw_estimate *e)
{
	double syncs = gw_need_work(e, w, GW_WORK_barriers);
	double gap;

	if (e->reason[0] || syncs == 0)
		return 0;
	gap = gw_need_param(e, d, GW_PARAM_lat_uncoalesced) -
	      gw_need_param(e, d, GW_PARAM_lat_dram);
	return syncs * fmax(gap, 0) / EXTRA_SECTORS * (warps_per_block - 1);
}

static bool wave_of(const struct gw_device *d, const struct gw_launch *launch,
		    const struct gw_work *w, const struct gw_model_options *options,
		    struct gw_estimate *e, struct wave *v)
{
	const char *why = gw_occupancy_of(d, launch, &v->occupancy);
	double warps;

	if (why) {
		gw_estimate_refuse(e, why);
		return false;
	}
	warps = gw_dim3_size(launch->config.grid) * v->occupancy.warps_per_block;
	v->sms = gw_need_param(e, d, GW_PARAM_sm_count);
	v->clock = gw_need_param(e, d, GW_PARAM_sm_clock);
	v->schedulers = gw_need_param(e, d, GW_PARAM_schedulers_per_sm);
	gw_need_param(e, d, GW_PARAM_warp_size);
	levels_of(d, w, options, warps, v, e);
	v->sync = sync_time(d, w, v->occupancy.warps_per_block, e);
	v->delay = delay_of(d, w, warps, v->clock * v->sms * v->schedulers, e);
	v->compute = compute_time(d, w, warps, v->chain * mean_latency(v->level), e);
	return !e->reason[0];
}

/* One wave of @p blocks blocks; latencies under load and bandwidth times go to the arrays. */
static double wave_cycles(const struct wave *v, double blocks, double latency[LEVELS],
			  double demand[LEVELS])
{
	double per_block = v->occupancy.warps_per_block;
	double on_sm = ceil(blocks / v->sms) * per_block;
	double issue = ceil(on_sm / v->schedulers) * v->delay;
	struct level now[LEVELS];
	double cycles = 0;

	for (unsigned i = 0; i < LEVELS; i++)
		now[i] = v->level[i];
	for (unsigned i = 0; i < LEVELS; i++) {
		double waits = v->chain * (mean_latency(now) - now[i].weight * now[i].latency);
		double warps = i == L1 ? on_sm : blocks * per_block;
		struct gw_wave_load load = {
			.fixed = v->compute + v->sync + waits,
			.slope = v->chain * now[i].weight,
			.floor = issue,
			.idle = now[i].latency,
			.demand = warps * now[i].bytes / now[i].bandwidth,
		};
		struct gw_wave_point point;

		gw_wave_fixed_point(&load, &point);
		latency[i] = now[i].latency = point.latency;
		demand[i] = load.demand;
		cycles = fmax(cycles, point.cycles);
	}
	return cycles;
}

/* Parts of the waves' time, summed over them. */
struct sums {
	double cycles, issue, warp, demand[LEVELS], latency[LEVELS];
};

static void add_waves(const struct wave *v, double count, double blocks, struct sums *s)
{
	double demand[LEVELS], cycles;

	if (!(count > 0 && blocks > 0))
		return;
	cycles = wave_cycles(v, blocks, s->latency, demand);
	s->cycles += count * cycles;
	s->issue += count * v->delay *
		    ceil(ceil(blocks / v->sms) * v->occupancy.warps_per_block / v->schedulers);
	s->warp += count * (v->compute + v->sync + v->chain * mean_latency(v->level));
	for (unsigned i = 0; i < LEVELS; i++)
		s->demand[i] += count * demand[i];
}

static void report(const struct wave *v, const struct sums *s, double launch_time,
		   struct gw_estimate *e)
{
	double most = s->warp / v->clock;

	e->bound = GW_BOUND_LATENCY, e->binding = "warp";
	gw_estimate_term(e, "waves", v->occupancy.waves, "1");
	gw_estimate_term(e, "delay", v->delay, "cycle/warp");
	gw_estimate_term(e, "time_sync", v->sync, "cycle");
	for (unsigned i = 0; i < LEVELS; i++)
		if (v->level[i].weight > 0)
			gw_estimate_term(e, level_names[i].latency, s->latency[i], "cycle");
	gw_estimate_resource(e, "warp", most);
	gw_estimate_resource(e, "issue", s->issue / v->clock);
	if (s->issue / v->clock > most)
		most = s->issue / v->clock, e->bound = GW_BOUND_COMPUTE, e->binding = "issue";
	for (unsigned i = 0; i < LEVELS; i++) {
		gw_estimate_resource(e, level_names[i].name, s->demand[i] / v->clock);
		if (s->demand[i] / v->clock > most)
			most = s->demand[i] / v->clock, e->bound = GW_BOUND_MEMORY,
			e->binding = level_names[i].name;
	}
	gw_estimate_resource(e, "launch", launch_time);
	if (launch_time > most)
		e->bound = GW_BOUND_LAUNCH, e->binding = "launch";
}

static void estimate(const struct gw_device *device, const struct gw_launch *launch,
		     const struct gw_work *work, const struct gw_model_options *options,
		     struct gw_estimate *e)
{
	struct sums s = {0};
	struct wave v;
	double per_block, launch_time;

	gw_estimate_clear(e);
	if (!wave_of(device, launch, work, options, e, &v))
		return;
	per_block = v.occupancy.warps_per_block;
	launch_time = gw_dim3_size(launch->config.grid) *
			      gw_need(e, gw_curve_at(device, GW_CURVE_launch_x1, per_block),
				      "launch_x1") +
		      gw_need(e, gw_curve_at(device, GW_CURVE_launch_x2, per_block), "launch_x2");
	if (e->reason[0])
		return;
	add_waves(&v, (double)v.occupancy.full_waves, (double)v.occupancy.resident_blocks, &s);
	add_waves(&v, 1, (double)v.occupancy.last_blocks, &s);
	gw_estimate_settle(e, launch_time + s.cycles / v.clock);
	if (!e->reason[0])
		report(&v, &s, launch_time, e);
}

const struct gw_model gw_model_wave = {
	.name = "wave",
	.source = "Kleimenov and Popova 2021",
	.summary = "warps, processing blocks and waves, with memory latency raised by its load",
	.estimate = estimate,
};
