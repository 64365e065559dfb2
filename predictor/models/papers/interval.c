/*
 * Interval analysis (Koppelman). A kernel is one interval that each thread executes once: its
 * latency L_iota is the critical path of one warp alone, and a resource with throughput Theta of
 * which a thread uses d is saturated by P = L_iota Theta / d threads. The smallest P belongs to the
 * binding resource; below it time is N/P L_iota, above it more threads do not help.
 */
#include "predictor/models/papers/interval.h"

#include "predictor/models/inputs.h"
#include "predictor/models/occupancy.h"

#include <math.h>

double gw_interval_latency(const struct gw_interval_insn *code, size_t count)
{
	double ready[GW_INTERVAL_SLOTS] = {0};
	double free_at = 0;

	for (size_t i = 0; i < count; i++) {
		double issue = free_at;

		for (unsigned s = 0; s < GW_INTERVAL_SOURCES; s++) {
			if (code[i].source[s] >= GW_INTERVAL_SLOTS)
				return NAN;
			issue = fmax(issue, ready[code[i].source[s]]);
		}
		if (code[i].result >= GW_INTERVAL_SLOTS)
			return NAN;
		if (code[i].result != GW_INTERVAL_NO_VALUE)
			ready[code[i].result] = issue + code[i].latency;
		free_at = issue + code[i].occupies;
	}
	return free_at;
}

double gw_interval_theta(double sm_count, double schedulers, double units)
{
	return sm_count * schedulers * units;
}

double gw_interval_busy(double threads, const struct gw_interval_use *use, size_t count)
{
	double cycles = 0;

	for (size_t i = 0; i < count; i++)
		cycles += use[i].amount / use[i].theta;
	return threads * cycles;
}

double gw_interval_threads(double latency, const struct gw_interval_use *use, size_t count)
{
	double one = gw_interval_busy(1, use, count);

	return one > 0 ? latency / one : one == 0 ? INFINITY : NAN;
}

double gw_interval_bytes_per_cycle(double bandwidth, double phi)
{
	return bandwidth / phi;
}

double gw_interval_time(double times, double active, double latency, double saturating)
{
	return times / fmin(active, saturating) * latency;
}

double gw_interval_total(const struct gw_barrier_interval *intervals, size_t count)
{
	double cycles = 0;

	for (size_t i = 0; i < count; i++)
		cycles += gw_interval_time(intervals[i].times, intervals[i].active,
					   intervals[i].latency, intervals[i].saturating);
	return cycles;
}

/** A resource of the notes, with what a thread uses of it. */
struct resource {
	const char *name, *threads_name;
	enum gw_bound bound;
	struct gw_interval_use use[2];
	unsigned uses;
	double saturating; /* P; NaN when an input is unknown */
};

enum { DRAM, L2, DISPATCH, RESOURCES };

/* Bytes of one thread, read and written together; NaN when either is unknown. */
static double bytes_of(const struct gw_work *work, enum gw_work_field read,
		       enum gw_work_field write, double threads)
{
	return (gw_work_value(work, read) + gw_work_value(work, write)) / threads;
}

static void describe(const struct gw_device *device, const struct gw_work *work, double threads,
		     double phi, struct resource r[RESOURCES])
{
	double mem = gw_either(gw_param_value(device, GW_PARAM_b_mem),
			       gw_param_value(device, GW_PARAM_b_mem_spec));

	r[DRAM] = (struct resource){
		.name = "dram",
		.threads_name = "P (dram)",
		.bound = GW_BOUND_MEMORY,
		.uses = 1,
		.use = {{bytes_of(work, GW_WORK_dram_read_bytes, GW_WORK_dram_write_bytes, threads),
			 gw_interval_bytes_per_cycle(mem, phi)}}};
	r[L2] = (struct resource){
		.name = "l2",
		.threads_name = "P (l2)",
		.bound = GW_BOUND_MEMORY,
		.uses = 1,
		.use = {{bytes_of(work, GW_WORK_l2_read_bytes, GW_WORK_l2_write_bytes, threads),
			 gw_interval_bytes_per_cycle(gw_param_value(device, GW_PARAM_b_l2_read),
						     phi)}}};
	/* Theta_IF counts instructions, t_sp two operations for each. */
	r[DISPATCH] = (struct resource){.name = "dispatch",
					.threads_name = "P (dispatch)",
					.bound = GW_BOUND_COMPUTE,
					.uses = 2,
					.use = {{gw_work_value(work, GW_WORK_fp32_inst) / threads,
						 gw_param_value(device, GW_PARAM_t_sp) / 2 / phi},
						{gw_work_value(work, GW_WORK_ldst_inst) / threads,
						 gw_param_value(device, GW_PARAM_t_ldst) / phi}}};
}

