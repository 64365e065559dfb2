/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bounds, gpuwatch's own model: the time each resource of the GPU needs for the launch at
 * the rate the device profile gives it, a latency bound, and what the launch itself costs.
 * Equations and limits: docs/models.md.
 */
#include "predictor/models/bounds.h"

#include "predictor/models/inputs.h"
#include "predictor/models/occupancy.h"

#include <math.h>

/*
 * The resources in the order they are shown: id, name, what it means to be bound by it,
 * where a share of the work that one block cannot hand on is stuck (quantisation), and what
 * is said when it is unknown.
 */
#define RESOURCES(R)                                                                               \
	R(ISSUE, "issue", COMPUTE, PARTITION,                                                      \
	  "unknown: issue (inst_issued or inst_executed, t_issue)")                                \
	R(FMA, "fma", COMPUTE, PARTITION, "unknown: fma (pipe_fma or fp32_inst, t_sp)")            \
	R(ALU, "alu", COMPUTE, PARTITION, "unknown: alu (pipe_alu or int_inst, t_add)")            \
	R(FP64, "fp64", COMPUTE, PARTITION, "unknown: fp64 (pipe_fp64 or fp64_inst, t_dp)")        \
	R(FP16, "fp16", COMPUTE, PARTITION, "unknown: fp16 (pipe_fp16 or fp16_inst, t_hp)")        \
	R(XU, "xu", COMPUTE, PARTITION, "unknown: xu (pipe_xu, t_sfu)")                            \
	R(TENSOR, "tensor", COMPUTE, PARTITION, "unknown: tensor (tensor_*_flop, t_tensor_*)")     \
	R(LSU, "lsu", MEMORY, SM, "unknown: lsu (lsu_wavefronts, sm_count, sm_clock)")             \
	R(SHARED, "shared", MEMORY, SM, "unknown: shared (shared_wavefronts, b_shared)")           \
	R(L1, "l1", MEMORY, SM, "unknown: l1 (l1_bytes, b_l1)")                                    \
	R(L2, "l2", MEMORY, DEVICE,                                                                \
	  "unknown: l2 (l2_read_bytes, l2_write_bytes, b_l2_read, b_l2_write)")                    \
	R(DRAM, "dram", MEMORY, DEVICE,                                                            \
	  "unknown: dram (dram_read_bytes, dram_write_bytes, b_mem)")                              \
	R(IN_FLIGHT, "dram_in_flight", LATENCY, DEVICE,                                            \
	  "unknown: dram_in_flight (warp_loads_in_flight, global_load_requests, "                  \
	  "dram_bw_in_flight)")                                                                    \
	R(ATOMICS, "atomics", MEMORY, DEVICE,                                                      \
	  "unknown: atomics (atomic_requests, t_atomic_global, t_atomic_same)")                    \
	R(SHARED_ATOMICS, "shared_atomics", MEMORY, SM,                                            \
	  "unknown: shared_atomics (shared_atomics, t_atomic_shared)")                             \
	R(LATENCY, "latency", LATENCY, DEVICE,                                                     \
	  "unknown: latency (warp_cycles or inst_executed, residency, sm_clock)")                  \
	R(BLOCK_LAUNCH, "block_launch", LAUNCH, DEVICE,                                            \
	  "unknown: block_launch (launch_per_block or launch_per_warp)")

enum resource {
#define R(id, name, bound, scope, unknown) id,
	RESOURCES(R)
#undef R
	        RESOURCE_COUNT
};

enum scope { PARTITION, SM, DEVICE, SCOPES };

static const struct {
	const char *name, *unknown;
	enum gw_bound bound;
	enum scope scope;
} info[RESOURCE_COUNT] = {
#define R(id, name, bound, scope, unknown) {name, unknown, GW_BOUND_##bound, scope},
        RESOURCES(R)
#undef R
};

enum {
	WARP = 32,
	WAVEFRONT_BYTES = 128, /* a wavefront of shared memory: 32 banks of 4 bytes */
	/*
	 * Exponent of the norm that joins the resources. Measured on 403 (kernel,
	 * configuration) pairs: within 25% for 48% of them, against 42% for the slowest
	 * resource alone (docs/models.md).
	 */
	NORM = 3,
};
_Static_assert(NORM == 3, "combine() takes cubes and a cube root");

