/*
 * What a log's launches, clocks and gaps were over time, in bounded memory: bins that grow wider as
 * more time has to fit. Filled while the model reads (struct log_watch).
 */
#ifndef GW_HTML_SERIES_H
#define GW_HTML_SERIES_H

#include "cli/log/model.h"

enum {
	HTML_BINS = 4096,                      /**< of a GPU's time */
	HTML_COARSE = 8,                       /**< bins to a point */
	HTML_POINTS = HTML_BINS / HTML_COARSE, /**< of a kernel's times and of clocks */
	HTML_TRACKED = 4096,       /**< rows whose times are kept: those launched first */
	HTML_STATES = GW_GAPS + 1, /**< by enum gw_gap; the last: a kernel ran */
};

/** What a GPU did in one bin, ns by state; summed over processes. */
struct html_bin {
	double ns[HTML_STATES];
};

/** Launches of a row that started in one point. */
struct html_point {
	double sum; /**< of their times, ns */
	uint64_t count;
	float low, high; /**< shortest and longest, ns */
};

/** Samples of clocks in one point: sums, each over its own number of samples. */
struct html_sample {
	double sm_khz, mem_khz, temperature, power_mw;
	uint32_t sm, mem, warm, power; /**< how many samples are in each sum */
	uint64_t reasons;              /**< that throttled, of any of them (CLOCK's bits) */
};

/** A GPU. */
struct html_gpu {
	struct html_bin *bins;       /**< HTML_BINS */
	struct html_sample *samples; /**< HTML_POINTS; NULL: no sample */
};

/** Zero-initialised is empty. */
struct html_series {
	/** A bin is 2^shift ns wide, and bin 0 starts at base << shift, ns since 1970. */
	unsigned shift;
	uint64_t base;
	uint64_t first, last; /**< bins in use, counted from 1970; none while !used */
	bool used;
	struct html_gpu *gpus;      /**< by position in the model */
	struct html_point **points; /**< by row of the model, HTML_POINTS each; NULL: not kept */
	size_t gpu_count, gpu_room, row_count, row_room, tracked;
	/** Statistics of the predicted launches, by what was known of their time and work. */
	struct gw_row tiers[GW_TIER_STEADY + 1], sources[GW_SOURCE_COUNTED + 1];
	struct log_watch watch;
};

/** Prepare @p series and make @p model show it what it reads; both stay where they are. */
void html_series_begin(struct html_series *series, struct gw_log_model *model);
void html_series_free(struct html_series *series);

/** The points of row @p row of the model; NULL: it has no launch with a start, or is not kept. */
const struct html_point *html_series_points(const struct html_series *series, size_t row);

#endif
