/* Inside `bounds`: a warp's critical path and its latency bound. */
#include "predictor/models/bounds_parts.h"

/*
 * Cycles of a warp by the latency of its instruction classes, divided by its ILP. An instruction of
 * an unknown class, or of a warp with unknown ILP, costs its issue.
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

/* Loads a warp waits for one after the other: from the code, or from how many it overlaps. */
static double chain_of(const struct view *v)
{
	double chain = work_of(v, GW_WORK_warp_memory_chain);
	double loads = v->loads / v->warps;

	if (!isnan(chain) || loads == 0)
		return gw_either(chain, loads);
	return loads / work_of(v, GW_WORK_warp_loads_in_flight);
}

/* Least wait of a warp for memory: its chain, or one load when that is unknown. */
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
 * The time in which a launch of @p idle cycles moves @p bytes from a memory whose latency grows
 * with the bandwidth used, with @p waits dependent accesses: the b = bytes / t that solves b (idle
 * + waits (lat(b) - lat(0))) = bytes clock. The left side rises with b, so the solution is unique,
 * and more bytes, waits or cycles never make t smaller.
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

/** Cycles of a wait for global loads, and the share of such waits served by device memory. */
struct wait {
	double cycles, dram_share;
};

/* A wait for several loads lasts as long as the slowest; lines of device memory come one after the
 * other, those of L2 later the more threads run. Where another warp has only just asked for a
 * sector, a hit is no sooner there than what that warp waits for. Cold: to be small. */
__attribute__((noinline, cold)) static struct wait wait_of(const struct view *v)
{
	double loads = work_of(v, GW_WORK_warp_loads_in_flight), each, apart, near, cached, far, l2;
	const double blocks = (double)v->occupancy.resident_blocks;
	double hit1 = v->hit1 * (1 - gw_either(work_of(v, GW_WORK_l1_under_way), 0));
	unsigned n = loads > 1 ? loads < WAIT_LOADS ? (unsigned)(loads + 0.5) : WAIT_LOADS : 1;

	each = (1 - hit1) * (1 - v->hit2);
	apart = work_of(v, GW_WORK_loads_apart);
	if (!(apart > 0))
		apart = n;
	near = pow(hit1, apart);
	/* Where all hit L1, what L2 does need not be known. */
	cached = hit1 < 1 ? pow(1 - each, apart) : near;
	l2 = rate_of(v, GW_PARAM_lat_l2);
	if (v->resident)
		l2 *= larger(1, gw_curve_at(v->d, GW_CURVE_l2_latency_threads,
					    WARP * v->warps_per_block *
						    (v->blocks < blocks ? v->blocks : blocks)) /
					gw_curve_at(v->d, GW_CURVE_l2_latency_threads, 1));
	far = v->first_far;
	if (!v->kept)
		far = larger(far, gw_curve_at(v->d, GW_CURVE_request_latency,
					      n * each * work_of(v, GW_WORK_global_load_lines)));
	return (struct wait){near * rate_of(v, GW_PARAM_lat_l1) + (cached - near) * l2 +
				     (1 - cached) * (far - (v->first_far - v->first_near) /
								   (double)(UINT64_C(1) << n)),
			     v->kept ? 0 : 1 - cached};
}

/** A warp's critical path: cycles alone at idle latencies, and its waits for global loads. */
struct path {
	double mean, longest; /* NaN: unknown */
	double chain;         /* loads that it waits for one after the other */
	struct wait wait;
};

/*
 * From the code where known: instructions and waits for loads in the proportion of its schedule,
 * scaled to the executed instructions, at the latency of where the loads were served.
 */
static struct path path_by_code(const struct view *v)
{
	double executed = work_of(v, GW_WORK_inst_executed) / v->warps;
	double times = executed / work_of(v, GW_WORK_warp_insts);
	double loads = v->loads / v->warps;
	struct path c = {.wait = wait_of(v)};
	double longest = work_of(v, GW_WORK_warp_longest_chain);

