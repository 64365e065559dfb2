/* SPDX-License-Identifier: Apache-2.0 */
/* Inside `bounds`: a launch on a device as its resources see it, and what its parts ask of each
 * other. */
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
	/* What a slice of L2 passes on for one look-up: a line asked for by less costs as much. */
	LOOKUP_BYTES = 64,
	WAIT_LOADS = 32, /* most loads that a wait is taken to be for */
};

/** Where work that one block cannot hand on is stuck. */
enum scope { PARTITION, SM, DEVICE, SCOPES };

/** A launch on a device, as the resources see it. */
struct view {
	const struct gw_device *d;
	const struct gw_work *w;
	double blocks, warps, warps_per_block;
	double loads, dram_read; /* global_load_requests, dram_read_bytes: several resources ask */
	double asked, written;   /* bytes that loads ask L1 for; bytes written, which go on to L2 */
	double l2_read;          /* bytes that L2 is read for */
	enum gw_source l2_source; /* of the last */
	double most_blocks;       /* of the grid, on the busiest SM */
	double sms, clock;
	struct gw_occupancy occupancy;
	bool resident; /* occupancy is known */
	double quantum[SCOPES];
	double hit1, hit2; /* of look-ups in L1 and in L2; NaN when unknown */
	double dram_share; /* of loads that device memory serves; NaN when unknown */
	double amat;       /* cycles of a load; NaN when unknown */
	double fetch;      /* s: until the first instructions have come from L2 */
	double fill;       /* s: what a first load takes, while nothing else goes on */
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

static inline double work_of(const struct view *v, enum gw_work_field f)
{
	return gw_work_value(v->w, f);
}

static inline double rate_of(const struct view *v, enum gw_param p)
{
	return gw_param_value(v->d, p);
}

/* Nothing to do takes no time, whatever the rate; an unknown amount or rate is unknown. */
static inline double over(const struct view *v, double amount, enum gw_param rate)
{
	return amount == 0 ? 0 : amount / rate_of(v, rate);
}

/**
 * bounds_memory.c: find what is asked of L1, L2 and device memory, and the shares that hit, from
 * what is known of the work. The times ask for it.
 */
void gw_bounds_traffic(struct view *v);

/** Seconds that L2 and device memory need; NaN when unknown. */
double gw_bounds_l2_time(const struct view *v);
double gw_bounds_dram_time(const struct view *v);
double gw_bounds_in_flight_time(const struct view *v);

/** bounds_course.c: seconds that warps take for their course; NaN when unknown. Sets the fill. */
double gw_bounds_latency_time(struct view *v, struct gw_estimate *e);

#endif
