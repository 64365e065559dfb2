#include "predictor/code/static_work.h"

#include "predictor/models/inputs.h"
#include "predictor/models/occupancy.h"

#include <math.h>

/* See static_work.h for what these stand for. */
static const double counts_bounded = 0.4, shape_assumed = 0.9, passes_model = 0.75, l1_model = 0.4,
		    l2_model = 0.1, read_model = 0.8, write_model = 0.3, read_fits = 0.1,
		    ptx_order = 0.3, addresses_least = 0.95, model_itself = 0.75,
		    counts_unknown = 0.2, addresses_unknown = 0.45, meetings_unknown = 0.3;
static const double kept_share = 0.5; /* of L2: what comes from the far partition is kept twice */
static const double matters = 0.69;   /* a factor of two, in log time */

void gw_static_set(struct gw_work *work, enum gw_work_field f, double value, double confidence)
{
	struct gw_quantity *q = &work->q[f];

	if (!isfinite(value) || value < 0 || !(confidence > 0))
		return;
	if (q->source > GW_SOURCE_STATIC ||
	    (q->source == GW_SOURCE_STATIC && q->confidence >= (float)confidence))
		return;
	*q = (struct gw_quantity){value, GW_SOURCE_STATIC, (float)confidence};
}

/** A sum over accesses, with what it rests on. */
struct sum {
	double value;
	double requests;  /* of the accesses summed */
	double uncounted; /* of these, with unknown addresses */
	bool bounded;     /* an access's count is a range */
	bool assumed;     /* an access's shape is that of its loop's first request */
};

/* How far the sum may be trusted; 0: not at all. */
static double trust(const struct gw_gather *g, const struct sum *s)
{
	double known = s->requests > 0 ? 1 - s->uncounted / s->requests : 1;
	double counts = s->bounded ? counts_bounded : g->report.sure;

	if (!g->complete) /* what was seen until then shows shapes */
		counts *= counts_bounded;
	return known < addresses_least ? 0 : counts * known * (s->assumed ? shape_assumed : 1);
}

static void set_sum(struct gw_work *work, enum gw_work_field f, const struct gw_gather *g,
		    const struct sum *s)
{
	gw_static_set(work, f, s->value, trust(g, s));
}

/* Add @p each for every execution of @p a; @p shaped says whether that depends on addresses. */
static void add(struct sum *s, const struct gw_gather_access *a, double each, bool shaped)
{
	double runs = gw_gather_mean(&a->runs);
	double unknown = a->uncounted / (a->uncounted + a->requests);

	if (runs == 0)
		return;
	/* Run somewhere, but in no block looked at: its shape isn't known. */
	if (!(a->uncounted + a->requests > 0))
		unknown = shaped ? 1 : 0;
	s->value += unknown < 1 || !shaped ? runs * each : 0;
	s->requests += runs;
	s->uncounted += shaped ? runs * unknown : 0;
	s->assumed |= shaped && a->assumed > 0;
	s->bounded |= a->runs.least != a->runs.most;
}

static bool is_global(const struct gw_gather_access *a)
{
	return a->space == IR_SPACE_GLOBAL;
}

static bool is_shared(const struct gw_gather_access *a)
{
	return a->space == IR_SPACE_SHARED;
}

/* Returns the bytes that are moved. */
static double global_rows(const struct gw_gather *g, bool store, struct gw_work *work)
{
	struct sum requests = {0}, sectors = {0}, filled = {0};
	double left;

	for (uint32_t i = 0; i < g->count; i++) {
		const struct gw_gather_access *a = &g->access[i];

		if (!is_global(a) || a->store != store || a->atomic)
			continue;
		add(&filled, a, gw_gather_lanes(a) * a->coalescing.bytes, true);
		add(&requests, a, 1, false);
		add(&sectors, a, gw_coalescing_sectors(&a->coalescing), true);
	}
	set_sum(work, store ? GW_WORK_global_store_requests : GW_WORK_global_load_requests, g,
		&requests);
	set_sum(work, store ? GW_WORK_global_store_sectors : GW_WORK_global_load_sectors, g,
		&sectors);
	/* Lanes side by side fill all but a sector at both ends. Without stores it is not known. */
	left = 2 - 2 * filled.value / GW_SECTOR_BYTES / sectors.value;
	if (store)
		gw_static_set(work, GW_WORK_global_store_partial, left > 1 ? 1 : left,
			      trust(g, &sectors));
	return filled.value;
}

