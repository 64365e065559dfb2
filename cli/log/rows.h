/*
 * The statistics of a report's row.
 */
#ifndef GW_LOG_ROWS_H
#define GW_LOG_ROWS_H

#include "cli/log/model.h"
#include "predictor/core/sketch.h"

/** A row of which nothing is known. */
void gw_row_clear(struct gw_row *row);

/** The model's name of the rank called @p rank; "": none is known. */
uint32_t gw_row_rank(struct gw_log_model *model, const char *rank);

/**
 * Position of the row of @p name, @p gpu (a position, or GW_INDEX_NONE) and @p config, of which the
 * model's grouping may ignore the latter two; a new one where there is none yet.
 */
uint32_t gw_row_find(struct gw_log_model *model, uint32_t name, uint32_t gpu,
		     const struct gw_config *config);

/**
 * Count a launch without its times one by one, as sums of rows do: mean, spread, extremes and
 * medians but that of errors stay empty. @p tier is how much was known of it.
 */
void gw_row_sum(struct gw_row *row, const struct gw_record_launch *launch, enum gw_tier tier);

/** Count a launch and keep its time. */
void gw_row_launch(struct gw_row *row, const struct gw_record_launch *launch, enum gw_tier tier);

/**
 * What the histograms of an aggregate that is counted, too, say of its times and errors: each
 * bucket stands for its geometric middle. NULL: not known.
 */
void gw_row_sketches(struct gw_row *row, const struct gw_sketch *time,
		     const struct gw_sketch *ratio);

/** Count an aggregate. */
void gw_row_aggregate(struct gw_row *row, const struct gw_record_aggregate *aggregate);

void gw_row_free(struct gw_row *row);

/** Whether a launch's time may be used. */
bool gw_launch_measured(const struct gw_record_launch *launch);

/* What a row says; each NaN when unknown. Times in ns, shares 0 to 1. */
double gw_row_mean(const struct gw_row *row);
/** Sample standard deviation of the launches logged one by one. */
double gw_row_deviation(const struct gw_row *row);
/** Share of the measured launches that had a prediction. */
double gw_row_known(const struct gw_row *row);
/** Share of the intervals that held the measured time. */
double gw_row_coverage(const struct gw_row *row);
/** Mean of |predicted - measured| / measured. */
double gw_row_mape(const struct gw_row *row);
/** Whether the median error is exact: nothing aggregated, no sketch in use. */
bool gw_row_exact(const struct gw_row *row);

#endif
