/*
 * State of attribution: filled by windows (attribute.c), solved in attribute_solve.c, used nowhere
 * else.
 */
#ifndef GW_ATTRIBUTE_STATE_H
#define GW_ATTRIBUTE_STATE_H

#include "predictor/counters/attribute.h"

/** Windows of a group. What is older than all groups' together is forgotten: programs change. */
enum { GW_ATTRIBUTE_GROUP_WINDOWS = 8, GW_ATTRIBUTE_PLAIN = GW_ATTRIBUTE_GROUPS };

/** Configurations whose counts are kept beside those solved for. */
enum {
	GW_ATTRIBUTE_KNOWN = 256,
	GW_ATTRIBUTE_NOWHERE = GW_ATTRIBUTE_CONFIGS + GW_ATTRIBUTE_KNOWN,
};

/** Most configurations of a window that are distinguished. */
enum { GW_ATTRIBUTE_RAN_BITS = 9, GW_ATTRIBUTE_RAN = 1 << GW_ATTRIBUTE_RAN_BITS };

/** How well a sample's ends are known in the kernels' clock, ns: a floor below every error. */
#define GW_ATTRIBUTE_CLOCK_ERROR 1000.0

/** Pairs of configurations, each with itself too. */
enum { GW_ATTRIBUTE_PAIRS = GW_ATTRIBUTE_CONFIGS * (GW_ATTRIBUTE_CONFIGS + 1) / 2 };

/** Where slots @p i and @p j, in any order, are in a symmetric matrix. */
static inline unsigned gw_attribution_pair(unsigned i, unsigned j)
{
	return i < j ? j * (j + 1) / 2 + i : i * (i + 1) / 2 + j;
}

/**
 * The normal equations of one part of the windows. Rows are weighted, for each metric by what their
 * cuts cost there, but for what says otherwise.
 */
struct gw_attribution_group {
	double gram[GW_SAMPLE_METRICS][GW_ATTRIBUTE_PAIRS]; /**< at gw_attribution_pair() */
	double rhs[GW_SAMPLE_METRICS][GW_ATTRIBUTE_CONFIGS];
	double square[GW_SAMPLE_METRICS];      /**< sum of the rows' squared counts */
	double rows[GW_ATTRIBUTE_CONFIGS];     /**< equations of a configuration */
	double launches[GW_ATTRIBUTE_CONFIGS]; /**< launches' worth of time sampled */
	double total_rows;
	/** Of the samples that a configuration's launches touch, unweighted: squares of its shares.
	 */
	double touched[GW_ATTRIBUTE_CONFIGS];
	double beside[GW_SAMPLE_METRICS][GW_ATTRIBUTE_CONFIGS]; /**< … and shares times counts */
};

/**
 * What the record of a launch's time holds besides the time in which it counts: in its first
 * `before` ns nothing of it runs yet, in its last `after` its results are on their way. LAG(before,
 * after); the samples decide, for each metric, which of these describes the GPU: that with
 * the least left unexplained. On an H200 counts come 0.5 us after the start, and end 1.5 us
 * (instructions) to 3 us (L2, device memory) before the record's end.
 */
#define GW_ATTRIBUTE_LAGS(LAG) LAG(0, 0) LAG(500, 1500) LAG(500, 2250) LAG(500, 3000)
enum {
#define LAG(before, after) +1
	GW_ATTRIBUTE_LAG_COUNT = 0 GW_ATTRIBUTE_LAGS(LAG)
#undef LAG
};

/** A configuration that is solved for. */
struct gw_attribution_slot {
	uint32_t config;
	uint32_t window;    /**< the last that had it */
	uint32_t windows;   /**< how many have had it */
	bool solved;        /**< what was solved last is about it */
	double nanoseconds; /**< of its launches' durations, weighted by what was sampled of each */
	double seen;        /**< … and the sum of those weights */
	/** What a cut through one of its launches costs, as a multiple of what it costs at least.
	 */
	double cost[GW_SAMPLE_METRICS];
};

/** A configuration that was solved for, and gave its place to another: its counts are taken off. */
struct gw_attribution_known {
	uint32_t config;                 /**< 0: none */
	uint32_t until;                  /**< window from which on it is to be solved for again */
	double value[GW_SAMPLE_METRICS]; /**< NaN: unknown, and rows with it say nothing */
};

/** A configuration of the window at hand. */
struct gw_attribution_ran {
	uint32_t config; /**< 0: none */
	unsigned place;  /**< slot; GW_ATTRIBUTE_CONFIGS and more: known; GW_ATTRIBUTE_NOWHERE */
	double ns;
};

/** All of it. */
struct gw_attribution {
	unsigned metrics;
	uint32_t guard;     /**< as passed to gw_attribution_new */
	uint32_t windows;   /**< taken in */
	bool placed;        /**< gw_attribution_placed() */
	unsigned suspicion; /**< windows that are set aside yet, see SUSPICION */
	struct gw_attribution_slot slot[GW_ATTRIBUTE_CONFIGS];
	unsigned slots;
	struct gw_attribution_known known[GW_ATTRIBUTE_KNOWN];
	struct gw_attribution_ran ran[GW_ATTRIBUTE_RAN]; /**< by their number's hash */
	double peak[GW_SAMPLE_METRICS];                  /**< highest rate of any sample, per ns */
	unsigned lag; /**< that windows are being taken in with: each one with every lag */
	/** The last, GW_ATTRIBUTE_PLAIN: single samples of all groups' windows, by which lags are
	 * judged. */
	struct gw_attribution_group group[GW_ATTRIBUTE_LAG_COUNT][GW_ATTRIBUTE_GROUPS + 1];
	struct gw_counted solved[GW_ATTRIBUTE_CONFIGS];
	unsigned solved_count;
	struct gw_interval *runs; /**< of the window at hand, the caller's */
	size_t run_count;
	uint64_t longest; /**< of these runs, ns */
};

/**
 * Decide which configurations of the window at hand are solved for: those that are, and of the
 * others those that took longest, while there is room. In large programs a window has more: those
 * that are known leave.
 */
void gw_attribution_place(struct gw_attribution *a);

/** @p config of the window at hand, or where it may come (config 0); NULL: there are too many. */
struct gw_attribution_ran *gw_attribution_ran_of(struct gw_attribution *a, uint32_t config);

/** Bytes that gw_attribution_solve() takes meanwhile. */
size_t gw_attribution_solve_bytes(void);

#endif