/** Lines and sectors that requests ask for, by the weights of their accesses. */
struct lines {
	double requests, lines, sectors;
	double assumed; /* of these requests */
};

/* As it was seen, or of consecutive lanes. */
static void add_lines(struct lines *l, const struct gw_gather_access *a, double bytes, double runs)
{
	double sectors = ceil(GW_REQUEST_LANES * bytes / GW_SECTOR_BYTES);
	double lines = ceil(sectors * GW_SECTOR_BYTES / GW_LINE_BYTES);

	if (a->coalescing.requests > 0) {
		sectors = gw_coalescing_sectors(&a->coalescing);
		lines = a->coalescing.lines / a->coalescing.requests;
	} else {
		l->assumed += runs;
	}
	l->requests += runs;
	l->lines += runs * lines;
	l->sectors += runs * sectors;
}

static struct lines lines_of(const struct gw_static_in *in, bool store, bool settled)
{
	struct lines l = {0};

	for (uint32_t i = 0; i < in->gather->count; i++) {
		const struct gw_gather_access *a = &in->gather->access[i];
		const struct gw_ir_insn *insn = &in->program->insns[a->insn];

		if (is_global(a) && a->store == store && !a->atomic)
			add_lines(&l, a, (double)insn->width * insn->elements,
				  settled ? gw_gather_mean(&a->runs)
					  : gw_static_nominal_insn(in->program, a->insn));
	}
	return l;
}

/* Means of a request: they hold even where it isn't known how many there are. */
static void line_rows(const struct gw_static_in *in, bool store, struct gw_work *work)
{
	struct lines l = lines_of(in, store, true);
	double sure = in->gather->complete ? 1 : counts_bounded;

	if (!isfinite(l.requests)) {
		l = lines_of(in, store, false);
		sure = counts_bounded;
	}
	if (!(l.requests > 0))
		return;
	if (l.assumed > (1 - addresses_least) * l.requests)
		sure = counts_bounded;
	gw_static_set(work, store ? GW_WORK_global_store_lines : GW_WORK_global_load_lines,
		      l.lines / l.requests, sure);
	gw_static_set(work,
		      store ? GW_WORK_global_store_line_sectors : GW_WORK_global_load_line_sectors,
		      l.sectors / l.requests, sure);
}

/*
 * A guard that isn't known before an operation of all lanes on one address: what compilers make of
 * such a sum is summed up within the warp, and one lane adds it.
 */
static bool is_elected(const struct gw_gather_access *a)
{
	return a->atomic && a->requests > 0 && a->maybe >= a->requests && a->low == a->high;
}

static void add_atomic(struct sum *s, const struct gw_gather_access *a, double each, bool shaped)
{
	struct gw_gather_access one = *a;

	if (is_elected(a))
		one.runs.least = one.runs.most;
	add(s, &one, is_elected(a) ? fmin(each, 1) : each, shaped);
}

/*
 * Lanes of a warp that meet on one address, on average over the grid: as many words as lie between
 * the first and the last share all lanes. Where they use fewer, more meet.
 */
static double meeting_lanes(const struct gw_static_in *in, const struct gw_gather_access *a)
{
	double width = in->program->insns[a->insn].width;

	if (a->high < a->low || a->high == UINT64_MAX)
		return 0;
	return gw_gather_lanes(a) / (1 + (double)(a->high - a->low) / fmax(width, 1));
}

/*
 * Lines that a request of atomic operations meets in. Where lanes share a word, their operations
 * come one after the other: each takes L2 a line's time, and as much longer as one address is
 * served less often than once in a cycle.
 */
static double met_lines(const struct gw_static_in *in, const struct gw_gather_access *a)
{
	double lines = a->coalescing.requests > 0 ? a->coalescing.lines / a->coalescing.requests
						  : gw_gather_lanes(a);
	double shared = a->wavefronts / a->requests;

	if (!in->device || !(shared > lines))
		return lines;
	shared *= gw_param_value(in->device, GW_PARAM_sm_clock) /
		  gw_param_value(in->device, GW_PARAM_t_atomic_same);
	return shared > lines ? shared : lines;
}