/** A launch on a device, as the resources see it. */
struct view {
	const struct gw_device *d;
	const struct gw_work *w;
	double blocks, warps, warps_per_block;
	double loads, dram_read; /* global_load_requests, dram_read_bytes: several resources ask */
	double most_blocks;      /* of the grid, on the busiest SM */
	double sms, clock;
	struct gw_occupancy occupancy;
	bool resident; /* occupancy is known */
	double quantum[SCOPES];
	double l1_share, l2_share, dram_share; /* where a load is served; NaN when unknown */
	double amat;                           /* cycles; NaN when unknown */
};

/* The larger, or a where b is unknown. Inline, unlike fmax, as this runs for every launch. */
static inline double larger(double a, double b)
{
	return b > a ? b : a;
}

/* The larger of what is known. */
static inline double larger_known(double a, double b)
{
	return larger(gw_either(a, b), b);
}

static double work_of(const struct view *v, enum gw_work_field f)
{
	return gw_work_value(v->w, f);
}

static double rate_of(const struct view *v, enum gw_param p)
{
	return gw_param_value(v->d, p);
}

/* Nothing to do takes no time, whatever the rate; an unknown amount or rate is unknown. */
static double over(const struct view *v, double amount, enum gw_param rate)
{
	return amount == 0 ? 0 : amount / rate_of(v, rate);
}

/* Instructions of a pipe counted in warps, or in threads where only that is known. */
static double pipe_time(const struct view *v, enum gw_work_field pipe, enum gw_work_field threads,
                        enum gw_param rate, double operations)
{
	double insts = work_of(v, pipe) * WARP;

	if (isnan(insts))
		insts = work_of(v, threads);
	return over(v, insts * operations, rate);
}

/* The sum over operand types that are known: at least that much is done. */
static double tensor_time(const struct view *v)
{
	static const struct {
		enum gw_work_field work;
		enum gw_param rate;
	} types[] = {{GW_WORK_tensor_fp16_flop, GW_PARAM_t_tensor_fp16},
	             {GW_WORK_tensor_tf32_flop, GW_PARAM_t_tensor_tf32},
	             {GW_WORK_tensor_fp8_flop, GW_PARAM_t_tensor_fp8},
	             {GW_WORK_tensor_int8_flop, GW_PARAM_t_tensor_int8},
	             {GW_WORK_tensor_fp64_flop, GW_PARAM_t_tensor_fp64}};
	double sum = NAN;

	if (work_of(v, GW_WORK_pipe_tensor) == 0)
		return 0;
	for (unsigned i = 0; i < sizeof(types) / sizeof(*types); i++) {
		double flop = work_of(v, types[i].work);

		if (!isnan(flop))
			sum = gw_either(sum, 0) + over(v, flop, types[i].rate);
	}
	/* Where operations aren't known, the pipe's own time may have been counted. */
	return gw_either(sum, work_of(v, GW_WORK_tensor_cycles) / v->clock);
}

/* Reads and writes at their own rates; together at that of reads where only the sum is known. */
static double l2_time(const struct view *v)
{
	double apart = over(v, work_of(v, GW_WORK_l2_read_bytes), GW_PARAM_b_l2_read) +
	               over(v, work_of(v, GW_WORK_l2_write_bytes), GW_PARAM_b_l2_write);

	return gw_either(apart, over(v, work_of(v, GW_WORK_l2_total_bytes), GW_PARAM_b_l2_read));
}

/* Bytes at the bandwidth of their direction, or of both where only that is known. */
static double dram_bytes_time(const struct view *v, double amount, enum gw_param own)
{
	double bandwidth;

	if (amount == 0)
		return 0;
	bandwidth = rate_of(v, own);
	if (isnan(bandwidth))
		bandwidth = gw_either(rate_of(v, GW_PARAM_b_mem), rate_of(v, GW_PARAM_b_mem_spec));
	return amount / bandwidth;
}

static double dram_time(const struct view *v)
{
	return dram_bytes_time(v, v->dram_read, GW_PARAM_b_mem_read) +
	       dram_bytes_time(v, work_of(v, GW_WORK_dram_write_bytes), GW_PARAM_b_mem_write);
}