static const char *const unknown_resource[RESOURCES] = {
	[DRAM] = "the device-memory limit is not known (dram_read_bytes, dram_write_bytes, b_mem)",
	[L2] = "the L2 limit is not known (l2_read_bytes, l2_write_bytes, b_l2_read)",
	[DISPATCH] = "the dispatch limit is not known (fp32_inst, ldst_inst, t_sp, t_ldst)",
};

/* The resource with the least known P; NULL without any. */
static const struct resource *scarcest(struct gw_estimate *e, struct resource r[RESOURCES],
				       double latency, double threads, double phi)
{
	const struct resource *least = NULL;

	for (unsigned i = 0; i < RESOURCES; i++) {
		r[i].saturating = gw_interval_threads(latency, r[i].use, r[i].uses);
		gw_estimate_resource(e, r[i].name,
				     gw_interval_busy(threads, r[i].use, r[i].uses) / phi);
		gw_estimate_term(e, r[i].threads_name, r[i].saturating, "thread");
		if (isnan(r[i].saturating))
			gw_estimate_warn(e, unknown_resource[i]);
		else if (!least || r[i].saturating < least->saturating)
			least = &r[i];
	}
	return least;
}

/* Where the notes state that their assumptions end. */
static void warn_validity(struct gw_estimate *e, const struct gw_occupancy *occupancy,
			  double barriers, double active, double saturating)
{
	if (isnan(barriers))
		gw_estimate_warn(e, "barriers not known: the analysis assumes that there are none");
	else if (barriers > 0)
		gw_estimate_warn(e,
				 "the kernel has barriers: the analysis does not hold across them");
	if (occupancy->waves > 1)
		gw_estimate_warn(e, "not all blocks are active at once, as the notes assume");
	if (active >= saturating)
		gw_estimate_warn(e, "latency rises near saturation: P is underestimated");
}

static void estimate(const struct gw_device *device, const struct gw_launch *launch,
		     const struct gw_work *work, const struct gw_model_options *options,
		     struct gw_estimate *e)
{
	struct resource r[RESOURCES];
	const struct resource *least;
	struct gw_occupancy occupancy;
	const char *why = gw_occupancy_of(device, launch, &occupancy);
	double phi, latency, threads, active, cycles;

	(void)options;
	gw_estimate_clear(e);
	if (why) {
		gw_estimate_refuse(e, why);
		return;
	}
	phi = gw_need_param(e, device, GW_PARAM_sm_clock);
	latency = gw_need_work(e, work, GW_WORK_warp_cycles);
	if (e->reason[0])
		return;
	threads = gw_dim3_size(launch->config.grid) * gw_dim3_size(launch->config.block);
	active = fmin(threads,
		      (double)occupancy.resident_blocks * gw_dim3_size(launch->config.block));
	describe(device, work, threads, phi, r);
	gw_estimate_term(e, "L_iota", latency, "cycle");
	gw_estimate_term(e, "P", active, "thread");
	gw_estimate_term(e, "N", threads, "1");
	least = scarcest(e, r, latency, threads, phi);
	if (!least) {
		gw_estimate_refuse(e,
				   "not known: any of the limits by device memory, L2 or dispatch");
		return;
	}
	cycles = gw_interval_time(threads, active, latency, least->saturating);
	warn_validity(e, &occupancy, gw_work_value(work, GW_WORK_barriers), active,
		      least->saturating);
	gw_estimate_resource(e, "latency", threads / active * latency / phi);
	gw_estimate_settle(e, cycles / phi);
	if (e->reason[0])
		return;
	e->bound = active < least->saturating ? GW_BOUND_LATENCY : least->bound;
	e->binding = active < least->saturating ? "latency" : least->name;
}

const struct gw_model gw_model_interval = {
	.name = "interval",
	.source = "Koppelman",
	.summary = "interval analysis: latency of one warp against the threads that saturate a "
		   "resource",
	.estimate = estimate,
};