static void shared_and_atomic_rows(const struct gw_static_in *in, struct gw_work *work)
{
	const struct gw_gather *g = in->gather;
	struct sum passes = {0}, atomics = {0}, shared = {0}, same = {0}, lines = {0};
	double together = 0; /* most lanes of a warp on one address */

	for (uint32_t i = 0; i < g->count; i++) {
		const struct gw_gather_access *a = &g->access[i];

		if (is_shared(a))
			add(&passes, a, a->wavefronts / a->requests, true);
		if (a->atomic)
			add_atomic(is_global(a) ? &atomics : &shared, a, gw_gather_lanes(a), false);
		if (!a->atomic || !is_global(a))
			continue;
		add_atomic(&same, a, meeting_lanes(in, a), true);
		together = fmax(together, a->wavefronts / a->requests);
		add_atomic(&lines, a, met_lines(in, a), false);
	}
	set_sum(work, GW_WORK_shared_wavefronts, g, &passes);
	set_sum(work, GW_WORK_atomic_requests, g, &atomics);
	/* Where addresses are many, lanes of a warp may still meet. */
	gw_static_set(work, GW_WORK_atomic_same_address, fmax(same.value, together),
		      trust(g, &same));
	set_sum(work, GW_WORK_shared_atomics, g, &shared);
	set_sum(work, GW_WORK_atomic_lines, g, &lines);
}

/* Local memory, and with it what goes through L1 and its data stage; constants. */
static void l1_rows(const struct gw_gather *g, struct gw_work *work)
{
	struct sum local = {0}, bytes = {0}, passes = {0}, words = {0};

	for (uint32_t i = 0; i < g->count; i++) {
		const struct gw_gather_access *a = &g->access[i];
		double sectors = is_global(a) ? gw_coalescing_sectors(&a->coalescing)
				 : a->space == IR_SPACE_LOCAL ? a->sectors / a->requests
							      : 0;

		if (a->space == IR_SPACE_CONST) { /* by a cache of its own */
			add(&words, a, a->wavefronts / a->requests, true);
			continue;
		}
		if (a->space == IR_SPACE_LOCAL)
			add(&local, a, sectors * GW_SECTOR_BYTES, true);
		if (!is_shared(a))
			add(&bytes, a, sectors * GW_SECTOR_BYTES, true);
		add(&passes, a, a->wavefronts / a->requests, true);
	}
	set_sum(work, GW_WORK_constant_words, g, &words);
	set_sum(work, GW_WORK_local_bytes, g, &local);
	set_sum(work, GW_WORK_l1_bytes, g, &bytes);
	gw_static_set(work, GW_WORK_lsu_wavefronts, passes.value, trust(g, &passes) * passes_model);
}

/* Coalesced and uncoalesced memory instructions of a warp (Hong & Kim). */
static void warp_rows(const struct gw_gather *g, struct gw_work *work)
{
	struct sum good = {0}, bad = {0}, transactions = {0}, narrow = {0}, all = {0};
	double warps = (double)g->report.warps, sure;

	for (uint32_t i = 0; i < g->count; i++) {
		const struct gw_gather_access *a = &g->access[i];
		bool coalesced = gw_coalescing_is_coalesced(&a->coalescing);

		if (!is_global(a))
			continue;
		add(coalesced ? &good : &bad, a, 1, true);
		if (!coalesced)
			add(&transactions, a, gw_coalescing_sectors(&a->coalescing), true);
		add(&all, a, 1, true);
		add(&narrow, a, a->coalescing.bytes == 1, true);
	}
	sure = trust(g, &all);
	gw_static_set(work, GW_WORK_coalesced_mem_insts, good.value / warps, sure);
	gw_static_set(work, GW_WORK_uncoalesced_mem_insts, bad.value / warps, sure);
	gw_static_set(work, GW_WORK_uncoalesced_per_mw, transactions.value / bad.value, sure);
	gw_static_set(work, GW_WORK_narrow_accesses, narrow.value / all.value, sure);
}