/*
 * Bandwidth that the loads in flight can draw. A request brings in bytes / requests from
 * device memory on average; one that hits a cache comes back sooner, and its place in
 * flight is used again, so more of them fit into one memory latency.
 */
static double in_flight_time(const struct view *v)
{
	double bytes = v->dram_read;
	const struct gw_curve *curve = &v->d->curve[GW_CURVE_dram_bw_in_flight];
	double resident, warps, in_flight, bandwidth, faster;

	if (bytes == 0)
		return 0;
	if (!v->resident || !curve->count)
		return NAN;
	faster = larger(1, gw_either(rate_of(v, GW_PARAM_lat_dram) / v->amat, 1));
	resident = (double)v->occupancy.resident_blocks;
	warps = (v->blocks < resident ? v->blocks : resident) * v->warps_per_block / v->sms;
	in_flight = warps * work_of(v, GW_WORK_warp_loads_in_flight) * (bytes / v->loads) * faster;
	bandwidth = gw_curve_at(v->d, GW_CURVE_dram_bw_in_flight, in_flight);
	if (in_flight < curve->x[0]) /* below the first point: in proportion, by Little's law */
		bandwidth *= in_flight / curve->x[0];
	return bytes / bandwidth;
}

static double atomics_time(const struct view *v)
{
	double requests = work_of(v, GW_WORK_atomic_requests);

	if (requests == 0)
		return 0;
	return larger_known(
	        over(v, requests, GW_PARAM_t_atomic_global),
	        over(v, work_of(v, GW_WORK_atomic_same_address), GW_PARAM_t_atomic_same));
}

/* Blocks are started at a rate of their own, and warps at another: the slower counts. */
static double block_launch_time(const struct view *v)
{
	return larger_known(v->blocks * rate_of(v, GW_PARAM_launch_per_block),
	                    v->warps * rate_of(v, GW_PARAM_launch_per_warp));
}

/*
 * Cycles of a warp by the latency of its instruction classes, shared by those it overlaps.
 * An instruction of no known class, or of a warp whose ILP is not known, costs its issue.
 */
static double class_cycles(const struct view *v)
{
	static const struct {
		enum gw_work_field insts;
		double per_warp;
		enum gw_param latency;
	} classes[] = {{GW_WORK_fp32_inst, WARP, GW_PARAM_lat_fp32},
	               {GW_WORK_fp64_inst, WARP, GW_PARAM_lat_fp64},
	               {GW_WORK_fp16_inst, WARP, GW_PARAM_lat_fp16},
	               {GW_WORK_int_inst, WARP, GW_PARAM_lat_int},
	               {GW_WORK_pipe_xu, 1, GW_PARAM_lat_sfu}};
	double rest = work_of(v, GW_WORK_inst_executed) / v->warps, cycles = 0;
	double ilp = work_of(v, GW_WORK_warp_ilp);

	for (unsigned i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		double insts = work_of(v, classes[i].insts) / classes[i].per_warp / v->warps;
		double each = rate_of(v, classes[i].latency) / ilp;

		if (isnan(insts) || isnan(each))
			continue;
		cycles += insts * larger(each, 1);
		rest -= insts;
	}
	return isnan(rest) ? NAN : cycles + larger(rest, 0);
}

/* Loads a warp waits for one after the other: by the code, or by how many it overlaps. */
static double chain_of(const struct view *v)
{
	double chain = work_of(v, GW_WORK_warp_memory_chain);
	double loads = v->loads / v->warps;

	if (!isnan(chain) || loads == 0)
		return gw_either(chain, loads);
	return loads / work_of(v, GW_WORK_warp_loads_in_flight);
}

/* What a warp waits for memory at least: its chain, or one load when that is not known. */
static double memory_cycles(const struct view *v, double chain)
{
	double each = gw_either(v->amat, rate_of(v, GW_PARAM_lat_l1));

	if (chain == 0 || v->loads == 0)
		return 0;
	if (isnan(chain))
		return v->loads > 0 ? gw_either(each, 0) : 0;
	return gw_either(chain * each, 0);
}

