/*
 * bounds, gpuwatch's own model: the time each resource of the GPU needs for the launch at the rate
 * of the device profile, a latency bound, and the cost of the launch itself. Equations and limits:
 * docs/internals/models.md.
 */
#include "predictor/models/bounds.h"

#include "predictor/models/bounds_parts.h"

/*
 * The resources in the order they are shown: id, name, the bound they stand for, the unit that a
 * block's work cannot leave (quantisation), the path, and the warning when unknown. Resources on
 * one path handle the same instruction, wavefront or sector one after the other: the slowest is the
 * time of the path.
 */
#define RESOURCES(R) \
	R(ISSUE, "issue", COMPUTE, PARTITION, PIPES, \
	  "unknown: issue (inst_issued or inst_executed, t_issue)") \
	R(FMA, "fma", COMPUTE, PARTITION, PIPES, "unknown: fma (pipe_fma or fp32_inst, t_sp)") \
	R(ALU, "alu", COMPUTE, PARTITION, PIPES, "unknown: alu (pipe_alu or int_inst, t_add)") \
	R(FP64, "fp64", COMPUTE, PARTITION, PIPES, "unknown: fp64 (pipe_fp64 or fp64_inst, t_dp)") \
	R(FP16, "fp16", COMPUTE, PARTITION, PIPES, "unknown: fp16 (pipe_fp16 or fp16_inst, t_hp)") \
	R(XU, "xu", COMPUTE, PARTITION, PIPES, "unknown: xu (pipe_xu, t_sfu)") \
	R(TENSOR, "tensor", COMPUTE, PARTITION, PIPES, \
	  "unknown: tensor (tensor_*_flop, t_tensor_*)") \
	R(LSU, "lsu", MEMORY, SM, DATA, "unknown: lsu (lsu_wavefronts, sm_count, sm_clock)") \
	R(SHARED, "shared", MEMORY, SM, DATA, "unknown: shared (shared_wavefronts, b_shared)") \
	R(L1, "l1", MEMORY, SM, DATA, "unknown: l1 (l1_bytes, b_l1)") \
	R(L2, "l2", MEMORY, DEVICE, L2_PATH, \
	  "unknown: l2 (l2_read_bytes, l2_write_bytes, b_l2_read, b_l2_write)") \
	R(DRAM, "dram", MEMORY, DEVICE, L2_PATH, \
	  "unknown: dram (dram_read_bytes, dram_write_bytes, b_mem)") \
	R(IN_FLIGHT, "dram_in_flight", LATENCY, DEVICE, L2_PATH, \
	  "unknown: dram_in_flight (warp_loads_in_flight, global_load_requests, " \
	  "dram_bw_in_flight)") \
	R(COPIES, "copies", MEMORY, SM, L2_PATH, \
	  "unknown: copies (copied_bytes, sm_count, sm_clock)") \
	R(ATOMICS, "atomics", MEMORY, DEVICE, L2_PATH, \
	  "unknown: atomics (atomic_requests, t_atomic_global, t_atomic_same)") \
	R(SHARED_ATOMICS, "shared_atomics", MEMORY, SM, DATA, \
	  "unknown: shared_atomics (shared_atomics, t_atomic_shared)") \
	R(CONSTANT, "constant", MEMORY, SM, DATA, \
	  "unknown: constant (constant_words, b_constant_serialised)") \
	R(BARRIER, "barrier", LATENCY, SM, MEETING, \
	  "unknown: barrier (barriers, rate_op_barrier)") \
	R(LATENCY, "latency", LATENCY, DEVICE, CRITICAL, \
	  "unknown: latency (warp_cycles or inst_executed, sm_clock)") \
	R(BLOCK_LAUNCH, "block_launch", LAUNCH, DEVICE, START, \
	  "unknown: block_launch (launch_per_block or launch_per_warp)")

enum resource {
#define R(id, name, bound, scope, path, unknown) id,
	RESOURCES(R)
#undef R
		RESOURCE_COUNT
};

enum path { PIPES, DATA, L2_PATH, MEETING, CRITICAL, START, PATHS };

static const struct {
	const char *name, *unknown;
	enum gw_bound bound;
	enum scope scope;
	enum path path;
} info[RESOURCE_COUNT] = {
#define R(id, name, bound, scope, path, unknown) {name, unknown, GW_BOUND_##bound, scope, path},
	RESOURCES(R)
#undef R
};

enum {
	/*
	 * Exponent of the norm that joins the resources. Measured on 403 (kernel,
	 * configuration) pairs: within 25% for 48% of them, against 42% for the slowest
	 * resource alone (docs/internals/models.md).
	 */
	NORM = 3,
};
_Static_assert(NORM == 3, "combine() takes cubes and a cube root");

