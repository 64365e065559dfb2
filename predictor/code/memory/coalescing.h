/*
 * Coalescing as Kim 2023 measures it, per access and over a kernel, beside what the hardware
 * counts.
 *
 * Kim 2023 fixes the element at 4 bytes and the coalescing range at 128. Here the range is what a
 * full warp of the access's own elements spans, 32 times their width (128 bytes for 4), in bins of
 * one element; so the measures agree with Kim's at 4 bytes, and the sector expectation of a strided
 * access is its true number of sectors at every width.
 */
#ifndef GW_CODE_COALESCING_H
#define GW_CODE_COALESCING_H

#include "predictor/code/memory/request.h"

/** Sums over the requests of one access, or of several of one width. */
struct gw_coalescing {
	uint32_t bytes;                 /**< width of the elements; 0: of several widths */
	double requests;                /**< by warps with at least one active lane */
	double lanes;                   /**< active lanes */
	double coalesced;               /**< sum over requests of the share of lanes in range */
	double graph[GW_REQUEST_LANES]; /**< the coalescing graph (Kim 2023, fig. 3.4): active lanes
					     by element of the range they fall in */
	uint32_t range_sectors;         /**< bit n: a lane fell into sector n of the range */
	double sectors;                 /**< distinct 32-byte sectors, summed over requests */
	double lines;                   /**< distinct 128-byte lines, summed over requests */
	double least_sectors, most_sectors; /**< of one request */
};

/**
 * Add @p times requests like @p r (invalid and empty ones are left out). The coalescing range
 * starts at the sector that the first active lane touches and is 32 elements long (Kim
 * 2023, 3.1.4).
 */
void gw_coalescing_add(struct gw_coalescing *c, const struct gw_request *r, double times);

/** Add the sums of @p other, @p times over; the graph's bins then are elements, whatever their
 * widths. */
void gw_coalescing_merge(struct gw_coalescing *c, const struct gw_coalescing *other, double times);

/**
 * Degree of coalescing, 0 to 1 (Kim 2023, 3.1.4: sum of coalescing / (warps x global
 * instructions)): the mean share of a warp's lanes that fall into its coalescing range. NaN without
 * requests.
 */
double gw_coalescing_degree(const struct gw_coalescing *c);

/** Sector accesses per warp (Kim 2023, 4.3): sectors of the coalescing range with at least one
 * lane. */
unsigned gw_coalescing_range_sectors(const struct gw_coalescing *c);

/** Sector access expectation (Kim 2023, 4.3): sector accesses per warp / degree of coalescing. */
double gw_coalescing_expectation(const struct gw_coalescing *c);

/** Sectors per request, exact: the mean of what each request needs. NaN without requests. */
double gw_coalescing_sectors(const struct gw_coalescing *c);

/**
 * Whether the access is coalesced as Hong & Kim count: its requests need no more sectors than
 * their lanes' bytes fill, but for one that a start between two sectors adds.
 */
bool gw_coalescing_is_coalesced(const struct gw_coalescing *c);

#endif