	c.chain = times * work_of(v, GW_WORK_warp_fixed_chain);
	if (c.chain > loads && loads > 0)
		c.chain = loads;
	c.mean = times * work_of(v, GW_WORK_warp_fixed_cycles) +
		 (c.chain > 0 ? c.chain * c.wait.cycles : c.chain);
	c.longest = times * (work_of(v, GW_WORK_warp_longest_fixed_cycles) +
			     (longest > 0 ? longest * c.wait.cycles : longest));
	return c;
}

/* With unknown hit rates, or without a schedule: the total. */
static struct path path_of(const struct view *v, struct gw_estimate *e)
{
	struct path c = {.mean = NAN};

	if (!isnan(work_of(v, GW_WORK_warp_fixed_cycles)))
		c = path_by_code(v);
	if (!isnan(c.mean))
		return c;
	c = (struct path){.chain = chain_of(v), .wait = {v->amat, v->dram_share}};
	c.longest = work_of(v, GW_WORK_warp_cycles_longest);
	c.mean = gw_either(work_of(v, GW_WORK_warp_cycles), c.longest);
	if (!isnan(c.mean))
		return c;
	c.mean = class_cycles(v) + memory_cycles(v, c.chain);
	if (isnan(work_of(v, GW_WORK_warp_ilp)) || isnan(c.chain))
		gw_estimate_warn(e, "dependences are not known (warp_cycles, or warp_ilp and "
				    "warp_memory_chain): latency is the least a warp takes");
	return c;
}

/*
 * What a launch waits for beside its critical path where copies past L1 feed it. Until a block's
 * first ones are there its other warps have nothing to do: for the parameters that say where they
 * lie (in L2), then one wait after the other for device memory, as nothing that is read for the
 * first time hits. At the end the last bytes stored have to be where all see them.
 */
static double copy_wait(const struct view *v)
{
	double waits = work_of(v, GW_WORK_warp_copy_chain);

	return (rate_of(v, GW_PARAM_lat_l2) + waits * rate_of(v, GW_PARAM_lat_dram) +
		(v->written > 0 ? gw_either(rate_of(v, GW_PARAM_lat_fence), 0) : 0)) /
	       v->clock;
}

/* Where copies past L1 feed the tensor cores a block has its SM to itself: what it stores after its
 * last operation overlaps with nothing. */
static double tail_of(const struct view *v)
{
	double share = work_of(v, GW_WORK_store_tail);

	return share > 0 ? share * v->written / rate_of(v, GW_PARAM_b_l2_write) : 0;
}

/*
 * All warps of the busiest SM, round by round. A round lasts as long as a warp; as the longest one
 * where the block's others wait for it at a barrier. Where it is not known how many an SM holds it
 * is one round: a launch lasts as long as a warp.
 */
double gw_bounds_latency_time(struct view *v, struct gw_estimate *e)
{
	double rounds, cycles, first;
	struct path c;

	if (isnan(v->clock))
		return NAN;
	c = path_of(v, e);
	if (isnan(c.mean))
		return NAN;
	c.longest = larger(c.mean, c.longest);
	rounds = v->resident ? ceil(v->most_blocks / v->occupancy.blocks_per_sm) : 1;
	if (work_of(v, GW_WORK_barriers) > 0) {
		cycles = rounds * c.longest;
		v->waits = rounds * c.chain * c.wait.cycles / v->clock;
		v->rounds = rounds;
	} else {
		cycles = rounds * c.mean + c.longest - c.mean;
	}
	/* Without hit rates the code was scheduled for device memory, too. */
	first = (c.chain < 1 ? c.chain : 1) *
		gw_either(c.wait.cycles, rate_of(v, GW_PARAM_lat_dram));
	if (first > 0)
		v->fill = (first < c.mean ? first : c.mean) / v->clock;
	if (work_of(v, GW_WORK_warp_copy_chain) > 0) {
		v->copies = gw_either(copy_wait(v), 0);
		v->tail = gw_either(tail_of(v), 0);
	}
	return loaded_time(v, cycles, rounds * c.chain * c.wait.dram_share, v->dram_read);
}
