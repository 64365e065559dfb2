/*
 * Inside `bounds`: a launch on a device as its resources see it, and the interfaces of its parts.
 */
#ifndef GW_BOUNDS_PARTS_H
#define GW_BOUNDS_PARTS_H

#include "predictor/models/inputs.h"
#include "predictor/models/occupancy.h"

#include <math.h>

enum {
	WARP = 32,
	WAVEFRONT_BYTES = 128, /* a wavefront of shared memory: 32 banks of 4 bytes */
	SECTOR_BYTES = 32,
	LINE_SECTORS = 4,
	/* What a slice of L2 passes on per lookup: a line requested by less costs as much. */
	LOOKUP_BYTES = 64,
	WAIT_LOADS = 32, /* most loads that a wait may be for */
};

/** Unit that a block's work cannot leave. */
enum scope { PARTITION, SM, DEVICE, SCOPES };

/** A launch on a device, as the resources see it. */
struct view {
	const struct gw_device *d;
	const struct gw_work *w;
	double blocks, warps, warps_per_block;
	double loads, dram_read; /* global_load_requests, dram_read_bytes: several resources ask */
	double asked,
		written; /* bytes that loads request of L1; bytes written, which go on to L2 */
	double l2_read;  /* bytes read at L2 */
	enum gw_source l2_source; /* of the last */
	double most_blocks;       /* of the grid, on the busiest SM */
	double sms, clock;
	struct gw_occupancy occupancy;
	bool resident; /* occupancy is known */
	bool kept;     /* what is loaded is in L2 already: no traffic of device memory */
	double quantum[SCOPES];
	double hit1, hit2;            /* hit rates of lookups in L1 and in L2; NaN when unknown */
	double dram_share;            /* of loads that device memory serves; NaN when unknown */
	double amat;                  /* cycles of a load; NaN when unknown */
	double first_near, first_far; /* cycles of a load of what is new to the GPU, or its SM */
	double fetch;                 /* s: until the first instructions arrive from L2 */
	double fill;                  /* s: a first load, while nothing else proceeds */
	double waits; /* s: all that a block's warps, which meet at barriers, wait for one by one */
	double rounds; /* of blocks on the busiest SM, where there are waits */
	double copies; /* s: waits for first and last copies past L1; not part of the critical path
			*/
	double tail;   /* s: stores after the last tensor operations */
};

/* The larger, or a where b is unknown. Inline, unlike fmax, as this runs for every launch. */
static inline double larger(double a, double b)
{
	return b > a ? b : a;
}

/* The larger known value. */
static inline double larger_known(double a, double b)
{
	return larger(gw_either(a, b), b);
}

static inline double work_of(const struct view *v, enum gw_work_field f)
{
	return gw_work_value(v->w, f);
}

static inline double rate_of(const struct view *v, enum gw_param p)
{
	return gw_param_value(v->d, p);
}

/* No work takes no time, whatever the rate; an unknown amount or rate gives unknown. */
static inline double over(const struct view *v, double amount, enum gw_param rate)
{
	return amount == 0 ? 0 : amount / rate_of(v, rate);
}

/**
 * bounds_memory.c: derive traffic of L1, L2 and device memory and the hit rates from the known
 * work. The resources' times use it.
 */
void gw_bounds_traffic(struct view *v);

/** Seconds that L2 and device memory need; NaN when unknown. */
double gw_bounds_l2_time(const struct view *v);
double gw_bounds_dram_time(const struct view *v);
double gw_bounds_in_flight_time(const struct view *v);

/** bounds_latency.c: seconds of the warps' critical path; NaN when unknown. Sets the fill and
 * the waits. */
double gw_bounds_latency_time(struct view *v, struct gw_estimate *e);

#endif
