/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading between points: what is known of a quantity at some places, carried over to another.
 * A Gaussian process (kriging): an offset all places share, a slope along one axis, something
 * smooth that near places share, and noise of each. With no point it gives back the prior; with
 * points, their mean shrunk to the prior by how much they can tell, and how sure that is.
 */
#ifndef GW_KRIGE_H
#define GW_KRIGE_H

#include <stdbool.h>

enum {
	GW_KRIGE_AXES = 4,    /**< coordinates of a place */
	GW_KRIGE_POINTS = 10, /**< most points used at once */
};

/** A place: logarithms of whatever tells places apart. */
struct gw_place {
	double at[GW_KRIGE_AXES];
	double along; /**< position along the axis of the slope */
};

/** A value known at a place. */
struct gw_point {
	struct gw_place place;
	double value; /**< less the mean it would be expected to have */
	double noise; /**< standard deviation of what is its own */
};

/** What is held for likely before any point: standard deviations. */
struct gw_prior {
	double offset; /**< of what all places share */
	double slope;  /**< of the slope per unit of `along`, about the points' mean position */
	double smooth; /**< of what near places share … */
	double reach;  /**< … and how near: the distance at which its correlation is exp(-1/2) */
	double own;    /**< of what each place has for itself */
};

/** How the value at a place follows from those at the points. */
struct gw_weights {
	unsigned count;
	double weight[GW_KRIGE_POINTS];
	double deviation; /**< standard deviation of the result, its own part included */
};

/**
 * Weights of @p count points (at most GW_KRIGE_POINTS) for @p target. The values of the points are
 * not looked at, so weights serve for every quantity known at the same points.
 */
void gw_krige(const struct gw_prior *prior, const struct gw_point *points, unsigned count,
              const struct gw_place *target, struct gw_weights *out);

/**
 * How well the points tell each other: mean over them of (what the others say of it, less its
 * value) squared, by the variance that the prior gives that. 1 where the prior holds, more where
 * the points agree less than it says; 1 of fewer than two points, which tell nothing of that.
 */
double gw_krige_misfit(const struct gw_prior *prior, const struct gw_point *points, unsigned count);

/** Square of the distance between two places. */
double gw_place_distance2(const struct gw_place *a, const struct gw_place *b);

#endif
