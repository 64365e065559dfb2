/* What the worker is made of beside the launches: each function of one file. Worker only. */
#ifndef GW_WORKER_PARTS_H
#define GW_WORKER_PARTS_H

#include "predictor/learner/predictor_set.h"
#include "predictor/log/record.h"
#include "preload/live/graph_sums.h"
#include "preload/maps/state.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A process whose main thread has called pthread_exit() goes on with the other threads, and ends
 * with the last of them. Ours must not be the last, nor keep a signal from ending the process.
 */

/**
 * On the worker, now and then. True when the main thread has ended and no thread but ours is left.
 * Where threads of the driver's or libcupti's are left as well, no thread takes a signal: one that
 * would end the process, and waits, is taken here.
 */
bool gw_alone(void);

/* New configurations are announced to the predictor, in the order of the log. Worker only. */

/** Start with none announced. */
void gw_configure_start(void);

/**
 * Announce those that the registry has made since, before anything else is done with them. One of
 * launches whose arguments are known better now goes on from an earlier one (SUCCESSOR).
 */
void gw_configure_new(struct gw_predictor_set *fleet);

/** Whether one has no arguments, and there was a new one in the ten seconds before @p now. */
bool gw_configure_lacks_arguments(uint64_t now);

/** Take the clock pair that the header will carry. */
void gw_header_start(void);

/** Ask the driver what the header says of it: the log may begin in a destructor, without a driver.
 */
void gw_header_ask_driver(void);

/** Write the log's first record: the process, its host, its command. */
void gw_header_write(void);

/* Which configuration a launch is of, by its event. Worker only. */

/** Number of the device whose stream it went to, from 1; 0 when that is not known. */
uint32_t gw_launch_device(const struct gw_event *e);

/** Id of the configuration that last followed the one before, if the event is of it; else 0. */
uint32_t gw_launch_likely_config(const struct gw_event *e);

/**
 * Id of the configuration of an event, 0 when there is none. @p likely: what the above says. @p
 * read: the cell that the launch read was of this very configuration.
 */
uint32_t gw_launch_config(const struct gw_event *e, uint32_t likely, bool *read);

/** The record of a launch, as far as its event has it. */
struct gw_record_launch gw_launch_record(struct gw_thread *t, const struct gw_event *e);

/**
 * Predict the launch of a record from what was known at its call, which the predictor still has;
 * the bound of that prediction.
 */
enum gw_bound gw_launch_predict(struct gw_record_launch *r);

/** Number of the event pair of the launch that is being taken out of @p t's ring. */
uint32_t gw_launch_ticket(const struct gw_thread *t);

/**
 * Wait for the time of a launch, where one will come; else log it as it is. @p graph: of its
 * executable graph in activity records, 0: none; @p number: of the graph launch.
 */
void gw_launch_hand_over(struct gw_thread *t, const struct gw_event *e, struct gw_record_launch *r,
			 uint32_t graph, uint32_t number);

/*
 * What else of this process ran on a GPU while a kernel ran there (beside.c): kernels of other
 * streams, and copies. Records come before launches meet them, so a kernel that ends after the one
 * in question is seen, too, if its record came in the same round. Worker only.
 */

struct gw_activity;
struct gw_copy;

/** What ran meanwhile. */
struct gw_beside {
	bool kernels; /**< kernels, for more than 2% of its time */
	bool copies;  /**< copies or memsets, for a tenth of its time or more; false where none have
			   records: outside mode audit, and where no counters are sampled */
};

/** Start with nothing known. */
void gw_beside_start(void);

/** The wall clock was set forward by @p by, ns, or back. */
void gw_beside_clock_set(int64_t by);

/** Records came. Those without times are left out. */
void gw_beside_kernel_ran(const struct gw_activity *a);
void gw_beside_copy_ran(const struct gw_copy *copy);

/** What ran beside @p a, of the records that came so far. Once a record, by when they ended. */
struct gw_beside gw_beside_of(const struct gw_activity *a);

/* Launches of graphs (launch_graph.c). Worker only. */

/** The predictions of a graph's kernels, summed for a launch. */
struct gw_graph_launch {
	struct gw_graph_run run;
	uint64_t before, late; /**< kernels predicted before the call; after it */
	uint64_t expected_ns, expected_kernels;
	uint64_t changes; /**< of predictions when it was made … */
	uint32_t known;   /**< … of launches that saw so many observations */
	bool made;
};

/** Start with none launched. */
void gw_launch_graph_start(void);

/** A graph launch was taken out of @p t's ring. */
void gw_launch_graph(struct gw_thread *t, struct gw_event *e, struct gw_predictor_set *fleet);

/** Count launches that were added as wholes for their configurations, too. */
void gw_launch_graphs_show(void);

/*
 * Which launches are logged one by one where the others go into sums (mode watch): a few each
 * second, and more of configurations in a slow episode. Worker only.
 */

void gw_sample_start(void);

/** A round begins at @p now_ns of the steady clock. */
void gw_sample_tick(uint64_t now_ns);

/** Whether @p r is to be logged by itself. Each call that says so uses up what this second has. */
bool gw_sample_takes(const struct gw_record_launch *r);

/** Totals for the summary, kept as launches are scored. */
struct gw_score {
	uint64_t measured, predicted, within_10, within_25, covered;
};

/** Print one screen on stderr: what ran, how well it was predicted. Worker only. */
void gw_summary_print(const struct gw_score *score, const uint64_t *counters);

/** The totals of counter.def: the process's own and every thread's. Worker only. */
void gw_totals_sum(uint64_t out[GW_COUNTERS]);

#endif
