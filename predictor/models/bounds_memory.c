/* Inside `bounds`: a launch's traffic of caches and device memory, and its time. */
#include "predictor/models/bounds_parts.h"

/*
 * A hit rate, or the one that follows from bytes requested and passed on where those are better
 * known.
 */
static double hits(const struct view *v, enum gw_work_field rate, double passed, double asked,
		   enum gw_source source)
{
	double direct = gw_share(work_of(v, rate)), missed = passed / asked;

	if (!(asked > 0) || isnan(missed) || (!isnan(direct) && source <= v->w->q[rate].source))
		return direct;
	return missed < 1 ? 1 - missed : 0;
}

/** An amount and its confidence. */
struct known {
	double value;
	enum gw_source source;
};

/* The more certain of a row and of a derived value; the row itself in a tie. */
static struct known surest(struct known row, double follows, enum gw_source source)
{
	bool better = !isnan(follows) && (isnan(row.value) || row.source < source);

	return better ? (struct known){larger(0, follows), source} : row;
}

static struct known row_of(const struct view *v, enum gw_work_field f, double unit)
{
	return (struct known){work_of(v, f) * unit, v->w->q[f].source};
}

/* Good enough to split a counted sum: not a range from code analysis of data-dependent code. */
static bool is_settled(const struct view *v, enum gw_work_field f)
{
	return v->w->q[f].source > GW_SOURCE_STATIC ||
	       v->w->q[f].confidence >= GW_CONFIDENCE_SETTLED;
}

/* No better than a poor sample: other knowledge may refute it. */
static bool is_doubtful(const struct view *v, enum gw_work_field f)
{
	return v->w->q[f].confidence < GW_CONFIDENCE_COUNTED;
}

/*
 * What is asked of L1, what L2 reads and what it writes. Where sums were counted and their parts
 * were not, the code knows one of them: all that is written goes through both, so
 *     l1_bytes = asked + written,  l2_total_bytes = read + written.
 * Where it knows neither, as data decide, all is taken as read. A request asks for a sector at
 * least.
 */
static void settle_traffic(struct view *v)
{
	struct known l1 = row_of(v, GW_WORK_l1_bytes, 1), l2 = row_of(v, GW_WORK_l2_total_bytes, 1);
	struct known asked = row_of(v, GW_WORK_global_load_sectors, SECTOR_BYTES);
	struct known written = row_of(v, GW_WORK_l2_write_bytes, 1);
	struct known read = row_of(v, GW_WORK_l2_read_bytes, 1);

	if (isnan(written.value))
		written = row_of(v, GW_WORK_global_store_sectors, SECTOR_BYTES);
	if (isnan(written.value) && is_settled(v, GW_WORK_global_load_sectors))
		written = surest(written, l1.value - asked.value, l1.source);
	if (isnan(written.value) && read.source >= l2.source)
		written = surest(written, l2.value - read.value, l2.source);
	v->written = written.value;
	asked = surest(asked, l1.value - gw_either(written.value, 0), l1.source);
	read = surest(read, l2.value - gw_either(written.value, 0), l2.source);
	if (isnan(read.value) && v->loads == 0)
		read.value = 0;
	v->asked = asked.value;
	if (is_doubtful(v, GW_WORK_global_load_sectors) && is_doubtful(v, GW_WORK_l1_bytes))
		v->asked = larger(asked.value, v->loads * SECTOR_BYTES);
	v->l2_read = read.value;
	v->l2_source = read.source;
}

/*
 * Samples of short launches may exceed what is possible: L2 fetches at most two sectors for one
 * that is read, and one for one that is partly written.
 */
static void bound_fetches(struct view *v)
{
	double most = 2 * v->l2_read;

	if (work_of(v, GW_WORK_uncoalesced_mem_insts) != 0)
		most += v->written;
	if (v->dram_read > most && is_doubtful(v, GW_WORK_dram_read_bytes))
		v->dram_read = most;
}

static void find_hits(struct view *v)
{
	v->hit1 = hits(v, GW_WORK_l1_hit_rate, v->l2_read, v->asked, v->l2_source);
	v->hit2 = hits(v, GW_WORK_l2_hit_rate, v->dram_read, v->l2_read,
		       v->w->q[GW_WORK_dram_read_bytes].source);
	v->dram_share = (1 - v->hit1) * (1 - v->hit2);
	v->amat = v->hit1 * rate_of(v, GW_PARAM_lat_l1) +
		  (1 - v->hit1) * v->hit2 * rate_of(v, GW_PARAM_lat_l2) +
		  v->dram_share * (v->first_near + v->first_far) / 2;
}

void gw_bounds_traffic(struct view *v)
{
	settle_traffic(v);
	bound_fetches(v);
	/* What L2 keeps from before it has for each sector that is new to the SM, half of them in
	 * the far partition. Counters know what device memory read. */
	v->kept = work_of(v, GW_WORK_l2_kept) > 0 &&
		  v->w->q[GW_WORK_dram_read_bytes].source == GW_SOURCE_STATIC;
	v->first_near = rate_of(v, v->kept ? GW_PARAM_lat_l2 : GW_PARAM_lat_dram);
	v->first_far =
		v->kept ? gw_either(rate_of(v, GW_PARAM_lat_l2_far), v->first_near) : v->first_near;
	find_hits(v);
	if (v->kept)
		v->dram_read = 0;
}