static void control_rows(const struct gw_static_in *in, struct gw_work *work)
{
	const struct gw_gather *g = in->gather;
	struct sum barriers = {0};
	double branches = gw_gather_mean(&g->report.branches);
	double divergent = gw_gather_mean(&g->report.divergent);

	for (uint32_t i = 0; i < in->program->insn_count; i++) {
		const struct gw_ir_insn *insn = &in->program->insns[i];

		if (insn->op == IR_BAR && insn->aux == IR_BARRIER_BLOCK) {
			struct gw_gather_access a = {.requests = 1, .runs = g->report.insns[i]};

			add(&barriers, &a, 1, false);
		}
	}
	gw_static_set(work, GW_WORK_barriers, barriers.value / (double)g->report.warps,
		      trust(g, &barriers));
	gw_static_set(work, GW_WORK_divergent_branches, branches > 0 ? divergent / branches : 0,
		      g->report.control_known ? 1 : counts_bounded);
}

/* Bytes of L1 that data may take on an SM, after the blocks' shared memory. */
static double l1_capacity(const struct gw_static_in *in, double resident)
{
	uint32_t fixed = in->launch->kernel->static_shared;
	double block = fixed != UINT32_MAX ? (double)fixed : NAN;

	block += in->launch->config.dynamic_shared;
	return fmax(gw_param_value(in->device, GW_PARAM_l1_size) - block * resident, 0);
}

/* Hits in L1: all of a block's re-use where the resident blocks fit, else what a cache of the
 * block's share finds. */
static double l1_hits(const struct gw_static_in *in, struct gw_locality_hits hits, double resident,
		      double *under_way)
{
	double capacity = l1_capacity(in, resident), found;
	bool fits;

	*under_way = NAN;
	if (isnan(capacity))
		return NAN;
	fits = hits.distinct * GW_SECTOR_BYTES * resident <= capacity;
	/* An SM loads once what all its blocks do. */
	if (fits)
		hits.rate += hits.common / hits.demanded *
			     fmax(1 - gw_param_value(in->device, GW_PARAM_sm_count) /
						  gw_dim3_size(in->launch->config.grid),
				  0);
	if (hits.rate == 0)
		return 0;
	found = gw_replay_hits(&in->gather->replay, capacity / resident, under_way);
	if (isnan(hits.rate))
		return found;
	if (fits)
		return hits.rate;
	return fmin(found, hits.rate);
}

/* Where stores fill parts of sectors, of @p stored bytes, device memory reads at least what they
 * leave out of those that nothing loads. What atomic operations change they read, too. */
static void cache_rows(const struct gw_static_in *in, double stored, struct gw_work *work)
{
	double loads = gw_work_value(work, GW_WORK_global_load_sectors) * GW_SECTOR_BYTES;
	double stores = gw_work_value(work, GW_WORK_global_store_sectors) * GW_SECTOR_BYTES;
	double sure = work->q[GW_WORK_global_load_sectors].confidence, read, resident, under_way;
	struct gw_locality *l = in->gather->locality;
	struct gw_locality_answer *answer;
	struct gw_locality_dram dram;
	struct gw_occupancy o;

	if (!in->device || gw_occupancy_of(in->device, in->launch, &o))
		return;
	l->counted_alone = in->gather->counted_alone;
	answer = &l->answers[l->counted_alone];
	if (!answer->known) {
		gw_locality_l1(l, &answer->hits);
		gw_locality_dram(l, (double)o.resident_blocks,
				 gw_param_value(in->device, GW_PARAM_l2_size), &answer->dram);
		answer->known = true;
	}
	dram = answer->dram;
	resident = fmin(o.blocks_per_sm, ceil(gw_dim3_size(in->launch->config.grid) /
					      gw_param_value(in->device, GW_PARAM_sm_count)));
	gw_static_set(work, GW_WORK_l1_hit_rate, l1_hits(in, answer->hits, resident, &under_way),
		      sure * l1_model);
	gw_static_set(work, GW_WORK_l1_under_way, under_way, sure * l1_model);
	read = loads * (1 - gw_work_value(work, GW_WORK_l1_hit_rate));
	gw_static_set(work, GW_WORK_l2_read_bytes, read, sure * read_model);
	gw_static_set(work, GW_WORK_l2_write_bytes, stores,
		      work->q[GW_WORK_global_store_sectors].confidence);
	/* Where blocks differ, those that show the footprint may be the wide ones. */
	if (dram.read > read * dram.grain)
		dram.read = read * dram.grain;
	if (dram.stored > stored && !in->gather->counted_alone)
		dram.read += dram.stored - stored;
	gw_static_set(work, GW_WORK_dram_read_bytes, dram.read,
		      sure * (dram.fits ? read_fits : read_model));
	gw_static_set(work, GW_WORK_dram_write_bytes, dram.write,
		      sure * (dram.fits ? read_fits : write_model));
	if (read > 0 && !isnan(dram.read))
		gw_static_set(work, GW_WORK_l2_hit_rate, fmax(1 - dram.read / read, 0),
			      sure * l2_model);
}

