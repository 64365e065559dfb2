#include "predictor/models/occupancy.h"

#include "predictor/models/inputs.h"

/** One row of occupancy.def, with the profile's own limits where it has them. */
struct limits {
	uint32_t cc, partitions, register_unit, registers_per_thread, registers_per_block;
	uint32_t registers_per_sm, threads_per_sm, blocks_per_sm;
	uint32_t shared_unit, shared_per_sm, shared_per_block, shared_reserved;
};

static const struct limits table[] = {
#define CC(cc, part, runit, rthread, rblock, rsm, threads, blocks, sunit, ssm, sblock, reserved) \
	{cc,      part,   runit, rthread,    rblock,        rsm, \
	 threads, blocks, sunit, ssm * 1024, sblock * 1024, reserved},
#include "predictor/models/occupancy.def"
#undef CC
};

enum {
	WARP = 32,
	CLUSTER_MAX = 16,            /* the hardware's limit for non-portable clusters */
	THREADS_PER_BLOCK_MAX = 1024 /* of every capability in the table */
};

const char *gw_occupancy_limit_name(enum gw_occupancy_limit limit)
{
	static const char *const names[] = {"warps", "blocks", "registers", "shared memory"};

	return (unsigned)limit < GW_OCCUPANCY_LIMITS ? names[limit] : "unknown";
}

/*
 * The newest row that is not newer, of the same major version: allocation units belong to a major
 * version.
 */
static const struct limits *row_of(double capability)
{
	unsigned i = sizeof(table) / sizeof(*table);
	uint32_t cc;

	if (!(capability >= 20 && capability < 1000))
		return NULL;
	cc = (uint32_t)capability;
	while (i > 0 && table[i - 1].cc > cc)
		i--;
	return i > 0 && table[i - 1].cc / 10 == cc / 10 ? &table[i - 1] : NULL;
}

/* The profile's own value where a 32-bit count can hold it. */
static void prefer(uint32_t *limit, const struct gw_device *device, enum gw_param p)
{
	double v = gw_usable(gw_param(device, p));

	if (v < UINT32_MAX)
		*limit = (uint32_t)v;
}

