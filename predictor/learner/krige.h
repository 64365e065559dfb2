/*
 * Interpolation: a quantity known at some places is estimated at another by a Gaussian process
 * (kriging): an offset that all places share, a slope along one axis, a smooth term that near
 * places share, and noise of each. Without points it returns the prior; with points, their mean
 * shrunk to the prior by how much they determine, and the uncertainty.
 */
#ifndef GW_KRIGE_H
#define GW_KRIGE_H

#include <stdbool.h>

enum {
	GW_KRIGE_AXES = 4,    /**< coordinates of a place */
	GW_KRIGE_POINTS = 10, /**< most points used at once */
};

/** A place: logarithms of what distinguishes places. */
struct gw_place {
	double at[GW_KRIGE_AXES];
	double along; /**< position along the axis of the slope */
};

/** A value known at a place. */
struct gw_point {
	struct gw_place place;
	double value; /**< minus the expected mean */
	double noise; /**< standard deviation of its own noise */
};

/** Prior standard deviations. */
struct gw_prior {
	double offset; /**< of the shared offset */
	double slope;  /**< of the slope per unit of `along`, about the points' mean position */
	double smooth; /**< of the smooth term … */
	double reach; /**< … and its length: the distance at which its correlation is exp(-1/2) */
	double own;   /**< of each place's own part */
};

/** Weights that give the value at a place from those at the points. */
struct gw_weights {
	unsigned count;
	double weight[GW_KRIGE_POINTS];
	double deviation; /**< standard deviation of the result, its own part included */
};

/**
 * Weights of @p count points (at most GW_KRIGE_POINTS) for @p target. They do not depend on the
 * points' values, so they serve every quantity known at the same points.
 */
void gw_krige(const struct gw_prior *prior, const struct gw_point *points, unsigned count,
	      const struct gw_place *target, struct gw_weights *out);

/**
 * How well the points predict each other: mean over them of the squared leave-one-out error over
 * its variance under the prior. 1 where the prior holds, more where the points agree less; 1 for
 * fewer than two points.
 */
double gw_krige_misfit(const struct gw_prior *prior, const struct gw_point *points, unsigned count);

/** Square of the distance between two places. */
double gw_place_distance2(const struct gw_place *a, const struct gw_place *b);

#endif
