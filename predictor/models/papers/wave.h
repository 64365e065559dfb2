/*
 * The iteration of Kleimenov and Popova 2021 (figs. 4 and 5), free of devices and launches: the
 * latency of a memory level under the load that a wave puts on it.
 */
#ifndef GW_WAVE_H
#define GW_WAVE_H

/** A wave as one memory level sees it; cycles. Its time is max(fixed + slope x, floor) at latency
 * x. */
struct gw_wave_load {
	double fixed;  /**< time of a warp without its waits for this level */
	double slope;  /**< accesses of this level that a warp waits for one after the other */
	double floor;  /**< least time of the wave, whatever the latency: sum of issue delays */
	double idle;   /**< latency of the level when nothing else runs */
	double demand; /**< bytes of the wave through the level over its bandwidth */
};

/** Result of the iteration. */
struct gw_wave_point {
	double latency; /**< of the level under load, at least idle */
	double cycles;  /**< time of the wave */
	unsigned steps; /**< iterations made, at most GW_WAVE_STEPS */
};

enum { GW_WAVE_STEPS = 64 };

/** Relative accuracy of the time at which the iteration stops (epsilon of figs. 4 and 5). */
#define GW_WAVE_EPSILON 1e-9

/** Iterate the latency of a level until it provides the requested bandwidth. */
void gw_wave_fixed_point(const struct gw_wave_load *load, struct gw_wave_point *out);

#endif
