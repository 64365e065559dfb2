/* What becomes of a launch: predicted as it is seen, measured, learnt from, logged. Worker only. */
#ifndef GW_LAUNCHES_H
#define GW_LAUNCHES_H

#include "predictor/learner/predictor_set.h"
#include "preload/cupti/activity.h"
#include "preload/maps/state.h"
#include "preload/worker/parts.h"

/** Start with nothing learnt; false when there is no memory. */
bool gw_launches_start(void);

/** An event of a thread's ring. */
void gw_launch_event(struct gw_thread *t, const struct gw_event *e);

/** Take the activity records that libcupti has handed out. */
void gw_launches_take_records(void);

/** Join what came; @p last: nothing more will come. */
void gw_launches_measured(bool last);

/** The wall clock was set, by so many ns. */
void gw_launches_clock_set(int64_t by);

/** The predictors, one a GPU, for publishing. */
struct gw_predictor_set *gw_launches_predictors(void);

/** Make predictions anew from what was observed and publish those that changed (publish.c). */
void gw_publish_predictions(void);

/**
 * For a launch that read no cell: what stood published for it when it was called, where it still
 * does (publish.c). Leaves the event as it is otherwise. @p config: its configuration; 0: not
 * known.
 */
void gw_launch_read(struct gw_event *e, uint32_t config);

/** Start with no cell read. */
void gw_launch_read_start(void);

/** How well predictions did so far. */
const struct gw_score *gw_launches_score(void);

/** The id of a configuration of the kernel in slot @p kernel, made as at its launch; @p device is
 * an ordinal + 1, 0: not known. 0 where there is none left. */
uint32_t gw_launches_config(uint32_t kernel, uint32_t device, const struct gw_config *config);

#endif
