/*
 * Slow launches where only a sample is timed, in windows: times of one window err together, so the
 * mean of some seconds is one observation, not each time. Of slow.c alone.
 */
#ifndef GW_SLOW_WINDOWS_H
#define GW_SLOW_WINDOWS_H

#include "predictor/counters/slow.h"

/** Running mean of a quantity that may be unknown now and then. */
struct gw_slow_mean {
	double sum;
	uint64_t count;
};

/** Quantities observed beside the time, of some launches. */
struct gw_slow_beside {
	struct gw_slow_mean sm, memory, others, bytes;
	uint64_t launches, overlapped, copies, reasons;
};

/** The same as they usually are; NaN: unknown. */
struct gw_slow_usual {
	double sm, memory, others, bytes;
	double overlapped, copies; /**< shares of the launches */
};

/** Add launch @p s. */
void gw_slow_beside_add(struct gw_slow_beside *b, const struct gw_slow_sample *s);

/** The mean of what was known; NaN where nothing was. */
double gw_slow_mean_of(const struct gw_slow_mean *m);

/** @p value weighs @p gain in @p usual; the first one is it. NaN changes nothing. */
void gw_slow_drift(double *usual, double value, double gain);

/** What of @p during explains times that are longer by the logarithm @p log_ratio. */
enum gw_slow_cause gw_slow_explain(const struct gw_slow_usual *usual,
				   const struct gw_slow_beside *during, double log_ratio);

struct gw_slow_windows;

/** For up to @p max_configs configurations; NULL when there is no memory. */
struct gw_slow_windows *gw_slow_windows_new(uint32_t max_configs);
void gw_slow_windows_free(struct gw_slow_windows *s);

/** Bytes of the configurations that had a launch. */
size_t gw_slow_windows_bytes(const struct gw_slow_windows *s);

/** As gw_slow_observe(), of a launch in a window. */
bool gw_slow_windows_observe(struct gw_slow_windows *s, uint32_t config,
			     const struct gw_slow_sample *sample, struct gw_slow_event *out);

/** End the episode of @p config at @p ns, if there is one: true, and @p out describes it. */
bool gw_slow_windows_end(struct gw_slow_windows *s, uint32_t config, uint64_t ns,
			 struct gw_slow_event *out);

/** The episode of @p config that goes on; false when there is none. */
bool gw_slow_windows_open(const struct gw_slow_windows *s, uint32_t config,
			  struct gw_slow_event *out);

#endif
