/*
 * Widths of intervals. Each kind of prediction has a width, in units of the spread that the
 * prediction states. It grows when too many times fall outside and shrinks when too few do, until
 * one in ten does (adaptive conformal inference, in the logarithm of the width).
 */
#ifndef GW_COVERAGE_H
#define GW_COVERAGE_H

#include "predictor/core/types.h"

enum {
	GW_WIDTH_SIZES = 6, /**< by number of own times: 1, 2, 3-4, 5-8, 9-16, more */
	GW_WIDTH_LEAST =
		GW_WIDTH_SIZES + 2 * (GW_SOURCE_COUNTED + 1), /**< and by tier and source */
	GW_WIDTHS,                                            /**< and of lower limits */
};

/** Target share of times outside their interval. */
#define GW_MISS 0.10

/**
 * Of n equally distributed times, the next lies between the least and the greatest in (n - 1) of (n
 * + 1) cases, whatever their distribution: with so many, nine in ten.
 */
enum { GW_RANGE_TIMES = 19 };

/** The least and the greatest of @p n > 0 times. */
void gw_coverage_range(const float *times, uint32_t n, double *low, double *high);

enum { GW_ERROR_BINS = 24 };

/** How often errors were how large: by size of |log(time / expected)|, in geometric bins. */
struct gw_errors {
	uint8_t count[GW_ERROR_BINS];
};

/** As many errors of each size up to what a program's first repeated times show. */
void gw_errors_start(struct gw_errors *e);

/** Count an error, >= 0; the oldest fade out. */
void gw_errors_add(struct gw_errors *e, double error);

/**
 * What an error exceeds in GW_MISS of the cases at most, by those of @p own and those of @p all,
 * which together weigh as much as @p weight of the former: the end of a bin.
 */
double gw_errors_reach(const struct gw_errors *own, const struct gw_errors *all, double weight);

/** The widths of all kinds. */
struct gw_coverage {
	float width[GW_WIDTHS];
	uint32_t seen[GW_WIDTHS]; /**< predictions that adapted the width */
	float judged[GW_WIDTHS];  /**< predictions judged since then … */
	float missed[GW_WIDTHS];  /**< … and how many of them missed */
};

/** Initial widths. */
void gw_coverage_start(struct gw_coverage *c);

/** The kind of a prediction from a configuration's own @p size times. */
unsigned gw_width_of_size(uint32_t size);

/** The kind of a prediction without own times: by tier (cold, else warm) and source of its work. */
unsigned gw_width_of_work(enum gw_tier tier, enum gw_source work);

/** A prediction of @p kind was judged; @p missed is the share of its times outside. */
void gw_coverage_judge(struct gw_coverage *c, unsigned kind, double missed);

/**
 * Adapt all widths to what was judged since the last call, by one bounded step: launches with the
 * new widths are measured late, so a full step would overshoot and oscillate.
 */
void gw_coverage_adapt(struct gw_coverage *c);

/** Width of one configuration relative to its kind: logarithm, 0 at first. */
float gw_coverage_own(float own, double missed, uint32_t times);

#endif
