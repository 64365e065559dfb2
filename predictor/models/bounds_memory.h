/* SPDX-License-Identifier: Apache-2.0 */
/* Inside `bounds`: what L2 and device memory need. For bounds.c alone. */
#ifndef GW_BOUNDS_MEMORY_H
#define GW_BOUNDS_MEMORY_H

#include "predictor/models/bounds_view.h"

/** Rows that say what requests of a direction ask L2 for. */
struct asked {
	enum gw_work_field requests, lines, line_sectors;
};

/*
 * Bytes that L2 is busy with. A request of a warp looks up each of its lines. What code tells of
 * lines takes addresses that data decide for consecutive: sectors counted beyond those are of lines
 * of their own. Of look-ups that many reach L2 as of the sectors do.
 */
static double l2_busy(const struct view *v, double bytes, double sectors, const struct asked *a)
{
	double requests = work_of(v, a->requests), lookups, reach;

	lookups = requests * work_of(v, a->lines) +
	          larger(0, sectors - requests * work_of(v, a->line_sectors));
	if (!(bytes > 0 && sectors > 0) || isnan(lookups))
		return bytes;
	lookups = larger(lookups < sectors ? lookups : sectors, sectors / LINE_SECTORS);
	reach = bytes / (SECTOR_BYTES * sectors);
	return larger(bytes, LOOKUP_BYTES * lookups * (reach < 1 ? reach : 1));
}

/* Reads and writes at their own rates; together at that of reads where only the sum is known. */
static double l2_time(const struct view *v)
{
	static const struct asked read = {GW_WORK_global_load_requests, GW_WORK_global_load_lines,
	                                  GW_WORK_global_load_line_sectors},
	                          written = {GW_WORK_global_store_requests,
	                                     GW_WORK_global_store_lines,
	                                     GW_WORK_global_store_line_sectors};
	double apart = over(v, l2_busy(v, v->l2_read, v->asked / SECTOR_BYTES, &read),
	                    GW_PARAM_b_l2_read) +
	               over(v, l2_busy(v, v->written, v->written / SECTOR_BYTES, &written),
	                    GW_PARAM_b_l2_write);

	return gw_either(apart, over(v, work_of(v, GW_WORK_l2_total_bytes), GW_PARAM_b_l2_read));
}

/* The bandwidth of a direction: the most that was measured of it, or of both where only that is
 * known. */
static double dram_bandwidth(const struct view *v, enum gw_param own, enum gw_curve_id sizes)
{
	const struct gw_curve *c = &v->d->curve[sizes];
	double b = rate_of(v, own);

	if (isnan(b))
		b = gw_either(rate_of(v, GW_PARAM_b_mem), rate_of(v, GW_PARAM_b_mem_spec));
	return c->count ? larger(b, c->y[c->count - 1]) : b;
}

/* Bytes read and written, each at its own bandwidth, and what turning from one to the other costs:
 * copying shows it. */
static double dram_time(const struct view *v)
{
	double read = v->dram_read;
	double written = work_of(v, GW_WORK_dram_write_bytes);
	double a, b, turn;

	if (read == 0 && written == 0)
		return 0;
	a = 1 / dram_bandwidth(v, GW_PARAM_b_mem_read, GW_CURVE_dram_read_bw);
	b = 1 / dram_bandwidth(v, GW_PARAM_b_mem_write, GW_CURVE_dram_write_bw);
	turn = larger(0, 2 / rate_of(v, GW_PARAM_b_mem_copy) - a - b);
	return (read > 0 ? read * a : read) + (written > 0 ? written * b : written) +
	       (read < written ? read : written) * turn;
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

	/* A course by the code has the latency of loads, with what this very launch draws. */
	if (bytes == 0 || !isnan(work_of(v, GW_WORK_warp_fixed_chain)))
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

#endif