/* Instructions of a pipe counted in warps, or in threads where only that is known. */
static double pipe_time(const struct view *v, enum gw_work_field pipe, enum gw_work_field threads,
			enum gw_param rate, double operations)
{
	double insts = work_of(v, pipe) * WARP;

	if (isnan(insts))
		insts = work_of(v, threads);
	return over(v, insts * operations, rate);
}

/* Integer multiply-adds use half of the pipe only. */
static double fma_time(const struct view *v)
{
	double all = pipe_time(v, GW_WORK_pipe_fma, GW_WORK_fp32_inst, GW_PARAM_t_sp, 2);
	double heavy = over(v, work_of(v, GW_WORK_pipe_fma_heavy) * WARP * 2, GW_PARAM_t_int);

	return larger(all, heavy);
}

/* Packed halves have the rate `t_hp` wherever they go: on some GPUs through the FMA pipe. */
static double fp16_time(const struct view *v)
{
	return over(v,
		    4 * larger_known(work_of(v, GW_WORK_fp16_inst),
				     work_of(v, GW_WORK_pipe_fp16) * WARP),
		    GW_PARAM_t_hp);
}

/* The sum over known operand types: a lower bound. */
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
	/* Without operations the pipes' own time may have been counted. */
	return gw_either(sum, work_of(v, GW_WORK_tensor_cycles) /
				      (v->clock * rate_of(v, GW_PARAM_schedulers_per_sm)));
}

/* What copies past L1 bring comes to an SM a lookup's bytes in a cycle, from L2 or from a block of
 * its cluster. Only code analysis has the row: where it is unknown there are taken to be none. */
static double copies_time(const struct view *v)
{
	double bytes = work_of(v, GW_WORK_copied_bytes);

	return bytes > 0 ? bytes / (LOOKUP_BYTES * v->sms * v->clock) : 0;
}

/* The first block stays on its SM, which takes as long for it as for any, whatever others do. Of
 * @p even, the time of an even spread over SMs; without what quantisation adds. */
static double of_first(const struct view *v, double even, enum scope scope)
{
	double alone = even * work_of(v, GW_WORK_tensor_first) * v->sms / v->blocks;

	return larger(even, alone / v->quantum[scope]);
}

static double atomics_time(const struct view *v)
{
	double requests = work_of(v, GW_WORK_atomic_requests);

	if (requests == 0)
		return 0;
	return larger_known(
		larger_known(
			requests / rate_of(v, GW_PARAM_t_atomic_global),
			over(v, work_of(v, GW_WORK_atomic_same_address), GW_PARAM_t_atomic_same)),
		over(v, work_of(v, GW_WORK_atomic_lines) * LOOKUP_BYTES, GW_PARAM_b_l2_write));
}

/* Words of one request come one after the other. Only code analysis has the row: where it is
 * unknown there are taken to be none. */
static double constant_time(const struct view *v)
{
	const double word = 4;
	double words = work_of(v, GW_WORK_constant_words);

	return words > 0 ? words * word / rate_of(v, GW_PARAM_b_constant_serialised) : 0;
}

static double barrier_time(const struct view *v)
{
	double barriers = work_of(v, GW_WORK_barriers) * v->warps;

	return barriers == 0
		       ? 0
		       : barriers / (rate_of(v, GW_PARAM_rate_op_barrier) * v->sms * v->clock);
}

/* Blocks start at one rate and warps at another: the slower counts. */
static double block_launch_time(const struct gw_device *device, double blocks, double warps)
{
	return larger_known(blocks * gw_param_value(device, GW_PARAM_launch_per_block),
			    warps * gw_param_value(device, GW_PARAM_launch_per_warp));
}