/** Rows of a direction's requests to L2. */
struct asked {
	enum gw_work_field requests, lines, line_sectors;
};

/*
 * Bytes that L2 spends time on. A request of a warp looks up each of its lines. Code analysis takes
 * data-dependent addresses as consecutive: sectors counted beyond those belong to lines of their
 * own. As large a share of lookups reaches L2 as of sectors.
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

/* Reads and writes at their own rates; at the read rate together where only the sum is known. L2
 * reads a sector of which a part is written, as its check code is for the whole. */
double gw_bounds_l2_time(const struct view *v)
{
	static const struct asked read = {GW_WORK_global_load_requests, GW_WORK_global_load_lines,
					  GW_WORK_global_load_line_sectors},
				  written = {GW_WORK_global_store_requests,
					     GW_WORK_global_store_lines,
					     GW_WORK_global_store_line_sectors};
	double partial = gw_either(SECTOR_BYTES * work_of(v, GW_WORK_global_store_sectors) *
					   work_of(v, GW_WORK_global_store_partial),
				   0);
	double apart = over(v, partial + l2_busy(v, v->l2_read, v->asked / SECTOR_BYTES, &read),
			    GW_PARAM_b_l2_read) +
		       over(v, l2_busy(v, v->written, v->written / SECTOR_BYTES, &written),
			    GW_PARAM_b_l2_write);

	return gw_either(apart, over(v, work_of(v, GW_WORK_l2_total_bytes), GW_PARAM_b_l2_read));
}

/* The bandwidth of a direction: the highest measured, or that of both where only this is known. */
static double dram_bandwidth(const struct view *v, enum gw_param own, enum gw_curve_id sizes)
{
	const struct gw_curve *c = &v->d->curve[sizes];
	double b = rate_of(v, own);

	if (isnan(b))
		b = gw_either(rate_of(v, GW_PARAM_b_mem), rate_of(v, GW_PARAM_b_mem_spec));
	return c->count ? larger(b, c->y[c->count - 1]) : b;
}

/*
 * Bytes of what is read whose place data decide: sectors beyond those that consecutive addresses
 * would have. Device memory reads two sectors for one of them. The consecutive ones come from it
 * first.
 */
static double scattered_bytes(const struct view *v)
{
	double consecutive = v->loads * work_of(v, GW_WORK_global_load_line_sectors) * SECTOR_BYTES;
	double scattered = 2 * (v->asked - consecutive), rest = v->dram_read - consecutive;

	return larger(0, rest < scattered ? rest : scattered);
}

/* What these take longer than others: the microbenchmark has one word of each pair of sectors. */
static double scattering_time(const struct view *v, double consecutive)
{
	enum { WORD_BYTES = 4, PAIR_BYTES = 2 * SECTOR_BYTES };
	double each = WORD_BYTES / rate_of(v, GW_PARAM_bw_uncoalesced) / PAIR_BYTES;

	return scattered_bytes(v) * larger(0, each - consecutive);
}

/*
 * Bytes read and written, each at its own bandwidth, plus the cost of turning the bus, which a copy
 * shows.
 */
double gw_bounds_dram_time(const struct view *v)
{
	double read = v->dram_read;
	double written = work_of(v, GW_WORK_dram_write_bytes);
	double a, b, turn;

	if (read == 0 && written == 0)
		return 0;
	a = 1 / dram_bandwidth(v, GW_PARAM_b_mem_read, GW_CURVE_dram_read_bw);
	b = 1 / dram_bandwidth(v, GW_PARAM_b_mem_write, GW_CURVE_dram_write_bw);
	turn = larger(0, 2 / rate_of(v, GW_PARAM_b_mem_copy) - a - b);
	return (read > 0 ? read * a + larger(0, scattering_time(v, a)) : read) +
	       (written > 0 ? written * b : written) + (read < written ? read : written) * turn;
}

/*
 * Bandwidth that the loads in flight can use. A request brings in bytes / requests from device
 * memory on average; one that hits a cache returns sooner and frees its slot, so more of them fit
 * into one memory latency.
 */
double gw_bounds_in_flight_time(const struct view *v)
{
	double bytes = v->dram_read;
	const struct gw_curve *curve = &v->d->curve[GW_CURVE_dram_bw_in_flight];
	double resident, warps, in_flight, bandwidth, faster;

	/*
	 * A critical path from the code includes the latency of loads, at this launch's bandwidth.
	 */
	if (bytes == 0 || !isnan(work_of(v, GW_WORK_warp_fixed_chain)))
		return 0;
	if (!v->resident || !curve->count)
		return NAN;
	faster = larger(1, gw_either(rate_of(v, GW_PARAM_lat_dram) / v->amat, 1));
	resident = (double)v->occupancy.resident_blocks;
	warps = (v->blocks < resident ? v->blocks : resident) * v->warps_per_block / v->sms;
	in_flight = warps * work_of(v, GW_WORK_warp_loads_in_flight) * (bytes / v->loads) * faster;
	bandwidth = gw_curve_at(v->d, GW_CURVE_dram_bw_in_flight, in_flight);
	if (in_flight < curve->x[0]) /* below the first point: proportional, by Little's law */
		bandwidth *= in_flight / curve->x[0];
	return bytes / bandwidth;
}
