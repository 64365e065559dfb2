/*
 * A GPU's clocks over the last seconds: samples go in as taken (the CLOCK records of a log), and
 * the clock during a kernel comes out. Deterministic, for the preload and for replay.
 */
#ifndef GW_CLOCKS_H
#define GW_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

enum { GW_CLOCKS_WINDOW = 64 }; /**< samples kept */

/** Clocks and state of a GPU at one moment; 0 where nothing is known. */
struct gw_clock_sample {
	uint64_t ns;              /**< when, CLOCK_REALTIME */
	uint32_t sm_khz, mem_khz; /**< SM and memory clock */
	uint64_t reasons;         /**< what holds the clocks down, NVML's bits */
	uint32_t others; /**< share of the GPU's time that other processes had lately, per cent;
			      UINT32_MAX when not known */
};

/** The last samples of a GPU; zero-initialised is empty. */
struct gw_clocks {
	uint64_t count; /**< samples ever added */
	struct gw_clock_sample ring[GW_CLOCKS_WINDOW];
};

/** What held while a kernel ran. */
struct gw_clock_state {
	double sm_hz, mem_hz; /**< NaN when unknown */
	uint64_t reasons;     /**< of the samples used, together */
	double others;        /**< 0 to 1, the most of them; NaN when unknown */
};

/**
 * Add a sample; one that is older than the last is left out. Where it is older by more than a
 * second the wall clock was set back: those before it are forgotten.
 */
void gw_clocks_add(struct gw_clocks *c, const struct gw_clock_sample *sample);

/**
 * The state from @p start_ns to @p end_ns: the mean of the samples in between, else between the
 * nearest before and after, if these are at most 0.3 s away. A clock that changed by more than 5%
 * between the two is unknown: the moment of change is.
 */
void gw_clocks_at(const struct gw_clocks *c, uint64_t start_ns, uint64_t end_ns,
		  struct gw_clock_state *out);

#endif