/*
 * A block stays on its SM and a warp on its sub-partition: the busiest one holds more than its
 * share of the grid. The ratio of its work to the mean.
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

	v->d = device, v->w = work;
	v->fill = v->waits = v->copies = v->tail = 0;
	v->blocks = gw_dim3_size(launch->config.grid);
	v->warps_per_block = why ? ceil(gw_dim3_size(launch->config.block) / WARP)
				 : v->occupancy.warps_per_block;
	v->warps = v->blocks * v->warps_per_block;
	v->loads = work_of(v, GW_WORK_global_load_requests);
	v->dram_read = work_of(v, GW_WORK_dram_read_bytes);
	v->sms = rate_of(v, GW_PARAM_sm_count);
	v->clock = rate_of(v, GW_PARAM_sm_clock);
	v->most_blocks = ceil(v->blocks / v->sms);
	v->fetch = gw_either(rate_of(v, GW_PARAM_lat_l2) / v->clock, 0);
	v->resident = !why;
	if (why)
		gw_estimate_warn(e, why);
	gw_bounds_traffic(v);
	quantise(v, e);
}

/* Times for an evenly spread grid; rank() applies the imbalance. */
static void times_of(struct view *v, struct gw_estimate *e, double t[RESOURCE_COUNT])
{
	double executed = work_of(v, GW_WORK_inst_executed);
	double issued = gw_either(work_of(v, GW_WORK_inst_issued), executed);
	double wavefronts = work_of(v, GW_WORK_lsu_wavefronts); /* one a cycle and SM */

	/* Few are issued twice: a poor sample says less of that than those executed. */
	if (v->w->q[GW_WORK_inst_issued].confidence < GW_CONFIDENCE_COUNTED)
		issued = gw_either(executed, issued);
	t[ISSUE] = over(v, issued, GW_PARAM_t_issue);
	t[FMA] = fma_time(v);
	t[ALU] = pipe_time(v, GW_WORK_pipe_alu, GW_WORK_int_inst, GW_PARAM_t_add, 1);
	t[FP64] = pipe_time(v, GW_WORK_pipe_fp64, GW_WORK_fp64_inst, GW_PARAM_t_dp, 2);
	t[FP16] = fp16_time(v);
	t[XU] = over(v, work_of(v, GW_WORK_pipe_xu) * WARP, GW_PARAM_t_sfu);
	t[TENSOR] = tensor_time(v);
	t[LSU] = wavefronts == 0 ? 0 : wavefronts / (v->sms * v->clock);
	t[SHARED] =
		over(v, work_of(v, GW_WORK_shared_wavefronts) * WAVEFRONT_BYTES, GW_PARAM_b_shared);
	t[L1] = over(v, work_of(v, GW_WORK_l1_bytes), GW_PARAM_b_l1);
	t[L2] = gw_bounds_l2_time(v);
	t[DRAM] = gw_bounds_dram_time(v);
	t[IN_FLIGHT] = gw_bounds_in_flight_time(v);
	t[COPIES] = copies_time(v);
	t[ATOMICS] = atomics_time(v);
	t[SHARED_ATOMICS] = over(v, work_of(v, GW_WORK_shared_atomics), GW_PARAM_t_atomic_shared);
	t[CONSTANT] = constant_time(v);
	t[BARRIER] = barrier_time(v);
	t[LATENCY] = gw_bounds_latency_time(v, e);
	t[BLOCK_LAUNCH] = block_launch_time(v->d, v->blocks, v->warps);
}

double gw_bounds_launching(const struct gw_device *device, const struct gw_launch *launch)
{
	double blocks = gw_dim3_size(launch->config.grid);
	double warps = blocks * ceil(gw_dim3_size(launch->config.block) / WARP);
	double start = block_launch_time(device, blocks, warps);
	double floor_time = gw_param_value(device, GW_PARAM_launch_floor);

	return isnan(start) ? floor_time : gw_either(floor_time, 0) + start;
}

unsigned gw_bounds_even(const struct gw_device *device, const struct gw_launch *launch,
			const struct gw_work *work, struct gw_resource_time out[GW_RESOURCES_MAX])
{
	double t[RESOURCE_COUNT];
	struct gw_estimate e; /* receives the warnings, which the model itself gives too */
	struct view v;

	_Static_assert((int)RESOURCE_COUNT <= (int)GW_RESOURCES_MAX, "room for every resource");
	gw_estimate_clear(&e);
	look(&v, device, launch, work, &e);
	times_of(&v, &e, t);
	for (unsigned i = 0; i < RESOURCE_COUNT; i++)
		out[i] = (struct gw_resource_time){info[i].name, info[i].bound, t[i]};
	return RESOURCE_COUNT;
}

/** The combined resources. */
struct ranking {
	unsigned first;    /* the slowest */
	double most, next; /* its time, and that of the second */
	double path[PATHS];
	bool any; /* a resource of the work itself takes time */
};

/* Terms are written in place: this runs for every launch, over many resources. */
static struct ranking rank(const struct view *v, double t[RESOURCE_COUNT], struct gw_estimate *e)
{
	struct ranking r = {.first = BLOCK_LAUNCH};

	/* Unrolled whole it would take 1% fewer instructions, and 4 KB more of them. */
#pragma GCC unroll 4
	for (unsigned i = 0; i < RESOURCE_COUNT; i++) {
		double time = t[i] * v->quantum[info[i].scope];

		e->terms[i] = (struct gw_term){info[i].name, time, "s", true};
		if (isnan(time)) {
			gw_estimate_warn(e, info[i].unknown);
			continue;
		}
		r.path[info[i].path] = larger(r.path[info[i].path], time);
		if (time > r.most)
			r.next = r.most, r.most = time, r.first = i;
		else if (time > r.next)
			r.next = time;
	}
	r.any = r.first != BLOCK_LAUNCH || r.next > 0;
	r.path[CRITICAL] = larger(0, r.path[CRITICAL] - v->fill);
	r.path[L2_PATH] = larger(0, r.path[L2_PATH] - v->tail);
	return r;
}

