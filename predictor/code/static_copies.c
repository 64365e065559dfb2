/* Rows of copies that go past L1: bulk copies, and tiles of tensors. */
#include "predictor/code/static_work.h"

#include "predictor/models/inputs.h"

#include <math.h>

/* See static_work.h for what these stand for. */
static const double counts_bounded = 0.4, tiles_assumed = 0.9, read_model = 0.8, read_fits = 0.1,
		    write_model = 0.3;

/** What copies in one direction move. */
struct moved {
	double l2;   /* B between L2 and the SMs */
	double dram; /* B of device memory that these touch, each once */
	bool bounded, assumed;
};

/* Mean bytes of copies in the direction of @p of; of one that was not seen those of the others. */
static double mean_bytes(const struct gw_tma_copies *c, const struct gw_tma_copy *of)
{
	double bytes = of->bytes, seen = of->seen;

	for (uint32_t i = 0; !(of->seen > 0) && i < c->count; i++)
		if (c->copy[i].store == of->store && c->copy[i].tensor == of->tensor &&
		    !(c->copy[i].unknown > 0)) {
			bytes += c->copy[i].bytes;
			seen += c->copy[i].seen;
		}
	return bytes / seen;
}

/* Bytes of copy @p of over the grid; NaN: not known. */
static double bytes_of(const struct gw_tma_copies *c, const struct gw_tma_copy *of)
{
	double runs = gw_gather_mean(&of->runs);

	if (runs == 0)
		return 0;
	return of->unknown > 0 ? NAN : runs * mean_bytes(c, of);
}

/* Bytes of shared memory that copies into it fill, of one that several blocks get in each; NaN: not
 * known. Of a copy that was not seen as many blocks get it as of the others. */
static double received(const struct gw_tma_copies *c)
{
	double sum = 0, bytes = 0, got = 0;

	for (uint32_t i = 0; i < c->count; i++)
		if (!c->copy[i].store && !c->copy[i].prefetch) {
			sum += bytes_of(c, &c->copy[i]);
			bytes += c->copy[i].bytes;
			got += c->copy[i].received;
		}
	return sum == 0 ? 0 : sum * got / bytes;
}

/* What lies in one tensor, or in none, is looked at together. */
static bool same_memory(const struct gw_tma_copy *a, const struct gw_tma_copy *b)
{
	if (!a->map || !b->map)
		return a->store == b->store && a->tensor == b->tensor && a->map == b->map;
	return a->store == b->store && a->map->address == b->map->address;
}

/* Bytes of all that copies without a tensor reach; infinite: not known. */
static double bulk_bytes(const struct gw_tma_copies *c, bool store)
{
	struct gw_locality_grid grid;

	gw_locality_grid(c->bulk, store ? GW_LOCALITY_STORES : GW_LOCALITY_LOADS, &grid);
	return isnan(grid.footprint.sectors) ? INFINITY : grid.footprint.sectors * GW_SECTOR_BYTES;
}

/* Bytes of device memory behind copy @p at and those after it that lie in the same; 0 where one
 * before it has answered for that. No more than there are. */
static double touched(const struct gw_tma_copies *c, uint32_t at)
{
	const struct gw_tma_copy *copy = &c->copy[at];
	double bytes = 0;

	for (uint32_t i = 0; i < at; i++)
		if (same_memory(&c->copy[i], copy))
			return 0;
	for (uint32_t i = at; i < c->count; i++)
		if (i == at || same_memory(&c->copy[i], copy))
			bytes += bytes_of(c, &c->copy[i]);
	if (copy->map)
		return fmin(bytes, gw_tensor_bytes(copy->map));
	return copy->tensor ? bytes : fmin(bytes, bulk_bytes(c, copy->store));
}

static struct moved moved_of(const struct gw_tma_copies *c, bool store)
{
	struct moved m = {0};

	for (uint32_t i = 0; i < c->count; i++) {
		const struct gw_tma_copy *copy = &c->copy[i];

		if (copy->store != store || gw_gather_mean(&copy->runs) == 0)
			continue;
		m.l2 += copy->prefetch ? 0 : bytes_of(c, copy);
		m.bounded |= copy->runs.least != copy->runs.most;
		m.assumed |= copy->assumed > 0 || !(copy->seen > 0);
		/* fmin() would hide that the bytes are unknown. */
		m.dram += isnan(bytes_of(c, copy)) ? NAN : touched(c, i);
	}
	return m;
}

