/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How wide intervals are. Each kind of prediction has a width of its own, in units of the spread
 * that the prediction states. It grows where too many times fall outside and shrinks where too
 * few do, until one in ten does (adaptive conformal inference, in the logarithm of the width).
 */
#ifndef GW_COVERAGE_H
#define GW_COVERAGE_H

#include "predictor/core/types.h"

enum {
	GW_WIDTH_SIZES = 6, /**< of a configuration's own times: 1, 2, 3-4, 5-8, 9-16, more */
	GW_WIDTHS = GW_WIDTH_SIZES + 2 * (GW_SOURCE_COUNTED + 1), /**< and by tier and source */
};

/** Share of times meant to lie outside their interval. */
#define GW_MISS 0.10

/** The widths of all kinds. */
struct gw_coverage {
	float width[GW_WIDTHS];
	uint32_t seen[GW_WIDTHS]; /**< predictions a width was adapted by */
	float judged[GW_WIDTHS];  /**< predictions judged since it was adapted … */
	float missed[GW_WIDTHS];  /**< … and how many of them missed */
};

/** Widths to begin with. */
void gw_coverage_start(struct gw_coverage *c);

/** The kind of a prediction from a configuration's own @p size times. */
unsigned gw_width_of_size(uint32_t size);

/** The kind of a prediction without: by tier (cold, else warm) and the source of its work. */
unsigned gw_width_of_work(enum gw_tier tier, enum gw_source work);

/** A prediction of @p kind was judged: @p missed is the share of its times that lay outside. */
void gw_coverage_judge(struct gw_coverage *c, unsigned kind, double missed);

/**
 * Adapt all widths to what was judged since the last time. By a bounded step, however much that
 * is: it takes a while until launches with the new widths are measured, and who corrects in full
 * what was corrected already swings from too wide to too narrow and back.
 */
void gw_coverage_adapt(struct gw_coverage *c);

/** How the widths of one configuration differ from those of its kind: logarithm, 0 at first. */
float gw_coverage_own(float own, double missed, uint32_t times);

#endif