static const char *limits_of(const struct gw_device *device, struct limits *out)
{
	double capability = gw_param(device, GW_PARAM_compute_capability);
	const struct limits *row = row_of(capability);

	if (!row)
		return isnan(capability)
			       ? "not known: compute_capability"
			       : "no occupancy limits are known for this compute capability";
	*out = *row;
	prefer(&out->threads_per_sm, device, GW_PARAM_max_threads_per_sm);
	prefer(&out->blocks_per_sm, device, GW_PARAM_max_blocks_per_sm);
	prefer(&out->registers_per_sm, device, GW_PARAM_registers_per_sm);
	prefer(&out->shared_per_sm, device, GW_PARAM_shared_per_sm);
	prefer(&out->shared_per_block, device, GW_PARAM_shared_per_block);
	prefer(&out->shared_reserved, device, GW_PARAM_shared_reserved);
	return NULL;
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static uint32_t at_most_u32(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/*
 * Registers are allocated to warps in units, each sub-partition from its own share. The hardware's
 * check of a block counts its warps as if spread over all sub-partitions.
 */
static uint32_t blocks_by_registers(const struct limits *l, uint32_t per_thread, uint32_t warps)
{
	uint64_t per_warp = round_up((uint64_t)per_thread * WARP, l->register_unit);

	if (per_thread > l->registers_per_thread ||
	    per_warp * round_up(warps, l->partitions) > l->registers_per_block)
		return 0;
	if (!per_warp)
		return UINT32_MAX;
	return at_most_u32(l->registers_per_sm / l->partitions / per_warp * l->partitions / warps);
}

/* A program for 6.0 must also fit 6.1, which has twice the sub-partitions: the driver asks both. */
static bool fits_family(const struct limits *l, uint32_t per_thread, uint32_t warps)
{
	struct limits sibling = *l;

	if (l->cc != 60)
		return true;
	sibling.partitions = 4;
	return blocks_by_registers(&sibling, per_thread, warps) > 0;
}

static uint32_t blocks_by_shared(const struct limits *l, uint64_t asked)
{
	uint64_t taken = round_up(asked + l->shared_reserved, l->shared_unit);

	if (taken > (uint64_t)l->shared_per_block + l->shared_reserved)
		return 0;
	return taken ? at_most_u32(l->shared_per_sm / taken) : UINT32_MAX;
}

static bool dims_valid(struct gw_dim3 d, uint32_t x, uint32_t y, uint32_t z)
{
	return d.x && d.y && d.z && d.x <= x && d.y <= y && d.z <= z;
}

/* What the driver would refuse; also keeps every product below from overflowing. */
static const char *refusal(const struct gw_launch *launch, const struct limits *l)
{
	const struct gw_config *c = &launch->config;

	if (!dims_valid(c->grid, INT32_MAX, 65535, 65535))
		return "the grid is empty or larger than a GPU takes";
	if (!dims_valid(c->block, THREADS_PER_BLOCK_MAX, THREADS_PER_BLOCK_MAX, 64) ||
	    gw_dim3_count(c->block) > THREADS_PER_BLOCK_MAX)
		return "the block is empty or has more than 1024 threads";
	if (gw_dim3_count(c->block) > launch->kernel->max_threads)
		return "the block has more threads than the kernel was compiled for";
	if (!dims_valid(c->cluster, CLUSTER_MAX, CLUSTER_MAX, CLUSTER_MAX) ||
	    gw_dim3_count(c->cluster) > CLUSTER_MAX)
		return "the cluster is empty or has more than 16 blocks";
	if (gw_dim3_count(c->cluster) > 1 && l->cc < 90)
		return "clusters need compute capability 9.0";
	if (c->grid.x % c->cluster.x || c->grid.y % c->cluster.y || c->grid.z % c->cluster.z)
		return "the grid is not a multiple of the cluster";
	return NULL;
}

static void choose_limit(struct gw_occupancy *out)
{
	out->limited_by = GW_OCCUPANCY_WARPS;
	for (unsigned i = 1; i < GW_OCCUPANCY_LIMITS; i++)
		if (out->limit[i] < out->limit[out->limited_by])
			out->limited_by = (enum gw_occupancy_limit)i;
	out->blocks_per_sm = out->limit[out->limited_by];
	out->warps_per_sm = out->blocks_per_sm * out->warps_per_block;
}

static void split_waves(const struct gw_config *config, double sms, struct gw_occupancy *out)
{
	uint64_t grid = gw_dim3_count(config->grid);
	uint64_t cluster = gw_dim3_count(config->cluster);

	out->resident_blocks = (uint64_t)sms * out->blocks_per_sm / cluster * cluster;
	if (!out->resident_blocks)
		return;
	out->full_waves = grid / out->resident_blocks;
	out->last_blocks = grid % out->resident_blocks;
	out->waves = (double)grid / (double)out->resident_blocks;
	out->last_fill =
		out->last_blocks ? (double)out->last_blocks / (double)out->resident_blocks : 1.0;
}

const char *gw_occupancy_of(const struct gw_device *device, const struct gw_launch *launch,
			    struct gw_occupancy *out)
{
	const struct gw_kernel *kernel = launch->kernel;
	double sms = gw_param_value(device, GW_PARAM_sm_count);
	struct limits l;
	const char *why = limits_of(device, &l);

	if (!why)
		why = refusal(launch, &l);
	if (why)
		return why;
	if (!(sms >= 1 && sms <= 1e6))
		return "not known: sm_count";
	if (kernel->registers == UINT32_MAX)
		return "not known: the kernel's registers per thread";
	if (kernel->static_shared == UINT32_MAX)
		return "not known: the kernel's static shared memory";
	if (l.threads_per_sm < WARP)
		return "not known: max_threads_per_sm";
	out->warps_per_block = (uint32_t)((gw_dim3_count(launch->config.block) + WARP - 1) / WARP);
	out->limit[GW_OCCUPANCY_WARPS] = l.threads_per_sm / WARP / out->warps_per_block;
	out->limit[GW_OCCUPANCY_BLOCKS] = l.blocks_per_sm;
	out->limit[GW_OCCUPANCY_REGISTERS] =
		fits_family(&l, kernel->registers, out->warps_per_block)
			? blocks_by_registers(&l, kernel->registers, out->warps_per_block)
			: 0;
	out->limit[GW_OCCUPANCY_SHARED] = blocks_by_shared(
		&l, (uint64_t)kernel->static_shared + launch->config.dynamic_shared);
	choose_limit(out);
	if (!out->blocks_per_sm)
		return "no block fits on an SM: too many threads, registers or too much shared "
		       "memory";
	out->fraction = (double)out->warps_per_sm / (l.threads_per_sm / WARP);
	split_waves(&launch->config, sms, out);
	return out->resident_blocks ? NULL : "the GPU does not hold one cluster at once";
}