/* Add @p more to a row that holds what else there is; without the row, where that is nothing. */
static void add(struct gw_work *work, enum gw_work_field f, double more, bool alone, double sure)
{
	struct gw_quantity *q = &work->q[f];
	double before = isnan(q->value) && alone ? 0 : q->value;

	if (isnan(before + more)) {
		*q = (struct gw_quantity){.value = NAN};
		return;
	}
	if (!(more > 0))
		return;
	if (q->source == GW_SOURCE_STATIC && before > 0)
		sure = fmin(sure, (double)q->confidence);
	*q = (struct gw_quantity){before + more, GW_SOURCE_STATIC, (float)sure};
}

/* Of all that is read. Where that is not known, what is taken as the worst stays. */
static void set_hit_rate(struct gw_work *work, double sure)
{
	struct gw_quantity *q = &work->q[GW_WORK_l2_hit_rate];
	double rate = 1 - gw_work_value(work, GW_WORK_dram_read_bytes) /
				  gw_work_value(work, GW_WORK_l2_read_bytes);

	if (!isnan(rate)) /* fmax() would hide it */
		*q = (struct gw_quantity){fmax(rate, 0), GW_SOURCE_STATIC, (float)sure};
	else if (q->confidence < 1)
		*q = (struct gw_quantity){.value = NAN};
}

static double sure_of(const struct gw_gather *g, const struct moved *m)
{
	return (m->bounded ? counts_bounded : g->report.sure) * (m->assumed ? tiles_assumed : 1);
}

/* Whether lanes load from global memory, or store to it, as well. */
static bool has_lanes(const struct gw_gather *g, bool store)
{
	for (uint32_t i = 0; i < g->count; i++)
		if (g->access[i].space == IR_SPACE_GLOBAL && g->access[i].store == store &&
		    !g->access[i].atomic && g->access[i].runs.most > 0)
			return true;
	return false;
}

/* Until its first copy is there a block waits for its data, and for the tensor's map before. */
static double first_waits(const struct gw_tma_copies *c)
{
	double waits = 0;

	for (uint32_t i = 0; i < c->count; i++)
		if (!c->copy[i].store && !c->copy[i].prefetch && c->copy[i].runs.least > 0)
			waits = fmax(waits, c->copy[i].tensor ? 2 : 1);
	return waits;
}

void gw_static_copies(const struct gw_static_in *in, struct gw_work *work)
{
	const struct gw_gather *g = in->gather;
	bool no_loads = !has_lanes(g, false), no_stores = !has_lanes(g, true);
	double cache, read, write, written;
	struct moved loads, stores;
	bool fits;

	if (!g->copies.count || !in->device)
		return;
	loads = moved_of(&g->copies, false);
	stores = moved_of(&g->copies, true);
	cache = gw_param_value(in->device, GW_PARAM_l2_size);
	fits = loads.dram + stores.dram <= cache;
	read = sure_of(g, &loads);
	write = sure_of(g, &stores);
	add(work, GW_WORK_l2_read_bytes, loads.l2, no_loads, read * read_model);
	add(work, GW_WORK_l2_write_bytes, stores.l2, no_stores, write);
	add(work, GW_WORK_dram_read_bytes, loads.dram, no_loads,
	    read * (fits ? read_fits : read_model));
	written = gw_work_value(work, GW_WORK_l2_write_bytes);
	add(work, GW_WORK_dram_write_bytes, fmax(stores.dram - cache, 0), no_stores,
	    write * (fits ? read_fits : write_model));
	if (isnan(stores.dram))
		add(work, GW_WORK_dram_write_bytes, NAN, false, 0);
	else if (isnan(gw_work_value(work, GW_WORK_dram_write_bytes)))
		/* Nothing, or not known what of it is the same: L2 keeps what fits. */
		gw_static_set(work, GW_WORK_dram_write_bytes, written - fmin(written, cache),
			      write * write_model);
	gw_static_set(work, GW_WORK_warp_copy_chain, first_waits(&g->copies), read);
	gw_static_set(work, GW_WORK_copied_bytes, received(&g->copies), read);
	if (loads.l2 > 0 && !isnan(loads.dram))
		set_hit_rate(work, read * read_fits);
	if (loads.dram != 0) /* the waits for copies are of device memory */
		work->q[GW_WORK_l2_kept] = (struct gw_quantity){.value = NAN};
}