/*
 * The time in which a launch of @p idle cycles draws @p bytes from a memory whose latency
 * grows with the bandwidth drawn, @p waits accesses following each other: the b = bytes / t
 * for which b (idle + waits (lat(b) - lat(0))) = bytes clock. The left side rises with b, so
 * there is one, and more bytes, waits or cycles never make t smaller.
 */
static double loaded_time(const struct view *v, double idle, double waits, double bytes)
{
	const struct gw_curve *c = &v->d->curve[GW_CURVE_dram_latency_at_load];
	double target = bytes * v->clock;
	uint32_t low = 0, high = c->count;
	double slope, a, half, b;

	if (!(c->count && waits > 0 && bytes > 0) || c->x[0] * idle >= target)
		return idle / v->clock;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (c->x[middle] * (idle + waits * larger(0, c->y[middle] - c->y[0])) <= target)
			low = middle;
		else
			high = middle;
	}
	a = idle + waits * larger(0, c->y[low] - c->y[0]);
	if (high == c->count)
		return a / v->clock;
	/* Within a segment: b (a + slope (b - x)) = target, a quadratic in b. */
	slope = waits * larger(0, (c->y[high] - c->y[low]) / (c->x[high] - c->x[low]));
	half = (a - slope * c->x[low]) / 2;
	b = slope > 0 ? target / (half + sqrt(half * half + slope * target)) : target / a;
	return bytes / b;
}

static double latency_time(const struct view *v, struct gw_estimate *e)
{
	double longest = work_of(v, GW_WORK_warp_cycles_longest), chain = chain_of(v), rounds;
	double mean = gw_either(work_of(v, GW_WORK_warp_cycles), longest);

	if (!v->resident || isnan(v->clock))
		return NAN;
	if (isnan(mean)) {
		mean = class_cycles(v) + memory_cycles(v, chain);
		if (isnan(work_of(v, GW_WORK_warp_ilp)) || isnan(chain))
			gw_estimate_warn(e,
			                 "dependences are not known (warp_cycles, or warp_ilp and "
			                 "warp_memory_chain): latency is the least a warp takes");
	}
	rounds = ceil(v->most_blocks / v->occupancy.blocks_per_sm);
	mean = rounds * mean + larger(0, gw_either(longest, mean) - mean);
	if (isnan(mean))
		return NAN;
	return loaded_time(v, mean, rounds * chain * v->dram_share, v->dram_read);
}

/*
 * A block stays where it was put, and a warp too: the busiest SM or sub-partition holds more
 * than its share of the grid. The factor by which the work there exceeds the mean.
 */
static void quantise(struct view *v, struct gw_estimate *e)
{
	double partitions = rate_of(v, GW_PARAM_schedulers_per_sm);
	double busiest = v->most_blocks * v->warps_per_block;

	v->quantum[DEVICE] = 1;
	v->quantum[SM] = busiest * v->sms / v->warps;
	v->quantum[PARTITION] = ceil(busiest / partitions) * partitions * v->sms / v->warps;
	if (isnan(v->quantum[SM]))
		gw_estimate_warn(e, "sm_count is not known: the grid is taken as evenly spread");
	v->quantum[SM] = gw_either(v->quantum[SM], 1);
	v->quantum[PARTITION] = gw_either(v->quantum[PARTITION], v->quantum[SM]);
}

static void look(struct view *v, const struct gw_device *device, const struct gw_launch *launch,
                 const struct gw_work *work, struct gw_estimate *e)
{
	const char *why = gw_occupancy_of(device, launch, &v->occupancy);
	double hit1, hit2;

	v->d = device, v->w = work;
	v->blocks = gw_dim3_size(launch->config.grid);
	v->warps_per_block = why ? ceil(gw_dim3_size(launch->config.block) / WARP)
	                         : v->occupancy.warps_per_block;
	v->warps = v->blocks * v->warps_per_block;
	v->loads = work_of(v, GW_WORK_global_load_requests);
	v->dram_read = work_of(v, GW_WORK_dram_read_bytes);
	v->sms = rate_of(v, GW_PARAM_sm_count);
	v->clock = rate_of(v, GW_PARAM_sm_clock);
	v->most_blocks = ceil(v->blocks / v->sms);
	v->resident = !why;
	if (why)
		gw_estimate_warn(e, why);
	hit1 = gw_share(work_of(v, GW_WORK_l1_hit_rate));
	hit2 = gw_share(work_of(v, GW_WORK_l2_hit_rate));
	v->l1_share = hit1, v->l2_share = (1 - hit1) * hit2;
	v->dram_share = (1 - hit1) * (1 - hit2);
	v->amat = v->l1_share * rate_of(v, GW_PARAM_lat_l1) +
	          v->l2_share * rate_of(v, GW_PARAM_lat_l2) +
	          v->dram_share * rate_of(v, GW_PARAM_lat_dram);
	quantise(v, e);
}

