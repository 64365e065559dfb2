#include "predictor/models/peaks.h"

#include "predictor/models/inputs.h"

#include <math.h>
#include <string.h>

enum {
	WARP = 32,
	SECTOR_BYTES = 32,
	LINE_BYTES = 128, /* bytes of a line, which a request to L2 addresses */
	/*
	 * Bytes between L2 and device memory for one between the SMs and L2: L2 fetches 64 for a
	 * sector of 32, but no more than the line, and writes back 32 for one that was written.
	 */
	FETCHED_OF_L2 = 2,
	WRITTEN_OF_L2 = 1,
	BUSY_OF_L2 = 2, /* L2 looks up a request in the time it hands out 64 bytes, two sectors */
	PAST_L1 = 90,   /* machine code from here on may move data without l1_bytes counting it */
};

/* Which unit of the GPU a resource belongs to: a small grid leaves some unused. */
enum scope { OF_DEVICE, OF_SM, OF_PARTITION };

/*
 * Resources that a verdict needs, in the order of its reasons. Left out: those limited by another
 * (l1 and shared memory by lsu), and waits (atomics that collide).
 */
static const struct {
	const char *name;
	enum scope scope;
	bool always; /* a missing rate does not exclude it */
	const char *why;
} parts[] = {
	{"dram", OF_DEVICE, true, "the traffic to device memory, or the bandwidth, is not known"},
	{"issue", OF_PARTITION, true, "the instructions issued, or their rate, are not known"},
	{"l2", OF_DEVICE, false, "the traffic to L2, or how it is asked for, is not known"},
	{"lsu", OF_SM, false, "the wavefronts of loads and stores are not known"},
	{"fma", OF_PARTITION, false, "the instructions of the FMA pipe are not known"},
	{"alu", OF_PARTITION, false, "the instructions of the ALU pipe are not known"},
	{"fp64", OF_PARTITION, false, "the instructions of the fp64 pipe are not known"},
	{"fp16", OF_PARTITION, false, "the instructions of the fp16 pipe are not known"},
	{"xu", OF_PARTITION, false, "the instructions of the XU pipe (SFU) are not known"},
	{"tensor", OF_PARTITION, false, "the use of the tensor pipe is not known"},
};
enum { PARTS = sizeof(parts) / sizeof(*parts) };

/* Each instruction goes through one of these. */
static const enum gw_work_field pipes[] = {
	GW_WORK_pipe_fma, GW_WORK_pipe_alu, GW_WORK_pipe_fp64,    GW_WORK_pipe_fp16,
	GW_WORK_pipe_xu,  GW_WORK_pipe_lsu, GW_WORK_pipe_uniform, GW_WORK_pipe_tex,
};

static bool known(const struct gw_work *work, enum gw_work_field field)
{
	return !isnan(gw_work_value(work, field));
}

/* At most @p value, where nothing is known; of several limits the least. */
static void limit(struct gw_work *work, enum gw_work_field field, double value)
{
	struct gw_quantity *q = &work->q[field];

	if (q->source == GW_SOURCE_NONE || !known(work, field))
		q->value = fmin(q->value, value); /* NaN is no limit */
}

/*
 * Upper bounds from samples that give no value, and from code that leaves addresses open. Of the
 * latter L2 may fetch twice of what is asked of it.
 */
static void limit_stated(struct gw_work *most)
{
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++) {
		enum gw_work_field at = gw_work_upper_bound((enum gw_work_field)i);
		bool fetched = i == GW_WORK_dram_read_bytes;

		if (at == GW_WORK_FIELDS)
			continue;
		if (most->q[at].source == GW_SOURCE_COUNTED)
			limit(most, (enum gw_work_field)i, most->q[at].value);
		else if (most->q[at].source == GW_SOURCE_STATIC)
			limit(most, (enum gw_work_field)i,
			      most->q[at].value * (fetched ? FETCHED_OF_L2 : 1));
	}
}

/* Instructions not known to have used a pipe; only from pipes as certain as the total. */
static double left_over(const struct gw_work *work)
{
	enum gw_work_field all =
		known(work, GW_WORK_inst_issued) ? GW_WORK_inst_issued : GW_WORK_inst_executed;
	double left = gw_work_value(work, all);

	for (unsigned i = 0; i < sizeof(pipes) / sizeof(*pipes); i++)
		if (known(work, pipes[i]) && work->q[pipes[i]].source >= work->q[all].source)
			left -= work->q[pipes[i]].value;
	return fmax(left, 0); /* NaN gives 0: see limit_pipes */
}

/* Of @p left, what a pipe may have by the row @p share of the kernel's code. */
static double through(const struct gw_work *most, double left, enum gw_work_field share)
{
	double all = gw_either(gw_work_value(most, GW_WORK_inst_issued),
			       gw_work_value(most, GW_WORK_inst_executed));

	return fmin(left, gw_work_value(most, share) * all); /* NaN is no limit */
}