/*
 * Where the blocks that were looked at don't tell what they share: all that is loaded lies in
 * allocations that are known. What an SM can hold, it loads once.
 */
static void extent_rows(const struct gw_static_in *in, struct gw_work *work)
{
	struct lines l = lines_of(in, false, true);
	double asked = l.sectors * GW_SECTOR_BYTES, sure = in->gather->report.sure * read_fits;
	double extent = gw_static_extent(in, true), sms, each, read;
	double stores = gw_work_value(work, GW_WORK_l2_write_bytes), l2;
	double hits = gw_work_value(work, GW_WORK_l1_hit_rate);
	struct gw_occupancy o;

	if (!in->device || !(extent > 0) || !(asked > 0) ||
	    !isnan(gw_work_value(work, GW_WORK_dram_read_bytes)) ||
	    gw_occupancy_of(in->device, in->launch, &o))
		return;
	sms = fmin(gw_param_value(in->device, GW_PARAM_sm_count),
		   gw_dim3_size(in->launch->config.grid));
	each = extent <= l1_capacity(in, o.blocks_per_sm) ? fmin(extent * sms, asked) : asked;
	if (!isnan(hits))
		each = asked * (1 - hits);
	read = fmin(extent, each);
	gw_static_set(work, GW_WORK_l1_hit_rate, 1 - each / asked, sure);
	gw_static_set(work, GW_WORK_l2_read_bytes, each, sure);
	gw_static_set(work, GW_WORK_dram_read_bytes, read, sure);
	if (each > 0)
		gw_static_set(work, GW_WORK_l2_hit_rate, 1 - read / each, sure);
	/* As gw_locality_dram() has it, where it is clear whether all fits L2. */
	l2 = gw_param_value(in->device, GW_PARAM_l2_size);
	if (read > l2)
		stores = stores > extent ? extent : stores;
	else
		stores = read + stores > l2 ? NAN : 0 * stores;
	gw_static_set(work, GW_WORK_dram_write_bytes, stores, sure);
}

__attribute__((cold)) void gw_static_keep(const struct gw_static_in *in, double bytes,
					  struct gw_work *work)
{
	bool kept =
		in->device && bytes <= kept_share * gw_param_value(in->device, GW_PARAM_l2_size);

	work->q[GW_WORK_l2_kept] = (struct gw_quantity){.value = NAN};
	if (kept)
		work->q[GW_WORK_l2_kept] =
			(struct gw_quantity){1, GW_SOURCE_STATIC, (float)read_fits};
}

void gw_static_memory(const struct gw_static_in *in, struct gw_work *work)
{
	double moved = 0;

	for (unsigned store = 0; store < 2; store++) {
		moved = global_rows(in->gather, store, work);
		line_rows(in, store, work);
	}
	shared_and_atomic_rows(in, work);
	warp_rows(in->gather, work);
	control_rows(in, work);
	l1_rows(in->gather, work);
	cache_rows(in, moved, work);
	extent_rows(in, work);
	gw_static_keep(in, gw_work_value(work, GW_WORK_dram_read_bytes), work);
}

double gw_static_load_latency(const struct gw_device *d, const struct gw_work *work)
{
	double l1 = gw_work_value(work, GW_WORK_l1_hit_rate);
	double l2 = gw_work_value(work, GW_WORK_l2_hit_rate);
	double dram = gw_param_value(d, GW_PARAM_lat_dram);

	if (isnan(l1))
		return dram;
	l2 = isnan(l2) ? 0 : l2;
	return l1 * gw_param_value(d, GW_PARAM_lat_l1) +
	       (1 - l1) *
		       ((l2 > 0 ? l2 * gw_param_value(d, GW_PARAM_lat_l2) : 0) + (1 - l2) * dram);
}