/*
 * (sum t^3)^(1/3) over the paths. The sum is between 1 and PATHS times the largest cube, where
 * three steps of Halley's method from a straight line give full precision; libm's cbrt takes five
 * times as long. Below 1e-90 s the cubes vanish, and the largest is the result.
 */
static double combine(const double path[PATHS])
{
	double most = 0, s = 0, root;

	for (unsigned i = 0; i < PATHS; i++) {
		most = larger(most, path[i]);
		s += path[i] * path[i] * path[i];
	}
	if (!(most > 1e-90))
		return most;
	root = 0.9 * most + 0.1 * s / (most * most);
	for (unsigned i = 0; i < 3; i++) {
		double cube = root * root * root;

		root *= (cube + 2 * s) / (2 * cube + s);
	}
	return root;
}

/*
 * The paths, beside what nothing overlaps with. Where a block's warps meet at barriers, they wait
 * for global loads together, as all do for the first ones: without other blocks on the SM nothing
 * in it proceeds. A launch takes no less than blocks one after the other.
 */
static double join(const struct view *v, double path[PATHS])
{
	double most = 0, fill = v->fill, partitions = rate_of(v, GW_PARAM_schedulers_per_sm);
	double pipes = path[PIPES];

	/* Where copies past L1 feed the tensor cores, warps of their own are stages ahead. */
	if (v->copies > 0 && work_of(v, GW_WORK_store_tail) > 0) {
		path[PIPES] = larger(pipes, path[L2_PATH]);
		path[L2_PATH] = 0;
	}
	for (;;) {
		most = larger(most, fill + combine(path));
		if (!(v->waits > fill))
			return most;
		path[CRITICAL] = larger(0, path[CRITICAL] + fill - v->waits);
		path[L2_PATH] = path[START] = 0;
		path[DATA] *= v->rounds / v->most_blocks;
		path[MEETING] *= v->rounds / v->most_blocks;
		path[PIPES] = pipes * ceil(v->warps_per_block / partitions) * partitions * v->sms *
			      v->rounds / v->warps / v->quantum[PARTITION];
		fill = v->waits;
	}
}

static void explain(const struct view *v, const struct ranking *r, double floor_time,
		    struct gw_estimate *e)
{
	struct gw_term *term = &e->terms[RESOURCE_COUNT];

	_Static_assert(RESOURCE_COUNT + 7 <= GW_TERMS_MAX, "room for every term");
	*term++ = (struct gw_term){"launch_floor", floor_time, "s", false};
	*term++ = (struct gw_term){"code_fetch", v->fetch, "s", false};
	*term++ = (struct gw_term){"fill", v->fill + v->copies, "s", false};
	*term++ = (struct gw_term){"tail", v->tail, "s", false};
	*term++ = (struct gw_term){"next/binding", r->next / r->most, "1", false};
	*term++ = (struct gw_term){"waves", v->resident ? v->occupancy.waves : NAN, "1", false};
	*term = (struct gw_term){"occupancy", v->resident ? v->occupancy.fraction : NAN, "1",
				 false};
	e->term_count = RESOURCE_COUNT + 7;
}

/* Flattened: it runs for every launch, and its parts are called from gw_bounds_even too. */
__attribute__((flatten)) static void
estimate(const struct gw_device *device, const struct gw_launch *launch, const struct gw_work *work,
	 const struct gw_model_options *options, struct gw_estimate *e)
{
	double t[RESOURCE_COUNT], floor_time, start, busy;
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
	t[TENSOR] = of_first(&v, t[TENSOR], PARTITION);
	t[COPIES] = of_first(&v, t[COPIES], SM);
	r = rank(&v, t, e);
	floor_time = rate_of(&v, GW_PARAM_launch_floor);
	if (isnan(floor_time))
		gw_estimate_warn(e, "unknown: launch_floor, the time is without it");
	explain(&v, &r, floor_time, e);
	/* The known part takes no time: what takes time is unknown. */
	if (!r.any) {
		gw_estimate_missing(e, "the work of the launch, or the device's rates for it");
		return;
	}
	start = gw_either(floor_time, 0) + v.fetch;
	busy = v.copies + v.tail + join(&v, r.path);
	gw_estimate_settle(e, start + busy);
	if (e->reason[0])
		return;
	e->bound = start > busy ? GW_BOUND_LAUNCH : info[r.first].bound;
	e->binding = start > busy ? "launch_floor" : info[r.first].name;
}

const struct gw_model gw_model_bounds = {
	.name = "bounds",
	.source = "gpuwatch",
	.summary = "time of every resource at its measured rate, joined with latency and launch",
	.estimate = estimate,
};