static void limit_pipes(struct gw_work *most)
{
	double left = left_over(most);

	if (!known(most, GW_WORK_inst_issued) && !known(most, GW_WORK_inst_executed))
		return;
	limit(most, GW_WORK_lsu_wavefronts,
	      WARP * (known(most, GW_WORK_pipe_lsu) ? most->q[GW_WORK_pipe_lsu].value : left));
	/* Thread instructions replace a pipe's unknown warp instructions. */
	if (!known(most, GW_WORK_fp32_inst))
		limit(most, GW_WORK_pipe_fma, through(most, left, GW_WORK_share_fma));
	if (!known(most, GW_WORK_int_inst))
		limit(most, GW_WORK_pipe_alu, through(most, left, GW_WORK_share_alu));
	if (!known(most, GW_WORK_fp64_inst))
		limit(most, GW_WORK_pipe_fp64, through(most, left, GW_WORK_share_fp64));
	if (!known(most, GW_WORK_fp16_inst))
		limit(most, GW_WORK_pipe_fp16, through(most, left, GW_WORK_share_fp16));
	limit(most, GW_WORK_pipe_xu, through(most, left, GW_WORK_share_xu));
	if (gw_work_value(most, GW_WORK_share_tensor) == 0)
		limit(most, GW_WORK_tensor_cycles, 0);
	limit(most, GW_WORK_pipe_fma_heavy, gw_work_value(most, GW_WORK_pipe_fma));
}

/* Share of the GPU's SMs, or of their partitions, that @p launch has a block or warp for. */
static double reached(const struct gw_device *device, const struct gw_launch *launch,
		      enum scope scope)
{
	double blocks = gw_dim3_size(launch->config.grid);
	double warps = blocks * ceil(gw_dim3_size(launch->config.block) / WARP);
	double sms = gw_param_value(device, GW_PARAM_sm_count), share = 1;

	if (scope == OF_SM)
		share = blocks / sms;
	else if (scope == OF_PARTITION)
		share = fmin(blocks / sms,
			     warps / (sms * gw_param_value(device, GW_PARAM_schedulers_per_sm)));
	return share < 1 ? share : 1;
}

/* Whether all that the SMs move goes through the data stage of L1, where l1_bytes are counted. */
static bool all_through_l1(const struct gw_launch *launch)
{
	const struct gw_kernel *k = launch->kernel;

	/* Blocks of data are moved past it, from and to shared memory. */
	return (k->binary_version && k->binary_version < PAST_L1) ||
	       !(k->static_shared || launch->config.dynamic_shared);
}

/* Bytes that the L1 of the SMs that have a block can have moved in the time. */
static double through_l1(const struct gw_device *device, const struct gw_launch *launch,
			 double seconds)
{
	return seconds * gw_param_value(device, GW_PARAM_b_l1) * reached(device, launch, OF_SM);
}

/* Bytes between the SMs and L2, at most. */
static double through_l2(const struct gw_device *device, const struct gw_launch *launch,
			 const struct gw_work *work, double seconds)
{
	double apart = gw_work_value(work, GW_WORK_l2_read_bytes) +
		       gw_work_value(work, GW_WORK_l2_write_bytes);
	double is = gw_either(apart, gw_work_value(work, GW_WORK_l2_total_bytes));
	/* Into the L1 of the SMs that have a block. */
	double most = through_l1(device, launch, seconds);

	if (isnan(is) && all_through_l1(launch))
		is = gw_work_value(work, GW_WORK_l1_bytes);
	/* What is itself but a limit is one of two. */
	return isnan(apart) && work->q[GW_WORK_l2_total_bytes].source == GW_SOURCE_NONE
		       ? fmin(is, most)
		       : is;
}

/* All that stores write gets to L2: no more than it is written there, and the rest is read. */
static double written_to_l2(const struct gw_work *work, double bytes)
{
	double stored = SECTOR_BYTES * gw_work_value(work, GW_WORK_global_store_sectors);

	return stored < bytes ? stored : bytes;
}

/* What becomes dirty in L2, at most: what stores write there, and a sector for each atomic
 * operation. NaN: not known. */
static double stored_in_l2(const struct gw_work *work)
{
	return gw_work_value(work, GW_WORK_l2_write_bytes) +
	       SECTOR_BYTES * gw_work_value(work, GW_WORK_atomic_requests);
}

/* @p value where requests to L2 of @p each bytes come to less than it; @p value unless counted. */
static double by_requests(const struct gw_work *work, double each, double value)
{
	double requests = each * gw_work_value(work, GW_WORK_l2_requests);

	return requests < value ? requests : value;
}