/** A warp's critical path, summed over the parts of its code. */
struct path {
	double cycles, chain, loads, all, critical;
};

static void add_part(struct path *c, const struct gw_time_part *part, double runs,
		     const struct gw_time_costs *costs)
{
	struct gw_time_costs still = *costs;
	double share = part->loop ? runs / 2 : runs;
	unsigned which = 0;

	/* Without its latency a load is an instruction like others: what is left is ILP's. */
	still.lat[GW_TIME_mem] = costs->del[GW_TIME_mem];
	c->cycles += share * gw_time_value(&part->time, costs, &which);
	c->chain += share * (part->time.count ? part->time.sum[which].lat[GW_TIME_mem] : 0);
	c->loads += runs * part->loads;
	c->all += share * gw_time_sum_value(&part->all, &still);
	c->critical += share * gw_time_value(&part->time, &still, NULL);
}

static struct path path_of(const struct gw_static_in *in, const struct gw_eval_block *blocks,
			   double warps, const struct gw_time_costs *costs)
{
	struct path c = {0};

	for (uint32_t i = 0; i < in->timing->count; i++) {
		const struct gw_time_part *part = &in->timing->part[i];
		double runs = gw_gather_mean(&blocks[part->block].runs) / warps;

		if (runs != 0)
			add_part(&c, part, runs, costs);
	}
	return c;
}

void gw_static_warp(const struct gw_static_in *in, struct gw_work *work)
{
	const struct gw_eval_report *r = &in->gather->report;
	double sure = ptx_order * (r->control_known ? 1 : counts_bounded);
	struct path mean, longest;
	struct gw_time_costs costs;

	if (!in->timing || !in->device || in->program->from_sass || r->coverage == GW_COVER_NONE)
		return;
	gw_time_costs_of(in->device, &costs);
	costs.lat[GW_TIME_mem] = gw_static_load_latency(in->device, work);
	mean = path_of(in, r->blocks, (double)r->warps, &costs);
	longest = path_of(in, r->longest, 1, &costs);
	gw_static_set(work, GW_WORK_warp_cycles, mean.cycles, sure);
	gw_static_set(work, GW_WORK_warp_cycles_longest, longest.cycles, sure);
	gw_static_set(work, GW_WORK_warp_memory_chain, mean.chain, sure);
	if (mean.chain > 0)
		gw_static_set(work, GW_WORK_warp_loads_in_flight, fmax(mean.loads / mean.chain, 1),
			      sure);
	if (mean.critical > 0)
		gw_static_set(work, GW_WORK_warp_ilp, fmax(mean.all / mean.critical, 1), sure);
}

/* Unknown work may be what takes the time. */
static double completeness(const struct gw_work *work)
{
	double sure = model_itself;

	if (isnan(gw_work_value(work, GW_WORK_inst_executed)))
		sure *= counts_unknown;
	if (isnan(gw_work_value(work, GW_WORK_l1_bytes)) ||
	    isnan(gw_work_value(work, GW_WORK_lsu_wavefronts)))
		sure *= addresses_unknown;
	if (gw_work_value(work, GW_WORK_atomic_requests) > 0 ||
	    gw_work_value(work, GW_WORK_shared_atomics) > 0)
		sure *= meetings_unknown;
	return sure;
}

double gw_static_confidence(const struct gw_model *model, const struct gw_device *device,
			    const struct gw_launch *launch, const struct gw_work *work)
{
	struct gw_estimate whole, without;
	struct gw_work less = *work;
	double sure = 1;

	model->estimate(device, launch, work, NULL, &whole);
	if (isnan(whole.seconds))
		return NAN;
	for (unsigned f = 0; f < GW_WORK_FIELDS; f++) {
		double change;

		if (work->q[f].source == GW_SOURCE_NONE)
			continue;
		less.q[f] = (struct gw_quantity){NAN, GW_SOURCE_NONE, 0};
		model->estimate(device, launch, &less, NULL, &without);
		less.q[f] = work->q[f];
		/* A row that hardly moves the estimate hardly makes it wrong. */
		change = isnan(without.seconds)
				 ? 1
				 : fabs(log(without.seconds / whole.seconds)) / matters;
		sure = fmin(sure, 1 - (1 - (double)work->q[f].confidence) * fmin(change, 1));
	}
	return sure * completeness(work);
}