/* Times if the grid were spread evenly; rank() puts in how it is not. */
static void times_of(const struct view *v, struct gw_estimate *e, double t[RESOURCE_COUNT])
{
	double issued = work_of(v, GW_WORK_inst_issued);
	double wavefronts = work_of(v, GW_WORK_lsu_wavefronts); /* one a cycle and SM */

	t[ISSUE] = over(v, isnan(issued) ? work_of(v, GW_WORK_inst_executed) : issued,
	                GW_PARAM_t_issue);
	t[FMA] = pipe_time(v, GW_WORK_pipe_fma, GW_WORK_fp32_inst, GW_PARAM_t_sp, 2);
	t[ALU] = pipe_time(v, GW_WORK_pipe_alu, GW_WORK_int_inst, GW_PARAM_t_add, 1);
	t[FP64] = pipe_time(v, GW_WORK_pipe_fp64, GW_WORK_fp64_inst, GW_PARAM_t_dp, 2);
	t[FP16] = pipe_time(v, GW_WORK_pipe_fp16, GW_WORK_fp16_inst, GW_PARAM_t_hp, 4);
	t[XU] = over(v, work_of(v, GW_WORK_pipe_xu) * WARP, GW_PARAM_t_sfu);
	t[TENSOR] = tensor_time(v);
	t[LSU] = wavefronts == 0 ? 0 : wavefronts / (v->sms * v->clock);
	t[SHARED] =
	        over(v, work_of(v, GW_WORK_shared_wavefronts) * WAVEFRONT_BYTES, GW_PARAM_b_shared);
	t[L1] = over(v, work_of(v, GW_WORK_l1_bytes), GW_PARAM_b_l1);
	t[L2] = l2_time(v);
	t[DRAM] = dram_time(v);
	t[IN_FLIGHT] = in_flight_time(v);
	t[ATOMICS] = atomics_time(v);
	t[SHARED_ATOMICS] = over(v, work_of(v, GW_WORK_shared_atomics), GW_PARAM_t_atomic_shared);
	t[LATENCY] = latency_time(v, e);
	t[BLOCK_LAUNCH] = block_launch_time(v);
}

unsigned gw_bounds_even(const struct gw_device *device, const struct gw_launch *launch,
                        const struct gw_work *work, struct gw_resource_time out[GW_RESOURCES_MAX])
{
	double t[RESOURCE_COUNT];
	struct gw_estimate e; /* takes the warnings, which the model itself gives too */
	struct view v;

	_Static_assert((int)RESOURCE_COUNT <= (int)GW_RESOURCES_MAX, "room for every resource");
	gw_estimate_clear(&e);
	look(&v, device, launch, work, &e);
	times_of(&v, &e, t);
	for (unsigned i = 0; i < RESOURCE_COUNT; i++)
		out[i] = (struct gw_resource_time){info[i].name, info[i].bound, t[i]};
	return RESOURCE_COUNT;
}

/** What the resources come to together. */
struct ranking {
	unsigned first;    /* the one that needs the most time */
	double most, next; /* its time, and that of the next */
	double cubes;      /* sum of the cubes of the times, device memory once */
	bool any;          /* a resource of the work itself is known */
};

/* Terms are written in place: this runs for every launch, and there are many resources. */
static struct ranking rank(const struct view *v, double t[RESOURCE_COUNT], struct gw_estimate *e)
{
	/* Device memory counts by its bandwidth or by what is in flight, whichever is slower. */
	unsigned other = isnan(t[DRAM]) || t[IN_FLIGHT] > t[DRAM] ? DRAM : IN_FLIGHT;
	struct ranking r = {.first = BLOCK_LAUNCH};
	unsigned unknown = 0;