static void limit_memory(const struct gw_device *device, const struct gw_launch *launch,
			 double seconds, struct gw_work *most)
{
	double bytes = through_l2(device, launch, most, seconds);
	double written, busy, fetched, dram, stored = stored_in_l2(most);

	if (isnan(bytes))
		return;
	written = written_to_l2(most, bytes);
	/* What was counted of how L2 is asked needs no guess from the code. */
	if (known(most, GW_WORK_l2_requests))
		most->q[GW_WORK_global_load_lines].value =
			most->q[GW_WORK_global_store_lines].value = NAN;
	/* How much longer L2 is busy than with the bytes alone. */
	busy = by_requests(most, BUSY_OF_L2 * SECTOR_BYTES, BUSY_OF_L2 * bytes);
	busy = bytes > 0 ? fmax(busy / bytes, 1) : 1;
	if (!known(most, GW_WORK_l2_read_bytes) && !known(most, GW_WORK_l2_write_bytes)) {
		limit(most, GW_WORK_l2_read_bytes, busy * (bytes - written));
		limit(most, GW_WORK_l2_write_bytes, busy * written);
	}
	/* Where one of them is known the other may be all. */
	limit(most, GW_WORK_l2_read_bytes, busy * bytes);
	limit(most, GW_WORK_l2_write_bytes, busy * bytes);
	limit(most, GW_WORK_l1_bytes, through_l1(device, launch, seconds));
	limit(most, GW_WORK_l2_total_bytes, busy * bytes);
	fetched = by_requests(most, LINE_BYTES, FETCHED_OF_L2 * bytes);
	dram = fetched + WRITTEN_OF_L2 * bytes;
	if (stored < bytes) {
		limit(most, GW_WORK_dram_read_bytes, fetched);
		limit(most, GW_WORK_dram_write_bytes, WRITTEN_OF_L2 * stored);
		return;
	}
	/* Half of each: turning between them costs, too. */
	limit(most, GW_WORK_dram_read_bytes, dram / 2);
	limit(most, GW_WORK_dram_write_bytes, dram / 2);
}

static const struct gw_peak *find(const struct gw_peak *peaks, unsigned count, const char *name)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(peaks[i].name, name))
			return &peaks[i];
	return NULL;
}

/* Whether the GPU's profile has a rate for it. */
static bool has_rate(const struct gw_device *device, const struct gw_launch *launch,
		     const char *name)
{
	struct gw_peak peaks[GW_RESOURCES_MAX];
	const struct gw_peak *c;
	struct gw_work some;
	unsigned count;

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		some.q[i] = (struct gw_quantity){.value = 1};
	count = gw_peaks(device, launch, &some, peaks);
	c = find(peaks, count, name);
	return c && !isnan(c->seconds);
}

/*
 * The peaks of @p all. What L2 reads and writes at most is of the worst of both for L2, not for
 * device memory, which the model holds against it.
 */
static void peaks_at_most(const struct gw_device *device, const struct gw_launch *launch,
			  struct gw_work *all, struct gw_peak out[GW_RESOURCES_MAX])
{
	struct gw_peak alone[GW_RESOURCES_MAX];
	unsigned count = gw_peaks(device, launch, all, out);

	if (all->q[GW_WORK_dram_read_bytes].source != GW_SOURCE_NONE &&
	    all->q[GW_WORK_dram_write_bytes].source != GW_SOURCE_NONE)
		return;
	all->q[GW_WORK_l2_read_bytes].value = all->q[GW_WORK_l2_write_bytes].value = NAN;
	all->q[GW_WORK_l2_total_bytes].value = all->q[GW_WORK_l1_bytes].value = NAN;
	gw_peaks(device, launch, all, alone);
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(out[i].name, "dram"))
			out[i] = alone[i];
}

struct gw_unmeasured gw_limits(const struct gw_device *device, const struct gw_launch *launch,
			       const struct gw_work *work, const struct gw_peak *peaks,
			       unsigned count, double seconds, double line)
{
	struct gw_peak at_most[GW_RESOURCES_MAX];
	struct gw_unmeasured most = {0};
	struct gw_work all = *work;

	limit_stated(&all);
	limit_pipes(&all);
	limit_memory(device, launch, seconds, &all);
	peaks_at_most(device, launch, &all, at_most);
	for (unsigned i = 0; i < PARTS; i++) {
		const struct gw_peak *c = find(peaks, count, parts[i].name), *limited;
		double share = reached(device, launch, parts[i].scope);

		if (!c)
			continue;
		limited = &at_most[c - peaks];
		if (!isnan(limited->seconds))
			share = fmin(share, limited->seconds / seconds);
		else if (!parts[i].always && !has_rate(device, launch, parts[i].name))
			continue;
		if (!isnan(c->seconds) && c->seconds / seconds >= share)
			continue; /* it is known */
		if (share < line)
			most.limited += isnan(c->seconds) ? 1 : 0;
		else if (!most.name || share > most.share)
			most = (struct gw_unmeasured){parts[i].name, parts[i].why, share,
						      most.limited};
	}
	return most;
}
