/*
 * Slow-launch events: a configuration that takes longer than its interval says, again and
 * again. One event per episode, with its cause where one is known.
 *
 * A launch is slow when it lies above its interval, above nine in ten of the configuration's
 * earlier times, and at least 5% above what was predicted: less is not worth reporting. One in ten
 * is slow by chance, then. A sequential test separates chance from change with few launches and few
 * false alarms: each slow launch adds ln(0.9 / 0.3) to a score, each other one takes ln(0.7 / 0.1)
 * from it, and the score never falls below 0. An episode begins when it reaches ln(10^7): fifteen
 * slow launches in a row do that. As long as launches are slow with a probability of at most 0.3,
 * independently of each other, at least 10^7 launches of a configuration lie on average between
 * two false alarms (a cumulative sum of log likelihood ratios with threshold h has an average run
 * length of at least e^h), and ten times more after each alarm of that configuration. 0.3 leaves
 * room for intervals that hold for long although they were made of few times. While the score is
 * above 0 the interval is the one that the first slow launch had: the predictor itself follows a
 * change within a few launches. The same test, turned round, ends an episode: nine launches in a
 * row.
 *
 * Where only a sample is timed (mode watch), times of one window err together, and few come: there
 * the means of intervals of 5 to 10 s are tested, by the test of gpuwatch health (glr.h), from
 * 1.75% on (slow_windows.c). Their noise is learned; changes of the SM clock below 2% are taken
 * out.
 *
 * Processes that share a GPU take turns of some 2 ms. Most launches take their usual time then, and
 * one in whose midst the turn ends takes a turn longer: no episode, and the predictions, which
 * follow the median, stay. So a launch of more than one and a half times its prediction was
 * interrupted, while another process is at work on the GPU; what the configuration has of such
 * launches by itself is learned while none is.
 *
 * Deterministic: the same calls give the same events.
 */
#ifndef GW_SLOW_H
#define GW_SLOW_H

#include "predictor/counters/clocks.h"
#include "predictor/log/record.h"

#include <stdbool.h>
#include <stdint.h>

struct gw_slow;

/** A measured launch. */
struct gw_slow_sample {
	uint64_t start_ns;           /**< when it started, or was called where that isn't known */
	double seconds;              /**< GPU time */
	double predicted, low, high; /**< made before it, s; NaN when there was none */
	bool steady;  /**< predicted from earlier launches of the configuration: others don't count
		       */
	bool sampled; /**< one of few that are timed, in windows: see slow_windows.h; then neither
			 `steady` nor the prediction counts */
	double follows;  /**< share of its time that follows the SM clock, 0 to 1; of a sampled one
			  */
	bool overlapped; /**< another kernel of this process ran meanwhile */
	bool copies;     /**< copies of this process went on meanwhile */
	struct gw_clock_state clock; /**< while it ran */
	double dram_bytes; /**< counted of a launch of the configuration; NaN when not known */
};

/** An episode. */
struct gw_slow_event {
	uint32_t config;
	enum gw_slow_cause cause;    /**< of the episode so far */
	uint64_t since_ns, until_ns; /**< start of its first launch; of the first after it, 0 when
					it goes on */
	uint64_t last_ns;            /**< start of the launch that brought the event */
	uint64_t launches, slow;     /**< launches of the episode; of them slow ones */
	double predicted, low;       /**< of its first launch, s */
	double high;                 /**< what a launch had to exceed to be slow, s */
	double ratio;                /**< measured by predicted: geometric mean of the slow ones */
	double sm_before, sm_during; /**< SM clock, Hz; NaN when unknown */
	uint64_t reasons;            /**< throttle reasons meanwhile, NVML's bits */
};

/** A detector for up to @p max_configs configurations; NULL when there is no memory. */
struct gw_slow *gw_slow_new(uint32_t max_configs);
/** Bytes per configuration, once it had a launch that is not sampled. */
size_t gw_slow_config_bytes(void);

/** Bytes beside these that all have taken so far; some MB at most. */
size_t gw_slow_sampled_bytes(const struct gw_slow *s);

void gw_slow_free(struct gw_slow *s);

/** A launch of @p config. True when an episode begins or ends with it; @p out describes it. */
bool gw_slow_observe(struct gw_slow *s, uint32_t config, const struct gw_slow_sample *sample,
		     struct gw_slow_event *out);

/**
 * What the launch of @p config just observed took too long, s, and why; 0: it did not, as far as is
 * known. In an episode: longer than the episode's first launch was predicted to, by the episode's
 * cause so far. Else, beside another process that is at work on the GPU: where it was interrupted,
 * longer than its own prediction, less what such launches have alone.
 */
double gw_slow_excess(struct gw_slow *s, uint32_t config, const struct gw_slow_sample *sample,
		      enum gw_slow_cause *cause);

/** The next episode after configuration @p config (0 to begin with) that goes on; false when there
 * is none. */
bool gw_slow_open(const struct gw_slow *s, uint32_t config, struct gw_slow_event *out);

/** Name and meaning of a cause; never NULL. */
const char *gw_slow_cause_name(enum gw_slow_cause cause);
const char *gw_slow_cause_meaning(enum gw_slow_cause cause);

#endif