	/* Unrolled, so that names and scopes are constants: 7% fewer instructions. */
#pragma GCC unroll 32
	for (unsigned i = 0; i < RESOURCE_COUNT; i++) {
		double time = t[i] * v->quantum[info[i].scope];

		e->terms[i] = (struct gw_term){info[i].name, time, "s", true};
		if (isnan(time)) {
			gw_estimate_warn(e, info[i].unknown);
			unknown++;
			continue;
		}
		if (i != other)
			r.cubes += time * time * time;
		if (time > r.most)
			r.next = r.most, r.most = time, r.first = i;
		else if (time > r.next)
			r.next = time;
	}
	e->term_count = RESOURCE_COUNT;
	r.any = RESOURCE_COUNT - unknown > !isnan(t[BLOCK_LAUNCH]);
	return r;
}

/*
 * (sum t^3)^(1/3). The sum is between 1 and RESOURCE_COUNT of the largest cube, where three
 * steps of Halley's method from a straight line give all the digits there are; libm's cbrt
 * takes five times as long. Below 1e-90 s the cubes vanish, and the largest stands for all.
 */
static double combine(const struct ranking *r)
{
	double s, root;

	if (!(r->most > 1e-90))
		return r->most;
	s = r->cubes / (r->most * r->most * r->most);
	root = 0.9 + 0.1 * s;
	for (unsigned i = 0; i < 3; i++) {
		double cube = root * root * root;

		root *= (cube + 2 * s) / (2 * cube + s);
	}
	return r->most * root;
}

static void explain(const struct view *v, const struct ranking *r, double floor_time,
                    struct gw_estimate *e)
{
	struct gw_term *term = &e->terms[e->term_count];

	_Static_assert(RESOURCE_COUNT + 4 <= GW_TERMS_MAX, "room for every term");
	*term++ = (struct gw_term){"launch_floor", floor_time, "s", false};
	*term++ = (struct gw_term){"next/binding", r->next / r->most, "1", false};
	*term++ = (struct gw_term){"waves", v->resident ? v->occupancy.waves : NAN, "1", false};
	*term = (struct gw_term){"occupancy", v->resident ? v->occupancy.fraction : NAN, "1",
	                         false};
	e->term_count += 4;
}

/* Flattened: it runs for every launch, and its parts are called from gw_bounds_even too. */
__attribute__((flatten)) static void
estimate(const struct gw_device *device, const struct gw_launch *launch, const struct gw_work *work,
         const struct gw_model_options *options, struct gw_estimate *e)
{
	double t[RESOURCE_COUNT], floor_time, busy;
	struct ranking r;
	struct view v;

	(void)options;
	gw_estimate_clear(e);
	look(&v, device, launch, work, e);
	if (!(v.warps > 0)) {
		gw_estimate_refuse(e, "the launch has no block or no thread");
		return;
	}
	times_of(&v, e, t);
	r = rank(&v, t, e);
	floor_time = rate_of(&v, GW_PARAM_launch_floor);
	if (isnan(floor_time))
		gw_estimate_warn(e, "unknown: launch_floor, the time is without it");
	explain(&v, &r, floor_time, e);
	if (!r.any) {
		gw_estimate_missing(e, "the work of the launch, or the device's rates for it");
		return;
	}
	busy = combine(&r);
	/* All that is known takes no time: what does take time is what is not known. */
	if (!(busy > 0) && !(floor_time > 0)) {
		gw_estimate_missing(e, "the work of the launch, or the device's rates for it");
		return;
	}
	gw_estimate_settle(e, gw_either(floor_time, 0) + busy);
	if (e->reason[0])
		return;
	e->bound = floor_time > busy ? GW_BOUND_LAUNCH : info[r.first].bound;
	e->binding = floor_time > busy ? "launch_floor" : info[r.first].name;
}

const struct gw_model gw_model_bounds = {
        .name = "bounds",
        .source = "gpuwatch",
        .summary = "time of every resource at its measured rate, joined with latency and launch",
        .estimate = estimate,
};
